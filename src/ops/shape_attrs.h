// The attributes of the ops that move elements: slices, padding, gather and scatter. They are here, and not
// in the families' own files, because passes' tests, transforms and kernel generators read them too.
#pragma once

#include "ops/attrs.h"

namespace ig::ops {

inline constexpr Attr<Dims> kStart{"start", "The first index taken, for each axis."};
inline constexpr Attr<Dims> kLimit{"limit", "The index before which each axis ends."};
inline constexpr Attr<Ints> kSliceStrides{"strides", "The step of each axis, at least 1."};
inline constexpr Attr<Ints> kReversed{"dimensions", "The axes to reverse."};
inline constexpr Attr<Dims> kPadLow{"low",
                                    "How many elements to put before each axis; negative: to take away."};
inline constexpr Attr<Dims> kPadHigh{"high",
                                     "How many elements to put behind each axis; negative: to take away."};
inline constexpr Attr<Ints> kPadInterior{"interior", "How many elements to put between two of each axis."};
inline constexpr Attr<Dims> kSliceSizes{"slice_sizes", "The sizes of the slice, for each axis."};

inline constexpr Attr<Ints> kOffsetDims{"offset_dims", "The axes of the result that walk within a slice."};
inline constexpr Attr<Ints> kCollapsedDims{"collapsed_slice_dims",
                                           "The operand's axes of slice size 1 that go."};
inline constexpr Attr<Ints> kOperandBatchDims{"operand_batching_dims",
                                              "The operand's axes that go with the indices'.", "[]"};
inline constexpr Attr<Ints> kIndicesBatchDims{"start_indices_batching_dims",
                                              "The indices' axes that go with the operand's.", "[]"};
inline constexpr Attr<Ints> kStartIndexMap{
    "start_index_map", "For each entry of an index vector, the operand's axis that it indexes."};
inline constexpr Attr<int64_t> kIndexVectorDim{
    "index_vector_dim", "The indices' axis that holds the index vectors; their rank: none."};

inline constexpr Attr<Ints> kUpdateWindowDims{"update_window_dims",
                                              "The axes of the updates that walk in a window."};
inline constexpr Attr<Ints> kInsertedDims{"inserted_window_dims",
                                          "The operand's axes of window size 1 left out."};
inline constexpr Attr<Ints> kInputBatchDims{"input_batching_dims",
                                            "The operand's axes that go with the indices'.", "[]"};
inline constexpr Attr<Ints> kScatterBatchDims{"scatter_indices_batching_dims",
                                              "The indices' axes that go with the operand's.", "[]"};
inline constexpr Attr<Ints> kScatterMap{
    "scatter_dims_to_operand_dims", "For each entry of an index vector, the operand's axis that it indexes."};
inline constexpr Attr<std::string> kUpdate{"update", "How an update meets the element it falls on.",
                                           "\"set\"", "set|add|multiply|min|max"};

}  // namespace ig::ops
