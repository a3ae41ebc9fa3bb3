// What code is made for: a level of the x86-64 ABI, or the processor that this runs on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ig::codegen {

constexpr int64_t kLineBytes = 64;  // of the caches

struct Target {
  std::string name;  // "x86-64-v2", "x86-64-v3", "x86-64-v4"; or "native": this processor, with all it has
  int vector_bytes = 16;  // widest register worth using: 16, 32 or 64
  int registers = 16;     // vector registers
  bool fma = false;
  // Rows of a product from which it pays to ask the caches for the weights of the next strip, and whether it
  // does where one tile has all rows, so that each of its loads goes with a line that is asked for. Measured:
  // such lines keep the own loads of a Zen 4 waiting, so that there each of them has to serve more
  // multiply-adds (weights from memory: with AVX-512 14 to 18 rows are a tenth slower, 20 to 32 a tenth
  // faster; with AVX2 5 to 8 rows are slower, and 10 to 32 take 0.7 to 0.85 of the time). On a Zen 5 4 to 12
  // rows take 0.6 to 0.75 of the time, 13 to 18 rows two thirds.
  int rows_to_ask_ahead = 5;
  bool one_tile_asks = false;
  // Whether the processor follows the streams of eight short rows that come from afar side by side (rows of 1
  // to 16 KiB from memory: a Zen 5 reads eight at 49 to 56 GB/s, one by one at 27 to 39; a Zen 4 reads rows
  // of 1 KiB one by one at 39, at 13 to 15 by two to eight; of 8 KiB 37 and 29; of 16 KiB 23 and 32).
  bool follows_short_rows = false;
  // Whether it divides 64 bytes of float32 as fast as 32.
  bool divides_wide = false;

  static const Target& host();            // honours INTAGLIO_TARGET (a name as above)
  static Target named(std::string_view);  // Error(Unsupported) naming the choices
  bool native() const { return name == "native"; }
  bool runs_here() const;
  bool operator==(const Target&) const = default;
};

// Whether so many rows that are read side by side stay in the first cache, so many bytes apart (0: nobody
// knows): rows that are a multiple of a page apart all meet in one set of it, and in half a page or other
// parts of one in few sets, of eight lines at least.
bool rows_stay(int64_t rows, int64_t apart);

// So many rows or columns of elements of so many bytes are turned over by shuffles, not by squares: the
// colours of an image, or as many as make no square of narrow elements.
constexpr int64_t most_of_few(int64_t bytes) { return bytes <= 2 ? 7 : 4; }

}  // namespace ig::codegen
