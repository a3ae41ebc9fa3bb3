// The sizes of an executable as integer formulas over its symbols. Formulas share their parts: each entry is
// a constant, a symbol or an operation on two earlier entries, and one pass over the table evaluates them
// all.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <tuple>
#include <vector>

namespace ig::rt {

using SizeId = int32_t;

class SizeTable {
 public:
  enum class Op : uint8_t { Constant, Symbol, Add, Multiply, FloorDiv, Mod, Min, Max };

  SizeId constant(int64_t value);
  SizeId symbol(int32_t index);  // into the symbol values of a run
  // Constants are folded, equal formulas get one entry.
  SizeId binary(Op op, SizeId a, SizeId b);

  int32_t count() const { return static_cast<int32_t>(entries_.size()); }
  int32_t symbols() const { return symbols_; }  // how many symbol values a run needs
  std::optional<int64_t> as_constant(SizeId id) const;

  // The value of every entry. Error(Value) where one overflows 64 bits or divides by zero.
  void evaluate(std::span<const int64_t> symbol_values, std::vector<int64_t>& values) const;

 private:
  struct Entry {
    Op op;
    int64_t a, b;  // the constant, or the symbol's index, or two entries
  };
  SizeId intern(Entry entry);

  std::vector<Entry> entries_;
  std::map<std::tuple<Op, int64_t, int64_t>, SizeId> known_;
  int32_t symbols_ = 0;
};

}  // namespace ig::rt
