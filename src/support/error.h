// Every error a user can meet has four parts: what happened, where in the user's own code, why, and what to
// write instead. This file holds the one exception class that carries them and the way they are built; Python
// maps each kind to a class of the same name under `ig.Error`.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>

namespace ig {

enum class ErrorKind : uint8_t {
  Type,         // ig.TypeError: a dtype or an object of the wrong type
  Shape,        // ig.ShapeError: ranks or sizes that do not fit
  Value,        // ig.ValueError: an attribute or argument outside its range
  Index,        // ig.IndexError: an index or axis out of range
  Capture,      // ig.CaptureError: what cannot be captured faithfully
  Parse,        // ig.ParseError: text or bytes that do not follow the grammar
  Verify,       // ig.VerifyError: a graph that breaks the IR's laws
  IO,           // ig.IOError: files that are missing, truncated or corrupt
  Memory,       // ig.MemoryError: a plan that does not fit
  Unsupported,  // ig.UnsupportedError: a thing this build or machine lacks
  Internal,     // ig.InternalError: a fault of ours
};

// "ShapeError", "ValueError", ... the name of the class that Python raises.
std::string_view error_kind_name(ErrorKind kind);

// Built by chaining: throw Error(ErrorKind::Shape, "add: [2] and [3] do not broadcast").why(...).hint(...);
class Error : public std::exception {
 public:
  Error(ErrorKind kind, std::string what) : kind_(kind), what_(std::move(what)) { render(); }

  Error& at(std::string where) { return set(where_, std::move(where)); }
  Error& why(std::string why) { return set(why_, std::move(why)); }
  Error& hint(std::string hint) { return set(hint_, std::move(hint)); }

  ErrorKind kind() const { return kind_; }
  const std::string& summary() const { return what_; }
  const std::string& where() const { return where_; }
  const std::string& why_text() const { return why_; }
  const std::string& hint_text() const { return hint_; }

  // The whole message: the summary, then the lines "  at: …", "  why: …", "  hint: …" for the parts that are
  // set.
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  Error& set(std::string& part, std::string text) {
    part = std::move(text);
    render();
    return *this;
  }
  void render();

  ErrorKind kind_;
  std::string what_, where_, why_, hint_, message_;
};

template <typename... Args>
Error make_error(ErrorKind kind, fmt::format_string<Args...> format, Args&&... args) {
  return Error(kind, fmt::format(format, std::forward<Args>(args)...));
}

// A law that only a fault of ours can break.
#define IG_CHECK(condition, ...)                                                                   \
  do {                                                                                             \
    if (!(condition))                                                                              \
      throw ::ig::make_error(::ig::ErrorKind::Internal, __VA_ARGS__)                               \
          .why(fmt::format("the check `{}` failed at {}:{}", #condition, __FILE_NAME__, __LINE__)) \
          .hint("this is a fault in Intaglio; please report it with the program that shows it");   \
  } while (false)

}  // namespace ig
