// Graphs to text. Values keep their names where these are unique and fit the grammar; others are numbered in
// order.
#include <algorithm>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/base64.h"
#include "ir/graph.h"

namespace ig {
namespace {

constexpr int64_t kLargestInline =
    64;  // elements of a literal that stands in its node; larger ones are resources

bool printable(const std::string& name) {
  if (name.empty() || !(std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_')) return false;
  for (size_t i = 0; i < name.size(); ++i) {
    char c = name[i];
    bool word = std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
    bool inner =
        c == '.' && i + 1 < name.size() &&
        (std::isalnum(static_cast<unsigned char>(name[i + 1])) || name[i + 1] == '_' || name[i + 1] == '$');
    if (!word && !inner) return false;
  }
  return true;
}

class Printer {
 public:
  Printer(const Graph& graph, bool with_locations) : graph_(graph), with_locations_(with_locations) {}

  std::string run() {
    out_ = "graph @" + (printable(graph_.name) ? graph_.name : "graph") + "(";
    arguments(graph_.body());
    out_ += ")";
    where();
    out_ += " {\n";
    block(graph_.body(), 1);
    out_ += "}\n";
    if (!resources_.empty()) {
      out_ += "resources {\n";
      for (auto& [hash, literal] : resources_)
        out_ += fmt::format("  #{} = {} base64:\"{}\"\n", hash, literal->type().str(),
                            base64_encode({static_cast<const char*>(literal->data()), literal->bytes()}));
      out_ += "}\n";
    }
    return std::move(out_);
  }

 private:
  void where() {
    std::string text;
    auto add = [&](std::string item) { text += (text.empty() ? " where " : ", ") + item; };
    for (auto& [symbol, range] : graph_.dims.symbols()) {
      if (range == Range{})
        add(symbol);
      else
        add(fmt::format("{} in [{}, {}]", symbol, range.low,
                        range.high == Range{}.high ? "inf" : std::to_string(range.high)));
    }
    for (auto& fact : graph_.dims.facts())
      add(fmt::format("{} {} {}", fact.a.str(), fact.relation, fact.b.str()));
    out_ += text;
  }

  const std::string& name(Value v) {
    auto it = names_.find(v);
    if (it != names_.end()) return it->second;
    std::string chosen;
    if (printable(v->name())) {
      chosen = v->name();
      for (int k = 1; !used_.insert(chosen).second; ++k) chosen = fmt::format("{}${}", v->name(), k);
    } else {
      chosen = std::to_string(next_++);
    }
    return names_[v] = "%" + chosen;
  }

  void arguments(const Block& block) {
    for (size_t i = 0; i < block.args().size(); ++i) {
      if (i) out_ += ", ";
      out_ += name(block.arg(i)) + ": " + block.arg(i)->type().str();
    }
  }

  std::string value_text(const AttrValue& value) {
    const auto* literal = std::get_if<Literal>(&value);
    if (!literal || literal->elements() <= kLargestInline) return str(value);
    std::string hash = literal->hash().hex();
    resources_.emplace(hash, literal);
    return "#" + hash;
  }

  void block(const Block& b, int depth) {
    std::string indent(static_cast<size_t>(depth) * 2, ' ');
    for (Node* node : b) {
      out_ += indent;
      if (node == b.terminator()) {
        out_ += "return";
        for (size_t i = 0; i < node->operands().size(); ++i)
          out_ += (i ? ", " : " ") + name(node->operand(i));
        out_ += "\n";
        continue;
      }
      for (size_t i = 0; i < node->results().size(); ++i) out_ += (i ? ", " : "") + name(node->result(i));
      if (!node->results().empty()) out_ += " = ";
      out_ += node->op().name() + "(";
      size_t at = 0;
      auto operands = [&](size_t n) {
        for (size_t i = 0; i < n; ++i, ++at) out_ += (i ? ", " : "") + name(node->operand(at));
      };
      if (node->segments().empty()) operands(node->operands().size());
      for (size_t s = 0; s < node->segments().size(); ++s) {
        if (s)
          out_ += " | ";
        else if (node->segments().size() == 1)
          out_ += "; ";
        operands(node->segments()[s]);
      }
      out_ += ")";
      if (!node->attrs().empty()) {
        out_ += " {";
        bool first = true;
        for (auto& [key, value] : node->attrs().items()) {
          out_ += (first ? "" : ", ") + key + " = " + value_text(value);
          first = false;
        }
        out_ += "}";
      }
      if (!node->results().empty()) out_ += " : ";
      for (size_t i = 0; i < node->results().size(); ++i)
        out_ += (i ? ", " : "") + node->result(i)->type().str();
      if (!node->scope().empty()) out_ += " scope(" + str(AttrValue(node->scope().path())) + ")";
      if (with_locations_ && node->location().known()) {
        out_ += " loc(";
        bool first = true;
        for (const SourceFrame& f : node->location().frames()) {
          out_ += fmt::format("{}{}:{} in {}", first ? "" : ", ", str(AttrValue(f.file)), f.line,
                              str(AttrValue(f.function)));
          first = false;
        }
        out_ += ")";
      }
      if (!node->regions().empty()) {
        out_ += " {\n";
        for (const auto& region : node->regions()) {
          out_ += indent + "  ^(";
          arguments(*region);
          out_ += ") {\n";
          block(*region, depth + 2);
          out_ += indent + "  }\n";
        }
        out_ += indent + "}";
      }
      out_ += "\n";
    }
  }

  const Graph& graph_;
  bool with_locations_;
  std::string out_;
  std::unordered_map<Value, std::string> names_;
  std::unordered_set<std::string> used_;
  std::map<std::string, const Literal*> resources_;
  int next_ = 0;
};

}  // namespace

std::string Graph::str(bool with_locations) const { return Printer(*this, with_locations).run(); }

}  // namespace ig
