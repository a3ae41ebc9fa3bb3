// Places the temporaries of a call in one arena, so that no two that live at the same time share a byte and
// the whole is small. It runs when sizes are known: at compile time where all are constants, else once for
// each set of sizes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace ig::rt {

// A temporary's bytes and the first and last instruction that touches it, both included. Ranges with the same
// `group` (unless negative) are one place that is updated in place: they get the same offset.
struct LiveRange {
  size_t bytes = 0;
  int32_t first = 0;
  int32_t last = 0;
  int32_t group = -1;
};

struct ArenaPlan {
  std::vector<size_t> offsets;  // multiples of 64, one for each range
  size_t total = 0;
  size_t lower_bound = 0;  // the most bytes alive at one instruction: no plan can be smaller
};

// Deterministic. Tries several orders of best-fit placement, and keeps the smallest plan.
ArenaPlan plan_arena(std::span<const LiveRange> ranges);

}  // namespace ig::rt
