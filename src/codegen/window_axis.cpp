// Parts of an axis, by index arithmetic that folds to numbers where the sizes are numbers.
#include "codegen/window_axis.h"

#include <algorithm>
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

std::vector<std::vector<int64_t>> WindowAxis::taps_seen() const {
  std::vector<std::vector<int64_t>> out(static_cast<size_t>(places.constant()));
  for (size_t place = 0; place < out.size(); ++place)
    for (int64_t tap = 0; tap < taps; ++tap) {
      const int64_t at = static_cast<int64_t>(place) * stride - low + tap * dilation;
      if (at >= 0 && at % gaps == 0 && at / gaps < image.constant()) out[place].push_back(tap);
    }
  return out;
}

std::vector<RowTiles> WindowAxis::row_tiles(int64_t most) const {
  const int64_t all = places.constant(), kinds = classes();
  most = most / kinds * kinds;
  if (all == 0 || most == 0) return {};
  const int64_t count = (all + most - 1) / most,
                height = ((all + count - 1) / count + kinds - 1) / kinds * kinds;
  const auto seen = taps_seen();
  std::vector<RowTiles> out;
  for (int64_t first = 0; first < all; first += height) {
    RowTiles tile{first, std::min(height, all - first)};
    tile.taps.assign(seen.begin() + first, seen.begin() + first + tile.places);
    if (!out.empty() && out.back().taps == tile.taps)
      ++out.back().repeats;
    else
      out.push_back(std::move(tile));
  }
  return out;
}

WindowPart WindowAxis::part_of_tap(loop::Builder& build, const ops::SizeFn& size, Expr from, Expr to,
                                   Expr tap) const {
  // The first place's element under the tap, where it is 0: places begin at the first element that is seen.
  Expr offset = build.let(tap * dilation - build.index(low));
  Expr begin = ceiling_or_zero(build.index(0) - offset, stride, build);
  Expr end = ceiling_or_zero(size(image) - offset, stride, build);
  begin = build.let(loop::lesser(loop::greater(begin, from), to));
  WindowPart part;
  part.first = begin;
  part.count = build.let(loop::greater(loop::lesser(end, to) - begin, build.index(0)));
  part.origin = begin * stride + offset;
  part.tap = tap, part.taps = build.index(1);
  part.stride = stride;
  part.dilation = dilation;
  return part;
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
  Expr first_whole = ceiling_or_zero(none - origin, part.stride, build);
  Expr room = image_size - origin - (count - one) * part.dilation - one;
  Expr first_over = loop::greater(room + build.index(part.stride), none) / build.index(part.stride);
  if (gaps > 1) {  // without a tap all places are alike
    first_whole = loop::select(count == none, none, first_whole);
    first_over = loop::select(count == none, end, first_over);
  }
  first_whole = build.let(first_whole), first_over = build.let(first_over);
  Expr low_end = build.let(loop::lesser(loop::greater(first_whole, begin), end));
  Expr high_begin = build.let(loop::lesser(loop::greater(first_over, low_end), end));
  // As many border places as the taps are apart miss the same taps, counted from the places between, unless
  // windows reach over both ends.
  Expr alike = one;
  if (part.stride == 1 && part.dilation > 1)
    alike =
        build.let(loop::select((room < none) | (first_over < first_whole), one, build.index(part.dilation)));
  auto groups = [&](Expr nearest, Expr farthest) {  // of the distances between these
    return loop::select(farthest < nearest, none, farthest / alike - nearest / alike + one);
  };
  Expr farthest_low = build.let(first_whole - one - begin);
  Expr nearest_high = build.let((high_begin - first_over) / alike);
  Expr before = build.let(groups(first_whole - low_end, farthest_low));
  Expr all = before + one + groups(high_begin - first_over, end - one - first_over);
  build.serial_for(none, all, [&](Expr q) {
    Expr inner = build.let(q == before), low = build.let(q < before);
    Expr low_at = first_whole - (farthest_low / alike - q + one) * alike;
    Expr high_at = first_over + (nearest_high + q - before - one) * alike;
    Expr group = build.let(loop::select(low, low_at, high_at));
    Expr at =
        build.let(loop::select(inner, low_end, loop::greater(group, loop::select(low, begin, high_begin))));
    Expr stop = loop::lesser(group + alike, loop::select(low, low_end, end));
    Expr corner = build.let(origin + at * part.stride);
    Expr first_seen =
        build.let(loop::select(inner, none, ceiling_or_zero(none - corner, part.dilation, build)));
    Expr end_seen = loop::lesser(ceiling_or_zero(image_size - corner, part.dilation, build), count);
    Expr seen = loop::select(inner, count, loop::greater(end_seen - first_seen, none));
    give(at, build.let(loop::select(inner, high_begin - low_end, stop - at)), first_seen, build.let(seen));
  });
}

}  // namespace ig::codegen
