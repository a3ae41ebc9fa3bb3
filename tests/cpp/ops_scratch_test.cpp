// Kernels fill whole registers, also where an array has fewer elements, and read their scratch so. What lay
// in it before must not be seen in any result.
#include <gtest/gtest.h>

#include <cstring>

#include "compiled_case.h"
#include "runtime/thread_pool.h"

namespace ig::ops {
namespace {

TEST(OpsScratch, NoResultTellsWhatLayInIt) {
  constexpr size_t kBytes = 1 << 20;
  size_t seen = 0;
  for (const Op* op : all()) {
    if (!is_ops2(*op) || op->has(Trait::Effect) || !contains(op->decl.dtypes, DType::F32)) continue;
    for (const Sample& sample : op->decl.samples) {
      SCOPED_TRACE(op->decl.name + " " + sample.operands + " " + sample.attrs);
      const Case c = case_of(*op, sample.operands, sample.attrs, DType::F32, sample.low, sample.high);
      const CompiledCase compiled_case = compiled(*op, c);
      std::memset(rt::ThreadPool::scratch_here(kBytes), 0, kBytes);
      const std::vector<Tensor> want = compiled_case.run();
      std::memset(rt::ThreadPool::scratch_here(kBytes), 0xff, kBytes);  // NaN of every type, and -1
      const std::vector<Tensor> have = compiled_case.run();
      for (size_t i = 0; i < want.size(); ++i)
        if (want[i].bytes() != 0) {
          EXPECT_EQ(std::memcmp(have[i].data(), want[i].data(), have[i].bytes()), 0) << "result " << i;
        }
      ++seen;
    }
  }
  EXPECT_GT(seen, 500u);
}

}  // namespace
}  // namespace ig::ops
