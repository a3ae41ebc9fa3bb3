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

}  // namespace

std::optional<int64_t> stride_in(Expr offset, uint32_t var) {
  Strides known;
  return stride_of(offset.node(), var, known);
}

bool depends_on(Expr e, uint32_t var) { return stride_in(e, var) != 0; }

}  // namespace ig::loop
