// The `intaglio` command: reads graphs, shows, rewrites, runs, measures and checks them, without Python.
// Results go to standard output, all else to standard error. It ends with 0, with 1 where the work failed,
// and with 2 where the command line cannot be understood.
#include <algorithm>
#include <cstdio>
#include <new>

#include <fmt/format.h>

#include "support/error.h"
#include "tools/command.h"

namespace {

using ig::tools::nearest;

// How many bytes the UTF-8 character takes that starts the text; 0 where none does.
size_t character(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0; };
  unsigned char first = static_cast<unsigned char>(byte(0));
  if (first < 0x80) return (first >= 0x20 && first != 0x7F) || first == '\n' || first == '\t' ? 1 : 0;
  size_t n = first >= 0xF0 && first < 0xF5   ? 4
             : first >= 0xE0 && first < 0xF0 ? 3
             : first >= 0xC2 && first < 0xE0 ? 2
                                             : 0;
  for (size_t i = 1; i < n; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  return n;
}

// Errors quote files, which may hold anything: what is no text, or would steer the terminal, is shown by its
// bytes.
std::string printable(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    size_t n = character(text);
    if (n)
      out += text.substr(0, n);
    else
      out += fmt::format("\\x{:02x}", static_cast<unsigned>(static_cast<unsigned char>(text[0])));
    text.remove_prefix(std::max<size_t>(n, 1));
  }
  return out;
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

int fail(std::string_view message) {
  fmt::print(stderr, "error: {}\n", printable(message));
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
  ig::tools::add_cache(app);
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
