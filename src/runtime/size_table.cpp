// Checked 64-bit arithmetic on sizes: floor division and modulo round towards minus infinity, as Python's.
#include "runtime/size_table.h"

#include <algorithm>
#include <limits>

#include "support/error.h"

namespace ig::rt {
namespace {

[[noreturn]] void overflow(const char* what, int64_t a, int64_t b) {
  throw make_error(ErrorKind::Value, "a size overflows 64 bits: {} {} {}", a, what, b)
      .why("sizes of arrays are 64-bit integers")
      .hint("use smaller sizes");
}

int64_t apply(SizeTable::Op op, int64_t a, int64_t b) {
  int64_t result;
  switch (op) {
    case SizeTable::Op::Add:
      if (__builtin_add_overflow(a, b, &result)) overflow("+", a, b);
      return result;
    case SizeTable::Op::Multiply:
      if (__builtin_mul_overflow(a, b, &result)) overflow("*", a, b);
      return result;
    case SizeTable::Op::FloorDiv:
    case SizeTable::Op::Mod: {
      bool divide = op == SizeTable::Op::FloorDiv;
      if (b == 0)
        throw make_error(ErrorKind::Value, "a size divides by zero: {} {} 0", a, divide ? "//" : "%")
            .why("the formula of a dimension has a divisor that is zero for these sizes")
            .hint("call with sizes for which the divisor is not zero");
      if (b == -1) {
        if (!divide) return 0;
        if (a == std::numeric_limits<int64_t>::min()) overflow("//", a, b);
        return -a;
      }
      int64_t quotient = a / b, rest = a % b;
      if (rest != 0 && (rest < 0) != (b < 0)) {
        --quotient;
        rest += b;
      }
      return divide ? quotient : rest;
    }
    case SizeTable::Op::Min: return std::min(a, b);
    case SizeTable::Op::Max: return std::max(a, b);
    case SizeTable::Op::Constant:
    case SizeTable::Op::Symbol: break;
  }
  IG_CHECK(false, "a size formula applies what is no operation");
  return 0;
}

}  // namespace

SizeId SizeTable::intern(Entry entry) {
  auto [at, fresh] = known_.try_emplace({entry.op, entry.a, entry.b}, count());
  if (fresh) entries_.push_back(entry);
  return at->second;
}

SizeId SizeTable::constant(int64_t value) { return intern({Op::Constant, value, 0}); }

SizeId SizeTable::symbol(int32_t index) {
  IG_CHECK(index >= 0, "a size symbol has the index {}", index);
  symbols_ = std::max(symbols_, index + 1);
  return intern({Op::Symbol, index, 0});
}

SizeId SizeTable::binary(Op op, SizeId a, SizeId b) {
  IG_CHECK(a >= 0 && a < count() && b >= 0 && b < count(), "a size formula names an entry that is not there");
  auto x = as_constant(a), y = as_constant(b);
  if (x && y && !(*y == 0 && (op == Op::FloorDiv || op == Op::Mod))) return constant(apply(op, *x, *y));
  return intern({op, a, b});
}

std::optional<int64_t> SizeTable::as_constant(SizeId id) const {
  const Entry& e = entries_.at(static_cast<size_t>(id));
  return e.op == Op::Constant ? std::optional(e.a) : std::nullopt;
}

void SizeTable::evaluate(std::span<const int64_t> symbol_values, std::vector<int64_t>& values) const {
  IG_CHECK(symbol_values.size() >= static_cast<size_t>(symbols_), "{} symbol values for {} symbols",
           symbol_values.size(), symbols_);
  values.resize(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    const Entry& e = entries_[i];
    switch (e.op) {
      case Op::Constant: values[i] = e.a; break;
      case Op::Symbol: values[i] = symbol_values[static_cast<size_t>(e.a)]; break;
      default: values[i] = apply(e.op, values[static_cast<size_t>(e.a)], values[static_cast<size_t>(e.b)]);
    }
  }
}

}  // namespace ig::rt
