// Lets kernels compute convolutions of 3 x 3 taps by Winograd's minimal filtering, which takes 16 products
// for 36: each result is within a stated bound of the sum over the taps, but not its bits (docs/numerics.md).
// So nothing of it is done where the program is to be exact.
#include <fmt/format.h>
#include <cstdlib>

#include "ops/builder.h"
#include "ops/contraction.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {

void winograd(Graph& graph, Context& context) {
  if (context.options.exact || getenv("WINO_OFF")) return;
  for_each_block(graph.body(), [&](Block& block) {
    for (Node* node : block) {
      if (!node->attrs().find(ops::kConvLayout.name)) continue;
      const Type &image = node->operand(0)->type(), &kernel = node->operand(1)->type();
      if (!ops::suits_winograd(node->attrs(), image, kernel)) continue;
      Attrs attrs = node->attrs();
      attrs.set(ops::kWinograd, true);
      node->set_attrs(std::move(attrs));
      context.changed(fmt::format("{} by taps of {}: in squares of places", image.str(), kernel.str()));
    }
  });
}

}  // namespace ig::passes
