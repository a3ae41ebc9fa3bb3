// The parts of attention's kernels; see attention_kernel.h.
#include "codegen/attention_kernel.h"

#include <limits>

#include "loop/math_detail.h"
#include "ops/attention_attrs.h"

namespace ig::codegen {

using loop::Expr;

int attention_lanes(DType type) { return size_of(type) == 8 ? 8 : 16; }

Expr attention_power(Expr x) {
  if (x.type() != DType::F32) return loop::math::exp(x);
  return loop::select(x < -87.0, x.builder().constant(DType::F32, 0), loop::math::exp32_bounded(x));
}

Ints AttentionKernel::batch_axes(int64_t rank) {
  Ints out;
  for (int64_t i = 0; i + 2 < rank; ++i) out.push_back(i);
  return out;
}

AttentionKernel::AttentionKernel(GroupEmitter& emit, Kernel& kernel, const Node* node, Value mask)
    : emit_(emit),
      kernel_(kernel),
      build_(emit.build),
      node_(node),
      rank_(node->operand(0)->type().rank()),
      q_(node->operand(0), batch_axes(rank_), Ints{rank_ - 1}),
      k_(node->operand(1), batch_axes(rank_), Ints{rank_ - 1}),
      mask_(mask),
      causal_(node->attrs().get(ops::kCausal)) {
  DType result = node->result()->type().dtype;
  type_ = size_of(result) < 4 ? DType::F32 : result;
  queries_ = product(q_.free_dims), keys_ = product(k_.free_dims);
  features_ = product(q_.folded_dims);
  batch_ = product(q_.batch_dims);
  nr_ = kVectors * emit.target.vector_bytes / static_cast<int64_t>(size_of(type_));
  mr_ = emit.target.registers == 32 ? 12 : 6;
}

Expr AttentionKernel::lowest() { return build_.constant(type_, -std::numeric_limits<double>::infinity()); }

Expr AttentionKernel::element(const Side& side, Expr free, Expr folded) {
  if (!side.view) return widen(side.at(emit_, batch_index_, free, folded));
  return widen(
      build_.load(emit_.buffer_of_arg(side.view->arg), side.offset(emit_, side.first, free, folded)));
}

void AttentionKernel::at_batch(Expr index, std::initializer_list<Side*> sides) {
  batch_index_ = index;
  for (Side* side : sides)
    if (side->view) side->first = build_.let(side->batch_offset(emit_, index));
}

void AttentionKernel::read_scale() {
  double scale = node_->attrs().get(ops::kScale);
  Expr width = loop::convert(emit_.size(max(features_, Dim(int64_t{1}))), type_);
  scale_ =
      build_.let(scale == 0 ? build_.constant(type_, 1) / loop::sqrt(width) : build_.constant(type_, scale));
}

bool AttentionKernel::masks_keys() const {
  if (!mask_ || mask_->type().dtype != DType::Bool) return false;
  const Dims& dims = mask_->type().dims;
  return !dims.empty() && dims.back() != Dim(int64_t{1}) &&
         (dims.size() == 1 || dims[dims.size() - 2] == Dim(int64_t{1}));
}

GroupEmitter::Index AttentionKernel::pair_index(const Dims& dims, Expr query, Expr key) {
  GroupEmitter::Index whole = emit_.split(batch_index_, q_.batch_dims), index;
  whole.push_back(query);
  whole.push_back(key);
  const size_t skipped = whole.size() - dims.size();
  for (size_t i = 0; i < dims.size(); ++i)
    index.push_back(dims[i] == Dim(int64_t{1}) ? build_.index(0) : whole[skipped + i]);
  return index;
}

Expr AttentionKernel::masked(Expr product, Expr query, Expr key) {
  Expr score = product * scale_, taken;
  if (mask_) {
    Expr value = emit_.element(mask_, pair_index(mask_->type().dims, query, key));
    if (mask_->type().dtype == DType::Bool)
      taken = value;
    else
      score = score + widen(value);
  }
  if (causal_) {
    Expr reached = key <= query;
    taken = taken ? taken & reached : reached;
  }
  return taken ? loop::select(taken, score, lowest()) : score;
}

Expr AttentionKernel::taken_keys(Expr key, Expr keys) {
  uint32_t last = build_.local(DType::I64, 1, 1, "last");
  build_.assign(last, build_.index(0));
  emit_.serial(build_.index(0), keys, [&](Expr n) {
    Expr taken = emit_.element(mask_, pair_index(mask_->type().dims, build_.index(0), key + n));
    build_.assign(last, loop::select(taken, n + build_.index(1), build_.read(last)));
  });
  return build_.let(build_.read(last));
}

void AttentionKernel::ask_for(const Side& side, Expr from, Expr count, Expr features) {
  const int64_t line = kLineBytes / static_cast<int64_t>(size_of(type_));
  Expr lines = build_.let((features + build_.index(line - 1)) / build_.index(line));
  emit_.serial(build_.index(0), count, [&](Expr i) {
    Expr position = build_.let(from + i);
    emit_.serial(build_.index(0), lines, [&](Expr n) {
      build_.prefetch(emit_.buffer_of_arg(side.view->arg),
                      side.offset(emit_, side.first, position, n * line));
    });
  });
}

void AttentionKernel::pack_strips(uint32_t to, const Side& side, Expr from, Expr count, Expr features) {
  Expr nr = build_.index(nr_);
  const bool turns = lies(side);
  emit_.serial(build_.index(0), (count + build_.index(nr_ - 1)) / nr, [&](Expr s) {
    Expr first = build_.let(s * nr_), at = build_.let(s * nr_ * features);
    Expr width = build_.let(loop::lesser(nr, count - first));
    if (turns)
      return build_.transpose(
          {to, at, nr},
          {emit_.buffer_of_arg(side.view->arg), side.offset(emit_, side.first, from + first, build_.index(0)),
           emit_.size(side.free_stride)},
          width, features);
    emit_.serial(build_.index(0), features, [&](Expr d) {
      emit_.vector(build_.index(0), width, static_cast<int>(nr_),
                   [&](Expr j) { build_.store(to, at + d * nr_ + j, element(side, from + first + j, d)); });
    });
  });
}

void AttentionKernel::products(int64_t rows, Expr keys, Expr features, uint32_t strips, uint32_t to, Expr at,
                               int64_t pitch, const std::function<Expr(size_t, Expr)>& a) {
  auto columns_of = [&](Expr s, int64_t columns) {
    RegisterTile tile(build_, type_, rows, columns);
    Expr strip = build_.let(s * nr_ * features);
    emit_.vector(build_.index(0), build_.index(columns), static_cast<int>(columns), [&](Expr j) {
      tile.clear();
      tile.sum(emit_, build_.index(0), features, a,
               [&](Expr d, size_t) { return build_.load(strips, strip + d * nr_ + j); });
      for (int64_t i = 0; i < rows; ++i)
        build_.store(to, at + s * nr_ + j + build_.index(i * pitch), tile.value(static_cast<size_t>(i)));
    });
  };
  const int64_t narrow = nr_ / kVectors;
  Expr nr = build_.index(nr_), strips_count = build_.let((keys + build_.index(nr_ - 1)) / nr);
  if (rows <= low_tile(mr_, kVectors))
    return emit_.serial(build_.index(0), strips_count, [&](Expr s) { columns_of(s, nr_); });
  // Of the last strip no more than one vector may be keys.
  Expr whole = build_.let((keys + build_.index(narrow - 1)) / nr);
  emit_.serial(build_.index(0), whole, [&](Expr s) { columns_of(s, nr_); });
  build_.if_then(whole < strips_count, [&] { emit_.scoped([&] { columns_of(whole, narrow); }); });
}

void AttentionKernel::each_strip(const Dim& width, const std::function<void(Expr, Expr)>& body) {
  Expr columns = emit_.size(width), full = build_.let(columns / build_.index(nr_));
  emit_.serial(build_.index(0), full, [&](Expr s) { body(build_.let(s * nr_), build_.index(nr_)); });
  if (width.is_constant() && width.constant() % nr_ == 0) return;
  Expr done = build_.let(full * nr_);
  build_.if_then(done < columns, [&] { emit_.scoped([&] { body(done, build_.let(columns - done)); }); });
}

void AttentionKernel::add_tile(int64_t rows, Expr first, const Sums& to, Expr steps, const Number& a,
                               const Number& b) {
  RegisterTile tile(build_, type_, rows, nr_);
  auto row = [&](size_t i) { return first + build_.index(static_cast<int64_t>(i)); };
  each_strip(to.columns, [&](Expr column, Expr width) {
    emit_.vector(build_.index(0), width, static_cast<int>(nr_), [&](Expr j) {
      auto kept = [&](size_t i) { return (to.row + row(i)) * to.pitch + column + j; };
      tile.load([&](size_t i, size_t) { return build_.load(to.buffer, kept(i)); });
      tile.sum(
          emit_, build_.index(0), steps, [&](size_t i, Expr n) { return a(row(i), n); },
          [&](Expr n, size_t) { return b(n, column + j); });
      for (size_t i = 0; i < static_cast<size_t>(rows); ++i) build_.store(to.buffer, kept(i), tile.value(i));
    });
  });
}

void AttentionKernel::add_taken(Expr count, const Sums& to, Expr steps, const Number& a, const Number& b,
                                const Number& taken) {
  emit_.serial(build_.index(0), count, [&](Expr row) {
    each_strip(to.columns, [&](Expr column, Expr width) {
      RegisterTile tile(build_, type_, 1, nr_);
      emit_.vector(build_.index(0), width, static_cast<int>(nr_), [&](Expr j) {
        Expr kept = (to.row + row) * to.pitch + column + j;
        tile.load([&](size_t, size_t) { return build_.load(to.buffer, kept); });
        emit_.serial(build_.index(0), steps, [&](Expr n) {
          build_.if_then(taken(row, n) != zero(),
                         [&] { emit_.scoped([&] { tile.add(0, a(row, n), b(n, column + j)); }); });
        });
        build_.store(to.buffer, kept, tile.value(0));
      });
    });
  });
}

Expr AttentionKernel::all_finite(Expr from, Expr to, Expr columns,
                                 const std::function<Expr(Expr, Expr)>& value) {
  uint32_t sum = build_.local(type_, lanes(), 1, "finite");
  build_.assign(sum, zero());
  emit_.serial(from, to, [&](Expr n) {
    emit_.vector(build_.index(0), columns, lanes(),
                 [&](Expr e) { build_.assign(sum, loop::fma(value(n, e), zero(), build_.read(sum))); });
  });
  return build_.let(build_.reduce_lanes(sum, loop::Reduction::Add) == zero());
}

}  // namespace ig::codegen
