// Work that nobody waits for, one piece after the other on a thread of its own: programs that are compiled
// while the calls that want them go on without. It may be called off at any time, and it is where a process
// forks or ends: a piece looks, now and then, at the token that it is given (`leave_if`).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <stop_token>

#include "support/stop.h"

namespace ig::rt::background {

// Throws nothing but Stopped. It is destroyed on the thread that ran it.
using Work = std::function<void(const std::stop_token&)>;

class Piece {
 public:
  Piece() = default;
  // Queues it, behind what waits already. std::system_error where the system gives no thread for it, and
  // after `end`.
  explicit Piece(Work work);
  ~Piece() { forget(); }
  Piece(Piece&&) noexcept = default;
  Piece& operator=(Piece&& other) noexcept;
  // Calls it off. It is not begun any more, and ends soon where it runs.
  void forget();
  // The same, and waits until it does not run. Nothing that the work may need to go on (a lock, Python's) may
  // be held by who calls this.
  void call_off();

 private:
  std::shared_ptr<struct Entry> entry_;
};

// Waits until all that is queued is done, or called off; false where it is not after so long.
bool wait(std::chrono::milliseconds at_most);
// Until `resume`, nothing runs: what does is called off, waited for, and begun again later. They nest. A fork
// does so by itself; who holds a lock then that the work may need does it before, without the lock.
void pause();
void resume();
// Calls off what runs, waits for it, and begins nothing any more. The end of the process does it
// by itself; so does who takes something down before that which the work may need.
void end();
// Has the end of the process call `end` before it takes down what was loaded until now.
void end_before_what_is_loaded();

}  // namespace ig::rt::background
