// The public forms of ordering: sort and argsort with NumPy's arguments, and searchsorted.
#include <bit>

#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"
#include "ops/order_attrs.h"

namespace ig::ops {

std::vector<Op> order_composites();

namespace {

using namespace tools;
using loop::Expr;

constexpr Attr<int64_t> kSortAxis{"axis", "The axis along which it sorts.", "-1"};
constexpr Attr<std::string> kSide{"side",
                                  "Which place among equal elements: before (left) or behind (right) them.",
                                  "\"left\"", "left|right"};

void infer_rows(InferContext& c) {
  c.require_dtype(0, DTypeSet::Real);
  infer_by_body(c);
}

std::vector<Value> sort_body(BodyContext& c) {
  int64_t axis = checked_axis("sort", c.get(kSortAxis), c.operands[0]->type().rank());
  return {c.build("sort", {c.operands[0]}, {kAxis % axis, kDescending % c.get(kDescending)})};
}

std::vector<Value> argsort_body(BodyContext& c) {
  Compose m(c.build);
  const Dims& shape = c.operands[0]->type().dims;
  int64_t axis = checked_axis("argsort", c.get(kSortAxis), c.operands[0]->type().rank());
  std::vector<Value> sorted = c.build.many("sort", {c.operands[0], m.iota(DType::I64, shape, axis)},
                                           {kAxis % axis, kDescending % c.get(kDescending)});
  return {sorted[1]};
}

// --- searchsorted
// ------------------------------------------------------------------------------------------------------
void infer_search(InferContext& c) {
  const Type &sorted = c.operand(0), &values = c.operand(1);
  c.require_same_dtype(0, 1);
  c.require_dtype(0, DTypeSet::Real);
  if (sorted.rank() == 0 || sorted.rank() > values.rank() + 1)
    c.fail(ErrorKind::Shape, fmt::format("sorted has {} axes, and values {}", sorted.rank(), values.rank()),
           "sorted has one axis, or one row for each entry of the first axes of values",
           "flatten sorted, or give values its leading axes");
  for (int i = 0; i + 1 < sorted.rank(); ++i)
    c.require_equal(sorted.dims[static_cast<size_t>(i)], values.dims[static_cast<size_t>(i)],
                    "the leading axes of sorted and of values");
  c.result(DType::I64, c.operand(1).dims);
}

// Whether element i of a goes before element j of b, NaN being the greatest.
bool goes_before(const Literal& a, int64_t i, const Literal& b, int64_t j) {
  if (is_float(a.dtype())) return is_nan_at(b, j) ? !is_nan_at(a, i) : a.as_double(i) < b.as_double(j);
  if (is_unsigned_int(a.dtype()))
    return static_cast<uint64_t>(a.as_int(i)) < static_cast<uint64_t>(b.as_int(j));
  return a.as_int(i) < b.as_int(j);
}

// The place is built bit by bit from the highest: a step is taken where all it passes lies below the value.
// Both forms take the same steps, so that they answer alike where `sorted` is not sorted, too.
void reference_search(ReferenceContext& c) {
  const Literal &sorted = c.operands[0], &values = c.operands[1];
  bool right = c.attrs.get(kSide) == "right";
  int64_t n = sorted.dims().back(), rows = 1;
  for (size_t i = 0; i + 1 < sorted.dims().size(); ++i) rows *= sorted.dims()[i];
  for (int64_t v = 0; v < values.elements(); ++v) {
    int64_t first = v / (values.elements() / rows) * n, place = 0;
    for (uint64_t step = std::bit_floor(static_cast<uint64_t>(n)); step; step /= 2) {
      int64_t next = place + static_cast<int64_t>(step);
      if (next > n) continue;
      int64_t at = first + next - 1;
      bool below = right ? !goes_before(values, v, sorted, at) : goes_before(sorted, at, values, v);
      if (below) place = next;
    }
    set_whole(c.results[0], v, place);
  }
}

Expr point_search(PointContext& c) {
  loop::Builder& build = *c.build;
  bool right = c.node->attrs().get(kSide) == "right";
  const Dim& count = c.operand_type(0).dims.back();
  Expr zero = build.index(0);
  if (count == 0) return zero;
  Expr n = c.size(count), value = build.let(widen(c.at(1, c.index)));
  std::vector<Expr> row(c.index.begin(), c.index.begin() + c.operand_type(0).rank() - 1);
  auto before = [](Expr a, Expr b) {
    return is_float(a.type()) ? (a < b) | (is_nan(b) & ~is_nan(a)) : a < b;
  };
  Expr bits = build.index(64) - count_leading_zeros(n);
  return c.fold(bits, zero, [&](Expr i, Expr place) {
    Expr step = shift_left(build.index(1), bits - build.index(1) - i);
    Expr next = build.let(place + step);
    Expr at = build.let(loop::lesser(next, n) - build.index(1));
    std::vector<Expr> from = row;
    from.push_back(at);
    Expr probe = widen(c.at(0, from));
    Expr below = right ? ~before(value, probe) : before(probe, value);
    return select((next <= n) & below, next, place);
  });
}

Batched batch_search(BatchContext& c) {
  bool rows_of_own = c.axes[0] >= 0 || c.node->operand(0)->type().rank() > 1;
  return again(c, {rows_of_own ? in_front(c, 0) : c.operands[0], in_front(c, 1)}, c.node->attrs());
}

Op searchsorted_op() {
  return {
      .decl =
          {.name = "searchsorted",
           .python = "searchsorted",
           .doc =
               "Where each value would be put into the sorted array to keep it sorted, as int64.\nA NaN is "
               "greater than every number. Where `sorted` has more axes than one, each of its rows is for "
               "the "
               "values at the same place of the first axes.",
           .operands = {{"sorted", "An ascending array, or rows of them."},
                        {"values", "What is looked for."}},
           .attrs = {kSide},
           .dtypes = DTypeSet::Real,
           .numpy = "np.searchsorted(sorted, values, side=side) if sorted.ndim == 1 else "
                    "np.stack([np.searchsorted(s, "
                    "v, side=side) for s, v in zip(sorted, values)])",
           .samples = {{"T[5] {0, 1, 1, 2, 4}, T[6] {0, 1, 2, 3, 4, 5}", "{}"},
                       {"T[5] {0, 1, 1, 2, 4}, T[2, 3] {0, 1, 2, 3, 4, 5}", "{side = \"right\"}"},
                       {"T[1] {3}, T[3] {2, 3, 4}", "{}"},
                       {"T[8] {0, 1, 2, 3, 4, 5, 6, 7}, T[] {7}", "{side = \"right\"}"},
                       {"T[3] {1, 1, 1}, T[2] {1, 1}", "{}"},
                       {"T[3] {0, 1, 2}, T[0]", "{}"},
                       {"T[2, 3] {0, 1, 2, 3, 4, 5}, T[2, 2] {1, 2, 0, 9}", "{}"},
                       {"T[2, 3] {0, 1, 2, 3, 4, 5}, T[2] {1, 4}", "{side = \"right\"}"}},
           .bad_samples = {{"f32[], f32[2]", "{}",
                            "ShapeError: searchsorted: sorted has 0 axes, and values 1"},
                           {"f32[2, 3], f32[3]", "{}",
                            "ShapeError: searchsorted: the leading axes of sorted and of values: 2 and "
                            "3 differ"}},
           .usual = {{{"f32[2]", "f32[3]"}},
                     {{"f32[2]", "f32[3]"}, make_attrs({kSide % std::string("right")})}}},
      .rules = {.infer = infer_search,
                .reference = reference_search,
                .lower = LowerRule::of_point(point_search),
                .simplify = no_rule("nothing is simpler"),
                .jvp = discrete(),
                .transpose = discrete(),
                .batch = batch_search,
                .body = no_body()}};
}

}  // namespace

std::vector<Op> order_composites() {
  const std::string upwards = "np.sort(x, axis=axis, kind='stable')";
  // Downwards and stable, NaN last: positions sorted by the negated rank of their value.
  const std::string order =
      "(lambda r: np.argsort(np.where(x == x, -r if descending else r, r.size + 1), axis=axis, "
      "kind='stable'))(np.unique(x, return_inverse=True)[1].reshape(x.shape))";
  std::vector<Sample> samples{{"T[7]", "{}"},
                              {"T[3, 5]", "{axis = 0, descending = true}", -2, 2},
                              {"T[2, 6, 3]", "{axis = 1}", -2, 2},
                              {"T[33]", "{descending = true}", -3, 3},
                              {"T[1]", "{}"},
                              {"T[0]", "{}"},
                              {"T[2, 0]", "{}"}};
  std::vector<Op> ops;
  ops.push_back(composite({.name = "sort_array",
                           .python = "sort",
                           .doc = "The array with each row along `axis` in order; stable, NaN last.",
                           .operands = {{"x", "The array."}},
                           .attrs = {kSortAxis, kDescending, kStable},
                           .dtypes = DTypeSet::Real,
                           .numpy = "np.take_along_axis(x, " + order + ", axis) if x.size else x",
                           .samples = samples,
                           .usual = {{{"f32[2]"}},
                                     {{"f32[2, 3]"}, make_attrs({kSortAxis % 0})},
                                     {{"f64[2]"}},
                                     {{"f64[2, 3]"}},
                                     {{"i64[2]"}},
                                     {{"i64[2, 3]"}}}},
                          sort_body, infer_rows));
  ops.push_back(
      composite({.name = "argsort",
                 .python = "argsort",
                 .doc = "The positions, as int64, that put each row along `axis` in order; stable, NaN last.",
                 .operands = {{"x", "The array."}},
                 .attrs = {kSortAxis, kDescending, kStable},
                 .dtypes = DTypeSet::Real,
                 .numpy = order + " if x.size else np.zeros(x.shape, np.int64)",
                 .samples = samples,
                 .usual = {{{"f32[2]"}}, {{"f32[2, 3]"}}, {{"f64[2]"}}, {{"f64[2, 3]"}}, {{"i64[2]"}}}},
                argsort_body, infer_rows));
  ops.push_back(searchsorted_op());
  return ops;
}

}  // namespace ig::ops
