// Running passes on a graph, as the layers above the compiler see it; src/backends defines it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "support/fast_math.h"

namespace ig {

struct PassRequest {
  std::optional<std::vector<std::string>> names;  // in order; none: the default pipeline
  std::vector<std::string> disabled;
  bool exact = false;
  bool verify = false;
  FastMath fast_math{};
};
struct PassReport {
  std::string name;
  int changes = 0;
  size_t nodes_before = 0, nodes_after = 0;
  double milliseconds = 0;
  std::vector<std::string> details;  // the first changes, in words
};
struct PassInfo {
  std::string name, doc;
};

std::vector<PassReport> run_passes(Graph& graph, const PassRequest& request);
std::vector<PassInfo> list_passes();
std::vector<std::string> default_passes();

}  // namespace ig
