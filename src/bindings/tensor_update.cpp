// x[key] = value and x.at[key].set(value), with NumPy's meaning: concrete arrays are walked directly, where
// the key has no arrays; else the same becomes an update of a slice, or a scatter of vectors of positions.
#include <algorithm>
#include <functional>
#include <map>

#include "bindings/tensor_index.h"
#include "ops/attrs.h"
#include "ops/builder.h"
#include "tensor/mode.h"
#include "tensor/strided.h"

namespace ig::py {
namespace {

using namespace indexing;
// What is to stand at the elements that a key names, which have this shape.
using Values = std::function<Tensor(const Dims& shape)>;

// How an element and its update become the new element: the words of scatter's attribute.
constexpr std::string_view kSet = "set";
const std::map<std::string_view, const char*> kWays = {
    {kSet, nullptr}, {"add", "add"}, {"multiply", "multiply"}, {"min", "minimum"}, {"max", "maximum"}};

// The value of an assignment, in the array's dtype and the shape that is assigned.
Tensor assigned(const Tensor& x, const Dims& shape, PyObject* value) {
  front::Operand given = PyList_Check(value) || PyTuple_Check(value)
                             ? front::Operand(as_tensor(value, x.dtype(), "assignment"))
                             : require_operand(value, "assignment", "value");
  Tensor tensor;
  if (const front::Scalar* scalar = std::get_if<front::Scalar>(&given)) {
    front::Operand both[] = {x, *scalar};
    front::result_type(both, "assignment");
    tensor = front::scalar_tensor(*scalar, x.dtype());
  } else {
    tensor = std::get<Tensor>(given);
    if (tensor.dtype() != x.dtype()) {
      std::optional<DType> joint = promote(x.dtype(), tensor.dtype());
      if (!joint || *joint != x.dtype())
        throw make_error(ErrorKind::Type, "assignment: {} values do not go into a {} array",
                         info(tensor.dtype()).api_name, info(x.dtype()).api_name)
            .why("an array keeps its dtype, and nothing is lost silently")
            .hint(fmt::format("convert the value: ig.astype(value, ig.{})", info(x.dtype()).api_name));
      tensor = front::convert(tensor, x.dtype());
    }
  }
  Dims own = tensor.type().dims;
  while (own.size() > shape.size() && own.front() == Dim(int64_t{1})) own.erase(own.begin());
  tensor = reshape(tensor, own);
  if (own == shape) return tensor;
  Dims joint = own.size() > shape.size() ? own : ops::broadcast_shapes(own, shape, scope_of(), "assignment");
  if (joint != shape)
    throw make_error(ErrorKind::Shape, "assignment: a value of shape {} does not broadcast to {}",
                     str(tensor.type().dims), str(shape))
        .why("the value is broadcast to the selected elements, which keep their shape")
        .hint("reshape the value, or select as many elements as it has");
  Ints to;
  for (size_t i = 0; i < own.size(); ++i) to.push_back(static_cast<int64_t>(shape.size() - own.size() + i));
  return one("broadcast_in_dim", {tensor}, {ops::kShape % shape, ops::kBroadcastDims % to});
}

// A whole slice of each axis, where a key of `items` has an array; the others are left.
std::vector<Item> without_arrays(const Tensor& x, const std::vector<Item>& items) {
  std::vector<Item> out;
  for (const Item& item : items) {
    const bool mask = item.kind == Item::Kind::Mask;
    if (!mask && item.kind != Item::Kind::Array) {
      out.push_back(item);
      continue;
    }
    for (size_t i = 0; i < (mask ? static_cast<size_t>(item.array.rank()) : 1); ++i) {
      Item whole(Item::Kind::Slice);
      whole.axis = item.axis + i;
      whole.limit = x.type().dims[whole.axis];
      out.push_back(std::move(whole));
    }
  }
  return out;
}

bool is_whole(const Tensor& x, const std::vector<Item>& items) {
  return std::ranges::all_of(items, [&](const Item& item) {
    return item.kind == Item::Kind::Slice && item.start == Dim(int64_t{0}) &&
           item.limit == x.type().dims[item.axis] && item.step == 1 && !item.reversed;
  });
}

// The positions of a slice with steps, in its order.
Tensor positions_of(const Item& item) {
  const Dim count = ceildiv(item.limit - item.start, Dim(item.step));
  Tensor step = made(Tensor::scalar_int(DType::I64, item.reversed ? -item.step : item.step));
  Tensor first = size_of_dim(item.reversed ? item.start + (count - 1) * item.step : item.start);
  Tensor number =
      one("iota", {}, {ops::kShape % Dims{count}, ops::kDType % DType::I64, ops::kAxis % int64_t{0}});
  return public_op("add", {public_op("multiply", {number, step}), first});
}

Tensor scattered(const Vectors& v, const Tensor& updates, std::string_view way) {
  return one("scatter", {v.base, v.indices, updates},
             {{"update_window_dims", v.offsets},
              {"inserted_window_dims", v.axes},
              {"scatter_dims_to_operand_dims", v.axes},
              {"index_vector_dim", v.vector_axis},
              {"update", std::string(way)}});
}

Tensor put_basic(const Tensor& x, const std::vector<Item>& items, const Values& values, std::string_view way);

Tensor put_vectors(const Tensor& x, const std::vector<Item>& items, const Values& values,
                   std::string_view way, Outside outside) {
  Vectors v = vectors_of(x, items, outside);
  Tensor updates = values(v.shape);
  if (!v.indices.valid()) return x;
  Tensor inner = scattered(v, updates, way);
  std::vector<Item> around = without_arrays(x, items);
  if (is_whole(x, around)) return inner;
  return put_basic(x, around, [&](const Dims& shape) { return reshape(inner, shape); }, kSet);
}

// Slices with steps go by their positions, one axis after the other; the rest is one dynamic_update_slice.
Tensor put_basic(const Tensor& x, const std::vector<Item>& items, const Values& values,
                 std::string_view way) {
  Dims dims = x.type().dims, shape, kept;
  std::vector<Tensor> operands{x, x};
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    if (item.kind == Item::Kind::NewAxis) {
      shape.push_back(int64_t{1});
    } else if (item.kind == Item::Kind::Integer) {
      operands.push_back(size_of_dim(item.index));
      kept.push_back(int64_t{1});
    } else if (item.step == 1 && !item.reversed) {
      operands.push_back(size_of_dim(item.start));
      shape.push_back(item.limit - item.start);
      kept.push_back(item.limit - item.start);
    } else {
      std::vector<Item> here, others = items;
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        here.emplace_back(Item::Kind::Slice);
        here.back().axis = axis;
        here.back().limit = dims[axis];
      }
      here[item.axis] = item;
      Tensor inner = take(x, here);
      others[i].start = int64_t{0}, others[i].limit = inner.type().dims[item.axis];
      others[i].step = 1, others[i].reversed = false;
      inner = put_basic(inner, others, values, way);
      Item positions(Item::Kind::Array);
      positions.axis = item.axis, positions.array = positions_of(item), positions.in_range = true;
      here[item.axis] = std::move(positions);
      return put_vectors(x, here, [&](const Dims&) { return inner; }, kSet, Outside::Pass);
    }
  }
  Tensor update = values(shape);
  if (const char* op = kWays.at(way)) update = public_op(op, {take(x, items), update});
  operands[1] = reshape(update, kept);
  return kept == dims ? operands[1] : one("dynamic_update_slice", operands, {});
}

bool is_single(const Tensor& value) { return value.type().elements() == Dim(int64_t{1}); }

Tensor put(const Tensor& x, const std::vector<Item>& items, PyObject* value, std::string_view way,
           Outside outside) {
  if (!items.empty() && items[0].kind == Item::Kind::Mask && items[0].array.rank() == x.rank()) {
    check_mask(x, items[0]);
    std::optional<front::Operand> given = as_operand(value);
    if (given && (std::holds_alternative<front::Scalar>(*given) || is_single(std::get<Tensor>(*given)))) {
      Tensor one_value = assigned(x, {}, value);
      if (const char* op = kWays.at(way)) one_value = public_op(op, {x, one_value});
      return public_op("select", {items[0].array, one_value, x});
    }
  }
  Values values = [&](const Dims& shape) { return assigned(x, shape, value); };
  return is_basic(items) ? put_basic(x, items, values, way) : put_vectors(x, items, values, way, outside);
}

Outside outside_of(const std::optional<std::string>& mode) {
  if (!mode) return Outside::Refuse;
  if (*mode == "clip") return Outside::Clip;
  if (*mode == "drop" || *mode == "fill" || *mode == "promise_in_bounds") return Outside::Pass;
  throw make_error(ErrorKind::Value, "at: there is no mode \"{}\"", *mode)
      .why("it says what becomes of positions that an axis does not have")
      .hint(
          "leave it out, and they are an error; or choose \"clip\", \"drop\" (of updates), \"fill\" (of "
          "reading) or "
          "\"promise_in_bounds\"");
}

nb::object updated(nb::handle self, nb::handle key, nb::handle value, const std::string& way,
                   const std::optional<std::string>& mode) {
  note_handle(self.ptr());
  const Tensor& x = tensor_of(self.ptr());
  return nb::steal(wrap(put(x, parse(x, key.ptr()), value.ptr(), way, outside_of(mode))));
}

nb::object taken(nb::handle self, nb::handle key, const std::optional<std::string>& mode, nb::handle fill) {
  note_handle(self.ptr());
  const Tensor& x = tensor_of(self.ptr());
  const Outside outside = outside_of(mode);
  std::vector<Item> items = parse(x, key.ptr());
  if (is_basic(items)) return nb::steal(wrap(take(x, items)));
  const bool fills = mode == "fill";
  Vectors v = vectors_of(x, items, outside, fills);
  Tensor out = gathered(v);
  if (fills && v.valid.valid()) out = public_op("select", {v.valid, out, assigned(x, {}, fill.ptr())});
  return nb::steal(wrap(out));
}

}  // namespace

void set_item(PyObject* self, PyObject* key, PyObject* value) {
  note_handle(self);
  const Tensor& x = tensor_of(self);
  std::vector<Item> items = parse(x, key);
  std::optional<front::Operand> given = is_basic(items) ? as_operand(value) : std::nullopt;
  bool now = is_basic(items) && runs_now(x) && !OpMode::any() &&
             (!given || std::holds_alternative<front::Scalar>(*given) || runs_now(std::get<Tensor>(*given)));
  if (!now) return rebind(self, put(x, items, value, kSet, Outside::Refuse));
  StridedView view = view_of(x, items);
  Tensor ready = assigned(x, Dims(view.shape.begin(), view.shape.end()), value);
  // Taken out of the handle, so that memory that nobody else sees is written in place.
  Tensor old = x.storage().unique() && !x.link() ? std::exchange(tensor_of(self), Tensor()) : x;
  rebind(self, made(assign_strided(std::move(old), view, ready)));
}

void init_updates(nb::module_& m) {
  m.def("_updated", &updated, nb::arg("x"), nb::arg("key"), nb::arg("value"), nb::arg("way"),
        nb::arg("mode").none());
  m.def("_taken", &taken, nb::arg("x"), nb::arg("key"), nb::arg("mode").none(), nb::arg("fill"));
}

}  // namespace ig::py
