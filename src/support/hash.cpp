// XXH3 behind the two functions that the rest of the house uses.
#define XXH_INLINE_ALL
#include "support/hash.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace ig {

std::string Hash128::hex() const { return fmt::format("{:016x}{:016x}", high, low); }

uint64_t hash64(std::string_view bytes, uint64_t seed) {
  return XXH3_64bits_withSeed(bytes.data(), bytes.size(), seed);
}

Hash128 hash128(std::string_view bytes) {
  XXH128_hash_t h = XXH3_128bits(bytes.data(), bytes.size());
  return {h.low64, h.high64};
}

}  // namespace ig
