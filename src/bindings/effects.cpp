// Effects from Python: recording them, and the sink that fills texts in by Python's own formatting and prints
// to sys.stdout.
#include "bindings/effects.h"

#include "ops/effects.h"
#include "tensor/effects.h"

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
  if (kind != "zero_division") return;
  nb::gil_scoped_acquire held;
  nb::object type = nb::module_::import_("intaglio._errors").attr("ZeroDivisionError");
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

}  // namespace

void init_effects(nb::module_& m) {
  ops::set_effect_sink({fill, write_line, fail});
  m.def("_effect_print",
        [](const std::string& text, nb::handle values) { effects::print(text, arrays_of(values)); });
  m.def("_effect_check", [](nb::handle condition, const std::string& message, const std::string& why,
                            const std::string& hint, nb::handle values) {
    effects::check(as_tensor(condition.ptr(), std::nullopt, "check"), {message, why, hint},
                   arrays_of(values));
  });
}

}  // namespace ig::py
