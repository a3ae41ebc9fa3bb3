// How a node of the tape goes backward: the `vjp` of its op's graph, with what the forward pass computed
// taken as it was saved, as a list of ops that run one by one. Recipes are kept by op, types and attributes,
// so a node in a loop is derived once.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ops/op.h"
#include "support/error.h"
#include "tensor/capture.h"
#include "tensor/program.h"
#include "tensor/tensor.h"

namespace ig::tape {

// What a choice did not take is 0, which is said by masks (see ops/masks.h): `value` where all conditions
// hold.
struct Gradient {
  struct Mask {
    Tensor condition;
    bool where;
    bool operator==(const Mask& o) const {
      return where == o.where && condition.data() == o.condition.data() &&
             condition.value() == o.condition.value();
    }
  };
  Tensor value;
  std::vector<Mask> masks;  // the outermost first
  bool valid() const { return value.valid(); }
};

struct Recipe {
  struct Step {
    const ops::Op* op = nullptr;
    Attrs attrs;
    std::vector<int> in, out;  // slots
    std::vector<int> last;     // slots that nothing needs afterwards
    bool elementwise = false;  // on operands of one shape
  };
  std::string name;
  std::vector<bool> moves;  // operands whose gradients it gives
  std::vector<int> saved;   // operands, then results (counted on): what the node must keep
  std::vector<Type> results;
  std::vector<int> given;  // results that have gradients: inputs of the backward pass, behind what was saved
  std::optional<Error> failure;  // why there is no way back
  // One of the two ways to run: op by op, or, where a node has regions or sizes are symbols, as a program.
  std::vector<Step> steps;
  std::vector<Tensor> constants;  // of slots; invalid where the slot is computed
  std::vector<int> outputs;       // slots, one for each operand that moves
  std::vector<std::vector<std::pair<int, bool>>>
      masks;                 // of each output: slots of conditions, and where they count
  bool elementwise = false;  // the op, on operands of one shape: its way back may run under masks
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<Program> program;
  bool in_graph = false;    // of a captured program: `graph` alone, whose outputs `outputs` and `masks` name
  bool calls_host = false;  // functions that the graph names; nodes of the tape keep them, and the recipe not

  // From what was saved and the gradients of `given`, the gradients of the operands that move. On the tape,
  // where this thread records.
  std::vector<Gradient> run(std::vector<Tensor> inputs) const;
  // The same recorded into a capture, of a node at this place of the program.
  std::vector<Gradient> record(Capture& capture, std::span<const Tensor> inputs, Location where,
                               Scope scope) const;
};

std::shared_ptr<const Recipe> recipe_of(const ops::Op& op, std::span<const Tensor> operands,
                                        const Attrs& attrs, const std::vector<bool>& moves);
std::shared_ptr<const Recipe> recipe_of(const std::shared_ptr<const Graph>& graph,
                                        std::span<const Tensor> inputs, std::span<const Tensor> results,
                                        const std::vector<bool>& moves);

// Of an op of a captured program; `whole` is the graph of a node with regions, else null.
std::shared_ptr<const Recipe> recorded_recipe_of(const Capture& capture, const ops::Op& op,
                                                 std::span<const Tensor> operands, const Attrs& attrs,
                                                 const Graph* whole, const std::vector<bool>& moves);
// Takes the masks off the outputs of a graph that the recipe is to record, and names all as its outputs.
void bare_outputs(Graph& graph, Recipe& recipe);
// Whether the op goes element by element from each operand that moves, so that its way back may run under
// masks.
bool is_elementwise(const ops::Op& op, const Recipe& recipe, std::span<const Tensor> operands);
// The graph of such a node, as a function of its operands.
std::unique_ptr<Graph> graph_of_node(const Capture& capture, const ig::Node& node);
// Which results a gradient can come back from.
std::vector<bool> reached(const Graph& graph, const std::vector<bool>& moves);

}  // namespace ig::tape
