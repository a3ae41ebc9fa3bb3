// Numbers as people read them.
#include "support/units.h"

#include <array>

#include <fmt/format.h>

namespace ig {

std::string readable_bytes(size_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"bytes", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) value /= 1024, ++unit;
  return unit == 0 ? fmt::format("{} bytes", bytes) : fmt::format("{:.2f} {}", value, kUnits[unit]);
}

std::string readable_time(double nanoseconds) {
  static constexpr std::array<const char*, 4> kUnits = {"ns", "µs", "ms", "s"};
  size_t unit = 0;
  while (nanoseconds >= 1000 && unit + 1 < kUnits.size()) nanoseconds /= 1000, ++unit;
  if (unit == 0) return fmt::format("{:.0f} ns", nanoseconds);
  const int digits = nanoseconds < 10 ? 2 : nanoseconds < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", nanoseconds, digits, kUnits[unit]);
}

}  // namespace ig
