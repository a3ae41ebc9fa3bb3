// Makes the prebuilt kernels, as a step of the build: for each level of the x86-64 ABI the kernels of all
// element-wise ops of the table at the common dtypes (contiguous, with one operand a scalar, with rows and
// columns), the machine code of folds and matrix products of one node, and that of the calls which an op's
// declaration says are usual. Writes object files and a table in C++, which the build links into one shared
// object.
//   intaglio-prebuild DIR
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <fstream>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "codegen/kernel.h"
#include "ops/attrs.h"
#include "ops/table.h"
#include "passes/pass.h"
#include "runtime/prebuilt.h"
#include "runtime/turn_over.h"
#include "tensor/eager.h"

namespace {

using namespace ig;

// Types whose kernels are at hand; those that most programs compute with come first.
constexpr DType kTypes[] = {DType::F32,  DType::F64, DType::I64, DType::I32, DType::Bool, DType::F16,
                            DType::BF16, DType::U8,  DType::U32, DType::U64, DType::C64};
constexpr std::span<const DType> kCommon(kTypes, 5);

// A kernel to make: under a key, and of an element-wise op with all that a direct call needs.
struct Item {
  Hash128 key;
  std::shared_ptr<loop::Function> function;
  int64_t elements_per_block = 0, grain = 1;
  uint32_t order = 0, result = 0;
  std::string of{};  // the op, for who reads the table
};

using Items = std::map<Hash128, Item>;  // by key: what two ops share is made once, and the order is fixed

// `constants`: as if all operands were known when the graph is compiled.
std::vector<codegen::Kernel> kernels_of(Graph& graph, const codegen::Target& target, bool constants = false) {
  passes::run(graph, passes::default_pipeline(), {});
  std::vector<codegen::Kernel> out;
  for (const Node* node : graph.body())
    if (node->regions().size() == 1 && node->attrs().find("kind"))
      out.push_back(codegen::lower(node, std::vector<bool>(node->operands().size(), constants), target,
                                   {.may_go_twice = true}));
  return out;
}

// Where the graph is one kernel that reads each of the graph's inputs once and writes its only output: which
// input each of the kernel's is, four bits for each.
std::optional<uint32_t> direct_order(const Graph& graph, const codegen::Kernel& kernel) {
  if (graph.outputs().size() != 1 || kernel.function->sizes.size() != 1) return std::nullopt;
  const Node* made = graph.outputs()[0]->node();
  if (!made || made->results().size() != 1 || !kernel.function->scratch.empty()) return std::nullopt;
  if (made->operands().size() != graph.inputs().size()) return std::nullopt;
  uint32_t order = 0, seen = 0;
  for (size_t i = 0; i < made->operands().size(); ++i) {
    Value input = made->operand(i);
    if (input->node() || seen >> input->index() & 1u) return std::nullopt;
    seen |= 1u << input->index();
    order |= input->index() << (4 * i);
  }
  return order;
}

int64_t elements_per_block(const codegen::Kernel& kernel) {
  constexpr int64_t kLarge = int64_t{1} << 30;
  int64_t blocks = kernel.blocks.evaluate({{"n0", kLarge}});
  return blocks > 0 && kLarge % blocks == 0 ? kLarge / blocks : 0;
}

void add_elementwise(const ops::Op& op, std::span<const DType> dtypes, const Attrs& attrs, uint32_t broadcast,
                     const codegen::Target& target, Items& items) {
  std::unique_ptr<Graph> graph;
  try {
    graph = eager::elementwise_graph(op, dtypes, attrs, std::span(&broadcast, 1));
  } catch (const Error&) {
    return;  // the op has no such types
  }
  if (graph->outputs().size() != 1) return;
  auto result = static_cast<uint32_t>(graph->outputs()[0]->type().dtype);
  std::vector<codegen::Kernel> kernels = kernels_of(*graph, target);
  constexpr size_t kLongest = 512;  // expressions: lgamma and digamma alone would be a tenth of all code
  if (kernels.size() != 1 || kernels[0].function->expressions.size() > kLongest) return;
  std::optional<uint32_t> order = direct_order(*graph, kernels[0]);
  if (!order) return;
  int64_t each = elements_per_block(kernels[0]);
  if (each == 0) return;
  Hash128 key = eager::prebuilt_key(op, dtypes, attrs, broadcast);
  items[key] = {key,         std::move(kernels[0].function),
                each,        std::max<int64_t>(kernels[0].grain, 1),
                *order,      result,
                op.decl.name};
}

// The attributes that calls of this op usually have: its defaults; for a conversion each of these dtypes.
std::vector<Attrs> usual_attrs(const ops::Op& op, std::span<const DType> dtypes) {
  std::vector<Attrs> out(1);
  for (const AttrSpec& spec : op.decl.attrs) {
    if (spec.fallback) continue;
    if (spec.kind != AttrKind::DType) return {};
    std::vector<Attrs> all;
    for (const Attrs& attrs : out)
      for (DType dtype : dtypes) {
        all.push_back(attrs);
        all.back().set(spec.name, dtype);
      }
    out = std::move(all);
  }
  return out;
}

void add_functions(const ops::Op& op, Graph& graph, const codegen::Target& target, Items& items) {
  auto add = [&](std::unique_ptr<loop::Function>& function) {
    Hash128 key = rt::prebuilt_key_of_function(function->hash());
    items[key] = {.key = key, .function = std::move(function), .of = op.decl.name};
  };
  auto add_all = [&](codegen::Kernel& kernel, auto& self) -> void {
    if (kernel.first) add(kernel.first->function);
    for (codegen::Kernel::Packing& packing : kernel.packings) add(packing.pack);
    if (kernel.other) self(*kernel.other, self);
    add(kernel.function);
  };
  for (codegen::Kernel& kernel : kernels_of(graph, target)) add_all(kernel, add_all);
}

// Matrices with rows and with columns, and columns with rows, of an op with two operands.
void add_broadcasts(const ops::Op& op, const Attrs& attrs, std::span<const DType> dtypes,
                    const codegen::Target& target, Items& items) {
  constexpr uint32_t kBroadcasts[][2] = {{0b01, 0}, {0b10, 0},    {0, 0b01},
                                         {0, 0b10}, {0b01, 0b10}, {0b10, 0b01}};
  for (const auto& broadcast : kBroadcasts) {
    std::unique_ptr<Graph> graph;
    try {
      graph = eager::elementwise_graph(op, dtypes, attrs, broadcast);
    } catch (const Error&) {
      return;  // the op has no such types
    }
    add_functions(op, *graph, target, items);
  }
}

void add_elementwise(const ops::Op& op, const codegen::Target& target, bool whole, Items& items) {
  size_t count = op.decl.operands.size();
  if (count == 0 || count > 3) return;
  const bool scalars = whole && count > 1, cheap = op.has(ops::Trait::Cheap);
  const std::span<const DType> types = whole && cheap ? std::span<const DType>(kTypes) : kCommon;
  for (DType dtype : types) {
    const bool common = std::ranges::count(kCommon, dtype) != 0;
    for (const Attrs& attrs : usual_attrs(op, common ? types : kCommon)) {
      std::vector<std::vector<DType>> choices = {std::vector<DType>(count, dtype)};
      if (count == 3 && dtype != DType::Bool) choices.push_back({DType::Bool, dtype, dtype});
      for (const std::vector<DType>& dtypes : choices) {
        add_elementwise(op, dtypes, attrs, 0, target, items);
        if (scalars && count == 2 && cheap && dtype == DType::F32)
          add_broadcasts(op, attrs, dtypes, target, items);
        if (!scalars || !common || (dtype != DType::F32 && !cheap))
          continue;  // bytes: large code that is called seldom
        for (uint32_t i = 0; i < count; ++i) add_elementwise(op, dtypes, attrs, 1u << i, target, items);
        if (count == 3) add_elementwise(op, dtypes, attrs, 0b110, target, items);
      }
    }
  }
}

// How constant weights are packed: one function for weights of all sizes.
void add_packings(const ops::Op& op, std::span<const Type> types, const codegen::Target& target,
                  Items& items) {
  // Of sizes that layers have: the width of the strips depends on them.
  std::vector<Type> wide;
  for (const Type& type : types) {
    Dims dims;
    for (const Dim& dim : type.dims) dims.push_back(dim * Dim(int64_t{64}));
    wide.push_back(Type::tensor(type.dtype, std::move(dims)));
  }
  auto graph = eager::one_node_graph(op, wide, {}, false);
  for (codegen::Kernel& kernel : kernels_of(*graph, target, true))
    for (codegen::Kernel::Packing& packing : kernel.packings) {
      Hash128 key = rt::prebuilt_key_of_function(packing.pack->hash());
      items[key] = {.key = key, .function = std::move(packing.pack), .of = op.decl.name};
    }
}

// Folds as eager execution has them, with neighbouring axes made one (eager::with_merged_axes): of vectors,
// of matrices along each axis, of three axes along the middle one and around it (channels), and along the
// middle one of columns of one (a mask, for the mean of sequences).
void add_fold(const ops::Op& op, const codegen::Target& target, Items& items) {
  struct Fold {
    Dims dims;
    Ints axes;
  };
  const Fold folds[] = {{{2}, {0}},       {{2, 3}, {0}},       {{2, 3}, {1}},
                        {{2, 3, 4}, {1}}, {{2, 3, 4}, {0, 2}}, {{2, 3, 1}, {1}}};
  if (op.decl.attrs.empty()) return;
  for (DType dtype : {DType::F32, DType::F64, DType::I64, DType::Bool})
    for (const Fold& fold : folds) {
      if (fold.dims.size() == 3 && dtype != DType::F32) continue;
      const std::vector<Type> types(op.decl.operands.size(), Type::tensor(dtype, fold.dims));
      Attrs attrs;
      attrs.set(std::string(ops::kAxes.name), fold.axes);
      try {
        add_functions(op, *eager::one_node_graph(op, types, attrs, true), target, items);
      } catch (const Error&) {
        continue;  // the op has no such types
      }
    }
}

// The types of a sample that has matrices of T alone ("T[2, 3], T[3, 4]"), or vectors beside them; none for
// any other.
std::vector<Type> matrices(const ops::Sample& sample, DType dtype) {
  std::vector<Type> out;
  std::string_view rest = sample.operands;
  while (!rest.empty()) {
    size_t end = rest.find(']');
    if (!rest.starts_with("T[") || end == rest.npos) return {};
    out.push_back(Type::parse(fmt::format("{}{}", name(dtype), rest.substr(1, end))));
    if (out.back().rank() != 1 && out.back().rank() != 2) return {};
    rest.remove_prefix(end + 1);
    if (rest.starts_with(", "))
      rest.remove_prefix(2);
    else if (!rest.empty())
      return {};
  }
  if (std::ranges::none_of(out, [](const Type& type) { return type.rank() == 2; })) return {};
  return out;
}

// The same types with so many rows that the kernels for few and for many are both made of them.
std::vector<Type> with_many_rows(const ops::Op& op, std::vector<Type> types, const Attrs& attrs) {
  if (const auto axis = eager::axis_of_rows(op, std::span<const Type>(types), attrs)) {
    Dims dims = types[0].dims;
    if (dims[*axis] != Dim(int64_t{1})) dims[*axis] = dims[*axis] * Dim(ops::kManyRows);
    types[0] = Type::tensor(types[0].dtype, std::move(dims));
  }
  return types;
}

// What composites do to matrices by default: products, softmax, norms.
void add_composite(const ops::Op& op, const codegen::Target& target, Items& items) {
  for (const ops::Sample& sample : op.decl.samples) {
    if (!sample.attrs.empty() && sample.attrs != "{}") continue;
    std::vector<Type> types = matrices(sample, DType::F32);
    if (types.empty()) continue;
    try {
      auto graph = eager::one_node_graph(op, with_many_rows(op, types, {}), {}, true);
      add_functions(op, *graph, target, items);
      add_packings(op, types, target, items);
    } catch (const Error&) {
      continue;  // it asks for fixed sizes, and eager execution compiles for each
    }
  }
}

// What the declaration names.
void add_usual(const ops::Op& op, const codegen::Target& target, Items& items) {
  for (const ops::UsualCall& call : op.decl.usual) {
    std::vector<Type> types;
    for (const std::string& type : call.operands) types.push_back(Type::parse(type));
    types = with_many_rows(op, std::move(types), call.attrs);
    // What the op asks of sizes comes out of the first graph, as where a call is made (eager::run).
    std::vector<eager::Asked> asked;
    auto graph = eager::one_node_graph(op, types, call.attrs, true, &asked);
    if (!asked.empty()) graph = eager::one_node_graph(op, types, call.attrs, true, &asked);
    add_functions(op, *graph, target, items);
  }
}

// What kernels call to turn matrices over.
void add_turn_over(Items& items) {
  for (DType dtype : {DType::U8, DType::F16, DType::F32, DType::F64, DType::C128}) {
    loop::Builder build("turn_over");
    const uint32_t from = build.add_buffer(dtype, false, "from"), to = build.add_buffer(dtype, true, "to");
    const loop::Expr rows = build.size(Dim::symbol("rows")), columns = build.size(Dim::symbol("columns")),
                     from_step = build.size(Dim::symbol("from_step")),
                     to_step = build.size(Dim::symbol("to_step"));
    build.transpose({to, build.index(0), to_step}, {from, build.index(0), from_step}, rows, columns);
    const Hash128 key = rt::prebuilt_key_of_turn_over(static_cast<int64_t>(size_of(dtype)));
    items[key] = {.key = key, .function = build.finish(), .of = "turn_over"};
  }
}

Items choose(const codegen::Target& target, bool whole) {
  Items items;
  add_turn_over(items);
  for (const ops::Op* op : ops::all()) {
    // What a module of its own has is asked for by few programs, and its formulas are long.
    if (op->decl.python.find('.') != std::string::npos) continue;
    if (op->has(ops::Trait::Elementwise) && (whole || op->has(ops::Trait::Cheap)))
      add_elementwise(*op, target, whole, items);
    if (whole && op->decl.front == ops::Front::Reduction)
      add_fold(*op, target, items);
    else if (whole && op->has(ops::Trait::Composite) && !op->has(ops::Trait::Elementwise) &&
             !op->decl.python.empty())
      add_composite(*op, target, items);
    if (whole) add_usual(*op, target, items);
  }
  return items;
}

// Objects of some kernels each, so that both cores work and no object holds everything up.
void compile_all(const std::vector<const Item*>& items, const std::vector<std::string>& symbols,
                 const codegen::Target& target, const std::string& stem) {
  constexpr size_t kEach = 32;
  std::atomic<size_t> next{0};
  std::mutex mutex;
  std::string failure;
  auto work = [&] {
    for (size_t begin = next.fetch_add(kEach); begin < items.size(); begin = next.fetch_add(kEach)) {
      size_t end = std::min(begin + kEach, items.size());
      std::vector<const loop::Function*> functions;
      for (size_t i = begin; i < end; ++i) functions.push_back(items[i]->function.get());
      try {
        std::string object =
            codegen::compile_object(functions, std::span(symbols).subspan(begin, end - begin), target);
        std::ofstream file(fmt::format("{}_{}.o", stem, begin / kEach), std::ios::binary);
        file.write(object.data(), static_cast<std::streamsize>(object.size()));
        if (!file.flush())
          throw Error(ErrorKind::IO, "an object file could not be written to " + stem)
              .why("the disk is full, or the folder is read-only")
              .hint("make room, and build again");
      } catch (const Error& error) {
        std::lock_guard lock(mutex);
        failure = error.what();
      }
    }
  };
  std::vector<std::thread> threads;
  for (unsigned t = 1; t < std::max(1u, std::thread::hardware_concurrency()); ++t) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  if (!failure.empty()) throw Error(ErrorKind::Internal, failure);
}

// One level: its objects, its rows.
std::string make_level(int level, const std::string& out, bool whole) {
  codegen::Target target = codegen::Target::named(fmt::format("x86-64-v{}", level));
  Items chosen = choose(target, whole);
  std::vector<const Item*> items;
  std::vector<std::string> symbols;
  for (const auto& [key, item] : chosen) {
    items.push_back(&item);
    symbols.push_back(fmt::format("intaglio_v{}_{}", level, symbols.size()));
  }
  std::sort(items.begin(), items.end(), [](const Item* a, const Item* b) {
    return std::tie(a->key.high, a->key.low) < std::tie(b->key.high, b->key.low);
  });
  compile_all(items, symbols, target, fmt::format("{}/v{}", out, level));
  // Distances between symbols are nothing that C++ has words for.
  std::string text = fmt::format(
      "__asm__(R\"(\n.section .rodata.intaglio_level{0}, \"a\", @progbits\n.balign 8\nintaglio_level{0}:\n",
      level);
  for (size_t i = 0; i < items.size(); ++i)
    text += fmt::format(".quad 0x{:x}, 0x{:x}, {}, {}; .long {:#x}, {}, {} - ., 0  # {}\n", items[i]->key.low,
                        items[i]->key.high, items[i]->elements_per_block, items[i]->grain, items[i]->order,
                        items[i]->result, symbols[i], items[i]->of);
  text += fmt::format(
      ".previous\n)\");\nextern \"C\" __attribute__((visibility(\"hidden\"))) const ig::rt::PrebuiltKernel "
      "intaglio_level{0}[];\nstatic const ig::rt::PrebuiltTable table{0} = {{ig::rt::kKernelAbiVersion, {1}, "
      "intaglio_level{0}}};\n\n",
      level, items.size());
  std::printf("prebuilt kernels for x86-64-v%d: %zu\n", level, items.size());
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("usage: intaglio-prebuild DIR, the folder for objects and table\n", stderr);
    return 2;
  }
  const std::string out = argv[1];
  try {
    std::string text =
        "// The prebuilt kernels, by level and key. Written by intaglio-prebuild; not for editing.\n"
        "#include \"runtime/prebuilt.h\"\n\n";
    for (int level : {2, 3, 4}) text += make_level(level, out, level > 2);
    text +=
        "extern \"C\" const ig::rt::PrebuiltTable* intaglio_prebuilt_kernels(int level) {\n"
        "  return level == 4 ? &table4 : level == 3 ? &table3 : level == 2 ? &table2 : nullptr;\n}\n";
    std::ofstream file(out + "/kernels_table.cpp");
    file << text;
    if (!file.flush())
      throw Error(ErrorKind::IO, "the table could not be written to " + out)
          .why("the disk is full, or the folder is read-only")
          .hint("make room, and build again");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "intaglio-prebuild: %s\n", error.what());
    return 1;
  }
  return 0;
}
