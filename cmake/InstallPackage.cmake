# What goes into the Python package: all shared objects beside each other in intaglio/, and the command in bin/. Under
# scikit-build-core the wheel gets the Python files by itself; a plain `cmake --install` copies them.
set(package_targets intaglio_runtime intaglio intaglio_compiler)
foreach(target intaglio_kernels _intaglio)
  if(TARGET ${target})
    list(APPEND package_targets ${target})
  endif()
endforeach()
install(TARGETS ${package_targets} LIBRARY DESTINATION intaglio)

if(TARGET intaglio_command)
  # From bin/ to the package, for a virtual environment or user install and for Debian's /usr/local.
  if(Python_VERSION_MAJOR)
    set(lib "$ORIGIN/../lib/python${Python_VERSION_MAJOR}.${Python_VERSION_MINOR}")
  endif()
  set_target_properties(intaglio_command PROPERTIES
    INSTALL_RPATH "${lib}/site-packages/intaglio:${lib}/dist-packages/intaglio:$ORIGIN/../intaglio")
  if(SKBUILD)
    install(TARGETS intaglio_command RUNTIME DESTINATION ${SKBUILD_SCRIPTS_DIR})
  else()
    install(TARGETS intaglio_command RUNTIME DESTINATION ${INTAGLIO_SCRIPTS_DIR})
  endif()
endif()

if(NOT SKBUILD AND EXISTS ${CMAKE_SOURCE_DIR}/python/intaglio)
  install(DIRECTORY python/intaglio/ DESTINATION intaglio PATTERN __pycache__ EXCLUDE)
endif()
