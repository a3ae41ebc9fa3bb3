// Base64 (RFC 4648), for the resources of graph text.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace ig {

std::string base64_encode(std::string_view bytes);
std::optional<std::string> base64_decode(std::string_view text);  // nullopt where it is not base64

}  // namespace ig
