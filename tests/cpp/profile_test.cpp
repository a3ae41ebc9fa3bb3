// Profiles from C++: kernels and ops are told once for each call, with what they read, wrote and multiplied;
// one profile records at a time; threads tell what each did.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "intaglio/intaglio.h"
#include "intaglio/profile.h"
#include "ops/read.h"
#include "runtime/thread_pool.h"
#include "tensor_of.h"

namespace ig {
namespace {

using Kind = Profile::Kind;

std::vector<Profile::Row> work_of(const Profile& profile) {
  std::vector<Profile::Row> out;
  for (const Profile::Row& row : profile.rows())
    if (Profile::is_work(row.kind)) out.push_back(row);
  return out;
}

Tensor zeros(std::vector<int64_t> shape) {
  return tensor_of(Literal::allocate(DType::F32, std::move(shape)));
}

const std::string kProduct = R"(
graph @layer(%x: f32[64, 32], %w: f32[32, 16]) {
  %0 = matmul(%x, %w) : f32[64, 16]
  %1 = tanh(%0) : f32[64, 16]
  return %1
}
)";

TEST(Profile, TellsKernelsOfAProgram) {
  const std::unique_ptr<Graph> graph = ops::read_graph(kProduct, "<test>");
  const std::shared_ptr<Program> program = compile(*graph);
  const std::vector<Tensor> inputs = {zeros({64, 32}), zeros({32, 16})};
  Profile profile;
  for (int i = 0; i < 3; ++i) program->run(inputs);
  profile.stop();
  profile.stop();
  double flops = 0;
  for (const Profile::Row& row : work_of(profile)) {
    EXPECT_EQ(row.kind, Kind::Kernel);
    EXPECT_EQ(row.calls, 3);
    EXPECT_EQ(row.facts.program, "layer");
    EXPECT_GT(row.bytes, 0);
    EXPECT_LE(row.least_ns * row.calls, row.total_ns);
    flops += row.facts.flops;
  }
  EXPECT_EQ(flops, 2.0 * 64 * 32 * 16);
  EXPECT_EQ(profile.by(Profile::By::Program).size(), 1u);
  EXPECT_NE(profile.str().find("3 calls of 1 program"), std::string::npos);
  EXPECT_NE(profile.chrome_trace().find("\"name\": \"layer\""), std::string::npos);
}

TEST(Profile, TellsOpsThatRunByThemselves) {
  const Array x = array({1.0f, 2.0f, 3.0f});
  x + x;
  Profile profile;
  const Array y = x + x;
  const Array z = tanh(y);
  profile.stop();
  std::vector<std::string> names;
  for (const Profile::Row& row : work_of(profile)) {
    EXPECT_EQ(row.kind, Kind::Op);
    names.push_back(row.facts.name);
  }
  std::ranges::sort(names);
  EXPECT_EQ(names, (std::vector<std::string>{"add", "tanh"}));
}

TEST(Profile, OneAtATime) {
  Profile first;
  try {
    Profile second;
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.summary(), "a profile is recording already");
    EXPECT_EQ(error.hint_text(), "end the other one first");
  }
  EXPECT_TRUE(first.rows().empty());
  first.stop();
  const Profile third;
  EXPECT_TRUE(third.recording());
}

TEST(Profile, ThreadsTellWhatEachDid) {
  auto kernel = +[](const rt::KernelArgs*, int64_t begin, int64_t end) -> int32_t {
    volatile double x = 1;
    for (int64_t i = begin * 20000; i < end * 20000; ++i) x = x * 1.0000001;
    return 0;
  };
  rt::ThreadPool& pool = rt::ThreadPool::instance();
  const int before = pool.num_threads();
  pool.set_num_threads(2);
  std::vector<rt::profile::Share> shares(2);
  rt::KernelArgs args;
  const auto begin = rt::profile::Clock::now();
  EXPECT_EQ(pool.run(kernel, args, 400, 1, 0, 0, 1, shares), 0);
  const auto end = rt::profile::Clock::now();
  pool.set_num_threads(before);
  rt::profile::Clock::duration busy{};
  for (const rt::profile::Share& share : shares) {
    if (share.busy == rt::profile::Clock::duration{}) continue;  // it came too late for a chunk
    EXPECT_LE(begin, share.begin);
    EXPECT_LE(share.end, end);
    EXPECT_LE(share.busy, share.end - share.begin);
    busy += share.busy;
  }
  EXPECT_GT(busy.count(), 0);
}

TEST(Profile, RunsThatGoOnWhileRecordingsComeAndGo) {
  const std::shared_ptr<Program> program = compile(*ops::read_graph(kProduct, "<test>"));
  const std::vector<Tensor> inputs = {zeros({64, 32}), zeros({32, 16})};
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t)
    threads.emplace_back([&] {
      while (!done) program->run(inputs);
    });
  for (int i = 0; i < 100; ++i) {
    Profile profile(7);
    profile.stop();
    for (const Profile::Row& row : profile.rows()) EXPECT_GT(row.calls, 0);
  }
  done = true;
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace ig
