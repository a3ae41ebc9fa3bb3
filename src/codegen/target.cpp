// The targets by name. Which instructions the processor itself has beyond its level only LLVM needs to know,
// and asks when it compiles.
#include "codegen/target.h"

#include <numeric>

#include "support/processor.h"

namespace ig::codegen {
namespace {

Target of_level(int level, std::string_view name) {
  switch (level) {
    case 4: return {.name = std::string(name), .vector_bytes = 64, .registers = 32, .fma = true};
    case 3: return {.name = std::string(name), .vector_bytes = 32, .registers = 16, .fma = true};
    default: return {.name = std::string(name)};
  }
}

}  // namespace

Target Target::named(std::string_view name) {
  Target out = of_level(level_of_target(name), name);
  if (!out.native()) return out;
  const int family = amd_family();
  if (family >= kZen5)
    out.rows_to_ask_ahead = 3, out.one_tile_asks = out.follows_short_rows = out.divides_wide = true;
  else if (family > 0)
    out.rows_to_ask_ahead = out.vector_bytes == 64 ? 19 : 10;
  return out;
}

const Target& Target::host() {
  static const Target target = named(wanted_target());
  return target;
}

bool Target::runs_here() const { return level_of_target(name) <= processor_level(); }

bool rows_stay(int64_t rows, int64_t apart) {
  constexpr int64_t kPage = 4096, kLines = 6;
  return apart != 0 && rows * std::gcd(apart, kPage) <= kLines * kPage;
}

}  // namespace ig::codegen
