// Attribute values: text, hash, and the set of one node.
#include "ir/attr.h"

#include <cmath>

#include <fmt/format.h>

#include "support/hash.h"

namespace ig {

std::string_view attr_kind_name(AttrKind kind) {
  static constexpr std::string_view kNames[] = {"bool",  "int",  "float", "text",
                                                "dtype", "ints", "dims",  "literal"};
  return kNames[static_cast<size_t>(kind)];
}

namespace {

std::string quote(const std::string& text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (c == '\n')
      out += "\\n";
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      out += c;
  }
  return out + '"';
}

struct Text {
  std::string operator()(bool v) const { return v ? "true" : "false"; }
  std::string operator()(int64_t v) const { return std::to_string(v); }
  std::string operator()(double v) const {
    if (std::isnan(v)) return std::signbit(v) ? "-nan" : "nan";
    if (std::isinf(v)) return v < 0 ? "-inf" : "inf";
    return fmt::format("{:a}", v);
  }
  std::string operator()(const std::string& v) const { return quote(v); }
  std::string operator()(DType v) const { return std::string(name(v)); }
  std::string operator()(const Ints& v) const {
    std::string out = "[";
    for (size_t i = 0; i < v.size(); ++i) out += (i ? ", " : "") + std::to_string(v[i]);
    return out + "]";
  }
  std::string operator()(const Dims& v) const {
    std::string out = "<";
    for (size_t i = 0; i < v.size(); ++i) out += (i ? ", " : "") + v[i].str();
    return out + ">";
  }
  std::string operator()(const Literal& v) const { return v.str(); }
};

}  // namespace

std::string str(const AttrValue& value) { return std::visit(Text{}, value); }

uint64_t hash(const AttrValue& value) {
  uint64_t kind = value.index();
  if (const auto* literal = std::get_if<Literal>(&value)) return hash_combine(kind, literal->hash().low);
  return hash_combine(kind, hash64(str(value)));
}

Attrs& Attrs::set(std::string_view name, AttrValue value) {
  for (auto& [key, old] : items_)
    if (key == name) {
      old = std::move(value);
      return *this;
    }
  items_.emplace_back(std::string(name), std::move(value));
  return *this;
}

const AttrValue* Attrs::find(std::string_view name) const {
  for (const auto& [key, value] : items_)
    if (key == name) return &value;
  return nullptr;
}

uint64_t Attrs::hash() const {
  uint64_t h = 0;
  for (const auto& [key, value] : items_) h = hash_combine(hash_combine(h, hash64(key)), ig::hash(value));
  return h;
}

Attrs make_attrs(std::vector<std::pair<std::string, AttrValue>> items) {
  Attrs out;
  for (auto& [key, value] : items) out.set(key, std::move(value));
  return out;
}

}  // namespace ig
