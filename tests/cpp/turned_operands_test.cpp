// Arrays whose axes were put in another order: products take them as they lie, and whoever reads one has it
// laid out. What is measured is the memory that lives, with one thread and nobody else at work: the scratch
// that others have for their part of a kernel lives too.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "ops/contraction.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"
#include "runtime/background.h"
#include "runtime/thread_pool.h"
#include "support/storage.h"
#include "tensor/eager.h"

namespace ig {
namespace {

constexpr int64_t kSide = 512;
constexpr size_t kBytes = size_t{kSide} * kSide * sizeof(float);

Tensor numbers(Shape shape) {
  Tensor out = Tensor::empty(DType::F32, std::move(shape));
  auto* at = static_cast<float*>(out.data());
  for (int64_t i = 0; i < out.elements(); ++i) at[i] = static_cast<float>((i * 7919) % 1009) / 64.0f - 7;
  return out;
}

Tensor turned(const Tensor& x) {
  return apply(ops::get("transpose"), std::span(&x, 1), Attrs().set(ops::kPermutation, Ints{1, 0}))[0];
}

Tensor matmul(const Tensor& x, const Tensor& y) {
  const Tensor both[] = {x, y};
  return apply(ops::get("matmul"), both, {})[0];
}

size_t live() { return allocator_stats().live; }

bool same(const Tensor& a, const Tensor& b) {
  return a.shape() == b.shape() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

// One that nobody can take for another's.
Tensor copied(const Tensor& x) {
  Tensor out = Tensor::empty(x.dtype(), x.shape());
  std::memcpy(out.data(), x.data(), x.bytes());
  return out;
}

class TurnedOperands : public testing::Test {
 protected:
  TurnedOperands() {
    rt::ThreadPool::instance().set_num_threads(1);
    EXPECT_TRUE(rt::background::wait(std::chrono::minutes(1)));
    // A kernel that is not prebuilt is made once that pays; until then what it would multiply is laid out.
    const Tensor w = numbers({kSide, kSide}), x = numbers({4, kSide});
    for (bool made = false; !made;) {
      const Tensor view = turned(w);
      matmul(x, view);
      made = view.waits();
      view.data();
    }
  }
  ~TurnedOperands() override { rt::ThreadPool::instance().set_num_threads(threads_); }

  const int threads_ = rt::ThreadPool::instance().num_threads();
};

TEST_F(TurnedOperands, ProductsCopyNothing) {
  const Tensor w = numbers({kSide, kSide}), x = numbers({4, kSide});
  const Tensor wanted = matmul(x, copied(turned(w)));
  const size_t before = live();
  const Tensor view = turned(w);
  EXPECT_LT(live(), before + 4096);
  const Tensor out = matmul(x, view);
  EXPECT_LT(live(), before + out.bytes() + 4096);
  EXPECT_TRUE(same(out, wanted));
}

TEST_F(TurnedOperands, WhoReadsHasTheElements) {
  const Tensor w = numbers({kSide, 3 * kSide});
  const Tensor view = turned(w), other = view;
  const size_t before = live();
  const auto* at = static_cast<const float*>(view.data());
  EXPECT_GE(live(), before + 3 * kBytes);
  EXPECT_EQ(other.data(), view.data());
  for (int64_t i : {int64_t{0}, int64_t{1}, kSide, 3 * kSide * kSide - 1})
    EXPECT_EQ(at[i], static_cast<const float*>(w.data())[i % kSide * 3 * kSide + i / kSide]);
  EXPECT_FALSE(view.storage().unique());  // handles share it
}

TEST_F(TurnedOperands, LaidOutItHoldsNothingElse) {
  const size_t before = live();
  {
    Tensor view = turned(numbers({kSide, kSide}));
    EXPECT_GE(live(), before + kBytes);
    view.data();
    EXPECT_LT(live(), before + kBytes + 4096);
  }
  EXPECT_LT(live(), before + 4096);
}

// By products alone it would be turned over again and again.
TEST_F(TurnedOperands, WhoTakesItOftenHasItLaidOut) {
  const Tensor w = numbers({kSide, kSide}), x = numbers({4, kSide});
  const Tensor view = turned(w);
  const Tensor first = matmul(x, view);
  EXPECT_TRUE(view.turning().has_value());
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(same(matmul(x, view), first));
  EXPECT_FALSE(view.turning().has_value());
}

TEST_F(TurnedOperands, BorrowedMemoryIsCopiedAtOnce) {
  std::vector<float> theirs(kBytes / sizeof(float), 1.0f);
  const Tensor x(DType::F32, Shape({kSide, kSide}), Storage::adopt(theirs.data(), kBytes, [] {}));
  const Tensor view = turned(x);
  theirs.assign(theirs.size(), 2.0f);
  EXPECT_EQ(static_cast<const float*>(view.data())[5], 1.0f);
}

TEST_F(TurnedOperands, ThreadsReadAndMultiply) {
  rt::ThreadPool::instance().set_num_threads(threads_);
  const Tensor w = numbers({kSide, kSide}), x = numbers({4, kSide});
  const Tensor laid = copied(turned(w)), wanted = matmul(x, laid);
  for (int round = 0; round < 10; ++round) {
    const Tensor view = turned(w);
    std::vector<std::thread> threads;
    for (int t = 0; t < 6; ++t)
      threads.emplace_back([&, t] {
        if (t % 2 == 0)
          EXPECT_TRUE(same(view, laid));
        else
          EXPECT_TRUE(same(matmul(x, view), wanted));
      });
    for (std::thread& thread : threads) thread.join();
  }
}

TEST_F(TurnedOperands, MemoryThatIsLackingIsToldToWhoReads) {
  const Tensor view = turned(numbers({kSide, kSide}));
  const size_t limit = memory_limit();
  release_cached_memory();
  set_memory_limit(live() + kBytes / 2);
  EXPECT_THROW(view.data(), Error);
  set_memory_limit(limit);
  EXPECT_NE(view.data(), nullptr);
}

}  // namespace
}  // namespace ig
