// What bindings of functions that are captured share.
#pragma once

#include "bindings/common.h"
#include "frontends/record/trace.h"

namespace ig::py {

std::vector<Tensor> tensors_of(nb::handle items);
// A Python function from a list of arrays to one.
record::Function function_of(nb::callable function);
const Graph& graph_of(nb::handle graph);  // of an `intaglio.Graph`
// The results of one on these arrays, as of its call and by the definitions of its ops.
std::vector<Tensor> call_graph(nb::handle graph, std::span<PyObject* const> args);
std::vector<Tensor> evaluate_graph(nb::handle graph, std::span<PyObject* const> args);
void init_transforms(nb::module_& m);
void init_traced(nb::module_& m);  // traced.cpp

}  // namespace ig::py
