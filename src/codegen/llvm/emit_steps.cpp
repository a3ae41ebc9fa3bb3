// Indices that move from lane to lane by known distances which are no constant stride: i / 3 and i % 3, where
// a vector loop walks the colours of pixels as one axis. What is read there lies within one vector, or in a
// vector of its own side by side, so it is loaded whole and shuffled where single elements would be gathered.
#include <llvm/Analysis/VectorUtils.h>

#include <algorithm>
#include <span>

#include "codegen/llvm/emit.h"
#include "support/error.h"

namespace ig::codegen {

using loop::Op;

// What a number does not exceed, where its form says so: a constant, the lesser of one and another number, or
// what counts up to one of these.
std::optional<int64_t> Emitter::most(const Node* n) {
  while (n->op == Op::Var && n->a) n = n->a.node();
  if (n->op == Op::Const) return static_cast<int64_t>(n->bits[0]);
  if (n->op == Op::Var) {
    auto loop = loops_.find(n->id);
    const auto end = loop != loops_.end() ? most(loop->second->end.node()) : std::nullopt;
    return end ? std::optional(*end - 1) : std::nullopt;
  }
  if (n->op != Op::Select || n->a->op != Op::Le) return std::nullopt;
  if (n->a->a.node() != n->b.node() || n->a->b.node() != n->c.node()) return std::nullopt;
  const auto one = most(n->b.node()), other = most(n->c.node());
  return one && other ? std::min(one, other) : one ? one : other;
}

// No number below zero, by its form alone.
bool Emitter::natural(const Node* n) {
  switch (n->op) {
    case Op::Size: return true;
    case Op::Const: return static_cast<int64_t>(n->bits[0]) >= 0;
    case Op::Var:
      if (!n->a) {
        auto loop = loops_.find(n->id);
        return loop == loops_.end() || natural(loop->second->begin.node());  // else the number of a block
      }
      break;
    case Op::Sub: {  // counted from the end
      const auto most_left = n->a->op == Op::Const ? most(n->b.node()) : std::nullopt;
      return most_left && *most_left <= static_cast<int64_t>(n->a->bits[0]);
    }
    case Op::Mul: {  // a number of a user's may wrap
      constexpr uint64_t kMost = uint64_t{1} << 31;
      for (const Node* factor : {n->a.node(), n->b.node()})
        if (factor->op == Op::Const && factor->bits[0] > kMost) return false;
      break;
    }
    case Op::Add:
    case Op::Div:
    case Op::Rem:
    case Op::Select: break;
    default: return false;
  }
  if (auto it = natural_.find(n); it != natural_.end()) return it->second;
  const Node* first = n->op == Op::Select ? n->c.node() : n->a.node();
  return natural_[n] = natural(first) && (!n->b || natural(n->b.node()));
}

// What an index does not fall below, where its form says so.
std::optional<int64_t> Emitter::least(const Node* n) {
  switch (n->op) {
    case Op::Const: return static_cast<int64_t>(n->bits[0]);
    case Op::Var: {
      if (n->a) return least(n->a.node());
      auto loop = loops_.find(n->id);
      if (loop != loops_.end()) return least(loop->second->begin.node());
      break;
    }
    case Op::Add:
    case Op::Sub: {
      const std::optional<int64_t> a = least(n->a.node());
      if (!a || n->b->op != Op::Const) break;
      const auto b = static_cast<int64_t>(n->b->bits[0]);
      int64_t out = 0;
      if (n->op == Op::Add ? __builtin_add_overflow(*a, b, &out) : __builtin_sub_overflow(*a, b, &out)) break;
      return out;
    }
    default: break;
  }
  return natural(n) ? std::optional<int64_t>(0) : std::nullopt;
}

// What the first lane of an index leaves when it is divided by `of`, where that is nothing or the index no
// less than zero.
std::optional<int64_t> Emitter::residue(const Node* n, int64_t of) {
  switch (n->op) {
    case Op::Const: {
      const auto value = static_cast<int64_t>(n->bits[0]);
      return value >= 0 ? std::optional(value % of) : std::nullopt;
    }
    case Op::Var: {
      if (n->a) return residue(n->a.node(), of);
      auto loop = loops_.find(n->id);
      if (loop == loops_.end() || loop->second->kind != loop::Stmt::Kind::VectorFor) return std::nullopt;
      const loop::Stmt& s = *loop->second;
      const bool one_group = s.begin->op == Op::Const && s.end->op == Op::Const &&
                             static_cast<int64_t>(s.end->bits[0] - s.begin->bits[0]) <= lanes_;
      return one_group || lanes_ % of == 0 ? residue(s.begin.node(), of) : std::nullopt;
    }
    case Op::Add:
    case Op::Sub: {
      const std::optional<int64_t> a = residue(n->a.node(), of);
      if (n->b->op == Op::Const && a && least(n).value_or(-1) >= 0) {
        const auto by = static_cast<int64_t>(n->b->bits[0]) % of;
        return ((n->op == Op::Add ? *a + by : *a - by) % of + of) % of;
      }
      const std::optional<int64_t> b = residue(n->b.node(), of);
      if (!a || !b || (n->op == Op::Sub && !natural(n))) return std::nullopt;
      return n->op == Op::Add ? (*a + *b) % of : (*a - *b + of) % of;
    }
    case Op::Mul: {
      auto a = residue(n->a.node(), of), b = residue(n->b.node(), of);
      if (a == 0 || b == 0) return 0;
      return a && b && natural(n) ? std::optional(*a * *b % of) : std::nullopt;
    }
    case Op::Div: {  // (m b c + r) / b is m c + r / b
      if (n->b->op != Op::Const || !natural(n->a.node())) return std::nullopt;
      const auto by = static_cast<int64_t>(n->b->bits[0]);
      int64_t both = 0;
      if (by <= 0 || __builtin_mul_overflow(by, of, &both)) return std::nullopt;
      const std::optional<int64_t> whole = residue(n->a.node(), both);
      return whole ? std::optional(*whole / by) : std::nullopt;
    }
    case Op::Rem: {  // of a number whose divisor this divides
      if (n->b->op != Op::Const || !natural(n->a.node())) return std::nullopt;
      const auto by = static_cast<int64_t>(n->b->bits[0]);
      return by > 0 && by % of == 0 ? residue(n->a.node(), of) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

Emitter::Value Emitter::with_steps(llvm::Value* base, std::vector<int64_t> steps) {
  const int64_t stride = wrapped_sum(steps[1], wrapped_product(-1, steps[0]));
  bool even = true;
  for (size_t k = 1; k < steps.size(); ++k) even = even && steps[k] == wrapped_sum(steps[k - 1], stride);
  if (even) return {b_.CreateAdd(base, i64(steps[0])), stride};
  std::vector<llvm::Constant*> all;
  all.reserve(steps.size());
  for (int64_t step : steps) all.push_back(b_.getInt64(static_cast<uint64_t>(step)));
  auto* v =
      b_.CreateAdd(b_.CreateVectorSplat(static_cast<unsigned>(lanes_), base), llvm::ConstantVector::get(all));
  return {v, 0, base, &steps_.emplace_back(std::move(steps))};
}

// Whether the lanes, which go up by one, reach over no multiple of the length, wherever they begin.
bool Emitter::reach_over_none(const Node* walk, int64_t length) {
  return length % lanes_ == 0 && residue(walk, lanes_) == 0;
}

// An index side by side, divided by a constant of which the lanes reach over no multiple.
Emitter::Value Emitter::within_multiples(const Node& n, Value a, llvm::ConstantInt* by) {
  if (a.steps != nullptr || a.stride != 1 || !natural(n.a.node())) return {};
  if (!reach_over_none(n.a.node(), by->getSExtValue())) return {};
  return n.op == Op::Div ? Value{b_.CreateUDiv(a.v, by)} : Value{b_.CreateURem(a.v, by), 1};
}

// An index side by side, divided by a constant.
Emitter::Value Emitter::divided(const Node& n, Value a, Value b) {
  if (lanes_ == 1 || n.type != DType::I64 || (n.op != Op::Div && n.op != Op::Rem)) return {};
  auto* by = llvm::dyn_cast<llvm::ConstantInt>(b.v);
  if (by == nullptr || by->getSExtValue() < 2) return {};
  const int64_t divisor = by->getSExtValue();
  if (a.steps == nullptr && a.stride != 1 && a.stride != -1) return {};
  // What is divided is known itself (the rest of another division), or else what its first lane leaves.
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(a.steps != nullptr ? a.base : a.v);
  std::optional<int64_t> first;
  if (known != nullptr)
    first = wrapped_sum(known->getSExtValue(), a.steps != nullptr ? a.steps->front() : 0);
  else
    first = residue(n.a.node(), divisor);
  if (!first) return within_multiples(n, a, by);
  std::vector<int64_t> steps;
  steps.reserve(static_cast<size_t>(lanes_));
  for (int64_t k = 0; k < lanes_; ++k) {
    const int64_t at =
        wrapped_sum(*first, wrapped_sum(a.step(static_cast<size_t>(k)), wrapped_product(-1, a.step(0))));
    if (at >= 0)
      steps.push_back(n.op == Op::Div ? at / divisor : at % divisor);
    else if (known == nullptr && natural(n.a.node()))  // the number itself is not below zero
      steps.push_back(n.op == Op::Div ? (at + 1) / divisor - 1 : (at + 1) % divisor + divisor - 1);
    else
      return {};
  }
  if (n.op == Op::Rem || known != nullptr) return with_steps(i64(0), std::move(steps));
  auto* begin = a.steps == nullptr ? a.v : b_.CreateAdd(a.base, i64(a.steps->front()));
  return with_steps(natural(n.a.node()) ? b_.CreateUDiv(begin, by) : b_.CreateSDiv(begin, by),
                    std::move(steps));
}

Emitter::Value Emitter::stepped(const Node& n, Value a, Value b) {
  if ((a.steps == nullptr && b.steps == nullptr) || n.type != DType::I64) return {};
  if (!a.at_known_steps() || !b.at_known_steps()) return {};
  std::vector<int64_t> steps(static_cast<size_t>(lanes_));
  if (n.op == Op::Mul) {
    const Value &moving = a.steps != nullptr ? a : b, &factor = a.steps != nullptr ? b : a;
    auto* by = factor.uniform() ? llvm::dyn_cast<llvm::ConstantInt>(factor.v) : nullptr;
    if (by == nullptr) return {};
    for (size_t k = 0; k < steps.size(); ++k) steps[k] = wrapped_product(moving.step(k), by->getSExtValue());
    return with_steps(b_.CreateMul(moving.base, by), std::move(steps));
  }
  if (n.op != Op::Add && n.op != Op::Sub) return {};
  const bool adds = n.op == Op::Add;
  for (size_t k = 0; k < steps.size(); ++k)
    steps[k] = wrapped_sum(a.step(k), wrapped_product(adds ? 1 : -1, b.step(k)));
  return with_steps(adds ? b_.CreateAdd(a.first(), b.first()) : b_.CreateSub(a.first(), b.first()),
                    std::move(steps));
}

// Of two indices, by a condition that is known for each lane: what is read at an index that was held within
// bounds, or at one of two (the last element of a row before the first ones), lies at known distances too.
Emitter::Value Emitter::chosen_steps(const Node& n, const Value& condition, const Value& a, const Value& b) {
  auto* known = llvm::dyn_cast<llvm::Constant>(condition.v);
  if (lanes_ == 1 || n.type != DType::I64 || known == nullptr || !known->getType()->isVectorTy()) return {};
  if (!a.at_known_steps() || !b.at_known_steps()) return {};
  auto *of_a = llvm::dyn_cast<llvm::ConstantInt>(a.first()),
       *of_b = llvm::dyn_cast<llvm::ConstantInt>(b.first());
  const bool whole = of_a != nullptr && of_b != nullptr;  // both are known, not their steps alone
  if (!whole && a.first() != b.first()) return {};
  std::vector<int64_t> steps;
  for (unsigned k = 0; k < static_cast<unsigned>(lanes_); ++k) {
    const auto* takes = llvm::dyn_cast_or_null<llvm::ConstantInt>(known->getAggregateElement(k));
    if (takes == nullptr) return {};
    const bool one = takes->isOne();
    steps.push_back(wrapped_sum((one ? a : b).step(k), whole ? (one ? of_a : of_b)->getSExtValue() : 0));
  }
  return with_steps(whole ? i64(0) : a.first(), std::move(steps));
}

size_t Emitter::register_lanes(DType type) const {
  return std::min(static_cast<size_t>(lanes_), static_cast<size_t>(target_.vector_bytes) / size_of(type));
}

// Whether the elements of each register lie within so many registers.
bool Emitter::lie_near(const std::vector<int64_t>& steps, DType type) const {
  constexpr uint64_t kMostLoads = 4;
  const size_t lanes = register_lanes(type);
  for (size_t first = 0; first < steps.size(); first += lanes) {
    const auto [low, high] = std::ranges::minmax(std::span(steps.data() + first, lanes));
    if (static_cast<uint64_t>(high) - static_cast<uint64_t>(low) >= kMostLoads * lanes) return false;
  }
  return true;
}

// Null where the elements of a register's lanes lie too far apart.
llvm::Value* Emitter::load_steps(uint32_t buffer, DType type, const Value& offset) {
  if (offset.steps == nullptr || is_complex(type) || size_of(type) > 8) return nullptr;
  std::vector<int64_t> steps = *offset.steps;
  if (mask_ != nullptr) {  // what the other lanes read does not matter
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(active_);
    const int64_t count = known != nullptr ? known->getSExtValue() : 0;
    if (count <= 0 || count > lanes_) return nullptr;
    std::fill(steps.begin() + count, steps.end(), steps[static_cast<size_t>(count) - 1]);
  }
  if (!lie_near(steps, type)) return nullptr;
  const size_t lanes = register_lanes(type);
  auto* element = memory_type(type);
  auto* whole = llvm::FixedVectorType::get(element, static_cast<unsigned>(lanes));
  const llvm::Align align(size_of(type));
  struct Part {
    int64_t low, count;
    std::vector<int64_t> order;
  };
  std::vector<Part> parts;
  for (size_t first = 0; first < steps.size(); first += lanes) {
    const std::span<const int64_t> own(steps.data() + first, lanes);
    const auto [low, high] = std::ranges::minmax(own);
    parts.push_back({low, high - low + 1, {}});
    std::vector<int64_t>& order = parts.back().order;
    order.reserve(lanes);
    for (int64_t step : own) order.push_back(step - low);
  }
  auto load = [&](const Part& part) -> llvm::Value* {
    auto* at = address(buffer, element, b_.CreateAdd(offset.base, i64(part.low)));
    if (part.count == 1)
      return b_.CreateVectorSplat(static_cast<unsigned>(lanes), b_.CreateAlignedLoad(element, at, align));
    if (part.count == static_cast<int64_t>(lanes)) return b_.CreateAlignedLoad(whole, at, align);
    if (!masked_moves(type)) {
      auto* some = llvm::FixedVectorType::get(element, static_cast<unsigned>(part.count));
      return b_.CreateAlignedLoad(some, at, align);
    }
    std::vector<llvm::Constant*> there;
    there.reserve(lanes);
    for (int64_t k = 0; k < static_cast<int64_t>(lanes); ++k) there.push_back(b_.getInt1(k < part.count));
    return b_.CreateMaskedLoad(whole, at, align, llvm::ConstantVector::get(there),
                               llvm::Constant::getNullValue(whole));
  };
  std::vector<llvm::Value*> values;
  for (const Part& part : parts) {
    if (part.count > static_cast<int64_t>(lanes)) {
      values.push_back(picked(whole, part.order, part.count, [&](int64_t at) {
        auto* from = address(buffer, element, b_.CreateAdd(offset.base, i64(part.low + at)));
        return b_.CreateAlignedLoad(whole, from, align);
      }));
      continue;
    }
    auto* v = load(part);
    values.push_back(part.count == 1
                         ? v
                         : b_.CreateShuffleVector(v, std::vector<int>(part.order.begin(), part.order.end())));
  }
  return values.size() == 1 ? values[0] : llvm::concatenateVectors(b_, values);
}

}  // namespace ig::codegen
