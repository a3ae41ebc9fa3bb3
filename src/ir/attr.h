// Attributes of nodes. An op declares each of its attributes once, as a typed constant (name, doc, default);
// that one constant serves the parser, the printer, the hash, the bindings, the docs, and typed access:
//
//   inline constexpr Attr<Ints> kAxes{"axes", "the axes to reduce"};
//   node.attrs().get(kAxes)
//
// Values lie in the order in which the op declares them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ir/dim.h"
#include "ir/literal.h"
#include "support/dtype.h"

namespace ig {

using Ints = std::vector<int64_t>;

// Int, Ints: fixed whole numbers. Dims: symbolic sizes. Text in quotes; an enumeration is Text with
// `choices`.
using AttrValue = std::variant<bool, int64_t, double, std::string, DType, Ints, Dims, Literal>;
enum class AttrKind : uint8_t {
  Bool,
  Int,
  Float,
  Text,
  DType,
  Ints,
  Dims,
  Literal
};  // in the variant's order
std::string_view attr_kind_name(AttrKind kind);

template <typename T>
constexpr AttrKind attr_kind_of() {
  if constexpr (std::is_same_v<T, bool>)
    return AttrKind::Bool;
  else if constexpr (std::is_same_v<T, int64_t>)
    return AttrKind::Int;
  else if constexpr (std::is_same_v<T, double>)
    return AttrKind::Float;
  else if constexpr (std::is_same_v<T, std::string>)
    return AttrKind::Text;
  else if constexpr (std::is_same_v<T, DType>)
    return AttrKind::DType;
  else if constexpr (std::is_same_v<T, Ints>)
    return AttrKind::Ints;
  else if constexpr (std::is_same_v<T, Dims>)
    return AttrKind::Dims;
  else
    return AttrKind::Literal;
}

template <typename T>
struct Attr {
  const char* name;
  const char* doc;
  const char* fallback = nullptr;  // the default, as graph text ("false", "[]", "1e-05"); null: required
  const char* choices = nullptr;   // for Text: the allowed words, separated by '|'
};

// The untyped view of an Attr<T>, as it stands in an op's declaration.
struct AttrSpec {
  std::string name, doc;
  AttrKind kind = AttrKind::Int;
  std::optional<AttrValue> fallback;
  std::string choices;

  AttrSpec() = default;
  template <typename T>
  AttrSpec(const Attr<T>& attr)
      : name(attr.name), doc(attr.doc), kind(attr_kind_of<T>()), choices(attr.choices ? attr.choices : "") {
    if (attr.fallback) fallback = parse_value(kind, attr.fallback);
  }
  // Parses one value in graph text; Error(Parse) where it does not fit the kind.
  static AttrValue parse_value(AttrKind kind, std::string_view text);
};

std::string str(const AttrValue& value);  // as graph text; floats as hexadecimal
uint64_t hash(const AttrValue& value);

// The attribute values of one node, with names.
class Attrs {
 public:
  Attrs() = default;
  template <typename T>
  const T& get(const Attr<T>& attr) const {
    const AttrValue* value = find(attr.name);
    IG_CHECK(value != nullptr, "attribute {} is missing", attr.name);
    return std::get<T>(*value);
  }
  template <typename T>
  Attrs& set(const Attr<T>& attr, T value) {
    return set(attr.name, AttrValue(std::move(value)));
  }
  Attrs& set(std::string_view name, AttrValue value);
  const AttrValue* find(std::string_view name) const;
  const std::vector<std::pair<std::string, AttrValue>>& items() const { return items_; }
  bool empty() const { return items_.empty(); }
  bool operator==(const Attrs&) const = default;
  uint64_t hash() const;

 private:
  std::vector<std::pair<std::string, AttrValue>> items_;
};

template <typename T>
std::pair<std::string, AttrValue> operator%(const Attr<T>& attr, std::type_identity_t<T> value) {
  return {attr.name, AttrValue(std::move(value))};
}
// Attrs in one expression: make_attrs({kAxes % Ints{0}, kKeepdims % true}).
Attrs make_attrs(std::vector<std::pair<std::string, AttrValue>> items);

}  // namespace ig
