// Index arithmetic: flat offsets, their splitting, and reshapes run by run.
#include "ops/indexing.h"

#include <cstdint>
#include <utility>

#include "support/error.h"

namespace ig::ops {

using loop::Expr;

namespace {

// What is left of a sum without the summand that `found` knows: of b + c + d without c that is b + d. Nothing
// where there is none, or nothing else.
template <class Found>
Expr without(Expr sum, const Found& found) {
  if (sum->op != loop::Op::Add) return {};
  for (auto [part, other] : {std::pair(sum->b, sum->a), std::pair(sum->a, sum->b)}) {
    if (found(part)) return other;
    if (Expr rest = without(part, found)) return other + rest;
  }
  return {};
}

// If acc is b / n, or that and something more, and next is b % n: acc * n + next without the division. And if
// acc is b / n % m: what is left of b modulo n * m.
Expr rejoin(Expr acc, Expr next, Expr n) {
  if (next->op != loop::Op::Rem || next->b.node() != n.node()) return {};
  struct Divided {
    const loop::ExprNode* whole;
    int64_t by;
  };
  auto divided = [](Expr e) {  // several divisions by numbers are one
    Divided out{e.node(), 1};
    while (e->op == loop::Op::Div && e->b->op == loop::Op::Const) {
      const auto by = static_cast<int64_t>(e->b->bits[0]);
      int64_t all = 0;
      if (by <= 0 || __builtin_mul_overflow(out.by, by, &all)) break;
      out = {e->a.node(), all};
      e = e->a;
    }
    return out;
  };
  auto quotient = [&](Expr e) {
    if (e->op != loop::Op::Div) return false;
    if (e->a.node() == next->a.node() && e->b.node() == n.node()) return true;
    const Divided more = divided(e), less = divided(next->a);
    int64_t by = 0;
    return n->op == loop::Op::Const && more.whole == less.whole &&
           !__builtin_mul_overflow(less.by, static_cast<int64_t>(n->bits[0]), &by) && by == more.by;
  };
  if (quotient(acc)) return next->a;
  if (Expr rest = without(acc, quotient)) return rest * n + next->a;
  if (acc->op == loop::Op::Rem && quotient(acc->a)) return next->a % (n * acc->b);
  return {};
}

}  // namespace

Expr linear_index(std::span<const Expr> index, const Dims& dims, const SizeFn& size) {
  IG_CHECK(index.size() == dims.size(), "an index of {} axes for a shape of {}", index.size(), dims.size());
  Expr flat;
  for (size_t i = 0; i < dims.size(); ++i) {
    if (dims[i] == Dim(1)) continue;
    if (!flat) {
      flat = index[i];
      continue;
    }
    Expr n = size(dims[i]);
    Expr whole = rejoin(flat, index[i], n);
    flat = whole ? whole : flat * n + index[i];
  }
  return flat ? flat : size(Dim(int64_t{0}));
}

std::vector<Expr> split_index(Expr flat, const Dims& dims, const SizeFn& size, loop::Builder& build) {
  std::vector<Expr> index(dims.size(), build.index(0));
  size_t first = 0;
  while (first < dims.size() && dims[first] == Dim(1)) ++first;
  for (size_t i = dims.size(); i-- > first;) {
    if (dims[i] == Dim(1)) continue;
    if (i == first) {
      index[i] = flat;
      break;
    }
    Expr n = size(dims[i]);
    index[i] = flat % n;
    flat = flat / n;
  }
  return index;
}

std::vector<Expr> reshape_index(std::span<const Expr> index, const Dims& to, const Dims& from,
                                const SizeFn& size, loop::Builder& build) {
  std::vector<Expr> out(from.size(), build.index(0));
  size_t t = 0, f = 0;
  while (t < to.size() || f < from.size()) {
    // The shortest runs to[t, t2) and from[f, f2) with the same product; all that is left where there is
    // none.
    size_t t2 = to.size(), f2 = from.size();
    bool found = false;
    for (size_t a = t + 1; a <= to.size() && !found; ++a) {
      Dim have = product(Dims(to.begin() + static_cast<long>(t), to.begin() + static_cast<long>(a)));
      Dim other = 1;
      for (size_t b = f + 1; b <= from.size() && !found; ++b) {
        other = other * from[b - 1];
        if (other == have) t2 = a, f2 = b, found = true;
      }
    }
    Dims to_run(to.begin() + static_cast<long>(t), to.begin() + static_cast<long>(t2));
    Dims from_run(from.begin() + static_cast<long>(f), from.begin() + static_cast<long>(f2));
    Expr flat = linear_index(index.subspan(t, t2 - t), to_run, size);
    std::vector<Expr> part = split_index(flat, from_run, size, build);
    for (size_t i = 0; i < part.size(); ++i) out[f + i] = part[i];
    t = t2, f = f2;
  }
  return out;
}

}  // namespace ig::ops
