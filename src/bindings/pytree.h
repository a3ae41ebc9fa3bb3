// Trees of Python containers: dicts, lists, tuples, named tuples, dataclasses, None, and classes that were
// registered. `flatten` takes one apart into its leaves and its structure, `unflatten` puts it together;
// capture works on leaves.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bindings/common.h"

namespace ig::py {

struct Tree {
  enum class Kind : uint8_t { Leaf, None, Tuple, List, Dict, NamedTuple, Dataclass, Custom };
  Kind kind = Kind::Leaf;
  nb::object type;               // of NamedTuple, Dataclass and Custom; of Dict, where it is a subclass
  nb::object aux;                // Custom: what its flatten gave beside the children
  std::vector<nb::object> keys;  // Dict: its keys; Dataclass: its fields' names
  std::vector<Tree> children;

  size_t leaves() const;
  bool operator==(const Tree& other) const;
  std::string str() const;
};

// Says of a container, so many levels down, whether the way ends there.
using IsLeaf = std::function<bool(nb::handle node, int depth)>;
Tree flatten(nb::handle object, std::vector<nb::object>& leaves, const IsLeaf& is_leaf = nullptr);
nb::object unflatten(const Tree& tree, const std::vector<nb::object>& leaves);
std::vector<std::string> leaf_paths(const Tree& tree);  // "[0].weight", in order

}  // namespace ig::py
