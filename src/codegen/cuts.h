// Where the columns of a walk are cut into parts: where an op takes another way from there on (the border of
// what was padded, a part of what was joined, the window of an update). Within a part comparisons of columns
// are decided, and what is read lies at fixed distances. A list of cuts goes from 0 to the number of columns;
// it is empty where a walk is better not cut, and where too many parts would come out.
#pragma once

#include <cstdint>
#include <vector>

#include "codegen/group_emitter.h"

namespace ig::codegen {

// Whether an op of the region takes different ways along an axis.
bool any_turns(const Block& region);

// Of an element-wise kernel's last axis; `windows`: also at the ends of the columns without clamped windows.
std::vector<int64_t> cuts_of(const GroupEmitter& emit, const Dims& dims, bool windows);
// Of so many last axes walked as one, where an op takes another way along any of them.
std::vector<int64_t> cuts_of_joined(const GroupEmitter& emit, const Dims& dims, int axes);
// Of what is folded, and written for each element of it, along so many last axes of it walked as one.
std::vector<int64_t> cuts_of_folds(const GroupEmitter& emit, const Dims& domain, int axes);
// Of the last axis that is not folded, where short rows are folded side by side along it.
std::vector<int64_t> cuts_of_rows(const GroupEmitter& emit, const Dims& kept, const Dims& folded);

// Of a walk's rows, of so many last axes each: where an op takes another way along the axes in front (the
// border of what was padded along the first axis). None where elements take long: that a mask is asked does
// not show then, and code for each part does.
std::vector<int64_t> cuts_of_outer(const GroupEmitter& emit, const Dims& dims, int axes);

}  // namespace ig::codegen
