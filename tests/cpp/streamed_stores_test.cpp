// Results that are written past the caches: the same bits as through them, by whole vectors where each begins
// at a line of memory, and by ordinary stores everywhere else. The machine code is read to see which.
#include <gtest/gtest.h>

#include <cstring>
#include <random>

#include <fmt/format.h>

#include "codegen/kernel.h"
#include "ops/families/array_tools.h"
#include "ops/table.h"
#include "passes/pass.h"
#include "runtime/thread_pool.h"
#include "support/storage.h"
#include "tensor/program.h"

namespace ig::codegen {
namespace {

struct Ran {
  std::vector<Storage> results;
  std::string assembly;
};

Storage random_bytes(const Type& type, std::mt19937& random) {
  Literal literal = Literal::allocate(type.dtype, *constant_dims(type.dims));
  std::uniform_int_distribution<int> whole(-40, 40);
  for (int64_t i = 0; i < literal.elements(); ++i) ops::tools::set_real(literal, i, whole(random) / 16.0);
  Storage out = Storage::allocate(std::max<size_t>(literal.bytes(), 1));
  if (literal.bytes() != 0) std::memcpy(out.data(), literal.data(), literal.bytes());
  return out;
}

// The graph's one kernel on random operands.
Ran run(std::string_view text, const Target& target, bool streamed, bool far) {
  std::unique_ptr<Graph> graph = Graph::parse(text);
  passes::run(*graph, passes::default_pipeline(), passes::Options());
  const Node* node = nullptr;
  for (const Node* n : graph->body())
    if (n->attrs().find("kind")) node = n;
  Kernel kernel = lower(node, std::vector<bool>(node->operands().size(), false), target,
                        {std::vector<bool>(node->results().size(), streamed), far});
  std::mt19937 random(7);
  std::vector<Storage> held;
  std::vector<void*> pointers;
  for (Value v : node->operands()) {
    held.push_back(random_bytes(v->type(), random));
    pointers.push_back(held.back().data());
  }
  Ran out;
  for (Value v : node->results()) {
    auto bytes = static_cast<size_t>(v->type().elements().constant()) * size_of(v->type().dtype);
    out.results.push_back(Storage::allocate(bytes));
    std::memset(out.results.back().data(), 0x5a, bytes);
    pointers.push_back(out.results.back().data());
  }
  size_t scratch_bytes = 0;
  for (size_t i = 0; i < kernel.function->scratch.size(); ++i)
    scratch_bytes += (static_cast<size_t>(kernel.function->scratch_elements[i].constant()) *
                          size_of(kernel.function->scratch[i].type) +
                      rt::kScratchSpare + 63) /
                     64 * 64;
  Storage scratch = Storage::allocate(scratch_bytes + 64);
  const loop::Function* list[] = {kernel.function.get()};
  int64_t error[2] = {};
  rt::KernelArgs args;
  args.buffers = pointers.data();
  args.scratch = scratch.data();
  args.error = error;
  EXPECT_EQ(compile(list, target, 1)[0].fn(&args, 0, kernel.blocks.constant()), 0);
  out.assembly = compile_assembly(*kernel.function, target);
  return out;
}

struct Case {
  const char* text;
  bool past;  // some of its stores go past the caches
};

TEST(StreamedStores, GiveTheSameBits) {
  const Case cases[] = {
      // A flat walk, whose last group is not whole.
      {"graph @g(%x: f32[5, 2003], %y: f32[5, 2003]) { %s = add(%x, %y) : f32[5, 2003] "
       "%t = tanh(%s) : f32[5, 2003] return %t }",
       true},
      {"graph @g(%x: f64[3, 1000]) { %s = multiply(%x, %x) : f64[3, 1000] return %s, %s }", true},
      // Rows with a row that is the same for all: whole vectors, and not.
      {"graph @g(%x: f32[33, 96], %b: f32[96]) { %w = broadcast_in_dim(%b) {shape = <33, 96>, "
       "broadcast_dimensions = [1]} : f32[33, 96] %s = add(%x, %w) : f32[33, 96] return %s }",
       true},
      {"graph @g(%x: f32[33, 97], %b: f32[97]) { %w = broadcast_in_dim(%b) {shape = <33, 97>, "
       "broadcast_dimensions = [1]} : f32[33, 97] %s = add(%x, %w) : f32[33, 97] return %s }",
       false},
      {"graph @g(%x: f32[17, 256]) { %y = softmax(%x) {axis = -1} : f32[17, 256] return %y }", true},
      // Rows that begin anywhere in a line: what lies before the first whole line goes through the caches.
      {"graph @g(%x: f32[17, 255]) { %y = softmax(%x) {axis = -1} : f32[17, 255] return %y }", true},
      {"graph @g(%x: f32[17, 272]) { %y = softmax(%x) {axis = -1} : f32[17, 272] return %y }", true},
      {"graph @g(%x: f64[19, 130], %b: f64[130]) { %w = broadcast_in_dim(%b) {shape = <19, 130>, "
       "broadcast_dimensions = [1]} : f64[19, 130] %s = add(%x, %w) : f64[19, 130] return %s }",
       true},
      {"graph @g(%x: f16[35, 517], %b: f16[517]) { %w = broadcast_in_dim(%b) {shape = <35, 517>, "
       "broadcast_dimensions = [1]} : f16[35, 517] %s = add(%x, %w) : f16[35, 517] return %s }",
       true},
      // Two results whose lines hold different numbers of elements.
      {"graph @g(%x: f32[9, 301], %b: f32[301]) { %w = broadcast_in_dim(%b) {shape = <9, 301>, "
       "broadcast_dimensions = [1]} : f32[9, 301] %s = add(%x, %w) : f32[9, 301] "
       "%c = convert(%s) {dtype = f64} : f64[9, 301] return %s, %c }",
       false},
      // Two results of two types, of which one is narrow; less than one vector; nothing at all.
      {"graph @g(%x: f32[9, 1024]) { %s = exponential(%x) : f32[9, 1024] %c = less(%x, %s) : bool[9, 1024] "
       "return %s, %c }",
       true},
      {"graph @g(%x: bf16[4, 640]) { %s = negate(%x) : bf16[4, 640] return %s }", true},
      {"graph @g(%x: f32[3]) { %s = negate(%x) : f32[3] return %s }", false},
      {"graph @g(%x: f32[0, 64]) { %s = negate(%x) : f32[0, 64] return %s }", false},
  };
  for (const char* name : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    const Target target = Target::named(name);
    if (!target.runs_here()) continue;
    for (const Case& c : cases) {
      Ran past = run(c.text, target, true, true), through = run(c.text, target, false, false),
          far = run(c.text, target, false, true);
      for (size_t i = 0; i < past.results.size(); ++i)
        for (const Ran* other : {&past, &far})
          EXPECT_EQ(
              std::memcmp(other->results[i].data(), through.results[i].data(), through.results[i].bytes()), 0)
              << c.text << " on " << name;
      EXPECT_EQ(past.assembly.find("movnt") != std::string::npos, c.past) << c.text << " on " << name;
      EXPECT_EQ(past.assembly.find("sfence") != std::string::npos, c.past) << c.text << " on " << name;
      EXPECT_EQ(through.assembly.find("movnt"), std::string::npos) << c.text << " on " << name;
    }
  }
}

// Rows that begin anywhere in a line are read by whole lines where they come from afar, unless an element
// takes long anyway.
TEST(StreamedStores, AreOfRowsReadByLines) {
  const Target target = Target::named("x86-64-v4");
  if (!target.runs_here()) return;
  auto permutes = [&](std::string_view op, std::string_view type, int64_t columns, bool far) {
    std::string text = fmt::format(
        "graph @g(%x: {2}[33, {0}], %b: {2}[{0}]) {{ %w = broadcast_in_dim(%b) {{shape = <33, {0}>, "
        "broadcast_dimensions = [1]}} : {2}[33, {0}] %s = add(%x, %w) : {2}[33, {0}] %t = {1}(%s) : {2}[33, "
        "{0}] return %t }}",
        columns, op, type);
    return run(text, target, far, far).assembly.find("vperm") != std::string::npos;
  };
  for (const char* type : {"f32", "f64"}) {
    EXPECT_TRUE(permutes("negate", type, 257, true));
    EXPECT_FALSE(permutes("negate", type, 256, true));
    EXPECT_FALSE(permutes("negate", type, 257, false));
  }
  EXPECT_FALSE(permutes("log", "f64", 257, true));  // that of float32 looks numbers up by permutations
}

// What a whole program writes past the caches: what leaves it, of kernels that touch more than they hold.
TEST(StreamedStores, AreOfLargeResultsOfTheGraph) {
  const auto cache = static_cast<int64_t>(rt::last_level_cache());
  if (cache == 0) return;  // the system does not tell, and nothing is streamed
  auto assembly_of = [&](int64_t elements, std::string_view rest, const CompileOptions& options) {
    std::string type = fmt::format("f32[{}]", elements);
    auto graph =
        Graph::parse(fmt::format("graph @g(%x: {0}) {{ %s = exponential(%x) : {0} {1} }}", type, rest));
    return compile(*graph, options)->assembly();
  };
  auto assembly = [&](int64_t elements, const CompileOptions& options = {}) {
    return assembly_of(elements, "return %s", options);
  };
  rt::ThreadPool& pool = rt::ThreadPool::instance();
  const int before = pool.num_threads();
  // 4 bytes in and 4 out: seven eighths of the cache, and one and a quarter of it for several threads.
  for (auto [threads, enough] : {std::pair(1, cache / 64 * 7), std::pair(2, cache / 32 * 5)}) {
    pool.set_num_threads(threads);
    EXPECT_NE(assembly(enough).find("movnt"), std::string::npos) << threads;
    EXPECT_EQ(assembly(enough - 64).find("movnt"), std::string::npos) << threads;
    // By another shape.
    std::string shaped =
        fmt::format("%r = reshape(%s) {{shape = <64, {0}>}} : f32[64, {0}] return %r", enough / 64);
    EXPECT_NE(assembly_of(enough / 64 * 64, shaped, {}).find("movnt"), std::string::npos) << threads;
    CompileOptions donated;
    donated.donated.insert(0);
    EXPECT_EQ(assembly(enough, donated).find("movnt"), std::string::npos) << threads;
  }
  pool.set_num_threads(before);
}

}  // namespace
}  // namespace ig::codegen
