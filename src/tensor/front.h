// What stands between a public function and its op: the array API's promotion of dtypes, the rule for Python
// scalars (a scalar takes the dtype of the arrays that it meets), broadcasting, and axes counted from the
// end. The primitive behind it is strict.
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <variant>
#include <vector>

#include "tensor/program.h"
#include "tensor/tensor.h"

namespace ig::front {

// A number that is no array yet.
struct Scalar {
  DKind kind = DKind::Float;  // Bool, Signed, Unsigned (above int64's range), Float or Complex
  int64_t integer = 0;        // of Bool, Signed and Unsigned (by bit pattern)
  double real = 0, imaginary = 0;
};
using Operand = std::variant<Tensor, Scalar>;

// The dtype that a scalar has among scalars alone: bool, int64, float32, complex64.
DType default_dtype(const Scalar& scalar);
// A rank-0 array of this dtype; Error(Value) where the number does not fit.
Tensor scalar_tensor(const Scalar& scalar, DType dtype);

// The dtype of an operation on these operands; Error(Type) where the standard leaves it undefined.
DType result_type(std::span<const Operand> operands, std::string_view op);

// Which operands have the op's type variable T (the others have a type of their own), read off its first
// sample.
struct OperandKinds {
  struct Kind {
    bool t = true;  // of the type variable T in all samples
    std::optional<DType>
        dtype;  // fixed in all samples; neither: it keeps its own, as a mask that may be bool or T
    bool operator==(const Kind&) const = default;
  };
  std::vector<Kind> kinds;  // operands behind the last are like it
  Kind of(size_t i) const { return kinds.empty() ? Kind{} : kinds[std::min(i, kinds.size() - 1)]; }
  bool is_t(size_t i) const { return of(i).t; }
  std::optional<DType> dtype(size_t i) const { return of(i).dtype; }
};
const OperandKinds& operand_kinds(const ops::Op& op);

// The public function of an op, as its declaration's `front` says.
std::vector<Tensor> call(const ops::Op& op, std::span<const Operand> operands, Attrs attrs);

// x converted; the same array where it has the dtype already.
Tensor convert(const Tensor& x, DType dtype);

// One axis, counted from either end, in [0, rank); Error(Index) naming both.
int64_t normalise_axis(int64_t axis, int rank, std::string_view op);

}  // namespace ig::front
