// What codegen and the rules ask of index expressions: do they depend on a variable, and by what constant
// stride.
#include <unordered_map>

#include "loop/loop.h"

namespace ig::loop {
namespace {

using Strides = std::unordered_map<const ExprNode*, std::optional<int64_t>>;

std::optional<int64_t> stride_of(const ExprNode* n, uint32_t var, Strides& known) {
  if (n == nullptr || n->op == Op::Const || n->op == Op::Size) return 0;
  if (n->op == Op::Var && n->id == var) return 1;
  if (n->op == Op::Local || n->op == Op::ReduceLanes) return std::nullopt;
  if (auto it = known.find(n); it != known.end()) return it->second;
  auto a = stride_of(n->a.node(), var, known);
  auto b = stride_of(n->b.node(), var, known);
  auto c = stride_of(n->c.node(), var, known);
  std::optional<int64_t> out;
  auto constant = [](const Expr& e) { return e->op == Op::Const; };
  if (a == 0 && b == 0 && c == 0) {
    out = 0;
  } else if (a && b && c && n->type == DType::I64) {
    auto ua = static_cast<uint64_t>(*a), ub = static_cast<uint64_t>(*b);
    if (n->op == Op::Var) out = a;
    if (n->op == Op::Add) out = static_cast<int64_t>(ua + ub);
    if (n->op == Op::Sub) out = static_cast<int64_t>(ua - ub);
    if (n->op == Op::Neg) out = static_cast<int64_t>(0 - ua);
    if (n->op == Op::Mul && constant(n->b)) out = static_cast<int64_t>(ua * n->b->bits[0]);
    if (n->op == Op::Mul && constant(n->a)) out = static_cast<int64_t>(ub * n->a->bits[0]);
    if (n->op == Op::Shl && constant(n->b) && n->b->bits[0] < 63)
      out = static_cast<int64_t>(ua << n->b->bits[0]);
  }
  known[n] = out;
  return out;
}

// c of var + c; nullopt for anything else.
std::optional<int64_t> distance_from(const ExprNode* n, uint32_t var) {
  if (n->op == Op::Var && n->id == var) return 0;
  if (n->type != DType::I64 || (n->op != Op::Add && n->op != Op::Sub)) return std::nullopt;
  auto constant = [](const Expr& e) { return e->op == Op::Const; };
  const bool add = n->op == Op::Add;
  const ExprNode* rest = constant(n->b) ? n->a.node() : add && constant(n->a) ? n->b.node() : nullptr;
  if (rest == nullptr) return std::nullopt;
  auto c = static_cast<int64_t>((rest == n->a.node() ? n->b : n->a)->bits[0]);
  auto out = distance_from(rest, var);
  return out ? std::optional(add ? *out + c : *out - c) : std::nullopt;
}

}  // namespace

std::vector<int64_t> turns_of_comparisons(const Function& f, uint32_t var) {
  std::vector<int64_t> out;
  for (const ExprNode& n : f.expressions) {
    if (n.op < Op::Eq || n.op > Op::Ge || n.a->type != DType::I64) continue;
    const bool right = n.b->op == Op::Const, left = n.a->op == Op::Const;
    if (right == left) continue;
    auto distance = distance_from((right ? n.a : n.b).node(), var);
    if (!distance) continue;
    // Where var + distance reaches the constant, and where it is past it: one of them, of (in)equality both.
    const int64_t at = static_cast<int64_t>((right ? n.b : n.a)->bits[0]) - *distance;
    const bool reaches = right ? n.op == Op::Lt || n.op == Op::Ge : n.op == Op::Le || n.op == Op::Gt;
    const bool either = n.op == Op::Eq || n.op == Op::Ne;
    if (reaches || either) out.push_back(at);
    if (!reaches || either) out.push_back(at + 1);
  }
  return out;
}

std::optional<int64_t> stride_in(Expr offset, uint32_t var) {
  Strides known;
  return stride_of(offset.node(), var, known);
}

bool depends_on(Expr e, uint32_t var) { return stride_in(e, var) != 0; }

}  // namespace ig::loop
