// The loader of our own objects: it takes what the compiler writes, and refuses whatever else it is given,
// torn, damaged or foreign, without reading beyond it.
#include <elf.h>

#include <fstream>
#include <iterator>

#include <gtest/gtest.h>

#include "codegen/compiler_library.h"
#include "codegen/jit.h"
#include "support/error.h"

namespace ig::codegen {
namespace {

std::unique_ptr<loop::Function> scaled(float by) {
  loop::Builder b("scaled");
  auto x = b.add_buffer(DType::F32, false, "x"), out = b.add_buffer(DType::F32, true, "out");
  b.vector_for(b.index(0), b.size(Dim::symbol("n")), 16,
               [&](loop::Expr i) { b.store(out, i, b.load(x, i) * b.constant(DType::F32, by)); });
  return b.finish();
}

std::string object_of(const loop::Function& function) {
  const loop::Function* functions[] = {&function};
  const std::string symbols[] = {"kernel"};
  return compile_object(functions, symbols, Target::host());
}

// Loads it or says why not.
std::string try_load(std::string_view object) {
  try {
    Code code(object);
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Internal);
    EXPECT_FALSE(error.why_text().empty());
    return error.summary();
  }
}

template <typename T>
T& at(std::string& object, size_t offset) {
  return *reinterpret_cast<T*>(object.data() + offset);
}

// The sections of an object, to be changed.
std::vector<Elf64_Shdr*> sections(std::string& object) {
  auto& head = at<Elf64_Ehdr>(object, 0);
  std::vector<Elf64_Shdr*> out;
  for (size_t i = 0; i < head.e_shnum; ++i)
    out.push_back(&at<Elf64_Shdr>(object, head.e_shoff + i * sizeof(Elf64_Shdr)));
  return out;
}

TEST(LoadObject, RunsCodeWithItsConstants) {
  const Code code(object_of(*scaled(0.375F)));
  float in[40], out[40];
  for (int i = 0; i < 40; ++i) in[i] = static_cast<float>(i);
  void* buffers[] = {in, out};
  int64_t n = 40;
  rt::KernelArgs args;
  args.buffers = buffers;
  args.dims = &n;
  EXPECT_EQ(code.find("kernel")(&args, 0, 1), 0);
  for (int i = 0; i < 40; ++i) EXPECT_EQ(out[i], 0.375F * static_cast<float>(i));
}

TEST(LoadObject, PagesAreWritableOrExecutable) {
  const Code code(object_of(*scaled(0.375F)));
  const auto place = reinterpret_cast<uintptr_t>(code.find("kernel"));
  std::ifstream maps("/proc/self/maps");
  bool found = false;
  for (std::string line; std::getline(maps, line);) {
    uintptr_t begin = 0, end = 0;
    char rights[5] = {};
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx %4s", &begin, &end, rights), 3);
    if (place < begin || place >= end) continue;
    found = true;
    EXPECT_STREQ(rights, "r-xp");
  }
  EXPECT_TRUE(found);
}

TEST(LoadObject, ATornObjectIsRefusedWhereverItEnds) {
  const std::string object = object_of(*scaled(0.375F));
  ASSERT_EQ(try_load(object), "");
  for (size_t end = 0; end < object.size(); ++end)
    EXPECT_NE(try_load(std::string(object, 0, end)), "") << end;  // its section headers stand at the end
}

TEST(LoadObject, AFlippedBitNeverLeadsOutside) {
  std::string object = object_of(*scaled(0.375F));
  size_t refused = 0;
  for (size_t bit = 0; bit < object.size() * 8; ++bit) {
    object[bit / 8] = static_cast<char>(object[bit / 8] ^ (1 << (bit % 8)));
    refused += !try_load(object).empty();
    object[bit / 8] = static_cast<char>(object[bit / 8] ^ (1 << (bit % 8)));
  }
  EXPECT_GT(refused, 1000u);
}

TEST(LoadObject, WhatItIsNotMadeForIsRefused) {
  const std::string object = object_of(*scaled(0.375F));
  auto changed = [&](auto change) {
    std::string other = object;
    change(other);
    return try_load(other);
  };
  EXPECT_EQ(try_load("not an object"), "an object could not be loaded: it is too short");
  EXPECT_EQ(changed([](std::string& o) { at<Elf64_Ehdr>(o, 0).e_machine = EM_AARCH64; }),
            "an object could not be loaded: it is no object file of this kind of machine");
  auto set = [&](uint32_t type, auto change) {
    return changed([&](std::string& o) {
      for (Elf64_Shdr* section : sections(o))
        if (section->sh_type == type) change(o, *section);
    });
  };
  EXPECT_EQ(set(SHT_PROGBITS, [](auto&, Elf64_Shdr& s) { s.sh_flags |= SHF_ALLOC | SHF_WRITE; }),
            "an object could not be loaded: it holds more than code and constants");
  EXPECT_EQ(set(SHT_PROGBITS, [](auto&, Elf64_Shdr& s) { s.sh_flags = 0; }),
            "an object could not be loaded: it holds no code");
  EXPECT_EQ(set(SHT_PROGBITS, [](auto&, Elf64_Shdr& s) { s.sh_addralign = 24; }),
            "an object could not be loaded: a section's alignment is none");
  EXPECT_EQ(set(SHT_RELA, [](auto& o, Elf64_Shdr& s) { at<Elf64_Rela>(o, s.sh_offset).r_info |= 9; }),
            "an object could not be loaded: it wants a relocation of type 11");
  EXPECT_EQ(set(SHT_RELA, [](auto& o, Elf64_Shdr& s) { at<Elf64_Rela>(o, s.sh_offset).r_offset = 1 << 20; }),
            "an object could not be loaded: a relocation lies outside of it");
  EXPECT_EQ(set(SHT_RELA,
                [](auto& o, Elf64_Shdr& s) { at<Elf64_Rela>(o, s.sh_offset).r_addend = int64_t{1} << 40; }),
            "an object could not be loaded: a relocation does not fit");
  EXPECT_EQ(set(SHT_SYMTAB,
                [](auto& o, Elf64_Shdr& s) {
                  for (size_t i = sizeof(Elf64_Sym); i < s.sh_size; i += sizeof(Elf64_Sym))
                    at<Elf64_Sym>(o, s.sh_offset + i).st_shndx = SHN_UNDEF;
                })
                .substr(0, 39),
            "an object could not be loaded: it needs");
}

// --- the library that writes objects
// -----------------------------------------------------------------------------

TEST(CompilerLibrary, IsOpenedWithItsVersionAndItsName) {
  const std::string before = compiler_build_id();
  EXPECT_TRUE(has_compiler_library());
  EXPECT_TRUE(llvm_version().starts_with("19."));
  EXPECT_EQ(compiler_build_id(), before);  // by the file, and by what was opened
  EXPECT_EQ(before.size(), 40u);
}

TEST(CompilerLibrary, CodeForThisProcessorIsNamedNative) {
  EXPECT_TRUE(Target::named("native").native());
  EXPECT_FALSE(Target::named("x86-64-v2").native());
  const std::string text = compile_ir(*scaled(2), Target::named("native"), false);
  EXPECT_EQ(text.find("\"target-cpu\"=\"native\""), std::string::npos);  // LLVM has the processor's own name
  EXPECT_NE(text.find("\"target-features\"="), std::string::npos);
  EXPECT_NE(compile_ir(*scaled(2), Target::named("x86-64-v2"), false).find("\"target-cpu\"=\"x86-64-v2\""),
            std::string::npos);
}

}  // namespace
}  // namespace ig::codegen
