// Effects from Python: recording them, and the sink that fills texts in by Python's own formatting and prints
// to sys.stdout.
#include "bindings/effects.h"

#include <algorithm>

#include "ops/effects.h"
#include "tensor/effects.h"
#include "tensor/numbers.h"

namespace ig::py {
namespace {

std::string fill(std::string_view text, std::span<const Literal> values) {
  nb::gil_scoped_acquire held;
  nb::list arrays;
  for (const Literal& value : values) arrays.append(nb::steal(wrap(Tensor::from(value))));
  nb::object module = nb::module_::import_("intaglio._effects");
  return nb::cast<std::string>(module.attr("_fill")(nb::str(text.data(), text.size()), arrays));
}

void write_line(std::string_view line) {
  nb::gil_scoped_acquire held;
  nb::module_::import_("builtins").attr("print")(nb::str(line.data(), line.size()));
}

// Kinds of errors that Python has and the library has not.
void fail(std::string_view kind, const Error& error) {
  const char* name = kind == "zero_division"    ? "ZeroDivisionError"
                     : kind == "floating_point" ? "FloatingPointError"
                                                : nullptr;
  if (!name) return;
  nb::gil_scoped_acquire held;
  nb::object type = nb::module_::import_("intaglio._errors").attr(name);
  std::string where = error.where().empty() ? user_line() : error.where();
  nb::object instance = type(error.summary(), where, error.why_text(), error.hint_text());
  PyErr_SetObject(type.ptr(), instance.ptr());
  throw nb::python_error();
}

std::vector<Tensor> arrays_of(nb::handle items) {
  std::vector<Tensor> out;
  for (nb::handle item : items) out.push_back(as_tensor(item.ptr(), std::nullopt, "the values"));
  return out;
}

bool whole(const front::Operand& operand) {
  if (const auto* scalar = std::get_if<front::Scalar>(&operand))
    return scalar->kind == DKind::Signed || scalar->kind == DKind::Unsigned || scalar->kind == DKind::Bool;
  return is_integer(std::get<Tensor>(operand).dtype()) || std::get<Tensor>(operand).dtype() == DType::Bool;
}

// What an op on integers does not take as its second operand.
enum class Refused : uint8_t { None, Zero, Negative };

Refused refused_by(const ops::Op& op) {
  static const ops::Op* const kDivide[] = {&ops::get("floor_divide"), &ops::get("floor_mod"),
                                           &ops::get("remainder")};
  static const ops::Op* const kPower = &ops::get("power");
  if (&op == kPower) return Refused::Negative;
  return std::ranges::find(kDivide, &op) != std::end(kDivide) ? Refused::Zero : Refused::None;
}

template <typename T>
bool holds(const Tensor& x, Refused refused) {
  const T* values = static_cast<const T*>(x.data());
  bool found = false;  // no early end, so that the loop is done in vectors
  if (refused == Refused::Zero)
    for (int64_t i = 0, n = x.elements(); i < n; ++i) found |= values[i] == 0;
  else
    for (int64_t i = 0, n = x.elements(); i < n; ++i) found |= values[i] < 0;
  return found;
}

bool holds(const Tensor& x, Refused refused) {
  if (refused == Refused::Negative && !is_signed_int(x.dtype())) return false;
  switch (size_of(x.dtype())) {
    case 1: return holds<int8_t>(x, refused);
    case 2: return holds<int16_t>(x, refused);
    case 4: return holds<int32_t>(x, refused);
    default: return holds<int64_t>(x, refused);
  }
}

effects::Check text_of(Refused refused, std::string_view who) {
  if (refused == Refused::Negative)
    return {fmt::format("{}: an integer is raised to a negative power", who),
            "the result is a fraction, and integers have none",
            "convert the base to a float: ig.astype(x, ig.float32) ** y", "value"};
  return {fmt::format("{}: an integer is divided by zero", who), "integers have no infinity and no NaN",
          "put another divisor there first, ig.where(d == 0, 1, d), or divide floats", "zero_division"};
}

}  // namespace

void check_whole(const ops::Op& op, const Tensor& second, std::string_view who) {
  const Refused refused = refused_by(op);
  if (refused != Refused::None && holds(second, refused))
    effects::check(Tensor::scalar_int(DType::Bool, 0), text_of(refused, who), {});
}

void check_whole(const ops::Op& op, std::span<const front::Operand> operands) {
  const Refused refused = refused_by(op);
  if (refused == Refused::None || operands.size() != 2 || !whole(operands[0]) || !whole(operands[1])) return;
  Capture* capture = Capture::current();
  Tensor second;
  if (const auto* scalar = std::get_if<front::Scalar>(&operands[1])) {
    if (refused == Refused::Zero ? scalar->integer != 0
                                 : scalar->kind != DKind::Signed || scalar->integer >= 0)
      return;
    second = Tensor::scalar_int(DType::I64, scalar->integer);
    if (capture) capture->note_made_here(second);
  } else {
    second = std::get<Tensor>(operands[1]);
    if (refused == Refused::Negative && !is_signed_int(second.dtype())) return;
  }
  bool known = !second.is_symbolic() && (!capture || capture->made_here(second));
  if (known && !holds(second, refused)) return;
  if (!capture) return check_whole(op, second, op.public_name());
  front::Operand sides[] = {second, front::Scalar{.kind = DKind::Signed, .integer = 0}};
  if (second.dtype() == DType::Bool) sides[1] = front::Scalar{.kind = DKind::Bool, .integer = 0};
  const char* holds_where = refused == Refused::Zero ? "not_equal" : "greater_equal";
  effects::check(front::call(ops::get(holds_where), sides, {})[0], text_of(refused, op.public_name()), {});
}

void init_effects(nb::module_& m) {
  ops::set_effect_sink({fill, write_line, fail});
  m.def("_effect_print",
        [](const std::string& text, nb::handle values) { effects::print(text, arrays_of(values)); });
  m.def("_effect_check", [](nb::handle condition, const std::string& message, const std::string& why,
                            const std::string& hint, nb::handle values) {
    effects::check(as_tensor(condition.ptr(), std::nullopt, "check"), {message, why, hint},
                   arrays_of(values));
  });
  m.def("_watched_everywhere", &numbers::everywhere);
  m.def("_watch_everywhere", &numbers::set_everywhere, nb::arg("bits"));
  m.def("_watched", &numbers::watched);
  m.def("_watch_here", &numbers::set_here, nb::arg("bits"),
        "What this thread looks for, as bits (1: NaN, 2: infinities), or -1: as the process. Gives what it "
        "was.");
}

}  // namespace ig::py
