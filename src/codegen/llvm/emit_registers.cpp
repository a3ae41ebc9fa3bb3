// What a target does to whole registers by instructions of its own.
//
// Tables of constants, from which each lane takes an entry of its own: where the target permutes registers by
// a register of lane numbers, the table lies in one or two of them and all lanes are found at once; elsewhere
// each lane reads memory. Powers of two: AVX-512 multiplies by them and rounds once, whatever the exponents.
#include <algorithm>

#include <llvm/Analysis/VectorUtils.h>

#include "codegen/llvm/emit.h"

namespace ig::codegen {
namespace {

llvm::Constant* entries(llvm::LLVMContext& context, std::span<const float> of) {
  return llvm::ConstantDataVector::get(context, llvm::ArrayRef<float>(of.data(), of.size()));
}

// Lanes [first, first + count) of a vector; what lies beyond its end is anything.
llvm::Value* lanes_of(llvm::IRBuilder<>& b, llvm::Value* vector, unsigned first, unsigned count) {
  const unsigned all = llvm::cast<llvm::FixedVectorType>(vector->getType())->getNumElements();
  std::vector<int> mask(count, llvm::PoisonMaskElem);
  for (unsigned k = 0; k < count && first + k < all; ++k) mask[k] = static_cast<int>(first + k);
  return b.CreateShuffleVector(vector, mask);
}

}  // namespace

llvm::Value* Emitter::by_registers(std::span<llvm::Value* const> vectors, unsigned in_register,
                                   llvm::function_ref<llvm::Value*(std::span<llvm::Value* const>)> each) {
  const unsigned lanes = llvm::cast<llvm::FixedVectorType>(vectors[0]->getType())->getNumElements();
  std::vector<llvm::Value*> done, parts;
  for (unsigned first = 0; first < lanes; first += in_register) {
    parts.clear();
    for (auto* v : vectors) parts.push_back(lanes_of(b_, v, first, in_register));
    done.push_back(each(parts));
  }
  return lanes_of(b_, llvm::concatenateVectors(b_, done), 0, lanes);
}

Emitter::Value Emitter::scale(const Node& n) {
  if (target_.vector_bytes < 64) return eval(n.c);
  Value x = eval(n.a), power = eval(n.b);
  if (x.uniform() && power.uniform()) return eval(n.c);
  const bool single = n.type == DType::F32;
  const auto by = single ? llvm::Intrinsic::x86_avx512_mask_scalef_ps_512
                         : llvm::Intrinsic::x86_avx512_mask_scalef_pd_512;
  constexpr int kCurrentRounding = 4;
  auto each = [&](std::span<llvm::Value* const> v) {
    auto* all = single ? b_.getInt16(0xffff) : b_.getInt8(0xff);
    return b_.CreateIntrinsic(
        by, {}, {v[0], v[1], llvm::PoisonValue::get(v[0]->getType()), all, b_.getInt32(kCurrentRounding)});
  };
  llvm::Value* operands[] = {wide(x), wide(power)};
  return {by_registers(operands, single ? 16 : 8, each)};
}

llvm::Value* Emitter::lookup(const loop::Table& table, llvm::Value* index) {
  const auto in_register = static_cast<unsigned>(target_.vector_bytes) / 4;
  if (!index->getType()->isVectorTy() || in_register < 8) return lookup_in_memory(table, index);
  return by_registers({&index, 1}, in_register,
                      [&](std::span<llvm::Value* const> v) { return lookup_in_registers(table, v[0]); });
}

// `index` fills a register.
llvm::Value* Emitter::lookup_in_registers(const loop::Table& table, llvm::Value* index) {
  const std::span<const float> all = table;
  auto permuted = [&](llvm::Intrinsic::ID by, std::span<const float> part) {
    return b_.CreateIntrinsic(by, {}, {entries(b_.getContext(), part), index});
  };
  if (target_.vector_bytes == 64) return permuted(llvm::Intrinsic::x86_avx512_permvar_sf_512, all);
  auto* low = permuted(llvm::Intrinsic::x86_avx2_permps, all.first(8));
  if (std::ranges::equal(all.first(8), all.last(8))) return low;
  auto* high = permuted(llvm::Intrinsic::x86_avx2_permps, all.last(8));
  // The fourth bit as the sign, which a blend reads. (A select would become a mask and a comparison.)
  auto* fourth_bit = b_.CreateBitCast(b_.CreateShl(index, integer(index->getType(), 28)), low->getType());
  return b_.CreateIntrinsic(llvm::Intrinsic::x86_avx_blendv_ps_256, {}, {low, high, fourth_bit});
}

llvm::Value* Emitter::lookup_in_memory(const loop::Table& table, llvm::Value* index) {
  llvm::GlobalVariable*& memory = tables_[&table];
  if (memory == nullptr) {
    auto* values = llvm::ConstantDataArray::get(b_.getContext(), llvm::ArrayRef<float>(table));
    memory = new llvm::GlobalVariable(module_, values->getType(), true, llvm::GlobalValue::PrivateLinkage,
                                      values, "table");
    memory->setUnnamedAddr(llvm::GlobalValue::UnnamedAddr::Global);
  }
  auto entry = [&](llvm::Value* at) {
    at = b_.CreateZExt(b_.CreateAnd(at, b_.getInt32(15)), b_.getInt64Ty());
    return b_.CreateLoad(b_.getFloatTy(), b_.CreateInBoundsGEP(b_.getFloatTy(), memory, at));
  };
  auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(index->getType());
  if (vector == nullptr) return entry(index);
  llvm::Value* out = llvm::PoisonValue::get(shaped(b_.getFloatTy(), vector));
  for (unsigned k = 0; k < vector->getNumElements(); ++k)
    out = b_.CreateInsertElement(out, entry(b_.CreateExtractElement(index, k)), k);
  return out;
}

}  // namespace ig::codegen
