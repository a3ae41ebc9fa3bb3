// Modes of the user's own: each op that the program calls, eagerly or while it is captured, is handed to the
// mode that was entered last, which goes on with it, changes it, or gives something else in its place. What a
// mode does itself is seen by the modes around it and not by itself. Modes belong to a thread. What a
// compiled program computes is no call of an op, and neither is what a backward pass does.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "ops/op.h"
#include "tensor/tensor.h"

namespace ig {

class OpMode {
 public:
  struct Call {
    const ops::Op& op;
    std::span<const Tensor>
        operands;        // of the promoted types; those of element-wise ops may still be broadcast
    const Attrs& attrs;  // all of them
    // The op as it was called, to the modes around this one and then to its kernel or its node. May be called
    // until the handler returns.
    const std::function<std::vector<Tensor>()>& run;
  };
  virtual ~OpMode() = default;
  virtual std::vector<Tensor> handle(const Call& call) = 0;

  // Whether any is at work in this thread.
  static bool any();
  using Run = std::function<std::vector<Tensor>(std::span<const Tensor>, const Attrs&)>;
  // Hands a call to the innermost mode, which must be there.
  static std::vector<Tensor> dispatch(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                      const Run& run);
  static void enter(std::shared_ptr<OpMode> mode);
  static const OpMode* innermost();  // null where there is none
  static void leave();               // the innermost
};

}  // namespace ig
