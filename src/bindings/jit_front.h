// The Python side of a jitted function's tree of traces: running the function on stand-ins, what is kept of
// that run (the structure of the results, what must be written back, what was read from outside), and putting
// results together.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "bindings/guards.h"
#include "bindings/jit_call.h"
#include "bindings/jit_notes.h"
#include "bindings/outside_notes.h"
#include "bindings/tape_facts.h"
#include "frontends/record/jit.h"
#include "tensor/autocast.h"

namespace ig::py {

// What watches a function while it is recorded, for what it reads from outside besides arrays.
struct OutsideWatch {
  virtual ~OutsideWatch() = default;
  virtual void allow_writes(nb::handle object) = 0;  // to a container whose changes are written back
  // A place whose reads the caller answers for: the function finds `value` there.
  virtual void assume(const Place& place, nb::handle value) = 0;
  // The gradient of an array from outside is read, or about to be set. The first gives what the function
  // finds.
  virtual nb::object read_gradient(nb::handle array) = 0;
  virtual void bind_gradient(nb::handle array) = 0;
  virtual void start() = 0;
  virtual OutsideGuards stop(nb::handle result) = 0;         // null: the function raised
  virtual std::vector<OutsideNotes::Rebound> rebound() = 0;  // after `stop`
  virtual std::vector<std::string> unknown() = 0;            // reads that could not be followed
};
std::unique_ptr<OutsideWatch> watch_outside(nb::handle function, const std::vector<nb::object>& arguments);

// One leaf of the results.
struct ResultLeaf {
  enum class Kind : uint8_t { Output, Number, Argument, Object, Spot, Copy, Array };
  Kind kind = Kind::Output;
  size_t index = 0;   // of the graph's output, of the argument's leaf, or of the spot whose handle it is
  nb::object object;  // Object: as it is; Copy: its copy()
  Tensor array;       // Array: made by the trace, the same in every call
};

// A value that the function bound to a place that it was given.
struct WriteBack {
  enum class Where : uint8_t { Argument, Slot, Outside, Place };
  Where where = Where::Argument;
  size_t leaf = 0;  // of the arguments
  size_t spot = 0;  // Outside: of the handle
  Place place{};    // Place: an attribute, a global, an element
  ResultLeaf value;
  bool silent = false;    // of a handle: bound by a module or an optimiser, off the tape of eager autograd
  bool in_place = false;  // of a place: the handle there gets the value, and stays
};

struct PyKept final : record::Kept {
  Tree tree;
  std::vector<ResultLeaf> leaves;
  std::vector<WriteBack> writes;
  OutsideGuards guards;
  std::vector<ArrayNotes::Handle> handles;  // that no guarded place holds
  // Where a handle from outside is found on each call: in the place of a guard, where the program may have
  // put another one since, or among `handles`.
  struct Spot {
    bool placed = false;
    size_t index = 0;  // of `guards`, or of `handles`
  };
  std::vector<Spot> spots;
  std::vector<nb::object> found;                // the handle of each, as the recording found it
  std::vector<size_t> twins;                    // of each spot the first that held the same handle
  std::vector<std::pair<size_t, size_t>> same;  // spots that held one array
  nb::object handle(size_t spot) const {
    const Spot& at = spots[spot];
    return at.placed ? guards[at.index]->handle() : handles[at.index].object;
  }
  std::vector<ArrayNotes::Foreign> foreign;
  mutable std::vector<Tensor> foreign_last;  // what the last call found in them; Python's lock guards it
  struct Source {  // of a lifted array
    enum class Kind : uint8_t { Fixed, Spot, Foreign, Number };
    Kind kind = Kind::Fixed;
    size_t index = 0;
  };
  std::vector<Source> sources;
  // Python numbers outside that earlier traces wrote back: read again on each call, as arguments are.
  struct Number {
    Place place;
    bool whole = true;
    Tensor seen;
  };
  std::vector<Number> numbers;
  // Arrays from outside that are constants of the graph: each must still hold these very bytes.
  std::vector<Source> constants;
  std::vector<Tensor> constant_values;
  std::vector<std::string> unknown;
  std::optional<DType> autocast;  // that was on outside of the function
  TapeFacts tape;
};

class PyFront final : public record::JitFront {
 public:
  PyFront(nb::handle function, const CallShape& shape, const CallObjects& objects, PyObject* const* args,
          size_t count, PyObject* names)
      : function_(function), shape_(shape), objects_(objects), args_(args), count_(count), names_(names) {}
  Recorded record(record::JitCapture& capture, std::span<const Tensor> stand_ins) override;
  void prepare(record::JitCapture& capture) override;
  bool holds(const record::JitTrace& trace, std::string* why) override;
  void outside(const record::JitTrace& trace, std::span<Tensor> lifted) override;
  void aside(const std::function<void()>& work) override;
  Location here() override { return python_location(); }
  bool interrupted() override { return interrupted_; }
  // The tree that is called, for what its traces know; whether arrays from outside become inputs.
  void set_tree(const record::JitTree& tree, bool lift) {
    tree_ = &tree;
    lift_ = lift;
  }
  // The function's result, after what it writes back.
  nb::object result(const record::JitTrace& trace, std::vector<Tensor> outputs);

 private:
  ResultLeaf result_leaf(record::JitCapture& capture, nb::handle object,
                         std::span<const nb::object> stand_ins, std::vector<Tensor>& outputs) const;
  void find_spots(PyKept& kept, const ArrayNotes& notes);
  Recorded::Tape know_tape(PyKept& kept, const ArrayNotes& notes, record::JitCapture& capture,
                           std::vector<Tensor>& outputs);
  void know_arguments(const PyKept& kept, std::vector<TapeFacts::Hooks>& hooks,
                      std::vector<std::pair<size_t, size_t>>& same) const;
  std::string other_tape(const PyKept& kept) const;
  // Takes up the handles that a call of this trace finds, where they are not those of its recording.
  void hold(const PyKept& kept);
  // Takes its output, which no other leaf has. `held`: the handle of each spot.
  nb::object leaf_object(const ResultLeaf& leaf, std::vector<Tensor>& outputs,
                         std::span<const nb::object> held) const;
  PyObject* argument(size_t i) const;  // of the call, in the order of the shape's trees

  // Numbers outside that a trace of this tree wrote back, and whose values differ by now.
  std::vector<PyKept::Number> moving_numbers() const;
  Tensor outside_array(const PyKept& kept, const PyKept::Source& source) const;

  nb::handle function_;
  const CallShape& shape_;
  const CallObjects& objects_;
  PyObject* const* args_;
  size_t count_;
  PyObject* names_;
  std::vector<Tensor> foreign_now_;
  const PyKept* held_by_ = nullptr;
  std::vector<nb::object> held_;                   // by the spots of that trace
  std::unordered_map<PyObject*, size_t> spot_of_;  // while a trace is recorded: the first of each handle
  bool interrupted_ = false;
  bool lift_ = true;
  const record::JitTree* tree_ = nullptr;
};

}  // namespace ig::py
