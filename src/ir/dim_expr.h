// The inside of a symbolic Dim, shared by the files that implement it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "ir/dim.h"

namespace ig {

struct Atom {
  enum class Kind : uint8_t { Symbol, FloorDiv, Mod, Min, Max };
  Kind kind = Kind::Symbol;
  std::string text;  // the whole atom: its identity
  Dim a, b;          // of all but symbols
};

using Monomial = std::vector<const Atom*>;  // sorted by text; a power is a repetition

struct Term {
  int64_t coefficient;
  Monomial atoms;
};

struct DimExpr {
  std::vector<Term> terms;
  std::string text;
  size_t hash;

  static const DimExpr* of(const Dim& d) { return d.expr_; }
  static Dim handle(const DimExpr* e) {
    Dim d;
    d.expr_ = e;
    return d;
  }
};

}  // namespace ig
