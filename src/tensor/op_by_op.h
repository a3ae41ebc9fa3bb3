// A graph that runs without having been compiled: its nodes one after the other, by the kernels of eager
// execution that are at hand; loops and branches as their reference says. It is what the first calls of a
// captured function can use, so that one who calls it once or twice waits for no compiler. Eager and compiled
// code have the same bits, so nobody can tell by the results when the compiled program takes over.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ir/graph.h"
#include "tensor/tensor.h"

namespace ig {

// What the first calls of a captured function do: wait for the compiler, run op by op until that has taken
// about as long as compiling takes, or run op by op however long it takes (where no clock may decide).
enum class FirstCalls { Compile, WhileItPays, Always };

class OpByOp {
 public:
  // As INTAGLIO_OP_BY_OP says: 0, 1 (or nothing), or "always". Error(Value) where it says anything else.
  static FirstCalls usual();
  // Null where the graph is not made for it: it has effects other than checks, or calls to the host.
  static std::unique_ptr<OpByOp> of(std::shared_ptr<const Graph> graph, FirstCalls how = usual());
  // Nothing where kernels are not at hand that take long to make, where what the nodes leave for each other
  // takes more memory than inputs and results do, where a loop goes on for half as long as compiling takes,
  // or where the inputs are not what the graph takes: the compiled program, which needs less or says what is
  // wrong, is to be run then, now and later. Thread-safe.
  // `compiles`: kernels that are not at hand are made, however long it takes.
  std::optional<std::vector<Tensor>> run(std::span<const Tensor> inputs, bool compiles = false) const;
  // Whether it is time to make the program: all runs but the first, which looks for its kernels, took about
  // as long as compiling takes; of a long graph or one that holds its weights, whether there was one. Who
  // calls it no longer is the better for not having compiled it.
  bool is_over() const { return !patient_ && spent_.load(std::memory_order_relaxed) >= enough_; }
  // Whether the last run but the first took longer than compiling by far (what that takes is a guess), so
  // that it is better to wait for the program.
  bool is_slow() const { return !patient_ && last_.load(std::memory_order_relaxed) > 4 * compile_; }
  ~OpByOp();

 private:
  struct Walk;
  class Run;
  OpByOp(std::shared_ptr<const Graph> graph, bool patient);
  bool bind(std::span<const Tensor> inputs, SymbolValues& values) const;
  bool is_modest(const SymbolValues& values) const;
  bool may_make() const;

  std::shared_ptr<const Graph> graph_;
  std::unique_ptr<const Walk> walk_;
  bool patient_;  // the time that it takes does not matter
  bool heavy_;    // its weights are constants
  // Nanoseconds. What compiling takes, about, and how much of it runs may take; what they took, -1 before the
  // first; what kernels took that were made for them.
  int64_t compile_, enough_;
  mutable std::atomic<int64_t> spent_{-1}, last_{0}, making_{0};
  mutable std::atomic<int> modest_{-1};  // of a graph without symbols: what `is_modest` said; -1 before that
};

}  // namespace ig
