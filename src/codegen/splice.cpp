// The copying of statements and expressions from one loop function to another.
#include "codegen/splice.h"

#include <unordered_map>
#include <vector>

#include "support/error.h"

namespace ig::codegen {

using loop::Expr;
using loop::ExprNode;
using loop::Stmt;

namespace {

class Splicer {
 public:
  Splicer(loop::Builder& to, const loop::Function& from, std::span<const Place> places)
      : to_(to), from_(from), places_(places.begin(), places.end()), vars_(from.variables) {
    IG_CHECK(places.size() == from.buffers.size() + from.scratch.size(),
             "a kernel of {} buffers is given {} places", from.buffers.size() + from.scratch.size(),
             places.size());
    first_local_ = static_cast<uint32_t>(to.function().locals.size());
    for (loop::Local local : from.locals) {
      local.paired = false;  // both parts are there already, and statements name them one by one
      to.function().locals.push_back(std::move(local));
    }
  }

  void run(Expr block) {
    vars_[from_.block_var] = block;
    statements(from_.body);
    for (const loop::Formula& formula : from_.formulas)
      if (auto value = done_.find(formula.value); value != done_.end()) take(formula, value->second);
  }

 private:
  void statements(const loop::Stmts& all) {
    for (const auto& s : all) statement(*s);
  }

  void statement(const Stmt& s) {
    auto body = [&](Expr var) {
      vars_[s.id] = var;
      statements(s.body);
    };
    switch (s.kind) {
      case Stmt::Kind::For: return to_.serial_for(map(s.begin), map(s.end), body);
      case Stmt::Kind::VectorFor: return to_.vector_for(map(s.begin), map(s.end), s.lanes, body, s.by_lines);
      case Stmt::Kind::Unrolled:
        return to_.unrolled(static_cast<int64_t>(s.begin->bits[0]), static_cast<int64_t>(s.end->bits[0]),
                            body);
      case Stmt::Kind::If:
        if (s.otherwise.empty()) return to_.if_then(map(s.begin), [&] { statements(s.body); });
        return to_.if_then(map(s.begin), [&] { statements(s.body); }, [&] { statements(s.otherwise); });
      case Stmt::Kind::Let: vars_[s.id] = to_.let(map(s.value)); return;
      case Stmt::Kind::Assign: return to_.assign(first_local_ + s.id, map(s.value), map(s.index));
      case Stmt::Kind::Store: return write_place(to_, places_[s.id], map(s.index), map(s.value));
      case Stmt::Kind::Fail: return to_.fail_if(map(s.begin), s.id, map(s.value));
      case Stmt::Kind::Transpose:
        if (places_[s.id].kind != Place::Kind::Buffer || places_[s.value->id].kind != Place::Kind::Buffer)
          return write_place(to_, places_[s.id], map(s.index), map(s.value));  // of a single element
        return to_.transpose({buffer(s.id), offset(s.id, s.index), map(s.to_stride)},
                             {buffer(s.value->id), offset(s.value->id, s.value->a), map(s.from_stride)},
                             map(s.begin), map(s.end));
      case Stmt::Kind::LoadColumns:
        return to_.load_columns(first_local_ + s.id,
                                {buffer(s.value->id), offset(s.value->id, s.value->a), map(s.from_stride)},
                                map(s.begin));
      case Stmt::Kind::Settle: return to_.settle(first_local_ + s.id, map(s.index));
      case Stmt::Kind::Prefetch:
        if (places_[s.id].kind == Place::Kind::Buffer) to_.prefetch(buffer(s.id), offset(s.id, s.index));
        return;
    }
  }

  void take(const loop::Formula& formula, Expr value) {
    loop::Formula taken{value.node(), {}};
    for (const ExprNode* operand : formula.operands) {
      if (operand->op == loop::Op::Var)
        taken.operands.push_back(vars_[operand->id].node());
      else if (auto it = done_.find(operand); it != done_.end())
        taken.operands.push_back(it->second.node());
    }
    to_.function().formulas.push_back(std::move(taken));
  }

  uint32_t buffer(uint32_t id) const {
    IG_CHECK(places_[id].kind == Place::Kind::Buffer, "a matrix is read from a register");
    return places_[id].id;
  }
  Expr offset(uint32_t id, Expr at) { return places_[id].offset + map(at); }

  Expr map(Expr e) {
    if (!e) return {};
    const ExprNode* node = e.node();
    if (node->op == loop::Op::Var) return vars_[node->id];
    if (auto it = done_.find(node); it != done_.end()) return it->second;
    return done_[node] = copy(*node);
  }

  Expr copy(const ExprNode& node) {
    if (node.op == loop::Op::Size) return to_.size(Dim::parse(from_.sizes[node.id]));
    if (node.op == loop::Op::Load) return read_place(to_, places_[node.id], map(node.a));
    ExprNode made = node;
    if (node.op == loop::Op::Local || node.op == loop::Op::ReduceLanes) made.id += first_local_;
    made.a = map(node.a);
    made.b = map(node.b);
    made.c = map(node.c);
    return to_.make(made);
  }

  loop::Builder& to_;
  const loop::Function& from_;
  std::vector<Place> places_;  // of the buffers, then of the scratch buffers
  std::vector<Expr> vars_;
  std::unordered_map<const ExprNode*, Expr> done_;
  uint32_t first_local_ = 0;
};

bool stored_singly(const loop::Stmts& all, uint32_t buffer, bool in_vector) {
  for (const auto& s : all) {
    bool named = s->id == buffer;
    if (s->kind == Stmt::Kind::Store && named && in_vector) return false;
    bool inside = in_vector || s->kind == Stmt::Kind::VectorFor;
    if (!stored_singly(s->body, buffer, inside) || !stored_singly(s->otherwise, buffer, inside)) return false;
  }
  return true;
}

}  // namespace

Expr read_place(loop::Builder& build, const Place& place, Expr offset) {
  switch (place.kind) {
    case Place::Kind::Buffer: return build.load(place.id, place.offset + offset);
    case Place::Kind::Register: return build.read(place.id);
    case Place::Kind::Number: return place.number;
  }
  return {};
}

void write_place(loop::Builder& build, const Place& place, Expr offset, Expr value) {
  IG_CHECK(place.kind != Place::Kind::Number, "a known number is written");
  if (place.kind == Place::Kind::Register) return build.assign(place.id, value);
  build.store(place.id, place.offset + offset, value);
}

void splice(loop::Builder& to, const loop::Function& from, std::span<const Place> places, Expr block) {
  Splicer(to, from, places).run(block);
}

bool fits_register(const loop::Function& function, uint32_t buffer) {
  return stored_singly(function.body, buffer, false);
}

}  // namespace ig::codegen
