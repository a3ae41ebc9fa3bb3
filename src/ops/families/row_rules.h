// What composites over rows share between their bodies and their derivatives: so a graph that computes a
// value and its gradient holds each of these nodes once.
#pragma once

#include <vector>

#include "ops/families/compose.h"
#include "ops/op.h"

namespace ig::ops {

inline constexpr Attr<int64_t> kRowAxis{"axis", "The axis along which it normalises.", "-1"};
inline constexpr Attr<double> kEpsilon{"eps", "Added to the variance.", "0x1.4f8b588e368f1p-17"};
inline constexpr Attr<int64_t> kNormalized{"normalized_rank",
                                           "How many of the last axes are normalised together.", "1"};
inline constexpr Attr<int64_t> kGroups{"num_groups", "How many groups the channels fall into."};

// Rows brought to length 1 in the mean square, `centred` to mean 0 before.
struct Normalised {
  Value rows;         // x brought so
  Value differences;  // x, less its mean where that is brought to 0
  Value factor;       // by which they were multiplied, for each row
  Ints axes;          // of a row
  bool centred = false;
  Value tangent(Compose& m, Value moved) const;
};
Normalised normalised(Compose& m, Value x, Ints axes, double eps);     // by mean and variance
Normalised scaled_to_one(Compose& m, Value x, Ints axes, double eps);  // by the mean square alone

// The channels (axis 1) in groups: [n, groups, c / groups, ...]; and the axes of one group.
Value in_groups(Compose& m, Value x, int64_t groups);
Ints axes_of_group(int rank);  // of an array in groups
// A value for each channel (axis 1), so that it broadcasts over [n, c, ...].
Value per_channel(Compose& m, Value v, int rank);

// e to the power of x less the greatest of its row (0 where that is infinite), and the row's sum of these.
struct Powers {
  Value shift, powers, sum;  // shift and sum without the axes
};
Powers powers_of(Compose& m, Value x, const Ints& axes);

std::vector<Value> jvp_softmax(JvpContext& c);
std::vector<Value> jvp_log_softmax(JvpContext& c);
std::vector<Value> jvp_logsumexp(JvpContext& c);
std::vector<Value> jvp_layer_norm(JvpContext& c);
std::vector<Value> jvp_rms_norm(JvpContext& c);
std::vector<Value> jvp_group_norm(JvpContext& c);
std::vector<Value> jvp_normalize(JvpContext& c);

}  // namespace ig::ops
