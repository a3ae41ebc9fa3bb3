// From a graph of kernels to the flat executable: every value gets a slot, slots that may share memory are
// told so, and control flow becomes blocks. Lifetimes and offsets are the runtime's part (arena_plan.h),
// since sizes may be symbols.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ir/graph.h"
#include "runtime/executable.h"

namespace ig::plan {

// How a `fusion` node runs.
struct KernelChoice {
  rt::KernelFn function = nullptr;
  rt::Origin origin = rt::Origin::Compiled;
  std::string name;
  std::vector<std::string> sizes;  // symbols, in the order of the kernel's size parameters
  Dim blocks = 1;
  int64_t grain = 1, block_grains = 1;
  std::optional<Dim> grains{};  // of all blocks, in place of both
  rt::KernelSteps steps = rt::KernelSteps::None;
  std::vector<std::pair<DType, Dim>> scratch;   // the kernel's scratch buffers, in elements
  std::vector<std::pair<int, int>> in_place;    // (result, operand)
  std::optional<Dim> when{};                    // it runs where this is not 0
  std::vector<const Node*> checks;              // by the number that the kernel fails with
  std::vector<std::pair<int, int>> updates;     // of these: the result begins as the operand
  std::vector<std::pair<int, Storage>> packed;  // operands that are read from another form of a constant
  std::vector<std::pair<int, int>> prepared;    // likewise of an input: (operand, index in Input::prepared)
  // Operands that are written in another form before each call, by a kernel over the operand and that form.
  struct Pack {
    int operand;
    rt::KernelFn function;
    Dims sizes;
    Dim blocks, bytes;
  };
  std::vector<Pack> packs;
  // A kernel over the same buffers that runs before, and what both have behind the results, in elements.
  std::shared_ptr<const KernelChoice> first;
  std::vector<std::pair<DType, Dim>> temporaries;
  // What runs for the sizes that `when` leaves out, over the same operands and results.
  std::shared_ptr<const KernelChoice> other;
};

struct Input {
  const Graph& graph;
  std::unordered_map<const Node*, KernelChoice> kernels;
  std::vector<std::shared_ptr<const void>> owners;
  std::set<int> donated{};        // inputs whose memory outputs may take
  std::vector<int64_t> prepared;  // bytes of other forms of inputs, which the program takes behind its inputs
};

struct Plan {
  rt::Program program;
  std::vector<std::string> symbols;  // of the executable's symbol values, in order
  // Donatable: (output, input) pairs where the output may be written into the input's memory, if that may be
  // taken.
  std::vector<std::pair<int, int>> donatable;
  // What each block's instructions were made of, in order.
  struct Made {
    const Node* node = nullptr;  // null of what brings results to their place
    bool prepares = false;       // for the one that is the node: it packs or brings an operand
  };
  std::vector<std::vector<Made>> made;
};
Plan make_plan(Input input);

// The formula of a size over symbols of these indices.
rt::SizeId add_size(rt::SizeTable& table, const Dim& dim, const std::map<std::string, int32_t>& symbols);

}  // namespace ig::plan
