// Machine code into the process. Our objects need no more of a linker than this: they are position
// independent, call nothing outside of themselves, hold code and constants alone, and all that is left to
// fill in are distances within them. Anything else is refused, and so is whatever points outside of the
// object's bytes.
#include <elf.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include "codegen/jit.h"
#include "support/error.h"

namespace ig::codegen {
namespace {

Error load_error(std::string_view problem) {
  return make_error(ErrorKind::Internal, "an object could not be loaded: {}", problem)
      .why("its bytes are not an object that this build wrote for this machine, or memory ran out")
      .hint("if it came from a cache, clear the cache; else please report this");
}

// The structures of an object, checked against its length.
class Object {
 public:
  explicit Object(std::string_view bytes) : bytes_(bytes) {
    if (bytes.size() < sizeof(Elf64_Ehdr)) throw load_error("it is too short");
    const auto head = at<Elf64_Ehdr>(0);
    if (std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_type != ET_REL || head.e_machine != EM_X86_64 ||
        head.e_shentsize != sizeof(Elf64_Shdr))
      throw load_error("it is no object file of this kind of machine");
    for (size_t i = 0; i < head.e_shnum; ++i) {
      sections_.push_back(at<Elf64_Shdr>(offset_of(head.e_shoff, i, sizeof(Elf64_Shdr))));
      const Elf64_Shdr& section = sections_.back();
      if (section.sh_type != SHT_NOBITS) content(section);
    }
  }

  const std::vector<Elf64_Shdr>& sections() const { return sections_; }
  const Elf64_Shdr& section(size_t index) const {
    if (index >= sections_.size()) throw load_error("it names a section that is not there");
    return sections_[index];
  }
  std::string_view content(const Elf64_Shdr& section) const {
    if (section.sh_offset > bytes_.size() || section.sh_size > bytes_.size() - section.sh_offset)
      throw load_error("a section ends beyond it");
    return bytes_.substr(section.sh_offset, section.sh_size);
  }
  template <typename T>
  std::vector<T> table(const Elf64_Shdr& section) const {
    std::string_view all = content(section);
    if (all.size() % sizeof(T) != 0) throw load_error("a table is torn");
    std::vector<T> out(all.size() / sizeof(T));
    if (!out.empty()) std::memcpy(out.data(), all.data(), all.size());
    return out;
  }
  std::string name(const Elf64_Shdr& strings, uint32_t begin) const {
    std::string_view all = content(strings);
    const size_t end = all.find('\0', begin);
    if (begin >= all.size() || end == std::string_view::npos) throw load_error("a name ends beyond it");
    return std::string(all.substr(begin, end - begin));
  }

 private:
  static uint64_t offset_of(uint64_t begin, uint64_t index, uint64_t each) { return begin + index * each; }
  template <typename T>
  T at(uint64_t offset) const {
    if (offset > bytes_.size() || sizeof(T) > bytes_.size() - offset) throw load_error("it is cut off");
    T out;
    std::memcpy(&out, bytes_.data() + offset, sizeof out);
    return out;
  }

  std::string_view bytes_;
  std::vector<Elf64_Shdr> sections_;
};

// Where each section lies in memory: code first, then constants, from a page of their own on.
struct Layout {
  std::vector<std::optional<size_t>> offsets;  // nothing for what is not loaded
  size_t code = 0, all = 0, content = 0;

  explicit Layout(const Object& object) : offsets(object.sections().size()) {
    const auto page = static_cast<size_t>(sysconf(_SC_PAGESIZE));
    place(object, true, page);
    code = all = up(all, page);
    place(object, false, page);
    all = up(all, page);
  }

 private:
  static size_t up(size_t value, size_t to) { return (value + to - 1) / to * to; }
  void place(const Object& object, bool executable, size_t page) {
    for (size_t i = 0; i < offsets.size(); ++i) {
      const Elf64_Shdr& section = object.sections()[i];
      if ((section.sh_flags & SHF_ALLOC) == 0 || ((section.sh_flags & SHF_EXECINSTR) != 0) != executable)
        continue;
      if (section.sh_type != SHT_PROGBITS || (section.sh_flags & (SHF_WRITE | SHF_TLS)) != 0)
        throw load_error("it holds more than code and constants");
      if ((section.sh_addralign & (section.sh_addralign - 1)) != 0 || section.sh_addralign > page)
        throw load_error("a section's alignment is none");
      all = up(all, std::max<size_t>(section.sh_addralign, 1));
      offsets[i] = all;
      all += section.sh_size;
      content += section.sh_size;
    }
  }
};

// Writes the distances that the compiler left open.
class Relocator {
 public:
  Relocator(const Object& object, const Layout& layout, char* memory)
      : object_(object), layout_(layout), memory_(memory) {}

  // The place of a symbol from the begin of the memory.
  uint64_t place_of(const Elf64_Sym& symbol, const Elf64_Shdr& strings) const {
    if (symbol.st_shndx == SHN_UNDEF) throw load_error("it needs " + object_.name(strings, symbol.st_name));
    if (symbol.st_shndx >= layout_.offsets.size() || !layout_.offsets[symbol.st_shndx] ||
        symbol.st_value > object_.section(symbol.st_shndx).sh_size)
      throw load_error("a symbol lies outside of it");
    return *layout_.offsets[symbol.st_shndx] + symbol.st_value;
  }

  void apply(const Elf64_Shdr& table) {
    const Elf64_Shdr& target = object_.section(table.sh_info);
    if (table.sh_info >= layout_.offsets.size() || !layout_.offsets[table.sh_info]) return;  // not loaded
    const size_t base = *layout_.offsets[table.sh_info];
    const Elf64_Shdr& symbol_table = object_.section(table.sh_link);
    const Elf64_Shdr& strings = object_.section(symbol_table.sh_link);
    const auto symbols = object_.table<Elf64_Sym>(symbol_table);
    for (const auto& entry : object_.table<Elf64_Rela>(table)) {
      const uint64_t type = ELF64_R_TYPE(entry.r_info), index = ELF64_R_SYM(entry.r_info);
      if (type != R_X86_64_PC32 && type != R_X86_64_PLT32)
        throw load_error(fmt::format("it wants a relocation of type {}", type));
      if (index >= symbols.size() || target.sh_size < sizeof(int32_t) ||
          entry.r_offset > target.sh_size - sizeof(int32_t))
        throw load_error("a relocation lies outside of it");
      const uint64_t at = base + entry.r_offset;
      const auto distance = static_cast<int64_t>(place_of(symbols[index], strings) +
                                                 static_cast<uint64_t>(entry.r_addend) - at);
      const auto written = static_cast<int32_t>(distance);
      if (written != distance) throw load_error("a relocation does not fit");
      std::memcpy(memory_ + at, &written, sizeof written);
    }
  }

 private:
  const Object& object_;
  const Layout& layout_;
  char* memory_;
};

}  // namespace

Code::Code(std::string_view bytes) {
  const Object object(bytes);
  const Layout layout(object);
  if (layout.code == 0) throw load_error("it holds no code");
  // Pages are writable first and executable then, never both.
  void* memory = mmap(nullptr, layout.all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw load_error("no memory for code");
  auto* base = static_cast<char*>(memory);
  memory_ = {base, Unmap{layout.all}};
  bytes_ = layout.content;
  for (size_t i = 0; i < layout.offsets.size(); ++i)
    if (layout.offsets[i]) {
      std::string_view content = object.content(object.sections()[i]);
      if (!content.empty()) std::memcpy(base + *layout.offsets[i], content.data(), content.size());
    }
  Relocator relocator(object, layout, base);
  for (const Elf64_Shdr& section : object.sections()) {
    if (section.sh_type == SHT_RELA) relocator.apply(section);
    if (section.sh_type != SHT_SYMTAB) continue;
    const Elf64_Shdr& strings = object.section(section.sh_link);
    for (const auto& symbol : object.table<Elf64_Sym>(section)) {
      if (ELF64_ST_BIND(symbol.st_info) != STB_GLOBAL || symbol.st_shndx == SHN_UNDEF) continue;
      const uint64_t place = relocator.place_of(symbol, strings);
      if (place >= layout.code) throw load_error("a kernel is no code");
      kernels_.emplace_back(object.name(strings, symbol.st_name),
                            reinterpret_cast<rt::KernelFn>(base + place));
    }
  }
  if (mprotect(base, layout.code, PROT_READ | PROT_EXEC) != 0 ||
      (layout.all > layout.code && mprotect(base + layout.code, layout.all - layout.code, PROT_READ) != 0))
    throw load_error("its memory cannot be made executable");
}

void Code::Unmap::operator()(char* memory) const { munmap(memory, bytes); }

rt::KernelFn Code::find(std::string_view symbol) const {
  for (const auto& [name, kernel] : kernels_)
    if (name == symbol) return kernel;
  throw make_error(ErrorKind::Internal, "the loaded code has no kernel {}", symbol)
      .why("its object was made for other kernels")
      .hint("please report this");
}

}  // namespace ig::codegen
