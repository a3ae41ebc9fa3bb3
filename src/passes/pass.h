// Passes: public, named, ordered, each in one file, each switchable, each telling what it changed. A pass
// takes a graph and rewrites it in place; it names no op, but reads the ops' traits and rules.
#pragma once

#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "ops/fusion_report.h"
#include "support/fast_math.h"

namespace ig::passes {

// What runs the kernels, as far as passes weigh it: bytes of the cache that a thread has for itself, and of
// the last one, which all share. As it is where nobody says otherwise: one thread of a usual machine.
struct Machine {
  size_t near = size_t{1} << 20;
  size_t last = size_t{32} << 20;
  int threads = 1;
  double launch = 64 << 10;  // bytes that come from the last cache while a kernel is started: about 3 µs
};

struct Options {
  bool exact = false;              // forbid rewrites that only keep a stated bound
  bool verify = false;             // verify the graph after each pass, and check claims of "unchanged"
  std::set<std::string> disabled;  // names of passes to leave out
  std::set<int> steady{};          // inputs that most calls leave as they are: kernels may read another form
  Machine machine{};
  std::stop_token stop{};  // looked at between passes, which throw Stopped then
};

inline constexpr size_t kDetails = 64;  // of what a pass did, so much is told in words

class Context {
 public:
  explicit Context(const Options& options) : options(options) {}
  const Options& options;
  void changed(std::string detail) {
    ++changes;
    if (details.size() < kDetails) details.push_back(std::move(detail));
  }
  int changes = 0;
  std::vector<std::string> details;  // the first few changes, in words
  std::vector<std::string> notes;    // what every report of a compile shows
  ops::FusionReport fusion;          // what became one kernel, and what did not
};

struct Pass {
  std::string_view name;
  std::string_view doc;
  void (*run)(Graph& graph, Context& context);
};

struct Record {
  std::string name;
  int changes = 0;
  size_t nodes_before = 0, nodes_after = 0;
  double milliseconds = 0;
  std::vector<std::string> details, notes;
  ops::FusionReport fusion;
};

std::span<const Pass> all();              // each pass once, in alphabetical order
const Pass& find(std::string_view name);  // Error(Value) listing the names
// With the passes that the flags ask for.
std::vector<std::string_view> default_pipeline(const FastMath& fast_math = {});
std::vector<Record> run(Graph& graph, std::span<const std::string_view> names, const Options& options);

// The passes, one a file.
void batch_last(Graph&, Context&);
void canonicalize(Graph&, Context&);
void choose_layouts(Graph&, Context&);
void common_subexpressions(Graph&, Context&);
void compute_once(Graph&, Context&);
void dead_code(Graph&, Context&);
void depth_first(Graph&, Context&);
void drop_stops(Graph&, Context&);
void expand_composites(Graph&, Context&);
void fold_constants(Graph&, Context&);
void fuse(Graph&, Context&);
void hoist_scan(Graph&, Context&);
void join_kernels(Graph&, Context&);
void join_loops(Graph&, Context&);
void merge_axes(Graph&, Context&);
void one_tap_products(Graph&, Context&);
void one_term_products(Graph&, Context&);
void prove_bounds(Graph&, Context&);
void raise_slices(Graph&, Context&);
void raise_views(Graph&, Context&);
void reciprocals(Graph&, Context&);
void refine_shapes(Graph&, Context&);
void rematerialize(Graph&, Context&);
void sink_views(Graph&, Context&);
void turn_matrices(Graph&, Context&);
void write_turned(Graph&, Context&);

}  // namespace ig::passes
