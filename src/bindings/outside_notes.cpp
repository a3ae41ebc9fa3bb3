// What a read means for objects of each kind, and which guard follows from it.
#include "bindings/outside_notes.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "bindings/jit_notes.h"

namespace ig::py {
namespace {

constexpr int kDeepest = 8;                 // levels of containers handed to code in C
constexpr int64_t kLargeContent = 1 << 20;  // bytes of a NumPy array; more are worth a word
// Keys of `seen_` that are no place.
enum Extra : int { kSnapshot = 100, kContent, kFunction, kUnknown, kPinned };

std::string text_of(PyObject* object) {
  if (PyUnicode_Check(object)) {
    const char* text = PyUnicode_AsUTF8(object);
    if (text) return text;
    PyErr_Clear();
  }
  return short_repr(object);
}

bool has_python_class(PyTypeObject* type) {
  return PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) && !PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE);
}

// A dict or list whose subscripts and iteration are the built-in ones.
bool plain_subscript(PyObject* o) {
  PyMappingMethods* methods = Py_TYPE(o)->tp_as_mapping;
  if (PyDict_Check(o)) return methods && methods->mp_subscript == PyDict_Type.tp_as_mapping->mp_subscript;
  if (PyList_Check(o)) return methods && methods->mp_subscript == PyList_Type.tp_as_mapping->mp_subscript;
  if (PyTuple_Check(o)) return methods && methods->mp_subscript == PyTuple_Type.tp_as_mapping->mp_subscript;
  return false;
}

bool is_view(PyObject* o) { return PyDictKeys_Check(o) || PyDictValues_Check(o) || PyDictItems_Check(o); }
PyObject* viewed(PyObject* view) {
  return reinterpret_cast<PyObject*>(reinterpret_cast<_PyDictViewObject*>(view)->dv_dict);
}

bool is_sequence_in_c(PyObject* o) {
  std::string_view name = Py_TYPE(o)->tp_name;
  return name == "collections.deque" || name == "mappingproxy" || name == "array.array" ||
         name == "odict_keys" || name == "odict_values";
}

}  // namespace

bool is_own_type(PyTypeObject* type) { return std::string_view(type->tp_name).starts_with("intaglio."); }

PyObject* OutsideNotes::keep(PyObject* object) {
  kept_.try_emplace(object, nb::borrow(object));
  return object;
}

PyObject* OutsideNotes::same_key(PyObject* key) {
  if (!is_atom(key)) return keep(key);
  if (!keys_.is_valid()) keys_ = own(PyDict_New());
  PyObject* same = PyDict_SetDefault(keys_.ptr(), key, key);
  if (!same) throw PythonError{};
  return same;
}

void OutsideNotes::forget() {
  code_ = nullptr;
  outside_.clear();
  fresh_.clear();
  writable_.clear();
  seen_.clear();
  kept_.clear();
  array_places_.clear();
  paths_.clear();
  keys_.reset();
}

OutsideGuards OutsideNotes::take_guards() { return std::move(guards_); }

void OutsideNotes::reach(PyObject* object) {
  if (!object || fresh_.contains(object) || is_atom(object)) return;
  if (is_tensor(object) && tensor_of(object).is_symbolic()) return;
  if (outside_.try_emplace(object).second) keep(object);
}

void OutsideNotes::made_here(PyObject* object) {
  fresh_.insert(keep(object));
  outside_.erase(object);
}

bool OutsideNotes::is_outside(PyObject* object) const {
  if (PyType_Check(object) || PyModule_Check(object) || PyFunction_Check(object))
    return !fresh_.contains(object);
  return outside_.contains(object);
}

std::string OutsideNotes::name_of(PyObject* object) const {
  auto place = outside_.find(object);
  if (place != outside_.end() && !place->second.empty()) return place->second;
  return short_repr(object);
}

const OutsideNotes::Rebound* OutsideNotes::rebound(const Place& place) const {
  for (const Rebound& one : rebound_)
    if (one.place.kind == place.kind && one.place.holder.is(place.holder) && one.place.index == place.index &&
        one.place.key.is(place.key))
      return &one;
  return nullptr;
}

void OutsideNotes::rebind(Place place, std::string where) {
  if (rebound(place)) return;
  keep(place.holder.ptr());
  nb::object before = place.kind == Place::Kind::Global
                          ? nb::borrow(PyDict_GetItem(place.holder.ptr(), place.key.ptr()))
                          : place.read();
  bound_ = true;
  bool read = seen_.contains(key_of(place, false));
  rebound_.push_back({std::move(place), std::move(before), {}, std::move(where), read, {}});
}

void OutsideNotes::assume(Place place, nb::handle value) {
  rebind(place, "");
  rebound_.back().assumed = nb::borrow(value);
  place.write(value);
}

Place OutsideNotes::gradient(PyObject* array) {
  // The place is this object's: what leads to it must lead to this very one on each call.
  if (first({kPinned, array, nullptr, 0}))
    for (PlaceGuard* place : array_places_[array]) place->pin();
  return {Place::Kind::Gradient, nb::borrow(keep(array)), {}, {}, 0, "the gradient of " + name_of(array)};
}

nb::object OutsideNotes::read_gradient(PyObject* array) {
  Place place = gradient(array);
  nb::object now = nb::borrow(note(place));
  if (!is_tensor(now.ptr()) || rebound(place)) return now;
  const Tensor& tensor = tensor_of(now.ptr());
  for (const Rebound& other : rebound_)
    if (other.assumed.is_valid() && other.before.is(now)) {  // one object is the gradient of two arrays
      nb::object value = other.assumed;
      assume(std::move(place), value);
      return value;
    }
  Capture* capture = Capture::current();
  nb::object value = nb::steal(wrap(Tensor::symbolic(capture, capture->value_of(tensor))));
  assume(std::move(place), value);
  return value;
}

void OutsideNotes::give_back() {
  if (!std::exchange(bound_, false)) return;
  for (auto one = rebound_.rbegin(); one != rebound_.rend(); ++one) {
    one->after = one->place.read();
    one->place.write(one->before);
  }
}

std::string OutsideNotes::path_of(const Place& place) const {
  auto from = paths_.find(place.holder.ptr());
  std::string path = from == paths_.end() ? "" : from->second;
  std::string step;
  switch (place.kind) {
    case Place::Kind::Global:
    case Place::Kind::Attribute:
    case Place::Kind::DictItem: step = text_of(place.key.ptr()); break;
    case Place::Kind::SequenceItem: step = std::to_string(place.index); break;
    case Place::Kind::Gradient: step = "grad"; break;
    case Place::Kind::Cell: step = place.label.substr(place.label.rfind(' ') + 1); break;
    case Place::Kind::Descriptor: step = place.label.substr(0, place.label.find(' ')); break;
    default: return "";
  }
  for (char& letter : step)
    if (!std::isalnum(static_cast<unsigned char>(letter)) && letter != '.') letter = '_';
  return path.empty() ? step : path + "." + step;
}

OutsideNotes::Key OutsideNotes::key_of(const Place& place, bool presence_only) {
  const void* key = place.key.is_valid() ? place.key.ptr() : place.second.ptr();
  return {static_cast<int>(place.kind) * 2 + presence_only, place.holder.ptr(), key, place.index};
}

PyObject* OutsideNotes::note(Place place, bool presence_only) {
  nb::object value = place.read();
  if (!rebound_.empty() && rebound(place)) {
    if (value.is_valid()) keep(value.ptr());
    return value.ptr();
  }
  if (value.is_valid() && !presence_only && !is_atom(value.ptr())) {
    auto [path, fresh] = paths_.try_emplace(value.ptr());
    if (fresh) path->second = path_of(place);
    Capture* capture = Capture::current();
    if (fresh && arrays_followed && capture && is_tensor(value.ptr()) && !path->second.empty())
      capture->name_tensor(tensor_of(value.ptr()), path->second);
  }
  if (first(key_of(place, presence_only))) {
    Expected expected = presence_only && value.is_valid() ? Expected::present() : Expected::of(value.ptr());
    if (!presence_only && value.is_valid() && is_tensor(value.ptr()) && tensor_of(value.ptr()).is_symbolic())
      if (Tensor before = before_recording(value.ptr()); !before.is_symbolic())
        expected = Expected::of(value.ptr(), before.type());
    if (value.is_valid() && !presence_only) {
      reach(value.ptr());
      auto named = outside_.find(value.ptr());
      if (named != outside_.end() && named->second.empty()) named->second = place.label;
    }
    bool array = expected.kind() == Expected::Kind::Array;
    auto made = std::make_unique<PlaceGuard>(std::move(place), std::move(expected), where());
    if (array) {
      array_places_[value.ptr()].push_back(made.get());
      if (seen_.contains({kContent, value.ptr(), nullptr, 0}) ||
          seen_.contains({kPinned, value.ptr(), nullptr, 0}))
        made->pin();
    }
    guards_.push_back(std::move(made));
  }
  if (value.is_valid()) keep(value.ptr());
  return value.ptr();
}

// --- names
// -----------------------------------------------------------------------------------------------------------------

void OutsideNotes::global(PyObject* globals, PyObject* builtins, PyObject* name) {
  note({Place::Kind::Global, nb::borrow(globals), nb::borrow(name), nb::borrow(builtins), 0,
        "global " + text_of(name)});
}

void OutsideNotes::cell(PyObject* cell, PyObject* name) {
  if (fresh_.contains(cell)) return;
  note({Place::Kind::Cell, nb::borrow(cell), {}, {}, 0, "closure variable " + text_of(name)});
}

void OutsideNotes::function(PyFunctionObject* function) {
  auto* object = reinterpret_cast<PyObject*>(function);
  if (fresh_.contains(object) || !first({kFunction, object, nullptr, 0})) return;
  std::string name = text_of(function->func_qualname);
  note({Place::Kind::Code, nb::borrow(object), {}, {}, 0, "the code of " + name});
  PyObject* defaults =
      note({Place::Kind::Defaults, nb::borrow(object), {}, {}, 0, "the defaults of " + name});
  if (defaults) elements(defaults, false);
  PyObject* keywords =
      note({Place::Kind::KeywordDefaults, nb::borrow(object), {}, {}, 0, "the keyword defaults of " + name});
  if (keywords) elements(keywords, false);
}

// --- attributes
// ------------------------------------------------------------------------------------------------------------

void OutsideNotes::class_of(PyObject* object) {
  if (is_outside(object) && has_python_class(Py_TYPE(object)))
    note({Place::Kind::Class, nb::borrow(object), {}, {}, 0, "the class of " + name_of(object)});
}

void OutsideNotes::type_attribute(PyTypeObject* type, PyObject* name) {
  auto* object = reinterpret_cast<PyObject*>(type);
  if (!has_python_class(type) || fresh_.contains(object) || is_own_type(type)) return;
  note({Place::Kind::TypeAttribute,
        nb::borrow(object),
        nb::borrow(same_key(name)),
        {},
        0,
        fmt::format("{}.{}", type->tp_name, text_of(name))});
}

void OutsideNotes::special(PyObject* object, std::initializer_list<const char*> names) {
  PyTypeObject* type = Py_TYPE(object);
  if (!has_python_class(type) || is_own_type(type)) return;
  class_of(object);
  for (const char* name : names) type_attribute(type, own(PyUnicode_InternFromString(name)).ptr());
}

void OutsideNotes::super_attribute(PyObject* super, PyObject* name) {
  auto part = [&](const char* which) {
    return own(PyObject_GenericGetAttr(super, own(PyUnicode_FromString(which)).ptr()));
  };
  nb::object behind = part("__thisclass__"), type = part("__self_class__");
  if (type.is_none()) return;
  note({Place::Kind::SuperAttribute, type, nb::borrow(same_key(name)), behind,
        reinterpret_cast<Py_ssize_t>(behind.ptr()),
        fmt::format("super().{} in {}", text_of(name),
                    reinterpret_cast<PyTypeObject*>(behind.ptr())->tp_name)});
}

void OutsideNotes::attribute(PyObject* object, PyObject* name) {
  PyTypeObject* type = Py_TYPE(object);
  if (is_tensor(object) || is_own_type(type)) return;
  if (is_numpy_array(object)) {
    static constexpr std::string_view kForm[] = {"shape", "dtype", "ndim", "size", "itemsize", "nbytes"};
    if (std::ranges::find(kForm, text_of(name)) == std::end(kForm)) content(object);
    return;
  }
  if (type == &PySuper_Type) return super_attribute(object, name);
  if (PyModule_Check(object)) {
    std::string_view module = PyModule_GetName(object) ? PyModule_GetName(object) : "";
    PyErr_Clear();
    if (module == "intaglio" || module.starts_with("intaglio.")) return;
    PyObject* dict = PyModule_GetDict(object);
    class_of(object);
    if (!note({Place::Kind::DictItem,
               nb::borrow(dict),
               nb::borrow(same_key(name)),
               {},
               0,
               fmt::format("{}.{}", module, text_of(name))}))
      note({Place::Kind::DictItem,
            nb::borrow(dict),
            nb::borrow(same_key(own(PyUnicode_FromString("__getattr__")).ptr())),
            {},
            0,
            fmt::format("{}.__getattr__", module)});
    return;
  }
  type_attribute(type, name);
  PyObject* found = _PyType_Lookup(type, name);
  if (PyType_Check(object)) {
    if (is_own_type(reinterpret_cast<PyTypeObject*>(object))) return;
    type_attribute(reinterpret_cast<PyTypeObject*>(object), name);
    PyObject* value = _PyType_Lookup(reinterpret_cast<PyTypeObject*>(object), name);
    if (value) return;
    if (found && Py_TYPE(found)->tp_descr_set && Py_TYPE(found)->tp_descr_get && is_outside(object) &&
        has_python_class(reinterpret_cast<PyTypeObject*>(object)) && text_of(name) != "__dict__")
      note({Place::Kind::Descriptor,
            nb::borrow(object),
            {},
            nb::borrow(found),
            0,
            fmt::format("{}.{}", name_of(object), text_of(name))});
    else
      special(object, {"__getattr__"});
    return;
  }
  if (!is_outside(object)) {
    if (!found) type_attribute(type, own(PyUnicode_InternFromString("__getattr__")).ptr());
    return;
  }
  class_of(object);
  std::string label = fmt::format("{} of {}", text_of(name), name_of(object));
  if (found && Py_TYPE(found)->tp_descr_set) {
    // A property in Python is a function that is observed itself; one in C is read again.
    if (Py_TYPE(found) == &PyProperty_Type) {
      nb::object getter = own(PyObject_GetAttrString(found, "fget"));
      if (PyFunction_Check(getter.ptr())) return;
    } else if (has_python_class(Py_TYPE(found))) {
      return;
    }
    if (Py_TYPE(found)->tp_descr_get && text_of(name) != "__class__")
      note({Place::Kind::Descriptor, nb::borrow(object), {}, nb::borrow(found), 0, label});
    return;
  }
  PyObject** dict = _PyObject_GetDictPtr(object);
  PyObject* value = nullptr;
  if (dict)
    value = note({Place::Kind::Attribute, nb::borrow(object), nb::borrow(same_key(name)), {}, 0, label});
  if (value) return;
  if (found)
    reach(found);
  else
    special(object, {"__getattr__"});
}

// --- containers
// ------------------------------------------------------------------------------------------------------------

void OutsideNotes::snapshot(PyObject* container) {
  class_of(container);
  if (PyTuple_CheckExact(container) || PyFrozenSet_CheckExact(container))
    return;  // immutable, guarded by identity
  if (first({kSnapshot, container, nullptr, 0}))
    guards_.push_back(
        std::make_unique<SnapshotGuard>(nb::borrow(keep(container)), name_of(container), where()));
}

void OutsideNotes::content(PyObject* array) {
  if (arrays_followed && is_tensor(array)) return;
  if (!is_outside(array) || !first({kContent, array, nullptr, 0})) return;
  for (PlaceGuard* place : array_places_[array]) place->pin();
  if (is_numpy_array(array)) {
    auto bytes = nb::cast<int64_t>(own(PyObject_GetAttrString(array, "nbytes")));
    if (bytes > kLargeContent)
      unknown_.push_back(
          {fmt::format("the {} bytes of {} are compared on every call; an ig.Tensor in its place is not",
                       bytes, name_of(array)),
           where().str()});
  }
  guards_.push_back(std::make_unique<ContentGuard>(nb::borrow(keep(array)), name_of(array), where()));
}

void OutsideNotes::item(PyObject* container, PyObject* key) {
  if (is_tensor(container)) return;
  if (is_numpy_array(container)) return content(container);
  special(container, {"__getitem__"});
  if (PyType_Check(container)) return special(container, {"__getitem__"});
  if (!is_outside(container)) return;
  if (!plain_subscript(container)) {
    if (!has_python_class(Py_TYPE(container))) opaque(container, "a subscript");
    return;
  }
  std::string label = fmt::format("{}[{}]", name_of(container), short_repr(key));
  if (PyDict_Check(container)) {
    if (!is_atom(key)) return elements(container, false);
    PyObject* value =
        note({Place::Kind::DictItem, nb::borrow(container), nb::borrow(same_key(key)), {}, 0, label});
    if (!value) special(container, {"__missing__"});
  } else if (PyLong_CheckExact(key)) {
    int overflow = 0;
    Py_ssize_t i = static_cast<Py_ssize_t>(PyLong_AsLongAndOverflow(key, &overflow));
    if (overflow == 0) note({Place::Kind::SequenceItem, nb::borrow(container), {}, {}, i, label});
  } else {
    elements(container, false);
  }
}

void OutsideNotes::contains(PyObject* container, PyObject* key) {
  special(container, {"__contains__", "__iter__"});
  if (is_view(container) && PyDictKeys_Check(container)) container = viewed(container);
  if (!is_outside(container)) return;
  bool dict = PyDict_Check(container);
  if ((dict || PyAnySet_Check(container)) && is_atom(key))
    note({dict ? Place::Kind::DictItem : Place::Kind::SetItem,
          nb::borrow(container),
          nb::borrow(same_key(key)),
          {},
          0,
          fmt::format("{} in {}", short_repr(key), name_of(container))},
         true);
  else
    elements(container, true);
}

void OutsideNotes::length(PyObject* container) {
  special(container, {"__len__"});
  if (is_view(container)) container = viewed(container);
  if (!is_outside(container)) return;
  if (is_numpy_array(container) || is_tensor(container)) return;
  Py_ssize_t n = length_of(container);
  if (n < 0) {
    if (!has_python_class(Py_TYPE(container))) opaque(container, "len");
    return;
  }
  if (PyTuple_CheckExact(container) || PyFrozenSet_CheckExact(container)) return;
  note({Place::Kind::Length, nb::borrow(container), {}, {}, n, name_of(container)}, true);
}

void OutsideNotes::truth(PyObject* object) {
  if (PyBool_Check(object)) return;
  special(object, {"__bool__", "__len__"});
  if (!is_outside(object)) return;
  if (is_array(object)) return content(object);
  if (is_view(object)) object = viewed(object);
  Py_ssize_t n = length_of(object);
  if (n >= 0)
    note({Place::Kind::Emptiness, nb::borrow(object), {}, {}, n == 0, name_of(object)}, true);
  else if (is_sequence_in_c(object))
    snapshot(object);
}

void OutsideNotes::elements(PyObject* container, bool deep) { elements(container, deep, 0); }

void OutsideNotes::elements(PyObject* o, bool deep, int depth) {
  if (is_atom(o) || depth > kDeepest) return;
  if (is_tensor(o)) return;
  if (is_numpy_array(o)) return content(o);
  if (is_view(o)) o = viewed(o);
  if (depth == 0) special(o, {"__iter__"});
  bool outside = is_outside(o);
  auto from = paths_.find(o);
  const std::string path = from == paths_.end() ? "" : from->second;
  auto visit = [&](PyObject* item, const std::string& step = "") {
    if (outside) {
      reach(item);
      if (!step.empty() && !is_atom(item)) paths_.try_emplace(item, path.empty() ? step : path + "." + step);
      auto named = outside_.find(item);
      if (named != outside_.end() && named->second.empty()) named->second = "an element of " + name_of(o);
    }
    if (deep && !is_numpy_array(item)) elements(item, true, depth + 1);
  };
  if (length_of(o) < 0) {
    if (!outside || !is_sequence_in_c(o)) return;
    snapshot(o);
    nb::object list = own(PySequence_List(o));
    for (nb::handle item : list) visit(item.ptr());
    return;
  }
  if (outside) snapshot(o);
  Py_ssize_t at = 0;
  PyObject *key, *value;
  Py_hash_t hash;
  if (PyDict_Check(o)) {
    while (PyDict_Next(o, &at, &key, &value)) {
      // Arrays get a place of their own, so that they can be read again.
      if (outside && is_array(value) && is_atom(key)) item(o, key);
      visit(key);
      visit(value, PyUnicode_Check(key) ? text_of(key) : "");
    }
  } else if (PyAnySet_Check(o)) {
    while (_PySet_NextEntry(o, &at, &value, &hash)) visit(value);
  } else {
    for (; at < Py_SIZE(o); ++at) {
      value = PyList_Check(o) ? PyList_GET_ITEM(o, at) : PyTuple_GET_ITEM(o, at);
      if (outside && is_array(value))
        note({Place::Kind::SequenceItem, nb::borrow(o), {}, {}, at, fmt::format("{}[{}]", name_of(o), at)});
      visit(value, std::to_string(at));
    }
  }
}

void OutsideNotes::opaque(PyObject* object, std::string_view reader, Location line) {
  if (is_atom(object) || is_tensor(object) || PyType_Check(object) || PyModule_Check(object) ||
      PyFunction_Check(object) || is_own_type(Py_TYPE(object)))
    return;
  if (is_view(object) || length_of(object) >= 0 || is_sequence_in_c(object)) return elements(object, true);
  if (!is_outside(object)) return;
  if (is_numpy_array(object) || (PyObject_CheckBuffer(object) && !PyBytes_Check(object)))
    return content(object);
  class_of(object);
  PyObject** dict = _PyObject_GetDictPtr(object);
  if (!dict || !*dict) return;
  reach(*dict);
  elements(*dict, false);
  if (first({kUnknown, object, nullptr, 0}))
    unknown_.push_back(
        {fmt::format("{} was handed to {}, which cannot be followed: its attributes are compared whole",
                     name_of(object), reader),
         (line.known() ? line : where()).str()});
}

}  // namespace ig::py
