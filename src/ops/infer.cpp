// What `infer` rules check with, and the inference of composites, which is that of their bodies.
#include <algorithm>

#include <fmt/format.h>

#include "ops/builder.h"

namespace ig::ops {
namespace {

std::string operand_name(const Op& op, size_t i) {
  const auto& specs = op.decl.operands;
  if (i < specs.size() && !specs[i].variadic) return specs[i].name;
  if (!specs.empty() && specs.back().variadic)
    return fmt::format("{}[{}]", specs.back().name, i - (specs.size() - 1));
  return fmt::format("operand {}", i);
}

}  // namespace

void InferContext::fail(ErrorKind kind, std::string message, std::string why, std::string hint) const {
  Error error(kind, fmt::format("{}: {}", op.public_name(), message));
  error.why(why.empty() ? "the operands do not fit the op" : std::move(why));
  error.hint(hint.empty() ? fmt::format("see the documentation of {}", op.public_name()) : std::move(hint));
  throw error;
}

void InferContext::require_dtype(size_t i, DTypeSet set) const {
  if (!operands[i].is_tensor() || contains(set, operands[i].dtype)) {
    if (operands[i].is_tensor()) return;
    fail(ErrorKind::Type, fmt::format("expected an array, but {} is a token", operand_name(op, i)));
  }
  DType have = operands[i].dtype;
  bool to_float =
      (set == DTypeSet::Float || set == DTypeSet::FloatComplex) && (is_integer(have) || have == DType::Bool);
  if (is_complex(have) && (set == DTypeSet::Real || set == DTypeSet::Float))
    fail(ErrorKind::Type,
         fmt::format("expected {}, but {} is {}", describe(set), operand_name(op, i), info(have).api_name),
         fmt::format("{} is defined for real numbers alone: complex numbers have no order, and no one part",
                     op.public_name()),
         "take a real number of each first: ig.real(x), ig.imag(x) or ig.abs(x)");
  fail(ErrorKind::Type,
       fmt::format("expected {}, but {} is {}", describe(set), operand_name(op, i), info(have).api_name),
       fmt::format("{} is defined for {} alone; types are never converted unasked", op.public_name(),
                   describe(set)),
       to_float ? "convert first, e.g. x.astype(ig.float32)" : "convert with astype");
}

void InferContext::require_same_dtype(size_t a, size_t b) const {
  if (operands[a].dtype == operands[b].dtype) return;
  fail(ErrorKind::Type,
       fmt::format("{} is {}, but {} is {}", operand_name(op, a), info(operands[a].dtype).api_name,
                   operand_name(op, b), info(operands[b].dtype).api_name),
       "both must have one element type", "convert one of them with astype");
}

void InferContext::require_same_shape(size_t a, size_t b) const {
  const Dims &x = operands[a].dims, &y = operands[b].dims;
  bool same = x.size() == y.size();
  for (size_t i = 0; same && i < x.size(); ++i) same = scope.decide_equal(x[i], y[i]);
  if (!same)
    fail(ErrorKind::Shape, fmt::format("shapes {} and {} differ", str(x), str(y)),
         "this op works element by element and needs equal shapes", "broadcast or reshape one of them");
}

void InferContext::require_rank(size_t i, int rank) const {
  if (operands[i].rank() != rank)
    fail(ErrorKind::Shape,
         fmt::format("expected {} of rank {}, but its shape is {}", operand_name(op, i), rank,
                     str(operands[i].dims)),
         "the op is defined for that rank", "reshape it");
}

void InferContext::require_equal(const Dim& a, const Dim& b, std::string_view what) const {
  if (!scope.decide_equal(a, b))
    fail(ErrorKind::Shape, fmt::format("{}: {} and {} differ", what, a.str(), b.str()),
         "the two sizes must be equal", "reshape or slice one of the operands");
}

void InferContext::require_less_equal(const Dim& a, const Dim& b, std::string_view what) const {
  if (!scope.decide_less_equal(a, b))
    fail(ErrorKind::Shape, fmt::format("{}: {} is more than {}", what, a.str(), b.str()),
         "the first must not be larger than the second");
}

int64_t InferContext::axis(int64_t value, int rank) const {
  if (value < 0 || value >= rank)
    fail(ErrorKind::Index, fmt::format("axis {} is out of range for rank {}", value, rank),
         rank == 0 ? "an array of rank 0 has no axes"
                   : fmt::format("axes run from 0 to {}, or from -{} to -1", rank - 1, rank),
         "give an axis that the array has");
  return value;
}

std::vector<Type> infer(const Op& op, std::vector<Type> operands, const Attrs& attrs, const DimScope& scope) {
  size_t least = 0, most = 0;
  for (const OperandSpec& spec : op.decl.operands) {
    if (!spec.optional && !spec.variadic) ++least;
    most = spec.variadic ? SIZE_MAX : most + 1;
  }
  InferContext context(op, operands, attrs, scope);
  if (op.decl.segments.empty() && (operands.size() < least || operands.size() > most))
    context.fail(ErrorKind::Type,
                 least == most ? fmt::format("expected {} operands, got {}", least, operands.size())
                               : fmt::format("expected at least {} operands, got {}", least, operands.size()),
                 "the op takes that many arrays",
                 fmt::format("see the documentation of {}", op.public_name()));
  if (op.rules.infer) {
    op.rules.infer.get()(context);
    return std::move(context.results);
  }
  IG_CHECK(static_cast<bool>(op.rules.body), "{} has neither infer nor body", op.decl.name);
  Graph scratch("infer");
  scratch.dims = scope;
  std::vector<Value> values;
  for (Type& type : operands) values.push_back(scratch.body().add_arg(std::move(type)));
  Builder build(scratch.body());
  BodyContext body{build, attrs, values};
  std::vector<Type> results;
  try {
    for (Value v : op.rules.body.get()(body)) results.push_back(v->type());
  } catch (Error& error) {
    // The user called the composite, not what it is made of.
    std::string inner = error.summary();
    std::string name = op.public_name() + ": ";
    if (inner.starts_with(name) || error.kind() == ErrorKind::Internal) throw;
    Error outer(error.kind(), name + inner);
    throw outer.why(error.why_text()).hint(error.hint_text());
  }
  return results;
}

Attrs complete_attrs(const Op& op, Attrs given) {
  auto fail = [&](ErrorKind kind, std::string message, std::string hint) {
    throw make_error(kind, "{}: {}", op.public_name(), message)
        .why("each attribute has a name and a kind")
        .hint(std::move(hint));
  };
  auto names = [&] {
    std::string out;
    for (const AttrSpec& spec : op.decl.attrs) out += (out.empty() ? "" : ", ") + spec.name;
    return out.empty() ? std::string("it has no attributes") : "its attributes are " + out;
  };
  size_t used = 0;
  Attrs out;
  for (const AttrSpec& spec : op.decl.attrs) {
    const AttrValue* value = given.find(spec.name);
    if (!value) {
      if (!spec.fallback)
        fail(ErrorKind::Type, fmt::format("the attribute {} is missing", spec.name), spec.doc);
      out.set(spec.name, *spec.fallback);
      continue;
    }
    ++used;
    AttrValue v = *value;
    if (spec.kind == AttrKind::Float)
      if (const auto* i = std::get_if<int64_t>(&v)) v = static_cast<double>(*i);
    if (spec.kind == AttrKind::Dims)
      if (const auto* i = std::get_if<Ints>(&v)) v = Dims(i->begin(), i->end());
    if (v.index() != static_cast<size_t>(spec.kind))
      fail(ErrorKind::Type,
           fmt::format("the attribute {} is of kind {}, got {}", spec.name, attr_kind_name(spec.kind),
                       attr_kind_name(static_cast<AttrKind>(v.index()))),
           spec.doc);
    if (!spec.choices.empty()) {
      const auto& word = std::get<std::string>(v);
      std::string all = "|" + spec.choices + "|";
      if (word.empty() || word.find('|') != std::string::npos ||
          all.find("|" + word + "|") == std::string::npos)
        fail(ErrorKind::Value, fmt::format("the attribute {} cannot be '{}'", spec.name, word),
             "it is one of " + spec.choices);
    }
    out.set(spec.name, std::move(v));
  }
  if (used != given.items().size())
    for (const auto& [key, value] : given.items())
      if (!out.find(key)) fail(ErrorKind::Type, fmt::format("unknown attribute '{}'", key), names());
  return out;
}

}  // namespace ig::ops
