// The function around a kernel's body and its statements: loops, locals, conditions, failures.
#include "codegen/llvm/emit.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/MDBuilder.h>

#include <algorithm>

#include "codegen/llvm/cpu.h"
#include "codegen/long_loops.h"
#include "runtime/kernel_abi.h"
#include "support/error.h"

namespace ig::codegen {

using loop::Stmt;

Emitter::Emitter(const loop::Function& function, const Target& target, llvm::Module& module)
    : f_(function), target_(target), module_(module), b_(module.getContext()) {}

void Emitter::emit(std::string_view symbol) {
  find_called();
  auto* pointer = b_.getPtrTy();
  auto* type = llvm::FunctionType::get(b_.getInt32Ty(), {pointer, b_.getInt64Ty(), b_.getInt64Ty()}, false);
  entry_ = llvm::Function::Create(type, llvm::Function::ExternalLinkage,
                                  llvm::StringRef(symbol.data(), symbol.size()), module_);
  entry_->addFnAttr(llvm::Attribute::NoUnwind);
  const Cpu cpu = cpu_of(target_);
  entry_->addFnAttr("target-cpu", cpu.name);
  if (!cpu.features.empty()) entry_->addFnAttr("target-features", cpu.features);
  if (target_.vector_bytes == 64) {
    entry_->addFnAttr("prefer-vector-width", "512");
    entry_->addFnAttr("min-legal-vector-width", "512");
  }
  first_ = block("entry");
  auto* start = block("start");
  b_.SetInsertPoint(start);
  emit_arguments();
  emit_locals();
  vars_.resize(f_.variables);
  scopes_.emplace_back();
  // A body that runs once has no loop around it: LLVM would work out each address ahead of that, and keep
  // them all in registers and on the stack.
  if (f_.one_block)
    body(f_.body, f_.block_var, {i64(0)});
  else
    counted(entry_->getArg(1), entry_->getArg(2), 1, false,
            [&](llvm::Value* i) { body(f_.body, f_.block_var, {i}); });
  if (streams_) b_.CreateIntrinsic(llvm::Intrinsic::x86_sse_sfence, {}, {});
  b_.CreateRet(b_.getInt32(0));
  b_.SetInsertPoint(first_);
  b_.CreateBr(start);
  note_scratch();
}

// Says of each load and store that it is in scratch memory, or that it is not.
void Emitter::note_scratch() {
  if (scratch_ == nullptr) return;
  llvm::MDBuilder build(b_.getContext());
  auto* scope = build.createAnonymousAliasScope(build.createAnonymousAliasScopeDomain());
  auto* scopes = llvm::MDNode::get(b_.getContext(), {scope});
  for (llvm::Instruction& i : llvm::instructions(*entry_)) {
    const llvm::Value* at = llvm::getLoadStorePointerOperand(&i);
    if (const auto* masked = llvm::dyn_cast<llvm::IntrinsicInst>(&i)) switch (masked->getIntrinsicID()) {
        case llvm::Intrinsic::masked_load: at = masked->getArgOperand(0); break;
        case llvm::Intrinsic::masked_store: at = masked->getArgOperand(1); break;
        default: break;
      }
    if (at == nullptr) continue;
    const bool in_scratch = llvm::getUnderlyingObject(at, /*MaxLookup=*/0) == scratch_;
    i.setMetadata(in_scratch ? llvm::LLVMContext::MD_alias_scope : llvm::LLVMContext::MD_noalias, scopes);
  }
}

void Emitter::emit_arguments() {
  auto field = [&](size_t offset) {
    auto* at = b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), entry_->getArg(0), offset);
    return b_.CreateAlignedLoad(b_.getPtrTy(), at, llvm::Align(8));
  };
  auto* buffers = field(offsetof(rt::KernelArgs, buffers));
  for (size_t i = 0; i < f_.buffers.size(); ++i) {
    auto* at = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), buffers, i);
    pointers_.push_back(b_.CreateAlignedLoad(b_.getPtrTy(), at, llvm::Align(8), f_.buffers[i].name));
  }
  if (!f_.sizes.empty()) {
    auto* dims = field(offsetof(rt::KernelArgs, dims));
    for (size_t i = 0; i < f_.sizes.size(); ++i) {
      auto* at = b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), dims, i);
      sizes_.push_back(b_.CreateAlignedLoad(b_.getInt64Ty(), at, llvm::Align(8), f_.sizes[i]));
    }
  }
  if (!f_.scratch.empty()) {
    llvm::Value* base = scratch_ = field(offsetof(rt::KernelArgs, scratch));
    for (size_t i = 0; i < f_.scratch.size(); ++i) {
      pointers_.push_back(base);
      auto* bytes = b_.CreateMul(emit_dim(f_.scratch_elements[i]),
                                 i64(static_cast<int64_t>(size_of(f_.scratch[i].type))));
      auto* rounded = b_.CreateAnd(b_.CreateAdd(bytes, i64(rt::kScratchSpare + 63)), i64(-64));
      base = b_.CreateInBoundsGEP(b_.getInt8Ty(), base, rounded);
    }
  }
  error_ = field(offsetof(rt::KernelArgs, error));
}

llvm::Value* Emitter::emit_dim(const Dim& dim) {
  std::vector<llvm::Value*> stack;
  dim.postfix([&](Dim::Step step, int64_t constant, std::string_view symbol) {
    if (step == Dim::Step::Constant) return stack.push_back(i64(constant));
    if (step == Dim::Step::Symbol) {
      auto at = std::find(f_.sizes.begin(), f_.sizes.end(), symbol) - f_.sizes.begin();
      return stack.push_back(sizes_.at(static_cast<size_t>(at)));
    }
    auto* b = stack.back();
    stack.pop_back();
    auto* a = stack.back();
    auto off = [&](llvm::Value* r) {
      auto* differs = b_.CreateICmpSLT(b_.CreateXor(r, b), i64(0));
      return b_.CreateAnd(b_.CreateICmpNE(r, i64(0)), differs);
    };
    switch (step) {
      case Dim::Step::Add: stack.back() = b_.CreateAdd(a, b); break;
      case Dim::Step::Multiply: stack.back() = b_.CreateMul(a, b); break;
      case Dim::Step::FloorDiv: {
        auto* carry = b_.CreateZExt(off(b_.CreateSRem(a, b)), b_.getInt64Ty());
        stack.back() = b_.CreateSub(b_.CreateSDiv(a, b), carry);
        break;
      }
      case Dim::Step::Mod: {
        auto* r = b_.CreateSRem(a, b);
        stack.back() = b_.CreateAdd(r, b_.CreateSelect(off(r), b, i64(0)));
        break;
      }
      case Dim::Step::Min: stack.back() = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, a, b); break;
      default: stack.back() = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, a, b); break;
    }
  });
  return stack.back();
}

void Emitter::emit_locals() {
  llvm::IRBuilder<>::InsertPointGuard guard(b_);
  b_.SetInsertPoint(first_);
  for (const loop::Local& l : f_.locals) {
    llvm::Type* type = register_type(l.type);
    if (l.lanes > 1) type = llvm::FixedVectorType::get(type, static_cast<unsigned>(l.lanes));
    if (l.count > 1) type = llvm::ArrayType::get(type, static_cast<uint64_t>(l.count));
    locals_.push_back(b_.CreateAlloca(type, nullptr, l.name));
  }
}

void Emitter::counted(llvm::Value* begin, llvm::Value* end, int64_t step, bool sure,
                      const std::function<void(llvm::Value*)>& fill, const Stmt* turns,
                      const std::function<void()>& opening) {
  auto *first = llvm::dyn_cast<llvm::ConstantInt>(begin), *last = llvm::dyn_cast<llvm::ConstantInt>(end);
  if (first != nullptr && last != nullptr && first->getSExtValue() >= last->getSExtValue()) return;
  auto* ahead = block("ahead");
  auto* turn = block("loop");
  auto* after = block("after");
  if (sure)
    b_.CreateBr(ahead);
  else
    b_.CreateCondBr(b_.CreateICmpSLT(begin, end), ahead, after);
  b_.SetInsertPoint(ahead);
  if (opening) opening();
  ahead = b_.GetInsertBlock();
  b_.CreateBr(turn);
  b_.SetInsertPoint(turn);
  auto* i = b_.CreatePHI(b_.getInt64Ty(), 2, "i");
  i->addIncoming(begin, ahead);
  if (turns != nullptr) begin_turns(*turns, ahead);
  fill(i);
  if (turns != nullptr) turns_.reset();
  auto* next = b_.CreateNSWAdd(i, i64(step));
  i->addIncoming(next, b_.GetInsertBlock());
  b_.CreateCondBr(b_.CreateICmpSLT(next, end), turn, after);
  b_.SetInsertPoint(after);
}

void Emitter::body(const loop::Stmts& stmts, uint32_t var, Value value) {
  vars_[var] = value;
  scopes_.emplace_back();
  statements(stmts);
  scopes_.pop_back();
}

void Emitter::statements(const loop::Stmts& stmts) {
  // What was read is known until something may have been written: the results of a kernel, one let behind
  // the other, stand on the same chain of values, which is not to be there once for each.
  bool written = true;
  for (const auto& s : stmts) {
    if (written) scopes_.back().here.clear();
    statement(*s);
    written = s->kind != Stmt::Kind::Let && s->kind != Stmt::Kind::Prefetch;
  }
}

void Emitter::statement(const Stmt& s) {
  if (!s.body.empty() && s.kind != Stmt::Kind::If) loops_[s.id] = &s;
  switch (s.kind) {
    case Stmt::Kind::For: return serial(s);
    case Stmt::Kind::VectorFor: return vector(s);
    case Stmt::Kind::Unrolled: return unrolled(s);
    case Stmt::Kind::If: return conditional(s);
    case Stmt::Kind::Let: vars_[s.id] = eval(s.value); return;
    case Stmt::Kind::Assign: return assign(s);
    case Stmt::Kind::Store: return store(s);
    case Stmt::Kind::Fail: return fail(s);
    case Stmt::Kind::Transpose: return transpose(s);
    case Stmt::Kind::LoadColumns: return load_columns(s);
    case Stmt::Kind::Settle: return settle(s);
    case Stmt::Kind::Prefetch: return prefetch(s);
  }
}

void Emitter::serial(const Stmt& s) {
  auto* begin = scalar(s.begin);
  auto* end = scalar(s.end);
  ++around_;
  counted(begin, end, 1, false, [&](llvm::Value* i) { body(s.body, s.id, {i}); }, &s);
  --around_;
}

void Emitter::unrolled(const Stmt& s) {
  auto* begin = llvm::dyn_cast<llvm::ConstantInt>(scalar(s.begin));
  auto* end = llvm::dyn_cast<llvm::ConstantInt>(scalar(s.end));
  IG_CHECK(begin != nullptr && end != nullptr, "an unrolled loop of kernel {} has bounds that vary", f_.name);
  ++around_;
  for (int64_t i = begin->getSExtValue(); i < end->getSExtValue(); ++i) body(s.body, s.id, {i64(i)});
  --around_;
}

// Whether the masks of a group are nothing beside what it computes, so that full groups need no code of their
// own: LLVM takes longer for its code than for all the rest of the compilation.
bool Emitter::is_long(const Stmt& s) const {
  constexpr int64_t kLong = 400, kOfMove = 32;  // operations, and for each of what is masked
  constexpr size_t kLeastMasked = 4;  // bytes of elements that are masked by one instruction with AVX2
  if (target_.vector_bytes < 32) return false;
  const loop::Work work = loop::work_of(s.body);
  if (work.operations < std::max(kLong, kOfMove * work.moves)) return false;
  return target_.vector_bytes == 64 || std::ranges::all_of(f_.buffers, [&](const loop::Buffer& buffer) {
           return size_of(buffer.type) >= kLeastMasked;
         });
}

// The lanes of a group of what is left behind the full ones. Where each lane computes by itself, that is one
// register of the widest value: a quarter of the code of a whole group. Such a rest takes up to a fourth
// longer, so it is not for what comes once in each row, nor where there is little code to save.
int64_t Emitter::lanes_of_rest(const Stmt& s) const {
  constexpr int64_t kEnough = 64;  // operations
  if (around_ > 0) return s.lanes;
  const loop::Work work = loop::work_of(s.body);
  if (work.operations < kEnough || !independent_lanes(f_, s)) return s.lanes;
  return std::clamp<int64_t>(target_.vector_bytes / work.bytes, 2, s.lanes);
}

// Full groups first, then one masked group for what is left, if anything may be, of the same instructions, or
// some smaller ones; or, of a long loop, masked groups alone.
void Emitter::vector(const Stmt& s) {
  IG_CHECK(lanes_ == 1, "a vector loop of kernel {} stands inside another one", f_.name);
  if (s.lanes == 1) return serial(s);
  if (s.by_lines && target_.vector_bytes == kLineBytes) return vector_by_lines(s);
  auto* begin = scalar(s.begin);
  auto* end = scalar(s.end);
  auto* count = b_.CreateNSWSub(end, begin);
  auto* fixed = llvm::dyn_cast<llvm::ConstantInt>(count);
  lanes_ = s.lanes;
  auto masked = [&](llvm::Value* some, llvm::Value* active, llvm::Value* first) {
    auto* tail = block("tail");
    auto* done = block("done");
    b_.CreateCondBr(some, tail, done);
    b_.SetInsertPoint(tail);
    active_ = active;
    mask_ = first_lanes(active, lanes_);
    body(s.body, s.id, {first, 1});
    mask_ = active_ = nullptr;
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  };
  auto all_masked = [&](llvm::Value* from, const Stmt* turns) {
    counted(
        from, end, lanes_, false,
        [&](llvm::Value* i) {
          active_ = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWSub(end, i), i64(lanes_));
          mask_ = first_lanes(active_, lanes_);
          body(s.body, s.id, {i, 1});
          mask_ = active_ = nullptr;
        },
        turns);
  };
  // The edge of a register tile: one group that is full most of the time. With registers for masks that takes
  // as long as a full one, and its code, which is long, is there once.
  const std::optional<int64_t> most_there = most(s.end.node());
  if (fixed == nullptr && target_.vector_bytes == 64 && multiplies() && s.begin->op == loop::Op::Const &&
      s.begin->bits[0] == 0 && most_there && *most_there <= s.lanes) {
    masked(b_.CreateICmpSGT(count, i64(0)), count, begin);
    lanes_ = 1;
    return;
  }
  const bool leaves_none = fixed != nullptr && fixed->getSExtValue() % s.lanes == 0;
  if (!leaves_none && is_long(s)) {
    all_masked(begin, &s);
    lanes_ = 1;
    return;
  }
  auto* rest = b_.CreateAnd(count, i64(s.lanes - 1));
  auto* full_end = b_.CreateNSWSub(end, rest);
  if (fixed == nullptr || fixed->getSExtValue() >= s.lanes) {
    constexpr int64_t kFewTurns = 4;
    const bool few = fixed != nullptr && fixed->getSExtValue() < kFewTurns * s.lanes;
    if (const std::vector<const Node*> cut = few ? std::vector<const Node*>() : cut_of(s); !cut.empty())
      in_stages(s, begin, full_end, fixed != nullptr, cut);
    else
      counted(
          begin, full_end, s.lanes, fixed != nullptr, [&](llvm::Value* i) { body(s.body, s.id, {i, 1}); },
          &s);
  }
  const std::optional<int64_t> first = residue(s.begin.node(), s.lanes),
                               last = residue(s.end.node(), s.lanes);
  const bool even = fixed != nullptr ? fixed->getSExtValue() <= 0 || fixed->getSExtValue() % s.lanes == 0
                                     : first && first == last;
  // An empty or negative range has a rest too: both must be asked.
  if (!even) {
    if (const int64_t fewer = lanes_of_rest(s); fewer < s.lanes) {
      lanes_ = static_cast<int>(fewer);
      all_masked(full_end, nullptr);
    } else {
      masked(b_.CreateAnd(b_.CreateICmpSGT(count, i64(0)), b_.CreateICmpNE(rest, i64(0))), rest, full_end);
    }
  }
  lanes_ = 1;
}

// Lane numbers compare as narrow integers; the mask of n lanes is then as cheap as a splat and a compare.
llvm::Value* Emitter::first_lanes(llvm::Value* count, int64_t lanes) {
  auto* narrow = b_.getIntNTy(lanes <= 128 ? 8 : 32);
  std::vector<llvm::Constant*> numbers;
  for (int64_t k = 0; k < lanes; ++k)
    numbers.push_back(llvm::ConstantInt::get(narrow, static_cast<uint64_t>(k)));
  auto* limit = b_.CreateVectorSplat(static_cast<unsigned>(lanes), b_.CreateTrunc(count, narrow));
  return b_.CreateICmpULT(llvm::ConstantVector::get(numbers), limit, "mask");
}

void Emitter::conditional(const Stmt& s) {
  auto* condition = scalar(s.begin);
  auto* then = block("then");
  auto* otherwise = s.otherwise.empty() ? nullptr : block("else");
  auto* after = block("endif");
  b_.CreateCondBr(condition, then, otherwise != nullptr ? otherwise : after);
  auto arm = [&](llvm::BasicBlock* at, const loop::Stmts& stmts) {
    b_.SetInsertPoint(at);
    scopes_.emplace_back();
    statements(stmts);
    scopes_.pop_back();
    b_.CreateBr(after);
  };
  arm(then, s.body);
  if (otherwise != nullptr) arm(otherwise, s.otherwise);
  b_.SetInsertPoint(after);
}

void Emitter::fail(const Stmt& s) {
  auto* condition = scalar(s.begin);
  auto* bad = block("fail");
  auto* good = block("good");
  b_.CreateCondBr(condition, bad, good);
  b_.SetInsertPoint(bad);
  scopes_.emplace_back();
  scopes_.back().same_statement = true;
  auto* value = scalar(s.value);
  scopes_.pop_back();
  b_.CreateAlignedStore(i64(s.id), error_, llvm::Align(8));
  b_.CreateAlignedStore(value, b_.CreateConstInBoundsGEP1_64(b_.getInt64Ty(), error_, 1), llvm::Align(8));
  b_.CreateRet(b_.getInt32(1));
  b_.SetInsertPoint(good);
}

}  // namespace ig::codegen
