// Builds loop functions: statements go to the innermost open block, expressions are interned, and index
// arithmetic is folded lightly, so that `i * 1 + 0` costs nothing in any later stage and prints as `i`.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>
#include <unordered_set>

#include "loop/loop.h"
#include "loop/ranges.h"
#include "support/error.h"

namespace ig::loop {
namespace {

struct NodeHash {
  size_t operator()(const ExprNode* n) const {
    uint64_t h = static_cast<uint64_t>(n->op) | static_cast<uint64_t>(n->type) << 8 |
                 static_cast<uint64_t>(n->reduction) << 16 | static_cast<uint64_t>(n->id) << 32;
    for (uint64_t bits : n->bits) h = hash_combine(h, bits);
    for (const Expr& e : {n->a, n->b, n->c}) h = hash_combine(h, reinterpret_cast<uintptr_t>(e.node()));
    return h;
  }
};

struct NodeEqual {
  bool operator()(const ExprNode* x, const ExprNode* y) const {
    return x->op == y->op && x->type == y->type && x->reduction == y->reduction && x->id == y->id &&
           x->bits[0] == y->bits[0] && x->bits[1] == y->bits[1] && x->a.node() == y->a.node() &&
           x->b.node() == y->b.node() && x->c.node() == y->c.node();
  }
};

bool is_const(Expr e) { return e && e->op == Op::Const; }
bool is_index_const(Expr e) { return is_const(e) && e.type() == DType::I64; }
int64_t index_value(Expr e) { return static_cast<int64_t>(e->bits[0]); }

// Two's complement wrapping arithmetic of constant indices; nothing where the result is undefined.
std::optional<int64_t> fold_index(Op op, int64_t a, int64_t b) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  bool divides = b != 0 && !(a == INT64_MIN && b == -1);
  switch (op) {
    case Op::Add: return static_cast<int64_t>(ua + ub);
    case Op::Sub: return static_cast<int64_t>(ua - ub);
    case Op::Mul: return static_cast<int64_t>(ua * ub);
    case Op::Div: return divides ? std::optional(a / b) : std::nullopt;
    case Op::Rem: return divides ? std::optional(a % b) : std::nullopt;
    case Op::And: return a & b;
    case Op::Or: return a | b;
    case Op::Xor: return a ^ b;
    case Op::Shl: return b >= 0 && b < 64 ? std::optional(static_cast<int64_t>(ua << b)) : std::nullopt;
    case Op::AShr: return b >= 0 && b < 64 ? std::optional(a >> b) : std::nullopt;
    case Op::LShr: return b >= 0 && b < 64 ? std::optional(static_cast<int64_t>(ua >> b)) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

struct Builder::Interner {
  std::unordered_map<const ExprNode*, const ExprNode*, NodeHash, NodeEqual> nodes;
  Ranges ranges;
};

Builder::Builder(std::string name)
    : function_(std::make_unique<Function>()), interner_(std::make_shared<Interner>()) {
  function_->name = std::move(name);
  function_->block_var = 0;
  function_->variables = 1;
  open_.push_back(&function_->body);
  lanes_.push_back(1);
}

namespace {

// Sizes that the code asks for in the end: an index that was taken apart and put together again needs none.
class SizesInUse {
 public:
  explicit SizesInUse(const Function& function) : used_(function.sizes.size(), false) {
    mark(function.body);
    for (const Dim& elements : function.scratch_elements) {
      std::vector<std::string> symbols;
      elements.collect_symbols(symbols);
      for (const std::string& symbol : symbols) {
        auto at = std::ranges::find(function.sizes, symbol) - function.sizes.begin();
        used_.at(static_cast<size_t>(at)) = true;
      }
    }
  }
  bool operator[](size_t id) const { return used_[id]; }

 private:
  void mark(const Stmts& stmts) {
    for (const auto& s : stmts) {
      for (const Expr& e : {s->begin, s->end, s->index, s->value, s->from_stride, s->to_stride})
        mark(e.node());
      mark(s->body);
      mark(s->otherwise);
    }
  }
  void mark(const ExprNode* node) {
    if (node == nullptr || !seen_.insert(node).second) return;
    if (node->op == Op::Size) used_[node->id] = true;
    for (const Expr& e : {node->a, node->b, node->c}) mark(e.node());
  }

  std::vector<bool> used_;
  std::unordered_set<const ExprNode*> seen_;
};

void drop_unused_sizes(Function& function) {
  if (function.sizes.empty()) return;
  const SizesInUse used(function);
  std::vector<uint32_t> position(function.sizes.size(), 0);
  std::vector<std::string> kept;
  for (size_t id = 0; id < position.size(); ++id) {
    if (!used[id]) continue;
    position[id] = static_cast<uint32_t>(kept.size());
    kept.push_back(std::move(function.sizes[id]));
  }
  function.sizes = std::move(kept);
  for (ExprNode& node : function.expressions)
    if (node.op == Op::Size) node.id = position[node.id];
}

}  // namespace

std::unique_ptr<Function> Builder::finish() {
  IG_CHECK(open_.size() == 1, "a block of kernel {} is still open", function_->name);
  interner_.reset();
  drop_unused_sizes(*function_);
  return std::move(function_);
}

uint32_t Builder::add_buffer(DType type, bool writable, std::string name) {
  IG_CHECK(function_->scratch.empty(), "buffers are added before scratch, since ids count through both");
  function_->buffers.push_back({.type = type, .writable = writable, .name = std::move(name)});
  return static_cast<uint32_t>(function_->buffers.size() - 1);
}

uint32_t Builder::add_scratch(DType type, Dim elements, std::string name) {
  std::vector<std::string> symbols;
  elements.collect_symbols(symbols);
  for (const std::string& symbol : symbols) size_id(symbol);
  function_->scratch.push_back({type, true, std::move(name)});
  function_->scratch_elements.push_back(elements);
  return static_cast<uint32_t>(function_->buffers.size() + function_->scratch.size() - 1);
}

uint32_t Builder::size_id(std::string_view formula) {
  auto& sizes = function_->sizes;
  auto it = std::find(sizes.begin(), sizes.end(), formula);
  if (it == sizes.end()) it = sizes.insert(sizes.end(), std::string(formula));
  return static_cast<uint32_t>(it - sizes.begin());
}

namespace {

// A formula as a tree; children stand in front of their parents.
struct SizePart {
  Dim dim;
  Dim::Step step;
  size_t left = 0, right = 0;
};

std::vector<SizePart> size_parts(const Dim& dim) {
  std::vector<SizePart> parts;
  std::vector<size_t> stack;
  dim.postfix([&](Dim::Step step, int64_t constant, std::string_view symbol) {
    SizePart part{Dim(constant), step};
    if (step == Dim::Step::Symbol) part.dim = Dim::symbol(symbol);
    if (step != Dim::Step::Constant && step != Dim::Step::Symbol) {
      part.right = stack.back();
      stack.pop_back();
      part.left = stack.back();
      stack.pop_back();
      const Dim &a = parts[part.left].dim, &b = parts[part.right].dim;
      switch (step) {
        case Dim::Step::Add: part.dim = a + b; break;
        case Dim::Step::Multiply: part.dim = a * b; break;
        case Dim::Step::FloorDiv: part.dim = floordiv(a, b); break;
        case Dim::Step::Mod: part.dim = mod(a, b); break;
        case Dim::Step::Min: part.dim = min(a, b); break;
        default: part.dim = max(a, b); break;
      }
    }
    stack.push_back(parts.size());
    parts.push_back(std::move(part));
  });
  return parts;
}

}  // namespace

// What combines several sizes is a size of its own: so rows of a matrix, and those of an array of more axes,
// have one kernel.
Expr Builder::size(const Dim& dim) {
  if (dim.is_constant()) return index(dim.constant());
  const std::vector<SizePart> parts = size_parts(dim);
  auto express = [&](auto& self, size_t at) -> Expr {
    const SizePart& part = parts[at];
    if (part.dim.is_constant()) return index(part.dim.constant());
    if (part.step == Dim::Step::Symbol ||
        (!parts[part.left].dim.is_constant() && !parts[part.right].dim.is_constant())) {
      ExprNode node{Op::Size, DType::I64, Reduction::Add, 0, {0, 0}, {}, {}, {}};
      node.id = size_id(part.dim.str());
      return make(node);
    }
    Expr a = self(self, part.left), b = self(self, part.right), zero = index(0);
    // Floor division rounds towards minus infinity, Div towards zero; they differ where the signs do.
    auto off = [&](Expr r) { return (r != zero) & ((r < zero) != (b < zero)); };
    switch (part.step) {
      case Dim::Step::Add: return a + b;
      case Dim::Step::Multiply: return a * b;
      case Dim::Step::FloorDiv: return a / b - convert(off(a % b), DType::I64);
      case Dim::Step::Mod: return a % b + select(off(a % b), b, zero);
      case Dim::Step::Min: return lesser(a, b);
      default: return greater(a, b);
    }
  };
  return express(express, parts.size() - 1);
}

Expr Builder::block() {
  ExprNode node{Op::Var, DType::I64, Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.id = function_->block_var;
  return make(node);
}

Expr Builder::constant(DType type, double value) {
  if (is_complex(type)) return complex(constant(part_of(type), value), constant(part_of(type), 0));
  switch (kind_of(type)) {
    case DKind::Bool: return constant_bits(type, value != 0);
    case DKind::Signed: return constant_int(type, static_cast<int64_t>(value));
    case DKind::Unsigned: return constant_bits(type, static_cast<uint64_t>(value));
    default: break;
  }
  if (type == DType::F64) return constant_bits(type, std::bit_cast<uint64_t>(value));
  if (type == DType::F32) return constant_bits(type, std::bit_cast<uint32_t>(static_cast<float>(value)));
  if (type == DType::F16) return constant_bits(type, f32_to_f16(static_cast<float>(value)));
  IG_CHECK(type == DType::BF16, "no constants of {} in loop code", ig::name(type));
  return constant_bits(type, f32_to_bf16(static_cast<float>(value)));
}

Expr Builder::constant_int(DType type, int64_t value) {
  if (is_float(type) || is_complex(type)) return constant(type, static_cast<double>(value));
  return constant_bits(type, type == DType::Bool ? value != 0 : static_cast<uint64_t>(value));
}

Expr Builder::constant_bits(DType type, uint64_t bits) {
  if (is_complex(type)) {
    IG_CHECK(bits == 0, "the bits {:x} are no complex number", bits);
    return constant(type, 0);
  }
  int width = type == DType::Bool ? 1 : info(type).bits;
  if (width < 64) {
    bits &= (uint64_t{1} << width) - 1;
    if (is_signed_int(type) && (bits >> (width - 1)) != 0) bits |= ~uint64_t{0} << width;
  }
  ExprNode node{Op::Const, type, Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.bits[0] = bits;
  return make(node);
}

Expr Builder::leaf(ExprNode node) {
  function_->expressions.push_back(node);
  return Expr(&function_->expressions.back(), this);
}

// x times a number, of x / y * (y times it) + x % y times it: an index that was taken apart and is put
// together again; else nothing. Where x is a quotient itself, x / y is one of what that was taken of.
static Expr put_together(Builder& b, const Expr& multiple, const Expr& rest) {
  const bool scaled = rest->op == Op::Mul && is_index_const(rest->b);
  const Expr& part = scaled ? rest->a : rest;
  if (multiple->op != Op::Mul || part->op != Op::Rem || multiple->a->op != Op::Div) return {};
  const Expr &x = part->a, &y = part->b, &number = multiple->a;
  const bool same = number->a.node() == x.node() && number->b.node() == y.node();
  if (same && !scaled && multiple->b.node() == y.node()) return x;
  if (!is_index_const(y) || !is_index_const(multiple->b)) return {};
  const bool quotients = x->op == Op::Div && number->a.node() == x->a.node() && is_index_const(x->b) &&
                         is_index_const(number->b) &&
                         index_value(number->b) == fold_index(Op::Mul, index_value(x->b), index_value(y));
  const int64_t scale = scaled ? index_value(rest->b) : 1;
  if (!(same || quotients) || index_value(multiple->b) != fold_index(Op::Mul, index_value(y), scale))
    return {};
  return x * b.index(scale);
}

// The same in sums of more: of what is in front of the multiple, and of a number behind the rest.
static Expr put_together_in_sum(Builder& b, const Expr& front, const Expr& rest) {
  if (Expr whole = put_together(b, front, rest)) return whole;
  if (rest->op == Op::Add && is_index_const(rest->b))
    if (Expr whole = put_together_in_sum(b, front, rest->a)) return whole + rest->b;
  if (front->op == Op::Add && !is_index_const(front->b))
    if (Expr whole = put_together(b, front->b, rest)) return front->a + whole;
  const bool of_sum = front->op == Op::Mul && front->a->op == Op::Add && front->a->b->op == Op::Div;
  if (of_sum && is_index_const(front->b))
    if (Expr whole = put_together(b, front->a->b * front->b, rest)) return front->a->a * front->b + whole;
  return {};
}

// Whether it is what a multiple of a positive number leaves.
static bool rest_of_multiple(const Expr& e, int64_t of) {
  return of > 0 && e->op == Op::Rem && is_index_const(e->b) && index_value(e->b) % of == 0;
}

// Folds what index arithmetic meets all the time; floating point is left alone, since its bits are a
// contract.
static Expr simplify(Builder& b, const ExprNode& n) {
  if (n.op == Op::Real && n.a->op == Op::Complex) return n.a->a;
  if (n.op == Op::Imag && n.a->op == Op::Complex) return n.a->b;
  if (n.op == Op::Complex && n.a->op == Op::Real && n.b->op == Op::Imag && n.a->a.node() == n.b->a.node())
    return n.a->a;
  if ((n.op == Op::Select || n.op == Op::SelectLazy) && is_const(n.a)) return n.a->bits[0] != 0 ? n.b : n.c;
  if (n.op == Op::Select && n.b.node() == n.c.node()) return n.b;
  if ((n.op == Op::Convert || n.op == Op::Bitcast) && n.a.type() == n.type) return n.a;
  if (n.op == Op::Convert && is_const(n.a) && n.a.type() == DType::Bool && is_integer(n.type))
    return b.constant_int(n.type, index_value(n.a));
  if (n.op == Op::And && n.type == DType::Bool) {
    if (is_const(n.a)) return n.a->bits[0] != 0 ? n.b : n.a;
    if (is_const(n.b)) return n.b->bits[0] != 0 ? n.a : n.b;
  }
  if (!n.b || n.c || n.a.type() != DType::I64 || n.b.type() != DType::I64) return {};
  bool ca = is_index_const(n.a), cb = is_index_const(n.b);
  if (ca && cb) {
    const auto v = fold_index(n.op, index_value(n.a), index_value(n.b));
    return v ? b.index(*v) : Expr{};
  }
  bool commutes = n.op == Op::Add || n.op == Op::Mul;
  if (ca && commutes) return n.op == Op::Add ? n.b + n.a : n.b * n.a;
  if (!cb && n.op == Op::Add)
    if (Expr whole = put_together_in_sum(b, n.a, n.b)) return whole;
  if (!cb && n.op == Op::Sub && n.a->op == Op::Add && n.a->a.node() == n.b.node()) return n.a->b;
  if (!cb && n.op == Op::Add && n.b->op == Op::Sub && n.b->b.node() == n.a.node()) return n.b->a;
  if (!cb && n.op == Op::Sub && ca) {  // of what is counted from an end, too
    const int64_t from = index_value(n.a);
    if (n.b->op == Op::Sub && is_index_const(n.b->a))
      return n.b->b + b.index(*fold_index(Op::Sub, from, index_value(n.b->a)));
    if (n.b->op == Op::Add && is_index_const(n.b->b))
      return b.index(*fold_index(Op::Sub, from, index_value(n.b->b))) - n.b->a;
  }
  if (!cb) return n.op == Op::Sub && n.a.node() == n.b.node() ? b.index(0) : Expr{};
  int64_t v = index_value(n.b);
  switch (n.op) {
    case Op::Add:
      if (v == 0) return n.a;
      if (n.a->op == Op::Add && is_index_const(n.a->b))
        return n.a->a + b.index(*fold_index(Op::Add, index_value(n.a->b), v));
      if (n.a->op == Op::Sub && is_index_const(n.a->a))
        return b.index(*fold_index(Op::Add, index_value(n.a->a), v)) - n.a->b;
      return {};
    case Op::Sub: return n.a + b.index(*fold_index(Op::Sub, 0, v));
    case Op::Mul:
      if (v == 0) return n.b;
      if (v == 1) return n.a;
      if (n.a->op == Op::Mul && is_index_const(n.a->b))
        return n.a->a * b.index(*fold_index(Op::Mul, index_value(n.a->b), v));
      return {};
    case Op::Div:
      if (v == 1) return n.a;
      if (v > 0 && n.a->op == Op::Div && is_index_const(n.a->b) && index_value(n.a->b) > 0) {
        int64_t by = 0;
        if (!__builtin_mul_overflow(index_value(n.a->b), v, &by)) return n.a->a / b.index(by);
      }
      if (rest_of_multiple(n.a, v)) return n.a->a / n.b % b.index(index_value(n.a->b) / v);
      return {};
    case Op::Rem:
      if (v == 1) return b.index(0);
      return rest_of_multiple(n.a, v) ? n.a->a % n.b : Expr{};
    default: return {};
  }
}

// x, of x + 0: what differs only where x is -0.
static Expr without_zero(Expr e) {
  e = behind_let(e);
  return e->op == Op::Add && is_float(e.type()) && is_const(e->b) && e->b->bits[0] == 0 ? e->a : Expr{};
}

Expr Builder::make(ExprNode node) {
  if (node.op == Op::Load || node.op == Op::Local || node.op == Op::ReduceLanes) return leaf(node);
  if (node.a && node.op != Op::Var)
    if (Expr folded = simplify(*this, node)) return folded;
  if ((node.op == Op::Div || node.op == Op::Rem) && node.type == DType::I64 && is_index_const(node.b)) {
    // All that the index can be lies in one run of the divisor.
    const std::optional<IndexRange> a = interner_->ranges.of_index(node.a);
    const int64_t by = index_value(node.b);
    if (a && by > 0 && a->low >= 0 && a->low / by == a->high / by)
      return node.op == Op::Div ? index(a->low / by) : node.a - index(a->low / by * by);
  }
  if (node.op >= Op::Eq && node.op <= Op::Ge)
    if (auto v = interner_->ranges.decided(node.op, node.a, node.b)) return constant_bits(DType::Bool, *v);
  // The sign of a zero is lost where a number is added that is none.
  if (node.op == Op::Add || node.op == Op::Sub)
    if (Expr x = without_zero(node.a))
      if (interner_->ranges.decided(Op::Ne, node.b, constant(node.type, 0)).value_or(false)) node.a = x;
  if (auto it = interner_->nodes.find(&node); it != interner_->nodes.end()) return Expr(it->second, this);
  Expr made = leaf(node);
  interner_->nodes.emplace(made.node(), made.node());
  return made;
}

Stmt& Builder::push(Stmt::Kind kind) {
  auto stmt = std::make_unique<Stmt>();
  stmt->kind = kind;
  open_.back()->push_back(std::move(stmt));
  return *open_.back()->back();
}

void Builder::body_of(Stmts& into, int lanes, const std::function<void()>& fill) {
  open_.push_back(&into);
  lanes_.push_back(lanes);
  fill();
  lanes_.pop_back();
  open_.pop_back();
}

Expr Builder::load(uint32_t buffer, Expr offset) {
  auto& f = *function_;
  IG_CHECK(buffer < f.buffers.size() + f.scratch.size(), "no buffer {}", buffer);
  IG_CHECK(offset.type() == DType::I64, "offsets are i64, not {}", ig::name(offset.type()));
  ExprNode node{
      Op::Load,
      buffer < f.buffers.size() ? f.buffers[buffer].type : f.scratch[buffer - f.buffers.size()].type,
      Reduction::Add,
      0,
      {0, 0},
      {},
      {},
      {}};
  node.id = buffer;
  node.a = offset;
  return make(node);
}

void Builder::store(uint32_t buffer, Expr offset, Expr value) {
  auto& f = *function_;
  IG_CHECK(buffer < f.buffers.size() + f.scratch.size(), "no buffer {}", buffer);
  const Buffer& to = buffer < f.buffers.size() ? f.buffers[buffer] : f.scratch[buffer - f.buffers.size()];
  IG_CHECK(to.writable, "buffer {} of kernel {} is read only", to.name, f.name);
  IG_CHECK(to.type == value.type(), "a store of {} into {}: {}", ig::name(value.type()), to.name,
           ig::name(to.type));
  Stmt& s = push(Stmt::Kind::Store);
  s.id = buffer;
  s.index = offset;
  s.value = value;
}

void Builder::stream(uint32_t buffer, Expr offset, Expr value) {
  store(buffer, offset, value);
  open_.back()->back()->streamed = true;
}

void Builder::prefetch(uint32_t buffer, Expr offset) {
  Stmt& s = push(Stmt::Kind::Prefetch);
  s.id = buffer;
  s.index = offset;
}

void Builder::transpose(const Matrix& to, const Matrix& from, Expr rows, Expr columns) {
  IG_CHECK(lanes_.back() == 1, "a transposition stands inside a vector loop");
  Expr first = load(from.buffer, from.offset);
  Stmt& s = push(Stmt::Kind::Transpose);
  s.id = to.buffer;
  s.index = to.offset;
  s.to_stride = to.stride;
  s.value = first;
  s.from_stride = from.stride;
  s.begin = rows;
  s.end = columns;
}

void Builder::load_columns(uint32_t local, const Matrix& from, Expr rows) {
  const Local& columns = function_->locals.at(local);
  const auto count = static_cast<uint64_t>(columns.count);
  const bool part = std::has_single_bit(count) && count * size_of(columns.type) >= 16;
  IG_CHECK(columns.lanes == lanes_.back() && columns.lanes > 1 &&
               (columns.count == columns.lanes || (part && columns.count < columns.lanes)),
           "columns of {} lanes are read into {} vectors of {}", lanes_.back(), columns.count, columns.lanes);
  Expr first = load(from.buffer, from.offset);
  IG_CHECK(first.type() == columns.type, "columns of {} are read into a local of {}", ig::name(first.type()),
           ig::name(columns.type));
  Stmt& s = push(Stmt::Kind::LoadColumns);
  s.id = local;
  s.value = first;
  s.from_stride = from.stride;
  s.begin = rows;
}

void Builder::settle(uint32_t local, Expr index) {
  Stmt& s = push(Stmt::Kind::Settle);
  s.id = local;
  s.index = index;
}

uint32_t Builder::local(DType type, int lanes, int64_t count, std::string name, bool loose) {
  IG_CHECK(lanes > 0 && std::has_single_bit(static_cast<unsigned>(lanes)) && count > 0,
           "a local has a power of two of lanes and a positive count, not {} and {}", lanes, count);
  auto id = static_cast<uint32_t>(function_->locals.size());
  if (is_complex(type)) {
    function_->locals.push_back({part_of(type), lanes, count, name, true, loose});
    type = part_of(type);
  }
  function_->locals.push_back({type, lanes, count, std::move(name), false, loose});
  return id;
}

Expr Builder::read(uint32_t local, Expr index) {
  if (function_->locals.at(local).paired)
    return complex(read_part(local, index), read_part(local + 1, index));
  return read_part(local, index);
}

Expr Builder::read_part(uint32_t local, Expr index) {
  ExprNode node{Op::Local, function_->locals.at(local).type, Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.id = local;
  node.a = index;
  return make(node);
}

void Builder::assign(uint32_t local, Expr value, Expr index) {
  DType type = function_->locals.at(local).type;
  if (function_->locals[local].paired) {
    IG_CHECK(value.type() == complex_of(type), "an assignment of {} to a local of {}", ig::name(value.type()),
             ig::name(complex_of(type)));
    Expr re = let(real(value)), im = let(imag(value));  // both before either is written
    assign_part(local, re, index);
    return assign_part(local + 1, im, index);
  }
  IG_CHECK(value.type() == type, "an assignment of {} to a local of {}", ig::name(value.type()),
           ig::name(type));
  assign_part(local, value, index);
}

void Builder::assign_part(uint32_t local, Expr value, Expr index) {
  IG_CHECK(value.type() == function_->locals.at(local).type, "an assignment of {} to a part of {}",
           ig::name(value.type()), ig::name(function_->locals[local].type));
  Stmt& s = push(Stmt::Kind::Assign);
  s.id = local;
  s.index = index;
  s.value = value;
}

Expr Builder::reduce_lanes(uint32_t local, Reduction reduction, Expr index) {
  const Local& of = function_->locals.at(local);
  if (of.paired && reduction == Reduction::Add)
    return complex(reduce_part(local, of.type, reduction, index),
                   reduce_part(local + 1, of.type, reduction, index));
  // A product folds both parts together.
  return reduce_part(local, of.paired ? complex_of(of.type) : of.type, reduction, index);
}

Expr Builder::reduce_part(uint32_t local, DType type, Reduction reduction, Expr index) {
  IG_CHECK(!is_complex(type) || reduction == Reduction::Mul, "complex numbers have no order, and no bits");
  ExprNode node{Op::ReduceLanes, type, Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.id = local;
  node.reduction = reduction;
  node.a = index;
  return make(node);
}

Expr Builder::let(Expr value) {
  if (is_const(value) || value->op == Op::Var || value->op == Op::Size) return value;
  if (value->op == Op::Complex) return complex(let(value->a), let(value->b));
  Stmt& s = push(Stmt::Kind::Let);
  s.id = function_->variables++;
  s.value = value;
  ExprNode node{Op::Var, value.type(), Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.id = s.id;
  node.a = value;
  return make(node);
}

void Builder::serial_for(Expr begin, Expr end, const Body& body) {
  Stmt& s = push(Stmt::Kind::For);
  s.id = function_->variables++;
  s.begin = begin;
  s.end = end;
  interner_->ranges.enter(s.id, begin, end);
  ExprNode node{Op::Var, DType::I64, Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.id = s.id;
  body_of(s.body, lanes_.back(), [&] { body(make(node)); });
  // What works out values alone, which nobody outside can read, does nothing.
  auto is_let = [](const auto& inner) { return inner->kind == Stmt::Kind::Let; };
  if (std::ranges::all_of(s.body, is_let)) open_.back()->pop_back();
}

void Builder::vector_for(Expr begin, Expr end, int lanes, const Body& body, bool by_lines) {
  IG_CHECK(lanes > 0 && std::has_single_bit(static_cast<unsigned>(lanes)), "{} lanes: not a power of two",
           lanes);
  IG_CHECK(lanes_.back() == 1, "a vector loop stands inside another one");
  Stmt& s = push(Stmt::Kind::VectorFor);
  s.id = function_->variables++;
  s.lanes = lanes;
  s.by_lines = by_lines;
  s.begin = begin;
  s.end = end;
  interner_->ranges.enter(s.id, begin, end);
  ExprNode node{Op::Var, DType::I64, Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.id = s.id;
  body_of(s.body, lanes, [&] { body(make(node)); });
}

void Builder::unrolled(int64_t begin, int64_t end, const Body& body) {
  Stmt& s = push(Stmt::Kind::Unrolled);
  s.id = function_->variables++;
  s.begin = index(begin);
  s.end = index(end);
  interner_->ranges.enter(s.id, s.begin, s.end);
  ExprNode node{Op::Var, DType::I64, Reduction::Add, 0, {0, 0}, {}, {}, {}};
  node.id = s.id;
  body_of(s.body, lanes_.back(), [&] { body(make(node)); });
}

void Builder::if_then(Expr uniform_condition, const std::function<void()>& then,
                      const std::function<void()>& otherwise) {
  IG_CHECK(uniform_condition.type() == DType::Bool, "a condition is bool, not {}",
           ig::name(uniform_condition.type()));
  Stmt& s = push(Stmt::Kind::If);
  s.begin = uniform_condition;
  body_of(s.body, lanes_.back(), then);
  if (otherwise) body_of(s.otherwise, lanes_.back(), otherwise);
}

void Builder::fail_if(Expr uniform_condition, uint32_t node, Expr value) {
  IG_CHECK(uniform_condition.type() == DType::Bool && value.type() == DType::I64,
           "fail_if takes a bool and an i64, not {} and {}", ig::name(uniform_condition.type()),
           ig::name(value.type()));
  Stmt& s = push(Stmt::Kind::Fail);
  s.id = node;
  s.begin = uniform_condition;
  s.value = value;
}

Expr Builder::fold(Expr extent, Expr init, const std::function<Expr(Expr, Expr)>& step) {
  constexpr int64_t kFew = 4;  // turns that take less than the counting of them
  if (extent->op == Op::Const && static_cast<int64_t>(extent->bits[0]) <= kFew) {
    const auto turns = static_cast<int64_t>(extent->bits[0]);
    for (int64_t i = 0; i < turns; ++i) init = let(step(index(i), init));
    return init;
  }
  uint32_t acc = local(init.type(), enclosing_lanes(), 1, "fold");
  assign(acc, init);
  serial_for(index(0), extent, [&](Expr i) { assign(acc, step(i, read(acc))); });
  return let(read(acc));
}

int Builder::enclosing_lanes() const { return lanes_.back(); }

}  // namespace ig::loop
