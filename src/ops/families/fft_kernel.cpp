// The kernel of the Fourier transform: passes of Stockham's algorithm, which needs no bit reversal. A pass of
// radix r reads rows that lie a stride apart, and writes r rows that lie together:
//
//     to[(r p + t) l + k] = w^(p t) sum over u of from[(p + m u) l + k] e^(-2πi t u / r)
//
// for k below l (the product of the radices before) and p below m (of those behind). Each row is `width`
// columns, transforms that go side by side in vectors. Between passes the real and the imaginary parts stand
// apart, so that no shuffle is needed. An inverse transform is the same with the two parts exchanged.
//
// An even number n of real ones is taken as h = n / 2 complex ones, z[j] = x[2j] + i x[2j + 1], whose
// transform is folded into that of the x: with w = e^(-2πi/n), twice y[k] is z[k] + z[h-k]* - i w^k (z[k] -
// z[h-k]*).
#include <algorithm>
#include <bit>
#include <functional>

#include "ops/families/array_tools.h"
#include "ops/families/fft.h"

namespace ig::ops::fourier {
namespace {

using loop::Expr;

struct Parts {
  Expr re, im;
};

// A matrix of complex numbers, n rows of columns: in one buffer as they are, or in two for the parts. One
// buffer of real numbers may hold both parts too, `apart` from each other.
struct Side {
  loop::Builder* b;
  uint32_t re, im;
  bool whole;       // complex numbers, in `re`
  Expr base, step;  // of the first element, and from row to row
  bool dense;       // rows follow one another without a gap
  bool exchanged = false;
  double scale = 1;
  Expr apart = {};
  int64_t spread = 1;  // 2: the parts alternate, and places count pairs

  Expr place(Expr at) const { return spread == 1 ? at : at * b->index(spread); }
  Parts load(Expr at) const {
    Parts x;
    if (whole) {
      Expr z = b->let(b->load(re, at));
      x = {b->let(real(z)), b->let(imag(z))};
    } else {
      Expr first = place(at);
      x = {b->let(b->load(re, first)), b->let(b->load(im, apart ? first + apart : first))};
    }
    return exchanged ? Parts{x.im, x.re} : x;
  }
  void store(Expr at, Parts x) const {
    if (scale != 1) x = {x.re * scale, x.im * scale};
    if (exchanged) x = {x.im, x.re};
    if (whole) {
      b->store(re, at, complex(x.re, x.im));
    } else {
      Expr first = place(at);
      b->store(re, first, x.re);
      b->store(im, apart ? first + apart : first, x.im);
    }
  }
};

class Passes {
 public:
  Passes(NestContext& c, DType part, const Plan& plan, int64_t elements)
      : b_(*c.build), part_(part), roots_(c.operands[1]), plan_(plan) {
    Dim size(elements);
    for (Side& side : scratch_)
      side = {&b_,
              b_.add_scratch(part, size, "re"),
              b_.add_scratch(part, size, "im"),
              false,
              b_.index(0),
              b_.index(plan.width),
              true};
  }

  // Transforms of length n along the rows of `from`; of `columns` columns where either side is not dense.
  // Without `to`, the result is the scratch side that is given back. `twist`: where the factors stand that
  // the result is multiplied by.
  const Side& run(int64_t n, int64_t width, Expr columns, const Side& from, const Side* to,
                  int64_t twist = -1) {
    const Side* source = &from;
    std::vector<int64_t> all = radices(n);
    int64_t before = 1;
    for (size_t i = 0; i < all.size(); ++i) {
      bool last = i + 1 == all.size();
      const Side& target = last && to ? *to : other(*source);
      pass({n, before, all[i]}, width, columns, *source, target, last ? twist : -1);
      before *= all[i];
      source = &target;
    }
    return *source;
  }

  const Side& other(const Side& side) const { return scratch_[&side == &scratch_[0] ? 1 : 0]; }
  const Side& scratch() const { return scratch_[0]; }

  // The halves of the split kernel, from the columns of a matrix to those of its transpose.
  const Side& run_halves(const Side& from, const Side* to, int64_t twist) {
    Expr zero = b_.index(0), first = b_.index(plan_.first), second = b_.index(plan_.second);
    const Side& half = run(plan_.first, plan_.second, second, from, nullptr, twist);
    const Side& turned = other(half);
    b_.transpose({turned.re, zero, first}, {half.re, zero, second}, first, second);
    b_.transpose({turned.im, zero, first}, {half.im, zero, second}, first, second);
    return run(plan_.second, plan_.first, first, turned, to);
  }

  // z as twice y, row by row; `at`: where the factors -i w^k stand.
  void fold(const Side& z, const Side& to, Expr columns, int64_t at) const {
    Expr zero = b_.index(0), h = b_.index(plan_.n);
    b_.serial_for(zero, b_.index(plan_.n + 1), [&](Expr k) {
      Expr row = b_.let(select(k == h, zero, k) * z.step);
      Expr back = b_.let(select(k == zero, zero, h - k) * z.step);
      Parts factor = factor_at(at, k);
      b_.vector_for(zero, columns, lanes_for(plan_.width), [&](Expr q) {
        to.store(to.base + k * to.step + q, folded(z.load(row + q), z.load(back + q), factor));
      });
    });
  }
  // The same of one transform, along it.
  void fold_row(const Side& z, const Side& to, int64_t at) const {
    Expr zero = b_.index(0), h = b_.index(plan_.n);
    b_.vector_for(b_.index(1), h, lanes_for(plan_.n),
                  [&](Expr k) { to.store(to.base + k, folded(z.load(k), z.load(h - k), factor_at(at, k))); });
    Parts first = z.load(zero);
    to.store(to.base, {(first.re + first.im) * 2, number(0)});
    to.store(to.base + h, {(first.re - first.im) * 2, number(0)});
  }

  // The way back, y as twice z. Of the first and the last y the imaginary part is not read. The scratch side
  // has the parts exchanged, for an inverse transform.
  const Side& unfold(const Side& y, Expr columns, int64_t at) const {
    Expr zero = b_.index(0), h = b_.index(plan_.n);
    const Side& z = scratch_[0];
    b_.serial_for(zero, h, [&](Expr k) {
      Expr row = b_.let(y.base + k * y.step), back = b_.let(y.base + (h - k) * y.step);
      Expr end = b_.let(k == zero);
      Parts factor = factor_at(at, k);
      b_.vector_for(zero, columns, lanes_for(plan_.width), [&](Expr q) {
        Parts one = y.load(row + q), other = y.load(back + q);
        one.im = select(end, number(0), one.im);
        other.im = select(end, number(0), other.im);
        Parts x = folded(one, other, {factor.re, -factor.im});
        z.store(k * z.step + q, {x.im, x.re});
      });
    });
    return z;
  }
  const Side& unfold_row(const Side& y, int64_t at) const {
    Expr zero = b_.index(0), h = b_.index(plan_.n);
    const Side &z = scratch_[0], &parts = scratch_[1];
    b_.vector_for(zero, h + b_.index(1), lanes_for(plan_.n),
                  [&](Expr k) { parts.store(k, y.load(y.base + k)); });
    b_.vector_for(b_.index(1), h, lanes_for(plan_.n), [&](Expr k) {
      Parts factor = factor_at(at, k);
      Parts x = folded(parts.load(k), parts.load(h - k), {factor.re, -factor.im});
      z.store(k, {x.im, x.re});
    });
    Parts first = parts.load(zero), last = parts.load(h);
    z.store(zero, {first.re - last.re, first.re + last.re});
    return z;
  }

 private:
  struct Pass {
    int64_t n, before, radix;
  };

  Expr number(double x) const { return b_.constant(part_, x); }

  // So many that the last vector is least empty.
  int lanes_for(int64_t columns) const {
    constexpr int64_t kBytes = 64;
    auto most = kBytes / static_cast<int64_t>(size_of(part_));
    int64_t best = most;
    for (int64_t lanes = most; lanes >= 1; lanes /= 2)
      if ((columns + lanes - 1) / lanes <= (columns + best - 1) / best) best = lanes;
    return static_cast<int>(best);
  }

  void pass(const Pass& s, int64_t width, Expr columns, const Side& from, const Side& to, int64_t twist) {
    int64_t r = s.radix, l = s.before, m = s.n / (l * r);
    bool flat = from.dense && to.dense;
    auto butterflies = [&](Expr p, const std::vector<Parts>& weights) {
      auto body = [&](Expr k, Expr q) {
        std::vector<Parts> x;
        for (int64_t u = 0; u < r; ++u) {
          Expr row = (p + b_.index(m * u)) * b_.index(l);
          x.push_back(from.load(flat ? from.base + row * b_.index(width) + q
                                     : from.base + (row + k) * from.step + q));
        }
        transform(x);
        for (int64_t t = 0; t < r; ++t) {
          Expr row = (p * b_.index(r) + b_.index(t)) * b_.index(l);
          Expr place = b_.let(flat ? row * b_.index(width) + q : (row + k) * to.step + q);
          Parts y = x[static_cast<size_t>(t)];
          if (t > 0 && m > 1) y = times(y, weights[static_cast<size_t>(t - 1)]);
          if (twist >= 0)
            y = times(y, {b_.let(b_.load(roots_, b_.index(twist) + place)),
                          b_.let(b_.load(roots_, b_.index(twist + plan_.n) + place))});
          to.store(to.base + place, y);
        }
      };
      if (flat)
        b_.vector_for(b_.index(0), b_.index(l * width), lanes_for(l * width),
                      [&](Expr q) { body(b_.index(0), q); });
      else
        b_.serial_for(b_.index(0), b_.index(l), [&](Expr k) {
          b_.vector_for(b_.index(0), columns, lanes_for(width), [&](Expr q) { body(k, q); });
        });
    };
    if (m == 1) return butterflies(b_.index(0), {});
    int64_t at = at_;
    b_.serial_for(b_.index(0), b_.index(m), [&](Expr p) {
      std::vector<Parts> weights;
      Expr first = b_.let(b_.index(at) + p * b_.index(2 * (r - 1)));
      for (int64_t t = 1; t < r; ++t)
        weights.push_back({b_.let(b_.load(roots_, first + b_.index(2 * (t - 1)))),
                           b_.let(b_.load(roots_, first + b_.index(2 * (t - 1) + 1)))});
      butterflies(p, weights);
    });
    at_ += m * 2 * (r - 1);
  }

  // The factors stand in two rows, for the parts.
  Parts factor_at(int64_t at, Expr k) const {
    return let(b_.load(roots_, b_.index(at) + k), b_.load(roots_, b_.index(at + plan_.n + 1) + k));
  }
  // x + y* + factor (x - y*)
  Parts folded(Parts x, Parts y, Parts factor) const {
    return add(let(x.re + y.re, x.im - y.im), times(let(x.re - y.re, x.im + y.im), factor));
  }

  Parts let(Expr re, Expr im) const { return {b_.let(re), b_.let(im)}; }
  Parts add(Parts x, Parts y) const { return let(x.re + y.re, x.im + y.im); }
  Parts sub(Parts x, Parts y) const { return let(x.re - y.re, x.im - y.im); }
  Parts add_turned(Parts x, Parts y) const { return let(x.re - y.im, x.im + y.re); }  // x + i y
  Parts sub_turned(Parts x, Parts y) const { return let(x.re + y.im, x.im - y.re); }  // x - i y
  Parts times(Parts x, Parts w) const {
    return let(fma(x.re, w.re, -(x.im * w.im)), fma(x.re, w.im, x.im * w.re));
  }

  std::vector<Parts> four(Parts x0, Parts x1, Parts x2, Parts x3) const {
    Parts a = add(x0, x2), c = sub(x0, x2), d = add(x1, x3), e = sub(x1, x3);
    return {add(a, d), sub_turned(c, e), sub(a, d), add_turned(c, e)};
  }

  // The transform of a few numbers.
  void transform(std::vector<Parts>& x) const {
    switch (x.size()) {
      case 2: x = {add(x[0], x[1]), sub(x[0], x[1])}; return;
      case 4: x = four(x[0], x[1], x[2], x[3]); return;
      case 8: x = eight(x); return;
      default: x = odd(x); return;
    }
  }

  std::vector<Parts> eight(const std::vector<Parts>& x) const {
    constexpr double kHalfRoot = 0.70710678118654752440;
    Expr h = number(kHalfRoot);
    std::vector<Parts> even = four(x[0], x[2], x[4], x[6]), rest = four(x[1], x[3], x[5], x[7]);
    Parts one = let((rest[1].re + rest[1].im) * h, (rest[1].im - rest[1].re) * h);
    Parts three = let((rest[3].im - rest[3].re) * h, (rest[3].re + rest[3].im) * h);  // its im is negated
    return {add(even[0], rest[0]),        add(even[1], one),
            sub_turned(even[2], rest[2]), let(even[3].re + three.re, even[3].im - three.im),
            sub(even[0], rest[0]),        sub(even[1], one),
            add_turned(even[2], rest[2]), let(even[3].re - three.re, even[3].im + three.im)};
  }

  // Of an odd prime: the sums and the differences of opposite numbers meet real factors alone.
  std::vector<Parts> odd(const std::vector<Parts>& x) const {
    auto r = static_cast<int64_t>(x.size());
    std::vector<Parts> sums, differences, out(x.size());
    Parts all = x[0];
    for (int64_t k = 1; k <= r / 2; ++k) {
      Parts a = x[static_cast<size_t>(k)], c = x[static_cast<size_t>(r - k)];
      sums.push_back(add(a, c));
      differences.push_back(sub(a, c));
      all = add(all, sums.back());
    }
    out[0] = all;
    for (int64_t j = 1; j <= r / 2; ++j) {
      Parts even = x[0], rest{};
      for (int64_t k = 1; k <= r / 2; ++k) {
        std::complex<double> w = root(j * k, r);
        Expr cosine = number(w.real()), sine = number(-w.imag());
        const Parts &s = sums[static_cast<size_t>(k - 1)], &d = differences[static_cast<size_t>(k - 1)];
        even = let(fma(s.re, cosine, even.re), fma(s.im, cosine, even.im));
        rest =
            k == 1 ? let(d.re * sine, d.im * sine) : let(fma(d.re, sine, rest.re), fma(d.im, sine, rest.im));
      }
      out[static_cast<size_t>(j)] = sub_turned(even, rest);
      out[static_cast<size_t>(r - j)] = add_turned(even, rest);
    }
    return out;
  }

  loop::Builder& b_;
  DType part_;
  uint32_t roots_;
  const Plan& plan_;
  int64_t at_ = 0;  // of the factors of the next pass
  Side scratch_[2];
};

}  // namespace

namespace {

// What all ways of a kernel ask.
struct Shape {
  bool real_in, real_out, inverse;
  int64_t n, passes;  // of real numbers, half as many
  double scale;
  Dim outer, inner;
  DType whole, part;
  Plan plan;
  int64_t twist, fold;  // where the factors between the halves and those of the folding stand

  explicit Shape(const Node* node) {
    const Type& type = node->operand(0)->type();
    const Attrs& attrs = node->attrs();
    const std::string& kind = attrs.get(kFftType);
    auto axis = static_cast<long>(attrs.get(kAxis));
    real_in = kind == "RFFT";
    real_out = kind == "IRFFT";
    inverse = kind == "IFFT" || real_out;
    n = attrs.get(kFftLength);
    passes = real_in || real_out ? n / 2 : n;
    scale = scale_of(inverse, attrs.get(kNorm), n) * (real_in ? 0.5 : 1);
    outer = product(Dims(type.dims.begin(), type.dims.begin() + axis));
    inner = product(Dims(type.dims.begin() + axis + 1, type.dims.end()));
    part = part_of(type.dtype);
    whole = complex_of(part);
    plan = Plan::of(part, passes, inner);
    // No more columns than there are rows; a column's bits do not depend on how many stand beside it.
    if (plan.way == Plan::Way::Rows && outer.is_constant())
      plan.width = std::min(plan.width, std::max<int64_t>(outer.constant(), 1));
    int64_t end = node->operand(1)->type().dims[0].constant();
    fold = real_in || real_out ? end - 2 * (passes + 1) : end;
    twist = fold - 2 * passes;
  }
  int64_t before() const { return real_out ? passes + 1 : n; }  // along the axis, of the operand
  int64_t after() const { return real_in ? passes + 1 : n; }    // and of the result
};

// So many `chunks` of columns, several of them a block where they are short: a block is worth a thread when
// it takes some 5 µs.
void each_chunk(NestContext& c, const Shape& s, const Dim& chunks, const std::function<void(Expr)>& body) {
  constexpr int64_t kBytesOfBlock = 400'000, kMost = 64;  // of all passes by twos
  int64_t steps = std::max(1, static_cast<int>(std::bit_width(static_cast<uint64_t>(s.passes))) - 1);
  int64_t bytes = s.passes * s.plan.width * static_cast<int64_t>(size_of(s.part)) * steps;
  int64_t together = std::clamp(kBytesOfBlock / bytes, int64_t{1}, kMost);
  loop::Builder& b = *c.build;
  c.set_blocks(ceildiv(chunks, Dim(together)));
  if (together == 1) return body(b.block());
  Expr first = b.let(b.block() * b.index(together));
  b.serial_for(first, lesser(first + b.index(together), c.size(chunks)), body);
}

void nest_columns(NestContext& c, const Shape& s) {
  loop::Builder& b = *c.build;
  Dim chunks = ceildiv(s.inner, Dim(s.plan.width));
  Expr behind = c.size(s.inner), count = c.size(chunks), width = b.index(s.plan.width);
  Passes passes(c, s.part, s.plan, s.passes * s.plan.width);
  each_chunk(c, s, s.outer * chunks, [&](Expr chunk) {
    Expr first = b.let(chunk % count * width), row = b.let(chunk / count * behind);
    Expr columns = b.let(lesser(width, behind - first));
    auto side = [&](uint32_t buffer, int64_t size, bool pairs) {
      Expr base = b.let(row * b.index(size) + first);
      Side out{&b, buffer, buffer, !pairs, base, behind, false};
      if (pairs) out.step = b.let(behind * b.index(2)), out.apart = behind;
      return out;
    };
    Side from = side(c.operands[0], s.before(), s.real_in), to = side(c.results[0], s.after(), s.real_out);
    to.scale = s.scale;
    to.exchanged = s.inverse;
    if (s.real_in) {
      passes.fold(passes.run(s.passes, s.plan.width, columns, from, nullptr), to, columns, s.fold);
    } else if (s.real_out) {
      passes.run(s.passes, s.plan.width, columns, passes.unfold(from, columns, s.fold), &to);
    } else {
      from.exchanged = s.inverse;
      passes.run(s.passes, s.plan.width, columns, from, &to);
    }
  });
}

void nest_rows(NestContext& c, const Shape& s) {
  loop::Builder& b = *c.build;
  Expr zero = b.index(0), width = b.index(s.plan.width), all = c.size(s.outer);
  bool real = s.real_in || s.real_out;
  // Rows of the operand as columns, and the columns of the result: of one buffer, where both are complex.
  uint32_t numbers = b.add_scratch(s.whole, Dim((real ? s.passes + 1 : s.n) * s.plan.width), "turned");
  uint32_t pairs = real ? b.add_scratch(s.part, Dim(s.n * s.plan.width), "pairs") : numbers;
  Passes passes(c, s.part, s.plan, s.passes * s.plan.width);
  each_chunk(c, s, ceildiv(s.outer, Dim(s.plan.width)), [&](Expr chunk) {
    Expr first = b.let(chunk * width);
    Expr rows = b.let(lesser(width, all - first));
    Side whole{&b, numbers, numbers, true, zero, width, true};
    Side paired{&b, pairs, pairs, false, zero, b.index(2 * s.plan.width), false};
    paired.apart = width;
    Side from = s.real_in ? paired : whole, to = s.real_out ? paired : whole;
    to.scale = s.scale;
    to.exchanged = s.inverse;
    Expr before = b.index(s.before()), after = b.index(s.after());
    // The passes take all columns. Those that no row fills are zero: numbers of whatever lay there may be
    // denormal, which takes some processors a hundred times as long.
    if (!s.outer.is_constant() || s.outer.constant() % s.plan.width != 0)
      b.if_then(rows < width, [&] {
        uint32_t buffer = s.real_in ? pairs : numbers;
        DType type = s.real_in ? s.part : s.whole;
        int64_t size = s.before() * s.plan.width;
        b.vector_for(zero, b.index(size), 64 / static_cast<int>(size_of(type)),
                     [&](Expr at) { b.store(buffer, at, b.constant(type, 0)); });
      });
    b.transpose({from.re, zero, width}, {c.operands[0], b.let(first * before), before}, rows, before);
    if (s.real_in) {
      passes.fold(passes.run(s.passes, s.plan.width, width, from, nullptr), to, width, s.fold);
    } else if (s.real_out) {
      passes.run(s.passes, s.plan.width, width, passes.unfold(from, width, s.fold), &to);
    } else {
      from.exchanged = s.inverse;
      passes.run(s.passes, s.plan.width, width, from, &to);
    }
    b.transpose({c.results[0], b.let(first * after), after}, {to.re, zero, width}, after, rows);
  });
}

void nest_split(NestContext& c, const Shape& s) {
  loop::Builder& b = *c.build;
  bool real = s.real_in || s.real_out;
  Passes passes(c, s.part, s.plan, s.passes + (real ? 1 : 0));
  each_chunk(c, s, s.outer, [&](Expr chunk) {
    auto side = [&](uint32_t buffer, int64_t size, bool pairs) {
      Side out{&b, buffer, buffer, !pairs, b.let(chunk * b.index(pairs ? s.passes : size)), {}, true};
      if (pairs) out.apart = b.index(1), out.spread = 2;
      return out;
    };
    Side from = side(c.operands[0], s.before(), s.real_in), to = side(c.results[0], s.after(), s.real_out);
    to.scale = s.scale;
    to.exchanged = s.inverse;
    if (s.real_in) {
      passes.fold_row(passes.run_halves(from, nullptr, s.twist), to, s.fold);
    } else if (s.real_out) {
      passes.run_halves(passes.unfold_row(from, s.fold), &to, s.twist);
    } else {
      from.exchanged = s.inverse;
      passes.run_halves(from, &to, s.twist);
    }
  });
}

}  // namespace

void nest_fft(NestContext& c) {
  Shape shape(c.node);
  switch (shape.plan.way) {
    case Plan::Way::Columns: return nest_columns(c, shape);
    case Plan::Way::Rows: return nest_rows(c, shape);
    case Plan::Way::Split: return nest_split(c, shape);
  }
}

}  // namespace ig::ops::fourier
