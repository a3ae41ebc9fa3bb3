// fast_math between Python and the compiler.
#include "bindings/fast_math.h"

namespace ig::py {

FastMath fast_math_of(nb::handle value, std::string_view who) {
  if (value.is(Py_True)) return FastMath::all();
  if (value.is(Py_False)) return {};
  const std::string text = nb::cast<std::string>(nb::repr(value));
  auto wrong = [&](const std::string& what) {
    return make_error(ErrorKind::Type, "{}: {}", who, what)
        .why("it is False, True for all flags, or names flags")
        .hint("write fast_math=True, or fast_math=(\"contract\", \"reciprocal\")");
  };
  std::vector<std::string> names;
  if (nb::isinstance<nb::str>(value)) {
    names.push_back(nb::cast<std::string>(value));
  } else {
    nb::object items = nb::steal(PyObject_GetIter(value.ptr()));
    if (!items.is_valid()) {
      PyErr_Clear();
      throw wrong("fast_math is " + text);
    }
    while (nb::object item = nb::steal(PyIter_Next(items.ptr()))) {
      if (!nb::isinstance<nb::str>(item))
        throw wrong("fast_math holds " + nb::cast<std::string>(nb::repr(item)) + ", which is no name");
      names.push_back(nb::cast<std::string>(item));
    }
    if (PyErr_Occurred()) throw PythonError{};
  }
  return FastMath::of(names, who);
}

nb::list fast_math_names(const FastMath& flags) {
  nb::list out;
  for (const FastMathFlag& flag : kFastMathFlags)
    if (flags.*flag.value) out.append(nb::str(flag.name.data(), flag.name.size()));
  return out;
}

nb::dict fast_math_dict(const ProgramReport& report) {
  nb::dict out;
  for (const FastMathUse& use : report.fast_math) {
    nb::dict one;
    nb::list places;
    for (const std::string& place : use.places) places.append(place);
    one["changes"] = use.changes;
    one["places"] = places;
    out[nb::str(use.flag.data(), use.flag.size())] = one;
  }
  return out;
}

}  // namespace ig::py
