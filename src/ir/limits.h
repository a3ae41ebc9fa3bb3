// What both readers of graphs (text, binary) hold hostile input to. Each bounds a cost that would grow faster
// than the bytes read; real graphs are far below.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ig {

inline constexpr int kDeepestRegion = 100;      // regions in regions
inline constexpr size_t kMostAxes = 64;         // of an array, as in NumPy
inline constexpr size_t kMostAttributes = 256;  // of a node
inline constexpr size_t kMostFacts = 4096;      // about sizes
inline constexpr size_t kMostTerms = 4096;      // of one size: products of sums multiply them

}  // namespace ig
