// Hashes that nobody can make collide, and signatures that nobody can make without the secret: BLAKE3.
// Tables inside a process use the quicker ones of support/hash.h.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace ig::codegen {

using Digest = std::array<uint8_t, 32>;

Digest digest(std::string_view bytes);
Digest signature(const std::array<uint8_t, 32>& secret, std::string_view bytes);
std::string hex(const Digest& digest);

// In a time that does not tell where they differ.
bool same(const Digest& a, const Digest& b);

}  // namespace ig::codegen
