// Finds the note that the linker left (NT_GNU_BUILD_ID) in the loaded segments of an object.
#include "support/build_id.h"

#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <span>

#include <fmt/format.h>

namespace ig {
namespace {

struct Search {
  uintptr_t address;
  std::string found;
};

size_t padded(size_t bytes) { return (bytes + 3) & ~size_t{3}; }

std::string build_id_in(std::span<const uint8_t> notes) {
  while (notes.size() >= sizeof(ElfW(Nhdr))) {
    ElfW(Nhdr) head;
    std::memcpy(&head, notes.data(), sizeof head);
    size_t name = sizeof head, value = name + padded(head.n_namesz), end = value + padded(head.n_descsz);
    if (end > notes.size()) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(&notes[name], "GNU", 4) == 0) {
      std::string text;
      for (uint8_t byte : notes.subspan(value, head.n_descsz)) text += fmt::format("{:02x}", byte);
      return text;
    }
    notes = notes.subspan(end);
  }
  return "";
}

int visit(dl_phdr_info* object, size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  std::span segments(object->dlpi_phdr, object->dlpi_phnum);
  bool holds = false;
  for (const auto& segment : segments)
    holds |= segment.p_type == PT_LOAD &&
             search.address - (object->dlpi_addr + segment.p_vaddr) < segment.p_memsz;  // unsigned: wraps
  if (!holds) return 0;
  for (const auto& segment : segments)
    if (segment.p_type == PT_NOTE && search.found.empty())
      search.found = build_id_in(
          {reinterpret_cast<const uint8_t*>(object->dlpi_addr + segment.p_vaddr), segment.p_memsz});
  return 1;
}

}  // namespace

std::string build_id_at(const void* address) {
  Search search{reinterpret_cast<uintptr_t>(address), ""};
  dl_iterate_phdr(visit, &search);
  return search.found;
}

std::string build_id() {
  static const char here = 0;
  return build_id_at(&here);
}

}  // namespace ig
