// Numbers as people read them in messages and reports.
#pragma once

#include <cstddef>
#include <string>

namespace ig {

// "17 bytes", "1.50 GiB".
std::string readable_bytes(size_t bytes);
// "17 ns", "5.21 µs", "1.50 s".
std::string readable_time(double nanoseconds);

}  // namespace ig
