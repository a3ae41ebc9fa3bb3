// The levels are processors by LLVM's names; the host's is what LLVM detects.
#include "codegen/llvm/cpu.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <iterator>
#include <string_view>
#include <vector>

namespace ig::codegen {
namespace {

// Not asked for though the host may have them.
// - LLVM 19 turns some masked comparisons of float16 vectors round without turning their predicate (its issue
//   159723), and gives wrong results. Kernels compute float16 in float32, so they lose nothing.
// - AMD's SSE4a shuffles bytes by instructions (`insertq`, `extrq`) that have the old encoding alone. Between
//   instructions of AVX each took 120 ns on a Zen 3.
constexpr std::string_view kUnwanted[] = {"avx512fp16", "sse4a"};

Cpu detect() {
  Cpu out{llvm::sys::getHostCPUName().str(), ""};
  std::vector<std::string> parts;
  for (const auto& entry : llvm::sys::getHostCPUFeatures()) {
    const bool wanted =
        entry.second && std::ranges::find(kUnwanted, std::string_view(entry.first())) == std::end(kUnwanted);
    parts.push_back((wanted ? "+" : "-") + entry.first().str());
  }
  std::sort(parts.begin(), parts.end());
  for (const std::string& part : parts) out.features += (out.features.empty() ? "" : ",") + part;
  return out;
}

}  // namespace

Cpu cpu_of(const Target& target) {
  static const Cpu host = detect();
  return target.native() ? host : Cpu{target.name, ""};
}

}  // namespace ig::codegen
