// Modes: what is handed to them, in which order, and that they are gone where the scope of a call ends.
#include "tensor/mode.h"

#include <gtest/gtest.h>

#include <thread>

#include "ops/op.h"
#include "tensor/capture.h"
#include "tensor/front.h"
#include "tensor/program.h"

namespace ig {
namespace {

std::vector<std::string>& seen() {
  static std::vector<std::string> names;
  return names;
}

struct Log : OpMode {
  explicit Log(std::string tag) : tag(std::move(tag)) {}
  std::vector<Tensor> handle(const Call& call) override {
    seen().push_back(tag + call.op.decl.name);
    return call.run();
  }
  std::string tag;
};

struct Negates : OpMode {
  std::vector<Tensor> handle(const Call& call) override {
    std::vector<Tensor> out = call.run();
    return apply(ops::get("negate"), out, {});
  }
};

struct Throws : OpMode {
  std::vector<Tensor> handle(const Call&) override { throw std::runtime_error("mine"); }
};

class Modes : public testing::Test {
 protected:
  void SetUp() override { seen().clear(); }
  void TearDown() override { EXPECT_FALSE(OpMode::any()); }
  static Tensor sum(double a, double b) {
    front::Operand operands[] = {Tensor::scalar(DType::F32, a), Tensor::scalar(DType::F32, b)};
    return front::call(ops::get("add"), operands, {})[0];
  }
};

TEST_F(Modes, InnermostFirstAndWhatTheyDoIsSeenAround) {
  OpMode::enter(std::make_shared<Log>("outer "));
  OpMode::enter(std::make_shared<Negates>());
  OpMode::enter(std::make_shared<Log>("inner "));
  EXPECT_EQ(sum(1, 2).literal().as_double(0), -3);
  EXPECT_EQ(seen(), (std::vector<std::string>{"inner add", "outer add", "outer negate"}));
  for (int i = 0; i < 3; ++i) OpMode::leave();
  EXPECT_EQ(sum(1, 2).literal().as_double(0), 3);
  EXPECT_EQ(seen().size(), 3u);
}

TEST_F(Modes, AnErrorLeavesThemAsTheyWere) {
  auto throws = std::make_shared<Throws>();
  OpMode::enter(std::make_shared<Log>(""));
  OpMode::enter(throws);
  EXPECT_THROW(sum(1, 2), std::runtime_error);
  EXPECT_EQ(OpMode::innermost(), throws.get());
  OpMode::leave();
  sum(1, 2);
  EXPECT_EQ(seen(), std::vector<std::string>{"add"});
  OpMode::leave();
}

TEST_F(Modes, OfOneThread) {
  OpMode::enter(std::make_shared<Log>(""));
  std::thread([] {
    EXPECT_FALSE(OpMode::any());
    sum(1, 2);
  }).join();
  EXPECT_TRUE(seen().empty());
  OpMode::leave();
}

TEST_F(Modes, InACapture) {
  Capture capture("f");
  Capture::Active active(&capture);
  Tensor x = capture.add_input(Type::tensor(DType::F32, {}), "x");
  OpMode::enter(std::make_shared<Negates>());
  Tensor y = apply(ops::get("exponential"), std::span(&x, 1), {})[0];
  OpMode::leave();
  capture.finish(std::span(&y, 1));
  std::string text = capture.graph().str();
  EXPECT_NE(text.find("exponential"), std::string::npos);
  EXPECT_NE(text.find("negate"), std::string::npos);
}

}  // namespace
}  // namespace ig
