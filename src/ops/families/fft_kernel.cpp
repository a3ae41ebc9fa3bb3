// The kernel of the Fourier transform: passes of Stockham's algorithm, which needs no bit reversal. A pass of
// radix r reads rows that lie a stride apart, and writes r rows that lie together:
//
//     to[(r p + t) l + k] = w^(p t) sum over u of from[(p + m u) l + k] e^(-2πi t u / r)
//
// for k below l (the product of the radices before) and p below m (of those behind). Each row is `width`
// columns, transforms that go side by side in vectors. Between passes the real and the imaginary parts stand
// apart, so that no shuffle is needed. An inverse transform is the same with the two parts exchanged.
#include <functional>

#include "ops/families/array_tools.h"
#include "ops/families/fft.h"

namespace ig::ops::fourier {
namespace {

using loop::Expr;

struct Parts {
  Expr re, im;
};

// A matrix of complex numbers, n rows of columns: in one buffer as they are, or in two for the parts.
struct Side {
  loop::Builder* b;
  uint32_t re, im;
  bool whole;       // one buffer, `re`
  Expr base, step;  // of the first element, and from row to row
  bool dense;       // rows follow one another without a gap
  bool exchanged = false;
  double scale = 1;

  Parts load(Expr at) const {
    Parts x;
    if (whole) {
      Expr z = b->let(b->load(re, at));
      x = {b->let(real(z)), b->let(imag(z))};
    } else {
      x = {b->let(b->load(re, at)), b->let(b->load(im, at))};
    }
    return exchanged ? Parts{x.im, x.re} : x;
  }
  void store(Expr at, Parts x) const {
    if (scale != 1) x = {x.re * scale, x.im * scale};
    if (exchanged) x = {x.im, x.re};
    if (whole) {
      b->store(re, at, complex(x.re, x.im));
    } else {
      b->store(re, at, x.re);
      b->store(im, at, x.im);
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
  int64_t table_at() const { return at_; }

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
    for (int64_t lanes = most; lanes >= 2; lanes /= 2)
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

void nest_fft(NestContext& c) {
  loop::Builder& b = *c.build;
  const Type& type = c.node->operand(0)->type();
  const Attrs& attrs = c.node->attrs();
  auto axis = static_cast<size_t>(attrs.get(kAxis));
  bool inverse = attrs.get(kFftType) == "IFFT";
  int64_t n = attrs.get(kFftLength);
  double scale = scale_of(inverse, attrs.get(kNorm), n);
  Dim outer = product(Dims(type.dims.begin(), type.dims.begin() + static_cast<long>(axis)));
  Dim inner = product(Dims(type.dims.begin() + static_cast<long>(axis) + 1, type.dims.end()));
  DType part = part_of(type.dtype);
  Plan plan = Plan::of(part, n, inner);
  uint32_t x = c.operands[0], out = c.results[0];
  Expr zero = b.index(0), width = b.index(plan.width), length = b.index(n);

  switch (plan.way) {
    case Plan::Way::Columns: {
      Dim chunks = ceildiv(inner, Dim(plan.width));
      c.set_blocks(outer * chunks);
      Expr behind = c.size(inner), count = c.size(chunks);
      Passes passes(c, part, plan, n * plan.width);
      Expr first = b.let(b.block() % count * width);
      Expr base = b.let(b.block() / count * length * behind + first);
      Expr columns = b.let(lesser(width, behind - first));
      Side from{&b, x, x, true, base, behind, false, inverse};
      Side to{&b, out, out, true, base, behind, false, inverse, scale};
      passes.run(n, plan.width, columns, from, &to);
      return;
    }
    case Plan::Way::Rows: {
      c.set_blocks(ceildiv(outer, Dim(plan.width)));
      Expr all = c.size(outer);
      uint32_t turned = b.add_scratch(type.dtype, Dim(n * plan.width), "turned");
      Passes passes(c, part, plan, n * plan.width);
      Expr base = b.let(b.block() * width * length);
      Expr rows = b.let(lesser(width, all - b.block() * width));
      b.transpose({turned, zero, width}, {x, base, length}, rows, length);
      Side from{&b, turned, turned, true, zero, width, true, inverse};
      Side to = from;
      to.scale = scale;
      passes.run(n, plan.width, rows, from, &to);
      b.transpose({out, base, length}, {turned, zero, width}, length, rows);
      return;
    }
    case Plan::Way::Split: {
      c.set_blocks(outer);
      Passes passes(c, part, plan, n);
      Expr base = b.let(b.block() * length);
      Expr first = b.index(plan.first), second = b.index(plan.second);
      Side from{&b, x, x, true, base, second, true, inverse};
      int64_t twist = c.node->operand(1)->type().dims[0].constant() - 2 * n;
      const Side& half = passes.run(plan.first, plan.second, second, from, nullptr, twist);
      const Side& turned = passes.other(half);
      b.transpose({turned.re, zero, first}, {half.re, zero, second}, first, second);
      b.transpose({turned.im, zero, first}, {half.im, zero, second}, first, second);
      Side to{&b, out, out, true, base, first, true, inverse, scale};
      passes.run(plan.second, plan.first, first, turned, &to);
      return;
    }
  }
}

}  // namespace ig::ops::fourier
