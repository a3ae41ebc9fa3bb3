// Kernels fill whole registers, also where an array has fewer elements, and read their scratch so. What lay
// in it before must not be seen in any result.
#include <gtest/gtest.h>

#include <cstring>

#include "ops2_cases.h"
#include "runtime/thread_pool.h"
#include "tensor/program.h"
#include "tensor_of.h"

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
      Graph graph("case");
      std::vector<Value> operands;
      std::vector<Tensor> given;
      for (const Literal& l : c.operands) {
        operands.push_back(graph.body().add_arg(l.type()));
        given.push_back(tensor_of(l));
      }
      Node* node = Builder(graph.body()).node(*op, operands, c.attrs);
      graph.body().set_results({node->results().begin(), node->results().end()});
      const auto program = compile(graph);
      std::memset(rt::ThreadPool::scratch_here(kBytes), 0, kBytes);
      const std::vector<Tensor> want = program->run(given);
      std::memset(rt::ThreadPool::scratch_here(kBytes), 0xff, kBytes);  // NaN of every type, and -1
      const std::vector<Tensor> have = program->run(given);
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
