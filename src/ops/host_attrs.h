// Attributes of the ops that call the host, which the registry and the ops' declarations share.
#pragma once

#include <optional>
#include <vector>

#include "ir/graph.h"

namespace ig::ops {

inline constexpr Attr<std::string> kHostFunction{"function", "The function's name in the registry."};
inline constexpr Attr<std::string> kHostDtypes{
    "dtypes", "The results' element types, separated by a space: \"f32 i64\".", "\"\""};
inline constexpr Attr<Ints> kHostRanks{"ranks", "How many axes each result has.", "[]"};
inline constexpr Attr<Dims> kHostSizes{"sizes", "The results' sizes, one result's behind the other's.", "<>"};
inline constexpr Attr<std::string> kHostStructure{
    "structure", "How containers of the caller hold arguments and results; empty: they do not.", "\"\""};
inline constexpr Attr<std::string> kHostBatching{
    "vmap_method", "How a batch is computed: by a call an element, or by one call with further axes.",
    "\"none\"", "none|sequential|expand_dims|broadcast_all"};
inline constexpr Attr<Literal> kHostKept{
    "kept", "Owns the function where the graph was captured in this process; it has no elements.",
    "u8[0] {}"};

// The results' types; none where the attributes do not agree.
std::optional<std::vector<Type>> host_results(const Attrs& attrs);

}  // namespace ig::ops
