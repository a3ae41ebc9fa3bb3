// Sets of element types.
#include "ops/op.h"

namespace ig::ops {

bool contains(DTypeSet set, DType d) {
  bool number = d != DType::Bool && d != DType::Key;
  switch (set) {
    case DTypeSet::Any: return true;
    case DTypeSet::Numeric: return number;
    case DTypeSet::Float: return is_float(d);
    case DTypeSet::FloatComplex: return is_float(d) || is_complex(d);
    case DTypeSet::Real: return number && !is_complex(d);
    case DTypeSet::Integer: return is_integer(d);
    case DTypeSet::IntegerBool: return is_integer(d) || d == DType::Bool;
    case DTypeSet::Bool: return d == DType::Bool;
    case DTypeSet::Key: return d == DType::Key;
  }
  return false;
}

std::vector<DType> members(DTypeSet set) {
  std::vector<DType> out;
  for (int i = 0; i < kDTypeCount; ++i)
    if (contains(set, static_cast<DType>(i))) out.push_back(static_cast<DType>(i));
  return out;
}

std::string_view describe(DTypeSet set) {
  switch (set) {
    case DTypeSet::Any: return "any type";
    case DTypeSet::Numeric: return "a numeric type";
    case DTypeSet::Float: return "a floating-point type";
    case DTypeSet::FloatComplex: return "a floating-point or complex type";
    case DTypeSet::Real: return "a real numeric type";
    case DTypeSet::Integer: return "an integer type";
    case DTypeSet::IntegerBool: return "an integer type or bool";
    case DTypeSet::Bool: return "bool";
    case DTypeSet::Key: return "a random key";
  }
  return "";
}

}  // namespace ig::ops
