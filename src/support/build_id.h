// Which build of a shared object runs: the linker's build id, a hash of all that the object holds. What is
// kept on disk is keyed by it, so that another build never takes it for its own.
#pragma once

#include <string>

namespace ig {

// The build id, in hexadecimal, of the loaded object that holds this address; "" where it has none.
std::string build_id_at(const void* address);
// That of the library which holds this function.
std::string build_id();

}  // namespace ig
