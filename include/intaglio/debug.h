// The watch for NaN and infinities, as ig.debug_nans and ig.debug_infs are in Python: a program stops at the
// op that makes one from operands without one, with an error that names the op, its operands and its line.
//
//   ig::debug_nans(true);             // the process, until it is set to false
//   { ig::DebugNans watch; step(x); } // this thread, for a scope
#pragma once

#include "tensor/numbers.h"

namespace ig {

// For all threads that have no setting of their own.
inline void debug_nans(bool on) { numbers::watch_everywhere(numbers::kNaN, on); }
inline void debug_infs(bool on) { numbers::watch_everywhere(numbers::kInfinity, on); }

namespace detail {
template <uint8_t kind>
class WatchHere {
 public:
  explicit WatchHere(bool on = true)
      : before_(numbers::set_here(on ? numbers::watched() | kind : numbers::watched() & ~kind)) {}
  ~WatchHere() { numbers::set_here(before_); }
  WatchHere(const WatchHere&) = delete;
  WatchHere& operator=(const WatchHere&) = delete;

 private:
  int before_;
};
}  // namespace detail

// This thread's setting while it lives; with `false` it looks for nothing of the kind.
using DebugNans = detail::WatchHere<numbers::kNaN>;
using DebugInfs = detail::WatchHere<numbers::kInfinity>;

}  // namespace ig
