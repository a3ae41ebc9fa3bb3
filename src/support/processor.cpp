// Asks `cpuid`. A virtual machine answers it in microseconds, so nothing is asked before it is needed.
#include "support/processor.h"

#include <cpuid.h>

#include <cstdlib>
#include <cstring>

#include <fmt/format.h>

#include "support/error.h"

namespace ig {
namespace {

constexpr uint32_t kExtended = 0x80000000;
enum Register : unsigned { Eax, Ebx, Ecx, Edx };

std::array<uint32_t, 4> ask(uint32_t leaf, uint32_t subleaf) {
  std::array<uint32_t, 4> out{};
  __cpuid_count(leaf, subleaf, out[Eax], out[Ebx], out[Ecx], out[Edx]);
  return out;
}

// Which registers the system saves when it switches threads (xcr0): without that their instructions may not
// be used, whatever the processor has.
uint64_t saved_registers() {
  if ((ask(1, 0)[Ecx] & bit_OSXSAVE) == 0) return 0;
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

// A leaf that tells what the processor can do, and the registers in which it does. The others hold what
// differs from core to core (numbers of cores) or from moment to moment.
struct Leaf {
  uint32_t leaf, subleaf;
  std::array<bool, 4> take;
};
constexpr Leaf kLeaves[] = {
    {0, 0, {false, true, true, true}},      // the maker
    {1, 0, {true, false, true, true}},      // family, model, stepping
    {7, 0, {false, true, true, true}},      //
    {7, 1, {true, true, true, true}},       //
    {0xd, 1, {true, false, false, false}},  // how registers are saved
    {0x14, 0, {false, true, false, false}},
    {0x19, 0, {false, true, false, false}},
    {0x24, 0, {false, true, false, false}},  // AVX10
    {kExtended + 1, 0, {false, false, true, true}},
    {kExtended + 8, 0, {false, true, false, false}},
};

}  // namespace

int processor_level() {
  __builtin_cpu_init();
  return __builtin_cpu_supports("x86-64-v4")   ? 4
         : __builtin_cpu_supports("x86-64-v3") ? 3
         : __builtin_cpu_supports("x86-64-v2") ? 2
                                               : 0;
}

int level_of_target(std::string_view name, std::string_view asked_by) {
  if (name == "native") return processor_level();
  for (const int level : {2, 3, 4})
    if (name == fmt::format("x86-64-v{}", level)) return level;
  throw make_error(ErrorKind::Unsupported, "{}there is no target \"{}\"", asked_by, name)
      .why("code is made for a level of the x86-64 ABI, or for the CPU this runs on")
      .hint("choose \"x86-64-v2\", \"x86-64-v3\", \"x86-64-v4\" or \"native\"");
}

const std::string& wanted_target() {
  static const std::string wanted = [] {
    const char* text = std::getenv("INTAGLIO_TARGET");
    if (text == nullptr || *text == '\0') return std::string("native");
    if (level_of_target(text, "INTAGLIO_TARGET: ") > processor_level())
      throw make_error(ErrorKind::Unsupported, "INTAGLIO_TARGET asks for {}, which this machine cannot run",
                       text)
          .why(fmt::format("its CPU ({}) lacks instructions of that level", processor_name()))
          .hint("unset INTAGLIO_TARGET, or choose a lower level");
    return std::string(text);
  }();
  return wanted;
}

int amd_family() {
  __builtin_cpu_init();
  if (!__builtin_cpu_is("amd")) return 0;
  const uint32_t word = ask(1, 0)[Eax], base = word >> 8 & 0xf;
  return static_cast<int>(base == 0xf ? base + (word >> 20 & 0xff) : base);
}

std::string processor_name() {
  constexpr uint32_t kFirst = kExtended + 2, kLast = kExtended + 4;
  if (ask(kExtended, 0)[Eax] < kLast) return "x86-64";
  std::string name;
  for (uint32_t leaf = kFirst; leaf <= kLast; ++leaf) {
    std::array<uint32_t, 4> words = ask(leaf, 0);
    name.append(reinterpret_cast<const char*>(words.data()), sizeof words);
  }
  name.resize(std::strlen(name.c_str()));
  const size_t begin = name.find_first_not_of(' '), end = name.find_last_not_of(' ');
  return begin == std::string::npos ? "x86-64" : name.substr(begin, end - begin + 1);
}

std::vector<std::string_view> processor_features() {
  __builtin_cpu_init();
  // The builtin takes nothing but literals.
  const std::pair<std::string_view, bool> all[] = {
      {"sse4.2", __builtin_cpu_supports("sse4.2")},
      {"avx", __builtin_cpu_supports("avx")},
      {"avx2", __builtin_cpu_supports("avx2")},
      {"fma", __builtin_cpu_supports("fma")},
      {"f16c", __builtin_cpu_supports("f16c")},
      {"avx512f", __builtin_cpu_supports("avx512f")},
      {"avx512bw", __builtin_cpu_supports("avx512bw")},
      {"avx512dq", __builtin_cpu_supports("avx512dq")},
      {"avx512vl", __builtin_cpu_supports("avx512vl")},
      {"avx512vnni", __builtin_cpu_supports("avx512vnni")},
      {"avx512bf16", __builtin_cpu_supports("avx512bf16")},
      {"avx512fp16", __builtin_cpu_supports("avx512fp16")},
      {"amx-tile", __builtin_cpu_supports("amx-tile")},
  };
  std::vector<std::string_view> out;
  for (const auto& [name, there] : all)
    if (there) out.push_back(name);
  return out;
}

std::string processor_fingerprint(const Cpuid& cpuid, uint64_t saved_registers) {
  // What lies above the last leaf answers with anything.
  const uint32_t last = cpuid(0, 0)[Eax], last_extended = cpuid(kExtended, 0)[Eax];
  const uint32_t last_of_seven = last >= 7 ? cpuid(7, 0)[Eax] : 0;
  std::string out = fmt::format("saves {:x}", saved_registers);
  for (const Leaf& each : kLeaves) {
    if (each.leaf > (each.leaf >= kExtended ? last_extended : last)) continue;
    if (each.leaf == 7 && each.subleaf > last_of_seven) continue;
    const std::array<uint32_t, 4> words = cpuid(each.leaf, each.subleaf);
    out += fmt::format(" {:x}.{:x}", each.leaf, each.subleaf);
    for (unsigned i = 0; i < words.size(); ++i)
      if (each.take[i]) out += fmt::format(":{:08x}", words[i]);
  }
  return out;
}

const std::string& processor_fingerprint() {
  static const std::string found = processor_fingerprint(ask, saved_registers());
  return found;
}

}  // namespace ig
