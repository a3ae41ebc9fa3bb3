// Hashes of content: 64 bits for tables, 128 bits where a hash stands for the thing itself (graphs, kernels,
// cache keys). XXH3, by the xxHash library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace ig {

struct Hash128 {
  uint64_t low = 0, high = 0;
  bool operator==(const Hash128&) const = default;
  auto operator<=>(const Hash128&) const = default;
  std::string hex() const;  // 32 lower-case digits
};

uint64_t hash64(std::string_view bytes, uint64_t seed = 0);
Hash128 hash128(std::string_view bytes);
inline uint64_t hash_combine(uint64_t a, uint64_t b) {
  a ^= b + 0x9e3779b97f4a7c15ull + (a << 12) + (a >> 4);
  return a * 0xff51afd7ed558ccdull;
}

}  // namespace ig

template <>
struct std::hash<ig::Hash128> {
  size_t operator()(const ig::Hash128& h) const { return h.low ^ (h.high * 0x9e3779b97f4a7c15ull); }
};
