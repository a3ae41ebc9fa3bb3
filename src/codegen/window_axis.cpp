// Parts of an axis, by index arithmetic that folds to numbers where the sizes are numbers.
#include "codegen/window_axis.h"

#include <numeric>

namespace ig::codegen {
namespace {

using loop::Expr;

// Of a number that may be negative, where the result is wanted at least 0.
Expr ceiling_or_zero(Expr value, int64_t by, loop::Builder& build) {
  Expr some = loop::greater(value, build.index(0));
  return by == 1 ? some : (some + build.index(by - 1)) / build.index(by);
}

int64_t inverse(int64_t value, int64_t modulus) {
  for (int64_t x = 1; x < modulus; ++x)
    if (value % modulus * x % modulus == 1) return x;
  return 0;  // of the modulus 1
}

}  // namespace

int64_t WindowAxis::classes() const { return gaps / std::gcd(gaps, stride); }
bool WindowAxis::taps_adjoin() const { return gaps / std::gcd(gaps, dilation) == 1; }

void WindowAxis::each_part(loop::Builder& build, const ops::SizeFn& size, Expr from, Expr to,
                           const std::function<void(const WindowPart&)>& body) const {
  if (classes() == 1) return parts_of_class(build, size, build.index(0), from, to, body);
  build.serial_for(build.index(0), build.index(classes()),
                   [&](Expr number) { parts_of_class(build, size, number, from, to, body); });
}

void WindowAxis::parts_of_class(loop::Builder& build, const ops::SizeFn& size, Expr number, Expr from,
                                Expr to, const std::function<void(const WindowPart&)>& body) const {
  const Expr none = build.index(0), one = build.index(1);
  WindowPart part;
  part.step = classes();
  part.stride = part.step * stride / gaps;
  const int64_t common = std::gcd(gaps, dilation);
  part.tap_step = gaps / common;
  part.dilation = part.tap_step * dilation / gaps;
  // The class' first tap and how many there are: those that solve number * stride + tap * dilation = low,
  // modulo the gaps.
  Expr first_tap = none, count = build.index(taps), origin = build.index(-low);
  if (gaps > 1) {
    Expr wanted = build.let(build.index(low) - number * stride);
    Expr modulus = build.index(part.tap_step);
    Expr some = (wanted / build.index(common)) % modulus;
    some = (loop::select(some < none, some + modulus, some) * inverse(dilation / common, part.tap_step)) %
           modulus;
    first_tap = build.let(some);
    count = ceiling_or_zero(build.index(taps) - first_tap, part.tap_step, build);
    if (common > 1) count = loop::select(wanted % build.index(common) == none, count, none);
    count = build.let(count);
    origin = build.let((number * stride + first_tap * dilation - build.index(low)) / build.index(gaps));
  }
  Expr image_size = size(image);
  // The class' places that are asked for, and of those the ones whose windows lie inside.
  auto in_class = [&](Expr place) { return ceiling_or_zero(place - number, part.step, build); };
  Expr begin = build.let(in_class(from)), end = build.let(in_class(to));
  auto give = [&](Expr at, Expr places, Expr first_seen, Expr seen) {
    part.first = number + at * part.step;
    part.count = places;
    part.tap = first_tap + first_seen * part.tap_step;
    part.taps = seen;
    part.origin = origin + at * part.stride + first_seen * part.dilation;
    body(part);
  };
  if (!padded && gaps == 1) return give(begin, end - begin, none, count);
  Expr low_end = ceiling_or_zero(none - origin, part.stride, build);
  Expr room = image_size - origin - (count - one) * part.dilation - one;
  Expr high_begin = loop::greater(room + build.index(part.stride), none) / build.index(part.stride);
  if (gaps > 1) {  // without a tap all places are alike
    low_end = loop::select(count == none, none, low_end);
    high_begin = loop::select(count == none, end, high_begin);
  }
  low_end = build.let(loop::lesser(loop::greater(low_end, begin), end));
  high_begin = build.let(loop::lesser(loop::greater(high_begin, low_end), end));
  Expr before = build.let(low_end - begin);
  Expr all = before + one + (end - high_begin);
  build.serial_for(none, all, [&](Expr q) {
    Expr inner = build.let(q == before);
    Expr at = build.let(
        loop::select(inner, low_end, loop::select(q < before, begin + q, high_begin + (q - before - one))));
    Expr corner = build.let(origin + at * part.stride);
    Expr first_seen =
        build.let(loop::select(inner, none, ceiling_or_zero(none - corner, part.dilation, build)));
    Expr end_seen = loop::lesser(ceiling_or_zero(image_size - corner, part.dilation, build), count);
    Expr seen = loop::select(inner, count, loop::greater(end_seen - first_seen, none));
    give(at, build.let(loop::select(inner, high_begin - low_end, one)), first_seen, build.let(seen));
  });
}

}  // namespace ig::codegen
