// convolution, with StableHLO's windows, dilations and groups. The dimension numbers are one text,
// "bf01_oi01->bf01". The point rule is the definition as loops; codegen's own kernels for Trait::Contraction
// sum in the same order.
#include <algorithm>
#include <cmath>

#include "ops/contraction.h"
#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"
#include "ops/families/derivative_rules.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

// The position of each letter in one part of the layout; every letter must be there once.
void parse_part(std::string_view part, std::string_view letters, int spatial, std::string_view layout,
                std::initializer_list<int64_t*> named, Ints& space) {
  auto position = [&](char letter) {
    size_t at = part.find(letter);
    if (at == std::string_view::npos || part.find(letter, at + 1) != std::string_view::npos)
      throw make_error(ErrorKind::Value, "convolution: the layout \"{}\" needs one '{}' in \"{}\"", layout,
                       letter, part)
          .why("each axis has one letter: b batch, f features, o and i the kernel's, digits the space")
          .hint("write it as image_kernel->result, such as \"bf01_oi01->bf01\"");
    return static_cast<int64_t>(at);
  };
  size_t i = 0;
  for (int64_t* axis : named) *axis = position(letters[i++]);
  for (int d = 0; d < spatial; ++d) space.push_back(position(static_cast<char>('0' + d)));
}

Ints filled(const Ints& given, int count, int64_t value, std::string_view what) {
  if (given.empty()) return Ints(static_cast<size_t>(count), value);
  if (static_cast<int>(given.size()) != count)
    throw make_error(ErrorKind::Value, "convolution: {} has {} entr{}, but {} {} needed", what, given.size(),
                     given.size() == 1 ? "y" : "ies", count, count == 1 ? "is" : "are")
        .why("there is one for each spatial axis, and two of padding: before and behind")
        .hint(fmt::format("give {}, or none for the default", count));
  return given;
}

}  // namespace

ConvDims::ConvDims(const Attrs& attrs) {
  std::string_view layout = attrs.get(kConvLayout);
  size_t bar = layout.find('_'), arrow = layout.find("->");
  if (bar == std::string_view::npos || arrow == std::string_view::npos || bar > arrow || bar < 2 || bar > 11)
    throw make_error(ErrorKind::Value,
                     "convolution: the layout \"{}\" is not of the form image_kernel->result", layout)
        .why("it says where each axis of the image, the kernel and the result lies")
        .hint("write it such as \"bf01_oi01->bf01\"");
  std::string_view lhs = layout.substr(0, bar), rhs = layout.substr(bar + 1, arrow - bar - 1),
                   out = layout.substr(arrow + 2);
  if (rhs.size() != lhs.size() || out.size() != lhs.size())
    throw make_error(ErrorKind::Value, "convolution: the parts of the layout \"{}\" differ in length", layout)
        .why("image, kernel and result have the same number of axes")
        .hint("give each part a letter or digit an axis, such as \"bf01_oi01->bf01\"");
  spatial = static_cast<int>(lhs.size()) - 2;
  parse_part(lhs, "bf", spatial, layout, {&lhs_batch, &lhs_feature}, lhs_space);
  parse_part(rhs, "oi", spatial, layout, {&rhs_out, &rhs_in}, rhs_space);
  parse_part(out, "bf", spatial, layout, {&out_batch, &out_feature}, out_space);
  strides = filled(attrs.get(kConvStrides), spatial, 1, "strides");
  lhs_dilation = filled(attrs.get(kLhsDilation), spatial, 1, "lhs_dilation");
  rhs_dilation = filled(attrs.get(kRhsDilation), spatial, 1, "rhs_dilation");
  Ints padding = filled(attrs.get(kConvPadding), 2 * spatial, 0, "padding");
  for (size_t i = 0; i < padding.size(); i += 2) {
    low.push_back(padding[i]);
    high.push_back(padding[i + 1]);
  }
  feature_groups = attrs.get(kFeatureGroups);
  batch_groups = attrs.get(kBatchGroups);
  for (const Ints* list : {&strides, &lhs_dilation, &rhs_dilation})
    for (int64_t value : *list)
      if (value < 1)
        throw make_error(ErrorKind::Value, "convolution: strides and dilations are at least 1, not {}", value)
            .why("the kernel moves on by the stride, and its elements lie a dilation apart")
            .hint("use 1 for none");
  if (feature_groups < 1 || batch_groups < 1)
    throw make_error(ErrorKind::Value, "convolution: group counts are at least 1, not {}",
                     std::min(feature_groups, batch_groups))
        .why("features or batch are cut into so many groups")
        .hint("use 1 for no groups");
  if (feature_groups > 1 && batch_groups > 1)
    throw make_error(ErrorKind::Value, "convolution: either features or the batch fall into groups, not both")
        .why("a kernel belongs to one group")
        .hint("set one of the two counts to 1");
}

namespace {

using namespace tools;
using loop::Expr;

const Dim& at(const Dims& dims, int64_t axis) { return dims[static_cast<size_t>(axis)]; }

void infer_convolution(InferContext& c) {
  c.require_same_dtype(0, 1);
  c.require_dtype(0, DTypeSet::Real);
  DType accumulate = c.get(kAccumulate);
  if (accumulate != DType::F32 && accumulate != DType::F64)
    c.fail(ErrorKind::Value,
           fmt::format("accumulate is {}, but sums are kept in f32 or f64", name(accumulate)),
           "the sums have a type of their own, of at least 32 bits", "say accumulate = f32 or f64");
  ConvDims d(c.attrs);
  const Type &x = c.operand(0), &w = c.operand(1);
  c.require_rank(0, d.spatial + 2);
  c.require_rank(1, d.spatial + 2);
  c.require_equal(at(x.dims, d.lhs_feature), at(w.dims, d.rhs_in) * d.feature_groups,
                  "the features of the image and of the kernel");
  int64_t groups = std::max(d.feature_groups, d.batch_groups);
  if (groups > 1)
    c.require_equal(mod(at(w.dims, d.rhs_out), groups), Dim(int64_t{0}),
                    "the kernel's output features modulo the groups");
  if (d.batch_groups > 1)
    c.require_equal(mod(at(x.dims, d.lhs_batch), groups), Dim(int64_t{0}), "the batch modulo the groups");
  Dims dims(x.dims.size());
  dims[static_cast<size_t>(d.out_batch)] =
      d.batch_groups == 1 ? at(x.dims, d.lhs_batch) : floordiv(at(x.dims, d.lhs_batch), d.batch_groups);
  dims[static_cast<size_t>(d.out_feature)] = at(w.dims, d.rhs_out);
  for (size_t i = 0; i < d.strides.size(); ++i) {
    auto reach = [&](const Dim& size, int64_t dilation) {
      return size + gaps_between(c.scope, size, dilation - 1);
    };
    Dim size = reach(at(x.dims, d.lhs_space[i]), d.lhs_dilation[i]);
    Dim kernel = reach(at(w.dims, d.rhs_space[i]), d.rhs_dilation[i]);
    Dim room = size + d.low[i] + d.high[i] - kernel;
    if (room.is_constant() && room.constant() < 0) {
      dims[static_cast<size_t>(d.out_space[i])] = 0;
      continue;
    }
    c.require_less_equal(kernel, size + d.low[i] + d.high[i], "the kernel and the padded image");
    dims[static_cast<size_t>(d.out_space[i])] = (d.strides[i] == 1 ? room : floordiv(room, d.strides[i])) + 1;
  }
  c.result(x.dtype, dims);
}

void reference_convolution(ReferenceContext& c) {
  const Literal &x = c.operands[0], &w = c.operands[1];
  Literal& out = c.results[0];
  ConvDims d(c.attrs);
  DType sum_type = accumulating_type(x.dtype(), c.attrs.get(kAccumulate));
  auto size = [](const Literal& l, int64_t axis) { return l.dims()[static_cast<size_t>(axis)]; };
  int64_t inputs = size(w, d.rhs_in), outputs = size(w, d.rhs_out);
  std::vector<int64_t> taps;
  for (int64_t axis : d.rhs_space) taps.push_back(size(w, axis));
  each_index(out.dims(), [&](const Index& o, int64_t flat) {
    Index i(x.dims().size()), k(w.dims().size());
    int64_t feature = o[static_cast<size_t>(d.out_feature)], batch = o[static_cast<size_t>(d.out_batch)];
    int64_t first = feature / (outputs / d.feature_groups) * inputs;  // of the group's input features
    i[static_cast<size_t>(d.lhs_batch)] =
        batch + feature / (outputs / d.batch_groups) * size(out, d.out_batch);
    k[static_cast<size_t>(d.rhs_out)] = feature;
    float sum32 = 0;
    double sum64 = 0;
    uint64_t whole = 0;
    each_index(taps, [&](const Index& tap, int64_t) {
      for (size_t s = 0; s < tap.size(); ++s) {
        int64_t p =
            o[static_cast<size_t>(d.out_space[s])] * d.strides[s] + tap[s] * d.rhs_dilation[s] - d.low[s];
        if (p < 0 || p % d.lhs_dilation[s] != 0 || p / d.lhs_dilation[s] >= size(x, d.lhs_space[s])) return;
        i[static_cast<size_t>(d.lhs_space[s])] = p / d.lhs_dilation[s];
        k[static_cast<size_t>(d.rhs_space[s])] = tap[s];
      }
      for (int64_t f = 0; f < inputs; ++f) {
        i[static_cast<size_t>(d.lhs_feature)] = first + f;
        k[static_cast<size_t>(d.rhs_in)] = f;
        int64_t p = flat_of(x.dims(), i), q = flat_of(w.dims(), k);
        if (sum_type == DType::F32)
          sum32 = std::fma(static_cast<float>(x.as_double(p)), static_cast<float>(w.as_double(q)), sum32);
        else if (sum_type == DType::F64)
          sum64 = std::fma(x.as_double(p), w.as_double(q), sum64);
        else
          whole += static_cast<uint64_t>(x.as_int(p)) * static_cast<uint64_t>(w.as_int(q));
      }
    });
    if (!is_float(x.dtype()))
      set_whole(out, flat, static_cast<int64_t>(whole));
    else
      set_real(out, flat, sum_type == DType::F32 ? sum32 : sum64);
  });
}

Expr point_convolution(PointContext& c) {
  const Type &x = c.operand_type(0), &w = c.operand_type(1);
  loop::Builder& build = *c.build;
  ConvDims d(c.node->attrs());
  DType sum_type = accumulating_type(x.dtype, c.node->attrs().get(kAccumulate));
  Expr zero = build.constant(sum_type, 0);
  if (surely_empty(x) || surely_empty(w)) return narrow(zero, c.node->result()->type().dtype);
  std::vector<Expr> i(x.dims.size()), k(w.dims.size());
  Expr feature = c.index[static_cast<size_t>(d.out_feature)];
  Expr inputs = c.size(at(w.dims, d.rhs_in));
  i[static_cast<size_t>(d.lhs_batch)] = c.index[static_cast<size_t>(d.out_batch)];
  k[static_cast<size_t>(d.rhs_out)] = feature;
  Expr first = build.index(0);
  if (d.feature_groups > 1)
    first = feature / c.size(floordiv(at(w.dims, d.rhs_out), d.feature_groups)) * inputs;
  if (d.batch_groups > 1) {
    Expr group = feature / c.size(floordiv(at(w.dims, d.rhs_out), d.batch_groups));
    i[static_cast<size_t>(d.lhs_batch)] = c.index[static_cast<size_t>(d.out_batch)] +
                                          group * c.size(floordiv(at(x.dims, d.lhs_batch), d.batch_groups));
  }
  // The taps, the first spatial axis outermost, then the group's input features. A tap on padding keeps the
  // sum: its index is clamped, so that the load is of some element, whose product is dropped.
  std::vector<Expr> inside;
  std::function<Expr(size_t, Expr)> level = [&](size_t s, Expr sum) -> Expr {
    if (s == d.strides.size()) {
      Expr taken = inside.empty() ? Expr() : build.let(all_of(inside, build));
      return c.fold(inputs, sum, [&](Expr f, Expr inner) {
        i[static_cast<size_t>(d.lhs_feature)] = first + f;
        k[static_cast<size_t>(d.rhs_in)] = f;
        Expr a = narrow(c.at(0, i), sum_type), b = narrow(c.at(1, k), sum_type);
        Expr next = is_float(sum_type) ? fma(a, b, inner) : inner + a * b;
        return taken ? select(taken, next, inner) : next;
      });
    }
    return c.fold(c.size(at(w.dims, d.rhs_space[s])), sum, [&](Expr tap, Expr inner) {
      Expr p = c.index[static_cast<size_t>(d.out_space[s])] * build.index(d.strides[s]) +
               tap * build.index(d.rhs_dilation[s]) - build.index(d.low[s]);
      size_t had = inside.size();
      bool whole = d.low[s] <= 0 && d.high[s] <= 0 && d.lhs_dilation[s] == 1;
      if (!whole) {
        inside.push_back(p >= build.index(0));
        if (d.lhs_dilation[s] != 1) {
          inside.push_back(p % build.index(d.lhs_dilation[s]) == build.index(0));
          p = p / build.index(d.lhs_dilation[s]);
        }
        Expr size = c.size(at(x.dims, d.lhs_space[s]));
        inside.push_back(p < size);
        p = clamp_index(p, size);
      }
      i[static_cast<size_t>(d.lhs_space[s])] = p;
      k[static_cast<size_t>(d.rhs_space[s])] = tap;
      Expr result = level(s + 1, inner);
      inside.resize(had);
      return result;
    });
  };
  Expr sum;
  if (surely_nonempty(c.node, x))
    sum = level(0, zero);
  else
    sum = c.fold(has_elements(c, 0), zero, [&](Expr, Expr inner) { return level(0, inner); });
  return narrow(sum, c.node->result()->type().dtype);
}

std::vector<Value> jvp_convolution(JvpContext& c) {
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

Op convolution_op() {
  return {
      .decl =
          {.name = "convolution",
           .python = "convolution",
           .doc =
               "A window slid over an image: for each place and output feature, the sum of products of the "
               "kernel's taps with the image under them.\n`layout` names the axes. Taps on padding do not "
               "contribute (0 times infinity is never formed). Sums are one chain of fused multiply-adds "
               "over the spatial taps, the first axis slowest, then the input features, from +0; 16-bit "
               "floats are summed in float32. StableHLO.",
           .operands = {{"x", "The image."}, {"kernel", "The kernel, of the same type."}},
           .attrs = {kConvLayout, kConvStrides, kConvPadding, kLhsDilation, kRhsDilation, kFeatureGroups,
                     kBatchGroups, kAccumulate},
           .dtypes = DTypeSet::Real,
           .traits = static_cast<uint32_t>(Trait::Contraction),
           .numpy =
               "none: NumPy has no convolution of images; the public conv is checked against windows and "
               "einsum",
           .example = "ig.convolution(ig.asarray([[[1.0, 2.0, 3.0]]]), ig.asarray([[[1.0, 1.0]]]), "
                      "layout=\"bf0_oi0->bf0\")",
           .samples = {{"T[1, 1, 5], T[1, 1, 3]", "{layout = \"bf0_oi0->bf0\"}", -2, 2},
                       {"T[2, 3, 6], T[4, 3, 3]",
                        "{layout = \"bf0_oi0->bf0\", strides = [2], padding = [1, 2]}", -2, 2},
                       {"T[2, 3, 5, 6], T[4, 3, 3, 2]", "{}", -2, 2},
                       {"T[1, 2, 5, 5], T[3, 2, 3, 3]", "{padding = [1, 1, 1, 1]}", -2, 2},
                       {"T[1, 5, 6, 2], T[3, 3, 2, 4]",
                        "{layout = \"b01f_01io->b01f\", strides = [2, 1], padding = [1, 0, 0, 1]}", -2, 2},
                       {"T[1, 4, 5, 5], T[6, 2, 3, 3]", "{feature_group_count = 2}", -2, 2},
                       {"T[1, 4, 4, 4], T[4, 1, 3, 3]", "{feature_group_count = 4, padding = [1, 1, 1, 1]}",
                        -2, 2},
                       {"T[4, 2, 4, 4], T[6, 2, 2, 2]", "{batch_group_count = 2}", -2, 2},
                       {"T[1, 1, 3, 3], T[1, 1, 3, 3]", "{lhs_dilation = [2, 2], padding = [2, 2, 2, 2]}", -2,
                        2},
                       {"T[1, 1, 7, 7], T[1, 1, 3, 3]", "{rhs_dilation = [2, 3]}", -2, 2},
                       {"T[1, 1, 6, 6], T[1, 1, 3, 3]", "{padding = [-1, -1, 0, 2]}", -2, 2},
                       {"T[1, 1, 3, 3, 3], T[2, 1, 2, 2, 2]", "{layout = \"bf012_oi012->bf012\"}", -2, 2},
                       {"T[0, 2, 4, 4], T[3, 2, 3, 3]", "{}", -2, 2},
                       {"T[1, 1, 2, 2], T[1, 1, 3, 3]", "{}", -2, 2},
                       {"T[1, 0, 4, 4], T[2, 0, 3, 3]", "{}", -2, 2},
                       {"T[2, 3], T[4, 3]", "{layout = \"bf_oi->bf\"}", -2, 2}},
           .bad_samples = {{"T[1, 1, 5], T[1, 1, 3]", "{layout = \"bf0\"}",
                            "ValueError: convolution: the layout \"bf0\" is not of the form "
                            "image_kernel->result"},
                           {"T[1, 1, 5], T[1, 1, 3]", "{layout = \"bb0_oi0->bf0\"}",
                            "ValueError: convolution: the layout \"bb0_oi0->bf0\" needs one 'b' in \"bb0\""},
                           {"T[1, 1, 5], T[1, 1, 3]", "{layout = \"bf0_oi0->bf0\", strides = [0]}",
                            "ValueError: convolution: strides and dilations are at least 1, not 0"},
                           {"T[1, 1, 5], T[1, 1, 3]", "{layout = \"bf0_oi0->bf0\", padding = [1]}",
                            "ValueError: convolution: padding has 1 entry, but 2 are needed"}}},
      .rules = {.infer = infer_convolution,
                .reference = reference_convolution,
                .lower = LowerRule::of_point(point_convolution),
                .simplify = no_rule("codegen chooses the form of a convolution"),
                .jvp = jvp_convolution,
                .transpose = transpose_convolution,
                .batch = batch_convolution,
                .body = no_body()},
      .id = {}};
}

}  // namespace

std::vector<Op> convolution_ops() {
  std::vector<Op> ops;
  ops.push_back(convolution_op());
  return ops;
}

}  // namespace ig::ops
