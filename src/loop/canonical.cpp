// The build of the library that this file is linked into.
#include "loop/canonical.h"

#include "support/shared_object.h"

namespace ig::loop {

std::string build_id() {
  static const char here = 0;
  return build_id_at(&here);
}

}  // namespace ig::loop
