// A graph's program, made when it pays: the first calls run op by op, by kernels that are at hand, and wait
// for no compiler. So one who calls a function once or twice has the result after a millisecond, and who
// calls it often has the compiled program.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "support/once.h"
#include "tensor/op_by_op.h"
#include "tensor/program.h"

namespace ig {

class LazyProgram {
 public:
  // With `op_by_op` false the first call compiles.
  explicit LazyProgram(std::shared_ptr<const Graph> graph, CompileOptions options = {},
                       bool op_by_op = OpByOp::is_usual());
  // Error(…) where a program of this graph cannot be made, as far as that can be known without machine code.
  void check() const;
  // Null until it has been made.
  const std::shared_ptr<Program>* ready() const { return made_.done() ? &program_ : nullptr; }
  // Made now, if it has not been. Thread-safe; a call that throws may be made again.
  const std::shared_ptr<Program>& get() const;
  double compile_ms() const { return compile_ms_; }  // once it is ready
  // The results without a program: nothing where there is one, or it is time for one. What the nodes of the
  // graph say while they run is as in a program. Where there is no compiler to make one, it never is time.
  std::optional<std::vector<Tensor>> run_early(std::span<const Tensor> inputs) const;

 private:
  bool is_time() const;

  std::shared_ptr<const Graph> graph_;
  CompileOptions options_;
  std::unique_ptr<const OpByOp> op_by_op_;
  mutable Once made_;
  mutable std::shared_ptr<Program> program_;
  mutable double compile_ms_ = 0;
  mutable std::atomic<bool> no_compiler_{false};
};

}  // namespace ig
