// Prints loop functions as pseudo-code, and hashes them. The text is stable and complete: two functions with
// one text compute the same. An expression used more than once is named (`%3 = …`) where it is first needed,
// so the text is no longer than the graph of expressions; a name stands for the expression, not for a time of
// evaluation.
#include <bit>
#include <cmath>
#include <unordered_map>

#include "loop/canonical.h"
#include "loop/loop.h"
#include "support/error.h"

namespace ig::loop {
namespace {

std::string_view symbol(Op op) {
  switch (op) {
    case Op::Add: return "+";
    case Op::Sub: return "-";
    case Op::Mul: return "*";
    case Op::Div: return "/";
    case Op::Rem: return "%";
    case Op::And: return "&";
    case Op::Or: return "|";
    case Op::Xor: return "^";
    case Op::Shl: return "<<";
    case Op::AShr: return ">>";
    case Op::LShr: return ">>>";
    case Op::Eq: return "==";
    case Op::Ne: return "!=";
    case Op::Lt: return "<";
    case Op::Le: return "<=";
    case Op::Gt: return ">";
    case Op::Ge: return ">=";
    case Op::Neg: return "neg";
    case Op::Not: return "not";
    case Op::Abs: return "abs";
    case Op::Sqrt: return "sqrt";
    case Op::Floor: return "floor";
    case Op::Ceil: return "ceil";
    case Op::Trunc: return "trunc";
    case Op::RoundEven: return "round_even";
    case Op::Popcount: return "popcount";
    case Op::CountLeadingZeros: return "clz";
    case Op::Fma: return "fma";
    case Op::ProductRest: return "product_rest";
    case Op::Scale: return "scale";
    case Op::Select: return "select";
    case Op::SelectLazy: return "select_lazy";
    case Op::SelectRare: return "select_rare";
    case Op::Real: return "real";
    case Op::Imag: return "imag";
    case Op::Complex: return "complex";
    default: return "?";
  }
}

std::string_view reduction_name(Reduction r) {
  constexpr std::string_view names[] = {"add", "mul", "min", "max", "and", "or", "xor"};
  return names[static_cast<int>(r)];
}

std::string constant_text(const ExprNode& n) {
  uint64_t bits = n.bits[0];
  if (n.type == DType::Bool) return bits != 0 ? "true" : "false";
  if (n.type == DType::I64) return fmt::format("{}", static_cast<int64_t>(bits));
  if (is_signed_int(n.type)) return fmt::format("{}:{}", static_cast<int64_t>(bits), ig::name(n.type));
  if (is_unsigned_int(n.type)) return fmt::format("{}:{}", bits, ig::name(n.type));
  double value = n.type == DType::F64   ? std::bit_cast<double>(bits)
                 : n.type == DType::F32 ? std::bit_cast<float>(static_cast<uint32_t>(bits))
                 : n.type == DType::F16 ? f16_to_f32(static_cast<uint16_t>(bits))
                                        : bf16_to_f32(static_cast<uint16_t>(bits));
  if (std::isnan(value)) return fmt::format("nan(0x{:x}):{}", bits, ig::name(n.type));
  if (n.type == DType::F32) return fmt::format("{}:f32", static_cast<float>(value));
  return fmt::format("{}:{}", value, ig::name(n.type));
}

class Printer {
 public:
  Printer(const Function& function, bool names) : f_(function), names_(names) {}

  std::string run() {
    count(f_.body);
    out_ = fmt::format("kernel {}(", names_ ? f_.name : "_");
    for (size_t i = 0; i < f_.buffers.size(); ++i)
      out_ += fmt::format("{}{}{}: {}", i != 0 ? ", " : "",
                          f_.buffers[i].writable ? "out "
                          : f_.buffers[i].apart  ? "apart "
                                                 : "",
                          buffer(static_cast<uint32_t>(i)), ig::name(f_.buffers[i].type));
    out_ += ")";
    for (size_t i = 0; i < f_.sizes.size(); ++i)
      out_ += fmt::format("{}{}", i != 0 ? ", " : " sizes ", size(static_cast<uint32_t>(i)));
    out_ += fmt::format(" {}block i{} {{\n", f_.one_block ? "one " : "", f_.block_var);
    for (size_t i = 0; i < f_.scratch.size(); ++i)
      line(1, fmt::format("scratch {}: {}[{}]", buffer(static_cast<uint32_t>(f_.buffers.size() + i)),
                          ig::name(f_.scratch[i].type), scratch_size(f_.scratch_elements[i])));
    for (size_t i = 0; i < f_.locals.size(); ++i) {
      const Local& l = f_.locals[i];
      std::string shape = l.lanes > 1 ? fmt::format(" x{}", l.lanes) : "";
      if (l.count > 1) shape += fmt::format("[{}]", l.count);
      if (l.loose) shape += " loose";
      line(1, fmt::format("local {}: {}{}", local(static_cast<uint32_t>(i)), ig::name(l.type), shape));
    }
    block(f_.body, 1);
    return out_ + "}\n";
  }

 private:
  void line(int depth, std::string_view text) {
    out_.append(static_cast<size_t>(depth) * 2, ' ');
    out_ += text;
    out_ += '\n';
  }
  std::string buffer(uint32_t id) const {
    if (!names_) return fmt::format("b{}", id);
    return id < f_.buffers.size() ? f_.buffers[id].name : f_.scratch[id - f_.buffers.size()].name;
  }
  std::string local(uint32_t id) const { return fmt::format("{}{}", names_ ? f_.locals[id].name : "t", id); }
  std::string size(uint32_t id) const { return names_ ? f_.sizes[id] : fmt::format("s{}", id); }

  // In hashed text the symbols go by position, as everywhere else.
  std::string scratch_size(const Dim& dim) const {
    if (names_) return dim.str();
    std::string text;
    dim.postfix([&](Dim::Step step, int64_t constant, std::string_view symbol) {
      if (step == Dim::Step::Constant) {
        text += fmt::format("{} ", constant);
      } else if (step == Dim::Step::Symbol) {
        for (size_t i = 0; i < f_.sizes.size(); ++i)
          if (f_.sizes[i] == symbol) text += fmt::format("s{} ", i);
      } else {
        text += fmt::format("op{} ", static_cast<int>(step));
      }
    });
    return text;
  }

  void count(const Stmts& stmts) {
    for (const auto& s : stmts) {
      for (const Expr& e : {s->begin, s->end, s->index, s->value, s->from_stride, s->to_stride})
        count(e.node());
      count(s->body);
      count(s->otherwise);
    }
  }
  void count(const ExprNode* n) {
    if (n == nullptr || n->op == Op::Const || n->op == Op::Var || n->op == Op::Size) return;
    if (++uses_[n] > 1) return;
    for (const Expr& e : {n->a, n->b, n->c}) count(e.node());
  }

  // The expression's text; names of shared parts are written as lines of their own first.
  std::string text(const ExprNode* n, int depth) {
    if (n->op == Op::Const) return constant_text(*n);
    if (n->op == Op::Var) return fmt::format("i{}", n->id);
    if (n->op == Op::Size) return size(n->id);
    if (auto it = named_.find(n); it != named_.end()) return fmt::format("%{}", it->second);
    std::string out = plain(n, depth);
    if (uses_[n] < 2) return out;
    auto id = named_.size();
    named_[n] = id;
    line(depth, fmt::format("%{} = {}", id, out));
    return fmt::format("%{}", id);
  }

  std::string plain(const ExprNode* n, int depth) {
    auto sub = [&](const Expr& e) { return text(e.node(), depth); };
    auto at = [&](const Expr& e) { return e ? fmt::format("[{}]", sub(e)) : std::string(); };
    switch (n->op) {
      case Op::Local: return local(n->id) + at(n->a);
      case Op::Load: return fmt::format("{}[{}]", buffer(n->id), sub(n->a));
      case Op::Convert: return fmt::format("{}({})", ig::name(n->type), sub(n->a));
      case Op::Bitcast: return fmt::format("bits_{}({})", ig::name(n->type), sub(n->a));
      case Op::Lookup: return fmt::format("lookup({}, [{}])", sub(n->a), fmt::join(n->table(), ", "));
      case Op::ReduceLanes:
        return fmt::format("reduce_{}({}{})", reduction_name(n->reduction), local(n->id), at(n->a));
      default: break;
    }
    std::string a = sub(n->a);
    if (n->c) {
      std::string b = sub(n->b);
      return fmt::format("{}({}, {}, {})", symbol(n->op), a, b, sub(n->c));
    }
    if (n->b) return fmt::format("({} {} {})", a, symbol(n->op), sub(n->b));
    return fmt::format("{}({})", symbol(n->op), a);
  }

  void block(const Stmts& stmts, int depth) {
    for (const auto& s : stmts) statement(*s, depth);
  }

  void statement(const Stmt& s, int depth) {
    auto sub = [&](const Expr& e) { return text(e.node(), depth); };
    std::string index = s.index ? fmt::format("[{}]", sub(s.index)) : "";
    switch (s.kind) {
      case Stmt::Kind::For:
      case Stmt::Kind::VectorFor:
      case Stmt::Kind::Unrolled: {
        std::string begin = sub(s.begin);
        std::string kind = s.kind == Stmt::Kind::For        ? "for"
                           : s.kind == Stmt::Kind::Unrolled ? "unrolled"
                                                            : "vector";
        std::string by = s.kind == Stmt::Kind::VectorFor
                             ? fmt::format(" by {}{}", s.lanes, s.by_lines ? " from lines" : "")
                             : "";
        line(depth, fmt::format("{} i{} in {} .. {}{} {{", kind, s.id, begin, sub(s.end), by));
        block(s.body, depth + 1);
        return line(depth, "}");
      }
      case Stmt::Kind::If:
        line(depth, fmt::format("if {} {{", sub(s.begin)));
        block(s.body, depth + 1);
        if (!s.otherwise.empty()) {
          line(depth, "} else {");
          block(s.otherwise, depth + 1);
        }
        return line(depth, "}");
      case Stmt::Kind::Let: return line(depth, fmt::format("let i{} = {}", s.id, sub(s.value)));
      case Stmt::Kind::Assign: return line(depth, fmt::format("{}{} = {}", local(s.id), index, sub(s.value)));
      case Stmt::Kind::Store:
        return line(depth, fmt::format("{}{}{} = {}", s.streamed ? "stream " : "", buffer(s.id), index,
                                       sub(s.value)));
      case Stmt::Kind::Settle: return line(depth, fmt::format("settle {}{}", local(s.id), index));
      case Stmt::Kind::Prefetch: return line(depth, fmt::format("prefetch {}{}", buffer(s.id), index));
      case Stmt::Kind::Transpose: {
        std::string to = fmt::format("{}{} by {}", buffer(s.id), index, sub(s.to_stride));
        std::string from = sub(s.value);
        from += fmt::format(" by {}", sub(s.from_stride));
        std::string rows = sub(s.begin), columns = sub(s.end);
        return line(depth, fmt::format("{} = transpose {}, {} x {}", to, from, rows, columns));
      }
      case Stmt::Kind::LoadColumns: {
        std::string from = sub(s.value), stride = sub(s.from_stride);
        return line(depth,
                    fmt::format("{} = columns {} by {}, {} rows", local(s.id), from, stride, sub(s.begin)));
      }
      case Stmt::Kind::Fail: {
        std::string condition = sub(s.begin);
        return line(depth, fmt::format("fail {} value {} if {}", s.id, sub(s.value), condition));
      }
    }
  }

  const Function& f_;
  bool names_;
  std::string out_;
  std::unordered_map<const ExprNode*, int> uses_;
  std::unordered_map<const ExprNode*, size_t> named_;
};

}  // namespace

std::string Function::str() const { return Printer(*this, true).run(); }
Hash128 Function::hash() const { return hash128(canonical_text(*this)); }
std::string canonical_text(const Function& function) { return Printer(function, false).run(); }

}  // namespace ig::loop
