// Effects: finding them, taking them out, doing them, and the plain way of filling in a text.
#include "ops/effects.h"

#include <cstdio>
#include <mutex>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/host_attrs.h"

namespace ig::ops {
namespace {

constexpr int64_t kShownWhole = 1000;  // elements; a larger array is cut
constexpr int64_t kEdge = 3;           // elements at either end of an axis that is cut

std::string element_text(const Literal& x, int64_t flat, const std::string& spec) {
  if (x.dtype() == DType::Bool) return x.as_int(flat) != 0 ? "True" : "False";
  std::string format = "{:" + spec + "}";
  try {
    if (is_complex(x.dtype())) {
      double parts[2];
      for (int64_t part = 0; part < 2; ++part)
        parts[part] = x.dtype() == DType::C64 ? static_cast<const float*>(x.data())[2 * flat + part]
                                              : static_cast<const double*>(x.data())[2 * flat + part];
      return "(" + fmt::format(fmt::runtime(format), parts[0]) + (parts[1] < 0 ? "" : "+") +
             fmt::format(fmt::runtime(format), parts[1]) + "j)";
    }
    if (x.dtype() == DType::F32 && spec.empty())
      return fmt::format("{}", static_cast<float>(x.as_double(flat)));
    if (is_float(x.dtype())) return fmt::format(fmt::runtime(format), x.as_double(flat));
    if (x.dtype() == DType::U64)
      return fmt::format(fmt::runtime(format), static_cast<uint64_t>(x.as_int(flat)));
    return fmt::format(fmt::runtime(format), x.as_int(flat));
  } catch (const fmt::format_error& error) {
    throw make_error(ErrorKind::Value, "the format '{}' does not fit {}", spec, info(x.dtype()).api_name)
        .why(error.what())
        .hint("use a format for numbers, such as {:.3f} or {:d}");
  }
}

void array_text(const Literal& x, const std::string& spec, size_t axis, int64_t& flat, std::string& out) {
  if (axis == x.dims().size()) {
    out += element_text(x, flat++, spec);
    return;
  }
  int64_t size = x.dims()[axis], stride = 1;
  for (size_t i = axis + 1; i < x.dims().size(); ++i) stride *= x.dims()[i];
  bool cut = x.elements() > kShownWhole && size > 2 * kEdge;
  out += '[';
  for (int64_t i = 0; i < size; ++i) {
    if (i) out += ", ";
    if (cut && i == kEdge) {
      out += "...";
      flat += (size - 2 * kEdge) * stride;
      i = size - kEdge - 1;
      continue;
    }
    array_text(x, spec, axis + 1, flat, out);
  }
  out += ']';
}

void print_plainly(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stdout);
  std::fputc('\n', stdout);
  std::fflush(stdout);
}

void fail_plainly(std::string_view, const Error&) {}

std::mutex& sink_mutex() {
  static std::mutex mutex;
  return mutex;
}
EffectSink& sink_now() {
  static EffectSink sink{format_plainly, print_plainly, fail_plainly};
  return sink;
}

bool block_has_effects(const Block& block) {
  for (const Node* node : block)
    if (has_effects(node)) return true;
  return false;
}

// What an effect gave besides its token is not there without it: a node that says so takes its place.
void stand_in(Node* node) {
  Builder build(*node->block(), node);
  build.at(node);
  Attrs attrs = node->attrs();
  attrs.set(kHostFunction, std::string());
  attrs.set(kHostKept, Literal::allocate(DType::U8, {0}));
  std::vector<Value> operands(node->operands().begin() + 1, node->operands().end());
  const Node* other = build.node(get("io_callback_results"), std::move(operands), std::move(attrs));
  for (size_t i = 1; i < node->results().size(); ++i)
    node->result(i)->replace_all_uses_with(other->result(i - 1));
}

void strip_block(Block& block) {
  for (Node* node : block) {
    for (const auto& region : node->regions()) strip_block(*region);
    if (!has(node, Trait::Effect)) continue;
    IG_CHECK(!node->result()->type().is_tensor() && !node->operands().empty(),
             "the effect {} gives no token first", node->op().name());
    node->result()->replace_all_uses_with(node->operand(0));
    if (node->results().size() > 1) stand_in(node);
    block.graph().erase(node);
  }
}

}  // namespace

const EffectSink& effect_sink() {
  std::lock_guard lock(sink_mutex());
  return sink_now();
}
void set_effect_sink(const EffectSink& sink) {
  std::lock_guard lock(sink_mutex());
  sink_now() = sink;
}

bool has_effects(const Node* node) {
  if (has(node, Trait::Effect)) return true;
  for (const auto& region : node->regions())
    if (block_has_effects(*region)) return true;
  return false;
}

bool is_plain_check(const Node* node) {
  const Op* op = find(node->op());
  if (!op || op->rules.lower.condition < 0) return false;
  const auto condition = static_cast<size_t>(op->rules.lower.condition);
  auto one = [&](size_t i) { return product(node->operand(i)->type().dims) == Dim(int64_t{1}); };
  if (node->operands().size() > condition + 2 || !one(condition)) return false;
  if (node->operands().size() == condition + 1) return true;
  const DType told = node->operand(condition + 1)->type().dtype;
  return one(condition + 1) && (is_integer(told) || told == DType::Bool);
}

bool has_effects(const Graph& graph) { return block_has_effects(graph.body()); }

void strip_effects(Graph& graph) { strip_block(graph.body()); }

void run_effect(const Op& op, const Attrs& attrs, std::span<const Literal> values, Location where) {
  ReferenceContext context{attrs, values, {}};
  try {
    op.rules.reference.get()(context);
  } catch (Error& error) {
    if (error.where().empty() && where.known()) error.at(where.str());
    if (const AttrValue* kind = attrs.find("kind")) effect_sink().fail(std::get<std::string>(*kind), error);
    throw;
  }
}

std::string format_plainly(std::string_view text, std::span<const Literal> values) {
  std::string out;
  auto bad = [&](std::string_view why) {
    throw make_error(ErrorKind::Value, "the text '{}' cannot be filled in", text)
        .why(std::string(why))
        .hint("fields are {0}, {1:.2f} and so on; write {{ and }} for braces");
  };
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c != '{' && c != '}') {
      out += c;
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == c) {
      out += c;
      ++i;
      continue;
    }
    size_t end = c == '{' ? text.find('}', i) : std::string_view::npos;
    if (end == std::string_view::npos) bad("a brace has no partner");
    std::string_view field = text.substr(i + 1, end - i - 1);
    size_t colon = field.find(':');
    std::string_view number = field.substr(0, colon);
    std::string spec(colon == std::string_view::npos ? "" : field.substr(colon + 1));
    size_t index = 0;
    for (char digit : number) {
      if (digit < '0' || digit > '9') bad("a field holds no number");
      index = index * 10 + static_cast<size_t>(digit - '0');
    }
    if (number.empty() || index >= values.size()) bad("a field names no value");
    int64_t flat = 0;
    array_text(values[index], spec, 0, flat, out);
    i = end;
  }
  return out;
}

}  // namespace ig::ops
