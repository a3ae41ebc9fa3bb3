# The interface target `intaglio_llvm`: LLVM's static archives, for libintaglio_compiler alone. Archives are taken
# object by object, so what is not called (PassBuilder and the optimiser pipelines above all) is not linked; a test
# holds the result to that.
execute_process(
  COMMAND ${LLVM_CONFIG} --link-static --libfiles
          core analysis scalaropts instcombine vectorize target x86codegen x86desc x86info x86asmparser
          mc support object transformutils
  OUTPUT_VARIABLE llvm_archives OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
separate_arguments(llvm_archives UNIX_COMMAND "${llvm_archives}")
execute_process(COMMAND ${LLVM_CONFIG} --includedir OUTPUT_VARIABLE llvm_include OUTPUT_STRIP_TRAILING_WHITESPACE)

add_library(intaglio_llvm INTERFACE)
target_include_directories(intaglio_llvm SYSTEM INTERFACE ${llvm_include})
target_compile_definitions(intaglio_llvm INTERFACE
  _GNU_SOURCE __STDC_CONSTANT_MACROS __STDC_FORMAT_MACROS __STDC_LIMIT_MACROS)
# zlib and zstd are linked statically too, so that the compiler needs no library that a machine may lack.
find_library(ZLIB_STATIC libz.a)
find_library(ZSTD_STATIC libzstd.a)
target_link_libraries(intaglio_llvm INTERFACE
  -Wl,--start-group ${llvm_archives} -Wl,--end-group
  $<IF:$<BOOL:${ZSTD_STATIC}>,${ZSTD_STATIC},zstd> $<IF:$<BOOL:${ZLIB_STATIC}>,${ZLIB_STATIC},z> m)
target_link_options(intaglio_llvm INTERFACE -Wl,--version-script=${CMAKE_SOURCE_DIR}/cmake/compiler.map)
# Functions with the same machine code are kept once: half a megabyte of the wheel. Their addresses are then the same
# too. The core library tells functions apart by them (an op's rule against a default), so this is not one of the
# options of every target; the compiler's own sources (codegen/llvm/) do not, and of LLVM no test has shown it.
if(EXISTS ${LLVM_BINDIR}/ld.lld)
  target_link_options(intaglio_llvm INTERFACE -Wl,--icf=all)
endif()
