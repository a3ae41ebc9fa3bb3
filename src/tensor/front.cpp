// Promotion, scalars, broadcasting and axes, before an op is applied.
#include "tensor/front.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "tensor/autocast.h"
#include "tensor/capture.h"
#include "tensor/eager.h"
#include "tensor/mode.h"
#include "tensor/scalar_forms.h"

namespace ig::front {
namespace {

std::string_view kind_word(DKind kind) {
  switch (kind) {
    case DKind::Bool: return "bool";
    case DKind::Signed:
    case DKind::Unsigned: return "int";
    case DKind::Float: return "float";
    case DKind::Complex: return "complex";
    case DKind::Key: break;
  }
  return "key";
}

// The dtype of an array of `array` with a Python scalar; the array's, but that a complex number makes floats
// complex.
DType with_scalar(DType array, const Scalar& scalar, std::string_view op) {
  DKind have = kind_of(array);
  bool fits = false;
  switch (scalar.kind) {
    case DKind::Bool: fits = have == DKind::Bool; break;
    case DKind::Signed:
    case DKind::Unsigned: fits = have != DKind::Bool && have != DKind::Key; break;
    case DKind::Float: fits = have == DKind::Float || have == DKind::Complex; break;
    case DKind::Complex: fits = have == DKind::Float || have == DKind::Complex; break;
    case DKind::Key: break;
  }
  if (!fits)
    throw make_error(ErrorKind::Type, "{}: a Python {} does not go with {} arrays", op,
                     kind_word(scalar.kind), info(array).api_name)
        .why("a Python scalar takes the dtype of the array, and this one cannot hold it without loss")
        .hint(fmt::format("convert the array first: ig.astype(x, ig.{})",
                          scalar.kind == DKind::Bool ? "bool" : info(default_dtype(scalar)).api_name));
  return scalar.kind == DKind::Complex ? complex_of(array) : array;
}

// The operand types of a sample ("T[2, 3], i64[2] {0, 2}"); none for T.
std::vector<std::optional<DType>> dtypes_of_sample(const std::string& text) {
  std::vector<std::optional<DType>> out;
  int depth = 0;
  std::string word;
  auto close = [&] {
    size_t from = word.find_first_not_of(' ');
    if (from == std::string::npos) return;
    std::string name = word.substr(from, word.find_first_of("[ {", from) - from);
    out.push_back(dtype_from_name(name));
    word.clear();
  };
  for (char c : text) {
    if (c == '[' || c == '{') ++depth;
    if (c == ']' || c == '}') --depth;
    if (c == ',' && depth == 0)
      close();
    else
      word += c;
  }
  close();
  return out;
}

OperandKinds read_kinds(const ops::Op& op) {
  OperandKinds out;
  for (const ops::Sample& sample : op.decl.samples) {
    std::vector<std::optional<DType>> dtypes = dtypes_of_sample(sample.operands);
    for (size_t i = 0; i < dtypes.size(); ++i) {
      OperandKinds::Kind kind{.t = !dtypes[i], .dtype = dtypes[i]};
      if (i == out.kinds.size())
        out.kinds.push_back(kind);
      else if (!(out.kinds[i] == kind))
        out.kinds[i] = {.t = false, .dtype = std::nullopt};
    }
  }
  return out;
}

bool ends_with_word(std::string_view name, std::string_view word) {
  return name == word || (name.ends_with(word) && name[name.size() - word.size() - 1] == '_');
}

// A symbolic Python number counts as a scalar of its kind wherever dtypes are settled.
Operand as_scalar_kind(const Operand& operand) {
  const Tensor* tensor = std::get_if<Tensor>(&operand);
  if (!tensor || !tensor->is_number()) return operand;
  return Scalar{.kind = kind_of(tensor->dtype())};
}

// Negative axes of the attributes become positive: those named `axis`, `axes`, or ending in these words.
void normalise_axes(const ops::Op& op, std::span<const Tensor> operands, Attrs& attrs) {
  if (operands.empty()) return;
  std::vector<std::pair<std::string, AttrValue>> changed;
  for (const auto& [name, value] : attrs.items()) {
    if (!ends_with_word(name, "axis") && !ends_with_word(name, "axes")) continue;
    size_t which = name.starts_with("rhs_") && operands.size() > 1 ? 1 : 0;
    for (size_t i = 1; i < std::min(operands.size(), op.decl.operands.size()); ++i)
      if (name.starts_with(op.decl.operands[i].name + "_")) which = i;  // y_axes are axes of y
    int rank = operands[which].rank();
    if (const int64_t* axis = std::get_if<int64_t>(&value)) {
      // The bodies of composites count themselves: the axis of some is one of the result.
      if (*axis < 0 && !op.has(ops::Trait::Composite))
        changed.emplace_back(name, normalise_axis(*axis, rank, op.public_name()));
    } else if (const Ints* axes = std::get_if<Ints>(&value)) {
      Ints positive = *axes;
      for (int64_t& one : positive)
        if (one < 0) one = normalise_axis(one, rank, op.public_name());
      changed.emplace_back(name, std::move(positive));
    }
  }
  for (auto& [name, value] : changed) attrs.set(name, std::move(value));
}

const ops::Op& convert_op() {
  static const ops::Op& op = ops::get("convert");
  return op;
}

// A symbolic Python number in this dtype, rounded as `scalar_tensor` rounds: through float64 where it is an
// integer that becomes a float. Where the dtype may not hold it, the capture settles its value.
Tensor number_tensor(const Tensor& number, DType dtype) {
  if (is_integer(dtype) && dtype != DType::I64)
    return scalar_tensor(Scalar{.kind = DKind::Signed, .integer = Capture::current()->to_int(number)}, dtype);
  Tensor wide = is_integer(number.dtype()) && !is_integer(dtype) ? convert(number, DType::F64) : number;
  return wide.dtype() == dtype ? Tensor::symbolic(wide.capture(), wide.value()) : convert(wide, dtype);
}

// The operands as arrays: scalars in the dtype of the arrays they meet, or in the type that the op fixes for
// them.
std::vector<Tensor> materialise(const ops::Op& op, std::span<const Operand> operands, bool promote) {
  const OperandKinds& kinds = operand_kinds(op);
  std::vector<Operand> typed;
  bool uniform = true;
  const Tensor* first = nullptr;
  for (size_t i = 0; i < operands.size(); ++i) {
    if (!kinds.is_t(i)) continue;
    typed.push_back(as_scalar_kind(operands[i]));
    const Tensor* tensor = std::get_if<Tensor>(&typed.back()) ? std::get_if<Tensor>(&operands[i]) : nullptr;
    if (tensor && !first) first = tensor;
    uniform &= tensor && tensor->dtype() == first->dtype();
  }
  std::optional<DType> common;
  if (!typed.empty()) {
    if (uniform)
      common = first->dtype();
    else if (promote)
      common = result_type(typed, op.public_name());
    else if (first) {
      std::vector<Operand> with_first{*first};
      for (const Operand& operand : typed)
        if (std::holds_alternative<Scalar>(operand)) with_first.push_back(operand);
      common = result_type(with_first, op.public_name());
    } else
      common = result_type(typed, op.public_name());
  }
  std::vector<Tensor> out;
  out.reserve(operands.size());
  for (size_t i = 0; i < operands.size(); ++i) {
    if (const Scalar* scalar = std::get_if<Scalar>(&operands[i])) {
      DType dtype = kinds.is_t(i) ? *common : kinds.dtype(i).value_or(default_dtype(*scalar));
      out.push_back(scalar_tensor(*scalar, dtype));
    } else {
      const Tensor& tensor = std::get<Tensor>(operands[i]);
      if (tensor.is_number()) {
        Scalar kind{.kind = kind_of(tensor.dtype())};
        DType dtype = kinds.is_t(i) ? *common : kinds.dtype(i).value_or(default_dtype(kind));
        out.push_back(number_tensor(tensor, dtype));
        continue;
      }
      out.push_back(promote && kinds.is_t(i) && tensor.dtype() != *common ? convert(tensor, *common)
                                                                          : tensor);
    }
  }
  return out;
}

// `scalar`: the second operand was a Python number.
std::vector<Tensor> elementwise(const ops::Op& op, std::vector<Tensor> operands, Attrs attrs,
                                bool scalar = false) {
  if (OpMode::any())
    return OpMode::dispatch(op, operands, ops::complete_attrs(op, std::move(attrs)),
                            [&](std::span<const Tensor> given, const Attrs& with) {
                              return elementwise(op, {given.begin(), given.end()}, with, scalar);
                            });
  Capture* capture = Capture::current();
  // Only ops that cost more than the search for a form.
  if (scalar && !capture && op.decl.ulp > 0 && op.rules.simplify && operands.size() == 2 &&
      !operands[0].is_symbolic())
    if (std::optional<Tensor> out = eager::run_scalar_form(op, operands[0], operands[1])) return {*out};
  bool record = false;
  for (const Tensor& operand : operands) {
    if (operand.is_symbolic() && !capture) Capture::leaked(operand, nullptr);
    record |= operand.is_symbolic();
    record |= capture && capture->lift_constants && !operand.is_symbolic() && !capture->made_here(operand);
  }
  if (!op.decl.attrs.empty() || !attrs.empty()) attrs = ops::complete_attrs(op, std::move(attrs));
  if (!record || !capture) {
    std::vector<Tensor> out =
        eager::run_elementwise(op, operands, attrs, eager::broadcast_shapes(op, operands));
    if (capture)
      for (const Tensor& result : out) capture->note_made_here(result);
    return out;
  }
  Dims shape;
  for (const Tensor& operand : operands)
    shape = ops::broadcast_shapes(shape, operand.type().dims, capture->graph().dims, op.public_name());
  ops::Builder build(capture->graph().body());
  if (capture->locate) build.set_location(capture->locate());
  if (capture->scope) build.set_scope(capture->scope());
  std::vector<Tensor> ready;
  ready.reserve(operands.size());
  for (const Tensor& operand : operands)
    ready.push_back(Tensor::symbolic(capture, build.broadcast_to(capture->value_of(operand), shape)));
  std::vector<Tensor> out = capture->record(op, ready, std::move(attrs));
  // On the tape the operands are as they were given: their gradients are summed to their own shapes.
  if (const GradLink* link = recording_link(operands))
    link->record(op, operands, out[0].value()->node()->attrs(), out);
  return out;
}

}  // namespace

DType default_dtype(const Scalar& scalar) {
  switch (scalar.kind) {
    case DKind::Bool: return DType::Bool;
    case DKind::Signed: return DType::I64;
    case DKind::Unsigned: return DType::U64;
    case DKind::Float: return DType::F32;
    case DKind::Complex: return DType::C64;
    case DKind::Key: break;
  }
  return DType::F32;
}

Tensor scalar_tensor(const Scalar& scalar, DType dtype) {
  bool whole = scalar.kind == DKind::Bool || scalar.kind == DKind::Signed || scalar.kind == DKind::Unsigned;
  Tensor out;
  if (is_complex(dtype)) {
    double real = whole ? static_cast<double>(scalar.integer) : scalar.real;
    Literal literal = Literal::allocate(dtype, {});
    if (dtype == DType::C64) {
      float parts[2] = {static_cast<float>(real), static_cast<float>(scalar.imaginary)};
      std::memcpy(literal.mutable_data(), parts, sizeof parts);
    } else {
      double parts[2] = {real, scalar.imaginary};
      std::memcpy(literal.mutable_data(), parts, sizeof parts);
    }
    out = Tensor::from(literal);
  } else if (scalar.kind == DKind::Complex && dtype != DType::Bool) {
    throw make_error(ErrorKind::Type, "a complex number does not go into an array of {}",
                     info(dtype).api_name)
        .why("a real number has no place for the imaginary part")
        .hint("take the part that is meant, as in z.real, or a complex dtype");
  } else if (is_integer(dtype)) {
    int bits = info(dtype).bits;
    bool fits = true;
    if (!whole) {  // what is behind the point is cut off, as by astype
      const double least = is_unsigned_int(dtype) ? 0.0 : -std::ldexp(1.0, bits - 1);
      const double beyond = std::ldexp(1.0, is_unsigned_int(dtype) ? bits : bits - 1);
      const double cut = std::trunc(scalar.real);
      if (!(cut >= least && cut < beyond))  // NaN too
        throw make_error(ErrorKind::Value, "the number {} does not fit in {}", scalar.real,
                         info(dtype).api_name)
            .why("it is not in the range of the integers")
            .hint("choose a floating-point dtype, or bring the number into the range first");
      const int64_t value =
          cut < 0x1p63 ? static_cast<int64_t>(cut) : static_cast<int64_t>(static_cast<uint64_t>(cut));
      Tensor made = Tensor::scalar_int(dtype, value);
      if (Capture* capture = Capture::current()) capture->note_made_here(made);
      return made;
    }
    if (scalar.kind == DKind::Unsigned) {
      fits = dtype == DType::U64;
    } else if (is_unsigned_int(dtype)) {
      fits = scalar.integer >= 0 && (bits == 64 || scalar.integer < (int64_t{1} << bits));
    } else if (bits < 64) {
      fits = scalar.integer >= -(int64_t{1} << (bits - 1)) && scalar.integer < (int64_t{1} << (bits - 1));
    }
    if (!fits)
      throw make_error(ErrorKind::Value, "the number {} does not fit in {}", scalar.integer,
                       info(dtype).api_name)
          .why("a Python integer takes the dtype of the array it meets")
          .hint("convert the array to a wider integer type with ig.astype, or wrap the number yourself");
    out = Tensor::scalar_int(dtype, scalar.integer);
  } else if (whole) {
    out = scalar.kind == DKind::Unsigned
              ? Tensor::scalar(dtype, static_cast<double>(static_cast<uint64_t>(scalar.integer)))
          : dtype == DType::Bool ? Tensor::scalar_int(dtype, scalar.integer)
                                 : Tensor::scalar(dtype, static_cast<double>(scalar.integer));
  } else if (dtype == DType::Bool) {
    out = Tensor::scalar_int(dtype, scalar.real != 0 || scalar.imaginary != 0);
  } else {
    out = Tensor::scalar(dtype, scalar.real);
  }
  if (Capture* capture = Capture::current()) capture->note_made_here(out);
  return out;
}

DType result_type(std::span<const Operand> operands, std::string_view op) {
  std::optional<DType> arrays;
  for (const Operand& operand : operands) {
    const Tensor* tensor = std::get_if<Tensor>(&operand);
    if (!tensor || tensor->is_number()) continue;
    if (!arrays) {
      arrays = tensor->dtype();
      continue;
    }
    std::optional<DType> joint = promote(*arrays, tensor->dtype());
    if (!joint)
      throw make_error(ErrorKind::Type, "{}: {} and {} have no common dtype", op, info(*arrays).api_name,
                       info(tensor->dtype()).api_name)
          .why(
              "the array API standard leaves the promotion of these two undefined, because no dtype holds "
              "both")
          .hint(fmt::format(
              "convert one of them: ig.astype(x, ig.{})",
              info(is_float(*arrays) || is_complex(*arrays) ? *arrays : tensor->dtype()).api_name));
    arrays = joint;
  }
  if (arrays) {
    for (const Operand& operand : operands) {
      Operand kind = as_scalar_kind(operand);
      if (const Scalar* scalar = std::get_if<Scalar>(&kind)) arrays = with_scalar(*arrays, *scalar, op);
    }
    return *arrays;
  }
  IG_CHECK(!operands.empty(), "the type of no operands was asked for");
  DType out = DType::Bool;
  auto order = [](DType dtype) {
    return is_complex(dtype) ? 3 : is_float(dtype) ? 2 : dtype == DType::Bool ? 0 : 1;
  };
  for (const Operand& operand : operands) {
    Operand kind = as_scalar_kind(operand);
    DType own = default_dtype(std::get<Scalar>(kind));
    if (order(own) > order(out)) out = own;
  }
  return out;
}

const OperandKinds& operand_kinds(const ops::Op& op) {
  // Each thread keeps what it met; declarations never change.
  static thread_local std::vector<std::unique_ptr<const OperandKinds>> known;
  size_t i = op.id.index();
  if (i >= known.size()) known.resize(i + 1);
  if (!known[i]) known[i] = std::make_unique<const OperandKinds>(read_kinds(op));
  return *known[i];
}

int64_t normalise_axis(int64_t axis, int rank, std::string_view op) {
  if (axis < -rank || axis >= rank)
    throw make_error(ErrorKind::Index, "{}: the axis {} is out of range for an array of rank {}", op, axis,
                     rank)
        .why("an axis is named by its position, or by its distance from the end as a negative number")
        .hint(rank == 0 ? std::string("an array of rank 0 has no axes")
                        : fmt::format("axes go from {} to {}", -rank, rank - 1));
  return axis < 0 ? axis + rank : axis;
}

Tensor convert(const Tensor& x, DType dtype) {
  if (x.dtype() == dtype) return x;
  return elementwise(convert_op(), {x}, make_attrs({ops::kDType % dtype}))[0];
}

std::vector<Tensor> call(const ops::Op& op, std::span<const Operand> operands, Attrs attrs) {
  std::vector<Operand> cast;
  if (std::optional<DType> dtype = autocast()) {
    cast = autocast_operands(op, operands, *dtype);
    operands = cast;
  }
  switch (op.decl.front) {
    case ops::Front::Elementwise: {
      std::vector<Tensor> arrays = materialise(op, operands, true);
      bool scalar = operands.size() == 2 && std::holds_alternative<Scalar>(operands[1]);
      return elementwise(op, std::move(arrays), std::move(attrs), scalar);
    }
    case ops::Front::Reduction: {
      std::vector<Tensor> arrays = materialise(op, operands, true);
      int rank = arrays.at(0).rank();
      Ints axes;
      if (const AttrValue* given = attrs.find(ops::kAxes.name)) {
        for (int64_t axis : std::get<Ints>(*given))
          axes.push_back(normalise_axis(axis, rank, op.public_name()));
        std::sort(axes.begin(), axes.end());
        auto twice = std::adjacent_find(axes.begin(), axes.end());
        if (twice != axes.end())
          throw make_error(ErrorKind::Value, "{}: the axis {} is named twice", op.public_name(), *twice)
              .why("each axis can be folded once")
              .hint("name each axis once; -1 is the last axis");
      } else {
        for (int64_t axis = 0; axis < rank; ++axis) axes.push_back(axis);
      }
      attrs.set(ops::kAxes.name, std::move(axes));
      return apply(op, arrays, std::move(attrs));
    }
    case ops::Front::Direct:
    case ops::Front::None: {
      // Functions that are made of others promote as these would; primitives take their operands as they are.
      bool promote = op.decl.front == ops::Front::Direct && op.has(ops::Trait::Composite);
      std::vector<Tensor> arrays = materialise(op, operands, promote);
      if (op.id == convert_op().id) return {convert(arrays.at(0), attrs.get(ops::kDType))};
      normalise_axes(op, arrays, attrs);
      if (op.has(ops::Trait::Elementwise) && !arrays.empty()) {
        bool same = true;
        for (const Tensor& x : arrays) same &= !x.is_symbolic() && x.shape() == arrays[0].shape();
        if (same) return elementwise(op, std::move(arrays), std::move(attrs));
      }
      return apply(op, arrays, std::move(attrs));
    }
  }
  return {};
}

}  // namespace ig::front
