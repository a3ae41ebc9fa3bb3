// What the files of the discrete Fourier transform share: its attributes, how a length is computed, and the
// tables of roots of unity that a kernel reads.
#pragma once

#include <complex>
#include <vector>

#include "ops/attrs.h"
#include "ops/op.h"

namespace ig::ops::fourier {

inline constexpr Attr<std::string> kFftType{"fft_type",
                                            "FFT: of complex numbers; IFFT: its inverse; RFFT: of real "
                                            "numbers, the first half and the middle; IRFFT: "
                                            "the "
                                            "inverse of that.",
                                            "\"FFT\"", "FFT|IFFT|RFFT|IRFFT"};
inline constexpr Attr<int64_t> kFftLength{"fft_length",
                                          "How many numbers are transformed; of RFFT and IRFFT, real ones."};
inline constexpr Attr<std::string> kNorm{
    "norm", "Which way is divided by the length: backward, forward, or each by the root (ortho).",
    "\"backward\"", "backward|ortho|forward"};

// e^(-2πi k/n), to the last place or so.
std::complex<double> root(int64_t k, int64_t n);

// What the result is multiplied by, of so many numbers.
double scale_of(bool inverse, const std::string& norm, int64_t n);

// The radices of the passes that make up a length, or none where a prime factor is too large for a pass.
std::vector<int64_t> radices(int64_t n);
bool has_passes(int64_t n);

// How one kernel computes a length. Every pass runs over columns, in vectors: transforms side by side.
struct Plan {
  enum class Way {
    Columns,  // the axis is not the last: `width` columns of what lies behind it
    Rows,     // short transforms of the last axis: `width` of them, transposed to columns
    Split,    // a long one of the last axis as a matrix of first x second: along its columns, times roots,
              // transposed, and along its columns again
  };
  Way way;
  int64_t n, width, first = 1, second = 1;

  static Plan of(DType part, int64_t n, const Dim& inner);
};

// Whether one kernel computes a transform of this length; `inner`: how many elements lie behind the axis.
bool fits(int64_t n, const Dim& inner);
// n as a product of two lengths, as near to each other as may be.
std::pair<int64_t, int64_t> split(DType part, int64_t n);
// The operand `roots` of that kernel: for each pass its factors, then those between the halves of a split
// one, then those that fold complex numbers into the transform of twice as many real ones.
Literal table(DType part, const Plan& plan, bool real);

// The transform of a whole sequence in float64, for the constants of bodies.
std::vector<std::complex<double>> transformed(const std::vector<std::complex<double>>& x);

void nest_fft(NestContext& c);
std::vector<Value> fft_body(BodyContext& c);

}  // namespace ig::ops::fourier
