// What the subcommands of `intaglio` share: their registration, graph files with errors that point into them, and the
// arrays that a graph is fed with.
#pragma once

#include <CLI/CLI.hpp>

#include <map>
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

// --- files -----------------------------------------------------------------------------------------------------------
std::string read_file(const std::string& path);  // "-": standard input; Error(IO)
void write_file(const std::string& path, std::string_view bytes);
// A graph in text or in binary form, verified. Errors of syntax and of types name line and column and show the place.
std::unique_ptr<Graph> read_graph(const std::string& path);

// --- inputs ----------------------------------------------------------------------------------------------------------
struct InputOptions {
  std::vector<std::string> inputs;  // "NAME=file.npy", "NAME=random:7", …
  std::vector<std::string> sizes;   // "b=4"
  std::string fill;                 // a recipe for the inputs that are not named; "": they are missing
};
void add_input_options(CLI::App& command, InputOptions& options);
std::string value_name(Value value);  // as the command names it: its name in the text, or its number
// One array an input, in order. Sizes come from files first, then from --size.
std::vector<Literal> make_inputs(const Graph& graph, const InputOptions& options);

// --- results ---------------------------------------------------------------------------------------------------------
std::string array_text(const Literal& array);  // as NumPy prints, shortened above a thousand elements
struct Bound {
  double relative = -1, absolute = -1;  // negative: by the element type
};
struct Difference {
  int64_t outside = 0;    // elements beyond the bound
  double largest = 0;     // difference of finite elements
  int64_t at = -1;        // flat index of the worst element beyond the bound
  double have = 0, want = 0;
};
// Element by element: |have - want| <= absolute + relative * |want|; NaN equals NaN; integers agree exactly.
Difference compare(const Literal& have, const Literal& want, const Bound& bound);
// Error(Value) naming the first output that lies outside, under the title; else a line an output on stderr.
void require_close(std::span<const Literal> have, std::span<const Literal> want, const Graph& graph, const Bound& bound,
                   std::string_view title);

std::vector<std::string> split(std::string_view text, char separator);

}  // namespace ig::tools
