// Index arithmetic that lowering rules and code generation share: flat offsets, and the index of an element
// of a reshaped array. Written so that what was split is recognised when it is put together again: `(i / n) *
// n + i % n` becomes `i`, which keeps fused reshapes contiguous.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "ir/dim.h"
#include "loop/loop.h"

namespace ig::ops {

using SizeFn = std::function<loop::Expr(const Dim&)>;

// The flat offset of `index` in a row-major array of these sizes.
loop::Expr linear_index(std::span<const loop::Expr> index, const Dims& dims, const SizeFn& size);
// The reverse. An axis of size 1 has index 0.
std::vector<loop::Expr> split_index(loop::Expr flat, const Dims& dims, const SizeFn& size,
                                    loop::Builder& build);
// The index into an array of sizes `from` of the element that stands at `index` after a reshape to `to`. Runs
// of axes with equal products are treated apart, so axes that a reshape leaves alone keep their index.
std::vector<loop::Expr> reshape_index(std::span<const loop::Expr> index, const Dims& to, const Dims& from,
                                      const SizeFn& size, loop::Builder& build);

}  // namespace ig::ops
