// The targets by name. Which instructions the processor itself has beyond its level only LLVM needs to know,
// and asks when it compiles.
#include "codegen/target.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>

#include "support/error.h"
#include "support/processor.h"

namespace ig::codegen {
namespace {

struct Level {
  int level;
  std::string_view name;
  int vector_bytes, registers;
  bool fma;
};
constexpr std::array<Level, 3> kLevels = {{
    {2, "x86-64-v2", 16, 16, false},
    {3, "x86-64-v3", 32, 16, true},
    {4, "x86-64-v4", 64, 32, true},
}};

Target target_of(const Level& level, std::string_view name) {
  return {.name = std::string(name),
          .vector_bytes = level.vector_bytes,
          .registers = level.registers,
          .fma = level.fma};
}

Target native() {
  Target out{.name = "native"};
  for (const Level& level : kLevels)
    if (level.level <= processor_level()) out = target_of(level, "native");
  if (processor_is_amd()) out.rows_to_ask_ahead = out.vector_bytes == 64 ? 19 : 10;
  return out;
}

Error no_such_target(std::string_view name) {
  return make_error(ErrorKind::Unsupported, "there is no target \"{}\"", name)
      .why("code is made for a level of the x86-64 ABI, or for the CPU this runs on")
      .hint("choose \"x86-64-v2\", \"x86-64-v3\", \"x86-64-v4\" or \"native\"");
}

}  // namespace

Target Target::named(std::string_view name) {
  if (name == "native") return ig::codegen::native();
  const auto* level = std::ranges::find(kLevels, name, &Level::name);
  if (level == kLevels.end()) throw no_such_target(name);
  return target_of(*level, name);
}

const Target& Target::host() {
  static const Target target = [] {
    const char* wanted = std::getenv("INTAGLIO_TARGET");
    if (wanted == nullptr || *wanted == '\0') return named("native");
    Target t = named(wanted);
    if (!t.runs_here())
      throw make_error(ErrorKind::Unsupported, "INTAGLIO_TARGET asks for {}, which this machine cannot run",
                       wanted)
          .why(fmt::format("its CPU ({}) lacks instructions of that level", processor_name()))
          .hint("unset INTAGLIO_TARGET, or choose a lower level");
    return t;
  }();
  return target;
}

bool Target::runs_here() const {
  if (native()) return true;
  const auto* level = std::ranges::find(kLevels, name, &Level::name);
  return level != kLevels.end() && level->level <= processor_level();
}

bool rows_stay(int64_t rows, int64_t apart) {
  constexpr int64_t kPage = 4096, kLines = 6;
  return apart != 0 && rows * std::gcd(apart, kPage) <= kLines * kPage;
}

}  // namespace ig::codegen
