// The call of what `ig.trace` gives (intaglio/_record.py): the arguments' containers are walked and compared
// with those of the trace, the graph is run, and its results are put in their containers again.
#include "bindings/call_slot.h"
#include "bindings/jit_call.h"
#include "bindings/record.h"

namespace ig::py {
namespace {

struct TracedFunction {
  TracedFunction(nb::object graph, nb::handle lifted, const Tree& in_tree, nb::handle statics, Tree out_tree,
                 nb::handle out_leaves, std::string name)
      : graph(std::move(graph)), in(in_tree), out(std::move(out_tree)), name(std::move(name)) {
    for (nb::handle one : lifted) this->lifted.push_back(nb::object(one[nb::int_(1)]));
    std::vector<CallShape::Leaf> leaves;
    for (nb::handle one : statics) {
      const bool fixed = nb::cast<bool>(nb::object(one[nb::int_(0)]));
      CallShape::Leaf& leaf = leaves.emplace_back();
      if (!fixed) continue;
      leaf.kind = CallShape::LeafKind::Static;
      leaf.value = nb::object(one[nb::int_(1)]);
    }
    arguments = CallShape::of(in, std::move(leaves));
    for (nb::handle one : out_leaves) {
      const bool computed = nb::object(one[nb::int_(0)]).is_none();
      results.push_back(computed ? nb::object() : nb::object(one[nb::int_(1)]));
    }
  }

  nb::object graph;
  std::vector<nb::object> lifted;  // arrays from outside: inputs behind the arguments
  Tree in, out;                    // of (args, kwargs), and of the result
  CallShape arguments;
  std::vector<nb::object> results;  // what is no array of the graph's, by the result's leaves; else null
  std::string name;
};

std::string text_of(const Tree& tree) { return "TreeDef(" + tree.str() + ")"; }

[[noreturn]] void refuse_structure(const TracedFunction& self, nb::handle args, nb::handle kwargs) {
  std::vector<nb::object> leaves;
  const nb::object given = kwargs.is_valid() ? nb::borrow(kwargs) : nb::dict();
  const Tree now = flatten(nb::make_tuple(nb::borrow(args), given), leaves);
  throw make_error(ErrorKind::Type, "{}: the arguments have another structure than the traced ones",
                   self.name)
      .at(user_line())
      .why(fmt::format("traced with {}, called with {}", text_of(self.in), text_of(now)))
      .hint("trace again, or use ig.jit, which traces for each structure");
}

[[noreturn]] void refuse_value(const TracedFunction& self, nb::handle traced, nb::handle given) {
  auto text = [](nb::handle value) { return std::string(nb::repr(value).c_str()); };
  throw make_error(ErrorKind::Value, "{}: traced with the value {}, called with {}", self.name, text(traced),
                   text(given))
      .at(user_line())
      .why("what is no array is part of the graph")
      .hint("pass it as an array (ig.asarray), or trace again");
}

// What the graph takes of a call; `objects` keeps alive what containers made up.
std::vector<PyObject*> inputs_of(const TracedFunction& self, nb::handle args, nb::handle kwargs,
                                 CallObjects& objects) {
  const CallArguments given(args, kwargs);
  if (!self.arguments.walk(given.all.data(), given.count, given.name_list(), objects))
    refuse_structure(self, args, kwargs);
  std::vector<PyObject*> out;
  for (size_t i = 0; i < objects.leaves.size(); ++i) {
    const CallShape::Leaf& leaf = self.arguments.leaves[i];
    if (leaf.kind == CallShape::LeafKind::Array)
      out.push_back(objects.leaves[i]);
    else if (!same_leaf(leaf, objects.leaves[i]))
      refuse_value(self, leaf.value, objects.leaves[i]);
  }
  for (const nb::object& array : self.lifted) out.push_back(array.ptr());
  return out;
}

nb::object result_of(const TracedFunction& self, std::vector<Tensor> arrays) {
  std::vector<nb::object> leaves = self.results;
  size_t next = 0;
  for (nb::object& leaf : leaves)
    if (!leaf.is_valid()) leaf = nb::steal(wrap(std::move(arrays[next++])));
  return unflatten(self.out, leaves);
}

nb::object call(TracedFunction& self, nb::handle, nb::handle args, nb::handle kwargs) {
  CallObjects objects;
  return result_of(self, call_graph(self.graph, inputs_of(self, args, kwargs, objects)));
}

nb::object evaluate(const TracedFunction& self, nb::args args, nb::kwargs kwargs) {
  CallObjects objects;
  return result_of(self, evaluate_graph(self.graph, inputs_of(self, args, kwargs, objects)));
}

int traverse(PyObject* object, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(object));
  if (!nb::inst_ready(object)) return 0;
  const TracedFunction& self = *nb::inst_ptr<TracedFunction>(object);
  Py_VISIT(self.graph.ptr());
  for (const nb::object& array : self.lifted) Py_VISIT(array.ptr());
  for (const CallShape::Leaf& leaf : self.arguments.leaves) Py_VISIT(leaf.value.ptr());
  for (const nb::object& value : self.results) Py_VISIT(value.ptr());
  return 0;
}
int clear(PyObject* object) {
  TracedFunction& self = *nb::inst_ptr<TracedFunction>(object);
  const nb::object graph = std::move(self.graph);
  const std::vector<nb::object> lifted = std::move(self.lifted), results = std::move(self.results);
  const CallShape arguments = std::move(self.arguments);
  return 0;
}

}  // namespace

void init_traced(nb::module_& m) {
  static PyType_Slot slots[] = {{Py_tp_call, reinterpret_cast<void*>(&call_slot<TracedFunction, call>)},
                                {Py_tp_traverse, reinterpret_cast<void*>(traverse)},
                                {Py_tp_clear, reinterpret_cast<void*>(clear)},
                                {0, nullptr}};
  nb::class_<TracedFunction>(m, "_TracedFunction", nb::type_slots(slots), "What ig.trace gives, as a call.")
      .def(nb::init<nb::object, nb::handle, const Tree&, nb::handle, Tree, nb::handle, std::string>(),
           nb::arg("graph"), nb::arg("lifted"), nb::arg("in_tree"), nb::arg("statics"), nb::arg("out_tree"),
           nb::arg("out_leaves"), nb::arg("name"))
      .def_ro("graph", &TracedFunction::graph)
      .def("evaluate", &evaluate, "The same call by the definitions of the ops.");
}

}  // namespace ig::py
