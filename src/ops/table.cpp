// The table: filled once from the families, then by user-defined ops.
#include "ops/table.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

#include <fmt/format.h>

#include "ops/families/families.h"

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

std::string near_names(std::string_view name) {
  std::vector<std::string> close;
  for (const Op* op : all())
    if (op->decl.name.find(name.substr(0, 4)) != std::string::npos && close.size() < 5) close.push_back(op->decl.name);
  std::string out;
  for (const std::string& c : close) out += (out.empty() ? "" : ", ") + c;
  return out.empty() ? "docs/ops.md lists the ops" : "close names are " + out;
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
  throw make_error(ErrorKind::Value, "unknown op '{}'", id.name()).why("no op of that name is declared").hint(near_names(id.name()));
}
const Op& get(std::string_view name) { return get(OpId::of(name)); }

const std::vector<const Op*>& all() { return table().order; }

const Op& add(Op op) {
  auto refuse = [&](std::string why, std::string hint) {
    throw make_error(ErrorKind::Value, "the op '{}' cannot be declared", op.decl.name).why(std::move(why)).hint(std::move(hint));
  };
  if (op.decl.name.empty()) refuse("it has no name", "give it one");
  if (op.decl.doc.empty()) refuse("it has no doc", "say in a line what it gives");
  if (!op.rules.infer && !op.rules.body) refuse("it has neither an infer rule nor a body", "give one of them");
  if (!op.rules.reference && !op.rules.body) refuse("it has neither a reference rule nor a body", "give one of them");
  if (find(op.decl.name)) refuse("the name is taken", "choose another");
  Table& t = table();
  std::unique_lock lock(t.mutex);
  return t.insert(std::move(op));
}

}  // namespace ig::ops
