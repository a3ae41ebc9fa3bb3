// Sizes of arrays, as integer expressions over named symbols. A Dim is a polynomial over symbols and over the
// atoms floordiv, mod, min and max, kept in canonical form, so that equal expressions compare equal (`b + b
// == 2*b`). Expressions are interned and immutable; a constant costs no allocation. What is known about the
// symbols (their ranges, and facts that were assumed) belongs to a DimScope, which answers comparisons with
// yes, no or unknown. All arithmetic is checked: a size that overflows 64 bits is an Error(Value).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/error.h"

namespace ig {

struct DimExpr;  // dim.cpp: the interned polynomial

using SymbolValues = std::map<std::string, int64_t, std::less<>>;

class Dim {
 public:
  Dim(int64_t value = 0) : value_(value) {}
  static Dim symbol(std::string_view name);  // [A-Za-z_][A-Za-z0-9_]*
  static Dim parse(std::string_view text);   // "2*b + 1", "floordiv(n, 2)", "max(a, b)"; Error(Parse)

  bool is_constant() const { return expr_ == nullptr; }
  int64_t constant() const;                                   // only of a constant
  std::optional<std::string> as_symbol() const;               // the name, if this is a bare symbol
  void collect_symbols(std::vector<std::string>& out) const;  // in order of first appearance, no duplicates
  int64_t evaluate(const SymbolValues& values) const;
  Dim substitute(const std::map<std::string, Dim, std::less<>>& replacement) const;
  std::string str() const;
  size_t hash() const;

  // Walks the canonical form as a postfix program over `Visitor`: used to build run-time size formulas.
  enum class Step : uint8_t { Constant, Symbol, Add, Multiply, FloorDiv, Mod, Min, Max };
  void postfix(const std::function<void(Step, int64_t constant, std::string_view symbol)>& visit) const;

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  friend Dim floordiv(const Dim& a, const Dim& b);  // towards minus infinity
  friend Dim mod(const Dim& a, const Dim& b);       // sign of the divisor
  friend Dim min(const Dim& a, const Dim& b);
  friend Dim max(const Dim& a, const Dim& b);
  friend bool operator==(const Dim& a, const Dim& b) { return a.value_ == b.value_ && a.expr_ == b.expr_; }

 private:
  friend struct DimExpr;
  int64_t value_ = 0;
  const DimExpr* expr_ = nullptr;
};

Dim ceildiv(const Dim& a, const Dim& b);

using Dims = std::vector<Dim>;
std::string str(const Dims& dims);  // "[b, 2048]"
Dim product(const Dims& dims);
std::optional<std::vector<int64_t>> constant_dims(const Dims& dims);

struct Range {
  int64_t low = 0;
  int64_t high = std::numeric_limits<int64_t>::max();
  bool operator==(const Range&) const = default;
};

enum class Truth : uint8_t { No, Yes, Unknown };

// What is known of a graph's symbols, and what happens when it is not enough.
class DimScope {
 public:
  void declare(std::string_view symbol, Range range);
  const std::map<std::string, Range, std::less<>>& symbols() const { return symbols_; }
  Range range(std::string_view symbol) const;  // the default range where not declared
  Range bounds(const Dim& dim) const;          // by interval arithmetic
  std::string fresh(std::string_view stem);    // declares a name that is not in use: "s0", "s1", …

  Truth equal(const Dim& a, const Dim& b) const;
  Truth less_equal(const Dim& a, const Dim& b) const;
  Truth less(const Dim& a, const Dim& b) const { return less_equal(a + 1, b); }

  // Called for a comparison that is unknown. It returns the answer that the capture goes on with (a guard of
  // `jit`, a constraint of `export`), or throws. With none set, `decide` throws Error(Shape) naming both
  // expressions.
  using Decider = std::function<bool(std::string_view relation, const Dim& a, const Dim& b)>;
  void set_decider(Decider decider) { decider_ = std::move(decider); }
  bool decide_equal(const Dim& a, const Dim& b) const;
  bool decide_less_equal(const Dim& a, const Dim& b) const;

  // Facts taken as true from now on ("b == c"); printed with the graph.
  struct Fact {
    std::string relation;  // "==" or "<="
    Dim a, b;
    bool operator==(const Fact&) const = default;
  };
  void assume(Fact fact);
  const std::vector<Fact>& facts() const { return facts_; }

 private:
  std::map<std::string, Range, std::less<>> symbols_;
  std::vector<Fact> facts_;
  Decider decider_;
};

}  // namespace ig
