// Notes on arrays from outside; nothing is noted, and nothing paid but a look at a thread's variable, outside
// of a recording.
#include "bindings/jit_notes.h"

#include "bindings/autograd.h"
#include "frontends/tape/tape.h"

namespace ig::py {
namespace {

thread_local ArrayNotes* current_notes = nullptr;

// A concrete array that was there before the recording.
bool is_outside(const Tensor& tensor) {
  Capture* capture = Capture::current();
  return capture && !tensor.is_symbolic() && !capture->made_here(tensor);
}

}  // namespace

ArrayNotes::Active::Active(ArrayNotes* notes) : previous_(current_notes) { current_notes = notes; }
ArrayNotes::Active::~Active() { current_notes = previous_; }

ArrayNotes* ArrayNotes::at_work() {
  return current_notes && current_notes->capture == Capture::current() ? current_notes : nullptr;
}

void ArrayNotes::tape_is_asked() {
  if (current_notes) current_notes->tape_asked = true;
}

void ArrayNotes::restore() {
  for (const Handle& handle : rebound) tensor_of(handle.object.ptr()) = handle.before;
  rebound.clear();
}

Tensor before_recording(PyObject* handle) {
  const Tensor& now = tensor_of(handle);
  if (!now.is_symbolic() || !current_notes) return now;
  for (const ArrayNotes::Handle& bound : current_notes->rebound)
    if (bound.object.ptr() == handle) return bound.before;
  return now;
}

void note_handle(PyObject* handle) {
  if (!current_notes || !is_outside(tensor_of(handle))) return;
  auto [place, fresh] = current_notes->known.try_emplace(handle, current_notes->read.size());
  if (fresh) current_notes->read.push_back({nb::borrow(handle), tensor_of(handle)});
}

bool note_foreign(PyObject* object, const Tensor& copy) {
  if (!current_notes || !Capture::current()) return false;
  current_notes->foreign.push_back({nb::borrow(object), copy});
  return true;
}

Tensor asked(PyObject* handle) {
  const Tensor& tensor = tensor_of(handle);
  Capture* capture = Capture::current();
  if (!capture || tensor.is_symbolic()) return tensor;
  note_handle(handle);
  return capture->asked(tensor);
}

void bind_raw(PyObject* object, Tensor value) {
  Tensor& bound = tensor_of(object);
  if (current_notes && bound.valid() && is_outside(bound)) {
    note_handle(object);
    current_notes->rebound.push_back({nb::borrow(object), bound});
  }
  bound = std::move(value);
}

void rebind(PyObject* object, Tensor value) {
  const Tensor& bound = tensor_of(object);
  const Capture* capture = Capture::current();
  // What a captured function changes under no_grad() of its own keeps its place on the tape, in each call.
  const bool off = bound.link() && capture && capture->stop_gradients;
  if (current_notes && !off) current_notes->changed.insert(object);
  if (bound.link()) {
    // A leaf from outside is refused with the call's mode, when the call writes back.
    if (!capture || tape::edge_of(bound).node->capture == capture->serial()) refuse_change_of_leaf(bound);
    if (!tape::mode().grad) return bind_silently(object, std::move(value));
  }
  bind_raw(object, std::move(value));
}

void refuse_change_of_leaf(const Tensor& bound) {
  if (!bound.link() || !tape::mode().grad || !tape::is_leaf(bound)) return;
  throw Error(ErrorKind::Value, "a leaf that requires grad is being used in an in-place operation")
      .why("the handle would no longer be the array that the gradient is wanted by")
      .hint("update it under `with ig.no_grad():`, or write y = x + 1 for a new array");
}

void bind_silently(PyObject* object, Tensor value) {
  const std::shared_ptr<const GradLink> place = tensor_of(object).link();
  // A value of a capture may say itself how a gradient comes to the leaf (a table that shortens its rows).
  if (!value.is_symbolic() || !place || !value.link()) {
    value = value.unlinked();
    value.set_link(place);
  }
  // What is computed from it later in the function leads to the leaf, and the graph to the value before.
  if (value.is_symbolic() && value.link() && tape::is_leaf(value)) tape::asked_outside();
  bind_raw(object, std::move(value));
}

}  // namespace ig::py
