// Canonical size expressions. A DimExpr is a sum of terms, each a coefficient times a product of atoms; terms
// and atoms stand in a fixed order, constants last. Every distinct expression exists once in the process, so
// equality is a comparison of pointers.
#include "ir/dim.h"

#include <algorithm>
#include <cctype>
#include <mutex>
#include <unordered_map>

#include "ir/dim_expr.h"
#include "ir/limits.h"
#include "support/hash.h"

namespace ig {
namespace {

[[noreturn]] void overflow(const char* what) {
  throw Error(ErrorKind::Value, "a size overflows 64 bits")
      .why(fmt::format("a {} of sizes is beyond ±2^63", what))
      .hint("use smaller sizes, or split the array");
}

int64_t checked_add(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) overflow("sum");
  return out;
}
int64_t checked_multiply(int64_t a, int64_t b) {
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) overflow("product");
  return out;
}
int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0)
    throw Error(ErrorKind::Value, "a size is divided by zero")
        .why("floordiv and mod need a divisor that is not 0")
        .hint("guard the size with max(n, 1)");
  if (b == -1) return checked_multiply(a, -1);
  int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}
int64_t floor_mod(int64_t a, int64_t b) {
  if (b == -1) return 0;
  return a - floor_div(a, b) * b;
}

int64_t apply(Atom::Kind kind, int64_t a, int64_t b) {
  switch (kind) {
    case Atom::Kind::FloorDiv: return floor_div(a, b);
    case Atom::Kind::Mod: return floor_mod(a, b);
    case Atom::Kind::Min: return std::min(a, b);
    default: return std::max(a, b);
  }
}

// One table for atoms and one for expressions, by their text.
struct Table {
  std::mutex mutex;
  std::unordered_map<std::string, std::unique_ptr<Atom>> atoms;
  std::unordered_map<std::string, std::unique_ptr<DimExpr>> expressions;
};
Table& table() {
  static Table* instance = new Table;  // lives as long as the process: handles do too
  return *instance;
}

std::string product_text(const Monomial& atoms) {
  std::string out;
  for (const Atom* atom : atoms) out += (out.empty() ? "" : "*") + atom->text;
  return out;
}

std::string expression_text(const std::vector<Term>& terms) {
  std::string out;
  for (const Term& term : terms) {
    int64_t c = term.coefficient;
    if (out.empty())
      out += c < 0 ? "-" : "";
    else
      out += c < 0 ? " - " : " + ";
    std::string size =
        c == std::numeric_limits<int64_t>::min() ? "9223372036854775808" : std::to_string(c < 0 ? -c : c);
    if (term.atoms.empty())
      out += size;
    else
      out += size == "1" ? product_text(term.atoms) : size + "*" + product_text(term.atoms);
  }
  return out;
}

const Atom* intern_atom(Atom atom) {
  Table& t = table();
  std::lock_guard lock(t.mutex);
  auto [it, fresh] = t.atoms.try_emplace(atom.text);
  if (fresh) it->second = std::make_unique<Atom>(std::move(atom));
  return it->second.get();
}

bool monomial_less(const Monomial& a, const Monomial& b) {
  if (a.size() != b.size()) return a.size() > b.size();  // higher degrees first, the constant last
  for (size_t i = 0; i < a.size(); ++i)
    if (a[i] != b[i]) return a[i]->text < b[i]->text;
  return false;
}

std::vector<Term> terms_of(const Dim& d) {
  if (const DimExpr* e = DimExpr::of(d)) return e->terms;
  if (d.constant() == 0) return {};
  return {Term{d.constant(), {}}};
}

Dim from_terms(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end(),
            [](const Term& a, const Term& b) { return monomial_less(a.atoms, b.atoms); });
  std::vector<Term> merged;
  for (Term& term : terms) {
    if (!merged.empty() && merged.back().atoms == term.atoms)
      merged.back().coefficient = checked_add(merged.back().coefficient, term.coefficient);
    else
      merged.push_back(std::move(term));
    if (merged.back().coefficient == 0) merged.pop_back();
  }
  if (merged.empty()) return Dim(int64_t{0});
  if (merged.size() == 1 && merged[0].atoms.empty()) return Dim(merged[0].coefficient);
  std::string text = expression_text(merged);
  Table& t = table();
  std::lock_guard lock(t.mutex);
  auto [it, fresh] = t.expressions.try_emplace(text);
  if (fresh) it->second = std::make_unique<DimExpr>(DimExpr{std::move(merged), text, hash64(text)});
  return DimExpr::handle(it->second.get());
}

Dim from_atom(Atom::Kind kind, const Dim& a, const Dim& b) {
  static constexpr const char* kNames[] = {"", "floordiv", "mod", "min", "max"};
  Atom atom;
  atom.kind = kind;
  atom.a = a, atom.b = b;
  atom.text = fmt::format("{}({}, {})", kNames[static_cast<int>(kind)], a.str(), b.str());
  return from_terms({Term{1, {intern_atom(std::move(atom))}}});
}

// Splits a into the terms that `divisor` divides, already divided, and the rest.
std::optional<std::pair<Dim, Dim>> split_divisible(const Dim& a, const Dim& divisor) {
  std::vector<Term> whole, rest;
  if (divisor.is_constant()) {
    int64_t d = divisor.constant();
    for (Term term : terms_of(a)) {
      if (d != 0 && floor_mod(term.coefficient, d) == 0) {
        term.coefficient = floor_div(term.coefficient, d);
        whole.push_back(term);
      } else {
        rest.push_back(term);
      }
    }
  } else {
    const std::vector<Term> d = terms_of(divisor);
    if (d.size() != 1) return std::nullopt;
    for (Term term : terms_of(a)) {
      Monomial left = term.atoms;
      bool divides = floor_mod(term.coefficient, d[0].coefficient) == 0;
      for (const Atom* atom : d[0].atoms) {
        auto it = std::find(left.begin(), left.end(), atom);
        if (it == left.end()) {
          divides = false;
          break;
        }
        left.erase(it);
      }
      if (divides)
        whole.push_back(Term{floor_div(term.coefficient, d[0].coefficient), std::move(left)});
      else
        rest.push_back(term);
    }
  }
  return std::pair{from_terms(std::move(whole)), from_terms(std::move(rest))};
}

}  // namespace

Dim Dim::symbol(std::string_view name) {
  bool valid = !name.empty() && (std::isalpha(static_cast<unsigned char>(name[0])) || name[0] == '_');
  for (char c : name) valid = valid && (std::isalnum(static_cast<unsigned char>(c)) || c == '_');
  if (!valid)
    throw make_error(ErrorKind::Value, "'{}' is not a name for a size", name)
        .why("a symbol starts with a letter or '_', and goes on with letters, digits and '_'")
        .hint("use a name such as 'batch'");
  Atom atom;
  atom.text = name;
  return from_terms({Term{1, {intern_atom(std::move(atom))}}});
}

int64_t Dim::constant() const {
  IG_CHECK(expr_ == nullptr, "the size {} is not a constant", str());
  return value_;
}

std::optional<std::string> Dim::as_symbol() const {
  if (!expr_ || expr_->terms.size() != 1) return std::nullopt;
  const Term& term = expr_->terms[0];
  if (term.coefficient != 1 || term.atoms.size() != 1 || term.atoms[0]->kind != Atom::Kind::Symbol)
    return std::nullopt;
  return term.atoms[0]->text;
}

void Dim::collect_symbols(std::vector<std::string>& out) const {
  if (!expr_) return;
  for (const Term& term : expr_->terms)
    for (const Atom* atom : term.atoms) {
      if (atom->kind == Atom::Kind::Symbol) {
        if (std::find(out.begin(), out.end(), atom->text) == out.end()) out.push_back(atom->text);
      } else {
        atom->a.collect_symbols(out);
        atom->b.collect_symbols(out);
      }
    }
}

int64_t Dim::evaluate(const SymbolValues& values) const {
  if (!expr_) return value_;
  int64_t sum = 0;
  for (const Term& term : expr_->terms) {
    int64_t p = term.coefficient;
    for (const Atom* atom : term.atoms) {
      int64_t v;
      if (atom->kind == Atom::Kind::Symbol) {
        auto it = values.find(atom->text);
        IG_CHECK(it != values.end(), "the size symbol {} has no value", atom->text);
        v = it->second;
      } else {
        v = apply(atom->kind, atom->a.evaluate(values), atom->b.evaluate(values));
      }
      p = checked_multiply(p, v);
    }
    sum = checked_add(sum, p);
  }
  return sum;
}

Dim Dim::substitute(const std::map<std::string, Dim, std::less<>>& replacement) const {
  if (!expr_) return *this;
  Dim sum = int64_t{0};
  for (const Term& term : expr_->terms) {
    Dim p = term.coefficient;
    for (const Atom* atom : term.atoms) {
      if (atom->kind == Atom::Kind::Symbol) {
        auto it = replacement.find(atom->text);
        p = p * (it == replacement.end() ? symbol(atom->text) : it->second);
        continue;
      }
      Dim a = atom->a.substitute(replacement), b = atom->b.substitute(replacement);
      switch (atom->kind) {
        case Atom::Kind::FloorDiv: p = p * floordiv(a, b); break;
        case Atom::Kind::Mod: p = p * mod(a, b); break;
        case Atom::Kind::Min: p = p * min(a, b); break;
        default: p = p * max(a, b); break;
      }
    }
    sum = sum + p;
  }
  return sum;
}

std::string Dim::str() const { return expr_ ? expr_->text : std::to_string(value_); }
size_t Dim::hash() const { return expr_ ? expr_->hash : hash_combine(0x51, static_cast<uint64_t>(value_)); }

void Dim::postfix(const std::function<void(Step, int64_t, std::string_view)>& visit) const {
  if (!expr_) return visit(Step::Constant, value_, {});
  bool first_term = true;
  for (const Term& term : expr_->terms) {
    bool first = true;
    if (term.coefficient != 1 || term.atoms.empty()) {
      visit(Step::Constant, term.coefficient, {});
      first = false;
    }
    for (const Atom* atom : term.atoms) {
      if (atom->kind == Atom::Kind::Symbol) {
        visit(Step::Symbol, 0, atom->text);
      } else {
        atom->a.postfix(visit);
        atom->b.postfix(visit);
        static constexpr Step kSteps[] = {Step::Symbol, Step::FloorDiv, Step::Mod, Step::Min, Step::Max};
        visit(kSteps[static_cast<int>(atom->kind)], 0, {});
      }
      if (!first) visit(Step::Multiply, 0, {});
      first = false;
    }
    if (!first_term) visit(Step::Add, 0, {});
    first_term = false;
  }
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_add(a.constant(), b.constant());
  if (b == Dim(int64_t{0})) return a;
  if (a == Dim(int64_t{0})) return b;
  std::vector<Term> terms = terms_of(a);
  for (Term& t : terms_of(b)) terms.push_back(std::move(t));
  return from_terms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(int64_t{-1}) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return checked_multiply(a.constant(), b.constant());
  if (b == Dim(int64_t{1})) return a;
  if (a == Dim(int64_t{1})) return b;
  std::vector<Term> terms;
  const std::vector<Term> left = terms_of(a), right = terms_of(b);
  if (left.size() * right.size() > kMostTerms)
    throw make_error(ErrorKind::Value, "a size has more than {} terms", kMostTerms)
        .why("a product of sums has a term for each pair")
        .hint("give the intermediate size a symbol of its own");
  for (const Term& x : left)
    for (const Term& y : right) {
      Term t{checked_multiply(x.coefficient, y.coefficient), x.atoms};
      t.atoms.insert(t.atoms.end(), y.atoms.begin(), y.atoms.end());
      std::sort(t.atoms.begin(), t.atoms.end(),
                [](const Atom* p, const Atom* q) { return p->text < q->text; });
      terms.push_back(std::move(t));
    }
  return from_terms(std::move(terms));
}

Dim floordiv(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant()) return floor_div(a.constant(), b.constant());
  if (b == Dim(int64_t{1})) return a;
  if (b.is_constant() && b.constant() == 0) floor_div(1, 0);
  // (q*b + r) / b = q + r / b, for whole q; only where it leaves nothing, or where b is a positive constant.
  if (auto split = split_divisible(a, b)) {
    auto& [whole, rest] = *split;
    if (rest == Dim(int64_t{0})) return whole;
    if (b.is_constant() && whole != Dim(int64_t{0})) return whole + floordiv(rest, b);
  }
  return from_atom(Atom::Kind::FloorDiv, a, b);
}

Dim mod(const Dim& a, const Dim& b) {
  if (a.is_constant() && b.is_constant())
    return floor_mod(a.constant(), b.constant() ? b.constant() : floor_div(1, 0));
  if (b == Dim(int64_t{1})) return int64_t{0};
  if (b.is_constant() && b.constant() == 0) floor_div(1, 0);
  if (auto split = split_divisible(a, b)) {
    auto& [whole, rest] = *split;
    if (rest == Dim(int64_t{0})) return int64_t{0};
    if (b.is_constant() && whole != Dim(int64_t{0})) return mod(rest, b);
  }
  return from_atom(Atom::Kind::Mod, a, b);
}

namespace {
Dim extremum(Atom::Kind kind, const Dim& a, const Dim& b) {
  if (a == b) return a;
  Dim difference = a - b;
  if (difference.is_constant()) return (difference.constant() < 0) == (kind == Atom::Kind::Min) ? a : b;
  // Commutative: one order.
  return a.str() < b.str() ? from_atom(kind, a, b) : from_atom(kind, b, a);
}
}  // namespace

Dim min(const Dim& a, const Dim& b) { return extremum(Atom::Kind::Min, a, b); }
Dim max(const Dim& a, const Dim& b) { return extremum(Atom::Kind::Max, a, b); }
Dim ceildiv(const Dim& a, const Dim& b) { return floordiv(a + b - Dim(int64_t{1}), b); }

std::string str(const Dims& dims) {
  std::string out = "[";
  for (size_t i = 0; i < dims.size(); ++i) out += (i ? ", " : "") + dims[i].str();
  return out + "]";
}

Dim product(const Dims& dims) {
  Dim out = int64_t{1};
  for (const Dim& d : dims) out = out * d;
  return out;
}

std::optional<std::vector<int64_t>> constant_dims(const Dims& dims) {
  std::vector<int64_t> out;
  for (const Dim& d : dims) {
    if (!d.is_constant()) return std::nullopt;
    out.push_back(d.constant());
  }
  return out;
}

}  // namespace ig
