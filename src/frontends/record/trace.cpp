// One closed graph of one run.
#include "frontends/record/trace.h"

#include "ops/table.h"

namespace ig::record {

TraceCapture::TraceCapture(std::string name) : Capture(std::move(name)) {
  graph().dims.set_decider([this](std::string_view relation, const Dim& a, const Dim& b) -> bool {
    throw make_error(ErrorKind::Capture, "the traced function depends on whether {} {} {}", a.str(), relation,
                     b.str())
        .at(locate ? locate().str() : "")
        .why("the sizes are symbolic, and the graph must serve every value of them")
        .hint(
            "declare the sizes so that the answer is known (ig.Dim with min and max, one name for equal "
            "sizes), or "
            "trace with fixed sizes");
  });
}

Traced trace(TraceCapture& capture, const Function& function, std::span<const Argument> arguments) {
  std::vector<Tensor> inputs;
  for (const Argument& argument : arguments)
    inputs.push_back(capture.add_input(argument.type, argument.name));
  Capture::Active active(&capture);
  std::vector<Tensor> outputs = function(inputs);
  capture.finish(outputs);
  capture.graph().dims.set_decider(nullptr);
  ops::verify(capture.graph());
  return {capture.take(), capture.lifted()};
}

Traced trace(const Function& function, std::span<const Argument> arguments, std::string name) {
  TraceCapture capture(std::move(name));
  return trace(capture, function, arguments);
}

}  // namespace ig::record
