// The places of a large constant: its ends, and some evenly spread.
#include "ir/quick_hash.h"

#include "support/hash.h"

namespace ig {
namespace {

constexpr size_t kWhole = 4096;  // bytes that are quick to read
constexpr size_t kEnd = 256, kPiece = 64, kPieces = 31;

uint64_t quick_hash(const Literal& literal) {
  std::string_view bytes(static_cast<const char*>(literal.data()), literal.bytes());
  uint64_t h = hash64(literal.type().str());
  if (bytes.size() <= kWhole) return hash_combine(h, hash64(bytes));
  h = hash_combine(h, hash64(bytes.substr(0, kEnd)));
  h = hash_combine(h, hash64(bytes.substr(bytes.size() - kEnd)));
  size_t step = (bytes.size() - 2 * kEnd) / kPieces;
  for (size_t i = 0; i < kPieces; ++i) h = hash_combine(h, hash64(bytes.substr(kEnd + i * step, kPiece)));
  return h;
}

}  // namespace

uint64_t quick_hash(const Attrs& attrs) {
  uint64_t h = 0;
  for (const auto& [name, value] : attrs.items()) {
    const auto* literal = std::get_if<Literal>(&value);
    h = hash_combine(hash_combine(h, hash64(name)), literal ? quick_hash(*literal) : hash(value));
  }
  return h;
}

}  // namespace ig
