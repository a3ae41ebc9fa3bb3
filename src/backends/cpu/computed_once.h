// What a program computes once: the values of `once` nodes. They become inputs of its graph, behind those
// that a caller passes, and the nodes graphs of their own, which run when what they read is another array.
#pragma once

#include <memory>
#include <vector>

#include "support/storage.h"
#include "tensor/lazy_program.h"

namespace ig::cpu {

class ComputedOnce {
 public:
  // `sources`: inputs of the program, which are the graph's; its results are the program's inputs from
  // `first` on.
  ComputedOnce(std::unique_ptr<Graph> graph, std::vector<int> sources, int first,
               const CompileOptions& options);
  int first() const { return first_; }
  int results() const { return results_; }
  const std::vector<int>& sources() const { return sources_; }
  // Op by op where kernels are at hand, since it is done once.
  std::vector<Tensor> compute(std::span<const Tensor> arguments) const;

 private:
  std::vector<int> sources_;
  int first_, results_;
  std::unique_ptr<const LazyProgram> program_;
};

// Takes the `once` nodes out of the graph's body. What depends on constants alone is computed at once, and a
// constant from then on, unless `options.at_hand` leaves no time for it.
std::vector<ComputedOnce> take_out_once(Graph& graph, const CompileOptions& options);

}  // namespace ig::cpu
