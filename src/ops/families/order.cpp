// Ops that order elements: sort (of several arrays by the first), top_k. Both put the positions of each row
// in order (row_order.h), stable, the same for every dtype; but for a few greatest elements, which top_k
// keeps in order as it walks a row.
//
// A key is compared as a wide value (float32 for 16-bit floats). NaN: sort puts it last, in either direction;
// top_k counts it as the greatest. -0 and +0 are equal.
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>

#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"
#include "ops/families/bounds_rules.h"
#include "ops/families/compose.h"
#include "ops/families/derivative_rules.h"
#include "ops/families/families.h"
#include "ops/families/row_order.h"
#include "ops/order_attrs.h"
#include "ops/table.h"

namespace ig::ops {

std::vector<Op> order_composites();  // order_composites.cpp

namespace {

using namespace tools;
using loop::Expr;

// --- sort
// --------------------------------------------------------------------------------------------------------------
void infer_sort(InferContext& c) {
  require_operands(c, 1);
  const Type& key = c.operand(0);
  if (key.dtype != DType::Bool) c.require_dtype(0, DTypeSet::Real);
  c.axis(c.get(kAxis), key.rank());
  for (size_t i = 0; i < c.size(); ++i) {
    if (i > 0) c.require_same_shape(0, i);
    c.result(c.operand(i).dtype, key.dims);
  }
}

// Whether element a goes before element b, where equal ones keep their order.
bool before(const Literal& key, int64_t a, int64_t b, bool descending, bool nan_first) {
  bool nan_a = is_nan_at(key, a), nan_b = is_nan_at(key, b);
  if (nan_a || nan_b) return nan_first ? nan_a && !nan_b : nan_b && !nan_a;
  if (is_float(key.dtype()))
    return descending ? key.as_double(a) > key.as_double(b) : key.as_double(a) < key.as_double(b);
  int64_t x = key.as_int(a), y = key.as_int(b);
  if (descending) std::swap(x, y);
  return is_unsigned_int(key.dtype()) ? static_cast<uint64_t>(x) < static_cast<uint64_t>(y) : x < y;
}

// The positions along a row, in order. `flat(i)` gives the flat index of the row's element i.
template <typename Flat>
Index ordered_row(const Literal& key, int64_t n, Flat flat, bool descending, bool nan_first) {
  Index row(static_cast<size_t>(n));
  std::iota(row.begin(), row.end(), 0);
  std::stable_sort(row.begin(), row.end(), [&](int64_t a, int64_t b) {
    return before(key, flat(a), flat(b), descending, nan_first);
  });
  return row;
}

void reference_sort(ReferenceContext& c) {
  const Literal& key = c.operands[0];
  auto axis = static_cast<size_t>(c.attrs.get(kAxis));
  std::vector<int64_t> rows = key.dims();
  int64_t n = rows[axis];
  rows[axis] = 1;
  each_index(rows, [&](const Index& index, int64_t) {
    auto flat = [&](int64_t i) {
      Index at = index;
      at[axis] = i;
      return flat_of(key.dims(), at);
    };
    Index order = ordered_row(key, n, flat, c.attrs.get(kDescending), false);
    for (size_t r = 0; r < c.results.size(); ++r)
      for (int64_t i = 0; i < n; ++i)
        copy_element(c.results[r], flat(i), c.operands[r], flat(order[static_cast<size_t>(i)]));
  });
}

// Whether key a comes before key b.
Expr comes_before(Expr a, Expr b, bool descending, bool nan_first) {
  Expr less = descending ? (b < a) : (a < b);
  if (!is_float(a.type())) return less;
  return less | (nan_first ? (is_nan(a) & ~is_nan(b)) : (is_nan(b) & ~is_nan(a)));
}

void nest_sort(NestContext& c) {
  loop::Builder& build = *c.build;
  const Type& key = c.node->operand(0)->type();
  auto axis = static_cast<size_t>(c.node->attrs().get(kAxis));
  Dim outer = product(Dims(key.dims.begin(), key.dims.begin() + static_cast<int64_t>(axis)));
  Dim inner = product(Dims(key.dims.begin() + static_cast<int64_t>(axis) + 1, key.dims.end()));
  c.set_blocks(outer * inner);
  RowOrder order(c, key.dtype, key.dims[axis], c.node->attrs().get(kDescending), false);
  Expr n = c.size(key.dims[axis]), stride = c.size(inner);
  Expr row = build.block();
  Expr base = build.let(row / stride * n * stride + row % stride);
  auto at = [&](Expr i) { return base + i * stride; };
  order.run([&](Expr i) { return build.load(c.operands[0], at(i)); });
  for (size_t r = 0; r < c.results.size(); ++r)
    build.serial_for(build.index(0), n, [&](Expr i) {
      Expr from = build.let(order.position(i));
      build.store(c.results[r], at(i), build.load(c.operands[r], at(from)));
    });
}

Value simplify_sort(SimplifyContext& c) {
  Value x = c.node->operand(0);
  const Dim& n = x->type().dims[static_cast<size_t>(c.node->attrs().get(kAxis))];
  return c.node->operands().size() == 1 && (n == 0 || n == 1) ? x : nullptr;
}

Op sort_op() {
  return {
      .decl =
          {.name = "sort",
           .python = "",
           .doc =
               "The arrays with each row along `axis` in the order of the first array's elements; the others "
               "follow it.\nThe sort is stable. NaN comes last in either direction; -0 and +0 are equal. "
               "StableHLO's sort with its comparison given by `descending`.",
           .operands = {{.name = "arrays",
                         .doc = "The keys, then arrays of the same shape.",
                         .variadic = true}},
           .attrs = {kAxis, kDescending, kStable},
           .results = -1,
           .dtypes = DTypeSet::Real,
           .front = Front::None,
           .numpy =
               "none: NumPy sorts one array, upwards; the public sort and argsort are checked against it",
           .example = "",
           .samples = {{"T[7]", "{axis = 0}"},
                       {"T[7]", "{axis = 0, descending = true}"},
                       {"T[33]", "{axis = 0}", -3, 3},
                       {"T[300]", "{axis = 0}"},
                       {"T[129]", "{axis = 0, descending = true}", -3, 3},
                       {"T[2, 200, 3], i64[2, 200, 3]", "{axis = 1}", -2, 2},
                       {"T[3, 5]", "{axis = 1}", -2, 2},
                       {"T[5, 3]", "{axis = 0, descending = true}", -2, 2},
                       {"T[2, 6, 3], i64[2, 6, 3], T[2, 6, 3]", "{axis = 1}", -2, 2},
                       {"T[8], bool[8]", "{axis = 0}", -2, 2},
                       {"T[1]", "{axis = 0}"},
                       {"T[0]", "{axis = 0}"},
                       {"T[0, 3]", "{axis = 1}"},
                       {"T[3, 0]", "{axis = 1}"}},
           .bad_samples = {}},
      .rules = {.infer = infer_sort,
                .reference = reference_sort,
                .lower = LowerRule::of_nest(nest_sort),
                .simplify = simplify_sort,
                .jvp = jvp_sort,
                .transpose = not_linear(),
                .batch = batch_along_axis,
                .body = no_body(),
                .bounds = bounds_of_same},
      .id = {}};
}

// --- top_k
// -------------------------------------------------------------------------------------------------------------
void infer_top_k(InferContext& c) {
  const Type& x = c.operand(0);
  c.require_dtype(0, DTypeSet::Real);
  if (x.rank() == 0)
    c.fail(ErrorKind::Shape, "a scalar has no row to take from", "the elements are taken along the last axis",
           "reshape to (1,) first");
  int64_t k = c.get(kK);
  if (k < 0)
    c.fail(ErrorKind::Value, fmt::format("k is {}, but it counts elements", k),
           "there is no negative number of elements", "give 0 or more");
  if (x.dims.back().is_constant() && k > x.dims.back().constant())
    c.fail(ErrorKind::Value, fmt::format("k is {}, but a row has {} elements", k, x.dims.back().str()),
           "k different elements are taken", "give a k that a row holds");
  c.require_less_equal(k, x.dims.back(), "k and the size of a row");
  Dims dims = x.dims;
  dims.back() = k;
  c.result(x.dtype, dims);
  c.result(DType::I64, dims);
}

void reference_top_k(ReferenceContext& c) {
  const Literal& x = c.operands[0];
  int64_t n = x.dims().back(), k = c.attrs.get(kK), rows = 1;
  for (size_t i = 0; i + 1 < x.dims().size(); ++i) rows *= x.dims()[i];
  for (int64_t row = 0; row < rows; ++row) {
    Index order = ordered_row(x, n, [&](int64_t i) { return row * n + i; }, true, true);
    for (int64_t i = 0; i < k; ++i) {
      copy_element(c.results[0], row * k + i, x, row * n + order[static_cast<size_t>(i)]);
      set_whole(c.results[1], row * k + i, order[static_cast<size_t>(i)]);
    }
  }
}

// The k greatest elements of one row, in order, from the greatest on. An element goes to its place by one
// step for all places at once; where none of a part of the row comes before the last one kept, no more is
// done.
class FewGreatest {
 public:
  FewGreatest(NestContext& c, DType key_type, int64_t k)
      : build_(*c.build), type_(wide_type(key_type)), k_(k), lanes_(std::bit_ceil(static_cast<uint64_t>(k))) {
    const Dim both_halves = 2 * (lanes_ + 1);  // each behind a key that nothing comes before
    keys_ = build_.add_scratch(type_, both_halves, "keys");
    positions_ = build_.add_scratch(DType::I64, both_halves, "positions");
    half_ = build_.local(DType::I64, 1, 1, "half");
    found_ = build_.local(DType::I32, kVector, 1, "found");
  }

  void run(Expr n, const std::function<Expr(Expr)>& key) {
    constexpr int64_t kPart = 64;
    for (int64_t half : {0, 1}) build_.store(keys_, index(half * (lanes_ + 1)), highest());
    build_.assign(half_, index(0));
    build_.serial_for(index(0), index(k_), [&](Expr i) { insert(widen(key(i)), i); });
    Expr parts = build_.let((n - index(k_) + index(kPart - 1)) / index(kPart));
    build_.serial_for(index(0), parts, [&](Expr part) {
      Expr first = build_.let(index(k_) + part * index(kPart));
      Expr end = build_.let(loop::lesser(first + index(kPart), n)), last = build_.let(least());
      Expr none = build_.constant_int(DType::I32, 0), one = build_.constant_int(DType::I32, 1);
      build_.assign(found_, none);
      build_.vector_for(first, end, kVector, [&](Expr i) {
        build_.assign(found_, build_.read(found_) | select(before(widen(key(i)), last), one, none));
      });
      build_.if_then(build_.reduce_lanes(found_, loop::Reduction::Or) > none, [&] {
        build_.serial_for(first, end, [&](Expr i) {
          Expr value = build_.let(widen(key(i)));
          build_.if_then(before(value, least()), [&] { insert(value, i); });
        });
      });
    });
  }

  Expr position(Expr i) { return build_.load(positions_, build_.read(half_) + i + index(1)); }

 private:
  static constexpr int kVector = 32;

  Expr index(int64_t value) { return build_.index(value); }
  Expr before(Expr a, Expr b) { return comes_before(a, b, true, true); }
  Expr least() { return build_.load(keys_, build_.read(half_) + index(k_)); }
  Expr highest() {
    if (is_float(type_)) return build_.constant(type_, std::numeric_limits<double>::quiet_NaN());
    const auto bits = static_cast<int64_t>(8 * size_of(type_)) - (is_signed_int(type_) ? 1 : 0);
    return build_.constant_int(type_, static_cast<int64_t>(~uint64_t{0} >> (64 - bits)));
  }
  // Element i of the row, with so many before it: what it comes before goes on by one place.
  void insert(Expr value, Expr i) {
    value = build_.let(value);
    Expr from = build_.let(build_.read(half_)), to = build_.let(index(lanes_ + 1) - from);
    build_.vector_for(index(1), index(lanes_ + 1), static_cast<int>(lanes_), [&](Expr place) {
      Expr at = from + place, previous = at - index(1);
      Expr key_before = build_.let(build_.load(keys_, previous)), here = build_.let(build_.load(keys_, at));
      Expr moves = build_.let(before(value, key_before)),
           stays = build_.let(~before(value, here) & (place <= i));
      auto pick = [&](Expr moved, Expr own, Expr kept) {
        return select(moves, moved, select(stays, kept, own));
      };
      build_.store(keys_, to + place, pick(key_before, value, here));
      build_.store(positions_, to + place,
                   pick(build_.load(positions_, previous), i, build_.load(positions_, at)));
    });
    build_.assign(half_, to);
  }

  loop::Builder& build_;
  DType type_;
  int64_t k_, lanes_;
  uint32_t keys_, positions_, half_, found_;
};

void nest_top_k(NestContext& c) {
  constexpr int64_t kFew = 64;
  loop::Builder& build = *c.build;
  const Type& x = c.node->operand(0)->type();
  const int64_t count = c.node->attrs().get(kK);
  c.set_blocks(product(Dims(x.dims.begin(), x.dims.end() - 1)));
  if (count == 0) return;
  Expr n = c.size(x.dims.back()), base = build.let(build.block() * n);
  Expr k = build.index(count), out = build.let(build.block() * k);
  auto key = [&](Expr i) { return build.load(c.operands[0], base + i); };
  auto write = [&](auto& order) {
    build.serial_for(build.index(0), k, [&](Expr i) {
      Expr from = build.let(order.position(i));
      build.store(c.results[0], out + i, key(from));
      build.store(c.results[1], out + i, from);
    });
  };
  if (count <= kFew) {
    FewGreatest few(c, x.dtype, count);
    few.run(n, key);
    return write(few);
  }
  RowOrder order(c, x.dtype, x.dims.back(), true, true);
  order.run(key);
  write(order);
}

Op top_k_op() {
  return {
      .decl = {.name = "top_k",
               .python = "top_k",
               .doc = "The k greatest elements of each row (the last axis), from the greatest on, and their "
                      "positions as int64.\nOf equal elements the earlier comes first; a NaN counts as the "
                      "greatest.",
               .operands = {{"x", "The array."}},
               .attrs = {kK},
               .results = 2,
               .dtypes = DTypeSet::Real,
               .numpy = "(lambda i: (np.take_along_axis(x, i, -1), i.astype(np.int64)))((x.shape[-1] - 1 - "
                        "np.argsort(x[..., ::-1], axis=-1, kind='stable'))[..., ::-1][..., :k])",
               .example = "ig.top_k(ig.asarray([1, 4, 2, 3]), k=2)",
               .samples = {{"T[7]", "{k = 3}"},
                           {"T[7]", "{k = 7}", -2, 2},
                           {"T[3, 20]", "{k = 4}", -2, 2},
                           {"T[2, 3, 5]", "{k = 1}"},
                           {"T[3, 150]", "{k = 9}", -3, 3},
                           {"T[2, 90]", "{k = 64}"},
                           {"T[2, 90]", "{k = 65}", -2, 2},
                           {"T[5]", "{k = 0}"},
                           {"T[0]", "{k = 0}"},
                           {"T[0, 4]", "{k = 2}"},
                           {"T[1]", "{k = 1}"}},
               .bad_samples = {{"T[]", "{k = 1}", "ShapeError: top_k: a scalar has no row to take from"},
                               {"T[3]", "{k = 4}", "ValueError: top_k: k is 4, but a row has 3 elements"},
                               {"T[3]", "{k = -1}", "ValueError: top_k: k is -1, but it counts elements"}}},
      .rules = {.infer = infer_top_k,
                .reference = reference_top_k,
                .lower = LowerRule::of_nest(nest_top_k),
                .simplify = no_rule("it has two results"),
                .jvp = jvp_top_k,
                .transpose = not_linear(),
                .batch = batch_in_front,
                .body = no_body(),
                .bounds = bounds_of_top},
      .id = {}};
}

}  // namespace

std::vector<Op> order_ops() {
  std::vector<Op> ops;
  ops.push_back(sort_op());
  ops.push_back(top_k_op());
  for (Op& op : order_composites()) ops.push_back(std::move(op));
  give_examples(ops, {
                         {"sort", "ig.sort(ig.asarray([3, 1, 2]))"},
                         {"argsort", "ig.argsort(ig.asarray([3, 1, 2]))"},
                         {"searchsorted", "ig.searchsorted(ig.asarray([1, 3, 5]), ig.asarray([3, 4]))"},
                     });
  return ops;
}

}  // namespace ig::ops
