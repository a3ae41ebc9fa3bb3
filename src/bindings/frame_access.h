// What a running Python frame is about to do: the next instruction, and the values that it will work on.
// Everything that depends on CPython's version (frame layout, instruction numbers) lies behind this header;
// frame_access.cpp holds the one table of instructions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "bindings/common.h"

namespace ig::py::frame {

// Instructions by what they read or write; those that touch nothing but locals and fresh objects are `Other`.
enum class Instruction : uint8_t {
  Other,
  LoadGlobal,
  LoadName,
  LoadCell,
  LoadClassCell,
  StoreGlobal,
  DeleteGlobal,
  StoreName,
  StoreCell,
  LoadAttribute,
  StoreAttribute,
  DeleteAttribute,
  Subscript,
  StoreSubscript,
  DeleteSubscript,
  Contains,
  Compare,
  Binary,
  InPlace,
  Truth,
  Unary,
  Iterate,
  Advance,
  Unpack,
  Length,
  Spread,
  Format,
  Match,
  MatchClass,
  Enter,
  Call,
  CallSpread,
  KeywordNames,
  MakeFunction,
  Import,
  ImportFrom,
};

// One instruction, before it runs. Pointers are borrowed, and good until the frame goes on.
struct Step {
  Instruction what = Instruction::Other;
  int argument = 0;
  PyObject** top = nullptr;      // top[-1] is the top of the value stack
  size_t depth = 0;              // values on the stack
  PyObject* name = nullptr;      // of globals, names, attributes, imports, class cells
  PyObject* cell = nullptr;      // of cells
  PyObject* keywords = nullptr;  // KeywordNames: the tuple
  const char* binary = nullptr;  // Binary and InPlace: the special method's stem, as "add"
  PyObject* peek(size_t i) const { return i < depth ? top[-1 - static_cast<Py_ssize_t>(i)] : nullptr; }
};

// Empty where this Python is known; else what to tell the user.
std::string unsupported();

Step next_step(PyFrameObject* frame);
PyObject* globals(PyFrameObject* frame);  // borrowed, as are the next four
PyObject* builtins(PyFrameObject* frame);
PyObject* names(PyFrameObject* frame);  // the namespace of a class body or module; null in a function
PyCodeObject* code(PyFrameObject* frame);
PyFunctionObject* function(PyFrameObject* frame);
PyObject* first_argument(PyFrameObject* frame);               // null without one
std::vector<PyObject*> own_cells(PyFrameObject* frame);       // cells that this frame made
PyObject* free_cell(PyFrameObject* frame, const char* name);  // of the function's closure; null without one
bool set_trace_opcodes(PyFrameObject* frame, bool on);        // gives what it was
bool traces_opcodes(PyFrameObject* frame);

}  // namespace ig::py::frame
