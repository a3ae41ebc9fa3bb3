// Calls of the host: `pure_callback`, a function whose results are all that matters, so that a call may be
// dropped or done again; and `io_callback`, which does something, so that each call happens once, in its
// order. Neither has a derivative or a kernel: executors call the function between kernels.
#include "ops/host_call.h"

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/families/array_tools.h"
#include "ops/families/families.h"
#include "ops/host_attrs.h"

namespace ig::ops {
namespace {

using namespace tools;

void infer_results(InferContext& c, size_t first) {
  for (size_t i = first; i < c.size(); ++i)
    if (!c.operand(i).is_tensor())
      c.fail(ErrorKind::Type, fmt::format("argument {} is a token", i - first),
             "a function of the host takes arrays", "give arrays alone");
  std::optional<std::vector<Type>> results = host_results(c.attrs);
  if (!results)
    c.fail(ErrorKind::Value,
           fmt::format("dtypes {}, ranks {} and sizes {} do not fit together",
                       str(AttrValue(c.get(kHostDtypes))), str(AttrValue(c.get(kHostRanks))),
                       str(AttrValue(c.get(kHostSizes)))),
           "each result has a dtype and a rank, and so many sizes",
           "write dtypes as \"f32 i64\", and the sizes of all results in one list");
  c.results.insert(c.results.end(), results->begin(), results->end());
}

void infer_pure(InferContext& c) { infer_results(c, 0); }

void infer_effect(InferContext& c) {
  if (c.size() == 0 || c.operand(0).is_tensor())
    c.fail(ErrorKind::Type, "the first operand is not a token",
           "effects keep their order by the token that each takes from the one before",
           "start with create_token");
  c.results = {Type::token()};
  infer_results(c, 1);
}

std::unique_ptr<Graph> graph_in(const BatchContext& c, std::string name) {
  auto out = std::make_unique<Graph>(std::move(name));
  out->dims = c.build.graph().dims;
  return out;
}

std::vector<Type> result_types(const Node* node, bool effect) {
  std::vector<Type> out;
  for (Value v : node->results().subspan(effect)) out.push_back(v->type());
  return out;
}

// The call itself on these values, which stand for the node's operands without the token; its arrays.
std::vector<Value> call_on(Builder& build, const Node* node, std::vector<Value> values, bool effect) {
  build.at(node);
  if (effect) values.insert(values.begin(), build("create_token", {}));
  std::span<const Value> results = build.node(op_of(node), std::move(values), node->attrs())->results();
  return {results.begin() + effect, results.end()};
}

// The same where a row counts, and zeros where not: a cond.
std::vector<Value> call_where(Builder& build, BatchContext& c, Value counts, std::vector<Value> values,
                              bool effect) {
  std::vector<std::unique_ptr<Graph>> branches;
  for (bool calls : {true, false}) {
    std::unique_ptr<Graph> branch = graph_in(c, calls ? "row" : "other_row");
    std::vector<Value> own;
    for (Value v : values) own.push_back(branch->body().add_arg(v->type()));
    Builder inner(branch->body());
    std::vector<Value> out;
    if (calls)
      out = call_on(inner, c.node, std::move(own), effect);
    else
      for (const Type& type : result_types(c.node, effect)) out.push_back(inner.full(type, 0));
    branch->body().set_results(std::move(out));
    branches.push_back(std::move(branch));
  }
  values.insert(values.begin(), counts);
  std::span<const Value> out =
      build.node(get("cond"), std::move(values), {}, {}, std::move(branches))->results();
  return {out.begin(), out.end()};
}

// A call for each row, in order: a scan. Rows that do not count are left out.
std::vector<Value> by_rows(BatchContext& c, bool effect) {
  const size_t first = effect;
  std::vector<Value> consts, xs;
  if (c.active) xs.push_back(c.active);
  for (size_t i = first; i < c.operands.size(); ++i)
    if (c.axes[i] < 0)
      consts.push_back(c.operands[i]);
    else
      xs.push_back(batch_to_front(c.build, c.operands[i], c.axes[i]));
  std::unique_ptr<Graph> body = graph_in(c, "rows");
  std::vector<Value> own(c.operands.size(), nullptr);
  auto take = [&](bool batched) {
    for (size_t i = first; i < own.size(); ++i)
      if ((c.axes[i] >= 0) == batched) own[i] = body->body().add_arg(c.node->operand(i)->type());
  };
  take(false);
  Value counts = c.active ? body->body().add_arg(Type::tensor(DType::Bool, {}), "active") : nullptr;
  take(true);
  own.erase(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(first));
  Builder build(body->body());
  build.at(c.node);
  body->body().set_results(counts ? call_where(build, c, counts, std::move(own), effect)
                                  : call_on(build, c.node, std::move(own), effect));
  std::vector<std::unique_ptr<Graph>> regions;
  regions.push_back(std::move(body));
  std::vector<uint32_t> segments{static_cast<uint32_t>(consts.size()), 0, static_cast<uint32_t>(xs.size())};
  consts.insert(consts.end(), xs.begin(), xs.end());
  std::span<const Value> out =
      c.build.node(get("scan"), std::move(consts), {}, std::move(segments), std::move(regions))->results();
  return {out.begin(), out.end()};
}

Batched batch_effect(BatchContext& c) {
  std::vector<Value> results = by_rows(c, true);
  std::vector<int> axes(results.size() + 1, 0);
  axes[0] = -1;
  results.insert(results.begin(), c.operands[0]);
  return {std::move(results), std::move(axes)};
}

// One call, on arrays that have the batch axis in front: of its size, or of size 1 where an argument has no
// batch and the function broadcasts.
std::vector<Value> at_once(BatchContext& c, bool broadcast) {
  std::vector<Value> operands;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    Value x = c.operands[i];
    Dims dims = x->type().dims;
    if (c.axes[i] >= 0) {
      operands.push_back(batch_to_front(c.build, x, c.axes[i]));
    } else {
      dims.insert(dims.begin(), broadcast ? c.size : Dim(int64_t{1}));
      operands.push_back(c.build.broadcast(x, dims, iota(x->type().rank(), 1)));
    }
  }
  std::vector<Type> results = result_types(c.node, false);
  for (Type& type : results) type.dims.insert(type.dims.begin(), c.size);
  Attrs attrs = c.node->attrs();
  set_host_results(attrs, results);
  std::span<const Value> out = c.build.node(op_of(c.node), std::move(operands), attrs)->results();
  return {out.begin(), out.end()};
}

Batched batch_pure(BatchContext& c) {
  const std::string& method = c.node->attrs().get(kHostBatching);
  if (method == "none")
    throw make_error(ErrorKind::Unsupported, "vmap: the pure_callback of '{}' has no vmap_method",
                     host_label(c.node->attrs().get(kHostFunction)))
        .at(c.node->location().str())
        .why("only its writer knows whether the function takes arrays with further axes")
        .hint(
            "give vmap_method=\"sequential\" for a call an element, or \"expand_dims\" or \"broadcast_all\" "
            "for one call on arrays with the batch in front");
  std::vector<Value> results =
      method == "sequential" ? by_rows(c, false) : at_once(c, method != "expand_dims");
  std::vector<int> axes(results.size(), 0);
  return {std::move(results), std::move(axes)};
}

constexpr const char* kNoDerivative = "what a function of the host computes cannot be looked into";

Op host_op(std::string name, std::string doc, std::vector<OperandSpec> operands, std::vector<AttrSpec> attrs,
           uint32_t traits, InferFn infer, Rule<BatchFn> batch) {
  return {
      .decl = {.name = std::move(name),
               .doc = std::move(doc),
               .operands = std::move(operands),
               .attrs = std::move(attrs),
               .results = -1,
               .traits = traits,
               .front = Front::None,
               .numpy = "none: it is whatever the function of the host is; its tests are written by hand"},
      .rules = {.infer = infer,
                .reference = &host_call_reference,
                .lower = LowerRule::none("the executor calls the function, between kernels"),
                .simplify = no_rule("nothing is known of the function"),
                .jvp = no_rule(kNoDerivative),
                .transpose = no_rule(kNoDerivative),
                .batch = std::move(batch),
                .body = no_body()}};
}

}  // namespace

std::vector<Op> host_call_ops() {
  const OperandSpec token{"token", "What the effect before gave."};
  const OperandSpec arguments{
      .name = "arguments", .doc = "Arrays that the function takes.", .variadic = true};
  const std::vector<AttrSpec> attrs{kHostFunction, kHostDtypes, kHostRanks, kHostSizes, kHostStructure};
  auto with = [&](std::vector<AttrSpec> more) {
    std::vector<AttrSpec> out = attrs;
    out.insert(out.end(), more.begin(), more.end());
    return out;
  };
  std::vector<Op> ops;
  ops.push_back(
      host_op("pure_callback",
              "What a function of the host gives for these arrays.\nThe function gives the same for "
              "the same arrays and does nothing else, so a call may be dropped where its results are "
              "not used, shared, or done again.",
              {arguments}, with({kHostBatching, kHostKept}), 0, infer_pure, &batch_pure));
  ops.back().decl.samples = {
      {"f32[2, 3], i64[]",
       "{function = \"intaglio.identity\", dtypes = \"f32 i64\", ranks = [2, 0], sizes = <2, 3>, "
       "vmap_method = \"sequential\"}"},
      {"bf16[3], bool[2]",
       "{function = \"intaglio.identity\", dtypes = \"bf16 bool\", ranks = [1, 1], sizes = <3, 2>, "
       "vmap_method = \"broadcast_all\"}"},
      {"f64[0, 2]",
       "{function = \"intaglio.identity\", dtypes = \"f64\", ranks = [2], sizes = <0, 2>, vmap_method = "
       "\"expand_dims\"}"}};
  ops.back().decl.bad_samples = {
      {"f32[2]", "{function = \"intaglio.identity\", dtypes = \"f32\", ranks = [1], sizes = <>}",
       "ValueError: pure_callback: dtypes \"f32\", ranks [1] and sizes <> do not fit together"},
      {"f32[2]", "{function = \"intaglio.identity\", dtypes = \"f31\", ranks = [1], sizes = <2>}",
       "ValueError: pure_callback: dtypes \"f31\", ranks [1] and sizes <2> do not fit together"}};
  ops.push_back(
      host_op("io_callback",
              "Calls a function of the host, which does something and may give arrays.\nEach run calls "
              "it once, in the order of the block's effects, and only where the path comes to it.",
              {token, arguments}, with({kHostKept}), static_cast<uint32_t>(Trait::Effect), infer_effect,
              &batch_effect));
  ops.push_back(
      host_op("io_callback_results",
              "What an `io_callback` gave, in a part of the program that runs again.\nAn effect "
              "happens once, so this stands for what is not there: running it is an error, and where "
              "nothing uses it, it goes.",
              {arguments}, with({kHostKept}), 0, infer_pure, no_rule("it stands for what is not there")));
  return ops;
}

}  // namespace ig::ops
