// A graph that runs without having been compiled: its nodes one after the other, by the kernels of eager
// execution that are at hand. It is what the first calls of a captured function can use, so that one who
// calls it once or twice waits for no compiler. Eager and compiled code have the same bits, so nobody can
// tell by the results when the compiled program takes over.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "tensor/tensor.h"

namespace ig {

class OpByOp {
 public:
  // Whether captured functions begin so: yes, unless INTAGLIO_OP_BY_OP is 0. Error(Value) where that says
  // neither 0 nor 1.
  static bool is_usual();
  // Null where the graph is not made for it: it is long, has branches or loops, effects or calls to the host.
  static std::unique_ptr<OpByOp> of(std::shared_ptr<const Graph> graph);
  // Nothing where a node's kernel is not at hand, where what the nodes leave for each other takes more memory
  // than inputs and results do, or where the inputs are not what the graph takes: the compiled program, which
  // needs less or says what is wrong, is to be run then, now and later. Thread-safe. `compiles`: kernels that
  // are not at hand are made.
  std::optional<std::vector<Tensor>> run(std::span<const Tensor> inputs, bool compiles = false) const;
  // Whether all runs but the first, which looks for its kernels, took about as long as it takes to compile:
  // who calls the graph no longer is the better for not having compiled it; any other loses about as much
  // again.
  bool is_over() const { return spent_.load(std::memory_order_relaxed) >= enough_; }

 private:
  explicit OpByOp(std::shared_ptr<const Graph> graph);
  bool bind(std::span<const Tensor> inputs, SymbolValues& values) const;
  bool is_modest(const SymbolValues& values) const;

  std::shared_ptr<const Graph> graph_;
  int64_t enough_;
  mutable std::atomic<int64_t> spent_{-1};  // nanoseconds; before the first run -1
};

}  // namespace ig
