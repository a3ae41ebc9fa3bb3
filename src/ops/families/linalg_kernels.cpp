// The pieces of factor kernels; see linalg_kernels.h.
#include "ops/families/linalg_kernels.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace ig::ops::factors {
namespace {

// Squares below this are lost or inexact: numbers whose squares are smaller are made larger first.
double small_square(DType dtype) { return dtype == DType::F64 ? 0x1p-900 : 0x1p-90; }
double enlargement(DType dtype) { return dtype == DType::F64 ? 0x1p800 : 0x1p100; }

// The bits of the exponent alone: those of a power of two, or of 0 where the number is subnormal.
Expr power_below(Expr x) {
  bool wide = x.type() == DType::F64;
  DType word = wide ? DType::U64 : DType::U32;
  uint64_t mask = wide ? 0x7FF0000000000000 : 0x7F800000;
  return bitcast(bitcast(x, word) & x.builder().constant_bits(word, mask), x.type());
}

}  // namespace

int lanes_of(DType dtype, const Dim& columns) {
  constexpr int kBytes = 128;
  int most = kBytes / static_cast<int>(size_of(dtype));
  if (!columns.is_constant()) return most;
  auto wanted = static_cast<uint64_t>(std::max<int64_t>(columns.constant(), 1));
  return static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(most), std::bit_ceil(wanted)));
}

Dim row_step(DType dtype, const Dim& columns) {
  constexpr int64_t kLine = 64;
  const int64_t line = kLine / static_cast<int64_t>(size_of(dtype));
  Dim lines = floordiv(columns + (line - 1), line);
  return (floordiv(lines, 2) * 2 + 1) * line;
}

Grid scratch_grid(NestContext& c, DType dtype, const Dim& rows, const Dim& columns, const char* name) {
  loop::Builder& b = *c.build;
  Dim step = row_step(dtype, columns);
  return {b, b.add_scratch(dtype, rows * step, name), b.index(0), b.let(c.size(step))};
}

Expr Tools::epsilon() const { return number(dtype == DType::F64 ? 0x1p-52 : 0x1p-23); }
Expr Tools::nan() const { return number(std::numeric_limits<double>::quiet_NaN()); }

void Tools::backwards(Expr begin, Expr end, const std::function<void(Expr)>& body) const {
  b.serial_for(b.index(0), end - begin, [&](Expr t) { body(b.let(end - b.index(1) - t)); });
}

Expr Tools::sum(int width, Expr begin, Expr end, const std::function<Expr(Expr)>& term) const {
  uint32_t acc = b.local(dtype, width, 1, "sum");
  b.assign(acc, number(0));
  b.vector_for(begin, end, width, [&](Expr j) { b.assign(acc, b.read(acc) + term(j)); });
  return b.let(b.reduce_lanes(acc, loop::Reduction::Add));
}

Expr Tools::largest(Expr begin, Expr end, const std::function<Expr(Expr)>& term) const {
  uint32_t acc = b.local(dtype, few, 1, "largest");
  b.assign(acc, number(0));
  each(begin, end, [&](Expr j) {
    Expr size = b.let(abs(term(j))), best = b.let(b.read(acc));
    b.assign(acc, select(best < size, size, best));
  });
  return b.let(b.reduce_lanes(acc, loop::Reduction::Max));
}

void Tools::fill_identity(const Grid& to, Expr rows, Expr columns) const {
  each_of(rows, columns, [&](Expr i, Expr j) { to.store(i, j, select(i == j, number(1), number(0))); });
}

void Tools::transpose(const Grid& to, const Grid& from, Expr rows, Expr columns) const {
  b.serial_for(b.index(0), rows, [&](Expr i) {
    b.serial_for(b.index(0), columns, [&](Expr j) { to.store(j, i, from.load(i, j)); });
  });
}

Tools::Reflector Tools::reflector(uint32_t v, Expr first, Expr end) const {
  auto at = [&](Expr i) { return b.load(v, i); };
  Expr top = largest(first, end, at);
  Expr unit = b.let(select(top == number(0), number(1), top));  // NaN are not the largest, but divided too
  each(first, end, [&](Expr i) { b.store(v, i, at(i) / unit); });
  Expr below = first + b.index(1);
  Expr rest = sum(below, end, [&](Expr i) {
    Expr x = b.let(at(i));
    return x * x;
  });
  Expr alpha = b.let(at(first));
  Expr none = b.let(rest == number(0));
  Expr length = b.let(sqrt(fma(alpha, alpha, rest)));
  Expr beta = b.let(select(alpha < number(0), length, -length));
  Expr pivot = b.let(alpha - beta);
  Expr tau = b.let(select(none, number(0), -pivot / beta));
  Expr divisor = b.let(select(none, number(1), pivot));
  each(below, end, [&](Expr i) { b.store(v, i, at(i) / divisor); });
  b.store(v, first, number(1));
  return {tau, b.let(select(none, alpha, beta) * unit)};
}

void Tools::reflect_rows(const Grid& a, const std::function<Expr(Expr)>& v_of, Expr tau, Expr first, Expr end,
                         Expr from, Expr to) const {
  b.if_then(tau != number(0), [&] {
    uint32_t acc = b.local(dtype, lanes, 1, "product");
    many(from, to, [&](Expr j) {
      b.assign(acc, number(0));
      b.serial_for(first, end, [&](Expr i) { b.assign(acc, fma(v_of(i), a.load(i, j), b.read(acc))); });
      Expr w = b.let(b.read(acc) * tau);
      b.serial_for(first, end, [&](Expr i) { a.store(i, j, fma(-v_of(i), w, a.load(i, j))); });
    });
  });
}

Tools::Rotation Tools::rotation(Expr f, Expr g) const {
  Expr tiny = b.let(fma(f, f, g * g) < number(small_square(dtype)));
  Expr by = b.let(select(tiny, number(enlargement(dtype)), number(1)));
  Expr x = b.let(f * by), y = b.let(g * by);
  Expr length = b.let(sqrt(fma(x, x, y * y)));
  Expr none = b.let(length == number(0));
  Expr divisor = b.let(select(none, number(1), length));
  Expr back = select(tiny, number(1 / enlargement(dtype)), number(1));
  return {b.let(select(none, number(1), x / divisor)), b.let(y / divisor), b.let(length * back)};
}

Tools::Scale Tools::scale_of(const Grid& a, Expr rows, const std::function<Expr(Expr)>& end_of) const {
  Cell top(b, number(0), "top"), odd(b, number(0), "odd");
  b.serial_for(b.index(0), rows, [&](Expr i) {
    auto element = [&](Expr j) { return a.load(i, j); };
    Expr end = b.let(end_of(i));
    Expr mine = largest(b.index(0), end, element);
    // x - x is 0 or NaN, and so is the sum.
    Expr wrong = sum(b.index(0), end, [&](Expr j) {
      Expr x = b.let(element(j));
      return x - x;
    });
    Expr best = top.get();
    top.set(select(best < mine, mine, best));
    odd.set(odd.get() + wrong);
  });
  Expr finite = b.let(odd.get() == number(0));
  Expr power = b.let(power_below(top.get()));
  // Of subnormal numbers the smallest normal one serves, of zeros any.
  Expr least = number(dtype == DType::F64 ? 0x1p-1022 : 0x1p-126);
  Expr factor = select(top.get() == number(0), number(1), select(power < least, least, power));
  return {b.let(select(finite, factor, number(1))), finite};
}

Expr Tools::rank_of(Expr i, Expr n, const std::function<Expr(Expr)>& d, bool descending) const {
  uint32_t acc = b.local(DType::I64, few, 1, "rank");
  Expr zero = b.index(0), one = b.index(1), mine = b.let(d(i));
  b.assign(acc, zero);
  each(zero, n, [&](Expr j) {
    Expr other = b.let(d(j));
    Expr before = descending ? other > mine : other < mine;
    Expr first = before | ((other == mine) & (j < i));
    b.assign(acc, b.read(acc) + select(first, one, zero));
  });
  return b.let(b.reduce_lanes(acc, loop::Reduction::Add));
}

Expr Tools::sign_of_row(const Grid& a, Expr row, Expr columns) const {
  constexpr double kNearly = 0.99;
  Expr top = largest(b.index(0), columns, [&](Expr j) { return a.load(row, j); });
  Expr level = b.let(top * number(kNearly));
  uint32_t place = b.local(DType::I64, few, 1, "place");
  b.assign(place, columns);
  each(b.index(0), columns, [&](Expr j) {
    Expr before = b.let(b.read(place));
    b.assign(place, select((abs(a.load(row, j)) >= level) & (j < before), j, before));
  });
  Expr first = b.let(b.reduce_lanes(place, loop::Reduction::Min));
  // A row of NaN has no such element.
  Expr known = b.let(select(first < columns, first, b.index(0)));
  return b.let(select(a.load(row, known) < number(0), number(-1), number(1)));
}

Chains::Chains(const Tools& tools, const Dim& length, Expr stride, int most, int step)
    : t_(tools), stride_(stride), step_(step) {
  loop::Builder& b = t_.b;
  cosines_ = b.add_scratch(t_.dtype, length * Dim(int64_t{most}), "cosines");
  sines_ = b.add_scratch(t_.dtype, length * Dim(int64_t{most}), "sines");
  starts_ = b.add_scratch(DType::I64, Dim(int64_t{most}), "starts");
  lengths_ = b.add_scratch(DType::I64, Dim(int64_t{most}), "lengths");
}

void Chains::start(Expr chain, Expr first_row, Expr rotations) const {
  t_.b.store(starts_, chain, first_row);
  t_.b.store(lengths_, chain, rotations);
}

void Chains::add(Expr chain, Expr position, Expr c, Expr s) const {
  t_.b.store(cosines_, chain * stride_ + position, c);
  t_.b.store(sines_, chain * stride_ + position, s);
}

void Chains::apply(const Grid& a, Expr columns, Expr count) const {
  loop::Builder& b = t_.b;
  uint32_t carried = b.local(t_.dtype, t_.lanes, 1, "carried");
  auto row = [&](Expr start, Expr t) { return step_ > 0 ? start + t : start - t; };
  t_.many(b.index(0), columns, [&](Expr j) {
    b.serial_for(b.index(0), count, [&](Expr chain) {
      Expr start = b.let(b.load(starts_, chain)), length = b.let(b.load(lengths_, chain));
      Expr at = b.let(chain * stride_);
      b.assign(carried, a.load(start, j));
      b.serial_for(b.index(0), length, [&](Expr t) {
        Expr c = b.let(b.load(cosines_, at + t)), s = b.let(b.load(sines_, at + t));
        Expr y = b.let(b.read(carried)), z = b.let(a.load(row(start, t + b.index(1)), j));
        a.store(row(start, t), j, fma(c, y, s * z));
        b.assign(carried, fma(c, z, -(s * y)));
      });
      a.store(row(start, length), j, b.read(carried));
    });
  });
}

void iterate(const Tools& tools, Expr limit, int chains, const std::function<Expr()>& going,
             const std::function<void(Expr chain, const Cell& count)>& step,
             const std::function<void(Expr count)>& flush) {
  loop::Builder& b = tools.b;
  Expr zero = b.index(0), many = b.index(chains);
  Cell count(b, zero, "count");
  b.serial_for(zero, (limit + b.index(chains - 1)) / many, [&](Expr) {
    b.if_then(going(), [&] {
      count.set(zero);
      b.serial_for(zero, many, [&](Expr) { b.if_then(going(), [&] { step(count.get(), count); }); });
      Expr ready = count.get();
      b.if_then(ready > zero, [&] { flush(ready); });
    });
  });
}

}  // namespace ig::ops::factors
