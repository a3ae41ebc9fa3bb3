// The support layer: errors in four parts, dtypes and their promotion, half-precision conversions, hashes,
// what the processor is, which builds our libraries are.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "support/dtype.h"
#include "support/error.h"
#include "support/hash.h"
#include "support/processor.h"
#include "support/shared_object.h"

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

// A processor that answers with what the test says.
struct FakeProcessor {
  std::map<std::pair<uint32_t, uint32_t>, std::array<uint32_t, 4>> answers = {
      {{0, 0}, {0x24, 1, 2, 3}}, {{7, 0}, {1, 4, 5, 6}}, {{0x80000000, 0}, {0x80000008, 0, 0, 0}}};
  uint64_t saved = 7;

  std::string fingerprint() const {
    return processor_fingerprint(
        [&](uint32_t leaf, uint32_t subleaf) {
          auto at = answers.find({leaf, subleaf});
          return at == answers.end() ? std::array<uint32_t, 4>{} : at->second;
        },
        saved);
  }
};

TEST(Processor, EachBitThatCodeMayDependOnChangesTheFingerprint) {
  // Where LLVM looks for features, and family, model and stepping: leaf, subleaf, register.
  constexpr std::tuple<uint32_t, uint32_t, size_t> kPlaces[] = {
      {0, 0, 1},    {0, 0, 2},    {0, 0, 3},    {1, 0, 0},          {1, 0, 2},          {1, 0, 3},
      {7, 0, 1},    {7, 0, 2},    {7, 0, 3},    {7, 1, 0},          {7, 1, 3},          {0xd, 1, 0},
      {0x14, 0, 1}, {0x19, 0, 1}, {0x24, 0, 1}, {0x80000001, 0, 2}, {0x80000001, 0, 3}, {0x80000008, 0, 1}};
  std::set<std::string> all = {FakeProcessor().fingerprint()};
  for (auto [leaf, subleaf, place] : kPlaces)
    for (int bit = 0; bit < 32; ++bit) {
      FakeProcessor other;
      other.answers[{leaf, subleaf}][place] ^= 1u << bit;
      EXPECT_TRUE(all.insert(other.fingerprint()).second) << std::hex << leaf << " " << place << " " << bit;
    }
  for (int bit = 0; bit < 20; ++bit) {
    FakeProcessor other;
    other.saved ^= uint64_t{1} << bit;
    EXPECT_TRUE(all.insert(other.fingerprint()).second) << bit;
  }
}

TEST(Processor, WhatDiffersFromCoreToCoreDoesNot) {
  FakeProcessor other;
  other.answers[{1, 0}][1] = 0x05000000;    // the core's number
  other.answers[{0x25, 0}] = {1, 1, 1, 1};  // above the last leaf: anything
  other.answers[{0x80000009, 0}] = {1, 1, 1, 1};
  other.answers[{7, 2}] = {1, 1, 1, 1};
  EXPECT_EQ(other.fingerprint(), FakeProcessor().fingerprint());
  FakeProcessor old;
  old.answers[{0, 0}][0] = 1;  // its last leaf
  EXPECT_EQ(old.fingerprint().find(" 7.0"), std::string::npos);
}

TEST(Processor, ThisOneHasANameAndALevel) {
  EXPECT_FALSE(processor_name().empty());
  EXPECT_EQ(processor_fingerprint(), processor_fingerprint());
  EXPECT_NE(processor_fingerprint().find(" 1.0:"), std::string::npos);
  const std::vector<std::string_view> features = processor_features();
  const std::set<std::string_view> has(features.begin(), features.end());
  EXPECT_EQ(processor_level() >= 2, has.contains("sse4.2"));
  EXPECT_EQ(processor_level() >= 3, has.contains("avx2") && has.contains("fma"));
  EXPECT_EQ(processor_level() >= 4, has.contains("avx512f") && has.contains("avx512vl"));
}

TEST(SharedObject, ABuildIdIsReadFromTheFileAsFromMemory) {
  const std::string folder = folder_at(reinterpret_cast<const void*>(&processor_level));
  EXPECT_TRUE(folder.ends_with('/'));
  EXPECT_EQ(build_id_of_file(folder + "libintaglio_runtime.so"), build_id());
  EXPECT_EQ(build_id().size(), 40u);
  EXPECT_EQ(build_id_of_file(folder + "no_such_library.so"), "");
  EXPECT_EQ(build_id_of_file(folder), "");
  EXPECT_EQ(folder_at(nullptr), "");
}

TEST(SharedObject, ATornOrForeignFileHasNoBuildId) {
  const std::string folder = folder_at(reinterpret_cast<const void*>(&processor_level));
  std::ifstream file(folder + "libintaglio_runtime.so", std::ios::binary);
  std::string start(4096, '\0');
  ASSERT_TRUE(file.read(start.data(), static_cast<std::streamsize>(start.size())));
  char path[] = "/tmp/intaglio-object-XXXXXX";
  const int made = mkstemp(path);
  ASSERT_GE(made, 0);
  close(made);
  auto id_of = [&](std::string_view bytes) {
    std::ofstream(path, std::ios::binary) << bytes;
    return build_id_of_file(path);
  };
  for (size_t end : {0, 4, 16, 63, 64, 65, 120, 400}) EXPECT_EQ(id_of(start.substr(0, end)), "") << end;
  EXPECT_EQ(id_of("a text"), "");
  for (size_t bit = 0; bit < 64 * 8; ++bit) {  // of the header: no answer, or this one, but no fault
    std::string damaged = start;
    damaged[bit / 8] = static_cast<char>(damaged[bit / 8] ^ (1 << (bit % 8)));
    const std::string id = id_of(damaged);
    EXPECT_TRUE(id.empty() || id == build_id()) << bit;
  }
  unlink(path);
}

}  // namespace
}  // namespace ig
