// The transforms, as the rules of ops with regions reach them; see ops/regions.h.
#include "transforms/regions.h"

#include "transforms/edit.h"
#include "transforms/forward.h"
#include "transforms/transforms.h"

namespace ig::transforms {

ops::RegionTransforms::Pushed Regions::inline_jvp(ops::Builder& build, const Block& block,
                                                  std::span<const Value> arguments) {
  IG_CHECK(forward_ != nullptr, "a block is pushed forward outside of forward mode");
  Block& into = build.block();
  Node* before = build.before();
  Node* previous = before ? before->previous() : into.last();
  std::vector<Value> results = forward_->graph().inline_block(block, into, arguments, before);
  forward_->walk(previous ? previous->next() : into.first(), before);
  Pushed out;
  for (Value result : results) {
    out.primals.push_back(forward_->resolve(result));
    out.tangents.push_back(forward_->tangent(out.primals.back()));
  }
  return out;
}

std::vector<bool> Regions::moving(const Block& block, const std::vector<bool>& arguments) {
  std::unique_ptr<Graph> graph = graph_of(block);
  Forward forward(*graph, true);  // where there is no forward mode, the question has an answer all the same
  std::vector<Value> inputs(graph->inputs().begin(), graph->inputs().end());
  for (size_t i = 0; i < inputs.size(); ++i)
    if (arguments[i]) forward.set_tangent(inputs[i], graph->body().add_arg(inputs[i]->type()));
  forward.walk(graph->body());
  std::vector<bool> out;
  for (Value result : graph->outputs()) out.push_back(forward.tangent(result) != nullptr);
  return out;
}

std::unique_ptr<Graph> Regions::jvp(const Block& block, const std::vector<bool>& arguments,
                                    const std::vector<bool>& wanted, bool split) {
  return transforms::jvp(*graph_of(block), arguments, wanted, split);
}

ops::SplitRegion Regions::split(const Block& block, const std::vector<bool>& arguments,
                                const std::vector<bool>& wanted, const ops::Keeping* keeping) {
  std::unique_ptr<Graph> graph = graph_of(block);
  return transforms::split(*graph, arguments, wanted, keeping ? *keeping : all_there(*graph));
}

std::unique_ptr<Graph> Regions::transpose(const Block& block, std::span<const bool> linear,
                                          const std::vector<bool>& given) {
  return transforms::transpose(*graph_of(block), Mask(linear.begin(), linear.end()), given);
}

}  // namespace ig::transforms
