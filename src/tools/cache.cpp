// `intaglio cache`: what the cache of compiled kernels on disk holds, and its removal.
#include <fmt/format.h>

#include "runtime/kernel_cache.h"
#include "support/json.h"
#include "tools/command.h"

namespace ig::tools {

void show_cache(bool json) {
  rt::kernel_cache::Info cache = rt::kernel_cache::info();
  const auto& [enabled, folder, limit] = cache.settings;
  if (json) {
    write_file("-", fmt::format("{{\n  \"enabled\": {},\n  \"folder\": {},\n  \"kernels\": {},\n"
                                "  \"bytes\": {},\n  \"limit\": {},\n  \"problem\": {}\n}}\n",
                                enabled, json_text(folder), cache.entries, cache.bytes, limit,
                                json_text(cache.problem)));
    return;
  }
  std::string out = fmt::format("folder      {}\n", folder.empty() ? "none" : folder);
  out += fmt::format("kernels     {}\nbytes       {} of at most {}\n", cache.entries, cache.bytes, limit);
  out += fmt::format("in use      {}\n", !enabled                ? "no: INTAGLIO_CACHE=0"
                                         : cache.problem.empty() ? "yes"
                                                                 : "no: " + cache.problem);
  write_file("-", out);
}

void clear_cache() {
  const uint64_t removed = rt::kernel_cache::clear();
  write_file("-", fmt::format("{} kernel{} removed\n", removed, removed == 1 ? "" : "s"));
}

}  // namespace ig::tools
