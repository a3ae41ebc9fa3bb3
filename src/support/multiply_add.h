// The peak of float32 fused multiply-adds, as the machine reaches it: chains that do not wait for each other,
// in the widest registers that the processor has. `intaglio doctor` and the benchmarks' limits measure by it.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace ig::probe {

inline constexpr int kChains = 12;  // independent: more than latency times units of any core

// Each chain starts from a number of its own. Were they alike, a compiler would see that all chains hold the
// same number, and compute one of them.
__attribute__((target("avx2,fma"))) inline float multiply_add_256(int64_t steps) {
  __m256 sums[kChains];
  const __m256 a = _mm256_set1_ps(0.999F);
  const __m256 b = _mm256_set1_ps(0.001F);
#pragma GCC unroll 12
  for (int k = 0; k < kChains; ++k) sums[k] = _mm256_set1_ps(static_cast<float>(k));
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (auto& sum : sums) sum = _mm256_fmadd_ps(sum, a, b);
  }
  float out = 0;
  for (const auto& sum : sums) out += _mm256_cvtss_f32(sum);
  return out;
}

__attribute__((target("avx512f"))) inline float multiply_add_512(int64_t steps) {
  __m512 sums[kChains];
  const __m512 a = _mm512_set1_ps(0.999F);
  const __m512 b = _mm512_set1_ps(0.001F);
#pragma GCC unroll 12
  for (int k = 0; k < kChains; ++k) sums[k] = _mm512_set1_ps(static_cast<float>(k));
  for (int64_t i = 0; i < steps; ++i) {
#pragma GCC unroll 12
    for (auto& sum : sums) sum = _mm512_fmadd_ps(sum, a, b);
  }
  float out = 0;
  for (const auto& sum : sums) out += _mm512_cvtss_f32(sum);
  return out;
}

// What the processor can run, the widest last; `operations` are those of one step.
struct MultiplyAdd {
  const char* name;
  float (*run)(int64_t steps);
  double operations;
};
inline constexpr MultiplyAdd kMultiplyAdd256{"avx2", multiply_add_256, 2.0 * 8 * kChains};
inline constexpr MultiplyAdd kMultiplyAdd512{"avx512", multiply_add_512, 2.0 * 16 * kChains};

inline const MultiplyAdd* widest_multiply_add() {
  if (__builtin_cpu_supports("avx512f")) return &kMultiplyAdd512;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &kMultiplyAdd256;
  return nullptr;
}

}  // namespace ig::probe
