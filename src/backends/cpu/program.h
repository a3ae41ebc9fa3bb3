// A compiled graph on the CPU: the executable, the checks of a call's arguments, and what is reported of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "backends/cpu/kept.h"
#include "codegen/kernel.h"
#include "plan/plan.h"
#include "runtime/executable.h"
#include "tensor/program.h"

namespace ig::cpu {

class CpuProgram final : public Program {
 public:
  // `kernels`: the distinct ones, for reading.
  CpuProgram(std::unique_ptr<Graph> graph, plan::Plan plan, ProgramReport report, std::set<int> donated,
             KeptParts kept, std::vector<std::unique_ptr<loop::Function>> kernels, codegen::Target target);
  std::vector<Tensor> run(std::span<const Tensor> inputs) const override;
  const Graph& graph() const override { return *graph_; }
  ProgramReport report() const override;
  std::string assembly() const override;
  Direct direct() const override;
  bool calls_back() const override { return calls_back_; }
  bool small() const override {
    return fixed_sizes_ && kept_.empty() && donated_.empty() && executable_->small();
  }
  std::vector<Tensor> run_small(void* const* inputs) const override;
  bool steady() const override { return kept_.steady(); }

 private:
  [[noreturn]] void refuse_input(size_t i, const Tensor& tensor) const;
  std::vector<int64_t> bind_symbols(std::span<const Tensor> inputs, std::vector<int64_t>& sizes) const;
  void make_size_tables();

  std::shared_ptr<const Graph> graph_;  // profiles may outlive the program
  std::vector<std::pair<int, int>> donatable_;
  std::set<int> donated_;
  ProgramReport report_;
  size_t arguments_;  // inputs of the graph that a caller passes; the others are kept ones
  Kept kept_;
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
