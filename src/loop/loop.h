// The loop IR: what a kernel is before it is machine code. A Function is a list of statements (loops, stores,
// local variables) over pure scalar expressions. Ops state their rules in it, code generation composes it,
// and codegen/llvm turns it into vectors.
//
// How to read it:
//  * An Expr is immutable and typed by a DType; Bool is one bit in a register and a byte in memory; index
//  expressions
//    are I64. F16 and BF16 values are only loaded, stored and converted: arithmetic happens in F32.
//  * Expressions are evaluated where the statement that holds them runs. A `let` evaluates once, and may be
//  used by
//    the statements behind it in the same block.
//  * `vector_for(begin, end, lanes)` runs its body for `lanes` indices at a time, statement by statement; the
//  last
//    group is masked (inactive lanes neither load, store nor change locals), so body and tail compute the
//    same bits. Loops inside a vector loop must have uniform bounds. Only one loop of a nest is a vector
//    loop.
//  * A local declared with `lanes` > 1 holds one value for each lane of the vector loop of that width in
//  which it is
//    used; outside, `reduce_lanes` folds it by a fixed binary tree (lane i with lane i + n/2), so the bits do
//    not depend on the host. Local arrays are indexed by uniform expressions; small ones indexed by constants
//    after unrolling live in registers.
//  * Buffers are row-major and contiguous, indexed by a flat element offset; codegen finds from the affine
//  form of
//    the offset in the vector variable whether a load is contiguous, a broadcast, strided, or a gather.
//  * A complex number is a pair of reals. Expressions of type C64 and C128 are made of loads and of
//    `complex(re, im)`; every operator on them is written out on the parts as it is built, so code generation
//    knows no complex arithmetic, and parts that are not used are not computed. In memory the parts stand
//    side by side. A local of complex type is two locals, the second for the imaginary part.
//  * Floating point is strict: no contraction or reassociation unless the expression is an explicit `fma`.
//    What `fast_math` allows is written out while the function is built, so its text and its hash tell it.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/dim.h"
#include "support/dtype.h"
#include "support/fast_math.h"
#include "support/hash.h"

namespace ig::loop {

enum class Op : uint8_t {
  Const,    // bits
  Var,      // a loop variable or a let, by id
  Size,     // a size parameter of the kernel, by position
  Local,    // reads local `id` at index a (null for a plain local)
  Load,     // reads buffer `id` at flat element offset a
  Scratch,  // (unused as a value; reserved)
  // a, b of one type
  Add,
  Sub,
  Mul,
  Div,
  Rem,  // integers wrap; Div truncates and is defined only for a nonzero divisor (rules guard it)
  And,
  Or,
  Xor,
  Shl,
  AShr,
  LShr,  // shift amounts below the width
  Eq,
  Ne,
  Lt,
  Le,
  Gt,
  Ge,  // to Bool; float comparisons are ordered except Ne; Lt… signed or not by dtype
  Neg,
  Not,
  Abs,  // Not: bitwise, logical for Bool
  Sqrt,
  Floor,
  Ceil,
  Trunc,
  RoundEven,
  Popcount,
  CountLeadingZeros,
  Fma,          // a * b + c, rounded once (on a target without fma: multiply, then add)
  ProductRest,  // a * b - c, where c is a * b, rounded: exactly what that lacks, where nothing is denormal
  Scale,   // a * 2^floor(b), rounded once; c is the same, spelled for targets that have no instruction for it
  Select,  // a ? b : c; both arms are evaluated
  SelectLazy,  // a ? b : c, where neither arm (both pure) is evaluated unless a lane of the group takes it
  SelectRare,  // a ? b : c, where b is pure and computed lane by lane, only for the (few) lanes where a holds
  Convert,     // numeric: float to int saturates, NaN to 0; to Bool is != 0
  Lookup,      // of the table's entries (F32) the one that the low four bits of a (I32) name
  Bitcast,     // same width
  ReduceLanes,  // folds a local with lanes; `reduction` says how
  Real,
  Imag,     // a part of the complex a
  Complex,  // of the parts a and b
};

enum class Reduction : uint8_t { Add, Mul, Min, Max, And, Or, Xor };

struct ExprNode;
class Builder;

// Constants that lanes choose from, each its own: as many as one register of 64 bytes holds, so that a
// permutation of it finds them all at once.
using Table = std::array<float, 16>;

// A handle with arithmetic. Both operands of an operator have one dtype, except that plain numbers take the
// other's.
class Expr {
 public:
  Expr() = default;
  Expr(const ExprNode* node, Builder* builder) : node_(node), builder_(builder) {}
  const ExprNode* node() const { return node_; }
  const ExprNode* operator->() const { return node_; }
  Builder& builder() const { return *builder_; }
  DType type() const;
  explicit operator bool() const { return node_ != nullptr; }

 private:
  const ExprNode* node_ = nullptr;
  Builder* builder_ = nullptr;
};

struct ExprNode {
  Op op;
  DType type;
  Reduction reduction = Reduction::Add;
  uint32_t id = 0;            // Var, Size, Local, Load: which
  uint64_t bits[2] = {0, 0};  // Const: the element's own bits in bits[0], sign-extended for signed integers;
                              // Lookup: where its table stands
  Expr a, b, c;               // a Var that is a let holds its value in `a`, for analysis

  const Table& table() const { return *std::bit_cast<const Table*>(bits[0]); }
};
inline DType Expr::type() const { return node_->type; }

Expr operator+(Expr a, Expr b);
Expr operator-(Expr a, Expr b);
Expr operator*(Expr a, Expr b);
Expr operator/(Expr a, Expr b);
Expr operator%(Expr a, Expr b);
Expr operator&(Expr a, Expr b);
Expr operator|(Expr a, Expr b);
Expr operator^(Expr a, Expr b);
Expr operator-(Expr a);
Expr operator~(Expr a);
Expr operator==(Expr a, Expr b);
Expr operator!=(Expr a, Expr b);
Expr operator<(Expr a, Expr b);
Expr operator<=(Expr a, Expr b);
Expr operator>(Expr a, Expr b);
Expr operator>=(Expr a, Expr b);
#define IG_LOOP_MIXED(OP)             \
  Expr operator OP(Expr a, double b); \
  Expr operator OP(double a, Expr b);
IG_LOOP_MIXED(+)
IG_LOOP_MIXED(-)
IG_LOOP_MIXED(*)
IG_LOOP_MIXED(/)
IG_LOOP_MIXED(<)
IG_LOOP_MIXED(<=)
IG_LOOP_MIXED(>)
IG_LOOP_MIXED(>=)
IG_LOOP_MIXED(==)
IG_LOOP_MIXED(!=)
#undef IG_LOOP_MIXED
Expr fma(Expr a, Expr b, Expr c);
Expr product_rest(Expr a, Expr b, Expr rounded);  // a * b - rounded, which is a * b
Expr scale(Expr a, Expr power, Expr spelled);     // a * 2^floor(power), which `spelled` must be, to the bit
Expr select(Expr condition, Expr then, Expr otherwise);
Expr select_lazy(Expr condition, Expr then, Expr otherwise);  // of ways that whole arrays take
Expr select_rare(Expr condition, Expr rare, Expr common);  // slow paths that should cost nothing unless taken
Expr sqrt(Expr a);
Expr floor(Expr a);
Expr ceil(Expr a);
Expr trunc(Expr a);
Expr round_even(Expr a);
Expr abs(Expr a);
Expr shift_left(Expr a, Expr b);
Expr shift_right(Expr a, Expr b);  // arithmetic
Expr shift_right_logical(Expr a, Expr b);
Expr popcount(Expr a);
Expr count_leading_zeros(Expr a);
Expr convert(Expr a, DType to);
Expr bitcast(Expr a, DType to);
Expr lookup(const Table& table, Expr index);  // the table outlives every function that looks into it
Expr real(Expr a);                            // of a complex number; a real one is its own real part
Expr imag(Expr a);
Expr complex(Expr re, Expr im);
// Of indices; `or equal` lets ranges decide for one that may reach the bound.
Expr lesser(Expr a, Expr b);  // a <= b ? a : b
Expr greater(Expr a, Expr b);

struct Stmt;
using Stmts = std::vector<std::unique_ptr<Stmt>>;

struct Stmt {
  enum class Kind : uint8_t {
    For,        // serial: var from begin to end by 1
    VectorFor,  // `lanes` at a time, the last group masked; `by_lines`: what it reads may begin anywhere in
                // memory, so whole lines are read and put together in registers
    Unrolled,   // begin and end are constants; the body is emitted for each index
    If,         // condition uniform
    Let,        // var = value
    Assign,     // local[index] = value
    Store,      // buffer[index] = value; `streamed`: past the caches, by whole vectors of a vector loop
    Fail,       // writes (id, value) into the error word and returns 1, where the (uniform) condition holds
    Transpose,  // id[index + c * to_stride + r] = from[f + r * from_stride + c] for r below `begin`, c below
                // `end`, where `value` is the load from[f]; the two buffers are of one dtype and do not
                // overlap
    LoadColumns,  // local[c] = from[f + lane * from_stride + c] for each lane and vector c of it, where
                  // `value` is the load from[f]; lanes from `begin` on repeat the one before
    Settle,       // local[index] is worked out before what stands behind this begins, whatever a scheduler of
                  // instructions thinks of it: what is put off keeps registers
    Prefetch,  // asks the cache for buffer[index] and, in a vector loop, for the rest of the group; an index
               // outside of the buffer does no harm
  };
  Kind kind;
  uint32_t id = 0;  // the loop variable, the let, the local, the buffer, the failing node's id
  int lanes = 1;
  bool streamed = false;
  bool by_lines = false;
  Expr begin, end;  // loops; `begin` is the condition of If and Fail
  Expr index, value;
  Expr from_stride, to_stride;  // Transpose, LoadColumns
  Stmts body, otherwise;
};

struct Local {
  DType type;
  int lanes = 1;
  int64_t count = 1;  // elements of an array; constant
  std::string name;
  bool paired = false;  // the real part of a complex local: the next one is the imaginary part
  bool loose = false;   // nobody reads lanes that an assignment in a masked group left out: they may change
};

struct Buffer {
  DType type;
  bool writable = false;
  std::string name;
  bool apart = false;  // nothing that the function writes lies in its memory: it is the same at all times
};

// A value that one op gives, as a formula of its operands. A kernel that has the same formula many times may
// call it in place of having its code as often.
struct Formula {
  const ExprNode* value;
  std::vector<const ExprNode*> operands;
};

// A kernel: `entry(args, begin, end)` runs `body` with `block_var` going from begin to end.
struct Function {
  std::string name = "kernel";
  std::vector<Buffer> buffers;     // in KernelArgs order: inputs, then outputs
  std::vector<std::string> sizes;  // the size parameters ("n", "b*t"), in KernelArgs::dims order
  std::vector<Local> locals;
  std::vector<Buffer> scratch;        // per-thread temporary buffers; their ids follow those of `buffers`
  std::vector<Dim> scratch_elements;  // how many elements each has, over `sizes`; in KernelArgs::scratch they
                                      // stand one behind the other, each start rounded up to 64 bytes
  uint32_t block_var = 0;
  bool one_block = false;  // there is no other than block 0, whatever the sizes
  uint32_t variables = 0;  // loop variables and lets in use: ids are below this
  Stmts body;
  std::deque<ExprNode> expressions;  // owns every ExprNode
  std::vector<Formula> formulas;     // that its values are, where the lowering says so: no part of its text

  std::string str() const;  // readable pseudo-code, stable: the basis of golden tests and of hash()
  Hash128 hash() const;     // of str(), names of buffers and the function left out
};

// Builds a Function. Statements go to the innermost open block.
class Builder {
 public:
  explicit Builder(std::string name);
  // What rules of ops may make use of (`finite`), and how often they did.
  FastMath fast_math{};
  int finite_uses = 0;
  Function& function() { return *function_; }
  std::unique_ptr<Function> finish();

  uint32_t add_buffer(DType type, bool writable, std::string name);
  uint32_t add_scratch(DType type, Dim elements, std::string name);  // after all buffers are added
  Expr size(const Dim& dim);  // an index expression of a symbolic size; adds the parameters it needs
  Expr block();               // the block variable

  Expr constant(DType type, double value);
  Expr constant_int(DType type, int64_t value);
  Expr constant_bits(DType type, uint64_t bits);
  Expr index(int64_t value) { return constant_int(DType::I64, value); }

  Expr load(uint32_t buffer, Expr offset);
  void store(uint32_t buffer, Expr offset, Expr value);
  // The same for what nobody reads soon, in a vector loop each of whose groups begins at a multiple of the
  // lanes; the buffer begins at a multiple of 64 bytes.
  void stream(uint32_t buffer, Expr offset, Expr value);

  void prefetch(uint32_t buffer, Expr offset);

  // Copies rows x columns elements of a matrix into columns x rows, through registers; outside of vector
  // loops.
  struct Matrix {
    uint32_t buffer;
    Expr offset, stride;  // of the first element, and from row to row
  };
  void transpose(const Matrix& to, const Matrix& from, Expr rows, Expr columns);
  // Reads rows of a matrix, as many as the vector loop around has lanes, into the local's columns: as many
  // vectors as it has lanes, which is a square, or a power of two of them that fills 128 bits of a row at
  // least. Of the rows `rows` are there, one at least; others repeat the last.
  void load_columns(uint32_t local, const Matrix& from, Expr rows);

  uint32_t local(DType type, int lanes = 1, int64_t count = 1, std::string name = "t", bool loose = false);
  Expr read(uint32_t local, Expr index = {});
  void assign(uint32_t local, Expr value, Expr index = {});
  void settle(uint32_t local, Expr index = {});
  Expr reduce_lanes(uint32_t local, Reduction reduction, Expr index = {});
  Expr let(Expr value);  // evaluates here, once

  using Body = std::function<void(Expr)>;
  void serial_for(Expr begin, Expr end, const Body& body);
  void vector_for(Expr begin, Expr end, int lanes, const Body& body, bool by_lines = false);
  void unrolled(int64_t begin, int64_t end, const Body& body);
  void if_then(Expr uniform_condition, const std::function<void()>& then,
               const std::function<void()>& otherwise = {});
  void fail_if(Expr uniform_condition, uint32_t node, Expr value);

  // init; for i in [0, extent): acc = step(i, acc). The accumulator has the lanes of the enclosing vector
  // loop.
  Expr fold(Expr extent, Expr init, const std::function<Expr(Expr i, Expr acc)>& step);
  int enclosing_lanes() const;  // 1 outside a vector loop

  Expr make(ExprNode node);  // interns: the same node twice is one object (loads and local reads excepted)

 private:
  struct Interner;
  Expr leaf(ExprNode node);
  // Of a local that is real, or one part of a complex one.
  Expr read_part(uint32_t local, Expr index);
  void assign_part(uint32_t local, Expr value, Expr index);
  Expr reduce_part(uint32_t local, DType type, Reduction reduction, Expr index);
  uint32_t size_id(std::string_view formula);
  Stmt& push(Stmt::Kind kind);
  void body_of(Stmts& into, int lanes, const std::function<void()>& fill);

  std::unique_ptr<Function> function_;
  std::vector<Stmts*> open_;  // innermost last; statements are heap objects, so the pointers stay good
  std::vector<int> lanes_;
  std::shared_ptr<Interner> interner_;
};

// Affine form of an offset in one variable: offset = stride * var + rest, where stride is a constant, or
// nullopt. Lets are looked through; a read of a local counts as depending on every variable, since its value
// is not in sight.
std::optional<int64_t> stride_in(Expr offset, uint32_t var);
// The values of the variable from which on a comparison of affine forms of it, with constant offsets, has
// another answer, of all the function's comparisons; in any order, and some more than once.
std::vector<int64_t> turns_of_comparisons(const Function& f, uint32_t var);
bool depends_on(Expr e, uint32_t var);
// What statements compute: operations on elements, each that is shared once, and no addresses.
struct Work {
  int64_t operations = 0;
  int64_t moves = 0;  // loads and stores
  int bytes = 1;      // of the widest element
};
Work work_of(const Stmts& statements);

// Vector maths (math.cpp): each with its ULP bound, measured over all float32 inputs by a test, the same code
// for body and tail. Domain edges as C's <math.h>. The argument's type is F32 or F64.
namespace math {
Expr exp(Expr x);
Expr exp2(Expr x);
Expr expm1(Expr x);
Expr log(Expr x);
Expr log2(Expr x);
Expr log10(Expr x);
Expr log1p(Expr x);
Expr sin(Expr x);
Expr cos(Expr x);
Expr tan(Expr x);
Expr asin(Expr x);
Expr acos(Expr x);
Expr atan(Expr x);
Expr atan2(Expr y, Expr x);
Expr sinh(Expr x);
Expr cosh(Expr x);
Expr tanh(Expr x);
Expr asinh(Expr x);
Expr acosh(Expr x);
Expr atanh(Expr x);
Expr erf(Expr x);
Expr erfc(Expr x);
Expr erf_inv(Expr x);
Expr cbrt(Expr x);
Expr pow(Expr x, Expr y);
Expr logistic(Expr x);
Expr rsqrt(Expr x);
Expr lgamma(Expr x);
Expr digamma(Expr x);
}  // namespace math

}  // namespace ig::loop
