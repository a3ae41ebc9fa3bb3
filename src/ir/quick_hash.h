// A hash of attributes for tables that compare what it calls equal: of large constants it reads a few places
// only.
#pragma once

#include <cstdint>

#include "ir/attr.h"

namespace ig {

// Equal attributes have equal ones; unequal ones may have, where large constants are alike.
uint64_t quick_hash(const Attrs& attrs);

}  // namespace ig
