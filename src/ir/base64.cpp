// Base64 (RFC 4648).
#include "ir/base64.h"

#include <array>
#include <cstdint>

namespace ig {
namespace {
constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
}

std::string base64_encode(std::string_view bytes) {
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t word = 0;
    for (size_t k = 0; k < 3; ++k)
      word = word << 8 | (i + k < bytes.size() ? static_cast<uint8_t>(bytes[i + k]) : 0);
    for (size_t k = 0; k < 4; ++k) out += i + k <= bytes.size() ? kDigits[word >> (18 - 6 * k) & 63] : '=';
  }
  return out;
}

std::optional<std::string> base64_decode(std::string_view text) {
  std::array<int8_t, 256> digit;
  digit.fill(-1);
  for (size_t i = 0; i < kDigits.size(); ++i)
    digit[static_cast<uint8_t>(kDigits[i])] = static_cast<int8_t>(i);
  if (text.size() % 4 != 0) return std::nullopt;
  std::string out;
  out.reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    size_t padding = 0;
    uint32_t word = 0;
    for (size_t k = 0; k < 4; ++k) {
      char c = text[i + k];
      if (c == '=' && i + 4 == text.size() && k >= 2) {
        ++padding;
        word <<= 6;
        continue;
      }
      int8_t d = digit[static_cast<uint8_t>(c)];
      if (d < 0 || padding) return std::nullopt;
      word = word << 6 | static_cast<uint32_t>(d);
    }
    for (size_t k = 0; k + padding < 3; ++k) out += static_cast<char>(word >> (16 - 8 * k) & 255);
  }
  return out;
}

}  // namespace ig
