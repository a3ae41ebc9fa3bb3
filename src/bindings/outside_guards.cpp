// How guards compare. A guard owns what it compares with, so an address cannot come to mean another object.
#include "bindings/outside_guards.h"

#include <bit>
#include <cstring>

#include "bindings/autograd.h"

namespace ig::py {
namespace {

// A scope in which nothing may leave a Python error behind.
class Quiet {
 public:
  Quiet() { PyErr_Fetch(&type_, &value_, &trace_); }
  Quiet(const Quiet&) = delete;
  Quiet& operator=(const Quiet&) = delete;
  ~Quiet() { PyErr_Restore(type_, value_, trace_); }

 private:
  PyObject *type_, *value_, *trace_;
};

nb::object quiet_steal(PyObject* object) {
  if (!object) PyErr_Clear();
  return nb::steal(object);
}

PyTypeObject* numpy_type(const char* name) {
  PyObject* module = PyDict_GetItemString(PyImport_GetModuleDict(), "numpy");
  if (!module) return nullptr;
  nb::object type = quiet_steal(PyObject_GetAttrString(module, name));
  // NumPy's classes are never freed, so the borrowed pointer stays.
  return type.is_valid() && PyType_Check(type.ptr()) ? reinterpret_cast<PyTypeObject*>(type.ptr()) : nullptr;
}

PyTypeObject* array_class() {
  static PyTypeObject* type = nullptr;
  if (!type) type = numpy_type("ndarray");
  return type;
}

bool is_numpy_scalar(PyObject* object) {
  static PyTypeObject* type = nullptr;
  if (!type) type = numpy_type("generic");
  return type && PyType_IsSubtype(Py_TYPE(object), type) && PyObject_CheckBuffer(object);
}

std::optional<std::vector<char>> bytes_of(PyObject* object) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  std::vector<char> out(static_cast<size_t>(view.len));
  int failed = PyBuffer_ToContiguous(out.data(), &view, view.len, 'C');
  PyBuffer_Release(&view);
  if (failed < 0) {
    PyErr_Clear();
    return std::nullopt;
  }
  return out;
}

bool same_bytes(PyObject* object, const std::vector<char>& expected) {
  Py_buffer view;
  if (PyObject_GetBuffer(object, &view, PyBUF_FULL_RO) < 0) {
    PyErr_Clear();
    return false;
  }
  bool same = static_cast<size_t>(view.len) == expected.size();
  if (same && PyBuffer_IsContiguous(&view, 'C')) {
    same = expected.empty() || std::memcmp(view.buf, expected.data(), expected.size()) == 0;
    PyBuffer_Release(&view);
    return same;
  }
  PyBuffer_Release(&view);
  return same && bytes_of(object) == expected;
}

bool same_bits(double a, double b) { return std::bit_cast<uint64_t>(a) == std::bit_cast<uint64_t>(b); }

bool equal(PyObject* a, PyObject* b) {
  int result = PyObject_RichCompareBool(a, b, Py_EQ);
  if (result < 0) PyErr_Clear();
  return result == 1;
}

bool is_frozen_text(PyObject* set) {
  Py_ssize_t at = 0;
  PyObject* item;
  Py_hash_t hash;
  while (_PySet_NextEntry(set, &at, &item, &hash))
    if (!PyUnicode_CheckExact(item)) return false;
  return true;
}

bool at_end(const Location& where, std::string& text) {
  std::string line = where.known() ? where.str() : "";
  if (!line.empty()) text += fmt::format(" (read at {})", line);
  return !line.empty();
}

}  // namespace

bool is_atom(PyObject* o) {
  PyTypeObject* type = Py_TYPE(o);
  if (type == &PyLong_Type || type == &PyFloat_Type || type == &PyUnicode_Type || type == &PyBool_Type ||
      type == &PyBytes_Type || type == &PyComplex_Type || o == Py_None || o == Py_Ellipsis ||
      o == Py_NotImplemented)
    return true;
  if (type == &PyTuple_Type) {
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(o); ++i)
      if (!is_atom(PyTuple_GET_ITEM(o, i))) return false;
    return true;
  }
  if (type == &PyFrozenSet_Type) return is_frozen_text(o);
  return is_numpy_scalar(o);
}

bool same_atom(PyObject* a, PyObject* b) {
  if (a == b) return true;
  PyTypeObject* type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyFloat_Type) return same_bits(PyFloat_AS_DOUBLE(a), PyFloat_AS_DOUBLE(b));
  if (type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBytes_Type) return equal(a, b);
  if (type == &PyComplex_Type) {
    Py_complex x = PyComplex_AsCComplex(a), y = PyComplex_AsCComplex(b);
    return same_bits(x.real, y.real) && same_bits(x.imag, y.imag);
  }
  if (type == &PyTuple_Type) {
    if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); ++i)
      if (!is_atom(PyTuple_GET_ITEM(b, i)) || !same_atom(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i)))
        return false;
    return true;
  }
  if (type == &PyFrozenSet_Type) return is_frozen_text(b) && equal(a, b);
  if (!is_numpy_scalar(a)) return false;
  std::optional<std::vector<char>> bytes = bytes_of(a);
  return bytes && same_bytes(b, *bytes);
}

bool is_numpy_array(PyObject* object) {
  PyTypeObject* type = array_class();
  return type && PyType_IsSubtype(Py_TYPE(object), type);
}
bool is_array(PyObject* object) {
  return is_tensor(object) ? !tensor_of(object).is_symbolic() : is_numpy_array(object);
}

std::string short_repr(PyObject* object) {
  if (!object) return "nothing";
  Quiet quiet;
  std::string text;
  if (is_tensor(object) && !tensor_of(object).is_symbolic())
    text = "an array " + tensor_of(object).type().str();
  else if (is_numpy_array(object))
    text = "a NumPy array";
  else if (PyFunction_Check(object))
    text = "the function " + nb::cast<std::string>(nb::str(nb::handle(object).attr("__qualname__")));
  else if (PyType_Check(object))
    text = fmt::format("the class {}", reinterpret_cast<PyTypeObject*>(object)->tp_name);
  else if (PyModule_Check(object))
    text = fmt::format("the module {}", PyModule_GetName(object));
  // Only what prints itself without the user's code.
  else if (is_atom(object)) {
    nb::object shown = quiet_steal(PyObject_Repr(object));
    if (shown.is_valid()) text = nb::cast<std::string>(shown);
  } else {
    text = fmt::format("a {} object", Py_TYPE(object)->tp_name);
  }
  if (text.size() > 60) text = text.substr(0, 57) + "...";
  return text;
}

// --- Expected
// ------------------------------------------------------------------------------------------------------------

Expected Expected::present() {
  Expected out;
  out.kind_ = Kind::Present;
  return out;
}

Expected Expected::of(PyObject* value) {
  Expected out;
  if (!value) return out;
  out.value_ = nb::borrow(value);
  if (is_array(value)) {
    out.kind_ = Kind::Array;
    if (is_tensor(value)) {
      out.type_ = tensor_of(value).type();
    } else {
      out.pinned_ = true;  // whoever reads it again reads this object
      out.dtype_ = own(PyObject_GetAttrString(value, "dtype"));
      out.shape_ = own(PyObject_GetAttrString(value, "shape"));
    }
  } else {
    out.kind_ = is_atom(value) ? Kind::Atom : Kind::Identity;
  }
  return out;
}

Expected Expected::of(PyObject* handle, Type before) {
  Expected out;
  out.kind_ = Kind::Array;
  out.value_ = nb::borrow(handle);
  out.type_ = std::move(before);
  return out;
}

bool Expected::matches_slow(PyObject* now) const {
  if (kind_ == Kind::Atom) return same_atom(value_.ptr(), now);
  if (Py_TYPE(now) != Py_TYPE(value_.ptr()) || (pinned_ && now != value_.ptr())) return false;
  if (!dtype_.is_valid()) return !tensor_of(now).is_symbolic() && tensor_of(now).type() == type_;
  nb::object dtype = quiet_steal(PyObject_GetAttrString(now, "dtype"));
  nb::object shape = quiet_steal(PyObject_GetAttrString(now, "shape"));
  return dtype.is_valid() && shape.is_valid() && (dtype.is(dtype_) || equal(dtype.ptr(), dtype_.ptr())) &&
         same_atom(shape.ptr(), shape_.ptr());
}

std::string Expected::str() const {
  if (kind_ == Kind::Absent) return "is not set";
  if (kind_ == Kind::Present) return "is set";
  if (kind_ == Kind::Atom) return "== " + short_repr(value_.ptr());
  return "is " + short_repr(value_.ptr());
}

int Expected::traverse(visitproc visit, void* arg) const {
  Py_VISIT(value_.ptr());
  Py_VISIT(dtype_.ptr());
  Py_VISIT(shape_.ptr());
  return 0;
}

// --- places
// --------------------------------------------------------------------------------------------------------------

Py_ssize_t length_of(PyObject* o) {
  if (PyDict_Check(o)) return PyDict_GET_SIZE(o);
  if (PyList_Check(o) || PyTuple_Check(o)) return Py_SIZE(o);
  if (PyAnySet_Check(o)) return PySet_GET_SIZE(o);
  return -1;
}

PyObject* instance_dict(PyObject* object) {
  PyObject** place = _PyObject_GetDictPtr(object);
  return place ? *place : nullptr;
}

namespace {

// Borrowed; null where there is nothing, without an error.
PyObject* dict_item(PyObject* dict, PyObject* key) {
  if (!dict) return nullptr;
  PyObject* value = PyDict_GetItemWithError(dict, key);
  if (!value && PyErr_Occurred()) PyErr_Clear();
  return value;
}

PyObject* super_item(PyTypeObject* type, PyObject* behind, PyObject* key) {
  PyObject* bases = type->tp_mro;
  if (!bases) return nullptr;
  Py_ssize_t i = 0, n = PyTuple_GET_SIZE(bases);
  while (i < n && PyTuple_GET_ITEM(bases, i) != behind) ++i;
  for (++i; i < n; ++i)
    if (PyObject* found =
            dict_item(reinterpret_cast<PyTypeObject*>(PyTuple_GET_ITEM(bases, i))->tp_dict, key))
      return found;
  return nullptr;
}

PyObject* borrowed(const Place& place) {
  using K = Place::Kind;
  PyObject* holder = place.holder.ptr();
  switch (place.kind) {
    case K::Global: {
      PyObject* value = dict_item(holder, place.key.ptr());
      return value ? value : dict_item(place.second.ptr(), place.key.ptr());
    }
    case K::Cell: return PyCell_GET(holder);
    case K::Attribute: return dict_item(instance_dict(holder), place.key.ptr());
    case K::TypeAttribute: return _PyType_Lookup(reinterpret_cast<PyTypeObject*>(holder), place.key.ptr());
    case K::SuperAttribute:
      return super_item(reinterpret_cast<PyTypeObject*>(holder), place.second.ptr(), place.key.ptr());
    case K::DictItem: return dict_item(holder, place.key.ptr());
    case K::SequenceItem: {
      Py_ssize_t n = Py_SIZE(holder), i = place.index < 0 ? place.index + n : place.index;
      if (i < 0 || i >= n) return nullptr;
      return PyList_Check(holder) ? PyList_GET_ITEM(holder, i) : PyTuple_GET_ITEM(holder, i);
    }
    case K::SetItem: {
      int found = PySet_Contains(holder, place.key.ptr());
      if (found < 0) PyErr_Clear();
      return found == 1 ? place.key.ptr() : nullptr;
    }
    case K::Class: return reinterpret_cast<PyObject*>(Py_TYPE(holder));
    case K::Length: return length_of(holder) == place.index ? Py_True : nullptr;
    case K::Emptiness: return (length_of(holder) == 0) == (place.index != 0) ? Py_True : nullptr;
    case K::Code: return reinterpret_cast<PyFunctionObject*>(holder)->func_code;
    case K::Defaults: return reinterpret_cast<PyFunctionObject*>(holder)->func_defaults;
    case K::KeywordDefaults: return reinterpret_cast<PyFunctionObject*>(holder)->func_kwdefaults;
    case K::Descriptor:
    case K::Gradient: return nullptr;
  }
  return nullptr;
}

}  // namespace

nb::object Place::read() const {
  if (kind == Kind::Gradient) return gradient_of(holder.ptr());
  if (kind != Kind::Descriptor) return nb::borrow(borrowed(*this));
  PyObject* type = reinterpret_cast<PyObject*>(Py_TYPE(holder.ptr()));
  return quiet_steal(Py_TYPE(second.ptr())->tp_descr_get(second.ptr(), holder.ptr(), type));
}

void Place::write(nb::handle value) const {
  PyObject *at = holder.ptr(), *now = value.ptr();
  switch (kind) {
    case Kind::Attribute:
      return check(now ? PyObject_SetAttr(at, key.ptr(), now) : PyObject_DelAttr(at, key.ptr()));
    case Kind::Global:
    case Kind::DictItem:
      return check(now ? PyDict_SetItem(at, key.ptr(), now) : PyDict_DelItem(at, key.ptr()));
    case Kind::Cell: return check(PyCell_Set(at, now));
    case Kind::SequenceItem:
      // A list that the program made shorter in the meantime raises Python's own error.
      return check(PyList_SetItem(at, index, Py_XNewRef(now)));
    case Kind::Gradient: return put_gradient(at, value);
    default: IG_CHECK(false, "{} cannot be written back", label);
  }
}

bool Place::matches(const Expected& expected) const {
  return kind == Kind::Descriptor || kind == Kind::Gradient ? expected.matches(read().ptr())
                                                            : expected.matches(borrowed(*this));
}

// --- guards
// --------------------------------------------------------------------------------------------------------------

namespace {

// A number that is another one after every change of the dict, or of the class and its bases; 0: not known.
// CPython 3.11 keeps them (a new dict or class never gets an old one's number), so a lookup in what has not
// changed is spared. The guard's own reference to the holder is what makes the number safe to read.
#if PY_VERSION_HEX < 0x030C0000
uint64_t dict_epoch(PyObject* dict) {
  return dict ? reinterpret_cast<PyDictObject*>(dict)->ma_version_tag : 0;
}
uint64_t class_epoch(PyObject* type) {
  auto* object = reinterpret_cast<PyTypeObject*>(type);
  return PyType_HasFeature(object, Py_TPFLAGS_VALID_VERSION_TAG) ? object->tp_version_tag : 0;
}
#else
uint64_t dict_epoch(PyObject*) { return 0; }
uint64_t class_epoch(PyObject*) { return 0; }
#endif

}  // namespace

bool PlaceGuard::holds() const {
  using K = Place::Kind;
  // An array's handle may be bound to another value without a change of the dict.
  if (expected_.kind() == Expected::Kind::Array) {
    const bool computed = place_.kind == K::Descriptor || place_.kind == K::Gradient;
    nb::object held = computed ? place_.read() : nb::object();
    PyObject* now = computed ? held.ptr() : borrowed(place_);
    moved_ = now != expected_.value().ptr();
    return expected_.matches(now);
  }
  uint64_t now = 0, second = 0;
  PyObject* holder = place_.holder.ptr();
  switch (place_.kind) {
    case K::Global:
      now = dict_epoch(holder);
      second = dict_epoch(place_.second.ptr());
      break;
    case K::DictItem: now = dict_epoch(holder); break;
    case K::Attribute: now = dict_epoch(instance_dict(holder)); break;
    case K::TypeAttribute: now = class_epoch(holder); break;
    default: return place_.matches(expected_);
  }
  if (now != 0 && now == epoch_ && second == second_epoch_) return true;
  if (!place_.matches(expected_)) return false;
  // A lookup may have renewed a class's number: taken before it, the old one just does not match next time.
  epoch_ = now;
  second_epoch_ = second;
  return true;
}

std::string PlaceGuard::describe() const {
  std::string text = place_.label;
  if (place_.kind == Place::Kind::Length)
    text += fmt::format(" has length {}", place_.index);
  else if (place_.kind == Place::Kind::Emptiness)
    text += place_.index ? " is empty" : " is not empty";
  else
    text += " " + expected_.str();
  at_end(where_, text);
  return text;
}

Tensor PlaceGuard::array() const {
  nb::object now = handle();
  return now.is_valid() ? tensor_of(now.ptr()) : Tensor();
}

nb::object PlaceGuard::handle() const {
  if (expected_.kind() != Expected::Kind::Array) return {};
  nb::object now = place_.read();
  return now.is_valid() && is_tensor(now.ptr()) ? now : nb::object();
}

int Place::traverse(visitproc visit, void* arg) const {
  Py_VISIT(holder.ptr());
  Py_VISIT(key.ptr());
  Py_VISIT(second.ptr());
  return 0;
}

int PlaceGuard::traverse(visitproc visit, void* arg) const {
  if (int stop = place_.traverse(visit, arg)) return stop;
  return expected_.traverse(visit, arg);
}

namespace {

// Elements in order; calls keys only for dicts. False: it is no such container any more.
template <typename Key, typename Value>
bool walk(PyObject* holder, Key&& on_key, Value&& on_value) {
  Py_ssize_t at = 0;
  PyObject *key, *value;
  Py_hash_t hash;
  if (PyDict_Check(holder)) {
    while (PyDict_Next(holder, &at, &key, &value))
      if (!on_key(key) || !on_value(value)) return false;
  } else if (PyList_Check(holder)) {
    for (; at < PyList_GET_SIZE(holder); ++at)
      if (!on_value(PyList_GET_ITEM(holder, at))) return false;
  } else if (PyTuple_Check(holder)) {
    for (; at < PyTuple_GET_SIZE(holder); ++at)
      if (!on_value(PyTuple_GET_ITEM(holder, at))) return false;
  } else if (PyAnySet_Check(holder)) {
    while (_PySet_NextEntry(holder, &at, &value, &hash))
      if (!on_value(value)) return false;
  } else {
    nb::object list = quiet_steal(PySequence_List(holder));
    if (!list.is_valid()) return false;
    for (; at < PyList_GET_SIZE(list.ptr()); ++at)
      if (!on_value(PyList_GET_ITEM(list.ptr(), at))) return false;
  }
  return true;
}

}  // namespace

SnapshotGuard::SnapshotGuard(nb::object holder, std::string label, Location where)
    : holder_(std::move(holder)), label_(std::move(label)), where_(where) {
  // Arrays in a list or a dict have guards of their own, by their place.
  bool places = PyList_Check(holder_.ptr()) || PyTuple_Check(holder_.ptr());
  bool named = false;
  walk(
      holder_.ptr(),
      [&](PyObject* key) {
        named = is_atom(key);
        keys_.push_back(Expected::of(key));
        return true;
      },
      [&](PyObject* value) {
        values_.push_back((places || named) && is_tensor(value) ? Expected::present() : Expected::of(value));
        return true;
      });
}

bool SnapshotGuard::holds() const {
  Py_ssize_t length = length_of(holder_.ptr());
  if (length >= 0 && static_cast<size_t>(length) != values_.size()) return false;
  size_t key = 0, value = 0;
  auto next = [](const std::vector<Expected>& list, size_t& i, PyObject* now) {
    if (i >= list.size()) return false;
    ++i;
    return list[i - 1].matches(now);
  };
  return walk(
             holder_.ptr(), [&](PyObject* now) { return next(keys_, key, now); },
             [&](PyObject* now) { return next(values_, value, now); }) &&
         value == values_.size();
}

std::string SnapshotGuard::describe() const {
  std::string text = fmt::format("{} has its {} elements", label_, values_.size());
  at_end(where_, text);
  return text;
}

int SnapshotGuard::traverse(visitproc visit, void* arg) const {
  Py_VISIT(holder_.ptr());
  for (const auto* list : {&keys_, &values_})
    for (const Expected& one : *list)
      if (int stop = one.traverse(visit, arg)) return stop;
  return 0;
}

ContentGuard::ContentGuard(nb::object holder, std::string label, Location where)
    : holder_(std::move(holder)), label_(std::move(label)), where_(where) {
  if (is_array(holder_.ptr())) form_ = Expected::of(holder_.ptr());
  if (is_tensor(holder_.ptr())) {
    tensor_ = tensor_of(holder_.ptr());
    return;
  }
  std::optional<std::vector<char>> bytes = bytes_of(holder_.ptr());
  if (bytes) bytes_ = std::move(*bytes);
}

bool ContentGuard::holds() const {
  if (form_.kind() == Expected::Kind::Array && !form_.matches(holder_.ptr())) return false;
  if (!tensor_.valid()) return same_bytes(holder_.ptr(), bytes_);
  // Arrays are values: the guard's own handle keeps these bytes as they were.
  const Tensor& now = tensor_of(holder_.ptr());
  return now.data() == tensor_.data() || std::memcmp(now.data(), tensor_.data(), tensor_.bytes()) == 0;
}

std::string ContentGuard::describe() const {
  std::string text =
      fmt::format("{} has its {} bytes", label_, tensor_.valid() ? tensor_.bytes() : bytes_.size());
  at_end(where_, text);
  return text;
}

int ContentGuard::traverse(visitproc visit, void* arg) const {
  Py_VISIT(holder_.ptr());
  return form_.traverse(visit, arg);
}

}  // namespace ig::py
