// The names of fast_math's flags, read.
#include "support/fast_math.h"

#include <algorithm>
#include <vector>

#include <fmt/ranges.h>

#include "support/error.h"

namespace ig {

FastMath FastMath::of(std::span<const std::string> names, std::string_view who) {
  FastMath out;
  for (const std::string& name : names) {
    const auto* flag = std::ranges::find(kFastMathFlags, name, &FastMathFlag::name);
    if (flag == kFastMathFlags.end()) {
      std::vector<std::string_view> known;
      for (const FastMathFlag& each : kFastMathFlags) known.push_back(each.name);
      throw make_error(ErrorKind::Value, "{}: fast_math names '{}', which is no flag", who, name)
          .why("each flag allows one kind of rewrite, and no other is made")
          .hint(fmt::format("the flags are {}; True is all of them", fmt::join(known, ", ")));
    }
    out.*flag->value = true;
  }
  return out;
}

void FastMath::require_inexact(bool exact, std::string_view who) const {
  if (exact && any())
    throw make_error(ErrorKind::Value, "{}: exact and fast_math are asked for together", who)
        .why("the one wants the bits of the ops' definitions, the other gives them up for speed")
        .hint("leave one of them out");
}

}  // namespace ig
