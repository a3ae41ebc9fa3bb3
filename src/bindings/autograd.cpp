// The tape of eager autograd from Python: what intaglio/autograd.py and the methods of arrays are made of.
#include "bindings/autograd.h"

#include <memory>

#include "bindings/jit_front.h"
#include "bindings/record.h"
#include "bindings/tape_facts.h"
#include "frontends/tape/tape.h"
#include "tensor/autocast.h"

namespace ig::py {
namespace {

// A node as Python sees it; two of one node are equal.
struct PyNode {
  std::shared_ptr<tape::Node> node;
};

// Nodes may die in any thread, so what they hold of Python's is let go under its lock.
std::shared_ptr<PyObject> shared(nb::handle object) {
  return {object.inc_ref().ptr(), [](PyObject* held) {
            PyGILState_STATE state = PyGILState_Ensure();
            Py_DECREF(held);
            PyGILState_Release(state);
          }};
}

// A gradient that Python has seen: it stays one object, so that `x.grad[0] = 0` changes it.
class Seen final : public tape::GradHandle {
 public:
  explicit Seen(nb::handle handle) : handle_(shared(handle)) {}
  Tensor get() const override { return tensor_of(handle_.get()); }
  bool set(const Tensor& value) override {
    Tensor& held = tensor_of(handle_.get());
    if (held.link() || value.link()) return false;
    held = value;
    return true;
  }
  nb::object object() const { return nb::borrow(handle_.get()); }

 private:
  std::shared_ptr<PyObject> handle_;
};

// Nodes ask for it, and some come from code that runs without Python's lock.
Location located() {
  if (PyGILState_Check()) return python_location();
  nb::gil_scoped_acquire gil;
  return python_location();
}

tape::Hook hook_of(nb::handle function) {
  return [held = shared(function)](const Tensor& gradient) -> std::optional<Tensor> {
    nb::object given = nb::steal(wrap(gradient));
    nb::object out = own(PyObject_CallOneArg(held.get(), given.ptr()));
    if (out.is_none()) return std::nullopt;
    if (is_tensor(out.ptr())) return tensor_of(out.ptr());
    throw make_error(ErrorKind::Type, "a hook gives a {}, which is no array", Py_TYPE(out.ptr())->tp_name)
        .why("what it returns takes the gradient's place")
        .hint("return an array of the gradient's shape and dtype, or None to leave it as it is");
  };
}

tape::Edge linked_edge(nb::handle x, std::string_view what) {
  const Tensor& tensor = tensor_of(x.ptr());
  if (!tensor.link())
    throw make_error(ErrorKind::Value, "{} of an array that does not require grad", what)
        .why("no gradient will come by")
        .hint("call x.requires_grad_() first");
  return tape::edge_of(tensor);
}

// What is done to an array from outside stays done, and a trace would do it once. What is done to one of the
// function's own counts for who gets it.
void refuse_outside(const tape::Edge& edge, std::string_view what) {
  const Capture* capture = Capture::current();
  if (!capture) return;
  tape::asked_outside();
  if (edge.node->capture == capture->serial()) return;
  throw make_error(ErrorKind::Capture, "{} of an array from outside of a captured function is wanted", what)
      .why("it would be done when the function is captured, and not by later calls")
      .hint("do it before the function is called, or to an array that the function makes");
}

nb::object array_or_none(const Tensor& tensor) {
  return tensor.valid() ? nb::steal(wrap(tensor)) : nb::none();
}

// None where a gradient was left out.
std::vector<Tensor> maybe_tensors(nb::handle items) {
  std::vector<Tensor> out;
  for (nb::handle item : items) out.push_back(item.is_none() ? Tensor() : tensor_of(item.ptr()));
  return out;
}

void set_requires_grad(nb::handle x, bool wanted) {
  Tensor& tensor = tensor_of(x.ptr());
  if (wanted == tape::requires_grad(tensor)) {
    if (ArrayNotes::at_work()) ask_tape(x, "requires_grad");
    return;
  }
  if (wanted) {
    tensor = tape::as_leaf(tensor);
    return;
  }
  if (!tape::is_leaf(tensor))
    throw Error(ErrorKind::Value, "requires_grad of an array that was computed is set to False")
        .why("it requires grad because something that it was computed from does")
        .hint("use y = x.detach() for the value alone");
  refuse_outside(tape::edge_of(tensor), "requires_grad_(False)");
  tensor = tensor.unlinked();
}

// Of the array that the handle holds, or held before a recording bound it to a value of its own.
tape::Edge gradient_edge(PyObject* handle) { return tape::edge_of(before_recording(handle)); }

void check_gradient(nb::handle x, nb::handle value) {
  const Tensor tensor = before_recording(x.ptr());
  if (!tensor.link()) linked_edge(x, "the gradient");  // refuses it
  if (value.is_none()) return;
  if (value.is(x))
    throw Error(ErrorKind::Value, "an array is set as its own gradient")
        .why("the two would keep each other alive, and adding to one would change the other")
        .hint("set a copy: x.grad = x.detach().copy()");
  if (!is_tensor(value.ptr()))
    throw make_error(ErrorKind::Type, "a gradient is an array or None, not a {}",
                     Py_TYPE(value.ptr())->tp_name)
        .why("it has one number for each element of its array")
        .hint("make an array of it with ig.asarray");
  const Tensor& given = tensor_of(value.ptr());
  if (given.type() != tensor.type())
    throw make_error(given.dtype() != tensor.dtype() ? ErrorKind::Type : ErrorKind::Shape,
                     "a gradient of {} is given for an array of {}", given.type().str(), tensor.type().str())
        .why("there is one number for each element of the array")
        .hint("pass an array of its shape and dtype");
}

// An array that the captured function made.
bool is_own(const Tensor& tensor) {
  const Capture* capture = Capture::current();
  if (!tensor.is_symbolic()) return capture->made_here(tensor) && tensor.link();
  if (!capture->owns(tensor)) return false;
  if (!tensor.link()) return tensor.value()->node() && ArrayNotes::at_work();
  return tape::edge_of(tensor).node->capture == capture->serial();
}

// What follows the program's dealings with a gradient while a function is recorded; null outside of captures.
// Only of an array from outside: there is a place that later calls can look at.
// Null too of an array that the function made: its tape ends with the capture.
OutsideWatch* gradient_watch(nb::handle x) {
  if (!Capture::current()) {
    if (tensor_of(x.ptr()).capture()) Capture::leaked(tensor_of(x.ptr()), nullptr);
    return nullptr;
  }
  ArrayNotes* notes = ArrayNotes::at_work();
  const Tensor before = before_recording(x.ptr());
  if (is_own(before)) {
    tape::asked_outside();
    return nullptr;
  }
  if (!notes || before.is_symbolic())
    throw Error(ErrorKind::Capture, "the gradient of an array is read or set while a function is traced")
        .why(
            "it lies on the tape, and no tape is in a graph: ig.jit alone follows it, of arrays that the "
            "function reads from outside, and not within what is differentiated, batched or looped there")
        .hint("pass the gradient as an argument, or take it by ig.grad or nn.value_and_grad");
  return notes->watch;
}

nb::object grad_of(nb::handle x) {
  OutsideWatch* watch = gradient_watch(x);
  return watch ? watch->read_gradient(x) : gradient_of(x.ptr());
}

void set_grad(nb::handle x, nb::handle value) {
  OutsideWatch* watch = gradient_watch(x);
  if (value.is_none() && !before_recording(x.ptr()).link()) return;
  check_gradient(x, value);
  if (watch) watch->bind_gradient(x);
  put_gradient(x.ptr(), value);
}

nb::object node_object(const std::shared_ptr<tape::Node>& node) {
  return node ? nb::cast(PyNode{node}) : nb::none();
}

nb::tuple next_functions(const PyNode& self) {
  nb::list out;
  for (const tape::Edge& edge : self.node->next)
    out.append(nb::make_tuple(node_object(edge.node), edge.result));
  return nb::tuple(out);
}

}  // namespace

nb::object gradient_of(PyObject* handle) {
  tape::Edge edge = gradient_edge(handle);
  if (!edge.node) return nb::none();
  auto at = edge.node->watches.find(edge.result);
  if (at == edge.node->watches.end()) return nb::none();
  tape::Watch& watch = at->second;
  if (watch.handle) return static_cast<Seen&>(*watch.handle).object();
  if (!watch.grad.valid()) return nb::none();
  nb::object seen = nb::steal(wrap(std::exchange(watch.grad, Tensor())));
  watch.handle = std::make_shared<Seen>(seen);
  return seen;
}

void put_gradient(PyObject* handle, nb::handle value) {
  if (!value.is_valid() || value.is_none()) {
    if (tape::Edge edge = gradient_edge(handle); edge.node) edge.node->watches[edge.result].forget();
    return;
  }
  if (!gradient_edge(handle).node) check_gradient(handle, value);
  tape::Watch& watch = gradient_edge(handle).node->watches[gradient_edge(handle).result];
  watch.forget();
  watch.handle = std::make_shared<Seen>(value);
}

void refuse_export(const Tensor& tensor) {
  if (!recording_link(std::span(&tensor, 1))) return;
  throw Error(ErrorKind::Type, "an array that requires grad is to become another library's")
      .why("its values would leave the tape, and what is computed from them would have no gradient")
      .hint("call x.detach() first where that is meant, or do it under `with ig.no_grad():`");
}

void init_autograd(nb::module_& m) {
  tape::set_locate(&located);
  follow_tape();
  nb::class_<PyNode>(m, "GradNode", "What one op left on the tape, for the backward pass.")
      .def_prop_ro(
          "name", [](const PyNode& self) { return self.node->name(); }, "The op; \"leaf\" of a leaf.")
      .def_prop_ro(
          "next_functions", &next_functions,
          "Where its gradients go: for each operand the node that made it and which of its results it "
          "is; None where no gradient is wanted.")
      .def_prop_ro(
          "location", [](const PyNode& self) { return self.node->where.str(); },
          "The line of the program at which it ran.")
      .def("__eq__",
           [](const PyNode& self, nb::handle other) {
             return nb::isinstance<PyNode>(other) && nb::cast<PyNode&>(other).node == self.node;
           })
      .def("__hash__", [](const PyNode& self) { return std::hash<const void*>()(self.node.get()); })
      .def("__repr__", [](const PyNode& self) {
        return self.node->where.known() ? fmt::format("<{} at {}>", self.node->name(), self.node->where.str())
                                        : fmt::format("<{}>", self.node->name());
      });
  m.def("_on_tape", [](nb::handle x) { return tape::requires_grad(tensor_of(x.ptr())); });
  m.def("_requires_grad", [](nb::handle x) {
    ask_tape(x, "requires_grad");
    return tape::requires_grad(tensor_of(x.ptr()));
  });
  m.def("_set_requires_grad", &set_requires_grad);
  m.def("_is_leaf", [](nb::handle x) {
    ask_tape(x, "is_leaf");
    return tape::is_leaf(tensor_of(x.ptr()));
  });
  m.def("_grad_fn", [](nb::handle x) {
    ask_tape(x, "grad_fn");
    const Tensor& tensor = tensor_of(x.ptr());
    return tape::is_leaf(tensor) ? nb::none() : node_object(tape::edge_of(tensor).node);
  });
  m.def(
      "_writes_back", [] { return !Capture::current() || ArrayNotes::at_work(); },
      "Whether a handle from outside that is bound here keeps its value: eagerly, and where ig.jit records.");
  m.def("_get_grad", &grad_of);
  m.def("_set_grad", &set_grad, nb::arg("x"), nb::arg("value").none());
  m.def("_detached", [](nb::handle x) { return nb::steal(wrap(tensor_of(x.ptr()).unlinked())); });
  m.def(
      "_set_value", [](nb::handle x, nb::handle value) { bind_silently(x.ptr(), tensor_of(value.ptr())); },
      "Binds a handle to a value of its dtype and shape; a leaf stays the leaf that it is.");
  m.def("_add_grad", [](nb::handle x, nb::handle gradient) {
    tape::Edge edge = linked_edge(x, "the gradient");
    tape::reached_outside(*edge.node, true);
    edge.node->watches[edge.result].add(tensor_of(gradient.ptr()));
  });
  m.def("_retain_grad", [](nb::handle x) {
    tape::Edge edge = linked_edge(x, "retain_grad()");
    if (edge.node->is_leaf()) return;  // keeps its own
    refuse_outside(edge, "retain_grad()");
    edge.node->watches[edge.result].retain = true;
  });
  m.def("_retains_grad", [](nb::handle x) {
    tape::Edge edge = tape::edge_of(tensor_of(x.ptr()));
    if (!edge.node || edge.node->is_leaf()) return false;
    auto at = edge.node->watches.find(edge.result);
    return at != edge.node->watches.end() && at->second.retain;
  });
  m.def(
      "_add_hook",
      [](nb::handle x, nb::handle function) {
        static std::atomic<int> next{0};
        tape::Edge edge = linked_edge(x, "a hook");
        refuse_outside(edge, "a hook");
        int id = next++;
        edge.node->watches[edge.result].hooks[id] = hook_of(function);
        std::weak_ptr<tape::Node> node = edge.node;
        return nb::cpp_function([node, result = edge.result, id] {
          if (std::shared_ptr<tape::Node> alive = node.lock()) alive->watches[result].hooks.erase(id);
        });
      },
      "Calls function(gradient) when a gradient comes by; gives what takes it off again.");
  m.def(
      "_backward",
      [](nb::handle outputs, nb::handle gradients, bool retain_graph, bool create_graph) {
        tape::backward(tensors_of(outputs), maybe_tensors(gradients), {retain_graph, create_graph});
      },
      nb::arg("outputs"), nb::arg("gradients"), nb::arg("retain_graph"), nb::arg("create_graph"));
  m.def(
      "_tape_grad",
      [](nb::handle outputs, nb::handle inputs, nb::handle gradients, bool retain_graph, bool create_graph) {
        nb::list out;
        for (const Tensor& tensor : tape::grad(tensors_of(outputs), tensors_of(inputs),
                                               maybe_tensors(gradients), {retain_graph, create_graph}))
          out.append(array_or_none(tensor));
        return out;
      },
      nb::arg("outputs"), nb::arg("inputs"), nb::arg("gradients"), nb::arg("retain_graph"),
      nb::arg("create_graph"));
  m.def("_grad_mode", [] { return nb::make_tuple(tape::mode().grad, tape::mode().inference); });
  m.def(
      "is_grad_enabled",
      [] {
        ask_modes();
        return tape::mode().grad;
      },
      "Whether ops on arrays that require grad go on the tape, in this thread.");
  m.def(
      "is_inference_mode_enabled",
      [] {
        ask_modes();
        return tape::mode().inference;
      },
      "Whether this thread is in inference mode.");
  m.def(
      "is_anomaly_enabled", [] { return tape::mode().anomaly; },
      "Whether a backward pass of this thread looks for NaN.");
  m.def(
      "_set_grad_mode",
      [](bool grad, bool inference) {
        auto before = nb::make_tuple(tape::mode().grad, tape::mode().inference);
        tape::mode().grad = grad;
        tape::mode().inference = inference;
        return before;
      },
      "Sets both for this thread; gives what they were.");
  m.def(
      "_enter_grad_mode",
      [](bool grad, bool inference, std::optional<bool> stop) {
        Capture* capture = Capture::current();
        const bool stopped = capture && capture->stop_gradients;
        auto before = nb::make_tuple(tape::mode().grad, tape::mode().inference, stopped);
        // Recording where the call's own mode says no.
        if (capture && grad && !tape::mode().grad && !stopped) tape::asked_outside();
        tape::mode().grad = grad;
        tape::mode().inference = inference;
        if (capture && stop) capture->stop_gradients = *stop;
        return before;
      },
      nb::arg("grad"), nb::arg("inference"), nb::arg("stop").none(),
      "The same of the program's own modes. Of what is captured under `stop` no derivative goes further "
      "back; None "
      "leaves that as it is.");
  m.def("_autocast", []() -> nb::object {
    std::optional<DType> on = front::autocast();
    return on ? nb::borrow(dtype_object(*on)) : nb::none();
  });
  m.def(
      "_set_autocast",
      [](nb::handle dtype) {
        nb::object before = nb::none();
        if (std::optional<DType> on = front::autocast()) before = nb::borrow(dtype_object(*on));
        front::set_autocast(dtype.is_none() ? std::nullopt : dtype_of(dtype.ptr()));
        return before;
      },
      nb::arg("dtype").none(),
      "Sets the type of automatic casting in this thread, None for off; gives what it was.");
  m.def(
      "_set_work",
      [](const std::vector<std::string>& products, const std::vector<std::string>& folds) {
        std::vector<std::pair<const ops::Op*, front::Work>> works;
        for (const std::string& name : products) works.emplace_back(&ops::get(name), front::Work::Products);
        for (const std::string& name : folds) works.emplace_back(&ops::get(name), front::Work::Folds);
        front::set_work(works);
      },
      "What automatic casting takes ops for: sums of products, and folds.");
  m.def("_set_anomaly", [](bool on, bool check_nan) {
    auto before = nb::make_tuple(tape::mode().anomaly, tape::mode().check_nan);
    tape::mode().anomaly = on;
    tape::mode().check_nan = check_nan;
    return before;
  });
  m.def(
      "_may_record", [] { return tape::mode().grad && tape::leaves() > 0 && !Capture::current(); },
      "Whether what is computed now could go on the tape.");
}

}  // namespace ig::py
