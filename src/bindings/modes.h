// Modes of the user's own from Python; see modes.cpp.
#pragma once

#include "bindings/common.h"

namespace ig::py {

void init_modes(nb::module_& m);

// While it lives, the program is at this place of it, for nodes and errors of this thread: where an op was
// called that a mode goes on with. Null: where the frames say. (locations.cpp)
class PinnedLocation {
 public:
  explicit PinnedLocation(const Location* where);
  PinnedLocation(const PinnedLocation&) = delete;
  PinnedLocation& operator=(const PinnedLocation&) = delete;
  ~PinnedLocation();

 private:
  const Location* before_;
};

}  // namespace ig::py
