// What bindings of functions that are captured share.
#pragma once

#include "bindings/common.h"
#include "frontends/record/trace.h"

namespace ig::py {

std::vector<Tensor> tensors_of(nb::handle items);
// A Python function from a list of arrays to one.
record::Function function_of(nb::callable function);
const Graph& graph_of(nb::handle graph);  // of an `intaglio.Graph`
void init_transforms(nb::module_& m);

}  // namespace ig::py
