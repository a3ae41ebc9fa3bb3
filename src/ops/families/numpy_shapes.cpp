// More of NumPy's ways to arrange elements, as composites: padding, stacking, turning, diagonals.
#include <algorithm>

#include "ops/families/compose.h"
#include "ops/shape_attrs.h"

namespace ig::ops {

std::vector<Op> numpy_shapes();

namespace {

constexpr Attr<Ints> kLow{"low", "How many elements to put before each axis; negative: to take away."};
constexpr Attr<Ints> kHigh{"high", "How many elements to put behind each axis; negative: to take away."};
constexpr Attr<std::string> kPadMode{"mode", "What is put there.", "\"constant\"",
                                     "constant|edge|reflect|symmetric|wrap"};
constexpr Attr<int64_t> kTurns{"k", "How many quarter turns.", "1"};
constexpr Attr<Ints> kPlane{"axes", "The two axes, from the first towards the second.", "[0, 1]"};
constexpr Attr<int64_t> kOffset{"k", "Which diagonal: above the main one where positive.", "0"};

int64_t rank_of(Value v) { return v->type().rank(); }
const Dim& size_of(Value v, int64_t axis) { return v->type().dims[static_cast<size_t>(axis)]; }

Value reversed(Builder& b, Value x, Ints axes) { return b("reverse", {x}, {kReversed % axes}); }
Value joined(Builder& b, std::vector<Value> parts, int64_t axis) {
  return parts.size() == 1 ? parts[0] : b("concatenate", std::move(parts), {kAxis % axis});
}

// --- pad
// ----------------------------------------------------------------------------------------------------------------
void infer_pad(InferContext& c) {
  for (size_t i = 1; i < c.size(); ++i) {
    c.require_same_dtype(0, i);
    c.require_rank(i, 0);
  }
  const Type& x = c.operand(0);
  tools::require_count(c, c.get(kLow).size(), x.dims.size(), "low");
  tools::require_count(c, c.get(kHigh).size(), x.dims.size(), "high");
  const std::string& mode = c.get(kPadMode);
  for (size_t i = 0; i < x.dims.size() && mode != "constant"; ++i) {
    int64_t low = c.get(kLow)[i], high = c.get(kHigh)[i];
    if (low < 0 || high < 0)
      c.fail(ErrorKind::Value, fmt::format("the width {} of axis {} is negative", std::min(low, high), i),
             "only constants can be put around what is left", "slice the array first");
    if (low == 0 && high == 0) continue;
    if (x.dims[i] == 0)
      c.fail(ErrorKind::Value, fmt::format("axis {} is empty", i),
             "what is put around it is made of its elements", "pad with a constant");
    // Of a size that is not fixed there are at least as many elements as are taken once.
    int64_t most = std::max(low, high) + (mode == "reflect" ? 1
                                          : mode == "edge"  ? 1 - std::max(low, high)
                                                            : 0);
    if (!x.dims[i].is_constant()) c.require_less_equal(most, x.dims[i], "the width and the axis");
  }
  tools::infer_by_body(c);
}

// The `count` elements in front of the axis, as mirrors at its start and end give them. `edge`: whether the
// mirror stands between two elements, so that the one at the edge is repeated.
Value mirrored(Compose& m, Value x, int64_t axis, int64_t count, bool edge) {
  std::vector<Value> parts;
  Value all = x;
  int64_t skip = edge ? 0 : 1;
  while (count > 0) {
    const Dim n = size_of(all, axis);
    int64_t now = n.is_constant() ? std::min(count, n.constant() - skip) : count;
    Value part = reversed(m.b, m.slice(all, axis, skip, skip + now), {axis});
    parts.insert(parts.begin(), part);
    count -= now;
    if (count > 0) all = joined(m.b, {part, all}, axis);
  }
  return joined(m.b, std::move(parts), axis);
}

// The ends of copies of the array side by side.
Value wrapped(Compose& m, Value x, int64_t axis, int64_t count, bool before) {
  const Dim n = size_of(x, axis);
  std::vector<Value> parts;
  while (n.is_constant() && count >= n.constant()) {
    parts.push_back(x);
    count -= n.constant();
  }
  if (count > 0) {
    Value rest = before ? m.slice(x, axis, n - count, n) : m.slice(x, axis, 0, count);
    parts.insert(before ? parts.begin() : parts.end(), rest);
  }
  return joined(m.b, std::move(parts), axis);
}

Value around(Compose& m, Value x, int64_t axis, int64_t count, bool before, const std::string& mode) {
  const Dim n = size_of(x, axis);
  if (mode == "wrap") return wrapped(m, x, axis, count, before);
  if (mode == "edge" || (mode == "reflect" && n == 1)) {
    Value edge = before ? m.slice(x, axis, 0, 1) : m.slice(x, axis, n - 1, n);
    Dims shape = x->type().dims;
    shape[static_cast<size_t>(axis)] = count;
    return m.b.broadcast_to(edge, shape);
  }
  if (before) return mirrored(m, x, axis, count, mode == "symmetric");
  return reversed(m.b, mirrored(m, reversed(m.b, x, {axis}), axis, count, mode == "symmetric"), {axis});
}

std::vector<Value> pad_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0];
  const Ints &low = c.get(kLow), &high = c.get(kHigh);
  const std::string& mode = c.get(kPadMode);
  if (mode == "constant") {
    Value value = c.operands.size() > 1 ? c.operands[1] : c.build.scalar(x->type().dtype, 0);
    Dims front(low.begin(), low.end()), behind(high.begin(), high.end());
    return {
        c.build("pad", {x, value}, {kPadLow % front, kPadHigh % behind, kPadInterior % Ints(low.size(), 0)})};
  }
  for (int64_t axis = 0; axis < rank_of(x); ++axis) {
    auto i = static_cast<size_t>(axis);
    std::vector<Value> parts{x};
    if (low[i] > 0) parts.insert(parts.begin(), around(m, x, axis, low[i], true, mode));
    if (high[i] > 0) parts.push_back(around(m, x, axis, high[i], false, mode));
    x = joined(c.build, std::move(parts), axis);
  }
  return {x};
}

// --- stacking
// -----------------------------------------------------------------------------------------------------------
void infer_parts(InferContext& c) {
  tools::require_operands(c, 1);
  for (size_t i = 1; i < c.size(); ++i) c.require_same_dtype(0, i);
  tools::infer_by_body(c);
}

Value at_least(Builder& b, Value x, size_t front, size_t rank) {
  Dims shape = x->type().dims;
  while (shape.size() < rank && front-- > 0) shape.insert(shape.begin(), Dim(int64_t{1}));
  while (shape.size() < rank) shape.push_back(1);
  return b.reshape(x, shape);
}

std::vector<Value> hstack_body(BodyContext& c) {
  std::vector<Value> parts;
  for (Value v : c.operands) parts.push_back(at_least(c.build, v, 1, 1));
  return {joined(c.build, parts, rank_of(parts[0]) == 1 ? 0 : 1)};
}
std::vector<Value> vstack_body(BodyContext& c) {
  std::vector<Value> parts;
  for (Value v : c.operands) parts.push_back(at_least(c.build, v, 2, 2));
  return {joined(c.build, parts, 0)};
}
// [n] becomes [1, n, 1], [m, n] becomes [m, n, 1].
std::vector<Value> dstack_body(BodyContext& c) {
  std::vector<Value> parts;
  for (Value v : c.operands) parts.push_back(at_least(c.build, v, rank_of(v) < 2 ? 1 : 0, 3));
  return {joined(c.build, parts, 2)};
}
std::vector<Value> column_stack_body(BodyContext& c) {
  std::vector<Value> parts;
  for (Value v : c.operands) parts.push_back(at_least(c.build, v, rank_of(v) == 0 ? 1 : 0, 2));
  return {joined(c.build, parts, 1)};
}

// --- turning
// ------------------------------------------------------------------------------------------------------------
void infer_rot90(InferContext& c) {
  tools::require_count(c, c.get(kPlane).size(), 2, "axes");
  tools::infer_by_body(c);
}

std::vector<Value> rot90_body(BodyContext& c) {
  Value x = c.operands[0];
  Ints plane = checked_axes("rot90", c.get(kPlane), static_cast<int>(rank_of(x)));
  int64_t turns = ((c.get(kTurns) % 4) + 4) % 4;
  if (turns == 0) return {x};
  if (turns == 2) return {reversed(c.build, x, {std::min(plane[0], plane[1]), std::max(plane[0], plane[1])})};
  Ints order = tools::iota(rank_of(x));
  std::swap(order[static_cast<size_t>(plane[0])], order[static_cast<size_t>(plane[1])]);
  if (turns == 1) return {c.build.transpose(reversed(c.build, x, {plane[1]}), order)};
  return {reversed(c.build, c.build.transpose(x, order), {plane[1]})};
}

template <int Axis>
std::vector<Value> flip_body(BodyContext& c) {
  return {reversed(c.build, c.operands[0], {Axis})};
}
template <int Axis>
void infer_flip(InferContext& c) {
  if (c.operand(0).rank() <= Axis)
    c.fail(ErrorKind::Shape, fmt::format("needs {} axes, got {}", Axis + 1, c.operand(0).str()),
           Axis == 0 ? "it turns over the first axis" : "it turns over the second axis",
           "add axes, or name the axis with ig.flip");
  tools::infer_by_body(c);
}

// --- diagonals
// ----------------------------------------------------------------------------------------------------------
void infer_diag(InferContext& c) {
  if (c.operand(0).rank() != 1 && c.operand(0).rank() != 2)
    c.fail(ErrorKind::Shape, fmt::format("needs one axis or two, got {}", c.operand(0).str()),
           "of a row it makes a matrix, of a matrix it takes a diagonal",
           "use ig.diagonal for stacks of matrices");
  tools::infer_by_body(c);
}

std::vector<Value> diag_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0];
  int64_t k = c.get(kOffset), away = std::abs(k);
  if (rank_of(x) == 2) return {c.build("diagonal", {x}, {{"offset", k}})};
  Value zero = c.build.scalar(x->type().dtype, 0);
  x = c.build("pad", {x, zero},
              {kPadLow % Dims{Dim(int64_t{0})}, kPadHigh % Dims{Dim(away)}, kPadInterior % Ints{0}});
  Dims square{size_of(x, 0), size_of(x, 0)};
  Value row = m.iota(DType::I64, square, 0), column = m.iota(DType::I64, square, 1);
  Value there = m.equal(column, m.add(row, static_cast<double>(k)));
  return {m.where(there, c.build.broadcast(x, square, {k >= 0 ? 0 : 1}), zero)};
}

void infer_fill(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_rank(1, 0);
  if (c.operand(0).rank() < 2)
    c.fail(ErrorKind::Shape, fmt::format("needs two axes or more, got {}", c.operand(0).str()),
           "the diagonal goes along all axes at once", "reshape the array");
  for (int i = 1; i < c.operand(0).rank() && c.operand(0).rank() > 2; ++i)
    c.require_equal(c.operand(0).dims[0], c.operand(0).dims[static_cast<size_t>(i)], "the sizes of the axes");
  tools::infer_by_body(c);
}

std::vector<Value> fill_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0], there = nullptr;
  const Dims& shape = x->type().dims;
  for (int64_t axis = 1; axis < rank_of(x); ++axis) {
    Value same = m.equal(m.iota(DType::I64, shape, 0), m.iota(DType::I64, shape, axis));
    there = there ? m.both(there, same) : same;
  }
  return {m.where(there, c.operands[1], x)};
}

void infer_ediff(InferContext& c) {
  c.require_dtype(0, DTypeSet::Numeric);
  for (size_t i = 1; i < c.size(); ++i) c.require_same_dtype(0, i);
  tools::infer_by_body(c);
}

std::vector<Value> ediff_body(BodyContext& c) {
  Compose m(c.build);
  auto flat = [&](Value v) { return c.build.reshape(v, {v->type().elements()}); };
  Value x = flat(c.operands[0]);
  const Dim n = size_of(x, 0);
  std::vector<Value> parts{n == 0 ? x : m.sub(m.slice(x, 0, 1, n), m.slice(x, 0, 0, n - 1))};
  if (c.operands.size() > 1) parts.push_back(flat(c.operands[1]));
  if (c.operands.size() > 2) parts.insert(parts.begin(), flat(c.operands[2]));
  return {joined(c.build, std::move(parts), 0)};
}

}  // namespace

std::vector<Op> numpy_shapes() {
  std::vector<Op> ops;
  auto add = [&](OpDecl decl, BodyFn body, InferFn infer = tools::infer_by_body) {
    ops.push_back(composite(std::move(decl), body, infer));
  };
  auto optional = [](const char* name, const char* doc) {
    return OperandSpec{.name = name, .doc = doc, .optional = true};
  };
  const OperandSpec x{"x", "The array."};
  OpDecl pad{
      .name = "pad_array",
      .python = "pad",
      .doc =
          "The array with elements around it: a constant, the edge's, the mirrored or the repeated ones.\n"
          "`reflect` mirrors at the element on the edge, `symmetric` behind it, `wrap` goes on at the other "
          "end.",
      .operands = {x, optional("value", "The constant; 0 where left out.")},
      .attrs = {kLow, kHigh, kPadMode},
      .numpy =
          "np.pad(x, list(zip(low, high)), mode, **({'constant_values': 0 if value is None else value} if "
          "mode == 'constant' else {}))",
      .example = "ig.pad(ig.asarray([1, 2, 3]), 2, mode='reflect')",
      .samples = {{"T[3]", "{low = [1], high = [2]}"},
                  {"T[2, 3], T[] {1}", "{low = [0, 1], high = [2, 0]}"},
                  {"T[0]", "{low = [1], high = [1]}"}},
      .bad_samples = {
          {"f32[3]", "{low = [1, 2], high = [1]}", "ValueError: pad: low has 2 entries, but 1 is needed"},
          {"f32[3]", "{low = [-1], high = [1], mode = \"edge\"}",
           "ValueError: pad: the width -1 of axis 0 is negative"},
          {"f32[0]", "{low = [1], high = [1], mode = \"wrap\"}", "ValueError: pad: axis 0 is empty"}}};
  for (const char* mode : {"edge", "reflect", "symmetric", "wrap"})
    for (const char* sample : {"T[5]|[2], high = [3]", "T[3]|[7], high = [8]", "T[1]|[2], high = [1]",
                               "T[2, 3]|[1, 0], high = [1, 2]"}) {
      std::string text = sample;
      size_t bar = text.find('|');
      pad.samples.push_back(
          {text.substr(0, bar), fmt::format("{{low = {}, mode = \"{}\"}}", text.substr(bar + 1), mode)});
    }
  add(std::move(pad), pad_body, infer_pad);

  const OperandSpec arrays{.name = "arrays", .doc = "The arrays.", .variadic = true};
  auto stacking = [&](std::string name, std::string doc, BodyFn body, std::vector<Sample> samples) {
    add({.name = name,
         .python = name,
         .doc = std::move(doc),
         .operands = {arrays},
         .numpy = "np." + name + "(arrays)",
         .example = "ig." + name + "([ig.asarray([1, 2]), ig.asarray([3, 4])])",
         .samples = std::move(samples)},
        body, infer_parts);
  };
  stacking("hstack", "The arrays side by side: along the second axis, or the only one.", hstack_body,
           {{"T[3], T[2]", "{}"}, {"T[2, 3], T[2, 1]", "{}"}, {"T[], T[]", "{}"}, {"T[0], T[2]", "{}"}});
  stacking("vstack", "The arrays one below the other: along the first axis; one of one axis is a row.",
           vstack_body,
           {{"T[3], T[3]", "{}"}, {"T[2, 3], T[1, 3]", "{}"}, {"T[2, 3], T[3]", "{}"}, {"T[], T[]", "{}"}});
  stacking("dstack", "The arrays behind one another: along the third axis.", dstack_body,
           {{"T[3], T[3]", "{}"},
            {"T[2, 3], T[2, 3]", "{}"},
            {"T[2, 3, 1], T[2, 3, 2]", "{}"},
            {"T[], T[]", "{}"}});
  stacking("column_stack", "The arrays as columns of a matrix; one of two axes is several columns.",
           column_stack_body, {{"T[3], T[3]", "{}"}, {"T[3, 2], T[3]", "{}"}, {"T[3, 1], T[3, 2]", "{}"}});

  add({.name = "rot90",
       .python = "rot90",
       .doc = "The array turned by a quarter, k times, in the plane of two axes.",
       .operands = {x},
       .attrs = {kTurns, kPlane},
       .numpy = "np.rot90(x, k, axes)",
       .example = "ig.rot90(ig.asarray([[1, 2], [3, 4]]))",
       .samples = {{"T[2, 3]", "{}"},
                   {"T[2, 3]", "{k = 2}"},
                   {"T[2, 3]", "{k = -1}"},
                   {"T[2, 3, 4]", "{k = 1, axes = [2, 0]}"},
                   {"T[2, 3]", "{k = 4}"}},
       .bad_samples = {{"f32[2, 3]", "{axes = [0]}",
                        "ValueError: rot90: axes has 1 entry, but 2 are needed"}}},
      rot90_body, infer_rot90);
  auto flipping = [&](std::string name, std::string doc, BodyFn body, InferFn infer, std::string bad,
                      std::string error) {
    add({.name = name,
         .python = name,
         .doc = std::move(doc),
         .operands = {x},
         .numpy = "np." + name + "(x)",
         .example = "ig." + name + "(ig.asarray([[1, 2], [3, 4]]))",
         .samples = {{"T[2, 3]", "{}"}, {"T[2, 3, 2]", "{}"}},
         .bad_samples = {{std::move(bad), "{}", std::move(error)}}},
        body, infer);
  };
  flipping("fliplr", "The columns in reverse order.", flip_body<1>, infer_flip<1>, "f32[3]",
           "ShapeError: fliplr: needs 2 axes, got f32[3]");
  flipping("flipud", "The rows in reverse order.", flip_body<0>, infer_flip<0>, "f32[]",
           "ShapeError: flipud: needs 1 axes, got f32[]");
  add({.name = "diag",
       .python = "diag",
       .doc = "The matrix with a row as its k-th diagonal, or the k-th diagonal of a matrix.",
       .operands = {x},
       .attrs = {kOffset},
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.diag(x, k)",
       .example = "ig.diag(ig.asarray([1, 2]))",
       .samples = {{"T[3]", "{}"},
                   {"T[3]", "{k = 2}"},
                   {"T[2]", "{k = -1}"},
                   {"T[2, 3]", "{k = 1}"},
                   {"T[0]", "{}"}},
       .bad_samples = {{"f32[]", "{}", "ShapeError: diag: needs one axis or two, got f32[]"}}},
      diag_body, infer_diag);
  add({.name = "fill_diagonal",
       .python = "fill_diagonal",
       .doc = "The array with a number on its main diagonal, as a new value.",
       .operands = {x, {"value", "The number."}},
       .numpy = "(lambda y: (np.fill_diagonal(y, value), y)[1])(x.copy())",
       .example = "ig.fill_diagonal(ig.asarray([[1, 2], [3, 4]]), 9)",
       .samples = {{"T[3, 3], T[] {1}", "{}"}, {"T[2, 4], T[] {1}", "{}"}, {"T[2, 2, 2], T[] {1}", "{}"}},
       .bad_samples = {{"f32[3], f32[]", "{}",
                        "ShapeError: fill_diagonal: needs two axes or more, got f32[3]"}}},
      fill_body, infer_fill);
  add({.name = "ediff1d",
       .python = "ediff1d",
       .doc = "The differences of neighbours among all elements in one row.",
       .operands = {x, optional("to_end", "What comes behind them."),
                    optional("to_begin", "What comes before them.")},
       .dtypes = DTypeSet::Numeric,
       .numpy = "np.ediff1d(x, to_end, to_begin)",
       .example = "ig.ediff1d(ig.asarray([1, 4, 9]))",
       .samples = {{"T[5]", "{}"}, {"T[2, 3], T[2], T[1]", "{}"}, {"T[1]", "{}"}, {"T[0]", "{}"}}},
      ediff_body, infer_ediff);
  return ops;
}

}  // namespace ig::ops
