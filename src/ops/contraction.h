// What the ops with Trait::Contraction are made of, for the kernel generators, passes and transforms that
// read them: the attributes of dot_general and convolution, and a convolution's dimension numbers, parsed.
//
// The order of summation is part of the ops' meaning. dot_general: for each output one chain of fused
// multiply-adds over the contracted axes (the first slowest), from +0, in the accumulating type; convolution:
// one chain over the kernel's spatial axes (the first slowest), then the input channels of the group, taps
// that fall on padding left out. Integers wrap.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/attrs.h"
#include "ops/builder.h"

namespace ig::ops {

inline constexpr Attr<Ints> kLhsBatch{"lhs_batching_dimensions", "The left operand's batch axes.", "[]"};
inline constexpr Attr<Ints> kRhsBatch{"rhs_batching_dimensions",
                                      "The right operand's batch axes, paired in order.", "[]"};
inline constexpr Attr<Ints> kLhsContract{"lhs_contracting_dimensions",
                                         "The left operand's axes that are summed over."};
inline constexpr Attr<Ints> kRhsContract{"rhs_contracting_dimensions",
                                         "The right operand's, paired in order."};
inline constexpr Attr<DType> kAccumulate{
    "accumulate", "The least type that sums of floats are kept in: f32 or f64.", "f32"};

inline constexpr Attr<std::string> kConvLayout{"layout",
                                               "The axes of image, kernel and result: b batch, f features, o "
                                               "and i the kernel's features, digits the space.",
                                               "\"bf01_oi01->bf01\""};
inline constexpr Attr<Ints> kConvStrides{"strides", "The step of the window, for each spatial axis; none: 1.",
                                         "[]"};
inline constexpr Attr<Ints> kConvPadding{
    "padding", "What is added in front of and behind each spatial axis: low0, high0, low1, …; none: 0.",
    "[]"};
inline constexpr Attr<Ints> kLhsDilation{"lhs_dilation",
                                         "The image's elements stand this far apart; none: 1.", "[]"};
inline constexpr Attr<Ints> kRhsDilation{"rhs_dilation", "The kernel's taps stand this far apart; none: 1.",
                                         "[]"};
inline constexpr Attr<int64_t> kFeatureGroups{"feature_group_count",
                                              "How many groups the features fall into.", "1"};
inline constexpr Attr<int64_t> kBatchGroups{"batch_group_count", "How many groups the batch falls into.",
                                            "1"};

// The type that sums are kept in.
DType accumulating_type(DType operand, DType accumulate);

// The axes of dot_general's result: batch, then the left operand's free axes, then the right's.
struct DotDims {
  Ints lhs_batch, rhs_batch, lhs_contract, rhs_contract, lhs_free, rhs_free;
  DotDims(const Attrs& attrs, int lhs_rank, int rhs_rank);
};

// From so many rows on a product of sizes that are not known before has its second operand packed beforehand,
// by all threads together; few rows have it packed as they go.
inline constexpr int64_t kManyRows = 320;

// Whether the product of one entry of the batch is so small that a row of entries fills vectors better than
// its own rows do.
bool is_small_product(const Node* dot);
// Such a product whose operands have their one batch axis last.
bool batch_lies_last(const Node* node);

// Whether the op's kernels read operands whose axes go over memory in several runs (ops/strided_view.h), as
// those of matrix products do. Others want one distance from element to element along an axis.
bool reads_pieces(const Node* contraction);

// The multiplication that a product of reals is whose sums have one term each; null of others.
Value as_multiplication(Builder& build, const Node* dot);

// A product of which only slices of its last axis are read, all of one width, after what is computed of it
// element by element: the gates of a recurrent cell, the halves of a gated unit.
struct ProductParts {
  int64_t count = 0, width = 0;
  std::vector<Node*> members;  // the product, and what is computed of all of it
  std::vector<Node*> slices;
  int64_t part_of(const Node* slice) const;
};
std::optional<ProductParts> parts_of_product(Node* dot);

// The start, and added to it what each step's product is: lhs [t, k, m] and rhs [t, k, n] give [m, n].
Value add_products(Builder& build, Value start, Value lhs, Value rhs, bool reverse);

// The value of kConvLayout: the axes of the image, the kernel and the result, a letter each.
struct ConvLayout {
  std::string image, kernel, result;
  explicit ConvLayout(std::string_view text)
      : image(text.substr(0, text.find('_'))),
        kernel(text.substr(text.find('_') + 1, text.find("->") - text.find('_') - 1)),
        result(text.substr(text.find("->") + 2)) {}
  std::string str() const { return image + "_" + kernel + "->" + result; }
};

// A convolution's dimension numbers with all defaults filled in. The axes are positions in the shapes.
struct ConvDims {
  int spatial = 0;
  int64_t lhs_batch = 0, lhs_feature = 0, rhs_out = 0, rhs_in = 0, out_batch = 0, out_feature = 0;
  Ints lhs_space, rhs_space, out_space;
  Ints strides, low, high, lhs_dilation, rhs_dilation;
  int64_t feature_groups = 1, batch_groups = 1;
  explicit ConvDims(const Attrs& attrs);  // Error(Value) where the layout or a count is wrong
};

// Results of minimal filtering that are less than the greatest of their square by more than this factor are
// summed tap by tap.
inline constexpr double kWinogradRange = 1 << 20;

// Whether a convolution is one that Winograd's minimal filtering F(2 x 2, 3 x 3) makes quicker, with the
// weights transformed in every call, so that kernels compute it so where they need not be exact: 3 x 3 taps
// side by side, one group, and features and places enough. Of the batch nothing is asked, so that an image's
// bits do not depend on the others.
bool suits_winograd(const Attrs& convolution, const Type& image, const Type& kernel);
// The same of a convolution whose result has 3 x 3 places, as the gradient of such a one by its weights has:
// the kernel is its cotangent then, and the features that are summed over are the examples.
bool suits_winograd_gradient(const Attrs& convolution, const Type& image, const Type& kernel);

// Whether its kernel has one tap and takes each place of the image as it is: without groups, padding, steps
// and gaps.
bool has_one_tap(const Node* convolution);
// Whether its kernel has a tap for each place of the image, so that without padding there is one result.
bool has_one_place(const Node* convolution);
// The product that a convolution is whose kernel has one tap, or as many as the image has places, without
// groups, padding, steps and gaps; null of others, and where its result would have to be turned over.
// `turned`, if given: the transposition of the convolution's result, in whose place the product stands then.
Value as_product(Builder& build, const Node* convolution, const Node* turned);

}  // namespace ig::ops
