// A key of x[key] as items, and what both reading and writing need of them.
#pragma once

#include <vector>

#include "bindings/common.h"
#include "tensor/strided.h"

namespace ig::py::indexing {

struct Item {
  enum class Kind : uint8_t { Integer, Slice, NewAxis, Array, Mask };
  explicit Item(Kind kind) : kind(kind) {}
  Kind kind;
  Dim index;              // Integer: in [0, size)
  Dim start, limit;       // Slice, forwards, before reversal
  int64_t step = 1;       // Slice: at least 1
  bool reversed = false;  // Slice: then backwards
  Tensor array;           // Array, Mask
  bool in_range = false;  // Array: of positions that need no check
  size_t axis = 0;        // of x; unused by NewAxis
};

// What becomes of positions in index arrays that the axis does not have.
enum class Outside : uint8_t { Refuse, Clip, Pass };

// The last step of an index with arrays: `base` is what the other items leave, and a vector of `indices`
// (along `vector_axis`) says where each slice of it starts, along `axes`. `offsets` are the axes of the
// result that walk through a slice.
struct Vectors {
  Tensor base, indices;
  Ints axes, offsets;
  int64_t vector_axis = 0;
  Dims shape;    // of the result
  Tensor valid;  // where asked for: which vectors lie inside, of the shape of the result
};

Tensor one(const char* name, std::vector<Tensor> operands,
           std::vector<std::pair<std::string, AttrValue>> attrs);
Tensor reshape(const Tensor& x, Dims shape);
// By its name in the table: promoted and broadcast as the public function does it.
Tensor public_op(const char* name, std::vector<front::Operand> operands);
bool runs_now(const Tensor& x);  // known, and neither recorded nor on the tape
Tensor made(Tensor x);           // a value of the recording's own making
const DimScope& scope_of();
Tensor size_of_dim(const Dim& dim);  // int64, of rank 0

// A key as items, one for each axis of x, and new axes between them.
std::vector<Item> parse(const Tensor& x, PyObject* key);
bool is_basic(const std::vector<Item>& items);
void check_mask(const Tensor& x, const Item& item);
StridedView view_of(const Tensor& x, const std::vector<Item>& items);  // basic items over fixed sizes
Tensor take(const Tensor& x, const std::vector<Item>& items);
Vectors vectors_of(const Tensor& x, const std::vector<Item>& items, Outside outside,
                   bool wants_valid = false);
Tensor gathered(const Vectors& v);

}  // namespace ig::py::indexing
