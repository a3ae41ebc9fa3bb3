// Moving elements between places in memory that steps of any size walk: what views come to when their
// elements are laid out anew. Any bits are moved as they are.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ig::rt {

// How many, and how many bytes apart they are in what is read and in what is written.
struct CopyAxis {
  int64_t size, from, to;
};

// Copies elements of `width` bytes (a power of two up to 16) for every index along the axes, which may come
// in any order. What is written does not overlap with itself or what is read. Large copies are shared by
// threads.
void copy_strided(int64_t width, const void* from, void* to, std::vector<CopyAxis> axes);

}  // namespace ig::rt
