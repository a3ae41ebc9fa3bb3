// Sums of products: which generator a contraction's kernel takes.
#include "codegen/group_emitter.h"

namespace ig::codegen {

void lower_contraction(GroupEmitter& emit, Kernel& kernel, const std::vector<bool>& constant_operands) {
  for (Node* node : emit.region)
    if (ops::has(node, ops::Trait::Contraction)) {
      if (ops::has(node, ops::Trait::Composite)) return lower_attention(emit, kernel, node);
      if (node->attrs().find("lhs_contracting_dimensions"))
        return lower_dot(emit, kernel, node, constant_operands);
      if (lower_convolution(emit, kernel, node, constant_operands)) return;
      return lower_loop(emit, kernel);  // other sums of products fold inside their element expression
    }
  IG_CHECK(false, "a contraction kernel without a contraction");
}

}  // namespace ig::codegen
