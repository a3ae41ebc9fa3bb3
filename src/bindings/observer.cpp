// The watch itself: the trace function of the thread, which keeps to the one that was there before, and what
// each instruction reads or writes. Calls are in observer_calls.cpp.
#include "bindings/observer.h"

#include <algorithm>
#include <unordered_set>

#include "bindings/frame_access.h"

namespace ig::py {
namespace {

// The observers at work in this thread, outermost first, and the trace function that they took the place of.
struct Watch {
  std::vector<Observer*> observers;
  Py_tracefunc previous = nullptr;
  PyObject* previous_object = nullptr;         // owned
  std::unordered_set<PyFrameObject*> foreign;  // frames whose opcodes the previous function asked for itself
};
Watch& watch() {
  static thread_local Watch state;
  return state;
}

int on_event(PyObject*, PyFrameObject* frame, int what, PyObject* argument) {
  Watch& w = watch();
  bool ours = what == PyTrace_OPCODE && !w.foreign.contains(frame);
  if (w.previous && !ours && w.previous(w.previous_object, frame, what, argument) < 0) return -1;
  if (what == PyTrace_CALL && frame::traces_opcodes(frame)) w.foreign.insert(frame);
  int result = 0;
  for (size_t i = 0; i < w.observers.size() && result == 0; ++i)
    result = w.observers[i]->event(frame, what, argument);
  if (what == PyTrace_RETURN && !w.foreign.erase(frame)) frame::set_trace_opcodes(frame, false);
  return result;
}

std::string standard_library() {
  static auto* folder = new std::string([] {
    nb::object file = own(PyObject_GetAttrString(own(PyImport_ImportModule("os")).ptr(), "__file__"));
    auto path = nb::cast<std::string>(file);
    return path.substr(0, path.rfind('/') + 1);
  }());
  return *folder;
}

}  // namespace

// Code is classed by its file. The standard library's own globals are taken as they are, and it may fill its
// caches; what it does to the user's objects is observed like the user's own code. This package and NumPy are
// not watched inside, but functions of the user's that they call are. An import, a message to a log or a
// warning (effects while the function is recorded, like print), and pytest, are left alone as a whole.
Observer::Owner Observer::owner_of(PyCodeObject* code) {
  static auto* known = new std::unordered_map<PyCodeObject*, Owner>;
  auto [place, fresh] = known->try_emplace(code, Owner::User);
  if (!fresh) return place->second;
  Py_INCREF(code);  // the table's own, so that the address stays what it is
  std::string file = nb::cast<std::string>(nb::handle(code->co_filename));
  // Layers and optimisers are programs on public functions: what they read of the user's objects counts.
  if (is_package_code(code)) place->second = is_program_code(code) ? Owner::Library : Owner::Transparent;
  // A test runner's rewritten assertions call it, and it fills caches of its own.
  bool runner = file.find("/_pytest/") != std::string::npos || file.find("/pluggy/") != std::string::npos;
  bool message = false;
  for (std::string_view name : {"logging/", "warnings.py", "linecache.py", "traceback.py"})
    message = message || file.starts_with(standard_library() + std::string(name));
  if (file.starts_with("<frozen importlib") || runner || message)
    place->second = Owner::Opaque;
  else if (file.find("/numpy/") != std::string::npos)
    place->second = Owner::Transparent;
  else if (file.starts_with("<frozen "))
    place->second = Owner::Library;
  else if (file.starts_with(standard_library()) && file.find("/site-packages/") == std::string::npos)
    place->second = Owner::Library;
  return place->second;
}

Observer::Observer(nb::handle function, std::span<const nb::object> arguments)
    : function_(nb::borrow(function)) {
  if (PyMethod_Check(function.ptr()))
    notes_.reach(PyMethod_GET_SELF(function.ptr()));
  else
    notes_.reach(function.ptr());
  for (const nb::object& argument : arguments) {
    PyObject* o = argument.ptr();
    if (!is_array(o) && !PyDict_CheckExact(o) && !PyList_CheckExact(o) && !PyTuple_CheckExact(o))
      notes_.reach(o);
  }
}

namespace {

// The collector runs callbacks and finalizers of anybody in the midst of a function; they are no part of it,
// so it rests while any thread records. Counted under the GIL.
int recording = 0;
bool collector_was_on = false;

void collector_rests(bool rests) {
  if (rests && recording++ == 0) collector_was_on = PyGC_Disable() != 0;
  if (!rests && --recording == 0 && collector_was_on) PyGC_Enable();
}

}  // namespace

Observer::~Observer() {
  try {
    if (running_) stop(true);
    notes_.give_back();  // also where the watch did not come to begin
  } catch (...) {
    PyErr_Clear();
  }
}

void Observer::allow_writes(nb::handle object) { notes_.allow_writes(object.ptr()); }

void Observer::returned(nb::handle result) {
  notes_.at(nullptr, 0);
  notes_.elements(result.ptr(), true);
}

void Observer::start() {
  std::string problem = frame::unsupported();
  if (!problem.empty())
    throw Error(ErrorKind::Unsupported, "this Python's frames are not known")
        .why(problem)
        .hint("use ig.trace, which takes what lies outside of the function as it is");
  Watch& w = watch();
  if (w.observers.empty()) {
    PyThreadState* thread = PyThreadState_Get();
    w.previous = thread->c_tracefunc;
    w.previous_object = thread->c_traceobj;
    Py_XINCREF(w.previous_object);
    // With the previous object, so that sys.gettrace() gives what it gave.
    PyEval_SetTrace(&on_event, w.previous_object);
  }
  w.observers.push_back(this);
  running_ = true;
  collector_rests(true);
  // A callable object is called through its class.
  if (!PyFunction_Check(function_.ptr()) && !PyMethod_Check(function_.ptr()))
    notes_.special(function_.ptr(), {"__call__"});
}

void Observer::stop(bool failed) {
  if (!running_) return;
  running_ = false;
  collector_rests(false);
  notes_.give_back();
  Watch& w = watch();
  std::erase(w.observers, this);
  bool lost = PyThreadState_Get()->c_tracefunc != &on_event;
  if (w.observers.empty()) {
    PyObject* previous = std::exchange(w.previous_object, nullptr);
    if (!lost) PyEval_SetTrace(std::exchange(w.previous, nullptr), previous);
    Py_XDECREF(previous);
    w.previous = nullptr;
    w.foreign.clear();
  }
  pending_.clear();
  notes_.forget();
  if (refusal_) throw *refusal_;
  if (failed) return;
  if (lost)
    throw Error(ErrorKind::Capture, "the watch over a captured function was ended by another trace function")
        .why("sys.settrace was called while the function ran, so what it read after that is not known")
        .hint(
            "set the trace function (of a debugger, or coverage) before the first call, or capture without "
            "it");
  for (const auto& guard : notes_.guards())
    // A handle that was bound to another array holds that one until the capture puts the old one back.
    if (!guard->holds() && !(notes_.arrays_followed && guard->array().valid()))
      throw Error(ErrorKind::Capture,
                  "what a captured function read changed while it ran: " + guard->describe())
          .why("the change would happen once, when the function is captured, and not on later calls")
          .hint("return the new value, and store it where the function is called");
}

Location Observer::user_place(PyFrameObject* frame) const {
  nb::object at = nb::borrow(reinterpret_cast<PyObject*>(frame));
  while (at.is_valid()) {
    auto* object = reinterpret_cast<PyFrameObject*>(at.ptr());
    if (owner_of(frame::code(object)) == Owner::User)
      return location_at(frame::code(object), PyFrame_GetLasti(object));
    at = nb::steal(reinterpret_cast<PyObject*>(PyFrame_GetBack(object)));
  }
  return {};
}

void Observer::refuse(PyFrameObject* frame, std::string summary, std::string why, std::string hint) {
  Error error(ErrorKind::Capture, std::move(summary));
  error.at(user_place(frame).str()).why(std::move(why)).hint(std::move(hint));
  if (!refusal_) refusal_ = error;
  throw error;
}

void Observer::refuse_store(PyFrameObject* frame, const std::string& what) {
  refuse(frame, "a captured function changes what lies outside of it: " + what,
         "the change would happen once, when the function is captured, and not on later calls",
         "return the new value, and store it where the function is called");
}

// Whether a store leaves the array there that is there already, as the second half of `self.total += x` does.
bool Observer::puts_back(PyObject* value, PyObject* now) const {
  return notes_.arrays_followed && value && value == now && is_tensor(value);
}

void Observer::store(PyFrameObject* frame, PyObject* target, const std::string& what) {
  if (notes_.arrays_followed && is_tensor(target)) return;
  if (notes_.is_outside(target) && !notes_.may_write(target)) refuse_store(frame, what);
}

void Observer::assume(Place place, nb::handle value) { notes_.assume(std::move(place), value); }

nb::object Observer::read_gradient(nb::handle array) { return notes_.read_gradient(array.ptr()); }

void Observer::bind_gradient(nb::handle array) {
  notes_.rebind(notes_.gradient(array.ptr()), python_location().str());
}

// Whether a store binds a name, an attribute or an element that the caller of the capture can bind again on
// each call; then it is noted. Only where nothing but the binding happens: no `__setattr__`, no property, and
// of a container no change of its structure.
bool Observer::rebinds(PyFrameObject* frame, const frame::Step& s) {
  using I = frame::Instruction;
  if (!notes_.arrays_followed) return false;
  auto label = [&](PyObject* name) { return nb::cast<std::string>(nb::str(nb::handle(name))); };
  PyObject* top = s.peek(0);
  Place place{};
  switch (s.what) {
    case I::StoreGlobal:
    case I::StoreName:
      place = {Place::Kind::Global,
               nb::borrow(frame::globals(frame)),
               nb::borrow(notes_.key_for(s.name)),
               nb::borrow(frame::builtins(frame)),
               0,
               "global " + label(s.name)};
      break;
    case I::StoreCell:
      place = {Place::Kind::Cell, nb::borrow(s.cell), {}, {}, 0, "closure variable " + label(s.name)};
      break;
    case I::StoreAttribute: {
      PyTypeObject* type = Py_TYPE(top);
      PyObject* found = _PyType_Lookup(type, s.name);
      if (PyType_Check(top) || PyModule_Check(top) || PyFunction_Check(top) || !notes_.is_outside(top) ||
          type->tp_setattro != PyObject_GenericSetAttr || !_PyObject_GetDictPtr(top) ||
          (found && Py_TYPE(found)->tp_descr_set))
        return false;
      place = {Place::Kind::Attribute,
               nb::borrow(top),
               nb::borrow(notes_.key_for(s.name)),
               {},
               0,
               fmt::format("{} of {}", label(s.name), notes_.name_of(top))};
      break;
    }
    case I::StoreSubscript: {
      PyObject* container = s.peek(1);
      if (!notes_.is_outside(container)) return false;
      std::string name = fmt::format("{}[{}]", notes_.name_of(container), short_repr(top));
      if (PyDict_CheckExact(container) && is_atom(top) && PyDict_Contains(container, top) == 1) {
        place = {Place::Kind::DictItem, nb::borrow(container), nb::borrow(notes_.key_for(top)), {}, 0, name};
      } else if (PyList_CheckExact(container) && PyLong_CheckExact(top)) {
        Py_ssize_t n = PyList_GET_SIZE(container), i = PyLong_AsSsize_t(top);
        if (i == -1 && PyErr_Occurred()) PyErr_Clear();
        if (i < 0) i += n;
        if (i < 0 || i >= n) return false;
        place = {Place::Kind::SequenceItem, nb::borrow(container), {}, {}, i, name};
      } else {
        return false;
      }
      break;
    }
    default: return false;
  }
  notes_.rebind(std::move(place), user_place(frame).str());
  return true;
}

int Observer::event(PyFrameObject* frame, int what, PyObject*) {
  if (opaque_) {
    if (what == PyTrace_RETURN && frame == opaque_) opaque_ = nullptr;
    return 0;
  }
  return guard(
      [&] {
        switch (what) {
          case PyTrace_CALL: enter(frame); break;
          case PyTrace_OPCODE: step(frame); break;
          case PyTrace_EXCEPTION:
          case PyTrace_RETURN:
            std::erase_if(pending_, [&](const Pending& p) { return p.frame == frame; });
            break;
          default: break;
        }
        return 0;
      },
      -1);
}

void Observer::enter(PyFrameObject* frame) {
  Owner owner = owner_of(frame::code(frame));
  if (owner == Owner::Opaque) opaque_ = frame;
  if (owner != Owner::User && owner != Owner::Library) return;
  frame::set_trace_opcodes(frame, true);
  for (PyObject* cell : frame::own_cells(frame)) notes_.made_here(cell);
  if (owner != Owner::User || frame::names(frame)) return;
  notes_.at(frame::code(frame), 0);
  PyFunctionObject* function = frame::function(frame);
  notes_.function(function);
  // A method that C code called (a special method, mostly) was found on the class of its first argument.
  PyObject* self = frame::first_argument(frame);
  if (!self || notes_.was_made_here(reinterpret_cast<PyObject*>(function))) return;
  for (PyTypeObject* type :
       {Py_TYPE(self), PyType_Check(self) ? reinterpret_cast<PyTypeObject*>(self) : nullptr}) {
    PyObject* found = type ? _PyType_Lookup(type, function->func_name) : nullptr;
    if (found && (found == reinterpret_cast<PyObject*>(function) || Py_TYPE(found) == &PyStaticMethod_Type ||
                  Py_TYPE(found) == &PyClassMethod_Type))
      notes_.type_attribute(type, function->func_name);
  }
}

void Observer::finish_pending(PyFrameObject* frame) {
  if (pending_.empty() || pending_.back().frame != frame) return;
  Pending pending = std::move(pending_.back());
  After what = pending.what;
  pending_.pop_back();
  if (what == After::Attribute) return notes_.attribute(pending.holder.ptr(), pending.name.ptr());
  PyObject* result = frame::next_step(frame).peek(0);
  if (!result) return;
  if (what == After::Reach)
    notes_.reach(result);
  else if (what == After::Made || PyType_Check(result))
    notes_.made_here(result);
}

void Observer::advance(PyFrameObject* frame, PyObject* iterator) {
  if (notes_.is_outside(iterator) && PyIter_Check(iterator))
    refuse_store(frame, fmt::format("{} is advanced", notes_.name_of(iterator)));
}

void Observer::step(PyFrameObject* frame) {
  using I = frame::Instruction;
  finish_pending(frame);
  frame::Step s = frame::next_step(frame);
  if (s.what == I::Other) return;
  PyCodeObject* code = frame::code(frame);
  bool user = owner_of(code) == Owner::User;
  notes_.at(code, PyFrame_GetLasti(frame));
  PyObject* top = s.peek(0);
  auto text = [](PyObject* name) { return nb::cast<std::string>(nb::handle(name)); };
  PyObject* names = frame::names(frame);
  switch (s.what) {
    case I::LoadClassCell:
    case I::LoadName:
      // In a class body its own names come first.
      if (names && names != frame::globals(frame) && PyDict_Check(names) &&
          PyDict_Contains(names, s.name) == 1)
        return;
      if (s.what == I::LoadClassCell) return notes_.cell(s.cell, s.name);
      [[fallthrough]];
    case I::LoadGlobal:
      if (user) return notes_.global(frame::globals(frame), frame::builtins(frame), s.name);
      // os.environ is the one object of the standard library whose content is the user's.
      if (PyObject* value = PyDict_GetItemWithError(frame::globals(frame), s.name))
        if (std::string_view(Py_TYPE(value)->tp_name) == "_Environ") notes_.reach(value);
      return;
    // Closures of the standard library are its own, like its globals.
    case I::LoadCell: return user ? notes_.cell(s.cell, s.name) : void();
    case I::StoreGlobal:
    case I::DeleteGlobal:
      if (s.what == I::StoreGlobal && puts_back(top, PyDict_GetItem(frame::globals(frame), s.name))) return;
      if (user && rebinds(frame, s)) return;
      if (user)
        refuse_store(frame, fmt::format("global {} is {}", text(s.name),
                                        s.what == I::StoreGlobal ? "stored" : "deleted"));
      return;
    case I::StoreName:
      if (user && names == frame::globals(frame) && !rebinds(frame, s))
        refuse_store(frame, fmt::format("global {} is stored", text(s.name)));
      return;
    case I::StoreCell:
      if (puts_back(top, PyCell_GET(s.cell))) return;
      if (user && !notes_.was_made_here(s.cell) && !notes_.may_write(s.cell) && !rebinds(frame, s))
        refuse_store(frame, fmt::format("closure variable {} is stored", text(s.name)));
      return;
    case I::LoadAttribute:
      if (PyModule_Check(top) && PyDict_Contains(PyModule_GetDict(top), s.name) == 0 &&
          PyDict_GetItemString(PyModule_GetDict(top), "__getattr__")) {
        pending_.push_back({frame, After::Attribute, nb::borrow(top), nb::borrow(s.name)});
        return;
      }
      notes_.attribute(top, s.name);
      // A class's namespace, or an object's dict where it is read under that name.
      if (PyUnicode_CompareWithASCIIString(s.name, "__dict__") == 0 && notes_.is_outside(top))
        pending_.push_back({frame, After::Reach, {}, {}});
      return;
    case I::StoreAttribute:
    case I::DeleteAttribute:
      notes_.special(top, {s.what == I::StoreAttribute ? "__setattr__" : "__delattr__"});
      // Setting a property of the user's runs a function, which is watched itself.
      if (PyObject* found = _PyType_Lookup(Py_TYPE(top), s.name))
        if (Py_TYPE(found) == &PyProperty_Type) return;
      if (s.what == I::StoreAttribute && s.peek(1) && is_tensor(s.peek(1))) {
        nb::object now = nb::steal(PyObject_GenericGetAttr(top, s.name));
        if (!now.is_valid()) PyErr_Clear();
        if (puts_back(s.peek(1), now.ptr())) return;
      }
      if (rebinds(frame, s)) return;
      return store(frame, top,
                   fmt::format("attribute {} of {} is {}", text(s.name), notes_.name_of(top),
                               s.what == I::StoreAttribute ? "stored" : "deleted"));
    case I::StoreSubscript:
    case I::DeleteSubscript: {
      PyObject* container = s.peek(1);
      notes_.special(container, {s.what == I::StoreSubscript ? "__setitem__" : "__delitem__"});
      if (s.what == I::StoreSubscript && PyDict_CheckExact(container) &&
          puts_back(s.peek(2), PyDict_GetItem(container, top)))
        return;
      if (!notes_.may_write(container) && rebinds(frame, s)) return;
      // A class with a __setitem__ in Python is watched where that stores.
      return store(frame, container,
                   fmt::format("{}[{}] is {}", notes_.name_of(container), short_repr(top),
                               s.what == I::StoreSubscript ? "stored" : "deleted"));
    }
    case I::Subscript: {
      if (is_array(top)) notes_.content(top);
      notes_.item(s.peek(1), top);
      PyObject* container = s.peek(1);
      std::string_view type = Py_TYPE(container)->tp_name;
      if (notes_.is_outside(container) && type == "collections.defaultdict" &&
          PyDict_Contains(container, top) == 0)
        refuse_store(frame,
                     fmt::format("{}[{}] is stored, because reading a missing key of a defaultdict adds it",
                                 notes_.name_of(container), short_repr(top)));
      if (notes_.is_outside(container) && type == "mappingproxy")
        pending_.push_back({frame, After::Reach, {}, {}});
      return;
    }
    case I::Contains: return notes_.contains(top, s.peek(1));
    case I::Compare:
      for (PyObject* side : {top, s.peek(1)}) {
        notes_.special(side, {"__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"});
        if (!is_tensor(side)) notes_.elements(side, true);
      }
      return;
    case I::InPlace: {
      PyObject* target = s.peek(1);
      if (notes_.is_outside(target) &&
          (is_array(target) || PyList_Check(target) || PyDict_Check(target) || PySet_Check(target) ||
           PyByteArray_Check(target) || std::string_view(Py_TYPE(target)->tp_name) == "collections.deque"))
        store(frame, target, fmt::format("{} is changed in place by an operator", notes_.name_of(target)));
      if (PyType_HasFeature(Py_TYPE(target), Py_TPFLAGS_HEAPTYPE) && !is_tensor(target))
        notes_.special(target, {fmt::format("__i{}__", s.binary).c_str()});
      [[fallthrough]];
    }
    case I::Binary: {
      for (PyObject* side : {top, s.peek(1)}) {
        if (PyType_HasFeature(Py_TYPE(side), Py_TPFLAGS_HEAPTYPE) && !is_tensor(side))
          notes_.special(side,
                         {fmt::format("__{}__", s.binary).c_str(), fmt::format("__r{}__", s.binary).c_str()});
        bool handed =
            notes_.arrays_followed && is_numpy_array(side) && (is_tensor(top) || is_tensor(s.peek(1)));
        if (!is_tensor(side) && !handed) notes_.opaque(side, "an operator");
      }
      return;
    }
    case I::Unary: return notes_.opaque(top, "an operator");
    case I::Truth: return notes_.truth(top);
    case I::Iterate: advance(frame, top); return notes_.elements(top, false);
    case I::Advance:
      if (s.peek(0) && PyIter_Check(top)) return advance(frame, top);
      if (PyObject* below = s.peek(1)) advance(frame, below);
      return;
    case I::Unpack: advance(frame, top); return notes_.elements(top, false);
    case I::Spread: advance(frame, top); return notes_.elements(top, false);
    case I::Length: return notes_.length(top);
    case I::Format:
      top = (s.argument & 4) ? s.peek(1) : top;
      notes_.special(top, {"__format__", "__str__", "__repr__"});
      return notes_.opaque(top, "str");
    case I::Match: return notes_.elements(s.peek(1), false);
    case I::MatchClass: return notes_.opaque(s.peek(2), "a class pattern", user_place(frame));
    case I::Enter: return notes_.special(top, {"__enter__", "__exit__"});
    case I::KeywordNames: keywords_ = s.keywords; return;
    case I::MakeFunction: pending_.push_back({frame, After::Made, {}, {}}); return;
    case I::Call: {
      auto n = static_cast<size_t>(s.argument);
      PyObject** first = s.top - n;
      PyObject* callable = first[-1];
      if (first[-2]) {
        callable = first[-2];
        --first;
        ++n;
      }
      return call(frame, callable, {first, n}, std::exchange(keywords_, nullptr));
    }
    case I::CallSpread: {
      bool named = (s.argument & 1) != 0;
      PyObject* args = s.peek(named ? 1 : 0);
      PyObject* callable = s.peek(named ? 2 : 1);
      std::vector<PyObject*> all;
      advance(frame, args);
      notes_.elements(args, false);
      if (PyTuple_Check(args) || PyList_Check(args))
        for (Py_ssize_t i = 0; i < Py_SIZE(args); ++i)
          all.push_back(PyTuple_Check(args) ? PyTuple_GET_ITEM(args, i) : PyList_GET_ITEM(args, i));
      if (named) {
        notes_.elements(top, false);
        Py_ssize_t at = 0;
        PyObject *key, *value;
        while (PyDict_Check(top) && PyDict_Next(top, &at, &key, &value)) all.push_back(value);
      }
      return call(frame, callable, all, nullptr);
    }
    case I::Import: {
      PyObject* modules = PyImport_GetModuleDict();
      if (!user || PyDict_Contains(modules, s.name) != 1) return;
      notes_.reach(modules);
      return notes_.item(modules, s.name);
    }
    case I::ImportFrom: return notes_.attribute(top, s.name);
    default: return;
  }
}

}  // namespace ig::py
