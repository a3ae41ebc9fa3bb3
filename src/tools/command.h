// What the subcommands of `intaglio` share: their registration, graph files with errors that point into them,
// the arrays that a graph is fed with, and the comparison of what comes out.
#pragma once

#include <CLI/CLI.hpp>

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"

namespace ig::tools {

// Each adds one subcommand, with its options and what it does.
void add_show(CLI::App& app);
void add_opt(CLI::App& app);
void add_run(CLI::App& app);
void add_bench(CLI::App& app);
void add_doctor(CLI::App& app);
void add_cache(CLI::App& app);

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
struct InputOptions {
  std::vector<std::string> inputs;  // "NAME=file.npy", "NAME=random:7", "NAME=[1, 2]", …
  std::vector<std::string> sizes;   // "b=4"
  std::string fill;                 // a recipe for the inputs that are not named; "": they are missing
};
void add_input_options(CLI::App& command, InputOptions& options);
std::vector<std::string> input_names(const Graph& graph);   // as the text names them
std::vector<std::string> output_names(const Graph& graph);  // as the text names them, else by position
// One array an input, in order. Sizes come from files and lists first, then from --size.
std::vector<Literal> make_inputs(const Graph& graph, const InputOptions& options);

// `--fast-math A,B,…`: flags by name.
void add_fast_math(CLI::App& command, std::vector<std::string>& flags, const std::string& doc);

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
