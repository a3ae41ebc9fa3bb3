// Symbolic Python numbers: an int or float among the arguments of a jitted function, from its second value
// on. In the graph it is an int64 or float64 of rank 0. Among themselves numbers do Python's arithmetic,
// which that is exact for; what it is not exact for (powers, floor division, bits) is done on the numbers
// themselves, which the capture guards.
#include "bindings/common.h"

namespace ig::py {
namespace {

struct Number {
  std::optional<Tensor> symbol;  // else:
  front::Scalar scalar;
  DKind kind() const { return symbol ? kind_of(symbol->dtype()) : scalar.kind; }
};

std::optional<Number> number_of(PyObject* object) {
  if (is_number(object)) return Number{tensor_of(object), {}};
  if (std::optional<front::Scalar> scalar = as_scalar(object)) {
    if (scalar->kind == DKind::Complex || scalar->kind == DKind::Unsigned) return std::nullopt;
    return Number{std::nullopt, *scalar};
  }
  return std::nullopt;
}

Tensor in_dtype(const Number& number, DType dtype) {
  if (!number.symbol) return front::scalar_tensor(number.scalar, dtype);
  Tensor plain = Tensor::symbolic(&capture_of(*number.symbol), number.symbol->value());
  return front::convert(plain, dtype);
}

Tensor apply_public(const char* name, std::vector<front::Operand> operands) {
  const ops::Op* op = op_of_function(PyDict_GetItemString(functions(), name));
  IG_CHECK(op, "there is no public op {}", name);
  return front::call(*op, operands, {})[0];
}

nb::object as_number(const Tensor& result) {
  if (!result.is_symbolic()) return item_at(result, 0);
  return nb::steal(wrap(Tensor::number(result.capture(), result.value())));
}

using Function = PyObject* (*)(PyObject*, PyObject*);
PyObject* power(PyObject* a, PyObject* b) { return PyNumber_Power(a, b, Py_None); }

Function python_operator(std::string_view name) {
  if (name == "floor_divide") return PyNumber_FloorDivide;
  if (name == "remainder") return PyNumber_Remainder;
  if (name == "pow") return power;
  if (name == "matmul") return PyNumber_MatrixMultiply;
  if (name == "bitwise_and") return PyNumber_And;
  if (name == "bitwise_or") return PyNumber_Or;
  if (name == "bitwise_xor") return PyNumber_Xor;
  if (name == "bitwise_left_shift") return PyNumber_Lshift;
  if (name == "bitwise_right_shift") return PyNumber_Rshift;
  return nullptr;
}

}  // namespace

nb::object number_value(PyObject* x) {
  if (!is_number(x)) return nb::borrow(x);
  const Tensor& number = tensor_of(x);
  Capture& capture = capture_of(number);
  if (number.dtype() == DType::Bool) return nb::bool_(capture.to_bool(number));
  if (is_integer(number.dtype())) return own(PyLong_FromLongLong(capture.to_int(number)));
  return own(PyFloat_FromDouble(capture.to_float(number)));
}

std::optional<nb::object> number_operator(const char* name, PyObject* a, PyObject* b) {
  std::optional<Number> left = number_of(a), right = number_of(b);
  if (!left || !right) return std::nullopt;
  if (Function direct = python_operator(name)) {
    nb::object x = number_value(a), y = number_value(b);
    return own(direct(x.ptr(), y.ptr()));
  }
  bool divides = std::string_view(name) == "divide";
  bool real = divides || left->kind() == DKind::Float || right->kind() == DKind::Float;
  DType dtype = real ? DType::F64 : DType::I64;
  if (divides) {
    bool zero = right->symbol ? !capture_of(*right->symbol).to_bool(*right->symbol)
                              : (right->scalar.kind == DKind::Float ? right->scalar.real == 0
                                                                    : right->scalar.integer == 0);
    if (zero) {
      PyErr_SetString(PyExc_ZeroDivisionError, "division by zero");
      throw PythonError{};
    }
  }
  return as_number(apply_public(name, {in_dtype(*left, dtype), in_dtype(*right, dtype)}));
}

nb::object number_unary(const char* name, PyObject* x) {
  Number number = *number_of(x);
  if (std::string_view(name) == "bitwise_invert") {
    nb::object value = number_value(x);
    return own(PyNumber_Invert(value.ptr()));
  }
  DType dtype = number.kind() == DKind::Float ? DType::F64 : DType::I64;
  return as_number(apply_public(name, {in_dtype(number, dtype)}));
}

}  // namespace ig::py
