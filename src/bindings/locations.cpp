// Where in the user's program we are: the Python frames outside of this package, as code objects and
// instruction offsets, which become file and line only when somebody asks.
#include <unordered_map>
#include <utility>

#include "bindings/common.h"
#include "bindings/modes.h"

namespace ig::py {
namespace {

constexpr size_t kMaxFrames = 16;

std::string& package_folder() {
  static auto* folder = new std::string;
  return *folder;
}

// Whether a code object is the package's own. The table holds a reference to each code object, so that an
// address stays what it was, here and in interned locations.
bool is_ours(PyCodeObject* code) {
  static auto* known = new std::unordered_map<PyCodeObject*, bool>;
  auto [place, fresh] = known->try_emplace(code, false);
  if (fresh) {
    Py_INCREF(code);
    Py_ssize_t size = 0;
    const char* file = PyUnicode_AsUTF8AndSize(code->co_filename, &size);
    if (!file) PyErr_Clear();
    std::string_view name = file ? std::string_view(file, static_cast<size_t>(size)) : std::string_view();
    place->second = (!package_folder().empty() && name.starts_with(package_folder())) ||
                    name.starts_with("<frozen ") || name.starts_with("<intaglio");
  }
  return place->second;
}

SourceFrame resolve(Location::RawFrame raw) {
  PyGILState_STATE state = PyGILState_Ensure();
  SourceFrame out;
  {
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    auto* code = reinterpret_cast<PyCodeObject*>(const_cast<void*>(raw.code));
    out.line = PyCode_Addr2Line(code, raw.offset);
    if (const char* file = PyUnicode_AsUTF8(code->co_filename)) out.file = file;
    if (const char* function = PyUnicode_AsUTF8(code->co_qualname)) out.function = function;
    // What a function that is being captured reads is watched; this is not its doing.
    PyThreadState_EnterTracing(PyThreadState_Get());
    nb::object linecache = nb::steal(PyImport_ImportModule("linecache"));
    if (linecache.is_valid()) {
      nb::object line =
          nb::steal(PyObject_CallMethod(linecache.ptr(), "getline", "si", out.file.c_str(), out.line));
      if (line.is_valid()) {
        nb::object stripped = nb::steal(PyObject_CallMethod(line.ptr(), "strip", nullptr));
        const char* text = stripped.is_valid() ? PyUnicode_AsUTF8(stripped.ptr()) : nullptr;
        if (text) out.text = text;
      }
    }
    PyErr_Clear();
    PyThreadState_LeaveTracing(PyThreadState_Get());
    PyErr_Restore(type, value, traceback);
  }
  PyGILState_Release(state);
  return out;
}

size_t collect(Location::RawFrame* frames, size_t limit) {
  size_t count = 0;
  PyFrameObject* frame = PyEval_GetFrame();
  Py_XINCREF(frame);
  while (frame && count < limit) {
    PyCodeObject* code = PyFrame_GetCode(frame);
    if (!is_ours(code)) frames[count++] = {code, PyFrame_GetLasti(frame)};
    Py_DECREF(code);
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  return count;
}

}  // namespace

void set_package_folder(std::string folder) { package_folder() = std::move(folder); }

namespace {
thread_local const Location* pinned = nullptr;
}

PinnedLocation::PinnedLocation(const Location* where) : before_(std::exchange(pinned, where)) {}
PinnedLocation::~PinnedLocation() { pinned = before_; }

Location python_location() {
  if (pinned) return *pinned;
  Location::RawFrame frames[kMaxFrames];
  size_t count = collect(frames, kMaxFrames);
  return count ? Location::of_raw(frames, count, &resolve) : Location();
}

Location location_at(PyCodeObject* code, int offset) {
  is_ours(code);  // its table holds the reference
  Location::RawFrame frame{code, offset};
  return Location::of_raw(&frame, 1, &resolve);
}

bool is_package_code(PyCodeObject* code) { return is_ours(code); }
bool is_program_code(PyCodeObject* code) {
  if (package_folder().empty()) return false;
  const char* file = PyUnicode_AsUTF8(code->co_filename);
  if (!file) PyErr_Clear();
  std::string_view name = file ? file : "";
  return name.starts_with(package_folder()) && name.find('/', package_folder().size()) != name.npos;
}

std::string user_line() {
  if (pinned) return pinned->str();
  Location::RawFrame frame;
  if (collect(&frame, 1) == 0) return "";
  return Location::of_raw(&frame, 1, &resolve).str();
}

}  // namespace ig::py
