// From one loop function to one LLVM function. Inside a vector loop values are LLVM vectors of the loop's
// lanes, or stay scalar while they are the same in all lanes; an index that moves by a constant from lane to
// lane stays a scalar and a stride, so that most address arithmetic never becomes a vector. Split by subject:
// emit.cpp (function and statements), emit_expr.cpp (arithmetic), emit_memory.cpp (loads, stores, locals),
// emit_steps.cpp (indices at known distances), emit_bounds.cpp (indices moved into range), emit_runs.cpp
// (indices taken apart), emit_groups.cpp (rows that begin anywhere), emit_lines.cpp (loops over rows that
// begin anywhere in a line), emit_stages.cpp (loops with long chains), emit_places.cpp (addresses in
// innermost loops), emit_transpose.cpp (matrices), emit_convert.cpp (dtypes), emit_registers.cpp
// (instructions on whole registers).
//
// Aliasing: no pointer is marked noalias. An input and an output may be one buffer (in place), and only the
// order of loads and stores in the function makes that right, so LLVM must keep that order. The price is
// small: locals never escape, and hot inner loops work on them. But scratch memory lies in no buffer, so what
// is carried there from turn to turn may stay in a register; and of a buffer that the function says lies
// apart, single elements are loaded as what never changes, and so once for a loop.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/IntrinsicsX86.h>
#include <llvm/IR/MDBuilder.h>
#include <llvm/IR/Module.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "codegen/target.h"
#include "loop/loop.h"

namespace ig::codegen {

// Indices wrap, as those of the code do.
inline int64_t wrapped_sum(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
}
inline int64_t wrapped_product(int64_t a, int64_t b) {
  return static_cast<int64_t>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
}

class Emitter {
 public:
  Emitter(const loop::Function& function, const Target& target, llvm::Module& module);
  void emit(std::string_view symbol);

  // Whether a place is moved into range, in a sum few terms deep (emit_bounds.cpp).
  static bool has_bounds(const loop::ExprNode* place, int depth = 4);

 private:
  using Expr = loop::Expr;
  using Node = loop::ExprNode;

  // With a stride, the value in lane k is `v + stride * k`, and v is a scalar i64; else v is a vector, or a
  // scalar that holds for all lanes. A vector of indices at known distances, `base + (*steps)[k]` in lane k,
  // has these as well.
  struct Value {
    llvm::Value* v = nullptr;
    int64_t stride = 0;
    llvm::Value* base = nullptr;
    const std::vector<int64_t>* steps = nullptr;
    bool uniform() const { return stride == 0 && !v->getType()->isVectorTy(); }
    // Whether each lane stands at a known distance from a first number, and which (emit_steps.cpp).
    bool at_known_steps() const { return steps != nullptr || !v->getType()->isVectorTy(); }
    llvm::Value* first() const { return steps != nullptr ? base : v; }
    int64_t step(size_t lane) const {
      return steps != nullptr ? (*steps)[lane] : wrapped_product(stride, static_cast<int64_t>(lane));
    }
  };

  // What is known in a block. Expressions that read memory or locals are remembered within one statement
  // only.
  struct Scope {
    std::unordered_map<const Node*, Value> pure, here;
    bool same_statement = false;
  };

  // emit.cpp
  void statements(const loop::Stmts& stmts);
  void statement(const loop::Stmt& s);
  void serial(const loop::Stmt& s);
  void vector(const loop::Stmt& s);
  void unrolled(const loop::Stmt& s);
  bool is_long(const loop::Stmt& s) const;
  int64_t lanes_of_rest(const loop::Stmt& s) const;
  void conditional(const loop::Stmt& s);
  void fail(const loop::Stmt& s);
  void body(const loop::Stmts& stmts, uint32_t var, Value value);
  // for i = begin; i < end; i += step, tested once before the first turn unless it is sure to happen. What
  // `opening` emits stands between that test and the first turn.
  void counted(llvm::Value* begin, llvm::Value* end, int64_t step, bool sure,
               const std::function<void(llvm::Value*)>& fill, const loop::Stmt* turns = nullptr,
               const std::function<void()>& opening = nullptr);
  // Whether sums of products are the work: their register tiles make the code long.
  bool multiplies() const { return std::ranges::any_of(f_.locals, &loop::Local::loose); }
  void emit_locals();
  void emit_arguments();
  void note_scratch();
  llvm::Value* emit_dim(const Dim& dim);

  // emit_expr.cpp
  Value eval(const Expr& e) { return eval(e.node()); }
  Value eval(const Node* n);
  Value remember(const Node* n, Value value);
  Value compute(const Node* n);
  llvm::Value* scalar(const Expr& e);  // of a uniform expression
  llvm::Value* wide(Value value);      // as a vector of the loop's lanes (or the scalar outside of one)
  bool impure(const Node* n);
  Value constant(const Node& n);
  Value binary(const Node& n);
  Value affine(const Node& n, Value a, Value b);  // nothing (v null) where the result is not affine
  // emit_steps.cpp; of nothing (v null) where the distances of the lanes are not known
  Value divided(const Node& n, Value a, Value b);
  Value within_multiples(const Node& n, Value a, llvm::ConstantInt* by);
  Value stepped(const Node& n, Value a, Value b);
  Value chosen_steps(const Node& n, const Value& condition, const Value& a, const Value& b);
  Value with_steps(llvm::Value* base, std::vector<int64_t> steps);
  bool natural(const Node* n);
  std::optional<int64_t> least(const Node* n);
  std::optional<int64_t> residue(const Node* n, int64_t of);
  bool reach_over_none(const Node* walk, int64_t length);
  std::optional<int64_t> most(const Node* n);
  size_t register_lanes(DType type) const;
  bool lie_near(const std::vector<int64_t>& steps, DType type) const;
  llvm::Value* load_steps(uint32_t buffer, DType type, const Value& offset);
  // emit_runs.cpp
  struct Runs {
    const Node* walk = nullptr;  // the number that is taken apart
    int64_t length = 0;
  };
  bool find_runs(const Node* n, Runs& runs);
  Value within_run(const Node* n, const Runs& runs, llvm::Value* number, llvm::Value* rest);
  bool loads_by_steps(DType type, const Node* offset, const Runs& runs);
  llvm::Value* load_runs(uint32_t buffer, DType type, const Node* offset);
  // emit_bounds.cpp
  struct Holds {
    llvm::Value *all = nullptr, *none = nullptr;
  };
  struct Arm {
    llvm::Value* value;
    llvm::BasicBlock* from;
  };
  Value without_bounds(const Node* place, llvm::Value*& within);
  Holds holds(const Node* condition);
  Arm in_arm(llvm::BasicBlock* at, llvm::BasicBlock* after, const std::function<llvm::Value*()>& make);
  llvm::Value* joined_arms(llvm::BasicBlock* after, std::initializer_list<Arm> arms);
  llvm::MDNode* usually() {
    return llvm::MDBuilder(b_.getContext()).createBranchWeights(1000, 1);
  }  // the first way
  llvm::Value* select_within(const Node& n);
  llvm::Value* load_within(uint32_t buffer, DType type, const Node* place,
                           const std::function<llvm::Value*()>& lane_by_lane);
  Value compare_affine(const Node& n, Value a, Value b);
  bool divides_natural(const Node& n, llvm::Value* b);
  llvm::Value* arithmetic(const Node& n, llvm::Value* a, llvm::Value* b);
  llvm::Value* compare(const Node& n, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide(loop::Op op, DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide_plainly(loop::Op op, DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide_by_number(DType type, llvm::Value* a, llvm::Value* b);  // emit_divide.cpp
  llvm::Value* divide_by_whole(loop::Op op, DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* divide_long(loop::Op op, DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* float_remainder(DType type, llvm::Value* a, llvm::Value* b);
  llvm::Value* unary(const Node& n, llvm::Value* a);

  // emit_registers.cpp
  llvm::Value* by_registers(std::span<llvm::Value* const> vectors, unsigned in_register,
                            llvm::function_ref<llvm::Value*(std::span<llvm::Value* const>)> each);
  Value scale(const Node& n);
  llvm::Value* lookup(const loop::Table& table, llvm::Value* index);
  llvm::Value* lookup_in_registers(const loop::Table& table, llvm::Value* index);
  llvm::Value* lookup_in_memory(const loop::Table& table, llvm::Value* index);

  llvm::Value* fused(llvm::Value* a, llvm::Value* b, llvm::Value* c);
  llvm::Value* product_rest(llvm::Value* a, llvm::Value* b, llvm::Value* rounded);
  Value select(const Node& n);
  Value select_lazy(const Node& n);
  Value select_rare(const Node& n);
  llvm::Value* rare_value(const Node* n, const std::vector<const Node*>& leaves);
  void frontier(const Node* n, std::vector<const Node*>& leaves, std::unordered_map<const Node*, bool>& seen);
  Value* known(const Node* n);

  // emit_memory.cpp
  llvm::Type* register_type(DType type);  // Bool: i1; F16, BF16: i16
  llvm::Type* memory_type(DType type);    // Bool: i8
  llvm::Type* vector_of(llvm::Type* type) {
    return llvm::FixedVectorType::get(type, static_cast<unsigned>(lanes_));
  }
  llvm::Value* from_memory(DType type, llvm::Value* v);
  llvm::Value* to_memory(DType type, llvm::Value* v);
  std::vector<llvm::Value*> side_by_stride(llvm::Value* first, llvm::Value* stride, int64_t bytes,
                                           int64_t count);
  llvm::Value* address(uint32_t buffer, llvm::Type* type, llvm::Value* offset);
  Value load(const Node& n);
  llvm::Value* load_contiguous(uint32_t buffer, DType type, llvm::Value* offset);
  llvm::Value* picked(llvm::Type* vector, std::span<const int64_t> places, int64_t count,
                      const std::function<llvm::Value*(int64_t)>& load);
  llvm::Value* load_apart(uint32_t buffer, DType type, Value offset);
  llvm::Value* load_indexed(uint32_t buffer, DType type, Value offset);
  bool store_known_lanes(llvm::Value* v, llvm::Value* at, llvm::Align align);
  bool store_blended(uint32_t buffer, llvm::Value* v, llvm::Value* at, llvm::Align align);
  void store(const loop::Stmt& s);
  void stream(llvm::StoreInst* store);
  void prefetch(const loop::Stmt& s);
  llvm::Value* stack(llvm::Type* type, std::string_view name);  // a slot of the entry block
  bool masked_moves(DType type) const;
  llvm::Value* active_lanes();
  llvm::Value* first_lanes(llvm::Value* count, int64_t lanes);  // the mask of those below count
  llvm::Value* local_address(uint32_t local, const Expr& index);
  llvm::Type* local_type(uint32_t local);
  Value read_local(const Node& n);
  void assign(const loop::Stmt& s);
  void settle(const loop::Stmt& s);
  Value reduce_lanes(const Node& n);
  llvm::Value* combine(loop::Reduction reduction, DType type, llvm::Value* a, llvm::Value* b);

  // emit_lines.cpp
  struct LineReader {
    uint32_t buffer;
    const Node* offset;
    llvm::FixedVectorType *line = nullptr, *order_type = nullptr;
    llvm::Value* first = nullptr;                   // address of the line that `opening` is of
    llvm::Value* order = nullptr;                   // which elements of two lines make a vector
    llvm::Value* opening = nullptr;                 // the line that the first vector begins in
    llvm::PHINode* phi = nullptr;                   // the line that the group begins in
    llvm::Value *last = nullptr, *value = nullptr;  // of the group: its last line, and what it reads
  };
  void vector_by_lines(const loop::Stmt& s);
  std::vector<const Node*> loads_in_lines(const loop::Stmt& s);
  LineReader open_lines(const Node& n, llvm::Value* offset);
  void read_lines(LineReader& reader, llvm::Value* past);

  // emit_stages.cpp
  class Chain;
  std::vector<const Node*> cut_of(const loop::Stmt& s);
  void in_stages(const loop::Stmt& s, llvm::Value* begin, llvm::Value* end, bool sure,
                 std::span<const Node* const> cut);

  // emit_formulas.cpp
  struct Formulas {  // that one call gives
    std::vector<const Node*> values;
    std::vector<const Node*> operands;
    std::string text;               // in which the operands that are read have numbers
    std::vector<const Node*> read;  // by these numbers
    size_t length = 0;              // operations
  };
  static bool describe(Formulas& all);
  std::vector<Formulas> formulas_of_body() const;
  void find_called();
  Value call(const Formulas& all, const Node& n);
  llvm::Function* function_of(const Formulas& all, std::span<const Value> operands, const char* name);

  // emit_places.cpp
  struct Term {
    const Node* node;
    uint64_t times;
    bool operator==(const Term&) const = default;
  };
  struct Sum {
    std::vector<Term> terms;
    uint64_t constant = 0;
  };
  struct Base {
    uint32_t buffer;
    llvm::Type* element;
    std::vector<Term> terms;
    llvm::Value* pointer;  // null where these are no numbers
    uint64_t stride;
  };
  struct Turns {
    llvm::BasicBlock* ahead = nullptr;
    size_t depth = 0;                      // of scopes before the loop
    std::unordered_set<uint32_t> defined;  // the variables of the loop
    std::unordered_map<const Node*, bool> moves;
    std::vector<Base> bases;
  };
  struct Place {
    llvm::Value* pointer;
    int64_t stride;
  };
  void begin_turns(const loop::Stmt& s, llvm::BasicBlock* ahead);
  bool moves(const Node* n);
  void add_terms(const Node* n, uint64_t times, Sum& sum);
  std::optional<Place> place_in_turns(uint32_t buffer, llvm::Type* element, const Node* offset);
  llvm::Value* hidden(llvm::Value* pointer);  // a register whose value LLVM knows nothing about

  // emit_groups.cpp
  // How lanes lie to each other: each at a step from the first one that it lies at a known distance to.
  struct Apart {
    std::vector<size_t> from;
    std::vector<int64_t> step;
    std::optional<int64_t> between(size_t one, size_t other) const;  // where it is known
  };
  Apart lanes_alone() const;
  Apart lanes_by(const std::function<std::optional<int64_t>(size_t from, size_t to)>& known) const;
  const Apart& apart(const Node* n, std::unordered_map<const Node*, Apart>& seen);
  llvm::Value* load_groups(uint32_t buffer, DType type, const Node* index, llvm::Value* offset);

  // emit_complex.cpp
  bool splits(DType type) { return is_complex(type) && lanes_ > 1; }
  llvm::Type* parts_type(DType type);                     // twice as many lanes of the parts
  llvm::Value* parts_of(DType type, llvm::Value* whole);  // re0, im0, re1, im1 ...
  llvm::Value* whole_of(DType type, llvm::Value* parts);
  llvm::Value* load_lanes(uint32_t buffer, DType type, Value offset);
  llvm::Value* parts_mask();  // mask_, each lane twice
  Value part(const Node& n);
  Value join(const Node& n);
  llvm::Value* product_of_lanes(const Node& n);

  // emit_transpose.cpp
  void transpose(const loop::Stmt& s);
  void load_columns(const loop::Stmt& s);
  llvm::Value* one_of_few(llvm::Value* all, int64_t few, int64_t i);
  std::vector<llvm::Value*> load_transposed(std::span<llvm::Value* const> rows, int columns,
                                            llvm::Type* element, llvm::Align align, bool whole_rows);
  std::vector<llvm::Value*> parts_turned(std::span<llvm::Value* const> rows);
  llvm::Value* side_by_side(std::span<llvm::Value*> rows);

  // emit_convert.cpp
  llvm::Value* convert(llvm::Value* v, DType from, DType to);
  llvm::Value* float_to_int(llvm::Value* v, DType from, DType to);
  llvm::Value* whole_words(llvm::Value* v);
  llvm::Value* int_to_half(llvm::Value* v, DType from, DType to);
  llvm::Value* f16_to_f32(llvm::Value* v);
  llvm::Value* f32_to_f16(llvm::Value* v);
  llvm::Value* bf16_to_f32(llvm::Value* v);
  llvm::Value* f32_to_bf16(llvm::Value* v);
  llvm::Value* f64_to_odd_f32(llvm::Value* v);

  // Types and constants of the shape of `like`: scalar, or a vector of as many lanes.
  static llvm::Type* shaped(llvm::Type* element, llvm::Type* like);
  llvm::Value* integer(llvm::Type* type, uint64_t value) { return llvm::ConstantInt::get(type, value); }
  llvm::Value* i64(int64_t value) { return b_.getInt64(static_cast<uint64_t>(value)); }
  llvm::Value* intrinsic(unsigned id, llvm::Value* a) {
    return b_.CreateUnaryIntrinsic(static_cast<llvm::Intrinsic::ID>(id), a);
  }
  llvm::BasicBlock* block(const char* name) {
    return llvm::BasicBlock::Create(b_.getContext(), name, entry_);
  }

  const loop::Function& f_;
  const Target& target_;
  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Function* entry_ = nullptr;
  llvm::BasicBlock* first_ = nullptr;   // holds the allocas
  std::vector<llvm::Value*> pointers_;  // buffers, then scratch
  llvm::Value* scratch_ = nullptr;      // where that begins
  bool meets_bound_ = false;            // in the code of groups with lanes at a bound
  std::vector<llvm::Value*> sizes_;
  std::vector<llvm::AllocaInst*> locals_;
  llvm::Value* error_ = nullptr;
  std::vector<Value> vars_;
  std::vector<Scope> scopes_;
  std::unordered_map<uint32_t, const loop::Stmt*> loops_;  // by their variables
  std::deque<std::vector<int64_t>> steps_;                 // that values name
  std::unordered_map<const Node*, bool> impure_, natural_;
  std::unordered_map<std::string, llvm::AllocaInst*> slots_;
  std::unordered_map<const loop::Table*, llvm::GlobalVariable*> tables_;
  int around_ = 0;                                  // loops around the statement that is emitted
  bool streams_ = false;                            // some store goes past the caches
  std::vector<LineReader> readers_;                 // of the loop that is emitted, in its full groups
  std::optional<Turns> turns_;                      // of the innermost loop that is emitted
  std::vector<Formulas> calls_;                     // in place of what they are, written out
  std::unordered_map<const Node*, size_t> called_;  // by which of these
  std::unordered_map<std::string, llvm::Function*> functions_;   // by the text and the kinds of operands
  const std::unordered_set<uint32_t>* lets_of_stage_ = nullptr;  // that a first stage works out by itself
  int lanes_ = 1;
  int written_out_ = 0;            // lanes of gathers that are no loop
  llvm::Value* mask_ = nullptr;    // of the last group; null where all lanes are active
  llvm::Value* active_ = nullptr;  // how many lanes are, in the last group
};

}  // namespace ig::codegen
