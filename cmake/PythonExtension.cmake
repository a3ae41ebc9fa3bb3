# The extension `_intaglio`, by nanobind from the Python environment: the one of the build front end when pip builds a
# wheel, else the tree's own .venv, else python3.
if(NOT Python_EXECUTABLE AND EXISTS ${CMAKE_SOURCE_DIR}/.venv/bin/python)
  set(Python_EXECUTABLE ${CMAKE_SOURCE_DIR}/.venv/bin/python)
endif()
find_package(Python 3.11 COMPONENTS Interpreter Development.Module REQUIRED)

function(intaglio_add_extension sources)
  execute_process(COMMAND ${Python_EXECUTABLE} -m nanobind --cmake_dir
                  OUTPUT_VARIABLE nanobind_ROOT OUTPUT_STRIP_TRAILING_WHITESPACE RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${Python_EXECUTABLE} has no nanobind: run scripts/setup.sh, or set INTAGLIO_PYTHON=OFF")
  endif()
  find_package(nanobind CONFIG REQUIRED)
  nanobind_add_module(_intaglio NB_STATIC NOMINSIZE ${sources})
  target_link_libraries(_intaglio PRIVATE intaglio)
endfunction()
