// What code is made for: the psABI levels by name, or the CPU this runs on. CPU and features come from LLVM's
// own detection; a target runs here if the host has every feature that code for it may use.
#include <llvm/ADT/StringMap.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "codegen/jit.h"
#include "support/error.h"

namespace ig::codegen {
namespace {

struct Level {
  std::string_view name;
  int vector_bytes, registers;
  bool fma;
  std::vector<std::string_view> needs;
};

const std::array<Level, 3>& levels() {
  static const std::array<Level, 3> all = {{
      {"x86-64-v2", 16, 16, false, {"sse4.2", "popcnt", "cx16", "ssse3"}},
      {"x86-64-v3", 32, 16, true, {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe"}},
      {"x86-64-v4",
       64,
       32,
       true,
       {"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe", "avx512f", "avx512bw", "avx512cd", "avx512dq",
        "avx512vl"}},
  }};
  return all;
}

const llvm::StringMap<bool>& host_features() {
  static const llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  return features;
}

bool host_has(const Level& level) {
  for (std::string_view need : level.needs)
    if (!host_features().lookup(llvm::StringRef(need.data(), need.size()))) return false;
  return true;
}

Target native() {
  Target t;
  t.name = llvm::sys::getHostCPUName().str();
  std::vector<std::string> parts;
  for (const auto& entry : host_features()) parts.push_back((entry.second ? "+" : "-") + entry.first().str());
  std::sort(parts.begin(), parts.end());
  for (const std::string& part : parts) t.features += (t.features.empty() ? "" : ",") + part;
  for (const Level& level : levels()) {
    if (!host_has(level)) continue;
    t.vector_bytes = level.vector_bytes;
    t.registers = level.registers;
    t.fma = level.fma;
  }
  return t;
}

Error no_such_target(std::string_view name) {
  return make_error(ErrorKind::Unsupported, "there is no target \"{}\"", name)
      .why("code is made for a level of the x86-64 ABI, or for the CPU this runs on")
      .hint("choose \"x86-64-v2\", \"x86-64-v3\", \"x86-64-v4\" or \"native\"");
}

}  // namespace

Target Target::named(std::string_view name) {
  if (name == "native") return native();
  for (const Level& level : levels())
    if (level.name == name)
      return {std::string(level.name), "", level.vector_bytes, level.registers, level.fma};
  throw no_such_target(name);
}

std::string_view llvm_version() { return LLVM_VERSION_STRING; }

const Target& Target::host() {
  static const Target target = [] {
    const char* wanted = std::getenv("INTAGLIO_TARGET");
    if (wanted == nullptr || *wanted == '\0') return native();
    Target t = named(wanted);
    if (!t.runs_here())
      throw make_error(ErrorKind::Unsupported, "INTAGLIO_TARGET asks for {}, which this machine cannot run",
                       wanted)
          .why(fmt::format("its CPU ({}) lacks instructions of that level", native().name))
          .hint("unset INTAGLIO_TARGET, or choose a lower level");
    return t;
  }();
  return target;
}

bool Target::runs_here() const {
  for (const Level& level : levels())
    if (level.name == name) return host_has(level);
  return name == llvm::sys::getHostCPUName();
}

}  // namespace ig::codegen
