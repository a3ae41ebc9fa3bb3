// x[key] with NumPy's meaning: integers, slices with any step, None, Ellipsis, integer arrays and masks.
// Concrete arrays are walked directly; under a capture the same becomes slices and gathers.
#include "bindings/tensor_index.h"

#include <algorithm>
#include <limits>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "tensor/effects.h"
#include "tensor/mode.h"
#include "tensor/strided.h"

namespace ig::py::indexing {
namespace {

const ops::Op& op(const char* name) { return ops::get(name); }

front::Scalar integer(int64_t value) { return {.kind = DKind::Signed, .integer = value}; }

}  // namespace

Tensor one(const char* name, std::vector<Tensor> operands,
           std::vector<std::pair<std::string, AttrValue>> attrs) {
  return apply(op(name), operands, make_attrs(std::move(attrs)))[0];
}
Tensor reshape(const Tensor& x, Dims shape) {
  return x.type().dims == shape ? x : one("reshape", {x}, {ops::kShape % std::move(shape)});
}
Tensor public_op(const char* name, std::vector<front::Operand> operands) {
  return front::call(op(name), operands, {})[0];
}

bool runs_now(const Tensor& x) {
  Capture* capture = Capture::current();
  if (!capture && recording_link(std::span(&x, 1))) return false;  // the tape holds ops, and a walk is none
  return !x.is_symbolic() && (!capture || !capture->lift_constants || capture->made_here(x));
}
Tensor made(Tensor x) {
  if (Capture* capture = Capture::current()) capture->note_made_here(x);
  return x;
}

const DimScope& scope_of() {
  static const DimScope nothing_known;
  Capture* capture = Capture::current();
  return capture ? capture->graph().dims : nothing_known;
}

Tensor size_of_dim(const Dim& dim) {
  if (dim.is_constant()) return made(Tensor::scalar_int(DType::I64, dim.constant()));
  return front::convert(Capture::current()->size_value(dim), DType::I64);
}

namespace {

// Whole numbers of a slice: none for None.
std::optional<Dim> bound(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  if (std::optional<Dim> dim = as_dim(object)) return dim;
  nb::object number = nb::steal(PyNumber_Index(object));
  if (!number.is_valid()) {
    if (PyErr_ExceptionMatches(PyExc_TypeError)) {
      PyErr_Clear();
      throw make_error(ErrorKind::Type, "a slice takes integers, not {}", Py_TYPE(object)->tp_name)
          .why("its bounds and its step count positions")
          .hint("convert it with int(...)");
    }
    throw PythonError{};
  }
  int overflow = 0;
  int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow)
    value = overflow > 0 ? std::numeric_limits<int64_t>::max() / 2 : std::numeric_limits<int64_t>::min() / 2;
  return Dim(value);
}

// A bound brought into [0, size].
Dim clip(const Dim& value, const Dim& size) {
  const DimScope& scope = scope_of();
  Dim at = value;
  if (value.is_constant() ? value.constant() < 0 : scope.less(value, Dim(int64_t{0})) == Truth::Yes)
    at = size + value;
  if (scope.less_equal(at, size) != Truth::Yes) at = min(at, size);
  if (scope.less_equal(Dim(int64_t{0}), at) != Truth::Yes) at = max(at, Dim(int64_t{0}));
  return at;
}

Item slice_item(PyObject* object, const Dim& size, size_t axis) {
  auto* slice = reinterpret_cast<PySliceObject*>(object);
  std::optional<Dim> start = bound(slice->start), stop = bound(slice->stop), step = bound(slice->step);
  int64_t by = 1;
  if (step) {
    if (!step->is_constant())
      throw Error(ErrorKind::Capture, "the step of a slice is a symbolic size")
          .why("the number of elements could not be said as a formula of sizes")
          .hint("use a step that is a number");
    by = step->constant();
  }
  if (by == 0)
    throw Error(ErrorKind::Value, "the step of a slice is 0")
        .why("such a slice would never end")
        .hint("give a step of 1 or more, or -1 and less to go backwards");
  Item item(Item::Kind::Slice);
  item.axis = axis;
  item.step = by < 0 ? -by : by;
  item.reversed = by < 0;
  bool fixed = size.is_constant() && (!start || start->is_constant()) && (!stop || stop->is_constant());
  if (fixed) {
    Py_ssize_t from = start ? start->constant() : (by < 0 ? PY_SSIZE_T_MAX : 0);
    Py_ssize_t to = stop ? stop->constant() : (by < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX);
    Py_ssize_t count = PySlice_AdjustIndices(size.constant(), &from, &to, by);
    if (count == 0) {
      item.start = item.limit = int64_t{0};
    } else if (by > 0) {
      item.start = from;
      item.limit = from + (count - 1) * by + 1;
    } else {
      item.start = from + (count - 1) * by;
      item.limit = from + 1;
    }
    return item;
  }
  if (by < 0) {
    if (by != -1 || start || stop)
      throw make_error(ErrorKind::Unsupported, "a backward slice with bounds over the symbolic size {}",
                       size.str())
          .why("where it starts depends on which of both is larger")
          .hint("take the slice forwards first, then reverse it: x[a:b][::-1]");
    item.start = int64_t{0};
    item.limit = size;
    return item;
  }
  item.start = start ? clip(*start, size) : Dim(int64_t{0});
  item.limit = stop ? clip(*stop, size) : size;
  if (scope_of().less_equal(item.start, item.limit) != Truth::Yes) item.limit = max(item.limit, item.start);
  return item;
}

std::string ordinal_axis(size_t axis) { return fmt::format("axis {}", axis); }

Item integer_item(const Dim& value, const Dim& size, size_t axis) {
  Item item(Item::Kind::Integer);
  item.axis = axis;
  bool negative = value.is_constant() && value.constant() < 0;
  item.index = negative ? size + value : value;
  const DimScope& scope = scope_of();
  bool outside = scope.less_equal(size, item.index) == Truth::Yes ||
                 scope.less(item.index, Dim(int64_t{0})) == Truth::Yes;
  if (outside)
    throw make_error(ErrorKind::Index, "the index {} is out of range for {} of size {}", value.str(),
                     ordinal_axis(axis), size.str())
        .why("positions count from 0, or from the end as negative numbers")
        .hint("use a position that the axis has; a slice may reach beyond the end");
  return item;
}

}  // namespace

std::vector<Item> parse(const Tensor& x, PyObject* key) {
  std::vector<nb::object> parts;
  if (PyTuple_Check(key))
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); ++i)
      parts.push_back(nb::borrow(PyTuple_GET_ITEM(key, i)));
  else
    parts.push_back(nb::borrow(key));
  Dims dims = x.type().dims;
  std::vector<Tensor> arrays(parts.size());
  size_t taken = 0;
  int ellipses = 0;
  for (size_t i = 0; i < parts.size(); ++i) {
    PyObject* part = parts[i].ptr();
    if (part == Py_Ellipsis) {
      if (++ellipses > 1)
        throw Error(ErrorKind::Index, "an index holds ... twice")
            .why("one ... stands for all axes that are left, so a second has none")
            .hint("write one ..., and : for the other axes");
      continue;
    }
    if (part == Py_None) continue;
    bool plain = PySlice_Check(part) || (PyLong_Check(part) && !PyBool_Check(part));
    bool array =
        !plain && (is_tensor(part) || PyList_Check(part) || PyBool_Check(part) || is_array_like(part));
    if (array) {
      arrays[i] = as_tensor(part, std::nullopt, "indexing");
      if (PyList_Check(part) && arrays[i].elements() == 0)
        arrays[i] = Tensor::empty(DType::I64, arrays[i].shape());
      if (arrays[i].dtype() != DType::Bool && !is_integer(arrays[i].dtype()))
        throw make_error(ErrorKind::Index, "an array of {} is no index", info(arrays[i].dtype()).api_name)
            .why("an index array holds positions or a mask: integers or bools")
            .hint("convert it with ig.astype");
    }
    taken +=
        arrays[i].valid() && arrays[i].dtype() == DType::Bool ? static_cast<size_t>(arrays[i].rank()) : 1;
  }
  if (taken > dims.size())
    throw make_error(ErrorKind::Index, "{} indices for an array of rank {}", taken, dims.size())
        .why("each index takes an axis, and a mask as many as it has")
        .hint("drop an index, or add axes with None");
  std::vector<Item> items;
  size_t axis = 0;
  auto whole = [&](size_t count) {
    for (size_t i = 0; i < count; ++i, ++axis) {
      Item item(Item::Kind::Slice);
      item.axis = axis;
      item.limit = dims[axis];
      items.push_back(std::move(item));
    }
  };
  for (size_t i = 0; i < parts.size(); ++i) {
    PyObject* part = parts[i].ptr();
    if (part == Py_Ellipsis) {
      whole(dims.size() - taken);
    } else if (part == Py_None) {
      items.emplace_back(Item::Kind::NewAxis);
    } else if (arrays[i].valid()) {
      Tensor& array = arrays[i];
      bool mask = array.dtype() == DType::Bool;
      if (!mask && array.rank() == 0 && runs_now(array) && runs_now(x)) {
        items.push_back(integer_item(Dim(array.literal().as_int(0)), dims[axis], axis));
        ++axis;
        continue;
      }
      Item item(mask ? Item::Kind::Mask : Item::Kind::Array);
      item.axis = axis;
      item.array = array;
      axis += mask ? static_cast<size_t>(array.rank()) : 1;
      items.push_back(std::move(item));
    } else if (PySlice_Check(part)) {
      items.push_back(slice_item(part, dims[axis], axis));
      ++axis;
    } else if (std::optional<Dim> index = as_dim(part)) {
      items.push_back(integer_item(*index, dims[axis], axis));
      ++axis;
    } else if (PyIndex_Check(part)) {
      items.push_back(integer_item(*bound(part), dims[axis], axis));
      ++axis;
    } else {
      throw make_error(ErrorKind::Index, "{} is no index", Py_TYPE(part)->tp_name)
          .why("elements are named by their positions")
          .hint("an index is an integer, a slice, None, ..., or an array of integers or bools");
    }
  }
  whole(dims.size() - axis);
  return items;
}

bool is_basic(const std::vector<Item>& items) {
  for (const Item& item : items)
    if (item.kind == Item::Kind::Array || item.kind == Item::Kind::Mask) return false;
  return true;
}

StridedView view_of(const Tensor& x, const std::vector<Item>& items) {
  StridedView base = StridedView::whole(x.shape()), out;
  std::vector<int64_t> shape;
  for (const Item& item : items) {
    if (item.kind == Item::Kind::NewAxis) {
      shape.push_back(1);
      out.strides.push_back(0);
      continue;
    }
    int64_t stride = base.strides[item.axis];
    if (item.kind == Item::Kind::Integer) {
      out.offset += item.index.constant() * stride;
      continue;
    }
    int64_t start = item.start.constant(), span = item.limit.constant() - start;
    int64_t count = span <= 0 ? 0 : (span + item.step - 1) / item.step;
    shape.push_back(count);
    out.strides.push_back(item.reversed ? -stride * item.step : stride * item.step);
    out.offset += count == 0 ? 0 : stride * (item.reversed ? start + (count - 1) * item.step : start);
  }
  out.shape = Shape(shape);
  return out;
}

namespace {

// Basic items as slice, reverse and reshape; `Array` and `Mask` axes are left whole. `places` receives, for
// each item, its axis in the result (of a mask: its first), or -1.
Tensor take_basic(const Tensor& x, const std::vector<Item>& items, std::vector<int>& places) {
  Dims dims = x.type().dims, start(dims.size(), Dim(int64_t{0})), limit = dims, shape;
  Ints steps(dims.size(), 1), reversed;
  Tensor out = x;
  bool sliced = false;
  for (const Item& item : items) {
    places.push_back(item.kind == Item::Kind::Integer ? -1 : static_cast<int>(shape.size()));
    if (item.kind == Item::Kind::NewAxis) {
      shape.push_back(int64_t{1});
      continue;
    }
    if (item.kind == Item::Kind::Array) {
      shape.push_back(dims[item.axis]);
    } else if (item.kind == Item::Kind::Mask) {
      for (int i = 0; i < item.array.rank(); ++i) shape.push_back(dims[item.axis + static_cast<size_t>(i)]);
    } else if (item.kind == Item::Kind::Integer) {
      start[item.axis] = item.index;
      limit[item.axis] = item.index + Dim(int64_t{1});
      sliced = true;
    } else {
      start[item.axis] = item.start;
      limit[item.axis] = item.limit;
      steps[item.axis] = item.step;
      sliced |= !(item.start == Dim(int64_t{0}) && item.limit == dims[item.axis] && item.step == 1);
      shape.push_back(ceildiv(item.limit - item.start, Dim(item.step)));
      if (item.reversed) reversed.push_back(static_cast<int64_t>(item.axis));
    }
  }
  if (sliced) {
    out = one("slice", {out}, {{"start", start}, {"limit", limit}, {"strides", steps}});
  }
  if (!reversed.empty()) out = one("reverse", {out}, {{"dimensions", reversed}});
  return reshape(out, shape);
}

// Integers counted from either end, in range where that can be seen now; as int64, or as they are where what
// is computed of them fits. `valid`, if given: which are.
Tensor checked(const Tensor& index, const Dim& size, size_t axis, Outside outside, Tensor* valid) {
  if (runs_now(index) && size.is_constant()) {
    Literal values = index.literal();
    int64_t n = size.constant();
    Tensor out = Tensor::empty(DType::I64, index.shape()), inside = Tensor::empty(DType::Bool, index.shape());
    for (int64_t i = 0; i < index.elements(); ++i) {
      int64_t value = values.as_int(i), at = value < 0 ? value + n : value;
      bool within = at >= 0 && at < n;
      if (!within && outside == Outside::Refuse)
        throw make_error(ErrorKind::Index, "the index {} is out of range for {} of size {}", value,
                         ordinal_axis(axis), n)
            .why("positions count from 0, or from the end as negative numbers")
            .hint("use a position that the axis has; a slice may reach beyond the end");
      if (outside == Outside::Clip) at = std::clamp<int64_t>(at, 0, std::max<int64_t>(n - 1, 0));
      static_cast<int64_t*>(out.data())[i] = at;
      static_cast<uint8_t*>(inside.data())[i] = within;
    }
    if (valid) *valid = made(inside);
    return made(out);
  }
  // What a graph cannot know yet, it checks on each run.
  const bool fits = index.dtype() == DType::I32 && size.is_constant() &&
                    size.constant() <= std::numeric_limits<int32_t>::max();
  Tensor wide = fits ? index : front::convert(index, DType::I64);
  std::vector<Tensor> values = {wide};
  front::Operand n = integer(0);
  if (size.is_constant()) {
    n = integer(size.constant());
  } else {
    values.push_back(size_of_dim(size));
    n = values[1];
  }
  Tensor below = public_op("less", {wide, integer(0)});
  Tensor from_start = public_op("select", {below, public_op("add", {wide, n}), wide});
  if (outside == Outside::Clip) {
    Tensor most = public_op("subtract", {front::Operand(n), integer(1)});
    return public_op("maximum", {public_op("minimum", {from_start, most}), integer(0)});
  }
  if (outside == Outside::Pass && !valid) return from_start;
  Tensor inside = public_op(
      "logical_and", {public_op("less_equal", {integer(0), from_start}), public_op("less", {from_start, n})});
  if (valid) *valid = inside;
  if (outside == Outside::Pass) return from_start;
  effects::Check text;
  text.kind = "index";
  text.message = fmt::format("the index {{0}} is out of range for {} of size {}", ordinal_axis(axis),
                             size.is_constant() ? size.str() : "{1}");
  text.why = "positions count from 0, or from the end as negative numbers";
  text.hint = "use a position that the axis has; a slice may reach beyond the end";
  effects::check(inside, text, values);
  return from_start;
}

// How many elements of a traced mask are true. A capture that guards what it is asked for says so, and is
// recorded anew for another number; any other refuses.
int64_t count_true(Capture& capture, const Tensor& numbers) {
  Tensor count = one("reduce_sum", {numbers}, {{"axes", Ints{0}}});
  try {
    return capture.to_int(count);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Capture) throw;
    throw Error(ErrorKind::Capture, "a mask that is traced selects a number of elements that is not known")
        .at(user_line())
        .why("the sizes of this graph do not depend on the values of its arrays")
        .hint(
            "use ig.where(mask, x, other), or say how many: x[ig.nonzero(mask, size=n)]; ig.jit guards the "
            "number, but not in vmap or in the body of a loop");
  }
}

// The positions of a traced mask's true elements: their number is fixed for this recording, they are not.
std::vector<Tensor> traced_positions(const Tensor& mask) {
  Capture& capture = *Capture::current();
  Ints sizes;
  int64_t elements = 1;
  for (const Dim& dim : mask.type().dims) {
    sizes.push_back(dim.is_constant() ? dim.constant() : capture.to_size(dim, "the shape of a mask"));
    elements *= sizes.back();
  }
  Tensor numbers = front::convert(reshape(mask, {Dim(elements)}), DType::I64);
  int64_t count = count_true(capture, numbers);
  // The k-th true element is the first one up to which k are true.
  Tensor running = one("cumulative_sum", {numbers}, {{"axis", int64_t{0}}});
  Tensor wanted = Tensor::empty(DType::I64, Shape({count}));
  for (int64_t k = 0; k < count; ++k) static_cast<int64_t*>(wanted.data())[k] = k + 1;
  Tensor flat = one("searchsorted", {running, made(wanted)}, {});
  std::vector<Tensor> out;
  for (size_t a = sizes.size(); a-- > 0;) {
    front::Operand size = integer(std::max<int64_t>(sizes[a], 1));
    out.insert(out.begin(), public_op("remainder", {flat, size}));
    flat = public_op("floor_divide", {flat, size});
  }
  return out;
}

// The positions of a mask's true elements, one array an axis.
std::vector<Tensor> positions(const Tensor& mask) {
  if (Capture::current() && !runs_now(mask)) return traced_positions(mask);
  std::vector<std::vector<int64_t>> found(static_cast<size_t>(mask.rank()));
  const auto* bits = static_cast<const uint8_t*>(mask.data());
  std::vector<int64_t> index(mask.shape().size(), 0);
  for (int64_t flat = 0; flat < mask.elements(); ++flat) {
    if (bits[flat])
      for (size_t a = 0; a < index.size(); ++a) found[a].push_back(index[a]);
    for (int a = mask.rank() - 1; a >= 0 && ++index[a] == mask.shape()[a]; --a) index[a] = 0;
  }
  std::vector<Tensor> out;
  out.reserve(found.size());
  for (const auto& axis : found)
    out.push_back(made(Tensor::from(Literal::from(DType::I64, {static_cast<int64_t>(axis.size())}, axis))));
  return out;
}

}  // namespace

void check_mask(const Tensor& x, const Item& item) {
  Dims want;
  for (int i = 0; i < item.array.rank(); ++i)
    want.push_back(x.type().dims[item.axis + static_cast<size_t>(i)]);
  if (item.array.type().dims != want)
    throw make_error(ErrorKind::Index, "a mask of shape {} does not fit the axes {} that it selects from",
                     str(item.array.type().dims), str(want))
        .why("a mask has one bool for each element of the axes that it selects from")
        .hint("make the mask from an array of that shape");
}

Vectors vectors_of(const Tensor& x, const std::vector<Item>& items, Outside outside, bool wants_valid) {
  for (const Item& item : items) {
    if (item.kind != Item::Kind::Mask) continue;
    if (item.array.rank() == 0)
      throw Error(ErrorKind::Unsupported, "a single bool is no index here")
          .why("it would select all or nothing, with a size that a graph cannot know")
          .hint("use `if`, or ig.where");
    check_mask(x, item);
  }
  std::vector<int> places;
  Vectors out;
  out.base = take_basic(x, items, places);
  std::vector<Tensor> arrays;
  // As in NumPy an integer beside index arrays is one of them: where something stands between, their axes go
  // first.
  bool adjacent = true, any = false;
  size_t last = 0;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].kind == Item::Kind::NewAxis || items[i].kind == Item::Kind::Slice) continue;
    adjacent &= !any || last + 1 == i;
    any = true;
    last = i;
    if (items[i].kind == Item::Kind::Integer) continue;
    if (items[i].kind == Item::Kind::Mask) {
      int64_t axis = places[i];
      for (Tensor& array : positions(items[i].array)) {
        out.axes.push_back(axis++);
        arrays.push_back(std::move(array));
      }
      continue;
    }
    out.axes.push_back(places[i]);
    if (items[i].in_range) {
      arrays.push_back(items[i].array);
      continue;
    }
    Tensor inside;
    arrays.push_back(checked(items[i].array, x.type().dims[items[i].axis], items[i].axis, outside,
                             wants_valid ? &inside : nullptr));
    if (inside.valid())
      out.valid = out.valid.valid() ? public_op("logical_and", {out.valid, inside}) : inside;
  }
  // The index arrays broadcast together, and become one array of index vectors.
  Dims joint;
  for (const Tensor& array : arrays)
    joint = ops::broadcast_shapes(joint, array.type().dims, scope_of(), "indexing");
  const int64_t rank = out.base.rank(), front = adjacent ? out.axes[0] : 0;
  for (int64_t i = 0; i < rank; ++i) {
    if (i == front) out.shape.insert(out.shape.end(), joint.begin(), joint.end());
    if (std::find(out.axes.begin(), out.axes.end(), i) == out.axes.end())
      out.shape.push_back(out.base.type().dims[static_cast<size_t>(i)]);
  }
  // Nothing is meant: also of an axis that has nothing, of which a gather could take no slice.
  if (std::find(joint.begin(), joint.end(), Dim(int64_t{0})) != joint.end()) return out;
  Dims column = joint;
  column.push_back(int64_t{1});
  std::vector<Tensor> columns;
  columns.reserve(arrays.size());
  auto spread = [&](const Tensor& array, const Dims& shape, size_t first) {
    Dims own = array.type().dims;
    if (own == shape) return array;
    Ints to;
    for (size_t i = 0; i < own.size(); ++i)
      to.push_back(static_cast<int64_t>(first + joint.size() - own.size() + i));
    return one("broadcast_in_dim", {array}, {ops::kShape % shape, ops::kBroadcastDims % to});
  };
  const bool alike =
      std::ranges::all_of(arrays, [&](const Tensor& array) { return array.dtype() == arrays[0].dtype(); });
  for (const Tensor& array : arrays)
    columns.push_back(reshape(spread(alike ? array : front::convert(array, DType::I64), joint, 0), column));
  out.vector_axis = static_cast<int64_t>(joint.size());
  out.indices =
      columns.size() == 1 ? columns[0] : one("concatenate", columns, {ops::kAxis % out.vector_axis});
  for (int64_t i = 0; i < static_cast<int64_t>(out.shape.size()); ++i)
    if (i < front || i >= front + out.vector_axis) out.offsets.push_back(i);
  if (out.valid.valid()) out.valid = spread(out.valid, out.shape, static_cast<size_t>(front));
  return out;
}

Tensor gathered(const Vectors& v) {
  if (!v.indices.valid()) {
    Tensor zero = made(Tensor::from(Literal::allocate(v.base.dtype(), {})));
    return one("broadcast_in_dim", {zero}, {ops::kShape % v.shape, ops::kBroadcastDims % Ints{}});
  }
  Dims sizes = v.base.type().dims;
  for (int64_t axis : v.axes) sizes[static_cast<size_t>(axis)] = int64_t{1};
  return one("gather", {v.base, v.indices},
             {{"offset_dims", v.offsets},
              {"collapsed_slice_dims", v.axes},
              {"start_index_map", v.axes},
              {"index_vector_dim", v.vector_axis},
              {"slice_sizes", sizes}});
}

Tensor take(const Tensor& x, const std::vector<Item>& items) {
  if (!is_basic(items)) return gathered(vectors_of(x, items, Outside::Refuse));
  if (runs_now(x) && !OpMode::any()) {  // a mode sees ops, and a walk is none
    bool fixed = true;
    for (const Item& item : items)
      fixed &= item.start.is_constant() && item.limit.is_constant() && item.index.is_constant();
    if (fixed) return made(copy_strided(x, view_of(x, items)));
  }
  std::vector<int> places;
  return take_basic(x, items, places);
}

}  // namespace ig::py::indexing

namespace ig::py {

nb::object get_item(PyObject* self, PyObject* key) {
  note_handle(self);
  const Tensor& x = tensor_of(self);
  return nb::steal(wrap(indexing::take(x, indexing::parse(x, key))));
}

}  // namespace ig::py
