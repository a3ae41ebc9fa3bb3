// What comes out of a graph: printed as NumPy prints, and compared with what it should be.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tools/command.h"

namespace ig::tools {
namespace {

constexpr int64_t kPrintedWhole = 1000;  // elements
constexpr int64_t kEdge = 3;             // elements shown at each end of an axis that is shortened

std::string element_text(const Literal& a, int64_t i) {
  if (a.dtype() == DType::Bool) return a.as_int(i) ? "true" : "false";
  if (a.dtype() == DType::U64 || a.dtype() == DType::Key) return std::to_string(static_cast<uint64_t>(a.as_int(i)));
  if (is_integer(a.dtype())) return std::to_string(a.as_int(i));
  auto text = [&](double v) { return size_of(a.dtype()) > 8 || a.dtype() == DType::F64 ? fmt::format("{}", v) : fmt::format("{}", static_cast<float>(v)); };
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
    print(a, axis + 1, base + i * stride, last ? 1 : stride / std::max<int64_t>(1, a.dims()[axis + 1]), whole, out);
  }
  out += ']';
}

Bound bound_of(DType dtype, const Bound& wanted) {
  Bound out{1e-5, 1e-6};
  switch (dtype) {
    case DType::F16: out = {2e-3, 2e-3}; break;
    case DType::BF16: out = {1.6e-2, 1.6e-2}; break;
    case DType::F64: case DType::C128: out = {1e-12, 1e-13}; break;
    default: break;
  }
  if (wanted.relative >= 0) out.relative = wanted.relative;
  if (wanted.absolute >= 0) out.absolute = wanted.absolute;
  return out;
}

}  // namespace

std::string array_text(const Literal& array) {
  std::string out;
  int64_t n = array.elements(), stride = 1;
  for (size_t i = 1; i < array.dims().size(); ++i) stride *= array.dims()[i];
  print(array, 0, 0, stride, n <= kPrintedWhole, out);
  return out;
}

Difference compare(const Literal& have, const Literal& want, const Bound& wanted) {
  Difference out;
  IG_CHECK(have.dtype() == want.dtype() && have.dims() == want.dims(), "{} is compared with {}", have.type().str(), want.type().str());
  DType dtype = have.dtype();
  if (!is_float(dtype) && !is_complex(dtype)) {
    for (int64_t i = 0; i < have.elements(); ++i) {
      if (have.as_int(i) == want.as_int(i)) continue;
      double a = static_cast<double>(have.as_int(i)), b = static_cast<double>(want.as_int(i));
      if (out.outside++ == 0) out.at = i, out.have = a, out.want = b;
      out.largest = std::max(out.largest, std::fabs(a - b));
    }
    return out;
  }
  Bound bound = bound_of(dtype, wanted);
  // Complex numbers part by part, over the same bytes.
  auto parts = [&](const Literal& x) {
    if (!is_complex(dtype)) return x;
    std::vector<int64_t> dims = x.dims();
    dims.push_back(2);
    return Literal(dtype == DType::C64 ? DType::F32 : DType::F64, dims, x.storage());
  };
  Literal a = parts(have), b = parts(want);
  double worst = -1;
  for (int64_t i = 0; i < a.elements(); ++i) {
    double x = a.as_double(i), y = b.as_double(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    double difference = std::isfinite(x) && std::isfinite(y) ? std::fabs(x - y) : std::numeric_limits<double>::infinity();
    if (std::isfinite(difference)) out.largest = std::max(out.largest, difference);
    if (difference <= bound.absolute + bound.relative * std::fabs(y)) continue;
    ++out.outside;
    if (difference > worst) worst = difference, out.at = i, out.have = x, out.want = y;
  }
  return out;
}

void require_close(std::span<const Literal> have, std::span<const Literal> want, const Graph& graph, const Bound& bound,
                   std::string_view title) {
  for (size_t i = 0; i < have.size(); ++i) {
    std::string name = graph.outputs()[i]->name().empty() ? fmt::format("output {}", i) : graph.outputs()[i]->name();
    if (have[i].type() != want[i].type())
      throw make_error(ErrorKind::Value, "{}: {} is {}, but should be {}", title, name, have[i].type().str(), want[i].type().str())
          .why("both run the same graph").hint("this is a fault in Intaglio; please report it with the graph");
    Difference d = compare(have[i], want[i], bound);
    if (d.outside)
      throw make_error(ErrorKind::Value, "{}: {} of {} elements of {} differ", title, d.outside, have[i].elements(), name)
          .why(fmt::format("the worst is number {}: {} instead of {}", d.at, d.have, d.want))
          .hint("widen the bound with --rtol and --atol if the order of summation explains it; else please report it");
    fmt::print(stderr, "{}: {} agrees, the largest difference is {:.3g}\n", title, name, d.largest);
  }
}

}  // namespace ig::tools
