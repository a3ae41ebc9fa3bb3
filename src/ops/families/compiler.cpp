// Nodes that the compiler itself puts into graphs: `fusion`, a group of nodes that becomes one kernel,
// `once`, what is the same in most calls, and `after`, which keeps what is computed again from being computed
// early.
#include "ops/builder.h"
#include "ops/families/array_tools.h"
#include "ops/families/families.h"
#include "ops/once.h"

namespace ig::ops {
namespace {

constexpr Attr<std::string> kKind{"kind", "The kind of kernel; passes/fusion_groups.h tells them apart.",
                                  "\"loop\"", "loop|row|panel|column|contraction|heavy|nest|relabel|program"};

void infer_group(InferContext& context) {
  if (context.region_results.size() != 1)
    context.fail(ErrorKind::Type, "expected one region", "it stands for the nodes of its region");
  context.results = context.region_results[0];
}

std::vector<Literal> run_group(ControlReferenceContext& context) { return context.run(0, context.operands); }

// A node that means what its region means, and that passes make which run behind all transforms.
Op group(OpDecl decl) {
  return {.decl = std::move(decl),
          .rules = {.infer = infer_group,
                    .reference = Rule<ReferenceFn>::none("its region says what it computes"),
                    .lower = LowerRule::of_control(Way::Group),
                    .simplify = Rule<SimplifyFn>::none("it is made by the last passes"),
                    .jvp = Rule<JvpFn>::none("derivatives are taken before it is made"),
                    .transpose = Rule<TransposeFn>::none("derivatives are taken before it is made"),
                    .batch = Rule<BatchFn>::none("batching is done before it is made"),
                    .body = Rule<BodyFn>::none("it has a region of its own"),
                    .control_reference = run_group},
          .id = {}};
}

}  // namespace

bool is_once(const Node* node) {
  static const OpId once = OpId::of("once");
  return node->op() == once;
}

std::vector<Op> compiler_ops() {
  std::vector<Op> ops;
  ops.push_back(
      group({.name = "fusion",
             .doc = "The results of its region: a group of nodes that is compiled as one kernel.\n\n"
                    "Made by the pass `fuse`; it means what its region means.",
             .operands = {{"operands", "What the region reads, in the order of its arguments.", true}},
             .attrs = {kKind},
             .results = -1,
             .traits = static_cast<uint32_t>(Trait::Control),
             .front = Front::None,
             .numpy = "none: it stands for its region"}));
  ops.push_back(group(
      {.name = "once",
       .doc = "The results of its region: nodes that are computed once, for as long as the operands are "
              "the same arrays.\n\n"
              "Made by the pass `compute-once`; it means what its region means.",
       .operands = {{"operands", "What the region reads, in the order of its arguments.", true}},
       .results = -1,
       .traits = static_cast<uint32_t>(Trait::Control),
       .front = Front::None,
       .numpy = "none: it stands for its region"}));
  ops.push_back(Op{
      .decl = {.name = "after",
               .doc =
                   "The array itself, in its own memory, but not before the gate is computed.\n\n"
                   "Made by the pass `rematerialize`: what is computed again from the array is so computed "
                   "late, and is no part of an earlier kernel.",
               .operands = {{"x", "The array."},
                            {"gate",
                             "What must be computed first; its values do not "
                             "matter."}},
               .dtypes = DTypeSet::Any,
               .traits = Trait::Linear | Trait::Cheap,
               .front = Front::None,
               .numpy = "x",
               .samples = {{"T[3], f32[2]", ""}, {"T[], T[4]", ""}, {"T[5, 17], bool[]", ""}}},
      .rules = {.infer =
                    +[](InferContext& c) {
                      tools::require_operands(c, 2);
                      c.result(c.operand(0).dtype, c.operand(0).dims);
                    },
                .reference =
                    +[](ReferenceContext& c) {
                      if (c.operands[0].bytes())
                        std::memcpy(c.results[0].mutable_data(), c.operands[0].data(), c.operands[0].bytes());
                    },
                .lower = LowerRule::of_control(Way::Relabel),
                .simplify = Rule<SimplifyFn>::none("it is there to stay"),
                .jvp = +[](JvpContext& c) { return std::vector<Value>{c.tangents[0]}; },
                .transpose =
                    +[](TransposeContext& c) {
                      return std::vector<Value>{c.linear[0] ? c.cotangents[0] : nullptr, nullptr};
                    },
                .batch =
                    +[](BatchContext& c) {
                      Value x = c.build.node(op_of(c.node), {c.operands[0], c.operands[1]})->result();
                      return Batched{{x}, {c.axes[0]}};
                    },
                .body = Rule<BodyFn>::none("it is no composite")},
      .id = {}});
  return ops;
}

}  // namespace ig::ops
