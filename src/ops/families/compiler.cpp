// Nodes that the compiler itself puts into graphs: `fusion`, a group of nodes that becomes one kernel.
#include "ops/families/families.h"

namespace ig::ops {
namespace {

constexpr Attr<std::string> kKind{"kind", "The kind of kernel; passes/fusion_groups.h tells them apart.",
                                  "\"loop\"", "loop|row|column|contraction|heavy|nest|relabel|program"};

void infer_fusion(InferContext& context) {
  if (context.region_results.size() != 1)
    context.fail(ErrorKind::Type, "expected one region", "a fusion holds the nodes of one kernel");
  context.results = context.region_results[0];
}

std::vector<Literal> run_fusion(ControlReferenceContext& context) { return context.run(0, context.operands); }

}  // namespace

std::vector<Op> compiler_ops() {
  std::vector<Op> ops;
  ops.push_back(
      Op{.decl = {.name = "fusion",
                  .doc = "The results of its region: a group of nodes that is compiled as one kernel.\n\n"
                         "Made by the pass `fuse`; it means what its region means.",
                  .operands = {{"operands", "What the region reads, in the order of its arguments.", true}},
                  .attrs = {kKind},
                  .results = -1,
                  .traits = static_cast<uint32_t>(Trait::Control),
                  .front = Front::None,
                  .numpy = "none: it stands for its region"},
         .rules = {.infer = infer_fusion,
                   .reference = Rule<ReferenceFn>::none("its region says what it computes"),
                   .lower = LowerRule::of_control("codegen/lower.cpp, as one kernel"),
                   .simplify = Rule<SimplifyFn>::none("fusion is the last pass"),
                   .jvp = Rule<JvpFn>::none("derivatives are taken before fusion"),
                   .transpose = Rule<TransposeFn>::none("derivatives are taken before fusion"),
                   .batch = Rule<BatchFn>::none("batching is done before fusion"),
                   .body = Rule<BodyFn>::none("it has a region of its own"),
                   .control_reference = run_fusion},
         .id = {}});
  return ops;
}

}  // namespace ig::ops
