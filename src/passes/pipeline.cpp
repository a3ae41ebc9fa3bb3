// The list of passes, their default order, and the driver that runs, times, verifies and reports them.
#include <algorithm>
#include <array>
#include <chrono>

#include <fmt/ranges.h>

#include "ops/mutants.h"
#include "ops/table.h"
#include "passes/pass.h"
#include "passes/walk.h"
#include "support/stop.h"

namespace ig::passes {
namespace {

constexpr std::array kPasses = {
    Pass{"batch-last", "Puts the batch of many small problems last in memory, in loops over them.",
         batch_last},
    Pass{"canonicalize", "Applies each op's own algebra (its simplify rule) until nothing changes.",
         canonicalize},
    Pass{"choose-layouts", "Puts the features of images last where convolutions and windows pass them on.",
         choose_layouts},
    Pass{
        "compute-once",
        "Takes out what depends on constants and steady inputs alone: it is computed once, not in each call.",
        compute_once},
    Pass{"cse", "Keeps one of several nodes that compute the same from the same operands.",
         common_subexpressions},
    Pass{"dce",
         "Removes nodes without effects whose results nobody uses, and computes one result alone where there "
         "is an op for it.",
         dead_code},
    Pass{"depth-first",
         "Runs chains of kernels over a batch that leaves the caches for a few examples at a time.",
         depth_first},
    Pass{"drop-stops", "Takes out what is there for derivatives alone, which have been taken: stop_gradient.",
         drop_stops},
    Pass{"expand-composites", "Replaces each composite by its body.", expand_composites},
    Pass{"fold", "Evaluates nodes whose operands are constants, where the result is no larger than a limit.",
         fold_constants},
    Pass{"fuse", "Groups nodes into kernels: each group becomes one `fusion` node with a closed region.",
         fuse},
    Pass{"hoist-scan", "Takes out of a scan's body what is the same in every step, and products of slices.",
         hoist_scan},
    Pass{"join-kernels",
         "Makes small kernels that follow each other one kernel, a `fusion` node that holds them.",
         join_kernels},
    Pass{"join-loops", "Makes each loop of small kernels one kernel, a `fusion` node that holds the loop.",
         join_loops},
    Pass{
        "merge-axes",
        "Makes one of axes that stay together in a kernel which turns arrays over, or folds over others; its "
        "results are relabelled.",
        merge_axes},
    Pass{"one-tap-products", "Writes convolutions of one tap as the products of matrices that they are.",
         one_tap_products},
    Pass{"one-term-products", "Writes products whose sums have one term as multiplications.",
         one_term_products},
    Pass{"prove-bounds", "Follows the bounds of whole numbers, and writes the truths that follow from them.",
         prove_bounds},
    Pass{"raise-slices", "Moves slices in front of products of which nobody reads the rest.", raise_slices},
    Pass{"raise-views", "Moves views inside of kernels to what these read, where they are element-wise.",
         raise_views},
    Pass{"reciprocals",
         "Under fast_math alone: divides by what many elements share once, and multiplies by that.",
         reciprocals},
    Pass{"refine-shapes", "Writes what is known of size symbols into all types and attributes.",
         refine_shapes},
    Pass{"rematerialize",
         "Computes again, late, what is cheap to compute and would be kept where the most memory is taken.",
         rematerialize},
    Pass{"sink-views", "Moves views below element-wise ops, so that views meet and cancel.", sink_views},
    Pass{"turn-matrices", "Turns over, once, a matrix whose rows many products with a vector sum.",
         turn_matrices},
    Pass{"write-turned", "Writes out what lies across a kernel's walk where the kernel cannot turn it over.",
         write_turned},
};

constexpr std::array<std::string_view, 30> kDefault = {
    "refine-shapes",
    "drop-stops",
    "canonicalize",
    "fold",
    "cse",
    "dce",
    "expand-composites",
    "prove-bounds",
    "canonicalize",
    "raise-slices",
    "hoist-scan",
    "sink-views",
    "batch-last",
    "choose-layouts",
    "one-tap-products",
    "one-term-products",
    "canonicalize",
    "fold",
    "cse",
    "dce",
    "compute-once",
    "turn-matrices",
    "rematerialize",
    "fuse",
    "depth-first",
    "raise-views",
    "merge-axes",
    "write-turned",
    "join-loops",
    "join-kernels",
};

#ifdef INTAGLIO_MUTANTS
// "pass:NAME:skip" leaves the pass out; "pass:NAME:wrong" swaps two operands of a node that it had in its
// hands.
void run_with_fault(const Pass& pass, Graph& graph, Context& context) {
  const std::string& wanted = ops::wanted_mutant();
  if (wanted == fmt::format("pass:{}:skip", pass.name)) return;
  pass.run(graph, context);
  if (wanted != fmt::format("pass:{}:wrong", pass.name) || context.changes == 0) return;
  bool done = false;
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block) {
      if (done || node->operands().size() < 2 || ops::has(node, ops::Trait::Commutative) ||
          is_terminator(node))
        continue;
      Value a = node->operand(0), b = node->operand(1);
      if (a == b || !(a->type() == b->type()) || node->regions().size() == 1) continue;
      node->set_operand(0, b);
      node->set_operand(1, a);
      done = true;
    }
  });
  // Nothing to swap: the first result of the graph gives way to another value of its type.
  std::vector<Value> results(graph.outputs().begin(), graph.outputs().end());
  for (Value input : graph.inputs())
    if (!done && !results.empty() && !(results[0] == input) && input->type() == results[0]->type()) {
      results[0] = input;
      graph.body().set_results(results);
      done = true;
    }
}
#endif

}  // namespace

std::span<const Pass> all() { return kPasses; }

const Pass& find(std::string_view name) {
  for (const Pass& pass : kPasses)
    if (pass.name == name) return pass;
  std::vector<std::string_view> names;
  for (const Pass& pass : kPasses) names.push_back(pass.name);
  throw make_error(ErrorKind::Value, "unknown pass '{}'", name)
      .why("no pass has that name")
      .hint(fmt::format("the passes are {}", fmt::join(names, ", ")));
}

// Reciprocals stand where composites are open and steps of loops have not given up what is the same in all.
std::vector<std::string_view> default_pipeline(const FastMath& fast_math) {
  std::vector<std::string_view> out(kDefault.begin(), kDefault.end());
  if (fast_math.reciprocal) out.insert(std::ranges::find(out, "hoist-scan"), "reciprocals");
  return out;
}

std::vector<Record> run(Graph& graph, std::span<const std::string_view> names, const Options& options) {
  for (const std::string& name : options.disabled) find(name);  // a misspelt switch must not pass unseen
  std::vector<Record> records;
  for (std::string_view name : names) {
    leave_if(options.stop);
    const Pass& pass = find(name);
    if (options.disabled.contains(std::string(name))) continue;
    Hash128 before = options.verify ? graph.hash() : Hash128{};
    Record record;
    record.name = name;
    record.nodes_before = graph.node_count();
    Context context(options);
    auto start = std::chrono::steady_clock::now();
#ifdef INTAGLIO_MUTANTS
    run_with_fault(pass, graph, context);
#else
    pass.run(graph, context);
#endif
    record.milliseconds =
        std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    record.nodes_after = graph.node_count();
    record.changes = context.changes;
    record.details = std::move(context.details);
    record.notes = std::move(context.notes);
    record.fusion = std::move(context.fusion);
    if (options.verify) {
      try {
        ops::verify(graph);
      } catch (Error& error) {
        throw error.why(fmt::format("after the pass `{}`: {}", name, error.why_text()));
      }
      IG_CHECK(context.changes > 0 || before == graph.hash(),
               "the pass `{}` says unchanged, but the graph changed", name);
    }
    records.push_back(std::move(record));
  }
  return records;
}

}  // namespace ig::passes
