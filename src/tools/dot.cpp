// Pictures of graphs: the DOT language, and SVG through Graphviz. A node is a box, a fusion names what it
// holds, other regions are frames around their nodes; constants stand in the boxes that read them.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <map>
#include <system_error>
#include <unordered_map>

#include <fmt/format.h>

#include "ops/table.h"
#include "tools/command.h"

namespace ig::tools {
namespace {

constexpr size_t kLongestLabel = 48;  // characters of one line of a box

std::string dot_string(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    if (c == '\n')
      out += "\\n";
    else
      out += c;
  }
  return out + '"';
}

std::string clipped(std::string text) {
  if (text.size() <= kLongestLabel) return text;
  // Not in the middle of a character.
  size_t end = kLongestLabel - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "…";
}

class Dot {
 public:
  explicit Dot(const Picture& options) : options_(options) {}

  std::string run(const Graph& graph) {
    out_ = fmt::format(
        "digraph {} {{\n  rankdir=TB;\n"
        "  node [shape=box, style=\"rounded,filled\", fillcolor=white, fontname=Helvetica, fontsize=10];\n"
        "  edge [fontname=Helvetica, fontsize=8, color=gray40];\n",
        dot_string(graph.name));
    block(graph.body(), "  ");
    return out_ + "}\n";
  }

 private:
  static bool is_constant(const Node* node) { return ops::has(node, ops::Trait::Constant); }

  static std::string constant_text(const Node* node) {
    const AttrValue* value = node->attrs().find("value");
    const auto* literal = value ? std::get_if<Literal>(value) : nullptr;
    if (!literal) return node->op().name();
    return literal->elements() == 1 ? array_text(*literal) : literal->type().str();
  }

  // The ops of a kernel, be it one of kernels.
  static void hold(const Node* kernel, std::string& held) {
    for (const Node* inner : kernel->region(0)) {
      if (inner == kernel->region(0).terminator() || is_constant(inner) || ops::has(inner, ops::Trait::View))
        continue;
      if (inner->op() == kernel->op())
        hold(inner, held);
      else
        held += (held.empty() ? "" : " ") + inner->op().name();
    }
  }

  // What the box says: the op, what it holds where it is a kernel, its constants.
  static std::string label(const Node* node) {
    std::string text = node->op().name();
    const AttrValue* kind = node->attrs().find("kind");
    if (node->op() == OpId::of("fusion") && kind && std::holds_alternative<std::string>(*kind)) {
      text = std::get<std::string>(*kind) + " kernel";
      std::string held;
      hold(node, held);
      if (held.empty()) held = "views";
      text += "\n" + clipped(held);
    }
    for (Value v : node->operands())
      if (v->node() && is_constant(v->node())) text += "\n" + clipped(constant_text(v->node()));
    return text;
  }

  std::string tooltip(const Node* node) const {
    std::string text = node->scope().path();
    if (options_.locations && node->location().known())
      text += (text.empty() ? "" : "\n") + node->location().str();
    return text;
  }

  std::string key(std::string_view stem) { return fmt::format("{}{}", stem, next_++); }

  void edge(Value from, const std::string& to, const std::string& indent) {
    auto it = box_of_.find(from);
    if (it == box_of_.end()) return;  // a constant, which stands in its reader's box
    std::string label = options_.types ? fmt::format(" [label={}]", dot_string(from->type().str())) : "";
    out_ += fmt::format("{}{} -> {}{};\n", indent, it->second, to, label);
  }

  void block(const Block& block, const std::string& indent) {
    for (size_t i = 0; i < block.args().size(); ++i) {
      Value v = block.arg(i);
      std::string name = v->name().empty() ? std::to_string(i) : v->name();
      box_of_[v] = key("in");
      out_ += fmt::format("{}{} [label={}, shape=ellipse, fillcolor=lightblue];\n", indent, box_of_[v],
                          dot_string(name + "\n" + v->type().str()));
    }
    for (const Node* node : block) {
      if (node == block.terminator()) continue;
      if (is_constant(node)) continue;
      std::string box = key("n");
      bool kernel = node->op() == OpId::of("fusion");
      std::string tip = tooltip(node);
      std::string more = tip.empty() ? "" : fmt::format(", tooltip={}", dot_string(tip));
      out_ += fmt::format("{}{} [label={}, fillcolor={}{}];\n", indent, box, dot_string(label(node)),
                          kernel ? "lightyellow" : "white", more);
      for (Value v : node->operands()) edge(v, box, indent);
      for (Value v : node->results()) box_of_[v] = box;
      if (kernel) continue;
      for (size_t r = 0; r < node->regions().size(); ++r) {
        out_ += fmt::format(
            "{}subgraph cluster_{} {{\n{}  label={}; fontname=Helvetica; fontsize=9; color=gray70;\n", indent,
            key("r"), indent, dot_string(fmt::format("{}: region {}", node->op().name(), r)));
        this->block(node->region(r), indent + "  ");
        out_ += indent + "}\n";
      }
    }
    for (size_t i = 0; i < block.results().size(); ++i) {
      Value v = block.results()[i];
      std::string box = key("out");
      std::string text = fmt::format("result {}\n{}", i, v->type().str());
      if (v->node() && is_constant(v->node())) text += "\n" + clipped(constant_text(v->node()));
      out_ += fmt::format("{}{} [label={}, shape=ellipse, fillcolor=lightgreen];\n", indent, box,
                          dot_string(text));
      edge(v, box, indent);
    }
  }

  Picture options_;
  std::string out_;
  std::unordered_map<Value, std::string> box_of_;
  int next_ = 0;
};

}  // namespace

std::string dot_text(const Graph& graph, const Picture& options) { return Dot(options).run(graph); }

void draw_svg(const std::string& dot, const std::string& path) {
  char source[] = "/tmp/intaglio-XXXXXX";
  int file = mkstemp(source);
  if (file < 0)
    throw make_error(ErrorKind::IO, "cannot make a file in /tmp")
        .why(std::error_code(errno, std::generic_category()).message())
        .hint("make room there");
  close(file);
  struct Remover {
    const char* path;
    ~Remover() { unlink(path); }
  } remover{source};
  write_file(source, dot);
  std::string to = "-o" + path;
  std::vector<const char*> words{"dot", "-Tsvg", source};
  if (path != "-") {
    write_file(path, "");  // a path that cannot be written is our error, not Graphviz's
    words.push_back(to.c_str());
  }
  words.push_back(nullptr);
  pid_t child = 0;
  int failure =
      posix_spawnp(&child, "dot", nullptr, nullptr, const_cast<char* const*>(words.data()), environ);
  int status = 0;
  if (failure == 0)
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  if (failure == 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  if (path != "-") unlink(path.c_str());
  if (failure == ENOENT || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
    throw make_error(ErrorKind::Unsupported, "cannot draw {}: there is no `dot`", path)
        .why("SVG pictures are laid out by Graphviz, which is not installed or not in PATH")
        .hint("apt-get install graphviz, or write the picture's source with --dot");
  throw make_error(ErrorKind::IO, "cannot draw {}", path)
      .why(failure ? std::error_code(failure, std::generic_category()).message()
                   : fmt::format("`dot` ended with status {}",
                                 WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)))
      .hint("write the picture's source with --dot, and see what `dot -Tsvg` says of it");
}

}  // namespace ig::tools
