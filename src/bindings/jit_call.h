// The arguments of a jitted function's calls: their shape (trees of containers, what each leaf is, the values
// of those that are fixed), and the leaves of one call that has this shape. Matching a call against a shape
// that was seen before is the warm path: it walks the containers and allocates nothing but the list of
// leaves.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "bindings/pytree.h"
#include "frontends/record/jit.h"

namespace ig::py {

// Which arguments are no arrays by the caller's word, and which give their memory away.
struct CallOptions {
  std::string name;
  std::set<Py_ssize_t> static_positions, donated_positions;  // counted from 0
  std::set<std::string> static_names, donated_names;
};

// The leaves of one call: borrowed from its arguments, or held where a container makes them up.
struct CallObjects {
  std::vector<PyObject*> leaves;
  std::vector<nb::object> held;
  // Those that are no Static, as the tree of traces takes them (`CallShape::read`).
  std::vector<record::Leaf> dynamic;
  std::vector<Tensor> converted;  // other libraries' arrays, copied or borrowed

  void clear();  // keeps the lists' memory for another call
};

struct CallShape {
  enum class LeafKind : uint8_t { Array, Integer, Float, Static };
  struct Leaf {
    LeafKind kind = LeafKind::Array;
    nb::object value;  // Static
    nb::object type;   // of an array of another library, the class
    bool donated = false;
    std::string name;  // "params['w']"
  };
  std::vector<Tree> positional;
  std::vector<nb::object> names;
  std::vector<Tree> keywords;
  std::vector<Leaf> leaves;
  std::vector<size_t> dynamic;  // the leaves that are no Static

  // Of this call; Error(Type) where an argument can be neither traced nor compared.
  static CallShape of(const CallOptions& options, nb::handle function, PyObject* const* args, size_t count,
                      PyObject* names, CallObjects& objects);
  // Of the structure of a call, which is that of a tuple and a dict; the leaves are what the caller knows of.
  static CallShape of(const Tree& args_and_kwargs, std::vector<Leaf> leaves);
  // Whether a call has this structure of containers; then `objects` are its own.
  bool walk(PyObject* const* args, size_t count, PyObject* names, CallObjects& objects) const;
  // Whether it has this shape: the leaves, too, are of the same kinds and values.
  bool match(PyObject* const* args, size_t count, PyObject* names, CallObjects& objects) const;
  // The values of a call that has this shape. `donate`: the arrays that it gives away may be taken.
  void read(CallObjects& objects, bool donate) const;
  // The arguments with other leaves.
  nb::object args(const std::vector<nb::object>& leaves) const;    // a tuple
  nb::object kwargs(const std::vector<nb::object>& leaves) const;  // a dict
};

// Whether an object may stand where this leaf was: it is of the same kind, and, where that is Static, equal.
bool same_leaf(const CallShape::Leaf& leaf, PyObject* object);

// Puts `value` in the place of leaf `index` of a tree that `object` has; false where that place cannot be
// set.
bool set_leaf(const Tree& tree, PyObject* object, size_t index, PyObject* value);

}  // namespace ig::py
