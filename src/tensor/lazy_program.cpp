// When to compile, and on which thread.
#include "tensor/lazy_program.h"

#include <chrono>
#include <system_error>
#include <utility>

#include "support/error.h"
#include "tensor/numbers.h"

namespace ig {

LazyProgram::LazyProgram(std::shared_ptr<const Graph> graph, CompileOptions options, FirstCalls first)
    : making_(std::make_shared<Making>()) {
  // The kernels at hand are the host's, and ops by themselves are not held to be exact, and know of no
  // fast_math.
  const bool usual = options.target.empty() && !options.exact && !options.fast_math.any();
  if (first != FirstCalls::Compile && usual) op_by_op_ = OpByOp::of(graph, first);
  making_->graph = std::move(graph);
  making_->options = std::move(options);
}

void LazyProgram::check() const {
  CompileOptions options = making_->options;
  options.at_hand = true;
  compile(*making_->graph, options);
}

void LazyProgram::Making::make(const std::stop_token& stop) try {
  made([&] {
    const auto start = std::chrono::steady_clock::now();
    CompileOptions own = options;
    own.stop = stop;
    program = compile(*graph, own);
    compile_ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
  });
} catch (const Stopped&) {
  throw;
} catch (const Error& error) {
  (error.kind() == ErrorKind::Unsupported && !compiler_available() ? no_compiler : failed) = true;
  throw;
} catch (...) {
  failed = true;
  throw;
}

const std::shared_ptr<Program>& LazyProgram::get() const {
  if (!making_->made.done()) {
    std::optional<rt::background::Piece> piece;
    {
      std::lock_guard lock(mutex_);
      asked_ = true;
      piece.swap(piece_);
    }
    if (piece) piece->call_off();
    making_->make({});
  }
  return making_->program;
}

// Has the background make the program, once, unless somebody is at it. False where it cannot.
bool LazyProgram::begin() const {
  std::lock_guard lock(mutex_);
  if (piece_ || asked_) return true;
  try {
    piece_.emplace([making = making_](const std::stop_token& stop) {
      try {
        making->make(stop);
      } catch (const Stopped&) {
        throw;
      } catch (...) {
        // Who calls next is told.
      }
    });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

std::optional<std::vector<Tensor>> LazyProgram::run_early(std::span<const Tensor> inputs) const {
  if (ready() || !op_by_op_ || making_->failed || numbers::possible()) return std::nullopt;
  if (!making_->no_compiler) {
    if (op_by_op_->is_slow()) return std::nullopt;
    if (op_by_op_->is_over() && !begin()) return std::nullopt;
  }
  try {
    return op_by_op_->run(inputs);
  } catch (const Error&) {
    return std::nullopt;  // the program knows the line of the user's that it comes from
  }
}

}  // namespace ig
