// What a graph does to the world outside of it: prints, and checks that end the run. An op with the trait
// Effect takes a token as its first operand and gives one; its reference rule does the effect, on its other
// operands. Effects of a block happen in the order in which they stand; a node with regions counts as one
// where its regions hold one.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ops/table.h"

namespace ig::ops {

// Where effects go. The host language sets its own; without one, text goes to the standard output.
struct EffectSink {
  // The text with its fields filled: "{0}", "{1:.2f}" … name the values by number, "{{" is a brace.
  std::string (*format)(std::string_view text, std::span<const Literal> values);
  void (*print)(std::string_view line);
  // May throw an exception of its own for a check of this kind; `error` is thrown where it returns.
  void (*fail)(std::string_view kind, const Error& error);
};
const EffectSink& effect_sink();
void set_effect_sink(const EffectSink& sink);

// Whether running the node may be seen from outside: its op has the trait, or a node in its regions.
bool has_effects(const Node* node);
bool has_effects(const Graph& graph);

// Whether the node is a check that a kernel can make: of one truth, of which it tells at most one whole
// number.
bool is_plain_check(const Node* node);

// Takes all effects out of the graph, also of its regions: what is left computes the same values. What an
// effect gave besides its token is an error to compute from then on.
void strip_effects(Graph& graph);

// Does the effect on its values (the operands without the token). Errors carry `where` as their second part.
void run_effect(const Op& op, const Attrs& attrs, std::span<const Literal> values, Location where);

// Filling of fields without a host language: numbers by fmt's rules, arrays in brackets.
std::string format_plainly(std::string_view text, std::span<const Literal> values);

}  // namespace ig::ops
