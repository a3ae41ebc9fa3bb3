// Watches a Python function while it runs to be captured, and notes everything that it reads from outside
// itself: globals, closure cells, defaults, attributes, elements of containers, what classes define. Each
// read becomes a guard; a store to the outside is refused with its line, because it would happen once, at
// capture, and not on later calls. Only recording pays for this; a warm call checks the guards and nothing
// else.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "bindings/guards.h"
#include "bindings/outside_notes.h"

namespace ig::py {

namespace frame {
struct Step;
}

class Observer {
 public:
  // `arguments`: leaves of the call's arguments, and containers, that the function is given as they are.
  // Arrays and built-in containers among them are the caller's business (its key compares them); other
  // objects lie outside.
  explicit Observer(nb::handle function, std::span<const nb::object> arguments = {});
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  ~Observer();

  // Stores to this object are allowed: its owner writes them back after each call.
  void allow_writes(nb::handle object);

  // The capture at work reads outside arrays again by itself, and writes rebound handles back.
  void follow_arrays() { notes_.arrays_followed = true; }
  // The function's result: a container from outside that is given back is read by whoever gets it.
  void returned(nb::handle result);

  void start();  // of this thread; refuses a Python whose frames are not known
  // Ends the watch and restores the trace function of before. Throws the refusal of a store, also where the
  // function caught it, and Error(Capture) where what was read did not stay as it was read, or the watch was
  // ended by another. `failed`: the function raised, so that only references are given up.
  void stop(bool failed = false);
  // Places that the function bound to new values, and what each held before and after; they are given back.
  std::vector<OutsideNotes::Rebound> take_rebound() { return notes_.take_rebound(); }
  // The same as if the function had bound the place first: its reads need no guard.
  void assume(Place place, nb::handle value);
  // Of an array from outside. The function finds a value of the recording where there is a gradient.
  nb::object read_gradient(nb::handle array);
  void bind_gradient(nb::handle array);
  OutsideGuards take_guards() { return notes_.take_guards(); }
  const std::vector<UnknownRead>& unknown() const { return notes_.unknown(); }

  // One event of the interpreter; 0, or -1 with a Python error set.
  int event(PyFrameObject* frame, int what, PyObject* argument);

 private:
  // Whose code a frame runs.
  enum class Owner : uint8_t { User, Library, Transparent, Opaque };
  enum class After : uint8_t { Reach, Made, MadeIfClass, Attribute };
  struct Pending {
    PyFrameObject* frame;
    After what;
    nb::object holder, name;  // Attribute: read once more, after a module's __getattr__ has set it
  };
  static Owner owner_of(PyCodeObject* code);

  void enter(PyFrameObject* frame);
  void step(PyFrameObject* frame);
  void finish_pending(PyFrameObject* frame);
  void call(PyFrameObject* frame, PyObject* callable, std::span<PyObject* const> args, PyObject* keywords);
  void c_call(PyFrameObject* frame, PyObject* callable, std::span<PyObject* const> args, PyObject* keywords);
  bool method_call(PyFrameObject* frame, PyObject* self, std::string_view name,
                   std::span<PyObject* const> args);
  bool builtin_call(PyFrameObject* frame, std::string_view module, std::string_view name,
                    std::span<PyObject* const> args);
  void world_call(PyFrameObject* frame, PyObject* callable, std::string_view module, std::string_view name,
                  PyObject* self);
  void advance(PyFrameObject* frame, PyObject* iterator);
  bool puts_back(PyObject* value, PyObject* now) const;
  void store(PyFrameObject* frame, PyObject* target,
             const std::string& what);  // refuses where target is outside
  bool rebinds(PyFrameObject* frame, const frame::Step& step);
  [[noreturn]] void refuse(PyFrameObject* frame, std::string summary, std::string why, std::string hint);
  [[noreturn]] void refuse_store(PyFrameObject* frame, const std::string& what);
  Location user_place(PyFrameObject* frame) const;  // of the innermost frame that is the user's

  OutsideNotes notes_;
  nb::object function_;
  std::optional<Error> refusal_;
  std::vector<Pending> pending_;
  PyFrameObject* opaque_ = nullptr;  // all that this frame calls is left alone
  PyObject* keywords_ = nullptr;     // of the call that is being prepared
  bool running_ = false;
};

}  // namespace ig::py
