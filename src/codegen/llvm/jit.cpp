// Machine code into the process: objects are linked by JITLink into memory of their own, and each distinct
// function (by content and target) is compiled once in the process, whoever asks first, on as many threads as
// allowed.
#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/Support/MemoryBuffer.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <future>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "codegen/jit.h"
#include "codegen/object_cache.h"
#include "loop/canonical.h"
#include "runtime/prebuilt.h"
#include "support/error.h"

namespace ig::codegen {
namespace {

namespace jl = llvm::jitlink;

llvm::Expected<std::unique_ptr<jl::InProcessMemoryManager>>& memory_manager() {
  // Never destroyed: code may be released by objects that outlive static destructors.
  static auto* manager =
      new llvm::Expected<std::unique_ptr<jl::InProcessMemoryManager>>(jl::InProcessMemoryManager::Create());
  return *manager;
}

Error link_error(llvm::Error problem) {
  return make_error(ErrorKind::Internal, "an object could not be loaded: {}",
                    llvm::toString(std::move(problem)))
      .why("its bytes are not an object that this build wrote for this machine, or memory ran out")
      .hint("if it came from a cache, clear the cache; else please report this");
}

// What one link leaves behind.
struct Linked {
  std::unordered_map<std::string, void*> symbols;
  jl::JITLinkMemoryManager::FinalizedAlloc memory;
  size_t bytes = 0;
  llvm::Error problem = llvm::Error::success();
};

class Link : public jl::JITLinkContext {
 public:
  Link(Linked& into) : JITLinkContext(nullptr), into_(into) {}

  jl::JITLinkMemoryManager& getMemoryManager() override { return **memory_manager(); }
  void notifyFailed(llvm::Error problem) override {
    into_.problem = llvm::joinErrors(std::move(into_.problem), std::move(problem));
  }
  void lookup(const LookupMap& symbols, std::unique_ptr<jl::JITLinkAsyncLookupContinuation> then) override {
    std::string names;
    for (const auto& [name, flags] : symbols) names += (names.empty() ? "" : ", ") + std::string(name);
    then->run(llvm::make_error<llvm::StringError>("it needs " + names, llvm::inconvertibleErrorCode()));
  }
  llvm::Error notifyResolved(jl::LinkGraph& graph) override {
    for (auto* symbol : graph.defined_symbols())
      if (symbol->hasName() && symbol->getScope() == jl::Scope::Default)
        into_.symbols[std::string(symbol->getName())] = symbol->getAddress().toPtr<void*>();
    for (auto* block : graph.blocks()) into_.bytes += block->getSize();
    return llvm::Error::success();
  }
  void notifyFinalized(jl::JITLinkMemoryManager::FinalizedAlloc memory) override {
    into_.memory = std::move(memory);
  }
  llvm::Error modifyPassConfig(jl::LinkGraph&, jl::PassConfiguration&) override {
    return llvm::Error::success();
  }

 private:
  Linked& into_;
};

class LoadedCode : public Code {
 public:
  explicit LoadedCode(std::string object) {
    auto buffer = llvm::MemoryBuffer::getMemBufferCopy(object, "kernel");
    if (!memory_manager()) throw link_error(llvm::createStringError("no memory for code"));
    auto graph = jl::createLinkGraphFromObject(buffer->getMemBufferRef());
    if (!graph) throw link_error(graph.takeError());
    jl::link(std::move(*graph),
             std::make_unique<Link>(linked_));  // memory in this process: done when it returns
    if (linked_.problem) throw link_error(std::move(linked_.problem));
  }
  ~LoadedCode() override {
    if (!linked_.memory) return;
    std::vector<jl::JITLinkMemoryManager::FinalizedAlloc> all;
    all.push_back(std::move(linked_.memory));
    llvm::consumeError((*memory_manager())->deallocate(std::move(all)));
  }
  rt::KernelFn find(std::string_view symbol) const override {
    auto it = linked_.symbols.find(std::string(symbol));
    if (it == linked_.symbols.end())
      throw make_error(ErrorKind::Internal, "the loaded code has no kernel {}", symbol)
          .why("its object was made for other kernels")
          .hint("please report this");
    return reinterpret_cast<rt::KernelFn>(it->second);
  }
  size_t bytes() const override { return linked_.bytes; }

 private:
  Linked linked_;
};

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

// A function to compile, with the text that identifies it.
struct Job {
  size_t position;
  Hash128 key;  // in the table of the process
  std::string text;
  std::promise<Compiled> promise;
};

// What the cache on disk has for this key, loaded.
std::shared_ptr<Code> load_cached(ObjectCache& disk, const Digest& key) {
  std::optional<std::string> object = disk.find(key);
  if (!object) return nullptr;
  try {
    return load_object(std::move(*object));
  } catch (const Error&) {
    disk.reject();
    return nullptr;
  }
}

// The kernel of a text where it is prebuilt or on disk.
std::optional<Compiled> find_one(std::string_view text, const Target& target, ObjectCache& disk) {
  if (takes_prebuilt(target)) {
    if (const auto* ready = rt::find_prebuilt(rt::prebuilt_key_of_function(hash128(text))))
      return Compiled{.fn = ready->kernel, .code = nullptr, .prebuilt = true};
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
  if (std::optional<Compiled> found = find_one(text, target, disk)) return *std::move(found);
  Compiled out;
  const loop::Function* functions[] = {&function};
  const std::string symbols[] = {"kernel"};
  std::string object = compile_object(functions, symbols, target);
  out.code = load_object(object);
  if (disk.enabled()) disk.store(disk.key(text), object);
  out.fn = out.code->find("kernel");
  out.fresh = true;
  out.milliseconds = ms_since(start);
  return out;
}

// How a function is known in the table of the process.
Hash128 process_key(std::string_view text, const Target& target) {
  return hash128(hash128(text).hex() + "|" + target.name + "|" + target.features);
}

}  // namespace

std::shared_ptr<Code> load_object(std::string object) {
  return std::make_shared<LoadedCode>(std::move(object));
}

std::vector<Compiled> compile(std::span<const loop::Function* const> functions, const Target& target,
                              int threads) {
  ObjectCache disk(target);
  std::vector<Job> jobs;
  std::vector<std::shared_future<Compiled>> futures(functions.size());
  std::vector<Hash128> keys;
  std::vector<std::string> texts;
  for (const auto* f : functions) {
    texts.push_back(loop::canonical_text(*f));
    keys.push_back(process_key(texts.back(), target));
  }
  {
    std::lock_guard lock(cache().mutex);
    for (size_t i = 0; i < functions.size(); ++i) {
      auto [it, fresh] = cache().entries.try_emplace(keys[i]);
      if (fresh) {
        jobs.push_back({i, keys[i], std::move(texts[i]), {}});
        it->second = jobs.back().promise.get_future().share();
      }
      futures[i] = it->second;
    }
  }
  // The long ones first, so that no thread is left alone with one at the end.
  std::stable_sort(jobs.begin(), jobs.end(),
                   [](const Job& a, const Job& b) { return a.text.size() > b.text.size(); });
  std::atomic<size_t> next{0};
  auto work = [&] {
    for (size_t j = next++; j < jobs.size(); j = next++) {
      Job& job = jobs[j];
      try {
        job.promise.set_value(compile_one(*functions[job.position], job.text, target, disk));
      } catch (...) {
        // Whoever waits sees the error; whoever asks later tries again.
        std::lock_guard lock(cache().mutex);
        cache().entries.erase(job.key);
        job.promise.set_exception(std::current_exception());
      }
    }
  };
  std::vector<std::thread> helpers;
  auto wanted = std::min(jobs.size(), static_cast<size_t>(std::max(threads, 1)));
  for (size_t t = 1; t < wanted; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& helper : helpers) helper.join();
  std::vector<Compiled> out;
  std::vector<bool> own(functions.size(), false);
  for (const Job& job : jobs) own[job.position] = true;
  for (size_t i = 0; i < functions.size(); ++i) {
    out.push_back(futures[i].get());
    out.back().fresh = own[i] && !out.back().prebuilt;
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
