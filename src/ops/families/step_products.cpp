// Products that are added one after the other, as the steps of a loop add them: what a scan that sums up its
// steps' products becomes behind it, with the same bits.
#include <algorithm>
#include <cmath>

#include "ops/contraction.h"
#include "ops/control_attrs.h"
#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"

namespace ig::ops {

std::vector<Op> step_product_ops();

namespace {

using loop::Expr;
using namespace tools;

void infer_add_products(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_same_dtype(0, 2);
  c.require_dtype(0, DTypeSet::Float);
  c.require_rank(0, 2);
  c.require_rank(1, 3);
  c.require_rank(2, 3);
  const Dims &start = c.operand(0).dims, &x = c.operand(1).dims, &y = c.operand(2).dims;
  c.require_equal(x[0], y[0], "the numbers of steps");
  c.require_equal(x[1], y[1], "the axes that are summed over");
  c.require_equal(start[0], x[2], "the rows");
  c.require_equal(start[1], y[2], "the columns");
  c.result(c.operand(0).dtype, start);
}

void reference_add_products(ReferenceContext& c) {
  const Literal &start = c.operands[0], &x = c.operands[1], &y = c.operands[2];
  Literal& out = c.results[0];
  const int64_t steps = x.dims()[0], terms = x.dims()[1], m = x.dims()[2], n = y.dims()[2];
  const bool wide = x.dtype() == DType::F64, reverse = c.attrs.get(kReverse);
  Literal product = Literal::allocate(x.dtype(), {});  // rounds
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      const int64_t at = i * n + j;
      copy_element(out, at, start, at);
      for (int64_t t = 0; t < steps; ++t) {
        const int64_t first = (reverse ? steps - 1 - t : t) * terms;
        float sum32 = 0;
        double sum64 = 0;
        for (int64_t k = first; k < first + terms; ++k) {
          const double a = x.as_double(k * m + i), b = y.as_double(k * n + j);
          if (wide)
            sum64 = std::fma(a, b, sum64);
          else
            sum32 = std::fma(static_cast<float>(a), static_cast<float>(b), sum32);
        }
        set_real(product, 0, wide ? sum64 : sum32);
        const double a = out.as_double(at), b = product.as_double(0);
        set_real(out, at, wide ? a + b : static_cast<float>(a) + static_cast<float>(b));
      }
    }
}

// A block has some rows. Of some steps at a time, the block's part of lhs and a strip of columns of rhs are
// copied to lie side by side; then tiles of running totals go through the steps, each with the sums of a step
// beside it.
class AddProducts {
 public:
  explicit AddProducts(NestContext& c)
      : c_(c),
        b_(*c.build),
        type_(wide_type(c.node->result()->type().dtype)),
        lanes_(c.registers().bytes / static_cast<int>(size_of(type_))),
        width_(2 * lanes_),
        terms_dim_(c.node->operand(1)->type().dims[1]),
        at_once_(terms_dim_.is_constant()
                     ? std::max<int64_t>(1, kTerms / std::max<int64_t>(1, terms_dim_.constant()))
                     : 1) {}

  void run() {
    const Dims& dims = c_.node->result()->type().dims;
    c_.set_blocks(floordiv(dims[0] + (kRows - 1), Dim(kRows)));
    rows_ = c_.size(dims[0]), columns_ = c_.size(dims[1]), terms_ = c_.size(terms_dim_);
    steps_ = c_.size(c_.node->operand(1)->type().dims[0]);
    lhs_ = b_.add_scratch(type_, terms_dim_ * Dim(at_once_ * kRows), "lhs");
    rhs_ = b_.add_scratch(type_, terms_dim_ * Dim(at_once_ * width_), "rhs");
    row0_ = b_.let(b_.block() * b_.index(kRows));
    height_ = b_.let(lesser(rows_ - row0_, b_.index(kRows)));
    // Without a step the start is still to be written.
    Expr times = b_.let(greater((steps_ + b_.index(at_once_ - 1)) / b_.index(at_once_), b_.index(1)));
    b_.serial_for(b_.index(0), times, [&](Expr time) {
      first_ = b_.let(time * b_.index(at_once_));
      count_ = b_.let(lesser(steps_ - first_, b_.index(at_once_)));
      copy(1, lhs_, kRows, row0_, height_);
      b_.serial_for(b_.index(0), (columns_ + b_.index(width_ - 1)) / b_.index(width_), [&](Expr strip) {
        Expr column0 = b_.let(strip * b_.index(width_));
        Expr wide = b_.let(lesser(columns_ - column0, b_.index(width_)));
        copy(2, rhs_, width_, column0, wide);
        b_.serial_for(b_.index(0), (height_ + b_.index(kTile - 1)) / b_.index(kTile), [&](Expr tile) {
          totals(time == b_.index(0), b_.let(tile * b_.index(kTile)), column0, wide);
        });
      });
    });
  }

 private:
  static constexpr int64_t kTile = 6, kRows = 8 * kTile;  // rows of a tile, and of a block
  static constexpr int64_t kTerms = 512;                  // of some steps together

  Expr step(Expr t) const {
    return c_.node->attrs().get(kReverse) ? steps_ - b_.index(1) - (first_ + t) : first_ + t;
  }
  // Some of an operand's last axis, of all steps and terms: [step][term][room].
  void copy(size_t operand, uint32_t to, int64_t room, Expr begin, Expr count) {
    b_.serial_for(b_.index(0), count_, [&](Expr t) {
      Expr from = b_.let(step(t));
      b_.serial_for(b_.index(0), terms_, [&](Expr k) {
        Expr at = b_.let((t * terms_ + k) * b_.index(room));
        b_.vector_for(b_.index(0), count, lanes_, [&](Expr i) {
          const Expr index[] = {from, k, begin + i};
          b_.store(to, at + i, widen(c_.at(operand, index)));
        });
      });
    });
  }
  // 16-bit floats are rounded whenever they are a value.
  Expr rounded(Expr value) const {
    const DType dtype = c_.node->result()->type().dtype;
    return dtype == type_ ? value : widen(narrow(value, dtype));
  }

  bool one_term() const { return terms_dim_ == Dim(int64_t{1}); }
  Expr zero() const { return b_.constant(type_, 0); }
  // Where a step's sum is a single product, -0 stands for what would be +0, 0 + -0. That shows only in a
  // total of -0, which there is none of behind the first step.
  Expr begun(Expr start) const {
    return one_term() ? select(steps_ > b_.index(0), start + zero(), start) : start;
  }
  Expr left(Expr k, Expr row) const { return b_.load(lhs_, k * b_.index(kRows) + row); }
  Expr right(Expr k, Expr j) const { return b_.let(b_.load(rhs_, k * b_.index(width_) + j)); }

  void add_products(Expr t, Expr row, Expr j, const std::vector<uint32_t>& total) const {
    Expr y = right(t, j);
    for (int64_t i = 0; i < kTile; ++i) {
      const uint32_t to = total[static_cast<size_t>(i)];
      b_.assign(to, rounded(b_.read(to) + rounded(left(t, row + b_.index(i)) * y)));
    }
  }
  void add_sums(Expr t, Expr row, Expr j, const std::vector<uint32_t>& sum,
                const std::vector<uint32_t>& total) const {
    for (uint32_t s : sum) b_.assign(s, zero());
    Expr first = b_.let(t * terms_);
    auto term = [&](Expr k) {
      Expr y = right(first + k, j);
      for (int64_t i = 0; i < kTile; ++i) {
        const uint32_t to = sum[static_cast<size_t>(i)];
        b_.assign(to, fma(left(first + k, row + b_.index(i)), y, b_.read(to)));
      }
    };
    constexpr int64_t kShort = 8;
    if (terms_dim_.is_constant() && terms_dim_.constant() <= kShort)
      b_.unrolled(0, terms_dim_.constant(), term);
    else
      b_.serial_for(b_.index(0), terms_, term);
    for (size_t i = 0; i < sum.size(); ++i)
      b_.assign(total[i], rounded(b_.read(total[i]) + rounded(b_.read(sum[i]))));
  }

  void totals(Expr is_first, Expr row, Expr column0, Expr wide) {
    b_.vector_for(b_.index(0), wide, static_cast<int>(width_), [&](Expr j) {
      std::vector<uint32_t> total, sum;
      for (int64_t i = 0; i < kTile; ++i) {
        total.push_back(b_.local(type_, static_cast<int>(width_), 1, "total", true));
        sum.push_back(b_.local(type_, static_cast<int>(width_), 1, "sum", true));
      }
      // Rows behind the last one repeat it; they are not stored.
      auto row_of = [&](int64_t i) {
        return b_.let(row0_ + lesser(row + b_.index(i), height_ - b_.index(1)));
      };
      auto place = [&](Expr r) { return r * columns_ + column0 + j; };
      b_.if_then(
          is_first,
          [&] {
            for (int64_t i = 0; i < kTile; ++i) {
              const Expr index[] = {row_of(i), column0 + j};
              b_.assign(total[static_cast<size_t>(i)], begun(b_.let(widen(c_.at(0, index)))));
            }
          },
          [&] {
            for (int64_t i = 0; i < kTile; ++i)
              b_.assign(total[static_cast<size_t>(i)], widen(b_.load(c_.results[0], place(row_of(i)))));
          });
      if (one_term())
        b_.serial_for(b_.index(0), count_, [&](Expr t) { add_products(t, row, j, total); });
      else
        b_.serial_for(b_.index(0), count_, [&](Expr t) { add_sums(t, row, j, sum, total); });
      for (int64_t i = 0; i < kTile; ++i)
        b_.if_then(row + b_.index(i) < height_, [&] {
          b_.store(c_.results[0], place(row0_ + row + b_.index(i)),
                   narrow(b_.read(total[static_cast<size_t>(i)]), c_.node->result()->type().dtype));
        });
    });
  }

  NestContext& c_;
  loop::Builder& b_;
  DType type_;
  int lanes_;
  int64_t width_;  // columns of a strip
  Dim terms_dim_;
  int64_t at_once_;  // steps
  uint32_t lhs_ = 0, rhs_ = 0;
  Expr rows_, columns_, terms_, steps_, row0_, height_, first_, count_;
};

void nest_add_products(NestContext& c) { AddProducts(c).run(); }
bool takes_start(const Node*, size_t operand) { return operand == 0; }

std::vector<Value> jvp_add_products(JvpContext& c) {
  Value out = c.tangents[0];
  for (size_t i : {size_t{1}, size_t{2}}) {
    if (!c.tangents[i]) continue;
    std::vector<Value> operands(c.operands.begin(), c.operands.end());
    operands[0] = out ? out : c.build.full_like(operands[0], 0);
    operands[i] = c.tangents[i];
    out = c.build.node(op_of(c.node), operands, c.node->attrs())->result();
  }
  return {out};
}

std::vector<Value> transpose_add_products(TransposeContext& c) {
  std::vector<Value> out(3, nullptr);
  Value ct = c.cotangents[0];
  if (!ct) return out;
  if (c.linear[0]) out[0] = ct;
  for (size_t i : {size_t{1}, size_t{2}})
    if (c.linear[i])
      out[i] = c.build("dot_general", {c.operands[3 - i], ct},
                       {kLhsContract % Ints{2}, kRhsContract % Ints{i == 1 ? 1 : 0}});
  return out;
}

}  // namespace

Value add_products(Builder& build, Value start, Value lhs, Value rhs, bool reverse) {
  return build("add_products", {start, lhs, rhs}, {kReverse % reverse});
}

std::vector<Op> step_product_ops() {
  LowerRule lower = LowerRule::of_nest(nest_add_products);
  lower.takes = takes_start;
  std::vector<Op> ops;
  ops.push_back(
      {.decl = {.name = "add_products",
                .python = "",
                .doc =
                    "The start, and added to it, one step after the other, the sum over k of lhs[t, k, m] * "
                    "rhs[t, k, n].\nThe sum of a step is one chain of fused multiply-adds from 0 on, as "
                    "dot_general's. 16-bit floats are summed in float32 and rounded in every step.",
                .operands = {{"start", "The totals to begin with: [m, n]."},
                             {"lhs", "The left factors: [t, k, m]."},
                             {"rhs", "The right factors: [t, k, n]."}},
                .attrs = {kReverse},
                .dtypes = DTypeSet::Float,
                .front = Front::None,
                .numpy = "(start.astype('f8') + np.einsum('tkm,tkn->mn', lhs.astype('f8'), "
                         "rhs.astype('f8'))).astype(start.dtype)",
                .samples = {{"T[3, 5], T[2, 4, 3], T[2, 4, 5]", "{reverse = true}", -1, 1},
                            {"T[7, 17], T[3, 1, 7], T[3, 1, 17]", "{reverse = true}", -1, 1},
                            {"T[50, 33], T[2, 2, 50], T[2, 2, 33]", "{}", -1, 1},
                            {"T[1, 1], T[5, 3, 1], T[5, 3, 1]", "{}", -1, 1},
                            {"T[6, 16], T[3, 300, 6], T[3, 300, 16]", "{reverse = true}", -0.1, 0.1},
                            {"T[3, 5], T[0, 4, 3], T[0, 4, 5]", "{}", -1, 1},
                            {"T[3, 5], T[2, 0, 3], T[2, 0, 5]", "{}", -1, 1},
                            {"T[0, 5], T[2, 4, 0], T[2, 4, 5]", "{}", -1, 1}},
                .bad_samples = {{"f32[3, 5], f32[2, 4, 3], f32[2, 4, 6]", "{}",
                                 "ShapeError: add_products: the columns: 5 and 6 differ"},
                                {"f32[3, 5], f32[2, 4, 3], f64[2, 4, 5]", "{}",
                                 "TypeError: add_products: start is float32, but rhs is float64"}},
                .ulp = 64},
       .rules = {.infer = infer_add_products,
                 .reference = reference_add_products,
                 .lower = lower,
                 .simplify = no_rule("nothing is simpler"),
                 .jvp = jvp_add_products,
                 .transpose = transpose_add_products,
                 .batch = batch_by_loop,
                 .body = no_body()}});
  return ops;
}

}  // namespace ig::ops
