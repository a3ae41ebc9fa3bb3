// The `intaglio` command: reads graphs, shows, rewrites, runs, measures and checks them, without Python.
// Results go to standard output, all else to standard error. It ends with 0, with 1 where the work failed,
// and with 2 where the command line cannot be understood.
#include <cstdio>
#include <new>

#include <fmt/format.h>

#include "support/error.h"
#include "tools/command.h"

namespace {

using ig::tools::nearest;

// CLI11's message as an error of four parts.
void print_usage_error(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App* command = &app;
  for (const auto* chosen : app.get_subcommands()) command = chosen;
  std::string what = error.what();
  for (size_t at; (at = what.find('\n')) != std::string::npos;) what.replace(at, 1, " ");
  std::vector<std::string> rest = app.remaining(true);
  if (command == &app && rest.empty()) what = "there is no command";
  if (command == &app && !rest.empty() && !rest[0].starts_with("-")) what = fmt::format("there is no command '{}'", rest[0]);
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
  fmt::print(stderr, "error: {}\n  why: the command line does not fit `{}`\n  hint: {}\n", what, path, hint);
}

int fail(std::string_view message) {
  fmt::print(stderr, "error: {}\n", message);
  return 1;
}

int run(int argc, char** argv) {
  CLI::App app{
      "Shows, rewrites, runs, measures and checks Intaglio's graphs. FILE is a graph as text or in binary "
      "form;\n"
      "'-' is standard input.",
      "intaglio"};
  app.set_version_flag("--version", "intaglio " INTAGLIO_VERSION);
  app.require_subcommand(1);
  app.get_formatter()->column_width(34);
  ig::tools::add_show(app);
  ig::tools::add_opt(app);
  ig::tools::add_run(app);
  ig::tools::add_bench(app);
  ig::tools::add_doctor(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return app.exit(error);  // --help, --version
    print_usage_error(app, error);
    return 2;
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  try {
    status = run(argc, argv);
  } catch (const ig::Error& error) {
    status = fail(error.what());
  } catch (const std::bad_alloc&) {
    status = fail(
        "there is no memory left\n  why: the graph or its arrays are larger than what this machine gives\n"
        "  hint: give smaller sizes");
  } catch (const std::exception& error) {
    status =
        fail(fmt::format("{}\n  why: this case was not foreseen\n"
                         "  hint: this is a fault in Intaglio; please report it with the file",
                         error.what()));
  }
  if (std::fflush(stdout) != 0 && status == 0)
    status = fail(
        "standard output cannot be written\n  why: the disk is full, or the reader is gone\n"
        "  hint: write to another place with -o");
  return status;
}
