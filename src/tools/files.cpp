// Files in and out, and graph files above all: where a node breaks a law, the error points at its place in
// the text.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>

#include <fmt/format.h>

#include "ops/read.h"
#include "ops/table.h"
#include "tools/command.h"

namespace ig::tools {
namespace {

constexpr size_t kLongestGuess = 64;  // characters of a word for which a near one is looked for

}  // namespace

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> out;
  for (size_t begin = 0;;) {
    size_t end = text.find(separator, begin);
    out.emplace_back(text.substr(begin, end - begin));
    if (end == std::string_view::npos) return out;
    begin = end + 1;
  }
}

std::string nearest(std::string_view word, std::span<const std::string> choices) {
  std::string best;
  size_t fewest = 2 + word.size() / 4;
  if (word.size() > kLongestGuess) return best;
  for (const std::string& choice : choices) {
    // How many letters must be put in, taken out or changed to make one of the other.
    std::vector<size_t> row(choice.size() + 1);
    for (size_t j = 0; j < row.size(); ++j) row[j] = j;
    for (size_t i = 0; i < word.size(); ++i) {
      size_t diagonal = row[0]++;
      for (size_t j = 0; j < choice.size(); ++j) {
        size_t next = std::min({row[j] + 1, row[j + 1] + 1, diagonal + (word[i] != choice[j])});
        diagonal = std::exchange(row[j + 1], next);
      }
    }
    if (row.back() < fewest) fewest = row.back(), best = choice;
  }
  return best;
}

std::string read_file(const std::string& path) {
  std::FILE* in = path == "-" ? stdin : std::fopen(path.c_str(), "rb");
  int failure = in ? 0 : errno;
  std::string out;
  char buffer[1 << 16];
  while (in && !failure) {
    errno = 0;
    size_t n = std::fread(buffer, 1, sizeof buffer, in);
    out.append(buffer, n);
    if (n == sizeof buffer) continue;
    if (std::ferror(in)) failure = errno ? errno : EIO;
    break;
  }
  if (in && in != stdin) std::fclose(in);
  if (failure)
    throw make_error(ErrorKind::IO, "cannot read {}", path)
        .why(std::error_code(failure, std::generic_category()).message())
        .hint("give the path of a file, or - for standard input");
  return out;
}

void write_file(const std::string& path, std::string_view bytes) {
  std::FILE* out = path == "-" ? stdout : std::fopen(path.c_str(), "wb");
  int failure = out ? 0 : errno;
  if (out) {
    errno = 0;
    bool good = std::fwrite(bytes.data(), 1, bytes.size(), out) == bytes.size();
    good = (out == stdout ? std::fflush(out) : std::fclose(out)) == 0 && good;
    if (!good) failure = errno ? errno : EIO;
  }
  if (failure)
    throw make_error(ErrorKind::IO, "cannot write {}", path == "-" ? "standard output" : path)
        .why(std::error_code(failure, std::generic_category()).message())
        .hint("give a path in a folder that exists and may be written");
}

Progress::Progress() : terminal_(isatty(STDERR_FILENO) == 1) {}

void Progress::show(std::string_view text) {
  if (terminal_) fmt::print(stderr, "\r\x1b[K{}", text);
}

Progress::~Progress() { show(""); }

std::unique_ptr<Graph> read_graph(const std::string& path) {
  std::string text = read_file(path);
  std::string file = path == "-" ? "<stdin>" : path;
  if (!text.starts_with("IGIR")) return ops::read_graph(text, file);
  std::unique_ptr<Graph> graph;
  try {
    graph = Graph::from_binary(text);
  } catch (const Error& error) {
    // The binary reader does not know the file's name.
    throw make_error(error.kind(), "{}: {}", file, error.summary())
        .why(error.why_text())
        .hint(error.hint_text());
  }
  ops::verify(*graph);
  return graph;
}

}  // namespace ig::tools
