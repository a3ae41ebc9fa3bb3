// Tracing from Python: the part below pytrees and static arguments, which intaglio/_record.py and _control.py
// do.
#include "bindings/record.h"

#include "bindings/common.h"
#include "frontends/record/control.h"
#include "frontends/record/transform.h"

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
    if (!dim)
      throw make_error(ErrorKind::Type, "a size must be an integer or a Dim, not {}",
                       Py_TYPE(size.ptr())->tp_name)
          .why("it says how many elements an axis has")
          .hint("give a number, or ig.Dim(\"n\") for a size that varies");
    out.push_back(*dim);
  }
  return out;
}

// Module paths: a stack that `with ig.name_scope("encoder")` pushes to.
std::vector<std::string>& scopes() {
  static thread_local std::vector<std::string> stack;
  return stack;
}

// From tuples of name, dtype and shape.
std::vector<record::Argument> arguments_of(nb::handle items) {
  std::vector<record::Argument> out;
  for (nb::handle item : items)
    out.push_back({Type::tensor(require_dtype(nb::object(item[nb::int_(1)]).ptr(), "trace"),
                                dims_of(nb::object(item[nb::int_(2)]))),
                   nb::cast<std::string>(nb::object(item[nb::int_(0)]))});
  return out;
}

struct PyRegion {
  std::optional<record::Region> region;  // none once it is recorded
};

nb::list record_control(const std::string& name, nb::handle leading, nb::handle regions, nb::handle segments,
                        nb::dict options) {
  const ops::Op& op = ops::get(name);
  std::vector<record::Region> bodies;
  for (nb::handle item : regions) {
    auto& region = nb::cast<PyRegion&>(item).region;
    IG_CHECK(region.has_value(), "a region of {} was recorded twice", name);
    bodies.push_back(std::move(*region));
    region.reset();
  }
  std::vector<std::vector<Tensor>> parts;
  for (nb::handle part : segments) parts.push_back(tensors_of(part));
  Attrs attrs;
  for (const AttrSpec& spec : op.decl.attrs)
    if (options.contains(spec.name.c_str()))
      attrs.set(spec.name, attr_value(nb::object(options[spec.name.c_str()]).ptr(), spec, name));
  nb::list out;
  for (Tensor& tensor :
       record::record_control(op, tensors_of(leading), std::move(bodies), parts, std::move(attrs)))
    out.append(nb::steal(wrap(std::move(tensor))));
  return out;
}

nb::list call_batched(nb::handle region, nb::handle arguments, const std::vector<int>& in_axes,
                      nb::handle size, const std::vector<int>& out_axes, const std::string& axis_name,
                      const std::vector<std::string>& out_names) {
  auto& captured = nb::cast<PyRegion&>(region).region;
  IG_CHECK(captured.has_value(), "a region was recorded before it was batched");
  std::vector<Tensor> tensors = tensors_of(arguments), results;
  record::Mapping mapping{in_axes, as_dim(size.ptr()).value(), out_axes, axis_name, out_names};
  if (Capture::current()) {  // recording asks Python for the line of each constant
    results = record::call_batched(*captured, tensors, mapping);
  } else {
    nb::gil_scoped_release no_gil;
    results = record::call_batched(*captured, tensors, mapping);
  }
  nb::list out;
  for (Tensor& tensor : results) out.append(nb::steal(wrap(std::move(tensor))));
  return out;
}

}  // namespace

std::vector<Tensor> tensors_of(nb::handle items) {
  std::vector<Tensor> out;
  for (nb::handle item : items) out.push_back(tensor_of(item.ptr()));
  return out;
}

record::Function function_of(nb::callable function) {
  return [function](std::span<const Tensor> stand_ins) {
    nb::list list;
    for (const Tensor& tensor : stand_ins) list.append(nb::steal(wrap(tensor)));
    return tensors_of(function(list));
  };
}

Scope current_scope() { return scopes().empty() ? Scope() : Scope::of(scopes().back()); }

void init_record(nb::module_& m) {
  m.def(
      "_trace",
      [](nb::callable function, nb::handle arguments, nb::handle ranges, nb::handle named,
         const std::string& name, bool lift) {
        record::TraceCapture capture(name);
        capture.locate = &python_location;
        capture.scope = &current_scope;
        capture.lift_constants = lift;
        for (nb::handle item : ranges)
          capture.graph().dims.declare(nb::cast<std::string>(nb::object(item[nb::int_(0)])),
                                       range_of(item[nb::int_(1)]));
        for (nb::handle item : named)
          capture.name_tensor(tensor_of(nb::object(item[nb::int_(1)]).ptr()),
                              nb::cast<std::string>(nb::object(item[nb::int_(0)])));
        record::Traced traced = record::trace(capture, function_of(function), arguments_of(arguments));
        nb::list lifted;
        for (const Capture::Lifted& one : traced.lifted)
          lifted.append(nb::make_tuple(one.name, nb::steal(wrap(one.tensor))));
        return nb::make_tuple(graph_object(std::move(traced.graph)), lifted);
      },
      "Runs function(list of stand-ins) -> list of arrays; gives the graph, and the arrays from outside that "
      "became "
      "inputs behind the arguments.");
  nb::class_<PyRegion>(m, "_Region", "A branch or body, captured.")
      .def_prop_ro(
          "ranks",
          [](const PyRegion& self) {
            nb::list out;
            for (const Type& type : self.region->types()) out.append(type.rank());
            return out;
          },
          "How many axes each result has.");
  m.def(
      "_capture_region",
      [](nb::callable function, nb::handle arguments, const std::string& name) {
        return PyRegion{record::capture_region(function_of(function), arguments_of(arguments), name,
                                               [](Capture& capture) {
                                                 capture.locate = &python_location;
                                                 capture.scope = &current_scope;
                                               })};
      },
      "Runs function(list of stand-ins) -> list of arrays, and keeps what it did for _record_control.");
  m.def("_record_control", &record_control, "A node of this op with these regions: its results.");
  m.def("_call_batched", &call_batched, "A region on many examples at once: its results.");
  m.def(
      "is_tracing", [] { return Capture::current() != nullptr; },
      "Whether a capture is going on in this thread.");
  m.def(
      "_capture", [] { return Capture::current() ? Capture::current()->serial() : 0; },
      "The number of the capture that is going on in this thread, 0 outside of any.");
  m.def("_push_scope", [](const std::string& name) {
    scopes().push_back(scopes().empty() ? name : scopes().back() + "." + name);
  });
  m.def("_pop_scope", [] { scopes().pop_back(); });
}

}  // namespace ig::py
