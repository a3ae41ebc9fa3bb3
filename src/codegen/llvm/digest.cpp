// BLAKE3, plain and keyed.
#include "codegen/digest.h"

#include <llvm-c/blake3.h>

#include <fmt/format.h>

namespace ig::codegen {
namespace {

Digest finish(llvm_blake3_hasher& hasher, std::string_view bytes) {
  static_assert(LLVM_BLAKE3_OUT_LEN == std::tuple_size_v<Digest>);
  llvm_blake3_hasher_update(&hasher, bytes.data(), bytes.size());
  Digest out;
  llvm_blake3_hasher_finalize(&hasher, out.data(), out.size());
  return out;
}

}  // namespace

Digest digest(std::string_view bytes) {
  llvm_blake3_hasher hasher;
  llvm_blake3_hasher_init(&hasher);
  return finish(hasher, bytes);
}

Digest signature(const std::array<uint8_t, 32>& secret, std::string_view bytes) {
  llvm_blake3_hasher hasher;
  llvm_blake3_hasher_init_keyed(&hasher, secret.data());
  return finish(hasher, bytes);
}

std::string hex(const Digest& digest) {
  std::string out;
  for (uint8_t byte : digest) out += fmt::format("{:02x}", byte);
  return out;
}

bool same(const Digest& a, const Digest& b) {
  uint8_t different = 0;
  for (size_t i = 0; i < a.size(); ++i) different |= static_cast<uint8_t>(a[i] ^ b[i]);
  return different == 0;
}

}  // namespace ig::codegen
