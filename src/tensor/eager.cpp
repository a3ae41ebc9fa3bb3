// The cache of one-node programs behind eager execution, and how they are made and run.
#include "tensor/eager.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "ops/attrs.h"
#include "ops/builder.h"
#include "ops/contraction.h"
#include "ops/host_call.h"
#include "ops/open.h"
#include "ops/shape_attrs.h"
#include "ops/table.h"
#include "runtime/prebuilt.h"
#include "runtime/thread_pool.h"
#include "tensor/capture.h"
#include "tensor/eager_cache.h"
#include "tensor/eager_stand_ins.h"
#include "tensor/merged_axes.h"
#include "tensor/mode.h"
#include "tensor/numbers.h"
#include "tensor/op_by_op.h"
#include "tensor/profile.h"
#include "tensor/strided.h"
#include "tensor/turned_operands.h"

namespace ig::eager {

namespace {

// Which kernels may run: any, or those whose machine code is at hand.
enum class Kernels : bool { Any, AtHand };
// There is none at hand. It leaves the entry as it was, for who may compile.
struct NotAtHand {};

// A program of a graph, or null where this build or op has none.
std::shared_ptr<Program> make_program(const ops::Op& op, const Graph& graph, Kernels kernels) {
  if (op.rules.lower.kind == ops::LowerRule::Kind::None) {
    if (kernels == Kernels::AtHand) throw NotAtHand();
    return nullptr;
  }
  try {
    CompileOptions options;
    options.at_hand = kernels == Kernels::AtHand;
    options.keeps_memory = false;
    auto program = compile(graph, options);
    if (!program) throw NotAtHand();
    ++counters().programs;
    return program;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Unsupported) return nullptr;
    throw;
  }
}

std::vector<Tensor> run_reference(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs) {
  ++counters().fallbacks;
  std::vector<Literal> literals;
  for (const Tensor& operand : operands) literals.push_back(operand.literal());
  std::vector<Tensor> out;
  for (const Literal& result : ops::evaluate(op, attrs, literals)) out.push_back(Tensor::from(result));
  return out;
}

// --- element-wise
// ----------------------------------------------------------------------------------------------------

constexpr int kMaxAxes = 16;

// The result's shape with neighbouring axes merged wherever the same operands are broadcast along them.
struct Collapsed {
  int axes = 0;
  int64_t sizes[kMaxAxes];
  uint32_t broadcast[kMaxAxes];  // bit i: operand i has no such axis
};

Collapsed collapse(std::span<const Tensor> operands, const Shape& shape) {
  Collapsed out;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] == 1) continue;
    uint32_t mask = 0;
    for (size_t i = 0; i < operands.size(); ++i) {
      int own = axis - (shape.rank() - operands[i].shape().rank());
      if (own < 0 || operands[i].shape()[own] == 1) mask |= 1u << i;
    }
    if (out.axes > 0 && out.broadcast[out.axes - 1] == mask) {
      out.sizes[out.axes - 1] *= shape[axis];
    } else {
      if (out.axes == kMaxAxes)
        throw Error(ErrorKind::Unsupported, "broadcasting alternates over more than 16 axes")
            .why("each run of axes that broadcast alike is a loop of the kernel")
            .hint("reshape the operands so that neighbouring axes that broadcast alike are one");
      out.sizes[out.axes] = shape[axis];
      out.broadcast[out.axes++] = mask;
    }
  }
  if (out.axes == 0) {
    out.axes = 1;
    out.sizes[0] = 1;
    out.broadcast[0] = 0;
  }
  return out;
}

std::vector<DType> dtypes_of(std::span<const Tensor> operands) {
  std::vector<DType> out;
  for (const Tensor& operand : operands) out.push_back(operand.dtype());
  return out;
}

void make_elementwise(Entry& entry, const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                      const Collapsed& axes, Kernels kernels) {
  std::vector<DType> dtypes = dtypes_of(operands);
  if (axes.axes == 1) {
    if (const rt::PrebuiltKernel* ready =
            rt::find_prebuilt(prebuilt_key(op, dtypes, attrs, axes.broadcast[0]))) {
      entry.direct = {ready->kernel(), ready->order, ready->elements_per_block,
                      ready->elements_per_block * ready->grain};
      entry.results = {static_cast<DType>(ready->result)};
      ++counters().prebuilt;
      return;
    }
  }
  std::span<const uint32_t> broadcast(axes.broadcast, static_cast<size_t>(axes.axes));
  std::unique_ptr<Graph> graph = elementwise_graph(op, dtypes, attrs, broadcast);
  entry.program = make_program(op, *graph, kernels);
  for (Value value : graph->outputs()) entry.results.push_back(value->type().dtype);
  if (entry.program && axes.axes == 1 && entry.results.size() == 1) entry.direct = entry.program->direct();
}

Hash128 elementwise_key(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                        const Collapsed& axes) {
  KeyWriter key(op, attrs);
  for (const Tensor& operand : operands) key.add(operand.dtype());
  for (int i = 0; i < axes.axes; ++i) key.add(axes.broadcast[i]);
  return key.key();
}

// Null where no kernel is at hand that has to be; who asks again is told so at once.
std::shared_ptr<Entry> elementwise_entry(const ops::Op& op, std::span<const Tensor> operands,
                                         const Attrs& attrs, const Collapsed& axes,
                                         Kernels kernels = Kernels::Any) {
  std::shared_ptr<Entry> entry = entry_of(elementwise_key(op, operands, attrs, axes));
  if (kernels == Kernels::AtHand && !entry->once.done() && entry->absent.load(std::memory_order_relaxed))
    return nullptr;
  try {
    entry->once([&] { make_elementwise(*entry, op, operands, attrs, axes, kernels); });
  } catch (const NotAtHand&) {
    entry->absent.store(true, std::memory_order_relaxed);
    return nullptr;
  }
  return entry;
}

// The memory of an operand that nobody else holds, for a result: a kernel reads each element where it writes
// it.
Tensor spare(std::span<const Tensor> operands, DType dtype, const Shape& shape) {
  for (const Tensor& x : operands)
    if (x.shape() == shape && size_of(x.dtype()) == size_of(dtype) && !x.waits() && x.storage().unique())
      return Tensor(dtype, shape, x.storage());
  return Tensor::empty(dtype, shape);
}

// The kernel itself, on this thread where that is quicker.
template <typename DataOf>
Tensor run_direct(const Entry& entry, size_t inputs, DataOf data_of, Tensor out) {
  const Shape& shape = out.shape();
  void* buffers[Program::Direct::kMaxInputs + 1];
  for (size_t i = 0; i < inputs; ++i) buffers[i] = data_of(entry.direct.order >> (4 * i) & 15u);
  buffers[inputs] = out.data();
  int64_t n = shape.elements();
  int64_t error[2] = {0, 0};
  rt::KernelArgs args;
  args.buffers = buffers;
  args.dims = &n;
  args.error = error;
  int64_t blocks = (n + entry.direct.elements_per_block - 1) / entry.direct.elements_per_block;
  if (n < entry.direct.parallel_above) {
    rt::FloatControl float_control;
    entry.direct.kernel(&args, 0, blocks);
  } else {
    rt::ThreadPool::instance().run(entry.direct.kernel, args, blocks,
                                   entry.direct.parallel_above / entry.direct.elements_per_block, 0,
                                   inputs + 1);
  }
  counters().runs.fetch_add(1, std::memory_order_relaxed);
  return out;
}

// --- any op
// ----------------------------------------------------------------------------------------------------------

// A convolution's kernel is made for the sizes of its window and features: code for any sizes is slow.
bool attrs_convolve(const Attrs& attrs) { return attrs.find(ops::kConvLayout.name) != nullptr; }
bool convolves(const ops::Op& op, const Attrs& attrs, const Graph* body) {
  if (!body) return attrs_convolve(ops::complete_attrs(op, attrs));
  for (const Node* node : body->body())
    if (attrs_convolve(node->attrs())) return true;
  return false;
}

// The graph of one composite with its body in its place.
std::shared_ptr<const Graph> opened(const Graph& graph) {
  std::shared_ptr<Graph> out = graph.clone();
  ops::open_in_place(out->body().first());
  return out;
}

// A composite with a kernel of its own is never taken apart. `kind`: of calls that differ in attributes
// alone.
void make_general(Entry& entry, Entry& kind, const ops::Op& op, std::shared_ptr<const Graph> graph,
                  Kernels kernels) {
  const bool opens = op.has(ops::Trait::Composite) && !op.has(ops::Trait::Contraction) && op.rules.body &&
                     OpByOp::usual() != FirstCalls::Compile;
  if (opens) {
    try {
      entry.program = make_program(op, *graph, Kernels::AtHand);
      return;
    } catch (const NotAtHand&) {
      entry.parts = OpByOp::of(opened(*graph));
      if (!entry.parts && kernels == Kernels::AtHand) throw;
      entry.makes_parts = entry.parts && kind.attributes.fetch_add(1, std::memory_order_relaxed) > 0;
    }
  }
  if (has_stand_in(graph->body().first()) && OpByOp::usual() != FirstCalls::Compile) {
    try {
      entry.program = make_program(op, *graph, Kernels::AtHand);
      return;
    } catch (const NotAtHand&) {
      entry.stands_in = true;
    }
  }
  if (entry.parts || entry.stands_in)
    entry.whole = std::move(graph);
  else
    entry.program = make_program(op, *graph, kernels);
}

// Whether another way is all there is: it was time for a program, and there was no compiler to make it.
bool has_no_program(const Entry& entry) {
  return (entry.parts || entry.stands_in) && entry.compiled.done() && !entry.program;
}

using Clock = std::chrono::steady_clock;
// About as long as it takes to compile.
constexpr std::chrono::nanoseconds kCompiling = std::chrono::milliseconds(30);

// Whether calls that needed no compiler have taken that long.
bool pays(const Entry& entry) {
  return OpByOp::usual() != FirstCalls::Always &&
         entry.spent.load(std::memory_order_relaxed) > kCompiling.count();
}

// The results by the parts, or by ops that stand in, until calls with this entry, but for the first, have
// taken about as long as it takes to compile. Within a graph that runs op by op the graph decides when that
// is.
std::optional<std::vector<Tensor>> run_early(Entry& entry, const ops::Op& op, std::span<const Tensor> inputs,
                                             const Attrs& attrs, Kernels kernels) {
  const bool always = kernels == Kernels::AtHand || has_no_program(entry);
  if (entry.parts) {
    if (numbers::possible() || (!always && entry.parts->is_over())) return std::nullopt;
    try {
      return entry.parts->run(inputs, entry.makes_parts && kernels == Kernels::Any);
    } catch (const Error&) {
      return std::nullopt;  // the program's errors speak of the op that was called
    }
  }
  if (!always && pays(entry)) return std::nullopt;
  const Clock::time_point start = Clock::now();
  std::optional<Tensor> out = run_stand_in(op, inputs.first(inputs.size() - entry.takes_shape), attrs);
  if (!out) return std::nullopt;
  const std::chrono::nanoseconds took = Clock::now() - start;
  int64_t first = 0;  // one nanosecond says that there was a first call
  if (!entry.spent.compare_exchange_strong(first, 1, std::memory_order_relaxed))
    entry.spent.fetch_add(took.count(), std::memory_order_relaxed);
  return std::vector<Tensor>{*std::move(out)};
}

// Runs a program for any sizes; where calls with these sizes have taken long, one that is made for them:
// large products are a quarter faster so.
std::vector<Tensor> run_any_size(Entry& entry, const ops::Op& op, std::span<const Tensor> operands,
                                 const Attrs& attrs, std::span<const Tensor> inputs) {
  constexpr std::chrono::nanoseconds kSlow = std::chrono::milliseconds(4),
                                     kEnough = std::chrono::milliseconds(100);
  std::shared_ptr<Entry> own;
  if (entry.slow.load(std::memory_order_relaxed)) {
    own = entry_of(size_key(op, operands, attrs));
    if (own->spent.load(std::memory_order_relaxed) >= kEnough.count()) {
      own->compiled([&] {
        own->program = make_program(op, *one_node_graph(op, types_of(operands), attrs, false), Kernels::Any);
      });
      if (own->program) return own->program->run(operands);
    }
  }
  const Clock::time_point start = Clock::now();
  std::vector<Tensor> out = entry.program->run(inputs);
  const std::chrono::nanoseconds took = Clock::now() - start;
  if (took >= kSlow) {
    entry.slow.store(true, std::memory_order_relaxed);
    if (!own) own = entry_of(size_key(op, operands, attrs));
    own->spent.fetch_add(took.count(), std::memory_order_relaxed);
  }
  return out;
}

std::shared_ptr<Entry> general_entry(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                     Kernels kernels) {
  // Asked for where an entry is made.
  auto kind_of = [&] { return entry_of(pattern_key(op, operands, {})); };
  // `key_has`: sizes that are the same wherever this entry is found.
  auto make_for_any_size = [&](Entry& made, const std::vector<Asked>& key_has) {
    std::unique_ptr<Graph> graph;
    made.asked = key_has;
    try {
      graph = one_node_graph(op, types_of(operands), attrs, true, &made.asked);
    } catch (const Error&) {
      made.by_size = true;
      return;
    }
    if (made.asked.size() > key_has.size()) {
      made.by_size = !key_has.empty();  // it asks for others, now that it has these
      return;
    }
    made.takes_shape = graph->inputs().size() > operands.size();
    made.any_size = true;
    if (has_axes_to_merge(op, operands, attrs)) {
      try {
        made.program = make_program(op, *graph, Kernels::AtHand);
      } catch (const NotAtHand&) {
        made.merges_axes = true;
      }
      return;
    }
    make_general(made, *kind_of(), op, std::move(graph), kernels);
  };
  std::shared_ptr<Entry> entry = entry_of(pattern_key(op, operands, attrs));
  entry->once([&] {
    std::unique_ptr<Graph> body = body_of(op, operands, attrs);
    if ((body && only_moves(*body)) || convolves(op, attrs, body.get()))
      entry->by_size = true;
    else
      make_for_any_size(*entry, {});
  });
  if (!entry->by_size && !entry->asked.empty()) {
    const std::vector<Asked> asked = entry->asked;
    entry = entry_of(pattern_key(op, operands, attrs, asked));
    entry->once([&] { make_for_any_size(*entry, asked); });
  }
  if (!entry->by_size) return entry;
  entry = entry_of(size_key(op, operands, attrs));
  entry->once([&] {
    entry->moves = body_of(op, operands, attrs);
    if (entry->moves && !only_moves(*entry->moves)) entry->moves = nullptr;
    if (!entry->moves)
      make_general(*entry, *kind_of(), op, one_node_graph(op, types_of(operands), attrs, false), kernels);
  });
  return entry;
}

}  // namespace

Counters& counters() {
  static Counters the_counters;
  return the_counters;
}

namespace {

std::vector<Tensor> unlinked(std::span<const Tensor> operands) {
  std::vector<Tensor> out;
  out.reserve(operands.size());
  for (const Tensor& operand : operands) out.push_back(operand.unlinked());
  return out;
}

// At once: no program stands between, and no cache, which would keep the function alive.
std::vector<Tensor> call_host(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs) {
  std::vector<Literal> values;
  for (const Tensor& operand : operands) values.push_back(operand.literal());
  std::vector<Tensor> out;
  for (const Literal& result : ops::run_host_call(op, attrs, values, {})) out.push_back(Tensor::from(result));
  return out;
}

// An operand as an array of that shape.
Tensor laid_out(const Tensor& operand, const Shape& shape) {
  if (operand.shape() == shape) return operand;
  return copy_strided(operand, broadcast_view(operand.shape(), shape));
}

// `overwrites`: the result may lie in the memory of an operand that nobody else holds.
std::vector<Tensor> run_entry(const Entry& entry, const ops::Op& op, std::span<const Tensor> operands,
                              const Attrs& attrs, const Shape& shape, const Collapsed& axes,
                              bool overwrites = false) {
  std::vector<Tensor> out;
  if (shape.elements() == 0) {
    for (DType dtype : entry.results) out.push_back(Tensor::empty(dtype, shape));
    return out;
  }
  if (entry.direct.kernel) {
    const DType dtype = entry.results[0];
    out.push_back(run_direct(
        entry, operands.size(), [&](size_t i) { return operands[i].data(); },
        overwrites ? spare(operands, dtype, shape) : Tensor::empty(dtype, shape)));
    return out;
  }
  std::vector<Tensor> inputs;
  inputs.reserve(operands.size());
  if (!entry.program) {
    for (const Tensor& operand : operands) inputs.push_back(laid_out(operand, shape));
    return run_reference(op, inputs, attrs);
  }
  for (size_t i = 0; i < operands.size(); ++i) {
    int64_t dims[kMaxAxes];
    size_t rank = 0;
    for (int a = 0; a < axes.axes; ++a)
      if (!(axes.broadcast[a] >> i & 1u)) dims[rank++] = axes.sizes[a];
    inputs.push_back(operands[i].reshaped(Shape(std::span<const int64_t>(dims, rank))));
  }
  ++counters().runs;
  out = entry.program->run(inputs);
  for (Tensor& result : out) result = result.reshaped(shape);
  return out;
}

// Whether operands that are spread may be laid out, so that a kernel for arrays of one shape does.
bool may_lay_out(const Shape& shape, const Collapsed& axes) {
  constexpr int64_t kMost = 1 << 20;  // elements: of larger arrays no copies are made
  const bool spread = axes.axes > 1 || axes.broadcast[0] != 0;
  return spread && shape.elements() <= kMost && OpByOp::usual() != FirstCalls::Compile;
}

// Where no kernel is at hand for how the operands are spread, and one is for arrays of one shape: until calls
// have taken as long so as it takes to compile.
std::optional<std::vector<Tensor>> compute_laid_out(const ops::Op& op, std::span<const Tensor> operands,
                                                    const Attrs& attrs, const Shape& shape,
                                                    const Collapsed& axes) {
  const std::shared_ptr<Entry> waiting = entry_of(elementwise_key(op, operands, attrs, axes));
  if (pays(*waiting)) return std::nullopt;
  Collapsed whole;
  whole.axes = 1;
  whole.sizes[0] = shape.elements();
  whole.broadcast[0] = 0;
  const std::shared_ptr<Entry> entry = elementwise_entry(op, operands, attrs, whole, Kernels::AtHand);
  if (!entry) return std::nullopt;
  const Clock::time_point start = Clock::now();
  std::vector<Tensor> inputs;
  for (const Tensor& operand : operands) inputs.push_back(laid_out(operand, shape));
  std::vector<Tensor> out = run_entry(*entry, op, inputs, attrs, shape, whole, true);
  waiting->spent.fetch_add((Clock::now() - start) / std::chrono::nanoseconds(1), std::memory_order_relaxed);
  return out;
}

std::vector<Tensor> compute_elementwise(const ops::Op& op, std::span<const Tensor> operands,
                                        const Attrs& attrs, const Shape& shape,
                                        Kernels kernels = Kernels::Any) {
  const Collapsed axes = collapse(operands, shape);
  const bool waits = kernels == Kernels::Any && may_lay_out(shape, axes);
  std::shared_ptr<Entry> entry =
      elementwise_entry(op, operands, attrs, axes, waits ? Kernels::AtHand : kernels);
  if (!entry && !waits) throw NotAtHand();
  if (!entry) {
    if (auto out = compute_laid_out(op, operands, attrs, shape, axes)) return *std::move(out);
    entry = elementwise_entry(op, operands, attrs, axes);
  }
  return run_entry(*entry, op, operands, attrs, shape, axes);
}

std::vector<Tensor> compute(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                            Kernels kernels = Kernels::Any);

std::vector<Tensor> run_nodes(const Graph& graph, std::span<const Tensor> operands, Kernels kernels) {
  std::unordered_map<const ValueDef*, Tensor> values;
  for (size_t i = 0; i < operands.size(); ++i) values[graph.inputs()[i]] = operands[i];
  for (const Node* node : graph.body()) {
    if (node->op().name() == kReturnOp) continue;
    std::vector<Tensor> inputs;
    for (Value value : node->operands()) inputs.push_back(values.at(value));
    std::vector<Tensor> results = compute(ops::op_of(node), inputs, node->attrs(), kernels);
    for (size_t i = 0; i < results.size(); ++i) values[node->result(i)] = std::move(results[i]);
  }
  std::vector<Tensor> out;
  for (Value value : graph.outputs()) out.push_back(values.at(value));
  return out;
}

std::vector<Tensor> compute_general(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                    Kernels kernels);

const Ints* permutation_of(const Attrs& attrs) {
  const AttrValue* value = attrs.find(ops::kPermutation.name);
  return value ? std::get_if<Ints>(value) : nullptr;
}

// All of an array in another order, in which neighbours do not stay neighbours, by a kernel.
Tensor turn(const Tensor& x, const Turned& turned, const Shape& shape, Kernels kernels) {
  static const ops::Op& transpose = ops::get("transpose");
  const Tensor out = compute_general(transpose, std::span(&turned.x, 1),
                                     Attrs().set(ops::kPermutation, turned.permutation), kernels)[0];
  return Tensor(x.dtype(), shape, out.storage());
}

// A view laid out anew: now, or, where it is a large array with its axes in another order, when somebody
// reads it.
Tensor lay_out(const Tensor& x, const StridedView& view, const Ints* permutation, Kernels kernels) {
  constexpr size_t kLarge = 131072;  // bytes; smaller ones stay in the cache, and take as long to call
  ++counters().views;
  if (x.bytes() < kLarge) return copy_strided(x, view);
  const std::optional<Turned> turned = as_turned(x, view);
  if (!turned) return copy_strided(x, view);
  // What is borrowed its owner may change meanwhile.
  if (!permutation || x.storage().read_only()) return turn(x, *turned, view.shape, kernels);
  return Tensor::laid_out_later(x.unlinked(), *permutation, [view, kernels](const Tensor& of) {
    try {
      return turn(of, *as_turned(of, view), view.shape, kernels);
    } catch (const NotAtHand&) {
      return copy_strided(of, view);
    }
  });
}

// A product of what operands are made of. Where that has no kernel at hand, and the operands' own has, they
// are laid out, until that has taken as long as it takes to compile one.
std::optional<std::vector<Tensor>> compute_turned(const ops::Op& op, std::span<const Tensor> operands,
                                                  std::span<const Tensor> of, const Attrs& attrs,
                                                  Kernels kernels) {
  try {
    const std::shared_ptr<Entry> entry = general_entry(op, of, attrs, kernels);
    const bool waits = entry->stands_in && !entry->compiled.done();
    if (!waits && !entry->program) return std::nullopt;  // there is no compiler to make one
    if (!waits || (kernels == Kernels::Any && pays(*entry))) return compute_general(op, of, attrs, kernels);
    const Clock::time_point start = Clock::now();
    for (const Tensor& operand : operands) operand.storage();
    const std::chrono::nanoseconds took = Clock::now() - start;
    entry->spent.fetch_add(took.count(), std::memory_order_relaxed);
  } catch (const NotAtHand&) {
  }
  return std::nullopt;
}

std::vector<Tensor> compute(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                            Kernels kernels) {
  if (ops::is_host_call(op)) return call_host(op, operands, attrs);
  if (std::ranges::any_of(operands, &Tensor::waits))
    if (auto out = with_turned_operands(
            op, operands, attrs,
            [&](std::span<const Tensor> of, const Attrs& turned) {
              return compute_turned(op, operands, of, turned, kernels);
            },
            [&](const Graph& body) { return run_nodes(body, operands, kernels); }))
      return *std::move(out);
  bool elementwise = op.has(ops::Trait::Elementwise) && !operands.empty();
  for (const Tensor& operand : operands) elementwise = elementwise && operand.shape() == operands[0].shape();
  if (elementwise) return compute_elementwise(op, operands, attrs, operands[0].shape(), kernels);
  bool relabel = op.has(ops::Trait::Relabel) && operands.size() == 1;
  bool view = op.has(ops::Trait::View) && operands.size() == 1;
  // A view of any number of arrays along an axis lays them one behind the other.
  bool joins = op.has(ops::Trait::View) && op.decl.operands.size() == 1 && op.decl.operands[0].variadic &&
               attrs.find(ops::kAxis.name);
  bool any_empty =
      std::any_of(operands.begin(), operands.end(), [](const Tensor& x) { return x.elements() == 0; });
  if (relabel || view || joins || any_empty) {
    std::vector<Type> types;
    for (const Tensor& operand : operands) types.push_back(operand.type());
    std::vector<Type> results = ops::infer(op, types, attrs, DimScope{});
    if (relabel) {
      ++counters().relabels;
      return {operands[0].reshaped(Shape(*constant_dims(results[0].dims)))};
    }
    if (joins) {
      ++counters().views;
      return {join(operands, attrs.get(ops::kAxis), Shape(*constant_dims(results[0].dims)))};
    }
    if (view) {
      Shape shape(*constant_dims(results[0].dims));
      if (auto strided = strided_view(op, operands[0].shape(), attrs, shape))
        return {lay_out(operands[0], *strided, permutation_of(attrs), kernels)};
    }
    bool nothing = std::all_of(results.begin(), results.end(),
                               [](const Type& type) { return type.elements() == Dim(int64_t{0}); });
    if (nothing) {
      std::vector<Tensor> out;
      for (const Type& type : results)
        out.push_back(Tensor::empty(type.dtype, Shape(*constant_dims(type.dims))));
      return out;
    }
  }
  if (const AttrValue* value = op.has(ops::Trait::Constant) ? attrs.find(ops::kValue.name) : nullptr)
    if (const Literal* literal = std::get_if<Literal>(value)) return {Tensor::from(*literal)};
  if (op.decl.example_axes > 0)
    if (auto out = with_merged_examples(op, operands, attrs, [&](std::span<const Tensor> merged) {
          return compute_general(op, merged, attrs, kernels);
        }))
      return *std::move(out);
  return compute_general(op, operands, attrs, kernels);
}

std::vector<Tensor> compute_general(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                    Kernels kernels) {
  std::shared_ptr<Entry> entry = general_entry(op, operands, attrs, kernels);
  if (entry->moves) return run_nodes(*entry->moves, operands, kernels);
  if (entry->merges_axes)
    return with_merged_axes(op, operands, attrs, [&](std::span<const Tensor> merged, const Attrs& own) {
      return compute_general(op, merged, own, kernels);
    });
  std::vector<Tensor> with_shape;
  std::span<const Tensor> inputs = operands;
  if (entry->takes_shape) {
    with_shape.assign(operands.begin(), operands.end());
    std::vector<int64_t> shape = *constant_dims(*made_shape(operands, attrs));
    shape.push_back(0);
    with_shape.push_back(Tensor::empty(DType::Bool, Shape(shape)));
    inputs = with_shape;
  }
  if ((entry->parts || entry->stands_in) && (!entry->compiled.done() || has_no_program(*entry))) {
    if (auto out = run_early(*entry, op, inputs, attrs, kernels)) return *std::move(out);
    if (kernels == Kernels::AtHand) throw NotAtHand();
    entry->compiled([&] { entry->program = make_program(op, *entry->whole, kernels); });
    if (has_no_program(*entry))
      if (auto out = run_early(*entry, op, inputs, attrs, kernels)) return *std::move(out);
  }
  if (!entry->program) return run_reference(op, operands, attrs);
  ++counters().runs;
  if (entry->any_size && kernels == Kernels::Any) return run_any_size(*entry, op, operands, attrs, inputs);
  return entry->program->run(inputs);
}

}  // namespace

std::vector<Tensor> run_elementwise(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                    const Shape& shape) {
  if (const GradLink* link = recording_link(operands)) {
    std::vector<Tensor> out = run_elementwise(op, unlinked(operands), attrs, shape);
    link->record(op, operands, attrs, out);
    return out;
  }
  profile::OpSpan span(op, operands);
  std::vector<Tensor> out = compute_elementwise(op, operands, attrs, shape);
  numbers::look(op, operands, out);
  span.done(out);
  return out;
}

std::vector<Tensor> run(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs) {
  if (const GradLink* link = recording_link(operands)) {
    std::vector<Tensor> out = run(op, unlinked(operands), attrs);
    link->record(op, operands, attrs, out);
    return out;
  }
  profile::OpSpan span(op, operands);
  std::vector<Tensor> out = compute(op, operands, attrs);
  numbers::look(op, operands, out);
  span.done(out);
  return out;
}

std::optional<std::vector<Tensor>> run_at_hand(const ops::Op& op, std::span<const Tensor> operands,
                                               const Attrs& attrs) try {
  profile::OpSpan span(op, operands);
  std::vector<Tensor> out = compute(op, operands, attrs, Kernels::AtHand);
  span.done(out);
  return out;
} catch (const NotAtHand&) {
  return std::nullopt;
}

std::optional<std::vector<Tensor>> run_elementwise_at_hand(const ops::Op& op,
                                                           std::span<const Tensor> operands,
                                                           const Attrs& attrs, const Shape& shape) {
  const Collapsed axes = collapse(operands, shape);
  const std::shared_ptr<Entry> entry = elementwise_entry(op, operands, attrs, axes, Kernels::AtHand);
  if (!entry) return std::nullopt;
  profile::OpSpan span(op, operands);
  std::vector<Tensor> out = run_entry(*entry, op, operands, attrs, shape, axes, true);
  span.done(out);
  return out;
}

bool ElementwiseSite::suits(const ops::Op& op) {
  const size_t count = op.decl.operands.size();
  return op.decl.front == ops::Front::Elementwise && op.decl.attrs.empty() && (count == 1 || count == 2) &&
         op.decl.results == 1;
}

Tensor ElementwiseSite::run(std::array<const Tensor*, 2> operands, Number number) {
  const size_t count = operands[1] ? 2 : 1;
  const Tensor& x = *operands[number == kFirst ? 1 : 0];
  auto all = [&] {
    std::vector<Tensor> out;
    for (size_t i = 0; i < count; ++i) out.push_back(*operands[i]);
    return out;
  };
  const bool linked = operands[0]->link() || (count == 2 && operands[1]->link());
  if (linked && recording_link(all())) return std::move(run_elementwise(op_, all(), {}, x.shape())[0]);
  std::atomic<const Entry*>& slot = entries_[number][static_cast<size_t>(x.dtype())];
  const Entry* entry = slot.load(std::memory_order_acquire);
  if (entry) {
    if (x.elements() > 0) {
      profile::OpSpan span(op_, operands);
      Tensor out = run_direct(
          *entry, count, [&](size_t i) { return operands[i]->data(); },
          Tensor::empty(entry->results[0], x.shape()));
      if (numbers::possible()) numbers::check(op_, all(), std::span(&out, 1));
      span.done(std::span(&out, 1));
      return out;
    }
  } else {
    Collapsed axes;
    axes.axes = 1;
    axes.sizes[0] = x.elements();
    axes.broadcast[0] = number;
    static std::mutex mutex;
    static std::vector<std::shared_ptr<Entry>>* held = new std::vector<std::shared_ptr<Entry>>;
    // A number may be laid out, where its kernel is not at hand (run_elementwise).
    const bool waits = may_lay_out(x.shape(), axes);
    const std::shared_ptr<Entry> made =
        elementwise_entry(op_, all(), {}, axes, waits ? Kernels::AtHand : Kernels::Any);
    if (made && made->direct.kernel) {
      std::lock_guard lock(mutex);
      if (!slot.load(std::memory_order_relaxed)) {
        held->push_back(made);
        slot.store(made.get(), std::memory_order_release);
      }
    }
  }
  return std::move(run_elementwise(op_, all(), {}, x.shape())[0]);
}

}  // namespace ig::eager

namespace ig {

std::vector<Tensor> apply(const ops::Op& op, std::span<const Tensor> operands, Attrs attrs) {
  if (OpMode::any())
    return OpMode::dispatch(
        op, operands, ops::complete_attrs(op, std::move(attrs)),
        [&](std::span<const Tensor> given, const Attrs& with) { return apply(op, given, with); });
  Capture* capture = Capture::current();
  for (const Tensor& operand : operands) {
    if (!operand.is_symbolic()) continue;
    if (!capture) Capture::leaked(operand, nullptr);
    return capture->record(op, operands, std::move(attrs));
  }
  attrs = ops::complete_attrs(op, std::move(attrs));
  if (!capture) return eager::run(op, operands, attrs);
  // Arithmetic on constants stays outside of the graph, unless a size in it is a symbol of the graph.
  for (const auto& [name, value] : attrs.items()) {
    const Dims* dims = std::get_if<Dims>(&value);
    if (dims && !constant_dims(*dims)) return capture->record(op, operands, std::move(attrs));
  }
  // What was read from outside is lifted, so what is computed from it must be in the graph.
  for (const Tensor& operand : operands)
    if (capture->lift_constants && !capture->made_here(operand))
      return capture->record(op, operands, std::move(attrs));
  std::vector<Tensor> out = eager::run(op, operands, attrs);
  for (const Tensor& result : out) capture->note_made_here(result);
  return out;
}

}  // namespace ig
