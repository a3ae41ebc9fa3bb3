// What is known of size symbols: ranges by interval arithmetic, and facts that were assumed.
#include <algorithm>

#include "ir/dim_expr.h"

namespace ig {
namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();

constexpr int kMostSplits = 3;  // of sums by what their min and max may be: each doubles the work

// Saturating arithmetic on bounds, where the extremes stand for "no bound".
int64_t add(int64_t a, int64_t b) {
  if (a == kMin || b == kMin) return kMin;
  if (a == kMax || b == kMax) return kMax;
  int64_t out;
  if (__builtin_add_overflow(a, b, &out)) return a < 0 ? kMin : kMax;
  return out;
}
int64_t multiply(int64_t a, int64_t b) {
  if (a == 0 || b == 0) return 0;
  bool negative = (a < 0) != (b < 0);
  if (a == kMin || a == kMax || b == kMin || b == kMax) return negative ? kMin : kMax;
  int64_t out;
  if (__builtin_mul_overflow(a, b, &out)) return negative ? kMin : kMax;
  return out;
}
Range multiply(Range a, Range b) {
  int64_t p[] = {multiply(a.low, b.low), multiply(a.low, b.high), multiply(a.high, b.low),
                 multiply(a.high, b.high)};
  return {*std::min_element(p, p + 4), *std::max_element(p, p + 4)};
}
int64_t divide(int64_t a, int64_t b) {
  if (a == kMin || a == kMax) return (a < 0) != (b < 0) ? kMin : kMax;
  if (b == kMax) return a < 0 ? -1 : 0;
  return floordiv(Dim(a), Dim(b)).constant();
}

Range bounds_of(const DimScope& scope, const Dim& dim, int splits) {
  if (dim.is_constant()) return {dim.constant(), dim.constant()};
  Range sum{0, 0};
  for (const Term& term : DimExpr::of(dim)->terms) {
    Range p{term.coefficient, term.coefficient};
    for (const Atom* atom : term.atoms) {
      Range r;
      if (atom->kind == Atom::Kind::Symbol) {
        r = scope.range(atom->text);
      } else {
        Range a = bounds_of(scope, atom->a, splits), b = bounds_of(scope, atom->b, splits);
        switch (atom->kind) {
          case Atom::Kind::FloorDiv:
            if (b.low <= 0) {
              r = {kMin, kMax};
            } else {
              int64_t q[] = {divide(a.low, b.low), divide(a.low, b.high), divide(a.high, b.low),
                             divide(a.high, b.high)};
              r = {*std::min_element(q, q + 4), *std::max_element(q, q + 4)};
            }
            break;
          case Atom::Kind::Mod: r = b.low > 0 ? Range{0, add(b.high, -1)} : Range{kMin, kMax}; break;
          case Atom::Kind::Min: r = {std::min(a.low, b.low), std::min(a.high, b.high)}; break;
          default: r = {std::max(a.low, b.low), std::max(a.high, b.high)}; break;
        }
      }
      p = multiply(p, r);
    }
    sum = {add(sum.low, p.low), add(sum.high, p.high)};
  }
  // c floordiv(x, c) is x less what the division leaves, of which each bound may say more.
  for (const Term& term : DimExpr::of(dim)->terms) {
    if (term.atoms.size() != 1 || term.atoms[0]->kind != Atom::Kind::FloorDiv) continue;
    const Dim &x = term.atoms[0]->a, &by = term.atoms[0]->b;
    if (!by.is_constant() || by.constant() <= 0 || term.coefficient % by.constant() != 0) continue;
    int64_t times = term.coefficient / by.constant();
    Range rest = bounds_of(scope, dim - floordiv(x, by) * term.coefficient + x * times, splits);
    int64_t most = multiply(times, by.constant() - 1);  // of what is left, times that
    sum.low = std::max(sum.low, add(rest.low, times > 0 ? -most : 0));
    sum.high = std::min(sum.high, add(rest.high, times > 0 ? 0 : -most));
  }
  // A sum with c min(a, b) is the less of the sums with c a and with c b, or, where c is negative, the
  // greater.
  for (const Term& term : DimExpr::of(dim)->terms) {
    if (splits == 0) break;
    if (term.atoms.size() != 1) continue;
    const Atom& atom = *term.atoms[0];
    if (atom.kind != Atom::Kind::Min && atom.kind != Atom::Kind::Max) continue;
    const bool least = (atom.kind == Atom::Kind::Min) == (term.coefficient > 0);
    const Dim chosen = atom.kind == Atom::Kind::Min ? min(atom.a, atom.b) : max(atom.a, atom.b);
    const Dim rest = dim - chosen * term.coefficient;
    const Range a = bounds_of(scope, rest + atom.a * term.coefficient, splits - 1);
    const Range b = bounds_of(scope, rest + atom.b * term.coefficient, splits - 1);
    sum.low = std::max(sum.low, least ? std::min(a.low, b.low) : std::max(a.low, b.low));
    sum.high = std::min(sum.high, least ? std::min(a.high, b.high) : std::max(a.high, b.high));
    break;  // the rest is split in turn
  }
  // mod(x, m) is from 0 to m - 1, which says more than numbers do where m stands in the sum too.
  for (const Term& term : DimExpr::of(dim)->terms) {
    if (splits == 0) break;
    if (term.atoms.size() != 1 || term.atoms[0]->kind != Atom::Kind::Mod) continue;
    const Dim &x = term.atoms[0]->a, &m = term.atoms[0]->b;
    if (m.is_constant() || bounds_of(scope, m, splits - 1).low <= 0) continue;
    const Dim none = dim - mod(x, m) * term.coefficient, most = none + (m - 1) * term.coefficient;
    sum.low = std::max(sum.low, bounds_of(scope, term.coefficient > 0 ? none : most, splits - 1).low);
    sum.high = std::min(sum.high, bounds_of(scope, term.coefficient > 0 ? most : none, splits - 1).high);
    break;
  }
  // What is known of the same size but for a number.
  for (const DimScope::Fact& fact : scope.facts()) {
    if (fact.relation != "<=") continue;
    Dim room = fact.b - fact.a;  // is not negative
    if (Dim above = dim - room; above.is_constant()) sum.low = std::max(sum.low, above.constant());
    if (Dim below = dim + room; below.is_constant()) sum.high = std::min(sum.high, below.constant());
  }
  return sum;
}

}  // namespace

void DimScope::declare(std::string_view symbol, Range range) {
  if (range.low > range.high)
    throw make_error(ErrorKind::Value, "the size {} has the empty range [{}, {}]", symbol, range.low,
                     range.high)
        .why("no size lies in it")
        .hint("give the smaller bound first");
  symbols_.insert_or_assign(std::string(symbol), range);
}

Range DimScope::range(std::string_view symbol) const {
  auto it = symbols_.find(symbol);
  return it == symbols_.end() ? Range{} : it->second;
}

Range DimScope::bounds(const Dim& dim) const { return bounds_of(*this, dim, kMostSplits); }

std::string DimScope::fresh(std::string_view stem) {
  for (int i = 0;; ++i) {
    std::string name = fmt::format("{}{}", stem, i);
    if (!symbols_.contains(name)) {
      declare(name, {});
      return name;
    }
  }
}

Truth DimScope::equal(const Dim& a, const Dim& b) const {
  if (a == b) return Truth::Yes;
  Dim x = a, y = b;
  for (const Fact& fact : facts_)
    if (fact.relation == "==") {
      if ((fact.a == a && fact.b == b) || (fact.a == b && fact.b == a)) return Truth::Yes;
      if (auto symbol = fact.a.as_symbol()) {
        x = x.substitute({{*symbol, fact.b}});
        y = y.substitute({{*symbol, fact.b}});
      }
    }
  if (x == y) return Truth::Yes;
  Range difference = bounds(x - y);
  if (difference.low > 0 || difference.high < 0) return Truth::No;
  return difference.low == 0 && difference.high == 0 ? Truth::Yes : Truth::Unknown;
}

Truth DimScope::less_equal(const Dim& a, const Dim& b) const {
  Range difference = bounds(b - a);
  if (difference.low >= 0) return Truth::Yes;
  if (difference.high < 0) return Truth::No;
  if (equal(a, b) == Truth::Yes) return Truth::Yes;
  for (const Fact& fact : facts_)
    if (fact.relation == "<=" && fact.a == a && fact.b == b) return Truth::Yes;
  return Truth::Unknown;
}

namespace {
bool decide(Truth truth, const DimScope::Decider& decider, std::string_view relation, const Dim& a,
            const Dim& b) {
  if (truth != Truth::Unknown) return truth == Truth::Yes;
  if (decider) return decider(relation, a, b);
  throw make_error(ErrorKind::Shape, "it is not known whether {} {} {}", a.str(), relation, b.str())
      .why("the program depends on a comparison of sizes that are not fixed")
      .hint("give the sizes the same name or a range that settles it, or make them constant");
}
}  // namespace

bool DimScope::decide_equal(const Dim& a, const Dim& b) const {
  return decide(equal(a, b), decider_, "==", a, b);
}
bool DimScope::decide_less_equal(const Dim& a, const Dim& b) const {
  return decide(less_equal(a, b), decider_, "<=", a, b);
}

void DimScope::assume(Fact fact) {
  if (std::find(facts_.begin(), facts_.end(), fact) == facts_.end()) facts_.push_back(std::move(fact));
}

}  // namespace ig
