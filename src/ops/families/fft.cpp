// The discrete Fourier transform along an axis: its declaration, its definition and its derivatives. How a
// length is computed stands in fft_body.cpp and fft_kernel.cpp.
#include "ops/families/fft.h"

#include <cmath>
#include <numbers>

#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"
#include "ops/families/families.h"

namespace ig::ops {

using namespace fourier;

namespace {

void infer_fft(InferContext& c) {
  const std::string& type = c.get(kFftType);
  const Type& x = c.operand(0);
  bool from_real = type == "RFFT", to_real = type == "IRFFT";
  if (from_real && is_complex(x.dtype))
    c.fail(ErrorKind::Type, fmt::format("x is {}, but RFFT transforms real numbers", info(x.dtype).api_name),
           "it gives half of the numbers, since those of real ones mirror each other",
           "use FFT, or give it ig.real(x)");
  c.require_dtype(0, DTypeSet::FloatComplex);
  if (size_of(x.dtype) == 2)
    c.fail(ErrorKind::Type, fmt::format("x is {}, which has no complex numbers", info(x.dtype).api_name),
           "transforms are complex64, of float32, and complex128, of float64",
           "convert with astype(ig.float32)");
  int64_t axis = c.axis(c.get(kAxis), x.rank()), n = c.get(kFftLength);
  if (n < 1)
    c.fail(ErrorKind::Value, fmt::format("fft_length is {}", n), "a transform is of one number or more",
           "give 1 or more");
  const Dim& size = x.dims[static_cast<size_t>(axis)];
  if (!size.is_constant())
    c.fail(ErrorKind::Shape, fmt::format("axis {} has the symbolic size {}", axis, size.str()),
           "the passes and their factors are made for one length",
           "give the axis a constant size; all other axes may be symbolic");
  int64_t wanted = to_real ? n / 2 + 1 : n;
  if (size.constant() != wanted)
    c.fail(ErrorKind::Shape,
           fmt::format("axis {} has {} elements, but fft_length {} takes {}", axis, size.str(), n, wanted),
           to_real ? "the transform of n real numbers is n // 2 + 1 complex ones"
                   : "the length is that of the axis",
           "pad or slice the array first");
  Dims dims = x.dims;
  if (from_real) dims[static_cast<size_t>(axis)] = n / 2 + 1;
  if (to_real) dims[static_cast<size_t>(axis)] = n;
  DType part = part_of(x.dtype);
  c.result(to_real ? part : complex_of(part), dims);
}

// The sums as they are written, in long double.
void reference_fft(ReferenceContext& c) {
  using Wide = std::complex<long double>;
  const Literal& x = c.operands[0];
  Literal& out = c.results[0];
  const std::string& type = c.attrs.get(kFftType);
  bool inverse = type == "IFFT" || type == "IRFFT";
  auto axis = static_cast<size_t>(c.attrs.get(kAxis));
  int64_t n = c.attrs.get(kFftLength), from = x.dims()[axis], to = out.dims()[axis], inner = 1, outer = 1;
  for (size_t i = 0; i < x.dims().size(); ++i)
    if (i != axis) (i < axis ? outer : inner) *= x.dims()[i];
  std::vector<Wide> roots, row(static_cast<size_t>(n));
  for (int64_t k = 0; k < n; ++k)
    roots.push_back(std::polar(1.0L, (inverse ? 2 : -2) * std::numbers::pi_v<long double> *
                                         static_cast<long double>(k) / static_cast<long double>(n)));
  auto scale = static_cast<long double>(scale_of(inverse, c.attrs.get(kNorm), n));
  if (c.attrs.get(kNorm) == "ortho") scale = 1 / std::sqrt(static_cast<long double>(n));
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t i = 0; i < inner; ++i) {
      for (int64_t j = 0; j < n; ++j) {
        bool mirrored = j >= from;  // of IRFFT: the other half
        std::complex<double> z = x.as_complex((o * from + (mirrored ? n - j : j)) * inner + i);
        if (type == "IRFFT" && (j == 0 || 2 * j == n)) z = z.real();
        row[static_cast<size_t>(j)] = mirrored ? std::conj(z) : z;
      }
      for (int64_t k = 0; k < to; ++k) {
        Wide sum = 0;
        for (int64_t j = 0; j < n; ++j)
          sum += row[static_cast<size_t>(j)] * roots[static_cast<size_t>(j * k % n)];
        sum *= scale;
        int64_t at = (o * to + k) * inner + i;
        if (type == "IRFFT")
          tools::set_real(out, at, static_cast<double>(sum.real()));
        else
          tools::set_complex(out, at, static_cast<double>(sum.real()), static_cast<double>(sum.imag()));
      }
    }
}

// Over the numbers of the half that stand for two of the whole: 1 at its ends, `inside` between.
Value weighted(Builder& b, Value half, int64_t axis, int64_t n, double inside) {
  int64_t count = n / 2 + 1;
  Literal weights = Literal::allocate(half->type().dtype, {count});
  for (int64_t k = 0; k < count; ++k) tools::set_complex(weights, k, k == 0 || 2 * k == n ? 1 : inside, 0);
  return b("multiply", {half, b.broadcast(b.constant(std::move(weights)), half->type().dims, {axis})});
}

// By the pairing without a conjugate, the matrix of a transform is its own transpose, and so is its
// inverse's. That of RFFT is an IRFFT, and the other way round, which divide by the length where the other
// does not.
std::vector<Value> transpose_fft(TransposeContext& c) {
  Value t = c.cotangents[0];
  if (!t) return std::vector<Value>(c.node->operands().size(), nullptr);
  Builder& b = c.build;
  const Attrs& attrs = c.node->attrs();
  const std::string &type = attrs.get(kFftType), &norm = attrs.get(kNorm);
  int64_t axis = attrs.get(kAxis), n = attrs.get(kFftLength);
  bool real = !is_complex(c.node->operand(0)->type().dtype);
  auto of_operand = [&](Value v) { return real ? b("real", {v}) : v; };
  if (type == "FFT" || type == "IFFT") return {of_operand(b.node(op_of(c.node), {t}, attrs)->result())};
  Attrs other = attrs;
  other.set(kNorm, std::string(norm == "backward" ? "forward" : norm == "forward" ? "backward" : "ortho"));
  other.set(kFftType, std::string(type == "RFFT" ? "IRFFT" : "RFFT"));
  if (type == "RFFT") {
    Value half = weighted(b, b("conj", {t}), axis, n, 0.5);
    return {b.node(op_of(c.node), {half}, other)->result()};
  }
  Value half = b.node(op_of(c.node), {t}, other)->result();
  return {of_operand(weighted(b, b("conj", {half}), axis, n, 2))};
}

}  // namespace

std::vector<Op> fft_ops() {
  std::vector<Op> ops;
  ops.push_back(
      {.decl =
           {.name = "fft",
            .doc =
                "The discrete Fourier transform along an axis: y[k] = sum of x[j] e^(-2πi jk/n).\nThe "
                "inverse has the other sign, and by default divides by n. RFFT gives the numbers 0 to n/2 "
                "of real ones, as the others are their conjugates; IRFFT reads these, and takes the first, "
                "and the one at n/2, as real. StableHLO's, along one axis.",
            .operands = {{"x", "The numbers: float32, float64, complex64 or complex128; of RFFT real ones."},
                         {.name = "roots",
                          .doc = "Factors that the kernel reads. The compiler puts them in.",
                          .optional = true}},
            .attrs = {kFftType, kFftLength, kAxis, kNorm},
            .dtypes = DTypeSet::FloatComplex,
            .traits = static_cast<uint32_t>(Trait::Linear),
            .front = Front::None,
            .numpy =
                "{'FFT': np.fft.fft, 'IFFT': np.fft.ifft, 'RFFT': np.fft.rfft, 'IRFFT': "
                "np.fft.irfft}[fft_type](x.astype(complex if np.iscomplexobj(x) else float), fft_length, "
                "axis, norm)",
            .samples = {{"T[2, 6]", "{fft_length = 6, axis = 1, fft_type = \"RFFT\"}"},
                        {"T[5, 2]", "{fft_length = 5, axis = 0, fft_type = \"RFFT\", norm = \"ortho\"}"},
                        {"T[3, 2, 10]",
                         "{fft_length = 2, axis = 1, fft_type = \"RFFT\", norm = \"forward\"}"},
                        {"T[8]", "{fft_length = 8, axis = 0}"},
                        {"T[2, 12]", "{fft_length = 12, axis = 1, fft_type = \"IFFT\"}"},
                        {"T[3, 7, 5]", "{fft_length = 7, axis = 1, norm = \"ortho\"}"},
                        {"T[3, 34]", "{fft_length = 3, axis = 0, norm = \"forward\"}"},
                        {"T[1, 260]", "{fft_length = 260, axis = 1}"},
                        {"T[17]", "{fft_length = 17, axis = 0}"},
                        {"T[19]", "{fft_length = 19, axis = 0, fft_type = \"IFFT\", norm = \"ortho\"}"},
                        {"T[2, 4]", "{fft_length = 6, axis = 1, fft_type = \"IRFFT\"}"},
                        {"T[3]", "{fft_length = 5, axis = 0, fft_type = \"IRFFT\", norm = \"forward\"}"},
                        {"T[0, 4]", "{fft_length = 4, axis = 1}"},
                        {"T[1]", "{fft_length = 1, axis = 0}"}},
            .bad_samples = {{"i32[4]", "{fft_length = 4, axis = 0}",
                             "TypeError: fft: expected a floating-point or complex type, but x is int32"},
                            {"c64[4]", "{fft_length = 4, axis = 0, fft_type = \"RFFT\"}",
                             "TypeError: fft: x is complex64, but RFFT transforms real numbers"},
                            {"f16[4]", "{fft_length = 4, axis = 0, fft_type = \"RFFT\"}",
                             "TypeError: fft: x is float16, which has no complex numbers"},
                            {"c64[]", "{fft_length = 1, axis = 0}",
                             "IndexError: fft: axis 0 is out of range for rank 0"},
                            {"c64[0]", "{fft_length = 0, axis = 0}", "ValueError: fft: fft_length is 0"},
                            {"c64[5]", "{fft_length = 4, axis = 0}",
                             "ShapeError: fft: axis 0 has 5 elements, but fft_length 4 takes 4"},
                            {"c64[4]", "{fft_length = 4, axis = 0, fft_type = \"IRFFT\"}",
                             "ShapeError: fft: axis 0 has 4 elements, but fft_length 4 takes 3"}},
            .ulp = 64,
            .complex_ulp = 64},
       .rules = {.infer = infer_fft,
                 .reference = reference_fft,
                 .lower = LowerRule::of_nest(nest_fft),
                 .simplify = tools::no_rule("no identity keeps every bit"),
                 .jvp = &tools::linear_jvp,
                 .transpose = &transpose_fft,
                 .batch = &batch_along_axis,
                 .body = &fft_body},
       .id = {}});
  return ops;
}

}  // namespace ig::ops
