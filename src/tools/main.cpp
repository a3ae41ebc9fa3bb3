// The `intaglio` command: reads graphs, shows, rewrites, runs, measures and checks them, without Python.
// Results go to standard output, all else to standard error. It ends with 0, with 1 where the work failed,
// and with 2 where the command line cannot be understood.
#include <algorithm>
#include <cstdio>
#include <new>

#include <fmt/format.h>

#include "support/error.h"
#include "tools/command.h"

namespace ig::tools {
namespace {

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

}  // namespace

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

}  // namespace ig::tools

namespace {

int fail(std::string_view message) {
  fmt::print(stderr, "error: {}\n", ig::tools::printable(message));
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  int status = 0;
  try {
    status = ig::tools::command_line(argc, argv);
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
