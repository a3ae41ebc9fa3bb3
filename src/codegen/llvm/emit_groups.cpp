// Loads of rows of a few elements, each row at a place that memory names (x[rows] of points, say), where a
// vector loop walks several rows as one: nobody knows where a row begins, but its elements lie side by side.
// So each is loaded in one piece where lanes would be gathered one by one.
#include <algorithm>

#include "codegen/llvm/emit.h"

namespace ig::codegen {

using loop::Op;

namespace {

constexpr size_t kMostNodes = 128;  // of an index that is looked through

int64_t difference(int64_t a, int64_t b) { return wrapped_sum(a, wrapped_product(-1, b)); }

}  // namespace

std::optional<int64_t> Emitter::Apart::between(size_t one, size_t other) const {
  return from[one] == from[other] ? std::optional(difference(step[other], step[one])) : std::nullopt;
}

Emitter::Apart Emitter::lanes_alone() const {
  Apart out{std::vector<size_t>(static_cast<size_t>(lanes_)),
            std::vector<int64_t>(static_cast<size_t>(lanes_))};
  for (size_t k = 0; k < out.from.size(); ++k) out.from[k] = k;
  return out;
}

// Lane by lane the first one at a known distance: `known(j, k)` says which.
Emitter::Apart Emitter::lanes_by(
    const std::function<std::optional<int64_t>(size_t from, size_t to)>& known) const {
  Apart out = lanes_alone();
  for (size_t k = 1; k < out.from.size(); ++k)
    for (size_t j = 0; j < k; ++j)
      if (out.from[j] == j)
        if (const std::optional<int64_t> step = known(j, k)) {
          out.from[k] = j, out.step[k] = *step;
          break;
        }
  return out;
}

// Sums of indices lie apart as their parts do; of any other operation that has the same operands in two
// lanes, the results are the same.
const Emitter::Apart& Emitter::apart(const Node* n, std::unordered_map<const Node*, Apart>& seen) {
  if (auto it = seen.find(n); it != seen.end()) return it->second;
  if (seen.size() >= kMostNodes) return seen[n] = lanes_alone();
  const bool index = n->type == DType::I64;
  const bool whole = index && (n->op == Op::Const || n->op == Op::Size || n->op == Op::Div ||
                               n->op == Op::Rem || (n->op == Op::Var && !n->a));
  if (whole)
    if (const Value v = eval(n); v.at_known_steps())
      return seen[n] = lanes_by(
                 [&](size_t j, size_t k) { return std::optional(difference(v.step(k), v.step(j))); });
  switch (n->op) {
    case Op::Const: return seen[n] = lanes_by([](size_t, size_t) { return std::optional<int64_t>(0); });
    case Op::Var: return seen[n] = n->a ? apart(n->a.node(), seen) : lanes_alone();
    case Op::Size:
    case Op::Local:
    case Op::Scratch:
    case Op::ReduceLanes: return seen[n] = lanes_alone();
    default: break;
  }
  std::vector<Apart> of;
  for (const loop::Expr& e : {n->a, n->b, n->c})
    if (e) of.push_back(apart(e.node(), seen));
  if (index && (n->op == Op::Add || n->op == Op::Sub))
    return seen[n] = lanes_by([&](size_t j, size_t k) -> std::optional<int64_t> {
             const auto a = of[0].between(j, k), b = of[1].between(j, k);
             if (!a || !b) return std::nullopt;
             return n->op == Op::Add ? wrapped_sum(*a, *b) : difference(*a, *b);
           });
  if (index && n->op == Op::Mul && n->b->op == Op::Const)
    return seen[n] = lanes_by([&](size_t j, size_t k) -> std::optional<int64_t> {
             const auto a = of[0].between(j, k);
             if (!a) return std::nullopt;
             return wrapped_product(*a, static_cast<int64_t>(n->b->bits[0]));
           });
  return seen[n] = lanes_by([&](size_t j, size_t k) -> std::optional<int64_t> {
           for (const Apart& a : of)
             if (a.between(j, k).value_or(1) != 0) return std::nullopt;
           return 0;
         });
}

// Null where that would take more loads than half of the lanes.
llvm::Value* Emitter::load_groups(uint32_t buffer, DType type, const Node* index, llvm::Value* offset) {
  if (mask_ != nullptr || lanes_ == 1 || is_complex(type)) return nullptr;
  std::unordered_map<const Node*, Apart> seen;
  const Apart lanes = apart(index, seen);
  std::vector<std::pair<size_t, size_t>> pieces;  // the first lane, and how many
  for (size_t k = 0; k < lanes.from.size(); ++k) {
    const bool goes_on = k > 0 && lanes.between(k - 1, k) == 1;
    if (goes_on)
      ++pieces.back().second;
    else
      pieces.emplace_back(k, 1);
  }
  if (2 * pieces.size() > lanes.from.size()) return nullptr;
  auto* element = memory_type(type);
  llvm::Value* out = llvm::PoisonValue::get(vector_of(element));
  for (const auto& [first, count] : pieces) {
    auto* at = address(buffer, element, b_.CreateExtractElement(offset, first));
    if (count == 1) {
      out = b_.CreateInsertElement(out, b_.CreateAlignedLoad(element, at, llvm::Align(size_of(type))), first);
      continue;
    }
    auto* some = llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
    auto* piece = b_.CreateAlignedLoad(some, at, llvm::Align(size_of(type)));
    std::vector<int> widened(lanes.from.size(), llvm::PoisonMaskElem), order(lanes.from.size());
    for (size_t k = 0; k < order.size(); ++k) {
      const bool here = k >= first && k < first + count;
      if (here) widened[k] = static_cast<int>(k - first);
      order[k] = static_cast<int>(here ? order.size() + k : k);
    }
    out = b_.CreateShuffleVector(out, b_.CreateShuffleVector(piece, widened), order);
  }
  return out;
}

}  // namespace ig::codegen
