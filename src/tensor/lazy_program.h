// A graph's program, made when it pays: the first calls run op by op, by kernels that are at hand, and wait
// for no compiler. So one who calls a function once or twice has the result after a millisecond; for one who
// calls it often the program is made in the background, and runs as soon as it is there.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "runtime/background.h"
#include "support/once.h"
#include "tensor/op_by_op.h"
#include "tensor/program.h"

namespace ig {

class LazyProgram {
 public:
  explicit LazyProgram(std::shared_ptr<const Graph> graph, CompileOptions options = {},
                       FirstCalls first = OpByOp::usual());
  // Error(…) where a program of this graph cannot be made, as far as that can be known without machine code.
  void check() const;
  // Null until it has been made.
  const std::shared_ptr<Program>* ready() const { return making_->made.done() ? &making_->program : nullptr; }
  // Made now, if it has not been: what the background has of it is taken, and the rest done by this thread
  // and helpers. Thread-safe; a call that throws may be made again. Who calls this must not hold what the
  // compiler may need (Python's lock, for ops that are written in it).
  const std::shared_ptr<Program>& get() const;
  double compile_ms() const { return making_->compile_ms; }  // once it is ready
  // The results without a program: nothing where there is one, or it is better to wait for one. What the
  // nodes of the graph say while they run is as in a program. Where there is no compiler to make one, it
  // never is.
  std::optional<std::vector<Tensor>> run_early(std::span<const Tensor> inputs) const;

 private:
  // What the background works on, and may still do when this is gone.
  struct Making {
    std::shared_ptr<const Graph> graph;
    CompileOptions options;
    Once made;
    std::shared_ptr<Program> program;
    double compile_ms = 0;
    // It cannot be made, because there is no compiler, or since there is an error: `get` throws that.
    std::atomic<bool> no_compiler{false}, failed{false};

    void make(const std::stop_token& stop);
  };
  bool begin() const;

  std::shared_ptr<Making> making_;
  std::unique_ptr<const OpByOp> op_by_op_;
  mutable std::mutex mutex_;    // of what follows
  mutable bool asked_ = false;  // for the program, by `get`
  mutable std::optional<rt::background::Piece> piece_;
};

}  // namespace ig
