// Element-wise kernels: every result has one shape, each element an expression of elements of the operands.
// Where every access is at the element itself, the shape is one long row; else the last axis is the vector
// loop, and the outer axes are rows. An operand that lies across the walk (a transposed one) would touch a
// cache line for each element: there the walk goes in tiles, and the operand's tile is turned over into
// scratch first.
#include <algorithm>
#include <bit>
#include <numeric>
#include <unordered_set>

#include "codegen/cuts.h"
#include "codegen/group_emitter.h"
#include "codegen/turned_tiles.h"
#include "ops/contraction.h"
#include "ops/shape_attrs.h"
#include "ops/window_attrs.h"

namespace ig::codegen {
namespace {

constexpr int64_t kBlockElements = 8192;   // of a block, at most: within the first caches
constexpr size_t kLeastMasked = 4;         // bytes of elements that have masked moves on all targets
constexpr int64_t kGrainElements = 32768;  // worth a second thread, where they are only moved

// How the elements are cut: those of a block, and the blocks that are worth a thread.
struct Cut {
  int64_t elements, grain;
};

// By the operations for an element: many of exponentials are worth a thread where few of sums are not.
Cut cut_of(const Block& region) {
  constexpr int64_t kGrainOperations = 192 << 10, kLong = 16, kFewest = 512;
  int64_t operations = 1;
  for (const Node* node : region) {
    if (node == region.terminator() || ops::has(node, ops::Trait::Constant) ||
        ops::has(node, ops::Trait::View))
      continue;
    operations += ops::op_of(node).decl.ulp > 0 ? kLong : 1;
  }
  const auto fit = static_cast<uint64_t>(std::clamp(kGrainOperations / operations, kFewest, kGrainElements));
  const auto elements = static_cast<int64_t>(std::bit_floor(fit));
  const int64_t of_block = std::min(kBlockElements, elements / 2);
  return {of_block, elements / of_block};
}

// The widest element of what the results are made of. Wide integers that only say where the rows of a gather
// begin fill no lanes.
int widest_moved(const Block& region) {
  constexpr int64_t kLeast = 4;  // bytes of a row
  auto names_rows = [](const Node* node, Value operand) {
    const AttrValue* offsets = node->attrs().find(ops::kOffsetDims.name);
    if (!offsets || operand == node->operand(0)) return false;
    const Type& type = node->result()->type();
    Dim bytes = static_cast<int64_t>(size_of(type.dtype));
    int64_t axis = type.rank();
    while (std::ranges::count(std::get<Ints>(*offsets), axis - 1) != 0)
      bytes = bytes * type.dims[static_cast<size_t>(--axis)];
    return axis < type.rank() && !(bytes.is_constant() && bytes.constant() < kLeast);
  };
  std::unordered_set<Value> moved(region.results().begin(), region.results().end());
  std::vector<Value> left(moved.begin(), moved.end());
  int widest = 0;
  while (!left.empty()) {
    Value v = left.back();
    left.pop_back();
    if (v->type().is_tensor() && v->type().elements() != Dim(int64_t{1}))
      widest = std::max(widest, static_cast<int>(size_of(compute_type(v->type().dtype))));
    const Node* node = v->node();
    if (node == nullptr) continue;
    for (Value operand : node->operands())
      if (!names_rows(node, operand) && moved.insert(operand).second) left.push_back(operand);
  }
  return widest > 0 ? widest : widest_element(region);
}

// All operands have as many elements as the results, or one, nothing moves elements about (what is only
// relabelled keeps its order), and nothing asks for an element's index along one of several axes, which would
// be a division for each.
bool is_flat(const Block& region, const Dims& dims) {
  const Dim all = product(dims);
  const auto axes = std::ranges::count_if(dims, [](const Dim& size) { return !(size == Dim(int64_t{1})); });
  auto one = [](const Type& t) {
    return std::all_of(t.dims.begin(), t.dims.end(), [](const Dim& d) { return d == Dim(int64_t{1}); });
  };
  auto whole = [&](const Type& t) { return t.dims == dims || product(t.dims) == all; };
  for (Value arg : region.args())
    if (!whole(arg->type()) && !one(arg->type())) return false;
  for (Node* node : region) {
    if (node == region.terminator()) continue;
    if (node->operands().empty()) {
      if (axes > 1 && node->attrs().find(ops::kAxis.name)) return false;
      continue;
    }
    if (ops::has(node, ops::Trait::Elementwise) || ops::has(node, ops::Trait::Relabel)) {
      if (!whole(node->result()->type()) && !one(node->result()->type())) return false;
      continue;
    }
    bool spread_number = std::all_of(node->operands().begin(), node->operands().end(),
                                     [&](Value v) { return one(v->type()); });
    if (!spread_number) return false;
  }
  return true;
}

// Whether the place in memory is all that counts: what is read is as large as the results, or one number, or
// spread from neighbouring axes over the others, at (i / a) % b. Lanes lie at known distances where a or b
// are the length of a row, and in two runs, if such will do, where these are numbers of lanes or more.
bool lies_flat(const Block& region, const Dims& dims, int lanes, bool in_runs) {
  const std::optional<std::vector<int64_t>> sizes = constant_dims(dims);
  if (!sizes) return false;
  const auto rank = static_cast<int64_t>(dims.size());
  auto from_neighbours = [&](const Node* node) {
    const AttrValue* spread = node->attrs().find(ops::kBroadcastDims.name);
    if (!spread || node->result()->type().dims != dims) return false;
    const Dims& from = node->operand(0)->type().dims;
    const auto& to = std::get<Ints>(*spread);
    std::vector<bool> own(dims.size(), false);
    for (size_t i = 0; i < from.size(); ++i) own[static_cast<size_t>(to[i])] = !(from[i] == Dim(int64_t{1}));
    int64_t begin = 0, end = rank;
    while (begin < end && !own[static_cast<size_t>(begin)]) ++begin;
    while (end > begin && !own[static_cast<size_t>(end - 1)]) --end;
    int64_t behind = 1, itself = 1;
    for (int64_t i = begin; i < rank; ++i) {
      const int64_t size = (*sizes)[static_cast<size_t>(i)];
      if (i < end && !own[static_cast<size_t>(i)] && size != 1) return false;
      (i < end ? itself : behind) *= size;
    }
    const int64_t row = sizes->back();
    const bool runs = behind >= lanes || (behind == 1 && itself >= lanes);
    return itself == 1 || (behind == 1 && itself == row) || (behind == row && begin == 0) ||
           (in_runs && runs);
  };
  for (const Node* node : region) {
    if (node == region.terminator() || ops::has(node, ops::Trait::Elementwise)) continue;
    const bool constant = node->operands().empty() && !node->attrs().find(ops::kAxis.name);
    if (!constant && !from_neighbours(node)) return false;
  }
  return true;
}

// Rows of few elements (the colours of a pixel, a point's coordinates, an element repeated) are walked
// together with the axis before them, or with as many as make a long walk, as one of whole vectors: from
// register to register the elements of a row come round after so many registers, for each of which there is
// code of its own.
class ShortRows {
 public:
  ShortRows(GroupEmitter& emit, const Dims& dims, int bytes)
      : emit_(emit), bytes_(bytes), lanes_(emit.target.vector_bytes / bytes) {
    constexpr int64_t kLong = 8;  // registers of a walk
    if (dims.size() < 2 || !dims.back().is_constant()) return;
    last_ = dims.back().constant();
    if (last_ < 2 || dims[dims.size() - 2] == Dim(int64_t{1}) || product(dims) == Dim(int64_t{0}) ||
        !come_round(last_))
      return;
    fit_ = true;
    const Dim two = dims[dims.size() - 2] * dims.back();
    if (lies_flat(emit.region, dims, lanes_, two.is_constant() && two.constant() < turn()))
      axes_ = static_cast<int>(dims.size());
    for (size_t i = dims.size() - 2; i > 0 && dims[i].is_constant() && axes_ < static_cast<int>(dims.size());
         --i, ++axes_) {
      const int64_t walk = row_ * dims[i].constant();
      if (walk >= kLong * lanes_ || !come_round(walk)) break;
    }
    const Dim walk = product(Dims(dims.end() - axes_, dims.end()));
    fit_ = !walk.is_constant() || walk.constant() >= turn();  // else rows one by one are no worse
  }
  bool fit() const { return fit_ && last_ < lanes_; }
  // Rows of some registers are walked so where a walk along them would ask at each row which way to take.
  bool fit_in_parts() const { return fit_ && last_ < 4 * lanes_; }
  int axes() const { return axes_; }                // that are walked as one
  int64_t registers() const { return registers_; }  // after which the elements of a row come round
  // A walk that begins at such a multiple begins at a row, and at a whole number of turns.
  int64_t turn() const { return registers_ * lanes_; }
  int lanes() const { return lanes_; }
  void walk(loop::Expr begin, loop::Expr end, const std::function<void(loop::Expr)>& body) {
    if (registers_ == 1) {  // one code for all registers, which go side by side as elsewhere
      const int64_t length = length_of(begin, end);
      const int many =
          length < 0 ? natural_lanes(emit_.target, bytes_) : lanes_for(emit_.target, bytes_, Dim(length));
      return emit_.vector(begin, end, std::max(many, lanes_), body);
    }
    loop::Builder& build = emit_.build;
    loop::Expr turns = build.let((end - begin) / build.index(turn()));
    emit_.serial(build.index(0), turns, [&](loop::Expr t) {
      for (int64_t r = 0; r < registers_; ++r)
        emit_.vector(build.index(0), build.index(lanes_), lanes_,
                     [&](loop::Expr i) { body(begin + t * turn() + build.index(r * lanes_) + i); });
    });
    const int64_t left = length_of(begin, end) % turn();
    if (left < 0) return emit_.vector(begin + turns * turn(), end, lanes_, body);
    for (int64_t done = 0; done < left; done += lanes_)
      emit_.vector(build.index(0), build.index(std::min<int64_t>(lanes_, left - done)), lanes_,
                   [&](loop::Expr i) { body(begin + turns * turn() + build.index(done) + i); });
  }

 private:
  // The number of elements of a walk where it is known, else less than none.
  static int64_t length_of(loop::Expr begin, loop::Expr end) {
    if (begin->op != loop::Op::Const || end->op != loop::Op::Const) return -1;
    return static_cast<int64_t>(end->bits[0] - begin->bits[0]);
  }
  bool come_round(int64_t row) {
    constexpr int64_t kMost = 8;  // registers
    const int64_t registers = row / std::gcd(row, static_cast<int64_t>(lanes_));
    if (registers > kMost) return false;
    row_ = row, registers_ = registers;
    return true;
  }

  GroupEmitter& emit_;
  int bytes_, lanes_;  // of an element; of a register
  int axes_ = 2;
  int64_t last_ = 1, row_ = 1, registers_ = 1;  // elements of the last axis, and of what comes round
  bool fit_ = false;
};

// The walk in tiles: eight registers of rows along the axis, and 64 columns along the last one; of
// the few rows or columns of an image's colours more.
void lower_tiles(GroupEmitter& emit, Kernel& kernel, const Dims& dims, const ops::Across& across,
                 const std::function<void(loop::Expr, std::span<const loop::Expr>)>& body, int widest,
                 bool past_caches) {
  constexpr int64_t kManyOfFew = 1024;
  const int lanes = natural_lanes(emit.target, widest);
  auto few = [&](const Dim& size) { return size.is_constant() && size.constant() <= most_of_few(widest); };
  const Dim& all_rows = dims[across.axis];
  const bool few_columns = few(dims.back()) && across.axis + 2 == dims.size();
  const bool few_rows = !few_columns && few(all_rows);
  const int64_t tile_rows = few_rows      ? all_rows.constant()
                            : few_columns ? kManyOfFew
                                          : std::max<int64_t>(64, 2 * emit.target.vector_bytes);
  const int64_t tile_columns = few_rows ? kManyOfFew : few_columns ? dims.back().constant() : 64;
  loop::Builder& build = emit.build;
  Dims outer;
  for (size_t i = 0; i + 1 < dims.size(); ++i)
    if (i != across.axis) outer.push_back(dims[i]);
  const Dim row_tiles = ceildiv(all_rows, Dim(tile_rows)),
            column_tiles = ceildiv(dims.back(), Dim(tile_columns));
  kernel.blocks = product(outer) * column_tiles * row_tiles;
  kernel.grain = kGrainElements / (tile_rows * tile_columns);

  loop::Expr block = build.block(), row_count = emit.size(row_tiles), column_count = emit.size(column_tiles);
  loop::Expr row0 = build.let((block % row_count) * tile_rows), rest = block / row_count;
  loop::Expr column0 = build.let((rest % column_count) * tile_columns);
  auto part = [&](bool all, int64_t size, const Dim& of, loop::Expr from) {
    return all ? build.index(size) : build.let(loop::lesser(build.index(size), emit.size(of) - from));
  };
  loop::Expr rows = part(few_rows, tile_rows, all_rows, row0);
  loop::Expr columns = part(few_columns, tile_columns, dims.back(), column0);
  std::vector<loop::Expr> outer_index = emit.split(rest / column_count, outer);
  auto index_at = [&](loop::Expr row, loop::Expr column) {
    std::vector<loop::Expr> index;
    size_t next = 0;
    for (size_t i = 0; i + 1 < dims.size(); ++i)
      index.push_back(i == across.axis ? row : outer_index[next++]);
    index.push_back(column);
    return index;
  };
  TurnedTiles tiles(emit, across, dims.size() - 1, tile_rows, tile_columns);
  tiles.turn(index_at(row0, column0), rows, columns);
  if (few_columns) {  // whole rows, one behind the other
    loop::Expr first = emit.flat(index_at(row0, column0), dims);
    auto pixels = [&](loop::Expr i) { body(first + i, index_at(row0 + i / columns, i % columns)); };
    ShortRows rows_of_few(emit, dims, widest);
    if (rows_of_few.fit()) return rows_of_few.walk(build.index(0), rows * columns, pixels);
    return emit.vector(build.index(0), rows * columns, lanes, pixels);
  }
  // The next tile lies in runs too short for the processor to foresee: it is asked for, line by line, where
  // results go past the caches. (Where they do not, reading the lines to be written takes what that gains.)
  auto ask_ahead = [&](loop::Expr r) {
    tiles.ask_ahead(r);
    loop::Expr next = emit.flat(index_at(row0 + tile_rows + r, column0), dims);
    for (Value arg : emit.region.args()) {
      if (arg->type().dims != emit.region.results()[0]->type().dims || !ops::read_at_own_element(arg))
        continue;
      const int64_t line = 64 / static_cast<int64_t>(size_of(arg->type().dtype));
      for (int64_t at = 0; at < tile_columns; at += line)
        build.prefetch(emit.buffer_of_arg(arg), next + build.index(at));
    }
  };
  auto walk_row = [&](loop::Expr r, loop::Expr count) {
    emit.vector(build.index(0), count, static_cast<int>(std::min<int64_t>(lanes, tile_columns)),
                [&](loop::Expr c) {
                  std::vector<loop::Expr> index = index_at(row0 + r, column0 + c);
                  body(emit.flat(index, dims), index);
                });
  };
  // Where a target moves no such elements by masks, how many are left in the last tile is to be known.
  const bool narrow = dims.back().is_constant() && std::ranges::any_of(emit.region.results(), [](Value v) {
                        return size_of(v->type().dtype) < kLeastMasked;
                      });
  const int64_t left = narrow ? dims.back().constant() % tile_columns : 0;
  const bool one_tile = narrow && dims.back().constant() <= tile_columns;
  emit.serial(build.index(0), rows, [&](loop::Expr r) {
    if (past_caches && !few_rows) ask_ahead(r);
    if (one_tile) return walk_row(r, build.index(dims.back().constant()));
    if (left == 0) return walk_row(r, narrow ? build.index(tile_columns) : columns);
    build.if_then(
        columns == build.index(tile_columns),
        [&] { emit.scoped([&] { walk_row(r, build.index(tile_columns)); }); },
        [&] { emit.scoped([&] { walk_row(r, build.index(left)); }); });
  });
}

// Rows of so many elements each in blocks of about so many elements.
// `parts` (cuts_of_outer): of the rows, each of which has code of its own.
void walk_whole_rows(GroupEmitter& emit, Kernel& kernel, const Dim& rows, const Dim& length, int64_t elements,
                     const std::function<void(loop::Expr row)>& walk,
                     const std::vector<int64_t>& parts = {}) {
  const Dim rows_a_block = max(Dim(int64_t{1}), floordiv(Dim(elements), max(length, Dim(int64_t{1}))));
  kernel.blocks = ceildiv(rows, rows_a_block);
  loop::Expr per_block = emit.size(rows_a_block), begin = emit.build.block() * per_block;
  const loop::Expr end = loop::lesser(begin + per_block, emit.size(rows));
  if (parts.empty()) return emit.serial(begin, end, walk);
  for (size_t part = 0; part + 1 < parts.size(); ++part)
    emit.serial(loop::greater(begin, emit.build.index(parts[part])),
                loop::lesser(end, emit.build.index(parts[part + 1])), walk);
}

// Rows of so many elements each in blocks: parts of about so many elements of one row, or some whole rows.
void walk_rows(GroupEmitter& emit, Kernel& kernel, const Dim& rows, const Dim& length, int64_t part,
               const std::function<void(loop::Expr row, loop::Expr begin, loop::Expr end)>& walk,
               const std::vector<int64_t>& parts = {}) {
  loop::Builder& build = emit.build;
  loop::Expr n = emit.size(length);
  if (rows == Dim(int64_t{1}) || (length.is_constant() && length.constant() > 2 * part)) {
    const Dim parts = ceildiv(length, Dim(part));
    kernel.blocks = rows * parts;
    loop::Expr of_row = emit.size(parts), begin = build.let(build.block() % of_row * part);
    return walk(build.let(build.block() / of_row), begin, build.let(loop::lesser(begin + part, n)));
  }
  walk_whole_rows(
      emit, kernel, rows, length, part, [&](loop::Expr row) { walk(row, build.index(0), n); }, parts);
}

// A row part by part: what is too short for vectors is walked element by element.
void walk_parts(GroupEmitter& emit, const std::vector<int64_t>& cuts, int lanes,
                const std::function<void(loop::Expr)>& element,
                const std::function<void(loop::Expr from, loop::Expr to, int64_t length)>& vectors) {
  int64_t longest = 0;
  for (size_t part = 0; part + 1 < cuts.size(); ++part)
    longest = std::max(longest, cuts[part + 1] - cuts[part]);
  for (size_t part = 0; part + 1 < cuts.size(); ++part) {
    loop::Expr from = emit.build.index(cuts[part]), to = emit.build.index(cuts[part + 1]);
    const int64_t length = cuts[part + 1] - cuts[part];
    if (length >= std::min<int64_t>(lanes / 2, longest))
      vectors(from, to, length);
    else
      emit.serial(from, to, element);
  }
}

// Whether short rows come from an array that has them in the order of the axis before (an image turned over,
// its colours side by side): along the walk each lies in a line of its own, beside what later walks read.
bool turns_short_rows(const Block& region, const Dims& dims) {
  const auto rank = static_cast<int64_t>(dims.size());
  for (const Node* node : region) {
    const AttrValue* order = node->attrs().find(ops::kPermutation.name);
    if (!order || rank < 3 || node->result()->type().rank() != rank) continue;
    const auto& from = std::get<Ints>(*order);
    if (from[static_cast<size_t>(rank - 1)] == rank - 1 && from[static_cast<size_t>(rank - 3)] == rank - 2)
      return true;
  }
  return false;
}

// The last two axes are walked as one, by tiles: what shares a line is read before the line is gone.
// `element` gets the outer index, the row that this is the index of, and the column of the walk.
void lower_turned_rows(
    GroupEmitter& emit, Kernel& kernel, const Dims& dims, const Cut& cut, ShortRows& rows,
    const std::function<void(const GroupEmitter::Index&, loop::Expr, loop::Expr)>& element) {
  constexpr int64_t kLines = 4;     // that a tile takes of each row of the array
  constexpr int64_t kFewWalks = 8;  // along a row, which are one, whose end is known
  const Dims outer(dims.begin(), dims.end() - 2);
  const Dim count = product(outer), length = dims[dims.size() - 2] * dims.back(), &across = outer.back();
  const int64_t width = dims.back().constant();
  const int64_t row_bytes = width * static_cast<int64_t>(size_of(emit.region.results()[0]->type().dtype));
  const int64_t height = std::max<int64_t>(1, kLines * kLineBytes / row_bytes);
  // So many short rows, each in a line of its own, which is to stay meanwhile.
  const int64_t walked = rows_stay(32, across.is_constant() ? across.constant() * row_bytes : 0) ? 32 : 16;
  int64_t along = (walked * width + rows.turn() - 1) / rows.turn() * rows.turn();
  const bool one_walk = length.is_constant() && length.constant() <= kFewWalks * along;
  if (one_walk) along = std::max<int64_t>(1, length.constant());

  const Dim parts = ceildiv(length, Dim(along));
  kernel.blocks = ceildiv(count, Dim(height)) * parts;
  kernel.grain = std::max<int64_t>(1, cut.elements * cut.grain / (height * along));
  loop::Builder& build = emit.build;
  loop::Expr first = build.let(build.block() / emit.size(parts) * height);
  loop::Expr begin = one_walk ? build.index(0) : build.let(build.block() % emit.size(parts) * along);
  loop::Expr end = one_walk ? build.index(along) : build.let(loop::lesser(begin + along, emit.size(length)));
  emit.serial(first, build.let(loop::lesser(first + height, emit.size(count))), [&](loop::Expr row) {
    const GroupEmitter::Index index = emit.split(row, outer);
    rows.walk(begin, end, [&](loop::Expr j) { element(index, row, j); });
  });
}

// The last axes are walked as one.
void lower_short_rows(GroupEmitter& emit, Kernel& kernel, const Dims& dims, const Cut& cut, ShortRows& rows,
                      const std::vector<int64_t>& cuts,
                      const std::function<void(loop::Expr, std::span<const loop::Expr>)>& body) {
  const Dims outer(dims.begin(), dims.end() - rows.axes()), joined(dims.end() - rows.axes(), dims.end());
  const Dim length = product(joined);
  auto element = [&](const GroupEmitter::Index& outer_index, loop::Expr row, loop::Expr column) {
    GroupEmitter::Index all = outer_index;
    for (loop::Expr e : emit.split(column, joined)) all.push_back(e);
    body(row * emit.size(length) + column, all);
  };
  if (!cuts.empty())
    return walk_whole_rows(emit, kernel, product(outer), length, cut.elements, [&](loop::Expr row) {
      const GroupEmitter::Index index = emit.split(row, outer);
      auto at = [&](loop::Expr column) { element(index, row, column); };
      walk_parts(emit, cuts, rows.lanes(), at,
                 [&](loop::Expr from, loop::Expr to, int64_t) { rows.walk(from, to, at); });
    });
  if (rows.axes() == 2 && turns_short_rows(emit.region, dims))
    return lower_turned_rows(emit, kernel, dims, cut, rows, element);
  const int64_t part = std::max<int64_t>(1, cut.elements / rows.turn()) * rows.turn();
  walk_rows(
      emit, kernel, product(outer), length, part,
      [&](loop::Expr row, loop::Expr begin, loop::Expr end) {
        const GroupEmitter::Index index = emit.split(row, outer);
        rows.walk(begin, end, [&](loop::Expr j) { element(index, row, j); });
      },
      cuts_of_outer(emit, dims, rows.axes()));
}

// Whether rows of few elements are taken at places that are known when the kernel runs.
bool gathers_rows(const Block& region, const Dims& dims) {
  const auto last = static_cast<int64_t>(dims.size()) - 1;
  for (const Node* node : region) {
    const AttrValue* offsets = node->attrs().find(ops::kOffsetDims.name);
    if (offsets && node->result()->type().dims == dims &&
        std::ranges::count(std::get<Ints>(*offsets), last) != 0)
      return true;
  }
  return false;
}

// Row by row, each in the largest pieces that it has: a vector of several rows would have to ask of each lane
// which row it is of.
void lower_gathered_rows(GroupEmitter& emit, Kernel& kernel, const Dims& dims, const Cut& cut,
                         const std::function<void(loop::Expr, std::span<const loop::Expr>)>& body) {
  loop::Builder& build = emit.build;
  const Dims outer(dims.begin(), dims.end() - 1);
  const int64_t length = dims.back().constant();
  walk_whole_rows(emit, kernel, product(outer), dims.back(), cut.elements, [&](loop::Expr row) {
    GroupEmitter::Index index = emit.split(row, outer);
    index.emplace_back();
    for (int64_t at = 0; at < length;) {
      const auto piece = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(length - at)));
      emit.vector(build.index(0), build.index(piece), static_cast<int>(piece), [&](loop::Expr i) {
        index.back() = build.index(at) + i;
        body(row * length + index.back(), index);
      });
      at += piece;
    }
  });
}

// Whether each element of a short last axis is computed in its own way, as where arrays were stacked along
// it, from what has no such axis itself: that would be read at every so many elements.
bool is_stack(const Block& region, const Dims& dims, const std::vector<int64_t>& cuts) {
  constexpr size_t kMost = 4;     // rows of what is turned over: more take longer than elements one by one
  constexpr int64_t kLeast = 16;  // elements of a row, but for a single one
  auto is_word = [](Value v) {
    const DType type = v->type().dtype;
    return compute_type(type) == type && !is_complex(type) && (size_of(type) == 4 || size_of(type) == 8);
  };
  if (dims.size() < 2) return false;
  const Dim& length = dims[dims.size() - 2];
  const bool is_long =
      !length.is_constant() || length.constant() >= kLeast || product(dims) == length * dims.back();
  auto as_short = [&](Value arg) {
    return arg->type().rank() == static_cast<int>(dims.size()) && arg->type().dims.back() == dims.back();
  };
  return is_long && cuts.size() >= 3 && cuts.size() <= kMost + 1 &&
         cuts.back() == static_cast<int64_t>(cuts.size()) - 1 &&
         std::ranges::all_of(region.results(), is_word) && std::ranges::none_of(region.args(), as_short);
}

// A row of each way's elements is computed into scratch, and together they are turned over into the result.
void lower_stack(GroupEmitter& emit, Kernel& kernel, const Dims& dims, const Cut& cut) {
  constexpr int64_t kTogether = 512;  // elements of a row, which stay in the first cache
  loop::Builder& build = emit.build;
  const Block& region = emit.region;
  const int64_t ways = dims.back().constant();
  const Dims outer(dims.begin(), dims.end() - 2);
  const Dim length = dims[dims.size() - 2];
  std::vector<uint32_t> scratch;
  for (Value v : region.results())
    scratch.push_back(build.add_scratch(v->type().dtype, Dim(ways * kTogether), "rows"));
  const int lanes = lanes_for(emit.target, widest_element(region), length);
  loop::Expr n = emit.size(length);
  const int64_t part = std::max<int64_t>(1, cut.elements / ways);
  walk_rows(
      emit, kernel, product(outer), length, part, [&](loop::Expr row, loop::Expr begin, loop::Expr end) {
        GroupEmitter::Index index = emit.split(row, outer);
        loop::Expr parts = (end - begin + build.index(kTogether - 1)) / build.index(kTogether);
        emit.serial(build.index(0), parts, [&](loop::Expr part) {
          loop::Expr first = build.let(begin + part * kTogether);
          loop::Expr some = build.let(loop::lesser(build.index(kTogether), end - first));
          emit.vector(build.index(0), some, lanes, [&](loop::Expr j) {
            GroupEmitter::Index all = index;
            all.push_back(first + j);
            all.emplace_back();
            std::vector<loop::Expr> values;
            for (int64_t way = 0; way < ways; ++way) {
              all.back() = build.index(way);
              for (Value v : region.results()) values.push_back(build.let(emit.element(v, all)));
            }
            for (size_t i = 0; i < values.size(); ++i)
              build.store(scratch[i % scratch.size()],
                          j + static_cast<int64_t>(i / scratch.size()) * kTogether, values[i]);
          });
          for (size_t r = 0; r < scratch.size(); ++r)
            build.transpose({emit.result_buffer(r), (row * n + first) * ways, build.index(ways)},
                            {scratch[r], build.index(0), build.index(kTogether)}, build.index(ways), some);
        });
      });
}

}  // namespace

void lower_loop(GroupEmitter& emit, Kernel& kernel) {
  const Block& region = emit.region;
  const Dims shape = region.results()[0]->type().dims;
  for (Value v : region.results())
    IG_CHECK(v->type().dims == shape, "a loop kernel gives {} and {}", str(shape), str(v->type().dims));
  // Last axes of one element are none that a walk could go along.
  Dims dims = shape;
  while (dims.size() > 1 && dims.back() == Dim(int64_t{1})) dims.pop_back();
  loop::Builder& build = emit.build;
  const int widest = widest_moved(region);

  bool at_line = false;  // vectors begin at lines of the results
  auto body = [&](loop::Expr flat, std::span<const loop::Expr> index) {
    // All values first: a result may stand in the memory of an operand.
    GroupEmitter::Index whole(index.begin(), index.end());
    whole.resize(shape.size(), build.index(0));
    std::vector<loop::Expr> values;
    for (Value v : region.results()) values.push_back(build.let(emit.element(v, whole)));
    for (size_t i = 0; i < values.size(); ++i) emit.store_result(i, flat, values[i], at_line);
  };

  const Cut cut = cut_of(region);
  kernel.grain = cut.grain;
  ops::Across across;
  if (dims.size() >= 2) across = ops::find_across(region, shape, dims.size() - 1);
  const int register_lanes = emit.target.vector_bytes / widest;
  ShortRows short_rows(emit, dims, widest);
  const bool heavy = kernel.kind == "heavy";
  auto stacks = [&](const std::vector<int64_t>& cuts) {
    return !heavy && dims.size() == shape.size() && is_stack(region, dims, cuts);
  };
  // Short rows are walked together, with both ways of a lane where it is known which one it takes: parts of
  // rows would be vectors of few elements. Rows longer than a register are no worse off one by one, in one or
  // two parts, where their elements are soon computed and a last part of a register has masked moves.
  bool together = short_rows.fit() && !heavy;
  auto cuts_of_row = [&] {
    std::vector<int64_t> cuts =
        dims.size() < shape.size() ? cuts_of_joined(emit, dims, 1) : cuts_of(emit, dims, heavy);
    if (heavy || !short_rows.fit_in_parts() || stacks(cuts)) return cuts;
    const bool masked = widest >= static_cast<int>(kLeastMasked);
    together |= cuts.empty() ? !masked && dims.back().constant() % register_lanes != 0
                             : !masked || cuts.size() > 3 || cuts.back() <= register_lanes ||
                                   elements_are_dear(region, shape);
    if (together) cuts.clear();
    return cuts;
  };
  if (product(dims) == Dim(int64_t{1})) {
    // One element needs no vector.
    body(build.index(0), GroupEmitter::Index(dims.size(), build.index(0)));
  } else if (!across.operands.empty()) {
    const int lanes = natural_lanes(emit.target, widest);
    at_line = dims.back().is_constant() && dims.back().constant() % lanes == 0;
    const bool past_caches = at_line && emit.any_streamed();
    lower_tiles(emit, kernel, dims, across, body, widest, past_caches);
  } else if (is_flat(region, shape)) {
    Dim n = product(dims);
    const bool one_block =
        n.is_constant() && n.constant() < std::max(2 * cut.elements * cut.grain, kBlockElements);
    kernel.blocks = one_block ? Dim(int64_t{1}) : ceildiv(n, cut.elements);
    loop::Expr begin = one_block ? build.index(0) : build.block() * build.index(cut.elements);
    loop::Expr end = one_block ? emit.size(n) : loop::lesser(begin + build.index(cut.elements), emit.size(n));
    at_line = true;
    emit.vector(begin, end, lanes_for(emit.target, widest, n),
                [&](loop::Expr i) { body(i, emit.split(i, dims)); });
  } else if (const std::vector<int64_t> cuts = cuts_of_row(),
             parts = short_rows.fit_in_parts() && cuts.empty() && !heavy
                         ? cuts_of_joined(emit, dims, short_rows.axes())
                         : std::vector<int64_t>();
             parts.empty() && together && cuts.empty() && short_rows.registers() > 1 &&
             gathers_rows(region, dims) && !elements_are_dear(region, shape)) {
    lower_gathered_rows(emit, kernel, dims, cut, body);
  } else if (!parts.empty() || (together && cuts.empty())) {
    const Dim length = product(Dims(dims.end() - short_rows.axes(), dims.end()));
    at_line = parts.empty() &&
              (length == product(dims) || (length.is_constant() && length.constant() % register_lanes == 0));
    lower_short_rows(emit, kernel, dims, cut, short_rows, parts, body);
  } else if (stacks(cuts)) {
    lower_stack(emit, kernel, dims, cut);
  } else {
    Dims outer(dims.begin(), dims.end() - (dims.empty() ? 0 : 1));
    Dim rows = product(outer), columns = dims.empty() ? Dim(int64_t{1}) : dims.back();
    loop::Expr n = emit.size(columns);
    const int lanes = lanes_for(emit.target, widest, columns);
    const bool by_lines = !elements_are_dear(region, shape);
    walk_whole_rows(
        emit, kernel, rows, columns, cut.elements,
        [&](loop::Expr row) {
          std::vector<loop::Expr> outer_index = emit.split(row, outer);
          auto element = [&](loop::Expr column) {
            std::vector<loop::Expr> index = outer_index;
            if (!dims.empty()) index.push_back(column);
            body(row * n + column, index);
          };
          if (cuts.empty())
            return emit.vector_row(row * n, columns, lanes, by_lines, [&](loop::Expr column, bool begins) {
              at_line = begins;
              element(column);
            });
          at_line = false;
          walk_parts(emit, cuts, lanes, element, [&](loop::Expr from, loop::Expr to, int64_t part) {
            emit.vector(from, to, lanes_for(emit.target, widest, Dim(part)), element);
          });
        },
        heavy || dims.empty() ? std::vector<int64_t>() : cuts_of_outer(emit, dims, 1));
  }
  for (size_t r = 0; r < region.results().size(); ++r)
    for (size_t a = 0; a < region.args().size(); ++a) {
      const Type& type = region.arg(a)->type();
      if (size_of(type.dtype) == size_of(region.results()[r]->type().dtype) &&
          region.arg(a)->type().dims == shape && ops::read_at_own_element(region.arg(a)))
        kernel.in_place.emplace_back(static_cast<int>(r), static_cast<int>(a));
    }
}

}  // namespace ig::codegen
