// Text for JSON: quotes, backslashes and control characters are escaped; all else is UTF-8 as it came.
#include "support/json.h"

#include <fmt/format.h>

namespace ig {

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\', out += c;
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    else
      out += c;
  }
  return out + '"';
}

}  // namespace ig
