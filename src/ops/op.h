// What an op is: one declaration, from which everything mechanical follows (Python functions, stubs, docs,
// text, generated tests). A declaration is two constants in one place: OpDecl, which is all that the text,
// the runtime and the docs need, and OpRules, which says how the op computes and transforms. Every rule is
// written, or is `none("the reason")`. Families (unary, binary, reduction, view …) supply all but the scalar
// rule.
//
// Passes and transforms know traits and rules; they name no op.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/graph.h"
#include "loop/loop.h"
#include "ops/bounds.h"

namespace ig::ops {

class Builder;
struct Op;

enum class Trait : uint32_t {
  Elementwise = 1u << 0,  // every operand and result has one shape; result[i] depends on operands[i] alone
  Commutative = 1u << 1,  // in its first two operands
  View = 1u << 2,         // moves elements, computes nothing: bits in are bits out
  Reduction = 1u << 3,    // folds the attribute `axes` away
  Contraction = 1u << 4,  // sums of products: has a kernel generator of its own
  Effect = 1u << 5,       // takes and gives a token; keeps its order, is never dropped
  Control = 1u << 6,      // has regions; the planner runs it
  Composite = 1u << 7,    // has a body that is built on demand
  Constant = 1u << 8,     // has no operands and is known at compile time
  Linear = 1u << 9,       // in all of its operands together
  Idempotent = 1u << 10,  // f(f(x)) == f(x)
  Random = 1u << 11,      // draws from a key: pure, but worth keeping whole
  Cheap = 1u << 12,       // recomputing costs less than a load
  Relabel = 1u << 13,     // a view that keeps the row-major order: no byte moves
  NamedAxis = 1u << 14,   // speaks of a batch axis by its name, so its batch rule is asked even where no
                          // operand is batched
  Detached = 1u << 15,    // its results are constants to derivatives, whatever they are made of
  Prepares = 1u << 16,    // a composite that begins with work on some operands alone (it factors a matrix):
                          // where these are known before the others, it is opened and that work is kept
  Product = 1u << 17,     // of matrices: many rows of the first one are computed in another way than few
};
constexpr uint32_t operator|(Trait a, Trait b) { return static_cast<uint32_t>(a) | static_cast<uint32_t>(b); }
constexpr uint32_t operator|(uint32_t a, Trait b) { return a | static_cast<uint32_t>(b); }

// How the public function of the op prepares its arguments. The primitive itself is strict.
enum class Front : uint8_t {
  None,         // no public function; other functions are built on it
  Elementwise,  // promote dtypes by the standard, let Python scalars take the arrays' dtype, broadcast shapes
  Reduction,    // (x, axis=None, keepdims=False): axis None means all; negatives count from the end
  Direct,  // operands as given (arrays or scalars), attributes as keywords; attributes named `axis`, `axes`
           // (and ending in those words) may be negative
};

// Which element types the type variable T of an op ranges over, and its tests run on.
enum class DTypeSet : uint8_t { Any, Numeric, Float, FloatComplex, Real, Integer, IntegerBool, Bool, Key };
bool contains(DTypeSet set, DType dtype);
std::vector<DType> members(DTypeSet set);
std::string_view describe(DTypeSet set);  // "a floating-point type", for errors

struct OperandSpec {
  std::string name;
  std::string doc;
  bool variadic = false;  // takes all that remain (the last one only)
  bool optional = false;
  bool spread = false;  // broadcasts to the others, aligned at the last axis
};

// One test case, in words: operand types with T for the dtype under test ("T[2, 3], i64[4]"), attributes as
// in graph text ("{axes = [1]}"), and the interval that random values are drawn from. Constant operands are
// written out: "T[3], i64[2] {0, 2}". Symbols are not allowed.
struct Sample {
  std::string operands;
  std::string attrs;
  double low = -4, high = 4;
};
struct BadSample {
  std::string operands;
  std::string attrs;
  std::string error;  // the whole summary of the error it must give, e.g. "ShapeError: add: ..."
};

// A call that programs often make: its machine code is made while the library is built. Each size above 1
// stands for any size ("f32[2, 3]" for all matrices).
struct UsualCall {
  std::vector<std::string> operands;
  Attrs attrs{};
};

// A rule, or the reason why there is none.
template <typename Fn>
class Rule {
 public:
  Rule(Fn fn) : fn_(fn) {}
  static Rule none(std::string reason) {
    Rule r(nullptr);
    r.reason_ = std::move(reason);
    return r;
  }
  explicit operator bool() const { return fn_ != nullptr; }
  Fn get() const { return fn_; }
  const std::string& reason() const { return reason_; }

 private:
  Fn fn_;
  std::string reason_;
};

// --- infer
// -----------------------------------------------------------------------------------------------------
class InferContext {
 public:
  InferContext(const Op& op, std::vector<Type> operands, const Attrs& attrs, const DimScope& scope,
               std::vector<std::vector<Type>> region_results = {}, std::vector<uint32_t> segments = {})
      : op(op),
        operands(std::move(operands)),
        attrs(attrs),
        scope(scope),
        region_results(std::move(region_results)),
        segments(std::move(segments)) {}

  const Op& op;
  std::vector<Type> operands;
  const Attrs& attrs;
  const DimScope& scope;
  std::vector<std::vector<Type>> region_results;  // result types of each region's block
  std::vector<uint32_t> segments;
  std::vector<Type> results;  // what infer fills

  const Type& operand(size_t i) const { return operands[i]; }
  size_t size() const { return operands.size(); }
  template <typename T>
  const T& get(const Attr<T>& attr) const {
    return attrs.get(attr);
  }
  void result(DType dtype, Dims dims) { results.push_back(Type::tensor(dtype, std::move(dims))); }

  // Checks that throw four-part errors whose summary starts with the op's public name.
  void require_dtype(size_t operand, DTypeSet set) const;
  void require_same_dtype(size_t a, size_t b) const;
  void require_same_shape(size_t a, size_t b) const;
  void require_rank(size_t operand, int rank) const;
  void require_equal(const Dim& a, const Dim& b, std::string_view what) const;  // decides unknowns
  void require_less_equal(const Dim& a, const Dim& b, std::string_view what) const;
  int64_t axis(int64_t value, int rank) const;  // checks 0 <= value < rank
  [[noreturn]] void fail(ErrorKind kind, std::string message, std::string why = "",
                         std::string hint = "") const;
};
using InferFn = void (*)(InferContext&);

// --- reference: the definition
// -----------------------------------------------------------------------------------
struct ReferenceContext {
  const Attrs& attrs;
  std::span<const Literal> operands;
  std::span<Literal> results;  // allocated, zero
};
using ReferenceFn = void (*)(ReferenceContext&);

// The same for ops with regions: `run` evaluates the node's region of that index; `sizes` are those of the
// graph's symbols.
struct ControlReferenceContext {
  const Node* node;
  std::span<const Literal> operands;
  const SymbolValues& sizes;
  std::function<std::vector<Literal>(size_t region, std::span<const Literal> arguments)> run;
};
using ControlReferenceFn = std::vector<Literal> (*)(ControlReferenceContext&);

// --- rules on graphs
// --------------------------------------------------------------------------------------------- A value that
// stands for this node's result, built in front of it, or null for "nothing to do".
struct SimplifyContext {
  Builder& build;
  Node* node;
  const DimScope& scope;
};
using SimplifyFn = Value (*)(SimplifyContext&);

class RegionTransforms;  // ops/regions.h: what the rules of ops with regions ask of the transform at work

// Tangents of the results; null stands for zero.
struct JvpContext {
  Builder& build;
  const Node* node;
  std::span<const Value> operands, tangents, results;
  RegionTransforms* regions = nullptr;
  // Reverse mode: what is linear in the tangents must come in nodes of its own, since those are transposed. A
  // rule whose node must give more for that builds it anew, and gives the values for the results here.
  bool split = false;
  std::vector<Value> replaced = {};
};
using JvpFn = std::vector<Value> (*)(JvpContext&);

// Of a node that is linear in the operands whose `linear` is set: cotangents of those, null for the others or
// zero.
struct TransposeContext {
  Builder& build;
  const Node* node;
  std::span<const Value> operands;  // null where linear: their values are not known
  std::span<const Value> cotangents;
  std::span<const bool> linear;
  RegionTransforms* regions = nullptr;
};
using TransposeFn = std::vector<Value> (*)(TransposeContext&);

// The driver of batching, as the rules of ops with regions see it. In a batched region every batched argument
// and result has the batch axis in front.
class BatchRegions {
 public:
  virtual ~BatchRegions() = default;
  // Which results of the region depend on the batched ones of its arguments.
  virtual std::vector<bool> reached(const Block& region, const std::vector<bool>& batched) = 0;
  // The region for these batched arguments; the results in `wanted` are batched even where nothing reaches
  // them. With `masked` it takes, before all else, which rows count (bool[size]).
  virtual std::unique_ptr<Graph> batch(const Block& region, const std::vector<bool>& batched,
                                       const std::vector<bool>& wanted, bool masked) = 0;
  // Whether anything in the region asks which rows count: loops do, for a row that does not count need not
  // ever end.
  virtual bool asks_rows(const Block& region) const = 0;
};

// Operands with their batch axis (-1: not batched); gives the results with theirs. The rule of a composite
// may give none: then it is batched by its body.
struct BatchContext {
  Builder& build;
  const Node* node;
  std::span<const Value> operands;
  std::span<const int> axes;
  Dim size;
  std::string_view axis_name = {};  // of the batch axis; "" where it has none
  Value active = nullptr;           // bool[size]: the rows whose results are wanted; null: all
  BatchRegions* regions = nullptr;
  bool flow_only = false;  // asks for the axes alone: operands are null, nothing is built, results stay empty
};
struct Batched {
  std::vector<Value> results;
  std::vector<int> axes;
};
using BatchFn = Batched (*)(BatchContext&);

// Composites: the body, on operands of these types.
struct BodyContext {
  Builder& build;
  const Attrs& attrs;
  std::span<const Value> operands;
  template <typename T>
  const T& get(const Attr<T>& attr) const {
    return attrs.get(attr);
  }
};
using BodyFn = std::vector<Value> (*)(BodyContext&);

// --- lowering to loops
// -------------------------------------------------------------------------------------------
struct ScalarContext {  // one element of an elementwise op; F16 and BF16 come widened to F32 and are rounded
                        // after
  loop::Builder& build;
  const Node* node;
  std::span<const loop::Expr> x;
  DType result;  // the dtype to give (F32 for 16-bit floats)
};
using ScalarFn = loop::Expr (*)(ScalarContext&);

// One element of any op whose result elements are expressions of operand elements. It is called while the
// consumer's loop is being built, so it may add lets and `fold` loops; fused producers are inlined through
// `at`.
class PointContext {
 public:
  virtual ~PointContext() = default;
  loop::Builder* build = nullptr;
  const Node* node = nullptr;
  uint32_t result = 0;            // which of the node's results
  std::vector<loop::Expr> index;  // of the wanted element: one I64 expression an axis
  virtual loop::Expr at(size_t operand, std::span<const loop::Expr> index) = 0;
  virtual loop::Expr size(const Dim& dim) = 0;
  // As loop::Builder::fold. Rules fold through this one, so that what `at` gives inside stays inside.
  virtual loop::Expr fold(loop::Expr extent, loop::Expr init,
                          const std::function<loop::Expr(loop::Expr i, loop::Expr acc)>& step) {
    return build->fold(extent, init, step);
  }
  loop::Expr at(size_t operand, std::initializer_list<loop::Expr> i) {
    return at(operand, std::span<const loop::Expr>(i.begin(), i.size()));
  }
  const Type& operand_type(size_t i) const { return node->operand(i)->type(); }
};
using PointFn = loop::Expr (*)(PointContext&);

// Order of summation of long folds, beside what codegen/lower_fold.cpp says of lanes: pieces are folded by
// themselves, and what they come to is folded in their order. So many roundings in a row are few, and threads
// may have a piece each. Elements of a row, and positions where each column is a fold of its own:
inline constexpr int64_t kPieceOfRow = 65536;
inline constexpr int64_t kPieceOfColumn = 1024;

// A fold over the attribute `axes`, with one or more running values (argmax keeps value and index).
struct ReduceContext {
  loop::Builder& build;
  const Node* node;
};
struct ReduceRule {
  // The running values before the first element; types as they are accumulated (F32 for 16-bit floats).
  std::vector<loop::Expr> (*init)(ReduceContext&);
  // An element (already widened) with its flat position along the reduced axes, as running values.
  std::vector<loop::Expr> (*element)(ReduceContext&, std::span<const loop::Expr> x, loop::Expr position);
  std::vector<loop::Expr> (*combine)(ReduceContext&, std::span<const loop::Expr> a,
                                     std::span<const loop::Expr> b);
  // The running values to the result's elements (in the accumulating type, before narrowing).
  std::vector<loop::Expr> (*finish)(ReduceContext&, std::span<const loop::Expr> a);
  // The lane fold, where each running value folds alone by one of the loop IR's; else combine is used lane by
  // lane.
  bool simple = true;
  loop::Reduction lanes = loop::Reduction::Add;
  bool rounds = false;  // so of floats the order of the elements shows
  // combine for less, where all that b has seen stands behind what a has; null: combine.
  std::vector<loop::Expr> (*next)(ReduceContext&, std::span<const loop::Expr> a,
                                  std::span<const loop::Expr> b) = nullptr;
};

// A whole kernel of its own, as loops: for ops whose results are not point-wise (sort, scatter, cumulative).
class NestContext {
 public:
  virtual ~NestContext() = default;
  loop::Builder* build = nullptr;
  const Node* node = nullptr;
  static constexpr uint32_t kComputed = ~uint32_t{0};  // where it is read, so that it has no buffer
  std::vector<uint32_t> operands, results;             // buffer ids
  virtual loop::Expr size(const Dim& dim) = 0;
  // An element of an operand, as it flows through kernels: a 16-bit float is an F32.
  virtual loop::Expr at(size_t operand, std::span<const loop::Expr> index) = 0;
  // Says how many independent blocks there are; `build->block()` is the index of the one to emit.
  virtual void set_blocks(const Dim& blocks) = 0;
  // Of an op that updates an operand: whether the result holds all of its elements when the kernel begins, so
  // that only the changes are left to write.
  virtual bool begins_updated() = 0;
  // The target's vector registers, and the bytes of one: what a tile of sums may take. No bits may depend on
  // it.
  struct Registers {
    int count, bytes;
  };
  virtual Registers registers() = 0;
};
using NestFn = void (*)(NestContext&);
using TakesFn = bool (*)(const Node* node, size_t operand);

// How a plan runs what is not computed by a kernel of its own rule: the ways of control flow, a fused group,
// or the same bytes under another type.
enum class Way : uint8_t { None, Cond, Switch, While, Scan, Call, Group, Relabel };

// Indices along the result's last axis from which on a point rule takes another way.
using CutsFn = std::vector<int64_t> (*)(const Node* node);

struct LowerRule {
  enum class Kind : uint8_t { None, Scalar, Point, Reduce, Nest, Control, Composite };
  Kind kind = Kind::None;
  ScalarFn scalar = nullptr;
  PointFn point = nullptr;
  CutsFn cuts = nullptr;  // where the point rule has ways
  const ReduceRule* reduce = nullptr;
  NestFn nest = nullptr;
  // The operand that the result is with some elements changed, so that the nest may be left to write these
  // alone; or -1. Of a point rule the nest is taken where that is so.
  int updates = -1;
  // Of a nest: which operands it takes element by element, each about once, so that they may be computed
  // there.
  TakesFn takes = nullptr;
  // Of an effect that ends the run where this operand is false in an element, and does nothing else; or -1.
  int condition = -1;
  Way way = Way::None;
  std::string reason = {};

  static LowerRule of_scalar(ScalarFn fn) { return {.kind = Kind::Scalar, .scalar = fn}; }
  static LowerRule of_point(PointFn fn, CutsFn cuts = nullptr) {
    return {.kind = Kind::Point, .point = fn, .cuts = cuts};
  }
  static LowerRule of_reduce(const ReduceRule* rule) { return {.kind = Kind::Reduce, .reduce = rule}; }
  static LowerRule of_nest(NestFn fn) { return {.kind = Kind::Nest, .nest = fn}; }
  // The op changes some elements of an operand: by the nest, or where `point` is given by either.
  static LowerRule of_update(int operand, NestFn fn, TakesFn takes, PointFn point = nullptr,
                             CutsFn cuts = nullptr) {
    return {.kind = point ? Kind::Point : Kind::Nest,
            .point = point,
            .cuts = cuts,
            .nest = fn,
            .updates = operand,
            .takes = takes};
  }
  static LowerRule of_control(Way way) { return {.kind = Kind::Control, .way = way}; }
  static LowerRule of_body() { return {.kind = Kind::Composite, .reason = "by its body"}; }
  static LowerRule of_check(int condition) {
    return {.condition = condition,
            .reason = "the executor calls its reference rule, or a kernel of a loop fails"};
  }
  static LowerRule none(std::string reason) { return {.kind = Kind::None, .reason = std::move(reason)}; }
};

// --- the declaration
// ---------------------------------------------------------------------------------------------
struct OpDecl {
  std::string name;      // in graph text; StableHLO's name where it has the op
  std::string python{};  // the public function ("exp"); "" for none
  std::string doc{};     // first line: what it gives; then semantics, edge cases, source
  std::vector<OperandSpec> operands{};
  std::vector<AttrSpec> attrs{};
  std::vector<std::string> segments{};  // names of operand segments, for ops with regions
  int results = 1;                      // -1: as many as infer gives
  // Of an op on many examples: how many of the first operand's axes are an example's own. Those in front are
  // axes of examples, of all operands but what is spread, and of the results. 0: it has none.
  int example_axes = 0;
  DTypeSet dtypes = DTypeSet::Any;  // of T
  uint32_t traits = 0;
  Front front = Front::Direct;
  std::string numpy{};    // a Python expression over the operand names, attributes, np and scipy:
                          // the oracle that is not ours; or "none: reason"
  std::string example{};  // a doctest line for the public function, with its output line
  std::vector<Sample> samples{};
  std::vector<BadSample> bad_samples{};
  std::vector<UsualCall> usual{};  // beside those that follow from the traits and samples
  double ulp = 0;          // stated bound of the compiled float32 result against the exact one; 0: exact
  double complex_ulp = 0;  // the same of complex operands, in units of the result's magnitude
};

struct OpRules {
  Rule<InferFn> infer;
  Rule<ReferenceFn> reference;
  LowerRule lower;
  Rule<SimplifyFn> simplify;
  // Under fast_math alone: what stands for the node with a reciprocal that many elements share; null:
  // nothing.
  SimplifyFn by_reciprocal = nullptr;
  Rule<JvpFn> jvp;
  Rule<TransposeFn> transpose;
  Rule<BatchFn> batch;
  // Of every composite. A primitive's gives the operands that its lowering is not made for (complex numbers)
  // a body of other ops, and for all others nothing.
  Rule<BodyFn> body;
  Rule<ControlReferenceFn> control_reference = Rule<ControlReferenceFn>::none("it has no regions");
  BoundsFn bounds = nullptr;    // null: of whole numbers, all that the type holds
  ImpliesFn implies = nullptr;  // null: nothing
  // Of several results, for each one the op that gives it alone of the same operands, for less and with the
  // same bits; or an empty name.
  std::vector<std::string> alone = {};
};

struct Op {
  OpDecl decl;
  OpRules rules;
  OpId id{};  // set by the table
  bool has(Trait trait) const { return (decl.traits & static_cast<uint32_t>(trait)) != 0; }
  const std::string& public_name() const { return decl.python.empty() ? decl.name : decl.python; }
};

}  // namespace ig::ops
