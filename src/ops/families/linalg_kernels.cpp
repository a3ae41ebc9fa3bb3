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

// A number as it stands in a buffer, or in one for each part.
Expr load_from(loop::Builder& b, uint32_t buffer, uint32_t imaginary, Expr offset) {
  Expr z = b.load(buffer, offset);
  return imaginary == kNoBuffer ? z : loop::complex(z, b.load(imaginary, offset));
}
void store_to(loop::Builder& b, uint32_t buffer, uint32_t imaginary, Expr offset, Expr value) {
  if (imaginary == kNoBuffer) return b.store(buffer, offset, value);
  // Both parts before either is written: the value may be made of what stands here.
  Expr x = b.let(real(value)), y = b.let(imag(value));
  b.store(buffer, offset, x);
  b.store(imaginary, offset, y);
}

}  // namespace

Expr conj(Expr z) { return is_complex(z.type()) ? loop::complex(real(z), -imag(z)) : z; }
Expr norm(Expr z) { return is_complex(z.type()) ? real(z) * real(z) + imag(z) * imag(z) : z * z; }
Expr times(Expr r, Expr z) { return is_complex(z.type()) ? loop::complex(r * real(z), r * imag(z)) : r * z; }
Expr over(Expr z, Expr r) { return is_complex(z.type()) ? loop::complex(real(z) / r, imag(z) / r) : z / r; }
Expr madd(Expr x, Expr y, Expr sum) {
  if (!is_complex(x.type())) return fma(x, y, sum);
  loop::Builder& build = x.builder();
  x = build.let(x), y = build.let(y);
  Expr a = real(x), b = imag(x), c = real(y), d = imag(y);
  return loop::complex(fma(a, c, fma(-b, d, real(sum))), fma(a, d, fma(b, c, imag(sum))));
}
Expr as(DType element, Expr r) {
  return is_complex(element) ? loop::complex(r, r.builder().constant(r.type(), 0)) : r;
}

Expr Grid::load(Expr i, Expr j) const { return load_from(b, buffer, imaginary, base + i * step + j); }
void Grid::store(Expr i, Expr j, Expr value) const {
  store_to(b, buffer, imaginary, base + i * step + j, value);
}
Expr Line::load(Expr i) const { return load_from(b, buffer, imaginary, i); }
void Line::store(Expr i, Expr value) const { store_to(b, buffer, imaginary, i, value); }

int lanes_of(DType dtype, const Dim& columns) {
  constexpr int kBytes = 128;
  int most = kBytes / static_cast<int>(size_of(real_of(dtype)));
  if (!columns.is_constant()) return most;
  auto wanted = static_cast<uint64_t>(std::max<int64_t>(columns.constant(), 1));
  return static_cast<int>(std::min<uint64_t>(static_cast<uint64_t>(most), std::bit_ceil(wanted)));
}

Dim row_step(DType dtype, const Dim& columns) {
  constexpr int64_t kLine = 64;
  const int64_t line = kLine / static_cast<int64_t>(size_of(real_of(dtype)));
  Dim lines = floordiv(columns + (line - 1), line);
  return (floordiv(lines, 2) * 2 + 1) * line;
}

Grid scratch_grid(NestContext& c, DType dtype, const Dim& rows, const Dim& columns, const char* name) {
  loop::Builder& b = *c.build;
  Dim step = row_step(dtype, columns);
  Grid out{b, b.add_scratch(real_of(dtype), rows * step, name), b.index(0), b.let(c.size(step))};
  if (is_complex(dtype)) out.imaginary = b.add_scratch(real_of(dtype), rows * step, name);
  return out;
}

Line scratch_line(NestContext& c, DType dtype, const Dim& elements, const char* name) {
  loop::Builder& b = *c.build;
  Line out{b, b.add_scratch(real_of(dtype), elements, name)};
  if (is_complex(dtype)) out.imaginary = b.add_scratch(real_of(dtype), elements, name);
  return out;
}

Expr Tools::epsilon() const { return number(dtype == DType::F64 ? 0x1p-52 : 0x1p-23); }
Expr Tools::nan() const { return number(std::numeric_limits<double>::quiet_NaN()); }

void Tools::backwards(Expr begin, Expr end, const std::function<void(Expr)>& body) const {
  b.serial_for(b.index(0), end - begin, [&](Expr t) { body(b.let(end - b.index(1) - t)); });
}

Expr Tools::sum(DType type, int width, Expr begin, Expr end, const std::function<Expr(Expr)>& term) const {
  uint32_t acc = b.local(type, width, 1, "sum");
  b.assign(acc, b.constant(type, 0));
  b.vector_for(begin, end, width, [&](Expr j) { b.assign(acc, b.read(acc) + term(j)); });
  return b.let(b.reduce_lanes(acc, loop::Reduction::Add));
}

Expr Tools::largest(Expr begin, Expr end, const std::function<Expr(Expr)>& term) const {
  uint32_t acc = b.local(dtype, few, 1, "largest");
  b.assign(acc, number(0));
  each(begin, end, [&](Expr j) {
    Expr x = term(j);
    Expr size = b.let(abs(real(x))), best = b.let(b.read(acc));
    if (is_complex(x.type())) size = b.let(greater(size, abs(imag(x))));
    b.assign(acc, select(best < size, size, best));
  });
  return b.let(b.reduce_lanes(acc, loop::Reduction::Max));
}

void Tools::fill_identity(const Grid& to, Expr rows, Expr columns) const {
  each_of(rows, columns,
          [&](Expr i, Expr j) { to.store(i, j, as(element, select(i == j, number(1), number(0)))); });
}

void Tools::transpose(const Grid& to, const Grid& from, Expr rows, Expr columns) const {
  b.serial_for(b.index(0), rows, [&](Expr i) {
    b.serial_for(b.index(0), columns, [&](Expr j) { to.store(j, i, from.load(i, j)); });
  });
}

Tools::Reflector Tools::reflector(const Line& v, Expr first, Expr end) const {
  bool complex = is_complex(element);
  Expr top = largest(first, end, [&](Expr i) { return v.load(i); });
  Expr unit = b.let(select(top == number(0), number(1), top));  // NaN are not the largest, but divided too
  each(first, end, [&](Expr i) { v.store(i, over(v.load(i), unit)); });
  Expr below = first + b.index(1);
  Expr rest = sum(below, end, [&](Expr i) { return norm(b.let(v.load(i))); });
  Expr alpha = b.let(v.load(first));
  Expr a = real(alpha);
  Expr none = rest == number(0);
  Expr square = complex ? fma(imag(alpha), imag(alpha), rest) : rest;
  none = b.let(complex ? none & (imag(alpha) == number(0)) : none);
  Expr length = b.let(sqrt(fma(a, a, square)));
  Expr beta = b.let(select(a < number(0), length, -length));
  Expr pivot = b.let(alpha - as(element, beta));
  Expr tau = b.let(select(none, b.constant(element, 0), over(-pivot, beta)));
  if (complex) {
    Expr inverse = b.let(over(conj(pivot), select(none, number(1), norm(pivot))));
    each(below, end, [&](Expr i) { v.store(i, v.load(i) * inverse); });
  } else {
    Expr divisor = b.let(select(none, number(1), pivot));
    each(below, end, [&](Expr i) { v.store(i, v.load(i) / divisor); });
  }
  v.store(first, b.constant(element, 1));
  return {tau, b.let(select(none, a, beta) * unit)};
}

void Tools::reflect_rows(const Grid& a, const std::function<Expr(Expr)>& v_of, Expr tau, Expr first, Expr end,
                         Expr from, Expr to) const {
  b.if_then(tau != b.constant(element, 0), [&] {
    uint32_t acc = b.local(element, lanes, 1, "product");
    many(from, to, [&](Expr j) {
      b.assign(acc, b.constant(element, 0));
      b.serial_for(first, end,
                   [&](Expr i) { b.assign(acc, madd(conj(v_of(i)), a.load(i, j), b.read(acc))); });
      Expr w = b.let(b.read(acc) * tau);
      b.serial_for(first, end, [&](Expr i) { a.store(i, j, madd(-v_of(i), w, a.load(i, j))); });
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
    auto at = [&](Expr j) { return a.load(i, j); };
    Expr end = b.let(end_of(i));
    Expr mine = largest(b.index(0), end, at);
    // x - x is 0 or NaN, and so is the sum.
    Expr wrong = sum(b.index(0), end, [&](Expr j) {
      Expr x = b.let(at(j));
      Expr none = x - x;
      return is_complex(element) ? real(none) + imag(none) : none;
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
  bool complex = is_complex(element);
  auto size = [&](Expr j) {
    Expr x = a.load(row, j);
    return complex ? norm(b.let(x)) : abs(x);
  };
  Expr top = largest(b.index(0), columns, size);
  Expr level = b.let(top * number(complex ? kNearly * kNearly : kNearly));
  uint32_t place = b.local(DType::I64, few, 1, "place");
  b.assign(place, columns);
  each(b.index(0), columns, [&](Expr j) {
    Expr before = b.let(b.read(place));
    b.assign(place, select((size(j) >= level) & (j < before), j, before));
  });
  Expr first = b.let(b.reduce_lanes(place, loop::Reduction::Min));
  // A row of NaN has no such element.
  Expr known = b.let(select(first < columns, first, b.index(0)));
  if (!complex) return b.let(select(a.load(row, known) < number(0), number(-1), number(1)));
  Expr chosen = b.let(a.load(row, known));
  Expr length = b.let(sqrt(norm(chosen)));
  return b.let(over(conj(chosen), length));
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
  apply_to_real(a.real_part(), columns, count);
  if (a.imaginary != kNoBuffer) apply_to_real(a.imaginary_part(), columns, count);
}

void Chains::apply_to_real(const Grid& a, Expr columns, Expr count) const {
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
