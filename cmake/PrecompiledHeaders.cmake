# What most files include of other libraries is read once for each target: a quarter of the time that a file takes.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without, which shows whether each file includes what it uses.
set(common_headers
  <algorithm> <array> <atomic> <bit> <cmath> <complex> <cstring> <functional> <limits> <map> <memory> <mutex> <numeric>
  <optional> <set> <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>
  <fmt/format.h>)
foreach(target intaglio_runtime intaglio_small intaglio intaglio_compiler intaglio_command)
  target_precompile_headers(${target} PRIVATE ${common_headers})
endforeach()
target_precompile_headers(intaglio_compiler PRIVATE <llvm/Analysis/VectorUtils.h> <llvm/IR/IRBuilder.h>)
if(TARGET intaglio_tests)
  target_precompile_headers(intaglio_tests PRIVATE ${common_headers} <gtest/gtest.h>)
endif()
if(TARGET _intaglio)
  target_precompile_headers(_intaglio PRIVATE ${CMAKE_SOURCE_DIR}/src/bindings/common.h)
endif()
