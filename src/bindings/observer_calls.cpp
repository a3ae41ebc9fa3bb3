// What calls read and change. A Python function is watched as it runs; of code in C, the built-in functions
// and the methods of built-in containers are known one by one, what reads the world (time, random numbers,
// files) is refused, and all else counts as reading everything that it is handed.
#include <algorithm>
#include <string_view>

#include "bindings/frame_access.h"
#include "bindings/observer.h"

namespace ig::py {
namespace {

using Names = std::initializer_list<std::string_view>;

bool among(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}
bool among(std::string_view name, Names names) { return among(name, std::span(names.begin(), names.size())); }

std::string text_attribute(PyObject* object, const char* name) {
  nb::object value = nb::steal(PyObject_GetAttrString(object, name));
  if (!value.is_valid()) PyErr_Clear();
  return value.is_valid() && PyUnicode_Check(value.ptr()) ? nb::cast<std::string>(value) : "";
}

// Methods of dict, list, set, deque, bytearray and their kin that change the object.
constexpr std::string_view kMutators[] = {"append",
                                          "extend",
                                          "insert",
                                          "pop",
                                          "remove",
                                          "clear",
                                          "sort",
                                          "reverse",
                                          "__setitem__",
                                          "__delitem__",
                                          "__iadd__",
                                          "__imul__",
                                          "__ior__",
                                          "__iand__",
                                          "__isub__",
                                          "__ixor__",
                                          "popitem",
                                          "update",
                                          "add",
                                          "discard",
                                          "difference_update",
                                          "intersection_update",
                                          "symmetric_difference_update",
                                          "appendleft",
                                          "extendleft",
                                          "popleft",
                                          "rotate",
                                          "move_to_end",
                                          "__init__",
                                          "__setattr__",
                                          "__delattr__"};

// Functions in C that change their first argument.
constexpr std::string_view kMutatingFunctions[] = {
    "setattr",     "delattr",     "setitem", "delitem",      "heappush",    "heappop", "heapify",
    "heapreplace", "heappushpop", "insort",  "insort_right", "insort_left", "iadd",    "iconcat",
    "ior",         "imul",        "isub",    "iand",         "ixor"};

struct World {
  std::string_view what, hint;
};
constexpr World kTime{"the time", "take the time where the function is called, and pass it as an argument"};
constexpr World kRandom{
    "a random number",
    "use ig.random with a key, or draw where the function is called and pass it as an argument"};
constexpr World kFile{"what lies outside of the program",
                      "read it where the function is called, and pass it as an argument"};

const World* world_of(std::string_view module, std::string_view name, PyObject* callable, PyObject* self) {
  if (module == "time" && among(name, {"time", "time_ns", "perf_counter", "perf_counter_ns", "monotonic",
                                       "monotonic_ns", "process_time", "process_time_ns", "thread_time",
                                       "localtime", "gmtime", "ctime", "asctime", "strftime"}))
    return &kTime;
  if ((module == "builtins" && name == "input") ||
      ((module == "io" || module == "_io" || module == "builtins") && name == "open") ||
      (module == "posix" &&
       among(name, {"open", "read", "listdir", "scandir", "stat", "lstat", "getcwd", "getpid"})))
    return &kFile;
  if (module == "posix" && among(name, {"urandom", "getrandom"})) return &kRandom;
  if (PyCFunction_Check(callable)) self = PyCFunction_GET_SELF(callable);
  if (!self) return nullptr;
  if (PyModule_Check(self)) return nullptr;
  if (PyType_Check(self)) {
    std::string_view type = reinterpret_cast<PyTypeObject*>(self)->tp_name;
    bool dates = type == "datetime.datetime" || type == "datetime.date";
    return dates && among(name, {"now", "utcnow", "today"}) ? &kTime : nullptr;
  }
  for (PyTypeObject* type = Py_TYPE(self); type; type = type->tp_base)
    if (std::string_view(type->tp_name) == "_random.Random" ||
        std::string_view(type->tp_name).starts_with("numpy.random."))
      return &kRandom;
  return nullptr;
}

bool is_ours(PyObject* callable, std::string_view module) {
  std::string_view type = Py_TYPE(callable)->tp_name;
  return module.starts_with("intaglio") || type.starts_with("intaglio.") || type == "nb_func" ||
         type == "nb_method" || type == "nb_bound_method";
}

// The functions that take a callback, each as its first argument, stand in files of their own.
bool takes_callback(PyCodeObject* code) {
  std::string_view file = nb::cast<std::string_view>(nb::handle(code->co_filename));
  return file.ends_with("/_callbacks.py") || file.ends_with("/intaglio/debug.py");
}

bool is_class_in_python(PyObject* o) {
  return PyType_Check(o) && PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_HEAPTYPE) &&
         !PyType_HasFeature(reinterpret_cast<PyTypeObject*>(o), Py_TPFLAGS_IMMUTABLETYPE);
}

}  // namespace

void Observer::world_call(PyFrameObject* frame, PyObject* callable, std::string_view module,
                          std::string_view name, PyObject* self) {
  if (const World* world = world_of(module, name, callable, self))
    refuse(frame, fmt::format("a captured function reads {}: {}", world->what, name),
           "it would be read once, when the function is captured, and every later call would see that value",
           std::string(world->hint));
}

void Observer::call(PyFrameObject* frame, PyObject* callable, std::span<PyObject* const> args,
                    PyObject* keywords) {
  if (PyMethod_Check(callable)) {
    std::vector<PyObject*> all{PyMethod_GET_SELF(callable)};
    all.insert(all.end(), args.begin(), args.end());
    world_call(frame, callable, "", text_attribute(callable, "__name__"), PyMethod_GET_SELF(callable));
    return call(frame, PyMethod_GET_FUNCTION(callable), all, keywords);
  }
  if (PyFunction_Check(callable)) {
    auto* code = reinterpret_cast<PyCodeObject*>(reinterpret_cast<PyFunctionObject*>(callable)->func_code);
    if (owner_of(code) != Owner::Transparent) {
      // The standard library's random module draws through an object of its own.
      if (owner_of(code) == Owner::Library && !args.empty() && !is_tensor(args[0])) {
        for (PyTypeObject* type = Py_TYPE(args[0]); type; type = type->tp_base)
          if (std::string_view(type->tp_name) == "_random.Random")
            refuse(frame,
                   fmt::format("a captured function reads {}: {}", kRandom.what,
                               text_attribute(callable, "__name__")),
                   "it would be read once, when the function is captured, and every later call would see "
                   "that value",
                   std::string(kRandom.hint));
      }
      return;
    }
    bool numpy = !is_package_code(code);
    // A callback is called by runs, and not by the capture: what it is made of is not read here.
    if (!numpy && !args.empty() && takes_callback(code)) args = args.subspan(1);
    for (PyObject* arg : args)
      if (numpy && notes_.is_outside(arg) && is_array(arg))
        notes_.content(arg);
      else
        notes_.opaque(arg, "a library function", user_place(frame));
    return;
  }
  if (is_class_in_python(callable)) {
    auto* type = reinterpret_cast<PyTypeObject*>(callable);
    for (const char* name : {"__new__", "__init__"})
      notes_.type_attribute(type, own(PyUnicode_InternFromString(name)).ptr());
    notes_.special(callable, {"__call__"});
  }
  c_call(frame, callable, args, keywords);
}

void Observer::c_call(PyFrameObject* frame, PyObject* callable, std::span<PyObject* const> args, PyObject*) {
  std::string name = text_attribute(callable, "__name__");
  std::string module;
  PyObject* self = nullptr;
  std::span<PyObject* const> rest = args;
  std::string_view kind = Py_TYPE(callable)->tp_name;
  if (PyCFunction_Check(callable)) {
    self = PyCFunction_GET_SELF(callable);
    if (self && (PyModule_Check(self) || PyType_Check(self))) self = nullptr;
    module = text_attribute(callable, "__module__");
  } else if (kind == "method_descriptor" || kind == "wrapper_descriptor" ||
             kind.find("cython_function_or_method") != kind.npos) {
    if (!args.empty()) {
      self = args[0];
      rest = args.subspan(1);
    }
  } else if (kind == "method-wrapper") {
    nb::object bound = own(PyObject_GetAttrString(callable, "__self__"));
    self = bound.ptr();  // held by the wrapper, which the frame holds
  } else if (PyType_Check(callable)) {
    module = text_attribute(callable, "__module__");
  } else {
    notes_.special(callable, {"__call__"});
  }
  world_call(frame, callable, module, name, self);
  if (self && method_call(frame, self, name, rest)) return;
  if (!self && builtin_call(frame, module, name, args)) return;
  // NumPy's functions hand our arrays back to us; these built-in functions do it by special methods.
  bool numpy = kind == "numpy.ufunc" || kind == "numpy._ArrayFunctionDispatcher";
  bool by_method = numpy || (module == "builtins" && among(name, {"abs", "round", "divmod", "pow"}));
  bool ours = is_ours(callable, module) || (self && is_tensor(self));
  // What lies in a partial is handed on by it.
  if (kind == "functools.partial") {
    notes_.reach(callable);
    for (const char* part : {"func", "args", "keywords"}) {
      nb::object value = own(PyObject_GetAttrString(callable, part));
      notes_.reach(value.ptr());
      if (part[0] != 'f')
        notes_.elements(value.ptr(), false);
      else if (!PyFunction_Check(value.ptr()))
        call(frame, value.ptr(), args, nullptr);
    }
    return;
  }
  // A class in Python hands its arguments to its own methods; others read what they are given.
  if (is_class_in_python(callable)) return;
  bool read = false;
  for (PyObject* arg : args) {
    if (ours && notes_.arrays_followed && is_numpy_array(arg)) continue;
    if (!notes_.is_outside(arg) && !ours) {
      notes_.opaque(arg, name.empty() ? kind : std::string_view(name));
      continue;
    }
    read = read || (notes_.is_outside(arg) && !PyType_Check(arg) && !PyFunction_Check(arg));
    bool whole =
        !ours || (self == arg && among(name, {"item", "tolist", "__array__", "__dlpack__", "__bool__",
                                              "__int__", "__float__", "__index__", "__complex__"}));
    if (whole && is_array(arg) && !(by_method && is_tensor(arg)))
      notes_.content(arg);
    else
      notes_.opaque(arg, name.empty() ? kind : std::string_view(name), user_place(frame));
  }
  bool foreign = !PyCFunction_Check(callable) && !PyType_Check(callable) && !ours && !numpy &&
                 notes_.is_outside(callable);
  // What comes back may be a part of what was handed over, or of the callable (a cache).
  if (foreign || (read && self && !ours && length_of(self) < 0 && !is_array(self)))
    pending_.push_back({frame, After::Reach, {}, {}});
}

// Methods of built-in containers; false where nothing is known of it.
bool Observer::method_call(PyFrameObject* frame, PyObject* self, std::string_view name,
                           std::span<PyObject* const> args) {
  std::string_view type = Py_TYPE(self)->tp_name;
  bool container = PyDict_Check(self) || PyList_Check(self) || PySet_Check(self) || PyByteArray_Check(self) ||
                   type == "collections.deque";
  if (name == "__getattribute__" && !args.empty() && PyUnicode_Check(args[0]))
    return notes_.attribute(self, args[0]), true;
  if (name == "__setattr__" || name == "__delattr__")
    return store(frame, self, fmt::format("an attribute of {} is stored", notes_.name_of(self))), true;
  if (name == "send" || name == "throw" || name == "__next__") return advance(frame, self), false;
  if (container && among(name, kMutators)) {
    store(frame, self, fmt::format("{} is changed by {}", notes_.name_of(self), name));
    for (PyObject* arg : args) notes_.elements(arg, false);
    return true;
  }
  if (type == "mappingproxy" || (PyModule_Check(self))) {
    pending_.push_back({frame, After::Reach, {}, {}});
    return false;
  }
  if (length_of(self) < 0) return false;
  if (PyDict_Check(self)) {
    if (among(name, {"get", "__getitem__"}) && !args.empty()) return notes_.item(self, args[0]), true;
    if (name == "setdefault" && !args.empty()) {
      if (notes_.is_outside(self) && PyDict_Contains(self, args[0]) == 0)
        store(frame, self, fmt::format("{} is changed by setdefault", notes_.name_of(self)));
      return notes_.item(self, args[0]), true;
    }
    if (among(name, {"keys", "values", "items", "copy", "__iter__", "__reversed__"}))
      return notes_.elements(self, false), true;
  }
  if (name == "__getitem__" && !args.empty()) return notes_.item(self, args[0]), true;
  if (name == "__contains__" && !args.empty()) return notes_.contains(self, args[0]), true;
  if (name == "__len__") return notes_.length(self), true;
  if (among(name, {"copy", "__iter__", "__reversed__"})) return notes_.elements(self, false), true;
  notes_.elements(self, true);
  for (PyObject* arg : args) notes_.elements(arg, true);
  return true;
}

// Functions and classes of `builtins`, and functions of other modules that change an argument; false where
// unknown.
bool Observer::builtin_call(PyFrameObject* frame, std::string_view module, std::string_view name,
                            std::span<PyObject* const> args) {
  PyObject* first = args.empty() ? nullptr : args[0];
  if (first && among(name, kMutatingFunctions)) {
    store(frame, first, fmt::format("{} is changed by {}", notes_.name_of(first), name));
    return true;
  }
  if (module != "builtins") return false;
  if (name == "globals") {
    notes_.reach(frame::globals(frame));
    return true;
  }
  if (name == "__build_class__") return pending_.push_back({frame, After::MadeIfClass, {}, {}}), true;
  if (name == "super" && !first) {
    // super() without arguments reads the cell that the compiler made for it.
    PyObject* cell = frame::free_cell(frame, "__class__");
    if (cell) notes_.cell(cell, own(PyUnicode_InternFromString("__class__")).ptr());
  }
  if (!first) return true;
  if (name == "len") return notes_.length(first), true;
  if (name == "bool") return notes_.truth(first), true;
  if (among(name, {"getattr", "hasattr"}) && args.size() >= 2 && PyUnicode_Check(args[1])) {
    notes_.attribute(first, args[1]);
    if (PyUnicode_CompareWithASCIIString(args[1], "__dict__") == 0)
      pending_.push_back({frame, After::Reach, {}, {}});
    return true;
  }
  if (among(name, {"isinstance", "issubclass", "type"})) {
    notes_.class_of(first);
    if (args.size() > 1) notes_.elements(args[1], true);
    return true;
  }
  if (among(name, {"id", "callable", "super", "object", "property", "staticmethod", "classmethod"}))
    return true;
  if (name == "vars") {
    if (notes_.is_outside(first)) pending_.push_back({frame, After::Reach, {}, {}});
    return notes_.attribute(first, own(PyUnicode_InternFromString("__dict__")).ptr()), true;
  }
  if (name == "next") return advance(frame, first), true;
  if (name == "iter") return advance(frame, first), notes_.elements(first, false), true;
  if (among(name, {"list", "tuple", "dict", "set", "frozenset", "enumerate", "zip", "map", "filter",
                   "reversed", "sum", "min", "max", "any", "all", "sorted"})) {
    bool deep = among(name, {"sum", "min", "max", "any", "all", "sorted"});
    for (PyObject* arg : args) {
      advance(frame, arg);
      notes_.elements(arg, deep);
    }
    return true;
  }
  if (among(name, {"str", "repr", "format", "hash", "int", "float", "abs", "round", "divmod"}))
    for (const char* special :
         {"__str__", "__repr__", "__hash__", "__int__", "__float__", "__index__", "__abs__"})
      notes_.special(first, {special});
  return false;
}

}  // namespace ig::py
