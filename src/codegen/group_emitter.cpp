// Values of a fused region as loop expressions.
#include "codegen/group_emitter.h"

#include <algorithm>

namespace ig::codegen {

using loop::Expr;

namespace {
constexpr int kLeastVector = 16;  // bytes of the narrowest vector register
}

int widest_element(const Block& region) {
  size_t widest = 0, number = 1;
  auto take = [&](Value v) {
    if (!v->type().is_tensor()) return;
    // A single number (where a slice begins) fills no lanes.
    size_t& of = v->type().elements() == Dim(int64_t{1}) ? number : widest;
    of = std::max(of, size_of(compute_type(v->type().dtype)));
  };
  for (Value v : region.args()) take(v);
  for (Node* node : region)
    for (Value v : node->results()) take(v);
  return static_cast<int>(widest > 0 ? widest : number);
}

int natural_lanes(const Target& target, int element_bytes) { return 4 * target.vector_bytes / element_bytes; }

int lanes_for(const Target& target, int element_bytes, const Dim& turns) {
  const int widest = natural_lanes(target, element_bytes);
  if (!turns.is_constant()) return widest;
  const int64_t n = turns.constant();
  int lanes = widest;
  while (lanes * element_bytes > kLeastVector && lanes / 2 >= n) lanes /= 2;
  if (n < 2 * widest)
    for (int narrow = lanes; narrow * element_bytes >= target.vector_bytes; narrow /= 2)
      if (n % narrow == 0) return narrow;
  return lanes;
}

int lanes_of_short_fold(int lanes, const Dim& turns) {
  const int least = lanes / 8;  // that fill the narrowest vector register
  if (turns.is_constant())
    while (lanes > least && lanes / 2 >= turns.constant()) lanes /= 2;
  return lanes;
}

bool elements_are_dear(const Block& region, const Dims& domain) {
  for (const Node* node : region) {
    if (node == region.terminator() || node->results().size() != 1) continue;
    const Type& type = node->result()->type();
    if (type.is_tensor() && type.dims == domain && ops::op_of(node).decl.ulp > 0) return true;
  }
  return false;
}

GroupEmitter::GroupEmitter(const Node* node, const Target& the_target, Relaxed& what_is_relaxed)
    : build("kernel"), fusion(node), region(node->region(0)), target(the_target), relaxed(what_is_relaxed) {
  build.fast_math = relaxed.allowed;
  size = [this](const Dim& dim) { return build.size(dim); };
  for (Value v : node->operands())
    operand_buffers_.push_back(
        build.add_buffer(v->type().dtype, false, "in" + std::to_string(operand_buffers_.size())));
  for (Value v : node->results())
    result_buffers_.push_back(
        build.add_buffer(v->type().dtype, true, "out" + std::to_string(result_buffers_.size())));
  known_.emplace_back();
}

void GroupEmitter::note(const Node* node, std::vector<const Node*>& nodes) {
  if (std::ranges::find(nodes, node) == nodes.end()) nodes.push_back(node);
}

Expr GroupEmitter::contracted(const Node* node, Expr made, std::span<const Expr> operands) {
  if (!relaxed.allowed.contract || !is_float(made.type()) || !made->b || made->c) return made;
  auto is_operand = [&](Expr e) {
    return std::ranges::any_of(operands, [&](Expr own) { return own.node() == e.node(); });
  };
  const Expr &x = made->a, &y = made->b;
  if (!is_operand(x) || !is_operand(y)) return made;
  if (made->op == loop::Op::Mul) products_.insert(made.node());
  if (made->op != loop::Op::Add && made->op != loop::Op::Sub) return made;
  const bool left = products_.contains(x.node());
  if (!left && !products_.contains(y.node())) return made;
  note(node, relaxed.contracted);
  auto turned = [&](Expr e) { return made->op == loop::Op::Sub ? -e : e; };
  return left ? fma(x->a, x->b, turned(y)) : fma(turned(y->a), y->b, x);
}

void GroupEmitter::scoped(const std::function<void()>& body) {
  known_.emplace_back();
  body();
  known_.pop_back();
}

void GroupEmitter::serial(Expr begin, Expr end, const std::function<void(Expr)>& body) {
  build.serial_for(begin, end, [&](Expr i) { scoped([&] { body(i); }); });
}

void GroupEmitter::vector(Expr begin, Expr end, int lanes, const std::function<void(Expr)>& body,
                          bool by_lines) {
  build.vector_for(begin, end, lanes, [&](Expr i) { scoped([&] { body(i); }); }, by_lines);
}

std::vector<int64_t> GroupEmitter::cuts_of_groups(int lanes) const {
  if (cuts_groups) return cuts;
  std::vector<int64_t> out;
  for (int64_t cut : cuts)
    for (int64_t at : {cut / lanes * lanes, std::min((cut + lanes - 1) / lanes * lanes, cuts.back())})
      if (out.empty() || at > out.back()) out.push_back(at);
  if (!out.empty() && out.back() != cuts.back()) out.push_back(cuts.back());
  return out;
}

void GroupEmitter::vector_columns(Expr from, Expr to, int lanes, const std::function<void(Expr)>& body) {
  const std::vector<int64_t> at = cuts_of_groups(lanes);
  if (at.empty()) return vector(from, to, lanes, body);
  for (size_t i = 0; i + 1 < at.size(); ++i) {
    // The bounds of the part say which way its columns take, wherever the loop is.
    Expr begin = build.let(loop::greater(build.index(at[i]), from)),
         end = build.let(loop::lesser(build.index(at[i + 1]), to));
    vector(begin, end, lanes, body);
  }
}

Expr GroupEmitter::round_to(Expr value, DType dtype) {
  if (dtype == DType::F16 || dtype == DType::BF16) {
    if (value.type() == dtype) return loop::convert(value, DType::F32);
    return loop::convert(loop::convert(value, dtype), DType::F32);
  }
  return value;
}

std::optional<DType> GroupEmitter::written_dtype() const {
  const bool any = any_streamed();
  std::optional<DType> dtype;
  for (size_t i = 0; i < fusion->results().size(); ++i) {
    if (any && !streams(i)) continue;
    const DType own = fusion->result(i)->type().dtype;
    if (dtype && size_of(*dtype) != size_of(own)) return std::nullopt;
    dtype = own;
  }
  return dtype;
}

void GroupEmitter::vector_row(Expr first, const Dim& columns, int lanes, bool by_lines,
                              const std::function<void(Expr, bool)>& body) {
  constexpr int64_t kLeastLines = 8;  // shorter rows do not repay groups of their own at their ends
  const std::optional<DType> dtype = written_dtype();
  const int64_t line = dtype ? kLineBytes / static_cast<int64_t>(size_of(*dtype)) : 0;
  const bool even = line != 0 && columns.is_constant() && columns.constant() % line == 0;
  if (!cuts.empty()) {
    const bool lines = even && !cuts_groups && lanes % line == 0;
    return vector_columns(build.index(0), size(columns), lanes, [&](Expr i) { body(i, lines); });
  }
  by_lines = by_lines && traffic.far && target.vector_bytes == kLineBytes;
  if (even || line == 0 || !columns.is_constant() || columns.constant() < kLeastLines * line ||
      !(by_lines || any_streamed()))
    return vector(build.index(0), size(columns), lanes, [&](Expr i) { body(i, even); });
  // The line that a row ends in, and the next one begins in, is no whole one, so it has to come from memory.
  for (size_t i = 0; i < fusion->results().size(); ++i)
    if (streams(i)) build.prefetch(result_buffer(i), first + size(columns));
  Expr into = first % build.index(line);
  Expr before = build.let(select(into > build.index(0), build.index(line) - into, build.index(0)));
  vector(build.index(0), before, static_cast<int>(line), [&](Expr i) { body(i, false); });
  vector(before, size(columns), lanes, [&](Expr i) { body(i, true); }, by_lines);
}

Expr GroupEmitter::as_stored(size_t result, Expr value) const {
  DType dtype = fusion->result(result)->type().dtype;
  if ((dtype == DType::F16 || dtype == DType::BF16) && value.type() == DType::F32)
    return loop::convert(value, dtype);
  return dtype == DType::Key && value.type() == DType::U64 ? loop::bitcast(value, DType::Key) : value;
}

void GroupEmitter::store_result(size_t result, Expr flat_offset, Expr value, bool at_line) {
  value = as_stored(result, value);
  if (at_line && streams(result)) return build.stream(result_buffers_[result], flat_offset, value);
  build.store(result_buffers_[result], flat_offset, value);
}

class GroupEmitter::Point final : public ops::PointContext {
 public:
  Point(GroupEmitter& emit, const Node* n, uint32_t which, std::span<const Expr> at_index) : emit_(emit) {
    build = &emit.build;
    node = n;
    result = which;
    index.assign(at_index.begin(), at_index.end());
  }
  Expr at(size_t operand, std::span<const Expr> i) override {
    return emit_.element(node->operand(operand), i);
  }
  Expr size(const Dim& dim) override { return emit_.size(dim); }
  // What is computed inside of a fold's loop must not be taken for known behind it.
  Expr fold(Expr extent, Expr init, const std::function<Expr(Expr, Expr)>& step) override {
    return emit_.build.fold(extent, init, [&](Expr i, Expr acc) {
      Expr next;
      emit_.scoped([&] { next = step(i, acc); });
      return next;
    });
  }

 private:
  GroupEmitter& emit_;
};

void GroupEmitter::know(Value value, std::span<const Expr> index, Expr is) {
  Key key{value, {}};
  for (Expr e : index) key.second.push_back(e.node());
  known_.back()[std::move(key)] = is;
}

Expr GroupEmitter::element(Value value, std::span<const Expr> index) {
  Key key{value, {}};
  for (Expr e : index) key.second.push_back(e.node());
  for (auto it = known_.rbegin(); it != known_.rend(); ++it)
    if (auto hit = it->find(key); hit != it->end()) return hit->second;
  Expr out = compute(value, index);
  known_.back().emplace(std::move(key), out);
  return out;
}

Expr GroupEmitter::compute(Value value, std::span<const Expr> index) {
  if (auto it = pinned_.find(value); it != pinned_.end()) return it->second(index);
  const Node* node = value->node();
  DType dtype = value->type().dtype;
  if (!node) {
    IG_CHECK(value->block() == &region, "a kernel reads a value from outside its region");
    Expr loaded = build.load(buffer_of_arg(value), flat(index, value->type().dims));
    if (dtype == DType::Key) return loop::bitcast(loaded, DType::U64);
    return dtype == compute_type(dtype) ? loaded : loop::convert(loaded, compute_type(dtype));
  }
  const ops::LowerRule& rule = ops::op_of(node).rules.lower;
  if (rule.kind == ops::LowerRule::Kind::Scalar) {
    std::vector<Expr> x;
    for (Value v : node->operands()) x.push_back(element(v, index));
    ops::ScalarContext context{build, node, x, compute_type(dtype)};
    Expr out = noting(node, [&] { return rule.scalar(context); });
    loop::Formula formula{out.node(), {}};
    for (Expr operand : x) formula.operands.push_back(operand.node());
    build.function().formulas.push_back(std::move(formula));
    return round_to(contracted(node, out, x), dtype);
  }
  IG_CHECK(rule.kind == ops::LowerRule::Kind::Point, "{} cannot be computed element by element",
           node->op().name());
  Point context(*this, node, value->index(), index);
  Expr out = noting(node, [&] { return rule.point(context); });
  bool exact = ops::has(node, ops::Trait::View) || ops::has(node, ops::Trait::Constant);
  return exact && out.type() == compute_type(dtype) ? out : round_to(out, dtype);
}

}  // namespace ig::codegen
