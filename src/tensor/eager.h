// Eager execution: one op at a time, on concrete arrays, by compiled programs of one node. A program serves
// all sizes of its pattern (its sizes are symbols), so after the first call of a kind nothing is compiled:
// element-wise ops are collapsed to the fewest axes first, which makes one program serve every shape, and
// broadcasting is part of the program, so it never materialises. Where there is no compiler, or no lowering,
// the op's reference rule runs, and is counted as a fallback.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ops/attrs.h"
#include "ops/contraction.h"
#include "ops/op.h"
#include "tensor/program.h"
#include "tensor/tensor.h"

namespace ig::eager {

struct Counters {
  std::atomic<uint64_t> programs{0};   // compiled for eager use
  std::atomic<uint64_t> prebuilt{0};   // kinds of call that a prebuilt kernel serves
  std::atomic<uint64_t> runs{0};       // of programs
  std::atomic<uint64_t> relabels{0};   // ops that moved no byte
  std::atomic<uint64_t> views{0};      // strided copies
  std::atomic<uint64_t> fallbacks{0};  // runs of reference rules
};
Counters& counters();

// Operands of exactly the shapes that the op asks for.
std::vector<Tensor> run(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs);
// The same with kernels that need no compiler, and off the tape; nothing where there is none.
std::optional<std::vector<Tensor>> run_at_hand(const ops::Op& op, std::span<const Tensor> operands,
                                               const Attrs& attrs);
// The same of an element-wise op whose operands have as many axes as `shape`, to which they broadcast. The
// result may lie in the memory of an operand that nobody else holds.
std::optional<std::vector<Tensor>> run_elementwise_at_hand(const ops::Op& op,
                                                           std::span<const Tensor> operands,
                                                           const Attrs& attrs, const Shape& shape);
// An element-wise op on operands of the promoted types, whose shapes broadcast to `shape`.
std::vector<Tensor> run_elementwise(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                    const Shape& shape);
// NumPy's rule; Error(Shape) naming both shapes.
Shape broadcast_shapes(const ops::Op& op, std::span<const Tensor> operands);

// The graph of an element-wise op over the symbolic sizes n0, n1, …: bit i of `broadcast[a]` says that
// operand i has no axis a. Its program serves every shape that collapses to these axes.
std::unique_ptr<Graph> elementwise_graph(const ops::Op& op, std::span<const DType> dtypes, const Attrs& attrs,
                                         std::span<const uint32_t> broadcast);
// How a kernel of such an op over one axis is known among the prebuilt ones, in every process alike.
Hash128 prebuilt_key(const ops::Op& op, std::span<const DType> dtypes, const Attrs& attrs,
                     uint32_t broadcast);
// The sizes of the result of an op that makes arrays out of nothing, or of numbers alone (random keys); else
// null.
template <typename Operand>  // a tensor, or its type
const Dims* made_shape(std::span<const Operand> operands, const Attrs& attrs) {
  const AttrValue* value = attrs.find(ops::kShape.name);
  const Dims* shape = value ? std::get_if<Dims>(value) : nullptr;
  if (!shape || !constant_dims(*shape)) return nullptr;
  return std::ranges::all_of(operands, [](const Operand& x) { return x.rank() == 0; }) ? shape : nullptr;
}
inline int64_t size_of_axis(const Tensor& x, size_t axis) { return x.shape()[static_cast<int>(axis)]; }
inline int64_t size_of_axis(const Type& x, size_t axis) { return x.dims[axis].constant(); }
// Where sizes in attributes are all of an axis of the first operand (a gather takes whole rows), the
// attributes with `whole(axis)` there: a program for any sizes takes those of its operand for them.
template <typename Operand, typename Whole>  // a tensor, or its type
std::optional<Attrs> with_whole_sizes(std::span<const Operand> operands, const Attrs& attrs, Whole whole) {
  std::optional<Attrs> out;
  for (const auto& [name, value] : attrs.items()) {
    const Dims* sizes = operands.empty() ? nullptr : std::get_if<Dims>(&value);
    if (!sizes || name == ops::kShape.name || std::ssize(*sizes) != operands[0].rank()) continue;
    Dims changed = *sizes;
    for (size_t axis = 0; axis < changed.size(); ++axis)
      if (const int64_t size = size_of_axis(operands[0], axis); size > 1 && changed[axis] == size)
        changed[axis] = whole(axis);
    if (changed == *sizes) continue;
    if (!out) out = attrs;
    out->set(name, AttrValue(std::move(changed)));
  }
  return out;
}
// What an op asks of sizes, counted through all operands, that symbols cannot tell: what number one of them
// is, or whether it is no larger than another.
struct Asked {
  size_t size;
  std::optional<size_t> other;
  bool operator==(const Asked&) const = default;
};
// Of a product of a matrix: which of its axes has its rows. Programs for few of them and for many are kept
// apart, so that neither is made for nothing.
template <typename Operand>  // a tensor, or its type
std::optional<size_t> axis_of_rows(const ops::Op& op, std::span<const Operand> operands, const Attrs& attrs) {
  if (!op.has(ops::Trait::Product) || operands.empty() || operands[0].rank() != 2) return std::nullopt;
  const AttrValue* summed = attrs.find(ops::kLhsContract.name);
  if (!summed) return 0;
  const auto& axes = std::get<Ints>(*summed);
  const bool one = axes.size() == 1 && (axes[0] == 0 || axes[0] == 1);
  return one ? std::optional<size_t>(1 - axes[0]) : std::nullopt;
}
// A graph of one node; sizes are symbols where `symbolic`: those that the op wants equal share one, and 1
// stays 1. Error(Shape) where the op asks more of its sizes than that. Where only an attribute has the sizes
// of the result, a last input without elements, bool[..., 0], brings them.
// `asked`, if given: what is known of the sizes, beyond which of them are equal; what else the op asks is
// added to the list.
std::unique_ptr<Graph> one_node_graph(const ops::Op& op, std::span<const Type> operands, const Attrs& attrs,
                                      bool symbolic, std::vector<Asked>* asked = nullptr);

std::vector<Type> types_of(std::span<const Tensor> operands);
// The body of a composite at these sizes; null for other ops.
std::unique_ptr<Graph> body_of(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs);
// Whether the body only moves elements: then a compiled program for each set of sizes would be wasted, since
// its nodes are strided copies.
bool only_moves(const Graph& body);

struct Entry;

// The direct way of an element-wise op of one operand or two, without attributes: operands of one dtype and
// one shape, or one of the two a number (an array of rank 0); no vector, no hash.
class ElementwiseSite {
 public:
  explicit ElementwiseSite(const ops::Op& op) : op_(op) {}
  // Whether there is such a way for calls of an op's public function, by whom the operands are not converted.
  static bool suits(const ops::Op& op);
  const ops::Op& op() const { return op_; }
  Tensor operator()(const Tensor& x) { return run({&x, nullptr}, kNone); }
  Tensor operator()(const Tensor& x, const Tensor& y) { return run({&x, &y}, kNone); }
  Tensor with_number(const Tensor& x, const Tensor& number) { return run({&x, &number}, kSecond); }
  Tensor with_number_first(const Tensor& number, const Tensor& x) { return run({&number, &x}, kFirst); }

 private:
  enum Number : uint32_t { kNone = 0, kFirst = 1, kSecond = 2 };  // bit i: operand i is one
  Tensor run(std::array<const Tensor*, 2> operands, Number number);
  const ops::Op& op_;
  std::array<std::array<std::atomic<const Entry*>, kDTypeCount>, 3> entries_{};  // by number, by dtype
};

}  // namespace ig::eager
