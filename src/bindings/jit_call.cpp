// Taking calls apart.
#include "bindings/jit_call.h"

#include <algorithm>
#include <bit>

namespace ig::py {
namespace {

bool is_plain_leaf(PyObject* object) {
  PyTypeObject* type = Py_TYPE(object);
  return type == tensor_type || type == &PyFloat_Type || type == &PyLong_Type || type == &PyBool_Type ||
         type == &PyUnicode_Type;
}

bool match_tree(const Tree& tree, PyObject* object, std::vector<PyObject*>& leaves,
                std::vector<nb::object>& held);

bool match_children(const Tree& tree, const std::vector<nb::object>& children, std::vector<PyObject*>& leaves,
                    std::vector<nb::object>& held) {
  if (children.size() != tree.children.size()) return false;
  for (size_t i = 0; i < children.size(); ++i)
    if (!match_tree(tree.children[i], children[i].ptr(), leaves, held)) return false;
  return true;
}

bool match_tree(const Tree& tree, PyObject* object, std::vector<PyObject*>& leaves,
                std::vector<nb::object>& held) {
  switch (tree.kind) {
    case Tree::Kind::Leaf:
      if (!is_plain_leaf(object)) {
        std::vector<nb::object> own;
        if (flatten(object, own).kind != Tree::Kind::Leaf) return false;
      }
      leaves.push_back(object);
      return true;
    case Tree::Kind::None: return object == Py_None;
    case Tree::Kind::Tuple:
    case Tree::Kind::List: {
      if (tree.kind == Tree::Kind::Tuple ? !PyTuple_CheckExact(object) : !PyList_CheckExact(object))
        return false;
      if (PySequence_Fast_GET_SIZE(object) != static_cast<Py_ssize_t>(tree.children.size())) return false;
      for (size_t i = 0; i < tree.children.size(); ++i)
        if (!match_tree(tree.children[i], PySequence_Fast_GET_ITEM(object, static_cast<Py_ssize_t>(i)),
                        leaves, held))
          return false;
      return true;
    }
    case Tree::Kind::Dict: {
      if (!PyDict_Check(object) || PyDict_GET_SIZE(object) != static_cast<Py_ssize_t>(tree.children.size()))
        return false;
      if (tree.type.is_valid() ? reinterpret_cast<PyObject*>(Py_TYPE(object)) != tree.type.ptr()
                               : !PyDict_CheckExact(object))
        return false;
      Py_ssize_t at = 0;
      PyObject *key, *value;
      for (size_t i = 0; PyDict_Next(object, &at, &key, &value); ++i) {
        if (key != tree.keys[i].ptr()) {
          int same = PyObject_RichCompareBool(key, tree.keys[i].ptr(), Py_EQ);
          check(same);
          if (!same) return false;
        }
        if (!match_tree(tree.children[i], value, leaves, held)) return false;
      }
      return true;
    }
    case Tree::Kind::NamedTuple:
    case Tree::Kind::Dataclass:
    case Tree::Kind::Custom: {
      if (reinterpret_cast<PyObject*>(Py_TYPE(object)) != tree.type.ptr()) return false;
      if (tree.kind == Tree::Kind::Custom) {
        std::vector<nb::object> own;
        Tree now = flatten(object, own);
        if (!(now == tree)) return false;
        for (nb::object& leaf : own) {
          leaves.push_back(leaf.ptr());
          held.push_back(std::move(leaf));
        }
        return true;
      }
      std::vector<nb::object> children;
      if (tree.kind == Tree::Kind::NamedTuple) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(object); ++i)
          children.push_back(nb::borrow(PyTuple_GET_ITEM(object, i)));
      } else {
        for (const nb::object& key : tree.keys) {
          nb::object field = own(PyObject_GetAttr(object, key.ptr()));
          held.push_back(field);
          children.push_back(std::move(field));
        }
      }
      return match_children(tree, children, leaves, held);
    }
  }
  return false;
}

CallShape::LeafKind kind_of_leaf(PyObject* object) {
  if (is_tensor(object)) return CallShape::LeafKind::Array;
  if (PyLong_CheckExact(object)) {
    int overflow = 0;
    PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow ? CallShape::LeafKind::Static : CallShape::LeafKind::Integer;
  }
  if (PyFloat_Check(object)) return CallShape::LeafKind::Float;
  if (PyUnicode_Check(object) || PyBool_Check(object) || PyLong_Check(object))
    return CallShape::LeafKind::Static;
  return is_array_like(object) ? CallShape::LeafKind::Array : CallShape::LeafKind::Static;
}

// The names of a function's parameters by position, as far as they have one.
std::vector<std::string> parameters_of(nb::handle function) {
  std::vector<std::string> out;
  try {
    nb::object signature = nb::module_::import_("inspect").attr("signature")(function);
    for (nb::handle parameter : nb::object(signature.attr("parameters").attr("values")())) {
      if (nb::cast<int>(nb::object(parameter.attr("kind"))) > 1) break;
      out.push_back(nb::cast<std::string>(nb::object(parameter.attr("name"))));
    }
  } catch (nb::python_error&) {
  }
  return out;
}

}  // namespace

bool same_leaf(const CallShape::Leaf& leaf, PyObject* object) {
  switch (leaf.kind) {
    case CallShape::LeafKind::Array:
      if (Py_TYPE(object) == tensor_type) return true;
      if (leaf.type.is_valid() && reinterpret_cast<PyObject*>(Py_TYPE(object)) == leaf.type.ptr())
        return true;
      return kind_of_leaf(object) == CallShape::LeafKind::Array;
    case CallShape::LeafKind::Integer: {
      if (!PyLong_CheckExact(object)) return false;
      int overflow = 0;
      PyLong_AsLongLongAndOverflow(object, &overflow);
      return !overflow;
    }
    case CallShape::LeafKind::Float: return PyFloat_Check(object);
    case CallShape::LeafKind::Static: {
      if (object == leaf.value.ptr()) return true;
      if (Py_TYPE(object) != Py_TYPE(leaf.value.ptr())) return false;
      nb::object same = own(PyObject_RichCompare(object, leaf.value.ptr(), Py_EQ));
      int truth = PyObject_IsTrue(same.ptr());
      check(truth);
      return truth != 0;
    }
  }
  return false;
}

CallShape CallShape::of(const CallOptions& options, nb::handle function, PyObject* const* args, size_t count,
                        PyObject* names, CallObjects& objects) {
  CallShape out;
  std::vector<std::string> parameters = parameters_of(function);
  auto add = [&](PyObject* object, const std::string& name, bool fixed, bool donated) {
    Tree tree;
    std::vector<nb::object> own;
    if (fixed)
      own.push_back(nb::borrow(object));
    else
      tree = flatten(object, own);
    std::vector<std::string> paths = leaf_paths(tree);
    for (size_t i = 0; i < own.size(); ++i) {
      Leaf leaf;
      PyObject* raw = own[i].ptr();
      leaf.kind = fixed ? LeafKind::Static : kind_of_leaf(raw);
      leaf.name = name + paths[i];
      leaf.donated = donated && leaf.kind == LeafKind::Array;
      if (leaf.kind == LeafKind::Static) {
        if (PyObject_Hash(raw) == -1) {
          PyErr_Clear();
          throw make_error(ErrorKind::Type, "{}: the {}argument `{}` ({}) is not hashable", options.name,
                           fixed ? "static " : "", leaf.name, Py_TYPE(raw)->tp_name)
              .why(
                  "what is no array is compared with the value of the call that was traced, so it must not "
                  "change")
              .hint(fixed ? "pass a tuple in place of a list, or a frozen dataclass; or leave it out of "
                            "static_argnums"
                          : "pass an array, a container of arrays, or a hashable value; ig.register_pytree "
                            "makes a "
                            "class a container");
        }
        leaf.value = own[i];
      } else {
        out.dynamic.push_back(out.leaves.size());
        if (leaf.kind == LeafKind::Array && !is_tensor(raw))
          leaf.type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(raw)));
      }
      out.leaves.push_back(std::move(leaf));
    }
    return tree;
  };
  for (size_t i = 0; i < count; ++i) {
    std::string name = i < parameters.size() ? parameters[i] : fmt::format("argument {}", i);
    auto at = static_cast<Py_ssize_t>(i);
    bool fixed = options.static_positions.contains(at) ||
                 (i < parameters.size() && options.static_names.contains(name));
    bool donated = options.donated_positions.contains(at) ||
                   (i < parameters.size() && options.donated_names.contains(name));
    out.positional.push_back(add(args[i], name, fixed, donated));
  }
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); ++i) {
    nb::object key = nb::borrow(PyTuple_GET_ITEM(names, i));
    auto name = nb::cast<std::string>(key);
    auto place = std::find(parameters.begin(), parameters.end(), name) - parameters.begin();
    bool positional = static_cast<size_t>(place) < parameters.size();
    bool fixed =
        options.static_names.contains(name) || (positional && options.static_positions.contains(place));
    bool donated =
        options.donated_names.contains(name) || (positional && options.donated_positions.contains(place));
    out.names.push_back(key);
    out.keywords.push_back(add(args[count + static_cast<size_t>(i)], name, fixed, donated));
  }
  if (!out.match(args, count, names, objects))
    throw make_error(ErrorKind::Value, "{}: an argument is not equal to itself", options.name)
        .why("values that are no arrays are compared between calls, by type and by ==")
        .hint("give the class of the argument an __eq__ that holds for the object itself");
  return out;
}

CallShape CallShape::of(const Tree& args_and_kwargs, std::vector<Leaf> leaves) {
  CallShape out;
  out.positional = args_and_kwargs.children[0].children;
  out.names = args_and_kwargs.children[1].keys;
  out.keywords = args_and_kwargs.children[1].children;
  for (size_t i = 0; i < leaves.size(); ++i)
    if (leaves[i].kind != LeafKind::Static) out.dynamic.push_back(i);
  out.leaves = std::move(leaves);
  return out;
}

bool CallShape::walk(PyObject* const* args, size_t count, PyObject* names, CallObjects& objects) const {
  size_t named = names ? static_cast<size_t>(PyTuple_GET_SIZE(names)) : 0;
  if (count != positional.size() || named != this->names.size()) return false;
  std::vector<PyObject*>& found = objects.leaves;
  std::vector<nb::object>& held = objects.held;
  found.clear();
  held.clear();
  auto walk = [&](const Tree& tree, PyObject* object) {
    // A static argument is one leaf, whatever it is.
    if (tree.kind == Tree::Kind::Leaf && leaves[found.size()].kind == LeafKind::Static) {
      found.push_back(object);
      return true;
    }
    return match_tree(tree, object, found, held);
  };
  for (size_t i = 0; i < count; ++i)
    if (!walk(positional[i], args[i])) return false;
  for (size_t i = 0; i < named; ++i) {
    size_t at = 0;  // keywords may come in any order
    for (; at < named; ++at) {
      PyObject* name = PyTuple_GET_ITEM(names, static_cast<Py_ssize_t>(at));
      if (name == this->names[i].ptr() || PyUnicode_Compare(name, this->names[i].ptr()) == 0) break;
    }
    if (at == named || !walk(keywords[i], args[count + at])) return false;
  }
  return found.size() == leaves.size();
}

bool CallShape::match(PyObject* const* args, size_t count, PyObject* names, CallObjects& objects) const {
  if (!walk(args, count, names, objects)) return false;
  for (size_t i = 0; i < leaves.size(); ++i)
    if (!same_leaf(leaves[i], objects.leaves[i])) return false;
  return true;
}

nb::object CallShape::args(const std::vector<nb::object>& own) const {
  nb::list out;
  size_t at = 0;
  for (const Tree& tree : positional) {
    size_t n = tree.leaves();
    std::vector<nb::object> part(own.begin() + static_cast<std::ptrdiff_t>(at),
                                 own.begin() + static_cast<std::ptrdiff_t>(at + n));
    out.append(unflatten(tree, part));
    at += n;
  }
  return nb::tuple(out);
}

nb::object CallShape::kwargs(const std::vector<nb::object>& own) const {
  nb::object out = nb::dict();
  size_t at = 0;
  for (const Tree& tree : positional) at += tree.leaves();
  for (size_t i = 0; i < keywords.size(); ++i) {
    size_t n = keywords[i].leaves();
    std::vector<nb::object> part(own.begin() + static_cast<std::ptrdiff_t>(at),
                                 own.begin() + static_cast<std::ptrdiff_t>(at + n));
    out[names[i]] = unflatten(keywords[i], part);
    at += n;
  }
  return out;
}

void CallObjects::clear() {
  leaves.clear();
  dynamic.clear();
  converted.clear();
  held.clear();  // may run the program's code
}

void CallShape::read(CallObjects& objects, bool donate) const {
  size_t foreign = 0;
  for (size_t i : dynamic) foreign += leaves[i].kind == LeafKind::Array && !is_tensor(objects.leaves[i]);
  objects.converted.reserve(foreign);  // pointers into it stay valid
  for (size_t i : dynamic) {
    const Leaf& spec = leaves[i];
    PyObject* object = objects.leaves[i];
    record::Leaf leaf;
    if (spec.kind == LeafKind::Array) {
      if (is_tensor(object)) {
        leaf.array = &tensor_of(object);
        leaf.donated = spec.donated;
        if (spec.donated && donate) leaf.donate = &tensor_of(object);
      } else {
        std::optional<Tensor> plain = lent(object);
        objects.converted.push_back(plain ? *std::move(plain) : as_tensor(object, std::nullopt, spec.name));
        Tensor& array = objects.converted.back();
        leaf.array = &array;
        if (array.storage().read_only()) leaf.borrowed = &array;
      }
    } else if (spec.kind == LeafKind::Integer) {
      leaf.kind = record::Leaf::Kind::Integer;
      leaf.bits = PyLong_AsLongLong(object);
    } else {
      leaf.kind = record::Leaf::Kind::Float;
      leaf.bits = std::bit_cast<int64_t>(PyFloat_AS_DOUBLE(object));
    }
    objects.dynamic.push_back(leaf);
  }
}

bool set_leaf(const Tree& tree, PyObject* object, size_t index, PyObject* value) {
  for (size_t i = 0; i < tree.children.size(); ++i) {
    const Tree& child = tree.children[i];
    size_t n = child.leaves();
    if (index >= n) {
      index -= n;
      continue;
    }
    bool here = child.kind == Tree::Kind::Leaf;
    nb::object inner;
    switch (tree.kind) {
      case Tree::Kind::List:
        if (here) return PyObject_SetItem(object, nb::int_(i).ptr(), value) == 0;
        inner = nb::borrow(PyList_GET_ITEM(object, static_cast<Py_ssize_t>(i)));
        break;
      case Tree::Kind::Dict:
        if (here) return PyObject_SetItem(object, tree.keys[i].ptr(), value) == 0;
        inner = own(PyObject_GetItem(object, tree.keys[i].ptr()));
        break;
      case Tree::Kind::Dataclass:
        if (here) return PyObject_SetAttr(object, tree.keys[i].ptr(), value) == 0;
        inner = own(PyObject_GetAttr(object, tree.keys[i].ptr()));
        break;
      case Tree::Kind::Tuple:
      case Tree::Kind::NamedTuple:
        if (here) return false;
        inner = nb::borrow(PyTuple_GET_ITEM(object, static_cast<Py_ssize_t>(i)));
        break;
      default: return false;
    }
    return set_leaf(child, inner.ptr(), index, value);
  }
  return false;
}

}  // namespace ig::py
