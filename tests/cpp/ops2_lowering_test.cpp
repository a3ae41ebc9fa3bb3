// The lowering rules of the moving, contracting, windowed, ordering and random primitives, run by a small
// interpreter of the loop IR and compared with the references, bit for bit, on every sample: so a rule is
// checked on its own, without fusion and without machine code. Each operand and result lies between bounds
// that the interpreter checks, so a rule that would read outside a buffer fails here, even where the value is
// dropped by a select.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/families/array_tools.h"
#include "ops/table.h"
#include "ops2_cases.h"

namespace ig::ops {
namespace {

using loop::Expr;
using loop::Stmt;
using LoopOp = loop::Op;

uint64_t masked(uint64_t bits, DType t) {
  size_t width = size_of(t) * 8;
  return width >= 64 ? bits : bits & ((uint64_t{1} << width) - 1);
}
int64_t as_signed(uint64_t bits, DType t) {
  int shift = 64 - static_cast<int>(size_of(t) * 8);
  return static_cast<int64_t>(bits << shift) >> shift;
}
double as_real(uint64_t bits, DType t) {
  if (t == DType::F64) {
    double d;
    std::memcpy(&d, &bits, 8);
    return d;
  }
  if (t == DType::F16) return f16_to_f32(static_cast<uint16_t>(bits));
  if (t == DType::BF16) return bf16_to_f32(static_cast<uint16_t>(bits));
  float f;
  auto narrow = static_cast<uint32_t>(bits);
  std::memcpy(&f, &narrow, 4);
  return f;
}
uint64_t of_real(double value, DType t) {
  uint64_t bits = 0;
  if (t == DType::F64)
    std::memcpy(&bits, &value, 8);
  else if (t == DType::F16)
    bits = f32_to_f16(static_cast<float>(value));
  else if (t == DType::BF16)
    bits = f32_to_bf16(static_cast<float>(value));
  else {
    auto f = static_cast<float>(value);
    std::memcpy(&bits, &f, 4);
  }
  return bits;
}

class Interpreter {
 public:
  Interpreter(const loop::Function& f, std::vector<Literal*> buffers) : f_(f), buffers_(std::move(buffers)) {
    for (size_t i = 0; i < f.scratch.size(); ++i) {
      scratch_.push_back(Literal::allocate(f.scratch[i].type, {f.scratch_elements[i].constant()}));
    }
    for (Literal& s : scratch_) buffers_.push_back(&s);
    for (const loop::Local& l : f.locals) locals_.emplace_back(static_cast<size_t>(l.count), 0);
  }
  void run(int64_t blocks) {
    for (int64_t b = 0; b < blocks; ++b) {
      variables_[f_.block_var] = static_cast<uint64_t>(b);
      statements(f_.body);
    }
  }

 private:
  void statements(const loop::Stmts& list) {
    for (const auto& s : list) statement(*s);
  }
  void statement(const Stmt& s) {
    switch (s.kind) {
      case Stmt::Kind::For:
      case Stmt::Kind::VectorFor:
      case Stmt::Kind::Unrolled: {
        auto end = static_cast<int64_t>(value(s.end));
        for (auto i = static_cast<int64_t>(value(s.begin)); i < end; ++i) {
          variables_[s.id] = static_cast<uint64_t>(i);
          statements(s.body);
        }
        return;
      }
      case Stmt::Kind::If: return statements(value(s.begin) ? s.body : s.otherwise);
      case Stmt::Kind::Let: variables_[s.id] = value(s.value); return;
      case Stmt::Kind::Assign: locals_.at(s.id).at(s.index ? value(s.index) : 0) = value(s.value); return;
      case Stmt::Kind::Store: {
        Literal& to = *buffers_.at(s.id);
        auto at = static_cast<int64_t>(value(s.index));
        ASSERT_TRUE(at >= 0 && at < to.elements()) << "a store outside buffer " << s.id;
        tools::set_whole(to, at, static_cast<int64_t>(value(s.value)));
        return;
      }
      case Stmt::Kind::Fail:
      case Stmt::Kind::Prefetch: return;
      case Stmt::Kind::Settle:
      case Stmt::Kind::Transpose:
      case Stmt::Kind::LoadColumns: FAIL() << "no rule of an op turns a matrix over";
    }
  }

  uint64_t value(Expr e) {
    DType t = e.type();
    switch (e->op) {
      case LoopOp::Const: return masked(e->bits[0], t);
      case LoopOp::Var: return variables_.at(e->id);
      case LoopOp::ReduceLanes:  // one lane after the other has gone into it
      case LoopOp::Local: return locals_.at(e->id).at(e->a ? value(e->a) : 0);
      case LoopOp::Load: {
        const Literal& from = *buffers_.at(e->id);
        auto at = static_cast<int64_t>(value(e->a));
        if (at < 0 || at >= from.elements()) {
          ADD_FAILURE() << "a load at " << at << " of " << from.elements() << " elements";
          return 0;
        }
        uint64_t bits = 0;
        std::memcpy(&bits, static_cast<const char*>(from.data()) + static_cast<size_t>(at) * size_of(t),
                    size_of(t));
        return bits;
      }
      case LoopOp::Select: {
        uint64_t a = value(e->a), b = value(e->b), c = value(e->c);  // both arms are evaluated
        return a ? b : c;
      }
      case LoopOp::Convert: return converted(value(e->a), e->a.type(), t);
      case LoopOp::Bitcast: return value(e->a);
      case LoopOp::Popcount: return static_cast<uint64_t>(__builtin_popcountll(value(e->a)));
      case LoopOp::CountLeadingZeros: {
        uint64_t x = value(e->a);
        auto width = static_cast<uint64_t>(size_of(t) * 8);
        return x == 0 ? width : static_cast<uint64_t>(__builtin_clzll(x)) - (64 - width);
      }
      case LoopOp::Fma: {
        double a = as_real(value(e->a), t), b = as_real(value(e->b), t), c = as_real(value(e->c), t);
        return t == DType::F64
                   ? of_real(std::fma(a, b, c), t)
                   : of_real(std::fmaf(static_cast<float>(a), static_cast<float>(b), static_cast<float>(c)),
                             t);
      }
      case LoopOp::Not: return t == DType::Bool ? !value(e->a) : masked(~value(e->a), t);
      case LoopOp::Neg: return is_float(t) ? of_real(-as_real(value(e->a), t), t) : masked(-value(e->a), t);
      default: return binary(e);
    }
  }

  static uint64_t converted(uint64_t x, DType from, DType to) {
    if (is_float(from) && is_float(to)) return of_real(as_real(x, from), to);
    if (is_float(to))
      return is_signed_int(from) ? of_real(static_cast<double>(as_signed(x, from)), to)
                                 : of_real(static_cast<double>(x), to);
    EXPECT_FALSE(is_float(from)) << "the rules here turn no float into an integer";
    if (to == DType::Bool) return x != 0;
    return masked(is_signed_int(from) ? static_cast<uint64_t>(as_signed(x, from)) : x, to);
  }

  uint64_t binary(Expr e) {
    DType t = e->a.type();
    uint64_t x = value(e->a), y = e->b ? value(e->b) : 0;
    if (is_float(t)) {
      double a = as_real(x, t), b = as_real(y, t);
      switch (e->op) {
        case LoopOp::Add: return of_real(a + b, t);
        case LoopOp::Sub: return of_real(a - b, t);
        case LoopOp::Mul: return of_real(a * b, t);
        case LoopOp::Div: return of_real(a / b, t);
        case LoopOp::Eq: return a == b;
        case LoopOp::Ne: return a != b;
        case LoopOp::Lt: return a < b;
        case LoopOp::Le: return a <= b;
        case LoopOp::Gt: return a > b;
        case LoopOp::Ge: return a >= b;
        default: ADD_FAILURE() << "an op that the interpreter lacks"; return 0;
      }
    }
    bool is_signed = is_signed_int(t);
    int64_t a = as_signed(x, t), b = as_signed(y, t);
    switch (e->op) {
      case LoopOp::Add: return masked(x + y, t);
      case LoopOp::Sub: return masked(x - y, t);
      case LoopOp::Mul: return masked(x * y, t);
      case LoopOp::Div: return masked(is_signed ? static_cast<uint64_t>(a / b) : x / y, t);
      case LoopOp::Rem: return masked(is_signed ? static_cast<uint64_t>(a % b) : x % y, t);
      case LoopOp::And: return x & y;
      case LoopOp::Or: return x | y;
      case LoopOp::Xor: return x ^ y;
      case LoopOp::Shl: return masked(x << y, t);
      case LoopOp::LShr: return x >> y;
      case LoopOp::AShr: return masked(static_cast<uint64_t>(a >> y), t);
      case LoopOp::Eq: return x == y;
      case LoopOp::Ne: return x != y;
      case LoopOp::Lt: return is_signed ? a < b : x < y;
      case LoopOp::Le: return is_signed ? a <= b : x <= y;
      case LoopOp::Gt: return is_signed ? a > b : x > y;
      case LoopOp::Ge: return is_signed ? a >= b : x >= y;
      default: ADD_FAILURE() << "an op that the interpreter lacks"; return 0;
    }
  }

  const loop::Function& f_;
  std::vector<Literal*> buffers_;
  std::vector<Literal> scratch_;
  std::map<uint32_t, uint64_t> variables_;
  std::vector<std::vector<uint64_t>> locals_;
};

// Reads operands as kernels do: 16-bit floats widened, keys as u64.
Expr element_of(loop::Builder& build, const Node* node, size_t operand, std::span<const Expr> i) {
  const Type& type = node->operand(operand)->type();
  std::vector<Expr> sizes;
  for (const Dim& d : type.dims) sizes.push_back(build.size(d));
  Expr loaded =
      build.load(static_cast<uint32_t>(operand), tools::row_major({i.begin(), i.end()}, sizes, build));
  if (type.dtype == DType::Key) return bitcast(loaded, DType::U64);
  return tools::is_half(type.dtype) ? convert(loaded, DType::F32) : loaded;
}

class Point final : public PointContext {
 public:
  Point(loop::Builder& b, const Node* n, uint32_t which) {
    build = &b;
    node = n;
    result = which;
  }
  Expr at(size_t operand, std::span<const Expr> i) override { return element_of(*build, node, operand, i); }
  Expr size(const Dim& dim) override { return build->size(dim); }
};

class Nest final : public NestContext {
 public:
  Expr size(const Dim& dim) override { return build->size(dim); }
  Expr at(size_t operand, std::span<const Expr> i) override { return element_of(*build, node, operand, i); }
  void set_blocks(const Dim& count) override { blocks = count.constant(); }
  bool begins_updated() override { return false; }
  Registers registers() override { return {16, 32}; }
  int64_t blocks = 1;
};

void compare(const Op& op, const Case& c) {
  Graph graph("case");
  std::vector<Value> values;
  for (const Literal& l : c.operands) values.push_back(graph.body().add_arg(l.type()));
  Builder builder(graph.body());
  Node* node = builder.node(op, values, c.attrs);
  if (node->attrs().find(kLhsContract.name)) {  // without free axes it is another op before it gets here
    const DotDims d(node->attrs(), values[0]->type().rank(), values[1]->type().rank());
    if (d.lhs_free.empty() && d.rhs_free.empty()) return;
  }
  std::vector<Literal> want = evaluate(op, c.attrs, c.operands), have;
  loop::Builder build("case");
  std::vector<Literal*> buffers;
  std::vector<Literal> operands = c.operands;
  for (Literal& l : operands) {
    build.add_buffer(l.dtype(), false, "in");
    buffers.push_back(&l);
  }
  for (const Literal& l : want) have.push_back(Literal::allocate(l.dtype(), l.dims()));
  Nest nest;
  for (Literal& l : have) {
    nest.results.push_back(build.add_buffer(l.dtype(), true, "out"));
    buffers.push_back(&l);
  }
  if (op.rules.lower.kind == LowerRule::Kind::Nest) {
    nest.build = &build;
    nest.node = node;
    for (uint32_t i = 0; i < operands.size(); ++i) nest.operands.push_back(i);
    op.rules.lower.nest(nest);
  } else {
    Point point(build, node, 0);
    const Dims& dims = node->result()->type().dims;
    std::function<void(size_t, Expr)> level = [&](size_t axis, Expr flat) {
      if (axis < dims.size()) {
        build.serial_for(build.index(0), build.size(dims[axis]), [&](Expr i) {
          point.index.push_back(i);
          level(axis + 1, flat * build.size(dims[axis]) + i);
          point.index.pop_back();
        });
        return;
      }
      Expr value = op.rules.lower.point(point);
      DType dtype = node->result()->type().dtype;
      if (dtype == DType::Key) value = bitcast(value, dtype);
      build.store(nest.results[0], flat, tools::narrow(value, dtype));
    };
    level(0, build.index(0));
  }
  std::unique_ptr<loop::Function> function = build.finish();
  Interpreter(*function, buffers).run(nest.blocks);
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_TRUE(want[i] == have[i]) << want[i].str() << "\n" << have[i].str();
}

TEST(Ops2Lowering, RulesAgreeWithReferences) {
  int cases = 0;
  for (const Op* op : all()) {
    if (!is_ops2(*op) || !is_asked_for(*op)) continue;
    if (op->rules.lower.kind != LowerRule::Kind::Point && op->rules.lower.kind != LowerRule::Kind::Nest)
      continue;
    for (DType t : members(op->decl.dtypes)) {
      if (is_complex(t)) continue;  // the interpreter's values have one word
      for (const Sample& sample : op->decl.samples) {
        SCOPED_TRACE(op->decl.name + " " + std::string(name(t)) + " " + sample.operands + " " + sample.attrs);
        compare(*op, case_of(*op, sample.operands, sample.attrs, t, sample.low, sample.high));
        ++cases;
      }
    }
  }
  if (all_asked_for()) {
    EXPECT_GT(cases, 500);
  }
}

}  // namespace
}  // namespace ig::ops
