// Writes products of matrices whose sums have one term, `[m, 1] · [1, n]` and batches of them, as the
// multiplications that they are, behind the passes that look for products: what is computed element by
// element fuses with all around it, while a product's kernel packs operands for sums that it does not form.
// Gradients of products with a vector are full of them. The bits are the same.
#include <vector>

#include <fmt/format.h>

#include "ops/builder.h"
#include "ops/contraction.h"
#include "passes/pass.h"
#include "passes/walk.h"

namespace ig::passes {

void one_term_products(Graph& graph, Context& context) {
  for_each_block(graph.body(), [&](Block& block) {
    std::vector<Node*> products;
    for (Node* node : block)
      if (node->attrs().find(ops::kLhsContract.name)) products.push_back(node);
    for (Node* node : products) {
      // One that is read in parts computes them side by side in its kernel.
      if (ops::parts_of_product(node)) continue;
      ops::Builder build(block, node);
      build.at(node);
      Value product = ops::as_multiplication(build, node);
      if (!product) continue;
      context.changed(fmt::format("{} of one term: a multiplication", node->op().name()));
      replace(node, std::span(&product, 1));
      graph.erase(node);
    }
  });
}

}  // namespace ig::passes
