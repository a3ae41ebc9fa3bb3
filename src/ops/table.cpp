// The table: filled once from the families, then by user-defined ops.
#include "ops/table.h"

#include <algorithm>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <utility>

#include <fmt/format.h>

#include "ops/families/families.h"
#include "ops/mutants.h"

namespace ig::ops {
namespace {

struct Table {
  std::shared_mutex mutex;
  std::deque<Op> ops;
  std::vector<const Op*> order;
  std::vector<const Op*> by_id;  // by OpId::index

  Table() {
    for (Op& op : families()) insert(std::move(op));
  }
  const Op& insert(Op op) {
    op.id = OpId::of(op.decl.name);
#ifdef INTAGLIO_MUTANTS
    plant_mutant(op);
#endif
    const Op& kept = ops.emplace_back(std::move(op));
    if (by_id.size() <= kept.id.index()) by_id.resize(kept.id.index() + 1, nullptr);
    IG_CHECK(!by_id[kept.id.index()], "the op {} is declared twice", kept.decl.name);
    by_id[kept.id.index()] = &kept;
    order.push_back(&kept);
    return kept;
  }
};

Table& table() {
  static Table* instance = new Table;
  return *instance;
}

// How many letters must be put in, taken out or changed to make one word of the other.
size_t distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t corner = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t change = corner + (a[i - 1] == b[j - 1] ? 0 : 1);
      corner = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row.back();
}

// Ops whose name, or whose public name, is nearly the word; the nearest first.
std::string near_names(std::string_view word) {
  std::vector<std::pair<size_t, std::string>> close;
  for (const Op* op : all()) {
    size_t steps = distance(word, op->decl.name);
    if (!op->decl.python.empty()) steps = std::min(steps, distance(word, op->decl.python));
    if (steps <= 1 + word.size() / 4) close.emplace_back(steps, op->decl.name);
  }
  std::stable_sort(close.begin(), close.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string out;
  for (size_t i = 0; i < std::min<size_t>(close.size(), 5); ++i) out += (i ? ", " : "") + close[i].second;
  return out.empty() ? "docs/ops.md lists the ops" : "close names are " + out;
}

// What a declaration lacks; nullopt where nothing.
struct Lack {
  std::string why, hint;
};
std::optional<Lack> lacks(const Op& op) {
  const OpDecl& d = op.decl;
  const OpRules& r = op.rules;
  auto letter = [](char c) { return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  auto word = [&](const std::string& name) {
    return !name.empty() && letter(name[0]) &&
           std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
  };
  if (d.name.empty()) return Lack{"it has no name", "give it one"};
  if (!word(d.name) || d.name == kReturnOp)
    return Lack{"its name cannot stand in graph text", "use letters, digits and '_'"};
  // One dot at most: what stands before it is the module ("special.gamma").
  size_t dot = d.python.find('.');
  bool named = dot == std::string::npos ? word(d.python)
                                        : word(d.python.substr(0, dot)) && word(d.python.substr(dot + 1));
  if (!d.python.empty() && !named)
    return Lack{"its public name is no Python name", "use letters, digits and '_'"};
  if (d.doc.empty()) return Lack{"it has no doc", "say in a line what it gives"};
  if (!r.infer && !r.body) return Lack{"it has neither an infer rule nor a body", "give one of them"};
  if (!r.reference && !r.body && !r.control_reference)
    return Lack{"it has neither a reference rule nor a body", "give one of them"};
  if (op.has(Trait::Composite) && !r.body)
    return Lack{"Trait::Composite has no body to it", "give the op a body rule"};
  if (r.body && !op.has(Trait::Composite) && !r.reference)
    return Lack{"it has a body, but is neither a composite nor has a reference rule",
                "give it Trait::Composite, or a reference rule"};
  for (size_t i = 0; i + 1 < d.operands.size(); ++i)
    if (d.operands[i].variadic && d.segments.empty())
      return Lack{fmt::format("the operand {} takes all that remain, but others follow", d.operands[i].name),
                  "put it last"};
  auto unreasoned = [](const auto& rule) { return !rule && rule.reason().empty(); };
  const char* silent = unreasoned(r.infer)       ? "infer"
                       : unreasoned(r.reference) ? "reference"
                       : unreasoned(r.simplify)  ? "simplify"
                       : unreasoned(r.jvp)       ? "jvp"
                       : unreasoned(r.transpose) ? "transpose"
                       : unreasoned(r.batch)     ? "batch"
                       : unreasoned(r.body)      ? "body"
                                                 : nullptr;
  if (silent)
    return Lack{fmt::format("the rule {} is neither written nor absent for a reason", silent),
                "write it, or none(\"the reason\")"};
  const LowerRule& l = r.lower;
  bool given = l.scalar || l.point || l.reduce || l.nest || l.way != Way::None || !l.reason.empty();
  if (!given)
    return Lack{"the rule lower is neither written nor absent for a reason",
                "write it, or none(\"the reason\")"};
  return std::nullopt;
}

}  // namespace

const Op* find(OpId id) {
  Table& t = table();
  std::shared_lock lock(t.mutex);
  return id.index() < t.by_id.size() ? t.by_id[id.index()] : nullptr;
}
const Op* find(std::string_view name) { return find(OpId::of(name)); }

const Op& get(OpId id) {
  if (const Op* op = find(id)) return *op;
  throw make_error(ErrorKind::Value, "unknown op '{}'", id.name())
      .why("no op of that name is declared")
      .hint(near_names(id.name()));
}
const Op& get(std::string_view name) { return get(OpId::of(name)); }

std::vector<const Op*> all() {
  Table& t = table();
  std::shared_lock lock(t.mutex);
  return t.order;
}

const Op& add(Op op) {
  auto refuse = [&](std::string why, std::string hint) {
    throw make_error(ErrorKind::Value, "the op '{}' cannot be declared", op.decl.name)
        .why(std::move(why))
        .hint(std::move(hint));
  };
  if (auto lack = lacks(op)) refuse(std::move(lack->why), std::move(lack->hint));
  Table& t = table();
  std::unique_lock lock(t.mutex);
  for (const Op* other : t.order) {
    if (other->decl.name == op.decl.name) refuse("the name is taken", "choose another");
    if (!op.decl.python.empty() && other->decl.python == op.decl.python)
      refuse(fmt::format("the public name {} is that of {}", op.decl.python, other->decl.name),
             "choose another");
  }
  return t.insert(std::move(op));
}

}  // namespace ig::ops
