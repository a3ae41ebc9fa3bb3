// Turning matrices over: by the kernels that our own code generator made for this, whose registers are as
// wide as the processor has them; or by those of 16 bytes, which ask ahead for what large matrices have in
// memory.
#include "runtime/turn_over.h"

#include <algorithm>
#include <array>
#include <utility>

#include "runtime/elements.h"
#include "runtime/prebuilt.h"
#include "support/error.h"

namespace ig::rt {
namespace {

constexpr int64_t kLine = 64;  // bytes

// The elements of two registers by turns, of their first or their second halves.
template <typename V, int kHalf, size_t... kLane>
V interleave(V a, V b, std::index_sequence<kLane...>) {
  constexpr int kLanes = sizeof...(kLane);
  return __builtin_shufflevector(
      a, b, (kHalf * kLanes / 2 + static_cast<int>(kLane) / 2 + (kLane % 2 ? kLanes : 0))...);
}

// Turns a square over that as many registers hold as each has lanes: interleaving its first half of rows with
// the second moves the highest bit of the row's number to the end of the column's; as often as there are such
// bits, row and column have changed places.
template <typename T, size_t kLanes = kRegister / sizeof(T)>
void turn_square(std::array<typename Registers<T>::Vector, kLanes>& rows) {
  using V = typename Registers<T>::Vector;
  constexpr auto kAll = std::make_index_sequence<kLanes>();
  for (size_t bit = kLanes; bit > 1; bit /= 2) {
    std::array<V, kLanes> next;
    for (size_t i = 0; i < kLanes / 2; ++i) {
      next[2 * i] = interleave<V, 0>(rows[i], rows[i + kLanes / 2], kAll);
      next[2 * i + 1] = interleave<V, 1>(rows[i], rows[i + kLanes / 2], kAll);
    }
    rows = next;
  }
}

// Turns over a tile of at most a cache line by a line; `rows` and `columns` are as in `turn`.
template <typename T>
void turn_tile(const char* from, char* to, const CopyAxis& rows, const CopyAxis& columns) {
  constexpr int64_t kWidth = sizeof(T), kSide = kLine / kWidth, kLanes = kRegister / kWidth;
  alignas(kLine) T tile[kSide][kSide];
  const int64_t even_rows = rows.size / kLanes * kLanes, even_columns = columns.size / kLanes * kLanes;
  for (int64_t j = 0; j < even_columns; j += kLanes)
    for (int64_t i = 0; i < even_rows; i += kLanes) {
      std::array<typename Registers<T>::Vector, kLanes> square;
      for (int64_t k = 0; k < kLanes; ++k)
        std::memcpy(&square[k], from + (j + k) * columns.from + i * kWidth, kRegister);
      turn_square<T>(square);
      for (int64_t k = 0; k < kLanes; ++k) std::memcpy(&tile[i + k][j], &square[k], kRegister);
    }
  for (int64_t i = 0; i < rows.size; ++i)
    for (int64_t j = i < even_rows ? even_columns : 0; j < columns.size; ++j)
      tile[i][j] = load<T>(from + j * columns.from + i * kWidth);
  for (int64_t i = 0; i < rows.size; ++i, to += rows.to) {
    if (columns.size == kSide)
      std::memcpy(to, tile[i], kLine);
    else
      std::memcpy(to, tile[i], static_cast<size_t>(columns.size * kWidth));
  }
}

// `rows` is the axis that is read in order, `columns` the one that is written in order. By tiles, so that
// lines a power of two apart, which share a place in the cache, are done with at once.
template <typename T>
void turn(const char* from, char* to, const CopyAxis& rows, const CopyAxis& columns) {
  constexpr int64_t kWidth = sizeof(T), kSide = kLine / kWidth, kAhead = 3 * kSide;
  for (int64_t r = 0; r < rows.size; r += kSide)
    for (int64_t c = 0; c < columns.size; c += kSide) {
      const char* first = from + c * columns.from + r * kWidth;
      for (int64_t j = kAhead; j < kAhead + kSide && c + j < columns.size; ++j)
        __builtin_prefetch(first + j * columns.from, 0, 2);  // into the second cache, which has room for all
      turn_tile<T>(first, to + r * rows.to + c * kWidth, {std::min(kSide, rows.size - r), rows.from, rows.to},
                   {std::min(kSide, columns.size - c), columns.from, columns.to});
    }
}
// Elements of 16 bytes are as wide as a register: there is nothing to turn over.
template <>
void turn<Wide>(const char* from, char* to, const CopyAxis& rows, const CopyAxis& columns) {
  for (int64_t i = 0; i < rows.size; ++i)
    for (int64_t j = 0; j < columns.size; ++j)
      store(to + i * rows.to + j * columns.to, load<Wide>(from + i * rows.from + j * columns.from));
}

// --- what kernels call

// Rows and columns are as TurnOver has them: rows are written in order.
template <typename T>
void turn_over(void* to, const void* from, int64_t to_step, int64_t from_step, int64_t rows,
               int64_t columns) {
  constexpr auto kWidth = static_cast<int64_t>(sizeof(T));
  static const PrebuiltKernel* const ready = find_prebuilt(prebuilt_key_of_turn_over(kWidth));
  if (!ready)
    return turn<T>(static_cast<const char*>(from), static_cast<char*>(to),
                   {columns, kWidth, to_step * kWidth}, {rows, from_step * kWidth, kWidth});
  void* const buffers[] = {const_cast<void*>(from), to};
  const int64_t dims[] = {rows, columns, from_step, to_step};
  KernelArgs args;
  args.buffers = buffers;
  args.dims = dims;
  ready->kernel()(&args, 0, 1);
}

}  // namespace

constinit const TurnOver kTurnOver[5] = {turn_over<uint8_t>, turn_over<uint16_t>, turn_over<uint32_t>,
                                         turn_over<uint64_t>, turn_over<Wide>};

Hash128 prebuilt_key_of_turn_over(int64_t width) { return hash128("turn over " + std::to_string(width)); }

void turn_over_by_registers(int64_t width, const void* from, void* to, const CopyAxis& rows,
                            const CopyAxis& columns) {
  const auto* source = static_cast<const char*>(from);
  auto* target = static_cast<char*>(to);
  switch (width) {
    case 1: return turn<uint8_t>(source, target, rows, columns);
    case 2: return turn<uint16_t>(source, target, rows, columns);
    case 4: return turn<uint32_t>(source, target, rows, columns);
    case 8: return turn<uint64_t>(source, target, rows, columns);
    case 16: return turn<Wide>(source, target, rows, columns);
    default: IG_CHECK(false, "elements of {} bytes", width);
  }
}

}  // namespace ig::rt
