// The attributes of loops.
#pragma once

#include "ir/graph.h"

namespace ig::ops {

inline constexpr Attr<Dims> kLength{
    "length", "How often the body runs, as a list of one; needed where nothing is scanned.", "[]"};
inline constexpr Attr<bool> kReverse{"reverse", "Runs from the last slice to the first.", "false"};
inline constexpr Attr<std::string> kSaves{
    "saves",
    "What the derivative keeps of the values on the way: nothing, everything, dots (the products), "
    "dots_without_batch, names:a,b (of checkpoint_name), or all_but:a,b. budget:N/P keeps no more than N "
    "bytes of what the policy P keeps, and chooses by a minimum cut.",
    "\"nothing\""};
inline constexpr Attr<std::string> kEnds{
    "ends",
    "Why there is no second region, and whose function it is: backward:NAME (it has no backward), once:NAME "
    "(its backward is marked once_differentiable), or followed:NAME (its rule was followed often enough).",
    "\"\""};
// How many steps a scan has: what it scans says so, or the attribute.
inline Dim scan_length(const Node* scan) {
  const auto& segments = scan->segments();
  if (segments[2] != 0) return scan->operand(segments[0] + segments[1])->type().dims[0];
  return scan->attrs().get(kLength)[0];
}

inline constexpr Attr<std::string> kValueName{"name", "What a checkpoint's policy calls the value."};

}  // namespace ig::ops
