// Modes of the user's own: an object of ig.OpMode is handed each call of an op, as an OpCall that it may go
// on with, once, many times or not at all.
#include "bindings/modes.h"

#include <algorithm>
#include <memory>
#include <thread>

#include "ops/attrs.h"
#include "tensor/mode.h"

namespace ig::py {
namespace {

struct PyCall {
  const ops::Op* op = nullptr;
  std::vector<Tensor> operands;
  Attrs attrs;
  Location where;
  bool captured = false;
  std::thread::id thread;
  const std::function<std::vector<Tensor>()>* run = nullptr;  // null once the handler has returned
};

nb::tuple operands_of(const PyCall& call) {
  nb::list out;
  for (const Tensor& operand : call.operands) out.append(nb::steal(wrap(operand)));
  return nb::tuple(out);
}

nb::dict attrs_of(const PyCall& call) {
  nb::dict out;
  for (const auto& [name, value] : call.attrs.items()) out[name.c_str()] = attr_object(value);
  return out;
}

nb::object go_on_with(PyCall& call, const nb::args& args, const nb::kwargs& kwargs) {
  if (args.size() == 0 && kwargs.size() == 0) return nb::steal(wrap_all((*call.run)()));
  std::vector<front::Operand> operands(call.operands.begin(), call.operands.end());
  if (args.size() > 0) {
    operands.clear();
    size_t i = 0;
    for (nb::handle arg : args) {
      const auto& specs = call.op->decl.operands;
      std::string name = specs.empty() ? "x" : specs[std::min(i, specs.size() - 1)].name;
      operands.push_back(require_operand(arg.ptr(), call.op->decl.name, name));
      ++i;
    }
    if (operands.size() != call.operands.size())
      throw make_error(ErrorKind::Type, "a call of `{}` on {} arrays is gone on with on {}",
                       call.op->decl.name, call.operands.size(), operands.size())
          .why("those given take the place of its own, one by one")
          .hint("pass as many, or none where they stay as they are");
  }
  Attrs attrs = call.attrs;
  for (auto [key, value] : kwargs) {
    auto name = nb::cast<std::string>(key);
    auto spec = std::ranges::find(call.op->decl.attrs, name, &AttrSpec::name);
    if (spec == call.op->decl.attrs.end())
      throw make_error(ErrorKind::Type, "`{}` has no attribute `{}`", call.op->decl.name, name)
          .why("attributes are named as in graph text")
          .hint("see call.attrs");
    attrs.set(name, attr_value(value.ptr(), *spec, call.op->decl.name));
  }
  return nb::steal(wrap_all(front::call(*call.op, operands, std::move(attrs))));
}

// Goes on with the call: as it was, or with these operands and attributes in place of its own.
nb::object go_on(PyCall& call, const nb::args& args, const nb::kwargs& kwargs) {
  if (!call.run || call.thread != std::this_thread::get_id())
    throw make_error(ErrorKind::Value,
                     "a call of `{}` is gone on with after its mode has answered it, or in another thread",
                     call.op->decl.name)
        .why("its result was to take its place in the program, which has gone on since")
        .hint("call it within `op`; ig.functions have the same ops at any time");
  PinnedLocation at(&call.where);
  try {
    return go_on_with(call, args, kwargs);
  } catch (Error& error) {  // it becomes Python's once this place is left
    if (error.where().empty()) error.at(call.where.str());
    throw;
  }
}

class PyMode final : public OpMode {
 public:
  explicit PyMode(nb::handle handler) : handler_(handler.inc_ref().ptr()) {}
  PyMode(const PyMode&) = delete;
  PyMode& operator=(const PyMode&) = delete;
  ~PyMode() override {
    if (!Py_IsInitialized()) return;  // a thread that ends after Python did
    PyGILState_STATE state = PyGILState_Ensure();
    Py_DECREF(handler_);
    PyGILState_Release(state);
  }
  PyObject* handler() const { return handler_; }

  std::vector<Tensor> handle(const Call& given) override {
    nb::gil_scoped_acquire held;
    nb::object object = nb::cast(PyCall{});
    auto& call = nb::cast<PyCall&>(object);
    call.op = &given.op;
    call.operands.assign(given.operands.begin(), given.operands.end());
    call.attrs = given.attrs;
    call.where = python_location();
    call.captured = Capture::current() != nullptr;
    call.thread = std::this_thread::get_id();
    call.run = &given.run;
    struct Over {
      PyCall& call;
      ~Over() { call.run = nullptr; }
    } over{call};
    nb::object answer;
    {
      PinnedLocation free(nullptr);  // what the handler does is at its own lines
      answer = own(PyObject_CallMethod(handler_, "op", "O", object.ptr()));
    }
    std::vector<nb::object> items;
    if (PyTuple_Check(answer.ptr()) || PyList_Check(answer.ptr()))
      for (nb::handle item : answer) items.push_back(nb::borrow(item));
    else
      items.push_back(answer);
    std::vector<Tensor> out;
    for (const nb::object& item : items) {
      if (!is_tensor(item.ptr()))
        throw make_error(ErrorKind::Type, "the mode {} answers `{}` with a {}", Py_TYPE(handler_)->tp_name,
                         given.op.decl.name, Py_TYPE(item.ptr())->tp_name)
            .why(
                "what `op` returns takes the place of the op's result, which is an array, or a tuple of them")
            .hint("return call(), or arrays of the op's results' number");
      note_handle(item.ptr());
      out.push_back(tensor_of(item.ptr()));
    }
    const auto wanted = given.op.decl.results < 0 ? out.size() : static_cast<size_t>(given.op.decl.results);
    if (out.size() != wanted)
      throw make_error(ErrorKind::Type, "the mode {} answers `{}` with {} arrays", Py_TYPE(handler_)->tp_name,
                       given.op.decl.name, out.size())
          .why(fmt::format("the op gives {}, and the program goes on with those", wanted))
          .hint("return call(), or arrays of the op's results' number");
    return out;
  }

 private:
  PyObject* handler_;
};

}  // namespace

void init_modes(nb::module_& m) {
  nb::class_<PyCall>(m, "OpCall", "A call of an op, as a mode (`ig.OpMode`) is handed it.")
      .def_prop_ro(
          "name", [](const PyCall& call) { return call.op->decl.name; }, "The op, as in graph text.")
      .def_prop_ro(
          "function", [](const PyCall& call) { return call.op->decl.python; },
          "The public function that is this op, \"\" where there is none: \"exp\" of `exponential`.")
      .def_prop_ro("operands", &operands_of,
                   "Its arrays, in their promoted types; Python numbers among them are arrays of rank 0.")
      .def_prop_ro("attrs", &attrs_of, "All its attributes, by name.")
      .def_prop_ro(
          "where", [](const PyCall& call) { return call.where.str(); },
          "The line of the program that calls it: \"model.py:12 in forward:  y = x @ w\".")
      .def_prop_ro(
          "captured", [](const PyCall& call) { return call.captured; },
          "Whether it is recorded for a graph, so that its arrays may have no values.")
      .def("__call__", &go_on,
           "Goes on with it: to the modes around this one, then to the op itself. Arrays and attributes that "
           "are given take the place of its own, and are promoted as the public function would.")
      .def("__repr__", [](const PyCall& call) {
        return fmt::format("<call of `{}` at {}>", call.op->decl.name, call.where.str());
      });
  m.def("_enter_mode", [](nb::handle handler) { OpMode::enter(std::make_shared<PyMode>(handler)); });
  m.def(
      "_leave_mode",
      [](nb::handle handler) {
        const auto* mode = dynamic_cast<const PyMode*>(OpMode::innermost());
        if (!mode || mode->handler() != handler.ptr())
          throw make_error(ErrorKind::Value, "the mode {} is left, which is not the innermost one here",
                           Py_TYPE(handler.ptr())->tp_name)
              .why("modes belong to a thread, and are left in the reverse order of entering")
              .hint("enter it by `with`, in the thread that computes");
        OpMode::leave();
      },
      "Leaves the innermost mode of this thread, which must be this one.");
}

}  // namespace ig::py
