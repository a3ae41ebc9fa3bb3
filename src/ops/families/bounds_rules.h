// The rules about bounds that ops name in their declarations; see ops/bounds.h.
#pragma once

#include "ops/bounds.h"

namespace ig::ops {

Bounds bounds_of_first(const BoundsContext& c);     // elements of the first operand, moved
Bounds bounds_of_same(const BoundsContext& c);      // of the operand of the result's number, moved
Bounds bounds_of_all(const BoundsContext& c);       // elements of any operand
Bounds bounds_of_updated(const BoundsContext& c);   // elements of the first two operands
Bounds bounds_of_literal(const BoundsContext& c);   // the attribute `value`
Bounds bounds_of_iota(const BoundsContext& c);      // positions along the attribute `axis` of the result
Bounds bounds_of_position(const BoundsContext& c);  // positions along the attribute `axes` of the operand
Bounds bounds_of_extreme(const BoundsContext& c);   // the operand's, of the attribute `axes` folded
Bounds bounds_of_top(const BoundsContext& c);       // the operand's elements, and positions along its rows
Bounds bounds_of_size(const BoundsContext& c);      // no less than 0

Bounds bounds_of_sum(const BoundsContext& c);  // of two operands
Bounds bounds_of_difference(const BoundsContext& c);
Bounds bounds_of_product(const BoundsContext& c);
Bounds bounds_of_floor_quotient(const BoundsContext& c);
Bounds bounds_of_quotient(const BoundsContext& c);
Bounds bounds_of_floor_mod(const BoundsContext& c);
Bounds bounds_of_remainder(const BoundsContext& c);
Bounds bounds_of_maximum(const BoundsContext& c);
Bounds bounds_of_minimum(const BoundsContext& c);
Bounds bounds_of_negative(const BoundsContext& c);
Bounds bounds_of_absolute(const BoundsContext& c);
Bounds bounds_of_converted(const BoundsContext& c);
Bounds bounds_of_selected(const BoundsContext& c);
Bounds bounds_of_and(const BoundsContext& c);
Bounds bounds_of_or(const BoundsContext& c);
Bounds bounds_of_not(const BoundsContext& c);
Bounds bounds_of_shift_right(const BoundsContext& c);

enum class Relation : uint8_t { Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual };
template <Relation Is>
Bounds bounds_of_comparison(const BoundsContext& c);
template <Relation Is>
void implies_comparison(ImpliesContext& c);
void implies_both(ImpliesContext& c);  // both operands are true

}  // namespace ig::ops
