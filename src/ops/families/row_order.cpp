// Keys become signed integers whose order is that of the row. Of a short row each key's place is counted at
// once: how many are less, or equal and before it, which vectors compare many at a time. A long row is sorted
// by digits of eight bits from the last on (LSD radix sort, Knuth, The Art of Computer Programming 5.2.5) of
// the distances from the least key; bits in front of and behind those that any distance has are left out.
// Both are stable and take no branch that an element decides.
#include "ops/families/row_order.h"

namespace ig::ops {

using namespace tools;
using loop::Expr;

namespace {

// Rows of as many elements are sorted by counting: so many comparisons of each take as long as the digits'
// passes, whose tables have 256 places.
constexpr int64_t kShort = 128;
constexpr int64_t kDigit = 8;

}  // namespace

RowOrder::RowOrder(NestContext& c, DType key_type, const Dim& n, bool descending, bool nan_first)
    : build_(*c.build),
      n_(c.size(n)),
      key_type_(wide_type(key_type)),
      whole_(size_of(key_type_) == 8 ? DType::I64 : DType::I32),
      lanes_(whole_ == DType::I64 ? 16 : 32),
      descending_(descending),
      nan_first_(nan_first) {
  keys_ = build_.add_scratch(whole_, n * 2, "keys");
  positions_ = build_.add_scratch(DType::I64, n * 2, "positions");
  counts_ = build_.add_scratch(DType::I64, int64_t{1} << kDigit, "counts");
  half_ = build_.local(DType::I64, 1, 1, "half");
  before_ = build_.local(DType::I64, 1, 1, "before");
  found_ = build_.local(whole_, lanes_, 1, "found");
}

Expr RowOrder::comparable(Expr key) {
  auto whole = [&](int64_t value) { return build_.constant_int(whole_, value); };
  const int64_t least = whole_ == DType::I64 ? INT64_MIN : INT32_MIN;
  Expr order;
  if (is_float(key_type_)) {
    // Sign and magnitude, as a number: so -0 is 0, and what is round has zeros for its last bits.
    Expr bits = bitcast(key, whole_), sign = shift_right(bits, whole(whole_ == DType::I64 ? 63 : 31));
    order = ((bits & whole(~least)) ^ sign) - sign;
  } else if (size_of(key_type_) < size_of(whole_)) {
    order = convert(key, whole_);
  } else {
    order = key_type_ == whole_ ? key : bitcast(key, whole_) ^ whole(least);
  }
  if (descending_) order = ~order;
  if (is_float(key_type_)) order = select(is_nan(key), whole(nan_first_ ? least : ~least), order);
  return order;
}

void RowOrder::run(const std::function<Expr(Expr)>& key) {
  build_.assign(half_, index(0));
  build_.vector_for(index(0), n_, lanes_, [&](Expr i) { build_.store(keys_, i, comparable(widen(key(i)))); });
  build_.if_then(n_ <= index(kShort), [&] { by_rank(); }, [&] { by_digits(); });
}

Expr RowOrder::position(Expr i) { return build_.load(positions_, build_.read(half_) + i); }

void RowOrder::by_rank() {
  Expr none = build_.constant_int(whole_, 0), one = build_.constant_int(whole_, 1);
  Expr lanes = index(lanes_);
  build_.serial_for(index(0), (n_ + lanes - index(1)) / lanes, [&](Expr group) {
    Expr first = build_.let(group * lanes), end = build_.let(loop::lesser(first + lanes, n_));
    build_.vector_for(first, end, lanes_, [&](Expr i) {
      Expr own = build_.let(build_.load(keys_, i));
      build_.assign(found_, none);
      auto count = [&](Expr from, Expr to, auto&& goes_before) {
        build_.serial_for(from, to, [&](Expr j) {
          Expr other = build_.let(build_.load(keys_, j));
          build_.assign(found_, build_.read(found_) + select(goes_before(other, j), one, none));
        });
      };
      count(index(0), first, [&](Expr other, Expr) { return other <= own; });
      count(first, end, [&](Expr other, Expr j) { return (other < own) | ((other == own) & (j < i)); });
      count(end, n_, [&](Expr other, Expr) { return other < own; });
      build_.store(positions_, n_ + i, convert(build_.read(found_), DType::I64));
    });
  });
  build_.serial_for(index(0), n_,
                    [&](Expr i) { build_.store(positions_, build_.load(positions_, n_ + i), i); });
}

void RowOrder::by_digits() {
  Expr none = build_.constant_int(whole_, 0), one = build_.constant_int(whole_, 1);
  build_.assign(found_, build_.constant_int(whole_, whole_ == DType::I64 ? INT64_MAX : INT32_MAX));
  build_.vector_for(index(0), n_, lanes_, [&](Expr i) {
    build_.assign(found_, loop::lesser(build_.read(found_), build_.load(keys_, i)));
  });
  Expr least = build_.let(build_.reduce_lanes(found_, loop::Reduction::Min));
  build_.assign(found_, none);
  build_.vector_for(index(0), n_, lanes_, [&](Expr i) {
    Expr above = build_.let(build_.load(keys_, i) - least);
    build_.store(keys_, i, above);
    build_.store(positions_, i, i);
    build_.assign(found_, build_.read(found_) | above);
  });
  Expr used = build_.let(build_.reduce_lanes(found_, loop::Reduction::Or));
  Expr lowest = build_.let(convert(popcount((used & (none - used)) - one), DType::I64));
  Expr end =
      index(static_cast<int64_t>(size_of(whole_)) * 8) - convert(count_leading_zeros(used), DType::I64);
  Expr digits = build_.let((loop::greater(end - lowest, index(0)) + index(kDigit - 1)) / index(kDigit));
  build_.serial_for(index(0), digits,
                    [&](Expr digit) { by_digit(convert(lowest + digit * index(kDigit), whole_)); });
}

// Moves the row from one half to the other, ordered by the digit that begins at bit `low`.
void RowOrder::by_digit(Expr low) {
  low = build_.let(low);
  auto place = [&](Expr key) {
    return build_.let(convert(shift_right_logical(key, low) & build_.constant_int(whole_, 255), DType::I64));
  };
  Expr places = index(int64_t{1} << kDigit);
  Expr from = build_.let(build_.read(half_)), to = build_.let(n_ - from);
  build_.vector_for(index(0), places, 8, [&](Expr i) { build_.store(counts_, i, index(0)); });
  build_.serial_for(index(0), n_, [&](Expr i) {
    Expr at = place(build_.load(keys_, from + i));
    build_.store(counts_, at, build_.load(counts_, at) + index(1));
  });
  build_.assign(before_, index(0));
  build_.serial_for(index(0), places, [&](Expr i) {
    Expr count = build_.let(build_.load(counts_, i)), start = build_.let(build_.read(before_));
    build_.store(counts_, i, start);
    build_.assign(before_, start + count);
  });
  build_.serial_for(index(0), n_, [&](Expr i) {
    Expr key = build_.let(build_.load(keys_, from + i)), at = place(key);
    Expr next = build_.let(build_.load(counts_, at));
    build_.store(counts_, at, next + index(1));
    build_.store(keys_, to + next, key);
    build_.store(positions_, to + next, build_.load(positions_, from + i));
  });
  build_.assign(half_, to);
}

}  // namespace ig::ops
