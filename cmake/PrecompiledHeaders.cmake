# What most files of a target include is read once: of other libraries a quarter of the time that a file takes, of our
# own headers a fifth to a third of what is left. These are the ones that nearly every file includes, so that a change
# of one builds the target anew anyway; of the tests a fifth includes it.
# -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON builds without, which shows whether each file includes what it uses.
set(common_headers
  <algorithm> <array> <atomic> <bit> <cmath> <complex> <cstring> <functional> <limits> <map> <memory> <mutex> <numeric>
  <optional> <set> <span> <string> <string_view> <unordered_map> <unordered_set> <utility> <variant> <vector>
  <fmt/format.h>)
function(intaglio_precompile target)
  if(TARGET ${target})
    target_precompile_headers(${target} PRIVATE ${common_headers} ${ARGN})
  endif()
endfunction()
intaglio_precompile(intaglio_runtime)
intaglio_precompile(intaglio_small src/ops/op.h)
intaglio_precompile(intaglio src/ops/table.h)
intaglio_precompile(intaglio_compiler <llvm/Analysis/VectorUtils.h> src/codegen/llvm/emit.h)
intaglio_precompile(intaglio_command src/tools/command.h)
intaglio_precompile(intaglio_tests <gtest/gtest.h> include/intaglio/intaglio.h)
intaglio_precompile(_intaglio src/bindings/common.h)
