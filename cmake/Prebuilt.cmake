# libintaglio_kernels: `intaglio-prebuild DIR` writes object files and kernels_table.cpp, which lists them; both
# are linked into one shared object. The names of the objects are known only after the run, hence the response file.
function(intaglio_add_prebuilt_kernels sources)
  add_executable(intaglio_prebuild ${sources})
  set_target_properties(intaglio_prebuild PROPERTIES OUTPUT_NAME intaglio-prebuild)
  target_link_libraries(intaglio_prebuild PRIVATE intaglio)
  target_compile_options(intaglio_prebuild PRIVATE ${quick})

  set(dir ${CMAKE_BINARY_DIR}/prebuilt)
  add_custom_command(
    OUTPUT ${dir}/kernels_table.cpp ${dir}/objects.rsp
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${dir}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${dir}
    COMMAND intaglio_prebuild ${dir}
    COMMAND ${CMAKE_COMMAND} -DDIR=${dir} -P ${CMAKE_SOURCE_DIR}/cmake/ListObjects.cmake
    DEPENDS intaglio_prebuild intaglio_compiler  # which it opens
    COMMENT "Compiling the prebuilt kernels with Intaglio's own code generator"
    VERBATIM)
  add_library(intaglio_kernels SHARED ${dir}/kernels_table.cpp)
  target_link_libraries(intaglio_kernels PRIVATE intaglio)
  # Every kernel has a symbol that only the table reads; kernels are known by their keys.
  target_link_options(intaglio_kernels PRIVATE "@${dir}/objects.rsp" LINKER:-s
    LINKER:--version-script=${CMAKE_SOURCE_DIR}/cmake/kernels.map)
  set_target_properties(intaglio_kernels PROPERTIES LINK_DEPENDS ${dir}/objects.rsp)
endfunction()
