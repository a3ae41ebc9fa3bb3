// Fewer lanes for vector loops that compute much for an element. Four registers are there to have enough to
// do while operations wait for each other; of so many operations two registers' leave few units idle (0.85 to
// 1.2 times the speed of four, of betaln, igammac and lgamma with AVX2 and AVX-512: fewer values are put off
// to memory).
#include "codegen/long_loops.h"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace ig::codegen {
namespace {

using loop::ExprNode;
using loop::Op;
using loop::Stmt;

// Which loops have a local in them, and which have lanes that are no elements by themselves.
class Lanes {
 public:
  explicit Lanes(const loop::Stmts& all) { statements(all, nullptr); }
  const std::vector<Stmt*>& loops() const { return loops_; }
  // The locals that go along with a loop's lanes; none where something else reads them, or the lanes of a
  // group together.
  std::optional<std::vector<uint32_t>> own_locals(const Stmt* loop) const {
    if (together_.contains(loop)) return std::nullopt;
    std::vector<uint32_t> out;
    for (const auto& [local, loops] : users_) {
      if (!loops.contains(loop)) continue;
      if (loops.size() > 1) return std::nullopt;
      out.push_back(local);
    }
    return out;
  }

 private:
  void statements(const loop::Stmts& all, const Stmt* loop) {
    for (const auto& s : all) {
      const Stmt* inside = loop;
      if (s->kind == Stmt::Kind::VectorFor) {
        loops_.push_back(s.get());
        inside = s.get();
      }
      const bool columns = s->kind == Stmt::Kind::LoadColumns;
      if (s->kind == Stmt::Kind::Assign || s->kind == Stmt::Kind::Settle || columns)
        users_[s->id].insert(inside);
      if (columns) together_.insert(inside);
      for (const loop::Expr& e : {s->begin, s->end, s->index, s->value})
        expression(e.node(), inside, seen_[inside]);
      statements(s->body, inside);
      statements(s->otherwise, inside);
    }
  }
  void expression(const ExprNode* n, const Stmt* loop, std::unordered_set<const ExprNode*>& seen) {
    if (n == nullptr || n->op == Op::Var || !seen.insert(n).second) return;
    if (n->op == Op::Local || n->op == Op::ReduceLanes) users_[n->id].insert(loop);
    if (n->op == Op::ReduceLanes) together_.insert(loop);
    for (const loop::Expr& part : {n->a, n->b, n->c}) expression(part.node(), loop, seen);
  }

  std::vector<Stmt*> loops_;
  std::unordered_map<uint32_t, std::set<const Stmt*>> users_;  // null: outside of vector loops
  std::unordered_set<const Stmt*> together_;
  std::unordered_map<const Stmt*, std::unordered_set<const ExprNode*>> seen_;
};

// Visits the statements below, and each expression once.
class IndependentLanes {
 public:
  explicit IndependentLanes(const loop::Function& function) : function_(function) {}
  bool statements(const loop::Stmts& all) {
    return std::ranges::all_of(all, [&](const auto& s) {
      const bool keeps = s->kind == Stmt::Kind::Assign || s->kind == Stmt::Kind::Settle;
      return s->kind != Stmt::Kind::LoadColumns && s->kind != Stmt::Kind::Transpose &&
             (!keeps || function_.locals[s->id].lanes == 1) && expression(s->begin.node()) &&
             expression(s->end.node()) && expression(s->index.node()) && expression(s->value.node()) &&
             statements(s->body) && statements(s->otherwise);
    });
  }

 private:
  bool expression(const ExprNode* n) {
    if (n == nullptr || !seen_.insert(n).second) return true;
    if (n->op == Op::ReduceLanes || (n->op == Op::Local && function_.locals[n->id].lanes > 1)) return false;
    return expression(n->a.node()) && expression(n->b.node()) && expression(n->c.node());
  }
  const loop::Function& function_;
  std::unordered_set<const ExprNode*> seen_;
};

}  // namespace

bool independent_lanes(const loop::Function& function, const loop::Stmt& s) {
  return IndependentLanes(function).statements(s.body);
}

void narrow_long_loops(loop::Function& function, const Target& target) {
  // Instructions of a group, about: LLVM takes some 20 µs for one. More than four registers, as float64 has
  // beside float32, never pay.
  constexpr int64_t kMuch = 1000, kMuchOfFour = 5000;
  constexpr int kFour = 4, kLeast = 2;
  const Lanes lanes(function.body);
  for (Stmt* s : lanes.loops()) {
    if (s->by_lines) continue;  // groups are whole lines of memory
    const loop::Work work = loop::work_of(s->body);
    auto registers = [&](int64_t lanes) { return lanes * work.bytes / target.vector_bytes; };
    int fewer = s->lanes;
    while (registers(fewer) > kLeast &&
           work.operations * registers(fewer) > (registers(fewer) > kFour ? kMuch : kMuchOfFour))
      fewer /= 2;
    if (fewer == s->lanes) continue;
    const std::optional<std::vector<uint32_t>> locals = lanes.own_locals(s);
    auto lanes_of = [&](uint32_t local) -> int& { return function.locals[local].lanes; };
    if (!locals || std::ranges::any_of(*locals, [&](uint32_t local) { return lanes_of(local) != s->lanes; }))
      continue;
    for (const uint32_t local : *locals) lanes_of(local) = fewer;
    s->lanes = fewer;
  }
}

}  // namespace ig::codegen
