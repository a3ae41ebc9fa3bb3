// The transforms of Winograd's minimal filtering F(2 x 2, 3 x 3), written once for what computes with them:
// loop expressions in kernels, numbers and vectors in the ops that stand in for these. So both take the same
// steps, and give the same bits. The matrices are those of the literature; see codegen/lower_winograd.cpp.
#pragma once

#include <array>
#include <cstddef>

namespace ig::ops::winograd {

// Steps along one axis. `half` gives half of its argument.
template <class E, class Half>
std::array<E, 4> image_to_terms(const std::array<E, 4>& d, const Half&) {  // B d
  return {d[0] - d[2], d[1] + d[2], d[2] - d[1], d[1] - d[3]};
}
template <class E, class Half>
std::array<E, 4> taps_to_terms(const std::array<E, 3>& g, const Half& half) {  // G g
  const E ends = half(g[0] + g[2]), middle = half(g[1]);
  return {g[0], ends + middle, ends - middle, g[2]};
}
template <class E, class Half>
std::array<E, 2> terms_to_results(const std::array<E, 4>& m, const Half&) {  // A m
  return {m[0] + m[1] + m[2], m[1] - m[2] - m[3]};
}
template <class E, class Half>
std::array<E, 4> results_to_terms(const std::array<E, 2>& y, const Half&) {  // A^T y
  return {y[0], y[0] + y[1], y[0] - y[1], -y[1]};
}
template <class E, class Half>
std::array<E, 3> terms_to_taps(const std::array<E, 4>& m, const Half& half) {  // G^T m
  const E sum = half(m[1] + m[2]), difference = half(m[1] - m[2]);
  return {m[0] + sum, difference, sum + m[3]};
}

// A step taken along each column of a square matrix, then along each row of what that gives. `kept` is called
// with each element that a step gives.
template <size_t In, size_t Out, class E, class Half, class Kept>
std::array<E, Out * Out> both_ways(const std::array<E, In * In>& matrix,
                                   std::array<E, Out> (&step)(const std::array<E, In>&, const Half&),
                                   const Half& half, const Kept& kept) {
  std::array<E, Out * In> columns;
  for (size_t c = 0; c < In; ++c) {
    std::array<E, In> in;
    for (size_t r = 0; r < In; ++r) in[r] = matrix[r * In + c];
    const std::array<E, Out> made = step(in, half);
    for (size_t r = 0; r < Out; ++r) columns[r * In + c] = kept(made[r]);
  }
  std::array<E, Out * Out> out;
  for (size_t r = 0; r < Out; ++r) {
    std::array<E, In> in;
    for (size_t c = 0; c < In; ++c) in[c] = columns[r * In + c];
    const std::array<E, Out> made = step(in, half);
    for (size_t c = 0; c < Out; ++c) out[r * Out + c] = kept(made[c]);
  }
  return out;
}

}  // namespace ig::ops::winograd
