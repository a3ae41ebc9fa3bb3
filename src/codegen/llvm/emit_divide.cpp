// Vectors divided by one number, and vectors of 64-bit integers by another.
//
// Of floats its reciprocal is taken once, and a quotient is four operations and a test, in half the time of a
// division (AVX-512; 16 float32 of the first cache 1.3 ns and 2.6 on an Intel Xeon). The quotient is that of
// a division, bit for bit: with r = RN(1/b) and what r lacks, q = a * r + a * rest is one of the two floats
// around a / b; the remainder a - b * q is exact, and RN(q + remainder * r) is RN(a / b) (P. Markstein,
// "Computation of elementary functions on the IBM RISC System/6000 processor", 1990). That holds where
// nothing overflows or is denormal on the way: other lanes, zeros whose sign would be lost among them, send
// their vectors to the division itself.
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/PatternMatch.h>

#include "codegen/llvm/emit.h"

namespace ig::codegen {

namespace {

// How a type's numbers are written, and which exponents keep quotients, remainders and what is lacking of
// them from its ends: of dividends up to `far` from 1, of divisors up to `near`.
struct Layout {
  unsigned bits, mantissa, bias, far, near;
};
constexpr Layout kFloat{32, 23, 127, 90, 30};
constexpr Layout kDouble{64, 52, 1023, 900, 60};

}  // namespace

// Null where a plain division is as good.
llvm::Value* Emitter::divide_by_number(DType type, llvm::Value* a, llvm::Value* b) {
  if (type != DType::F32 && type != DType::F64) return nullptr;
  const Layout& of = type == DType::F32 ? kFloat : kDouble;
  const int of_register = target_.vector_bytes;
  if (!target_.fma || of_register < 32 || mask_ != nullptr ||
      lanes_ * static_cast<int>(of.bits) / 8 < of_register)
    return nullptr;
  // By a power of two it is a multiplication. Vectors of 256 bits divide in five cycles, which a quotient and
  // its test take too: there it pays where no test is needed.
  auto* known = llvm::dyn_cast<llvm::ConstantFP>(b);
  if (known != nullptr && known->getValueAPF().getExactInverse(nullptr)) return nullptr;

  auto* real = b->getType();
  auto* word = b_.getIntNTy(of.bits);
  auto* words = shaped(word, a->getType());
  auto splat = [&](llvm::Value* v) { return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), v); };
  // Whether 2^-range <= |v| < 2^(range + 1), as one comparison of words.
  auto near_one = [&](llvm::Value* v, unsigned range) {
    auto* own = v->getType();
    const uint64_t sign = uint64_t{1} << (of.bits - 1);
    auto* size = b_.CreateAnd(v, integer(own, sign - 1));
    auto* least = integer(own, uint64_t{of.bias - range} << of.mantissa);
    return b_.CreateICmpULT(b_.CreateSub(size, least), integer(own, uint64_t{2 * range + 1} << of.mantissa));
  };

  // What was a whole number is zero or near enough to one, and its zero has the sign of a positive divisor.
  const bool positive = known != nullptr && !known->isNegative();
  const bool untested =
      positive && llvm::isa<llvm::SIToFPInst, llvm::UIToFPInst>(a) &&
      llvm::PatternMatch::match(near_one(b_.CreateBitCast(b, word), of.near), llvm::PatternMatch::m_One());
  const bool short_division = of_register < 64 || target_.divides_wide;
  if (!untested && short_division) return nullptr;

  auto* one = llvm::ConstantFP::get(real, 1);
  auto* r = b_.CreateFDiv(one, b);
  auto fma = [&](llvm::Value* x, llvm::Value* y, llvm::Value* z) {
    return b_.CreateIntrinsic(llvm::Intrinsic::fma, {x->getType()}, {x, y, z});
  };
  auto* rest = b_.CreateFMul(fma(b_.CreateFNeg(b), r, one), r);
  auto* q = fma(a, splat(r), b_.CreateFMul(a, splat(rest)));
  auto* remainder = fma(splat(b_.CreateFNeg(b)), q, a);
  auto* fast = fma(remainder, splat(r), q);

  if (untested) return fast;

  // A zero of the divisor's sign keeps its own; no number has the word of all ones.
  auto* divisor = b_.CreateBitCast(b, word);
  auto* dividend = b_.CreateBitCast(a, words);
  auto* zero = b_.CreateSelect(b_.CreateICmpSLT(divisor, integer(word, 0)),
                               llvm::Constant::getAllOnesValue(word), integer(word, 0));
  auto* bad = b_.CreateAnd(b_.CreateNot(near_one(dividend, of.far)), b_.CreateICmpNE(dividend, splat(zero)));
  for (int half = lanes_ / 2; half * static_cast<int>(of.bits) / 8 >= of_register; half /= 2) {
    std::vector<int> low, high;
    for (int k = 0; k < half; ++k) low.push_back(k), high.push_back(k + half);
    bad = b_.CreateOr(b_.CreateShuffleVector(bad, low), b_.CreateShuffleVector(bad, high));
  }
  auto* any = b_.CreateOr(b_.CreateOrReduce(bad), b_.CreateNot(near_one(divisor, of.near)));

  auto* slow = block("divide");
  auto* after = block("divided");
  auto* from = b_.GetInsertBlock();
  b_.CreateCondBr(any, slow, after, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
  b_.SetInsertPoint(slow);
  auto* plain = b_.CreateFDiv(a, splat(b));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  auto* phi = b_.CreatePHI(a->getType(), 2);
  phi->addIncoming(fast, from);
  phi->addIncoming(plain, slow);
  return phi;
}

// Vectors of integers of up to 32 bits divided by one number that is known when the loop runs: times its
// reciprocal in a float of more than twice their width, made greater by more than it and the product may
// lack. A quotient that is a whole number is then reached, and none beyond it: the next one is 1 / |b| away,
// and of |a / b| at most 2^-50 too much (of 16 bits in float32, 2^-21). Null for others; b is not zero.
llvm::Value* Emitter::divide_by_whole(loop::Op op, DType type, llvm::Value* a, llvm::Value* b) {
  const int bits = info(type).bits;
  if (!is_integer(type)) return nullptr;
  if (bits == 64) return divide_long(op, type, a, b);
  if (llvm::isa<llvm::Constant>(b)) return nullptr;
  const bool is_signed = is_signed_int(type);
  auto* whole = a->getType();
  auto* narrow = b->getType();
  auto* real = bits <= 16 ? b_.getFloatTy() : b_.getDoubleTy();
  auto splat = [&](llvm::Value* v) { return b_.CreateVectorSplat(static_cast<unsigned>(lanes_), v); };
  // The smallest number by minus one wraps.
  llvm::Value* minus =
      is_signed ? b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(narrow)) : b_.getFalse();
  auto* by = b_.CreateSelect(minus, integer(narrow, 1), b);
  auto* divisor = is_signed ? b_.CreateSIToFP(by, real) : b_.CreateUIToFP(by, real);
  auto* reciprocal = b_.CreateFDiv(llvm::ConstantFP::get(real, 1), divisor);
  auto* greater =
      b_.CreateFMul(reciprocal, llvm::ConstantFP::get(real, 1 + (bits <= 16 ? 0x1p-22 : 0x1p-51)));
  auto* x = is_signed ? b_.CreateSIToFP(a, shaped(real, whole)) : b_.CreateUIToFP(a, shaped(real, whole));
  auto* q = b_.CreateFMul(x, splat(greater));
  auto* quotient = is_signed ? b_.CreateFPToSI(q, whole) : b_.CreateFPToUI(q, whole);
  if (op == loop::Op::Rem) return b_.CreateSub(a, b_.CreateMul(quotient, splat(by)));
  return b_.CreateSelect(minus, b_.CreateNeg(a), quotient);
}

// Vectors of 64-bit integers divided by others, or by one number, none of them zero. No processor divides
// such vectors, one by one takes ten cycles and more, and most numbers are small: where all are below 2^50
// they divide as float64. A quotient of such numbers is at least 2^-51 of itself below the whole number above
// it, and so is not rounded up to that; times a reciprocal it goes as in `divide_by_whole`. Null for a
// constant where a shift, or of two numbers at a time a product, is as good.
llvm::Value* Emitter::divide_long(loop::Op op, DType type, llvm::Value* a, llvm::Value* b) {
  const bool is_signed = is_signed_int(type), uniform = !b->getType()->isVectorTy();
  if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(b);
      known != nullptr && (target_.vector_bytes < 32 || known->getValue().abs().isPowerOf2()))
    return nullptr;
  // The smallest number by minus one wraps.
  llvm::Value* minus =
      is_signed ? b_.CreateICmpEQ(b, llvm::Constant::getAllOnesValue(b->getType())) : nullptr;
  auto* by = minus ? b_.CreateSelect(minus, integer(b->getType(), 1), b) : b;
  auto wide = [&](llvm::Value* v) {
    return v->getType()->isVectorTy() ? v : b_.CreateVectorSplat(static_cast<unsigned>(lanes_), v);
  };

  // What is not zero where a number is not small.
  constexpr uint64_t kSmall = uint64_t{1} << 50;
  auto excess = [&](llvm::Value* v) {
    if (!is_signed) return b_.CreateAnd(v, integer(v->getType(), ~(kSmall - 1)));
    auto* from_least = b_.CreateAdd(v, integer(v->getType(), kSmall));
    return b_.CreateAnd(from_least, integer(v->getType(), ~(2 * kSmall - 1)));
  };
  llvm::Value* large = b_.CreateOrReduce(uniform ? excess(a) : b_.CreateOr(excess(a), excess(by)));
  if (uniform) large = b_.CreateOr(large, excess(by));
  auto* any = b_.CreateICmpNE(large, b_.getInt64(0));

  // A small integer in the last bits of 1.5 * 2^52 is that float64 and the integer, added up.
  constexpr uint64_t kBits = 0x4338000000000000;
  auto floating = [&](llvm::Value* v) {
    auto* real = v->getType()->isVectorTy() ? shaped(b_.getDoubleTy(), v->getType()) : b_.getDoubleTy();
    auto* sum = b_.CreateBitCast(b_.CreateAdd(v, integer(v->getType(), kBits)), real);
    return b_.CreateFSub(sum, llvm::ConstantFP::get(real, 0x1.8p52));
  };
  auto* x = floating(a);
  auto* y = floating(by);
  llvm::Value* ratio = nullptr;
  if (uniform) {
    auto* reciprocal = b_.CreateFDiv(llvm::ConstantFP::get(b_.getDoubleTy(), 1), y);
    auto* greater = b_.CreateFMul(reciprocal, llvm::ConstantFP::get(b_.getDoubleTy(), 1 + 0x1p-51));
    ratio = b_.CreateFMul(x, wide(greater));
  } else {
    ratio = b_.CreateFDiv(x, y);
  }
  llvm::Value* result = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, ratio);
  if (op == loop::Op::Rem) result = b_.CreateFSub(x, b_.CreateFMul(result, wide(y)));
  auto* sum = b_.CreateFAdd(result, llvm::ConstantFP::get(result->getType(), 0x1.8p52));
  auto* fast = b_.CreateSub(b_.CreateBitCast(sum, a->getType()), integer(a->getType(), kBits));

  auto* slow = block("divide");
  auto* after = block("divided");
  auto* from = b_.GetInsertBlock();
  b_.CreateCondBr(any, slow, after, llvm::MDBuilder(b_.getContext()).createBranchWeights(1, 1000));
  b_.SetInsertPoint(slow);
  auto* plain = divide_plainly(op, type, a, wide(by));
  b_.CreateBr(after);
  b_.SetInsertPoint(after);
  auto* phi = b_.CreatePHI(a->getType(), 2);
  phi->addIncoming(fast, from);
  phi->addIncoming(plain, slow);
  // By one there is no remainder, as by minus one; only the quotient needs its sign.
  if (minus == nullptr || op == loop::Op::Rem) return phi;
  return b_.CreateSelect(minus, b_.CreateNeg(a), phi);
}

}  // namespace ig::codegen
