// The queue and its thread. The thread is there while there is work, and for a moment after; its state is
// never destroyed, since threads may still look at it while the process ends.
#include "runtime/background.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "runtime/thread_pool.h"
#include "support/storage.h"

namespace ig::rt::background {

struct Entry {
  Work work;
  std::stop_source stop;   // of the present attempt
  bool forgotten = false;  // so that it is not begun again
};

namespace {

struct State {
  std::mutex mutex;
  std::condition_variable changed;
  std::deque<std::shared_ptr<Entry>> queue;
  std::shared_ptr<Entry> running;
  bool has_thread = false, ended = false;
  bool lost = false;  // in the child of a fork: its parent was at something, which may hold locks
  int paused = 0;

  bool idle() const { return !running && (queue.empty() || ended || lost); }
};

State* current = nullptr;

void run_queue(State& s) {
  std::unique_lock lock(s.mutex);
  for (;;) {
    // Work often comes in a row; a thread that nobody needs any more goes.
    const bool more = s.changed.wait_for(lock, std::chrono::seconds(1),
                                         [&] { return s.ended || (!s.queue.empty() && s.paused == 0); });
    if (s.ended || (!more && s.queue.empty())) break;
    if (!more) continue;
    std::shared_ptr<Entry> entry = std::move(s.queue.front());
    s.queue.pop_front();
    s.running = entry;
    lock.unlock();
    bool stopped = false;
    try {
      entry->work(entry->stop.get_token());
    } catch (const Stopped&) {
      stopped = true;
    }
    lock.lock();
    if (stopped && !entry->forgotten && !s.ended) {
      entry->stop = std::stop_source();
      s.queue.push_front(std::move(entry));
    } else {
      Work done = std::move(entry->work);
      lock.unlock();
      done = nullptr;  // what it holds goes while this still counts as running
      lock.lock();
    }
    s.running = nullptr;
    s.changed.notify_all();
  }
  s.has_thread = false;
  s.changed.notify_all();
}

void stop_running(State& s, std::unique_lock<std::mutex>& lock) {
  if (s.running) s.running->stop.request_stop();
  s.changed.wait(lock, [&] { return !s.running; });
}

// With the lock held. False where the system gives no more threads.
bool start_thread(State& s) {
  if (s.queue.empty() || s.has_thread || s.ended || s.lost || s.paused > 0) return true;
  // Signals are for the threads of the program, so that Ctrl-C finds the main one.
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  try {
    std::thread(run_queue, std::ref(s)).detach();
    s.has_thread = true;
  } catch (const std::system_error&) {
  }
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return s.has_thread;
}

// With what runs at rest, and the lock held over the fork. Who forks may hold what the work needs to come to
// rest; then the child does without the background.
void before_fork() {
  State& s = *current;
  std::unique_lock lock(s.mutex);
  ++s.paused;
  if (s.running) s.running->stop.request_stop();
  s.changed.wait_for(lock, std::chrono::seconds(5), [&] { return !s.running; });
  lock.release();
}

void after_fork_in_parent() {
  State& s = *current;
  std::unique_lock lock(s.mutex, std::adopt_lock);
  --s.paused;
  start_thread(s);
  s.changed.notify_all();
}

// The child of a fork has no thread, and condition variables that count the sleepers of its parent.
void begin_again_in_child() {
  State* parent = current;
  auto* own = new State;
  own->ended = parent->ended;
  own->lost = parent->lost || parent->running;
  own->queue = std::move(parent->queue);
  current = own;
  parent->mutex.unlock();
  std::lock_guard lock(own->mutex);
  start_thread(*own);
}

State& state() {
  static const bool made = [] {
    current = new State;
    // A fork asks those first that came last: what runs may need the locks that these hold in a fork.
    ThreadPool::instance();
    allocator_stats();
    pthread_atfork(before_fork, after_fork_in_parent, begin_again_in_child);
    std::atexit(end);
    return true;
  }();
  (void)made;
  return *current;
}

}  // namespace

Piece::Piece(Work work) : entry_(std::make_shared<Entry>()) {
  entry_->work = std::move(work);
  State& s = state();
  std::lock_guard lock(s.mutex);
  s.queue.push_back(entry_);
  if (s.ended || !start_thread(s)) {
    s.queue.pop_back();
    throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again));
  }
  s.changed.notify_all();
}

Piece& Piece::operator=(Piece&& other) noexcept {
  if (this == &other) return *this;
  forget();
  entry_ = std::move(other.entry_);
  return *this;
}

void Piece::forget() {
  if (!entry_) return;
  const std::shared_ptr<Entry> entry = std::move(entry_);
  State& s = state();
  std::lock_guard lock(s.mutex);
  entry->forgotten = true;
  entry->stop.request_stop();
  std::erase(s.queue, entry);
  s.changed.notify_all();
}

void Piece::call_off() {
  const std::shared_ptr<Entry> entry = entry_;
  if (!entry) return;
  forget();
  State& s = state();
  std::unique_lock lock(s.mutex);
  s.changed.wait(lock, [&] { return s.running != entry; });
}

bool wait(std::chrono::milliseconds at_most) {
  State& s = state();
  std::unique_lock lock(s.mutex);
  return s.changed.wait_for(lock, at_most, [&] { return s.idle(); });
}

void pause() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  ++s.paused;
  stop_running(s, lock);
}

void resume() {
  State& s = state();
  std::lock_guard lock(s.mutex);
  --s.paused;
  start_thread(s);
  s.changed.notify_all();
}

void end() {
  State& s = state();
  std::unique_lock lock(s.mutex);
  s.ended = true;
  stop_running(s, lock);
  // What is left refers to what is about to be taken down: it is kept, by a state that is never destroyed.
  s.changed.notify_all();
}

void end_before_what_is_loaded() {
  state();
  std::atexit(end);
}

}  // namespace ig::rt::background
