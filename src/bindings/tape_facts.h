// What a trace of a jitted function knows of the tape outside: the modes, which arrays require grad, the
// hooks of leaves that a backward pass came to. Only a program that asks (by backward(), x.requires_grad and
// the like) depends on them; then they are conditions of the trace, and what the function returns gets the
// place on the tape that it would have had eagerly.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "bindings/jit_notes.h"
#include "frontends/record/jit.h"
#include "frontends/tape/tape.h"

namespace ig::py {

struct TapeFacts {
  // An array's place on the tape, as far as the program can tell.
  enum class Place : uint8_t { None, Leaf, Computed };
  static Place place_of(PyObject* object);
  static std::vector<int> hooks_of(PyObject* object);

  bool asked = false;  // the rest counts
  tape::Mode mode;     // outside of the function
  std::vector<Place> arguments, spots;
  struct Hooks {
    size_t at = 0;
    std::vector<int> ids;
    bool operator==(const Hooks&) const = default;
  };
  std::vector<Hooks> hooks;  // of leaves at spots that a pass came to
  // Of arguments that require grad: the hooks, and which arrays have the same place on the tape.
  std::vector<Hooks> argument_hooks;
  std::vector<std::pair<size_t, size_t>> same;

  std::vector<tape::Fate> outputs;
  std::vector<size_t> leaves;  // outputs that are leaves made by the function
  struct Kept {                // an output that keeps its gradient
    size_t output = 0;
    std::optional<size_t> gradient;  // the output that is its `.grad`, where it has one
  };
  std::vector<Kept> kept;
  std::string name;  // of the function

  // What the outputs lead to; those that must lead nowhere in the graph are cut off there. Gradients of
  // returned arrays become outputs too.
  record::JitFront::Recorded::Tape settle(record::JitCapture& capture, std::vector<Tensor>& outputs);
  // The outputs of a call with their places on the tape.
  void place(std::vector<Tensor>& outputs) const;
};

// An array that requires grad outside is one for the function as well.
Tensor stand_in_for(Tensor stand_in, PyObject* argument);

// In a capture: an answer about this array's place on the tape becomes a condition of the trace.
// Error(Capture) where nothing follows it.
void ask_tape(nb::handle x, std::string_view what);
// The same about the modes.
void ask_modes();
void follow_tape();  // once in the process

}  // namespace ig::py
