// The longer of the tools declared in compose.h.
#include "ops/families/compose.h"

#include <algorithm>

#include "ops/families/elementwise.h"
#include "ops/shape_attrs.h"

namespace ig::ops {

Value Compose::count(Value x, const Ints& axes) {
  Dim count = 1;
  for (int64_t axis : axes) count = count * x->type().dims[static_cast<size_t>(axis)];
  DType dtype = x->type().dtype;
  if (count.is_constant()) return b.scalar(dtype, static_cast<double>(count.constant()));
  Value whole = b("dimension_size", {}, {{"size", Dims{count}}});
  return b.convert(whole, dtype);
}

Value Compose::slice(Value x, int64_t axis, const Dim& start, const Dim& limit, int64_t stride) {
  const Dims& dims = x->type().dims;
  Dims first(dims.size(), Dim(int64_t{0})), last = dims;
  Ints steps(dims.size(), 1);
  auto i = static_cast<size_t>(axis);
  first[i] = start;
  last[i] = limit;
  steps[i] = stride;
  return b("slice", {x}, {kStart % first, kLimit % last, kSliceStrides % steps});
}

Value Compose::times_rows(Value x, Value w) {
  return b("dot_general", {x, w},
           {{"lhs_contracting_dimensions", Ints{x->type().rank() - 1}},
            {"rhs_contracting_dimensions", Ints{w->type().rank() - 1}}});
}

Op composite(OpDecl decl, BodyFn body, InferFn infer) {
  decl.traits |= static_cast<uint32_t>(Trait::Composite);
  // Where all operands and results have one shape, the composite stays whole under a batch.
  bool whole = (decl.traits & static_cast<uint32_t>(Trait::Elementwise)) != 0;
  return {.decl = std::move(decl),
          .rules = {.infer = infer,
                    .reference = tools::by_body(),
                    .lower = LowerRule::of_body(),
                    .simplify = tools::no_rule("its body is simplified once it is expanded"),
                    .jvp = tools::by_body(),
                    .transpose = tools::by_body(),
                    .batch = whole ? Rule<BatchFn>(batch_elementwise) : Rule<BatchFn>(tools::by_body()),
                    .body = body},
          .id = {}};
}

void give_examples(std::vector<Op>& ops,
                   const std::vector<std::pair<std::string_view, std::string>>& examples) {
  for (const auto& [name, example] : examples) {
    auto op = std::find_if(ops.begin(), ops.end(), [&](const Op& o) { return o.decl.python == name; });
    IG_CHECK(op != ops.end(), "an example of {}, which this family does not have", name);
    op->decl.example = example;
  }
}

int64_t checked_axis(std::string_view op, int64_t axis, int rank) {
  if (axis < -rank || axis >= rank)
    throw make_error(ErrorKind::Index, "{}: axis {} is out of range for {} axes", op, axis, rank)
        .why("an axis is named by its position, or by its distance from the end as a negative number")
        .hint(rank > 0 ? fmt::format("axes count from 0 to {}, or from -{} to -1", rank - 1, rank)
                       : std::string("a scalar has no axis"));
  return axis < 0 ? axis + rank : axis;
}

Ints checked_axes(std::string_view op, const Ints& axes, int rank) {
  Ints out;
  for (int64_t axis : axes) {
    int64_t a = checked_axis(op, axis, rank);
    if (tools::contains_axis(out, a))
      throw make_error(ErrorKind::Value, "{}: axis {} is named twice", op, a)
          .why("each axis can be meant once")
          .hint("name it once; a negative axis counts from the end");
    out.push_back(a);
  }
  return out;
}

}  // namespace ig::ops
