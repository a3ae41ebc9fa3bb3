// The compact form of a graph: what artifacts and caches hold.
//
//   "IGIR"  version  strings  literals  locations  types  name  symbols  facts  body  checksum
//
// Whole numbers are varints (seven bits a byte, the low ones first; signed ones zigzag), texts are indices
// into one table, and so are literals, locations and types, each written once. Literals stand as raw
// little-endian bytes. A block numbers its values as they are defined: arguments, then the results of its
// nodes. The last eight bytes are XXH3 of all before them.
//
// The reader trusts nothing: each count is held against the bytes that are left, each index against its
// table, nesting has a limit, and what tables can multiply (one long text named a million times) is paid from
// a budget.
#include <bit>
#include <cstring>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "ir/graph.h"
#include "ir/limits.h"

namespace ig {
namespace {

constexpr std::string_view kMagic = "IGIR";
constexpr uint64_t kVersion = 1;
constexpr size_t kChecksum = 8;
constexpr size_t kCopyBudget = size_t{1}
                               << 26;  // bytes that may be copied out of tables, beyond 16 for each byte read

uint64_t zigzag(int64_t v) { return (static_cast<uint64_t>(v) << 1) ^ static_cast<uint64_t>(v >> 63); }
int64_t unzigzag(uint64_t v) { return static_cast<int64_t>(v >> 1) ^ -static_cast<int64_t>(v & 1); }

// --- writing
// ---------------------------------------------------------------------------------------------------------

class Bytes {
 public:
  void byte(uint8_t v) { out_ += static_cast<char>(v); }
  void number(uint64_t v) {
    for (; v >= 0x80; v >>= 7) byte(static_cast<uint8_t>(v | 0x80));
    byte(static_cast<uint8_t>(v));
  }
  void signed_number(int64_t v) { number(zigzag(v)); }
  void raw(std::string_view bytes) { out_ += bytes; }
  void fixed(uint64_t v) {
    for (int i = 0; i < 8; ++i) byte(static_cast<uint8_t>(v >> (8 * i)));
  }
  const std::string& str() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

class Writer {
 public:
  explicit Writer(const Graph& graph) : graph_(graph) {}

  std::string run() {
    Bytes rest;
    rest.number(text(graph_.name));
    rest.number(graph_.dims.symbols().size());
    for (const auto& [symbol, range] : graph_.dims.symbols()) {
      rest.number(text(symbol));
      rest.signed_number(range.low);
      rest.signed_number(range.high);
    }
    rest.number(graph_.dims.facts().size());
    for (const auto& fact : graph_.dims.facts()) {
      rest.number(text(fact.relation));
      dim(rest, fact.a);
      dim(rest, fact.b);
    }
    block(rest, graph_.body());

    Bytes out;
    out.raw(kMagic);
    out.number(kVersion);
    out.number(texts_.size());
    for (const std::string* t : texts_) {
      out.number(t->size());
      out.raw(*t);
    }
    out.number(literal_count_);
    out.raw(literals_.str());
    out.number(location_index_.size());
    out.raw(locations_.str());
    out.number(type_count_);
    out.raw(types_.str());
    out.raw(rest.str());
    out.fixed(hash64(out.str()));
    return out.take();
  }

 private:
  uint64_t text(const std::string& t) {
    auto [it, fresh] = text_index_.try_emplace(t, texts_.size());
    if (fresh) texts_.push_back(&it->first);
    return it->second;
  }

  void dim(Bytes& out, const Dim& d) {
    if (d.is_constant()) {
      out.number(0);
      out.signed_number(d.constant());
    } else {
      out.number(text(d.str()) + 1);
    }
  }
  void dims(Bytes& out, const Dims& all) {
    out.number(all.size());
    for (const Dim& d : all) dim(out, d);
  }

  uint64_t type(const Type& t) {
    auto [it, fresh] = type_index_.try_emplace(t.str(), type_count_);
    if (fresh) {
      ++type_count_;
      types_.byte(static_cast<uint8_t>(t.kind));
      if (t.is_tensor()) {
        types_.byte(static_cast<uint8_t>(t.dtype));
        dims(types_, t.dims);
      }
    }
    return it->second;
  }

  uint64_t literal(const Literal& l) {
    IG_CHECK(l.valid(), "a literal without bytes is written");
    auto [it, fresh] = literal_index_.try_emplace(l.hash(), literal_count_);
    if (fresh) {
      ++literal_count_;
      literals_.byte(static_cast<uint8_t>(l.dtype()));
      literals_.number(l.dims().size());
      for (int64_t d : l.dims()) literals_.number(static_cast<uint64_t>(d));
      literals_.raw({static_cast<const char*>(l.data()), l.bytes()});
    }
    return it->second;
  }

  // 0 is "unknown"; the others are one more than their place in the table.
  uint64_t location(Location where) {
    if (!where.known()) return 0;
    auto [it, fresh] = location_index_.try_emplace(where.id(), location_index_.size() + 1);
    if (fresh) {
      std::vector<SourceFrame> frames = where.frames();
      locations_.number(frames.size());
      for (const SourceFrame& f : frames) {
        locations_.number(text(f.file));
        locations_.signed_number(f.line);
        locations_.number(text(f.function));
        locations_.number(text(f.text));
      }
    }
    return it->second;
  }

  void attribute(Bytes& out, const AttrValue& value) {
    out.byte(static_cast<uint8_t>(value.index()));
    if (const auto* b = std::get_if<bool>(&value))
      out.byte(*b ? 1 : 0);
    else if (const auto* i = std::get_if<int64_t>(&value))
      out.signed_number(*i);
    else if (const auto* f = std::get_if<double>(&value))
      out.fixed(std::bit_cast<uint64_t>(*f));
    else if (const auto* t = std::get_if<std::string>(&value))
      out.number(text(*t));
    else if (const auto* d = std::get_if<DType>(&value))
      out.byte(static_cast<uint8_t>(*d));
    else if (const auto* s = std::get_if<Dims>(&value))
      dims(out, *s);
    else if (const auto* l = std::get_if<Literal>(&value))
      out.number(literal(*l));
    else {
      const auto& ints = std::get<Ints>(value);
      out.number(ints.size());
      for (int64_t v : ints) out.signed_number(v);
    }
  }

  void value(Bytes& out, Value v) {
    out.number(type(v->type()));
    out.number(text(v->name()));
  }

  void block(Bytes& out, const Block& b) {
    std::unordered_map<Value, uint64_t> number;
    auto define = [&](Value v) {
      number.emplace(v, number.size());
      value(out, v);
    };
    auto operands = [&](const Node* node) {
      out.number(node->operands().size());
      for (Value v : node->operands()) {
        auto it = number.find(v);
        IG_CHECK(it != number.end(), "{} reads a value of another block", node->op().name());
        out.number(it->second);
      }
    };
    const Node* end = b.terminator();
    IG_CHECK(end, "a block without its return is written");
    out.number(b.args().size());
    for (Value v : b.args()) define(v);
    out.number(b.size());
    for (const Node* node : b) {
      if (node == end) break;
      out.number(text(node->op().name()));
      operands(node);
      out.number(node->segments().size());
      for (uint32_t s : node->segments()) out.number(s);
      out.number(node->attrs().items().size());
      for (const auto& [key, attr] : node->attrs().items()) {
        out.number(text(key));
        attribute(out, attr);
      }
      out.number(text(node->scope().path()));
      out.number(location(node->location()));
      out.number(node->results().size());
      for (Value v : node->results()) define(v);
      out.number(node->regions().size());
      for (const auto& region : node->regions()) block(out, *region);
    }
    operands(end);
  }

  const Graph& graph_;
  std::map<std::string, uint64_t, std::less<>> text_index_;
  std::vector<const std::string*> texts_;
  std::unordered_map<std::string, uint64_t> type_index_;
  std::unordered_map<Hash128, uint64_t> literal_index_;
  std::unordered_map<uint32_t, uint64_t> location_index_;
  Bytes types_, literals_, locations_;
  uint64_t type_count_ = 0, literal_count_ = 0;
};

// --- reading
// ---------------------------------------------------------------------------------------------------------

class Reader {
 public:
  explicit Reader(std::string_view bytes) : bytes_(bytes), budget_(kCopyBudget + 16 * bytes.size()) {}

  std::unique_ptr<Graph> run() {
    if (!bytes_.starts_with(kMagic)) fail("these are not the bytes of a graph", "they start with \"IGIR\"");
    at_ = kMagic.size();
    end_ = bytes_.size();
    if (uint64_t version = number(); version != kVersion)
      fail(fmt::format("the graph has format version {}", version),
           fmt::format("this library reads version {}", kVersion));
    if (bytes_.size() < at_ + kChecksum) fail("the graph is cut off", "there is no room for its checksum");
    end_ = bytes_.size() - kChecksum;
    uint64_t want = 0;
    for (size_t i = 0; i < kChecksum; ++i)
      want |= static_cast<uint64_t>(static_cast<uint8_t>(bytes_[end_ + i])) << (8 * i);
    if (hash64(bytes_.substr(0, end_)) != want)
      fail("the graph's checksum does not agree with its bytes",
           "the bytes were cut off or changed after they were written");
    tables();
    graph_ = std::make_unique<Graph>(text());
    scope();
    block(graph_->body(), 0);
    if (at_ != end_) fail("bytes are left over behind the graph");
    return std::move(graph_);
  }

 private:
  [[noreturn]] void fail(const std::string& what,
                         std::string why = "the bytes do not follow the format of docs/ir.md") const {
    throw Error(ErrorKind::IO, what)
        .at(fmt::format("byte {} of {}", at_, bytes_.size()))
        .why(std::move(why))
        .hint("write the graph again with to_binary, by the same version of Intaglio");
  }

  size_t left() const { return end_ - at_; }
  uint8_t byte() {
    if (left() == 0) fail("the graph is cut off");
    return static_cast<uint8_t>(bytes_[at_++]);
  }
  uint64_t number() {
    uint64_t out = 0;
    for (int shift = 0;; shift += 7) {
      uint8_t b = byte();
      if (shift == 63 && b > 1) fail("a number is beyond 64 bits");
      out |= static_cast<uint64_t>(b & 0x7f) << shift;
      if (b < 0x80) return out;
    }
  }
  int64_t signed_number() { return unzigzag(number()); }
  uint64_t fixed() {
    uint64_t out = 0;
    for (int i = 0; i < 8; ++i) out |= static_cast<uint64_t>(byte()) << (8 * i);
    return out;
  }
  // How many things follow, of which each takes `least` bytes or more.
  size_t count(std::string_view what, size_t least = 1) {
    uint64_t n = number();
    if (n > left() / least)
      fail(fmt::format("{} {} do not fit in the {} bytes that are left", n, what, left()));
    return static_cast<size_t>(n);
  }
  size_t index(std::string_view what, size_t size) {
    uint64_t i = number();
    if (i >= size) fail(fmt::format("{} {} is asked for, there are {}", what, i, size));
    return static_cast<size_t>(i);
  }
  void pay(size_t bytes) {
    if (bytes > budget_)
      fail("the graph would be out of all proportion to its bytes", "texts are repeated too often");
    budget_ -= bytes;
  }

  const std::string& text() {
    const std::string& out = texts_[index("text", texts_.size())];
    pay(out.size());
    return out;
  }
  DType dtype() {
    uint8_t v = byte();
    if (v >= kDTypeCount) fail(fmt::format("there is no element type {}", v));
    return static_cast<DType>(v);
  }

  Dim dim() {
    uint64_t tag = number();
    if (tag == 0) return signed_number();
    if (tag > texts_.size()) fail(fmt::format("text {} is asked for, there are {}", tag - 1, texts_.size()));
    auto [it, fresh] = dims_.try_emplace(tag - 1);
    if (fresh) {
      try {
        it->second = Dim::parse(texts_[tag - 1]);
      } catch (const Error& error) {
        fail("a size is not readable", error.summary());
      }
      if (it->second.is_constant()) fail("a fixed size is written as an expression");
    }
    return it->second;
  }
  Dims dims(uint64_t most) {
    size_t n = count("sizes");
    if (n > most) fail(fmt::format("{} sizes, at most {} are possible", n, most));
    Dims out;
    for (size_t i = 0; i < n; ++i) out.push_back(dim());
    return out;
  }

  void tables() {
    for (size_t n = count("texts"); n > 0; --n) {
      size_t length = count("bytes of a text");
      texts_.emplace_back(bytes_.substr(at_, length));
      at_ += length;
    }
    if (texts_.empty()) fail("the graph has no texts, not even its name");
    for (size_t n = count("literals", 2); n > 0; --n) literals_.push_back(literal());
    locations_.emplace_back();
    for (size_t n = count("locations"); n > 0; --n) {
      std::vector<SourceFrame> frames;
      for (size_t f = count("frames", 4); f > 0; --f) {
        SourceFrame frame;
        frame.file = text();
        int64_t line = signed_number();
        if (line < 0 || line > std::numeric_limits<int>::max())
          fail(fmt::format("there is no line {}", line));
        frame.line = static_cast<int>(line);
        frame.function = text();
        frame.text = text();
        frames.push_back(std::move(frame));
      }
      locations_.push_back(Location::of(frames));
    }
    for (size_t n = count("types"); n > 0; --n) {
      uint8_t kind = byte();
      if (kind == static_cast<uint8_t>(Type::Kind::Token)) {
        types_.push_back(Type::token());
      } else if (kind == static_cast<uint8_t>(Type::Kind::Tensor)) {
        DType element = dtype();
        Dims sizes = dims(kMostAxes);
        for (const Dim& d : sizes)
          if (d.is_constant() && d.constant() < 0) fail("a size is negative");
        types_.push_back(Type::tensor(element, std::move(sizes)));
      } else {
        fail(fmt::format("there is no kind of type {}", kind));
      }
    }
  }

  Literal literal() {
    DType element = dtype();
    size_t rank = count("sizes");
    if (rank > kMostAxes) fail(fmt::format("a literal of {} axes, at most {} are possible", rank, kMostAxes));
    std::vector<int64_t> sizes;
    bool empty = false;
    for (size_t i = 0; i < rank; ++i) {
      uint64_t d = number();
      if (d > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) fail("a size is beyond 63 bits");
      sizes.push_back(static_cast<int64_t>(d));
      empty = empty || d == 0;
    }
    // The product of all sizes must be a size, with or without the empty axes: what reads it may multiply in
    // any order.
    uint64_t needed = size_of(element);
    for (int64_t d : sizes)
      if (__builtin_mul_overflow(needed, static_cast<uint64_t>(d ? d : 1), &needed) ||
          needed > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
        fail("a literal's sizes overflow");
    if (empty) needed = 0;
    if (needed > left()) fail(fmt::format("a literal of {} bytes, {} are left", needed, left()));
    Literal out = Literal::allocate(element, std::move(sizes));
    if (needed) std::memcpy(out.mutable_data(), bytes_.data() + at_, needed);
    if (element == DType::Bool)
      for (size_t i = 0; i < needed; ++i)
        if (static_cast<uint8_t>(bytes_[at_ + i]) > 1) fail("a bool is neither 0 nor 1");
    at_ += needed;
    return out;
  }

  void scope() {
    for (size_t n = count("symbols", 3); n > 0; --n) {
      const std::string& name = text();
      int64_t low = signed_number(), high = signed_number();
      try {
        Dim::symbol(name);
        graph_->dims.declare(name, {low, high});
      } catch (const Error& error) {
        fail("a size symbol is not possible", error.summary());
      }
    }
    size_t facts = count("facts", 3);
    if (facts > kMostFacts) fail(fmt::format("{} facts, at most {} are possible", facts, kMostFacts));
    for (size_t n = facts; n > 0; --n) {
      const std::string& relation = text();
      if (relation != "==" && relation != "<=") fail("a fact is neither == nor <=");
      Dim a = dim(), b = dim();
      graph_->dims.assume({relation, a, b});
    }
  }

  AttrValue attribute() {
    uint8_t kind = byte();
    switch (kind) {
      case static_cast<uint8_t>(AttrKind::Bool): {
        uint8_t v = byte();
        if (v > 1) fail("a bool is neither 0 nor 1");
        return v == 1;
      }
      case static_cast<uint8_t>(AttrKind::Int): return signed_number();
      case static_cast<uint8_t>(AttrKind::Float): return std::bit_cast<double>(fixed());
      case static_cast<uint8_t>(AttrKind::Text): return text();
      case static_cast<uint8_t>(AttrKind::DType): return dtype();
      case static_cast<uint8_t>(AttrKind::Ints): {
        Ints out;
        for (size_t n = count("numbers"); n > 0; --n) out.push_back(signed_number());
        return out;
      }
      case static_cast<uint8_t>(AttrKind::Dims): return dims(left());
      case static_cast<uint8_t>(AttrKind::Literal): return literals_[index("literal", literals_.size())];
      default: fail(fmt::format("there is no kind of attribute {}", kind));
    }
  }

  const Type& type() {
    const Type& out = types_[index("type", types_.size())];
    pay(out.dims.size() * sizeof(Dim));
    return out;
  }

  void block(Block& b, int depth) {
    if (depth > kDeepestRegion) fail("regions are nested too deeply");
    std::vector<Value> values;
    auto operands = [&] {
      std::vector<Value> out;
      for (size_t n = count("operands"); n > 0; --n) out.push_back(values[index("value", values.size())]);
      return out;
    };
    for (size_t n = count("arguments", 2); n > 0; --n) {
      const Type& t = type();
      values.push_back(b.add_arg(t, text()));
    }
    for (size_t n = count("nodes", 8); n > 0; --n) {
      NodeSpec spec;
      const std::string& op = text();
      if (op.empty() || op == kReturnOp) fail("a node without an op, or a return inside of a block");
      spec.op = OpId::of(op);
      spec.operands = operands();
      uint64_t sum = 0;
      for (size_t k = count("segments"); k > 0; --k) {
        uint64_t s = number();
        sum += s;
        if (s > spec.operands.size() || sum > spec.operands.size())
          fail("segments hold more operands than there are");
        spec.segments.push_back(static_cast<uint32_t>(s));
      }
      size_t attributes = count("attributes", 3);
      if (attributes > kMostAttributes) fail(fmt::format("a node with {} attributes", attributes));
      for (size_t k = attributes; k > 0; --k) {
        const std::string& key = text();
        if (spec.attrs.find(key)) fail("an attribute is given twice");
        spec.attrs.set(key, attribute());
      }
      spec.scope = Scope::of(text());
      spec.location = locations_[index("location", locations_.size())];
      std::vector<std::string> names;
      for (size_t k = count("results", 2); k > 0; --k) {
        spec.result_types.push_back(type());
        names.push_back(text());
      }
      Node* node = graph_->insert(b, std::move(spec));
      for (size_t k = 0; k < names.size(); ++k) {
        node->result(k)->set_name(std::move(names[k]));
        values.push_back(node->result(k));
      }
      for (size_t k = count("regions", 3); k > 0; --k) block(graph_->add_region(node), depth + 1);
    }
    b.set_results(operands());
  }

  std::string_view bytes_;
  size_t at_ = 0, end_ = 0, budget_;
  std::unique_ptr<Graph> graph_;
  std::vector<std::string> texts_;
  std::vector<Literal> literals_;
  std::vector<Location> locations_;
  std::vector<Type> types_;
  std::unordered_map<uint64_t, Dim> dims_;
};

}  // namespace

std::string Graph::to_binary() const { return Writer(*this).run(); }

std::unique_ptr<Graph> Graph::from_binary(std::string_view bytes) { return Reader(bytes).run(); }

}  // namespace ig
