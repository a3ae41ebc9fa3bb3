// What the processor of this machine is and can do, without LLVM: which code may run here, and by what name
// code that was made for exactly this processor is kept on disk.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace ig {

// The highest level of the x86-64 ABI whose instructions processor and system provide: 2, 3 or 4; 0 below.
int processor_level();
// The level of a target that code is made for: of "x86-64-v2", "x86-64-v3" or "x86-64-v4" the number in its
// name, of "native" this processor's. Error(Unsupported) for other names, which begins with who asked.
int level_of_target(std::string_view name, std::string_view asked_by = "");
// What INTAGLIO_TARGET asks for, or else "native". Error(Unsupported) where that is no target, or none that
// runs here: whatever looks for code asks this first, so that no bits come from code that was not asked for.
const std::string& wanted_target();
// Its family where AMD made it (25: Zen 3 and 4, 26: Zen 5), else 0: what was measured of processors differs
// where no model tells.
int amd_family();
constexpr int kZen5 = 26;
// "AMD EPYC 7763 64-Core Processor", or what else the processor calls itself.
std::string processor_name();
// Those of the vector extensions that it has, to be told to a person: "avx2", "fma", "avx512f" ...
std::vector<std::string_view> processor_features();

// Family, model, stepping and every feature bit that code generation may look at, in hexadecimal: where two
// machines have the same fingerprint, code that was made on one of them runs on the other.
const std::string& processor_fingerprint();
// The same of any processor, by what its `cpuid` instruction answers to a leaf and a subleaf (eax, ebx, ecx,
// edx), and by which registers its system saves.
using Cpuid = std::function<std::array<uint32_t, 4>(uint32_t leaf, uint32_t subleaf)>;
std::string processor_fingerprint(const Cpuid& cpuid, uint64_t saved_registers);

}  // namespace ig
