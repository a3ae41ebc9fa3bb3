// Generic checks over the declarations of the moving, contracting, ordering, random and composite families: every
// sample is inferred and run by its reference, every bad sample gives exactly the error it states. The element-wise
// comparison with NumPy and with compiled code is the generated Python tests'.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include "ops/builder.h"
#include "ops/families/array_tools.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

struct Case {
  std::vector<Literal> operands;
  Attrs attrs;
};

// Splits at top-level commas.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  std::string item;
  for (char c : text) {
    depth += c == '[' || c == '{' || c == '(';
    depth -= c == ']' || c == '}' || c == ')';
    if (c == ',' && depth == 0) {
      out.push_back(item);
      item.clear();
    } else {
      item += c;
    }
  }
  if (item.find_first_not_of(' ') != std::string::npos) out.push_back(item);
  for (std::string& s : out) {
    s.erase(0, s.find_first_not_of(' '));
    s.erase(s.find_last_not_of(' ') + 1);
  }
  return out;
}

Literal literal_of(std::string text, DType t, double low, double high) {
  if (text.starts_with("T[")) text = std::string(name(t)) + text.substr(1);
  size_t brace = text.find('{');
  Type type = Type::parse(text.substr(0, text.find(']') + 1));
  Literal out = Literal::allocate(type.dtype, *constant_dims(type.dims));
  if (brace != std::string::npos) {
    std::vector<std::string> values = split(text.substr(brace + 1, text.rfind('}') - brace - 1));
    EXPECT_EQ(static_cast<int64_t>(values.size()), out.elements()) << text;
    for (size_t i = 0; i < values.size(); ++i) {
      double value = values[i] == "true" ? 1 : values[i] == "false" ? 0 : std::stod(values[i]);
      if (is_float(type.dtype)) tools::set_real(out, static_cast<int64_t>(i), value);
      else tools::set_whole(out, static_cast<int64_t>(i), static_cast<int64_t>(value));
    }
    return out;
  }
  std::mt19937_64 random(7);
  for (int64_t i = 0; i < out.elements(); ++i) {
    double u = low + (high - low) * std::uniform_real_distribution<double>(0, 1)(random);
    if (is_float(type.dtype)) tools::set_real(out, i, u);
    else if (type.dtype == DType::Key) tools::set_whole(out, i, static_cast<int64_t>(random()));
    else if (type.dtype == DType::Bool) tools::set_whole(out, i, static_cast<int64_t>(random() & 1));
    else if (!is_complex(type.dtype)) tools::set_whole(out, i, static_cast<int64_t>(u));
  }
  return out;
}

Case case_of(const Op& op, const std::string& operands, const std::string& attrs, DType t, double low, double high) {
  Case out;
  for (const std::string& text : split(operands)) out.operands.push_back(literal_of(text, t, low, high));
  std::string inside = attrs.substr(1, attrs.size() - 2);
  Attrs given;
  for (const std::string& item : split(inside)) {
    size_t equals = item.find(" = ");
    std::string key = item.substr(0, equals);
    auto spec = std::find_if(op.decl.attrs.begin(), op.decl.attrs.end(), [&](const AttrSpec& s) { return s.name == key; });
    EXPECT_TRUE(spec != op.decl.attrs.end()) << op.decl.name << " has no attribute " << key;
    if (spec != op.decl.attrs.end()) given.set(key, AttrSpec::parse_value(spec->kind, item.substr(equals + 3)));
  }
  out.attrs = complete_attrs(op, given);
  return out;
}

TEST(Ops2Samples, ReferencesAgreeWithInference) {
  for (const Op* op : all())
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
          ADD_FAILURE() << error.what();
        }
      }
}

TEST(Ops2Samples, BadSamplesGiveTheirErrors) {
  for (const Op* op : all())
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

}  // namespace
}  // namespace ig::ops
