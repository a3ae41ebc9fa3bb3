// How work that takes long is called off: whoever does it looks, now and then, whether it is still wanted.
#pragma once

#include <stop_token>

namespace ig {

// What work that was called off throws.
struct Stopped {};
inline void leave_if(const std::stop_token& stop) {
  if (stop.stop_requested()) throw Stopped();
}

}  // namespace ig
