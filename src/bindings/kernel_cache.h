// Registers what `intaglio.cache` stands on.
#pragma once

#include "bindings/common.h"

namespace ig::py {

void init_kernel_cache(nb::module_& m);

}  // namespace ig::py
