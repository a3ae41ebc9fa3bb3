// How the bodies of composites are written: arithmetic on values that broadcasts as NumPy does, and the
// declaration of a composite in one call. Every name of an element-wise op that a body of these families uses
// stands here once.
#pragma once

#include <string>
#include <vector>

#include "ops/builder.h"
#include "ops/families/array_tools.h"
#include "ops/op.h"

namespace ig::ops {

class Compose {
 public:
  explicit Compose(Builder& build) : b(build) {}
  Builder& b;

  Value two(std::string_view op, Value x, Value y) {
    Dims shape = broadcast_shapes(x->type().dims, y->type().dims, b.graph().dims, op);
    return b(op, {b.broadcast_to(x, shape), b.broadcast_to(y, shape)});
  }
  Value number(Value like, double value) { return b.full_like(like, value); }
  Value add(Value x, Value y) { return two("add", x, y); }
  Value sub(Value x, Value y) { return two("subtract", x, y); }
  Value mul(Value x, Value y) { return two("multiply", x, y); }
  Value div(Value x, Value y) { return two("divide", x, y); }
  Value max(Value x, Value y) { return two("maximum", x, y); }
  Value min(Value x, Value y) { return two("minimum", x, y); }
  Value rem(Value x, Value y) { return two("remainder", x, y); }
  Value add(Value x, double y) { return add(x, number(x, y)); }
  Value sub(Value x, double y) { return sub(x, number(x, y)); }
  Value mul(Value x, double y) { return mul(x, number(x, y)); }
  Value div(Value x, double y) { return div(x, number(x, y)); }
  Value max(Value x, double y) { return max(x, number(x, y)); }
  Value min(Value x, double y) { return min(x, number(x, y)); }
  Value neg(Value x) { return b("negate", {x}); }
  Value abs(Value x) { return b("abs", {x}); }
  Value exp(Value x) { return b("exponential", {x}); }
  Value expm1(Value x) { return b("exponential_minus_one", {x}); }
  Value log(Value x) { return b("log", {x}); }
  Value log1p(Value x) { return b("log_plus_one", {x}); }
  Value tanh(Value x) { return b("tanh", {x}); }
  Value erf(Value x) { return b("erf", {x}); }
  Value erf_inv(Value x) { return b("erf_inv", {x}); }
  Value sqrt(Value x) { return b("sqrt", {x}); }
  Value logistic(Value x) { return b("logistic", {x}); }
  Value less(Value x, Value y) { return two("less", x, y); }
  Value less_equal(Value x, Value y) { return two("less_equal", x, y); }
  Value equal(Value x, Value y) { return two("equal", x, y); }
  Value both(Value x, Value y) { return two("and", x, y); }
  Value shift_right(Value x, int64_t by) {
    return two("shift_right_logical", x, number(x, static_cast<double>(by)));
  }
  Value where(Value condition, Value x, Value y) {
    const DimScope& scope = b.graph().dims;
    Dims shape = broadcast_shapes(broadcast_shapes(x->type().dims, y->type().dims, scope, "select"),
                                  condition->type().dims, scope, "select");
    return b("select",
             {b.broadcast_to(condition, shape), b.broadcast_to(x, shape), b.broadcast_to(y, shape)});
  }
  Value sum(Value x, Ints axes) { return b("reduce_sum", {x}, {{"axes", std::move(axes)}}); }
  Value top(Value x, Ints axes) { return b("reduce_max", {x}, {{"axes", std::move(axes)}}); }
  Value iota(DType dtype, const Dims& shape, int64_t axis) {
    return b("iota", {}, {{"shape", shape}, {"dtype", dtype}, {"axis", axis}});
  }

  // The same fold with each folded axis kept as size 1.
  Value keep(Value folded, Value like, const Ints& axes) {
    Dims shape = like->type().dims;
    for (int64_t axis : axes) shape[static_cast<size_t>(axis)] = 1;
    return b.reshape(folded, shape);
  }
  Value sum_keep(Value x, const Ints& axes) { return keep(sum(x, axes), x, axes); }
  Value top_keep(Value x, const Ints& axes) { return keep(top(x, axes), x, axes); }
  // How many elements the axes hold, as a number of x's type (symbolic sizes are computed at run time).
  Value count(Value x, const Ints& axes);
  Value mean_keep(Value x, const Ints& axes) { return div(sum_keep(x, axes), count(x, axes)); }
  // Two passes: the mean, then the mean of squared differences from it.
  Value centred(Value x, const Ints& axes) { return sub(x, mean_keep(x, axes)); }

  Value slice(Value x, int64_t axis, const Dim& start, const Dim& limit, int64_t stride = 1);
  Value wide(Value x) { return tools::is_half(x->type().dtype) ? b.convert(x, DType::F32) : x; }
  // x [.., k] times the rows of w [n, k]: y[.., n].
  Value times_rows(Value x, Value w);
};

// A composite by its declaration, its body, and the checks to make before (null: the body's own suffice).
Op composite(OpDecl decl, BodyFn body, InferFn infer = tools::infer_by_body);

// Examples of the functions of these names, for families whose declarations are made by helpers.
void give_examples(std::vector<Op>& ops,
                   const std::vector<std::pair<std::string_view, std::string>>& examples);

// An axis that may count from the end, checked. Error(Index) naming the op.
int64_t checked_axis(std::string_view op, int64_t axis, int rank);
Ints checked_axes(std::string_view op, const Ints& axes, int rank);

}  // namespace ig::ops
