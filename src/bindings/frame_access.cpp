// CPython 3.11's frames and instructions. Another version needs its own branch of `kTable` and of the
// functions that read a frame; until it has one, capture says so instead of guessing at a layout.
#include "bindings/frame_access.h"

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000
#define IG_KNOWN_PYTHON 1
#define Py_BUILD_CORE 1
#include <internal/pycore_frame.h>
#undef Py_BUILD_CORE
#include <opcode.h>
#endif

#include <array>

namespace ig::py::frame {

#ifdef IG_KNOWN_PYTHON
namespace {

using I = Instruction;

constexpr std::array<I, 256> make_table() {
  std::array<I, 256> table{};
  struct Row {
    int opcode;
    I what;
  };
  constexpr Row rows[] = {
      {LOAD_GLOBAL, I::LoadGlobal},
      {LOAD_NAME, I::LoadName},
      {LOAD_DEREF, I::LoadCell},
      {LOAD_CLASSDEREF, I::LoadClassCell},
      {STORE_GLOBAL, I::StoreGlobal},
      {DELETE_GLOBAL, I::DeleteGlobal},
      {STORE_NAME, I::StoreName},
      {DELETE_NAME, I::StoreName},
      {STORE_DEREF, I::StoreCell},
      {DELETE_DEREF, I::StoreCell},
      {LOAD_ATTR, I::LoadAttribute},
      {LOAD_METHOD, I::LoadAttribute},
      {STORE_ATTR, I::StoreAttribute},
      {DELETE_ATTR, I::DeleteAttribute},
      {BINARY_SUBSCR, I::Subscript},
      {STORE_SUBSCR, I::StoreSubscript},
      {DELETE_SUBSCR, I::DeleteSubscript},
      {CONTAINS_OP, I::Contains},
      {COMPARE_OP, I::Compare},
      {BINARY_OP, I::Binary},
      {UNARY_NOT, I::Truth},
      {UNARY_NEGATIVE, I::Unary},
      {UNARY_POSITIVE, I::Unary},
      {UNARY_INVERT, I::Unary},
      {JUMP_IF_FALSE_OR_POP, I::Truth},
      {JUMP_IF_TRUE_OR_POP, I::Truth},
      {POP_JUMP_FORWARD_IF_FALSE, I::Truth},
      {POP_JUMP_FORWARD_IF_TRUE, I::Truth},
      {POP_JUMP_BACKWARD_IF_FALSE, I::Truth},
      {POP_JUMP_BACKWARD_IF_TRUE, I::Truth},
      {GET_ITER, I::Iterate},
      {GET_YIELD_FROM_ITER, I::Iterate},
      {FOR_ITER, I::Advance},
      {SEND, I::Advance},
      {UNPACK_SEQUENCE, I::Unpack},
      {UNPACK_EX, I::Unpack},
      {GET_LEN, I::Length},
      {LIST_EXTEND, I::Spread},
      {SET_UPDATE, I::Spread},
      {DICT_UPDATE, I::Spread},
      {DICT_MERGE, I::Spread},
      {FORMAT_VALUE, I::Format},
      {MATCH_KEYS, I::Match},
      {MATCH_CLASS, I::MatchClass},
      {BEFORE_WITH, I::Enter},
      {CALL, I::Call},
      {CALL_FUNCTION_EX, I::CallSpread},
      {KW_NAMES, I::KeywordNames},
      {MAKE_FUNCTION, I::MakeFunction},
      {IMPORT_NAME, I::Import},
      {IMPORT_FROM, I::ImportFrom},
  };
  for (const Row& row : rows) table[static_cast<size_t>(row.opcode)] = row.what;
  return table;
}
constexpr std::array<I, 256> kTable = make_table();

constexpr const char* kBinary[] = {"add", "and", "floordiv", "lshift", "matmul",  "mul", "mod",
                                   "or",  "pow", "rshift",   "sub",    "truediv", "xor"};
constexpr int kFirstInPlace = static_cast<int>(std::size(kBinary));

_PyInterpreterFrame* raw(PyFrameObject* frame) { return frame->f_frame; }
int kind_of(PyCodeObject* code, int local) {
  return static_cast<unsigned char>(PyBytes_AS_STRING(code->co_localspluskinds)[local]);
}
constexpr int kOwnCell = 0x40;  // CO_FAST_CELL

}  // namespace

std::string unsupported() { return ""; }

Step next_step(PyFrameObject* object) {
  _PyInterpreterFrame* frame = raw(object);
  PyCodeObject* code = frame->f_code;
  Step step;
  // The code as compiled: what runs may be specialised, and is traced as if it were not.
  nb::object bytes = own(PyCode_GetCode(code));
  const auto* text = reinterpret_cast<const unsigned char*>(PyBytes_AS_STRING(bytes.ptr()));
  Py_ssize_t size = PyBytes_GET_SIZE(bytes.ptr());
  Py_ssize_t at = _PyInterpreterFrame_LASTI(frame) * static_cast<Py_ssize_t>(sizeof(_Py_CODEUNIT));
  if (at < 0 || at + 1 >= size) return step;
  int argument = text[at + 1];
  // EXTENDED_ARG and what it extends are one event.
  while (text[at] == EXTENDED_ARG && at + 3 < size) {
    at += 2;
    argument = argument << 8 | text[at + 1];
  }
  step.what = kTable[text[at]];
  step.argument = argument;
  if (frame->stacktop < code->co_nlocalsplus) return step;
  step.top = frame->localsplus + frame->stacktop;
  step.depth = static_cast<size_t>(frame->stacktop - code->co_nlocalsplus);
  auto name = [&](int i) {
    return i < PyTuple_GET_SIZE(code->co_names) ? PyTuple_GET_ITEM(code->co_names, i) : nullptr;
  };
  switch (step.what) {
    case I::LoadGlobal: step.name = name(argument >> 1); break;
    case I::LoadName:
    case I::StoreGlobal:
    case I::DeleteGlobal:
    case I::StoreName:
    case I::LoadAttribute:
    case I::StoreAttribute:
    case I::DeleteAttribute:
    case I::Import:
    case I::ImportFrom: step.name = name(argument); break;
    case I::LoadCell:
    case I::LoadClassCell:
    case I::StoreCell:
      step.cell = frame->localsplus[argument];
      step.name = PyTuple_GET_ITEM(code->co_localsplusnames, argument);
      break;
    case I::KeywordNames: step.keywords = PyTuple_GET_ITEM(code->co_consts, argument); break;
    case I::Binary:
      if (argument >= kFirstInPlace) step.what = I::InPlace;
      step.binary = kBinary[argument % kFirstInPlace];
      break;
    default: break;
  }
  return step;
}

PyObject* globals(PyFrameObject* frame) { return raw(frame)->f_globals; }
PyObject* builtins(PyFrameObject* frame) { return raw(frame)->f_builtins; }
PyObject* names(PyFrameObject* frame) { return raw(frame)->f_locals; }
PyCodeObject* code(PyFrameObject* frame) { return raw(frame)->f_code; }
PyFunctionObject* function(PyFrameObject* frame) { return raw(frame)->f_func; }

PyObject* first_argument(PyFrameObject* frame) {
  PyCodeObject* code = raw(frame)->f_code;
  if (code->co_argcount == 0) return nullptr;
  PyObject* value = raw(frame)->localsplus[0];
  if (value && (kind_of(code, 0) & kOwnCell) && PyCell_Check(value)) value = PyCell_GET(value);
  return value;
}

std::vector<PyObject*> own_cells(PyFrameObject* frame) {
  PyCodeObject* code = raw(frame)->f_code;
  std::vector<PyObject*> out;
  for (int i = 0; i < code->co_nlocalsplus; ++i) {
    PyObject* value = raw(frame)->localsplus[i];
    if ((kind_of(code, i) & kOwnCell) && value && PyCell_Check(value)) out.push_back(value);
  }
  return out;
}

PyObject* free_cell(PyFrameObject* frame, const char* name) {
  PyCodeObject* code = raw(frame)->f_code;
  for (int i = code->co_nlocalsplus - code->co_nfreevars; i < code->co_nlocalsplus; ++i)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(code->co_localsplusnames, i), name) == 0)
      return raw(frame)->localsplus[i];
  return nullptr;
}

bool set_trace_opcodes(PyFrameObject* frame, bool on) { return std::exchange(frame->f_trace_opcodes, on); }
bool traces_opcodes(PyFrameObject* frame) { return frame->f_trace_opcodes; }

#else

std::string unsupported() {
  return fmt::format("what a function reads from outside is observed on Python 3.11 alone; this is {}.{}",
                     PY_MAJOR_VERSION, PY_MINOR_VERSION);
}
Step next_step(PyFrameObject*) { return {}; }
PyObject* globals(PyFrameObject*) { return nullptr; }
PyObject* builtins(PyFrameObject*) { return nullptr; }
PyObject* names(PyFrameObject*) { return nullptr; }
PyCodeObject* code(PyFrameObject*) { return nullptr; }
PyFunctionObject* function(PyFrameObject*) { return nullptr; }
PyObject* first_argument(PyFrameObject*) { return nullptr; }
std::vector<PyObject*> own_cells(PyFrameObject*) { return {}; }
PyObject* free_cell(PyFrameObject*, const char*) { return nullptr; }
bool set_trace_opcodes(PyFrameObject*, bool) { return false; }
bool traces_opcodes(PyFrameObject*) { return false; }

#endif

}  // namespace ig::py::frame
