// Arithmetic: scalars, vectors, and indices in affine form.
#include <llvm/IR/MDBuilder.h>

#include <algorithm>
#include <bit>

#include "codegen/llvm/emit.h"
#include "support/error.h"

namespace ig::codegen {

using loop::Op;

llvm::Type* Emitter::shaped(llvm::Type* element, llvm::Type* like) {
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(like);
  return vector != nullptr ? llvm::FixedVectorType::get(element, vector->getNumElements()) : element;
}

bool Emitter::impure(const Node* n) {
  if (n == nullptr || n->op == Op::Const || n->op == Op::Var || n->op == Op::Size) return false;
  if (n->op == Op::Load || n->op == Op::Local || n->op == Op::ReduceLanes) return true;
  if (auto it = impure_.find(n); it != impure_.end()) return it->second;
  bool out = impure(n->a.node()) || impure(n->b.node()) || impure(n->c.node());
  impure_[n] = out;
  return out;
}

Emitter::Value* Emitter::known(const Node* n) {
  bool here = true;
  for (size_t i = scopes_.size(); i-- > 0;) {
    Scope& scope = scopes_[i];
    if (auto it = scope.pure.find(n); it != scope.pure.end()) return &it->second;
    if (here)
      if (auto it = scope.here.find(n); it != scope.here.end()) return &it->second;
    here = here && scope.same_statement;
  }
  return nullptr;
}

Emitter::Value Emitter::eval(const Node* n) {
  if (n->op == Op::Var)
    return lets_of_stage_ != nullptr && lets_of_stage_->contains(n->id) ? eval(n->a) : vars_[n->id];
  if (n->op == Op::Size) return {sizes_[n->id]};
  if (n->op == Op::Const) return constant(*n);
  if (Value* value = known(n)) return *value;
  auto called = called_.find(n);
  return remember(n, called != called_.end() ? call(calls_[called->second], *n) : compute(n));
}

Emitter::Value Emitter::remember(const Node* n, Value value) {
  Scope& scope = scopes_.back();
  return (impure(n) ? scope.here : scope.pure)[n] = value;
}

Emitter::Value Emitter::compute(const Node* n) {
  switch (n->op) {
    case Op::Load: return load(*n);
    case Op::Local: return read_local(*n);
    case Op::ReduceLanes: return reduce_lanes(*n);
    case Op::Select: return select(*n);
    case Op::SelectLazy: return select_lazy(*n);
    case Op::SelectRare: return select_rare(*n);
    case Op::Scale: return scale(*n);
    case Op::Real:
    case Op::Imag: return part(*n);
    case Op::Complex: return join(*n);
    case Op::Fma: {
      Value a = eval(n->a), b = eval(n->b), c = eval(n->c);
      if (a.uniform() && b.uniform() && c.uniform()) return {fused(a.v, b.v, c.v)};
      return {fused(wide(a), wide(b), wide(c))};
    }
    case Op::ProductRest: {
      Value a = eval(n->a), b = eval(n->b), c = eval(n->c);
      if (a.uniform() && b.uniform() && c.uniform()) return {product_rest(a.v, b.v, c.v)};
      return {product_rest(wide(a), wide(b), wide(c))};
    }
    default: break;
  }
  if (n->b) return binary(*n);
  Value a = eval(n->a);
  if (a.stride != 0) {
    if (n->op == Op::Neg) return {b_.CreateNeg(a.v), -a.stride};
    if (n->op == Op::Convert && n->type == DType::I32) {
      // The low halves of base and lane number make the low half of the sum: no wide vector is needed.
      std::vector<llvm::Constant*> steps;
      for (int k = 0; k < lanes_; ++k)
        steps.push_back(
            b_.getInt32(static_cast<uint32_t>(static_cast<uint64_t>(a.stride) * static_cast<uint64_t>(k))));
      auto* base = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), b_.CreateTrunc(a.v, b_.getInt32Ty()));
      return {b_.CreateAdd(base, llvm::ConstantVector::get(steps))};
    }
  }
  return {unary(*n, a.stride != 0 ? wide(a) : a.v)};
}

Emitter::Value Emitter::constant(const Node& n) {
  auto* type = register_type(n.type);
  if (n.type == DType::F32)
    return {llvm::ConstantFP::get(b_.getContext(),
                                  llvm::APFloat(llvm::APFloat::IEEEsingle(), llvm::APInt(32, n.bits[0])))};
  if (n.type == DType::F64)
    return {llvm::ConstantFP::get(b_.getContext(),
                                  llvm::APFloat(llvm::APFloat::IEEEdouble(), llvm::APInt(64, n.bits[0])))};
  return {integer(type, n.bits[0])};
}

llvm::Value* Emitter::scalar(const Expr& e) {
  Value value = eval(e);
  IG_CHECK(value.uniform(), "kernel {} uses a value that varies from lane to lane where it must be uniform",
           f_.name);
  return value.v;
}

llvm::Value* Emitter::wide(Value value) {
  if (lanes_ == 1 || value.v->getType()->isVectorTy()) return value.v;
  auto* base = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), value.v);
  if (value.stride == 0) return base;
  std::vector<llvm::Constant*> steps;
  for (int k = 0; k < lanes_; ++k)
    steps.push_back(b_.getInt64(static_cast<uint64_t>(value.stride) * static_cast<uint64_t>(k)));
  return b_.CreateAdd(base, llvm::ConstantVector::get(steps));
}

Emitter::Value Emitter::binary(const Node& n) {
  Value a = eval(n.a), b = eval(n.b);
  bool compares = n.op >= Op::Eq && n.op <= Op::Ge;
  if (a.stride != 0 || b.stride != 0) {
    Value out = compares ? compare_affine(n, a, b) : affine(n, a, b);
    if (out.v != nullptr) return out;
  }
  if (Value out = divided(n, a, b); out.v != nullptr) return out;
  if (Value out = stepped(n, a, b); out.v != nullptr) return out;
  if ((n.op == Op::Div || n.op == Op::Rem) && b.uniform() && a.v->getType()->isVectorTy()) {
    if (auto* quotient = n.op == Op::Div ? divide_by_number(n.type, a.v, b.v) : nullptr) return {quotient};
    if (auto* out = divide_by_whole(n.op, n.type, a.v, b.v)) return {out};
  }
  bool uniform = a.uniform() && b.uniform();
  auto* x = uniform ? a.v : wide(a);
  auto* y = uniform ? b.v : wide(b);
  return {compares ? compare(n, x, y) : arithmetic(n, x, y)};
}

Emitter::Value Emitter::affine(const Node& n, Value a, Value b) {
  if (a.v->getType()->isVectorTy() || b.v->getType()->isVectorTy()) return {};
  auto wrap = [](uint64_t v) { return static_cast<int64_t>(v); };
  auto ua = static_cast<uint64_t>(a.stride), ub = static_cast<uint64_t>(b.stride);
  auto* ca = llvm::dyn_cast<llvm::ConstantInt>(a.v);
  auto* cb = llvm::dyn_cast<llvm::ConstantInt>(b.v);
  switch (n.op) {
    case Op::Add: return {b_.CreateAdd(a.v, b.v), wrap(ua + ub)};
    case Op::Sub: return {b_.CreateSub(a.v, b.v), wrap(ua - ub)};
    case Op::Mul:
      if (b.stride == 0 && cb != nullptr) return {b_.CreateMul(a.v, b.v), wrap(ua * cb->getZExtValue())};
      if (a.stride == 0 && ca != nullptr) return {b_.CreateMul(a.v, b.v), wrap(ub * ca->getZExtValue())};
      return {};
    case Op::Shl:
      if (b.stride == 0 && cb != nullptr && cb->getZExtValue() < 63)
        return {b_.CreateShl(a.v, b.v), wrap(ua << cb->getZExtValue())};
      return {};
    default: return {};
  }
}

// Of two affine indices only the difference counts. Clamped to 30 bits it keeps its sign in every lane, so
// the comparison is one of 32-bit lanes, beside which the masks of f32 arithmetic cost nothing.
Emitter::Value Emitter::compare_affine(const Node& n, Value a, Value b) {
  if (a.v->getType()->isVectorTy() || b.v->getType()->isVectorTy()) return {};
  auto stride = static_cast<int64_t>(static_cast<uint64_t>(a.stride) - static_cast<uint64_t>(b.stride));
  auto* difference = b_.CreateSub(a.v, b.v);
  if (stride == 0) return {compare(n, difference, i64(0))};
  if (stride > (1 << 20) || stride < -(1 << 20) || lanes_ > 256) return {};
  constexpr int64_t kMost = 1 << 30;
  llvm::Value* clamped = nullptr;
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(difference)) {
    clamped = i64(std::clamp(known->getSExtValue(), -kMost, kMost));
  } else {
    clamped = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, difference, i64(-kMost));
    clamped = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, clamped, i64(kMost));
  }
  auto* base = b_.CreateVectorSplat(static_cast<unsigned>(lanes_), b_.CreateTrunc(clamped, b_.getInt32Ty()));
  std::vector<llvm::Constant*> steps;
  for (int k = 0; k < lanes_; ++k) steps.push_back(b_.getInt32(static_cast<uint32_t>(-(stride * k))));
  return {compare(n, base, llvm::ConstantVector::get(steps))};
}

llvm::Value* Emitter::compare(const Node& n, llvm::Value* a, llvm::Value* b) {
  using P = llvm::CmpInst;
  DType type = n.a.type();
  auto row = static_cast<int>(n.op) - static_cast<int>(Op::Eq);
  constexpr P::Predicate floats[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT,
                                     P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
  constexpr P::Predicate signs[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_SLT,
                                    P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  constexpr P::Predicate unsigns[] = {P::ICMP_EQ,  P::ICMP_NE,  P::ICMP_ULT,
                                      P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  if (a->getType()->isFPOrFPVectorTy()) return b_.CreateFCmp(floats[row], a, b);
  return b_.CreateICmp(is_signed_int(type) ? signs[row] : unsigns[row], a, b);
}

namespace {

// How many bits an index takes at most that is never below zero, so that it is known not to wrap; no loop
// counts beyond 2^47. More than there are where the form is another one, or too long to look at.
int most_bits(const loop::ExprNode* n, int& looks) {
  constexpr int kTooMany = 64, kOfLoop = 47;
  if (--looks < 0) return kTooMany;
  auto of = [&](const loop::Expr& e) { return most_bits(e.node(), looks); };
  const bool by_constant = n->b && n->b->op == Op::Const;
  switch (n->op) {
    case Op::Const: return static_cast<int>(std::bit_width(n->bits[0]));
    case Op::Size: return kOfLoop;
    case Op::Var: return n->a ? of(n->a) : kOfLoop;
    case Op::Add: return std::max(of(n->a), of(n->b)) + 1;
    case Op::Sub: return of(n->a);
    case Op::Mul: return of(n->a) + of(n->b);
    case Op::Div: return of(n->a);
    case Op::Rem: return by_constant ? of(n->b) : of(n->a);
    case Op::Select: return std::max(of(n->b), of(n->c));
    default: return kTooMany;
  }
}

}  // namespace

// An index taken apart: where its sign is known, a shift and a mask do for powers of two. A number of a
// user's may have the same form, and wrap.
bool Emitter::divides_natural(const Node& n, llvm::Value* b) {
  if (n.type != DType::I64 || (n.op != Op::Div && n.op != Op::Rem)) return false;
  auto* by = llvm::dyn_cast<llvm::ConstantInt>(b);
  int looks = 64;
  return by != nullptr && by->getSExtValue() > 0 && natural(n.a.node()) && most_bits(n.a.node(), looks) < 63;
}

llvm::Value* Emitter::arithmetic(const Node& n, llvm::Value* a, llvm::Value* b) {
  bool floating = a->getType()->isFPOrFPVectorTy();
  if (divides_natural(n, b)) return n.op == Op::Div ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
  switch (n.op) {
    case Op::Add: return floating ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case Op::Sub: return floating ? b_.CreateFSub(a, b) : b_.CreateSub(a, b);
    case Op::Mul: return floating ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case Op::Div: return floating ? b_.CreateFDiv(a, b) : divide(n.op, n.type, a, b);
    case Op::Rem: return floating ? float_remainder(n.type, a, b) : divide(n.op, n.type, a, b);
    case Op::And: return b_.CreateAnd(a, b);
    case Op::Or: return b_.CreateOr(a, b);
    case Op::Xor: return b_.CreateXor(a, b);
    case Op::Shl: return b_.CreateShl(a, b);
    case Op::AShr: return b_.CreateAShr(a, b);
    case Op::LShr: return b_.CreateLShr(a, b);
    default: break;
  }
  throw make_error(ErrorKind::Internal, "no binary operation {}", static_cast<int>(n.op));
}

llvm::Value* Emitter::divide_plainly(Op op, DType type, llvm::Value* a, llvm::Value* b) {
  if (is_signed_int(type)) return op == Op::Div ? b_.CreateSDiv(a, b) : b_.CreateSRem(a, b);
  return op == Op::Div ? b_.CreateUDiv(a, b) : b_.CreateURem(a, b);
}

// Integer division. Lanes that are not active divide by one, and the smallest number by minus one wraps:
// neither may trap. Vectors of narrow integers divide as floats of more than twice their width, whose
// truncated quotient is exact.
llvm::Value* Emitter::divide(Op op, DType type, llvm::Value* a, llvm::Value* b) {
  bool is_signed = is_signed_int(type), quotient = op == Op::Div;
  auto* whole = a->getType();
  auto* one = integer(whole, 1);
  if (mask_ != nullptr && whole->isVectorTy()) b = b_.CreateSelect(mask_, b, one);
  bool constant = llvm::isa<llvm::Constant>(b) &&
                  (!whole->isVectorTy() || llvm::cast<llvm::Constant>(b)->getSplatValue() != nullptr);
  if (whole->isVectorTy() && info(type).bits == 64 && !constant) return divide_long(op, type, a, b);
  llvm::Value* minus = nullptr;
  auto* dividend = a;
  if (is_signed) {
    auto* all = llvm::Constant::getAllOnesValue(whole);
    if (!constant || b == all) {
      minus = b_.CreateICmpEQ(b, all);
      b = b_.CreateSelect(minus, one, b);
    }
  }
  llvm::Value* out = nullptr;
  int bits = info(type).bits;
  if (whole->isVectorTy() && bits <= 32 && !constant) {
    auto* real = shaped(bits <= 16 ? b_.getFloatTy() : b_.getDoubleTy(), whole);
    auto* x = is_signed ? b_.CreateSIToFP(a, real) : b_.CreateUIToFP(a, real);
    auto* y = is_signed ? b_.CreateSIToFP(b, real) : b_.CreateUIToFP(b, real);
    auto* q = b_.CreateFDiv(x, y);
    out = is_signed ? b_.CreateFPToSI(q, whole) : b_.CreateFPToUI(q, whole);
    if (!quotient) out = b_.CreateSub(a, b_.CreateMul(out, b));
  } else {
    out = divide_plainly(op, type, a, b);
  }
  // By one there is no remainder, as by minus one; only the quotient needs its sign.
  return minus != nullptr && quotient ? b_.CreateSelect(minus, b_.CreateNeg(dividend), out) : out;
}

// C's fmod, exact: subtract multiples of the divisor that have few enough bits for an exact product, until
// nothing is left to subtract. All in f64, the divisor split in two halves, so no fma is needed. Before a
// small f64 divisor go multiples of it, so that no quotient overflows.
llvm::Value* Emitter::float_remainder(DType type, llvm::Value* a, llvm::Value* b) {
  auto* result = a->getType();
  auto* real = shaped(b_.getDoubleTy(), result);
  auto* word = shaped(b_.getInt64Ty(), result);
  auto number = [&](double v) { return llvm::ConstantFP::get(real, v); };
  auto keep = [&](llvm::Value* v, uint64_t mask) {
    return b_.CreateBitCast(b_.CreateAnd(b_.CreateBitCast(v, word), integer(word, mask)), real);
  };
  auto magnitude = [&](llvm::Value* v) { return intrinsic(llvm::Intrinsic::fabs, v); };
  auto* x = type == DType::F32 ? b_.CreateFPExt(a, real) : a;
  auto* y = magnitude(type == DType::F32 ? b_.CreateFPExt(b, real) : b);
  auto* infinity = llvm::ConstantFP::getInfinity(real);
  auto* valid = b_.CreateAnd(b_.CreateFCmpOLT(magnitude(x), infinity), b_.CreateFCmpOGT(y, number(0)));
  auto reduce = [&](llvm::Value* from, llvm::Value* by) {
    auto* high = keep(by, ~uint64_t{0} << 27);
    auto* low = b_.CreateFSub(by, high);
    auto* before = b_.GetInsertBlock();
    auto* turn = block("remainder");
    auto* after = block("remainder.done");
    b_.CreateBr(turn);
    b_.SetInsertPoint(turn);
    auto* r = b_.CreatePHI(real, 2);
    r->addIncoming(from, before);
    auto* more = b_.CreateFCmpOGE(magnitude(r), by);
    auto* t = keep(b_.CreateFDiv(r, by), ~uint64_t{0} << 30);
    auto* q = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, t);
    auto* left = b_.CreateFSub(b_.CreateFSub(r, b_.CreateFMul(q, high)), b_.CreateFMul(q, low));
    r->addIncoming(b_.CreateSelect(more, left, r), b_.GetInsertBlock());
    auto* again = real->isVectorTy() ? b_.CreateOrReduce(more) : more;
    b_.CreateCondBr(again, turn, after);
    b_.SetInsertPoint(after);
    return b_.CreateSelect(b_.CreateFCmpOLT(r, number(0)), b_.CreateFAdd(r, by), r);
  };
  llvm::Value* r = b_.CreateSelect(valid, magnitude(x), number(0));
  auto* divisor = b_.CreateSelect(valid, y, number(1));
  if (type == DType::F64) {
    auto raise = [&](llvm::Value* v) {
      return b_.CreateSelect(b_.CreateFCmpOLT(v, number(1)), b_.CreateFMul(v, number(0x1p+550)), v);
    };
    auto* near = raise(divisor);
    r = reduce(r, raise(near));
    r = reduce(r, near);
  }
  r = reduce(r, divisor);
  r = b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, r, x);
  // A divisor of infinity leaves the dividend; NaN, a zero divisor and an infinite dividend give NaN.
  r = b_.CreateSelect(valid, b_.CreateSelect(b_.CreateFCmpOEQ(y, infinity), x, r),
                      llvm::ConstantFP::getNaN(real));
  return type == DType::F32 ? b_.CreateFPTrunc(r, result) : r;
}

llvm::Value* Emitter::unary(const Node& n, llvm::Value* a) {
  bool floating = a->getType()->isFPOrFPVectorTy();
  switch (n.op) {
    case Op::Neg: return floating ? b_.CreateFNeg(a) : b_.CreateNeg(a);
    case Op::Not: return b_.CreateNot(a);
    case Op::Abs:
      if (floating) return intrinsic(llvm::Intrinsic::fabs, a);
      if (!is_signed_int(n.type)) return a;
      return b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse());
    case Op::Sqrt: return intrinsic(llvm::Intrinsic::sqrt, a);
    case Op::Floor: return intrinsic(llvm::Intrinsic::floor, a);
    case Op::Ceil: return intrinsic(llvm::Intrinsic::ceil, a);
    case Op::Trunc: return intrinsic(llvm::Intrinsic::trunc, a);
    case Op::RoundEven: return intrinsic(llvm::Intrinsic::roundeven, a);
    case Op::Popcount: return intrinsic(llvm::Intrinsic::ctpop, a);
    case Op::CountLeadingZeros: return b_.CreateBinaryIntrinsic(llvm::Intrinsic::ctlz, a, b_.getFalse());
    case Op::Convert: return convert(a, n.a.type(), n.type);
    case Op::Bitcast: return b_.CreateBitCast(a, shaped(register_type(n.type), a->getType()));
    case Op::Lookup: return lookup(n.table(), a);
    default: break;
  }
  throw make_error(ErrorKind::Internal, "no unary operation {}", static_cast<int>(n.op));
}

llvm::Value* Emitter::fused(llvm::Value* a, llvm::Value* b, llvm::Value* c) {
  if (!a->getType()->isFPOrFPVectorTy()) return b_.CreateAdd(b_.CreateMul(a, b), c);
  if (!target_.fma) return b_.CreateFAdd(b_.CreateFMul(a, b), c);
  return b_.CreateIntrinsic(llvm::Intrinsic::fma, {a->getType()}, {a, b, c});
}

// Without fused multiply-add of the halves of the factors, whose products are exact (Dekker 1971).
llvm::Value* Emitter::product_rest(llvm::Value* a, llvm::Value* b, llvm::Value* rounded) {
  if (target_.fma) return fused(a, b, b_.CreateFNeg(rounded));
  const unsigned width = a->getType()->getScalarSizeInBits(), below = width == 64 ? 27 : 12;
  llvm::Type* words = shaped(b_.getIntNTy(width), a->getType());
  auto upper = [&](llvm::Value* v) {
    auto* kept = llvm::ConstantInt::get(words, llvm::APInt::getHighBitsSet(width, width - below));
    return b_.CreateBitCast(b_.CreateAnd(b_.CreateBitCast(v, words), kept), v->getType());
  };
  llvm::Value *ah = upper(a), *bh = upper(b), *al = b_.CreateFSub(a, ah), *bl = b_.CreateFSub(b, bh);
  llvm::Value* rest = b_.CreateFSub(b_.CreateFMul(ah, bh), rounded);
  for (auto [x, y] : {std::pair{ah, bl}, {al, bh}, {al, bl}}) rest = b_.CreateFAdd(rest, b_.CreateFMul(x, y));
  return rest;
}

Emitter::Value Emitter::select(const Node& n) {
  if (auto* v = select_within(n)) return {v};
  Value a = eval(n.a), b = eval(n.b), c = eval(n.c);
  if (a.uniform()) {
    if (b.stride == c.stride && !b.v->getType()->isVectorTy() && !c.v->getType()->isVectorTy())
      return {b_.CreateSelect(a.v, b.v, c.v), b.stride};
    return {b_.CreateSelect(a.v, wide(b), wide(c))};
  }
  if (Value out = chosen_steps(n, a, b, c); out.v != nullptr) return out;
  return {b_.CreateSelect(wide(a), wide(b), wide(c))};
}

// The values that the rare expression stands on and that vary: found in the common path, or read from memory.
void Emitter::frontier(const Node* n, std::vector<const Node*>& leaves,
                       std::unordered_map<const Node*, bool>& seen) {
  if (n == nullptr || n->op == Op::Const || n->op == Op::Size || !seen.emplace(n, true).second) return;
  if (n->op == Op::Var || n->op == Op::Load || n->op == Op::Local || n->op == Op::ReduceLanes ||
      known(n) != nullptr)
    return leaves.push_back(n);
  for (const Expr& e : {n->a, n->b, n->c}) frontier(e.node(), leaves, seen);
}

// Of one way for all lanes that way alone is evaluated, and both where they part. What they read is found
// before.
Emitter::Value Emitter::select_lazy(const Node& n) {
  Value condition = eval(n.a);
  std::vector<const Node*> leaves;
  std::unordered_map<const Node*, bool> seen;
  frontier(n.b.node(), leaves, seen);
  frontier(n.c.node(), leaves, seen);
  bool single = condition.uniform();
  for (const Node* leaf : leaves) single &= eval(leaf).uniform();
  auto* one = b_.getTrue();
  auto* mask = condition.uniform() ? condition.v : wide(condition);
  auto *any = mask, *all = mask;
  if (!condition.uniform()) {
    any = b_.CreateOrReduce(mask_ ? b_.CreateAnd(mask, mask_) : mask);
    all = b_.CreateAndReduce(mask_ ? b_.CreateOr(mask, b_.CreateNot(mask_)) : mask);
  }
  // The value of an arm where its lanes are asked for, and `instead` where none is.
  auto arm = [&](const Expr& e, llvm::Value* asked, llvm::Value* instead) -> llvm::Value* {
    auto *at = block("arm"), *after = block("after");
    auto* before = b_.GetInsertBlock();
    b_.CreateCondBr(asked, at, after);
    b_.SetInsertPoint(at);
    scopes_.emplace_back();
    scopes_.back().same_statement = true;
    Value value = eval(e);
    auto* v = single ? value.v : wide(value);
    scopes_.pop_back();
    if (instead != nullptr) v = b_.CreateSelect(mask, v, instead);
    auto* from = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    auto* phi = b_.CreatePHI(v->getType(), 2);
    phi->addIncoming(v, from);
    phi->addIncoming(instead != nullptr ? instead : llvm::Constant::getNullValue(v->getType()), before);
    return phi;
  };
  auto* otherwise = arm(n.c, b_.CreateXor(all, one), nullptr);
  return {arm(n.b, any, otherwise)};
}

// Of one lane. Where it stands on nothing but values, it is a function of its own, which all groups of a
// kernel share; but not of 64-bit values: a call empties the registers, of which these fill twice as many
// (sines of float64 took 4.4 ns with it and 3.2 without, those of float32 the same time; Zen 4 with AVX2).
llvm::Value* Emitter::rare_value(const Node* n, const std::vector<const Node*>& leaves) {
  Formulas all{{n}, leaves, {}, {}, 0};
  if (size_of(n->type) > 4 || !describe(all)) return eval(n).v;
  std::vector<Value> operands;
  std::vector<llvm::Value*> given;
  for (const Node* leaf : all.read) {
    operands.push_back(eval(leaf));
    given.push_back(operands.back().v);
  }
  auto* results = b_.CreateCall(function_of(all, operands, "rare"), given);
  results->addFnAttr(llvm::Attribute::Cold);
  return b_.CreateExtractValue(results, 0);
}

// The rare lanes are computed one by one as scalars, by the same instructions: their code is small and out of
// the way, and a group without any pays for one test.
Emitter::Value Emitter::select_rare(const Node& n) {
  Value common = eval(n.c), condition = eval(n.a);
  std::vector<const Node*> leaves;
  std::unordered_map<const Node*, bool> seen;
  frontier(n.b.node(), leaves, seen);
  std::vector<Value> values;
  bool uniform = common.uniform() && condition.uniform();
  for (const Node* leaf : leaves) {
    values.push_back(eval(leaf));
    uniform = uniform && values.back().uniform();
  }
  auto* rare = block("rare");
  auto* after = block("common");
  auto* before = b_.GetInsertBlock();
  if (uniform) {
    b_.CreateCondBr(condition.v, rare, after);
    b_.SetInsertPoint(rare);
    scopes_.emplace_back();
    scopes_.back().same_statement = true;
    auto* value = eval(n.b).v;
    scopes_.pop_back();
    auto* from = b_.GetInsertBlock();
    b_.CreateBr(after);
    b_.SetInsertPoint(after);
    auto* phi = b_.CreatePHI(value->getType(), 2);
    phi->addIncoming(common.v, before);
    phi->addIncoming(value, from);
    return {phi};
  }
  auto* mask = wide(condition);
  if (mask_ != nullptr) mask = b_.CreateAnd(mask, mask_);
  auto* usual = wide(common);
  b_.CreateCondBr(b_.CreateOrReduce(mask), rare, after,
                  llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
  b_.SetInsertPoint(rare);
  llvm::Align whole(static_cast<uint64_t>(target_.vector_bytes));
  struct Spilled {
    const Node* node;
    llvm::Value* at;
  };
  std::vector<Spilled> spilled;
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (values[i].uniform() || values[i].stride != 0) continue;
    auto* v = to_memory(leaves[i]->type, values[i].v);
    auto* at = stack(v->getType()->getScalarType(), fmt::format("rare.in{}.", i));
    b_.CreateAlignedStore(v, at, whole);
    spilled.push_back({leaves[i], at});
  }
  auto* bytes = stack(b_.getInt8Ty(), "rare.mask");
  b_.CreateAlignedStore(to_memory(DType::Bool, mask), bytes, whole);
  auto* element = memory_type(n.type);
  auto* out = stack(element, "rare.out");
  b_.CreateAlignedStore(to_memory(n.type, usual), out, whole);
  int lanes = std::exchange(lanes_, 1);
  auto* active_mask = std::exchange(mask_, nullptr);
  auto saved = vars_;
  counted(i64(0), i64(lanes), 1, true, [&](llvm::Value* k) {
    auto* lane = block("lane");
    auto* next = block("next");
    auto* wanted =
        b_.CreateAlignedLoad(b_.getInt8Ty(), b_.CreateInBoundsGEP(b_.getInt8Ty(), bytes, k), llvm::Align(1));
    b_.CreateCondBr(b_.CreateICmpNE(wanted, b_.getInt8(0)), lane, next);
    b_.SetInsertPoint(lane);
    scopes_.emplace_back();
    scopes_.back().same_statement = true;
    auto bind = [&](const Node* leaf, llvm::Value* v) {
      if (leaf->op == Op::Var)
        vars_[leaf->id] = {v};
      else
        scopes_.back().here[leaf] = scopes_.back().pure[leaf] = {v};
    };
    for (size_t i = 0; i < leaves.size(); ++i)
      if (values[i].stride != 0)
        bind(leaves[i], b_.CreateAdd(values[i].v, b_.CreateMul(k, i64(values[i].stride))));
    for (const Spilled& s : spilled) {
      auto* type = memory_type(s.node->type);
      auto* at = b_.CreateInBoundsGEP(type, s.at, k);
      bind(s.node,
           from_memory(s.node->type, b_.CreateAlignedLoad(type, at, llvm::Align(size_of(s.node->type)))));
    }
    auto* value = to_memory(n.type, rare_value(n.b.node(), leaves));
    scopes_.pop_back();
    b_.CreateAlignedStore(value, b_.CreateInBoundsGEP(element, out, k), llvm::Align(size_of(n.type)));
    b_.CreateBr(next);
    b_.SetInsertPoint(next);
  });
  lanes_ = lanes;
  mask_ = active_mask;
  vars_ = std::move(saved);
  auto* mixed = from_memory(n.type, b_.CreateAlignedLoad(vector_of(element), out, whole));
  auto* from = b_.GetInsertBlock();
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  auto* phi = b_.CreatePHI(usual->getType(), 2);
  phi->addIncoming(usual, before);
  phi->addIncoming(mixed, from);
  return {phi};
}

}  // namespace ig::codegen
