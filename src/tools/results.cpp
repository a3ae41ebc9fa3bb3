// What comes out of a graph: printed as NumPy prints, and compared with what it should be.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/format.h>

#include "tools/command.h"

namespace ig::tools {
namespace {

constexpr int64_t kPrintedWhole = 1000;  // elements
constexpr int64_t kEdge = 3;             // elements shown at each end of an axis that is shortened

std::string element_text(const Literal& a, int64_t i) {
  if (a.dtype() == DType::Bool) return a.as_int(i) ? "true" : "false";
  if (a.dtype() == DType::U64 || a.dtype() == DType::Key)
    return std::to_string(static_cast<uint64_t>(a.as_int(i)));
  if (is_integer(a.dtype())) return std::to_string(a.as_int(i));
  auto text = [&](double v) {
    return size_of(a.dtype()) > 8 || a.dtype() == DType::F64 ? fmt::format("{}", v)
                                                             : fmt::format("{}", static_cast<float>(v));
  };
  if (!is_complex(a.dtype())) return text(a.as_double(i));
  bool narrow = a.dtype() == DType::C64;
  auto part = [&](int64_t k) {
    const char* at = static_cast<const char*>(a.data());
    float f;
    double d;
    if (!narrow) return std::memcpy(&d, at + static_cast<size_t>(k) * 8, 8), d;
    return std::memcpy(&f, at + static_cast<size_t>(k) * 4, 4), static_cast<double>(f);
  };
  double im = part(2 * i + 1);
  return text(part(2 * i)) + (std::signbit(im) ? "-" : "+") + text(std::fabs(im)) + "i";
}

void print(const Literal& a, size_t axis, int64_t base, int64_t stride, bool whole, std::string& out) {
  if (axis == a.dims().size()) {
    out += element_text(a, base);
    return;
  }
  int64_t n = a.dims()[axis];
  bool last = axis + 1 == a.dims().size();
  out += '[';
  for (int64_t i = 0; i < n; ++i) {
    if (i) out += last ? ", " : ",\n" + std::string(axis + 1, ' ');
    if (!whole && n > 2 * kEdge && i == kEdge) {
      out += "...";
      i = n - kEdge - 1;
      continue;
    }
    print(a, axis + 1, base + i * stride, last ? 1 : stride / std::max<int64_t>(1, a.dims()[axis + 1]), whole,
          out);
  }
  out += ']';
}

// How many numbers of the type lie between two of them; floats are ordered as their bits are, the negative
// ones mirrored.
double steps_between(DType dtype, const char* a, const char* b) {
  size_t width = size_of(dtype);
  auto place = [&](const char* at) {
    uint64_t bits = 0;
    std::memcpy(&bits, at, width);
    uint64_t sign = uint64_t{1} << (8 * width - 1);
    return bits & sign ? -static_cast<int64_t>(bits ^ sign) : static_cast<int64_t>(bits);
  };
  return std::fabs(static_cast<double>(place(a)) - static_cast<double>(place(b)));
}

double rounding(DType dtype) {
  switch (dtype) {
    case DType::F16: return 0x1p-11;
    case DType::BF16: return 0x1p-8;
    case DType::F64: return 0x1p-53;
    default: return 0x1p-24;
  }
}

}  // namespace

std::string array_text(const Literal& array) {
  std::string out;
  int64_t n = array.elements(), stride = 1;
  for (size_t i = 1; i < array.dims().size(); ++i) stride *= array.dims()[i];
  print(array, 0, 0, stride, n <= kPrintedWhole, out);
  return out;
}

Bound parse_bound(const std::string& tolerance, double absolute) {
  Bound out;
  out.absolute = absolute;
  out.exact = tolerance == "exact";
  if (out.exact || tolerance.empty()) return out;
  char* end = nullptr;
  out.ulp = std::strtod(tolerance.c_str(), &end);
  if (*end || !(out.ulp >= 0))
    throw make_error(ErrorKind::Value, "--tolerance {}: '{}' is no bound", tolerance, tolerance)
        .why("a bound is a number of units in the last place, 0 or more")
        .hint("write --tolerance 4, or --tolerance exact for the same bits");
  if (absolute < 0) out.absolute = out.ulp == 64 ? -1 : 0;
  return out;
}

Difference compare(const Literal& have, const Literal& want, const Bound& bound) {
  Difference out;
  IG_CHECK(have.dtype() == want.dtype() && have.dims() == want.dims(), "{} is compared with {}",
           have.type().str(), want.type().str());
  // Complex numbers part by part, over the same bytes.
  DType whole = have.dtype();
  DType dtype = whole == DType::C64 ? DType::F32 : whole == DType::C128 ? DType::F64 : whole;
  int64_t parts = static_cast<int64_t>(size_of(whole) / size_of(dtype));
  auto split = [&](const Literal& x) {
    std::vector<int64_t> dims = x.dims();
    dims.push_back(parts);
    return Literal(dtype, dims, x.storage());
  };
  Literal a = split(have), b = split(want);
  double floor = bound.absolute >= 0 ? bound.absolute : 64 * rounding(dtype);
  double worst = -1;
  size_t width = size_of(dtype);
  const auto* left = static_cast<const char*>(a.data());
  const auto* right = static_cast<const char*>(b.data());
  for (int64_t i = 0; i < a.elements(); ++i) {
    const char *p = left + static_cast<size_t>(i) * width, *q = right + static_cast<size_t>(i) * width;
    if (std::memcmp(p, q, width) == 0) continue;
    double ulp = 0, absolute = 0;
    bool outside = true;
    if (is_float(dtype)) {
      double x = a.as_double(i), y = b.as_double(i);
      if (std::isnan(x) && std::isnan(y)) continue;
      ulp = absolute = std::numeric_limits<double>::infinity();
      if (std::isfinite(x) && std::isfinite(y)) ulp = steps_between(dtype, p, q), absolute = std::fabs(x - y);
      outside = bound.exact || (ulp > bound.ulp && absolute > floor);
    } else {
      absolute = std::fabs(static_cast<double>(a.as_int(i)) - static_cast<double>(b.as_int(i)));
    }
    ++out.differing;
    if (std::isfinite(absolute))
      out.ulp = std::max(out.ulp, ulp), out.absolute = std::max(out.absolute, absolute);
    if (!outside) continue;
    ++out.outside;
    if (absolute <= worst) continue;
    worst = absolute;
    out.at = i / parts;
    out.have = element_text(have, out.at);
    out.want = element_text(want, out.at);
  }
  return out;
}

}  // namespace ig::tools
