// Random bits: Threefry-2x32 with explicit keys (Salmon et al., "Parallel random numbers: as easy as 1, 2,
// 3", 2011). Drawing is pure: the same key gives the same bits.
//
// The counters are laid out as in JAX's partitionable threefry, so the bits are JAX's: element i (in
// row-major order) of a draw is threefry(key, (high word of i, low word of i)), whose two output words are
// joined by exclusive or for 32 bits and fewer, and put side by side (first word high) for 64. random_split's
// key i is both words of that block; random_fold_in hashes the counter (0, data).
#include "ops/random_attrs.h"

#include <cstring>

#include "ops/families/array_tools.h"
#include "ops/families/batch_rules.h"
#include "ops/families/compose.h"
#include "ops/families/families.h"
#include "ops/table.h"

namespace ig::ops {

std::vector<Op> random_composites();  // random_composites.cpp

namespace {

using namespace tools;
using loop::Expr;

constexpr int kRotations[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
constexpr uint32_t kParity = 0x1BD11BDA;

struct Words {
  uint32_t first, second;
};

Words threefry(Words key, Words counter) {
  uint32_t keys[3] = {key.first, key.second, key.first ^ key.second ^ kParity};
  uint32_t a = counter.first + keys[0], b = counter.second + keys[1];
  for (int group = 0; group < 5; ++group) {
    for (int r : kRotations[group % 2]) {
      a += b;
      b = (b << r) | (b >> (32 - r));
      b ^= a;
    }
    a += keys[(group + 1) % 3];
    b += keys[(group + 2) % 3] + static_cast<uint32_t>(group + 1);
  }
  return {a, b};
}

Words counter_of(uint64_t i) { return {static_cast<uint32_t>(i >> 32), static_cast<uint32_t>(i)}; }

Words key_at(const Literal& keys, int64_t i) {
  Words out;
  std::memcpy(&out, static_cast<const char*>(keys.data()) + i * 8, 8);
  return out;
}

void set_key(Literal& keys, int64_t i, Words value) {
  std::memcpy(static_cast<char*>(keys.mutable_data()) + i * 8, &value, 8);
}

struct WordExprs {
  Expr first, second;
};

WordExprs threefry(loop::Builder& build, WordExprs key, WordExprs counter) {
  Expr keys[3] = {key.first, key.second,
                  build.let(key.first ^ key.second ^ build.constant_bits(DType::U32, kParity))};
  Expr a = counter.first + keys[0], b = counter.second + keys[1];
  for (int group = 0; group < 5; ++group) {
    for (int r : kRotations[group % 2]) {
      a = build.let(a + b);
      Expr left = build.constant_bits(DType::U32, static_cast<uint64_t>(r));
      Expr right = build.constant_bits(DType::U32, static_cast<uint64_t>(32 - r));
      b = build.let((shift_left(b, left) | shift_right_logical(b, right)) ^ a);
    }
    a = a + keys[(group + 1) % 3];
    b = b + keys[(group + 2) % 3] + build.constant_bits(DType::U32, static_cast<uint64_t>(group + 1));
  }
  return {a, b};
}

Expr low_word(Expr wide) {
  return convert(wide & wide.builder().constant_bits(DType::U64, 0xffffffffu), DType::U32);
}
Expr high_word(Expr wide) {
  return convert(shift_right_logical(wide, wide.builder().constant_bits(DType::U64, 32)), DType::U32);
}

WordExprs key_words(loop::Builder& build, Expr key) {
  Expr wide = build.let(key.type() == DType::U64 ? key : bitcast(key, DType::U64));
  return {build.let(low_word(wide)), build.let(high_word(wide))};
}

WordExprs counter_words(loop::Builder& build, Expr flat) {
  Expr wide = build.let(bitcast(flat, DType::U64));
  return {high_word(wide), low_word(wide)};
}

Expr join(Expr high, Expr low) {
  loop::Builder& build = high.builder();
  return shift_left(convert(high, DType::U64), build.constant_bits(DType::U64, 32)) |
         convert(low, DType::U64);
}

// Kernels compute with keys as u64.
Expr make_key(WordExprs words) { return join(words.second, words.first); }

void require_key(InferContext& c) { c.require_dtype(0, DTypeSet::Key); }

// --- random_key
// --------------------------------------------------------------------------------------------------------
void infer_key(InferContext& c) {
  c.require_dtype(0, DTypeSet::Integer);
  c.result(DType::Key, c.operand(0).dims);
}

void reference_key(ReferenceContext& c) {
  for (int64_t i = 0; i < c.operands[0].elements(); ++i)
    set_key(c.results[0], i, counter_of(static_cast<uint64_t>(c.operands[0].as_int(i))));
}

Expr point_key(PointContext& c) {
  Expr seed = c.at(0, c.index);
  // 32-bit and narrower seeds are widened by their value; the words are the high and the low half.
  Expr wide = seed.type() == DType::U64 ? seed : bitcast(narrow(seed, DType::I64), DType::U64);
  return make_key({high_word(wide), low_word(wide)});
}

// --- random_split
// ------------------------------------------------------------------------------------------------------
void infer_split(InferContext& c) {
  require_key(c);
  if (c.get(kCount) < 0)
    c.fail(ErrorKind::Value, fmt::format("n is {}, but it counts keys", c.get(kCount)),
           "there is no negative number of keys", "give 0 or more");
  Dims dims = c.operand(0).dims;
  dims.push_back(c.get(kCount));
  c.result(DType::Key, dims);
}

void reference_split(ReferenceContext& c) {
  int64_t n = c.attrs.get(kCount);
  for (int64_t i = 0; i < c.results[0].elements(); ++i)
    set_key(c.results[0], i,
            threefry(key_at(c.operands[0], i / n), counter_of(static_cast<uint64_t>(i % n))));
}

Expr point_split(PointContext& c) {
  std::vector<Expr> of(c.index.begin(), c.index.end() - 1);
  loop::Builder& build = *c.build;
  return make_key(threefry(build, key_words(build, c.at(0, of)), counter_words(build, c.index.back())));
}

// --- random_fold_in
// ----------------------------------------------------------------------------------------------------
void infer_fold_in(InferContext& c) {
  require_key(c);
  c.require_dtype(1, DTypeSet::Integer);
  c.require_same_shape(0, 1);
  c.result(DType::Key, c.operand(0).dims);
}

void reference_fold_in(ReferenceContext& c) {
  for (int64_t i = 0; i < c.results[0].elements(); ++i)
    set_key(c.results[0], i,
            threefry(key_at(c.operands[0], i), {0, static_cast<uint32_t>(c.operands[1].as_int(i))}));
}

Expr point_fold_in(PointContext& c) {
  loop::Builder& build = *c.build;
  Expr data = c.at(1, c.index);
  Expr wide = data.type() == DType::U64 ? data : bitcast(narrow(data, DType::I64), DType::U64);
  return make_key(threefry(build, key_words(build, c.at(0, c.index)),
                           {build.constant_bits(DType::U32, 0), low_word(wide)}));
}

// --- random_bits
// -------------------------------------------------------------------------------------------------------
void infer_bits(InferContext& c) {
  require_key(c);
  DType dtype = c.get(kDType);
  if (!is_unsigned_int(dtype))
    c.fail(ErrorKind::Type, fmt::format("bits are drawn as unsigned integers, not as {}", name(dtype)),
           "all bits are drawn, and so are all numbers of the type",
           "draw u32 or u64, or use random_uniform or randint");
  for (const Dim& d : c.get(kShape)) c.require_less_equal(0, d, "the sizes of the result");
  Dims dims = c.operand(0).dims;
  dims.insert(dims.end(), c.get(kShape).begin(), c.get(kShape).end());
  c.result(dtype, dims);
}

void reference_bits(ReferenceContext& c) {
  int64_t keys = c.operands[0].elements(), each = keys == 0 ? 0 : c.results[0].elements() / keys;
  for (int64_t i = 0; i < c.results[0].elements(); ++i) {
    Words block = threefry(key_at(c.operands[0], i / each), counter_of(static_cast<uint64_t>(i % each)));
    uint64_t bits = size_of(c.results[0].dtype()) == 8 ? uint64_t{block.first} << 32 | block.second
                                                       : block.first ^ block.second;
    set_whole(c.results[0], i, static_cast<int64_t>(bits));
  }
}

Expr point_bits(PointContext& c) {
  loop::Builder& build = *c.build;
  DType dtype = c.node->result()->type().dtype;
  // Each key's draw counts from 0.
  auto keys = static_cast<int64_t>(c.operand_type(0).dims.size());
  std::vector<Expr> which(c.index.begin(), c.index.begin() + keys),
      place(c.index.begin() + keys, c.index.end());
  Expr counter = row_major(place, sizes_of(c, c.node->attrs().get(kShape)), build);
  WordExprs block = threefry(build, key_words(build, c.at(0, which)), counter_words(build, counter));
  if (dtype == DType::U64) return join(block.first, block.second);
  Expr bits = block.first ^ block.second;
  if (dtype == DType::U32) return bits;
  // The low bits, exactly: masked first, so that no conversion could saturate.
  uint64_t mask = dtype == DType::U8 ? 0xff : 0xffff;
  return convert(bits & build.constant_bits(DType::U32, mask), dtype);
}

struct RandomOp {
  std::string name, doc;
  std::vector<OperandSpec> operands;
  std::vector<AttrSpec> attrs;
  std::vector<Sample> samples;
  std::vector<BadSample> bad;
  InferFn infer;
  ReferenceFn reference;
  PointFn point;
};

Op random_op(RandomOp r) {
  return {.decl = {.name = r.name,
                   .python = r.name,
                   .doc = std::move(r.doc),
                   .operands = std::move(r.operands),
                   .attrs = std::move(r.attrs),
                   .dtypes = DTypeSet::Key,
                   .traits = static_cast<uint32_t>(Trait::Random),
                   .numpy = "none: NumPy has no threefry; known answers are checked in the C++ tests",
                   .example = "",
                   .samples = std::move(r.samples),
                   .bad_samples = std::move(r.bad)},
          .rules = {.infer = r.infer,
                    .reference = r.reference,
                    .lower = LowerRule::of_point(r.point),
                    .simplify = no_rule("random bits have no algebra"),
                    .jvp = discrete(),
                    .transpose = discrete(),
                    .batch = batch_in_front,
                    .body = no_body()},
          .id = {}};
}

}  // namespace

std::vector<Op> random_ops() {
  std::vector<Op> ops;
  ops.push_back(random_op({.name = "random_key",
                           .doc = "A key for each integer seed: its high and low 32 bits.",
                           .operands = {{"seed", "Integers."}},
                           .attrs = {},
                           .samples = {{"i64[] {0}", "{}"},
                                       {"i64[] {-1}", "{}"},
                                       {"i32[3] {0, 42, -7}", "{}"},
                                       {"u64[2] {1, 4294967296}", "{}"},
                                       {"u8[1] {200}", "{}"},
                                       {"i64[0] {}", "{}"}},
                           .bad = {},
                           .infer = infer_key,
                           .reference = reference_key,
                           .point = point_key}));
  ops.back().decl.usual = {{{"i64[]"}}};
  ops.push_back(
      random_op({.name = "random_split",
                 .doc = "`n` new keys from each key, independent of each other and of the old one.",
                 .operands = {{"key", "The keys."}},
                 .attrs = {kCount},
                 .samples = {{"key[]", "{n = 2}"},
                             {"key[]", "{n = 5}"},
                             {"key[3]", "{n = 2}"},
                             {"key[2, 2]", "{n = 1}"},
                             {"key[]", "{n = 0}"},
                             {"key[0]", "{n = 2}"}},
                 .bad = {{"key[]", "{n = -1}", "ValueError: random_split: n is -1, but it counts keys"}},
                 .infer = infer_split,
                 .reference = reference_split,
                 .point = point_split}));
  for (int64_t n : {2, 3, 4}) ops.back().decl.usual.push_back({{"key[]"}, make_attrs({kCount % n})});
  ops.push_back(
      random_op({.name = "random_fold_in",
                 .doc = "A new key from a key and an integer (its low 32 bits), such as a step number.",
                 .operands = {{"key", "The keys."}, {"data", "Integers of the same shape."}},
                 .attrs = {},
                 .samples = {{"key[], i64[] {7}", "{}"},
                             {"key[], i32[] {-1}", "{}"},
                             {"key[3], u32[3] {0, 1, 2}", "{}"},
                             {"key[0], i64[0] {}", "{}"}},
                 .bad = {},
                 .infer = infer_fold_in,
                 .reference = reference_fold_in,
                 .point = point_fold_in}));
  ops.push_back(random_op(
      {.name = "random_bits",
       .doc = "Uniform random bits as unsigned integers: a draw of this shape for each key.\nElement i "
              "of a draw, in row-major order, depends on its key and i alone, so a draw of another "
              "shape starts with the same bits.",
       .operands = {{"key", "The keys."}},
       .attrs = {kShape, kDType},
       .samples = {{"key[]", "{shape = [], dtype = u32}"},
                   {"key[]", "{shape = [5], dtype = u32}"},
                   {"key[]", "{shape = [3, 7], dtype = u64}"},
                   {"key[]", "{shape = [40], dtype = u8}"},
                   {"key[]", "{shape = [2, 3, 4], dtype = u16}"},
                   {"key[]", "{shape = [0], dtype = u32}"},
                   {"key[3]", "{shape = [2, 2], dtype = u32}"},
                   {"key[2, 2]", "{shape = [], dtype = u64}"},
                   {"key[0]", "{shape = [3], dtype = u8}"}},
       .bad = {{"key[]", "{shape = [2], dtype = i32}",
                "TypeError: random_bits: bits are drawn as unsigned integers, not as i32"}},
       .infer = infer_bits,
       .reference = reference_bits,
       .point = point_bits}));
  for (DType dtype : {DType::U32, DType::U64})
    ops.back().decl.usual.push_back({{"key[]"}, make_attrs({kShape % Dims{2}, kDType % dtype})});
  for (Op& op : random_composites()) ops.push_back(std::move(op));
  give_examples(
      ops, {
               {"random_key", "ig.random_bits(ig.random_key(7), shape=(2,), dtype=ig.uint32)"},
               {"random_split", "ig.random_split(ig.random_key(7), n=2).shape"},
               {"random_fold_in", "ig.random_uniform(ig.random_fold_in(ig.random_key(7), 3), shape=(2,))"},
               {"random_bits", "ig.random_bits(ig.random_key(7), shape=(2,), dtype=ig.uint32)"},
               {"random_uniform", "ig.random_uniform(ig.random_key(7), shape=(2,))"},
               {"random_normal", "ig.random_normal(ig.random_key(7), shape=(2,))"},
               {"random_bernoulli", "ig.random_bernoulli(ig.random_key(7), shape=(4,))"},
               {"randint", "ig.randint(ig.random_key(7), shape=(4,), low=0, high=10)"},
               {"random_permutation", "ig.random_permutation(ig.random_key(7), n=5)"},
           });
  return ops;
}

}  // namespace ig::ops
