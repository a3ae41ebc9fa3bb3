// Work in the background: it is done in order, may be called off, rests in a fork and goes on in the child.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "runtime/background.h"

namespace ig::rt::background {
namespace {

using std::chrono::milliseconds;

// Runs until it is told to go on, or called off; counts how often it began.
struct Lengthy {
  std::atomic<int> begun{0}, done{0};
  std::atomic<bool> may_end{false};

  Work work() {
    return [this](const std::stop_token& stop) {
      ++begun;
      while (!may_end) {
        leave_if(stop);
        std::this_thread::yield();
      }
      ++done;
    };
  }
  void until_begun(int times = 1) const {
    while (begun < times) std::this_thread::yield();
  }
};

void expect_success_of(pid_t child) {
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Background, DoesOnePieceAfterTheOther) {
  std::vector<int> order;
  std::vector<Piece> pieces;
  for (int i = 0; i < 20; ++i)
    pieces.emplace_back([&order, i](const std::stop_token&) { order.push_back(i); });
  ASSERT_TRUE(wait(milliseconds(10000)));
  ASSERT_EQ(order.size(), 20U);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

TEST(Background, WaitsNoLongerThanItIsTold) {
  Lengthy lengthy;
  Piece piece(lengthy.work());
  EXPECT_FALSE(wait(milliseconds(5)));
  lengthy.may_end = true;
  EXPECT_TRUE(wait(milliseconds(10000)));
  EXPECT_EQ(lengthy.done, 1);
}

TEST(Background, WhatIsCalledOffEndsAndIsNotBegunAgain) {
  Lengthy running, waiting;
  {
    Piece first(running.work());
    Piece second(waiting.work());
    running.until_begun();
    second.call_off();
    first.call_off();
    EXPECT_TRUE(wait(milliseconds(10000)));
  }
  pause();
  resume();
  EXPECT_TRUE(wait(milliseconds(10000)));
  EXPECT_EQ(running.begun, 1);
  EXPECT_EQ(running.done, 0);
  EXPECT_EQ(waiting.begun, 0);
}

TEST(Background, WhoForgetsAPieceDoesNotWaitForIt) {
  struct Slow {
    std::atomic<bool> begun{false}, may_look{false}, ended{false};
  } slow;
  {
    Piece piece([&slow](const std::stop_token& stop) {
      slow.begun = true;
      while (!slow.may_look) std::this_thread::yield();
      slow.ended = true;
      leave_if(stop);
    });
    while (!slow.begun) std::this_thread::yield();
  }
  EXPECT_FALSE(slow.ended);
  slow.may_look = true;
  EXPECT_TRUE(wait(milliseconds(10000)));
  EXPECT_TRUE(slow.ended);
}

TEST(Background, WhatRunsWhenItPausesIsBegunAgain) {
  Lengthy lengthy;
  Piece piece(lengthy.work());
  lengthy.until_begun();
  pause();
  pause();
  resume();
  EXPECT_EQ(lengthy.begun, 1);
  resume();
  lengthy.until_begun(2);
  lengthy.may_end = true;
  EXPECT_TRUE(wait(milliseconds(10000)));
  EXPECT_EQ(lengthy.done, 1);
}

TEST(Background, WhatWorkHoldsGoesWhenItIsDone) {
  auto held = std::make_shared<int>(1);
  std::weak_ptr<int> seen = held;
  Piece piece([held = std::move(held)](const std::stop_token&) {});
  EXPECT_TRUE(wait(milliseconds(10000)));
  EXPECT_TRUE(seen.expired());
}

TEST(Background, AForkFindsItAtRestAndBothSidesGoOn) {
  Lengthy lengthy;
  Piece piece(lengthy.work());
  lengthy.until_begun();
  lengthy.may_end = false;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  lengthy.may_end = true;
  if (child == 0) {
    // The child's own thread does it: a condition that counted the parent's sleepers would be deaf.
    const bool done = wait(milliseconds(10000)) && lengthy.done == 1;
    Lengthy more;
    more.may_end = true;
    Piece next(more.work());
    _exit(done && wait(milliseconds(10000)) && more.done == 1 ? 0 : 1);
  }
  EXPECT_TRUE(wait(milliseconds(10000)));
  EXPECT_EQ(lengthy.done, 1);
  expect_success_of(child);
}

TEST(Background, AForkWhoseLockTheWorkNeedsGoesOnWithoutIt) {
  std::mutex needed;
  Lengthy lengthy;
  lengthy.may_end = true;
  std::atomic<bool> begun{false};
  std::unique_lock held(needed);
  Piece piece([&](const std::stop_token& stop) {
    begun = true;
    std::lock_guard lock(needed);
    lengthy.work()(stop);
  });
  while (!begun) std::this_thread::yield();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Piece never([](const std::stop_token&) { _exit(1); });
    _exit(wait(milliseconds(100)) ? 0 : 2);
  }
  held.unlock();
  EXPECT_TRUE(wait(milliseconds(10000)));
  EXPECT_EQ(lengthy.done, 1);
  expect_success_of(child);
}

TEST(BackgroundDeathTest, TheEndOfTheProcessCallsItOff) {
  const auto end_at_work = [] {
    static Lengthy lengthy;
    static Piece piece(lengthy.work());
    lengthy.until_begun();
    std::exit(3);
  };
  EXPECT_EXIT(end_at_work(), testing::ExitedWithCode(3), "");
}

}  // namespace
}  // namespace ig::rt::background
