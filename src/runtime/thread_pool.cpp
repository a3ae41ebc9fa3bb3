// The claiming pool. One 64-bit word, the ticket, holds (number of the job, its chunks, the next one); a
// worker claims by compare-and-swap on the whole word, so a worker that looks at an old job can never take a
// chunk of a new one, and touches the job's data only once it has a chunk, when the caller is bound to wait
// for it.
//
// What a small job costs is lines of memory that go from one core to the other, some 100 ns each where these
// share no cache. So they are few, and come side by side: workers watch the ticket itself; the job's data has
// a place of its own, which a worker asks for when it sees the ticket change; the caller's first chunk is
// claimed already as the job is told; and what is finished is counted by workers alone, and never set back.
#include "runtime/thread_pool.h"

#include <immintrin.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <charconv>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include "support/error.h"
#include "support/processor.h"
#include "support/storage.h"

namespace ig::rt {
namespace {

constexpr int kMaxThreads = 1024;
constexpr int64_t kChunksPerThread = 16;
constexpr auto kSpin = std::chrono::microseconds(50);
constexpr auto kSpinBesideOthers = std::chrono::milliseconds(1);  // while others are still at the job
// Waking a sleeping worker costs the caller several microseconds; it pays once work of about this time was
// done, or stands to be done, without help. A grain is at least about 3 µs.
using Clock = std::chrono::steady_clock;
constexpr Clock::duration kWakeAfter = std::chrono::microseconds(100);
constexpr Clock::duration kGrain = std::chrono::microseconds(3);

// A job's number and two more: the ticket's, how many chunks and how many parts it has; a part's, up to which
// chunk it goes and which one is next.
struct Word {
  uint32_t number = 0;
  uint16_t end = 0, next = 0;

  static Word of(uint64_t bits) {
    return {static_cast<uint32_t>(bits >> 32), static_cast<uint16_t>(bits >> 16),
            static_cast<uint16_t>(bits)};
  }
  uint64_t bits() const { return uint64_t{number} << 32 | uint32_t{end} << 16 | next; }
  uint32_t chunks() const { return end; }
  uint32_t parts() const { return next; }
};
static_assert(kMaxThreads * kChunksPerThread <= 0xffff);

// The chunks of a part, [begin, end).
struct Part {
  uint32_t begin, end;
};
Part part_of(Word ticket, uint32_t part) {
  return {part * ticket.chunks() / ticket.parts(), (part + 1) * ticket.chunks() / ticket.parts()};
}

constexpr uint32_t kControlBits = 0xffc0;     // all but the sticky exception flags
constexpr uint32_t kDefaultControl = 0x1f80;  // all exceptions masked, round to nearest, no flushing
constexpr uint32_t kFlush = 0x8040;           // results to zero, and operands

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
  bool flush = false;  // denormals, in the jobs of this thread

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
  static constexpr size_t kOwnBuffers = 16;

  KernelFn kernel = nullptr;
  KernelArgs args{};
  size_t scratch_bytes = 0;
  void* buffers[kOwnBuffers] = {};  // copies of the arguments', where they are so few
  std::span<profile::Share> shares{};

  std::mutex mutex{};
  int64_t failed_at = 0;
  int32_t code = 0;
  int64_t error[2] = {0, 0};

  void prepare(KernelFn function, const KernelArgs& proto, size_t buffer_count, size_t scratch,
               std::span<profile::Share> timed) {
    kernel = function, args = proto, scratch_bytes = scratch, shares = timed;
    if (buffer_count > 0 && buffer_count <= kOwnBuffers) {
      std::copy_n(proto.buffers, buffer_count, buffers);
      args.buffers = buffers;
    }
    failed_at = std::numeric_limits<int64_t>::max();
    code = 0;
  }

  void operator()(int64_t begin, int64_t end, uint32_t thread) {
    int64_t words[2] = {0, 0};
    KernelArgs own = args;
    own.thread = thread;
    own.error = words;
    if (scratch_bytes) own.scratch = t_state.scratch_of(scratch_bytes);
    const Clock::time_point start = shares.empty() ? Clock::time_point() : Clock::now();
    int32_t result = kernel(&own, begin, end);
    if (thread < shares.size()) shares[thread].add(start, Clock::now());
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

int64_t grains_of(int64_t total, int64_t grain, int64_t block_grains) {
  constexpr int64_t kEnough = kWakeAfter / kGrain + 1;
  return std::min(std::min(total / grain, kEnough) * std::min(block_grains, kEnough), kEnough);
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
  void (*chunk)(void* context, int64_t begin, int64_t end, uint32_t thread) = nullptr;
  void* context = nullptr;
  int64_t total = 0;
  int64_t step = 1;
  int64_t grains = 0;  // how much work there is at least, up to what pays to wake workers for
  bool backwards = false;
  bool flush = t_state.flush;  // denormals, as its caller does

  int64_t chunks() const { return (total + step - 1) / step; }
};

}  // namespace

FloatControl::FloatControl(bool flush) : saved_(_mm_getcsr()) {
  const uint32_t wanted = kDefaultControl | (flush ? kFlush : 0);
  changed_ = (saved_ & kControlBits) != wanted;
  if (changed_) _mm_setcsr(wanted);
}
FloatControl::~FloatControl() {
  if (changed_) _mm_setcsr(saved_);
}

FloatScope::FloatScope(bool flush) : control_(flush), outer_(std::exchange(t_state.flush, flush)) {}
FloatScope::~FloatScope() { t_state.flush = outer_; }

struct ThreadPool::Impl {
  // Written by the caller that has the pool; workers watch the ticket.
  alignas(64) std::atomic<uint64_t> ticket{0};
  std::atomic<int> caller_at{-1};  // the processor that the caller of the last job was on
  // What is left of each part of the job, once somebody took something of it: see claim().
  alignas(64) std::array<std::atomic<uint64_t>, kMaxThreads> left{};
  // The job's data, written before it is told.
  alignas(64) Job job;
  alignas(64) KernelJob kernel_job;
  // Written by workers: chunks that they finished, of all jobs.
  alignas(64) std::atomic<uint32_t> finished{0};
  std::atomic<bool> waiting{false};  // the caller sleeps on `finished`
  alignas(64) std::atomic<uint32_t> sleepers{0};
  std::atomic<bool> stop{false};
  std::mutex failure;
  int64_t threw_at = std::numeric_limits<int64_t>::max();
  std::exception_ptr exception{};  // of the first range that threw

  alignas(64) std::atomic<bool> busy{false};  // one caller has the workers
  std::atomic<int> wanted{0};                 // threads, counting the caller; 0: not decided yet
  std::atomic<uint32_t> long_jobs{0};         // of kernels, so far
  std::atomic<bool> alternates{amd_family() < kZen5};
  Clock::duration unhelped{};  // the time of work done while the workers slept
  std::mutex config;
  std::vector<std::thread>* workers =
      new std::vector<std::thread>;  // after a fork the parent's are left alone

  // The half of the ticket that says the job's number: what sleepers wait on.
  std::atomic<uint32_t>& number_word() {
    static_assert(std::endian::native == std::endian::little && sizeof(ticket) == sizeof(uint64_t));
    return reinterpret_cast<std::atomic<uint32_t>*>(&ticket)[1];
  }

  Word told() const { return Word::of(ticket.load(std::memory_order_acquire)); }

  // A job's chunks lie in as many parts as there are threads. A thread takes those of its own part, in their
  // order, then what others have left of theirs, from the end: so the same thread has the same part of one
  // kernel after the other, and finds in its caches what it wrote before.
  bool claim(uint32_t thread, uint32_t& chunk) {
    const Word job_now = told();
    const uint32_t parts = job_now.parts();
    for (uint32_t i = 0; i < parts; ++i)
      if (claim_in(job_now, (thread + i) % parts, thread, chunk)) return true;
    return false;
  }
  bool claim_in(Word job_now, uint32_t part, uint32_t thread, uint32_t& chunk) {
    const Part all = part_of(job_now, part);
    uint64_t bits = left[part].load(std::memory_order_acquire);
    for (;;) {
      Word word = Word::of(bits);
      // Until somebody takes something, the word is of an earlier job, and so it changes before this job is
      // over. The first chunk is the caller's.
      if (word.number != job_now.number) {
        if (told().number != job_now.number) return false;
        word = {job_now.number, static_cast<uint16_t>(all.end),
                static_cast<uint16_t>(part == 0 ? all.begin + 1 : all.begin)};
      }
      if (word.next >= word.end) return false;
      const uint32_t taken = part == thread ? word.next++ : --word.end;
      if (left[part].compare_exchange_weak(bits, word.bits(), std::memory_order_acq_rel,
                                           std::memory_order_acquire)) {
        chunk = chunk_in(all, taken);
        return true;
      }
    }
  }
  // Those of a job that goes backwards are counted from the end of their part.
  uint32_t chunk_in(Part part, uint32_t taken) const {
    return job.backwards ? part.begin + part.end - 1 - taken : taken;
  }

  // Every other long job goes from its last block to its first: what the caches hold is what the one before
  // touched last, and an array that has no room in them would else never be found there. Not on a Zen 5,
  // whose last cache keeps a part of such an array whichever way it is walked: forwards alone, sums of 64 MiB
  // take 0.8 to 0.9 of the time there, and what writes 16 to 64 MiB 0.9.
  bool goes_back(int64_t blocks, int64_t grain) {
    constexpr int64_t kLong = 16;  // grains
    return alternates.load(std::memory_order_relaxed) && blocks / grain >= kLong &&
           long_jobs.fetch_add(1, std::memory_order_relaxed) % 2 != 0;
  }

  void execute(uint32_t chunk, uint32_t thread) {
    const int64_t begin = chunk * job.step;
    FloatScope floats(job.flush);
    try {
      job.chunk(job.context, begin, std::min(job.total, begin + job.step), thread);
    } catch (...) {
      std::lock_guard lock(failure);
      if (begin < threw_at) {
        threw_at = begin;
        exception = std::current_exception();
      }
    }
  }

  // Whether there was any.
  bool work(uint32_t thread) {
    bool any = false;
    for (uint32_t chunk; claim(thread, chunk); any = true) {
      execute(chunk, thread);
      finished.fetch_add(1, std::memory_order_seq_cst);
      if (waiting.load(std::memory_order_seq_cst)) futex_wake(finished, 1);
    }
    return any;
  }

  // The caller's part: from the first chunk on, which is his, for as long as there are any and `more()` after
  // each says so. Gives how many he did.
  template <typename More>
  uint32_t work_of_caller(bool has_first, More more) {
    uint32_t done = 0, chunk = 0;
    if (has_first) chunk = chunk_in(part_of(told(), 0), 0);
    while (has_first || claim(0, chunk)) {
      has_first = false;
      execute(chunk, 0);
      ++done;
      if (!more()) break;
    }
    return done;
  }

  // All workers sleep. A grain says what a chunk takes at least; what it takes shows when it is done. Gives
  // how many chunks the caller did before the workers were woken, or all. Who is woken in the midst of few
  // long chunks may come too late for any: then all is still unhelped, and the next job wakes them at once.
  uint32_t work_until_help_pays(uint32_t chunks) {
    const Clock::time_point begin = Clock::now();
    bool pays = unhelped + job.grains * kGrain >= kWakeAfter;
    uint32_t done = 0;
    if (pays) {
      unhelped = {};
    } else {
      Clock::duration alone = unhelped;
      done = work_of_caller(true, [&] {
        alone = unhelped + (Clock::now() - begin);
        pays = alone >= kWakeAfter;
        return !pays;
      });
      unhelped = alone;
    }
    if (pays)
      futex_wake(number_word(),
                 static_cast<int>(std::min(sleepers.load(std::memory_order_seq_cst), chunks - 1)));
    return done;
  }

  void worker(uint32_t thread) {
    pthread_setname_np(pthread_self(), fmt::format("intaglio-{}", thread).c_str());
    t_state.inside = true;
    for (;;) {
      const uint32_t before = told().number;
      for (size_t at = 0; at < offsetof(KernelJob, mutex); at += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(&kernel_job) + at);
      __builtin_prefetch(&job);
      if (stop.load(std::memory_order_acquire)) return;
      if (const int here = sched_getcpu(); here >= 0 && here == caller_at.load(std::memory_order_relaxed))
        step_aside(here, wanted.load(std::memory_order_relaxed));
      const bool helped = work(thread);
      auto changed = [&] { return told().number != before; };
      // Who is done with a part before the others stays awake for what comes next: one who has to be woken
      // comes late again, and again has less to do.
      const Clock::time_point since = Clock::now();
      bool told = spin_until(changed);
      while (!told && helped && busy.load(std::memory_order_relaxed) &&
             Clock::now() - since < kSpinBesideOthers)
        told = spin_until(changed);
      if (told) continue;
      sleepers.fetch_add(1, std::memory_order_seq_cst);
      if (!changed()) futex_wait(number_word(), before);
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
    tell(0, 0);
    futex_wake(number_word(), std::numeric_limits<int>::max());
    for (std::thread& t : *workers) t.join();
    workers->clear();
    stop.store(false, std::memory_order_release);
  }

  void after_fork_in_child() {
    workers = new std::vector<std::thread>;
    tell(0, 0);
    waiting.store(false);
    sleepers.store(0);
    // A worker of the parent's may have held these.
    new (&failure) std::mutex;
    new (&kernel_job) KernelJob;
    threw_at = std::numeric_limits<int64_t>::max();
    exception = nullptr;
    busy.store(false);
  }

  bool take() { return !busy.exchange(true, std::memory_order_acquire); }

  // A new job of so many chunks, of which the first is the caller's, for so many threads.
  void tell(uint32_t chunks, uint32_t threads) {
    const uint32_t number = Word::of(ticket.load(std::memory_order_relaxed)).number + 1;
    const Word word{number, static_cast<uint16_t>(chunks), static_cast<uint16_t>(std::min(chunks, threads))};
    ticket.store(word.bits(), std::memory_order_seq_cst);
  }

  // Shares the chunks of `job` with the workers. Under `busy`. Throws what the first range threw.
  void share(int threads) {
    start_workers(threads - 1);
    const auto available = static_cast<uint32_t>(workers->size());
    const auto count = static_cast<uint32_t>(job.chunks());
    const uint32_t before = finished.load(std::memory_order_relaxed);
    caller_at.store(sched_getcpu(), std::memory_order_relaxed);
    tell(count, available + 1);

    uint32_t own = 0;
    if (const uint32_t asleep = sleepers.load(std::memory_order_seq_cst); asleep == available)
      own = work_until_help_pays(count);
    else if (asleep > 0)
      futex_wake(number_word(), static_cast<int>(std::min(asleep, count - 1)));
    own += work_of_caller(own == 0, [] { return true; });

    if (own < count) unhelped = {};
    const uint32_t all = before + count - own;
    auto done = [&] { return finished.load(std::memory_order_acquire) == all; };
    if (!spin_until(done)) {
      waiting.store(true, std::memory_order_seq_cst);
      for (uint32_t now; (now = finished.load(std::memory_order_seq_cst)) != all;) futex_wait(finished, now);
      waiting.store(false, std::memory_order_relaxed);
    }
    if (exception) {
      threw_at = std::numeric_limits<int64_t>::max();
      std::rethrow_exception(std::exchange(exception, nullptr));
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

bool ThreadPool::set_alternating(bool alternate) { return impl_->alternates.exchange(alternate); }

void ThreadPool::set_num_threads(int64_t count) {
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
  if (static_cast<int64_t>(impl_->workers->size()) > count - 1) impl_->stop_workers();
  impl_->wanted.store(static_cast<int>(count));
}

int32_t ThreadPool::run(KernelFn kernel, const KernelArgs& proto, int64_t blocks, int64_t grain,
                        size_t scratch_bytes, size_t buffers, int64_t block_grains,
                        std::span<profile::Share> shares) {
  if (blocks <= 0) return 0;
  FloatControl control(t_state.flush);
  grain = std::max<int64_t>(grain, 1);
  int threads;
  if (!is_shared(blocks, grain) || t_state.inside || (threads = num_threads()) == 1 || !impl_->take()) {
    KernelArgs args = proto;
    args.thread = 0;
    if (scratch_bytes) args.scratch = t_state.scratch_of(scratch_bytes);
    int64_t words[2] = {0, 0};
    if (!args.error) args.error = words;
    if (!impl_->goes_back(blocks, grain)) return kernel(&args, 0, blocks);
    constexpr int kParts = 4;  // parts are as small as for so many threads
    const int64_t step = chunk_step(blocks, grain, kParts);
    int32_t code = 0;
    for (int64_t begin = (blocks - 1) / step * step; begin >= 0; begin -= step)
      if (int32_t failed = kernel(&args, begin, std::min(blocks, begin + step))) code = failed;
    return code;  // of the lowest part that failed, and so are its words
  }
  Leave leave{impl_->busy};
  InsideCall inside;
  KernelJob& work = impl_->kernel_job;
  work.prepare(kernel, proto, buffers, scratch_bytes, shares);
  impl_->job = {[](void* context, int64_t begin, int64_t end, uint32_t thread) {
                  (*static_cast<KernelJob*>(context))(begin, end, thread);
                },
                &work,
                blocks,
                chunk_step(blocks, grain, threads),
                grains_of(blocks, grain, block_grains),
                impl_->goes_back(blocks, grain)};
  impl_->share(threads);
  if (work.code && proto.error) {
    proto.error[0] = work.error[0];
    proto.error[1] = work.error[1];
  }
  return work.code;
}

void* ThreadPool::scratch_here(size_t bytes) { return t_state.scratch_of(bytes); }

void ThreadPool::parallel_for(int64_t n, int64_t grain, RangeBody body, int64_t index_grains) {
  if (n <= 0) return;
  FloatControl control(t_state.flush);
  grain = std::max<int64_t>(grain, 1);
  int threads;
  if (!is_shared(n, grain) || t_state.inside || (threads = num_threads()) == 1 || !impl_->take()) {
    body(0, n);
    return;
  }
  Leave leave{impl_->busy};
  InsideCall inside;
  impl_->job = {[](void* context, int64_t begin, int64_t end, uint32_t) {
                  (*static_cast<RangeBody*>(context))(begin, end);
                },
                &body, n, chunk_step(n, grain, threads), grains_of(n, grain, index_grains)};
  impl_->share(threads);
}

}  // namespace ig::rt
