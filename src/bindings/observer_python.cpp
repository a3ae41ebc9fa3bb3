// The observer's face for tests and for the curious: `_observe(function, *args)` runs a function under watch
// and gives its result with the guards.
#include "bindings/observer.h"

namespace ig::py {
namespace {

struct Guards {
  Guards() = default;
  Guards(Guards&&) = default;  // and so no copies
  OutsideGuards list;
  std::vector<UnknownRead> unknown;
  bool hold() const {
    for (const auto& guard : list)
      if (!guard->holds()) return false;
    return true;
  }
};

// One of them; the owner keeps it.
struct Guard {
  nb::object owner;
  const OutsideGuard* guard;
};

int traverse(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  for (const auto& guard : nb::inst_ptr<Guards>(self)->list)
    if (int stop = guard->traverse(visit, arg)) return stop;
  return 0;
}
int clear(PyObject* self) {
  OutsideGuards gone = std::move(nb::inst_ptr<Guards>(self)->list);
  return 0;
}
PyType_Slot guards_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(&traverse)},
                              {Py_tp_clear, reinterpret_cast<void*>(&clear)},
                              {0, nullptr}};

nb::object observe(nb::args args, nb::kwargs kwargs) {
  if (args.size() == 0)
    throw Error(ErrorKind::Type, "_observe: give a function, then its arguments")
        .why("there is nothing to call")
        .hint("_observe(f, *args, **kwargs)");
  nb::object function = nb::object(args[0]);
  std::vector<nb::object> given;
  for (size_t i = 1; i < args.size(); ++i) given.push_back(nb::object(args[i]));
  for (auto [key, value] : kwargs) given.push_back(nb::borrow(value));
  Observer observer(function, given);
  nb::object rest = own(PyTuple_GetSlice(args.ptr(), 1, PyTuple_GET_SIZE(args.ptr())));
  observer.start();
  nb::object result = nb::steal(PyObject_Call(function.ptr(), rest.ptr(), kwargs.ptr()));
  if (!result.is_valid()) {
    nb::python_error raised;
    observer.stop(true);
    throw raised;
  }
  observer.returned(result);
  observer.stop();
  Guards guards;
  guards.list = observer.take_guards();
  guards.unknown = observer.unknown();
  return nb::make_tuple(result, nb::cast(std::move(guards)));
}

}  // namespace

void init_observer(nb::module_& m) {
  nb::class_<Guard>(m, "OutsideGuard")
      .def("holds", [](const Guard& g) { return g.guard->holds(); })
      .def("describe", [](const Guard& g) { return g.guard->describe(); })
      .def("array", [](const Guard& g) -> nb::object {
        Tensor tensor = g.guard->array();
        return tensor.valid() ? nb::steal(wrap(tensor)) : nb::none();
      });
  nb::class_<Guards>(m, "OutsideGuards", nb::type_slots(guards_slots))
      .def("__len__", [](const Guards& g) { return g.list.size(); })
      .def("__getitem__",
           [](nb::handle self, size_t i) {
             const OutsideGuards& list = nb::inst_ptr<Guards>(self)->list;
             if (i >= list.size()) throw nb::index_error();
             return Guard{nb::borrow(self), list[i].get()};
           })
      .def("hold", &Guards::hold, "Whether all of them hold.")
      .def("failed",
           [](const Guards& g) {
             std::vector<std::string> out;
             for (const auto& guard : g.list)
               if (!guard->holds()) out.push_back(guard->describe());
             return out;
           })
      .def_prop_ro("unknown", [](const Guards& g) {
        nb::list out;
        for (const UnknownRead& read : g.unknown) out.append(nb::make_tuple(read.what, read.where));
        return out;
      });
  m.def("_observe", &observe,
        "Runs function(*args, **kwargs) and gives (result, guards on what it read from outside).");
}

}  // namespace ig::py
