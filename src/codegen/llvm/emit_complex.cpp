// Complex numbers. As a value of the IR one is an integer of its bits, which only moves; the parts of a
// vector of them are the lanes of a vector of twice as many floats, so that a load, a store and a mask cost
// what they cost for floats, and taking and joining parts are shuffles. The casts between the two forms are
// looked through here, so wide integers are never computed with.
#include "codegen/llvm/emit.h"
#include "support/error.h"

namespace ig::codegen {

llvm::Type* Emitter::parts_type(DType type) {
  return llvm::FixedVectorType::get(register_type(part_of(type)), static_cast<unsigned>(2 * lanes_));
}

llvm::Value* Emitter::parts_of(DType type, llvm::Value* whole) {
  if (auto* cast = llvm::dyn_cast<llvm::BitCastInst>(whole))
    if (cast->getSrcTy() == parts_type(type)) return cast->getOperand(0);
  return b_.CreateBitCast(whole, parts_type(type));
}

llvm::Value* Emitter::whole_of(DType type, llvm::Value* parts) {
  return b_.CreateBitCast(parts, vector_of(register_type(type)));
}

llvm::Value* Emitter::parts_mask() {
  std::vector<int> twice;
  for (int k = 0; k < lanes_; ++k) twice.insert(twice.end(), {k, k});
  return b_.CreateShuffleVector(mask_, twice);
}

Emitter::Value Emitter::part(const Node& n) {
  Value whole = eval(n.a);
  DType type = n.a.type();
  bool imaginary = n.op == loop::Op::Imag;
  if (whole.v->getType()->isVectorTy()) {
    std::vector<int> order;
    for (int k = 0; k < lanes_; ++k) order.push_back(2 * k + (imaginary ? 1 : 0));
    return {b_.CreateShuffleVector(parts_of(type, whole.v), order)};
  }
  unsigned bits = static_cast<unsigned>(info(n.type).bits);
  auto* at = imaginary ? b_.CreateLShr(whole.v, integer(whole.v->getType(), bits)) : whole.v;
  return {b_.CreateBitCast(b_.CreateTrunc(at, b_.getIntNTy(bits)), register_type(n.type))};
}

Emitter::Value Emitter::join(const Node& n) {
  Value re = eval(n.a), im = eval(n.b);
  if (re.uniform() && im.uniform()) {
    unsigned bits = static_cast<unsigned>(info(n.a.type()).bits);
    auto* type = register_type(n.type);
    auto wide_bits = [&](llvm::Value* v) {
      return b_.CreateZExt(b_.CreateBitCast(v, b_.getIntNTy(bits)), type);
    };
    return {b_.CreateOr(wide_bits(re.v), b_.CreateShl(wide_bits(im.v), integer(type, bits)))};
  }
  std::vector<int> order;
  for (int k = 0; k < lanes_; ++k) order.insert(order.end(), {k, k + lanes_});
  return {whole_of(n.type, b_.CreateShuffleVector(wide(re), wide(im), order))};
}

// Lane i with lane i + n/2, as all folds of lanes; (a + bi)(c + di) as the operator has it.
llvm::Value* Emitter::product_of_lanes(const Node& n) {
  const loop::Local& l = f_.locals[n.id];
  auto* re = static_cast<llvm::Value*>(b_.CreateLoad(local_type(n.id), local_address(n.id, n.a)));
  auto* im = static_cast<llvm::Value*>(b_.CreateLoad(local_type(n.id + 1), local_address(n.id + 1, n.a)));
  for (int half = l.lanes / 2; half > 0; half /= 2) {
    std::vector<int> low, high;
    for (int k = 0; k < half; ++k) {
      low.push_back(k);
      high.push_back(k + half);
    }
    auto *a = b_.CreateShuffleVector(re, low), *c = b_.CreateShuffleVector(re, high);
    auto *b = b_.CreateShuffleVector(im, low), *d = b_.CreateShuffleVector(im, high);
    re = b_.CreateFSub(b_.CreateFMul(a, c), b_.CreateFMul(b, d));
    im = b_.CreateFAdd(b_.CreateFMul(a, d), b_.CreateFMul(b, c));
  }
  if (l.lanes > 1) {
    re = b_.CreateExtractElement(re, i64(0));
    im = b_.CreateExtractElement(im, i64(0));
  }
  unsigned bits = static_cast<unsigned>(info(l.type).bits);
  auto* type = register_type(n.type);
  auto wide_bits = [&](llvm::Value* v) {
    return b_.CreateZExt(b_.CreateBitCast(v, b_.getIntNTy(bits)), type);
  };
  return b_.CreateOr(wide_bits(re), b_.CreateShl(wide_bits(im), integer(type, bits)));
}

}  // namespace ig::codegen
