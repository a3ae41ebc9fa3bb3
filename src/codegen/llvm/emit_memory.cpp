// Loads, stores and locals. No kernel ever touches a byte outside its buffers: the last group of a vector
// loop uses masked moves where the target has them for the element's width, and else goes through a slot on
// the stack, filled by a loop over the active lanes. The same slot serves scatters, and gathers of the last
// group or of many lanes, which keeps their code small; the arithmetic on the vector is the same in all
// cases.
#include <llvm/Analysis/VectorUtils.h>
#include <llvm/IR/InlineAsm.h>

#include <bit>
#include <numeric>

#include "codegen/llvm/emit.h"
#include "runtime/kernel_abi.h"
#include "support/error.h"

namespace ig::codegen {

llvm::Type* Emitter::register_type(DType type) {
  switch (type) {
    case DType::Bool: return b_.getInt1Ty();
    case DType::F32: return b_.getFloatTy();
    case DType::F64: return b_.getDoubleTy();
    default: break;
  }
  // Keys are only moved, as their bits. So are complex numbers; what computes takes their parts
  // (emit_complex).
  return b_.getIntNTy(info(type).bits);
}

llvm::Type* Emitter::memory_type(DType type) {
  return type == DType::Bool ? b_.getInt8Ty() : register_type(type);
}

llvm::Value* Emitter::from_memory(DType type, llvm::Value* v) {
  return type == DType::Bool ? b_.CreateICmpNE(v, llvm::Constant::getNullValue(v->getType())) : v;
}

llvm::Value* Emitter::to_memory(DType type, llvm::Value* v) {
  return type == DType::Bool ? b_.CreateZExt(v, shaped(b_.getInt8Ty(), v->getType())) : v;
}

llvm::Value* Emitter::address(uint32_t buffer, llvm::Type* type, llvm::Value* offset) {
  return b_.CreateInBoundsGEP(type, pointers_[buffer], offset);
}

llvm::Value* Emitter::stack(llvm::Type* type, std::string_view name) {
  std::string key = fmt::format("{}{}.{}", name, lanes_, type->getScalarSizeInBits());
  auto& slot = slots_[key];
  if (slot == nullptr) {
    llvm::IRBuilder<>::InsertPointGuard guard(b_);
    b_.SetInsertPoint(first_);
    auto* bytes =
        llvm::ArrayType::get(b_.getIntNTy(type->getScalarSizeInBits()), static_cast<uint64_t>(lanes_));
    slot = b_.CreateAlloca(bytes, nullptr, key);
    slot->setAlignment(llvm::Align(static_cast<uint64_t>(target_.vector_bytes)));
  }
  return slot;
}

bool Emitter::masked_moves(DType type) const {
  return target_.vector_bytes == 64 || (target_.vector_bytes == 32 && size_of(type) >= 4);
}

llvm::Value* Emitter::active_lanes() { return active_ != nullptr ? active_ : i64(lanes_); }

Emitter::Value Emitter::load(const Node& n) {
  for (const LineReader& reader : readers_)
    if (reader.buffer == n.id && reader.offset == n.a.node()) return {reader.value};
  if (auto* v = load_runs(n.id, n.type, n.a.node())) return {from_memory(n.type, v)};
  auto* type = memory_type(n.type);
  llvm::Align align(size_of(part_of(n.type)));
  // The indices of a row, and what is made of them, are the same for all of its elements.
  auto load_one = [&](llvm::Value* at) -> Value {
    auto* out = b_.CreateAlignedLoad(type, at, align);
    if (n.id < f_.buffers.size() && f_.buffers[n.id].apart)
      out->setMetadata(llvm::LLVMContext::MD_invariant_load, llvm::MDNode::get(b_.getContext(), {}));
    return {from_memory(n.type, out)};
  };
  if (auto place = place_in_turns(n.id, type, n.a.node())) {
    if (place->stride == 0) return load_one(place->pointer);
    if (place->stride == 1 && !is_complex(n.type))
      return {from_memory(n.type, b_.CreateAlignedLoad(vector_of(type), place->pointer, align))};
  }
  auto load_at = [&](const Value& offset) {
    if (offset.stride == 1) return load_contiguous(n.id, n.type, offset.v);
    if (auto* v = load_steps(n.id, n.type, offset)) return v;
    if (offset.stride == 0)
      if (auto* v = load_groups(n.id, n.type, n.a.node(), offset.v)) return v;
    return load_indexed(n.id, n.type, offset);
  };
  if (auto* v = load_within(n.id, n.type, n.a.node(), [&] { return load_at(eval(n.a)); }))
    return {from_memory(n.type, v)};
  const Value offset = eval(n.a);
  if (offset.uniform()) return load_one(address(n.id, type, offset.v));
  return {from_memory(n.type, load_at(offset))};
}

llvm::Value* Emitter::load_contiguous(uint32_t buffer, DType type, llvm::Value* offset) {
  auto* element = memory_type(type);
  auto* vector = vector_of(element);
  llvm::Align align(size_of(part_of(type)));
  auto* at = address(buffer, element, offset);
  if (splits(type) && mask_ == nullptr) {
    return whole_of(type, b_.CreateAlignedLoad(parts_type(type), at, align));
  }
  if (splits(type) && masked_moves(part_of(type))) {
    auto* none = llvm::Constant::getNullValue(parts_type(type));
    return whole_of(type, b_.CreateMaskedLoad(parts_type(type), at, align, parts_mask(), none));
  }
  if (mask_ == nullptr) return b_.CreateAlignedLoad(vector, at, align);
  if (masked_moves(type))
    return b_.CreateMaskedLoad(vector, at, align, mask_, llvm::Constant::getNullValue(vector));
  return load_indexed(buffer, type, {offset, 1});
}

// A register of elements that lie at these places from the lowest, the greatest of them at `count` - 1: all
// that lies between is loaded, a register at a time, by `load(place of its first element)`, and shuffled. The
// last load ends at the last element, so none touches a byte outside.
llvm::Value* Emitter::picked(llvm::Type* vector, std::span<const int64_t> places, int64_t count,
                             const std::function<llvm::Value*(int64_t)>& load) {
  const auto width = static_cast<int64_t>(places.size());
  llvm::Value* out = llvm::PoisonValue::get(vector);
  for (int64_t begin = 0; begin < count; begin += width) {
    const int64_t at = std::min(begin, count - width);
    std::vector<int> order;
    for (int64_t k = 0; k < width; ++k) {
      const int64_t place = places[static_cast<size_t>(k)];
      const bool here = place >= begin && place < begin + width;
      order.push_back(static_cast<int>(here ? width + place - at : k));
    }
    out = b_.CreateShuffleVector(out, load(at), order);
  }
  return out;
}

// Lanes a small distance apart. Null where that would take more loads than there are lanes.
llvm::Value* Emitter::load_apart(uint32_t buffer, DType type, Value offset) {
  const bool down = offset.stride < 0;
  const int64_t apart = down ? -offset.stride : offset.stride, bytes = static_cast<int64_t>(size_of(type));
  if (apart == 0 || bytes > 8 || (mask_ != nullptr && (down || !masked_moves(type)))) return nullptr;
  const int64_t width = std::min<int64_t>(lanes_, target_.vector_bytes / bytes);
  if (apart > width) return nullptr;
  auto* element = memory_type(type);
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(width));
  const llvm::Align align(static_cast<uint64_t>(bytes));
  std::vector<int64_t> places;
  for (int64_t k = 0; k < width; ++k) places.push_back((down ? width - 1 - k : k) * apart);
  auto load = [&](int64_t lane, int64_t at) -> llvm::Value* {
    const int64_t lowest = offset.stride * (down ? lane + width - 1 : lane);
    auto* from = address(buffer, element, b_.CreateNSWAdd(offset.v, i64(lowest + at)));
    if (mask_ == nullptr) return b_.CreateAlignedLoad(vector, from, align);
    auto* lanes = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, b_.CreateSub(active_, i64(lane)), i64(0));
    auto* wanted = b_.CreateSub(b_.CreateMul(lanes, i64(apart)), i64(apart - 1 + at));
    wanted = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, wanted, i64(0));
    wanted = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, wanted, i64(width));
    return b_.CreateMaskedLoad(vector, from, align, first_lanes(wanted, width),
                               llvm::Constant::getNullValue(vector));
  };
  std::vector<llvm::Value*> registers;
  for (int64_t lane = 0; lane < lanes_; lane += width)
    registers.push_back(
        picked(vector, places, (width - 1) * apart + 1, [&](int64_t at) { return load(lane, at); }));
  return registers.size() == 1 ? registers[0] : llvm::concatenateVectors(b_, registers);
}

// Lanes one by one, written out, which takes a half to a quarter of the time of a loop over them; null where
// the kernel has so many of them already that its code would grow.
llvm::Value* Emitter::load_lanes(uint32_t buffer, DType type, Value offset) {
  constexpr int kLongest = 64, kMostLanes = 1024;  // of one of them, and of a kernel
  if (mask_ != nullptr || splits(type) || lanes_ > kLongest || written_out_ + lanes_ > kMostLanes)
    return nullptr;
  written_out_ += lanes_;
  auto* element = memory_type(type);
  llvm::Value* out = llvm::PoisonValue::get(vector_of(element));
  for (int k = 0; k < lanes_; ++k) {
    auto* at = offset.stride == 0 ? b_.CreateExtractElement(offset.v, i64(k))
                                  : b_.CreateAdd(offset.v, i64(offset.stride * k));
    auto* v = b_.CreateAlignedLoad(element, address(buffer, element, at), llvm::Align(size_of(type)));
    out = b_.CreateInsertElement(out, v, i64(k));
  }
  return out;
}

// A stride other than one, or an offset of its own in each lane.
llvm::Value* Emitter::load_indexed(uint32_t buffer, DType type, Value offset) {
  if (auto* apart = load_apart(buffer, type, offset)) return apart;
  if (mask_ != nullptr && offset.stride != 0 && llvm::isa<llvm::ConstantInt>(active_)) {
    std::vector<int64_t> steps;
    for (int64_t k = 0; k < lanes_; ++k) steps.push_back(offset.stride * k);
    const Value known{nullptr, 0, offset.v, &steps_.emplace_back(std::move(steps))};
    if (auto* near = load_steps(buffer, type, known)) return near;
  }
  auto* element = memory_type(type);
  auto* vector = vector_of(element);
  llvm::Align align(size_of(part_of(type)));
  if (target_.vector_bytes == 64 && size_of(type) >= 4 && size_of(type) <= 8) {
    auto* all = llvm::Constant::getAllOnesValue(vector_of(b_.getInt1Ty()));
    auto* pointers = b_.CreateInBoundsGEP(element, pointers_[buffer], wide(offset));
    return b_.CreateMaskedGather(vector, pointers, align, mask_ != nullptr ? mask_ : all,
                                 llvm::Constant::getNullValue(vector));
  }
  if (auto* v = load_lanes(buffer, type, offset)) return v;
  auto* slot = stack(element, "gather");
  llvm::Value* indices = nullptr;
  if (offset.stride == 0) {
    indices = stack(b_.getInt64Ty(), "index");
    b_.CreateAlignedStore(offset.v, indices, llvm::Align(static_cast<uint64_t>(target_.vector_bytes)));
  }
  counted(i64(0), active_lanes(), 1, true, [&](llvm::Value* k) {
    llvm::Value* at = nullptr;
    if (indices != nullptr)
      at = b_.CreateAlignedLoad(b_.getInt64Ty(), b_.CreateInBoundsGEP(b_.getInt64Ty(), indices, k),
                                llvm::Align(8));
    else
      at = b_.CreateAdd(offset.v, b_.CreateMul(k, i64(offset.stride)));
    auto* v = b_.CreateAlignedLoad(element, address(buffer, element, at), align);
    b_.CreateAlignedStore(v, b_.CreateInBoundsGEP(element, slot, k), align);
  });
  // Lanes that are not active hold what an earlier group left there; freeze makes that a value, whatever it
  // is.
  llvm::Value* out = b_.CreateAlignedLoad(splits(type) ? parts_type(type) : vector, slot,
                                          llvm::Align(static_cast<uint64_t>(target_.vector_bytes)));
  if (mask_ != nullptr) out = b_.CreateFreeze(out);
  return splits(type) ? whole_of(type, out) : out;
}

// The active lanes, where their number is known: as many at a time as make a whole store. AVX2 has masked
// ones, but AMD's processors take tens of operations for each, and none has them for bytes.
bool Emitter::store_known_lanes(llvm::Value* v, llvm::Value* at, llvm::Align align) {
  auto* known = llvm::dyn_cast_or_null<llvm::ConstantInt>(active_);
  if (known == nullptr || target_.vector_bytes == 64) return false;
  auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
  const unsigned parts = type->getNumElements() / static_cast<unsigned>(lanes_);  // of a complex number: two
  const unsigned count = static_cast<unsigned>(known->getZExtValue()) * parts;
  for (unsigned done = 0, some = 0; done < count; done += some) {
    some = std::bit_floor(count - done);
    llvm::SmallVector<int> which(some);
    std::iota(which.begin(), which.end(), static_cast<int>(done));
    auto* piece = some == 1 ? b_.CreateExtractElement(v, done) : b_.CreateShuffleVector(v, which);
    b_.CreateAlignedStore(piece, b_.CreateConstInBoundsGEP1_64(type->getElementType(), at, done), align);
  }
  return true;
}

// A store of the active lanes as one of all of them, of which the others hold what stood there: in scratch,
// which is the thread's own, with room behind it (rt::kScratchSpare).
bool Emitter::store_blended(uint32_t buffer, llvm::Value* v, llvm::Value* at, llvm::Align align) {
  auto* type = llvm::cast<llvm::FixedVectorType>(v->getType());
  const uint64_t bytes = uint64_t{type->getNumElements()} * type->getScalarSizeInBits() / 8;
  if (buffer < f_.buffers.size() || target_.vector_bytes == 64 || bytes > rt::kScratchSpare) return false;
  auto* mask = type->getNumElements() == static_cast<unsigned>(lanes_) ? mask_ : parts_mask();
  b_.CreateAlignedStore(b_.CreateSelect(mask, v, b_.CreateAlignedLoad(type, at, align)), at, align);
  return true;
}

void Emitter::store(const loop::Stmt& s) {
  DType type = s.value.type();
  auto* element = memory_type(type);
  llvm::Align align(size_of(part_of(type)));
  Value value = eval(s.value);
  Value offset = eval(s.index);
  const std::optional<Place> place = place_in_turns(s.id, element, s.index.node());
  auto at_offset = [&] { return place ? place->pointer : address(s.id, element, offset.v); };
  if (offset.uniform()) {
    // Lanes write in order, so the last active one stays.
    auto* v = value.uniform() ? value.v
                              : b_.CreateExtractElement(wide(value), b_.CreateSub(active_lanes(), i64(1)));
    b_.CreateAlignedStore(to_memory(type, v), at_offset(), align);
    return;
  }
  auto* v = to_memory(type, wide(value));
  if (splits(type)) v = parts_of(type, v);
  if (offset.stride == 1) {
    auto* at = at_offset();
    if (mask_ != nullptr && (store_known_lanes(v, at, align) || store_blended(s.id, v, at, align))) return;
    if (splits(type) && mask_ != nullptr && masked_moves(part_of(type))) {
      b_.CreateMaskedStore(v, at, align, parts_mask());
      return;
    }
    if (mask_ == nullptr) {
      auto whole = static_cast<uint64_t>(target_.vector_bytes);
      const bool past = s.streamed && static_cast<uint64_t>(lanes_) * size_of(type) % whole == 0;
      auto* made = b_.CreateAlignedStore(v, at, past ? llvm::Align(whole) : align);
      if (past) stream(made);
      return;
    }
    if (!splits(type) && masked_moves(type)) {
      b_.CreateMaskedStore(v, at, align, mask_);
      return;
    }
  }
  llvm::Align whole(static_cast<uint64_t>(target_.vector_bytes));
  auto* slot = stack(element, "scatter");
  b_.CreateAlignedStore(v, slot, whole);
  llvm::Value* indices = nullptr;
  if (offset.stride == 0) {
    indices = stack(b_.getInt64Ty(), "index");
    b_.CreateAlignedStore(offset.v, indices, whole);
  }
  counted(i64(0), active_lanes(), 1, true, [&](llvm::Value* k) {
    llvm::Value* at = nullptr;
    if (indices != nullptr)
      at = b_.CreateAlignedLoad(b_.getInt64Ty(), b_.CreateInBoundsGEP(b_.getInt64Ty(), indices, k),
                                llvm::Align(8));
    else
      at = b_.CreateAdd(offset.v, b_.CreateMul(k, i64(offset.stride)));
    auto* one = b_.CreateAlignedLoad(element, b_.CreateInBoundsGEP(element, slot, k), align);
    b_.CreateAlignedStore(one, address(s.id, element, at), align);
  });
}

// Such a store waits in no order with others: the function ends with a fence.
void Emitter::stream(llvm::StoreInst* store) {
  auto* one = llvm::ConstantAsMetadata::get(b_.getInt32(1));
  store->setMetadata(llvm::LLVMContext::MD_nontemporal, llvm::MDNode::get(b_.getContext(), one));
  streams_ = true;
}

llvm::Type* Emitter::local_type(uint32_t local) {
  auto* type = locals_[local]->getAllocatedType();
  return f_.locals[local].count > 1 ? type->getArrayElementType() : type;
}

llvm::Value* Emitter::local_address(uint32_t local, const Expr& index) {
  if (f_.locals[local].count == 1) return locals_[local];
  auto* at = index ? scalar(index) : i64(0);
  return b_.CreateInBoundsGEP(locals_[local]->getAllocatedType(), locals_[local], {i64(0), at});
}

void Emitter::prefetch(const loop::Stmt& s) {
  DType type = s.id < f_.buffers.size() ? f_.buffers[s.id].type : f_.scratch[s.id - f_.buffers.size()].type;
  auto* element = memory_type(type);
  // No promise that the address lies inside of the buffer.
  std::optional<Place> first = place_in_turns(s.id, element, s.index.node());
  if (!first) {
    const Value offset = eval(s.index);
    IG_CHECK(!offset.v->getType()->isVectorTy(), "kernel {} asks the cache for scattered elements", f_.name);
    first = {b_.CreateGEP(element, pointers_[s.id], offset.v), offset.stride};
  }
  const bool written = s.id < f_.buffers.size() && f_.buffers[s.id].writable;
  int64_t bytes = first->stride == 1 ? lanes_ * static_cast<int64_t>(size_of(type)) : 1;
  for (int64_t at = 0; at < bytes; at += kLineBytes)
    b_.CreateIntrinsic(llvm::Intrinsic::prefetch, {b_.getPtrTy()},
                       {b_.CreateGEP(b_.getInt8Ty(), first->pointer, i64(at)), b_.getInt32(written ? 1 : 0),
                        b_.getInt32(3), b_.getInt32(1)});
}

Emitter::Value Emitter::read_local(const Node& n) {
  const loop::Local& l = f_.locals[n.id];
  IG_CHECK(l.lanes == 1 || l.lanes == lanes_, "local {} has {} lanes, and is read in a loop of {}", l.name,
           l.lanes, lanes_);
  auto* type = local_type(n.id);
  return {b_.CreateLoad(type, local_address(n.id, n.a))};
}

void Emitter::assign(const loop::Stmt& s) {
  const loop::Local& l = f_.locals[s.id];
  Value value = eval(s.value);
  auto* at = local_address(s.id, s.index);
  if (l.lanes == 1) {
    IG_CHECK(value.uniform(), "local {} has one lane, and is given a value that varies", l.name);
    b_.CreateStore(value.v, at);
    return;
  }
  if (lanes_ == 1) {
    IG_CHECK(value.uniform(), "local {} is given a vector outside of its loop", l.name);
    b_.CreateStore(b_.CreateVectorSplat(static_cast<unsigned>(l.lanes), value.v), at);
    return;
  }
  IG_CHECK(l.lanes == lanes_, "local {} has {} lanes, and is used in a loop of {}", l.name, l.lanes, lanes_);
  auto* v = wide(value);
  if (mask_ != nullptr && !l.loose) v = b_.CreateSelect(mask_, v, b_.CreateLoad(v->getType(), at));
  b_.CreateStore(v, at);
}

// An instruction of no bytes that may do anything, and takes and gives the value in a register, if it fills
// one.
void Emitter::settle(const loop::Stmt& s) {
  auto* at = local_address(s.id, s.index);
  auto* type = local_type(s.id);
  const auto bytes = static_cast<int64_t>(type->getPrimitiveSizeInBits()) / 8;
  if (!type->isVectorTy() || bytes < 16 || bytes > target_.vector_bytes) return;
  auto* nothing = llvm::InlineAsm::get(llvm::FunctionType::get(type, {type}, false), "",
                                       target_.registers == 32 ? "=v,0" : "=x,0", true);
  b_.CreateStore(b_.CreateCall(nothing, {b_.CreateLoad(type, at)}), at);
}

Emitter::Value Emitter::reduce_lanes(const Node& n) {
  const loop::Local& l = f_.locals[n.id];
  if (is_complex(n.type)) return {product_of_lanes(n)};
  llvm::Value* v = b_.CreateLoad(local_type(n.id), local_address(n.id, n.a));
  for (int half = l.lanes / 2; half > 0; half /= 2) {
    std::vector<int> low, high;
    for (int k = 0; k < half; ++k) {
      low.push_back(k);
      high.push_back(k + half);
    }
    v = combine(n.reduction, n.type, b_.CreateShuffleVector(v, low), b_.CreateShuffleVector(v, high));
  }
  return {l.lanes > 1 ? b_.CreateExtractElement(v, i64(0)) : v};
}

// Min and Max of floats return NaN if either is one, and hold -0 below 0.
llvm::Value* Emitter::combine(loop::Reduction reduction, DType type, llvm::Value* a, llvm::Value* b) {
  using loop::Reduction;
  bool floating = is_float(type), is_signed = is_signed_int(type);
  switch (reduction) {
    case Reduction::Add: return floating ? b_.CreateFAdd(a, b) : b_.CreateAdd(a, b);
    case Reduction::Mul: return floating ? b_.CreateFMul(a, b) : b_.CreateMul(a, b);
    case Reduction::And: return b_.CreateAnd(a, b);
    case Reduction::Or: return b_.CreateOr(a, b);
    case Reduction::Xor: return b_.CreateXor(a, b);
    default: break;
  }
  bool least = reduction == Reduction::Min;
  if (floating) {
    // The processor's comparison keeps the second of two zeros, and where one is NaN. Both ways round differ
    // in these cases alone: then the bits of both, together, are a NaN or -0; what they have in common is 0.
    auto* word = shaped(b_.getIntNTy(a->getType()->getScalarSizeInBits()), a->getType());
    auto wins = [&](llvm::Value* x, llvm::Value* y) {
      auto* first = least ? b_.CreateFCmpOLT(x, y) : b_.CreateFCmpOGT(x, y);
      return b_.CreateBitCast(b_.CreateSelect(first, x, y), word);
    };
    auto *one = wins(a, b), *other = wins(b, a);
    if (least) return b_.CreateBitCast(b_.CreateOr(one, other), a->getType());
    auto* no_number = b_.CreateSExt(b_.CreateFCmpUNO(a, b), word);
    return b_.CreateBitCast(b_.CreateOr(b_.CreateAnd(one, other), no_number), a->getType());
  }
  auto* keep = least ? (is_signed ? b_.CreateICmpSLE(a, b) : b_.CreateICmpULE(a, b))
                     : (is_signed ? b_.CreateICmpSGE(a, b) : b_.CreateICmpUGE(a, b));
  return b_.CreateSelect(keep, a, b);
}

}  // namespace ig::codegen
