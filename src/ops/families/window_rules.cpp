// Derivatives of windows that slide over an array.
#include "ops/families/compose.h"
#include "ops/families/derivative_rules.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"
#include "ops/window_attrs.h"

namespace ig::ops {
namespace {

using namespace tools;

}  // namespace

// The first of equal elements in row-major order, and a NaN before every number.
Value at_the_greatest(Builder& b, Value x, Value t, const WindowDims& d, const Dims& out) {
  Compose m(b);
  size_t rank = d.window.size();
  Dims low, high;
  for (size_t i = 0; i < rank; ++i) {
    low.emplace_back(d.low[i]);
    // So that a slice of that many strides is there, whatever a division leaves.
    high.emplace_back(d.high[i] + d.strides[i] - 1);
  }
  auto padded = [&](Value v, double edge) {
    return b("pad", {v, b.scalar(v->type().dtype, edge)},
             {kPadLow % low, kPadHigh % high, kPadInterior % Ints(rank, 0)});
  };
  Value wide = padded(x, -std::numeric_limits<double>::infinity()), moved = padded(t, 0);
  Value best = nullptr, chosen = nullptr;
  Ints place(rank, 0);
  for (bool more = true; more;) {
    Dims start, limit;
    for (size_t i = 0; i < rank; ++i) {
      start.emplace_back(place[i] * d.dilations[i]);
      limit.push_back(start[i] + out[i] * d.strides[i]);
    }
    auto part = [&](Value v) {
      return b("slice", {v}, {kStart % start, kLimit % limit, kSliceStrides % d.strides});
    };
    Value here = part(wide), tangent = part(moved);
    if (!best) {
      best = here, chosen = tangent;
    } else {
      Value known = m.equal(best, best);
      Value greater = m.both(m.b("or", {m.less(best, here), m.two("not_equal", here, here)}), known);
      best = m.where(greater, here, best);
      chosen = m.where(greater, tangent, chosen);
    }
    more = false;
    for (size_t i = rank; i-- > 0 && !more;) {
      if (++place[i] < d.window[i])
        more = true;
      else
        place[i] = 0;
    }
  }
  return chosen;
}

namespace {

std::vector<std::pair<std::string, AttrValue>> windows_of(const Attrs& attrs) {
  return {{kWindow.name, attrs.get(kWindow)},
          {kWindowStrides.name, attrs.get(kWindowStrides)},
          {kWindowDilations.name, attrs.get(kWindowDilations)},
          {kWindowPadding.name, attrs.get(kWindowPadding)}};
}

std::vector<Value> extreme(JvpContext& c, bool greatest) {
  if (!c.tangents[0]) return {nullptr};
  if (surely_empty(c.results[0]->type())) return {nullptr};
  Value x = greatest ? c.operands[0] : c.build("negate", {c.operands[0]});
  return {c.build("window_at_greatest", {x, c.tangents[0]}, windows_of(c.node->attrs()))};
}

}  // namespace

std::vector<Value> jvp_window_max(JvpContext& c) { return extreme(c, true); }
std::vector<Value> jvp_window_min(JvpContext& c) { return extreme(c, false); }

// Each element gets the sum over the windows that it lies in: a window of its own over the cotangents, which
// are spread out by the stride. Along axes whose windows stand side by side that is one cotangent, repeated.
std::vector<Value> transpose_window_sum(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr};
  const Type& x = c.node->operand(0)->type();
  if (surely_empty(ct->type())) return {c.build.full(x, 0)};
  WindowDims d(c.node->attrs(), x.rank(), c.node->op().name());
  const Dim none = int64_t{0};
  const Dims few = ct->type().dims;
  Dims low, high, split, joined, cut, filled;
  Ints interior, window = d.window, dilations = d.dilations, places;
  bool overlap = false, uneven = false;
  for (size_t i = 0; i < d.window.size(); ++i) {
    const bool side_by_side = d.window[i] > 1 && d.strides[i] == d.window[i] && d.dilations[i] == 1;
    places.push_back(static_cast<int64_t>(split.size()));
    if (side_by_side) {
      low.push_back(none), high.push_back(none), interior.push_back(0);
      window[i] = dilations[i] = 1;
      split.push_back(few[i]), split.emplace_back(d.window[i]);
      joined.push_back(few[i] * d.window[i]);
      cut.emplace_back(-d.low[i]), filled.push_back(x.dims[i] + Dim(d.low[i]) - joined.back());
    } else {
      const int64_t reach = (d.window[i] - 1) * d.dilations[i];
      low.emplace_back(reach - d.low[i]);
      high.push_back(x.dims[i] + Dim(reach) - ((few[i] - 1) * d.strides[i] + 1) - low.back());
      interior.push_back(d.strides[i] - 1);
      split.push_back(x.dims[i]), joined.push_back(x.dims[i]), cut.push_back(none), filled.push_back(none);
      overlap = overlap || interior.back() > 0 || window[i] > 1 || low.back() != none || high.back() != none;
    }
    uneven = uneven || cut.back() != none || filled.back() != none;
  }
  const Value zero = c.build.scalar(x.dtype, 0);
  if (overlap) {
    Value wide = c.build("pad", {ct, zero}, {kPadLow % low, kPadHigh % high, kPadInterior % interior});
    ct = c.build("reduce_window_sum", {wide}, {kWindow % window, kWindowDilations % dilations});
  }
  if (split.size() > few.size()) ct = c.build.reshape(c.build.broadcast(ct, split, places), joined);
  if (uneven)
    ct = c.build("pad", {ct, zero}, {kPadLow % cut, kPadHigh % filled, kPadInterior % Ints(few.size(), 0)});
  return {ct};
}

// Which element is the greatest does not change with x but in leaps.
std::vector<Value> jvp_window_at_greatest(JvpContext& c) {
  if (!c.tangents[1]) return {nullptr};
  return {c.build.node(op_of(c.node), {c.operands[0], c.tangents[1]}, c.node->attrs())->result()};
}

namespace {

void refuse_linear_in_x(const TransposeContext& c, const char* name) {
  if (!c.linear[0]) return;
  throw make_error(ErrorKind::Unsupported, "{}: it is not linear, and cannot be transposed", name)
      .at(c.node->location().str())
      .why("it chooses places by x, which depends on what it would have to be linear in")
      .hint("transpose it by its other operand alone");
}

}  // namespace

// Each cotangent goes to one element, the one that was chosen.
std::vector<Value> transpose_window_at_greatest(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr};
  refuse_linear_in_x(c, "window_at_greatest");
  return {nullptr, c.build("select_and_scatter_add", {c.operands[0], ct}, windows_of(c.node->attrs()))};
}

std::vector<Value> jvp_select_and_scatter(JvpContext& c) {
  if (!c.tangents[1]) return {nullptr};
  return {c.build.node(op_of(c.node), {c.operands[0], c.tangents[1]}, c.node->attrs())->result()};
}

std::vector<Value> transpose_select_and_scatter(TransposeContext& c) {
  Value ct = c.cotangents[0];
  if (!ct) return {nullptr, nullptr};
  refuse_linear_in_x(c, "select_and_scatter_add");
  if (surely_empty(c.node->operand(1)->type())) return {nullptr, nullptr};
  return {nullptr, c.build("window_at_greatest", {c.operands[0], ct}, windows_of(c.node->attrs()))};
}

}  // namespace ig::ops
