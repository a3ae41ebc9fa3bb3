// The cache of eager programs, and its keys.
#include "tensor/eager_cache.h"

#include <algorithm>
#include <limits>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>

#include "support/processor.h"

namespace ig::eager {
namespace {

// Programs differ by op, attributes and pattern; sizes come in only where infer refuses symbols, and those
// could go on without end, so past this many the cache starts anew.
constexpr size_t kMaxEntries = 8192;

class Cache {
 public:
  std::shared_ptr<Entry> get(const Hash128& key) {
    {
      std::shared_lock lock(mutex_);
      auto found = entries_.find(key);
      if (found != entries_.end()) return found->second;
    }
    wanted_target();  // refuses one that this machine cannot run, before anything else gives a result
    std::unique_lock lock(mutex_);
    if (entries_.size() >= kMaxEntries) entries_.clear();
    std::shared_ptr<Entry>& entry = entries_[key];
    if (!entry) entry = std::make_shared<Entry>();
    return entry;
  }

 private:
  std::shared_mutex mutex_;
  std::unordered_map<Hash128, std::shared_ptr<Entry>> entries_;
};

Cache& cache() {
  static Cache* the_cache = new Cache;  // never destroyed: arrays may be used while the process ends
  return *the_cache;
}

// What no size of an attribute is.
constexpr int64_t kWhole = std::numeric_limits<int64_t>::min();

}  // namespace

std::shared_ptr<Entry> entry_of(const Hash128& key) { return cache().get(key); }

thread_local std::string KeyWriter::bytes_;

KeyWriter::KeyWriter(const ops::Op& op, const Attrs& attrs) {
  bytes_.clear();
  add(op.id.index());
  add(attrs.empty() ? uint64_t{0} : attrs.hash());
}

Hash128 size_key(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs, char use) {
  KeyWriter sizes(op, attrs);
  sizes.add(use);
  for (const Tensor& operand : operands) {
    sizes.add(operand.dtype());
    sizes.add(operand.rank());
    for (int64_t size : operand.shape()) sizes.add(size);
  }
  return sizes.key();
}

Hash128 pattern_key(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                    std::span<const Asked> asked) {
  const Dims* made = made_shape(operands, attrs);
  std::optional<Attrs> rest = made ? std::optional(Attrs(attrs).set(ops::kShape.name, Dims()))
                                   : with_whole_sizes(operands, attrs, [](size_t) { return Dim(kWhole); });
  KeyWriter pattern(op, rest ? *rest : attrs);
  if (const auto rows = axis_of_rows(op, operands, attrs))
    pattern.add(size_of_axis(operands[0], *rows) >= ops::kManyRows);
  for (const Dim& size : made ? *made : Dims()) pattern.add(std::min(size.constant(), int64_t{2}));
  std::vector<int64_t> seen;
  for (const Tensor& operand : operands) {
    pattern.add(operand.dtype());
    pattern.add(operand.rank());
    for (int64_t size : operand.shape()) {
      if (size <= 1) {
        pattern.add(size);
        continue;
      }
      auto at = std::find(seen.begin(), seen.end(), size);
      pattern.add(static_cast<int64_t>(at - seen.begin()) + 2);
      if (at == seen.end()) seen.push_back(size);
    }
  }
  if (asked.empty()) return pattern.key();
  std::vector<int64_t> sizes;
  for (const Tensor& operand : operands)
    sizes.insert(sizes.end(), operand.shape().begin(), operand.shape().end());
  for (const Asked& one : asked)
    pattern.add(one.other ? sizes[one.size] <= sizes[*one.other] : sizes[one.size]);
  return pattern.key();
}

}  // namespace ig::eager
