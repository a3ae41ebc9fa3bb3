// Following the tape while a function is recorded; see tape_facts.h.
#include "bindings/tape_facts.h"

#include <algorithm>

#include "bindings/jit_front.h"

namespace ig::py {
namespace {

// The handle from outside by which the function knows the leaf.
const ArrayNotes::Handle* handle_of(const ArrayNotes& notes, const tape::Node& leaf) {
  for (const ArrayNotes::Handle& handle : notes.read)
    if (tape::edge_of(handle.before).node.get() == &leaf) return &handle;
  return nullptr;
}

void reached(tape::Node& leaf, bool set) {
  ArrayNotes* notes = ArrayNotes::at_work();
  const ArrayNotes::Handle* handle = notes ? handle_of(*notes, leaf) : nullptr;
  if (notes && !handle) {
    if (!set) return;  // an argument
    throw Error(ErrorKind::Capture, "a backward pass of a captured function comes to an argument")
        .why(
            "it requires grad outside, and `.grad` is set of arrays that the function reads from there, "
            "which it "
            "finds again on each call")
        .hint(
            "let the function read the array, or the model, from outside in place of taking it as an "
            "argument; or "
            "make it the function's own, x = x.detach().requires_grad_(), and return x.grad");
  }
  if (!handle)
    throw Error(ErrorKind::Capture,
                "a backward pass while a function is traced comes to an array from outside")
        .why(
            "its gradient lies on the tape outside of the graph: ig.jit alone sets it after each call, and "
            "not "
            "by a pass within what is differentiated, batched, a branch or a loop's body")
        .hint(
            "capture the function with ig.jit, or go back by arrays that are made inside, "
            "x = x.detach().requires_grad_(), and return the gradients");
  if (std::find(notes->gone_back.begin(), notes->gone_back.end(), handle->object.ptr()) ==
      notes->gone_back.end())
    notes->gone_back.push_back(handle->object.ptr());
  if (!set) return;
  if (notes->watch->read_gradient(handle->object).is_none()) notes->watch->bind_gradient(handle->object);
}

void refuse_traced(std::string_view what) {
  throw make_error(ErrorKind::Capture, "{} is asked for while a function is traced", what)
      .why("the trace serves later calls too, for which the answer may be another one")
      .hint("ask before the call, and pass what depends on it as an argument");
}

Error no_way_back(tape::Fate fate) {
  if (fate == tape::Fate::Freed)
    return Error(ErrorKind::Value, "a second backward pass goes through a part of the tape that was freed")
        .why("backward() within the jitted function, which this array comes from, was the first")
        .hint(
            "pass retain_graph=True to that backward(), or add the losses and go back once; x.detach() is "
            "the "
            "value alone");
  if (fate == tape::Fate::Inside)
    return Error(ErrorKind::Value, "a backward pass leads into a jitted function, to a leaf that it made")
        .why("x.requires_grad_() made a leaf within the call, and nothing holds it now")
        .hint(
            "go back within the function and return the gradient, or pass the array as an argument that "
            "requires "
            "grad");
  if (fate == tape::Fate::Hooked)
    return Error(ErrorKind::Value,
                 "a backward pass leads into a jitted function, through an array with a hook")
        .why("the hook was set within the call, and the graph that the call leaves on the tape has none")
        .hint("go back within the function, or set the hook of an array that it returns");
  return Error(ErrorKind::Value,
               "a backward pass leads into a jitted function, to a leaf that it gave a new value")
      .why(
          "what this array was computed from is the value after a step within the call, and the graph of the "
          "call begins at the one before")
      .hint("compute the loss in a function of its own, or before the step, or go back within the function");
}

}  // namespace

TapeFacts::Place TapeFacts::place_of(PyObject* object) {
  if (!is_tensor(object)) return Place::None;
  const Tensor& tensor = tensor_of(object);
  if (!tensor.link()) return Place::None;
  return tape::is_leaf(tensor) ? Place::Leaf : Place::Computed;
}

std::vector<int> TapeFacts::hooks_of(PyObject* object) {
  std::vector<int> out;
  tape::Edge edge = tape::edge_of(before_recording(object));
  if (!edge.node) return out;
  auto watch = edge.node->watches.find(edge.result);
  if (watch == edge.node->watches.end()) return out;
  for (const auto& [id, hook] : watch->second.hooks) out.push_back(id);
  return out;
}

record::JitFront::Recorded::Tape TapeFacts::settle(record::JitCapture& capture,
                                                   std::vector<Tensor>& outputs) {
  using Tape = record::JitFront::Recorded::Tape;
  if (!asked) return Tape::Usual;
  name = capture.graph().name;
  const size_t count = outputs.size();
  for (size_t i = 0; i < count; ++i) {
    const tape::Fate fate = tape::fate_of(outputs[i], capture.serial());
    this->outputs.push_back(fate);
    if (fate == tape::Fate::Off) continue;
    if (fate == tape::Fate::Leaf) leaves.push_back(i);
    const tape::Edge edge = tape::edge_of(outputs[i]);
    auto watch = edge.node->watches.find(edge.result);
    if (edge.node->capture != capture.serial() || watch == edge.node->watches.end() || !watch->second.retain)
      continue;
    Kept one{i, std::nullopt};
    Tensor gradient = watch->second.handle ? watch->second.handle->get() : watch->second.grad;
    if (gradient.valid()) {
      one.gradient = outputs.size();
      outputs.push_back(gradient);
    }
    kept.push_back(one);
  }
  for (size_t i = count; i < outputs.size(); ++i) this->outputs.push_back(tape::Fate::Off);
  // The gradient of a leaf that nobody gets is nobody's; the graph does not lead through it.
  for (tape::Fate& fate : this->outputs)
    if (fate == tape::Fate::Both) fate = leaves.empty() ? tape::Fate::Open : tape::Fate::Inside;
  const bool open =
      std::find(this->outputs.begin(), this->outputs.end(), tape::Fate::Open) != this->outputs.end();
  if (!open) return Tape::Off;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (this->outputs[i] == tape::Fate::Open) continue;
    Tensor plain = outputs[i].unlinked();
    if (plain.is_number() || !(is_float(plain.dtype()) || is_complex(plain.dtype()))) continue;
    outputs[i] = capture.record(ops::get("stop_gradient"), std::span(&plain, 1), {})[0];
  }
  return Tape::On;
}

void TapeFacts::place(std::vector<Tensor>& outputs) const {
  for (size_t i = 0; i < this->outputs.size() && i < outputs.size(); ++i) {
    const tape::Fate fate = this->outputs[i];
    if (fate != tape::Fate::Off && fate != tape::Fate::Open && fate != tape::Fate::Leaf)
      outputs[i] = tape::as_ended(outputs[i], name, no_way_back(fate));
  }
  for (size_t leaf : leaves) outputs[leaf] = tape::as_leaf(outputs[leaf]);
  for (const Kept& one : kept) {
    const tape::Edge edge = tape::edge_of(outputs[one.output]);
    if (!edge.node) continue;
    tape::Watch& watch = edge.node->watches[edge.result];
    watch.retain = true;
    if (one.gradient) watch.grad = outputs[*one.gradient];
  }
}

Tensor stand_in_for(Tensor stand_in, PyObject* argument) {
  if (is_tensor(argument)) stand_in.set_link(tensor_of(argument).link());
  return stand_in;
}

void ask_tape(nb::handle x, std::string_view what) {
  Capture* capture = Capture::current();
  if (!capture) return;
  if (ArrayNotes* notes = ArrayNotes::at_work()) {
    note_handle(x.ptr());
    notes->tape_asked = true;
    return;
  }
  const Tensor& tensor = tensor_of(x.ptr());
  bool own = tensor.is_symbolic() ? tensor.link() && capture->owns(tensor) : capture->made_here(tensor);
  if (!own) refuse_traced(what);
}

void ask_modes() {
  if (!Capture::current()) return;
  if (!ArrayNotes::at_work()) refuse_traced("the mode of eager autograd");
  tape::asked_outside();
}

void follow_tape() {
  static constexpr tape::Outside kFollow{&ArrayNotes::tape_is_asked, &reached};
  tape::set_outside(&kFollow);
}

}  // namespace ig::py
