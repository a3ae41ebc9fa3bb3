// Ops of a user's own, declared from Python: a composite by a body in Python, or a primitive by `infer` and a
// reference in NumPy. The op table's rules are plain function pointers, which know no Python objects, so each
// op gets a slot with three functions of its own, made at compile time; all that they hold is the slot's
// number.
#include <array>
#include <utility>

#include "bindings/common.h"
#include "frontends/record/trace.h"
#include "ops/builder.h"

namespace ig::py {
namespace {

constexpr size_t kSlots = 256;

struct UserOp {
  nb::object infer, reference, body;
  std::string name;
};
std::array<UserOp, kSlots>& user_ops() {
  static auto* ops = new std::array<UserOp, kSlots>;
  return *ops;
}
size_t used_slots = 0;

// Python's errors must cross C++ code that knows ig::Error alone: the message goes along, the class where it
// is ours.
Error of_user(const UserOp& op, const char* what) {
  return make_error(ErrorKind::Value, "{}: {}", op.name, what)
      .why("a function that was given to ig.register_op raised this")
      .hint("mend the function, or call it by itself with the same arguments to see where it fails");
}

template <typename F>
auto with_python(const UserOp& op, F&& f) {
  nb::gil_scoped_acquire gil;
  try {
    return f();
  } catch (const PythonError&) {
    nb::python_error error;
    throw of_user(op, error.what());
  } catch (nb::python_error& error) {
    throw of_user(op, error.what());
  }
}

nb::dict attr_dict(const Attrs& attrs) {
  nb::dict out;
  for (const auto& [name, value] : attrs.items()) out[name.c_str()] = attr_object(value);
  return out;
}

nb::object type_object(const Type& type) {
  nb::list shape;
  for (const Dim& dim : type.dims) shape.append(dim_object(dim));
  return nb::module_::import_("intaglio._signature")
      .attr("TensorType")(nb::borrow(dtype_object(type.dtype)), nb::tuple(shape));
}

std::vector<nb::object> items_of(nb::handle result) {
  std::vector<nb::object> out;
  if (is_tensor(result.ptr()) || !(PyList_Check(result.ptr()) || PyTuple_CheckExact(result.ptr()))) {
    out.push_back(nb::borrow(result));
    return out;
  }
  for (nb::handle item : result) out.push_back(nb::borrow(item));
  return out;
}

nb::object call(const nb::object& function, const std::vector<nb::object>& args, const Attrs& attrs) {
  nb::list list;
  for (const nb::object& arg : args) list.append(arg);
  return function(*nb::tuple(list), **attr_dict(attrs));
}

std::unique_ptr<Graph> trace_body(const UserOp& op, std::span<const Type> types, const Attrs& attrs,
                                  const DimScope* scope) {
  std::vector<record::Argument> arguments;
  for (size_t i = 0; i < types.size(); ++i) arguments.push_back({types[i], fmt::format("x{}", i)});
  record::TraceCapture capture(op.name);
  capture.locate = &python_location;
  capture.lift_constants = false;
  if (scope)
    for (const auto& [symbol, range] : scope->symbols()) capture.graph().dims.declare(symbol, range);
  record::Function body = [&](std::span<const Tensor> inputs) {
    std::vector<nb::object> args;
    for (const Tensor& input : inputs) args.push_back(nb::steal(wrap(input)));
    std::vector<Tensor> out;
    for (const nb::object& result : items_of(call(op.body, args, attrs)))
      out.push_back(as_tensor(result.ptr(), std::nullopt, op.name));
    return out;
  };
  return std::move(record::trace(capture, body, arguments).graph);
}

void infer(const UserOp& op, ops::InferContext& context) {
  with_python(op, [&] {
    if (op.infer.is_none()) {
      auto graph = trace_body(op, context.operands, context.attrs, &context.scope);
      for (Value output : graph->outputs()) context.results.push_back(output->type());
      return;
    }
    std::vector<nb::object> args;
    for (const Type& type : context.operands) args.push_back(type_object(type));
    nb::object result = call(op.infer, args, context.attrs);
    bool single = nb::hasattr(result, "dtype");
    std::vector<nb::object> types;
    if (single)
      types.push_back(result);
    else
      for (nb::handle item : result) types.push_back(nb::borrow(item));
    for (const nb::object& type : types) {
      Dims dims;
      for (nb::handle size : nb::object(type.attr("shape"))) {
        std::optional<Dim> dim = as_dim(size.ptr());
        if (!dim)
          throw make_error(ErrorKind::Type, "{}: infer gave a size of type {}", op.name,
                           Py_TYPE(size.ptr())->tp_name)
              .why("sizes are integers, or sizes of the operands")
              .hint("give ig.TensorType(dtype, shape) with whole numbers and sizes in its shape");
        dims.push_back(*dim);
      }
      context.result(require_dtype(nb::object(type.attr("dtype")).ptr(), op.name), std::move(dims));
    }
  });
}

void reference(const UserOp& op, ops::ReferenceContext& context) {
  with_python(op, [&] {
    std::vector<nb::object> args;
    nb::object to_numpy = nb::module_::import_("intaglio._numpy").attr("to_numpy");
    for (const Literal& operand : context.operands)
      args.push_back(to_numpy(nb::steal(wrap(Tensor::from(operand)))));
    std::vector<nb::object> results = items_of(call(op.reference, args, context.attrs));
    if (results.size() != context.results.size())
      throw make_error(ErrorKind::Value, "{}: the reference gave {} results, and infer {}", op.name,
                       results.size(), context.results.size())
          .why("both must agree: infer says what the op gives, and the reference gives it")
          .hint("return one array for each TensorType of infer");
    for (size_t i = 0; i < results.size(); ++i) {
      Literal& want = context.results[i];
      Tensor value = as_tensor(results[i].ptr(), std::nullopt, op.name);
      if (value.dtype() != want.dtype()) value = as_tensor(results[i].ptr(), want.dtype(), op.name);
      if (value.shape() != Shape(want.dims()))
        throw make_error(ErrorKind::Shape, "{}: the reference gave the shape [{}], and infer [{}]", op.name,
                         fmt::join(value.shape(), ", "), fmt::join(want.dims(), ", "))
            .why("both must agree: infer says what the op gives, and the reference gives it")
            .hint("mend the one that is wrong");
      std::memcpy(want.mutable_data(), value.data(), want.bytes());
    }
  });
}

std::vector<Value> body(const UserOp& op, ops::BodyContext& context) {
  return with_python(op, [&] {
    std::vector<Type> types;
    for (Value operand : context.operands) types.push_back(operand->type());
    auto graph = trace_body(op, types, context.attrs, &context.build.graph().dims);
    return context.build.graph().inline_block(graph->body(), context.build.block(), context.operands,
                                              context.build.before());
  });
}

struct Slot {
  ops::InferFn infer;
  ops::ReferenceFn reference;
  ops::BodyFn body;
};
template <size_t i>
constexpr Slot kSlot = {[](ops::InferContext& context) { infer(user_ops()[i], context); },
                        [](ops::ReferenceContext& context) { reference(user_ops()[i], context); },
                        [](ops::BodyContext& context) { return body(user_ops()[i], context); }};
template <size_t... i>
constexpr std::array<Slot, sizeof...(i)> make_slots(std::index_sequence<i...>) {
  return {kSlot<i>...};
}
constexpr std::array<Slot, kSlots> kSlotTable = make_slots(std::make_index_sequence<kSlots>());

AttrSpec attr_spec(const std::string& name, nb::handle value) {
  PyObject* raw = value.ptr();
  AttrSpec spec;
  spec.name = name;
  spec.doc = "An attribute of the op.";
  if (PyBool_Check(raw))
    spec.kind = AttrKind::Bool;
  else if (PyLong_Check(raw))
    spec.kind = AttrKind::Int;
  else if (PyFloat_Check(raw))
    spec.kind = AttrKind::Float;
  else if (dtype_of(raw))
    spec.kind = AttrKind::DType;
  else if (PyUnicode_Check(raw))
    spec.kind = AttrKind::Text;
  else if (PyTuple_Check(raw) || PyList_Check(raw))
    spec.kind = AttrKind::Ints;
  else
    throw make_error(ErrorKind::Type, "register_op: the attribute `{}` has a default of type {}", name,
                     Py_TYPE(raw)->tp_name)
        .why("an attribute is part of the graph's text, and this type has no form there")
        .hint("attributes are bool, int, float, str, dtype or a tuple of ints");
  spec.fallback = attr_value(raw, spec, "register_op");
  return spec;
}

nb::object register_op(const std::string& name, const std::string& doc, nb::handle operands, nb::handle attrs,
                       nb::object infer, nb::object reference, nb::object body, bool elementwise, int results,
                       const std::string& numpy) {
  if (used_slots == kSlots)
    throw make_error(ErrorKind::Unsupported, "register_op: more than {} ops", kSlots)
        .why("each op of a user's own takes one of that many places in the table")
        .hint("declare ops once, at import, and not in a loop; give what varies as attributes");
  if (body.is_none() && (infer.is_none() || reference.is_none()))
    throw make_error(ErrorKind::Value, "register_op: `{}` needs a body, or infer and reference", name)
        .why("an op must say what it gives and how that is computed")
        .hint(
            "body: a Python function on arrays; reference: a function on NumPy arrays; infer: of "
            "TensorTypes");
  ops::OpDecl decl;
  decl.name = name;
  decl.python = name;
  decl.doc = doc;
  for (nb::handle operand : operands) {
    ops::OperandSpec spec;
    spec.name = nb::cast<std::string>(operand);
    spec.doc = "An array.";
    decl.operands.push_back(spec);
  }
  for (nb::handle item : nb::object(attrs.attr("items")()))
    decl.attrs.push_back(
        attr_spec(nb::cast<std::string>(nb::object(item[nb::int_(0)])), nb::object(item[nb::int_(1)])));
  decl.results = results;
  decl.dtypes = ops::DTypeSet::Any;
  decl.front = elementwise ? ops::Front::Elementwise : ops::Front::Direct;
  decl.numpy = numpy.empty() ? "none: an op of the user's own" : numpy;
  bool composite = !body.is_none();
  if (composite) decl.traits |= static_cast<uint32_t>(ops::Trait::Composite);
  if (elementwise) decl.traits |= static_cast<uint32_t>(ops::Trait::Elementwise);
  const Slot& slot = kSlotTable[used_slots];
  const char* why = composite ? "by its body" : "an op of the user's own, declared without it";
  ops::Op op{.decl = std::move(decl),
             .rules = {.infer = slot.infer,
                       .reference = reference.is_none() ? ops::Rule<ops::ReferenceFn>::none("by its body")
                                                        : ops::Rule<ops::ReferenceFn>(slot.reference),
                       .lower = composite ? ops::LowerRule::of_body()
                                          : ops::LowerRule::none("it is computed by its reference in Python"),
                       .simplify = ops::Rule<ops::SimplifyFn>::none(why),
                       .jvp = ops::Rule<ops::JvpFn>::none(why),
                       .transpose = ops::Rule<ops::TransposeFn>::none(why),
                       .batch = ops::Rule<ops::BatchFn>::none(why),
                       .body = composite ? ops::Rule<ops::BodyFn>(slot.body)
                                         : ops::Rule<ops::BodyFn>::none("a primitive")},
             .id = {}};
  user_ops()[used_slots] = {std::move(infer), std::move(reference), std::move(body), name};
  const ops::Op& added = ops::add(std::move(op));
  ++used_slots;
  nb::object function = nb::module_::import_("intaglio._intaglio").attr("op")(added.decl.name);
  check(PyDict_SetItemString(functions(), name.c_str(), function.ptr()));
  return function;
}

}  // namespace

void init_user_ops(nb::module_& m) {
  m.def("_register_op", &register_op, nb::arg("name"), nb::arg("doc"), nb::arg("operands"), nb::arg("attrs"),
        nb::arg("infer").none(), nb::arg("reference").none(), nb::arg("body").none(), nb::arg("elementwise"),
        nb::arg("results"), nb::arg("numpy"));
}

}  // namespace ig::py
