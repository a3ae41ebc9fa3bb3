// What codegen and the rules ask of index expressions: do they depend on a variable, and by what constant
// stride; and how much the statements of a loop compute.
#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "loop/loop.h"

namespace ig::loop {
namespace {

// (stride * var + offset) / divisor; the offset is known where nothing but var and constants is in it.
struct Affine {
  int64_t stride = 0;
  std::optional<int64_t> offset;
  int64_t divisor = 1;
};

using MaybeAffine = std::optional<Affine>;

// Forms in one variable. For `hints` an index that is held within bounds (one arm of the selection is a
// constant) is what it is between them, and a quotient by a constant is a form as well: enough to guess where
// a comparison of it turns, no more.
struct Forms {
  uint32_t var;
  bool hints = false;
  std::unordered_map<const ExprNode*, MaybeAffine> known;

  MaybeAffine of(const ExprNode* n);
};

int64_t wrapping(Op op, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  return static_cast<int64_t>(op == Op::Add ? ua + ub : op == Op::Sub ? ua - ub : ua * ub);
}

MaybeAffine combined(Op op, const Affine& a, const Affine& b) {
  if (op == Op::Add && a.divisor == 1 && b.divisor != 1) return combined(op, b, a);
  if (b.divisor != 1) return std::nullopt;
  if (a.divisor != 1) {  // and a number, in so many parts
    if (b.stride != 0 || !a.offset || !b.offset) return std::nullopt;
    return Affine{a.stride, wrapping(op, *a.offset, wrapping(Op::Mul, *b.offset, a.divisor)), a.divisor};
  }
  Affine out{wrapping(op, a.stride, b.stride), std::nullopt};
  if (a.offset && b.offset) out.offset = wrapping(op, *a.offset, *b.offset);
  return out;
}

MaybeAffine scaled(const Affine& a, int64_t by) {
  if (a.divisor != 1) return std::nullopt;
  Affine out{wrapping(Op::Mul, a.stride, by), std::nullopt};
  if (a.offset) out.offset = wrapping(Op::Mul, *a.offset, by);
  return out;
}

MaybeAffine Forms::of(const ExprNode* n) {
  if (n == nullptr || n->op == Op::Size) return Affine{};
  if (n->op == Op::Const) return Affine{0, static_cast<int64_t>(n->bits[0])};
  if (n->op == Op::Var && n->id == var) return Affine{1, 0};
  if (n->op == Op::Local || n->op == Op::ReduceLanes) return std::nullopt;
  if (auto it = known.find(n); it != known.end()) return it->second;
  const MaybeAffine a = of(n->a.node()), b = of(n->b.node()), c = of(n->c.node());
  MaybeAffine out;
  Affine quotient;
  auto constant = [](const Expr& e) { return e->op == Op::Const; };
  const bool index = a && b && c && n->type == DType::I64;
  if (index && n->op == Op::Var) out = a;
  if (index && (n->op == Op::Add || n->op == Op::Sub)) out = combined(n->op, *a, *b);
  if (index && n->op == Op::Neg) out = scaled(*a, -1);
  if (index && n->op == Op::Mul && constant(n->b)) out = scaled(*a, *b->offset);
  if (index && n->op == Op::Mul && constant(n->a)) out = scaled(*b, *a->offset);
  if (index && n->op == Op::Shl && constant(n->b) && n->b->bits[0] < 63)
    out = scaled(*a, int64_t{1} << n->b->bits[0]);
  if (hints && index && n->op == Op::Div && constant(n->b) && a->offset && *b->offset > 0 &&
      !__builtin_mul_overflow(a->divisor, *b->offset, &quotient.divisor))
    quotient.stride = a->stride, quotient.offset = a->offset, out = quotient;
  if (hints && n->op == Op::Select && n->type == DType::I64 && constant(n->b) != constant(n->c))
    out = constant(n->b) ? c : b;
  if (!out && a && b && c && a->stride == 0 && b->stride == 0 && c->stride == 0) out = Affine{};
  known[n] = out;
  return out;
}

}  // namespace

std::vector<int64_t> turns_of_comparisons(const Function& f, uint32_t var) {
  std::vector<int64_t> out;
  // Of the difference of both sides: where it is zero, which may be between two values of the variable.
  auto compare = [&](Op op, const Affine& d) {
    const int64_t by = d.stride < 0 ? wrapping(Op::Sub, 0, d.stride) : d.stride;
    const int64_t root = d.stride < 0 ? *d.offset : wrapping(Op::Sub, 0, *d.offset);
    if (by <= 0) return;  // no variable in it, or the least integer
    const bool divides = root % by == 0;
    const int64_t at = root / by - (!divides && root < 0);  // rounded down
    // A rising difference answers `<` and `>=` anew where it reaches zero and the others where it is past it;
    // of a falling one it is the other way round. (In)equality turns at both, if there is such a value at
    // all.
    const bool either = op == Op::Eq || op == Op::Ne;
    const bool reaches = (op == Op::Lt || op == Op::Ge) == (d.stride > 0);
    if (divides && (reaches || either)) out.push_back(at);
    if (either ? divides : !divides || !reaches) out.push_back(at + 1);
  };
  Forms forms{.var = var, .hints = true, .known = {}};
  for (const ExprNode& n : f.expressions) {
    if (n.op < Op::Eq || n.op > Op::Ge || n.a->type != DType::I64) continue;
    const MaybeAffine a = forms.of(n.a.node()), b = forms.of(n.b.node());
    if (!a || !b || !a->offset || !b->offset) continue;
    const bool turned = b->divisor != 1;  // the quotient is the right side
    const MaybeAffine d = turned ? combined(Op::Sub, *b, *a) : combined(Op::Sub, *a, *b);
    if (!d) continue;
    if (d->divisor == 1) {
      compare(n.op, *d);
      continue;
    }
    // A rising quotient reaches zero where what is divided does, and is past it where that is a divisor on.
    const bool reaches = n.op == (turned ? Op::Gt : Op::Lt) || n.op == (turned ? Op::Le : Op::Ge);
    const bool either = n.op == Op::Eq || n.op == Op::Ne;
    const Affine zero{d->stride, d->offset};
    if (reaches || either) compare(Op::Ge, zero);
    if (!reaches || either) compare(Op::Ge, {zero.stride, wrapping(Op::Sub, *zero.offset, d->divisor)});
  }
  return out;
}

std::optional<int64_t> stride_in(Expr offset, uint32_t var) {
  const MaybeAffine affine = Forms{.var = var, .known = {}}.of(offset.node());
  return affine ? std::optional(affine->stride) : std::nullopt;
}

bool depends_on(Expr e, uint32_t var) { return stride_in(e, var) != 0; }

namespace {

void add_work(const ExprNode* n, std::unordered_set<const ExprNode*>& seen, Work& work) {
  if (n == nullptr || n->op == Op::Const || n->op == Op::Size || !seen.insert(n).second) return;
  if (n->op != Op::Var) {
    ++work.operations;
    work.bytes = std::max(work.bytes, static_cast<int>(size_of(n->type)));
  }
  work.moves += n->op == Op::Load;
  if (n->op == Op::Load || n->op == Op::Local) return;
  for (const Expr& part : {n->a, n->b, n->c}) add_work(part.node(), seen, work);
}

void add_work(const Stmts& statements, std::unordered_set<const ExprNode*>& seen, Work& work) {
  for (const auto& s : statements) {
    work.moves += s->kind == Stmt::Kind::Store;
    add_work(s->value.node(), seen, work);
    add_work(s->body, seen, work);
    add_work(s->otherwise, seen, work);
  }
}

}  // namespace

Work work_of(const Stmts& statements) {
  Work work;
  std::unordered_set<const ExprNode*> seen;
  add_work(statements, seen, work);
  return work;
}

}  // namespace ig::loop
