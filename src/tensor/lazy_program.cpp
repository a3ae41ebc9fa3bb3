// When to compile.
#include "tensor/lazy_program.h"

#include <chrono>

#include "support/error.h"
#include "tensor/numbers.h"

namespace ig {

LazyProgram::LazyProgram(std::shared_ptr<const Graph> graph, CompileOptions options, bool op_by_op)
    : graph_(std::move(graph)), options_(std::move(options)) {
  // The kernels at hand are the host's, and ops by themselves are not held to be exact.
  if (op_by_op && options_.target.empty() && !options_.exact) op_by_op_ = OpByOp::of(graph_);
}

void LazyProgram::check() const {
  CompileOptions options = options_;
  options.at_hand = true;
  compile(*graph_, options);
}

const std::shared_ptr<Program>& LazyProgram::get() const {
  made_([&] {
    const auto start = std::chrono::steady_clock::now();
    program_ = compile(*graph_, options_);
    compile_ms_ = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  });
  return program_;
}

bool LazyProgram::is_time() const {
  if (!op_by_op_->is_over()) return false;
  if (no_compiler_.load(std::memory_order_relaxed)) return false;
  try {
    get();
  } catch (const Error& error) {
    // Any other error is told by who asks for the program next.
    if (error.kind() != ErrorKind::Unsupported || compiler_available()) return true;
    no_compiler_.store(true, std::memory_order_relaxed);
    return false;
  }
  return true;
}

std::optional<std::vector<Tensor>> LazyProgram::run_early(std::span<const Tensor> inputs) const {
  if (ready() || !op_by_op_ || numbers::possible() || is_time()) return std::nullopt;
  try {
    return op_by_op_->run(inputs);
  } catch (const Error&) {
    return std::nullopt;  // the program knows the line of the user's that it comes from
  }
}

}  // namespace ig
