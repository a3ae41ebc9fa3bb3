// Where innermost loops read and write: offsets that are sums of what stays and what goes with the loop,
// taken apart in any order, through lets inside and outside of it, products with constants, differences and
// sizes; against the same sums in C++, on every target, with memory that ends where the last element does.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <random>

#include "llvm_test_util.h"

namespace ig::codegen::test {
namespace {

using loop::Builder;
using loop::Expr;

// A sum of variables with factors, and a constant, written in some way.
struct Offset {
  std::map<char, int64_t> factors;
  int64_t constant = 0;

  int64_t at(const std::map<char, int64_t>& values) const {
    int64_t out = constant;
    for (auto [name, factor] : factors) out += factor * values.at(name);
    return out;
  }
};

class Program {
 public:
  explicit Program(unsigned seed) : random_(seed) {}

  int64_t pick(int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random_);
  }
  Offset offset(std::initializer_list<char> names, bool moves_by_lane) {
    Offset out;
    for (char name : names) out.factors[name] = pick(-3, 6);
    if (moves_by_lane) out.factors['j'] = pick(0, 4) == 0 ? 2 : 1;
    out.constant = pick(-9, 9);
    return out;
  }
  // `scale` times the sum, as the tree that chance has it.
  Expr write(Builder& b, const Offset& offset, const std::map<char, Expr>& variables) {
    std::vector<Expr> terms{b.index(offset.constant)};
    for (auto [name, factor] : offset.factors) {
      const Expr v = variables.at(name);
      const int64_t more = pick(-4, 4);
      switch (pick(0, 4)) {
        case 0: terms.push_back((v + more) * factor - more * factor); break;
        case 1: terms.push_back(b.let(v * factor)); break;
        case 2: terms.push_back(b.index(0) - b.let(b.let(v - more) + more) * -factor); break;
        case 3: terms.push_back(b.let(v + more) * factor), terms.push_back(b.index(-more * factor)); break;
        default: terms.push_back(v * b.index(factor));
      }
    }
    std::shuffle(terms.begin(), terms.end(), random_);
    Expr out = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) out = pick(0, 1) == 0 ? out + terms[i] : terms[i] + out;
    return out;
  }

 private:
  std::mt19937 random_;
};

TEST(PlacesInTurns, AreTheSumsHoweverTheyAreWritten) {
  constexpr int64_t kOuter = 3, kSummed = 5, kN = 7;
  for (unsigned seed = 0; seed < 120; ++seed) {
    Program program(seed);
    const int64_t columns = program.pick(1, 40);
    const int lanes = program.pick(0, 3) == 0 ? 1 : 16;
    Offset x = program.offset({'i', 'k', 'n'}, true), y = program.offset({'i', 'k', 'n'}, false);
    Offset out;
    out.factors = {{'i', columns + program.pick(0, 3)}, {'j', 1}};
    auto each = [&](const std::function<void(const std::map<char, int64_t>&)>& body) {
      for (int64_t i = 0; i < kOuter; ++i)
        for (int64_t j = 0; j < columns; ++j)
          for (int64_t k = 0; k < kSummed; ++k) body({{'i', i}, {'j', j}, {'k', k}, {'n', kN}});
    };
    // From the first element to the last one that is asked for.
    auto extent = [&](Offset& offset, int64_t further) {
      int64_t low = 0, high = 0;
      bool any = false;
      each([&](const std::map<char, int64_t>& values) {
        const int64_t at = offset.at(values);
        low = any ? std::min(low, at) : at, high = any ? std::max(high, at) : at;
        any = true;
      });
      offset.constant -= low;
      return static_cast<size_t>(high - low + 1 + further);
    };
    const int64_t further = program.pick(1, 4);
    const size_t of_x = extent(x, further), of_y = extent(y, 0), of_out = extent(out, 0);
    Guarded gx(of_x * sizeof(float), true), gy(of_y * sizeof(float), true), go(of_out * sizeof(float), true);
    for (size_t i = 0; i < of_x; ++i) gx.as<float>()[i] = static_cast<float>(i % 17) - 5;
    for (size_t i = 0; i < of_y; ++i) gy.as<float>()[i] = static_cast<float>(i % 7) - 3;
    std::vector<float> wanted(of_out, -1);
    for (int64_t i = 0; i < kOuter; ++i)
      for (int64_t j = 0; j < columns; ++j) {
        float sum = 0;
        for (int64_t k = 0; k < kSummed; ++k) {
          const std::map<char, int64_t> at{{'i', i}, {'j', j}, {'k', k}, {'n', kN}};
          sum += (gx.as<float>()[x.at(at)] + gx.as<float>()[x.at(at) + further]) * gy.as<float>()[y.at(at)];
        }
        wanted[static_cast<size_t>(out.at({{'i', i}, {'j', j}}))] = sum;
      }
    for (const Target& target : runnable()) {
      Builder b("places");
      auto bx = b.add_buffer(DType::F32, false, "x"), by = b.add_buffer(DType::F32, false, "y"),
           bo = b.add_buffer(DType::F32, true, "out");
      const Expr n = b.size(Dim::symbol("n"));
      const auto sum = b.local(DType::F32, lanes, 1, "sum");
      b.serial_for(b.index(0), b.index(kOuter), [&](Expr i) {
        b.vector_for(b.index(0), b.index(columns), lanes, [&](Expr j) {
          b.assign(sum, b.constant(DType::F32, 0));
          b.serial_for(b.index(0), b.index(kSummed), [&](Expr k) {
            const std::map<char, Expr> variables{{'i', i}, {'j', j}, {'k', k}, {'n', n}};
            Expr at = program.write(b, x, variables);
            Expr both = b.load(bx, at) + b.load(bx, at + further);
            b.assign(sum, b.read(sum) + both * b.load(by, program.write(b, y, variables)));
          });
          b.store(bo, program.write(b, out, {{'i', i}, {'j', j}}), b.read(sum));
        });
      });
      Kernel kernel(b.finish(), target);
      std::fill_n(go.as<float>(), of_out, -1.0f);
      ASSERT_EQ(kernel({gx.data(), gy.data(), go.data()}, {kN}), 0);
      for (size_t i = 0; i < of_out; ++i)
        ASSERT_EQ(go.as<float>()[i], wanted[i]) << "seed " << seed << " " << target.name << " element " << i;
    }
  }
}

// What stays is worked out before the loop, where no turn may ever come to it.
TEST(PlacesInTurns, DivideNothingThatIsNotReached) {
  for (const Target& target : runnable()) {
    Builder b("guarded");
    auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
    const Expr n = b.size(Dim::symbol("n"));
    b.serial_for(b.index(0), b.index(4), [&](Expr i) {
      b.if_then(
          n > b.index(0), [&] { b.store(out, i, b.load(x, i + b.index(8) / n)); },
          [&] { b.store(out, i, b.load(x, i)); });
    });
    Kernel kernel(b.finish(), target);
    std::vector<float> from{0, 1, 2, 3, 4, 5, 6, 7}, to(4);
    kernel({from.data(), to.data()}, {0});
    EXPECT_EQ(to, (std::vector<float>{0, 1, 2, 3})) << target.name;
    kernel({from.data(), to.data()}, {2});
    EXPECT_EQ(to, (std::vector<float>{4, 5, 6, 7})) << target.name;
  }
}

}  // namespace
}  // namespace ig::codegen::test
