// Text for JSON.
#pragma once

#include <string>
#include <string_view>

namespace ig {

std::string json_text(std::string_view text);  // in quotes

}  // namespace ig
