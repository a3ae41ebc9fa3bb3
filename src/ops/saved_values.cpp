// The minimum cut; see saved_values.h. A value has two vertices, one where it is made and one where it is
// read, with an edge of its bytes between them; a node is a vertex behind what it reads and in front of what
// it makes, with an edge from the source of what its work is worth. What lies on the sink's side is computed
// again.
#include "ops/saved_values.h"

#include <algorithm>
#include <cmath>
#include <deque>

#include "ops/attrs.h"
#include "ops/effects.h"
#include "ops/host_call.h"

namespace ig::ops {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kShortFold = 64;  // elements: folds of no more are computed again like what is element-wise

double elements_of(const Type& type, const DimScope& scope) {
  if (!type.is_tensor()) return 0;
  double out = 1;
  for (const Dim& dim : type.dims) out *= static_cast<double>(usual_size(dim, scope));
  return out;
}

// Dinic's algorithm, without recursion: chains are as long as programs.
class Flow {
 public:
  int vertex() {
    out_.emplace_back();
    return static_cast<int>(out_.size()) - 1;
  }
  void edge(int from, int to, double capacity) {
    out_[at(from)].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({to, capacity});
    out_[at(to)].push_back(static_cast<int>(edges_.size()));
    edges_.push_back({from, 0});
  }
  void run(int source, int sink) {
    while (levels(source, sink)) {
      next_.assign(out_.size(), 0);
      while (push(source, sink)) {
      }
    }
  }
  // Which vertices still reach the sink: the smallest sink side among the minimum cuts.
  std::vector<bool> reaching(int sink) const {
    std::vector<bool> seen(out_.size(), false);
    std::vector<int> work{sink};
    seen[at(sink)] = true;
    while (!work.empty()) {
      int v = work.back();
      work.pop_back();
      for (int e : out_[at(v)]) {
        int from = edges_[at(e)].to;  // of the edge's twin, which leads here
        if (seen[at(from)] || edges_[at(e ^ 1)].left <= kSmallest) continue;
        seen[at(from)] = true;
        work.push_back(from);
      }
    }
    return seen;
  }

 private:
  static constexpr double kSmallest = 1e-6;  // of a byte
  struct Edge {
    int to;
    double left;
  };
  static size_t at(int i) { return static_cast<size_t>(i); }

  bool levels(int source, int sink) {
    level_.assign(out_.size(), -1);
    level_[at(source)] = 0;
    std::deque<int> work{source};
    while (!work.empty()) {
      int v = work.front();
      work.pop_front();
      for (int e : out_[at(v)]) {
        const Edge& edge = edges_[at(e)];
        if (edge.left <= kSmallest || level_[at(edge.to)] >= 0) continue;
        level_[at(edge.to)] = level_[at(v)] + 1;
        work.push_back(edge.to);
      }
    }
    return level_[at(sink)] >= 0;
  }

  bool push(int source, int sink) {
    std::vector<int> path;  // edges
    int v = source;
    while (v != sink) {
      size_t& next = next_[at(v)];
      if (next == out_[at(v)].size()) {
        if (v == source) return false;
        level_[at(v)] = -1;  // a dead end
        v = edges_[at(path.back() ^ 1)].to;
        path.pop_back();
        ++next_[at(v)];
        continue;
      }
      int e = out_[at(v)][next];
      const Edge& edge = edges_[at(e)];
      if (edge.left > kSmallest && level_[at(edge.to)] == level_[at(v)] + 1) {
        path.push_back(e);
        v = edge.to;
      } else {
        ++next;
      }
    }
    double least = kInfinity;
    for (int e : path) least = std::min(least, edges_[at(e)].left);
    IG_CHECK(least < kInfinity, "a cut has no end");
    for (int e : path) {
      edges_[at(e)].left -= least;
      edges_[at(e ^ 1)].left += least;
    }
    return true;
  }

  std::vector<Edge> edges_;
  std::vector<std::vector<int>> out_;
  std::vector<int> level_;
  std::vector<size_t> next_;
};

}  // namespace

int64_t usual_size(const Dim& dim, const DimScope& scope) {
  constexpr int64_t kUsual = 64;
  if (dim.is_constant()) return dim.constant();
  std::vector<std::string> symbols;
  dim.collect_symbols(symbols);
  SymbolValues values;
  for (const std::string& symbol : symbols) {
    const Range range = scope.range(symbol);
    values[symbol] = std::clamp(kUsual, range.low, range.high);
  }
  return dim.evaluate(values);
}

double bytes_of(const Type& type, const DimScope& scope) {
  return type.is_tensor() ? elements_of(type, scope) * static_cast<double>(size_of(type.dtype)) : 0;
}

Work work_of(const Node* node, const DimScope& scope) {
  using Kind = LowerRule::Kind;
  double in = 0, out = 0, product = 1;
  for (Value v : node->operands()) {
    in += elements_of(v->type(), scope);
    product *= std::max(elements_of(v->type(), scope), 1.0);
  }
  for (Value v : node->results()) out += elements_of(v->type(), scope);
  const Op& op = op_of(node);
  if (!node->regions().empty()) {
    double inside = 0;
    for (const auto& region : node->regions())
      for (const Node* each : *region)
        if (each != region->terminator()) inside += work_of(each, scope).cost;
    double length = 1;
    if (const AttrValue* steps = node->attrs().find("length"))
      if (const auto* dims = std::get_if<Dims>(steps); dims && !dims->empty() && dims->front().is_constant())
        length = static_cast<double>(dims->front().constant());
    return {false, (in + inside) * std::max(length, 1.0)};
  }
  if (op.has(Trait::Constant)) return {true, 0};
  if (op.has(Trait::Effect) || is_host_call(op)) return {false, kInfinity};
  if (op.has(Trait::Contraction)) return {false, 2 * out * std::sqrt(product / std::max(out, 1.0))};
  if (op.has(Trait::Random)) return {false, 32 * out};
  switch (op.rules.lower.kind) {
    case Kind::Scalar: return {true, op.has(Trait::Cheap) ? out / 16 : out};
    case Kind::Point:
      if (op.has(Trait::Relabel)) return {true, 0};
      if (op.has(Trait::View) || op.has(Trait::Cheap)) return {true, out / 16};
      return {false, 16 * (in + out)};
    case Kind::Reduce: return {in <= kShortFold * std::max(out, 1.0), in};
    case Kind::Composite:
      if (op.has(Trait::Elementwise)) return {true, 4 * out};
      return {false, 16 * (in + out)};
    default: return {false, 16 * (in + out)};
  }
}

Value behind(Builder& build, Value x, Value gate) { return build("after", {x, gate}); }

SavedAnswer choose_saved(const DimScope& scope, const SavedQuestion& question) {
  Flow flow;
  int source = flow.vertex(), sink = flow.vertex();
  std::unordered_map<Value, std::pair<int, int>> of;  // where it is made, where it is read
  std::unordered_map<const Node*, int> nodes;
  std::vector<Value> order;
  auto vertices = [&](Value v) {
    auto [it, fresh] = of.try_emplace(v);
    if (!fresh) return it->second;
    it->second = {flow.vertex(), flow.vertex()};
    order.push_back(v);
    double bytes = question.there_anyway(v)                     ? 0
                   : question.saveable && !question.saveable(v) ? kInfinity
                                                                : std::max(bytes_of(v->type(), scope), 1.0);
    flow.edge(it->second.first, it->second.second, bytes);
    return it->second;
  };
  for (Value v : question.needed) flow.edge(vertices(v).second, sink, kInfinity);
  for (size_t i = 0; i < order.size(); ++i) {
    Value v = order[i];
    int made = of.at(v).first;
    const Node* node = v->node();
    if (!node || !question.early(node) || question.there_anyway(v)) {
      flow.edge(source, made, kInfinity);
      continue;
    }
    auto [it, fresh] = nodes.try_emplace(node);
    if (fresh) {
      it->second = flow.vertex();
      Work work = work_of(node, scope);
      double cost = work.fusible ? work.cost : work.cost == 0 ? 0 : work.cost * question.rate;
      if (question.once.contains(node)) cost = kInfinity;
      if (cost > 0) flow.edge(source, it->second, cost);
      for (Value operand : node->operands()) {
        int read = vertices(operand).second;
        flow.edge(read, nodes.at(node), kInfinity);
      }
    }
    flow.edge(nodes.at(node), made, kInfinity);
  }
  flow.run(source, sink);
  std::vector<bool> late = flow.reaching(sink);
  SavedAnswer out;
  for (Value v : order) {
    auto [made, read] = of.at(v);
    if (!late[static_cast<size_t>(read)] || late[static_cast<size_t>(made)]) continue;
    if (question.there_anyway(v)) continue;
    out.saved.push_back(v);
    out.bytes += bytes_of(v->type(), scope);
  }
  for (const auto& [node, vertex] : nodes) {
    if (!late[static_cast<size_t>(vertex)]) continue;
    out.again.insert(node);
    Work work = work_of(node, scope);
    if (!work.fusible) out.work += work.cost;
  }
  return out;
}

SavedAnswer choose_saved_within(const DimScope& scope, SavedQuestion question, double budget) {
  // From where no operation is worth a byte that it saves, down to where every one is.
  double high = 1e6, low = 1e-9;
  question.rate = high;
  SavedAnswer best = choose_saved(scope, question);
  if (best.bytes <= budget) return best;
  question.rate = low;
  best = choose_saved(scope, question);
  for (int step = 0; step < 40 && best.bytes <= budget; ++step) {
    question.rate = std::sqrt(high * low);
    SavedAnswer next = choose_saved(scope, question);
    if (next.bytes <= budget) {
      best = std::move(next);
      low = question.rate;
    } else {
      high = question.rate;
    }
  }
  // Nodes of one price come and go together: what fits of them is taken one by one.
  question.rate = low;
  std::vector<std::pair<double, const Node*>> worth;
  for (const Node* node : best.again) {
    Work work = work_of(node, scope);
    if (!work.fusible && std::none_of(node->results().begin(), node->results().end(),
                                      [&](Value v) { return question.saveable && !question.saveable(v); }))
      worth.emplace_back(work.cost, node);
  }
  std::sort(worth.begin(), worth.end(), [](const auto& a, const auto& b) {
    return std::pair{-a.first, a.second->id()} < std::pair{-b.first, b.second->id()};
  });
  if (worth.size() > 32) worth.resize(32);
  for (const auto& [work, node] : worth) {
    if (!best.again.contains(node)) continue;
    question.once.insert(node);
    SavedAnswer next = choose_saved(scope, question);
    if (next.bytes <= budget && next.work < best.work)
      best = std::move(next);
    else
      question.once.erase(node);
  }
  return best;
}

}  // namespace ig::ops
