// The graph: typed SSA nodes in order, in blocks; what the whole house works on.
//
// Laws (the verifier holds them):
//  * Every node's results depend on its operands, attributes and regions alone; nodes whose op has effects
//  take and
//    give a token, and so keep their order.
//  * Regions are closed: a block reads only its own arguments and its own nodes. All that a body needs comes
//  in as an
//    operand, in the segments that the op declares ("consts", "carry", "xs").
//  * A block ends with one `return` node whose operands are its results.
//  * Types are exact: an op's `infer` gives the result types from the operand types, and they must agree.
//
// Numerics, for every pass, transform and back end: NaN, infinities, -0 and denormals are honoured; rounding
// is to nearest even; no contraction or reassociation across nodes; integer arithmetic wraps; a
// float-to-integer conversion saturates and maps NaN to 0; comparisons with NaN are false but for not_equal;
// `maximum` and `minimum` propagate NaN and order -0 below +0. Primitives are total: indices clamp as
// StableHLO says, integer division by zero gives -1 (all ones), remainder by zero gives the dividend, INT_MIN
// / -1 gives INT_MIN and remainder 0.
//
// Ownership: a Graph owns its nodes and values, at stable addresses. An erased node stays in memory, marked,
// until its graph goes, so a stale handle is never another node.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/attr.h"
#include "ir/location.h"
#include "ir/type.h"
#include "support/hash.h"

namespace ig {

class Block;
class Graph;
class Node;

// An op, known by an interned id: the name is all that the IR knows of it.
class OpId {
 public:
  OpId() = default;
  static OpId of(std::string_view name);  // interns
  const std::string& name() const;
  uint32_t index() const { return index_; }
  bool operator==(const OpId&) const = default;

 private:
  uint32_t index_ = 0;
};

struct Use {
  Node* user = nullptr;
  uint32_t operand = 0;
};

// A value: a result of a node, or an argument of a block. Handles are pointers; the graph owns the object.
class ValueDef {
 public:
  const Type& type() const { return type_; }
  void set_type(Type type) { type_ = std::move(type); }
  Node* node() const { return node_; }       // null for a block argument
  Block* block() const { return block_; }    // the block that defines it
  uint32_t index() const { return index_; }  // among the node's results, or the block's arguments
  const std::string& name() const {
    return name_;
  }  // a hint for the printer; unique names are made when printing
  void set_name(std::string name) { name_ = std::move(name); }
  const std::vector<Use>& uses() const { return uses_; }
  void replace_all_uses_with(ValueDef* other);

 private:
  friend class Graph;
  friend class Node;
  friend class Block;
  Type type_;
  Node* node_ = nullptr;
  Block* block_ = nullptr;
  uint32_t index_ = 0;
  std::string name_;
  std::vector<Use> uses_;
};
using Value = ValueDef*;

class Node {
 public:
  OpId op() const { return op_; }
  const Attrs& attrs() const { return attrs_; }
  void set_attrs(Attrs attrs) { attrs_ = std::move(attrs); }
  std::span<const Value> operands() const { return operands_; }
  Value operand(size_t i) const { return operands_[i]; }
  void set_operand(size_t i, Value value);
  std::span<const Value> results() const { return results_; }
  Value result(size_t i = 0) const { return results_[i]; }
  // Sizes of the op's operand segments, in declared order; empty where the op declares none.
  const std::vector<uint32_t>& segments() const { return segments_; }
  std::span<const std::unique_ptr<Block>> regions() const { return regions_; }
  Block& region(size_t i) const { return *regions_[i]; }
  Block* block() const { return block_; }
  Graph& graph() const;
  Location location() const { return location_; }
  void set_location(Location location) { location_ = location; }
  Scope scope() const { return scope_; }
  void set_scope(Scope scope) { scope_ = scope; }
  Node* next() const { return next_; }
  Node* previous() const { return previous_; }
  bool erased() const { return block_ == nullptr; }
  uint32_t id() const { return id_; }  // unique in its graph, never reused
  bool has_uses() const;

 private:
  friend class Graph;
  friend class Block;
  friend class ValueDef;
  void add_use(size_t operand);
  void drop_use(size_t operand);

  OpId op_;
  Attrs attrs_;
  std::vector<Value> operands_, results_;
  std::vector<uint32_t> use_at_;  // for each operand: where this use stands among the value's
  std::vector<uint32_t> segments_;
  std::vector<std::unique_ptr<Block>> regions_;
  Block* block_ = nullptr;
  Node *next_ = nullptr, *previous_ = nullptr;
  Location location_;
  Scope scope_;
  uint32_t id_ = 0;
};

class Block {
 public:
  Graph& graph() const { return *graph_; }
  Node* parent() const { return parent_; }  // the node whose region this is; null for a graph's body
  std::span<const Value> args() const { return args_; }
  Value arg(size_t i) const { return args_[i]; }
  Value add_arg(Type type, std::string name = "");
  void erase_arg(size_t i);  // it must have no uses
  Node* first() const { return first_; }
  Node* last() const { return last_; }
  Node* terminator() const;                      // the `return` node; null while the block is being built
  std::span<const Value> results() const;        // operands of the terminator
  void set_results(std::vector<Value> results);  // makes or changes the terminator
  size_t size() const { return size_; }          // nodes, without the terminator

  // for (Node* node : block) — safe against erasing the node at hand.
  class Iterator {
   public:
    explicit Iterator(Node* node) : node_(node), next_(node ? node->next() : nullptr) {}
    Node* operator*() const { return node_; }
    Iterator& operator++() {
      node_ = next_;
      next_ = node_ ? node_->next() : nullptr;
      return *this;
    }
    bool operator!=(const Iterator& other) const { return node_ != other.node_; }

   private:
    Node *node_, *next_;
  };
  Iterator begin() const { return Iterator(first_); }
  Iterator end() const { return Iterator(nullptr); }

 private:
  friend class Graph;
  friend class Node;
  Graph* graph_ = nullptr;
  Node* parent_ = nullptr;
  std::vector<Value> args_;
  Node *first_ = nullptr, *last_ = nullptr;
  size_t size_ = 0;
};

// What a new node is made of. Result types are given (by ops::Builder, which asks the op's `infer`).
struct NodeSpec {
  OpId op;
  std::vector<Value> operands;
  Attrs attrs;
  std::vector<Type> result_types;
  std::vector<uint32_t> segments;
  Location location;
  Scope scope;
  int regions = 0;  // empty blocks to fill
};

class Graph {
 public:
  explicit Graph(std::string name = "graph");
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph();

  std::string name;
  DimScope dims;

  Block& body() { return *body_; }
  const Block& body() const { return *body_; }
  std::span<const Value> inputs() const { return body_->args(); }
  std::span<const Value> outputs() const { return body_->results(); }

  // Inserts before `before`, or at the end of `block` (before the terminator if there is one).
  Node* insert(Block& block, NodeSpec spec, Node* before = nullptr);
  Block& add_region(Node* node);               // an empty block behind the node's last
  void erase(Node* node);                      // it must have no uses
  void move_before(Node* node, Node* before);  // in the same block

  std::unique_ptr<Graph> clone() const;
  // Copies `source`'s nodes (without its terminator) into `block`, before `before`, its arguments standing
  // for `arguments`; returns the values that stand for its results.
  std::vector<Value> inline_block(const Block& source, Block& block, std::span<const Value> arguments,
                                  Node* before = nullptr);

  size_t node_count() const;  // in all blocks, terminators left out

  std::string str(bool with_locations = false) const;  // print.cpp
  // parse.cpp; Error(Parse) with line, column and caret. `file` is named in errors. Op names are not resolved
  // here, but every type is written in the text; `ops::verify` checks them against the op table.
  static std::unique_ptr<Graph> parse(std::string_view text, std::string_view file = "<text>");
  // The same; `positions[node->id()]` becomes where in the text each node's op stands.
  static std::unique_ptr<Graph> parse(std::string_view text, std::string_view file,
                                      std::vector<size_t>& positions);
  std::string to_binary() const;  // binary.cpp
  static std::unique_ptr<Graph> from_binary(
      std::string_view bytes);  // Error(IO); ops are not resolved here either
  // Structure laws only (dominance, closed regions, terminators, use lists); ops::verify adds the ops' own.
  void verify_structure() const;  // verify.cpp; Error(Verify) naming node and law
  // Of the text without locations, names and scopes; value numbering by order.
  Hash128 hash() const;  // hash.cpp
  // The same for any order of independent nodes, and any order of commutative operands where `commutative`
  // says so.
  Hash128 canonical_hash(bool (*commutative)(OpId) = nullptr) const;

 private:
  friend class Block;
  friend class Node;
  ValueDef* new_value(Type type, Block* block, Node* node, uint32_t index);
  std::unique_ptr<Block> new_block(Node* parent);
  std::deque<Node> nodes_;
  std::deque<ValueDef> values_;
  std::unique_ptr<Block> body_;
  uint32_t next_id_ = 0;
};

inline constexpr std::string_view kReturnOp = "return";

}  // namespace ig
