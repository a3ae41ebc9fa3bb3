// Puts one loop function into another: its statements are built anew where the other one stands, with its
// buffers at places that the other one gives. So kernels of every kind can become parts of a larger function,
// and the lowerings know nothing of it.
#pragma once

#include <cstdint>
#include <span>

#include "loop/loop.h"

namespace ig::codegen {

// Where the elements of a value are.
struct Place {
  enum class Kind : uint8_t {
    Buffer,    // in a buffer (or scratch) from `offset` on
    Register,  // a single element, in a plain local
    Number,    // a single element that is known
  };
  Kind kind = Kind::Buffer;
  uint32_t id = 0;  // of the buffer or the local
  loop::Expr offset{};
  loop::Expr number{};
};

// The element at this offset of the place, and writing it.
loop::Expr read_place(loop::Builder& build, const Place& place, loop::Expr offset);
void write_place(loop::Builder& build, const Place& place, loop::Expr offset, loop::Expr value);

// The statements of `from` for one block, its buffers and then its scratch buffers at `places`.
void splice(loop::Builder& to, const loop::Function& from, std::span<const Place> places, loop::Expr block);

// Whether a buffer of one element can be a plain local instead: it is stored to outside of vector loops only.
bool fits_register(const loop::Function& function, uint32_t buffer);

}  // namespace ig::codegen
