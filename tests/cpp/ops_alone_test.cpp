// Ops that give one of another's results alone (`OpRules::alone`), which dead-code elimination puts in its
// place: compiled they have the same bits.
#include <gtest/gtest.h>

#include <cstring>

#include "compiled_case.h"

namespace ig::ops {
namespace {

TEST(OpsAlone, HaveTheBitsOfAllResults) {
  size_t seen = 0;
  for (const Op* op : all()) {
    if (op->rules.alone.empty()) continue;
    const auto results = static_cast<size_t>(op->decl.results);
    ASSERT_EQ(op->rules.alone.size(), results) << op->decl.name;
    std::vector<size_t> every;
    for (size_t i = 0; i < results; ++i) every.push_back(i);
    for (DType t : members(op->decl.dtypes)) {
      if (tools::is_half(t)) continue;  // matrices of these have no factors
      for (const Sample& sample : op->decl.samples) {
        SCOPED_TRACE(op->decl.name + " " + std::string(name(t)) + " " + sample.operands + " " + sample.attrs);
        const Case c = case_of(*op, sample.operands, sample.attrs, t, sample.low, sample.high);
        const std::vector<Tensor> want = compiled(*op, c, every).run();
        for (size_t i : every) {
          if (op->rules.alone[i].empty()) continue;
          const Tensor have = compiled(*op, c, {i}).run()[0];
          ASSERT_EQ(have.bytes(), want[i].bytes());
          if (have.bytes() != 0) {
            EXPECT_EQ(std::memcmp(have.data(), want[i].data(), have.bytes()), 0) << "result " << i;
          }
          ++seen;
        }
      }
    }
  }
  EXPECT_GT(seen, 60u);
}

}  // namespace
}  // namespace ig::ops
