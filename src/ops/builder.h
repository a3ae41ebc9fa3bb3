// Makes nodes: fills attribute defaults, asks the op's `infer` for the result types, and inserts. Everything
// that builds graphs (capture, composites' bodies, passes, derivative rules) goes through it.
#pragma once

#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/table.h"

namespace ig::ops {

class Builder {
 public:
  explicit Builder(Block& block, Node* before = nullptr) : block_(&block), before_(before) {}

  Block& block() const { return *block_; }
  Node* before() const { return before_; }  // null: at the end
  Graph& graph() const { return block_->graph(); }
  void set_location(Location location) { location_ = location; }
  void set_scope(Scope scope) { scope_ = scope; }
  void at(const Node* node) {  // what is built next stands for this node's place in the user's program
    location_ = node->location();
    scope_ = node->scope();
  }

  // The one way to make a node. Errors carry the location as their second part.
  Node* node(const Op& op, std::vector<Value> operands, Attrs attrs = {}, std::vector<uint32_t> segments = {},
             std::vector<std::unique_ptr<Graph>> regions = {});

  // A node with one result, by name: b("multiply", {x, y}), b("reduce_sum", {x}, {kAxes % Ints{1}}).
  Value operator()(std::string_view op, std::vector<Value> operands,
                   std::vector<std::pair<std::string, AttrValue>> attrs = {});
  std::vector<Value> many(std::string_view op, std::vector<Value> operands,
                          std::vector<std::pair<std::string, AttrValue>> attrs = {});

  Value constant(Literal value);
  Value scalar(DType dtype, double value);     // rank 0
  Value full(const Type& type, double value);  // a broadcast scalar
  Value full_like(Value like, double value) { return full(like->type(), value); }
  Value broadcast(Value x, const Dims& shape,
                  const Ints& axes);                  // x's axis i becomes axis axes[i]; x itself if equal
  Value broadcast_to(Value x, const Dims& shape);     // NumPy's rule: aligned at the end
  Value convert(Value x, DType dtype);                // x itself if equal
  Value reshape(Value x, const Dims& shape);          // x itself if equal
  Value transpose(Value x, const Ints& permutation);  // x itself for the identity

 private:
  Block* block_;
  Node* before_;
  Location location_;
  Scope scope_;
};

// NumPy's broadcasting of shapes. A declared symbol is never taken as 1. Error(Shape) naming both.
Dims broadcast_shapes(const Dims& a, const Dims& b, const DimScope& scope, std::string_view op);

// Result types alone, as eager execution and tests need them.
std::vector<Type> infer(const Op& op, std::vector<Type> operands, const Attrs& attrs, const DimScope& scope);
// Fills defaults, checks names, kinds and choices; attributes in declared order. Error(Value/Type).
Attrs complete_attrs(const Op& op, Attrs given);

}  // namespace ig::ops
