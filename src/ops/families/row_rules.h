// Derivatives of composites over rows, by their results.
#pragma once

#include <vector>

#include "ops/op.h"

namespace ig::ops {

std::vector<Value> jvp_softmax(JvpContext& c);
std::vector<Value> jvp_log_softmax(JvpContext& c);
std::vector<Value> jvp_logsumexp(JvpContext& c);

}  // namespace ig::ops
