// Matrices turned over, by the function that kernels call and by registers of 16 bytes, against one element
// at a time: every width, sizes around squares and lines, gaps between rows and columns, buffers that end
// where memory does.
#include "runtime/turn_over.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "llvm_test_util.h"

namespace ig::rt {
namespace {

using codegen::test::Guarded;

void by_registers(void* to, const void* from, int64_t width, int64_t to_step, int64_t from_step, int64_t rows,
                  int64_t columns) {
  turn_over_by_registers(width, from, to, {columns, width, to_step * width},
                         {rows, from_step * width, width});
}
void as_kernels_do(void* to, const void* from, int64_t width, int64_t to_step, int64_t from_step,
                   int64_t rows, int64_t columns) {
  kTurnOver[std::countr_zero(static_cast<uint64_t>(width))](to, from, to_step, from_step, rows, columns);
}

TEST(TurnOver, IsTheDefinitionAndStaysInItsBuffers) {
  for (auto* turn : {by_registers, as_kernels_do})
    for (int64_t width : {1, 2, 4, 8, 16})
      for (int64_t rows : {0, 1, 3, 4, 8, 15, 16, 17, 33, 70})
        for (int64_t columns : {0, 1, 2, 5, 16, 19, 32, 67})
          for (int64_t gap : {0, 3})
            for (bool at_end : {false, true}) {
              const int64_t from_step = columns + gap, to_step = rows + gap;
              auto bytes = [&](int64_t lines, int64_t line, int64_t step) {
                return static_cast<size_t>(lines > 0 && line > 0 ? ((lines - 1) * step + line) * width : 0);
              };
              const size_t read = bytes(rows, columns, from_step), written = bytes(columns, rows, to_step);
              Guarded from(read, at_end), to(written, at_end);
              for (size_t i = 0; i < read; ++i) from.as<uint8_t>()[i] = static_cast<uint8_t>(i * 7 + i / 251);
              std::vector<uint8_t> wanted(written, 0xee);
              std::memset(to.data(), 0xee, written);
              for (int64_t r = 0; r < rows; ++r)
                for (int64_t c = 0; c < columns; ++c)
                  std::memcpy(&wanted[static_cast<size_t>((c * to_step + r) * width)],
                              from.as<uint8_t>() + (r * from_step + c) * width, static_cast<size_t>(width));
              turn(to.data(), from.data(), width, to_step, from_step, rows, columns);
              ASSERT_TRUE(std::equal(wanted.begin(), wanted.end(), to.as<uint8_t>()))
                  << width << " bytes, " << rows << " x " << columns << ", gap " << gap;
            }
}

}  // namespace
}  // namespace ig::rt
