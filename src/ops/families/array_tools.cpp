// The tools declared in array_tools.h.
#include "ops/families/array_tools.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "ops/table.h"

namespace ig::ops::tools {

int64_t flat_of(const std::vector<int64_t>& dims, const Index& index) {
  int64_t flat = 0;
  for (size_t i = 0; i < dims.size(); ++i) flat = flat * dims[i] + index[i];
  return flat;
}

void each_index(const std::vector<int64_t>& dims, const std::function<void(const Index&, int64_t)>& visit) {
  int64_t count = 1;
  for (int64_t d : dims) count *= d;
  Index index(dims.size(), 0);
  for (int64_t flat = 0; flat < count; ++flat) {
    visit(index, flat);
    for (size_t axis = dims.size(); axis-- > 0;) {
      if (++index[axis] < dims[axis]) break;
      index[axis] = 0;
    }
  }
}

void copy_element(Literal& to, int64_t i, const Literal& from, int64_t j) {
  size_t bytes = size_of(to.dtype());
  std::memcpy(static_cast<char*>(to.mutable_data()) + static_cast<size_t>(i) * bytes,
              static_cast<const char*>(from.data()) + static_cast<size_t>(j) * bytes, bytes);
}

namespace {
template <typename T>
void put(Literal& to, int64_t i, T value) {
  std::memcpy(static_cast<char*>(to.mutable_data()) + static_cast<size_t>(i) * sizeof(T), &value, sizeof(T));
}
}  // namespace

void set_real(Literal& to, int64_t i, double value) {
  switch (to.dtype()) {
    case DType::F64: return put(to, i, value);
    case DType::F32: return put(to, i, static_cast<float>(value));
    case DType::F16: return put(to, i, f32_to_f16(static_cast<float>(value)));
    case DType::BF16: return put(to, i, f32_to_bf16(static_cast<float>(value)));
    default: IG_CHECK(false, "{} is not a floating-point type", name(to.dtype()));
  }
}

void set_whole(Literal& to, int64_t i, int64_t value) {
  switch (size_of(to.dtype())) {
    case 1: return put(to, i, static_cast<uint8_t>(value));
    case 2: return put(to, i, static_cast<uint16_t>(value));
    case 4: return put(to, i, static_cast<uint32_t>(value));
    default: return put(to, i, value);
  }
}

int64_t index_at(const Literal& literal, int64_t flat) {
  int64_t value = literal.as_int(flat);
  if (literal.dtype() == DType::U64 && value < 0) return std::numeric_limits<int64_t>::max();
  return value;
}

std::pair<double, double> complex_at(const Literal& literal, int64_t flat) {
  std::complex<double> value = literal.as_complex(flat);
  return {value.real(), value.imag()};
}

void set_complex(Literal& to, int64_t i, double real, double imaginary) {
  if (to.dtype() == DType::C64) {
    float parts[2] = {static_cast<float>(real), static_cast<float>(imaginary)};
    std::memcpy(static_cast<char*>(to.mutable_data()) + i * 8, parts, sizeof parts);
  } else {
    double parts[2] = {real, imaginary};
    std::memcpy(static_cast<char*>(to.mutable_data()) + i * 16, parts, sizeof parts);
  }
}

bool is_nan_at(const Literal& literal, int64_t flat) {
  return is_float(literal.dtype()) && std::isnan(literal.as_double(flat));
}

std::vector<int64_t> ints_of(const Dims& dims) {
  std::vector<int64_t> out;
  for (const Dim& d : dims) out.push_back(d.constant());
  return out;
}

bool is_half(DType dtype) { return dtype == DType::F16 || dtype == DType::BF16; }

DType wide_type(DType dtype) {
  if (is_half(dtype)) return DType::F32;
  return dtype == DType::Bool ? DType::U8 : dtype;
}

loop::Expr widen(loop::Expr x) {
  DType to = wide_type(x.type());
  return to == x.type() ? x : convert(x, to);
}

loop::Expr narrow(loop::Expr x, DType to) { return x.type() == to ? x : convert(x, to); }

loop::Expr as_index(loop::Expr x) {
  if (x.type() == DType::I64) return x;
  if (x.type() == DType::U64) {
    loop::Expr top = x.builder().constant_bits(DType::U64, 0x7fffffffffffffffull);
    return convert(loop::lesser(x, top), DType::I64);
  }
  return convert(x, DType::I64);
}

loop::Expr start_within(PointContext& c, loop::Expr start, const Dim& room) {
  const Bounds holds = bounds_of_type(start.type());
  if (room.is_constant() && holds.known) {  // narrow numbers are compared while they are narrow
    if (holds.high > room.constant())
      start = loop::lesser(start, c.build->constant_int(start.type(), room.constant()));
    if (holds.low < 0) start = loop::greater(start, c.build->constant_int(start.type(), 0));
    return as_index(start);
  }
  return loop::greater(loop::lesser(as_index(start), c.size(room)), c.build->index(0));
}

loop::Expr clamp_index(loop::Expr x, loop::Expr size) {
  loop::Builder& build = x.builder();
  return loop::greater(loop::lesser(x, size - build.index(1)), build.index(0));
}

loop::Expr is_nan(loop::Expr x) {
  if (!is_float(x.type())) return x.builder().constant_bits(DType::Bool, 0);
  return x != x;
}

loop::Expr all_of(const std::vector<loop::Expr>& conditions, loop::Builder& build) {
  if (conditions.empty()) return build.constant_bits(DType::Bool, 1);
  loop::Expr all = conditions[0];
  for (size_t i = 1; i < conditions.size(); ++i) all = all & conditions[i];
  return all;
}

namespace {
// A constant that is neither NaN nor the zero that would have to win over the other one.
bool plain_constant(loop::Expr c, bool least, bool& zero) {
  if (c.node()->op != loop::Op::Const) return false;
  uint64_t word = c->bits[0];
  double value = c.type() == DType::F64 ? std::bit_cast<double>(word)
                                        : std::bit_cast<float>(static_cast<uint32_t>(word));
  zero = value == 0 && std::signbit(value) == least;
  return value == value && !(zero && least);
}
// The processor's own minimum and maximum give the second of two equal numbers (of 0 and -0), and of two
// where one is NaN. Taken both ways round, they differ in these cases alone: then the bits of both, together,
// are a NaN or -0, and what they have in common is 0 where one of two zeros is 0.
loop::Expr total_extreme(loop::Expr a, loop::Expr b, bool least) {
  if (a.type() == DType::Bool) return least ? (a & b) : (a | b);
  if (!is_float(a.type())) return least ? select(a < b, a, b) : select(b < a, a, b);
  auto wins = [&](loop::Expr x, loop::Expr y) { return select(least ? x < y : x > y, x, y); };
  loop::Builder& build = a.builder();
  if (build.fast_math.finite) {
    ++build.finite_uses;
    return wins(a, b);
  }
  bool zero = false;
  if (plain_constant(a, least, zero)) std::swap(a, b);
  if (plain_constant(b, least, zero)) return zero ? wins(b, a) + 0.0 : wins(b, a);
  const DType word = a.type() == DType::F64 ? DType::I64 : DType::I32;
  loop::Expr one = bitcast(wins(a, b), word), other = bitcast(wins(b, a), word);
  if (least) return bitcast(one | other, a.type());
  loop::Expr no_number =
      select(is_nan(a) | is_nan(b), build.constant_int(word, -1), build.constant_int(word, 0));
  return bitcast((one & other) | no_number, a.type());
}
}  // namespace

loop::Expr total_min(loop::Expr a, loop::Expr b) { return total_extreme(a, b, true); }
loop::Expr total_max(loop::Expr a, loop::Expr b) { return total_extreme(a, b, false); }

loop::Expr row_major(const std::vector<loop::Expr>& index, const std::vector<loop::Expr>& sizes,
                     loop::Builder& build) {
  if (index.empty()) return build.index(0);
  loop::Expr flat = index[0];
  for (size_t i = 1; i < index.size(); ++i) flat = flat * sizes[i] + index[i];
  return flat;
}

void in_whole_vectors(loop::Builder& build, int64_t count, int lanes,
                      const std::function<void(loop::Expr, int lanes)>& body) {
  for (int64_t done = 0; lanes > 0; lanes /= 2) {
    const int64_t end = count - count % lanes;
    if (end > done)
      build.vector_for(build.index(done), build.index(end), lanes, [&](loop::Expr i) { body(i, lanes); });
    done = end;
  }
}

std::vector<loop::Expr> sizes_of(PointContext& c, const Dims& dims) {
  std::vector<loop::Expr> out;
  for (const Dim& d : dims) out.push_back(c.size(d));
  return out;
}

void begin_as_operand(NestContext& c, size_t operand) {
  if (c.begins_updated()) return;
  loop::Builder& build = *c.build;
  build.vector_for(build.index(0), c.size(c.node->operand(operand)->type().elements()), 8,
                   [&](loop::Expr i) { build.store(c.results[0], i, build.load(c.operands[operand], i)); });
}

namespace {

const Literal* literal_behind(Value v, Trait seen_through) {
  while (v->node() && has(v->node(), seen_through) && v->node()->operands().size() == 1)
    v = v->node()->operand(0);
  if (!v->node() || !has(v->node(), Trait::Constant)) return nullptr;
  const AttrValue* value = v->node()->attrs().find("value");
  return value ? std::get_if<Literal>(value) : nullptr;
}

}  // namespace

const Literal* literal_behind(Value v) { return literal_behind(v, Trait::View); }

const Literal* elements_behind(Value v) { return literal_behind(v, Trait::Relabel); }

bool surely_empty(const Type& type) {
  return std::any_of(type.dims.begin(), type.dims.end(), [](const Dim& d) { return d == 0; });
}

bool surely_nonempty(const Node* node, const Type& type) {
  const DimScope& scope = node->graph().dims;
  return std::all_of(type.dims.begin(), type.dims.end(),
                     [&](const Dim& d) { return scope.less_equal(1, d) == Truth::Yes; });
}

loop::Expr has_elements(PointContext& c, size_t operand) {
  const Type& type = c.operand_type(operand);
  loop::Builder& build = *c.build;
  if (surely_empty(type)) return build.index(0);
  if (surely_nonempty(c.node, type)) return build.index(1);
  std::vector<loop::Expr> some;
  for (const Dim& d : type.dims) some.push_back(build.index(0) < c.size(d));
  return select(all_of(some, build), build.index(1), build.index(0));
}

loop::Expr guarded(PointContext& c, size_t operand, loop::Expr condition, loop::Expr otherwise,
                   const std::function<loop::Expr()>& read) {
  const Type& type = c.operand_type(operand);
  if (surely_empty(type)) return otherwise;
  if (surely_nonempty(c.node, type)) return select(condition, read(), otherwise);
  return c.fold(has_elements(c, operand), otherwise,
                [&](loop::Expr, loop::Expr old) { return select(condition, read(), old); });
}

loop::Expr lowest(loop::Builder& build, DType dtype) {
  if (is_float(dtype)) return build.constant(dtype, -std::numeric_limits<double>::infinity());
  if (!is_signed_int(dtype)) return build.constant_bits(dtype, 0);
  return build.constant_int(dtype, std::numeric_limits<int64_t>::min() >> (64 - info(dtype).bits));
}

loop::Expr highest(loop::Builder& build, DType dtype) {
  if (is_float(dtype)) return build.constant(dtype, std::numeric_limits<double>::infinity());
  if (dtype == DType::Bool) return build.constant_bits(dtype, 1);
  uint64_t ones = ~uint64_t{0} >> (64 - info(dtype).bits);
  return build.constant_bits(dtype, is_signed_int(dtype) ? ones >> 1 : ones);
}

void require_axes(const InferContext& c, const Ints& axes, int rank, std::string_view what) {
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] < 0 || axes[i] >= rank)
      c.fail(ErrorKind::Index, fmt::format("{} holds {}, but there are {} axes", what, axes[i], rank),
             "each entry names an axis, counted from 0",
             rank == 0 ? "an array of rank 0 has no axes" : fmt::format("axes count from 0 to {}", rank - 1));
    for (size_t j = 0; j < i; ++j)
      if (axes[i] == axes[j])
        c.fail(ErrorKind::Value, fmt::format("{} names axis {} twice", what, axes[i]),
               "each axis can be meant once", "name it once");
  }
}

void require_count(const InferContext& c, size_t have, size_t want, std::string_view what) {
  if (have != want)
    c.fail(ErrorKind::Value,
           fmt::format("{} has {} entr{}, but {} {} needed", what, have, have == 1 ? "y" : "ies", want,
                       want == 1 ? "is" : "are"),
           "there is one for each axis that it is about", fmt::format("give {}", want));
}

void require_operands(const InferContext& c, size_t least) {
  if (c.size() < least)
    c.fail(ErrorKind::Value, fmt::format("takes at least {} operands, got {}", least, c.size()),
           "the op reads so many arrays", "pass the missing ones");
}

void require_index_dtype(const InferContext& c, size_t operand) {
  c.require_dtype(operand, DTypeSet::Integer);
}

bool contains_axis(const Ints& axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

Ints iota(int64_t n, int64_t start) {
  Ints out;
  for (int64_t i = 0; i < n; ++i) out.push_back(start + i);
  return out;
}

void infer_by_body(InferContext& c) {
  Graph graph("infer");
  graph.dims = c.scope;
  std::vector<Value> operands;
  for (const Type& type : c.operands) operands.push_back(graph.body().add_arg(type));
  Builder build(graph.body());
  BodyContext body{build, c.attrs, operands};
  try {
    for (Value v : c.op.rules.body.get()(body)) c.results.push_back(v->type());
  } catch (Error& error) {
    // The user called the composite, not what it is made of.
    if (error.kind() == ErrorKind::Internal || error.summary().starts_with(c.op.public_name() + ": ")) throw;
    c.fail(error.kind(), error.summary(), error.why_text(), error.hint_text());
  }
}

std::vector<Value> linear_jvp(JvpContext& c) {
  if (!c.tangents[0]) return std::vector<Value>(c.results.size(), nullptr);
  std::vector<Value> operands(c.operands.begin(), c.operands.end());
  operands[0] = c.tangents[0];
  Node* node = c.build.node(op_of(c.node), operands, c.node->attrs());
  return {node->results().begin(), node->results().end()};
}

std::vector<Value> zero_jvp(JvpContext& c) { return std::vector<Value>(c.results.size(), nullptr); }

Dim gaps_between(const DimScope& scope, const Dim& size, int64_t interior) {
  if (interior == 0) return Dim(int64_t{0});
  Dim gaps = size - 1;
  if (scope.less_equal(1, size) != Truth::Yes) gaps = max(gaps, Dim(int64_t{0}));
  return gaps * interior;
}

Value sum_of(Builder& build, Value x, Value y) { return !x ? y : !y ? x : build("add", {x, y}); }

std::vector<Value> linear_jvp_all(JvpContext& c) {
  std::vector<Value> operands;
  bool any = false;
  for (size_t i = 0; i < c.operands.size(); ++i) {
    any = any || c.tangents[i];
    operands.push_back(c.tangents[i] ? c.tangents[i] : zeros_like(c.build, c.operands[i]));
  }
  if (!any) return std::vector<Value>(c.results.size(), nullptr);
  Node* node = c.build.node(op_of(c.node), operands, c.node->attrs());
  return {node->results().begin(), node->results().end()};
}

Value batch_to_front(Builder& build, Value x, int axis) {
  if (axis <= 0) return x;
  Ints permutation{axis};
  for (int i = 0; i < x->type().rank(); ++i)
    if (i != axis) permutation.push_back(i);
  return build.transpose(x, permutation);
}

Value zeros_like(Builder& build, Value x) { return build.full_like(x, 0); }

}  // namespace ig::ops::tools
