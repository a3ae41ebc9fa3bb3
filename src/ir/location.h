// Where in the user's program a node came from: an interned stack of frames, so that a node carries four
// bytes and recording one costs about a microsecond. A frame is a code object with an instruction offset; a
// front end registers how to turn it into file, line and function, which happens only when somebody asks.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace ig {

struct SourceFrame {
  std::string file;
  int line = 0;
  std::string function;
  std::string text;  // the source line, stripped, where the file can be read; else empty
  bool operator==(const SourceFrame& o) const {
    return file == o.file && line == o.line && function == o.function;
  }
};

class Location {
 public:
  Location() = default;  // unknown
  bool known() const { return id_ != 0; }
  uint32_t id() const { return id_; }

  // Innermost frame first.
  static Location of(const std::vector<SourceFrame>& frames);
  struct RawFrame {
    const void* code;
    int32_t offset;
    bool operator==(const RawFrame&) const = default;
  };
  // `resolver` must stay valid for the life of the process; the front end keeps the code objects alive.
  using Resolver = SourceFrame (*)(RawFrame);
  static Location of_raw(const RawFrame* frames, size_t count, Resolver resolver);

  std::vector<SourceFrame> frames() const;  // innermost first; resolved and cached on first use
  std::string str() const;                  // "model.py:12 in forward:  z = x + y"; "" where unknown
  bool operator==(const Location&) const = default;

 private:
  explicit Location(uint32_t id) : id_(id) {}
  uint32_t id_ = 0;
};

// Module paths ("encoder.layer.0.attention"), interned likewise.
class Scope {
 public:
  Scope() = default;
  static Scope of(std::string_view path);
  const std::string& path() const;
  bool empty() const { return id_ == 0; }
  bool operator==(const Scope&) const = default;

 private:
  uint32_t id_ = 0;
};

}  // namespace ig
