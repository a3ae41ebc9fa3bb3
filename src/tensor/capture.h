// The capture of a graph: what every front end records into. It turns the tensors of a call into values,
// records one node an op, and is asked whenever the program wants to know something about a symbolic array
// that a graph cannot say (its truth, a number, its bytes); each front end answers in its own way: a guard, a
// refusal, a break.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "ops/builder.h"
#include "tensor/tensor.h"

namespace ig {

class Capture {
 public:
  explicit Capture(std::string name);
  virtual ~Capture();

  Graph& graph() { return *graph_; }
  const Graph& graph() const { return *graph_; }
  uint64_t serial() const { return serial_; }  // unique in the process
  bool owns(const Tensor& tensor) const {
    return tensor.symbol() && tensor.symbol()->capture == this && tensor.symbol()->serial == serial_;
  }
  // Whether a symbolic tensor may be read here: its own, or one of a capture around this one.
  virtual bool reaches(const Tensor& tensor) const { return owns(tensor); }
  std::unique_ptr<Graph> take() { return std::move(graph_); }

  Tensor add_input(Type type, std::string name);
  // The value of any tensor in this graph: its own if it is symbolic here; an input or a constant if
  // concrete. A symbolic tensor of another, finished capture is refused as leaked, with the line at hand.
  Value value_of(const Tensor& tensor);
  std::vector<Tensor> record(const ops::Op& op, std::span<const Tensor> operands, Attrs attrs,
                             std::vector<uint32_t> segments = {},
                             std::vector<std::unique_ptr<Graph>> regions = {});
  void finish(std::span<const Tensor> outputs);
  // The results of a graph, whose nodes become nodes of this one. Those that have no place in the program get
  // this one.
  std::vector<Tensor> inline_graph(const Graph& graph, std::span<const Tensor> inputs, Location where = {},
                                   Scope scope = {});
  // From now on the program's handles of the one value stand for the other, which comes before all its uses.
  void replace(Value value, Value with);

  // Where it is set, the program wants no derivative through what it computes: what that reads from before
  // goes through `stop_gradient`, for whoever differentiates the graph later.
  bool stop_gradients = false;

  // Tensors from outside that were read: registered beforehand with a name (weights by module path), or met
  // by chance.
  void name_tensor(const Tensor& tensor, std::string name);
  struct Lifted {
    Tensor tensor;
    Value input;
    std::string name;
  };
  const std::vector<Lifted>& lifted() const {
    return lifted_;
  }  // in order of their inputs, after the arguments
  Value input_of(const Tensor& tensor) const;  // of what was lifted; else null
  // Of what was lifted: nothing can write to it any more, so it is a constant, and no input.
  void make_constant(const Tensor& tensor);
  bool lift_constants = true;  // false: concrete tensors become `constant` nodes

  // The user's place in the program, supplied by the front end for each node.
  std::function<Location()> locate;
  std::function<Scope()> scope;

  // Coercions of a symbolic value. The default refuses with Error(Capture), naming the value's own line, the
  // line at hand, and the fix.
  virtual bool to_bool(const Tensor& tensor);
  virtual int64_t to_int(const Tensor& tensor);
  virtual double to_float(const Tensor& tensor);
  virtual Tensor to_concrete(const Tensor& tensor, std::string_view why);
  // A concrete array that is about to be coerced: a capture that guards such answers gives a symbolic one in
  // its place.
  virtual Tensor asked(const Tensor& tensor) { return tensor; }
  // A size in arithmetic with arrays: a symbolic integer, of the kind that takes the dtype of what it meets.
  Tensor size_value(const Dim& dim);
  // A symbolic size wanted as a number (range(n), an index); the default refuses likewise.
  virtual int64_t to_size(const Dim& dim, std::string_view wanted);

  // Concrete arrays made while this capture was active are constants of the graph; they are never lifted to
  // inputs.
  void note_made_here(const Tensor& tensor);
  bool made_here(const Tensor& tensor) const { return made_here_.contains(tensor.data()); }

  // Throws the error for a symbolic tensor whose capture is over (or, with `capture`, not that one).
  [[noreturn]] static void leaked(const Tensor& tensor, Capture* capture);

  static Capture* current();  // of this thread; null outside
  class Active {              // makes a capture current for a scope of code
   public:
    explicit Active(Capture* capture);
    ~Active();

   private:
    Capture* previous_;
  };

 protected:
  // A symbolic tensor of another capture: the default refuses it as leaked. A capture of a region, whose
  // outer capture is still going on, may take it as an operand instead.
  virtual Value foreign(const Tensor& tensor);
  [[noreturn]] void refuse(const Tensor& tensor, std::string_view wanted, std::string_view hint);

 private:
  Value constant_of(const Tensor& tensor, Node* before = nullptr);
  Value operand_of(const Tensor& tensor);  // `value_of`, for what is computed now
  void made(Value value) {
    if (stop_gradients) stopped_[value] = value;
  }
  uint64_t serial_;
  std::unique_ptr<Graph> graph_;
  std::vector<Lifted> lifted_;
  // One memory is one value, but two where one handle is on the tape of eager autograd and the other is not.
  struct Key {
    const void* data;
    const GradLink* link;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& key) const {
      return std::hash<const void*>()(key.data) ^ (std::hash<const void*>()(key.link) << 1);
    }
  };
  std::unordered_map<Key, Value, KeyHash> known_;
  std::unordered_map<const void*, std::string> names_;
  // Concrete tensors that were met, held so that addresses stay.
  std::unordered_map<Key, Tensor, KeyHash> kept_;
  std::unordered_map<const void*, Tensor> made_here_;
  std::unordered_map<Value, Value> stopped_;   // values, and what they are without a derivative
  std::unordered_map<Value, Value> replaced_;  // by `replace`
};

}  // namespace ig
