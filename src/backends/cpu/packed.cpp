// The table of packed arrays of this process.
#include "backends/cpu/packed.h"

#include <map>
#include <mutex>
#include <tuple>

#include "runtime/thread_pool.h"

namespace ig::cpu {
namespace {

class Table {
 public:
  Storage get(const Storage& source, const Packing& packing) {
    std::tuple key{source.data(), packing.function, packing.sizes};
    std::lock_guard lock(mutex_);
    if (auto it = made_.find(key); it != made_.end() && it->second.source == source) return it->second.packed;
    Storage packed = pack(source, packing);
    // Entries whose packed form only this table holds are of programs that are gone.
    std::erase_if(made_, [](const auto& entry) { return entry.second.packed.unique(); });
    made_[key] = {source, packed};
    return packed;
  }

 private:
  struct Entry {
    Storage source, packed;
  };
  std::mutex mutex_;
  std::map<std::tuple<const void*, uint64_t, std::vector<int64_t>>, Entry> made_;
};

Table& table() {
  static auto* instance = new Table;
  return *instance;
}

}  // namespace

Storage pack(const Storage& source, const Packing& packing) {
  Storage out = Storage::allocate(packing.bytes);
  void* buffers[] = {source.data(), out.data()};
  int64_t error[2] = {};
  rt::KernelArgs args;
  args.buffers = buffers;
  args.dims = packing.sizes.data();
  args.error = error;
  rt::ThreadPool::instance().run(packing.pack, args, packing.blocks, 1, 0);
  return out;
}

Packing::Packing(const codegen::Kernel::Packing& packing, DType dtype, rt::KernelFn fn)
    : pack(fn),
      function(packing.pack->hash().low),
      blocks(packing.blocks.evaluate({})),
      bytes(static_cast<size_t>(packing.elements.evaluate({})) * size_of(dtype)) {
  for (const Dim& size : packing.sizes) sizes.push_back(size.evaluate({}));
}

Storage packed(const Storage& source, const Packing& packing) {
  return source.read_only() ? pack(source, packing) : table().get(source, packing);
}

}  // namespace ig::cpu
