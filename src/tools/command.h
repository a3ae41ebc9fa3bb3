// The subcommands of `intaglio`, and what they share: graph files with errors that point into them, the
// arrays that a graph is fed with, and the comparison of what comes out. None knows the command line, which
// `command_line.cpp` alone reads.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace ig::tools {

// --- what each subcommand does
// ---------------------------------------------------------------------------------------------
struct ShowOptions {
  std::string file, dot, svg;
  bool types = false, locations = false, stats = false;
};
void show(const ShowOptions& options);

struct OptOptions {
  std::string file, pipeline, transform, why, out = "-";
  std::vector<std::string> passes, disabled, fast_math;
  std::vector<int> steady;
  bool have_passes = false, list = false, verify = false, exact = false, print_changes = false,
       print_after_all = false, fusion = false;
  bool locations = false, binary = false;
};
void optimise(const OptOptions& options);

struct InputOptions {
  std::vector<std::string> inputs;  // "NAME=file.npy", "NAME=random:7", "NAME=[1, 2]", …
  std::vector<std::string> sizes;   // "b=4"
  std::string fill;                 // a recipe for the inputs that are not named; "": they are missing
};
struct RunOptions {
  std::string file, other, target, tolerance;
  InputOptions inputs;
  std::vector<std::string> outputs, disabled, fast_math;
  bool compare = false, reference = false, report = false, quiet = false, exact = false;
  double absolute = -1;
  int threads = 0;
};
void run(const RunOptions& options);

struct BenchOptions {
  std::string file, json, target, timeline;
  InputOptions inputs;
  std::vector<int> threads;
  int rounds = 15;
  bool kernels = false;
};
void bench(const BenchOptions& options);

void doctor(bool json);

void show_cache(bool json);
void clear_cache();

// Does what the command line says; 0, or 2 where that cannot be understood.
int command_line(int argc, char** argv);
// What is no text, or would steer the terminal, by its bytes: errors quote files, which may hold anything.
std::string printable(std::string_view text);

// --- files
// -----------------------------------------------------------------------------------------------------------
std::string read_file(const std::string& path);                    // "-": standard input; Error(IO)
void write_file(const std::string& path, std::string_view bytes);  // "-": standard output; Error(IO)
// A graph in text or in binary form, verified. Errors of syntax and of types name line and column and show
// the place.
std::unique_ptr<Graph> read_graph(const std::string& path);

// --- pictures
// --------------------------------------------------------------------------------------------------------
struct Picture {
  bool types = false;      // on the edges
  bool locations = false;  // as tooltips
};
std::string dot_text(const Graph& graph, const Picture& options);
void draw_svg(const std::string& dot,
              const std::string& path);  // by Graphviz; Error(Unsupported) where it is missing

// --- inputs
// ----------------------------------------------------------------------------------------------------------
// What an array may be given as, for messages.
inline constexpr const char* kRecipes =
    "a file that ends in .npy, a number or list as [[1, 2], [3, 4]], random:SEED, random:SEED:LOW:HIGH, "
    "special:SEED, "
    "zeros, ones, iota, or full:NUMBER";
std::vector<std::string> input_names(const Graph& graph);   // as the text names them
std::vector<std::string> output_names(const Graph& graph);  // as the text names them, else by position
// One array an input, in order. Sizes come from files and lists first, then from --size.
std::vector<Literal> make_inputs(const Graph& graph, const InputOptions& options);

// --- results
// ---------------------------------------------------------------------------------------------------------
std::string array_text(const Literal& array);  // as NumPy prints, shortened above a thousand elements

// What a result may differ by. An element is outside if it differs by more than `ulp` units of the last place
// of the element wanted, and by more than `absolute`. With `exact`, its bits must be the same (any NaN equals
// any NaN). Integers and bools are always exact.
struct Bound {
  bool exact = false;
  double ulp = 64;
  double absolute = -1;  // negative: 64 roundings of a number of size 1
};
Bound parse_bound(const std::string& tolerance, double absolute);  // "exact", or a number of units
struct Difference {
  int64_t differing = 0;         // elements whose bits differ
  int64_t outside = 0;           // elements beyond the bound
  double ulp = 0, absolute = 0;  // the largest of either, over elements where both are finite
  int64_t at = -1;               // flat index of the worst element beyond the bound
  std::string have, want;        // that element
};
Difference compare(const Literal& have, const Literal& want, const Bound& bound);

std::vector<std::string> split(std::string_view text, char separator);
std::string nearest(std::string_view word, std::span<const std::string> choices);  // "" where none is near

// Tells a person who waits what is going on: one line on the terminal, gone when it ends. Silent where
// standard error is no terminal.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void show(std::string_view text);

 private:
  bool terminal_;
};

}  // namespace ig::tools
