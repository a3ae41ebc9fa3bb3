// Tracing from Python: the part below pytrees and static arguments, which intaglio/_record.py does.
#include "bindings/common.h"
#include "frontends/record/trace.h"

namespace ig::py {
namespace {

Range range_of(nb::handle pair) {
  nb::object low = nb::object(pair[nb::int_(0)]), high = nb::object(pair[nb::int_(1)]);
  return {nb::cast<int64_t>(low), high.is_none() ? Range{}.high : nb::cast<int64_t>(high)};
}

Dims dims_of(nb::handle shape) {
  Dims out;
  for (nb::handle size : shape) {
    std::optional<Dim> dim = as_dim(size.ptr());
    if (!dim) throw make_error(ErrorKind::Type, "a size must be an integer or a Dim, not {}", Py_TYPE(size.ptr())->tp_name);
    out.push_back(*dim);
  }
  return out;
}

// Module paths: a stack that `with ig.name_scope("encoder")` pushes to.
std::vector<std::string>& scopes() {
  static thread_local std::vector<std::string> stack;
  return stack;
}

}  // namespace

Scope current_scope() { return scopes().empty() ? Scope() : Scope::of(scopes().back()); }

void init_record(nb::module_& m) {
  m.def("_trace",
        [](nb::callable function, nb::handle arguments, nb::handle ranges, nb::handle named, const std::string& name,
           bool lift) {
          record::TraceCapture capture(name);
          capture.locate = &python_location;
          capture.scope = &current_scope;
          capture.lift_constants = lift;
          for (nb::handle item : ranges)
            capture.graph().dims.declare(nb::cast<std::string>(nb::object(item[nb::int_(0)])), range_of(item[nb::int_(1)]));
          for (nb::handle item : named)
            capture.name_tensor(tensor_of(nb::object(item[nb::int_(1)]).ptr()), nb::cast<std::string>(nb::object(item[nb::int_(0)])));
          std::vector<record::Argument> inputs;
          for (nb::handle item : arguments)
            inputs.push_back({Type::tensor(require_dtype(nb::object(item[nb::int_(1)]).ptr(), "trace"),
                                           dims_of(nb::object(item[nb::int_(2)]))),
                              nb::cast<std::string>(nb::object(item[nb::int_(0)]))});
          record::Function body = [&](std::span<const Tensor> stand_ins) {
            nb::list list;
            for (const Tensor& tensor : stand_ins) list.append(nb::steal(wrap(tensor)));
            nb::object result = function(list);
            std::vector<Tensor> out;
            for (nb::handle leaf : result) out.push_back(tensor_of(leaf.ptr()));
            return out;
          };
          record::Traced traced = record::trace(capture, body, inputs);
          nb::list lifted;
          for (const Capture::Lifted& one : traced.lifted)
            lifted.append(nb::make_tuple(one.name, nb::steal(wrap(one.tensor))));
          return nb::make_tuple(graph_object(std::move(traced.graph)), lifted);
        },
        "Runs function(list of stand-ins) -> list of arrays; gives the graph, and the arrays from outside that became "
        "inputs behind the arguments.");
  m.def("is_tracing", [] { return Capture::current() != nullptr; }, "Whether a capture is going on in this thread.");
  m.def("_push_scope", [](const std::string& name) {
    scopes().push_back(scopes().empty() ? name : scopes().back() + "." + name);
  });
  m.def("_pop_scope", [] { scopes().pop_back(); });
}

}  // namespace ig::py
