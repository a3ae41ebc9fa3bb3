// Something that is done once, by whoever comes first, while others wait. Unlike std::call_once it may throw
// and be tried again under every implementation of threads: the sanitizers' waits for ever then.
#pragma once

#include <atomic>
#include <mutex>

namespace ig {

class Once {
 public:
  bool done() const { return done_.load(std::memory_order_acquire); }
  template <typename Work>
  void operator()(Work&& work) {
    if (done()) return;
    std::lock_guard lock(mutex_);
    if (done_.load(std::memory_order_relaxed)) return;
    work();
    done_.store(true, std::memory_order_release);
  }

 private:
  std::mutex mutex_;
  std::atomic<bool> done_{false};
};

}  // namespace ig
