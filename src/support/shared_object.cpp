// Finds the note that the linker left (NT_GNU_BUILD_ID) in the segments of an object, loaded or on disk.
#include "support/shared_object.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <span>
#include <vector>

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

// A few bytes of a file; nothing where it is shorter.
std::vector<uint8_t> part_of(std::ifstream& file, uint64_t offset, uint64_t bytes) {
  constexpr uint64_t kMost = 1 << 16;  // of program headers or notes: what says more is no object of ours
  if (bytes > kMost || offset > INT64_MAX || !file.seekg(static_cast<std::streamoff>(offset))) return {};
  std::vector<uint8_t> out(bytes);
  if (!file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(bytes))) return {};
  return out;
}

}  // namespace

std::string folder_at(const void* address) {
  Dl_info found;
  if (!dladdr(address, &found) || !found.dli_fname) return "";
  std::string path = found.dli_fname;
  return path.substr(0, path.rfind('/') + 1);  // npos + 1 is 0
}

std::string build_id_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  ElfW(Ehdr) head;
  std::vector<uint8_t> bytes = part_of(file, 0, sizeof head);
  if (bytes.empty()) return "";
  std::memcpy(&head, bytes.data(), sizeof head);
  if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_phentsize != sizeof(ElfW(Phdr))) return "";
  bytes = part_of(file, head.e_phoff, uint64_t{head.e_phnum} * sizeof(ElfW(Phdr)));
  for (size_t at = 0; at < bytes.size(); at += sizeof(ElfW(Phdr))) {
    ElfW(Phdr) segment;
    std::memcpy(&segment, &bytes[at], sizeof segment);
    if (segment.p_type != PT_NOTE) continue;
    if (std::string found = build_id_in(part_of(file, segment.p_offset, segment.p_filesz)); !found.empty())
      return found;
  }
  return "";
}

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
