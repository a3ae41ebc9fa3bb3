// Generic checks over the declarations of the moving, contracting, ordering, random and composite families:
// every sample is inferred and run by its reference, every bad sample gives exactly the error it states. The
// element-wise comparison with NumPy and with compiled code is the generated Python tests'.
#include <gtest/gtest.h>

#include "ops2_cases.h"

namespace ig::ops {
namespace {

TEST(Ops2Samples, ReferencesAgreeWithInference) {
  for (const Op* op : all()) {
    if (!is_ops2(*op)) continue;
    for (DType t : members(op->decl.dtypes))
      for (const Sample& sample : op->decl.samples) {
        SCOPED_TRACE(op->decl.name + " " + std::string(name(t)) + " " + sample.operands + " " + sample.attrs);
        try {
          Case c = case_of(*op, sample.operands, sample.attrs, t, sample.low, sample.high);
          std::vector<Type> types;
          for (const Literal& literal : c.operands) types.push_back(literal.type());
          std::vector<Type> want = infer(*op, types, c.attrs, DimScope());
          std::vector<Literal> have = evaluate(*op, c.attrs, c.operands);
          ASSERT_EQ(want.size(), have.size());
          if (op->decl.results >= 0) {
            EXPECT_EQ(static_cast<size_t>(op->decl.results), have.size());
          }
          for (size_t i = 0; i < have.size(); ++i) EXPECT_EQ(want[i].str(), have[i].type().str());
        } catch (const Error& error) {
          // A sample that folds by order is for real numbers alone.
          bool ordered =
              is_complex(t) && std::string(error.what()).find("have no order") != std::string::npos;
          if (!ordered) ADD_FAILURE() << error.what();
        }
      }
  }
}

TEST(Ops2Samples, BadSamplesGiveTheirErrors) {
  for (const Op* op : all()) {
    if (!is_ops2(*op)) continue;
    for (const BadSample& bad : op->decl.bad_samples) {
      SCOPED_TRACE(op->decl.name + " " + bad.operands + " " + bad.attrs);
      DType t = contains(op->decl.dtypes, DType::F32) ? DType::F32 : members(op->decl.dtypes)[0];
      try {
        Case c = case_of(*op, bad.operands, bad.attrs, t, -4, 4);
        std::vector<Type> types;
        for (const Literal& literal : c.operands) types.push_back(literal.type());
        infer(*op, types, c.attrs, DimScope());
        ADD_FAILURE() << "no error";
      } catch (const Error& error) {
        EXPECT_EQ(std::string(error_kind_name(error.kind())) + ": " + error.summary(), bad.error);
      }
    }
  }
}

}  // namespace
}  // namespace ig::ops
