// The list of families.
#include "ops/families/families.h"

#include <iterator>

namespace ig::ops {

std::vector<Op> families() {
  std::vector<Op> all;
  for (auto family : {
           unary_float_ops,   unary_ops,      binary_ops,     complex_ops,      compare_ops,
           logic_ops,         convert_ops,    select_ops,     create_ops,       reduce_ops,
           reduce_composites, cumulative_ops, structural_ops, indexing_ops,     contraction_ops,
           window_ops,        order_ops,      random_ops,     control_ops,      named_axis_ops,
           effect_ops,        host_call_ops,  nn_composites,  numpy_composites, numpy_numbers,
           numpy_statistics,  special_ops,    linalg_ops,     fft_ops,          compiler_ops,
       }) {
    std::vector<Op> ops = family();
    all.insert(all.end(), std::make_move_iterator(ops.begin()), std::make_move_iterator(ops.end()));
  }
  return all;
}

}  // namespace ig::ops
