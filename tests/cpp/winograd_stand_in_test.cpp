// The stand-ins of minimal filtering, with products written out here: on numbers that leave no roundings they
// give the definition's results to the bit, with and without a border, for odd numbers of places, and where
// an element is not finite. Run under the sanitizers, they read and write nothing else.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/families/array_tools.h"
#include "ops/table.h"
#include "tensor/winograd_stand_in.h"

namespace ig {
namespace {

Literal sixteenths(DType dtype, std::vector<int64_t> dims, uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_int_distribution<int> whole(-40, 40);
  Literal out = Literal::allocate(dtype, std::move(dims));
  for (int64_t i = 0; i < out.elements(); ++i) ops::tools::set_real(out, i, whole(random) / 16.0);
  return out;
}

// [terms, m, k] times [terms, k, n], or the first of [terms, k, m].
eager::Products products(bool turned) {
  return [turned](const Tensor& a, const Tensor& b) -> std::optional<Tensor> {
    const Literal x = a.literal(), y = b.literal();
    const int64_t terms = x.dims()[0], m = x.dims()[turned ? 2 : 1], k = y.dims()[1], n = y.dims()[2];
    Literal out = Literal::allocate(x.dtype(), {terms, m, n});
    for (int64_t t = 0; t < terms; ++t)
      for (int64_t i = 0; i < m; ++i)
        for (int64_t j = 0; j < n; ++j) {
          double sum = 0;
          for (int64_t c = 0; c < k; ++c)
            sum += x.as_double(turned ? (t * k + c) * m + i : (t * m + i) * k + c) *
                   y.as_double((t * k + c) * n + j);
          ops::tools::set_real(out, (t * m + i) * n + j, sum);
        }
    return Tensor::from(out);
  };
}

Literal by_definition(const Literal& x, const Literal& kernel, std::string layout, Ints padding) {
  Graph graph("convolution");
  Value a = graph.body().add_arg(Tensor::from(x).type()),
        b = graph.body().add_arg(Tensor::from(kernel).type());
  ops::Builder build(graph.body());
  Value y = build("convolution", {a, b},
                  {ops::kConvLayout % layout, ops::kConvStrides % Ints{}, ops::kConvPadding % padding,
                   ops::kLhsDilation % Ints{}, ops::kRhsDilation % Ints{}, ops::kFeatureGroups % int64_t{1},
                   ops::kBatchGroups % int64_t{1}, ops::kAccumulate % DType::F32});
  graph.body().set_results({y});
  const Literal both[] = {x, kernel};
  return ops::evaluate(graph, both)[0];
}

void expect_same(const Literal& have, const Literal& want) {
  ASSERT_EQ(have.dims(), want.dims());
  for (int64_t i = 0; i < want.elements(); ++i) {
    const double a = have.as_double(i), b = want.as_double(i);
    ASSERT_TRUE(a == b || (std::isnan(a) && std::isnan(b))) << "element " << i << ": " << a << " for " << b;
  }
}

TEST(WinogradStandIn, Squares) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  const double infinite = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::F32, DType::F64})
    for (const Ints& padding : {Ints{1, 1, 1, 1}, Ints{0, 0, 0, 0}, Ints{-1, 2, 2, 0}})
      for (double odd : {0.0, none, infinite}) {
        Literal x = sixteenths(dtype, {2, 9, 8, 7}, 1), taps = sixteenths(dtype, {3, 3, 7, 6}, 2);
        if (odd != 0) ops::tools::set_real(x, 300, odd);
        if (odd != 0) ops::tools::set_real(taps, 7, -odd);
        const int64_t rows = 9 + padding[0] + padding[1] - 2, columns = 8 + padding[2] + padding[3] - 2;
        const auto have = eager::filter_squares(Tensor::from(x), Tensor::from(taps), {padding[0], padding[2]},
                                                {rows, columns}, products(false));
        ASSERT_TRUE(have);
        expect_same(have->literal(), by_definition(x, taps, "b01f_01io->b01f", padding));
      }
}

TEST(WinogradStandIn, Taps) {
  const double infinite = std::numeric_limits<double>::infinity();
  for (DType dtype : {DType::F32, DType::F64})
    for (const Ints& padding : {Ints{1, 1, 1, 1}, Ints{0, 2, 1, 0}})
      for (double odd : {0.0, infinite}) {
        const int64_t rows = 9 + padding[0] + padding[1] - 2, columns = 8 + padding[2] + padding[3] - 2;
        Literal x = sixteenths(dtype, {2, 9, 8, 7}, 3), y = sixteenths(dtype, {2, rows, columns, 6}, 4);
        if (odd != 0) ops::tools::set_real(y, 40, odd);
        const auto have =
            eager::filter_taps(Tensor::from(x), Tensor::from(y), {padding[0], padding[2]}, products(true));
        ASSERT_TRUE(have);
        expect_same(have->literal(), by_definition(x, y, "f01b_i01o->01bf", padding));
      }
}

}  // namespace
}  // namespace ig
