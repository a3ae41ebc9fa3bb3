// What the files of linear algebra share: checks, products and triangles in the bodies of rules, and the
// declaration of a factorisation with a kernel of its own.
#pragma once

#include <functional>
#include <vector>

#include "ops/families/array_tools.h"
#include "ops/families/complex.h"
#include "ops/families/linalg_kernels.h"
#include "ops/op.h"

namespace ig::ops::factors {

// What NumPy computes samples in, to stand behind an operand in a declaration's oracle.
constexpr const char* kWideNumbers = ".astype('D' if x.dtype.kind == 'c' else float)";

// Calls with matrices of these sizes ("2, 3"), of float32 and of float64.
std::vector<UsualCall> usual_matrices(std::initializer_list<std::string_view> sizes, Attrs attrs = {});
// And with many of them, of float32.
std::vector<UsualCall> usual_batches(std::initializer_list<std::string_view> sizes);

// Matrices of float32, float64, complex64 or complex128 in the last two axes; and square ones.
void require_matrices(InferContext& c, size_t operand);
void require_square(InferContext& c, size_t operand);
Dims batch_of(const Type& x);
Dims with_last(Dims batch, std::initializer_list<Dim> last);
// The matrices of a literal, one after the other: where each begins, and which it is.
void each_matrix(const Literal& x, const std::function<void(int64_t at, int64_t number)>& visit);

void set_element(Literal& to, int64_t at, Complex value);  // its real part, where `to` is real

inline constexpr Attr<bool> kTransposed{"transpose_a", "Whether the matrix is transposed first.", "false"};

Value turned(Builder& b, Value x);     // the last two axes exchanged
Value conjugate(Builder& b, Value x);  // x itself where it is real, as below
Value adjoint(Builder& b, Value x);    // turned and conjugated
Value real_part(Builder& b, Value x);
Value imaginary(Builder& b, Value x);               // i x, complex
Value of_type(Builder& b, Value real, Value like);  // as complex numbers where `like` is so
Value product_of(Builder& b, Value x, Value y);
Value triangle(Builder& b, Value x, bool lower, int64_t k);
Value hermitian_from_lower(Builder& b, Value x);
Value solved(Builder& b, Value a, Value y, bool lower, bool transposed, bool unit);
// The rows of x [..., n, m] in this order [..., n], which is a permutation; and such rows in their old order.
Value rows_in_order(Builder& b, Value x, Value order);
Value rows_put_back(Builder& b, Value x, Value order);
Value identity_like(Builder& b, Value x);       // of square matrices
Value diagonal_of(Builder& b, Value x);         // of each matrix
Value row_of(Builder& b, Value vector);         // [..., n] as [..., 1, n]
Value column_of(Builder& b, Value vector);      // [..., n] as [..., n, 1]
Value last_sum(Builder& b, Value x, int from);  // over the axis `from` places from the end (1: the last)
bool surely_wide(Builder& b, const Type& x);    // fewer rows than columns
// By how much (real, [..., 1, n]) the tangents dv would turn the first element within a hundredth of the
// largest of each column of v, which is kept positive: v times i times this is to be taken away.
Value turn_of(Builder& b, Value v, Value dv);

// A factorisation: its results are batched as its operand is.
Op factorisation(OpDecl decl, bool square, InferFn infer, ReferenceFn reference, NestFn nest, JvpFn jvp,
                 Rule<TransposeFn> transpose = tools::not_linear());

}  // namespace ig::ops::factors
