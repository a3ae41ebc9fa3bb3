// Ops with regions: cond, switch, while, scan, call. The planner runs them (plan/control.cpp); regions are
// closed, so all that they read are their arguments. Types of what branches and loops give must agree
// exactly.
#include <cstring>

#include "ops/control_attrs.h"
#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"
#include "ops/families/control_rules.h"
#include "ops/families/families.h"

namespace ig::ops {
namespace {

using namespace tools;

void require_regions(const InferContext& c, size_t count) {
  if (c.region_results.size() != count)
    c.fail(ErrorKind::Value, fmt::format("has {} regions, but {} are needed", c.region_results.size(), count),
           "each branch or body is a region of its own", "give the regions that the op documents");
}

// Both types named, and which of the values it is.
void require_same(const InferContext& c, const std::vector<Type>& have, const std::vector<Type>& want,
                  std::string_view who, std::string_view other) {
  if (have.size() != want.size())
    c.fail(ErrorKind::Type,
           fmt::format("{} gives {} values, but {} {}", who, have.size(), other, want.size()),
           "both must give the same number of values", "return a value for each on both sides");
  for (size_t i = 0; i < have.size(); ++i)
    if (!(have[i] == want[i]))
      c.fail(have[i].dtype == want[i].dtype ? ErrorKind::Shape : ErrorKind::Type,
             fmt::format("value {} of {} is {}, but of {} {}", i, who, have[i].str(), other, want[i].str()),
             "the types must agree exactly: nothing is converted or broadcast here",
             "convert or broadcast one of them");
}

void infer_branches(InferContext& c) {
  if (c.region_results.empty())
    c.fail(ErrorKind::Value, "has no branch", "one of the branches is run", "give one branch or more");
  for (size_t i = 1; i < c.region_results.size(); ++i)
    require_same(c, c.region_results[i], c.region_results[0], fmt::format("branch {}", i), "branch 0");
  c.results = c.region_results[0];
}

void infer_cond(InferContext& c) {
  require_operands(c, 1);
  c.require_rank(0, 0);
  c.require_dtype(0, DTypeSet::Bool);
  require_regions(c, 2);
  require_same(c, c.region_results[1], c.region_results[0], "the else branch", "the then branch");
  c.results = c.region_results[0];
}

std::vector<Literal> run_cond(ControlReferenceContext& c) {
  return c.run(c.operands[0].as_int(0) != 0 ? 0 : 1, c.operands.subspan(1));
}

void infer_switch(InferContext& c) {
  require_operands(c, 1);
  c.require_rank(0, 0);
  if (c.operand(0).dtype != DType::I32 && c.operand(0).dtype != DType::I64)
    c.fail(ErrorKind::Type,
           fmt::format("the index is {}, but it must be int32 or int64", info(c.operand(0).dtype).api_name),
           "it counts branches", "convert it with astype");
  infer_branches(c);
}

std::vector<Literal> run_switch(ControlReferenceContext& c) {
  auto last = static_cast<int64_t>(c.node->regions().size()) - 1;
  int64_t choice = c.operands[0].as_int(0);
  return c.run(static_cast<size_t>(choice < 0 || choice > last ? last : choice), c.operands.subspan(1));
}

void require_segments(const InferContext& c, size_t count) {
  size_t sum = 0;
  for (uint32_t size : c.segments) sum += size;
  if (c.segments.size() != count || sum != c.size())
    c.fail(ErrorKind::Value, fmt::format("its {} operands do not fall into {} segments", c.size(), count),
           "each operand belongs to one segment", "give the sizes of all segments");
}

std::vector<Type> part(const std::vector<Type>& types, size_t begin, size_t count) {
  return {types.begin() + static_cast<int64_t>(begin), types.begin() + static_cast<int64_t>(begin + count)};
}

void infer_while(InferContext& c) {
  require_segments(c, 2);
  require_regions(c, 2);
  const auto& condition = c.region_results[0];
  if (condition.size() != 1 || !(condition[0] == Type::tensor(DType::Bool, {})))
    c.fail(ErrorKind::Type,
           condition.size() == 1
               ? fmt::format("the condition gives {}, but it must give bool[]", condition[0].str())
               : fmt::format("the condition gives {} values, but it must give one bool[]", condition.size()),
           "the loop goes on while it is true", "reduce it with ig.any or ig.all");
  c.results = part(c.operands, c.segments[0], c.segments[1]);
  require_same(c, c.region_results[1], c.results, "the body", "what is carried");
}

std::vector<Literal> run_while(ControlReferenceContext& c) {
  std::vector<Literal> arguments(c.operands.begin(), c.operands.end());
  size_t consts = c.node->segments()[0];
  while (c.run(0, arguments)[0].as_int(0) != 0) {
    std::vector<Literal> next = c.run(1, arguments);
    for (size_t i = 0; i < next.size(); ++i) arguments[consts + i] = next[i];
  }
  return {arguments.begin() + static_cast<int64_t>(consts), arguments.end()};
}

void infer_scan(InferContext& c) {
  require_segments(c, 3);
  require_regions(c, 1);
  size_t consts = c.segments[0], carried = c.segments[1];
  const Dims& length = c.get(kLength);
  if (length.size() > 1)
    c.fail(ErrorKind::Value, fmt::format("length has {} entries, but is one size", length.size()),
           "it is the number of steps", "give one size");
  if (length.empty() && c.segments[2] == 0)
    c.fail(ErrorKind::Value, "scans over nothing and has no length",
           "the number of steps is the size of what is scanned, or is said", "give length");
  for (size_t i = consts + carried; i < c.size(); ++i)
    if (c.operand(i).rank() == 0)
      c.fail(ErrorKind::Shape, "a scalar has no axis to scan over",
             "each step takes one element of the first axis", "pass scalars as constants or carried values");
  Dim trips = length.empty() ? c.operand(consts + carried).dims[0] : length[0];
  c.require_less_equal(0, trips, "length");
  for (size_t i = consts + carried; i < c.size(); ++i)
    c.require_equal(c.operand(i).dims[0], trips, "the first axes of what is scanned");
  const auto& body = c.region_results[0];
  if (body.size() < carried)
    c.fail(ErrorKind::Type, fmt::format("the body gives {} values, but {} are carried", body.size(), carried),
           "what a step gives is what the next one takes", "return each carried value");
  std::vector<Type> carry = part(c.operands, consts, carried);
  require_same(c, part(body, 0, carried), carry, "the body", "what is carried");
  c.results = carry;
  for (size_t i = carried; i < body.size(); ++i) {
    Dims dims = body[i].dims;
    dims.insert(dims.begin(), trips);
    c.result(body[i].dtype, dims);
  }
}

void copy_bytes(Literal& to, size_t at, const Literal& from, size_t from_at, size_t bytes) {
  if (bytes == 0) return;
  std::memcpy(static_cast<std::byte*>(to.mutable_data()) + at,
              static_cast<const std::byte*>(from.data()) + from_at, bytes);
}

std::vector<Literal> run_scan(ControlReferenceContext& c) {
  const auto& segments = c.node->segments();
  size_t consts = segments[0], carried = segments[1], scanned = segments[2];
  std::vector<Literal> arguments(c.operands.begin(), c.operands.end());
  const Block& body = c.node->region(0);
  int64_t trips = 0;
  if (scanned > 0) {
    trips = c.operands[consts + carried].dims()[0];
  } else {
    trips = c.node->attrs().get(kLength)[0].evaluate(c.sizes);
  }
  std::vector<Literal> stacked;
  for (int64_t step = 0; step < trips; ++step) {
    int64_t at = c.node->attrs().get(kReverse) ? trips - 1 - step : step;
    for (size_t i = consts + carried; i < c.operands.size(); ++i) {
      const Literal& whole = c.operands[i];
      Literal slice = Literal::allocate(whole.dtype(), {whole.dims().begin() + 1, whole.dims().end()});
      copy_bytes(slice, 0, whole, static_cast<size_t>(at) * slice.bytes(), slice.bytes());
      arguments[i] = slice;
    }
    std::vector<Literal> out = c.run(0, arguments);
    for (size_t i = 0; i < carried; ++i) arguments[consts + i] = out[i];
    for (size_t i = carried; i < out.size(); ++i) {
      if (step == 0) {
        std::vector<int64_t> dims = out[i].dims();
        dims.insert(dims.begin(), trips);
        stacked.push_back(Literal::allocate(out[i].dtype(), dims));
      }
      copy_bytes(stacked[i - carried], static_cast<size_t>(at) * out[i].bytes(), out[i], 0, out[i].bytes());
    }
  }
  std::vector<Literal> results(arguments.begin() + static_cast<int64_t>(consts),
                               arguments.begin() + static_cast<int64_t>(consts + carried));
  // Nothing ran: the stacked results are empty, with the sizes that the body would have given.
  for (size_t i = carried; trips == 0 && i < body.results().size(); ++i) {
    std::vector<int64_t> dims{0};
    for (const Dim& dim : body.results()[i]->type().dims) dims.push_back(dim.evaluate(c.sizes));
    stacked.push_back(Literal::allocate(body.results()[i]->type().dtype, std::move(dims)));
  }
  results.insert(results.end(), stacked.begin(), stacked.end());
  return results;
}

void infer_call(InferContext& c) {
  require_regions(c, 1);
  c.results = c.region_results[0];
}

// Types of those that have tangents.
std::vector<Type> moving(std::span<const Type> types) {
  std::vector<Type> out;
  for (const Type& type : types)
    if (control::has_tangent(type)) out.push_back(type);
  return out;
}

// What the policy of a checkpoint may say; see kSaves.
bool is_policy(std::string_view text) {
  constexpr std::string_view kBudget = "budget:";
  if (text.starts_with(kBudget)) {
    text.remove_prefix(kBudget.size());
    size_t slash = std::min(text.find('/'), text.size());
    bool number = slash > 0 && std::all_of(text.begin(), text.begin() + static_cast<int64_t>(slash),
                                           [](char c) { return c >= '0' && c <= '9'; });
    if (!number || slash > 15) return false;
    return slash == text.size() ||
           (!text.substr(slash + 1).starts_with(kBudget) && is_policy(text.substr(slash + 1)));
  }
  return text == "nothing" || text == "everything" || text == "dots" || text == "dots_without_batch" ||
         text.starts_with("names:") || text.starts_with("all_but:");
}

void infer_checkpoint(InferContext& c) {
  infer_call(c);
  const std::string& saves = c.get(kSaves);
  if (!is_policy(saves))
    c.fail(ErrorKind::Value, fmt::format("saves is \"{}\", which is no policy", saves),
           "it says what the derivative keeps of the values on the way",
           "write nothing, everything, dots, dots_without_batch, names:a,b, all_but:a,b or budget:N/POLICY");
}

void infer_custom_jvp(InferContext& c) {
  require_segments(c, 2);
  if (c.region_results.size() != 1) require_regions(c, 2);
  c.results = c.region_results[0];
  const std::string& ends = c.get(kEnds);
  bool known = ends.starts_with("backward:") || ends.starts_with("once:") || ends.starts_with("followed:");
  if (c.region_results.size() == 1 ? !known : !ends.empty())
    c.fail(ErrorKind::Value, fmt::format("ends is \"{}\", with {} regions", ends, c.region_results.size()),
           "it says why there is no second region, and there is none or it says nothing",
           "write backward:NAME, once:NAME or followed:NAME beside one region, and nothing beside two");
  if (c.region_results.size() == 1) return;
  std::vector<Type> want = c.results, tangents = moving(c.results);
  want.insert(want.end(), tangents.begin(), tangents.end());
  require_same(c, c.region_results[1], want, "the rule", "its function with tangents");
}

void infer_custom_vjp(InferContext& c) {
  require_segments(c, 2);
  require_regions(c, 3);
  c.results = c.region_results[0];
  const std::vector<Type>& forward = c.region_results[1];
  require_same(c, part(forward, 0, std::min(forward.size(), c.results.size())), c.results, "the forward rule",
               "its function");
  require_same(c, c.region_results[2], moving(std::span(c.operands).subspan(c.segments[0])),
               "the backward rule", "its arguments");
}

void infer_pullback(InferContext& c) {
  require_segments(c, 3);
  require_regions(c, 1);
  c.results = part(c.operands, c.segments[0], c.segments[1]);
  require_same(c, c.region_results[0], part(c.operands, c.segments[0] + c.segments[1], c.segments[2]),
               "the backward rule", "its arguments");
}

std::vector<Literal> run_call(ControlReferenceContext& c) { return c.run(0, c.operands); }

std::vector<Literal> run_pullback(ControlReferenceContext& c) {
  throw make_error(ErrorKind::Unsupported, "custom_vjp: it has no forward mode")
      .at(c.node->location().str())
      .why("its rule says how cotangents go back, and not how tangents go on")
      .hint("use ig.grad, ig.vjp or ig.jacrev, or give the function a rule with ig.custom_jvp");
}

Op control_op(std::string name, Way way, std::string doc, std::vector<OperandSpec> operands,
              std::vector<std::string> segments, std::vector<AttrSpec> attrs, InferFn infer,
              ControlReferenceFn run, Rule<JvpFn> jvp, Rule<TransposeFn> transpose, Rule<BatchFn> batch) {
  return {.decl = {.name = name,
                   .doc = std::move(doc),
                   .operands = std::move(operands),
                   .attrs = std::move(attrs),
                   .segments = std::move(segments),
                   .results = -1,
                   .traits = static_cast<uint32_t>(Trait::Control),
                   .front = Front::None,
                   .numpy = "none: it has regions; its tests are written by hand"},
          .rules = {.infer = infer,
                    .reference = no_rule("control_reference runs it"),
                    .lower = LowerRule::of_control(way),
                    .simplify = no_rule("a pass of its own simplifies control flow"),
                    .jvp = std::move(jvp),
                    .transpose = std::move(transpose),
                    .batch = std::move(batch),
                    .body = no_body(),
                    .control_reference = run}};
}

}  // namespace

std::vector<Op> control_ops() {
  const OperandSpec consts{.name = "consts", .doc = "What the branches read.", .variadic = true};
  const OperandSpec all{.name = "operands", .doc = "The segments, one behind the other.", .variadic = true};
  std::vector<Op> ops;
  ops.push_back(control_op("cond", Way::Cond,
                           "The results of the first region where the predicate is true, else of the second.",
                           {{"predicate", "A boolean scalar."}, consts}, {}, {}, infer_cond, run_cond,
                           jvp_branches, transpose_branches, batch_cond));
  ops.push_back(control_op("switch", Way::Switch,
                           "The results of the region that the index names.\nAn index out of range names the "
                           "last region. StableHLO's case.",
                           {{"index", "An int32 or int64 scalar."}, consts}, {}, {}, infer_switch, run_switch,
                           jvp_branches, transpose_branches, batch_switch));
  ops.push_back(control_op(
      "while", Way::While,
      "What is carried, after the body (second region) has been applied for as long as "
      "the condition (first region) is true.\nBoth take the consts, then what is carried.",
      {all}, {"consts", "carry"}, {}, infer_while, run_while, jvp_while, transpose_while, batch_while));
  ops.push_back(
      control_op("scan", Way::Scan,
                 "Runs the body once for each slice of the scanned arrays' first axis.\nIt takes the "
                 "consts, what is carried, and the slices; it gives what is carried on, then values "
                 "that are stacked along a new first axis. With `reverse` it starts at the last "
                 "slice, and stacks in the slices' order.",
                 {all}, {"consts", "carry", "xs"}, {kLength, kReverse}, infer_scan, run_scan, jvp_scan,
                 transpose_scan, batch_scan));
  ops.push_back(control_op("call", Way::Call,
                           "The results of its region on the operands: a function called by its name.", {all},
                           {}, {}, infer_call, run_call, jvp_call, transpose_call, batch_call));
  ops.push_back(control_op(
      "checkpoint", Way::Call,
      "The results of its region on the operands, whose derivative keeps nothing but the "
      "operands, and what its policy names: reverse mode computes the rest of the region once "
      "more.",
      {all}, {}, {kSaves}, infer_checkpoint, run_call, jvp_checkpoint, transpose_call, batch_call));
  ops.push_back(
      control_op("custom_jvp", Way::Call,
                 "The results of the first region, whose derivative is the second: from the operands "
                 "and the tangents of the floats among the arguments to the results, and the tangents "
                 "of the floats among those. Without the second region it has no derivative, and says why.",
                 {all}, {"consts", "args"}, {kEnds}, infer_custom_jvp, run_call, jvp_custom_jvp, not_linear(),
                 batch_custom_jvp));
  ops.push_back(
      control_op("custom_vjp", Way::Call,
                 "The results of the first region, whose derivative in reverse mode are the others: "
                 "the second gives the results and residuals; the third takes the consts, the "
                 "residuals and cotangents of the floats among the results, and gives those of the "
                 "floats among the arguments.",
                 {all}, {"consts", "args"}, {}, infer_custom_vjp, run_call, jvp_custom_vjp, not_linear(),
                 batch_custom_vjp));
  ops.push_back(
      control_op("pullback", Way::None,
                 "What is linear in the tangents of a custom_vjp: known by its transpose alone, which "
                 "is the region. It takes the consts (residuals among them), the results that it has "
                 "tangents of, and the tangents; it goes when reverse mode transposes it.",
                 {all}, {"consts", "like", "tangents"}, {}, infer_pullback, run_pullback,
                 no_rule("a function with a rule of ig.custom_vjp has no forward mode"), transpose_pullback,
                 no_rule("it goes when reverse mode transposes it, before anything is batched")));
  ops.back().rules.lower = LowerRule::none("a function with a rule of ig.custom_vjp has no forward mode");
  return ops;
}

}  // namespace ig::ops
