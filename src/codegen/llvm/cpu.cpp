// The levels are processors by LLVM's names; the host's is what LLVM detects.
#include "codegen/llvm/cpu.h"

#include <llvm/ADT/StringMap.h>
#include <llvm/TargetParser/Host.h>

#include <algorithm>
#include <vector>

namespace ig::codegen {
namespace {

Cpu detect() {
  Cpu out{llvm::sys::getHostCPUName().str(), ""};
  std::vector<std::string> parts;
  for (const auto& entry : llvm::sys::getHostCPUFeatures())
    parts.push_back((entry.second ? "+" : "-") + entry.first().str());
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
