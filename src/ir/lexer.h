// Reads graph text piece by piece, for the parsers of graphs, types, sizes and attribute values. Every error
// is an Error(Parse) with file, line and column, the line itself, and a caret.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ir/attr.h"
#include "ir/type.h"

namespace ig {

class Lexer {
 public:
  Lexer(std::string_view text, std::string_view file) : text_(text), file_(file) { skip_space(); }

  bool done() const { return at_ >= text_.size(); }
  size_t position() const { return at_; }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool looking_at(std::string_view token) const { return text_.substr(at_).starts_with(token); }
  bool accept(std::string_view token);                          // skips it and the space behind
  void expect(std::string_view token, std::string_view where);  // "expected ')' after the operands"
  bool at_identifier() const;
  bool at_keyword(std::string_view word) const;  // a whole word
  bool accept_keyword(std::string_view word);
  std::string identifier(std::string_view what);  // [A-Za-z_][A-Za-z0-9_.$:-]* without a trailing '.'
  int64_t integer(std::string_view what);
  uint64_t unsigned_integer(std::string_view what);
  double number(std::string_view what);  // hexadecimal or decimal float, inf, nan
  std::string quoted(std::string_view what);
  Dim dim();
  Dims dims(char close);
  Type type();
  AttrValue value();  // self-describing
  Literal literal();

  [[noreturn]] void fail(std::string message, std::string hint = "",
                         size_t position = std::string_view::npos) const;

 private:
  void skip_space();
  void float_element(DType dtype, char* to, std::string_view what);
  Dim dim_sum();
  Dim dim_product(bool negative);
  Dim dim_atom();

  std::string_view text_;
  std::string file_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace ig
