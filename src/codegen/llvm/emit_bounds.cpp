// Loads at places that are moved into range: what a border, a joined array or a part of one reads, where its
// axis is walked together with others, so that no loop could be cut where it ends. Nearly all groups lie
// between the bounds, and are loaded whole; those that meet one gather their lanes.

#include "codegen/llvm/emit.h"

namespace ig::codegen {

using loop::ExprNode;
using loop::Op;

namespace {

const ExprNode* seen_through(const ExprNode* n) {
  while (n->op == Op::Var && n->a) n = n->a.node();
  return n;
}

// The lesser or the greater of two numbers.
bool bounds(const ExprNode* n) {
  return n->op == Op::Select && (n->a->op == Op::Le || n->a->op == Op::Ge) && n->a->a.node() == n->b.node() &&
         n->a->b.node() == n->c.node();
}

}  // namespace

bool Emitter::has_bounds(const Node* place, int depth) {
  const Node* n = seen_through(place);
  if (bounds(n)) return true;
  return depth > 0 && (n->op == Op::Add || n->op == Op::Sub) &&
         (has_bounds(n->a.node(), depth - 1) || has_bounds(n->b.node(), depth - 1));
}

// The place without its bounds, and in `within` the question whether no lane meets one. Nothing (v null)
// where it is not one number and a step.
Emitter::Value Emitter::without_bounds(const Node* place, llvm::Value*& within) {
  if (!has_bounds(place)) return eval(place);
  const Node* n = seen_through(place);
  const bool either = bounds(n);
  const Value a = without_bounds((either ? n->b : n->a).node(), within),
              b = without_bounds((either ? n->c : n->b).node(), within);
  if (a.v == nullptr || b.v == nullptr) return {};
  if (a.uniform() && b.uniform()) return eval(place);
  if (!either) return affine(*n, a, b);
  if (!a.uniform() && !b.uniform()) return {};
  const Value &walked = a.uniform() ? b : a, &bound = a.uniform() ? a : b;
  if (walked.steps != nullptr || walked.stride != 1) return {};
  auto* last = b_.CreateSub(active_lanes(), i64(1));
  auto* meets_none = n->a->op == Op::Le ? b_.CreateICmpSLE(walked.v, b_.CreateSub(bound.v, last))
                                        : b_.CreateICmpSGE(walked.v, bound.v);
  within = within == nullptr ? meets_none : b_.CreateAnd(within, meets_none);
  return walked;
}

// Whether the condition holds for all lanes, and whether for none, where it is made of comparisons of places
// that go up by one. Nothing (`all` null) where it is not.
Emitter::Holds Emitter::holds(const Node* condition) {
  const Node* n = seen_through(condition);
  if (n->op == Op::And && n->type == DType::Bool) {
    const Holds a = holds(n->a.node()), b = holds(n->b.node());
    if (a.all == nullptr || b.all == nullptr) return {};
    return {b_.CreateAnd(a.all, b.all), b_.CreateOr(a.none, b.none)};
  }
  const bool compares = n->op >= Op::Eq && n->op <= Op::Ge && n->a.type() == DType::I64;
  if (!compares || n->op == Op::Eq || n->op == Op::Ne) {
    const Value v = eval(n);
    return v.uniform() ? Holds{v.v, b_.CreateNot(v.v)} : Holds{};
  }
  const Value a = eval(n->a), b = eval(n->b);
  if (a.steps != nullptr || b.steps != nullptr || a.v->getType()->isVectorTy() ||
      b.v->getType()->isVectorTy())
    return {};
  auto last = [&](const Value& v) { return b_.CreateAdd(v.v, i64(v.stride * (lanes_ - 1))); };
  auto *first_lane = compare(*n, a.v, b.v), *last_lane = compare(*n, last(a), last(b));
  return {b_.CreateAnd(first_lane, last_lane), b_.CreateNot(b_.CreateOr(first_lane, last_lane))};
}

// What `make` computes in a block of its own, of which nothing is known behind it.
Emitter::Arm Emitter::in_arm(llvm::BasicBlock* at, llvm::BasicBlock* after,
                             const std::function<llvm::Value*()>& make) {
  b_.SetInsertPoint(at);
  scopes_.emplace_back();
  scopes_.back().same_statement = true;
  auto* value = make();
  scopes_.pop_back();
  auto* from = b_.GetInsertBlock();
  b_.CreateBr(after);
  return {value, from};
}

llvm::Value* Emitter::joined_arms(llvm::BasicBlock* after, std::initializer_list<Arm> arms) {
  b_.SetInsertPoint(after);
  auto* phi = b_.CreatePHI(arms.begin()->value->getType(), static_cast<unsigned>(arms.size()));
  for (const Arm& arm : arms) phi->addIncoming(arm.value, arm.from);
  return phi;
}

// Null where the place is nothing of the kind. `lane_by_lane` loads at any place.
llvm::Value* Emitter::load_within(uint32_t buffer, DType type, const Node* place,
                                  const std::function<llvm::Value*()>& lane_by_lane) {
  if (lanes_ == 1 || mask_ != nullptr || meets_bound_ || !has_bounds(place)) return nullptr;
  llvm::Value* within = nullptr;
  const Value at = without_bounds(place, within);
  if (at.v == nullptr || within == nullptr || at.steps != nullptr || at.stride != 1) return nullptr;
  auto *all = block("within"), *some = block("bound"), *after = block("loaded");
  b_.CreateCondBr(within, all, some, usually());
  const Arm whole = in_arm(all, after, [&] { return load_contiguous(buffer, type, at.v); });
  const Arm gathered = in_arm(some, after, lane_by_lane);
  return joined_arms(after, {whole, gathered});
}

// A choice of what is loaded within its bounds and of something else: nearly all groups are of one or the
// other. Null where it is nothing of the kind.
llvm::Value* Emitter::select_within(const Node& n) {
  const Node* load = n.b.node();
  if (lanes_ == 1 || mask_ != nullptr || meets_bound_ || load->op != Op::Load || is_complex(n.type) ||
      known(load) != nullptr || !has_bounds(load->a.node()))
    return nullptr;
  const Holds condition = holds(n.a.node());
  if (condition.all == nullptr) return nullptr;
  llvm::Value* within = nullptr;
  const Value at = without_bounds(load->a.node(), within);
  if (at.v == nullptr || within == nullptr || at.steps != nullptr || at.stride != 1) return nullptr;
  auto* other = wide(eval(n.c));
  auto* inside = b_.CreateAnd(condition.all, within);
  auto *all = block("within"), *not_all = block("outside"), *some = block("bound"), *after = block("chosen");
  b_.CreateCondBr(inside, all, not_all, usually());
  b_.SetInsertPoint(not_all);
  auto* outside = b_.GetInsertBlock();
  b_.CreateCondBr(condition.none, after, some, usually());
  const Arm whole =
      in_arm(all, after, [&] { return from_memory(n.type, load_contiguous(load->id, n.type, at.v)); });
  const Arm mixed = in_arm(some, after, [&] {
    meets_bound_ = true;
    auto* chosen = b_.CreateSelect(wide(eval(n.a)), wide(eval(n.b)), other);
    meets_bound_ = false;
    return chosen;
  });
  return joined_arms(after, {whole, {other, outside}, mixed});
}

}  // namespace ig::codegen
