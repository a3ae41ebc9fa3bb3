// Small tools that the families of this folder share: rules that are absent with a reason, walking a
// literal's elements in the reference loops, and pieces of loop code (clamped indices, widening, total min
// and max).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ops/builder.h"
#include "ops/op.h"

namespace ig::ops::tools {

// A rule that is not there, of whatever kind the field asks for.
struct NoRule {
  std::string reason;
  template <typename Fn>
  operator Rule<Fn>() const {
    return Rule<Fn>::none(reason);
  }
};
inline NoRule no_rule(std::string reason) { return {std::move(reason)}; }
inline NoRule later() { return {"to be written with the transforms"}; }
inline NoRule no_body() { return {"a primitive has no body"}; }
inline NoRule by_body() { return {"by its body"}; }
inline NoRule discrete() { return {"the results are whole numbers: the derivative is zero"}; }
inline NoRule not_linear() { return {"it is not linear in any operand"}; }

// --- literals
// --------------------------------------------------------------------------------------------------
using Index = std::vector<int64_t>;
int64_t flat_of(const std::vector<int64_t>& dims, const Index& index);
// Calls `visit(index, flat)` for each element in row-major order.
void each_index(const std::vector<int64_t>& dims, const std::function<void(const Index&, int64_t)>& visit);
void copy_element(Literal& to, int64_t i, const Literal& from, int64_t j);
void set_real(Literal& to, int64_t i, double value);     // rounds to the dtype
void set_whole(Literal& to, int64_t i, int64_t value);   // wraps to the dtype
int64_t index_at(const Literal& literal, int64_t flat);  // a u64 beyond i64 becomes the greatest i64
std::pair<double, double> complex_at(const Literal& literal,
                                     int64_t flat);  // its parts; of a real number, with 0
void set_complex(Literal& to, int64_t i, double real, double imaginary);
bool is_nan_at(const Literal& literal, int64_t flat);
std::vector<int64_t> ints_of(const Dims& dims);  // constants only

// --- loop code
// -------------------------------------------------------------------------------------------------
bool is_half(DType dtype);
DType wide_type(DType dtype);               // f32 for the 16-bit floats, u8 for bool, else itself
loop::Expr widen(loop::Expr x);             // to wide_type
loop::Expr narrow(loop::Expr x, DType to);  // to a storage type; x itself where it has it
loop::Expr as_index(loop::Expr x);          // an integer of any type as i64, as index_at does
// Where a slice starts, as an index from 0 to `room`.
loop::Expr start_within(PointContext& c, loop::Expr start, const Dim& room);
loop::Expr clamp_index(loop::Expr x, loop::Expr size);  // into [0, size - 1]
loop::Expr is_nan(loop::Expr x);                        // of a float; a false constant for other types
loop::Expr all_of(const std::vector<loop::Expr>& conditions, loop::Builder& build);
loop::Expr total_min(loop::Expr a, loop::Expr b);  // propagates NaN, -0 below +0
loop::Expr total_max(loop::Expr a, loop::Expr b);
loop::Expr row_major(const std::vector<loop::Expr>& index, const std::vector<loop::Expr>& sizes,
                     loop::Builder& build);
std::vector<loop::Expr> sizes_of(PointContext& c, const Dims& dims);
// A loop over so many elements in vectors of so many lanes, a power of two, and narrower ones for the rest:
// none is masked.
void in_whole_vectors(loop::Builder& build, int64_t count, int lanes,
                      const std::function<void(loop::Expr, int lanes)>& body);

// An operand that has no elements must not be read, not even at a clamped index. `guarded` gives
// select(condition, read(), otherwise), and reads nothing at run time where the operand is empty.
loop::Expr guarded(PointContext& c, size_t operand, loop::Expr condition, loop::Expr otherwise,
                   const std::function<loop::Expr()>& read);
bool surely_empty(const Type& type);
bool surely_nonempty(const Node* node, const Type& type);
loop::Expr has_elements(PointContext& c, size_t operand);  // i64: 1 or 0
// The constant that a value is, or is a view of: all of its elements are the constant's, though these may
// have another order, or more of them. Null: it is none.
const Literal* literal_behind(Value v);
// The constant whose elements are the value's, in the same order; the shape may be another one.
const Literal* elements_behind(Value v);
// The result holds what the operand does, before its changes are written: copied, unless it lies there
// already.
void begin_as_operand(NestContext& c, size_t operand);

// The extremes that a fold with min or max starts from: infinities for floats.
loop::Expr lowest(loop::Builder& build, DType dtype);
loop::Expr highest(loop::Builder& build, DType dtype);

// --- infer
// -----------------------------------------------------------------------------------------------------
// Checks that `axes` are distinct and in [0, rank); fails naming `what`.
void require_axes(const InferContext& c, const Ints& axes, int rank, std::string_view what);
void require_count(const InferContext& c, size_t have, size_t want, std::string_view what);
void require_operands(const InferContext& c, size_t least);
void require_index_dtype(const InferContext& c, size_t operand);
bool contains_axis(const Ints& axes, int64_t axis);
Ints iota(int64_t n, int64_t start = 0);
// Result types of a composite: its body, built on a graph of its own.
void infer_by_body(InferContext& c);

// --- graph rules
// ------------------------------------------------------------------------------------------------- Tangents
// of an op of one operand that is linear: the op itself on the tangent.
std::vector<Value> linear_jvp(JvpContext& c);
// The derivative is zero wherever there is one.
std::vector<Value> zero_jvp(JvpContext& c);
// A sum of two tangents or cotangents, where null is zero.
Value sum_of(Builder& build, Value x, Value y);
// How many elements lie between the first and the last of so many that have `interior` between each two; not
// below 0 where there may be none.
Dim gaps_between(const DimScope& scope, const Dim& size, int64_t interior);
// The same for several operands, all linear: zeros stand for the tangents that are null.
std::vector<Value> linear_jvp_all(JvpContext& c);
Value batch_to_front(Builder& build, Value x, int axis);
Value zeros_like(Builder& build, Value x);

}  // namespace ig::ops::tools
