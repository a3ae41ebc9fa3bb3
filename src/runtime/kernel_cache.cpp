// Settings, counts and the one warning of the cache on disk.
#include "runtime/kernel_cache.h"

#include <unistd.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <string_view>

#include "runtime/cache_folder.h"

namespace ig::rt::kernel_cache {
namespace {

struct State {
  std::mutex mutex;
  std::optional<Settings> settings;
  Counts counts;
  std::string problem;
  bool warned = false;
  Warner warner = nullptr;
};

State& state() {
  static auto* all = new State;  // kernels may be compiled while static objects are destroyed
  return *all;
}

// "" where it is not set. Programs that run with another user's rights take nothing from the environment.
std::string_view variable(const char* name) {
  const char* text = secure_getenv(name);
  return text ? text : "";
}

std::string absolute(std::string_view path) {
  if (path.empty() || path.starts_with('/')) return std::string(path);
  char* here = getcwd(nullptr, 0);
  if (!here) return "";
  std::string out = fmt::format("{}/{}", here, path);
  std::free(here);
  return out;
}

std::string usual_folder() {
  if (std::string_view own = variable("INTAGLIO_CACHE_DIR"); !own.empty()) return absolute(own);
  // Its specification has relative paths ignored.
  if (std::string_view caches = variable("XDG_CACHE_HOME"); caches.starts_with('/'))
    return fmt::format("{}/intaglio", caches);
  if (std::string_view home = variable("HOME"); home.starts_with('/'))
    return fmt::format("{}/.cache/intaglio", home);
  return "";
}

Settings of_environment() {
  Settings out;
  std::string_view wanted = variable("INTAGLIO_CACHE");
  if (wanted != "" && wanted != "0" && wanted != "1")
    throw make_error(ErrorKind::Value, "INTAGLIO_CACHE={} is neither 0 nor 1", wanted)
        .why("0 turns the cache of compiled kernels off, 1 (or nothing) on")
        .hint("write INTAGLIO_CACHE=0, or unset it; INTAGLIO_CACHE_DIR names the folder");
  out.enabled = wanted != "0";
  out.folder = usual_folder();
  if (std::string_view text = variable("INTAGLIO_CACHE_BYTES"); !text.empty()) {
    const char* end = text.data() + text.size();
    auto [stop, code] = std::from_chars(text.data(), end, out.limit);
    if (code != std::errc() || stop != end)
      throw make_error(ErrorKind::Value, "INTAGLIO_CACHE_BYTES={} is not a number of bytes", text)
          .why("it bounds the files of the cache of compiled kernels")
          .hint("write it in plain bytes, as INTAGLIO_CACHE_BYTES=268435456, or unset it");
  }
  return out;
}

}  // namespace

Settings settings() {
  std::lock_guard lock(state().mutex);
  if (!state().settings) state().settings = of_environment();
  return *state().settings;
}

void configure(Settings settings) {
  settings.folder = absolute(settings.folder);
  std::lock_guard lock(state().mutex);
  state().settings = std::move(settings);
  state().problem.clear();
}

Counts counts() {
  std::lock_guard lock(state().mutex);
  return state().counts;
}

void count(const Counts& more) {
  std::lock_guard lock(state().mutex);
  Counts& all = state().counts;
  all.hits += more.hits;
  all.misses += more.misses;
  all.rejected += more.rejected;
  all.stored += more.stored;
  all.removed += more.removed;
}

Info info() {
  Info out;
  out.settings = settings();
  {
    std::lock_guard lock(state().mutex);
    out.counts = state().counts;
    out.problem = state().problem;
  }
  if (out.settings.folder.empty()) {
    out.problem = "there is no folder for it: none of INTAGLIO_CACHE_DIR, XDG_CACHE_HOME and HOME is set";
    return out;
  }
  if (access(out.settings.folder.c_str(), F_OK) != 0 && errno == ENOENT) return out;
  try {
    CacheFolder::Size size = CacheFolder(out.settings.folder, false).size();
    out.entries = size.entries;
    out.bytes = size.bytes;
  } catch (const Error& error) {
    out.problem = error.what();
  }
  return out;
}

uint64_t clear() {
  Settings now = settings();
  if (now.folder.empty() || (access(now.folder.c_str(), F_OK) != 0 && errno == ENOENT)) return 0;
  return CacheFolder(now.folder, false).clear().removed;
}

void report(const Error& problem) {
  Warner warner;
  {
    std::lock_guard lock(state().mutex);
    state().problem = problem.what();
    if (std::exchange(state().warned, true)) return;
    warner = state().warner;
  }
  std::string text = fmt::format("compiled kernels are not kept for other processes: {}", problem.what());
  if (warner)
    warner(text.c_str());
  else
    std::fprintf(stderr, "intaglio: warning: %s\n", text.c_str());
}

void set_warner(Warner warner) {
  std::lock_guard lock(state().mutex);
  state().warner = warner;
}

}  // namespace ig::rt::kernel_cache
