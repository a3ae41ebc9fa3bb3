// The shared objects of this installation: where they lie, and which builds they are. What is kept on disk is
// keyed by the linker's build id, a hash of all that an object holds, so that another build never takes it
// for its own.
#pragma once

#include <string>

namespace ig {

// The folder, with a slash at its end, of the loaded object that holds this address; "" where that is not
// known.
std::string folder_at(const void* address);
// The build id, in hexadecimal, of the loaded object that holds this address; "" where it has none.
std::string build_id_at(const void* address);
// That of the library which holds this function.
std::string build_id();
// That of an object on disk, without loading it; "" where there is no such object.
std::string build_id_of_file(const std::string& path);

}  // namespace ig
