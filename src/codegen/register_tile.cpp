// The register tile's statements.
#include "codegen/register_tile.h"

#include <algorithm>

#include "ops/op.h"

namespace ig::codegen {

using loop::Expr;

namespace {

// Whether a number is a multiple of this one, as far as its form tells.
bool is_multiple(const loop::ExprNode* n, int64_t of) {
  if (of == 1) return true;
  switch (n->op) {
    case loop::Op::Const: return static_cast<int64_t>(n->bits[0]) % of == 0;
    case loop::Op::Mul: return is_multiple(n->a.node(), of) || is_multiple(n->b.node(), of);
    case loop::Op::Add:
    case loop::Op::Sub: return is_multiple(n->a.node(), of) && is_multiple(n->b.node(), of);
    default: return false;
  }
}

}  // namespace

int64_t low_tile(int64_t tall, int64_t vectors) {
  constexpr int64_t kSums = 8;  // keep two units busy that multiply and add in four cycles
  return std::min(tall, (kSums + vectors - 1) / vectors);
}

TileRows tile_rows(loop::Builder& build, int64_t tall, int64_t low, Expr count) {
  const int64_t most = (tall - 1) / low;
  Expr left = build.let(count % build.index(tall)), whole = count / build.index(tall);
  whole = build.let(whole + loop::select(left > build.index(most * low), build.index(1), build.index(0)));
  if (most == 0) return {tall, low, whole, build.index(0), most};
  Expr behind = build.let(loop::greater(count - whole * tall, build.index(0)));
  return {tall, low, whole, (behind + build.index(low - 1)) / build.index(low), most};
}

void each_tile(GroupEmitter& emit, const TileRows& tiles, const std::function<void(int64_t, Expr)>& body) {
  loop::Builder& build = emit.build;
  emit.serial(build.index(0), tiles.whole, [&](Expr t) { body(tiles.tall, build.let(t * tiles.tall)); });
  if (tiles.most_low == 0) return;
  Expr first = build.let(tiles.whole * tiles.tall);
  if (tiles.most_low == 1)
    return build.if_then(tiles.low_ones > build.index(0),
                         [&] { emit.scoped([&] { body(tiles.low, first); }); });
  emit.serial(build.index(0), tiles.low_ones,
              [&](Expr t) { body(tiles.low, build.let(first + t * tiles.low)); });
}

void each_tile(GroupEmitter& emit, const TileRows& tiles,
               const std::function<void(Expr, Expr, const ByHeight&)>& body) {
  loop::Builder& build = emit.build;
  if (tiles.most_low == 0)
    return emit.serial(build.index(0), tiles.whole, [&](Expr t) {
      body(build.index(tiles.tall), build.let(t * tiles.tall),
           [&](const std::function<void(int64_t)>& part) { part(tiles.tall); });
    });
  emit.serial(build.index(0), build.let(tiles.whole + tiles.low_ones), [&](Expr t) {
    Expr is_tall = build.let(t < tiles.whole), behind = t - tiles.whole;
    Expr rows = build.let(loop::select(is_tall, build.index(tiles.tall), build.index(tiles.low)));
    Expr first =
        build.let(loop::select(is_tall, t * tiles.tall, tiles.whole * tiles.tall + behind * tiles.low));
    body(rows, first, [&](const std::function<void(int64_t)>& part) {
      build.if_then(
          is_tall, [&] { emit.scoped([&] { part(tiles.tall); }); },
          [&] { emit.scoped([&] { part(tiles.low); }); });
    });
  });
}

int64_t rows_computed(int64_t tall, int64_t low, int64_t count) {
  const int64_t left = count % tall, whole = count - left;
  return whole + (left > (tall - 1) / low * low ? tall : (left + low - 1) / low * low);
}

Expr multiply_add(Expr a, Expr b, Expr sum) {
  return is_float(sum.type()) ? loop::fma(a, b, sum) : sum + a * b;
}

Expr zero_of(loop::Builder& build, DType type) {
  return is_float(type) ? build.constant(type, 0) : build.constant_int(type, 0);
}

RegisterTile::RegisterTile(loop::Builder& build, DType type, int64_t rows, int64_t columns, int64_t groups)
    : build_(build),
      type_(type),
      columns_(columns),
      rows_(static_cast<size_t>(rows)),
      groups_(static_cast<size_t>(groups)) {
  for (int64_t i = 0; i < rows * groups; ++i)
    sums_.push_back(build.local(type, static_cast<int>(columns), 1, "sum", true));
}

void RegisterTile::clear() {
  for (uint32_t sum : sums_) build_.assign(sum, zero_of(build_, type_));
}

void RegisterTile::load(const std::function<Expr(size_t, size_t)>& value) {
  for (size_t i = 0; i < rows_; ++i)
    for (size_t g = 0; g < groups_; ++g) build_.assign(sums_[i * groups_ + g], value(i, g));
}

void RegisterTile::add(size_t row, Expr a, Expr b, size_t group) {
  const uint32_t sum = sums_[row * groups_ + group];
  build_.assign(sum, multiply_add(a, b, build_.read(sum)));
}

void RegisterTile::settle(size_t group) {
  for (size_t row = 0; row < rows_; ++row) build_.settle(sums_[row * groups_ + group]);
}

void RegisterTile::sum(GroupEmitter& emit, Expr begin, Expr end, const std::function<Expr(size_t, Expr)>& a,
                       const std::function<Expr(Expr, size_t)>& b, int64_t usual,
                       const std::function<void(Expr, int64_t)>& aside) {
  auto step = [&](Expr k) {
    std::vector<Expr> vectors;
    vectors.reserve(groups_);
    for (size_t g = 0; g < groups_; ++g) vectors.push_back(build_.let(b(k, g)));
    for (size_t i = 0; i < rows_; ++i) {
      Expr number = groups_ == 1 ? a(i, k) : build_.let(a(i, k));
      for (size_t g = 0; g < groups_; ++g) add(i, number, vectors[g], g);
    }
  };
  // Enough work for each turn of the loop to hide its counting. Short sums are over before that pays, and the
  // code of a step of a large tile is long.
  constexpr int64_t kShort = 12;
  auto bytes = static_cast<int64_t>(sums_.size()) * columns_ * static_cast<int64_t>(size_of(type_));
  int64_t unroll = bytes >= 8 * emit.target.vector_bytes ? 2 : 4;
  // Sums of one register each have a number of their own for each of them: those of two steps, loaded early,
  // drive sums out of sixteen registers, and a chain that goes through memory takes three times as long.
  const int64_t row_bytes = columns_ * static_cast<int64_t>(size_of(type_));
  if (unroll == 2 && groups_ == 1 && row_bytes <= emit.target.vector_bytes && emit.target.registers == 16)
    unroll = 1;
  if (bytes >= 16 * emit.target.vector_bytes && usual > 0 && usual < kShort)
    unroll = 1;
  else if (usual % unroll != 0 && usual % 3 == 0)
    unroll = 3;  // none is left over
  Expr count = end - begin;
  Expr whole = build_.let(count / build_.index(unroll));
  emit.serial(build_.index(0), whole, [&](Expr group) {
    if (aside) aside(begin + group * build_.index(unroll), unroll);
    for (int64_t u = 0; u < unroll; ++u)
      emit.scoped([&] { step(begin + group * build_.index(unroll) + build_.index(u)); });
  });
  if (!is_multiple(count.node(), unroll))
    emit.serial(whole * build_.index(unroll), count, [&](Expr k) { step(begin + k); });
}

void know_sum(GroupEmitter& emit, Value product, Expr sum) {
  DType dtype = product->type().dtype;
  sum = emit.round_to(sum, dtype);
  if (sum.type() != compute_type(dtype)) sum = loop::convert(sum, compute_type(dtype));
  emit.pin(product, [sum](std::span<const Expr>) { return sum; });
}

bool has_long_work_behind(const Block& region) {
  for (const Node* node : region)
    if (ops::has(node, ops::Trait::Elementwise) && !ops::has(node, ops::Trait::Cheap)) return true;
  return false;
}

void ask_for_stores(GroupEmitter& emit, Value product, const GroupEmitter::Index& first, int64_t columns) {
  constexpr int64_t kAtHand = 64 << 10;  // bytes, which wait in the caches from call to call
  const Dims& dims = product->type().dims;
  const Dim bytes = ig::product(dims) * Dim(static_cast<int64_t>(size_of(product->type().dtype)));
  if (bytes.is_constant() && bytes.constant() <= kAtHand) return;
  Expr flat = emit.build.let(emit.flat(first, dims));
  auto ask = [&](uint32_t buffer, DType type) {
    for (int64_t at = 0; at < columns; at += kLineBytes / static_cast<int64_t>(size_of(type)))
      emit.build.prefetch(buffer, flat + emit.build.index(at));
  };
  const std::span<const Value> results = emit.region.results();
  for (size_t r = 0; r < results.size(); ++r)
    if (results[r]->type().dims == dims) ask(emit.result_buffer(r), results[r]->type().dtype);
  const std::span<const Value> summed = product->node()->operands();
  for (Value arg : emit.region.args())
    if (arg->type().dims == dims && std::ranges::find(summed, arg) == summed.end())
      ask(emit.buffer_of_arg(arg), arg->type().dtype);
}

void store_sum(GroupEmitter& emit, Value product, const GroupEmitter::Index& index, Expr sum) {
  know_sum(emit, product, sum);
  Expr flat = emit.flat(index, product->type().dims);
  // Results of another shape than the sums are the generator's own to store.
  std::vector<std::pair<size_t, Expr>> values;
  for (size_t r = 0; r < emit.region.results().size(); ++r)
    if (Value v = emit.region.results()[r]; v->type().dims == product->type().dims)
      values.emplace_back(r, emit.build.let(emit.element(v, index)));
  for (auto [r, value] : values) emit.store_result(r, flat, value);
}

}  // namespace ig::codegen
