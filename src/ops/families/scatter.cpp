// scatter: an array with slices set, added to, multiplied, or bounded, at the places that index vectors name.
// StableHLO's dimension numbers; an update that would fall outside the array is left out.
//
// The order is fixed: index vectors in row-major order, so where two updates meet, the later one wins (or is
// added last), whatever the number of threads.
#include <algorithm>
#include <cmath>
#include <functional>
#include <optional>

#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"
#include "ops/families/complex.h"
#include "ops/families/derivative_rules.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"

namespace ig::ops {
namespace {

using namespace tools;
using loop::Expr;

struct ScatterDims {
  const Ints &window, &inserted, &input_batch, &indices_batch, &map;
  int64_t vector_dim;
  Ints scatter_axes;  // the updates' axes that walk over index vectors
  Ints window_axes;   // the operand's axes that a window spans, in order: they pair with `window`

  ScatterDims(const Attrs& attrs, int operand_rank, int updates_rank)
      : window(attrs.get(kUpdateWindowDims)),
        inserted(attrs.get(kInsertedDims)),
        input_batch(attrs.get(kInputBatchDims)),
        indices_batch(attrs.get(kScatterBatchDims)),
        map(attrs.get(kScatterMap)),
        vector_dim(attrs.get(kIndexVectorDim)) {
    for (int64_t i = 0; i < updates_rank; ++i)
      if (!contains_axis(window, i)) scatter_axes.push_back(i);
    for (int64_t i = 0; i < operand_rank; ++i)
      if (!contains_axis(inserted, i) && !contains_axis(input_batch, i)) window_axes.push_back(i);
  }

  // The place among scatter_axes of an axis of the indices.
  size_t position(int64_t indices_axis) const {
    return static_cast<size_t>(indices_axis - (indices_axis > vector_dim));
  }
};

void infer_scatter(InferContext& c) {
  const Type &x = c.operand(0), &indices = c.operand(1), &updates = c.operand(2);
  require_index_dtype(c, 1);
  c.require_same_dtype(0, 2);
  const Ints &window = c.get(kUpdateWindowDims), &inserted = c.get(kInsertedDims), &map = c.get(kScatterMap);
  const Ints &input_batch = c.get(kInputBatchDims), &indices_batch = c.get(kScatterBatchDims);
  const std::string& update = c.get(kUpdate);
  if (update == "min" || update == "max") c.require_dtype(0, DTypeSet::Real);
  if (update == "add" || update == "multiply") c.require_dtype(0, DTypeSet::Numeric);
  int64_t vector_dim = c.get(kIndexVectorDim);
  if (vector_dim < 0 || vector_dim > indices.rank())
    c.fail(ErrorKind::Index,
           fmt::format("index_vector_dim {} is not an axis of the indices, nor their rank {}", vector_dim,
                       indices.rank()),
           "it names the axis of the indices along which one index lies",
           "give an axis, or the rank where each index is a scalar");
  bool has_vectors = vector_dim < indices.rank();
  require_axes(c, window, updates.rank(), "update_window_dims");
  require_axes(c, inserted, x.rank(), "inserted_window_dims");
  require_axes(c, input_batch, x.rank(), "input_batching_dims");
  require_axes(c, indices_batch, indices.rank(), "scatter_indices_batching_dims");
  require_axes(c, map, x.rank(), "scatter_dims_to_operand_dims");
  require_count(c, indices_batch.size(), input_batch.size(), "scatter_indices_batching_dims");
  require_count(c, window.size(), x.dims.size() - inserted.size() - input_batch.size(), "update_window_dims");
  require_count(c, updates.dims.size(), window.size() + indices.dims.size() - (has_vectors ? 1 : 0),
                "the shape of the updates");
  if (!std::is_sorted(window.begin(), window.end()))
    c.fail(ErrorKind::Value, "update_window_dims is not ascending", "the axes of a window keep their order",
           "sort update_window_dims, and transpose the updates");
  c.require_equal(has_vectors ? indices.dims[static_cast<size_t>(vector_dim)] : Dim(1),
                  Dim(static_cast<int64_t>(map.size())),
                  "the length of the index vectors and of scatter_dims_to_operand_dims");
  ScatterDims dims(c.attrs, x.rank(), updates.rank());
  for (size_t i = 0; i < window.size(); ++i)
    c.require_less_equal(updates.dims[static_cast<size_t>(window[i])],
                         x.dims[static_cast<size_t>(dims.window_axes[i])],
                         "the window of the updates and the axis");
  size_t next = 0;
  for (int64_t i = 0; i < indices.rank(); ++i)
    if (i != vector_dim)
      c.require_equal(indices.dims[static_cast<size_t>(i)],
                      updates.dims[static_cast<size_t>(dims.scatter_axes[next++])],
                      "the axes that updates and indices share");
  for (size_t i = 0; i < input_batch.size(); ++i)
    c.require_equal(x.dims[static_cast<size_t>(input_batch[i])],
                    indices.dims[static_cast<size_t>(indices_batch[i])], "the batched axes");
  c.result(x.dtype, x.dims);
}

double extreme(double a, double b, bool least) {
  if (a != a) return a;
  if (b != b) return b;
  if (a == b) return (std::signbit(a) == least) ? a : b;
  return (a < b) == least ? a : b;
}

template <typename T>
T round_once(const std::string& how, T a, T b) {
  return how == "add" ? a + b : a * b;
}

void apply(Literal& out, int64_t i, const Literal& updates, int64_t j, const std::string& how) {
  if (how == "set") return copy_element(out, i, updates, j);
  bool least = how == "min", bound = least || how == "max";
  if (is_complex(out.dtype())) {
    auto combine = [&]<typename T>(std::complex<T> a, std::complex<T> b) {
      Complex sum(how == "add" ? a + b : complex_product(a, b));
      set_complex(out, i, sum.real(), sum.imag());
    };
    Complex a = out.as_complex(i), b = updates.as_complex(j);
    if (out.dtype() == DType::C64) return combine(std::complex<float>(a), std::complex<float>(b));
    return combine(a, b);
  }
  if (is_float(out.dtype())) {
    double a = out.as_double(i), b = updates.as_double(j);
    if (bound)
      set_real(out, i, extreme(a, b, least));
    else if (out.dtype() == DType::F64)
      set_real(out, i, round_once(how, a, b));
    else
      set_real(out, i, round_once(how, static_cast<float>(a), static_cast<float>(b)));
  } else {
    int64_t a = out.as_int(i), b = updates.as_int(j);
    bool below = is_unsigned_int(out.dtype()) ? static_cast<uint64_t>(a) < static_cast<uint64_t>(b) : a < b;
    auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
    set_whole(out, i, bound ? (below == least ? a : b) : static_cast<int64_t>(round_once(how, ua, ub)));
  }
}

void reference_scatter(ReferenceContext& c) {
  const Literal &x = c.operands[0], &indices = c.operands[1], &updates = c.operands[2];
  Literal& out = c.results[0];
  ScatterDims dims(c.attrs, static_cast<int>(x.dims().size()), static_cast<int>(updates.dims().size()));
  for (int64_t i = 0; i < x.elements(); ++i) copy_element(out, i, x, i);
  std::vector<int64_t> vectors, window;
  for (int64_t axis : dims.scatter_axes) vectors.push_back(updates.dims()[static_cast<size_t>(axis)]);
  for (int64_t axis : dims.window) window.push_back(updates.dims()[static_cast<size_t>(axis)]);
  each_index(vectors, [&](const Index& v, int64_t) {
    Index start(x.dims().size(), 0);
    for (size_t k = 0; k < dims.map.size(); ++k) {
      Index at;
      size_t next = 0;
      for (size_t i = 0; i < indices.dims().size(); ++i)
        at.push_back(static_cast<int64_t>(i) == dims.vector_dim ? static_cast<int64_t>(k) : v[next++]);
      start[static_cast<size_t>(dims.map[k])] = index_at(indices, flat_of(indices.dims(), at));
    }
    for (size_t k = 0; k < dims.input_batch.size(); ++k)
      start[static_cast<size_t>(dims.input_batch[k])] = v[dims.position(dims.indices_batch[k])];
    each_index(window, [&](const Index& w, int64_t) {
      Index to = start, from(updates.dims().size());
      for (size_t k = 0; k < w.size(); ++k) {
        auto axis = static_cast<size_t>(dims.window_axes[k]);
        // An index so great that it overflows is outside in any case.
        if (__builtin_add_overflow(to[axis], w[k], &to[axis])) return;
        from[static_cast<size_t>(dims.window[k])] = w[k];
      }
      for (size_t k = 0; k < v.size(); ++k) from[static_cast<size_t>(dims.scatter_axes[k])] = v[k];
      for (size_t i = 0; i < to.size(); ++i)
        if (to[i] < 0 || to[i] >= x.dims()[i]) return;
      apply(out, flat_of(x.dims(), to), updates, flat_of(updates.dims(), from), c.attrs.get(kUpdate));
    });
  });
}

Expr combine(const std::string& how, Expr old, Expr update) {
  DType type = old.type();
  Expr a = widen(old), b = widen(update);
  if (how == "add") return narrow(a + b, type);
  if (how == "multiply") return narrow(a * b, type);
  return narrow(how == "min" ? total_min(a, b) : total_max(a, b), type);
}

// Walks the index vectors over a copy of the array, or the array itself where nobody else reads it; the part
// of a window that lies inside is a box, so its bounds are loop bounds and the innermost loop needs no test.
struct ScatterNest {
  static constexpr int kLanes = 8, kBytes = 128;  // of a vector, and of one that needs no mask
  NestContext& c;
  loop::Builder& build;
  const Type &x, &indices, &updates;
  ScatterDims dims;
  const std::string& how;
  std::vector<Expr> x_sizes, update_sizes;
  std::vector<Expr> vector, window;  // loop variables
  std::vector<Expr> outer;           // those of the window that all vectors are walked for
  std::vector<Expr> start;           // of the window, for each axis of the operand
  // Locals of a walk over single floats that mostly meet: where the last update went, and what it left.
  std::optional<uint32_t> last_place_;
  uint32_t last_value_ = 0;

  explicit ScatterNest(NestContext& c)
      : c(c),
        build(*c.build),
        x(c.node->operand(0)->type()),
        indices(c.node->operand(1)->type()),
        updates(c.node->operand(2)->type()),
        dims(c.node->attrs(), x.rank(), updates.rank()),
        how(c.node->attrs().get(kUpdate)) {
    for (const Dim& d : x.dims) x_sizes.push_back(c.size(d));
    for (const Dim& d : updates.dims) update_sizes.push_back(c.size(d));
  }

  void emit() {
    c.set_blocks(1);
    begin_as_operand(c, 0);
    walk_outer();
  }

  // Axes of the windows in front of all that the vectors name lie far apart: each of their elements has all
  // vectors, one after the other.
  void walk_outer() {
    const size_t k = outer.size();
    if (k < dims.window.size() && lies_in_front(dims.window_axes[k]))
      return build.serial_for(build.index(0), update_sizes[static_cast<size_t>(dims.window[k])], [&](Expr i) {
        outer.push_back(i);
        walk_outer();
        outer.pop_back();
      });
    walk_all_vectors();
  }
  bool lies_in_front(int64_t axis) const {
    auto behind = [&](int64_t other) { return axis < other; };
    return std::ranges::all_of(dims.map, behind) && std::ranges::all_of(dims.input_batch, behind);
  }

  void walk_all_vectors() {
    if (dims.window.size() > outer.size() || how == "set" || !is_float(x.dtype) ||
        dims.scatter_axes.size() != 1)
      return walk_vectors(0);
    // Single floats that meet one after the other (sorted segments) find theirs in a register: out of memory
    // it would come only once the store before is through. That takes a branch, which does not pay where some
    // meet and some do not. (Whole numbers add up soon enough.)
    build.if_then(
        mostly_meet(),
        [&] {
          last_place_ = build.local(DType::I64, 1, 1, "last_place");
          last_value_ = build.local(x.dtype, 1, 1, "last_value");
          build.assign(*last_place_, build.index(-1));
          build.assign(last_value_, build.constant_bits(x.dtype, 0));
          walk_vectors(0);
          last_place_.reset();
        },
        [&] { walk_vectors(0); });
  }

  // A coordinate of the index vector at `vector`.
  Expr coordinate(size_t m, const std::vector<Expr>& vector) {
    std::vector<Expr> at;
    size_t next = 0;
    for (int64_t i = 0; i < indices.rank(); ++i)
      at.push_back(i == dims.vector_dim ? build.index(static_cast<int64_t>(m)) : vector[next++]);
    return as_index(c.at(1, at));
  }

  // Whether most of a few pairs of neighbours, all along the index vectors, name the same place.
  Expr mostly_meet() {
    constexpr int64_t kPairs = 64, kMost = kPairs * 3 / 4;
    Expr pairs = build.let(update_sizes[static_cast<size_t>(dims.scatter_axes[0])] - build.index(1));
    const uint32_t met = build.local(DType::I64, 1, 1, "met");
    build.assign(met, build.index(0));
    build.if_then(pairs >= build.index(kPairs), [&] {
      build.serial_for(build.index(0), build.index(kPairs), [&](Expr k) {
        Expr first = build.let(pairs * k / build.index(kPairs));
        std::vector<Expr> same;
        for (size_t m = 0; m < dims.map.size(); ++m)
          same.push_back(coordinate(m, {first}) == coordinate(m, {first + build.index(1)}));
        build.if_then(all_of(same, build), [&] { build.assign(met, build.read(met) + build.index(1)); });
      });
    });
    return build.let(build.read(met)) > build.index(kMost);
  }

  void walk_vectors(size_t k) {
    if (k < dims.scatter_axes.size()) {
      build.serial_for(build.index(0), update_sizes[static_cast<size_t>(dims.scatter_axes[k])], [&](Expr i) {
        vector.push_back(i);
        walk_vectors(k + 1);
        vector.pop_back();
      });
      return;
    }
    start.assign(x.dims.size(), build.index(0));
    std::vector<Expr> inside;
    for (size_t m = 0; m < dims.map.size(); ++m) {
      Expr loaded = coordinate(m, vector);
      auto axis = static_cast<size_t>(dims.map[m]);
      Expr size = x_sizes[axis];
      if (contains_axis(dims.inserted, dims.map[m])) {
        start[axis] = build.let(loaded);
        inside.push_back(start[axis] >= build.index(0));
        inside.push_back(start[axis] < size);
      } else {  // far outside is as good as just outside, and keeps the sums below from wrapping
        start[axis] = build.let(loop::greater(loop::lesser(loaded, size), build.index(0) - size));
      }
    }
    for (size_t m = 0; m < dims.input_batch.size(); ++m)
      start[static_cast<size_t>(dims.input_batch[m])] = vector[dims.position(dims.indices_batch[m])];
    window = outer;
    auto walk = [&] {
      if (last_place_)
        update_number();
      else
        walk_window(outer.size());
    };
    if (inside.empty())
      walk();
    else
      build.if_then(all_of(inside, build), walk);
  }

  // Whether the window's axes from this one on lie in the array and in the updates as one.
  bool lies_whole(size_t k) const {
    if (computed()) return false;
    for (size_t m = k; m < dims.window.size(); ++m) {
      const auto behind = static_cast<int64_t>(dims.window.size() - m);
      const int64_t axis = dims.window_axes[m], of_updates = dims.window[m];
      if (axis != x.rank() - behind || of_updates != updates.rank() - behind || contains_axis(dims.map, axis))
        return false;
      if (m > k && x.dims[static_cast<size_t>(axis)] != updates.dims[static_cast<size_t>(of_updates)])
        return false;
    }
    return true;
  }

  void walk_window(size_t k) {
    if (k == dims.window.size()) return update();
    if (k + 1 < dims.window.size() && lies_whole(k)) {
      const Dim length = product(
          Dims(updates.dims.end() - static_cast<int64_t>(dims.window.size() - k), updates.dims.end()));
      window.resize(dims.window.size() - 1, build.index(0));
      walk_elements(build.index(0), c.size(length), [&](Expr i) {
        window.push_back(i);
        update();
        window.pop_back();
      });
      return window.resize(k);
    }
    auto axis = static_cast<size_t>(dims.window_axes[k]);
    Expr size = update_sizes[static_cast<size_t>(dims.window[k])];
    Expr low = build.index(0), high = size;
    if (contains_axis(dims.map, dims.window_axes[k])) {
      low = build.let(loop::greater(build.index(0), build.index(0) - start[axis]));
      high = build.let(loop::lesser(size, x_sizes[axis] - start[axis]));
    }
    auto body = [&](Expr i) {
      window.push_back(i);
      walk_window(k + 1);
      window.pop_back();
    };
    if (k + 1 < dims.window.size()) return build.serial_for(low, high, body);
    walk_elements(low, high, body);
  }

  // Elements of one window differ in place, so its innermost axis may run in lanes. What the next window
  // reads at the same place is what one store wrote, and waits for no other, where neither is masked.
  void walk_elements(Expr low, Expr high, const loop::Builder::Body& body) {
    if (low->op == loop::Op::Const && high->op == loop::Op::Const)  // from 0
      in_whole_vectors(build, static_cast<int64_t>(high->bits[0]),
                       std::max(kLanes, kBytes / static_cast<int>(size_of(x.dtype))),
                       [&](Expr i, int) { body(i); });
    else
      build.vector_for(low, high, kLanes, body);
  }

  // Axes that were joined into the last one lead on where the updates lie in memory.
  Expr element_of_updates(const std::vector<Expr>& index) {
    if (computed()) return c.at(2, index);
    return build.load(c.operands[2], row_major(index, update_sizes, build));
  }
  bool computed() const { return c.operands[2] == NestContext::kComputed; }

  void update_number() {
    const auto [to, from] = places();
    Expr place = build.let(row_major(to, x_sizes, build));
    Expr value = build.let(element_of_updates(from));
    build.if_then(place != build.read(*last_place_), [&] {
      build.assign(*last_place_, place);
      build.assign(last_value_, build.load(c.results[0], place));
    });
    Expr next = build.let(combine(how, build.read(last_value_), value));
    build.store(c.results[0], place, next);
    build.assign(last_value_, next);
  }

  // The element of the array, and of the updates.
  std::pair<std::vector<Expr>, std::vector<Expr>> places() const {
    std::vector<Expr> to = start, from(updates.dims.size());
    for (size_t k = 0; k < window.size(); ++k) {
      auto axis = static_cast<size_t>(dims.window_axes[k]);
      to[axis] = to[axis] + window[k];
      from[static_cast<size_t>(dims.window[k])] = window[k];
    }
    for (size_t k = 0; k < vector.size(); ++k) from[static_cast<size_t>(dims.scatter_axes[k])] = vector[k];
    return {to, from};
  }

  void update() {
    const auto [to, from] = places();
    Expr place = row_major(to, x_sizes, build);
    Expr value = element_of_updates(from);
    if (how == "set")
      build.store(c.results[0], place, narrow(value, x.dtype));
    else
      build.store(c.results[0], place, combine(how, build.load(c.results[0], place), value));
  }
};

void nest_scatter(NestContext& c) { ScatterNest(c).emit(); }

// Windows of several axes of which the last is short are many short lines, but one axis in memory.
bool takes_elements(const Node* node, size_t operand) {
  constexpr int64_t kShort = 16;
  if (operand != 2) return operand == 1;
  const Dims& dims = node->operand(2)->type().dims;
  return node->attrs().get(kUpdateWindowDims).size() < 2 || !dims.back().is_constant() ||
         dims.back().constant() >= kShort;
}

// Updates of places along the first axis: of numbers, of rows, of rows at places of two axes (a table's, by
// tokens of several texts); of one place in each row; and of places along two axes.
std::vector<UsualCall> usual_calls() {
  struct Call {
    std::vector<std::string> operands;
    Ints window, inserted, batch, map;
    int64_t vector_dim;
  };
  const Call calls[] = {
      {{"f32[2]", "i64[3, 1]", "f32[3]"}, {}, {0}, {}, {0}, 1},
      {{"f32[2, 3]", "i64[4, 1]", "f32[4, 3]"}, {1}, {0}, {}, {0}, 1},
      {{"f32[2, 3]", "i64[4, 5, 1]", "f32[4, 5, 3]"}, {2}, {0}, {}, {0}, 2},
      {{"f32[2, 3]", "i64[2, 1]", "f32[2, 1]"}, {}, {1}, {0}, {1}, 2},
      {{"f32[5, 3]", "i64[4, 2]", "f32[4]"}, {}, {0, 1}, {}, {0, 1}, 1},
      {{"i64[2]", "i64[3, 1]", "i64[3]"}, {}, {0}, {}, {0}, 1},
  };
  std::vector<UsualCall> out;
  for (const Call& call : calls)
    for (const char* update : {"add", "set"})
      out.push_back(
          {call.operands,
           make_attrs({kUpdateWindowDims % call.window, kInsertedDims % call.inserted,
                       kInputBatchDims % call.batch, kScatterBatchDims % call.batch, kScatterMap % call.map,
                       kIndexVectorDim % call.vector_dim, kUpdate % std::string(update)})});
  return out;
}

Op scatter_op() {
  return {
      .decl =
          {.name = "scatter",
           .python = "",
           .doc =
               "An array with slices updated at the places that index vectors name: set, added to, "
               "multiplied, or bounded by min or max.\nAn update element that falls outside the array is "
               "left out. Index vectors are applied in row-major order: of two that meet, the later one is "
               "applied last. StableHLO's dimension numbers.",
           .operands = {{"x", "The array."},
                        {"indices", "Integers: where the windows start."},
                        {"updates", "The windows."}},
           .attrs = {kUpdateWindowDims, kInsertedDims, kInputBatchDims, kScatterBatchDims, kScatterMap,
                     kIndexVectorDim, kUpdate},
           .dtypes = DTypeSet::Numeric,
           .front = Front::None,
           .numpy = "none: NumPy has no scatter of windows; put_along_axis is checked against it",
           .example = "",
           .samples = {{"T[5], i64[3] {4, 0, 4}, T[3]",
                        "{update_window_dims = [], inserted_window_dims = [0], "
                        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1}"},
                       {"T[5], i64[4] {4, 0, 4, 1}, T[4]",
                        "{update_window_dims = [], inserted_window_dims = [0], "
                        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1, update = \"add\"}"},
                       {"T[5], i32[4] {-1, 5, 2, 2}, T[4]",
                        "{update_window_dims = [], inserted_window_dims = [0], "
                        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1, update = \"multiply\"}"},
                       {"T[4, 3], i64[3] {1, 3, 1}, T[3, 3]",
                        "{update_window_dims = [1], inserted_window_dims = [0], "
                        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1, update = \"add\"}"},
                       {"T[4, 19], i64[3] {1, 3, 1}, T[3, 19]",
                        "{update_window_dims = [1], inserted_window_dims = [0], "
                        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1, update = \"max\"}"},
                       {"T[4, 5], i64[2, 2] {0, 1, 3, 4}, T[2, 2, 2]",
                        "{update_window_dims = [1, 2], inserted_window_dims = [], "
                        "scatter_dims_to_operand_dims = [0, 1], index_vector_dim = 1, update = \"min\"}"},
                       {"T[2, 4], i64[2, 2] {0, 3, 1, 1}, T[2, 2]",
                        "{update_window_dims = [], inserted_window_dims = [1], input_batching_dims = [0], "
                        "scatter_indices_batching_dims = [0], scatter_dims_to_operand_dims = [1], "
                        "index_vector_dim = 2, update = \"add\"}"},
                       {"T[5], i64[] {2}, T[]",
                        "{update_window_dims = [], inserted_window_dims = [0], "
                        "scatter_dims_to_operand_dims = [0], index_vector_dim = 0}"},
                       {"T[3], i64[0] {}, T[0]",
                        "{update_window_dims = [], inserted_window_dims = [0], "
                        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1}"},
                       {"T[0], i64[2] {0, 1}, T[2]",
                        "{update_window_dims = [], inserted_window_dims = [0], "
                        "scatter_dims_to_operand_dims = [0], index_vector_dim = 1, update = \"add\"}"}},
           .bad_samples = {{"T[5], i64[3] {0, 0, 0}, T[3]",
                            "{update_window_dims = [0], inserted_window_dims = [0], "
                            "scatter_dims_to_operand_dims = [0], index_vector_dim = 1}",
                            "ValueError: scatter: update_window_dims has 1 entry, but 0 are needed"},
                           {"T[5], i64[3] {0, 0, 0}, T[3, 1]",
                            "{update_window_dims = [], inserted_window_dims = [0], "
                            "scatter_dims_to_operand_dims = [0], index_vector_dim = 1}",
                            "ValueError: scatter: the shape of the updates has 2 entries, but 1 is needed"}},
           .usual = usual_calls()},
      .rules = {.infer = infer_scatter,
                .reference = reference_scatter,
                .lower = LowerRule::of_update(0, nest_scatter, takes_elements),
                .simplify = no_rule("nothing is simpler without knowing the indices"),
                .jvp = jvp_scatter,
                .transpose = transpose_scatter,
                .batch = batch_scatter,
                .body = no_body()},
      .id = {}};
}

}  // namespace

std::vector<Op> scatter_ops() {
  std::vector<Op> ops;
  ops.push_back(scatter_op());
  return ops;
}

}  // namespace ig::ops
