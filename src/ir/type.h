// Types of values: a tensor with an element type and sizes, or a token that orders effects. An open class:
// sequences and optionals can join as further kinds.
#pragma once

#include <string>

#include "ir/dim.h"
#include "support/dtype.h"

namespace ig {

struct Type {
  enum class Kind : uint8_t { Tensor, Token };
  Kind kind = Kind::Tensor;
  DType dtype = DType::F32;
  Dims dims;

  static Type tensor(DType dtype, Dims dims) { return {Kind::Tensor, dtype, std::move(dims)}; }
  static Type token() { return {Kind::Token, DType::Bool, {}}; }

  bool is_tensor() const { return kind == Kind::Tensor; }
  int rank() const { return static_cast<int>(dims.size()); }
  Dim elements() const { return product(dims); }
  std::string str() const;  // "f32[b, 2048]", "f32[]", "token"
  static Type parse(std::string_view text);
  bool operator==(const Type&) const = default;
};

}  // namespace ig
