// Each distinct function (by content and target) becomes machine code once in the process, whoever asks
// first: what is prebuilt or on disk is taken from there, the rest is compiled on as many threads as allowed.
#include "codegen/jit.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "codegen/compiler_library.h"
#include "codegen/object_cache.h"
#include "loop/canonical.h"
#include "runtime/prebuilt.h"
#include "support/error.h"
#include "support/stop.h"

namespace ig::codegen {
namespace {

// Compiled functions of the process, for ever: code is a few kilobytes, and programs ask for the same kernels
// again.
struct Cache {
  std::mutex mutex;
  std::unordered_map<Hash128, std::shared_future<Compiled>> entries;
};

Cache& cache() {
  static auto* all = new Cache;
  return *all;
}

// Whether the prebuilt kernels are what this target asks for: the host's own, or those of the level by that
// name.
bool takes_prebuilt(const Target& target) {
  return target == Target::host() || target.name == fmt::format("x86-64-v{}", rt::prebuilt_level());
}

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// A distinct function of those that are asked for, with the text that identifies it.
struct Job {
  const loop::Function* function;
  Hash128 key;  // in the table of the process
  std::string text;
  std::shared_future<Compiled> found;  // where the table had it
  bool own = false;                    // it came into the table by this job
};

// What the cache on disk has for this key, loaded.
std::shared_ptr<const Code> load_cached(ObjectCache& disk, const Digest& key) {
  std::optional<std::string> object = disk.find(key);
  if (!object) return nullptr;
  try {
    return std::make_shared<const Code>(*object);
  } catch (const Error&) {
    disk.reject();
    return nullptr;
  }
}

// The kernel of a text where it is prebuilt or on disk.
std::optional<Compiled> find_one(std::string_view text, const Target& target, ObjectCache& disk) {
  if (takes_prebuilt(target)) {
    if (const auto* ready = rt::find_prebuilt(rt::prebuilt_key_of_function(hash128(text))))
      return Compiled{.fn = ready->kernel(), .code = nullptr, .prebuilt = true};
  }
  auto start = Clock::now();
  if (!disk.enabled()) return std::nullopt;
  Compiled out;
  out.code = load_cached(disk, disk.key(text));
  if (!out.code) return std::nullopt;
  out.fn = out.code->find("kernel");
  out.cached = out.fresh = true;
  out.milliseconds = ms_since(start);
  return out;
}

Compiled compile_one(const loop::Function& function, std::string_view text, const Target& target,
                     ObjectCache& disk) {
  auto start = Clock::now();
  Compiled out;
  const loop::Function* functions[] = {&function};
  const std::string symbols[] = {"kernel"};
  std::string object = compile_object(functions, symbols, target);
  out.code = std::make_shared<const Code>(object);
  if (disk.enabled()) disk.store(disk.key(text), object);
  out.fn = out.code->find("kernel");
  out.fresh = true;
  out.milliseconds = ms_since(start);
  return out;
}

// What the table of the process has for this job, or will have soon; false where it has nothing.
bool is_known(Job& job) {
  std::lock_guard lock(cache().mutex);
  if (auto at = cache().entries.find(job.key); at != cache().entries.end()) job.found = at->second;
  return job.found.valid();
}

// Puts into the table what `make` makes, an error for whoever waits for it too, unless another one was first.
// A job is claimed only when its turn has come, so that nobody waits for one that is still to come.
template <typename Make>
void claim(Job& job, Make&& make) {
  std::promise<Compiled> promise;
  {
    std::lock_guard lock(cache().mutex);
    auto [at, fresh] = cache().entries.try_emplace(job.key);
    if (fresh) at->second = promise.get_future().share();
    job.found = at->second;
    job.own = fresh;
  }
  if (!job.own) return;
  try {
    promise.set_value(make());
  } catch (...) {
    // Whoever asks later tries again.
    std::lock_guard lock(cache().mutex);
    cache().entries.erase(job.key);
    promise.set_exception(std::current_exception());
  }
}

// How a function is known in the table of the process.
Hash128 process_key(std::string_view text, const Target& target) {
  return hash128(hash128(text).hex() + "|" + target.name);
}

std::string text_of(const loop::Function& function, const Target& target, Form form) {
  const loop::Function* one = &function;
  return compiler_library().generate({&one, 1}, {&function.name, 1}, target, form);
}

}  // namespace

std::string_view llvm_version() { return compiler_library().llvm_version; }

std::string compile_object(std::span<const loop::Function* const> functions,
                           std::span<const std::string> symbols, const Target& target) {
  return compiler_library().generate(functions, symbols, target, Form::Object);
}

std::string compile_assembly(const loop::Function& function, const Target& target) {
  return text_of(function, target, Form::Assembly);
}

std::string compile_ir(const loop::Function& function, const Target& target, bool optimised) {
  return text_of(function, target, optimised ? Form::OptimisedIr : Form::Ir);
}

std::vector<Compiled> compile(std::span<const loop::Function* const> functions, const Target& target,
                              int threads, const std::stop_token& stop) {
  ObjectCache disk(target);
  std::vector<Job> jobs;
  std::vector<size_t> job_of(functions.size());
  std::unordered_map<Hash128, size_t> distinct;
  for (size_t i = 0; i < functions.size(); ++i) {
    std::string text = loop::canonical_text(*functions[i]);
    const Hash128 key = process_key(text, target);
    auto [at, fresh] = distinct.try_emplace(key, jobs.size());
    if (fresh) jobs.push_back({functions[i], key, std::move(text), {}});
    job_of[i] = at->second;
  }
  // What is at hand is taken by this thread: that is over sooner than another one has started.
  std::vector<Job*> left;
  for (Job& job : jobs) {
    if (is_known(job)) continue;
    if (auto found = find_one(job.text, target, disk))
      claim(job, [&] { return *std::move(found); });
    else
      left.push_back(&job);
  }
  // The long ones first, so that no thread is left alone with one at the end.
  std::ranges::stable_sort(left, std::greater(), [](const Job* job) { return job->text.size(); });
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t j = next++; j < left.size() && !stop.stop_requested(); j = next++)
      claim(*left[j], [&] { return compile_one(*left[j]->function, left[j]->text, target, disk); });
  };
  std::vector<std::thread> helpers;
  auto wanted = std::min(left.size(), static_cast<size_t>(std::max(threads, 1)));
  for (size_t t = 1; t < wanted; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  leave_if(stop);
  std::vector<Compiled> out;
  std::vector<bool> told(jobs.size(), false);
  for (size_t j : job_of) {
    out.push_back(jobs[j].found.get());
    // The first function that has this code.
    out.back().fresh = jobs[j].own && !told[j] && !out.back().prebuilt;
    told[j] = true;
  }
  return out;
}

std::optional<std::vector<Compiled>> find_compiled(std::span<const loop::Function* const> functions,
                                                   const Target& target) {
  ObjectCache disk(target);
  std::vector<Compiled> out;
  for (const loop::Function* function : functions) {
    const std::string text = loop::canonical_text(*function);
    const Hash128 key = process_key(text, target);
    std::shared_future<Compiled> known;
    {
      std::lock_guard lock(cache().mutex);
      if (auto at = cache().entries.find(key); at != cache().entries.end()) known = at->second;
    }
    // What another thread is compiling is not at hand yet, and may come to nothing.
    const bool ready = known.valid() && known.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    if (known.valid() && !ready) return std::nullopt;
    if (!ready) {
      std::optional<Compiled> found = find_one(text, target, disk);
      if (!found) return std::nullopt;
      std::promise<Compiled> promise;
      promise.set_value(*found);
      std::lock_guard lock(cache().mutex);
      cache().entries.try_emplace(key, promise.get_future().share());
      out.push_back(*std::move(found));
      continue;
    }
    try {
      out.push_back(known.get());
    } catch (...) {
      return std::nullopt;  // its compile failed; the next one says why
    }
    out.back().fresh = false;
  }
  return out;
}

}  // namespace ig::codegen
