// Where an innermost loop reads and writes. An offset is a sum, most of which does not move in the loop: that
// part is added to the buffer once before it, and offsets that differ by a constant share it. LLVM would find
// as much, but by trying how each sum may be taken apart (loop strength reduction), which for the tens of
// places of a register tile takes a fifth of all its time; so it is not to see where such an address comes
// from.
#include <llvm/IR/InlineAsm.h>

#include <algorithm>

#include "codegen/llvm/emit.h"

namespace ig::codegen {

using loop::Op;
using loop::Stmt;

namespace {

bool is_loop(const Stmt& s) {
  return s.kind == Stmt::Kind::For || s.kind == Stmt::Kind::VectorFor || s.kind == Stmt::Kind::Unrolled;
}

bool has_loop(const loop::Stmts& stmts) {
  return std::ranges::any_of(
      stmts, [](const auto& s) { return is_loop(*s) || has_loop(s->body) || has_loop(s->otherwise); });
}

void add_defined(const loop::Stmts& stmts, std::unordered_set<uint32_t>& out) {
  for (const auto& s : stmts) {
    if (s->kind == Stmt::Kind::Let) out.insert(s->id);
    add_defined(s->body, out), add_defined(s->otherwise, out);
  }
}

// Of loops with fewer LLVM soon finds as good addresses, and shares them with the loops around.
constexpr int64_t kFewPlaces = 4;

void add_places(const loop::ExprNode* n, std::unordered_set<const loop::ExprNode*>& seen, int64_t& places) {
  if (n == nullptr || !seen.insert(n).second) return;
  places += n->op == Op::Load;
  for (const loop::Expr& part : {n->a, n->b, n->c}) add_places(part.node(), seen, places);
}
void add_places(const loop::Stmts& stmts, std::unordered_set<const loop::ExprNode*>& seen, int64_t& places) {
  for (const auto& s : stmts) {
    places += s->kind == Stmt::Kind::Store || s->kind == Stmt::Kind::Prefetch;
    for (const loop::Expr& e : {s->begin, s->index, s->value}) add_places(e.node(), seen, places);
    add_places(s->body, seen, places), add_places(s->otherwise, seen, places);
  }
}

}  // namespace

llvm::Value* Emitter::hidden(llvm::Value* pointer) {
  auto* type = pointer->getType();
  auto* nothing = llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "", "=r,0", false);
  return b_.CreateCall(nothing, {pointer});
}

void Emitter::begin_turns(const Stmt& s, llvm::BasicBlock* ahead) {
  if (has_loop(s.body)) return;
  int64_t places = 0;
  std::unordered_set<const loop::ExprNode*> seen;
  add_places(s.body, seen, places);
  if (places < kFewPlaces) return;
  turns_.emplace();
  turns_->ahead = ahead;
  turns_->depth = scopes_.size();
  turns_->defined.insert(s.id);
  add_defined(s.body, turns_->defined);
}

// Whether an index has another value in another turn, or is nothing to work out before the loop: there it is
// worked out whether or not a turn comes to it, so it must not trap, and needs to be plain arithmetic.
bool Emitter::moves(const Node* n) {
  if (n->type != DType::I64 && n->type != DType::Bool) return true;
  switch (n->op) {
    case Op::Const:
    case Op::Size: return false;
    case Op::Var: return turns_->defined.contains(n->id);
    case Op::Div:
    case Op::Rem:
      if (n->b->op != Op::Const) return true;
      break;
    case Op::Add:
    case Op::Sub:
    case Op::Mul:
    case Op::Select:
    case Op::And:
    case Op::Or: break;
    default:
      if (n->op < Op::Eq || n->op > Op::Ge) return true;
  }
  if (auto it = turns_->moves.find(n); it != turns_->moves.end()) return it->second;
  const bool out = moves(n->a.node()) || moves(n->b.node()) || (n->c && moves(n->c.node()));
  turns_->moves[n] = out;
  return out;
}

// Adds `times` an index to a sum of terms and a constant, all modulo 2^64. Lets are taken apart where they
// are a sum.
void Emitter::add_terms(const Node* n, uint64_t times, Sum& sum) {
  switch (n->op) {
    case Op::Const: sum.constant += times * n->bits[0]; return;
    case Op::Add:
    case Op::Sub:
      add_terms(n->a.node(), times, sum);
      return add_terms(n->b.node(), n->op == Op::Add ? times : 0 - times, sum);
    case Op::Mul:
      if (n->b->op == Op::Const) return add_terms(n->a.node(), times * n->b->bits[0], sum);
      if (n->a->op == Op::Const) return add_terms(n->b.node(), times * n->a->bits[0], sum);
      break;
    case Op::Var:
      if (!n->a || impure(n->a.node())) break;
      if (const Node* is = n->a.node(); is->op == Op::Add || is->op == Op::Sub)
        if (turns_->defined.contains(n->id) || is->b->op == Op::Const) return add_terms(is, times, sum);
      break;
    default: break;
  }
  auto same = std::ranges::find(sum.terms, n, &Term::node);
  if (same != sum.terms.end())
    same->times += times;
  else
    sum.terms.push_back({n, times});
}

// The element at an offset, where that is a number that goes up evenly from lane to lane, and part of it
// stays.
std::optional<Emitter::Place> Emitter::place_in_turns(uint32_t buffer, llvm::Type* element,
                                                      const Node* offset) {
  if (!turns_ || mask_ != nullptr || offset->type != DType::I64) return std::nullopt;
  Sum sum;
  add_terms(offset, 1, sum);
  std::vector<Term> stays, goes;
  for (const Term& term : sum.terms) (moves(term.node) ? goes : stays).push_back(term);
  if (stays.empty()) return std::nullopt;
  uint64_t stride = 0;
  auto total = [&](const std::vector<Term>& terms) -> llvm::Value* {
    llvm::Value* out = nullptr;
    for (const Term& term : terms) {
      const Value value = eval(term.node);
      if (value.v->getType()->isVectorTy()) return nullptr;
      stride += static_cast<uint64_t>(value.stride) * term.times;
      auto* part = term.times == 1 ? value.v : b_.CreateMul(value.v, b_.getInt64(term.times));
      out = out == nullptr ? part : b_.CreateAdd(out, part);
    }
    return out == nullptr ? i64(0) : out;
  };
  auto found = std::ranges::find_if(turns_->bases, [&](const Base& base) {
    return base.buffer == buffer && base.element == element && std::ranges::is_permutation(base.terms, stays);
  });
  if (found == turns_->bases.end()) {
    // What was worked out in the loop is not at hand before it.
    std::vector<Scope> inner(
        std::make_move_iterator(scopes_.begin() + static_cast<std::ptrdiff_t>(turns_->depth)),
        std::make_move_iterator(scopes_.end()));
    scopes_.resize(turns_->depth);
    scopes_.emplace_back();
    Base base{buffer, element, stays, nullptr, 0};
    {
      llvm::IRBuilder<>::InsertPointGuard guard(b_);
      b_.SetInsertPoint(turns_->ahead->getTerminator());
      if (auto* start = total(stays); start != nullptr)
        base.pointer = hidden(b_.CreateGEP(element, pointers_[buffer], start));
    }
    base.stride = stride;
    scopes_.pop_back();
    std::ranges::move(inner, std::back_inserter(scopes_));
    turns_->bases.push_back(std::move(base));
    found = turns_->bases.end() - 1;
  } else {
    stride = found->stride;
  }
  auto* base = found->pointer;  // offsets may be read from memory, whose places are found meanwhile
  if (base == nullptr) return std::nullopt;
  auto* rest = total(goes);
  if (rest == nullptr) return std::nullopt;
  if (sum.constant != 0) rest = b_.CreateAdd(rest, b_.getInt64(sum.constant));
  return Place{b_.CreateGEP(element, base, rest), static_cast<int64_t>(stride)};
}

}  // namespace ig::codegen
