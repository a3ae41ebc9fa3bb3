// Conversions between dtypes. F16 and BF16 are 16-bit integers here, widened and rounded by instructions of
// our own (or F16C's), since LLVM would call library functions; no path rounds twice. Float to integer
// saturates, NaN gives 0.
#include "codegen/llvm/emit.h"
#include "support/error.h"

namespace ig::codegen {

llvm::Value* Emitter::convert(llvm::Value* v, DType from, DType to) {
  if (from == to) return v;
  if (from == DType::F16) return convert(f16_to_f32(v), DType::F32, to);
  if (from == DType::BF16) return convert(bf16_to_f32(v), DType::F32, to);
  auto* type = shaped(register_type(to), v->getType());
  if (to == DType::Bool) {
    auto* zero = llvm::Constant::getNullValue(v->getType());
    return is_float(from) ? b_.CreateFCmpUNE(v, zero) : b_.CreateICmpNE(v, zero);
  }
  if (from == DType::Bool && (to == DType::F16 || to == DType::BF16)) {
    auto* one = integer(type, to == DType::F16 ? 0x3c00 : 0x3f80);
    return b_.CreateSelect(v, one, llvm::Constant::getNullValue(type));
  }
  if (from == DType::Bool && is_float(to))
    return b_.CreateSelect(v, llvm::ConstantFP::get(type, 1.0), llvm::Constant::getNullValue(type));
  if (from == DType::Bool) return b_.CreateZExt(v, type);
  if (!is_float(from)) {
    if (to == DType::F16 || to == DType::BF16) return int_to_half(v, from, to);
    if (is_float(to)) return is_signed_int(from) ? b_.CreateSIToFP(v, type) : b_.CreateUIToFP(v, type);
    return b_.CreateIntCast(v, type, is_signed_int(from));
  }
  if (!is_float(to)) return float_to_int(v, from, to);
  if (to == DType::F64) return b_.CreateFPExt(v, type);
  if (to == DType::F32) return b_.CreateFPTrunc(v, type);
  if (from == DType::F64) v = f64_to_odd_f32(v);
  return to == DType::F16 ? f32_to_f16(v) : f32_to_bf16(v);
}

llvm::Value* Emitter::float_to_int(llvm::Value* v, DType from, DType to) {
  bool is_signed = is_signed_int(to);
  int bits = info(to).bits;
  auto* real = v->getType();
  auto* type = shaped(register_type(to), real);
  auto high = llvm::APInt::getMaxValue(static_cast<unsigned>(bits));
  if (is_signed) high = llvm::APInt::getSignedMaxValue(static_cast<unsigned>(bits));
  const auto& semantics = from == DType::F32 ? llvm::APFloat::IEEEsingle() : llvm::APFloat::IEEEdouble();
  // The bounds rounded towards zero are floats inside the range; above the upper one the answer is the
  // maximum.
  llvm::APFloat upper(semantics), lower(semantics);
  upper.convertFromAPInt(high, false, llvm::APFloat::rmTowardZero);
  lower.convertFromAPInt(
      is_signed ? llvm::APInt::getSignedMinValue(static_cast<unsigned>(bits)) : llvm::APInt(64, 0), is_signed,
      llvm::APFloat::rmTowardZero);
  auto* top = llvm::ConstantFP::get(real, upper);
  auto* bottom = llvm::ConstantFP::get(real, lower);
  auto* above = b_.CreateFCmpOGT(v, top);
  auto* bounded = b_.CreateSelect(b_.CreateFCmpOGT(v, bottom), v, bottom);  // NaN goes to the bottom for now
  bounded = b_.CreateSelect(above, top, bounded);
  // A narrow result comes by way of 32 bits, for which there are instructions.
  auto* through = bits < 32 ? shaped(b_.getInt32Ty(), real) : type;
  llvm::Value* out;
  if (bits == 64 && real->isVectorTy() && target_.vector_bytes < 64)
    out = whole_words(bounded);
  else
    out = is_signed || bits < 32 ? b_.CreateFPToSI(bounded, through) : b_.CreateFPToUI(bounded, through);
  out = b_.CreateIntCast(out, type, false);
  out = b_.CreateSelect(above, llvm::ConstantInt::get(type, high), out);
  return b_.CreateSelect(b_.CreateFCmpUNO(v, v), llvm::Constant::getNullValue(type), out);
}

// Floats between -2^63 and 2^64, cut off, as 64-bit integers, for which vectors have no instruction below
// AVX-512: a number's upper and lower 32 bits as floats of their own, whose integers stand in the last bits
// once 2^52 is added. No step rounds.
llvm::Value* Emitter::whole_words(llvm::Value* v) {
  auto* type = shaped(b_.getDoubleTy(), v->getType());
  auto* word = shaped(b_.getInt64Ty(), v->getType());
  auto c = [&](double x) { return llvm::ConstantFP::get(type, x); };
  auto bits_of = [&](llvm::Value* x) { return b_.CreateBitCast(x, word); };
  auto* whole = b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, b_.CreateFPExt(v, type));
  auto* upper = b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, b_.CreateFMul(whole, c(0x1p-32)));
  auto* lower = b_.CreateFSub(whole, b_.CreateFMul(upper, c(0x1p32)));
  auto* high = b_.CreateShl(bits_of(b_.CreateFAdd(upper, c(0x1.8p52))), integer(word, 32));
  auto* low = b_.CreateAnd(bits_of(b_.CreateFAdd(lower, c(0x1p52))), integer(word, 0xffffffff));
  return b_.CreateOr(high, low);
}

// Integers up to 2^24 are exact in f32, and larger ones overflow f16 anyway. For bf16 they go through f64;
// above 2^53 the bits that f64 would round off are folded into one that still says "inexact".
llvm::Value* Emitter::int_to_half(llvm::Value* v, DType from, DType to) {
  bool is_signed = is_signed_int(from);
  auto as = [&](llvm::Value* x, llvm::Type* element) {
    auto* type = shaped(element, x->getType());
    return is_signed ? b_.CreateSIToFP(x, type) : b_.CreateUIToFP(x, type);
  };
  if (to == DType::F16) return f32_to_f16(as(v, b_.getFloatTy()));
  if (info(from).bits <= 16) return f32_to_bf16(as(v, b_.getFloatTy()));
  if (info(from).bits == 64) {
    auto* type = v->getType();
    auto* low = b_.CreateAnd(v, integer(type, 0x7ff));
    auto* sticky =
        b_.CreateSelect(b_.CreateICmpNE(low, integer(type, 0)), integer(type, 0x800), integer(type, 0));
    auto* folded = b_.CreateOr(b_.CreateXor(v, low), sticky);
    auto* size = is_signed ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, v, b_.getFalse()) : v;
    v = b_.CreateSelect(b_.CreateICmpUGE(size, integer(type, uint64_t{1} << 53)), folded, v);
  }
  return f32_to_bf16(f64_to_odd_f32(as(v, b_.getDoubleTy())));
}

llvm::Value* Emitter::f16_to_f32(llvm::Value* v) {
  auto* real = shaped(b_.getFloatTy(), v->getType());
  if (target_.vector_bytes >= 32)
    return b_.CreateFPExt(b_.CreateBitCast(v, shaped(b_.getHalfTy(), v->getType())), real);
  auto* word = shaped(b_.getInt32Ty(), v->getType());
  auto c = [&](uint64_t x) { return integer(word, x); };
  auto* wide = b_.CreateZExt(v, word);
  auto* body = b_.CreateShl(b_.CreateAnd(wide, c(0x7fff)), c(13));
  auto* exponent = b_.CreateAnd(body, c(0x7c00u << 13));
  auto* normal = b_.CreateAdd(body, c((127 - 15) << 23));
  auto* special = b_.CreateAdd(normal, c((128 - 16) << 23));
  auto* is_nan = b_.CreateICmpUGT(body, c(0x7c00u << 13));
  special = b_.CreateSelect(is_nan, b_.CreateOr(special, c(0x400000)), special);
  // A denormal is 2^-14 more than itself with the exponent of 2^-14.
  auto* tiny = b_.CreateBitCast(b_.CreateAdd(normal, c(1 << 23)), real);
  tiny = b_.CreateBitCast(b_.CreateFSub(tiny, llvm::ConstantFP::get(real, 0x1p-14)), word);
  auto* out = b_.CreateSelect(b_.CreateICmpEQ(exponent, c(0)), tiny, normal);
  out = b_.CreateSelect(b_.CreateICmpEQ(exponent, c(0x7c00u << 13)), special, out);
  return b_.CreateBitCast(b_.CreateOr(out, b_.CreateShl(b_.CreateAnd(wide, c(0x8000)), c(16))), real);
}

llvm::Value* Emitter::f32_to_f16(llvm::Value* v) {
  auto* half = shaped(b_.getInt16Ty(), v->getType());
  if (target_.vector_bytes >= 32)
    return b_.CreateBitCast(b_.CreateFPTrunc(v, shaped(b_.getHalfTy(), v->getType())), half);
  auto* word = shaped(b_.getInt32Ty(), v->getType());
  auto c = [&](uint64_t x) { return integer(word, x); };
  auto* bits = b_.CreateBitCast(v, word);
  auto* body = b_.CreateAnd(bits, c(0x7fffffff));
  auto* sign = b_.CreateLShr(b_.CreateXor(bits, body), c(16));
  auto* odd = b_.CreateAnd(b_.CreateLShr(body, c(13)), c(1));
  auto* normal =
      b_.CreateAdd(b_.CreateAdd(body, c(0xc8000fffu)), odd);  // rebias the exponent, round to nearest even
  normal = b_.CreateLShr(normal, c(13));
  // Adding 0.5 lines a denormal's last bit up with the float's, and the hardware rounds.
  auto* tiny = b_.CreateFAdd(b_.CreateBitCast(body, v->getType()), llvm::ConstantFP::get(v->getType(), 0.5));
  tiny = b_.CreateSub(b_.CreateBitCast(tiny, word), c(0x3f000000));
  auto* payload = b_.CreateOr(b_.CreateAnd(b_.CreateLShr(body, c(13)), c(0x3ff)), c(0x7e00));
  auto* special = b_.CreateSelect(b_.CreateICmpUGT(body, c(0x7f800000)), payload, c(0x7c00));
  auto* out = b_.CreateSelect(b_.CreateICmpULT(body, c(113u << 23)), tiny, normal);
  out = b_.CreateSelect(b_.CreateICmpUGE(body, c(143u << 23)), special, out);
  return b_.CreateTrunc(b_.CreateOr(out, sign), half);
}

llvm::Value* Emitter::bf16_to_f32(llvm::Value* v) {
  auto* word = shaped(b_.getInt32Ty(), v->getType());
  return b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(v, word), integer(word, 16)),
                          shaped(b_.getFloatTy(), v->getType()));
}

llvm::Value* Emitter::f32_to_bf16(llvm::Value* v) {
  auto* word = shaped(b_.getInt32Ty(), v->getType());
  auto c = [&](uint64_t x) { return integer(word, x); };
  auto* bits = b_.CreateBitCast(v, word);
  auto* high = b_.CreateLShr(bits, c(16));
  auto* rounded = b_.CreateAdd(b_.CreateAdd(bits, c(0x7fff)), b_.CreateAnd(high, c(1)));
  auto* out =
      b_.CreateSelect(b_.CreateFCmpUNO(v, v), b_.CreateOr(high, c(0x40)), b_.CreateLShr(rounded, c(16)));
  return b_.CreateTrunc(out, shaped(b_.getInt16Ty(), v->getType()));
}

// Rounds to odd: truncated, the last bit set where anything was lost; so a second rounding sees what the
// first did.
llvm::Value* Emitter::f64_to_odd_f32(llvm::Value* v) {
  auto* real = shaped(b_.getFloatTy(), v->getType());
  auto* word = shaped(b_.getInt32Ty(), v->getType());
  auto* near = b_.CreateFPTrunc(v, real);
  auto* back = b_.CreateFPExt(near, v->getType());
  auto* bits = b_.CreateBitCast(near, word);
  auto* over = b_.CreateFCmpOGT(intrinsic(llvm::Intrinsic::fabs, back), intrinsic(llvm::Intrinsic::fabs, v));
  auto* cut = b_.CreateSub(bits, b_.CreateZExt(over, word));
  auto* odd = b_.CreateOr(cut, integer(word, 1));
  return b_.CreateBitCast(b_.CreateSelect(b_.CreateFCmpONE(back, v), odd, bits), real);
}

}  // namespace ig::codegen
