// The array API's ways to change a shape, as composites over the structural primitives: broadcast_to,
// reshape, permute_dims, moveaxis, squeeze, expand_dims, flip, roll, stack, concat, unstack, tile, repeat,
// diff.
#include <algorithm>

#include "ops/families/compose.h"
#include "ops/families/families.h"
#include "ops/shape_attrs.h"

namespace ig::ops {

std::vector<Op> numpy_indexing();  // numpy_indexing.cpp
std::vector<Op> numpy_shapes();    // numpy_shapes.cpp

namespace {

constexpr Attr<Ints> kAxisList{"axis", "The axes; none: all of them.", "[]"};
constexpr Attr<Ints> kAxesOrder{"axes", "For each axis of the result, the operand's axis it was."};
constexpr Attr<Ints> kSource{"source_axes", "The axes that move."};
constexpr Attr<Ints> kDestination{"destination_axes", "Where they go."};
constexpr Attr<int64_t> kNewAxis{"axis", "Where the new axis stands in the result.", "0"};
constexpr Attr<int64_t> kJoinAxis{"axis", "The axis along which they are joined.", "0"};
constexpr Attr<int64_t> kLast{"axis", "The axis, counted from the end where negative.", "-1"};
constexpr Attr<Ints> kShift{"shift", "By how many places, for each axis; towards the end where positive."};
constexpr Attr<Ints> kRepetitions{"repetitions", "How often, for each axis of the result."};
constexpr Attr<int64_t> kRepeats{"repeats", "How often each element is repeated."};
constexpr Attr<int64_t> kOrder{"n", "How often the difference is taken.", "1"};

int rank_of(Value v) { return v->type().rank(); }

std::vector<Value> broadcast_to_body(BodyContext& c) {
  return {c.build.broadcast_to(c.operands[0], c.get(kShape))};
}

// One size may be -1: what is left over.
std::vector<Value> reshape_body(BodyContext& c) {
  Value x = c.operands[0];
  Dims shape = c.get(kShape);
  int64_t open = -1;
  Dim known = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] == -1) {
      if (open >= 0)
        throw make_error(ErrorKind::Value, "reshape: shape {} has more than one -1", str(shape))
            .why("one size alone can follow from the others")
            .hint("give the other sizes");
      open = static_cast<int64_t>(i);
    } else {
      known = known * shape[i];
    }
  }
  if (open >= 0) {
    Dim all = x->type().elements();
    if (known == 0)
      throw make_error(ErrorKind::Shape, "reshape: the -1 of shape {} can be any size", str(shape))
          .why("another size is 0")
          .hint("give all sizes");
    shape[static_cast<size_t>(open)] = floordiv(all, known);
  }
  if (!c.build.graph().dims.decide_equal(x->type().elements(), product(shape)))
    throw make_error(ErrorKind::Shape, "reshape: {} does not hold as many elements as {}", str(c.get(kShape)),
                     str(x->type().dims))
        .why(fmt::format("the array has {} elements", x->type().elements().str()))
        .hint("the product of the sizes must stay the same");
  return {c.build.reshape(x, shape)};
}

std::vector<Value> permute_body(BodyContext& c) {
  return {c.build.transpose(c.operands[0],
                            checked_axes("permute_dims", c.get(kAxesOrder), rank_of(c.operands[0])))};
}

void infer_permute(InferContext& c) {
  tools::require_count(c, c.get(kAxesOrder).size(), c.operand(0).dims.size(), "axes");
  tools::infer_by_body(c);
}

void infer_moveaxis(InferContext& c) {
  tools::require_count(c, c.get(kDestination).size(), c.get(kSource).size(), "destination_axes");
  tools::infer_by_body(c);
}

std::vector<Value> moveaxis_body(BodyContext& c) {
  int rank = rank_of(c.operands[0]);
  Ints from = checked_axes("moveaxis", c.get(kSource), rank),
       to = checked_axes("moveaxis", c.get(kDestination), rank);
  Ints permutation(static_cast<size_t>(rank), -1);
  for (size_t i = 0; i < from.size(); ++i) permutation[static_cast<size_t>(to[i])] = from[i];
  int64_t next = 0;
  for (int64_t& p : permutation) {
    if (p >= 0) continue;
    while (tools::contains_axis(from, next)) ++next;
    p = next++;
  }
  return {c.build.transpose(c.operands[0], permutation)};
}

std::vector<Value> squeeze_body(BodyContext& c) {
  const Dims& dims = c.operands[0]->type().dims;
  Ints axes = checked_axes("squeeze", c.get(kAxisList), rank_of(c.operands[0]));
  Dims shape;
  for (size_t i = 0; i < dims.size(); ++i) {
    bool named = tools::contains_axis(axes, static_cast<int64_t>(i));
    if (named && !(dims[i] == 1))
      throw make_error(ErrorKind::Value, "squeeze: axis {} has size {}, not 1", i, dims[i].str())
          .why("only axes of size 1 can go")
          .hint("name axes of size 1");
    if (!named && !(axes.empty() && dims[i] == 1)) shape.push_back(dims[i]);
  }
  return {c.build.reshape(c.operands[0], shape)};
}

std::vector<Value> expand_body(BodyContext& c) {
  int64_t axis = checked_axis("expand_dims", c.get(kNewAxis), rank_of(c.operands[0]) + 1);
  Dims shape = c.operands[0]->type().dims;
  shape.insert(shape.begin() + axis, Dim(int64_t{1}));
  return {c.build.reshape(c.operands[0], shape)};
}

std::vector<Value> flip_body(BodyContext& c) {
  Ints axes = checked_axes("flip", c.get(kAxisList), rank_of(c.operands[0]));
  if (axes.empty()) axes = tools::iota(rank_of(c.operands[0]));
  return {axes.empty() ? c.operands[0] : c.build("reverse", {c.operands[0]}, {kReversed % axes})};
}

void infer_roll(InferContext& c) {
  size_t axes = c.get(kAxisList).size();
  tools::require_count(c, c.get(kShift).size(), axes == 0 ? 1 : axes, "shift");
  tools::infer_by_body(c);
}

Value rolled(Compose& m, Value x, int64_t axis, int64_t shift) {
  const Dim n = x->type().dims[static_cast<size_t>(axis)];
  if (n == 0) return x;
  // The last `back` elements come to the front. A size that may be 0 is kept from being a divisor.
  Dim back = mod(Dim(shift), n.is_constant() ? n : max(n, Dim(int64_t{1})));
  if (back == 0) return x;
  return m.b("concatenate", {m.slice(x, axis, n - back, n), m.slice(x, axis, 0, n - back)}, {kAxis % axis});
}

std::vector<Value> roll_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0];
  const Ints& shift = c.get(kShift);
  if (c.get(kAxisList).empty()) {
    Value flat = c.build.reshape(x, {x->type().elements()});
    return {c.build.reshape(rolled(m, flat, 0, shift[0]), x->type().dims)};
  }
  for (size_t i = 0; i < shift.size(); ++i)
    x = rolled(m, x, checked_axis("roll", c.get(kAxisList)[i], rank_of(x)), shift[i]);
  return {x};
}

void infer_join(InferContext& c) {
  tools::require_operands(c, 1);
  for (size_t i = 1; i < c.size(); ++i) c.require_same_dtype(0, i);
  tools::infer_by_body(c);
}

std::vector<Value> concat_body(BodyContext& c) {
  int64_t axis = checked_axis("concat", c.get(kJoinAxis), rank_of(c.operands[0]));
  return {c.build("concatenate", {c.operands.begin(), c.operands.end()}, {kAxis % axis})};
}

void infer_stack(InferContext& c) {
  for (size_t i = 1; i < c.size(); ++i) c.require_same_shape(0, i);
  infer_join(c);
}

std::vector<Value> stack_body(BodyContext& c) {
  int64_t axis = checked_axis("stack", c.get(kNewAxis), rank_of(c.operands[0]) + 1);
  std::vector<Value> parts;
  for (Value v : c.operands) {
    Dims shape = v->type().dims;
    shape.insert(shape.begin() + axis, Dim(int64_t{1}));
    parts.push_back(c.build.reshape(v, shape));
  }
  return {c.build("concatenate", parts, {kAxis % axis})};
}

std::vector<Value> unstack_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0];
  int64_t axis = checked_axis("unstack", c.get(kJoinAxis), rank_of(x));
  const Dim& n = x->type().dims[static_cast<size_t>(axis)];
  if (!n.is_constant())
    throw make_error(ErrorKind::Shape, "unstack: the size {} of axis {} is not fixed", n.str(), axis)
        .why("the number of results is part of the program")
        .hint("use scan to walk over an axis of symbolic size");
  Dims shape = x->type().dims;
  shape.erase(shape.begin() + axis);
  std::vector<Value> out;
  for (int64_t i = 0; i < n.constant(); ++i)
    out.push_back(c.build.reshape(m.slice(x, axis, i, i + 1), shape));
  return out;
}

std::vector<Value> tile_body(BodyContext& c) {
  Ints times = c.get(kRepetitions);
  Dims dims = c.operands[0]->type().dims;
  while (times.size() < dims.size()) times.insert(times.begin(), 1);
  while (dims.size() < times.size()) dims.insert(dims.begin(), Dim(int64_t{1}));
  Dims wide, narrow, joined;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (times[i] < 0)
      throw make_error(ErrorKind::Value, "tile: {} repetitions are not possible", times[i])
          .why("it is how often the array stands along the axis")
          .hint("give 0 or more");
    narrow.insert(narrow.end(), {Dim(int64_t{1}), dims[i]});
    wide.insert(wide.end(), {Dim(times[i]), dims[i]});
    joined.push_back(dims[i] * times[i]);
  }
  Value x = c.build.broadcast_to(c.build.reshape(c.operands[0], narrow), wide);
  return {c.build.reshape(x, joined)};
}

std::vector<Value> repeat_body(BodyContext& c) {
  int64_t axis = checked_axis("repeat", c.get(kLast), rank_of(c.operands[0])), times = c.get(kRepeats);
  if (times < 0)
    throw make_error(ErrorKind::Value, "repeat: {} repeats are not possible", times)
        .why("it is how often each element stands in the result")
        .hint("give 0 or more");
  Dims narrow = c.operands[0]->type().dims, joined = narrow;
  narrow.insert(narrow.begin() + axis + 1, Dim(int64_t{1}));
  Dims wide = narrow;
  wide[static_cast<size_t>(axis) + 1] = times;
  joined[static_cast<size_t>(axis)] = joined[static_cast<size_t>(axis)] * times;
  return {c.build.reshape(c.build.broadcast_to(c.build.reshape(c.operands[0], narrow), wide), joined)};
}

void infer_diff(InferContext& c) {
  c.require_dtype(0, DTypeSet::Numeric);
  if (c.get(kOrder) < 0)
    c.fail(ErrorKind::Value, fmt::format("n is {}, below 0", c.get(kOrder)), "differences are taken n times",
           "give 0 or more");
  tools::infer_by_body(c);
}

std::vector<Value> diff_body(BodyContext& c) {
  Compose m(c.build);
  Value x = c.operands[0];
  int64_t axis = checked_axis("diff", c.get(kLast), rank_of(x));
  for (int64_t i = 0; i < c.get(kOrder); ++i) {
    const Dim n = x->type().dims[static_cast<size_t>(axis)];
    if (n == 0) break;
    x = m.sub(m.slice(x, axis, 1, n), m.slice(x, axis, 0, n - 1));
  }
  return {x};
}

OpDecl shape_decl(std::string name, std::string doc, std::vector<AttrSpec> attrs, std::string numpy,
                  std::vector<Sample> samples, std::vector<BadSample> bad = {}) {
  return {.name = name == "reshape" ? "reshape_to" : name,
          .python = name,
          .doc = std::move(doc),
          .operands = {{"x", "The array."}},
          .attrs = std::move(attrs),
          .numpy = std::move(numpy),
          .samples = std::move(samples),
          .bad_samples = std::move(bad)};
}

}  // namespace

std::vector<Op> numpy_composites() {
  std::vector<Op> ops;
  auto add = [&](OpDecl decl, BodyFn body, InferFn infer = tools::infer_by_body) {
    ops.push_back(composite(std::move(decl), body, infer));
  };
  add(shape_decl("broadcast_to",
                 "The array repeated along its axes of size 1, and new axes in front, to `shape`.", {kShape},
                 "np.broadcast_to(x, shape)",
                 {{"T[]", "{shape = [2, 3]}"},
                  {"T[3]", "{shape = [2, 3]}"},
                  {"T[2, 1]", "{shape = [2, 4]}"},
                  {"T[1, 3]", "{shape = [2, 5, 3]}"},
                  {"T[1]", "{shape = [0]}"}}),
      broadcast_to_body);
  add(shape_decl(
          "reshape", "The same elements in row-major order with other sizes; one size may be -1.", {kShape},
          "x.reshape(shape)",
          {{"T[6]", "{shape = [2, 3]}"},
           {"T[2, 3]", "{shape = [-1]}"},
           {"T[2, 3, 4]", "{shape = [4, -1, 2]}"},
           {"T[]", "{shape = [1]}"},
           {"T[0, 3]", "{shape = [3, -1]}"},
           {"T[1]", "{shape = []}"}},
          {{"T[6]", "{shape = [-1, -1]}", "ValueError: reshape: shape [-1, -1] has more than one -1"},
           {"T[6]", "{shape = [4]}", "ShapeError: reshape: [4] does not hold as many elements as [6]"}}),
      reshape_body);
  add(shape_decl(
          "permute_dims", "The array with its axes reordered.", {kAxesOrder}, "np.transpose(x, axes)",
          {{"T[2, 3]", "{axes = [1, 0]}"},
           {"T[2, 3, 4]", "{axes = [2, 0, 1]}"},
           {"T[]", "{axes = []}"},
           {"T[0, 2]", "{axes = [1, 0]}"}},
          {{"T[2, 3]", "{axes = [0]}", "ValueError: permute_dims: axes has 1 entry, but 2 are needed"}}),
      permute_body, infer_permute);
  add(shape_decl("moveaxis", "The array with some axes moved, the others in their order.",
                 {kSource, kDestination}, "np.moveaxis(x, source_axes, destination_axes)",
                 {{"T[2, 3, 4]", "{source_axes = [0], destination_axes = [2]}"},
                  {"T[2, 3, 4]", "{source_axes = [0, 1], destination_axes = [2, 0]}"},
                  {"T[5]", "{source_axes = [0], destination_axes = [0]}"}}),
      moveaxis_body, infer_moveaxis);
  add(shape_decl("squeeze", "The array without axes of size 1: those named, or all.", {kAxisList},
                 "np.squeeze(x, tuple(axis) if len(axis) else None)",
                 {{"T[1, 3, 1]", "{axis = [0]}"},
                  {"T[1, 3, 1]", "{axis = [0, 2]}"},
                  {"T[1, 3, 1]", "{}"},
                  {"T[1]", "{axis = [0]}"},
                  {"T[1, 0]", "{axis = [0]}"}},
                 {{"T[2, 1]", "{axis = [0]}", "ValueError: squeeze: axis 0 has size 2, not 1"}}),
      squeeze_body);
  add(shape_decl("expand_dims", "The array with a new axis of size 1.", {kNewAxis}, "np.expand_dims(x, axis)",
                 {{"T[3]", "{axis = 0}"},
                  {"T[2, 3]", "{axis = 1}"},
                  {"T[2, 3]", "{axis = 2}"},
                  {"T[]", "{axis = 0}"},
                  {"T[0]", "{axis = 1}"}},
                 {{"T[3]", "{axis = 2}", "IndexError: expand_dims: axis 2 is out of range for 2 axes"}}),
      expand_body);
  add(shape_decl("flip", "The array with the order reversed along the axes named, or all.", {kAxisList},
                 "np.flip(x, tuple(axis) if len(axis) else None)",
                 {{"T[5]", "{axis = [0]}"},
                  {"T[2, 3]", "{axis = [1]}"},
                  {"T[2, 3]", "{}"},
                  {"T[0, 2]", "{}"},
                  {"T[]", "{}"}},
                 {{"T[3]", "{axis = [1]}", "IndexError: flip: axis 1 is out of range for 1 axes"}}),
      flip_body);
  add(shape_decl("roll", "The array shifted in a circle along each axis named; with none, as one long row.",
                 {kShift, kAxisList},
                 "np.roll(x, list(shift) if len(axis) else shift[0], tuple(axis) if len(axis) else None)",
                 {{"T[5]", "{shift = [2], axis = [0]}"},
                  {"T[5]", "{shift = [-7], axis = [0]}"},
                  {"T[2, 3]", "{shift = [1, 2], axis = [0, 1]}"},
                  {"T[2, 3]", "{shift = [4]}"},
                  {"T[0]", "{shift = [1], axis = [0]}"},
                  {"T[3]", "{shift = [0], axis = [0]}"}},
                 {{"T[3]", "{shift = [1, 2], axis = [0]}",
                   "ValueError: roll: shift has 2 entries, but 1 is needed"}}),
      roll_body, infer_roll);
  std::vector<OperandSpec> arrays{{.name = "arrays", .doc = "The arrays.", .variadic = true}};
  OpDecl concat = shape_decl(
      "concat", "The arrays joined along an axis that they have.", {kJoinAxis},
      "np.concatenate(arrays, axis)",
      {{"T[3], T[2]", "{}"}, {"T[2, 3], T[2, 1]", "{axis = 1}"}, {"T[3]", "{}"}, {"T[0], T[2], T[0]", "{}"}});
  concat.operands = arrays;
  add(std::move(concat), concat_body, infer_join);
  OpDecl stack =
      shape_decl("stack", "The arrays side by side along a new axis.", {kNewAxis}, "np.stack(arrays, axis)",
                 {{"T[3], T[3]", "{}"},
                  {"T[2, 3], T[2, 3], T[2, 3]", "{axis = 2}"},
                  {"T[], T[]", "{}"},
                  {"T[0], T[0]", "{axis = 1}"}},
                 {{"T[3], T[2]", "{}", "ShapeError: stack: shapes [3] and [2] differ"}});
  stack.operands = arrays;
  add(std::move(stack), stack_body, infer_stack);
  OpDecl unstack = shape_decl("unstack", "The slices along an axis, one array each.", {kJoinAxis},
                              "tuple(np.moveaxis(x, axis, 0))",
                              {{"T[3]", "{}"}, {"T[2, 3]", "{axis = 1}"}, {"T[1, 2, 2]", "{}"}});
  unstack.results = -1;
  add(std::move(unstack), unstack_body);
  add(shape_decl("tile", "The array repeated as a whole, for each axis.", {kRepetitions},
                 "np.tile(x, repetitions)",
                 {{"T[3]", "{repetitions = [2]}"},
                  {"T[2, 3]", "{repetitions = [2, 2]}"},
                  {"T[2]", "{repetitions = [3, 1]}"},
                  {"T[2, 3]", "{repetitions = [2]}"},
                  {"T[2]", "{repetitions = [0]}"},
                  {"T[]", "{repetitions = [2]}"}}),
      tile_body);
  add(shape_decl("repeat", "The array with each element repeated along an axis.", {kRepeats, kLast},
                 "np.repeat(x, repeats, axis)",
                 {{"T[3]", "{repeats = 2}"},
                  {"T[2, 3]", "{repeats = 3, axis = 0}"},
                  {"T[2, 3]", "{repeats = 2, axis = 1}"},
                  {"T[3]", "{repeats = 0}"},
                  {"T[0]", "{repeats = 2}"}}),
      repeat_body);
  OpDecl diff = shape_decl("diff", "The differences of neighbours along an axis, taken n times.",
                           {kOrder, kLast}, "np.diff(x, n, axis)",
                           {{"T[5]", "{}"},
                            {"T[2, 4]", "{n = 2}"},
                            {"T[3, 2]", "{axis = 0}"},
                            {"T[3]", "{n = 0}"},
                            {"T[1]", "{}"}});
  diff.dtypes = DTypeSet::Numeric;
  add(std::move(diff), diff_body, infer_diff);
  for (Op& op : numpy_indexing()) ops.push_back(std::move(op));
  for (Op& op : numpy_shapes()) ops.push_back(std::move(op));
  give_examples(ops, {
                         {"broadcast_to", "ig.broadcast_to(ig.asarray([1, 2]), (2, 2))"},
                         {"reshape", "ig.reshape(ig.asarray([1, 2, 3, 4]), (2, -1))"},
                         {"permute_dims", "ig.permute_dims(ig.asarray([[1, 2], [3, 4]]), (1, 0))"},
                         {"moveaxis", "ig.moveaxis(ig.zeros((2, 3, 4)), 0, 2).shape"},
                         {"squeeze", "ig.squeeze(ig.asarray([[1, 2]]), 0)"},
                         {"expand_dims", "ig.expand_dims(ig.asarray([1, 2]), axis=1)"},
                         {"flip", "ig.flip(ig.asarray([1, 2, 3]))"},
                         {"roll", "ig.roll(ig.asarray([1, 2, 3]), 1)"},
                         {"concat", "ig.concat([ig.asarray([1, 2]), ig.asarray([3])])"},
                         {"stack", "ig.stack([ig.asarray([1, 2]), ig.asarray([3, 4])])"},
                         {"unstack", "ig.unstack(ig.asarray([[1, 2], [3, 4]]))"},
                         {"tile", "ig.tile(ig.asarray([1, 2]), (2,))"},
                         {"repeat", "ig.repeat(ig.asarray([1, 2]), 2)"},
                         {"diff", "ig.diff(ig.asarray([1, 4, 9]))"},
                     });
  return ops;
}

}  // namespace ig::ops
