// Elements in memory as bits of a width, and the registers of 16 bytes that every x86-64 has.
#pragma once

#include <cstdint>
#include <cstring>

namespace ig::rt {

inline constexpr int64_t kRegister = 16;  // bytes

struct Wide {
  uint64_t parts[2];
};

template <typename T>
T load(const char* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
template <typename T>
void store(char* to, T value) {
  std::memcpy(to, &value, sizeof value);
}

template <typename T>
struct Registers {
  typedef T Vector __attribute__((vector_size(kRegister)));
};

}  // namespace ig::rt
