// A compiled graph on the CPU: the executable, the checks of a call's arguments, and what is reported of it.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "backends/cpu/packed.h"
#include "codegen/kernel.h"
#include "plan/plan.h"
#include "runtime/executable.h"
#include "tensor/program.h"

namespace ig::cpu {

// A form of one of the graph's inputs, made anew where another array is passed.
struct PreparedInput {
  int input;
  Packing form;
  bool operator==(const PreparedInput&) const = default;
};

class CpuProgram final : public Program {
 public:
  // `kernels`: the distinct ones, for reading.
  CpuProgram(std::unique_ptr<Graph> graph, plan::Plan plan, ProgramReport report, std::set<int> donated,
             std::vector<PreparedInput> prepared, std::vector<std::unique_ptr<loop::Function>> kernels,
             codegen::Target target);
  std::vector<Tensor> run(std::span<const Tensor> inputs) const override;
  const Graph& graph() const override { return *graph_; }
  ProgramReport report() const override;
  std::string assembly() const override;
  Direct direct() const override;
  bool calls_back() const override { return calls_back_; }
  bool small() const override {
    return fixed_sizes_ && prepared_.empty() && donated_.empty() && executable_->small();
  }
  std::vector<Tensor> run_small(void* const* inputs) const override;
  bool steady() const override { return unsteady_.load(std::memory_order_relaxed) < kUnsteady; }

 private:
  // The present forms of inputs, in order.
  void prepare(std::span<const Tensor> inputs, std::span<Storage> out) const;
  [[noreturn]] void refuse_input(size_t i, const Tensor& tensor) const;
  std::vector<int64_t> bind_symbols(std::span<const Tensor> inputs, std::vector<int64_t>& sizes) const;
  void make_size_tables();

  std::shared_ptr<const Graph> graph_;  // profiles may outlive the program
  std::vector<std::pair<int, int>> donatable_;
  std::set<int> donated_;
  ProgramReport report_;
  std::vector<PreparedInput> prepared_;
  struct Form {
    Storage source, packed;
  };
  mutable std::mutex forms_mutex_;
  mutable std::vector<Form> forms_;  // of `prepared_`, of the last call
  // More where forms were made anew, less where they were at hand.
  static constexpr int kAnew = 8, kUnsteady = 40, kMostUnsteady = 64;
  mutable std::atomic<int> unsteady_{0};
  std::vector<std::unique_ptr<loop::Function>> kernels_;
  codegen::Target target_;
  // Where each symbol's value is read: an input and its axis.
  struct Source {
    size_t input, axis;
  };
  std::vector<std::string> symbols_;
  std::vector<Source> sources_;
  std::vector<Range> ranges_;  // of the symbols
  // All sizes and facts as formulas over the symbols, evaluated in one pass on each call.
  struct Fact {
    rt::SizeId a, b;
    bool equal;
  };
  rt::SizeTable sizes_;
  std::vector<std::vector<rt::SizeId>> input_sizes_, output_sizes_;
  std::vector<Fact> facts_;  // as in the graph
  // What the graph's inputs and outputs are, at hand for each call.
  struct Input {
    DType dtype;
    int rank;
  };
  std::vector<Input> inputs_;
  std::vector<DType> outputs_;
  bool calls_back_ = false;
  bool fixed_sizes_ = true;                          // no symbols: shapes are compared, nothing evaluated
  std::vector<Shape> input_shapes_, output_shapes_;  // of fixed sizes
  std::unique_ptr<rt::Executable> executable_;
};

}  // namespace ig::cpu
