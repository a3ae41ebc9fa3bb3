// The pieces of graph text: words, numbers, sizes, types, attribute values.
#include "ir/lexer.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "ir/limits.h"

namespace ig {
namespace {

constexpr int kDeepest = 200;                // of nested sizes
constexpr int64_t kLargestText = 1ll << 32;  // elements of a literal that is written out

bool word_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool word_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

}  // namespace

void Lexer::skip_space() {
  while (at_ < text_.size()) {
    if (std::isspace(static_cast<unsigned char>(text_[at_])))
      ++at_;
    else if (looking_at("//"))
      at_ = std::min(text_.size(), text_.find('\n', at_));
    else
      break;
  }
}

void Lexer::fail(std::string message, std::string hint, size_t position) const {
  size_t at = std::min(position == std::string_view::npos ? at_ : position, text_.size());
  size_t start = at == 0 ? 0 : text_.rfind('\n', at - 1);
  start = start == std::string_view::npos ? 0 : (at == 0 ? 0 : start + 1);
  size_t end = std::min(text_.size(), text_.find('\n', at));
  auto line = 1 + std::count(text_.begin(), text_.begin() + static_cast<long>(start), '\n');
  std::string shown(text_.substr(start, std::min<size_t>(end - start, 160)));
  size_t column = at - start;
  std::string caret(std::min<size_t>(column, 160), ' ');
  throw make_error(ErrorKind::Parse, "{}:{}:{}: {}", file_, line, column + 1, message)
      .why(fmt::format("the text does not follow the grammar here:\n    {}\n    {}^", shown, caret))
      .hint(hint.empty() ? "docs/ir.md has the grammar" : std::move(hint));
}

bool Lexer::accept(std::string_view token) {
  if (!looking_at(token)) return false;
  at_ += token.size();
  skip_space();
  return true;
}

void Lexer::expect(std::string_view token, std::string_view where) {
  if (!accept(token)) fail(fmt::format("expected '{}' {}", token, where));
}

bool Lexer::at_identifier() const { return word_start(peek()); }

bool Lexer::at_keyword(std::string_view word) const {
  return looking_at(word) && (at_ + word.size() >= text_.size() || !word_part(text_[at_ + word.size()]));
}

bool Lexer::accept_keyword(std::string_view word) { return at_keyword(word) && accept(word); }

std::string Lexer::identifier(std::string_view what) {
  if (!at_identifier() && !std::isdigit(static_cast<unsigned char>(peek())))
    fail(fmt::format("expected {}", what));
  size_t begin = at_;
  auto part = [&](size_t i) {
    char c = text_[i];
    // '-' and '.' are part of a word only between its letters.
    return word_part(c) || c == '$' ||
           ((c == '.' || c == '-') && i + 1 < text_.size() &&
            (word_part(text_[i + 1]) || text_[i + 1] == '$'));
  };
  while (at_ < text_.size() && part(at_)) ++at_;
  std::string out(text_.substr(begin, at_ - begin));
  skip_space();
  return out;
}

int64_t Lexer::integer(std::string_view what) {
  int64_t out = 0;
  auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
  if (error == std::errc::result_out_of_range) fail(fmt::format("{} is beyond 64 bits", what));
  if (error != std::errc()) fail(fmt::format("expected {}", what));
  at_ = static_cast<size_t>(end - text_.data());
  skip_space();
  return out;
}

uint64_t Lexer::unsigned_integer(std::string_view what) {
  uint64_t out = 0;
  auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
  if (error == std::errc::result_out_of_range) fail(fmt::format("{} is beyond 64 bits", what));
  if (error != std::errc()) fail(fmt::format("expected {}", what));
  at_ = static_cast<size_t>(end - text_.data());
  skip_space();
  return out;
}

double Lexer::number(std::string_view what) {
  size_t begin = at_, end = at_;
  if (end < text_.size() && (text_[end] == '-' || text_[end] == '+')) ++end;
  auto part = [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '.' ||
           ((c == '-' || c == '+') && end > begin &&
            std::string_view("eEpP").find(text_[end - 1]) != std::string_view::npos);
  };
  while (end < text_.size() && part(text_[end])) ++end;
  std::string word(text_.substr(begin, end - begin));
  char* stop = nullptr;
  double out = word.empty() ? 0 : std::strtod(word.c_str(), &stop);
  if (word.empty() || stop != word.c_str() + word.size()) fail(fmt::format("expected {}", what));
  at_ = end;
  skip_space();
  return out;
}

std::string Lexer::quoted(std::string_view what) {
  size_t begin = at_;
  if (peek() != '"') fail(fmt::format("expected {} in quotes", what));
  ++at_;
  std::string out;
  while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
    char c = text_[at_++];
    if (c != '\\' || at_ >= text_.size()) {
      out += c;
      continue;
    }
    c = text_[at_++];
    if (c == 'n') {
      out += '\n';
    } else if (c == '"' || c == '\\') {
      out += c;
    } else {
      unsigned code = 0;
      const char* digits = text_.data() + at_;
      bool hex = c == 'x' && at_ + 2 <= text_.size() &&
                 std::from_chars(digits, digits + 2, code, 16).ptr == digits + 2;
      if (!hex)
        fail("an unknown escape in the quoted text",
             "the escapes are \\n, \\\", \\\\ and \\x with two hexadecimal digits", at_ - 2);
      out += static_cast<char>(code);
      at_ += 2;
    }
  }
  if (peek() != '"') fail("the quoted text does not end on its line", "", begin);
  ++at_;
  skip_space();
  return out;
}

Dim Lexer::dim() {
  if (++depth_ > kDeepest) fail("a size nested too deeply");
  size_t begin = at_;
  try {
    Dim out = dim_sum();
    --depth_;
    return out;
  } catch (Error& error) {
    if (error.kind() == ErrorKind::Parse) throw;
    fail(error.summary(), error.hint_text(), begin);
  }
}

Dim Lexer::dim_sum() {
  Dim out = dim_product(accept("-"));
  for (;;) {
    if (accept("+"))
      out = out + dim_product(false);
    else if (accept("-"))
      out = out + dim_product(true);
    else
      return out;
  }
}

// A sign belongs to the first factor, since the smallest number has no positive counterpart.
Dim Lexer::dim_product(bool negative) {
  Dim out;
  if (std::isdigit(static_cast<unsigned char>(peek()))) {
    constexpr uint64_t kLimit = uint64_t{1} << 63;
    size_t begin = at_;
    uint64_t size = unsigned_integer("a size");
    if (size > kLimit || (size == kLimit && !negative)) fail("a size is beyond 64 bits", "", begin);
    out = static_cast<int64_t>(negative ? -size : size);
  } else {
    out = negative ? Dim(int64_t{-1}) * dim_atom() : dim_atom();
  }
  while (accept("*")) out = out * dim_atom();
  return out;
}

Dim Lexer::dim_atom() {
  if (accept("(")) {
    Dim out = dim();
    expect(")", "after a size");
    return out;
  }
  if (std::isdigit(static_cast<unsigned char>(peek()))) return integer("a size");
  if (!at_identifier()) fail("expected a size: a number, a symbol, or an expression of them");
  size_t begin = at_;
  while (at_ < text_.size() && word_part(text_[at_])) ++at_;
  std::string word(text_.substr(begin, at_ - begin));
  skip_space();
  if (peek() != '(') return Dim::symbol(word);
  if (word != "floordiv" && word != "mod" && word != "min" && word != "max")
    fail(fmt::format("'{}' is not a function of sizes", word), "the functions are floordiv, mod, min and max",
         begin);
  expect("(", "after the function");
  Dim a = dim();
  expect(",", "between the two sizes");
  Dim b = dim();
  expect(")", "after the two sizes");
  if (word == "floordiv") return floordiv(a, b);
  if (word == "mod") return mod(a, b);
  return word == "min" ? min(a, b) : max(a, b);
}

Dims Lexer::dims(char close) {
  Dims out;
  std::string end(1, close);
  if (accept(end)) return out;
  do out.push_back(dim());
  while (accept(","));
  expect(end, "after the sizes");
  return out;
}

Type Lexer::type() {
  size_t begin = at_;
  std::string word = identifier("a type");
  if (word == "token") return Type::token();
  auto dtype = dtype_from_name(word);
  if (!dtype || name(*dtype) != word)
    fail(fmt::format("'{}' is not an element type", word),
         "the element types are bool, i8 … i64, u8 … u64, f16, bf16, f32, f64, c64, c128, key", begin);
  expect("[", "after the element type");
  Type out = Type::tensor(*dtype, dims(']'));
  if (out.dims.size() > kMostAxes) fail(fmt::format("an array has at most {} axes", kMostAxes), "", begin);
  for (const Dim& d : out.dims)
    if (d.is_constant() && d.constant() < 0) fail("a size is negative", "sizes are 0 or more", begin);
  return out;
}

// One float of a literal. NaNs are written by their bits, so that every one reads back as it was.
void Lexer::float_element(DType dtype, char* to, std::string_view what) {
  uint64_t sign = uint64_t{1} << (8 * size_of(dtype) - 1), bits = 0;
  size_t begin = at_;
  if (accept("nan(0x")) {
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), bits, 16);
    if (error != std::errc() || bits > (sign | (sign - 1))) fail("expected the bits of a NaN", "", begin);
    at_ = static_cast<size_t>(end - text_.data());
    expect(")", "after the bits of a NaN");
  } else if (accept_keyword("nan")) {
    bits = Literal::plain_nan(dtype);
  } else if (accept("-nan")) {
    bits = Literal::plain_nan(dtype) | sign;
  } else {
    Literal one = Literal::scalar(dtype, number(what));
    std::memcpy(to, one.data(), size_of(dtype));
    return;
  }
  std::memcpy(to, &bits, size_of(dtype));
}

Literal Lexer::literal() {
  size_t begin = at_;
  Type t = type();
  auto sizes = constant_dims(t.dims);
  if (!sizes) fail("a literal has fixed sizes", "", begin);
  int64_t n = 1;
  for (int64_t d : *sizes) {
    if (__builtin_mul_overflow(n, d, &n) || n > kLargestText) fail("the literal is too large", "", begin);
  }
  // What is written must be there: each element takes two characters at least, so no count outgrows the text.
  if (n > static_cast<int64_t>(text_.size() - at_) + 1)
    fail("the literal has fewer elements than its sizes say", "", begin);
  Literal out = Literal::allocate(t.dtype, *sizes);
  expect("{", "before the elements");
  auto* bytes = static_cast<char*>(out.mutable_data());
  size_t width = size_of(t.dtype);
  for (int64_t i = 0; i < n; ++i) {
    if (i) expect(",", "between the elements");
    char* to = bytes + static_cast<size_t>(i) * width;
    if (is_complex(t.dtype)) {
      DType part = t.dtype == DType::C64 ? DType::F32 : DType::F64;
      expect("(", "before a complex number");
      float_element(part, to, "the real part");
      expect(",", "between the parts");
      float_element(part, to + size_of(part), "the imaginary part");
      expect(")", "after a complex number");
    } else if (t.dtype == DType::Bool) {
      bool yes = accept_keyword("true");
      if (!yes && !accept_keyword("false")) fail("expected true or false");
      *to = yes;
    } else if (is_float(t.dtype)) {
      float_element(t.dtype, to, "a number");
    } else if (t.dtype == DType::U64 || t.dtype == DType::Key) {
      uint64_t v = unsigned_integer("a whole number");
      std::memcpy(to, &v, width);
    } else {
      size_t where = at_;
      int64_t v = integer("a whole number");
      Literal one = Literal::scalar_int(t.dtype, v);
      if (one.as_int(0) != v) fail(fmt::format("{} does not fit {}", v, name(t.dtype)), "", where);
      std::memcpy(to, one.data(), width);
    }
  }
  expect("}", "after the elements");
  return out;
}

AttrValue Lexer::value() {
  char c = peek();
  if (c == '"') return quoted("a text");
  if (accept("[")) {
    Ints out;
    if (accept("]")) return out;
    do out.push_back(integer("a whole number"));
    while (accept(","));
    expect("]", "after the numbers");
    return out;
  }
  if (accept("<")) return dims('>');
  if (accept_keyword("true")) return true;
  if (accept_keyword("false")) return false;
  if (at_keyword("inf") || at_keyword("nan") || looking_at("-inf") || looking_at("-nan"))
    return number("a number");
  if (at_identifier()) {
    size_t begin = at_;
    std::string word = identifier("a value");
    auto dtype = dtype_from_name(word);
    if (!dtype || name(*dtype) != word)
      fail(fmt::format("'{}' is not a value", word), "text stands in quotes", begin);
    if (peek() != '[') return *dtype;
    at_ = begin;
    return literal();
  }
  size_t end = at_;
  while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) ||
                                std::string_view("+-.").find(text_[end]) != std::string_view::npos))
    ++end;
  std::string_view word = text_.substr(at_, end - at_);
  if (word.find_first_of(".eExXpP") != std::string_view::npos) return number("a number");
  return integer("a value");
}

Dim Dim::parse(std::string_view text) {
  Lexer lexer(text, "<size>");
  Dim out = lexer.dim();
  if (!lexer.done()) lexer.fail("unexpected text after the size");
  return out;
}

std::string Type::str() const {
  return kind == Kind::Token ? "token" : std::string(ig::name(dtype)) + ig::str(dims);
}

Type Type::parse(std::string_view text) {
  Lexer lexer(text, "<type>");
  Type out = lexer.type();
  if (!lexer.done()) lexer.fail("unexpected text after the type");
  return out;
}

AttrValue AttrSpec::parse_value(AttrKind kind, std::string_view text) {
  Lexer lexer(text, "<attribute>");
  AttrValue out = lexer.value();
  if (!lexer.done()) lexer.fail("unexpected text after the value");
  if (kind == AttrKind::Float)
    if (const auto* i = std::get_if<int64_t>(&out)) out = static_cast<double>(*i);
  if (kind == AttrKind::Dims)
    if (const auto* i = std::get_if<Ints>(&out)) out = Dims(i->begin(), i->end());
  if (out.index() != static_cast<size_t>(kind))
    lexer.fail(fmt::format("expected a value of kind {}", attr_kind_name(kind)), "", 0);
  return out;
}

}  // namespace ig
