// What the blocked kernels of attention share, the forward one and that of its derivative: queries and keys
// as matrices, the scores that the mask leaves, and keys packed into strips.
#pragma once

#include "codegen/dot_operands.h"
#include "codegen/register_tile.h"

namespace ig::codegen {

// Lanes of what runs over the keys of one query: two registers of 256 bits, whose exponentials do not spill.
int attention_lanes(DType type);
// e^x of x that is not above 0 but for rounding. In single precision powers that would be denormal are 0:
// beside the greatest one, which is 1, they weigh nothing.
loop::Expr attention_power(loop::Expr x);

class AttentionKernel {
 protected:
  using Expr = loop::Expr;
  // An operand as a matrix for each batch: positions by features.
  struct Side : DotSide {
    using DotSide::DotSide;
    Expr first{};  // the offset of the batch's first element, where it is a view
  };

  AttentionKernel(GroupEmitter& emit, Kernel& kernel, const Node* node, Value mask);

  static Ints batch_axes(int64_t rank);
  static DType stored(const Side& side) { return side.view->arg->type().dtype; }
  // Whether the folded elements lie side by side, in the type that is computed in.
  bool lies(const Side& side) const { return side.columns_lie() && stored(side) == type_; }
  Expr zero() { return build_.constant(type_, 0); }
  Expr lowest();
  Expr widen(Expr value) const { return value.type() == type_ ? value : loop::convert(value, type_); }
  Expr element(const Side& side, Expr free, Expr folded);
  int lanes() const { return natural_lanes(emit_.target, static_cast<int>(size_of(type_))); }

  // The batch that everything below speaks of; the operands' first elements in it.
  void at_batch(Expr index, std::initializer_list<Side*> sides);
  void read_scale();  // the factor of the scores, into scale_

  // One mask for all queries, as that of padding.
  bool masks_keys() const;
  // The index of a query and a key in an array of these sizes, which broadcasts.
  GroupEmitter::Index pair_index(const Dims& dims, Expr query, Expr key);
  // The score of a query and a key, masked: minus infinity where the key takes no part.
  Expr masked(Expr product, Expr query, Expr key);
  // How many of these keys are in front of, or are, the last one that takes part in a mask for all queries.
  Expr taken_keys(Expr key, Expr keys);

  // Asks for these positions of a side whose features lie side by side, for work that would wait for them.
  void ask_for(const Side& side, Expr from, Expr count, Expr features);
  // Positions from … of a side in strips of nr: [strip][feature][nr].
  void pack_strips(uint32_t to, const Side& side, Expr from, Expr count, Expr features);
  TileRows tiles_of(Expr rows) const { return tile_rows(build_, mr_, low_tile(mr_, kVectors), rows); }
  // The products of `rows` with all strips of `keys` positions: row i of the tile to powers[i * pitch + key].
  // a(i, d): element d of row i.
  void products(int64_t rows, Expr keys, Expr features, uint32_t strips, uint32_t to, Expr at, int64_t pitch,
                const std::function<Expr(size_t, Expr)>& a);
  // Rows of running sums in scratch, from `row` on.
  struct Sums {
    uint32_t buffer;
    Expr row, pitch;
    Dim columns;
  };
  using Number = std::function<Expr(Expr, Expr)>;
  // Calls body(first, width) for each strip of so many columns.
  void each_strip(const Dim& columns, const std::function<void(Expr, Expr)>& body);
  // Adds to `rows` rows of sums, from row `first` on, the products a(row, step) b(step, column) of all steps.
  void add_tile(int64_t rows, Expr first, const Sums& to, Expr steps, const Number& a, const Number& b);
  // The same to the first `count` rows, but only of steps whose taken(row, step) is not zero: slow.
  void add_taken(Expr count, const Sums& to, Expr steps, const Number& a, const Number& b,
                 const Number& taken);
  // True where all of these elements are finite: x * 0 is 0 for finite numbers alone.
  Expr all_finite(Expr from, Expr to, Expr columns, const std::function<Expr(Expr, Expr)>& value);

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* node_;
  int64_t rank_;
  Side q_, k_;
  Value mask_;
  bool causal_;
  DType type_;
  Dim queries_, keys_, features_, batch_;
  static constexpr int64_t kVectors = 2;  // of a row of the register tile
  int64_t nr_ = 0, mr_ = 0;
  Expr batch_index_{}, scale_{};
};

}  // namespace ig::codegen
