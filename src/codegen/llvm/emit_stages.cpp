// Vector loops whose elements wait for each other: a long chain of operations for each group (an exponential,
// a logistic) is cut into two stages, and a turn of the loop has the second stage of one group beside the
// first one of the next. A processor looks so many operations ahead, and most of a long chain's would stand
// there and wait; of two half chains that need nothing of each other, half as many do.
//
//   first stage of the group at begin
//   for each group
//     its second stage, which stores
//     the first stage of the next one (after the last, of that again, for nothing)
//
// Loads and stores keep their order: a group's first stage comes behind all stores of the groups before, as
// it did, and takes nothing that the loop's body has behind its own first store. (Software pipelining; Lam,
// "Software pipelining: an effective scheduling technique for VLIW machines", 1988, with two stages and no
// schedule, since the processor makes its own.)
#include <algorithm>

#include "codegen/llvm/emit.h"

namespace ig::codegen {

using loop::Op;
using loop::Stmt;

namespace {

// Cycles from operands to result, about as all processors of today have it.
int latency(const loop::ExprNode& n) {
  switch (n.op) {
    case Op::Const:
    case Op::Var:
    case Op::Size:
    case Op::Real:
    case Op::Imag:
    case Op::Complex:
    case Op::Bitcast: return 0;
    case Op::And:
    case Op::Or:
    case Op::Xor:
    case Op::Not:
    case Op::Neg:
    case Op::Abs:
    case Op::Shl:
    case Op::LShr:
    case Op::AShr: return 1;
    case Op::Select: return 2;
    case Op::Load: return 7;
    case Op::Div:
    case Op::Rem:
    case Op::Sqrt: return 12;
    case Op::Floor:
    case Op::Ceil:
    case Op::Trunc:
    case Op::RoundEven: return 8;
    default:
      if (n.op >= Op::Eq && n.op <= Op::Ge) return 2;
      return is_float(n.type) || n.op == Op::Lookup ? 4 : n.op == Op::Mul ? 8 : 1;
  }
}

}  // namespace

// What there is to know about the body of a vector loop, before it is cut.
class Emitter::Chain {
 public:
  explicit Chain(const Stmt& s) : loop_(s) {
    for (const auto& inner : s.body)
      if (inner->kind == Stmt::Kind::Let) inside_.insert(inner->id);
    bool stored = false;
    for (const auto& inner : s.body) {
      const bool stores = inner->kind == Stmt::Kind::Store;
      plain_ = plain_ && (stores || inner->kind == Stmt::Kind::Let || inner->kind == Stmt::Kind::Assign ||
                          inner->kind == Stmt::Kind::Prefetch);
      if (!inner->value) continue;
      const Node* root = seen_through(inner->value.node());
      length_ = std::max(length_, look(root, !stored).depth);
      if (inner->kind != Stmt::Kind::Let) ends_.push_back(root);
      stored = stored || stores;
    }
    // How long it is from each to the end; those that wait for it stand behind it in the order.
    for (size_t i = order_.size(); i-- > 0;)
      for_parts(order_[i], [&](const Node* part) {
        int& rest = facts_.at(part).rest;
        rest = std::max(rest, facts_.at(order_[i]).rest + latency(*order_[i]));
      });
  }

  // The values that go from the first stage to the second; none where the loop is better left whole.
  std::vector<const Node*> cut() const {
    constexpr size_t kMost = 6;  // values: each takes registers from both stages
    if (!plain_ || !waits()) return {};
    std::vector<const Node*> best;
    int best_at = 0;
    auto off_middle = [&](int at) { return std::abs(2 * at - length_); };
    for (int at = length_ * 2 / 5; at <= length_ * 3 / 5; ++at) {
      std::vector<const Node*> found = crossing(at);
      if (found.empty() || found.size() > kMost) continue;
      if (best.empty() || found.size() < best.size() ||
          (found.size() == best.size() && off_middle(at) < off_middle(best_at)))
        best = std::move(found), best_at = at;
    }
    return best;
  }

 private:
  // Whether a group's operations wait for each other longer than the units take for them, by a model: about
  // 64 of those that wait are foreseen, each from the group's start until what it needs is there; four units
  // compute, two of which multiply. A division keeps its unit busy for some cycles.
  bool waits() const {
    constexpr double kForeseen = 64, kUnits = 4, kMultiply = 2, kDivision = 5, kWorth = 1.25;
    double all = 0, multiplications = 0, waited = 0;
    for (const Node* n : order_) {
      const Fact& fact = facts_.at(n);
      if (!fact.varies || n->type == DType::I64 || n->op == Op::Load || latency(*n) == 0) continue;
      if (n->op == Op::Rem) return false;  // many instructions
      all += n->op == Op::Div || n->op == Op::Sqrt ? kDivision : 1;
      waited += fact.depth - latency(*n);
      if (is_float(n->type) && (n->op == Op::Mul || n->op == Op::Fma || n->op == Op::ProductRest))
        ++multiplications;
    }
    return waited / kForeseen > kWorth * std::max(all / kUnits, multiplications / kMultiply);
  }
  struct Fact {
    int depth = 0, rest = 0;  // cycles from what is read, and from here to the end
    bool varies = false;      // from turn to turn
    bool early = true;        // needs nothing that the loop keeps from turn to turn, or has behind a store
  };

  const Node* seen_through(const Node* n) const {
    while (n->op == Op::Var && n->a && inside_.contains(n->id)) n = n->a.node();
    return n;
  }
  // What an element is computed of; where its address comes from is none of the chain.
  template <typename F>
  void for_parts(const Node* n, const F& f) const {
    if (n->op == Op::Load || n->op == Op::Var || n->op == Op::Local) return;
    for (const loop::Expr& part : {n->a, n->b, n->c})
      if (part && (n->op != Op::Scale || part.node() == n->c.node())) f(seen_through(part.node()));
  }
  bool reads(const Node* n) {
    n = seen_through(n);
    if (n->op == Op::Load || n->op == Op::Local || n->op == Op::ReduceLanes) return true;
    if (auto it = reads_.find(n); it != reads_.end()) return it->second;
    bool out = false;
    for (const loop::Expr& part : {n->a, n->b, n->c}) out = out || (part && reads(part.node()));
    return reads_[n] = out;
  }
  const Fact& look(const Node* n, bool early) {
    if (auto it = facts_.find(n); it != facts_.end()) return it->second;
    Fact fact;
    fact.early = early;
    if (n->op == Op::Var) fact.varies = n->id == loop_.id;
    if (n->op == Op::Local || n->op == Op::ReduceLanes) fact.varies = true, fact.early = false;
    if (n->op == Op::Load) {
      // After the last group its own results may stand where its operands did, and would tell where to read.
      fact.varies = loop::depends_on(n->a, loop_.id);
      fact.early = early && !reads(n->a.node());
    }
    if (n->op == Op::SelectRare || n->op == Op::SelectLazy || is_complex(n->type)) plain_ = false;
    if (n->op == Op::Load && Emitter::has_bounds(n->a.node())) plain_ = false;
    for_parts(n, [&](const Node* part) {
      const Fact& of = look(part, early);
      fact.depth = std::max(fact.depth, of.depth);
      fact.varies = fact.varies || of.varies;
      fact.early = fact.early && of.early;
    });
    if (fact.varies) fact.depth += latency(*n);
    order_.push_back(n);
    return facts_[n] = fact;
  }
  // Of the first stage, if that ends there, is what has to be: what may wait does.
  bool in_first(const Node* n, int at) const {
    const Fact& fact = facts_.at(n);
    return fact.varies && fact.early && n->op != Op::Var && length_ - fact.rest <= at;
  }
  // Values of the first stage that the second one needs. What is read is read again, and comparisons and
  // indices, which are no numbers of a register's lanes, are worked out again.
  std::vector<const Node*> crossing(int at) const {
    std::vector<const Node*> out;
    std::unordered_set<const Node*> seen;
    std::function<void(const Node*)> walk = [&](const Node* n) {
      if (!facts_.at(n).varies || !seen.insert(n).second) return;
      if (in_first(n, at) && n->type != DType::Bool && n->type != DType::I64) {
        if (n->op != Op::Load) out.push_back(n);
      } else {
        for_parts(n, walk);
      }
    };
    for (const Node* end : ends_) walk(end);
    return out;
  }

  const Stmt& loop_;
  std::unordered_set<uint32_t> inside_;
  std::vector<const Node*> ends_, order_;
  std::unordered_map<const Node*, Fact> facts_;
  std::unordered_map<const Node*, bool> reads_;
  int length_ = 0;
  bool plain_ = true;
};

// 512 bits take two passes of a unit, or two units, so that there is no time to gain; of 128 bits some chains
// gained and some lost. A call is no part of a chain that could be cut.
std::vector<const Emitter::Node*> Emitter::cut_of(const Stmt& s) {
  if (target_.vector_bytes != 32 || !called_.empty()) return {};
  return Chain(s).cut();
}

void Emitter::in_stages(const Stmt& s, llvm::Value* begin, llvm::Value* end, bool sure,
                        std::span<const Node* const> cut) {
  std::unordered_set<uint32_t> lets;
  for (const auto& inner : s.body)
    if (inner->kind == Stmt::Kind::Let) lets.insert(inner->id);
  auto first_stage = [&](llvm::Value* i) {
    vars_[s.id] = {i, 1};
    lets_of_stage_ = &lets;
    scopes_.emplace_back();
    std::vector<llvm::Value*> out;
    for (const Node* n : cut) out.push_back(wide(eval(n)));
    scopes_.pop_back();
    lets_of_stage_ = nullptr;
    return out;
  };
  std::vector<llvm::Value*> opening;
  auto turn = [&](llvm::Value* i) {
    auto* ahead = llvm::cast<llvm::PHINode>(i)->getIncomingBlock(0);
    std::vector<llvm::PHINode*> kept;
    scopes_.emplace_back();
    for (size_t k = 0; k < cut.size(); ++k) {
      kept.push_back(b_.CreatePHI(opening[k]->getType(), 2, "stage"));
      kept.back()->addIncoming(opening[k], ahead);
      scopes_.back().pure[cut[k]] = {kept.back()};
    }
    body(s.body, s.id, {i, 1});
    scopes_.pop_back();
    auto* next = b_.CreateNSWAdd(i, i64(s.lanes));
    auto* last = b_.CreateNSWSub(end, i64(s.lanes));
    const std::vector<llvm::Value*> coming =
        first_stage(b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, next, last));
    for (size_t k = 0; k < cut.size(); ++k) kept[k]->addIncoming(coming[k], b_.GetInsertBlock());
  };
  counted(begin, end, s.lanes, sure, turn, &s, [&] { opening = first_stage(begin); });
}

}  // namespace ig::codegen
