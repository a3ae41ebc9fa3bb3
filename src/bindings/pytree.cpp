// Flattening and rebuilding of container trees, and their registration from Python.
#include "bindings/pytree.h"

namespace ig::py {
namespace {

struct Registered {
  nb::object flatten, unflatten;
};

// type -> (flatten, unflatten); a plain Python dict, so that types live as long as their registration.
nb::dict& registry() {
  static auto* types = new nb::dict;
  return *types;
}

bool is_named_tuple(nb::handle object) {
  return PyTuple_Check(object.ptr()) && !PyTuple_CheckExact(object.ptr()) &&
         nb::hasattr(object.type(), "_fields");
}

void flatten_into(nb::handle object, Tree& tree, std::vector<nb::object>& leaves, const IsLeaf& is_leaf,
                  int depth) {
  if (depth > 200)
    throw Error(ErrorKind::Value, "a container tree is nested more than 200 deep")
        .why("it may contain itself")
        .hint("take the circle apart, or register the class with ig.register_pytree");
  PyObject* raw = object.ptr();
  auto child = [&](nb::handle item) {
    tree.children.emplace_back();
    Tree own;
    flatten_into(item, own, leaves, is_leaf, depth + 1);
    tree.children.back() = std::move(own);
  };
  if (is_tensor(raw) || (is_leaf && is_leaf(object, depth))) {
    leaves.push_back(nb::borrow(object));
    return;
  }
  if (object.is_none()) {
    tree.kind = Tree::Kind::None;
    return;
  }
  nb::handle type = object.type();
  if (registry().contains(type)) {
    nb::object pair = registry()[type];
    nb::object parts = pair[nb::int_(0)](object);
    tree.kind = Tree::Kind::Custom;
    tree.type = nb::borrow(type);
    tree.aux = nb::object(parts[nb::int_(1)]);
    for (nb::handle item : nb::object(parts[nb::int_(0)])) child(item);
  } else if (is_named_tuple(object)) {
    tree.kind = Tree::Kind::NamedTuple;
    tree.type = nb::borrow(type);
    for (nb::handle item : object) child(item);
  } else if (PyTuple_CheckExact(raw) || PyList_CheckExact(raw)) {
    tree.kind = PyTuple_CheckExact(raw) ? Tree::Kind::Tuple : Tree::Kind::List;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(raw); ++i) child(PySequence_Fast_GET_ITEM(raw, i));
  } else if (PyDict_Check(raw)) {
    tree.kind = Tree::Kind::Dict;
    if (!PyDict_CheckExact(raw)) tree.type = nb::borrow(type);
    nb::object items = own(PyDict_Items(raw));
    for (nb::handle item : items) {
      tree.keys.push_back(nb::object(item[nb::int_(0)]));
      child(nb::object(item[nb::int_(1)]));
    }
  } else if (!PyType_Check(raw) && nb::hasattr(type, "__dataclass_fields__")) {
    tree.kind = Tree::Kind::Dataclass;
    tree.type = nb::borrow(type);
    for (nb::handle name : nb::object(type.attr("__dataclass_fields__"))) {
      tree.keys.push_back(nb::borrow(name));
      child(nb::object(nb::getattr(object, name)));
    }
  } else {
    leaves.push_back(nb::borrow(object));
  }
}

nb::object rebuild(const Tree& tree, const std::vector<nb::object>& leaves, size_t& at) {
  auto children = [&](PyObject* fresh, auto set) {
    nb::object out = own(fresh);
    for (size_t i = 0; i < tree.children.size(); ++i)
      set(out.ptr(), static_cast<Py_ssize_t>(i), rebuild(tree.children[i], leaves, at).release().ptr());
    return out;
  };
  auto count = static_cast<Py_ssize_t>(tree.children.size());
  auto tuple = [&] { return children(PyTuple_New(count), PyTuple_SetItem); };
  switch (tree.kind) {
    case Tree::Kind::Leaf:
      if (at >= leaves.size())

        throw make_error(ErrorKind::Value, "unflatten: {} leaves for a tree of more", leaves.size())
            .why("each leaf of the structure needs one value")
            .hint("give as many leaves as treedef.num_leaves, in the order of tree_flatten");
      return leaves[at++];
    case Tree::Kind::None: return nb::none();
    case Tree::Kind::Tuple: return tuple();
    case Tree::Kind::List: return children(PyList_New(count), PyList_SetItem);
    case Tree::Kind::NamedTuple: return tree.type(*tuple());
    case Tree::Kind::Custom: {
      nb::object pair = registry()[tree.type];
      return pair[nb::int_(1)](tree.aux, tuple());
    }
    case Tree::Kind::Dict: {
      nb::object out = tree.type.is_valid() && nb::hasattr(tree.type, "fromkeys") &&
                               !nb::hasattr(tree.type, "default_factory")
                           ? tree.type()
                           : nb::object(nb::dict());
      for (size_t i = 0; i < tree.children.size(); ++i)
        out[tree.keys[i]] = rebuild(tree.children[i], leaves, at);
      return out;
    }
    case Tree::Kind::Dataclass: {
      // Without its __init__, which may compute; frozen classes are set likewise.
      nb::object out = tree.type.attr("__new__")(tree.type);
      nb::object set = nb::module_::import_("builtins").attr("object").attr("__setattr__");
      for (size_t i = 0; i < tree.children.size(); ++i)
        set(out, tree.keys[i], rebuild(tree.children[i], leaves, at));
      return out;
    }
  }
  return nb::none();
}

// How a child is reached from its container: "['w']", ".weight", "[0]".
std::string step_of(const Tree& tree, size_t i) {
  switch (tree.kind) {
    case Tree::Kind::Dict: return fmt::format("[{}]", nb::cast<std::string>(nb::repr(tree.keys[i])));
    case Tree::Kind::Dataclass: return "." + nb::cast<std::string>(nb::str(tree.keys[i]));
    case Tree::Kind::NamedTuple:
      return "." + nb::cast<std::string>(nb::str(nb::object(tree.type.attr("_fields")[nb::int_(i)])));
    default: return fmt::format("[{}]", i);
  }
}

void paths_into(const Tree& tree, const std::string& prefix, std::vector<std::string>& out) {
  if (tree.kind == Tree::Kind::Leaf) out.push_back(prefix);
  for (size_t i = 0; i < tree.children.size(); ++i)
    paths_into(tree.children[i], prefix + step_of(tree, i), out);
}

// One level of a tree, for messages: "a tuple of 2", "a dict with the keys 'a', 'b'".
std::string level(const Tree& tree) {
  switch (tree.kind) {
    case Tree::Kind::Leaf: return "a leaf";
    case Tree::Kind::None: return "None";
    case Tree::Kind::Tuple: return fmt::format("a tuple of {}", tree.children.size());
    case Tree::Kind::List: return fmt::format("a list of {}", tree.children.size());
    case Tree::Kind::Dict: {
      std::string out = "a dict with the keys";
      for (size_t i = 0; i < tree.keys.size(); ++i)
        out += (i ? ", " : " ") + nb::cast<std::string>(nb::repr(tree.keys[i]));
      return tree.keys.empty() ? "an empty dict" : out;
    }
    default: return "a " + nb::cast<std::string>(nb::str(tree.type.attr("__name__")));
  }
}

// The parts of `object` that stand where `tree` has its leaves. At the first place where it has no such
// container it stops, and says so in `mismatch`.
void parts_at_leaves(const Tree& tree, nb::handle object, const std::string& path,
                     std::vector<nb::object>& out, std::string& mismatch) {
  if (!mismatch.empty()) return;
  if (tree.kind == Tree::Kind::Leaf) {
    out.push_back(nb::borrow(object));
    return;
  }
  std::vector<nb::object> items;
  Tree own = flatten(object, items, [](nb::handle, int depth) { return depth > 0; });
  bool same_keys = own.keys.size() == tree.keys.size();
  for (size_t i = 0; same_keys && i < tree.keys.size(); ++i) same_keys = own.keys[i].equal(tree.keys[i]);
  if (own.kind != tree.kind || own.type.ptr() != tree.type.ptr() || !same_keys ||
      own.children.size() != tree.children.size() || (own.aux.is_valid() && !own.aux.equal(tree.aux))) {
    mismatch = fmt::format("at {}it has {}, where the first has {}", path.empty() ? "its top " : path + " ",
                           level(own), level(tree));
    return;
  }
  for (size_t i = 0; i < tree.children.size(); ++i)
    parts_at_leaves(tree.children[i], items[i], path + step_of(tree, i), out, mismatch);
}

// Gives each leaf of `tree` the leaf (or None) of the prefix that stands at it or above it. At the first
// place where the two cannot be laid over each other it stops, and says so in `mismatch`.
void spread_prefix(const Tree& prefix, const Tree& tree, std::vector<nb::object>::const_iterator& leaf,
                   const std::string& path, std::vector<nb::object>& out, std::string& mismatch) {
  if (!mismatch.empty()) return;
  if (prefix.kind == Tree::Kind::Leaf || prefix.kind == Tree::Kind::None) {
    nb::object value = prefix.kind == Tree::Kind::Leaf ? *leaf++ : nb::none();
    for (size_t i = 0, n = tree.leaves(); i < n; ++i) out.push_back(value);
    return;
  }
  bool same_keys = prefix.keys.size() == tree.keys.size();
  for (size_t i = 0; same_keys && i < tree.keys.size(); ++i) same_keys = prefix.keys[i].equal(tree.keys[i]);
  if (prefix.kind != tree.kind || prefix.type.ptr() != tree.type.ptr() || !same_keys ||
      prefix.children.size() != tree.children.size()) {
    mismatch = fmt::format("at {}it has {}, where the other has {}", path.empty() ? "its top " : path + " ",
                           level(prefix), level(tree));
    return;
  }
  for (size_t i = 0; i < tree.children.size(); ++i)
    spread_prefix(prefix.children[i], tree.children[i], leaf, path + step_of(tree, i), out, mismatch);
}

}  // namespace

size_t Tree::leaves() const {
  if (kind == Kind::Leaf) return 1;
  size_t count = 0;
  for (const Tree& child : children) count += child.leaves();
  return count;
}

bool Tree::operator==(const Tree& other) const {
  if (kind != other.kind || children.size() != other.children.size() || keys.size() != other.keys.size())
    return false;
  if (type.ptr() != other.type.ptr()) return false;
  if (aux.is_valid() && !aux.equal(other.aux)) return false;
  for (size_t i = 0; i < keys.size(); ++i)
    if (!keys[i].equal(other.keys[i])) return false;
  return children == other.children;
}

std::string Tree::str() const {
  auto list = [&] {
    std::string out;
    for (size_t i = 0; i < children.size(); ++i) {
      out += i ? ", " : "";
      if (!keys.empty()) out += nb::cast<std::string>(nb::repr(keys[i])) + ": ";
      out += children[i].str();
    }
    return out;
  };
  auto name = [&] { return nb::cast<std::string>(nb::str(type.attr("__name__"))); };
  switch (kind) {
    case Kind::Leaf: return "*";
    case Kind::None: return "None";
    case Kind::Tuple: return "(" + list() + (children.size() == 1 ? ",)" : ")");
    case Kind::List: return "[" + list() + "]";
    case Kind::Dict: return "{" + list() + "}";
    default: return name() + "(" + list() + ")";
  }
}

Tree flatten(nb::handle object, std::vector<nb::object>& leaves, const IsLeaf& is_leaf) {
  Tree tree;
  flatten_into(object, tree, leaves, is_leaf, 0);
  return tree;
}

nb::object unflatten(const Tree& tree, const std::vector<nb::object>& leaves) {
  size_t at = 0;
  nb::object out = rebuild(tree, leaves, at);
  if (at != leaves.size())

    throw make_error(ErrorKind::Value, "unflatten: {} leaves for a tree of {}", leaves.size(), at)
        .why("each leaf of the structure needs one value")
        .hint("give as many leaves as treedef.num_leaves, in the order of tree_flatten");
  return out;
}

std::vector<std::string> leaf_paths(const Tree& tree) {
  std::vector<std::string> out;
  paths_into(tree, "", out);
  return out;
}

void init_pytree(nb::module_& m) {
  nb::class_<Tree>(m, "TreeDef", "The structure of a tree of containers.")
      .def("__repr__", [](const Tree& self) { return "TreeDef(" + self.str() + ")"; })
      .def("__eq__",
           [](const Tree& self, nb::handle other) {
             return nb::isinstance<Tree>(other) && self == nb::cast<const Tree&>(other);
           })
      .def("__hash__", [](const Tree& self) { return hash64(self.str()); })
      .def_prop_ro("num_leaves", &Tree::leaves)
      .def("paths", &leaf_paths, "Where each leaf stands, as in \"[0].weight\".")
      .def(
          "_parts",
          [](const Tree& self, nb::handle tree) {
            std::vector<nb::object> parts;
            std::string mismatch;
            parts_at_leaves(self, tree, "", parts, mismatch);
            nb::list out;
            for (nb::object& part : parts) out.append(part);
            return nb::make_tuple(out, mismatch);
          },
          nb::arg("tree").none(),
          "What the tree has where this one has leaves; and where it has no such container.");
  m.def(
      "tree_flatten",
      [](nb::handle object, nb::object is_leaf) {
        std::vector<nb::object> leaves;
        IsLeaf stops;
        if (!is_leaf.is_none()) stops = [&](nb::handle node, int) { return bool(nb::bool_(is_leaf(node))); };
        Tree tree = flatten(object, leaves, stops);
        nb::list out;
        for (nb::object& leaf : leaves) out.append(leaf);
        return nb::make_tuple(out, nb::cast(std::move(tree)));
      },
      nb::arg("tree").none(), nb::arg("is_leaf") = nb::none(),
      "The leaves of a tree of containers, and its structure; a node of which `is_leaf` is true is a leaf.");
  m.def(
      "tree_unflatten",
      [](const Tree& tree, nb::handle leaves) {
        std::vector<nb::object> items;
        for (nb::handle leaf : leaves) items.push_back(nb::borrow(leaf));
        return unflatten(tree, items);
      },
      nb::arg("treedef"), nb::arg("leaves"), "The tree of this structure with these leaves.");
  m.def(
      "_spread_prefix",
      [](nb::handle prefix, const Tree& tree) {
        std::vector<nb::object> leaves, values;
        Tree own = flatten(prefix, leaves);
        std::string mismatch;
        auto leaf = std::as_const(leaves).begin();
        spread_prefix(own, tree, leaf, "", values, mismatch);
        nb::list out;
        for (nb::object& value : values) out.append(value);
        return nb::make_tuple(out, mismatch);
      },
      nb::arg("prefix").none(), nb::arg("tree"),
      "For each leaf of the tree what the prefix says of it, None included; and where the two do not match.");
  m.def(
      "register_pytree",
      [](nb::handle type, nb::object flatten_function, nb::object unflatten_function) {
        if (!PyType_Check(type.ptr()))

          throw make_error(ErrorKind::Type, "register_pytree: the first argument is {}, not a class",
                           Py_TYPE(type.ptr())->tp_name)
              .why("containers are known by their class")
              .hint("ig.register_pytree(Point, lambda p: (p.x, p.y), lambda children: Point(*children))");
        registry()[type] = nb::make_tuple(flatten_function, unflatten_function);
      },
      nb::arg("type"), nb::arg("flatten"), nb::arg("unflatten"),
      "Makes a class a container: flatten(x) -> (children, aux), unflatten(aux, children) -> x.");
}

}  // namespace ig::py
