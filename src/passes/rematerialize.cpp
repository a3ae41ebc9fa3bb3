// Rematerialization: what is computed early and read late takes memory in between. A program that computes a
// value and its gradients has its peak where the one ends and the other begins, and what lives there is what
// the first keeps for the second. This pass finds the peak of the graph as it will be fused, lets a minimum
// cut (ops/saved_values.h) choose what is kept across it and what the late part computes again, and takes
// the choice where the peak falls by it. Products, convolutions, long folds, random bits, loops and effects
// are never computed again; what would disappear in a kernel anyway is.
//
// What is computed again reads what is kept behind a value of the late part (ops::behind): so no kernel of
// the early part takes it in. Bits stay: the same nodes compute the same.
#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/builder.h"
#include "ops/saved_values.h"
#include "passes/fusion_groups.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

constexpr double kSmall = 1 << 20;   // bytes of a peak that is not worth the work
constexpr double kLeastGain = 0.03;  // of the peak
constexpr int kRounds = 2;           // a peak that falls uncovers the next one

// What the memory of the fused graph will be. Nodes are known by their number in the block.
struct Memory {
  double peak = 0;           // the most bytes alive at a kernel
  double fresh = 0;          // of those that are read by the next kernel at the latest, the most
  size_t kernel = 0;         // the last one behind which the most bytes are kept
  double kept = 0;           // those
  std::vector<size_t> when;  // for each node: its kernel's place in the order; where it has none, 0
};

class Meter {
 public:
  // Of a copy that nobody wants any more, since grouping writes into what it groups.
  explicit Meter(std::unique_ptr<Graph> copy) : copy_(std::move(copy)), graph_(*copy_) {
    for (Node* node : graph_.body()) number_[node] = ++count_;
  }

  Memory measure(const Machine& machine) {
    Grouping grouping(graph_.body(), machine, /*tells=*/false);
    grouping.run();
    std::vector<Grouping::Unit> units = grouping.ordered_units();
    Memory out;
    out.when.assign(count_, 0);
    std::vector<std::vector<const Node*>> members(units.size());
    for (size_t u = 0; u < units.size(); ++u) {
      if (units[u].group)
        members[u].assign(units[u].group->nodes.begin(), units[u].group->nodes.end());
      else
        members[u].push_back(units[u].node);
      for (const Node* node : members[u]) {
        unit_of_[node] = u + 1;
        if (size_t number = number_.get(node); number != 0) out.when[number - 1] = u;
      }
    }
    find_lives(grouping, units, members);

    std::vector<double> change(units.size() + 1, 0), inside(units.size(), 0), fresh(units.size(), 0);
    for (const auto& [value, life] : lives_) {
      if (life.bytes == 0) continue;
      change[life.first] += life.bytes;
      inside[life.last] += life.bytes;
      if (life.last - life.first > 1) continue;
      for (size_t u = life.first; u <= life.last; ++u) fresh[u] += life.bytes;
    }
    double kept = 0;
    for (size_t u = 0; u < units.size(); ++u) {
      kept += change[u];
      const double shared = taken_over(units[u], u);
      out.peak = std::max(out.peak, kept - shared);
      out.fresh = std::max(out.fresh, fresh[u] - shared);
      kept -= inside[u];
      if (kept > 0 && kept >= out.kept) out.kept = kept, out.kernel = u;
    }
    return out;
  }

 private:
  struct Life {
    double bytes = 0;
    size_t first = 0, last = 0;
  };

  static bool moves_nothing(const Grouping::Unit& unit) {
    if (unit.group) return unit.group->kind == GroupKind::Relabel;
    return ops::way_of(unit.node) == ops::Way::Relabel;
  }

  void find_lives(const Grouping& grouping, const std::vector<Grouping::Unit>& units,
                  const std::vector<std::vector<const Node*>>& members) {
    std::unordered_map<Value, Value> roots;
    auto root = [&](Value v) {
      auto it = roots.find(v);
      return it == roots.end() ? v : it->second;
    };
    for (size_t u = 0; u < units.size(); ++u) {
      bool relabel = moves_nothing(units[u]);
      for (const Node* node : members[u]) {
        for (Value v : node->operands()) {
          auto it = lives_.find(root(v));
          if (it != lives_.end()) it->second.last = std::max(it->second.last, u);
        }
        for (Value v : node->results()) {
          bool leaves = false, given = false;
          for (const Use& use : v->uses()) {
            size_t reader = unit_of_.get(use.user);
            given = given || is_terminator(use.user);
            leaves = leaves || is_terminator(use.user) || (reader != 0 && reader != u + 1);
          }
          if (relabel) roots[v] = root(node->operand(0));
          // Results of the graph have memory of their own, constants are no temporaries, and what each kernel
          // makes anew for itself is in no memory.
          double bytes =
              given || relabel || !leaves || ops::has(node, ops::Trait::Constant) || grouping.is_free(node)
                  ? 0
                  : ops::bytes_of(v->type(), graph_.dims);
          lives_[v] = {bytes, u, u};
        }
      }
    }
  }

  // The largest result of an element-wise kernel whose memory is that of an operand that dies here.
  double taken_over(const Grouping::Unit& unit, size_t u) const {
    if (!unit.group || (unit.group->kind != GroupKind::Loop && unit.group->kind != GroupKind::Row)) return 0;
    double out = 0;
    for (const Node* node : unit.group->nodes)
      for (Value v : node->results()) {
        auto made = lives_.find(v);
        if (made == lives_.end() || made->second.bytes <= out) continue;
        for (const Node* reader : unit.group->nodes)
          for (Value operand : reader->operands()) {
            auto life = lives_.find(operand);
            if (life != lives_.end() && life->second.first < u && life->second.last == u &&
                life->second.bytes == made->second.bytes)
              out = made->second.bytes;
          }
      }
    return out;
  }

  std::unique_ptr<Graph> copy_;
  Graph& graph_;
  size_t count_ = 0;
  NodeTable<size_t> number_, unit_of_;  // counted from 1
  std::unordered_map<Value, Life> lives_;
};

// What to compute again, by numbers of nodes, so that a copy of the graph can be changed in the same way.
struct Choice {
  std::vector<size_t> again;  // in order
  std::vector<bool> late;     // of each node
  double before = 0, after = 0;
};

// With `streams` what a product or another whole kernel reads early, and so is in memory once, is not
// computed again: a chain of such values would all be alive again before the first of them is read.
std::optional<Choice> choose(const Graph& graph, const Memory& memory, bool streams) {
  std::unordered_map<const Node*, size_t> number;
  Choice out;
  for (Node* node : graph.body()) {
    bool ends = is_terminator(node);
    out.late.push_back(!ends && memory.when[number.size()] > memory.kernel);
    number.emplace(node, number.size());
  }
  std::unordered_set<Value> results(graph.outputs().begin(), graph.outputs().end()), seen;
  ops::SavedQuestion question;
  question.early = [&](const Node* node) { return !out.late[number.at(node)]; };
  question.there_anyway = [&](Value v) {
    return !v->node() || results.contains(v) || ops::has(v->node(), ops::Trait::Constant);
  };
  for (Node* node : graph.body()) {
    if (!out.late[number.at(node)]) continue;
    for (Value v : node->operands()) {
      if (!v->node() || out.late[number.at(v->node())] || !seen.insert(v).second) continue;
      question.needed.push_back(v);
    }
  }
  for (Node* node : graph.body()) {
    if (!streams || is_terminator(node) || ops::work_of(node, graph.dims).fusible) continue;
    for (Value v : node->operands())
      if (v->node() && !ops::has(v->node(), ops::Trait::View)) question.once.insert(v->node());
  }
  ops::SavedAnswer answer = ops::choose_saved(graph.dims, question);
  for (Node* node : graph.body())
    if (answer.again.contains(node)) out.again.push_back(number.at(node));
  out.before = memory.kept;
  out.after = answer.bytes;
  if (out.again.empty()) return std::nullopt;
  return out;
}

class Rewriter {
 public:
  Rewriter(Graph& graph, const Choice& choice) : graph_(graph), choice_(choice) {
    for (Node* node : graph.body()) {
      number_.emplace(node, nodes_.size());
      nodes_.push_back(node);
    }
  }

  void run() {
    find_places();
    // By their places: what stands behind a gate for one of them is read by those that come after it.
    std::vector<std::pair<size_t, size_t>> copies;
    for (size_t i : choice_.again)
      if (auto place = place_.find(i); place != place_.end()) copies.emplace_back(place->second, i);
    std::ranges::sort(copies);
    for (auto [place, i] : copies) copy(nodes_[i], nodes_[place]);
    for (size_t i : choice_.again)
      for (Value value : nodes_[i]->results()) read_late(value);
  }

 private:
  // Each node is computed again in front of the first that reads it late.
  void find_places() {
    std::unordered_set<size_t> again(choice_.again.begin(), choice_.again.end());
    for (size_t k = choice_.again.size(); k-- > 0;) {
      size_t i = choice_.again[k], place = nodes_.size();
      for (Value v : nodes_[i]->results())
        for (const Use& use : v->uses()) {
          size_t reader = number_.at(use.user);
          if (choice_.late[reader]) place = std::min(place, reader);
          if (auto it = place_.find(reader); it != place_.end()) place = std::min(place, it->second);
        }
      if (place < nodes_.size()) place_[i] = place;
    }
  }

  // A value of the late part that is computed when this node begins; where it has none, the last one of the
  // early part.
  Value gate_of(size_t place) const {
    Value best = nullptr;
    for (Value v : nodes_[place]->operands()) {
      if (!v->node() || !v->type().is_tensor()) continue;
      auto it = number_.find(v->node());
      if (it == number_.end() || !choice_.late[it->second] || !may_gate(it->second)) continue;
      if (!best || number_.at(best->node()) < it->second) best = v;
    }
    for (size_t i = place; !best && i-- > 0;)
      if (choice_.late[i] && may_gate(i)) best = nodes_[i]->result();
    for (size_t i = place; !best && i-- > 0;)
      if (may_gate(i)) best = nodes_[i]->result();
    return best;
  }
  bool may_gate(size_t i) const {
    const Node* node = nodes_[i];
    return !place_.contains(i) && !makes_itself(node) && !node->results().empty() &&
           node->result()->type().is_tensor();
  }
  // Constants and what is made of them stand nowhere.
  static bool makes_itself(const Node* node) {
    if (ops::has(node, ops::Trait::Constant)) return true;
    return std::all_of(node->operands().begin(), node->operands().end(),
                       [](Value v) { return v->node() && ops::has(v->node(), ops::Trait::Constant); });
  }

  void copy(const Node* node, Node* before) {
    std::vector<Value> operands;
    for (Value v : node->operands()) operands.push_back(late_form(v, before));
    Node* twin = copy_node(node, *before->block(), std::move(operands), before);
    for (size_t i = 0; i < node->results().size(); ++i) twin_[node->result(i)] = twin->result(i);
  }

  void read_late(Value value) {
    auto twin = twin_.find(value);
    if (twin == twin_.end()) return;
    std::vector<Use> uses = value->uses();
    for (const Use& use : uses)
      if (auto it = number_.find(use.user); it != number_.end() && choice_.late[it->second])
        use.user->set_operand(use.operand, twin->second);
  }

  Value late_form(Value v, Node* before) {
    if (auto it = twin_.find(v); it != twin_.end()) return it->second;
    if (!v->type().is_tensor() || (v->node() && makes_itself(v->node()))) return v;
    Value gate = gate_of(number_.at(before));
    if (!gate || gate == v) return v;
    auto [it, fresh] = behind_.try_emplace({v, gate});
    if (fresh) {
      ops::Builder build(*before->block(), before);
      build.at(before);
      it->second = ops::behind(build, v, gate);
    }
    return it->second;
  }

  Graph& graph_;
  const Choice& choice_;
  std::vector<Node*> nodes_;
  std::unordered_map<const Node*, size_t> number_;
  std::unordered_map<size_t, size_t> place_;
  std::unordered_map<Value, Value> twin_;
  std::map<std::pair<Value, Value>, Value> behind_;
};

void rewrite(Graph& graph, const Choice& choice, const Options& options) {
  Rewriter(graph, choice).run();
  Context ignored(options);
  dead_code(graph, ignored);
}

double bytes_of_temporaries(const Graph& graph) {
  double out = 0;
  for (const Node* node : graph.body())
    for (Value v : node->results()) out += ops::bytes_of(v->type(), graph.dims);
  return out;
}

}  // namespace

void rematerialize(Graph& graph, Context& context) {
  if (bytes_of_temporaries(graph) < kSmall) return;
  Memory memory = Meter(graph.clone()).measure(context.options.machine);
  double kept = 0, peak = memory.peak, last = 0;
  bool streamed = false;
  for (int round = 0; round < kRounds; ++round) {
    // What is read by the next kernel at the latest cannot be made later.
    if (memory.peak < kSmall || memory.fresh > memory.peak * (1 - kLeastGain)) break;
    std::optional<Choice> best;
    Memory then;
    auto gains = [&] { return best && then.peak <= memory.peak * (1 - kLeastGain); };
    // Both ways are tried, and after the first round the other one only where the same gains nothing.
    for (bool streams : {streamed, !streamed}) {
      if (round > 0 && gains()) break;
      std::optional<Choice> choice = choose(graph, memory, streams);
      if (!choice || (best && choice->again == best->again)) continue;
      std::unique_ptr<Graph> trial = graph.clone();
      rewrite(*trial, *choice, context.options);
      Memory found = Meter(std::move(trial)).measure(context.options.machine);
      if (best && found.peak >= then.peak) continue;
      best = std::move(choice), then = std::move(found), streamed = streams;
    }
    if (!best) break;
    std::string numbers = fmt::format("{:.0f} bytes to {:.0f}, peak {:.0f} to {:.0f}", best->before,
                                      best->after, memory.peak, then.peak);
    if (!gains()) {
      context.details.push_back(fmt::format("refused: keeps {}", numbers));
      break;
    }
    rewrite(graph, *best, context.options);
    context.changed(fmt::format("computes {} nodes again: keeps {}", best->again.size(), numbers));
    if (kept == 0) kept = best->before;
    memory = std::move(then);
    last = memory.kept;
  }
  if (context.changes > 0)
    context.notes.push_back(fmt::format("saved bytes {:.0f} to {:.0f}, peak of temporaries {:.0f} to {:.0f}",
                                        kept, last, peak, memory.peak));
}

}  // namespace ig::passes
