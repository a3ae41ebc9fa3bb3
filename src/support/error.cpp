// Renders the four parts of an error into one message.
#include "support/error.h"

namespace ig {

std::string_view error_kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::Type: return "TypeError";
    case ErrorKind::Shape: return "ShapeError";
    case ErrorKind::Value: return "ValueError";
    case ErrorKind::Index: return "IndexError";
    case ErrorKind::Capture: return "CaptureError";
    case ErrorKind::Parse: return "ParseError";
    case ErrorKind::Verify: return "VerifyError";
    case ErrorKind::IO: return "IOError";
    case ErrorKind::Memory: return "MemoryError";
    case ErrorKind::Unsupported: return "UnsupportedError";
    case ErrorKind::Internal: return "InternalError";
  }
  return "Error";
}

void Error::render() {
  message_ = what_;
  if (!where_.empty()) message_ += "\n  at: " + where_;
  if (!why_.empty()) message_ += "\n  why: " + why_;
  if (!hint_.empty()) message_ += "\n  hint: " + hint_;
}

}  // namespace ig
