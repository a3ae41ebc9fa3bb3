// Element-wise kernels: every result has one shape, each element an expression of elements of the operands. Where every
// access is at the element itself, the shape is one long row; else the last axis is the vector loop, and the outer
// axes are rows.
#include <algorithm>

#include "codegen/group_emitter.h"

namespace ig::codegen {
namespace {

constexpr int64_t kBlockElements = 8192;   // a block of work: a few microseconds, and within the first caches
constexpr int64_t kGrainElements = 32768;  // worth a second thread

// All operands are of the results' shape or single elements, and nothing moves elements about.
bool is_flat(const Block& region, const Dims& dims) {
  auto one = [](const Type& t) {
    return std::all_of(t.dims.begin(), t.dims.end(), [](const Dim& d) { return d == Dim(int64_t{1}); });
  };
  for (Value arg : region.args())
    if (arg->type().dims != dims && !one(arg->type())) return false;
  for (Node* node : region) {
    if (node == region.terminator() || node->operands().empty()) continue;
    if (ops::has(node, ops::Trait::Elementwise)) continue;
    bool spread_number = std::all_of(node->operands().begin(), node->operands().end(),
                                     [&](Value v) { return one(v->type()); });
    if (!spread_number) return false;
  }
  return true;
}

// Operands that are only read at the very element that is written may give their memory to the result.
bool read_in_place(const Block& region, Value arg, const Dims& dims) {
  if (arg->type().dims != dims) return false;
  return std::all_of(arg->uses().begin(), arg->uses().end(), [&](const Use& use) {
    return use.user == region.terminator() ||
           (ops::has(use.user, ops::Trait::Elementwise) && use.user->result()->type().dims == dims);
  });
}

}  // namespace

void lower_loop(GroupEmitter& emit, Kernel& kernel) {
  const Block& region = emit.region;
  const Dims dims = region.results()[0]->type().dims;
  for (Value v : region.results())
    IG_CHECK(v->type().dims == dims, "a loop kernel gives {} and {}", str(dims), str(v->type().dims));
  loop::Builder& build = emit.build;
  int lanes = natural_lanes(emit.target, widest_element(region));

  auto body = [&](loop::Expr flat, std::span<const loop::Expr> index) {
    // All values first: a result may stand in the memory of an operand.
    std::vector<loop::Expr> values;
    for (Value v : region.results()) values.push_back(build.let(emit.element(v, index)));
    for (size_t i = 0; i < values.size(); ++i) emit.store_result(i, flat, values[i]);
  };

  bool flat = is_flat(region, dims);
  if (flat) {
    Dim n = product(dims);
    kernel.blocks = ceildiv(n, kBlockElements);
    kernel.grain = kGrainElements / kBlockElements;
    loop::Expr begin = build.block() * build.index(kBlockElements);
    loop::Expr end = loop::lesser(begin + build.index(kBlockElements), emit.size(n));
    emit.vector(begin, end, lanes, [&](loop::Expr i) { body(i, emit.split(i, dims)); });
  } else {
    Dims outer(dims.begin(), dims.end() - (dims.empty() ? 0 : 1));
    Dim rows = product(outer), columns = dims.empty() ? Dim(int64_t{1}) : dims.back();
    Dim rows_a_block = max(Dim(int64_t{1}), floordiv(Dim(kBlockElements), max(columns, Dim(int64_t{1}))));
    kernel.blocks = ceildiv(rows, rows_a_block);
    kernel.grain = kGrainElements / kBlockElements;
    loop::Expr per_block = emit.size(rows_a_block), n = emit.size(columns);
    loop::Expr begin = build.block() * per_block;
    emit.serial(begin, loop::lesser(begin + per_block, emit.size(rows)), [&](loop::Expr row) {
      std::vector<loop::Expr> outer_index = emit.split(row, outer);
      emit.vector(build.index(0), n, lanes, [&](loop::Expr column) {
        std::vector<loop::Expr> index = outer_index;
        if (!dims.empty()) index.push_back(column);
        body(row * n + column, index);
      });
    });
  }
  for (size_t r = 0; r < region.results().size(); ++r)
    for (size_t a = 0; a < region.args().size(); ++a) {
      const Type& type = region.arg(a)->type();
      if (size_of(type.dtype) == size_of(region.results()[r]->type().dtype) && read_in_place(region, region.arg(a), dims))
        kernel.in_place.emplace_back(static_cast<int>(r), static_cast<int>(a));
    }
}

}  // namespace ig::codegen
