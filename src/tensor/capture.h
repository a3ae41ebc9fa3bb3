// The capture of a graph: what every front end records into. It turns the tensors of a call into values, records one
// node an op, and is asked whenever the program wants to know something about a symbolic array that a graph cannot
// say (its truth, a number, its bytes); each front end answers in its own way: a guard, a refusal, a break.
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
  std::unique_ptr<Graph> take() { return std::move(graph_); }

  Tensor add_input(Type type, std::string name);
  // The value of any tensor in this graph: its own if it is symbolic here; an input or a constant if concrete.
  // A symbolic tensor of another, finished capture is refused as leaked, with its line.
  Value value_of(const Tensor& tensor);
  std::vector<Tensor> record(const ops::Op& op, std::span<const Tensor> operands, Attrs attrs);
  void finish(std::span<const Tensor> outputs);

  // Tensors from outside that were read: registered beforehand with a name (weights by module path), or met by chance.
  void name_tensor(const Tensor& tensor, std::string name);
  struct Lifted {
    Tensor tensor;
    Value input;
    std::string name;
  };
  const std::vector<Lifted>& lifted() const { return lifted_; }  // in order of their inputs, after the arguments
  bool lift_constants = true;  // false: concrete tensors become `constant` nodes

  // The user's place in the program, supplied by the front end for each node.
  std::function<Location()> locate;
  std::function<Scope()> scope;

  // Coercions of a symbolic value. The default refuses with Error(Capture), naming the value's own line, the line at
  // hand, and the fix.
  virtual bool to_bool(const Tensor& tensor);
  virtual int64_t to_int(const Tensor& tensor);
  virtual double to_float(const Tensor& tensor);
  virtual Tensor to_concrete(const Tensor& tensor, std::string_view why);

  static Capture* current();  // of this thread; null outside
  class Active {              // makes a capture current for a scope of code
   public:
    explicit Active(Capture* capture);
    ~Active();

   private:
    Capture* previous_;
  };

 protected:
  [[noreturn]] void refuse(const Tensor& tensor, std::string_view wanted, std::string_view hint);

 private:
  std::unique_ptr<Graph> graph_;
  std::vector<Lifted> lifted_;
  std::unordered_map<const void*, Value> known_;
  std::unordered_map<const void*, std::string> names_;
};

}  // namespace ig
