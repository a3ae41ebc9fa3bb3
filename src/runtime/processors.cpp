// How many threads the machine leaves to this process (the affinity mask, and the cgroup's quota rounded up),
// and how large its last cache is.
#include <sched.h>

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "runtime/thread_pool.h"

namespace ig::rt {
namespace {

std::optional<double> quota_v2(const std::string& folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  double period = 0;
  if (!(file >> quota >> period) || quota == "max" || period <= 0) return std::nullopt;
  return std::atof(quota.c_str()) / period;
}

std::optional<double> quota_v1(const std::string& folder) {
  std::ifstream quota_file(folder + "/cpu.cfs_quota_us"), period_file(folder + "/cpu.cfs_period_us");
  double quota = 0, period = 0;
  if (!(quota_file >> quota) || !(period_file >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

// The tightest quota from this process's group up to the root.
std::optional<double> cgroup_quota() {
  std::optional<double> tightest;
  auto consider = [&](std::optional<double> quota) {
    if (quota && *quota > 0 && (!tightest || *quota < *tightest)) tightest = quota;
  };
  std::ifstream groups("/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    size_t first = line.find(':'), second = line.find(':', first + 1);
    if (second == std::string::npos) continue;
    std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    bool v2 = controllers == ",,";
    if (!v2 && controllers.find(",cpu,") == std::string::npos) continue;
    std::string root = v2 ? "/sys/fs/cgroup" : "/sys/fs/cgroup/cpu";
    for (std::string path = line.substr(second + 1);;) {
      std::string folder = path == "/" ? root : root + path;
      consider(v2 ? quota_v2(folder) : quota_v1(folder));
      if (path.empty() || path == "/") break;
      path.resize(path.rfind('/') == std::string::npos ? 0 : path.rfind('/'));
    }
  }
  return tightest;
}

// The caches that the kernel lists for one processor: the C library adds up the parts of a cache that
// processors of other groups have. Level and bytes of each.
std::vector<std::pair<int, size_t>> caches() {
  std::vector<std::pair<int, size_t>> out;
  for (int index = 0;; ++index) {
    const std::string folder = fmt::format("/sys/devices/system/cpu/cpu0/cache/index{}/", index);
    std::ifstream sizes(folder + "size"), levels(folder + "level");
    size_t number = 0;
    int level = 0;
    std::string unit;
    if (!(sizes >> number) || !(levels >> level)) return out;
    sizes >> unit;
    out.emplace_back(level, number << (unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0));
  }
}

}  // namespace

size_t second_level_cache() {
  size_t bytes = 0;
  for (auto [level, size] : caches())
    if (level == 2) bytes = std::max(bytes, size);
  return bytes;
}

size_t last_level_cache() {
  size_t bytes = 0;
  for (auto [level, size] : caches()) bytes = std::max(bytes, size);
  return bytes;
}

int available_processors() {
  int count = 1;
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) count = std::max(1, CPU_COUNT(&set));
  if (auto quota = cgroup_quota()) {
    int whole = static_cast<int>(std::min(*quota, 1024.0));
    if (static_cast<double>(whole) < *quota) ++whole;
    count = std::min(count, std::max(1, whole));
  }
  return count;
}

}  // namespace ig::rt
