// The command line: every subcommand with its options, and errors of four parts where it cannot be
// understood. CLI11's code comes with its headers, so it is compiled here alone.
#include <CLI/CLI.hpp>

#include <fmt/format.h>

#include "tools/command.h"

namespace ig::tools {
namespace {

void add_fast_math(CLI::App& command, std::vector<std::string>& flags, const std::string& doc) {
  command.add_option("--fast-math", flags, doc)->type_name("A,B,…")->delimiter(',')->allow_extra_args(false);
}

void add_input_options(CLI::App& command, InputOptions& options) {
  command.add_option("-i,--input", options.inputs, fmt::format("NAME=VALUE, where VALUE is {}", kRecipes))
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false)
      ->take_all();
  command.add_option("--inputs", options.fill, "what the inputs hold that are not named, as VALUE above")
      ->type_name("VALUE");
  command.add_option("-s,--size", options.sizes, "the value of a size symbol, as b=4")
      ->type_name("SYMBOL=N")
      ->allow_extra_args(false)
      ->take_all();
}

void add_show(CLI::App& app) {
  auto* command = app.add_subcommand("show", "Prints a graph as text, draws it, or counts what is in it.");
  auto options = std::make_shared<ShowOptions>();
  command->add_option("FILE", options->file, "a graph, as text or in binary form; - is standard input")
      ->required();
  command->add_option("--dot", options->dot, "write the picture in Graphviz's language; - is standard output")
      ->type_name("OUT");
  command->add_option("--svg", options->svg, "write the picture as SVG, drawn by Graphviz")->type_name("OUT");
  command->add_flag("--types", options->types,
                    "pictures: the type of each value on its edge (text always has them)");
  command->add_flag("--locations", options->locations,
                    "the user's line of each node: at its end, in pictures as tooltip");
  command->add_flag("--stats", options->stats, "signature, sizes, counts by op, bytes of constants, hashes");
  command->callback([options] { show(*options); });
}

void add_opt(CLI::App& app) {
  auto* command = app.add_subcommand("opt", "Runs passes over a graph and prints what becomes of it.");
  auto options = std::make_shared<OptOptions>();
  command->add_option("FILE", options->file, "a graph, as text or in binary form; - is standard input");
  auto* passes = command->add_option("-p,--passes", options->passes, "passes, in order, separated by commas")
                     ->type_name("A,B,…")
                     ->delimiter(',')
                     ->allow_extra_args(false);
  command->add_option("--pipeline", options->pipeline, "a list of passes by name: default, or none")
      ->check(CLI::IsMember({"default", "none"}))
      ->excludes(passes);
  command
      ->add_option(
          "--transform", options->transform,
          "a derivative to take first, by all inputs that are floats: grad, jvp, transpose, vjp-forward or "
          "vjp-backward")
      ->check(CLI::IsMember({"grad", "jvp", "transpose", "vjp-forward", "vjp-backward"}));
  command->add_option("--disable", options->disabled, "passes to leave out, separated by commas")
      ->type_name("A,B,…")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--verify", options->verify,
                    "verify the graph after each pass, and what passes say of themselves");
  command
      ->add_option("--steady", options->steady,
                   "inputs that most calls leave as they are, by number, separated by commas")
      ->type_name("A,B,…")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->add_flag("--exact", options->exact, "no rewrite that changes the rounding");
  add_fast_math(*command, options->fast_math, "allow these rewrites, and have their passes in the pipeline");
  command->add_flag("--print-changes", options->print_changes, "what each pass did, on standard error");
  command->add_flag("--print-after-all", options->print_after_all,
                    "the graph after each pass, on standard error");
  auto* all = command->add_flag(
      "--fusion", options->fusion,
      "in place of the graph: what became one kernel, what did not and why, and the costs compared");
  command
      ->add_option("--why", options->why,
                   "in place of the graph: that of the nodes of this op, result, module, or part of a line")
      ->type_name("NODE")
      ->excludes(all);
  command->add_flag("--list-passes", options->list, "the passes and the default pipeline");
  command->add_flag("--locations", options->locations, "the user's line of each node");
  command->add_flag("--binary", options->binary, "write the binary form");
  command->add_option("-o,--out", options->out, "where the graph goes; - is standard output")
      ->type_name("OUT");
  command->callback([options, passes] {
    options->have_passes = passes->count() > 0;
    optimise(*options);
  });
}

void add_run(CLI::App& app) {
  auto* command =
      app.add_subcommand("run", "Runs a graph on arrays, and prints, writes or compares the results.");
  auto options = std::make_shared<RunOptions>();
  command->add_option("FILE", options->file, "a graph, as text or in binary form; - is standard input")
      ->required();
  add_input_options(*command, options->inputs);
  command->add_option("-o,--output", options->outputs, "write a result, by name or position, to a file")
      ->type_name("NAME=FILE.npy")
      ->allow_extra_args(false)
      ->take_all();
  auto* compare =
      command->add_flag("--compare", options->compare, "compare with the ops' definitions, result by result");
  command
      ->add_option("--compare-with", options->other,
                   "compare with another graph, by definition, on the same arrays")
      ->type_name("FILE")
      ->excludes(compare);
  command
      ->add_option("--tolerance", options->tolerance,
                   "what may differ: units in the last place (64), or exact: the same bits")
      ->type_name("N|exact");
  command
      ->add_option("--atol", options->absolute, "differences up to this pass in any case (64 roundings of 1)")
      ->check(CLI::NonNegativeNumber)
      ->type_name("X");
  command->add_flag("--reference", options->reference, "run by the ops' definitions, not compiled");
  command->add_flag("--report", options->report,
                    "nodes, kernels by origin, fusion, compile time, peak memory");
  command->add_flag("--quiet", options->quiet, "print no results");
  command->add_option("--target", options->target, "what code is made for")
      ->check(CLI::IsMember({"host", "native", "x86-64-v2", "x86-64-v3", "x86-64-v4"}));
  command->add_flag("--exact", options->exact, "nothing that keeps only a stated bound of the definitions");
  add_fast_math(*command, options->fast_math, "allow rewrites that keep no bound");
  command->add_option("--threads", options->threads, "threads, the calling one counted")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  command->add_option("--disable-passes", options->disabled, "passes to leave out, separated by commas")
      ->type_name("A,B,…")
      ->delimiter(',')
      ->allow_extra_args(false);
  command->callback([options] { run(*options); });
}

void add_bench(CLI::App& app) {
  auto* command = app.add_subcommand("bench", "Measures a compiled graph beside a copy of as many bytes.");
  auto options = std::make_shared<BenchOptions>();
  command->add_option("FILE", options->file, "a graph, as text or in binary form; - is standard input")
      ->required();
  add_input_options(*command, options->inputs);
  command
      ->add_option("--threads", options->threads, "numbers of threads to measure with, separated by commas")
      ->type_name("N,…")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::Range(1, 1024));
  command->add_option("--rounds", options->rounds, "rounds, of 5 ms at least each (15)")
      ->check(CLI::Range(1, 100000))
      ->type_name("N");
  command->add_flag("--kernels", options->kernels, "tell also what each kernel takes, with its line");
  command
      ->add_option("--timeline", options->timeline,
                   "write when each kernel ran on which thread, as JSON that trace viewers open")
      ->type_name("OUT");
  command->add_option("--target", options->target, "what code is made for")
      ->check(CLI::IsMember({"host", "native", "x86-64-v2", "x86-64-v3", "x86-64-v4"}));
  command
      ->add_option("--json", options->json, "write what was measured; - is standard output, and nothing else")
      ->type_name("OUT");
  command->callback([options] { bench(*options); });
}

void add_doctor(CLI::App& app) {
  auto* command =
      app.add_subcommand("doctor", "Tells what this installation and this machine are, and tests them.");
  auto json = std::make_shared<bool>(false);
  command->add_flag("--json", *json, "as a JSON object");
  command->callback([json] { doctor(*json); });
}

void add_cache(CLI::App& app) {
  auto* command = app.add_subcommand(
      "cache", "Shows or clears the cache of compiled kernels on disk, which all processes share.");
  command->require_subcommand(1);
  auto json = std::make_shared<bool>(false);
  auto* info = command->add_subcommand("info", "Where it lies, and how much it holds.");
  info->add_flag("--json", *json, "as a JSON object");
  info->callback([json] { show_cache(*json); });
  command->add_subcommand("clear", "Removes all kernels; the folder and files of others stay.")
      ->callback(clear_cache);
}

// CLI11's message as an error of four parts.
void print_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  for (const auto* chosen : app.get_subcommands()) command = chosen;
  std::string what = error.what();
  for (size_t at; (at = what.find('\n')) != std::string::npos;) what.replace(at, 1, " ");
  std::vector<std::string> rest = app.remaining(true);
  if (command == &app && rest.empty()) what = "there is no command";
  if (command == &app && !rest.empty() && !rest[0].starts_with("-"))
    what = fmt::format("there is no command '{}'", rest[0]);
  std::string path = command == &app ? "intaglio" : "intaglio " + command->get_name();
  std::string hint = fmt::format("`{} --help` lists what it takes", path);
  // A word that is nearly an option or a command.
  std::vector<std::string> choices;
  if (command == &app)
    for (const auto* sub : app.get_subcommands({})) choices.push_back(sub->get_name());
  for (const auto* option : command->get_options())
    for (const std::string& name : option->get_lnames()) choices.push_back("--" + name);
  for (const std::string& word : rest) {
    std::string name = word.substr(0, word.find('='));
    if (std::string close = nearest(name, choices); !close.empty())
      hint = fmt::format("did you mean {}? {}", close, hint);
  }
  fmt::print(stderr, "error: {}\n  why: the command line does not fit `{}`\n  hint: {}\n", printable(what),
             path, hint);
}

}  // namespace

int command_line(int argc, char** argv) {
  CLI::App app{
      "Shows, rewrites, runs, measures and checks Intaglio's graphs. FILE is a graph as text or in binary "
      "form;\n"
      "'-' is standard input.",
      "intaglio"};
  app.set_version_flag("--version", "intaglio " INTAGLIO_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  add_show(app);
  add_opt(app);
  add_run(app);
  add_bench(app);
  add_doctor(app);
  add_cache(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    print_usage_error(app, error);
    return 2;
  }
  return 0;
}

}  // namespace ig::tools
