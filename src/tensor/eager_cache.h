// The cache of one-node programs behind eager execution: what is kept for a kind of call, and how kinds are
// told apart.
#pragma once

#include <atomic>
#include <memory>
#include <span>
#include <vector>

#include "support/hash.h"
#include "support/once.h"
#include "tensor/eager.h"
#include "tensor/op_by_op.h"

namespace ig::eager {

struct Entry {
  Once once;
  std::shared_ptr<Program> program;  // null: the reference rule runs
  Program::Direct direct;
  std::vector<DType> results;       // of element-wise ops
  std::atomic<bool> absent{false};  // of element-wise ops: no kernel was at hand
  bool by_size = false;             // infer refused symbols: one entry for each set of sizes instead
  std::vector<Asked> asked;  // infer asks more of the sizes than which are equal: one entry for each answer
  bool merges_axes =
      false;  // a fold without a kernel at hand, of an array with fewer axes then (merged_axes.h)
  bool takes_shape = false;      // the program's last input has the shape of the result, and no elements
  std::unique_ptr<Graph> moves;  // the body of a composite that only moves elements: its nodes run one by one
  std::unique_ptr<Graph> products;  // of one made of products and views, for operands that wait
  // The body of a composite whose own kernel is not at hand: runs in the place of the program until that is
  // made, of `whole`, once it pays.
  std::unique_ptr<const OpByOp> parts;
  // Kernels of the parts are made: those of the whole would serve these attributes alone, and there have been
  // others.
  bool makes_parts = false;
  std::atomic<int> attributes{0};  // sets of them that wanted a kernel of the whole
  bool stands_in = false;          // the same of ops that others stand in for (eager_stand_ins.h)
  std::shared_ptr<const Graph> whole;
  Once compiled;
  // A program for any sizes whose calls take long: see run_any_size.
  bool any_size = false;
  std::atomic<bool> slow{false};
  std::atomic<int64_t> spent{0};  // nanoseconds, of the slow calls with one set of sizes; by stand-ins
};

// The entry with this key; a new one, if there was none.
std::shared_ptr<Entry> entry_of(const Hash128& key);

// The content of a cache key, packed in a buffer that each thread keeps.
class KeyWriter {
 public:
  KeyWriter(const ops::Op& op, const Attrs& attrs);
  template <typename T>
  void add(T value) {
    bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  Hash128 key() const { return hash128(bytes_); }

 private:
  static thread_local std::string bytes_;
};

// Of calls with these sizes. `use`: entries of different use are told apart.
Hash128 size_key(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs, char use = '=');
// Of calls with any sizes, of which the same are equal. `asked`: what of the sizes belongs to the key, too.
Hash128 pattern_key(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                    std::span<const Asked> asked = {});

}  // namespace ig::eager
