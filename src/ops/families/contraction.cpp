// dot_general: sums of products over the contracted axes; every matrix product is one. StableHLO's dimension
// numbers. The point rule here is the definition as a loop, right for all shapes; the blocked kernels that
// codegen has for Trait::Contraction sum in the same order.
#include "ops/contraction.h"

#include <algorithm>
#include <cmath>

#include "ops/families/array_tools.h"
#include "ops/families/compose.h"
#include "ops/families/derivative_rules.h"
#include "ops/families/families.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::ops {

std::vector<Op> convolution_ops();    // convolution.cpp
std::vector<Op> matmul_composites();  // products.cpp
std::vector<Op> step_product_ops();   // step_products.cpp
std::vector<Op> einsum_composites();  // einsum.cpp

DType accumulating_type(DType operand, DType accumulate) {
  if (!is_float(operand)) return operand;
  return info(operand).bits >= info(accumulate).bits ? operand : accumulate;
}

bool reads_pieces(const Node* contraction) { return !contraction->attrs().find(kConvLayout.name); }

bool is_small_product(const Node* dot) {
  constexpr int64_t kMostResults = 64, kMostTerms = 64;
  const Dims &x = dot->operand(0)->type().dims, &y = dot->operand(1)->type().dims;
  DotDims d(dot->attrs(), static_cast<int>(x.size()), static_cast<int>(y.size()));
  Dim results = int64_t{1}, terms = int64_t{1};
  for (int64_t axis : d.lhs_free) results = results * x[static_cast<size_t>(axis)];
  for (int64_t axis : d.rhs_free) results = results * y[static_cast<size_t>(axis)];
  for (int64_t axis : d.lhs_contract) terms = terms * x[static_cast<size_t>(axis)];
  return results.is_constant() && terms.is_constant() && results.constant() <= kMostResults &&
         terms.constant() <= kMostTerms && terms.constant() > 0;
}

bool batch_lies_last(const Node* node) {
  if (!node->attrs().find(kLhsContract.name) || node->operands().size() != 2) return false;
  const Ints &left = node->attrs().get(kLhsBatch), &right = node->attrs().get(kRhsBatch);
  return left.size() == 1 && right.size() == 1 && left[0] + 1 == node->operand(0)->type().rank() &&
         right[0] + 1 == node->operand(1)->type().rank() && is_small_product(node);
}

int64_t ProductParts::part_of(const Node* slice) const {
  return slice->attrs().get(kStart).back().constant() / width;
}

std::optional<ProductParts> parts_of_product(Node* dot) {
  constexpr int64_t kMostParts = 8;
  constexpr size_t kMostMembers = 64;  // so that a long chain behind a product is not walked to its end
  if (!dot->attrs().find(kLhsContract.name)) return std::nullopt;
  const Type& right = dot->operand(1)->type();
  const Dims& dims = dot->result()->type().dims;
  const auto columns = static_cast<size_t>(right.rank()) - dot->attrs().get(kRhsBatch).size() -
                       dot->attrs().get(kRhsContract).size();
  if (columns != 1 || !dims.back().is_constant()) return std::nullopt;
  ProductParts out;
  auto takes_part = [&](const Node* slice) {
    const Dims& taken = slice->result()->type().dims;
    if (!taken.back().is_constant() || !slice->attrs().get(kStart).back().is_constant()) return false;
    const int64_t width = taken.back().constant();
    if (out.slices.empty()) out.width = width;
    return width > 0 && width == out.width && slice->attrs().get(kStart).back().constant() % width == 0 &&
           std::equal(dims.begin(), dims.end() - 1, taken.begin(), taken.end() - 1) &&
           std::ranges::all_of(slice->attrs().get(kSliceStrides), [](int64_t step) { return step == 1; });
  };
  out.members.push_back(dot);
  for (size_t i = 0; i < out.members.size(); ++i) {
    if (i == kMostMembers) return std::nullopt;
    for (const Use& use : out.members[i]->result()->uses()) {
      Node* user = use.user;
      if (user->attrs().find(kLimit.name) && has(user, Trait::View)) {
        if (!takes_part(user)) return std::nullopt;
        out.slices.push_back(user);
      } else if (user->results().size() != 1 || user == user->block()->terminator() ||
                 !has(user, Trait::Elementwise)) {
        return std::nullopt;
      } else if (std::ranges::find(out.members, user) == out.members.end()) {
        out.members.push_back(user);
      }
    }
  }
  if (out.slices.empty() || dims.back().constant() % out.width != 0) return std::nullopt;
  out.count = dims.back().constant() / out.width;
  return out.count > 1 && out.count <= kMostParts ? std::optional(std::move(out)) : std::nullopt;
}

DotDims::DotDims(const Attrs& attrs, int lhs_rank, int rhs_rank)
    : lhs_batch(attrs.get(kLhsBatch)),
      rhs_batch(attrs.get(kRhsBatch)),
      lhs_contract(attrs.get(kLhsContract)),
      rhs_contract(attrs.get(kRhsContract)) {
  for (int64_t i = 0; i < lhs_rank; ++i)
    if (!tools::contains_axis(lhs_batch, i) && !tools::contains_axis(lhs_contract, i)) lhs_free.push_back(i);
  for (int64_t i = 0; i < rhs_rank; ++i)
    if (!tools::contains_axis(rhs_batch, i) && !tools::contains_axis(rhs_contract, i)) rhs_free.push_back(i);
}

namespace {

using namespace tools;
using loop::Expr;

const Dim& at(const Dims& dims, int64_t axis) { return dims[static_cast<size_t>(axis)]; }

Ints joined(const Ints& a, const Ints& b) {
  Ints out = a;
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

void infer_dot(InferContext& c) {
  const Type &x = c.operand(0), &y = c.operand(1);
  c.require_same_dtype(0, 1);
  c.require_dtype(0, DTypeSet::Numeric);
  DType accumulate = c.get(kAccumulate);
  if (accumulate != DType::F32 && accumulate != DType::F64)
    c.fail(ErrorKind::Value,
           fmt::format("accumulate is {}, but sums are kept in f32 or f64", name(accumulate)),
           "the sums have a type of their own, of at least 32 bits", "say accumulate = f32 or f64");
  DotDims d(c.attrs, x.rank(), y.rank());
  require_count(c, d.rhs_batch.size(), d.lhs_batch.size(), "rhs_batching_dimensions");
  require_count(c, d.rhs_contract.size(), d.lhs_contract.size(), "rhs_contracting_dimensions");
  require_axes(c, joined(d.lhs_batch, d.lhs_contract), x.rank(),
               "lhs_batching_dimensions with lhs_contracting_dimensions");
  require_axes(c, joined(d.rhs_batch, d.rhs_contract), y.rank(),
               "rhs_batching_dimensions with rhs_contracting_dimensions");
  Dims dims;
  for (size_t i = 0; i < d.lhs_batch.size(); ++i) {
    c.require_equal(at(x.dims, d.lhs_batch[i]), at(y.dims, d.rhs_batch[i]), "the batch axes");
    dims.push_back(at(x.dims, d.lhs_batch[i]));
  }
  for (size_t i = 0; i < d.lhs_contract.size(); ++i)
    c.require_equal(at(x.dims, d.lhs_contract[i]), at(y.dims, d.rhs_contract[i]), "the contracted axes");
  for (int64_t axis : d.lhs_free) dims.push_back(at(x.dims, axis));
  for (int64_t axis : d.rhs_free) dims.push_back(at(y.dims, axis));
  c.result(x.dtype, dims);
}

// Where the operands' batch and free axes stand in the result's index; the contracted ones stay as they are.
template <typename T>
void place(const DotDims& d, const std::vector<T>& index, std::vector<T>& x, std::vector<T>& y) {
  size_t next = 0;
  for (size_t i = 0; i < d.lhs_batch.size(); ++i, ++next) {
    x[static_cast<size_t>(d.lhs_batch[i])] = index[next];
    y[static_cast<size_t>(d.rhs_batch[i])] = index[next];
  }
  for (int64_t axis : d.lhs_free) x[static_cast<size_t>(axis)] = index[next++];
  for (int64_t axis : d.rhs_free) y[static_cast<size_t>(axis)] = index[next++];
}

// The parts of a complex array, as an array of reals.
Literal part_of_literal(const Literal& z, bool imaginary) {
  Literal out = Literal::allocate(part_of(z.dtype()), z.dims());
  for (int64_t i = 0, n = z.elements(); i < n; ++i)
    set_real(out, i, imaginary ? z.as_complex(i).imag() : z.as_complex(i).real());
  return out;
}

// Where no axis of either side is free, no element is read twice: a product and a fold, which has the order
// of folds, many sums at a time instead of one chain, and fuses as folds do. That order is of the terms as
// the attributes list them, however the operands lie: a transposition may become part of the attributes.
bool is_product_and_sum(const DotDims& d) { return d.lhs_free.empty() && d.rhs_free.empty(); }

Value product_and_sum(Builder& build, Value x, Value y, const DotDims& d, DType accumulate) {
  Compose m(build);
  const DType result = x->type().dtype, wide = accumulating_type(result, accumulate);
  // The second with the axes of the first, in its order.
  const Ints axes = joined(d.lhs_batch, d.lhs_contract), others = joined(d.rhs_batch, d.rhs_contract);
  Ints alike(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) alike[static_cast<size_t>(axes[i])] = others[i];
  Value sum = m.mul(build.convert(x, wide), build.convert(build.transpose(y, alike), wide));
  sum = build.transpose(sum, axes);
  const auto batch = static_cast<int64_t>(d.lhs_batch.size()),
             terms = static_cast<int64_t>(d.lhs_contract.size());
  if (terms > 0) sum = m.sum(sum, iota(terms, batch));
  return build.convert(sum, result);
}

}  // namespace

// The product is exact in the type of the sum where that is wider, so it is rounded once either way.
Value as_multiplication(Builder& build, const Node* dot) {
  Value x = dot->operand(0), y = dot->operand(1);
  const Type& type = dot->result()->type();
  if (is_complex(type.dtype)) return nullptr;
  const DotDims d(dot->attrs(), x->type().rank(), y->type().rank());
  for (int64_t axis : d.lhs_contract)
    if (at(x->type().dims, axis) != 1) return nullptr;
  // The operand with the result's axes: those of the batch, then its own from `first` on.
  auto spread = [&](Value v, const Ints& batch, const Ints& free, int64_t first) {
    const Ints axes = joined(batch, free);
    Dims dims;
    for (int64_t axis : axes) dims.push_back(at(v->type().dims, axis));
    Ints order = axes;  // and behind them those of one element
    for (int64_t axis = 0; axis < v->type().rank(); ++axis)
      if (!tools::contains_axis(axes, axis)) order.push_back(axis);
    const Ints places =
        joined(iota(static_cast<int64_t>(batch.size())), iota(static_cast<int64_t>(free.size()), first));
    return build.broadcast(build.reshape(build.transpose(v, order), dims), type.dims, places);
  };
  const auto batch = static_cast<int64_t>(d.lhs_batch.size()), left = static_cast<int64_t>(d.lhs_free.size());
  Value one = spread(x, d.lhs_batch, d.lhs_free, batch);
  Value other = spread(y, d.rhs_batch, d.rhs_free, batch + left);
  return build(is_float(type.dtype) ? "product_term" : "multiply", {one, other});
}

namespace {

void reference_dot(ReferenceContext& c);
// Four products of the parts, each a chain of its own, as complex_dot_body has them.
void reference_complex_dot(ReferenceContext& c) {
  const Literal &x = c.operands[0], &y = c.operands[1];
  auto product = [&](bool left, bool right) {
    Literal operands[] = {part_of_literal(x, left), part_of_literal(y, right)};
    Literal result = Literal::allocate(part_of(x.dtype()), c.results[0].dims());
    ReferenceContext inner{c.attrs, operands, std::span(&result, 1)};
    reference_dot(inner);
    return result;
  };
  Literal rr = product(false, false), ii = product(true, true), ri = product(false, true),
          ir = product(true, false);
  for (int64_t i = 0, n = c.results[0].elements(); i < n; ++i)
    set_complex(c.results[0], i, rr.as_double(i) - ii.as_double(i), ri.as_double(i) + ir.as_double(i));
}

void reference_dot(ReferenceContext& c) {
  const Literal &x = c.operands[0], &y = c.operands[1];
  DotDims d(c.attrs, static_cast<int>(x.dims().size()), static_cast<int>(y.dims().size()));
  if (is_product_and_sum(d)) {
    Graph graph("dot");
    Value args[] = {graph.body().add_arg(x.type()), graph.body().add_arg(y.type())};
    Builder build(graph.body());
    graph.body().set_results({product_and_sum(build, args[0], args[1], d, c.attrs.get(kAccumulate))});
    c.results[0] = evaluate(graph, c.operands)[0];
    return;
  }
  if (is_complex(x.dtype())) return reference_complex_dot(c);
  DType sum_type = accumulating_type(x.dtype(), c.attrs.get(kAccumulate));
  std::vector<int64_t> summed;
  for (int64_t axis : d.lhs_contract) summed.push_back(x.dims()[static_cast<size_t>(axis)]);
  each_index(c.results[0].dims(), [&](const Index& index, int64_t flat) {
    Index i(x.dims().size()), j(y.dims().size());
    place(d, index, i, j);
    float sum32 = 0;
    double sum64 = 0;
    uint64_t whole = 0;
    each_index(summed, [&](const Index& k, int64_t) {
      for (size_t n = 0; n < k.size(); ++n) {
        i[static_cast<size_t>(d.lhs_contract[n])] = k[n];
        j[static_cast<size_t>(d.rhs_contract[n])] = k[n];
      }
      int64_t p = flat_of(x.dims(), i), q = flat_of(y.dims(), j);
      if (sum_type == DType::F32)
        sum32 = std::fma(static_cast<float>(x.as_double(p)), static_cast<float>(y.as_double(q)), sum32);
      else if (sum_type == DType::F64)
        sum64 = std::fma(x.as_double(p), y.as_double(q), sum64);
      else
        whole += static_cast<uint64_t>(x.as_int(p)) * static_cast<uint64_t>(y.as_int(q));
    });
    if (!is_float(x.dtype()))
      set_whole(c.results[0], flat, static_cast<int64_t>(whole));
    else
      set_real(c.results[0], flat, sum_type == DType::F32 ? sum32 : sum64);
  });
}

// A complex product is four real ones, which the kernels of real numbers compute; real operands stay whole,
// and so does what is a product and a sum.
std::vector<Value> complex_dot_body(BodyContext& c) {
  Value x = c.operands[0], y = c.operands[1];
  if (!is_complex(x->type().dtype)) return {};
  if (is_product_and_sum(DotDims(c.attrs, x->type().rank(), y->type().rank()))) return {};
  auto part = [&](Value v, bool imaginary) { return c.build(imaginary ? "imag" : "real", {v}); };
  auto product = [&](bool left, bool right) {
    return c.build(
        "dot_general", {part(x, left), part(y, right)},
        {kLhsBatch % c.get(kLhsBatch), kRhsBatch % c.get(kRhsBatch), kLhsContract % c.get(kLhsContract),
         kRhsContract % c.get(kRhsContract), kAccumulate % c.get(kAccumulate)});
  };
  return {c.build("complex", {c.build("subtract", {product(false, false), product(true, true)}),
                              c.build("add", {product(false, true), product(true, false)})})};
}

Expr point_dot(PointContext& c) {
  const Type &x = c.operand_type(0), &y = c.operand_type(1);
  loop::Builder& build = *c.build;
  DotDims d(c.node->attrs(), x.rank(), y.rank());
  DType sum_type = accumulating_type(x.dtype, c.node->attrs().get(kAccumulate));
  std::vector<Expr> i(x.dims.size()), j(y.dims.size());
  place(d, c.index, i, j);
  auto product_sum = [&](Expr sum) {
    Expr a = narrow(c.at(0, i), sum_type), b = narrow(c.at(1, j), sum_type);
    return is_float(sum_type) ? fma(a, b, sum) : sum + a * b;
  };
  // One loop for each contracted axis, the first outermost.
  std::function<Expr(size_t, Expr)> level = [&](size_t n, Expr sum) -> Expr {
    if (n == d.lhs_contract.size()) return product_sum(sum);
    return c.fold(c.size(at(x.dims, d.lhs_contract[n])), sum, [&](Expr k, Expr inner) {
      i[static_cast<size_t>(d.lhs_contract[n])] = k;
      j[static_cast<size_t>(d.rhs_contract[n])] = k;
      return level(n + 1, inner);
    });
  };
  return narrow(level(0, build.constant(sum_type, 0)), c.node->result()->type().dtype);
}

Value simplify_dot(SimplifyContext& c) {
  const Type &x = c.node->operand(0)->type(), &y = c.node->operand(1)->type();
  for (int64_t axis : c.node->attrs().get(kLhsContract))
    if (at(x.dims, axis) == 0) return c.build.full(c.node->result()->type(), 0);
  const DotDims d(c.node->attrs(), x.rank(), y.rank());
  if (!is_product_and_sum(d)) return nullptr;
  return product_and_sum(c.build, c.node->operand(0), c.node->operand(1), d,
                         c.node->attrs().get(kAccumulate));
}

std::vector<Value> jvp_dot(JvpContext& c) {
  Value sum = nullptr;
  for (size_t i = 0; i < 2; ++i) {
    if (!c.tangents[i]) continue;
    std::vector<Value> operands(c.operands.begin(), c.operands.end());
    operands[i] = c.tangents[i];
    Value part = c.build.node(op_of(c.node), operands, c.node->attrs())->result();
    sum = sum ? c.build("add", {sum, part}) : part;
  }
  return {sum};
}

// The cotangent of one operand is the product of the result's with the other operand, over the other's free
// axes; then its axes go back to where the operand has them.
Value transpose_side(TransposeContext& c, const DotDims& d, bool left) {
  Value ct = c.cotangents[0], other = c.operands[left ? 1 : 0];
  const Ints& my_batch = left ? d.lhs_batch : d.rhs_batch;
  const Ints& my_free = left ? d.lhs_free : d.rhs_free;
  const Ints& my_contract = left ? d.lhs_contract : d.rhs_contract;
  const Ints& other_batch = left ? d.rhs_batch : d.lhs_batch;
  const Ints& other_free = left ? d.rhs_free : d.lhs_free;
  const Ints& other_contract = left ? d.rhs_contract : d.lhs_contract;
  auto batch = static_cast<int64_t>(my_batch.size());
  int64_t other_at = left ? batch + static_cast<int64_t>(my_free.size()) : batch;
  Ints ct_batch = iota(batch), ct_contract = iota(static_cast<int64_t>(other_free.size()), other_at);
  Value product = c.build("dot_general", {ct, other},
                          {kLhsBatch % ct_batch, kRhsBatch % other_batch, kLhsContract % ct_contract,
                           kRhsContract % other_free, kAccumulate % c.node->attrs().get(kAccumulate)});
  // The product's axes: batch, my free axes, then my contracted ones in the order in which the other has its
  // own.
  std::vector<size_t> order(other_contract.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::sort(order.begin(), order.end(),
            [&](size_t a, size_t b) { return other_contract[a] < other_contract[b]; });
  Ints axes = joined(my_batch, my_free);
  for (size_t i : order) axes.push_back(my_contract[i]);
  Ints permutation(axes.size());
  for (size_t i = 0; i < axes.size(); ++i)
    permutation[static_cast<size_t>(axes[i])] = static_cast<int64_t>(i);
  return c.build.transpose(product, permutation);
}

std::vector<Value> transpose_dot(TransposeContext& c) {
  std::vector<Value> out(2, nullptr);
  if (!c.cotangents[0]) return out;
  require_one_linear(c);
  DotDims d(c.node->attrs(), c.node->operand(0)->type().rank(), c.node->operand(1)->type().rank());
  for (size_t i = 0; i < 2; ++i)
    if (c.linear[i]) out[i] = transpose_side(c, d, i == 0);
  return out;
}

Ints shifted(const Ints& axes) {
  Ints out;
  for (int64_t axis : axes) out.push_back(axis + 1);
  return out;
}

Batched batch_dot(BatchContext& c) {
  const Attrs& a = c.node->attrs();
  Ints lb = a.get(kLhsBatch), rb = a.get(kRhsBatch), lc = a.get(kLhsContract), rc = a.get(kRhsContract);
  const DotDims d(a, c.node->operand(0)->type().rank(), c.node->operand(1)->type().rank());
  Value sides[] = {c.operands[0], c.operands[1]};
  int axes[] = {c.axes[0], c.axes[1]};
  // A product without free axes stays one, for its order of summation.
  for (size_t i = 0; i < 2 && is_product_and_sum(d); ++i) {
    if (axes[i] >= 0) continue;
    Dims dims = sides[i]->type().dims;
    const Ints own = iota(static_cast<int64_t>(dims.size()), 1);
    dims.insert(dims.begin(), c.size);
    sides[i] = c.build.broadcast(sides[i], dims, own);
    axes[i] = 0;
  }
  auto [x, y] = sides;
  bool left = axes[0] >= 0, right = axes[1] >= 0;
  if (left) x = batch_to_front(c.build, x, axes[0]), lb = shifted(lb), lc = shifted(lc);
  if (right) y = batch_to_front(c.build, y, axes[1]), rb = shifted(rb), rc = shifted(rc);
  int axis = 0;
  if (left && right) {
    lb.insert(lb.begin(), 0);
    rb.insert(rb.begin(), 0);
  } else if (left) {
    axis = static_cast<int>(lb.size());  // the first of the left operand's free axes
  } else {
    axis = x->type().rank() - static_cast<int>(lc.size());  // the first of the right operand's
  }
  Value out = c.build("dot_general", {x, y},
                      {kLhsBatch % lb, kRhsBatch % rb, kLhsContract % lc, kRhsContract % rc,
                       kAccumulate % a.get(kAccumulate)});
  return {{out}, {axis}};
}

Op dot_general_op() {
  return {
      .decl =
          {.name = "dot_general",
           .python = "dot_general",
           .doc =
               "Sums of products over the contracted axes, for each pair of batch entries; the result has "
               "the batch axes, then the left operand's free axes, then the right's.\nEach element is one "
               "chain of fused multiply-adds over the contracted axes, the first slowest, from +0; without "
               "free axes on either side it is the sum of the products in the order of sums. 16-bit "
               "floats are summed in float32 and rounded once; integers wrap; complex products are four "
               "real ones of "
               "the parts, without a conjugate. StableHLO.",
           .operands = {{"x", "The left array."}, {"y", "The right array, of the same type."}},
           .attrs = {kLhsBatch, kRhsBatch, kLhsContract, kRhsContract, kAccumulate},
           .dtypes = DTypeSet::Numeric,
           .traits = Trait::Contraction | Trait::Product,
           .numpy = "(lambda lb, rb, lc, rc: np.einsum(x, [lb.index(i) if i in lb else 8 + lc.index(i) if i "
                    "in lc else 16 + i for i in range(x.ndim)], y, [rb.index(i) if i in rb else 8 + "
                    "rc.index(i) if i in rc else 24 + i for i in range(y.ndim)], list(range(len(lb))) + [16 "
                    "+ i for i in range(x.ndim) if i not in lb + lc] + [24 + i for i in range(y.ndim) if i "
                    "not in rb + rc]))(list(lhs_batching_dimensions), list(rhs_batching_dimensions), "
                    "list(lhs_contracting_dimensions), "
                    "list(rhs_contracting_dimensions))",
           .example = "ig.dot_general(ig.asarray([[1.0, 2.0]]), ig.asarray([[3.0], [4.0]]), "
                      "lhs_contracting_dimensions=(1,), rhs_contracting_dimensions=(0,))",
           .samples =
               {{"T[3], T[3]", "{lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [0]}", -2, 2},
                {"T[2, 3], T[3, 4]", "{lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]}",
                 -2, 2},
                {"T[3, 2], T[4, 3]", "{lhs_contracting_dimensions = [0], rhs_contracting_dimensions = [1]}",
                 -2, 2},
                {"T[2, 3, 4], T[2, 4, 5]",
                 "{lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], lhs_contracting_dimensions "
                 "= [2], rhs_contracting_dimensions = "
                 "[1]}",
                 -2, 2},
                {"T[2, 3, 4], T[4, 3]",
                 "{lhs_contracting_dimensions = [1, 2], rhs_contracting_dimensions = [1, 0]}", -2, 2},
                {"T[2, 2, 3, 4], T[2, 5, 2, 4]",
                 "{lhs_batching_dimensions = [0, 1], rhs_batching_dimensions = [0, 2], "
                 "lhs_contracting_dimensions = [3], "
                 "rhs_contracting_dimensions = [3]}",
                 -2, 2},
                {"T[2], T[3]", "{lhs_contracting_dimensions = [], rhs_contracting_dimensions = []}", -2, 2},
                {"T[], T[]", "{lhs_contracting_dimensions = [], rhs_contracting_dimensions = []}", -2, 2},
                {"T[2, 0], T[0, 3]", "{lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]}",
                 -2, 2},
                {"T[0, 2], T[2, 3]", "{lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]}",
                 -2, 2},
                {"T[1, 1], T[1, 1]", "{lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]}",
                 -2, 2},
                {"T[17, 33], T[33, 19]",
                 "{lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0]}", -1, 1},
                {"T[9, 20], T[20, 7]",
                 "{lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f64}", -1,
                 1}},
           .bad_samples =
               {{"T[2, 3], T[3, 4]", "{lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [0]}",
                 "IndexError: dot_general: lhs_batching_dimensions with lhs_contracting_dimensions holds 2, "
                 "but there "
                 "are 2 axes"},
                {"T[2, 3], T[3, 4]", "{lhs_contracting_dimensions = [1], rhs_contracting_dimensions = []}",
                 "ValueError: dot_general: rhs_contracting_dimensions has 0 entries, but 1 is needed"},
                {"T[2, 3], T[3, 4]",
                 "{lhs_contracting_dimensions = [1], rhs_contracting_dimensions = [0], accumulate = f16}",
                 "ValueError: dot_general: accumulate is f16, but sums are kept in f32 or f64"}}},
      .rules = {.infer = infer_dot,
                .reference = reference_dot,
                .lower = LowerRule::of_point(point_dot),
                .simplify = simplify_dot,
                .jvp = jvp_dot,
                .transpose = transpose_dot,
                .batch = batch_dot,
                .body = complex_dot_body},
      .id = {}};
}

}  // namespace

std::vector<Op> contraction_ops() {
  std::vector<Op> ops;
  ops.push_back(dot_general_op());
  for (Op& op : convolution_ops()) ops.push_back(std::move(op));
  for (Op& op : step_product_ops()) ops.push_back(std::move(op));
  for (Op& op : matmul_composites()) ops.push_back(std::move(op));
  for (Op& op : einsum_composites()) ops.push_back(std::move(op));
  return ops;
}

}  // namespace ig::ops
