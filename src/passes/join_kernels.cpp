// Small kernels that follow each other become one function: a `fusion` node of kind "program" that holds them
// in their order. Beside a small kernel the executor's way to it is long; inside of one function there is
// none, single numbers stay in registers, and what passes between the kernels lies in scratch that they
// share.
//
// Two estimates decide, both by counting. A kernel joins where the way to it is more than a small part of its
// own time (fusion_cost.h), so kernels that are worth a second thread never do. And no function is to be
// compiled for what saves a few nanoseconds: a kernel that stands several times in the graph is compiled
// once, so it joins only where the code that is then written again is less than what a function of its own
// costs.
#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>

#include "passes/fusion_cost.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"
#include "passes/walk.h"
#include "support/hash.h"

namespace ig::passes {
namespace {

using Kind = ops::LowerRule::Kind;

constexpr double kMuchLonger = 25;  // times the way to a kernel: what takes longer gains next to nothing
constexpr double kNest = 4;         // a loop nest's operations against the estimate of fusion_cost.h

// Code, in what an addition takes; the length of machine code and the time to make it go with it.
constexpr int kLoop = 16;        // of a kernel that walks more than one element
constexpr int kMostAgain = 8;    // to be written again: two or three numbers more
constexpr int kMostCode = 1024;  // of one function: more do not compile side by side on several threads
constexpr size_t kMostKernels = 32;

int code_of(const Node* node) {
  constexpr int kCostly = 24, kView = 2, kInside = 12, kFold = 16, kProduct = 64, kOwnLoops = 128;
  const ops::Op& op = ops::op_of(node);
  if (op.has(ops::Trait::Constant) || op.has(ops::Trait::Relabel)) return 0;
  if (op.has(ops::Trait::Contraction)) return kProduct;
  switch (op.rules.lower.kind) {
    case Kind::Scalar: return op.has(ops::Trait::Cheap) ? 1 : kCostly;
    case Kind::Point: return op.has(ops::Trait::View) || op.has(ops::Trait::Cheap) ? kView : kInside;
    case Kind::Reduce: return kFold;
    default: return kOwnLoops;
  }
}

// The same for kernels that are compiled to the same code: their regions are closed.
uint64_t content_of(const Block& block) {
  uint64_t h = 0;
  std::unordered_map<Value, uint64_t> number;
  auto define = [&](Value v) {
    number.emplace(v, number.size());
    h = hash_combine(h, static_cast<uint64_t>(v->type().dtype));
    for (const Dim& d : v->type().dims) h = hash_combine(h, d.hash());
    h = hash_combine(h, v->type().dims.size());
  };
  for (Value v : block.args()) define(v);
  for (const Node* node : block) {
    h = hash_combine(hash_combine(h, node->op().index()), node->attrs().hash());
    for (Value v : node->operands()) h = hash_combine(h, number.at(v));
    for (Value v : node->results()) define(v);
    for (const auto& region : node->regions()) h = hash_combine(h, content_of(*region));
  }
  return h;
}

struct Piece {
  Node* kernel = nullptr;
  std::vector<Node*> nodes;
  ops::FusionNode name;  // of its last node
  ops::FusionCost cost;  // without the way to it
  int code = 0;
  uint64_t content = 0;
  std::string refusal;
  bool by_cost = false;

  bool willing() const { return refusal.empty(); }
};

ops::FusionCost sum(std::span<const Piece* const> pieces, double ways) {
  ops::FusionCost out;
  for (const Piece* piece : pieces) {
    out.bytes += piece->cost.bytes;
    out.operations += piece->cost.operations;
    out.nanoseconds += piece->cost.nanoseconds;
  }
  out.nanoseconds += ways * kStartOfKernel;
  return out;
}

Piece weigh(Node* kernel) {
  Piece piece;
  piece.kernel = kernel;
  piece.name = ops::FusionNode::of(kernel->region(0).terminator()->previous());
  for (std::span<const Value> values : {kernel->operands(), kernel->results()})
    for (Value v : values)
      if (!v->type().is_tensor() || !constant_dims(v->type().dims)) {
        piece.refusal = fmt::format("{} has a size that is a symbol", v->type().str());
        return piece;
      }
  double nests = 0;
  for (Value v : kernel->results())
    if (product(v->type().dims) != Dim(int64_t{1})) piece.code = kLoop;
  for (Node* node : kernel->region(0)) {
    if (is_terminator(node)) continue;
    piece.nodes.push_back(node);
    piece.code += code_of(node);
    if (ops::op_of(node).rules.lower.kind == Kind::Nest)
      nests += operations_of(node, kernel->graph().dims) * (kNest - 1);
  }
  const KernelWork all[] = {{piece.nodes}};
  piece.cost = cost_of_kernel(all, [](const Node*) { return false; }, kernel->graph().dims);
  piece.cost.operations += nests;
  piece.cost.nanoseconds += nests / kOperationsANanosecond - kStartOfKernel;
  if (piece.cost.nanoseconds > kMuchLonger * kStartOfKernel) {
    piece.by_cost = true;
    piece.refusal = fmt::format("it takes some {:.0f} ns, beside which the way to it ({:.0f}) is little",
                                piece.cost.nanoseconds, kStartOfKernel);
    return piece;
  }
  piece.content = content_of(kernel->region(0));
  return piece;
}

class Joining {
 public:
  Joining(Graph& graph, Context& context) : context_(context) { collect(graph.body()); }

  void run() {
    std::unordered_map<uint64_t, int> copies;
    for (Block* block : blocks_)
      for (Node* node : *block)
        if (is_candidate(node)) {
          Piece piece = weigh(node);
          if (piece.willing()) ++copies[piece.content];
          pieces_.emplace(node, std::move(piece));
        }
    for (auto& [node, piece] : pieces_) {
      if (!piece.willing()) continue;
      int count = copies.at(piece.content);
      if ((count - 1) * piece.code > kMostAgain)
        piece.refusal = fmt::format("it stands {} times in the graph, and is compiled once", count);
    }
    for (Block* block : blocks_) follow(*block);
  }

 private:
  static bool is_candidate(const Node* node) {
    return is_kernel(node) && !is_relabel(node) && kind_of_kernel(node) != "program";
  }

  void collect(Block& block) {
    blocks_.push_back(&block);
    for (Node* node : block)
      if (!is_kernel(node))
        for (const auto& region : node->regions()) collect(*region);
  }

  // Kernels with nothing that runs between them.
  void follow(Block& block) {
    std::vector<const Piece*> run;
    for (Node* node : block) {
      if (is_terminator(node) || is_relabel(node) || ops::has(node, ops::Trait::Constant)) continue;
      if (is_candidate(node))
        run.push_back(&pieces_.at(node));
      else
        join_some(std::exchange(run, {}));
    }
    join_some(run);
  }

  void join_some(std::span<const Piece* const> run) {
    for (size_t from = 0, to; from < run.size(); from = to) {
      bool willing = run[from]->willing();
      for (to = from; to < run.size() && run[to]->willing() == willing;) ++to;
      if (willing) {
        join_line(run.subspan(from, to - from));
        continue;
      }
      if (from > 0) refuse(run[from], run[from - 1]);
      if (to < run.size() && (from == 0 || to - from > 1)) refuse(run[to - 1], run[to]);
    }
  }

  // As few functions as may be, of about the same length.
  void join_line(std::span<const Piece* const> line) {
    int left = 0;
    for (const Piece* piece : line) left += piece->code;
    size_t parts = std::max((line.size() + kMostKernels - 1) / kMostKernels,
                            static_cast<size_t>((left + kMostCode - 1) / kMostCode));
    for (size_t from = 0, to = 0; from < line.size(); from = to, parts -= parts > 1) {
      const int share = left / static_cast<int>(std::max<size_t>(parts, 1));
      for (int taken = 0; to < line.size() && to - from < kMostKernels; ++to) {
        if (to > from && taken + line[to]->code > share && parts > 1) break;
        taken += line[to]->code;
        left -= line[to]->code;
      }
      join(line.subspan(from, to - from));
    }
  }

  void join(std::span<const Piece* const> line) {
    if (line.size() < 2) return;
    ops::FusedKernel made;
    made.kind = "program";
    std::vector<Node*> kernels;
    for (const Piece* piece : line) {
      kernels.push_back(piece->kernel);
      for (const Node* node : piece->nodes)
        if (!ops::has(node, ops::Trait::Constant)) made.nodes.push_back(ops::FusionNode::of(node));
    }
    made.together = sum(line, 1);
    made.apart = sum(line, static_cast<double>(line.size()));
    context_.changed(fmt::format("program: {} kernels, some {:.0f} ns, {:.0f} one by one", line.size(),
                                 made.together.nanoseconds, made.apart.nanoseconds));
    context_.fusion.kernels.push_back(std::move(made));
    make_program(kernels);
  }

  void refuse(const Piece* piece, const Piece* beside) {
    ops::FusionRefusal told;
    told.node = piece->name;
    told.kernel_of = beside->name;
    told.kind = "program";
    told.reason = piece->refusal;
    if (piece->by_cost) {
      const Piece* both[] = {piece, beside};
      told.by_cost = true, told.together = sum(both, 1), told.apart = sum(both, 2);
    }
    context_.details.push_back(told.headline());
    context_.fusion.refusals.push_back(std::move(told));
  }

  Context& context_;
  std::vector<Block*> blocks_;
  std::unordered_map<const Node*, Piece> pieces_;
};

}  // namespace

void join_kernels(Graph& graph, Context& context) { Joining(graph, context).run(); }

}  // namespace ig::passes
