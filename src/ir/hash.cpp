// Hashes of graphs. The structural hash is that of the nodes in order, with values numbered as they come. The
// canonical one numbers nodes by what they compute, so the order of independent nodes, names and (where told)
// the order of commutative operands do not matter.
#include <algorithm>
#include <functional>
#include <unordered_map>

#include "ir/graph.h"

namespace ig {
namespace {

struct Hasher {
  std::string bytes;
  void add(std::string_view s) {
    uint64_t n = s.size();
    bytes.append(reinterpret_cast<const char*>(&n), sizeof n);
    bytes.append(s);
  }
  void add(uint64_t v) { bytes.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void add(Hash128 h) { add(h.low), add(h.high); }
  Hash128 done() const { return hash128(bytes); }
};

void add_attrs(Hasher& h, const Node* node) {
  h.add(node->attrs().items().size());
  for (const auto& [key, value] : node->attrs().items()) {
    h.add(key);
    if (const auto* literal = std::get_if<Literal>(&value))
      h.add(literal->hash());
    else
      h.add(str(value));
  }
}

void add_scope(Hasher& h, const DimScope& dims) {
  for (const auto& [symbol, range] : dims.symbols()) {
    h.add(symbol);
    h.add(static_cast<uint64_t>(range.low));
    h.add(static_cast<uint64_t>(range.high));
  }
  for (const auto& fact : dims.facts()) h.add(fact.a.str() + fact.relation + fact.b.str());
}

void structural(Hasher& h, const Block& block) {
  std::unordered_map<Value, uint64_t> number;
  auto define = [&](Value v) {
    number.emplace(v, number.size());
    h.add(v->type().str());
  };
  h.add(block.args().size());
  for (Value v : block.args()) define(v);
  for (Node* node : block) {
    h.add(node->op().name());
    add_attrs(h, node);
    h.add(node->operands().size());
    for (Value v : node->operands()) h.add(number.at(v));
    h.add(node->segments().size());
    for (uint32_t s : node->segments()) h.add(s);
    for (Value v : node->results()) define(v);
    h.add(node->regions().size());
    for (const auto& region : node->regions()) structural(h, *region);
  }
}

Hash128 canonical(const Block& block, bool (*commutative)(OpId)) {
  std::unordered_map<Value, Hash128> of;
  for (size_t i = 0; i < block.args().size(); ++i) {
    Hasher h;
    h.add("argument");
    h.add(i);
    h.add(block.arg(i)->type().str());
    of[block.arg(i)] = h.done();
  }
  Hasher out;
  for (Node* node : block) {
    Hasher h;
    h.add(node->op().name());
    add_attrs(h, node);
    std::vector<Hash128> operands;
    for (Value v : node->operands()) operands.push_back(of.at(v));
    if (commutative && operands.size() >= 2 && commutative(node->op()) && operands[1] < operands[0])
      std::swap(operands[0], operands[1]);
    for (Hash128 o : operands) h.add(o);
    h.add(node->segments().size());
    for (uint32_t s : node->segments()) h.add(s);
    for (const auto& region : node->regions()) h.add(canonical(*region, commutative));
    Hash128 whole = h.done();
    for (size_t i = 0; i < node->results().size(); ++i) {
      Hasher r;
      r.add(whole);
      r.add(i);
      r.add(node->result(i)->type().str());
      of[node->result(i)] = r.done();
    }
    if (node == block.terminator()) out.add(whole);
  }
  out.add(block.args().size());
  for (Value v : block.args()) out.add(v->type().str());
  return out.done();
}

}  // namespace

Hash128 Graph::hash() const {
  Hasher h;
  add_scope(h, dims);
  structural(h, *body_);
  return h.done();
}

Hash128 Graph::canonical_hash(bool (*commutative)(OpId)) const {
  Hasher h;
  add_scope(h, dims);
  h.add(canonical(*body_, commutative));
  return h.done();
}

}  // namespace ig
