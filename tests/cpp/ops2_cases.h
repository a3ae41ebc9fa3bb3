// Test cases of declared samples: the words of a Sample as arrays and attributes, random values drawn by a
// fixed seed.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "ops/builder.h"
#include "ops/families/array_tools.h"
#include "ops/families/families.h"
#include "ops/table.h"

namespace ig::ops {

// INTAGLIO_TEST_OP narrows the tests that go through all ops to one of them.
inline bool all_asked_for() { return std::getenv("INTAGLIO_TEST_OP") == nullptr; }
inline bool is_asked_for(const Op& op) {
  return all_asked_for() || op.decl.name == std::getenv("INTAGLIO_TEST_OP");
}

struct Case {
  std::vector<Literal> operands;
  Attrs attrs;
};

// Splits at top-level commas; what stands in quotes is one piece.
inline std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  bool quoted = false;
  std::string item;
  for (char c : text) {
    quoted ^= c == '"';
    if (!quoted) {
      depth += c == '[' || c == '{' || c == '(' || c == '<';
      depth -= c == ']' || c == '}' || c == ')' || c == '>';
    }
    if (c == ',' && depth == 0 && !quoted) {
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

inline Literal literal_of(std::string text, DType t, double low, double high, size_t seed) {
  if (text.starts_with("T[")) text = std::string(name(t)) + text.substr(1);
  if (text.starts_with("R[")) text = std::string(name(is_complex(t) ? part_of(t) : t)) + text.substr(1);
  size_t brace = text.find('{');
  Type type = Type::parse(text.substr(0, text.find(']') + 1));
  Literal out = Literal::allocate(type.dtype, *constant_dims(type.dims));
  if (brace != std::string::npos) {
    std::vector<std::string> values = split(text.substr(brace + 1, text.rfind('}') - brace - 1));
    EXPECT_EQ(static_cast<int64_t>(values.size()), out.elements()) << text;
    for (size_t i = 0; i < values.size(); ++i) {
      // (re, im) is a complex number; of a real type its real part.
      bool pair = values[i].starts_with("(");
      std::string word = values[i].substr(pair);
      double value = word == "true" ? 1 : word == "false" ? 0 : std::stod(word);
      double imaginary = pair ? std::stod(word.substr(word.find(',') + 1)) : 0;
      if (is_float(type.dtype))
        tools::set_real(out, static_cast<int64_t>(i), value);
      else if (is_complex(type.dtype))
        tools::set_complex(out, static_cast<int64_t>(i), value, imaginary);
      else
        tools::set_whole(out, static_cast<int64_t>(i), static_cast<int64_t>(value));
    }
    return out;
  }
  std::mt19937_64 random(seed);
  for (int64_t i = 0; i < out.elements(); ++i) {
    auto drawn = [&] { return low + (high - low) * std::uniform_real_distribution<double>(0, 1)(random); };
    double u = drawn();
    if (is_float(type.dtype))
      tools::set_real(out, i, u);
    else if (is_complex(type.dtype))
      tools::set_complex(out, i, u, drawn());
    else if (type.dtype == DType::Key)
      tools::set_whole(out, i, static_cast<int64_t>(random()));
    else if (type.dtype == DType::Bool)
      tools::set_whole(out, i, static_cast<int64_t>(random() & 1));
    else
      tools::set_whole(out, i, static_cast<int64_t>(u));
  }
  return out;
}

inline Case case_of(const Op& op, const std::string& operands, const std::string& attrs, DType t, double low,
                    double high) {
  Case out;
  for (const std::string& text : split(operands))  // no two operands alike
    out.operands.push_back(literal_of(text, t, low, high, 7 + out.operands.size()));
  std::string inside = attrs.substr(1, attrs.size() - 2);
  Attrs given;
  for (const std::string& item : split(inside)) {
    size_t equals = item.find(" = ");
    std::string key = item.substr(0, equals);
    auto spec = std::find_if(op.decl.attrs.begin(), op.decl.attrs.end(),
                             [&](const AttrSpec& s) { return s.name == key; });
    EXPECT_TRUE(spec != op.decl.attrs.end()) << op.decl.name << " has no attribute " << key;
    if (spec != op.decl.attrs.end())
      given.set(key, AttrSpec::parse_value(spec->kind, item.substr(equals + 3)));
  }
  out.attrs = complete_attrs(op, given);
  return out;
}

// Whether the op is of the families that these tests are about.
inline bool is_ops2(const Op& op) {
  static const std::vector<std::string>* names = [] {
    auto* out = new std::vector<std::string>;
    for (auto family : {structural_ops, indexing_ops, contraction_ops, window_ops, order_ops, random_ops,
                        control_ops, nn_composites, numpy_composites})
      for (const Op& o : family()) out->push_back(o.decl.name);
    return out;
  }();
  return std::find(names->begin(), names->end(), op.decl.name) != names->end();
}

}  // namespace ig::ops
