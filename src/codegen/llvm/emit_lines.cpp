// Vector loops that read whole lines of memory. Where a row begins anywhere, nearly every vector of it lies
// across two lines, and on some processors many such loads cost several cycles each. So each line is loaded
// once, and two neighbours are put together by one permutation of their elements, with an order that is known
// before the loop. No byte outside of the range that the loop reads is touched: the first line is a masked
// load, and the last groups, whose lines may end behind the range, are the masked ones of any vector loop.
#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>
#include <unordered_set>

#include "codegen/llvm/emit.h"
#include "support/error.h"

namespace ig::codegen {

using loop::Op;
using loop::Stmt;

namespace {

constexpr size_t kMostReaders = 6;  // each holds two registers

// Buffers that a loop writes, and what it computes before its expressions are known: what is read before the
// loop begins may depend on neither. Nor may anything be read before a check.
class Written {
 public:
  std::unordered_set<uint32_t> buffers, lets;
  bool checks = false;

  void add(const loop::Stmts& stmts) {
    for (const auto& s : stmts) {
      if (s->kind == Stmt::Kind::Store || s->kind == Stmt::Kind::Transpose) buffers.insert(s->id);
      if (s->kind == Stmt::Kind::Let) lets.insert(s->id);
      if (s->kind == Stmt::Kind::Fail) checks = true;
      add(s->body);
      add(s->otherwise);
    }
  }
  bool in(const loop::ExprNode* n) {
    if (n == nullptr) return false;
    if (n->op == Op::Load || n->op == Op::Local || n->op == Op::ReduceLanes) return true;
    if (n->op == Op::Var) return lets.contains(n->id);
    if (auto it = known_.find(n); it != known_.end()) return it->second;
    return known_[n] = in(n->a.node()) || in(n->b.node()) || in(n->c.node());
  }

 private:
  std::unordered_map<const loop::ExprNode*, bool> known_;
};

struct Loads {
  std::vector<const loop::ExprNode*> found;
  std::unordered_set<const loop::ExprNode*> seen;

  void add(const loop::ExprNode* n) {
    if (n == nullptr || n->op == Op::Var || !seen.insert(n).second) return;
    if (n->op == Op::Load) {
      found.push_back(n);
      return;
    }
    add(n->a.node());
    if (n->op != Op::SelectRare) add(n->b.node());  // the rare arm is for few lanes
    add(n->c.node());
  }
};

}  // namespace

std::vector<const Emitter::Node*> Emitter::loads_in_lines(const Stmt& s) {
  Written written;
  written.add(s.body);
  std::vector<const Node*> kept;
  if (written.checks) return kept;
  Loads loads;
  for (const auto& inner : s.body)
    if (inner->kind == Stmt::Kind::Let || inner->kind == Stmt::Kind::Assign ||
        inner->kind == Stmt::Kind::Store) {
      loads.add(inner->value.node());
      loads.add(inner->index.node());
    }
  for (const Node* n : loads.found) {
    const size_t bytes = size_of(n->type);
    const bool whole = (bytes == 4 || bytes == 8) && !is_complex(n->type) &&
                       static_cast<size_t>(lanes_) * bytes % kLineBytes == 0;
    const bool known = std::ranges::any_of(
        kept, [&](const Node* k) { return k->id == n->id && k->a.node() == n->a.node(); });
    if (whole && !known && kept.size() < kMostReaders && !written.buffers.contains(n->id) &&
        !written.in(n->a.node()) && loop::stride_in(n->a, s.id) == 1)
      kept.push_back(n);
  }
  return kept;
}

// The line of the element before the loop's first one: what the first vector takes of it, which is nothing
// where the loop begins at a line.
Emitter::LineReader Emitter::open_lines(const Node& n, llvm::Value* offset) {
  LineReader out{n.id, n.a.node()};
  auto* element = memory_type(n.type);
  const auto bytes = static_cast<int64_t>(size_of(n.type));
  const int64_t lanes = kLineBytes / bytes;
  auto* lane_type = b_.getIntNTy(static_cast<unsigned>(8 * bytes));
  out.line = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  out.order_type = llvm::FixedVectorType::get(lane_type, static_cast<unsigned>(lanes));
  auto* before = b_.CreateGEP(b_.getInt8Ty(), address(n.id, element, offset), i64(-bytes));
  out.first = b_.CreateIntrinsic(llvm::Intrinsic::ptrmask, {b_.getPtrTy(), b_.getInt64Ty()},
                                 {before, i64(-kLineBytes)});
  auto* inside = b_.CreateAnd(b_.CreatePtrToInt(before, b_.getInt64Ty()), i64(kLineBytes - 1));
  auto* skipped = b_.CreateAdd(b_.CreateUDiv(inside, i64(bytes)), i64(1));
  std::vector<llvm::Constant*> numbers;
  numbers.reserve(static_cast<size_t>(lanes));
  for (int64_t k = 0; k < lanes; ++k)
    numbers.push_back(llvm::ConstantInt::get(lane_type, static_cast<uint64_t>(k)));
  auto* lane = llvm::ConstantVector::get(numbers);
  auto* skip = b_.CreateVectorSplat(static_cast<unsigned>(lanes), b_.CreateTrunc(skipped, lane_type));
  out.order = b_.CreateAdd(lane, skip);
  out.opening = b_.CreateMaskedLoad(out.line, out.first, llvm::Align(kLineBytes),
                                    b_.CreateICmpUGE(lane, skip), llvm::Constant::getNullValue(out.line));
  return out;
}

// One group: as many lines as it has vectors, and the last one of the group before.
void Emitter::read_lines(LineReader& reader, llvm::Value* past) {
  const auto id = reader.order_type->getScalarSizeInBits() == 32
                      ? llvm::Intrinsic::x86_avx512_vpermi2var_d_512
                      : llvm::Intrinsic::x86_avx512_vpermi2var_q_512;
  auto* at = b_.CreateGEP(reader.line->getElementType(), reader.first, past);
  auto number = [&](llvm::Value* v) { return b_.CreateBitCast(v, reader.order_type); };
  std::vector<llvm::Value*> pieces;
  llvm::Value* last = reader.phi;
  const auto lanes = static_cast<int>(reader.line->getNumElements());
  for (int done = 0; done < lanes_; done += lanes) {
    auto* line = b_.CreateAlignedLoad(reader.line,
                                      b_.CreateGEP(b_.getInt8Ty(), at, i64((done / lanes + 1) * kLineBytes)),
                                      llvm::Align(kLineBytes));
    auto* piece = b_.CreateIntrinsic(id, {}, {number(last), reader.order, number(line)});
    pieces.push_back(b_.CreateBitCast(piece, reader.line));
    last = line;
  }
  reader.last = last;
  reader.value = llvm::concatenateVectors(b_, pieces);
}

void Emitter::vector_by_lines(const Stmt& s) {
  auto* begin = scalar(s.begin);
  auto* end = scalar(s.end);
  lanes_ = s.lanes;
  const std::vector<const Node*> loads = loads_in_lines(s);
  int64_t further = 0;  // elements behind a group that its lines may hold
  for (const Node* n : loads)
    further = std::max(further, kLineBytes / static_cast<int64_t>(size_of(n->type)) - 1);
  auto* sure = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smax, i64(0),
                                        b_.CreateNSWSub(b_.CreateNSWSub(end, begin), i64(further)));
  auto* full_end = b_.CreateNSWAdd(begin, b_.CreateAnd(sure, i64(-lanes_)));
  auto opening = [&] {
    vars_[s.id] = {begin, 1};
    scopes_.emplace_back();
    for (const Node* n : loads)
      if (Value offset = eval(n->a); offset.stride == 1) readers_.push_back(open_lines(*n, offset.v));
    scopes_.pop_back();
  };
  auto turn = [&](llvm::Value* i) {
    auto* ahead = llvm::cast<llvm::PHINode>(i)->getIncomingBlock(0);
    for (LineReader& reader : readers_) {
      reader.phi = b_.CreatePHI(reader.line, 2, "line");
      reader.phi->addIncoming(reader.opening, ahead);
    }
    for (LineReader& reader : readers_) read_lines(reader, b_.CreateNSWSub(i, begin));
    body(s.body, s.id, {i, 1});
    for (LineReader& reader : readers_) reader.phi->addIncoming(reader.last, b_.GetInsertBlock());
    readers_.clear();
  };
  counted(begin, full_end, lanes_, false, turn, nullptr, opening);
  counted(full_end, end, lanes_, false, [&](llvm::Value* i) {
    active_ = b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, b_.CreateNSWSub(end, i), i64(lanes_));
    mask_ = first_lanes(active_, lanes_);
    body(s.body, s.id, {i, 1});
    mask_ = active_ = nullptr;
  });
  lanes_ = 1;
}

}  // namespace ig::codegen
