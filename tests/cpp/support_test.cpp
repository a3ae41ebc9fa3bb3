// The support layer: errors in four parts, dtypes and their promotion, half-precision conversions, hashes.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "support/dtype.h"
#include "support/error.h"
#include "support/hash.h"

namespace ig {
namespace {

TEST(Error, RendersTheFourPartsInOrder) {
  Error e = make_error(ErrorKind::Shape, "add: {} and {} do not broadcast", "[2]", "[3]");
  EXPECT_STREQ(e.what(), "add: [2] and [3] do not broadcast");
  e.hint("reshape one").why("sizes differ").at("f.py:3");
  EXPECT_STREQ(e.what(),
               "add: [2] and [3] do not broadcast\n  at: f.py:3\n  why: sizes differ\n  hint: reshape one");
  EXPECT_EQ(error_kind_name(e.kind()), "ShapeError");
}

TEST(Error, CheckNamesTheCondition) {
  try {
    IG_CHECK(1 == 2, "numbers broke: {}", 7);
    FAIL() << "the check did not throw";
  } catch (const Error& e) {
    EXPECT_EQ(e.kind(), ErrorKind::Internal);
    EXPECT_EQ(e.summary(), "numbers broke: 7");
    EXPECT_NE(e.why_text().find("1 == 2"), std::string::npos);
  }
}

TEST(DType, NamesParseBack) {
  for (int i = 0; i < kDTypeCount; ++i) {
    auto d = static_cast<DType>(i);
    EXPECT_EQ(dtype_from_name(name(d)), d);
    EXPECT_EQ(dtype_from_name(info(d).api_name), d);
  }
  EXPECT_EQ(dtype_from_name("float"), std::nullopt);
}

TEST(DType, PromotionIsSymmetricAndFollowsTheStandard) {
  for (int i = 0; i < kDTypeCount; ++i)
    for (int j = 0; j < kDTypeCount; ++j)
      EXPECT_EQ(promote(static_cast<DType>(i), static_cast<DType>(j)),
                promote(static_cast<DType>(j), static_cast<DType>(i)));
  EXPECT_EQ(promote(DType::I8, DType::U8), DType::I16);
  EXPECT_EQ(promote(DType::I64, DType::U32), DType::I64);
  EXPECT_EQ(promote(DType::I64, DType::U64), std::nullopt);
  EXPECT_EQ(promote(DType::F16, DType::BF16), DType::F32);
  EXPECT_EQ(promote(DType::F64, DType::C64), DType::C128);
  EXPECT_EQ(promote(DType::I32, DType::F32), std::nullopt);
  EXPECT_EQ(promote(DType::Bool, DType::I32), std::nullopt);
}

TEST(Half, EveryF16SurvivesTheWayThroughF32) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float wide = f16_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(wide))));
    } else {
      ASSERT_EQ(f32_to_f16(wide), bits);
    }
  }
}

TEST(Half, EveryBf16SurvivesAndTiesGoToEven) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    float wide = bf16_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(wide)) {
      EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(wide))));
    } else {
      ASSERT_EQ(f32_to_bf16(wide), bits);
    }
  }
  auto from_bits = [](uint32_t b) {
    float f;
    std::memcpy(&f, &b, sizeof f);
    return f;
  };
  EXPECT_EQ(f32_to_bf16(from_bits(0x3f808000)), 0x3f80);  // halfway, even below
  EXPECT_EQ(f32_to_bf16(from_bits(0x3f818000)), 0x3f82);  // halfway, even above
  EXPECT_EQ(f32_to_bf16(from_bits(0x3f808001)), 0x3f81);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
}

TEST(Hash, KnownAndDistinct) {
  EXPECT_EQ(hash128("").hex().size(), 32u);
  EXPECT_EQ(hash128("graph"), hash128("graph"));
  EXPECT_NE(hash128("graph"), hash128("grapi"));
  EXPECT_NE(hash64("x", 0), hash64("x", 1));
}

}  // namespace
}  // namespace ig
