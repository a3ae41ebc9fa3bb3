// Run and record: a function is run once on stand-ins for its arguments, and what it does to them becomes one
// closed graph. What a graph cannot say (the truth of a traced array, its length where that is symbolic) is
// refused with the line and the way to write it.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tensor/capture.h"

namespace ig::record {

struct Argument {
  Type type;
  std::string name;
};

// The capture of `trace`: the front end may set `locate` and `scope` before the function runs.
class TraceCapture : public Capture {
 public:
  explicit TraceCapture(std::string name);
};

struct Traced {
  std::unique_ptr<Graph> graph;
  std::vector<Capture::Lifted> lifted;  // arrays from outside, inputs after the arguments
};

using Function = std::function<std::vector<Tensor>(std::span<const Tensor>)>;

// Runs `function` under `capture`, which becomes current for the time.
Traced trace(TraceCapture& capture, const Function& function, std::span<const Argument> arguments);
Traced trace(const Function& function, std::span<const Argument> arguments, std::string name = "graph");

}  // namespace ig::record
