// Loads at indices that are taken apart: i / n and i % n, where a vector loop walks several axes as one.
// Where n is no less than the lanes, these lie in two runs at most: in each, i / n is one number, and i % n
// goes up by one. So two numbers, or two masked vectors, are put together where single elements would be
// gathered.
#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>

#include "codegen/llvm/emit.h"

namespace ig::codegen {

using loop::Op;

namespace {

bool by_constant(const loop::ExprNode* n) {
  return (n->op == Op::Div || n->op == Op::Rem) && n->type == DType::I64 && n->b->op == Op::Const &&
         static_cast<int64_t>(n->b->bits[0]) >= 1;
}

// What is divided, and by what: (i / a) / b is i / (a b).
struct Quotient {
  const loop::ExprNode* of;
  int64_t divisor;
};
Quotient taken_apart(const loop::ExprNode* n) {
  constexpr int64_t kMost = int64_t{1} << 48;
  Quotient out{n->a.node(), static_cast<int64_t>(n->b->bits[0])};
  while (n->op == Op::Div && out.of->op == Op::Div && by_constant(out.of)) {
    const auto next = static_cast<int64_t>(out.of->b->bits[0]);
    if (next > kMost / out.divisor) break;
    out = {out.of->a.node(), out.divisor * next};
  }
  return out;
}

}  // namespace

// Whether the index (or a question about it) varies from lane to lane by such parts of one number alone,
// which goes up by one.
bool Emitter::find_runs(const Node* n, Runs& runs) {
  if (n->op == Op::Const || n->op == Op::Size) return true;
  if (n->op == Op::Var) return eval(n).uniform();
  const bool asks = n->op >= Op::Eq && n->op <= Op::Ge && n->a.type() == DType::I64;
  const bool joins = n->type == DType::Bool && (n->op == Op::And || n->op == Op::Or);
  if (n->op == Op::Select && !find_runs(n->c.node(), runs)) return false;
  if (n->op == Op::Add || n->op == Op::Sub || n->op == Op::Mul || n->op == Op::Select || asks || joins)
    return find_runs(n->a.node(), runs) && find_runs(n->b.node(), runs);
  if (!by_constant(n)) return false;
  const Quotient q = taken_apart(n);
  if (by_constant(q.of)) return find_runs(q.of, runs);
  const Value walked = eval(q.of);
  if (walked.uniform()) return true;
  if (walked.stride != 1 || !natural(q.of) || (runs.walk != nullptr && runs.walk != q.of)) return false;
  const int64_t shorter = runs.walk == nullptr ? q.divisor : std::min(runs.length, q.divisor);
  const int64_t longer = std::max(runs.length, q.divisor);
  runs = {q.of, shorter};
  return longer % shorter == 0;
}

// The index within the run of this number, where the first lane stands at `rest` of it. Nothing (v null)
// where it is no number and a step.
Emitter::Value Emitter::within_run(const Node* n, const Runs& runs, llvm::Value* number, llvm::Value* rest) {
  if (n->op == Op::Const || n->op == Op::Size || n->op == Op::Var) return eval(n);
  if (by_constant(n)) {
    const Quotient q = taken_apart(n);
    auto* times = i64(q.divisor / runs.length);
    if (q.of == runs.walk && n->op == Op::Div) return {b_.CreateUDiv(number, times)};
    if (q.of == runs.walk)
      return {b_.CreateAdd(b_.CreateMul(b_.CreateURem(number, times), i64(runs.length)), rest), 1};
    if (!by_constant(q.of)) return eval(n);  // the same in all lanes
  }
  const Value a = within_run(n->a.node(), runs, number, rest),
              b = within_run(n->b.node(), runs, number, rest);
  if (a.v == nullptr || b.v == nullptr) return {};
  if (n->op == Op::Select) {
    const Value c = within_run(n->c.node(), runs, number, rest);
    if (c.v == nullptr || !a.uniform() || b.stride != c.stride) return {};
    return {b_.CreateSelect(a.v, b.v, c.v), b.stride};
  }
  if (!a.uniform() || !b.uniform()) return affine(*n, a, b);
  return {n->op >= Op::Eq && n->op <= Op::Ge ? compare(*n, a.v, b.v) : arithmetic(*n, a.v, b.v)};
}

// Whether the lanes lie at known distances from the first, and near to it: less work yet.
bool Emitter::loads_by_steps(DType type, const Node* offset, const Runs& runs) {
  if (mask_ != nullptr) return false;
  if (!residue(runs.walk, runs.length) && !reach_over_none(runs.walk, runs.length)) return false;
  const Value at = eval(offset);
  return at.steps != nullptr ? lie_near(*at.steps, type) : at.uniform() || at.stride == 1;
}

// Null where the offset is nothing of the kind.
llvm::Value* Emitter::load_runs(uint32_t buffer, DType type, const Node* offset) {
  Runs runs;
  if (lanes_ == 1 || is_complex(type) || !find_runs(offset, runs) || runs.walk == nullptr) return nullptr;
  if (loads_by_steps(type, offset, runs)) return nullptr;
  // All lanes at once, or a register of them.
  const int64_t own = std::min<int64_t>(lanes_, target_.vector_bytes / static_cast<int64_t>(size_of(type)));
  const int64_t lanes = runs.length >= lanes_ ? lanes_ : own;
  if (runs.length < lanes) return nullptr;
  auto* element = memory_type(type);
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  const llvm::Align align(size_of(type));
  auto least = [&](llvm::Value* a, llvm::Value* b) {
    return b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b);
  };
  auto* walk = eval(runs.walk).v;
  auto* length = i64(runs.length);
  std::vector<llvm::Value*> parts;
  for (int64_t lane = 0; lane < lanes_; lane += lanes) {
    // No lane is asked for that stands behind the active ones.
    auto place = [&](int64_t at) -> llvm::Value* {
      return mask_ != nullptr ? least(i64(at), b_.CreateSub(active_, i64(1))) : i64(at);
    };
    auto* first = b_.CreateAdd(walk, place(lane));
    auto* number = b_.CreateUDiv(first, length);
    auto* rest = b_.CreateSub(first, b_.CreateMul(number, length));
    auto* last = b_.CreateUDiv(b_.CreateAdd(walk, place(lane + lanes - 1)), length);
    const Value one = within_run(offset, runs, number, rest);
    const Value two = within_run(offset, runs, last, b_.CreateSub(rest, length));
    if (one.v == nullptr || two.v == nullptr || one.stride != two.stride) return nullptr;
    if (one.stride != 0 && (one.stride != 1 || !masked_moves(type))) return nullptr;
    auto* here = first_lanes(least(b_.CreateSub(length, rest), i64(lanes)), lanes);
    if (one.stride == 0) {
      auto all = [&](const Value& at) {
        return b_.CreateVectorSplat(static_cast<unsigned>(lanes),
                                    b_.CreateAlignedLoad(element, address(buffer, element, at.v), align));
      };
      parts.push_back(b_.CreateSelect(here, all(one), all(two)));
      continue;
    }
    auto* there = b_.CreateNot(here);
    if (mask_ != nullptr) {
      auto* left = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(active_, i64(lane)), i64(0));
      auto* active = first_lanes(least(left, i64(lanes)), lanes);
      here = b_.CreateAnd(here, active), there = b_.CreateAnd(there, active);
    }
    auto* v = b_.CreateMaskedLoad(vector, address(buffer, element, one.v), align, here,
                                  llvm::Constant::getNullValue(vector));
    // Where there is no second run, it would begin before the buffer, perhaps: no lane asks for memory
    // there, but of pages that are not mapped processors take hundreds of cycles to find that out.
    auto* begin = b_.CreateSelect(b_.CreateICmpEQ(number, last), one.v, two.v);
    parts.push_back(
        b_.CreateMaskedLoad(vector, b_.CreateGEP(element, pointers_[buffer], begin), align, there, v));
  }
  return parts.size() == 1 ? parts[0] : llvm::concatenateVectors(b_, parts);
}

}  // namespace ig::codegen
