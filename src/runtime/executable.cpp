// Running. A State is what one run at a time has: an arena and the tables of pointers that the instructions
// read; it is kept between runs, so in steady state only the pointers to inputs and outputs are written anew.
#include "runtime/executable.h"

#include <time.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/executable_code.h"
#include "runtime/thread_pool.h"
#include "support/units.h"

namespace ig::rt {
namespace {

constexpr size_t kUnbound = SIZE_MAX;
constexpr size_t kMaxPlans = 64;
constexpr int64_t kPollEveryNs = 20'000'000;
constexpr int64_t kStepsAtOnce = 256;  // of a loop in one kernel, each a few microseconds at most

std::atomic<LoopPoll> g_loop_poll{nullptr};

// Calls the poll function now and then. The coarse clock costs a few nanoseconds.
class LoopWatch {
 public:
  explicit LoopWatch(bool polls)
      : poll_(polls ? g_loop_poll.load(std::memory_order_relaxed) : nullptr), last_(poll_ ? now() : 0) {}
  void tick() {
    if (!poll_) return;
    int64_t time = now();
    if (time - last_ < kPollEveryNs) return;
    last_ = time;
    poll_();
  }

 private:
  static int64_t now() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
  }
  LoopPoll poll_;
  int64_t last_;
};

// The two are the same memory, or apart. Large arrays are copied by all threads.
void copy_bytes(void* to, const void* from, size_t bytes) {
  constexpr int64_t kPart = int64_t{256} << 10;
  if (to == from || bytes == 0) return;
  const auto parts = static_cast<int64_t>(bytes) / kPart;
  auto copy = [&](int64_t begin, int64_t end) {
    const auto first = static_cast<size_t>(begin * kPart);
    const size_t last = end == parts ? bytes : static_cast<size_t>(end * kPart);
    std::memcpy(static_cast<char*>(to) + first, static_cast<const char*>(from) + first, last - first);
  };
  if (parts < 2)
    std::memcpy(to, from, bytes);
  else
    ThreadPool::instance().parallel_for(parts, 1, copy);
}

void add(KernelCounts& to, const KernelCounts& from) {
  to.compiled += from.compiled;
  to.prebuilt += from.prebuilt;
  to.fallback += from.fallback;
}

void count(KernelCounts& counts, Origin origin) {
  switch (origin) {
    case Origin::Compiled: ++counts.compiled; break;
    case Origin::Prebuilt: ++counts.prebuilt; break;
    case Origin::Fallback: ++counts.fallback; break;
  }
}

}  // namespace

void set_loop_poll(LoopPoll poll) { g_loop_poll.store(poll, std::memory_order_relaxed); }

struct Executable::State {
  // The pointers that the instructions read.
  struct Tables {
    std::vector<void*> pointers;
    std::vector<void*> work;
    std::vector<size_t> bound;  // of each block: the base that its arena pointers were made for

    explicit Tables(const Code& code)
        : pointers(static_cast<size_t>(code.pointers)), work(static_cast<size_t>(code.work)) {
      unbind(code);
    }
    void unbind(const Code& code) { bound.assign(code.blocks.size(), kUnbound); }
  };
  // Of each step that may run at once with others: scratch of loops that are one kernel, what it launched,
  // and its own tables where the others run the same instructions.
  struct Lane {
    Storage scratch;
    KernelCounts launched;
    std::unique_ptr<Tables> tables;
  };
  std::shared_ptr<const Sized> sized;
  Storage arena;
  std::vector<Lane> lanes;
  Tables tables;
  std::vector<void*> targets;  // of the run's outputs

  State(const Code& code, size_t outputs)
      : lanes(static_cast<size_t>(code.widest)), tables(code), targets(outputs) {}
};

std::shared_ptr<const Executable::Sized> Executable::sized_for(std::span<const int64_t> used) const {
  {
    std::lock_guard lock(mutex_);
    auto known = std::ranges::find_if(plans_, [&](const auto& s) { return fits(*s, used); });
    if (known != plans_.end()) return last_ = *known;
  }
  auto made = plan(used);  // outside the lock; two threads may both plan, with the same result
  std::lock_guard lock(mutex_);
  if (plans_.size() >= kMaxPlans) plans_.erase(plans_.begin());
  plans_.push_back(made);
  return last_ = made;
}

// Memory for temporaries or a result. What does not fit is told with the plan's largest arrays, since those
// are what the user can change.
Storage Executable::reserve(const Sized& sized, size_t bytes) const {
  try {
    return Storage::allocate(bytes);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Memory) throw;
    struct Held {
      size_t bytes;
      BlockId block;
      SlotId slot;
    };
    std::vector<Held> held;
    for (size_t b = 0; b < program_.blocks.size(); ++b)
      for (size_t s = 0; s < program_.blocks[b].slots.size(); ++s) {
        const Slot& slot = program_.blocks[b].slots[s];
        if (slot.kind == SlotKind::Arena || (slot.kind == SlotKind::Output && b == 0))
          held.push_back(
              {checked_bytes(program_, sized[slot.bytes]), static_cast<BlockId>(b), static_cast<SlotId>(s)});
      }
    std::ranges::stable_sort(held, std::ranges::greater(), &Held::bytes);
    constexpr size_t kShown = 5;
    std::string largest;
    for (size_t i = 0; i < std::min(held.size(), kShown); ++i)
      largest += fmt::format("\n    {}: {}", readable_bytes(held[i].bytes),
                             program_.describe ? program_.describe(held[i].block, held[i].slot) : "an array");
    throw make_error(ErrorKind::Memory, "{}: the plan needs {} for temporaries and {} for results",
                     program_.name, readable_bytes(sized.blocks[0].total),
                     readable_bytes(sized.planned_outputs))
        .why(fmt::format("{}; the largest arrays of the plan are{}", error.why_text(), largest))
        .hint(error.hint_text());
  }
}

// So many grains that workers are woken at once.
constexpr int64_t kMuchWork = 1'000'000;

class Executable::Runner {
 public:
  Runner(const Executable& executable, State& state, void* const* inputs)
      : executable_(executable),
        program_(executable.program_),
        code_(*executable.code_),
        sized_(*state.sized),
        state_(state),
        tables_(&state.tables),
        arena_(static_cast<char*>(state.arena.data())),
        pool_(ThreadPool::instance()),
        program_inputs_(inputs) {}

  // Of one step beside others.
  Runner(Runner& whole, size_t lane, bool polls)
      : Runner(whole.executable_, whole.state_, whole.program_inputs_) {
    lane_ = lane;
    polls_ = polls;
    is_alone_ = false;
  }
  ~Runner() {
    if (!is_alone_) add(state_.lanes[lane_].launched, launched);
  }
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  KernelCounts launched;

  void run(void* const* outputs) {
    if (!recording_) return run_block(0, 0, program_inputs_, outputs);
    const profile::Clock::time_point begin = profile::Clock::now();
    run_block(0, 0, program_inputs_, outputs);
    record(profile::Kind::Call, kWholeProgram, 0, {.begin = begin, .end = profile::Clock::now()});
  }

 private:
  void run_block(BlockId id, size_t base, void* const* inputs, void* const* outputs) {
    const BlockCode& code = code_.blocks[static_cast<size_t>(id)];
    if (tables_->bound[static_cast<size_t>(id)] != base) bind(id, base);
    for (const Patch& p : code.inputs) pointer(p.pointer) = inputs[p.index];
    for (const Patch& p : code.program_inputs) pointer(p.pointer) = program_inputs_[p.index];
    for (const Patch& p : code.outputs) pointer(p.pointer) = outputs[p.index];
    auto group = code.groups.begin();
    for (size_t i = 0; i < code.steps.size(); ++i) {
      if (group != code.groups.end() && static_cast<int32_t>(i) == group->begin) {
        const Group& now = *group++;
        if (is_alone_ && !recording_ && pool_.num_threads() > 1) {
          run_group(now, code, id, base);
          i = static_cast<size_t>(now.end) - 1;
          continue;
        }
      }
      if (recording_ && runs(code.steps[i]))
        recorded(code.steps[i], id, i, base);
      else
        execute(code.steps[i], id, i, base);
    }
  }

  // Steps that need nothing of each other.
  void run_group(const Group& group, const BlockCode& code, BlockId id, size_t base) {
    auto one_by_one = [&] {
      for (auto i = static_cast<size_t>(group.begin); i < static_cast<size_t>(group.end); ++i)
        execute(code.steps[i], id, i, base);
    };
    auto of_lane = [&](Runner& lane, int64_t k) {
      const auto i = static_cast<size_t>(group.begin + k);
      lane.execute(code.steps[i], id, i, base);
    };
    try_both(group.trial, one_by_one, [&] { run_lanes(group.end - group.begin, of_lane); });
  }

  // Runs what may run in two ways in the one that is to be tried, or is the quicker one.
  void try_both(int32_t number, auto one_by_one, auto at_once) {
    Trial& trial = sized_.trials[static_cast<size_t>(number)];
    const auto [way, timed] = trial.next();
    const profile::Clock::time_point start = timed ? profile::Clock::now() : profile::Clock::time_point();
    if (way == Trial::OneByOne)
      one_by_one();
    else
      at_once();
    if (timed) trial.took(way, std::chrono::nanoseconds(profile::Clock::now() - start).count());
  }

  // Each lane on a thread, as far as there are threads.
  void run_lanes(int64_t lanes, auto of_lane) {
    const std::thread::id caller = std::this_thread::get_id();
    auto some = [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        Runner lane(*this, static_cast<size_t>(k), std::this_thread::get_id() == caller);
        of_lane(lane, k);
      }
    };
    pool_.parallel_for(lanes, 1, some, kMuchWork);
    for (State::Lane& lane : state_.lanes) add(launched, std::exchange(lane.launched, {}));
  }

  // Of kernels for some sizes alone: whether these are such.
  bool runs(const Step& step) const {
    const auto* call = std::get_if<KernelCall>(step.source);
    return !call || call->when < 0 || sized_[call->when] != 0;
  }

  void execute(const Step& step, BlockId id, size_t at, size_t base) {
    if (!runs(step)) return;
    void** operands = &pointer(step.first_pointer);
    switch (step.source->index()) {
      case 0: kernel(*std::get_if<KernelCall>(step.source), step, operands); break;
      case 1: {
        const auto& copy = *std::get_if<Copy>(step.source);
        copy_bytes(operands[1], operands[0], checked_bytes(program_, sized_[copy.bytes]));
        break;
      }
      case 2: condition(*std::get_if<Cond>(step.source), child(id, at, base), operands); break;
      case 3: loop(*std::get_if<While>(step.source), step, id, at, base, operands); break;
      case 4: scan(*std::get_if<Scan>(step.source), step, id, at, base, operands); break;
      case 5: {
        const auto& call = *std::get_if<Call>(step.source);
        run_block(call.body, child(id, at, base), operands, operands + call.inputs.size());
        break;
      }
      default: host(*std::get_if<Host>(step.source), step, operands);
    }
  }

  // Runs a step and tells the profile.
  void recorded(const Step& step, BlockId id, size_t at, size_t base) {
    using profile::Kind;
    static constexpr Kind kKinds[] = {Kind::Kernel,  Kind::Copy,    Kind::Control, Kind::Control,
                                      Kind::Control, Kind::Control, Kind::Host};
    const Kind kind = kKinds[step.source->index()];
    shares_.assign(kind == Kind::Kernel ? static_cast<size_t>(pool_.num_threads()) : 0, {});
    profile::Sample sample;
    sample.begin = profile::Clock::now();
    execute(step, id, at, base);
    sample.end = profile::Clock::now();
    if (kind != Kind::Control)  // its steps tell theirs
      for (SlotId slot : operands_of(*step.source))
        sample.bytes += static_cast<int64_t>(slot_bytes(program_.blocks[static_cast<size_t>(id)], slot));
    if (kind == Kind::Kernel) sample.shares = shares_;
    record(kind, id, at, sample);
  }

  void record(profile::Kind kind, BlockId id, size_t at, const profile::Sample& sample) {
    const std::shared_ptr<const InstructionDescriber>& facts = program_.facts;
    auto describe = [&]() -> profile::Describe { return [facts, id, at] { return (*facts)(id, at); }; };
    profile::add(kind, {facts.get(), int64_t{id} << 32 | static_cast<int64_t>(at)}, describe, sample);
  }

  void*& pointer(int32_t index) { return tables_->pointers[static_cast<size_t>(index)]; }
  const BlockPlan& plan_of(BlockId id) const { return sized_.blocks[static_cast<size_t>(id)]; }
  size_t child(BlockId id, size_t step, size_t base) const { return base + plan_of(id).child[step]; }
  const int64_t* dims(const Step& step) const { return sized_.dims.data() + step.first_dim; }

  // Writes the pointers that depend only on where the block's part of the arena begins.
  void bind(BlockId id, size_t base) {
    const Block& block = program_.blocks[static_cast<size_t>(id)];
    const BlockCode& code = code_.blocks[static_cast<size_t>(id)];
    for (size_t k = 0; k < code.operands.size(); ++k) {
      auto slot_id = static_cast<size_t>(code.operands[k]);
      const Slot& slot = block.slots[slot_id];
      void*& target = tables_->pointers[static_cast<size_t>(code.first_pointer) + k];
      if (slot.kind == SlotKind::Arena) target = arena_ + base + plan_of(id).slots[slot_id];
      if (slot.kind == SlotKind::Constant)
        target = program_.constants[static_cast<size_t>(slot.index)].data();
    }
    tables_->bound[static_cast<size_t>(id)] = base;
  }

  void kernel(const KernelCall& call, const Step& step, void** operands) {
    int64_t error[2] = {-1, 0};
    KernelArgs args;
    args.buffers = operands;
    args.dims = dims(step);
    args.error = error;
    count(launched, call.origin);
    auto scratch = call.scratch < 0 ? size_t{0} : static_cast<size_t>(sized_[call.scratch]);
    if (call.steps != KernelSteps::None) return all_steps(call, args, error, scratch);
    int64_t blocks = sized_[call.blocks], grain = call.grain, block_grains = call.block_grains;
    if (call.grains >= 0 && blocks > 0) {
      const int64_t all = std::max<int64_t>(1, sized_[call.grains]);
      grain = std::max<int64_t>(1, blocks / all), block_grains = std::max<int64_t>(1, all / blocks);
    }
    int32_t code = 0;
    if (ThreadPool::is_shared(blocks, grain)) {
      code = pool_.run(call.kernel, args, blocks, grain, scratch, call.buffers.size(), block_grains, shares_);
    } else if (blocks > 0) {
      // Too little for a second thread: called at once. The run has set the floating-point control word.
      if (scratch) args.scratch = ThreadPool::scratch_here(scratch);
      code = call.kernel(&args, 0, blocks);
    }
    if (code) executable_.fail(error, code);
  }

  // A loop as one kernel: some steps at a time, so that an interrupt is seen.
  void all_steps(const KernelCall& call, KernelArgs& args, int64_t (&error)[2], size_t scratch_bytes) {
    Storage& own = state_.lanes[lane_].scratch;
    if (own.bytes() < scratch_bytes) {
      own = Storage();
      own = Storage::allocate(scratch_bytes);
    }
    args.scratch = own.data();
    int64_t end = call.steps == KernelSteps::Until ? INT64_MAX : sized_[call.blocks];
    LoopWatch watch(polls_);
    for (int64_t step = 0; step < end;) {
      int64_t next = end - step > kStepsAtOnce ? step + kStepsAtOnce : end;
      if (int32_t code = call.kernel(&args, step, next)) {
        if (call.steps == KernelSteps::Until && error[0] == int64_t{kLoopDone}) return;
        if (call.fail) call.fail(error[0], error[1]);
        executable_.fail(error, code);
      }
      step = next;
      watch.tick();
    }
  }

  void host(const Host& call, const Step& step, void** operands) {
    int64_t error[2] = {-1, 0};
    FloatScope kept(false);
    if (call.fallback) ++launched.fallback;
    if (int32_t code = call.function(call.context.get(), operands, dims(step), error))
      executable_.fail(error, code);
  }

  void condition(const Cond& cond, size_t base, void** operands) {
    int64_t choice = 0;
    if (cond.selector_bytes == 1) {
      choice = *static_cast<const uint8_t*>(operands[0]) != 0;
    } else if (cond.selector_bytes == 4) {
      int32_t narrow;
      std::memcpy(&narrow, operands[0], sizeof narrow);
      choice = narrow;
    } else {
      std::memcpy(&choice, operands[0], sizeof choice);
    }
    auto last = static_cast<int64_t>(cond.branches.size()) - 1;
    if (choice < 0 || choice > last) choice = last;
    run_block(cond.branches[static_cast<size_t>(choice)], base, operands + 1,
              operands + 1 + cond.inputs.size());
  }

  // The carry goes back and forth between the results and the spare buffers; the first step reads `init`
  // where it lies. What the body changes in place stays in the results.
  void loop(const While& w, const Step& step, BlockId id, size_t at, size_t base, void** operands) {
    size_t consts = w.consts.size(), carries = w.init.size();
    void** const init = operands + consts;
    void** const results = init + carries;
    void** const in = &tables_->work[static_cast<size_t>(step.first_work)];
    void** const current = in + consts;
    void** const next = current + carries;
    const std::vector<size_t>& spares = plan_of(id).spares[at];
    auto spare = [&](size_t k) { return static_cast<void*>(arena_ + base + spares[k]); };
    std::copy_n(operands, consts, in);
    for (size_t k = 0; k < carries; ++k)
      current[k] = w.in_place[k] ? brought(w, k, id, init, results) : init[k];
    void* flag = spare(carries);
    size_t body_base = child(id, at, base);
    LoopWatch watch(polls_);
    for (;;) {
      run_block(w.cond, body_base, in, &flag);
      if (*static_cast<const uint8_t*>(flag) == 0) break;
      for (size_t k = 0; k < carries; ++k)
        next[k] = w.in_place[k] || current[k] != results[k] ? results[k] : spare(k);
      run_block(w.body, body_base, in, next);
      std::copy_n(next, carries, current);
      watch.tick();
    }
    const Block& block = program_.blocks[static_cast<size_t>(id)];
    for (size_t k = 0; k < carries; ++k) copy_bytes(results[k], current[k], slot_bytes(block, w.results[k]));
  }

  // What a loop carries in place begins in its result.
  template <class Loop>
  void* brought(const Loop& loop, size_t k, BlockId id, void* const* init, void* const* results) {
    copy_bytes(results[k], init[k], slot_bytes(program_.blocks[static_cast<size_t>(id)], loop.results[k]));
    return results[k];
  }

  // Where steps may run at once, each lane has as many of them; what is left over has all threads.
  void scan(const Scan& s, const Step& step, BlockId id, size_t at, size_t base, void** operands) {
    const int64_t trips = std::max<int64_t>(sized_[s.trips], 0);
    const size_t body = child(id, at, base);
    auto some = [&](Runner& runner, size_t part, int64_t begin, int64_t end) {
      runner.steps(s, step, id, at, base, part, operands, {begin, end, trips});
    };
    auto one_by_one = [&] { some(*this, body, 0, trips); };
    const int64_t lanes = is_alone_ && !recording_ ? std::min(plan_of(id).lanes[at], pool_.num_threads()) : 1;
    if (lanes < 2) return one_by_one();
    add_lanes(static_cast<size_t>(lanes));
    const int64_t each = trips / lanes;
    auto of_lane = [&](Runner& lane, int64_t k) {
      lane.tables_ = state_.lanes[static_cast<size_t>(k)].tables.get();
      some(lane, body + static_cast<size_t>(k) * sized_.blocks[static_cast<size_t>(s.body)].total, k * each,
           (k + 1) * each);
    };
    try_both(step.trial, one_by_one, [&] {
      run_lanes(lanes, of_lane);
      some(*this, body, lanes * each, trips);
    });
  }

  // Lanes with tables of their own; they stay.
  void add_lanes(size_t lanes) {
    if (state_.lanes.size() < lanes) state_.lanes.resize(lanes);
    for (State::Lane& lane : std::span(state_.lanes).first(lanes))
      if (!lane.tables) lane.tables = std::make_unique<State::Tables>(code_);
  }

  // Steps [begin, end) of a scan's, by the order in which they run, with what the body keeps at `body_base`.
  struct Steps {
    int64_t begin, end, trips;
  };
  void steps(const Scan& s, const Step& step, BlockId id, size_t at, size_t base, size_t body_base,
             void** operands, const Steps& range) {
    const int64_t trips = range.trips;
    size_t consts = s.consts.size(), carries = s.init.size(), xs = s.xs.size(), ys = s.ys.size();
    void** const init = operands + consts;
    void** const results = init + carries;
    void** const x = results + carries;
    void** const y = x + xs;
    void** const in = &tables_->work[static_cast<size_t>(step.first_work)];
    void** const current = in + consts;
    void** const x_slice = current + carries;
    void** const out = x_slice + xs;
    void** const y_slice = out + carries;
    const std::vector<size_t>& spares = plan_of(id).spares[at];
    auto spare = [&](size_t k) { return static_cast<void*>(arena_ + base + spares[k]); };
    auto bytes = [&](size_t k) { return slot_bytes(program_.blocks[static_cast<size_t>(id)], s.results[k]); };
    std::copy_n(operands, consts, in);
    for (size_t k = 0; k < carries; ++k) {
      current[k] = s.in_place[k] ? brought(s, k, id, init, results) : init[k];
      if (s.in_place[k]) continue;
      // A carry in the memory of its own result, and an odd number of steps: the first would write what it
      // reads.
      if (init[k] == results[k] && trips % 2 == 1) {
        current[k] = spare(k);
        copy_bytes(current[k], init[k], bytes(k));
      }
      if (trips == 0) copy_bytes(results[k], init[k], bytes(k));
    }
    LoopWatch watch(polls_);
    for (int64_t n = range.begin; n < range.end; ++n) {
      int64_t i = s.reverse ? trips - 1 - n : n;
      // The last step writes the results.
      for (size_t k = 0; k < carries; ++k)
        out[k] = s.in_place[k] || (trips - 1 - n) % 2 == 0 ? results[k] : spare(k);
      for (size_t k = 0; k < xs; ++k) x_slice[k] = static_cast<char*>(x[k]) + i * sized_[s.x_bytes[k]];
      for (size_t k = 0; k < ys; ++k) y_slice[k] = static_cast<char*>(y[k]) + i * sized_[s.y_bytes[k]];
      run_block(s.body, body_base, in, out);
      std::copy_n(out, carries, current);
      watch.tick();
    }
  }

  size_t slot_bytes(const Block& block, SlotId id) const {
    return static_cast<size_t>(sized_[block.slots[static_cast<size_t>(id)].bytes]);
  }

  const Executable& executable_;
  const Program& program_;
  const Code& code_;
  const Sized& sized_;
  State& state_;
  State::Tables* tables_;
  char* arena_;
  ThreadPool& pool_;
  void* const* program_inputs_;
  size_t lane_ = 0;
  bool polls_ = true;
  bool is_alone_ = true;  // no other step of the run is at work meanwhile
  const bool recording_ = profile::is_on() && !profile::is_inside();
  std::vector<profile::Share> shares_;  // of the step that is being recorded
};

namespace {

// What instructions say of themselves, of a program that came without a word about them.
std::shared_ptr<const InstructionDescriber> own_names(const Program& program) {
  std::vector<std::vector<std::string>> names;
  for (const Block& block : program.blocks) {
    names.emplace_back();
    for (const Instruction& instruction : block.code) {
      const auto* kernel = std::get_if<KernelCall>(&instruction);
      const auto* host = std::get_if<Host>(&instruction);
      names.back().push_back(kernel ? kernel->name : host ? host->name : "");
    }
  }
  auto facts = [names = std::move(names), program = program.name](BlockId block, size_t at) {
    profile::Facts out;
    out.program = program;
    out.name = block == kWholeProgram ? program : names[static_cast<size_t>(block)][at];
    return out;
  };
  return std::make_shared<const InstructionDescriber>(std::move(facts));
}

}  // namespace

Executable::Executable(Program program) : program_(std::move(program)) {
  code_ = std::make_unique<const Code>(Code::build(program_));
  if (!program_.facts) program_.facts = own_names(program_);
  for (const Block& block : program_.blocks)
    for (const Instruction& instruction : block.code) {
      if (const auto* k = std::get_if<KernelCall>(&instruction)) count(counts_, k->origin);
      if (const auto* h = std::get_if<Host>(&instruction)) counts_.fallback += h->fallback;
    }
  if (program_.sizes.symbols() == 0) sized_for({});
  small_ = Small::of(*this);
}

Executable::~Executable() = default;

void Executable::fail(const int64_t (&error)[2], int32_t code) const {
  if (program_.decode) throw program_.decode(error[0], error[1], code);
  throw make_error(ErrorKind::Internal, "{}: node {} failed with code {} on the value {}", program_.name,
                   error[0], code, error[1])
      .why("the program came without a table of its checks")
      .hint("this is a fault in Intaglio; please report it with the program that shows it");
}

void Executable::run(std::span<void* const> inputs, std::span<const int64_t> symbol_values,
                     std::span<Storage> outputs) const {
  IG_CHECK(inputs.size() == static_cast<size_t>(this->inputs()) &&
               outputs.size() == static_cast<size_t>(this->outputs()),
           "{}: run with {} inputs and {} outputs, has {} and {}", program_.name, inputs.size(),
           outputs.size(), this->inputs(), this->outputs());
  FloatScope floats(program_.flush_denormals);
  std::span<const int64_t> used =
      symbol_values.first(std::min(symbol_values.size(), static_cast<size_t>(program_.sizes.symbols())));

  // The state goes back to the idle ones whatever happens.
  struct Lease {
    const Executable& owner;
    std::unique_ptr<State> state;
    KernelCounts launched{};
    size_t held = 0;
    bool ready = false;  // the state is that of a run of these very sizes, and the last one

    Lease(const Executable& o, std::span<const int64_t> sizes) : owner(o) {
      std::lock_guard lock(owner.mutex_);
      if (owner.idle_.empty()) return;
      state = std::move(owner.idle_.back());
      owner.idle_.pop_back();
      ready = state->sized && state->sized == owner.last_ && owner.fits(*state->sized, sizes);
    }
    ~Lease() {
      constexpr size_t kLarge = size_t{1} << 20;
      if (state && !owner.program_.keeps_arena && state->arena.bytes() > kLarge)
        state->arena = Storage(), state->sized = nullptr;
      std::lock_guard lock(owner.mutex_);
      add(owner.launched_, launched);
      owner.measured_peak_ = std::max(owner.measured_peak_, held);
      ++owner.runs_;
      if (state) owner.idle_.push_back(std::move(state));
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
  } lease(*this, used);

  if (!lease.state) {
    lease.state = std::make_unique<State>(*code_, outputs.size());
  }
  State& state = *lease.state;
  if (!lease.ready) {
    std::shared_ptr<const Sized> sized = sized_for(used);
    if (state.sized != sized) {
      state.sized = nullptr;
      size_t total = sized->blocks[0].total;
      if (state.arena.bytes() < total) {
        state.arena = Storage();
        state.arena = reserve(*sized, total);
      }
      state.tables.unbind(*code_);
      for (State::Lane& lane : state.lanes)
        if (lane.tables) lane.tables->unbind(*code_);
      state.sized = std::move(sized);
    }
  }
  const Sized& sized = *state.sized;
  lease.held = state.arena.bytes();

  for (size_t i = 0; i < outputs.size(); ++i) {
    size_t bytes = sized.output_bytes[i];
    if (!outputs[i]) {
      outputs[i] = reserve(sized, bytes);
      lease.held += bytes;
    }
    IG_CHECK(outputs[i].bytes() >= bytes && !outputs[i].read_only(),
             "{}: the memory for output {} does not fit", program_.name, i);
    state.targets[i] = outputs[i].data();
  }

  Runner runner(*this, state, inputs.data());
  try {
    runner.run(state.targets.data());
  } catch (...) {
    lease.launched = runner.launched;
    throw;
  }
  lease.launched = runner.launched;
}

RunReport Executable::report() const {
  std::lock_guard lock(mutex_);
  RunReport report;
  if (last_) {
    report.planned_arena = last_->blocks[0].total;
    report.planned_outputs = last_->planned_outputs;
    report.planned_peak = report.planned_arena + report.planned_outputs;
    report.lower_bound = last_->blocks[0].lower_bound;
  }
  report.measured_peak = measured_peak_;
  report.runs = runs_;
  report.kernels = counts_;
  report.launched = launched_;
  if (int64_t runs = small_ ? small_->runs.load(std::memory_order_relaxed) : 0) {
    report.measured_peak = std::max(report.measured_peak, report.planned_peak);
    report.runs += runs;
    add(report.launched, {counts_.compiled * runs, counts_.prebuilt * runs, counts_.fallback * runs});
  }
  return report;
}

void Executable::release_arenas() const {
  std::lock_guard lock(mutex_);
  idle_.clear();
}

}  // namespace ig::rt
