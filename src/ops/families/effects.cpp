// Effects: what a graph does besides giving results. Each takes a token and gives one; where the chain of a
// block begins, create_token makes the first. The reference rule of an effect does it, on the operands behind
// the token.
#include "ops/effects.h"

#include <cstring>

#include <fmt/format.h>

#include "ops/families/array_tools.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using namespace tools;

constexpr Attr<std::string> kText{"text", "What is printed; {0}, {1:.2f} and so on stand for the values."};
constexpr Attr<int64_t> kRepeat{
    "repeat", "How many leading axes all values share: one line is printed for each index of them.", "0"};
constexpr Attr<std::string> kMessage{"message", "The error's text; {0}, {1:.2f} … stand for the values."};
constexpr Attr<std::string> kWhy{"why", "The error's reason.", "\"\""};
constexpr Attr<std::string> kHint{"hint", "What to write instead.", "\"\""};
constexpr Attr<std::string> kKind{"kind", "The kind of error.", "\"value\"", "value|index|zero_division"};
constexpr Attr<Ints> kPaired{"paired",
                             "For each value, how many of its leading axes are those of the condition: along "
                             "them the failing element's part is shown; 0 shows the value whole."};

void require_token(const InferContext& c) {
  require_operands(c, 1);
  if (c.operand(0).is_tensor())
    c.fail(ErrorKind::Type, fmt::format("the first operand is {}, not a token", c.operand(0).str()),
           "effects keep their order by the token that each takes from the one before",
           "start with create_token");
}

void require_values(const InferContext& c, size_t first) {
  for (size_t i = first; i < c.size(); ++i)
    if (!c.operand(i).is_tensor())
      c.fail(ErrorKind::Type, fmt::format("value {} is a token", i - first), "only arrays can be shown",
             "give arrays behind the token");
}

void infer_create_token(InferContext& c) { c.results = {Type::token()}; }

void infer_print(InferContext& c) {
  require_token(c);
  require_values(c, 1);
  int64_t repeat = c.get(kRepeat);
  if (repeat < 0 || (repeat > 0 && c.size() < 2))
    c.fail(ErrorKind::Value, fmt::format("repeat is {}, with {} values", repeat, c.size() - 1),
           "the values say how often a line is repeated", "give 0, or values with that many leading axes");
  for (size_t i = 1; i < c.size() && repeat > 0; ++i) {
    if (c.operand(i).rank() < repeat)
      c.fail(ErrorKind::Shape,
             fmt::format("value {} has rank {}, but repeat is {}", i - 1, c.operand(i).rank(), repeat),
             "all values have the axes over which the line is repeated", "broadcast the value");
    for (size_t axis = 0; axis < static_cast<size_t>(repeat); ++axis)
      c.require_equal(c.operand(i).dims[axis], c.operand(1).dims[axis], "the repeated axes of the values");
  }
  c.results = {Type::token()};
}

void infer_check(InferContext& c) {
  require_token(c);
  require_operands(c, 2);
  require_values(c, 1);
  c.require_dtype(1, DTypeSet::Bool);
  const Ints& paired = c.get(kPaired);
  if (paired.size() != c.size() - 2)
    c.fail(ErrorKind::Value, fmt::format("paired has {} entries for {} values", paired.size(), c.size() - 2),
           "each value says how it goes with the condition", "give one number a value");
  for (size_t i = 0; i < paired.size(); ++i) {
    const Type& value = c.operand(i + 2);
    if (paired[i] < 0 || paired[i] > c.operand(1).rank() || paired[i] > value.rank())
      c.fail(ErrorKind::Value,
             fmt::format("value {} ({}) cannot share {} axes with the condition ({})", i, value.str(),
                         paired[i], c.operand(1).str()),
             "shared axes are the first ones of both", "give a number from 0 to the lower rank");
    for (size_t axis = 0; axis < static_cast<size_t>(paired[i]); ++axis)
      c.require_equal(value.dims[axis], c.operand(1).dims[axis], "the shared axes of a value");
  }
  c.results = {Type::token()};
}

// The part of an array at an index of its first `count` axes, which is the flat position `at` along them.
Literal part_at(const Literal& x, size_t count, int64_t at) {
  std::vector<int64_t> dims(x.dims().begin() + static_cast<std::ptrdiff_t>(count), x.dims().end());
  Literal out = Literal::allocate(x.dtype(), dims);
  if (out.bytes())
    std::memcpy(out.mutable_data(),
                static_cast<const char*>(x.data()) + static_cast<size_t>(at) * out.bytes(), out.bytes());
  return out;
}

void run_print(ReferenceContext& c) {
  auto repeat = static_cast<size_t>(c.attrs.get(kRepeat));
  int64_t lines = 1;
  for (size_t axis = 0; axis < repeat; ++axis) lines *= c.operands[0].dims()[axis];
  const EffectSink& sink = effect_sink();
  for (int64_t line = 0; line < lines; ++line) {
    std::vector<Literal> values;
    for (const Literal& x : c.operands) values.push_back(repeat ? part_at(x, repeat, line) : x);
    sink.print(sink.format(c.attrs.get(kText), values));
  }
}

void run_nothing(ReferenceContext&) {}

ErrorKind kind_of(const std::string& kind) {
  return kind == "index" ? ErrorKind::Index
                         : ErrorKind::Value;  // a zero division has no kind of its own here
}

void run_check(ReferenceContext& c) {
  const Literal& condition = c.operands[0];
  const int64_t n = condition.elements();
  const void* first = n ? std::memchr(condition.data(), 0, static_cast<size_t>(n)) : nullptr;
  if (!first) return;
  const int64_t bad = static_cast<const char*>(first) - static_cast<const char*>(condition.data());
  std::vector<int64_t> index(condition.dims().size());
  for (size_t axis = index.size(), rest = static_cast<size_t>(bad); axis-- > 0;) {
    auto size = static_cast<size_t>(condition.dims()[axis]);
    index[axis] = static_cast<int64_t>(rest % size);
    rest /= size;
  }
  const Ints& paired = c.attrs.get(kPaired);
  std::vector<Literal> values;
  for (size_t i = 0; i < paired.size(); ++i) {
    int64_t at = 0;
    for (size_t axis = 0; axis < static_cast<size_t>(paired[i]); ++axis)
      at = at * condition.dims()[axis] + index[axis];
    const Literal& x = c.operands[i + 1];
    values.push_back(paired[i] ? part_at(x, static_cast<size_t>(paired[i]), at) : x);
  }
  std::string why = c.attrs.get(kWhy);
  if (!index.empty())
    why += fmt::format("{}at element [{}], the first of those that fail", why.empty() ? "" : "; ",
                       fmt::join(index, ", "));
  throw Error(kind_of(c.attrs.get(kKind)), effect_sink().format(c.attrs.get(kMessage), values))
      .why(why)
      .hint(c.attrs.get(kHint));
}

// All batched operands with their batch in front; what is not batched is repeated where `spread` says so.
Value in_front(BatchContext& c, size_t i, bool spread) {
  Value x = c.operands[i];
  if (c.axes[i] >= 0) return batch_to_front(c.build, x, c.axes[i]);
  if (!spread) return x;
  Dims dims = x->type().dims;
  dims.insert(dims.begin(), c.size);
  return c.build.broadcast(x, dims, iota(x->type().rank(), 1));
}

// Where not all rows count, each that does prints on its own: a scan over the rows, with a branch in it.
Batched print_by_rows(BatchContext& c) {
  std::vector<Value> consts, xs{c.active};
  for (size_t i = 1; i < c.operands.size(); ++i)
    (c.axes[i] < 0 ? consts : xs).push_back(in_front(c, i, false));
  auto graph = [&](std::string name) {
    auto out = std::make_unique<Graph>(std::move(name));
    out->dims = c.build.graph().dims;
    return out;
  };
  std::vector<std::unique_ptr<Graph>> branches;
  for (bool counts : {true, false}) {
    auto branch = graph(counts ? "row" : "other_row");
    std::vector<Value> operands{nullptr};
    for (size_t i = 1; i < c.operands.size(); ++i)
      operands.push_back(branch->body().add_arg(c.node->operand(i)->type()));
    if (counts) {
      Builder build(branch->body());
      build.at(c.node);
      operands[0] = build("create_token", {});
      build.node(op_of(c.node), operands, c.node->attrs());
    }
    branch->body().set_results({});
    branches.push_back(std::move(branch));
  }
  auto body = graph("rows");
  std::vector<Value> own(c.operands.size(), nullptr);
  for (size_t i = 1; i < own.size(); ++i)
    if (c.axes[i] < 0) own[i] = body->body().add_arg(c.node->operand(i)->type());
  own[0] = body->body().add_arg(Type::tensor(DType::Bool, {}), "active");
  for (size_t i = 1; i < own.size(); ++i)
    if (c.axes[i] >= 0) own[i] = body->body().add_arg(c.node->operand(i)->type());
  Builder build(body->body());
  build.at(c.node);
  build.node(get("cond"), own, {}, {}, std::move(branches));
  body->body().set_results({});
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(body));
  std::vector<uint32_t> segments{static_cast<uint32_t>(consts.size()), 0, static_cast<uint32_t>(xs.size())};
  consts.insert(consts.end(), xs.begin(), xs.end());
  c.build.node(get("scan"), std::move(consts), {}, std::move(segments), std::move(regions));
  return {{c.operands[0]}, {-1}};
}

Batched batch_print(BatchContext& c) {
  if (c.active) return print_by_rows(c);
  std::vector<Value> operands = {c.operands[0]};
  for (size_t i = 1; i < c.operands.size(); ++i) operands.push_back(in_front(c, i, true));
  Attrs attrs = c.node->attrs();
  attrs.set(kRepeat, attrs.get(kRepeat) + 1);
  return {{c.build.node(op_of(c.node), operands, attrs)->result()}, {-1}};
}

Batched batch_check(BatchContext& c) {
  Attrs attrs = c.node->attrs();
  Ints paired = attrs.get(kPaired);
  Value condition = in_front(c, 1, true);
  if (c.active) {  // a row that does not count cannot fail
    Value counts = c.build.broadcast(c.active, condition->type().dims, {0});
    condition = c.build("or", {condition, c.build("not", {counts})});
  }
  std::vector<Value> operands = {c.operands[0], condition};
  for (size_t i = 2; i < c.operands.size(); ++i) {
    bool batched = c.axes[i] >= 0 || paired[i - 2] > 0;
    operands.push_back(in_front(c, i, batched));
    if (batched) ++paired[i - 2];
  }
  attrs.set(kPaired, paired);
  return {{c.build.node(op_of(c.node), operands, attrs)->result()}, {-1}};
}

// A check of what is true is none.
Value simplify_check(SimplifyContext& c) {
  const Literal* literal = literal_behind(c.node->operand(1));
  if (!literal) return nullptr;
  for (int64_t i = 0; i < literal->elements(); ++i)
    if (!literal->as_int(i)) return nullptr;
  return c.node->operand(0);
}

Op effect_op(std::string name, std::string doc, std::vector<OperandSpec> operands,
             std::vector<AttrSpec> attrs, InferFn infer, ReferenceFn run, BatchFn batch,
             Rule<SimplifyFn> simplify = no_rule("an effect stays as it was written"),
             ImpliesFn implies = nullptr,
             LowerRule lower = LowerRule::none("the executor calls its reference rule, in order")) {
  return {.decl = {.name = std::move(name),
                   .doc = std::move(doc),
                   .operands = std::move(operands),
                   .attrs = std::move(attrs),
                   .traits = static_cast<uint32_t>(Trait::Effect),
                   .front = Front::None,
                   .numpy = "none: it gives no values; its tests are written by hand"},
          .rules = {.infer = infer,
                    .reference = run,
                    .lower = std::move(lower),
                    .simplify = std::move(simplify),
                    .jvp = &tools::zero_jvp,
                    .transpose = no_rule("a token has no cotangent"),
                    .batch = batch,
                    .body = no_body(),
                    .implies = implies}};
}

}  // namespace

std::vector<Op> effect_ops() {
  const OperandSpec token{"token", "What the effect before gave."};
  const OperandSpec values{.name = "values", .doc = "Arrays that the text shows.", .variadic = true};
  std::vector<Op> ops;
  ops.push_back(
      Op{.decl = {.name = "create_token",
                  .doc = "The token that the first effect of a block takes.\nStableHLO's create_token.",
                  .front = Front::None,
                  .numpy = "none: a token has no value"},
         .rules = {.infer = infer_create_token,
                   .reference = run_nothing,
                   .lower = LowerRule::none("a token has no bytes"),
                   .simplify = no_rule("there is nothing simpler"),
                   .jvp = no_rule("it has no operands that could have tangents"),
                   .transpose = no_rule("a token has no cotangent"),
                   .batch = no_rule("it has no operands that could be batched"),
                   .body = no_body()},
         .id = {}});
  ops.push_back(
      effect_op("print",
                "Prints a line with the values filled in.\nEach run prints it once, in the order of the "
                "block's effects, and only where the path comes to it.",
                {token, values}, {kText, kRepeat}, infer_print, run_print, batch_print));
  ops.push_back(effect_op(
      "check",
      "Ends the run with an error where the condition is false in any element.\nOf the block's "
      "effects, those before it have happened, those behind it do not.",
      {token, {"condition", "Booleans; all must be true."}, values}, {kMessage, kPaired, kWhy, kHint, kKind},
      infer_check, run_check, batch_check, simplify_check, +[](ImpliesContext& c) { c.x[1].low = 1; },
      LowerRule::of_check(1)));
  return ops;
}

}  // namespace ig::ops
