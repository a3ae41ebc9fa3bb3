// The claiming pool. One 64-bit word holds (number of the job, next chunk); a worker claims by
// compare-and-swap on the whole word, so a worker that looks at an old job can never take a chunk of a new
// one, and touches the job's data only once it has a chunk, when the caller is bound to wait for it.
#include "runtime/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/error.h"
#include "support/storage.h"

namespace ig::rt {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int64_t kChunksPerThread = 16;
constexpr auto kSpin = std::chrono::microseconds(50);
// Waking a sleeping worker costs the caller several microseconds; it pays once work of about this time was
// done, or stands to be done, without help. A grain is at least about 3 µs.
using Clock = std::chrono::steady_clock;
constexpr Clock::duration kWakeAfter = std::chrono::microseconds(100);
constexpr Clock::duration kGrain = std::chrono::microseconds(3);

constexpr uint64_t kClosed =
    0xffffffffu;  // as the next chunk: nothing to claim, the job's data is being written

constexpr uint32_t kControlBits = 0xffc0;     // all but the sticky exception flags
constexpr uint32_t kDefaultControl = 0x1f80;  // all exceptions masked, round to nearest, no flushing

void futex_wait(std::atomic<uint32_t>& word, uint32_t expected) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAIT_PRIVATE, expected, nullptr, nullptr, 0);
}
void futex_wake(std::atomic<uint32_t>& word, int count) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), FUTEX_WAKE_PRIVATE, count, nullptr, nullptr, 0);
}

// Spins until `done()` or the time is over; says which. Looks at the clock only now and then, and then offers
// the processor to others: where the other cores are busy a woken worker lands on its caller's core, and its
// spinning would keep the caller off it. Measured on two cores, one kept busy, an empty call 100 µs after the
// last: 56 µs without the offer in three runs of four, 0.2 µs at most with it; on an idle machine no
// difference (8 to 16 µs).
template <typename Done>
bool spin_until(Done done) {
  auto end = Clock::now() + kSpin;
  do {
    for (int i = 0; i < 64; ++i) {
      if (done()) return true;
      _mm_pause();
    }
    sched_yield();
  } while (Clock::now() < end);
  return done();
}

// Leaves this processor for another one that the thread may use, if there are enough for all `threads`. A
// woken worker often lands on its caller's processor, where the caller's work keeps it from running, and on a
// machine whose processors share no cache the kernel may leave it there for a long time: of two threads on an
// idle machine with two processors, one then does all the work.
void step_aside(int from, int threads) {
  cpu_set_t allowed, others;
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < threads) return;
  others = allowed;
  CPU_CLR(static_cast<size_t>(from), &others);
  if (CPU_COUNT(&others) == 0 || sched_setaffinity(0, sizeof others, &others) != 0) return;
  sched_setaffinity(0, sizeof allowed, &allowed);  // where it goes later is the kernel's business again
}

// What a thread keeps for kernels: scratch, and whether it is inside a call already.
struct ThreadState {
  Storage scratch;
  bool inside = false;

  void* scratch_of(size_t bytes) {
    if (bytes == 0) return nullptr;
    if (scratch.bytes() < bytes) {
      scratch = Storage();
      scratch = Storage::allocate(bytes);
    }
    return scratch.data();
  }
};
thread_local ThreadState t_state;

struct InsideCall {
  bool before = std::exchange(t_state.inside, true);
  InsideCall() = default;
  ~InsideCall() { t_state.inside = before; }
  InsideCall(const InsideCall&) = delete;
  InsideCall& operator=(const InsideCall&) = delete;
};

// A kernel's run, shared by its threads; keeps the failure of the lowest range.
struct KernelJob {
  KernelFn kernel;
  const KernelArgs& proto;
  size_t scratch_bytes;

  std::mutex mutex{};
  int64_t failed_at = std::numeric_limits<int64_t>::max();
  int32_t code = 0;
  int64_t error[2] = {0, 0};

  void operator()(int64_t begin, int64_t end, uint32_t thread) {
    int64_t words[2] = {0, 0};
    KernelArgs args = proto;
    args.thread = thread;
    args.error = words;
    if (scratch_bytes) args.scratch = t_state.scratch_of(scratch_bytes);
    int32_t result = kernel(&args, begin, end);
    if (result == 0) return;
    std::lock_guard lock(mutex);
    if (begin >= failed_at) return;
    failed_at = begin;
    code = result;
    error[0] = words[0];
    error[1] = words[1];
  }
};

// The step between chunk starts: not below the grain, and few chunks a thread; where there are very few, as
// many for each.
int64_t chunk_step(int64_t total, int64_t grain, int threads) {
  int64_t parts = std::min(total / grain, threads * kChunksPerThread);
  if (parts > threads && parts < 4 * int64_t{threads}) parts -= parts % threads;
  return (total + parts - 1) / parts;
}

int threads_from_environment() {
  const char* text = std::getenv("INTAGLIO_NUM_THREADS");
  if (!text) return std::min(available_processors(), kMaxThreads);
  int count = 0;
  const char* end = text + std::strlen(text);
  auto [stop, code] = std::from_chars(text, end, count);
  if (code != std::errc() || stop != end || count < 1 || count > kMaxThreads)
    throw make_error(ErrorKind::Value, "INTAGLIO_NUM_THREADS={} is not a number of threads", text)
        .why(fmt::format("the variable must be a whole number from 1 to {}", kMaxThreads))
        .hint("set it to the number of cores to use, or unset it to use all that this process may");
  return count;
}

// Gives the workers back at the end of a call.
struct Leave {
  std::atomic<bool>& busy;
  ~Leave() { busy.store(false, std::memory_order_release); }
};

// Calls a chunk function: (context, begin, end, thread).
struct Job {
  void (*chunk)(void* context, int64_t begin, int64_t end, uint32_t thread);
  void* context;
  int64_t total;
  int64_t grain;
  int64_t step;

  std::mutex mutex{};
  int64_t threw_at = std::numeric_limits<int64_t>::max();
  std::exception_ptr exception{};

  void execute(int64_t index, uint32_t thread) {
    int64_t begin = index * step;
    try {
      chunk(context, begin, std::min(total, begin + step), thread);
    } catch (...) {
      std::lock_guard lock(mutex);
      if (begin < threw_at) {
        threw_at = begin;
        exception = std::current_exception();
      }
    }
  }
};

}  // namespace

FloatControl::FloatControl() : saved_(_mm_getcsr()), changed_((saved_ & kControlBits) != kDefaultControl) {
  if (changed_) _mm_setcsr(kDefaultControl);
}
FloatControl::~FloatControl() {
  if (changed_) _mm_setcsr(saved_);
}

struct ThreadPool::Impl {
  // Written by the caller that has the pool, read by workers.
  alignas(64) std::atomic<uint64_t> ticket{kClosed};  // job number << 32 | next chunk
  std::atomic<uint32_t> chunks{0};
  std::atomic<Job*> job{nullptr};
  alignas(64) std::atomic<uint32_t> finished{0};
  std::atomic<bool> waiting{false};           // the caller sleeps on `finished`
  alignas(64) std::atomic<uint32_t> wake{0};  // changes with every job; what sleepers wait on
  std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stop{false};
  std::atomic<int> caller_at{-1};  // the processor that the caller of the last job was on

  alignas(64) std::atomic<bool> busy{false};  // one caller has the workers
  std::atomic<int> wanted{0};                 // threads, counting the caller; 0: not decided yet
  Clock::duration unhelped{};                 // the time of work done while the workers slept
  std::mutex config;
  std::vector<std::thread>* workers =
      new std::vector<std::thread>;  // after a fork the parent's are left alone

  bool claim(uint64_t& seen, uint32_t& index) {
    uint64_t word = ticket.load(std::memory_order_acquire);
    for (;;) {
      auto next = static_cast<uint32_t>(word);
      if (next == kClosed || next >= chunks.load(std::memory_order_acquire)) return false;
      if (ticket.compare_exchange_weak(word, word + 1, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
        seen = word;
        index = next;
        return true;
      }
    }
  }

  // Does chunks for as long as there are any, and `more()` after each says so.
  template <typename More>
  void work(uint32_t thread, More more) {
    uint64_t seen;
    uint32_t index;
    while (claim(seen, index)) {
      uint32_t all = chunks.load(std::memory_order_relaxed);
      job.load(std::memory_order_acquire)->execute(index, thread);
      // After the last count the caller may be gone, and the job with it.
      if (finished.fetch_add(1, std::memory_order_seq_cst) + 1 == all &&
          waiting.load(std::memory_order_seq_cst))
        futex_wake(finished, 1);
      if (!more()) return;
    }
  }
  void work(uint32_t thread) {
    work(thread, [] { return true; });
  }

  // All workers sleep. A grain says what a chunk takes at least; what it takes shows when it is done.
  void work_until_help_pays(const Job& shared, uint32_t chunks_of_job) {
    const Clock::time_point begin = Clock::now();
    const int64_t grains = std::min(shared.total / shared.grain, kWakeAfter / kGrain);
    bool pays = unhelped + grains * kGrain >= kWakeAfter;
    if (!pays) {
      Clock::duration alone = unhelped;
      work(0, [&] {
        alone = unhelped + (Clock::now() - begin);
        pays = alone >= kWakeAfter;
        return !pays;
      });
      unhelped = alone;
    }
    if (!pays) return;
    unhelped = {};
    futex_wake(wake, static_cast<int>(std::min(sleepers.load(std::memory_order_seq_cst), chunks_of_job - 1)));
  }

  void worker(uint32_t thread) {
    pthread_setname_np(pthread_self(), fmt::format("intaglio-{}", thread).c_str());
    FloatControl control;
    t_state.inside = true;
    for (;;) {
      uint32_t before = wake.load(std::memory_order_acquire);
      if (stop.load(std::memory_order_acquire)) return;
      if (const int here = sched_getcpu(); here >= 0 && here == caller_at.load(std::memory_order_relaxed))
        step_aside(here, wanted.load(std::memory_order_relaxed));
      work(thread);
      auto changed = [&] { return wake.load(std::memory_order_acquire) != before; };
      if (spin_until(changed)) continue;
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      if (!changed()) futex_wait(wake, before);
      sleepers.fetch_sub(1, std::memory_order_seq_cst);
    }
  }

  // Under `busy`.
  void start_workers(int count) {
    if (static_cast<int>(workers->size()) >= count) return;
    std::lock_guard lock(config);
    // Signals are for the threads of the program, so that Ctrl-C finds the main one.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    try {
      while (static_cast<int>(workers->size()) < count) {
        auto index = static_cast<uint32_t>(workers->size() + 1);
        workers->emplace_back([this, index] { worker(index); });
      }
    } catch (const std::system_error&) {
      // The system gives no more threads: those that there are, the caller at least, do the work.
    }
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
  }

  void stop_workers() {
    stop.store(true, std::memory_order_release);
    wake.fetch_add(1, std::memory_order_seq_cst);
    futex_wake(wake, std::numeric_limits<int>::max());
    for (std::thread& t : *workers) t.join();
    workers->clear();
    stop.store(false, std::memory_order_release);
  }

  void after_fork_in_child() {
    workers = new std::vector<std::thread>;
    ticket.store(kClosed);
    waiting.store(false);
    sleepers.store(0);
    busy.store(false);
  }

  bool take() { return !busy.exchange(true, std::memory_order_acquire); }

  // Shares the chunks of a job with the workers. Under `busy`.
  void share(Job& shared, uint32_t count, int threads) {
    start_workers(threads - 1);
    auto available = static_cast<uint32_t>(workers->size());
    uint64_t number = (ticket.load(std::memory_order_relaxed) >> 32) + 1;
    // Closed first: whoever still looks at the old job then fails to claim, whatever of the new data it sees.
    ticket.store(number << 32 | kClosed, std::memory_order_seq_cst);
    chunks.store(count, std::memory_order_release);
    job.store(&shared, std::memory_order_release);
    finished.store(0, std::memory_order_release);
    caller_at.store(sched_getcpu(), std::memory_order_relaxed);
    ticket.store((number + 1) << 32, std::memory_order_seq_cst);
    wake.fetch_add(1, std::memory_order_seq_cst);

    uint32_t asleep = sleepers.load(std::memory_order_seq_cst);
    if (asleep == available)
      work_until_help_pays(shared, count);
    else if (asleep > 0)
      futex_wake(wake, static_cast<int>(std::min(asleep, count - 1)));

    work(0);
    auto done = [&] { return finished.load(std::memory_order_acquire) == count; };
    if (!spin_until(done)) {
      waiting.store(true, std::memory_order_seq_cst);
      for (uint32_t now; (now = finished.load(std::memory_order_seq_cst)) != count;)
        futex_wait(finished, now);
      waiting.store(false, std::memory_order_relaxed);
    }
  }
};

ThreadPool::ThreadPool() : impl_(new Impl) {}

ThreadPool& ThreadPool::instance() {
  static ThreadPool* pool = [] {
    auto* made = new ThreadPool;
    // Fork with the configuration lock held, so that no thread list is half written in the child.
    pthread_atfork([] { instance().impl_->config.lock(); }, [] { instance().impl_->config.unlock(); },
                   [] {
                     instance().impl_->config.unlock();
                     instance().impl_->after_fork_in_child();
                   });
    return made;
  }();
  return *pool;
}

int ThreadPool::num_threads() {
  int count = impl_->wanted.load(std::memory_order_relaxed);
  if (count > 0) return count;
  int decided = threads_from_environment();
  impl_->wanted.compare_exchange_strong(count, decided);
  return impl_->wanted.load();
}

void ThreadPool::set_num_threads(int count) {
  if (count < 1 || count > kMaxThreads)
    throw make_error(ErrorKind::Value, "set_num_threads: {} is not a number of threads", count)
        .why(fmt::format("a call runs on 1 to {} threads, the calling one included", kMaxThreads))
        .hint("pass 1 to run on the calling thread alone");
  if (t_state.inside)
    throw Error(ErrorKind::Value, "set_num_threads: called from inside a parallel call")
        .why("the threads that it would stop are running the call")
        .hint("call it before the parallel work starts");
  while (!impl_->take()) std::this_thread::yield();
  Leave leave{impl_->busy};
  if (static_cast<int>(impl_->workers->size()) > count - 1) impl_->stop_workers();
  impl_->wanted.store(count);
}

int32_t ThreadPool::run(KernelFn kernel, const KernelArgs& proto, int64_t blocks, int64_t grain,
                        size_t scratch_bytes) {
  if (blocks <= 0) return 0;
  FloatControl control;
  grain = std::max<int64_t>(grain, 1);
  int threads;
  if (!is_shared(blocks, grain) || t_state.inside || (threads = num_threads()) == 1 || !impl_->take()) {
    KernelArgs args = proto;
    args.thread = 0;
    if (scratch_bytes) args.scratch = t_state.scratch_of(scratch_bytes);
    int64_t words[2] = {0, 0};
    if (!args.error) args.error = words;
    return kernel(&args, 0, blocks);
  }
  Leave leave{impl_->busy};
  InsideCall inside;
  KernelJob work{kernel, proto, scratch_bytes};
  Job job{[](void* context, int64_t begin, int64_t end, uint32_t thread) {
            (*static_cast<KernelJob*>(context))(begin, end, thread);
          },
          &work, blocks, grain, chunk_step(blocks, grain, threads)};
  impl_->share(job, static_cast<uint32_t>((blocks + job.step - 1) / job.step), threads);
  if (job.exception) std::rethrow_exception(job.exception);
  if (work.code && proto.error) {
    proto.error[0] = work.error[0];
    proto.error[1] = work.error[1];
  }
  return work.code;
}

void* ThreadPool::scratch_here(size_t bytes) { return t_state.scratch_of(bytes); }

void ThreadPool::parallel_for(int64_t n, int64_t grain, RangeBody body) {
  if (n <= 0) return;
  FloatControl control;
  grain = std::max<int64_t>(grain, 1);
  int threads;
  if (!is_shared(n, grain) || t_state.inside || (threads = num_threads()) == 1 || !impl_->take()) {
    body(0, n);
    return;
  }
  Leave leave{impl_->busy};
  InsideCall inside;
  Job job{[](void* context, int64_t begin, int64_t end, uint32_t) {
            (*static_cast<RangeBody*>(context))(begin, end);
          },
          &body, n, grain, chunk_step(n, grain, threads)};
  impl_->share(job, static_cast<uint32_t>((n + job.step - 1) / job.step), threads);
  if (job.exception) std::rethrow_exception(job.exception);
}

}  // namespace ig::rt
