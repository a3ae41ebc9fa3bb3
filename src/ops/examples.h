// Examples that a node keeps apart: the first axis of its results counts them, and what it gives for an
// example is computed of that example's operands, and of operands that are the same for all. Such a node can
// be written for a few examples in the place of many, and gives the same bits.
#pragma once

#include <optional>
#include <vector>

#include "ops/builder.h"

namespace ig::ops {

struct ForExamples {
  // Operands whose first axis counts the examples, too; the others are the same for all.
  std::vector<bool> cut;
  Attrs attrs;  // of the node for so many
};

// How the node is written for `count` examples; nullopt where its examples depend on one another, and where
// neither its traits nor its attributes say that they do not.
std::optional<ForExamples> for_examples(const Node* node, const Dim& count);

// How many elements the first axis of a value has; nullopt where it has none.
std::optional<Dim> examples_of(Value v);
// The type with so many.
Type with_examples(Type type, const Dim& count);

// Runs `body` for one slice of `xs` after the other: it takes `consts`, then a slice of each of `xs`. Gives
// its results, stacked.
std::vector<Value> for_each_slice(Builder& build, std::vector<Value> consts, const std::vector<Value>& xs,
                                  std::unique_ptr<Graph> body);

}  // namespace ig::ops
