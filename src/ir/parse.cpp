// Graph text to graphs. Recursive descent over Lexer; every name is checked where it stands, nesting and
// counts are bounded by the text itself, and no input is trusted.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/base64.h"
#include "ir/graph.h"
#include "ir/lexer.h"
#include "ir/limits.h"

namespace ig {
namespace {

constexpr size_t kLongestGuess = 64;  // characters of a name for which a near one is looked for

size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t next = std::min({row[j] + 1, row[j + 1] + 1, diagonal + (a[i] != b[j])});
      diagonal = std::exchange(row[j + 1], next);
    }
  }
  return row.back();
}

class Parser {
 public:
  Parser(std::string_view text, std::string_view file, std::vector<size_t>* positions = nullptr)
      : lexer_(text, file), positions_(positions) {}

  std::unique_ptr<Graph> run() {
    if (!lexer_.accept_keyword("graph"))
      lexer_.fail("expected 'graph'", "a graph starts with: graph @name(%x: f32[2]) {");
    lexer_.expect("@", "before the graph's name");
    graph_ = std::make_unique<Graph>(lexer_.identifier("the graph's name"));
    Names names;
    lexer_.expect("(", "before the arguments");
    arguments(graph_->body(), names);
    if (lexer_.accept_keyword("where")) where();
    lexer_.expect("{", "before the nodes");
    block(graph_->body(), names, 0);
    if (lexer_.accept_keyword("resources")) resources();
    if (!lexer_.done()) lexer_.fail("unexpected text after the graph");
    if (!wanted_.empty()) {
      const Pending* first = nullptr;
      for (auto& [hash, uses] : wanted_)
        if (!first || uses.front().position < first->position) first = &uses.front();
      lexer_.fail(fmt::format("the resource #{} is not given", first->hash), "add it under 'resources'",
                  first->position);
    }
    return std::move(graph_);
  }

 private:
  using Names = std::unordered_map<std::string, Value>;

  void name_value(Value v, const std::string& name, Names& names, size_t position) {
    if (!names.emplace(name, v).second)
      lexer_.fail(fmt::format("the name %{} is given twice", name), "names are unique in a block", position);
    if (!std::isdigit(static_cast<unsigned char>(name[0]))) v->set_name(name);
  }

  void arguments(Block& block, Names& names) {
    if (lexer_.accept(")")) return;
    do {
      size_t at = lexer_.position();
      lexer_.expect("%", "before an argument's name");
      std::string name = lexer_.identifier("an argument's name");
      lexer_.expect(":", "after an argument's name");
      name_value(block.add_arg(lexer_.type()), name, names, at);
    } while (lexer_.accept(","));
    lexer_.expect(")", "after the arguments");
  }

  void where() {
    do {
      Dim a = lexer_.dim();
      if (lexer_.looking_at("==") || lexer_.looking_at("<=")) {
        std::string relation = lexer_.accept("==") ? "==" : "<=";
        lexer_.accept(relation);
        if (graph_->dims.facts().size() >= kMostFacts) lexer_.fail("too many facts about sizes");
        graph_->dims.assume({relation, a, lexer_.dim()});
      } else {
        auto symbol = a.as_symbol();
        if (!symbol) lexer_.fail("expected a symbol, or a fact with == or <=");
        Range range;
        if (lexer_.accept_keyword("in")) {
          lexer_.expect("[", "before the range");
          size_t at = lexer_.position();
          range.low = lexer_.integer("the smallest size");
          lexer_.expect(",", "between the bounds");
          if (!lexer_.accept_keyword("inf")) range.high = lexer_.integer("the largest size");
          lexer_.expect("]", "after the range");
          if (range.low > range.high) lexer_.fail("the range is empty", "the smaller bound stands first", at);
        }
        graph_->dims.declare(*symbol, range);
      }
    } while (lexer_.accept(","));
  }

  Value use(const Names& names) {
    size_t at = lexer_.position();
    lexer_.expect("%", "before a value's name");
    std::string name = lexer_.identifier("a value's name");
    auto it = names.find(name);
    if (it != names.end()) return it->second;
    std::string nearest;
    size_t best = std::min<size_t>(3, name.size());  // of a short name, more than its whole is not near
    for (auto& [other, value] : names)
      if (name.size() > kLongestGuess || other.size() > kLongestGuess)
        continue;
      else if (size_t d = distance(name, other);
               d < best || (d == best && !nearest.empty() && other < nearest))
        best = d, nearest = other;
    lexer_.fail(fmt::format("the value %{} is not defined here", name),
                nearest.empty()
                    ? "values are defined before they are used; a region reads only its own arguments"
                    : fmt::format("did you mean %{}?", nearest),
                at);
  }

  void block(Block& block, Names& names, int depth) {
    if (depth > kDeepestRegion) lexer_.fail("regions nested too deeply");
    while (!lexer_.accept("}")) {
      if (lexer_.done()) lexer_.fail("the block is not closed", "a block ends with 'return' and '}'");
      if (lexer_.accept_keyword("return")) {
        std::vector<Value> results;
        if (lexer_.looking_at("%")) do
            results.push_back(use(names));
          while (lexer_.accept(","));
        block.set_results(std::move(results));
        lexer_.expect("}", "after the block's results");
        return;
      }
      node(block, names, depth);
    }
    lexer_.fail("the block has no 'return'", "a block ends with 'return' and its results");
  }

  void node(Block& block, Names& names, int depth) {
    std::vector<std::pair<std::string, size_t>> results;
    if (lexer_.looking_at("%")) {
      do {
        size_t at = lexer_.position();
        lexer_.expect("%", "before a value's name");
        results.emplace_back(lexer_.identifier("a value's name"), at);
      } while (lexer_.accept(","));
      lexer_.expect("=", "after the names of the results");
    }
    NodeSpec spec;
    size_t op_at = lexer_.position();
    std::string op = lexer_.identifier("the name of an op");
    if (op == kReturnOp)
      lexer_.fail("a return has no results", "write 'return %a, %b' at the end of the block", op_at);
    lexer_.expect("(", "after the op's name");
    spec.op = OpId::of(op);
    operands(spec, names);
    // Behind a node that has neither attributes nor results, the regions' brace comes first.
    bool brace = lexer_.accept("{"), only_regions = brace && lexer_.looking_at("^");
    if (brace && !only_regions) {
      do {
        size_t at = lexer_.position();
        std::string key = lexer_.identifier("an attribute's name");
        if (spec.attrs.find(key)) lexer_.fail(fmt::format("the attribute {} is given twice", key), "", at);
        if (spec.attrs.items().size() >= kMostAttributes) lexer_.fail("too many attributes", "", at);
        lexer_.expect("=", "after the attribute's name");
        if (lexer_.accept("#")) {
          spec.attrs.set(key, Literal());
          pending_.push_back({nullptr, key, lexer_.identifier("a resource's hash"), at});
        } else {
          spec.attrs.set(key, lexer_.value());
        }
      } while (lexer_.accept(","));
      lexer_.expect("}", "after the attributes");
    }
    size_t types_at = lexer_.position();
    if (!only_regions && lexer_.accept(":")) do
        spec.result_types.push_back(lexer_.type());
      while (lexer_.accept(","));
    if (spec.result_types.size() != results.size())
      lexer_.fail(fmt::format("{} names, but {} types of results", results.size(), spec.result_types.size()),
                  "each result has a name and a type", types_at);
    if (!only_regions && lexer_.accept_keyword("scope")) {
      lexer_.expect("(", "after 'scope'");
      spec.scope = Scope::of(lexer_.quoted("a module path"));
      lexer_.expect(")", "after the module path");
    }
    if (!only_regions && lexer_.accept_keyword("loc")) spec.location = location();
    Node* made = graph_->insert(block, std::move(spec));
    if (positions_) {
      positions_->resize(made->id() + 1);
      positions_->back() = op_at;
    }
    for (size_t i = 0; i < results.size(); ++i)
      name_value(made->result(i), results[i].first, names, results[i].second);
    for (Pending& p : pending_)
      if (!p.node) p.node = made, wanted_[p.hash].push_back(p);
    pending_.clear();
    if (only_regions || lexer_.accept("{")) regions(made, depth);
  }

  void operands(NodeSpec& spec, const Names& names) {
    // "(%a | %b)": two segments; "(; %a)": one; "( | %b)": an empty one and another.
    bool segmented = lexer_.accept(";");
    uint32_t here = 0;
    while (!lexer_.accept(")")) {
      if (lexer_.accept("|")) {
        spec.segments.push_back(here);
        here = 0;
        segmented = true;
        continue;
      }
      if (here > 0) lexer_.expect(",", "between the operands");
      spec.operands.push_back(use(names));
      ++here;
    }
    if (segmented) spec.segments.push_back(here);
  }

  Location location() {
    std::vector<SourceFrame> frames;
    lexer_.expect("(", "after 'loc'");
    do {
      SourceFrame f;
      f.file = lexer_.quoted("a file");
      lexer_.expect(":", "after the file");
      size_t at = lexer_.position();
      int64_t line = lexer_.integer("a line");
      if (line < 0 || line > std::numeric_limits<int>::max())
        lexer_.fail(fmt::format("there is no line {}", line), "", at);
      f.line = static_cast<int>(line);
      if (!lexer_.accept_keyword("in")) lexer_.fail("expected 'in' and a function");
      f.function = lexer_.quoted("a function");
      frames.push_back(std::move(f));
    } while (lexer_.accept(","));
    lexer_.expect(")", "after the location");
    return Location::of(frames);
  }

  void regions(Node* made, int depth) {
    int count = 0;
    while (!lexer_.accept("}")) {
      lexer_.expect("^", "before a region's arguments");
      lexer_.expect("(", "before a region's arguments");
      Block& inner = graph_->add_region(made);
      Names names;
      arguments(inner, names);
      lexer_.expect("{", "before a region's nodes");
      block(inner, names, depth + 1);
      ++count;
    }
    if (count == 0) lexer_.fail("a node's braces hold no region");
  }

  void resources() {
    lexer_.expect("{", "after 'resources'");
    while (!lexer_.accept("}")) {
      size_t at = lexer_.position();
      lexer_.expect("#", "before a resource's hash");
      std::string hash = lexer_.identifier("a resource's hash");
      lexer_.expect("=", "after the hash");
      Type type = lexer_.type();
      if (!lexer_.accept_keyword("base64")) lexer_.fail("expected 'base64'");
      lexer_.expect(":", "after 'base64'");
      auto bytes = base64_decode(lexer_.quoted("the bytes"));
      auto dims = constant_dims(type.dims);
      if (!bytes || !dims) lexer_.fail("the resource is not base64 of an array with fixed sizes", "", at);
      int64_t n = static_cast<int64_t>(size_of(type.dtype));
      for (int64_t d : *dims)
        if (d < 0 || __builtin_mul_overflow(n, d, &n))
          lexer_.fail("the resource's sizes are not possible", "", at);
      if (static_cast<size_t>(n) != bytes->size())
        lexer_.fail(fmt::format("the resource has {} bytes, its type says {}", bytes->size(), n), "", at);
      if (type.dtype == DType::Bool &&
          std::any_of(bytes->begin(), bytes->end(), [](char c) { return c != 0 && c != 1; }))
        lexer_.fail("the resource's bools are neither 0 nor 1", "", at);
      Literal literal = Literal::allocate(type.dtype, *dims);
      std::copy(bytes->begin(), bytes->end(), static_cast<char*>(literal.mutable_data()));
      if (literal.hash().hex() != hash)
        lexer_.fail("the resource's bytes do not have its hash", "the file was changed or damaged", at);
      auto it = wanted_.find(hash);
      if (it == wanted_.end()) continue;
      for (Pending& p : it->second) {
        Attrs attrs = p.node->attrs();
        attrs.set(p.key, literal);
        p.node->set_attrs(std::move(attrs));
      }
      wanted_.erase(it);
    }
  }

  struct Pending {
    Node* node;
    std::string key, hash;
    size_t position;
  };
  Lexer lexer_;
  std::vector<size_t>* positions_;
  std::unique_ptr<Graph> graph_;
  std::vector<Pending> pending_;
  std::unordered_map<std::string, std::vector<Pending>> wanted_;
};

}  // namespace

std::unique_ptr<Graph> Graph::parse(std::string_view text, std::string_view file) {
  return Parser(text, file).run();
}

std::unique_ptr<Graph> Graph::parse(std::string_view text, std::string_view file,
                                    std::vector<size_t>& positions) {
  return Parser(text, file, &positions).run();
}

}  // namespace ig
