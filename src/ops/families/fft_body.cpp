// What the Fourier transform of a length becomes: one kernel where its prime factors are small; two of them
// with factors between, where it is long; a convolution with a chirp (Bluestein's algorithm) where a prime
// factor is large. Transforms of real numbers go by one of half the length, where that is even.
#include <numbers>

#include "ops/families/compose.h"
#include "ops/families/fft.h"
#include "ops/shape_attrs.h"

namespace ig::ops::fourier {
namespace {

using Numbers = std::vector<std::complex<double>>;
using Attributes = std::vector<std::pair<std::string, AttrValue>>;

Dim elements_behind(Value x, int64_t axis) {
  const Dims& dims = x->type().dims;
  return product(Dims(dims.begin() + static_cast<long>(axis) + 1, dims.end()));
}

// So few columns would leave most of a vector empty: the axis is moved to the end, and back.
bool narrow(const Dim& inner) {
  constexpr int64_t kFew = 8;
  return inner.is_constant() && inner.constant() > 1 && inner.constant() < kFew;
}
Value by_rows(BodyContext& c, Value x) {
  int64_t axis = c.get(kAxis), last = x->type().rank() - 1;
  Ints order = tools::iota(last + 1), back;
  order.erase(order.begin() + static_cast<long>(axis));
  order.push_back(axis);
  for (int64_t i = 0; i <= last; ++i) back.push_back(i < axis ? i : i == axis ? last : i - 1);
  Value moved = c.build(
      "fft", {c.build.transpose(x, order)},
      {kFftType % c.get(kFftType), kFftLength % c.get(kFftLength), kAxis % last, kNorm % c.get(kNorm)});
  return c.build.transpose(moved, back);
}

class Body {
 public:
  Body(Builder& build, int64_t axis, std::string norm)
      : b(build), m(build), axis_(axis), norm_(std::move(norm)) {}

  // Of complex numbers.
  Value whole(Value x, bool inverse) {
    int64_t n = length(x);
    DType part = part_of(x->type().dtype);
    if (n == 1) return x;
    Dim inner = behind(x);
    if (has_passes(n)) {
      if (!fits(n, inner)) return by_halves(x, inverse, split(part, n));
      return kernel(x, inverse ? "IFFT" : "FFT", n, n);
    }
    return by_chirp(x, inverse, n);
  }

  Value of_real(Value x) {
    int64_t n = length(x), half = n / 2;
    if (n % 2 != 0) {
      Value z = whole(b("complex", {x, tools::zeros_like(b, x)}), false);
      return m.slice(z, axis_, 0, half + 1);
    }
    if (in_one_kernel(x, half)) return kernel(x, "RFFT", n, half);
    // Two real numbers are taken as one complex one; its transform z gives those of both.
    Value z = whole(b("complex", {m.slice(x, axis_, 0, n - 1, 2), m.slice(x, axis_, 1, n, 2)}), false);
    Value there = joined({z, m.slice(z, axis_, 0, 1)}), back = turned(there);
    double share = scale_of(false, norm_, n) / scale_of(false, norm_, half) / 2;
    Numbers factors;
    for (int64_t k = 0; k <= half; ++k) factors.push_back(root(k, n) * std::complex<double>(0, -share));
    return m.add(m.mul(m.add(there, back), share), times(m.sub(there, back), factors));
  }

  Value to_real(Value x, int64_t n) {
    int64_t half = n / 2;
    if (n % 2 == 0 && in_one_kernel(x, half)) return kernel(x, "IRFFT", n, half);
    x = with_real_ends(x, n);
    if (n % 2 != 0) {
      Value rest = n == 1 ? nullptr : turned(m.slice(x, axis_, 1, half + 1));
      return b("real", {whole(rest ? joined({x, rest}) : x, true)});
    }
    Value there = m.slice(x, axis_, 0, half), back = turned(m.slice(x, axis_, 1, half + 1));
    double share = scale_of(true, norm_, n) / scale_of(true, norm_, half);
    Numbers factors;
    for (int64_t k = 0; k < half; ++k)
      factors.push_back(std::conj(root(k, n)) * std::complex<double>(0, share));
    Value z = whole(m.add(m.mul(m.add(there, back), share), times(m.sub(there, back), factors)), true);
    return interleaved(b("real", {z}), b("imag", {z}));
  }

 private:
  int64_t length(Value x) const { return x->type().dims[static_cast<size_t>(axis_)].constant(); }
  Dim behind(Value x) const { return elements_behind(x, axis_); }
  bool in_one_kernel(Value x, int64_t half) const {
    return half > 1 && has_passes(half) && fits(half, behind(x));
  }
  // The op with what its kernel reads: passes of so many complex numbers.
  Value kernel(Value x, const char* type, int64_t n, int64_t passes) {
    DType part = part_of(x->type().dtype);
    Value roots = b.constant(table(part, Plan::of(part, passes, behind(x)), passes != n));
    return b("fft", {x, roots}, attributes(type, n));
  }
  Attributes attributes(const char* type, int64_t n) const {
    return {kFftType % std::string(type), kFftLength % n, kAxis % axis_, kNorm % norm_};
  }

  // A row of factors along the axis.
  Value along(Value like, const Numbers& factors) {
    const Type& type = like->type();
    Literal literal = Literal::allocate(type.dtype, {static_cast<int64_t>(factors.size())});
    for (size_t i = 0; i < factors.size(); ++i)
      tools::set_complex(literal, static_cast<int64_t>(i), factors[i].real(), factors[i].imag());
    return b.broadcast(b.constant(std::move(literal)), type.dims, {axis_});
  }
  Value times(Value x, const Numbers& factors) { return b("multiply", {x, along(x, factors)}); }
  Value joined(std::vector<Value> parts) { return b("concatenate", std::move(parts), {kAxis % axis_}); }
  Value turned(Value x) { return b("conj", {b("reverse", {x}, {kReversed % Ints{axis_}})}); }

  // x as a matrix [first, second]: along its columns, times roots, transposed, along its columns.
  Value by_halves(Value x, bool inverse, std::pair<int64_t, int64_t> halves) {
    auto [first, second] = halves;
    Dims whole_dims = x->type().dims, dims = whole_dims;
    auto at = static_cast<size_t>(axis_);
    dims[at] = first;
    dims.insert(dims.begin() + static_cast<long>(axis_) + 1, Dim(second));
    Value half = whole(b.reshape(x, dims), inverse);
    DType dtype = x->type().dtype;
    Literal roots = Literal::allocate(dtype, {first, second});
    for (int64_t j = 0; j < first; ++j)
      for (int64_t k = 0; k < second; ++k) {
        std::complex<double> w = root(j * k, first * second);
        tools::set_complex(roots, j * second + k, w.real(), inverse ? -w.imag() : w.imag());
      }
    half = b("multiply", {half, b.broadcast(b.constant(std::move(roots)), dims, {axis_, axis_ + 1})});
    Ints order = tools::iota(half->type().rank());
    std::swap(order[at], order[at + 1]);
    return b.reshape(whole(b.transpose(half, order), inverse), whole_dims);
  }

  // jk = (j² + k² - (k - j)²) / 2: a convolution with e^(πi k²/n), between two products with its conjugate.
  Value by_chirp(Value x, bool inverse, int64_t n) {
    int64_t size = 2 * n - 1;
    while (!round(size)) ++size;
    auto chirp = [&](int64_t k) {
      int64_t square = k * k % (2 * n);  // which fits below k = 2^31
      std::complex<double> w = root(square, 2 * n);
      return inverse ? std::conj(w) : w;
    };
    Numbers before, behind, filter(static_cast<size_t>(size), 0);
    double scale = scale_of(inverse, norm_, n);
    for (int64_t k = 0; k < n; ++k) {
      before.push_back(chirp(k));
      behind.push_back(before.back() * scale);
      filter[static_cast<size_t>(k)] = std::conj(before.back());
      if (k > 0) filter[static_cast<size_t>(size - k)] = std::conj(before.back());
    }
    Value wide = padded(times(x, before), size);
    Body inner(b, axis_, "backward");
    Value spectrum = times(inner.whole(wide, false), transformed(filter));
    return times(m.slice(inner.whole(spectrum, true), axis_, 0, n), behind);
  }
  // Lengths of twos, and of at most a few threes and fives, have the quickest passes.
  static bool round(int64_t n) {
    if (n % 8 != 0 && n > 8) return false;
    for (int64_t r : {2, 3, 5})
      while (n % r == 0) n /= r;
    return n == 1;
  }
  Value padded(Value x, int64_t size) {
    Dims none(x->type().dims.size(), Dim(int64_t{0})), high = none;
    high[static_cast<size_t>(axis_)] = size - length(x);
    return b("pad", {x, b.scalar(x->type().dtype, 0)},
             {kPadLow % none, kPadHigh % high, kPadInterior % Ints(none.size(), 0)});
  }

  // The first number, and of an even length the last one, have no imaginary part in the transform of real
  // numbers: what stands there is not read.
  Value with_real_ends(Value x, int64_t n) {
    int64_t count = length(x);
    Literal ends = Literal::allocate(DType::Bool, {count});
    for (int64_t k = 0; k < count; ++k) tools::set_whole(ends, k, k == 0 || 2 * k == n);
    Value mask = b.broadcast(b.constant(std::move(ends)), x->type().dims, {axis_});
    Value im = b("imag", {x});
    return b("complex", {b("real", {x}), b("select", {mask, tools::zeros_like(b, im), im})});
  }

  Value interleaved(Value even, Value odd) {
    Dims apart = even->type().dims, together = apart;
    apart.insert(apart.begin() + static_cast<long>(axis_) + 1, Dim(int64_t{1}));
    together[static_cast<size_t>(axis_)] = together[static_cast<size_t>(axis_)] * 2;
    Value pairs = b("concatenate", {b.reshape(even, apart), b.reshape(odd, apart)}, {kAxis % (axis_ + 1)});
    return b.reshape(pairs, together);
  }

  Builder& b;
  Compose m;
  int64_t axis_;
  std::string norm_;
};

}  // namespace

std::vector<Value> fft_body(BodyContext& c) {
  if (c.operands.size() == 2) return {};  // the kernel's own form
  Value x = c.operands[0];
  if (narrow(elements_behind(x, c.get(kAxis)))) return {by_rows(c, x)};
  Body body(c.build, c.get(kAxis), c.get(kNorm));
  const std::string& type = c.get(kFftType);
  if (type == "RFFT") return {body.of_real(x)};
  if (!is_complex(x->type().dtype)) x = c.build("complex", {x, tools::zeros_like(c.build, x)});
  if (type == "IRFFT") return {body.to_real(x, c.get(kFftLength))};
  return {body.whole(x, type == "IFFT")};
}

}  // namespace ig::ops::fourier
