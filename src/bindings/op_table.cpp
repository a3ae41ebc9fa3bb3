// The op table as Python data, for stubs, docs and generated tests; and ops of a user's own.
#include <nanobind/stl/map.h>
#include <nanobind/stl/tuple.h>

#include "bindings/common.h"
#include "ops/builder.h"
#include "ops/mutants.h"
#include "runtime/thread_pool.h"
#include "tensor/eager.h"

namespace ig::py {
namespace {

template <typename Fn>
nb::object rule(const ops::Rule<Fn>& rule) {
  if (rule) return nb::bool_(true);
  return nb::str(rule.reason().c_str());
}

nb::object lower_rule(const ops::LowerRule& rule) {
  using Kind = ops::LowerRule::Kind;
  static const char* words[] = {"none", "scalar", "point", "reduce", "nest", "control", "composite"};
  nb::dict out;
  out["kind"] = words[static_cast<size_t>(rule.kind)];
  static const char* ways[] = {"",       "cond", "switch", "while", "scan", "call", "its region, as a whole",
                               "relabel"};
  out["reason"] = rule.kind == Kind::Control ? ways[static_cast<size_t>(rule.way)]
                  : rule.kind == Kind::None  ? rule.reason
                                             : std::string();
  return out;
}

nb::object common_dtype(const std::string& who, nb::args given) {
  std::vector<front::Operand> operands;
  for (nb::handle arg : given) {
    if (std::optional<DType> dtype =
            is_tensor(arg.ptr()) || as_scalar(arg.ptr()) ? std::nullopt : dtype_of(arg.ptr()))
      operands.push_back(Tensor(*dtype, Shape(), Storage()));
    else
      operands.push_back(require_operand(arg.ptr(), who, "an argument"));
  }
  if (operands.empty())
    throw make_error(ErrorKind::Type, "{}: no arrays or dtypes were given", who)
        .why("the promotion of nothing has no result")
        .hint("give one or more, as in ig.result_type(x, ig.float32)");
  return nb::borrow(dtype_object(front::result_type(operands, who)));
}

const std::pair<ops::Trait, const char*> kTraits[] = {
    {ops::Trait::Elementwise, "elementwise"},
    {ops::Trait::Commutative, "commutative"},
    {ops::Trait::View, "view"},
    {ops::Trait::Reduction, "reduction"},
    {ops::Trait::Contraction, "contraction"},
    {ops::Trait::Effect, "effect"},
    {ops::Trait::Control, "control"},
    {ops::Trait::Composite, "composite"},
    {ops::Trait::Constant, "constant"},
    {ops::Trait::Linear, "linear"},
    {ops::Trait::Idempotent, "idempotent"},
    {ops::Trait::Random, "random"},
    {ops::Trait::Cheap, "cheap"},
    {ops::Trait::Relabel, "relabel"},
};

nb::dict describe(const ops::Op& op) {
  static const char* fronts[] = {"none", "elementwise", "reduction", "direct"};
  const ops::OpDecl& decl = op.decl;
  nb::dict out;
  out["name"] = decl.name;
  out["python"] = decl.python;
  out["doc"] = decl.doc;
  nb::list operands, attrs, traits, dtypes, samples, bad;
  for (const ops::OperandSpec& spec : decl.operands) {
    nb::dict one;
    one["name"] = spec.name;
    one["doc"] = spec.doc;
    one["variadic"] = spec.variadic;
    one["optional"] = spec.optional;
    operands.append(one);
  }
  for (const AttrSpec& spec : decl.attrs) {
    nb::dict one;
    one["name"] = spec.name;
    one["doc"] = spec.doc;
    one["kind"] = nb::str(attr_kind_name(spec.kind).data(), attr_kind_name(spec.kind).size());
    one["required"] = !spec.fallback;
    one["default"] = spec.fallback ? attr_object(*spec.fallback) : nb::none();
    one["choices"] = spec.choices;
    attrs.append(one);
  }
  for (const auto& [trait, word] : kTraits)
    if (op.has(trait)) traits.append(word);
  for (DType dtype : ops::members(decl.dtypes)) dtypes.append(nb::borrow(dtype_object(dtype)));
  for (const ops::Sample& sample : decl.samples) {
    nb::dict one;
    one["operands"] = sample.operands;
    one["attrs"] = sample.attrs;
    one["low"] = sample.low;
    one["high"] = sample.high;
    samples.append(one);
  }
  for (const ops::BadSample& sample : decl.bad_samples) {
    nb::dict one;
    one["operands"] = sample.operands;
    one["attrs"] = sample.attrs;
    one["error"] = sample.error;
    bad.append(one);
  }
  out["operands"] = operands;
  out["attrs"] = attrs;
  out["segments"] = nb::cast(decl.segments.size());
  out["results"] = decl.results;
  out["dtypes"] = dtypes;
  out["traits"] = traits;
  out["front"] = fronts[static_cast<size_t>(decl.front)];
  out["numpy"] = decl.numpy;
  out["example"] = decl.example;
  out["samples"] = samples;
  out["bad_samples"] = bad;
  out["ulp"] = decl.ulp;
  out["complex_ulp"] = decl.complex_ulp;
  nb::dict rules;
  rules["infer"] = rule(op.rules.infer);
  rules["reference"] = rule(op.rules.reference);
  rules["lower"] = lower_rule(op.rules.lower);
  rules["simplify"] = rule(op.rules.simplify);
  rules["jvp"] = rule(op.rules.jvp);
  rules["transpose"] = rule(op.rules.transpose);
  rules["batch"] = rule(op.rules.batch);
  rules["body"] = rule(op.rules.body);
  out["rules"] = rules;
  return out;
}

// "{axes = [1]}" by the op's declaration.
Attrs parse_attrs(const ops::Op& op, const std::string& text) {
  Attrs attrs;
  size_t at = text.find('{');
  size_t end = text.rfind('}');
  if (at == std::string::npos || end == std::string::npos) return attrs;
  ++at;
  while (at < end) {
    size_t equals = text.find('=', at);
    if (equals == std::string::npos || equals >= end) break;
    std::string name = text.substr(at, equals - at);
    name.erase(0, name.find_first_not_of(" ,"));
    name.erase(name.find_last_not_of(' ') + 1);
    size_t from = equals + 1, to = from;
    int depth = 0;
    bool quoted = false;
    for (; to < end; ++to) {
      char c = text[to];
      if (c == '"') quoted = !quoted;
      if (quoted) continue;
      if (c == '[' || c == '{' || c == '(' || c == '<') ++depth;
      if (c == ']' || c == '}' || c == ')' || c == '>') --depth;
      if (c == ',' && depth == 0) break;
    }
    const AttrSpec* spec = nullptr;
    for (const AttrSpec& one : op.decl.attrs)
      if (one.name == name) spec = &one;
    std::string value = text.substr(from, to - from);
    value.erase(0, value.find_first_not_of(' '));
    value.erase(value.find_last_not_of(' ') + 1);
    if (!spec)
      throw make_error(ErrorKind::Value, "{}: there is no attribute `{}`", op.public_name(), name)
          .why("the op's declaration has no such attribute")
          .hint(fmt::format("docs/ops.md has the attributes of {}", op.public_name()));
    attrs.set(name, AttrSpec::parse_value(spec->kind, value));
    at = to + 1;
  }
  return attrs;
}

std::vector<Tensor> concrete_all(nb::handle arrays) {
  std::vector<Tensor> out;
  for (nb::handle array : arrays)
    out.push_back(concrete(as_tensor(array.ptr(), std::nullopt, "op"), "the values"));
  return out;
}

nb::object tuple_of(std::vector<Tensor> tensors) {
  nb::object out = own(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
  for (size_t i = 0; i < tensors.size(); ++i)
    PyTuple_SET_ITEM(out.ptr(), static_cast<Py_ssize_t>(i), wrap(std::move(tensors[i])));
  return out;
}

}  // namespace

void init_op_table(nb::module_& m) {
  m.def(
      "op_table",
      [] {
        nb::list out;
        for (const ops::Op* op : ops::all()) out.append(describe(*op));
        return out;
      },
      "Every op as a dict: its declaration, its samples, and for each rule True or the reason why there is "
      "none.");
  m.def(
      "_reference",
      [](const std::string& name, nb::handle arrays, const std::string& attr_text) {
        const ops::Op& op = ops::get(name);
        Attrs attrs = ops::complete_attrs(op, parse_attrs(op, attr_text));
        std::vector<Literal> literals;
        for (const Tensor& array : concrete_all(arrays)) literals.push_back(array.literal());
        std::vector<Tensor> out;
        for (const Literal& literal : ops::evaluate(op, attrs, literals))
          out.push_back(Tensor::from(literal));
        return tuple_of(std::move(out));
      },
      "An op by its definition.");
  m.def(
      "_apply",
      [](const std::string& name, nb::handle arrays, const std::string& attr_text) {
        const ops::Op& op = ops::get(name);
        std::vector<Tensor> operands = concrete_all(arrays);
        Attrs attrs = ops::complete_attrs(op, parse_attrs(op, attr_text));
        bool same = op.has(ops::Trait::Elementwise) && !operands.empty();
        for (const Tensor& operand : operands) same &= operand.shape() == operands[0].shape();
        return tuple_of(same ? eager::run_elementwise(op, operands, attrs, operands[0].shape())
                             : apply(op, operands, std::move(attrs)));
      },
      "An op as eager execution runs it, on operands of exactly its shapes.");
  m.def(
      "_infer",
      [](const std::string& name, const std::vector<std::string>& types, const std::string& attr_text) {
        const ops::Op& op = ops::get(name);
        std::vector<Type> operands;
        for (const std::string& type : types) operands.push_back(Type::parse(type));
        std::vector<std::string> out;
        Attrs attrs = ops::complete_attrs(op, parse_attrs(op, attr_text));
        for (const Type& type : ops::infer(op, operands, attrs, DimScope{})) out.push_back(type.str());
        return out;
      },
      "The result types of an op, in graph text.");
  m.def(
      "_graph_of",
      [](const std::string& name,
         const std::vector<std::tuple<std::string, std::vector<std::string>, std::string>>& steps,
         const std::map<std::string, int64_t>& symbols) {
        auto graph = std::make_shared<Graph>(name);
        for (const auto& [symbol, least] : symbols) graph->dims.declare(symbol, {least, Range{}.high});
        ops::Builder build(graph->body());
        std::vector<Value> results;
        for (const auto& [op_name, types, attr_text] : steps) {
          const ops::Op& op = ops::get(op_name);
          std::vector<Value> operands;
          for (const std::string& type : types)
            operands.push_back(
                graph->body().add_arg(Type::parse(type), fmt::format("x{}", graph->inputs().size())));
          const Node* node = build.node(op, operands, ops::complete_attrs(op, parse_attrs(op, attr_text)));
          results.insert(results.end(), node->results().begin(), node->results().end());
        }
        graph->body().set_results(results);
        ops::verify(*graph);
        return graph_object(graph);
      },
      "A graph of unconnected nodes (op, operand types, attributes), their operands its inputs, all results "
      "its outputs; "
      "symbols with their least sizes.");
  m.def(
      "_parse_attrs",
      [](const std::string& name, const std::string& attr_text) {
        const ops::Op& op = ops::get(name);
        nb::dict out;
        Attrs attrs = ops::complete_attrs(op, parse_attrs(op, attr_text));
        for (const auto& [key, value] : attrs.items()) out[key.c_str()] = attr_object(value);
        return out;
      },
      "Attributes in graph text, as Python values, defaults filled in.");
  m.def(
      "result_type", [](nb::args given) { return common_dtype("result_type", given); },
      "The dtype of an operation on these arrays, dtypes and Python numbers.");
  m.def("_result_type", &common_dtype, "The same on behalf of a function, which errors name.");
  m.def("_promote", [](nb::handle a, nb::handle b) -> nb::object {
    std::optional<DType> joint =
        promote(require_dtype(a.ptr(), "promote"), require_dtype(b.ptr(), "promote"));
    return joint ? nb::borrow(dtype_object(*joint)) : nb::none();
  });
#ifdef INTAGLIO_MUTANTS
  m.def(
      "_mutants",
      [] {
        nb::list out;
        for (const ops::Op* op : ops::all()) {
          nb::list row;
          row.append(op->decl.name);
          for (const std::string& fault : ops::mutants_of(*op)) row.append(fault);
          out.append(row);
        }
        return out;
      },
      "The faults that can be planted: lists of an op and its faults.");
  m.def("_plant_mutant", &ops::plant, "Plants a fault in this process, before anything ran.");
#endif
  m.def(
      "_counters",
      [] {
        const eager::Counters& counters = eager::counters();
        nb::dict out;
        out["programs"] = counters.programs.load();
        out["prebuilt"] = counters.prebuilt.load();
        out["runs"] = counters.runs.load();
        out["relabels"] = counters.relabels.load();
        out["views"] = counters.views.load();
        out["fallbacks"] = counters.fallbacks.load();
        return out;
      },
      "What eager execution did so far: programs compiled, kinds of call that prebuilt kernels serve, runs, "
      "ops that "
      "moved no byte, strided copies, and runs of reference rules for want of a compiler or a lowering.");
}

}  // namespace ig::py
