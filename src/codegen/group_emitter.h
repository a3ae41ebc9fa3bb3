// The heart of lowering: any value of a fused region, at any index, as a loop expression. Operands are loads,
// nodes are inlined by their op's rule, and what a kernel has computed already (a folded row, a tile of a
// product) is pinned.
//
// 16-bit floats flow as F32 that hold exactly representable values: a result is rounded where its op ends, as
// if it had been stored.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/kernel.h"
#include "ops/indexing.h"
#include "ops/table.h"

namespace ig::codegen {

inline DType compute_type(DType d) {
  if (d == DType::F16 || d == DType::BF16) return DType::F32;
  return d == DType::Key ? DType::U64 : d;
}
// Bytes of the widest element that flows through the region.
int widest_element(const Block& region);
// Lanes of a vector loop on this target: about four registers of the widest element.
int natural_lanes(const Target& target, int element_bytes);
// The same for a loop of so many turns: a short one has no wider vectors than elements, and no masked group
// where narrower vectors leave nothing over. An element's bits do not depend on it.
int lanes_for(const Target& target, int element_bytes, const Dim& turns);
// As many of a fold's lanes as a short one needs: those without an element hold the start, which changes
// nothing.
int lanes_of_short_fold(int lanes, const Dim& turns);

// Whether an element of the domain takes a transcendental: what computes so long has time for vectors that
// lie across two lines of memory, and needs the registers.
bool elements_are_dear(const Block& region, const Dims& domain);

class GroupEmitter {
 public:
  // `relaxed` outlives the emitter, and is shared by all that write code for one kernel.
  GroupEmitter(const Node* fusion, const Target& target, Relaxed& relaxed);

  loop::Builder build;
  const Node* fusion;
  const Block& region;
  const Target& target;
  Relaxed& relaxed;
  ops::SizeFn size;
  Traffic traffic;
  bool exact = false;  // see `lower` in kernel.h

  // Of a product whose number of rows nobody knows yet, the way for many of them is to be written. Where it
  // has such a way, this is 1 for the sizes that want it, and 0 for all others.
  bool many_rows = false;
  std::optional<Dim> wants_many_rows{};

  // Where vector loops over columns are cut (cuts.h), if anywhere. Groups of lanes stay whole, so that each
  // column keeps its lane, but where `cuts_groups` says that lanes mean nothing.
  std::vector<int64_t> cuts;
  bool cuts_groups = false;

  using Index = std::vector<loop::Expr>;
  loop::Expr element(Value value, std::span<const loop::Expr> index);
  // The value is known from now on, in the current scope: by an expression for each index.
  using Source = std::function<loop::Expr(std::span<const loop::Expr> index)>;
  void pin(Value value, Source source) { pinned_[value] = std::move(source); }

  // The value at this index is known from now on, in the innermost scope: computed once, however often read.
  void know(Value value, std::span<const loop::Expr> index, loop::Expr is);

  // Loops whose bodies must not leak what they computed once.
  void serial(loop::Expr begin, loop::Expr end, const std::function<void(loop::Expr)>& body);
  void vector(loop::Expr begin, loop::Expr end, int lanes, const std::function<void(loop::Expr)>& body,
              bool by_lines = false);
  // Columns [from, to), cut; from is a multiple of the lanes where those count.
  void vector_columns(loop::Expr from, loop::Expr to, int lanes, const std::function<void(loop::Expr)>& body);
  void scoped(const std::function<void()>& body);
  // The columns of a row of results, whose first element is `first` in them. Where results are streamed, or
  // rows come from afar and may be read `by_lines` (see loop::Stmt), groups begin at lines of the results
  // (and `at_line` says so), and what lies before the first line is a group of its own.
  void vector_row(loop::Expr first, const Dim& columns, int lanes, bool by_lines,
                  const std::function<void(loop::Expr column, bool at_line)>& body);

  // What a rule of the node's gives; notes where it made use of what fast_math allows.
  template <typename Rule>
  auto noting(const Node* node, Rule&& rule) {
    const int before = build.finite_uses;
    auto out = rule();
    if (build.finite_uses != before) note(node, relaxed.finite);
    return out;
  }
  // What a rule of the node's made of these operands: where that is their sum or difference, and one is a
  // product of a user's, an fma, if fast_math allows it. Inside of functions all is meant as it is written.
  loop::Expr contracted(const Node* node, loop::Expr made, std::span<const loop::Expr> operands);

  // An element of a result of the fusion node as it lies in memory, narrowing 16-bit floats.
  loop::Expr as_stored(size_t result, loop::Expr value) const;
  // Stores one. `at_line`: all groups of the
  // vector loop around it begin at a line of memory, so that results may be streamed.
  void store_result(size_t result, loop::Expr flat, loop::Expr value, bool at_line = false);
  bool streams(size_t result) const { return result < traffic.streamed.size() && traffic.streamed[result]; }
  bool any_streamed() const { return std::ranges::find(traffic.streamed, true) != traffic.streamed.end(); }
  uint32_t operand_buffer(size_t i) const { return operand_buffers_[i]; }
  uint32_t result_buffer(size_t i) const { return result_buffers_[i]; }
  uint32_t buffer_of_arg(Value arg) const { return operand_buffers_[arg->index()]; }
  loop::Expr round_to(loop::Expr value, DType dtype);  // what storing and loading again would do
  loop::Expr flat(std::span<const loop::Expr> index, const Dims& dims) {
    return ops::linear_index(index, dims, size);
  }
  Index split(loop::Expr flat, const Dims& dims) { return ops::split_index(flat, dims, size, build); }

 private:
  class Point;
  // Where groups of so many lanes begin or end at the cuts.
  std::vector<int64_t> cuts_of_groups(int lanes) const;
  loop::Expr compute(Value value, std::span<const loop::Expr> index);
  // The dtype of the streamed results, or of all where none is; nothing where they differ in size.
  std::optional<DType> written_dtype() const;
  static void note(const Node* node, std::vector<const Node*>& nodes);
  std::vector<uint32_t> operand_buffers_, result_buffers_;
  std::unordered_set<const loop::ExprNode*> products_;  // that a user's op makes of its operands
  std::unordered_map<Value, Source> pinned_;
  using Key = std::pair<Value, std::vector<const loop::ExprNode*>>;
  std::vector<std::map<Key, loop::Expr>> known_;
};

// The lowerings, one a kind of kernel (lower_*.cpp). Each fills the kernel but for its function's finish.
void lower_loop(GroupEmitter& emit, Kernel& kernel);
void lower_row(GroupEmitter& emit, Kernel& kernel);
void lower_column(GroupEmitter& emit, Kernel& kernel);
void lower_panel(GroupEmitter& emit, Kernel& kernel);
void lower_contraction(GroupEmitter& emit, Kernel& kernel, const std::vector<bool>& constant_operands);
void lower_dot(GroupEmitter& emit, Kernel& kernel, Node* dot, const std::vector<bool>& constant_operands);
// False, with nothing emitted, for convolutions that its tiles do not fit (few features, gaps in the image).
bool lower_convolution(GroupEmitter& emit, Kernel& kernel, const Node* node,
                       const std::vector<bool>& constant_operands);
// False, with nothing emitted, for all that is not to be computed by Winograd's minimal filtering.
bool lower_winograd(GroupEmitter& emit, Kernel& kernel, const Node* node,
                    const std::vector<bool>& constant_operands);
bool lower_winograd_gradient(GroupEmitter& emit, Kernel& kernel, const Node* node);
bool lower_depthwise_gradient(GroupEmitter& emit, Kernel& kernel, const Node* node);
void lower_attention(GroupEmitter& emit, Kernel& kernel, const Node* node);
void lower_attention_gradient(GroupEmitter& emit, Kernel& kernel, const Node* node);
void lower_nest(GroupEmitter& emit, Kernel& kernel);
void lower_program(GroupEmitter& emit, Kernel& kernel, const std::vector<bool>& constant_operands);

}  // namespace ig::codegen
