// Automatic casting. While it is on in a thread, public functions whose work is sums of products take float32
// arrays in a 16-bit type, and those that fold take 16-bit arrays in float32; which function does which is
// told by what its op is made of (python/intaglio/_autocast.py), never by its name.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tensor/front.h"

namespace ig::front {

enum class Work : uint8_t { Other, Products, Folds };

// The 16-bit type that is on in this thread.
std::optional<DType> autocast();
void set_autocast(std::optional<DType> dtype);

// What ops do, told once for the process, by op.
void set_work(std::span<const std::pair<const ops::Op*, Work>> works);

// The operands as they go into the op while `dtype` is on. Doubles and complex numbers stay, and so do all
// operands beside them.
std::vector<Operand> autocast_operands(const ops::Op& op, std::span<const Operand> operands, DType dtype);

}  // namespace ig::front
