# Compiler and linker options of all our targets, carried by the interface target `intaglio_options`.
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "" FORCE)
endif()

find_program(CCACHE ccache)
if(CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # The cache takes files with precompiled headers only where it is told that these may hold macros of time, and may be
  # as new as the compilation.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
      ${CCACHE})
endif()

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_INSTALL_RPATH "$ORIGIN")
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-Og -g")

set(THREADS_PREFER_PTHREAD_FLAG ON)
find_package(Threads REQUIRED)

add_library(intaglio_options INTERFACE)
target_compile_options(intaglio_options INTERFACE
  -Wall -Wextra -Wpedantic -Wnon-virtual-dtor -Woverloaded-virtual -Wvla -Wno-free-nonheap-object -Wformat=2
  -fno-semantic-interposition -ffunction-sections -fdata-sections
  # One meaning for floating point on every machine: no contraction into fma that the source does not write.
  -ffp-contract=off
  # Names of files in messages and debug information do not depend on where the tree lies.
  -ffile-prefix-map=${CMAKE_SOURCE_DIR}/=
  # Files with precompiled headers can be cached. Of what gcc 12 inlines from them, std::string above all, it sees
  # overflows that are not there.
  $<$<CXX_COMPILER_ID:GNU>:-fpch-preprocess -Wno-array-bounds -Wno-stringop-overflow
  -Wno-stringop-overread -Wno-restrict>)
if(INTAGLIO_WERROR)
  target_compile_options(intaglio_options INTERFACE -Werror)
endif()

# gcc 12 does not know lld by its versioned name, so the folder of LLVM's own lld goes first in the search.
find_program(LLVM_CONFIG NAMES llvm-config-19 PATHS /usr/lib/llvm-19/bin)
if(NOT LLVM_CONFIG)
  message(FATAL_ERROR "LLVM 19 is needed: apt-get install llvm-19-dev lld-19")
endif()
execute_process(COMMAND ${LLVM_CONFIG} --bindir OUTPUT_VARIABLE LLVM_BINDIR OUTPUT_STRIP_TRAILING_WHITESPACE)
if(EXISTS ${LLVM_BINDIR}/ld.lld)
  add_link_options(-B${LLVM_BINDIR} -fuse-ld=lld)
endif()
# Tables of addresses (LLVM's: 2 MB of relocations) are packed: less to read, and a millisecond less to open.
target_link_options(intaglio_options INTERFACE -Wl,-z,pack-relative-relocs)
# A library's calls of its own functions are bound when it is linked, not looked up by name when it is opened.
target_link_options(intaglio_options INTERFACE -Wl,-Bsymbolic-functions)
# What is kept on disk is keyed by the build ids of the libraries, which are hashes of their contents.
target_link_options(intaglio_options INTERFACE -Wl,--gc-sections -Wl,--build-id=sha1)
# Strings that are ends of others are not kept twice: a tenth of a megabyte of the wheel.
target_link_options(intaglio_options INTERFACE -Wl,-O2)

if(INTAGLIO_SANITIZE)
  target_compile_options(intaglio_options INTERFACE
    -fsanitize=${INTAGLIO_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer -g1)
  target_link_options(intaglio_options INTERFACE -fsanitize=${INTAGLIO_SANITIZE})
  # The instrumented code makes gcc 12 see uninitialised uses that are not there.
  target_compile_options(intaglio_options INTERFACE -Wno-maybe-uninitialized -Wno-tsan)
endif()
