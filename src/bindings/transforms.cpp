// Derivatives from Python: the part below pytrees, which intaglio/_transforms.py does.
#include "transforms/transforms.h"

#include "bindings/record.h"
#include "frontends/record/control.h"

namespace ig::py {
namespace {

transforms::Mask mask_of(nb::handle items) {
  transforms::Mask out;
  for (nb::handle item : items) out.push_back(nb::cast<bool>(item));
  return out;
}

nb::list bools(const std::vector<bool>& items) {
  nb::list out;
  for (bool item : items) out.append(nb::bool_(item));
  return out;
}

nb::tuple pair_of(ops::SplitRegion parts) {
  nb::list residuals;
  for (int residual : parts.residuals) residuals.append(residual);
  return nb::make_tuple(graph_object(std::move(parts.known)), graph_object(std::move(parts.linear)),
                        residuals, bools(parts.moves));
}

nb::tuple capture_function(nb::callable function, nb::handle arguments, const std::vector<std::string>& names,
                           const std::string& name) {
  record::Region region =
      record::capture_bound(function_of(function), tensors_of(arguments), names, name, [](Capture& capture) {
        capture.locate = &python_location;
        capture.scope = &current_scope;
      });
  nb::list outer;
  for (Tensor& tensor : region.outer) outer.append(nb::steal(wrap(std::move(tensor))));
  return nb::make_tuple(graph_object(std::move(region.graph)), outer);
}

}  // namespace

void init_transforms(nb::module_& m) {
  m.def("_capture_function", &capture_function,
        "Runs function(list of stand-ins) -> list of arrays for these arguments: the graph, and the arrays "
        "from "
        "outside that became inputs behind the arguments.");
  m.def(
      "_apply_graph",
      [](nb::handle graph, nb::handle inputs) {
        nb::list out;
        for (Tensor& tensor : record::apply_graph(graph_of(graph), tensors_of(inputs)))
          out.append(nb::steal(wrap(std::move(tensor))));
        return out;
      },
      "The results of a graph: recorded node by node in a capture, computed op by op outside of one.");
  m.def(
      "_graph_value_and_grad",
      [](nb::handle graph, nb::handle moves) {
        return graph_object(transforms::value_and_grad(graph_of(graph), mask_of(moves)));
      },
      "The graph with the gradients of its first result behind its results.");
  m.def(
      "_graph_jvp",
      [](nb::handle graph, nb::handle moves, nb::handle wanted) {
        return graph_object(transforms::jvp(graph_of(graph), mask_of(moves), mask_of(wanted)));
      },
      "The graph with tangents of the inputs that move, and of the results that are wanted.");
  m.def(
      "_graph_linearize",
      [](nb::handle graph, nb::handle moves, nb::handle wanted) {
        return pair_of(transforms::linearize(graph_of(graph), mask_of(moves), mask_of(wanted)));
      },
      "The graph that gives residuals, the one that is linear in the tangents, and where the residuals are.");
  m.def(
      "_graph_vjp",
      [](nb::handle graph, nb::handle moves, nb::handle given) {
        return pair_of(transforms::vjp(graph_of(graph), mask_of(moves), mask_of(given)));
      },
      "The graph that gives residuals, the one from cotangents to cotangents, and where the residuals are.");
  m.def(
      "_graph_transpose",
      [](nb::handle graph, nb::handle linear, nb::handle given) {
        return graph_object(transforms::transpose(graph_of(graph), mask_of(linear), mask_of(given)));
      },
      "From the other inputs and cotangents of these results to the cotangents of the linear inputs.");
}

}  // namespace ig::py
