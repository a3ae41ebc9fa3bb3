// The third stage of grouping: cheap values that a kernel would write for others are computed again by each
// of these, where that moves less. A batch norm's kernels read the image, in place of the differences from
// its means and their squares; its gradient's sums read the cotangent, in place of all that is made of it.
//
// What a kernel writes is a cut through its nodes: every reader must be able to compute what it reads from
// what is written and from what the kernel itself reads. Two cuts are tried, that of now and the earliest
// one, and the better of them is improved value by value.
#include <algorithm>
#include <functional>
#include <limits>
#include <ranges>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "ir/copy.h"
#include "ops/attrs.h"
#include "ops/saved_values.h"
#include "ops/shape_attrs.h"
#include "passes/fusion_cost.h"
#include "passes/fusion_groups.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

constexpr size_t kMostValues = 32;   // among which to choose
constexpr int kRounds = 2;           // of improving
constexpr double kLeastGain = 0.05;  // of the bytes that all these kernels move
constexpr double kSmall = 1.0 / 16;  // of the elements walked: values that take no memory worth a thought

}  // namespace

// One kernel, and the kernels that read what it writes and could compute themselves.
class Grouping::Recomputing {
 public:
  Recomputing(Grouping& in, Group* from) : in_(in), scope_(in.block_.graph().dims), from_(from) {
    for (const Node* node : from->nodes)
      for (Value v : node->results()) look_at(v);
  }

  const std::vector<Group*>& readers() const { return readers_; }
  // Whether something is computed again from now on.
  bool run() {
    if (read_.empty() || read_.size() > kMostValues) return false;
    const std::unordered_set<Value> all(read_.begin(), read_.end());
    const Plan now = plan(all);
    Plan best = plan({});
    if (!best.fits || best.nanoseconds > now.nanoseconds) best = now;
    bool better = true;
    for (int round = 0; round < kRounds && std::exchange(better, false); ++round)
      for (const std::vector<Value>* values : {&read_, &forks_})
        for (Value v : *values) {
          std::unordered_set<Value> written = best.written;
          if (written.erase(v) == 0) written.insert(v);
          Plan other = plan(written);
          if (other.fits && other.nanoseconds < best.nanoseconds) best = std::move(other), better = true;
        }
    if (best.bytes > (1 - kLeastGain) * now.bytes || best.nanoseconds >= now.nanoseconds) return false;
    apply(best);
    return true;
  }

 private:
  struct Plan {
    std::unordered_set<Value> written;      // of what could be computed again, and what that would be made of
    std::vector<Node*> left;                // what the kernel still computes
    std::vector<std::vector<Node*>> again;  // what each reader computes, in order
    double bytes = 0, nanoseconds = 0;      // of all these kernels
    bool fits = true;
  };

  bool inside(Value v) const { return v->node() && in_.group_of(v->node()) == from_; }
  bool is_small(Value v) const {
    return elements_in(v->type().dims, scope_) <= kSmall * elements_in(from_->domain, scope_);
  }
  bool may_repeat(const Node* node) const {
    if (node->results().size() != 1) return false;
    if (ops::has(node, ops::Trait::Elementwise)) return ops::has(node, ops::Trait::Cheap);
    if (node->attrs().find(ops::kBroadcastDims.name)) return true;
    return ops::has(node, ops::Trait::Relabel) && is_small(node->result());  // else it costs divisions
  }
  // A fold takes each element once, whatever order they lie in.
  static bool turns_over(const Node* node) { return node->attrs().find(ops::kPermutation.name) != nullptr; }
  // Whether the use is in a kernel that walks the value's shape, and takes an element of it at each place.
  bool may_take(Value v, const Use& use) const {
    const Group* reader = in_.group_of(use.user);
    if (!reader) return false;
    if (reader->kind == GroupKind::Nest) return names_elements(use.user, v, reader);
    const bool folds = reader->kind == GroupKind::Row || reader->kind == GroupKind::Panel ||
                       reader->kind == GroupKind::Column;
    if (folds && turns_over(use.user) && use.user->result()->type().dims == reader->domain)
      return std::ranges::all_of(use.user->result()->uses(), [&](const Use& behind) {
        return in_.group_of(behind.user) == reader && may_take(use.user->result(), behind);
      });
    if (reader->domain != v->type().dims) return false;
    const bool behind = reader->kind == GroupKind::Contraction && !reader->closed;
    const bool plain = reader->kind == GroupKind::Loop || reader->kind == GroupKind::View;
    if (!folds && !behind && !plain) return false;
    if (folds && in_.folds_short_parts(from_, reader->domain, reader->axes)) return false;
    return ops::has(use.user, ops::Trait::Elementwise) ||
           (folds && ops::op_of(use.user).rules.lower.kind == ops::LowerRule::Kind::Reduce) ||
           ((plain || folds) && names_elements(use.user, v, reader));
  }
  // Whether the node, or what it passes the value on to, relabelled and put beside others, takes from each of
  // its elements where one element of its own lies, or is a nest that takes them one by one.
  bool names_elements(const Node* node, Value v, const Group* reader) const {
    if (reader->kind == GroupKind::Nest && node == reader->nodes.back()) {
      for (size_t i = 0; i < node->operands().size(); ++i)
        if (node->operand(i) == v && !takes(node, i)) return false;
      return true;
    }
    if (const AttrValue* offsets = node->attrs().find(ops::kOffsetDims.name))
      return v != node->operand(0) && std::get<Ints>(*offsets).empty();
    Dim put = int64_t{0};
    for (Value operand : node->operands()) put = put + product(operand->type().dims);
    if (!ops::has(node, ops::Trait::View) || put != product(node->result()->type().dims)) return false;
    return std::ranges::all_of(node->result()->uses(), [&](const Use& use) {
      return in_.group_of(use.user) == reader && names_elements(use.user, node->result(), reader);
    });
  }

  // Whether the kernel can give it.
  bool may_write(Value v) const {
    const Dims& dims = v->type().dims;
    if (from_->kind == GroupKind::Column) return dims == from_->kept;
    const bool folds = from_->kind == GroupKind::Row || from_->kind == GroupKind::Panel;
    return dims == from_->domain || (folds && dims == from_->kept);
  }

  void look_at(Value v) {
    const Node* node = v->node();
    std::vector<Use> outside;
    for (const Use& use : v->uses())
      if (in_.group_of(use.user) != from_) outside.push_back(use);
    const bool repeats = may_repeat(node);
    if (outside.empty()) {
      if (repeats && v->uses().size() > 1 && v->type().dims == from_->domain) forks_.push_back(v);
      return;
    }
    if (!repeats || !std::ranges::all_of(outside, [&](const Use& use) { return may_take(v, use); })) {
      fixed_.insert(v);
      return;
    }
    read_.push_back(v);
    for (const Use& use : outside) {
      Group* reader = in_.group_of(use.user);
      if (std::ranges::find(readers_, reader) == readers_.end()) readers_.push_back(reader);
    }
  }

  // What becomes of the kernels where these values are written, as far as somebody reads them.
  Plan plan(const std::unordered_set<Value>& written) const {
    Plan out;
    for (const Group* reader : readers_) {
      std::vector<Node*>& again = out.again.emplace_back();
      std::unordered_set<const Node*> met;
      std::function<void(Value)> need = [&](Value v) {
        if (!inside(v) || fixed_.contains(v)) return;
        if (written.contains(v) || !may_repeat(v->node())) {
          out.written.insert(v);
          out.fits = out.fits && may_write(v);
          return;
        }
        if (!met.insert(v->node()).second) return;
        for (Value operand : v->node()->operands()) need(operand);
        again.push_back(v->node());
      };
      for (Value v : read_)
        if (reads(reader, v)) need(v);
      if (reader->nodes.size() + again.size() > kLargestGroup) out.fits = false;
      if (reader->kind == GroupKind::Nest && in_.reads_what_changes(again, reader)) out.fits = false;
    }
    find_left(out);
    weigh(out);
    out.fits = out.fits && keeps_no_more(out);
    return out;
  }

  bool reads(const Group* reader, Value v) const {
    return std::ranges::any_of(v->uses(), [&](const Use& use) { return in_.group_of(use.user) == reader; });
  }

  void find_left(Plan& plan) const {
    std::unordered_set<const Node*> needed;
    for (size_t i = from_->nodes.size(); i-- > 0;) {
      Node* node = from_->nodes[i];
      const bool left = needed.contains(node) || std::ranges::any_of(node->results(), [&](Value v) {
                          return fixed_.contains(v) || plan.written.contains(v);
                        });
      if (!left) continue;
      plan.left.push_back(node);
      for (Value v : node->operands())
        if (inside(v)) needed.insert(v->node());
    }
    std::ranges::reverse(plan.left);
  }

  void weigh(Plan& plan) const {
    auto add = [&](std::span<const KernelWork> work, const std::function<bool(Value)>& writes) {
      const ops::FusionCost cost =
          cost_of_kernel(work, [&](const Node* node) { return in_.is_free(node); }, writes, scope_);
      plan.bytes += cost.bytes;
      plan.nanoseconds += cost.nanoseconds;
    };
    if (!plan.left.empty()) {
      const KernelWork own[] = {{plan.left}};
      add(own, [&](Value v) { return fixed_.contains(v) || plan.written.contains(v); });
    }
    for (size_t r = 0; r < readers_.size(); ++r) {
      const bool in_nest = readers_[r]->kind == GroupKind::Nest;
      const KernelWork work[] = {{readers_[r]->nodes}, {plan.again[r], in_nest ? kInNest : 1}};
      add(work, [&](Value v) {
        return in_.group_of(v->node()) == readers_[r] && std::ranges::any_of(v->uses(), [&](const Use& use) {
                 return in_.group_of(use.user) != readers_[r];
               });
      });
    }
  }

  // Whether what must stay in memory for longer than now is no more than what need not be there any more.
  bool keeps_no_more(const Plan& plan) const {
    auto weight = [&](Value v) { return is_small(v) ? 0 : ops::bytes_of(v->type(), scope_); };
    double less = 0, more = 0;
    for (Value v : read_)
      if (!plan.written.contains(v)) less += weight(v);
    for (Value v : plan.written)
      if (std::ranges::find(read_, v) == read_.end()) more += weight(v);
    std::unordered_map<Value, size_t> until;  // that others read what the kernel reads
    for (size_t r = 0; r < readers_.size(); ++r)
      for (const Node* node : plan.again[r])
        for (Value v : node->operands()) {
          if (inside(v) || !v->node() || in_.is_free(v->node()) || ops::has(v->node(), ops::Trait::Constant))
            continue;
          auto [last, fresh] = until.try_emplace(v, 0);
          if (fresh) last->second = last_reader(v);
          const size_t then = in_.position_.get(readers_[r]->nodes.back());
          if (then <= last->second) continue;
          if (last->second != 0) more += weight(v);
          last->second = 0;  // counted
        }
    return more <= less;
  }
  size_t last_reader(Value v) const {
    size_t last = 1;
    for (const Use& use : v->uses()) {
      const Group* reader = in_.group_of(use.user);
      const Node* node = reader ? reader->nodes.back() : use.user;
      last =
          std::max(last, is_terminator(node) ? std::numeric_limits<size_t>::max() : in_.position_.get(node));
    }
    return last;
  }

  void apply(const Plan& plan) {
    for (size_t r = 0; r < readers_.size(); ++r) {
      Group* reader = readers_[r];
      if (plan.again[r].empty()) continue;
      if (reader->kind == GroupKind::View) reader->kind = GroupKind::Loop;
      for (Node* node : plan.again[r] | std::views::reverse) in_.compute_in(reader, node);
    }
    std::unordered_set<const Node*> gone(from_->nodes.begin(), from_->nodes.end());
    for (const Node* node : plan.left) gone.erase(node);
    std::erase_if(in_.refusals_, [&](const Refusal& refusal) {
      return gone.contains(refusal.node) || gone.contains(refusal.of);
    });
    for (Node* node : from_->nodes | std::views::reverse)
      if (gone.contains(node)) in_.of_[node] = nullptr, in_.block_.graph().erase(node);
    from_->nodes = plan.left;
  }

  Grouping& in_;
  const DimScope& scope_;
  Group* from_;
  std::vector<Value> read_;          // by kernels that could compute them
  std::vector<Value> forks_;         // values inside that several others are made of
  std::unordered_set<Value> fixed_;  // written whatever happens
  std::vector<Group*> readers_;
};

// What one kernel computes again no longer stands in the way of another one's doing so: of those that it
// reads from, and of its own.
bool Grouping::compute_where_read() {
  constexpr int kSweeps = 3;
  bool changed = false;
  std::unordered_set<const Group*> anew;
  for (int sweep = 0; sweep < kSweeps && (sweep == 0 || !anew.empty()); ++sweep) {
    const std::unordered_set<const Group*> now = std::exchange(anew, {});
    for (const auto& group : groups_) {
      if (group->nodes.empty() || group->closed || group->kind == GroupKind::Nest ||
          group->kind == GroupKind::Relabel || (sweep > 0 && !now.contains(group.get())))
        continue;
      Recomputing recomputing(*this, group.get());
      if (!recomputing.run()) continue;
      changed = true;
      anew.insert(group.get());
      for (const Group* reader : recomputing.readers()) {
        anew.insert(reader);
        for (const Node* node : reader->nodes)
          for (const Group* producer : producer_groups(node)) anew.insert(producer);
      }
    }
  }
  return changed;
}

}  // namespace ig::passes
