// The graph as a data structure: nodes in intrusive lists, values with their uses, copying and inlining.
#include "ir/graph.h"

#include <algorithm>
#include <unordered_map>

#include "ir/copy.h"

namespace ig {
// A use knows its place in the list, so that a value with many uses loses one as quickly as one with few.
void Node::add_use(size_t operand) {
  std::vector<Use>& uses = operands_[operand]->uses_;
  use_at_[operand] = static_cast<uint32_t>(uses.size());
  uses.push_back({this, static_cast<uint32_t>(operand)});
}

void Node::drop_use(size_t operand) {
  std::vector<Use>& uses = operands_[operand]->uses_;
  uint32_t at = use_at_[operand];
  IG_CHECK(at < uses.size() && uses[at].user == this && uses[at].operand == operand,
           "a use is missing from its value's list");
  uses[at] = uses.back();
  uses[at].user->use_at_[uses[at].operand] = at;
  uses.pop_back();
}

Graph& Node::graph() const { return block_->graph(); }

bool Node::has_uses() const {
  return std::any_of(results_.begin(), results_.end(), [](Value v) { return !v->uses().empty(); });
}

void Node::set_operand(size_t i, Value value) {
  if (operands_[i] == value) return;
  drop_use(i);
  operands_[i] = value;
  add_use(i);
}

void ValueDef::replace_all_uses_with(ValueDef* other) {
  if (other == this) return;
  std::vector<Use> uses = std::move(uses_);
  uses_.clear();
  for (const Use& use : uses) {
    use.user->operands_[use.operand] = other;
    use.user->add_use(use.operand);
  }
}

Value Block::add_arg(Type type, std::string name) {
  Value v = graph_->new_value(std::move(type), this, nullptr, static_cast<uint32_t>(args_.size()));
  v->set_name(std::move(name));
  args_.push_back(v);
  return v;
}

void Block::erase_arg(size_t i) {
  IG_CHECK(args_[i]->uses().empty(), "the argument {} is still in use", i);
  args_[i]->block_ = nullptr;
  args_.erase(args_.begin() + static_cast<long>(i));
  for (size_t k = i; k < args_.size(); ++k) args_[k]->index_ = static_cast<uint32_t>(k);
}

Node* Block::terminator() const {
  static const OpId kReturn = OpId::of(kReturnOp);
  return last_ && last_->op() == kReturn ? last_ : nullptr;
}

std::span<const Value> Block::results() const {
  Node* end = terminator();
  return end ? end->operands() : std::span<const Value>();
}

void Block::set_results(std::vector<Value> results) {
  if (Node* end = terminator()) graph_->erase(end);
  NodeSpec spec;
  spec.op = OpId::of(kReturnOp);
  spec.operands = std::move(results);
  graph_->insert(*this, std::move(spec));
}

Graph::Graph(std::string graph_name) : name(std::move(graph_name)) { body_ = new_block(nullptr); }
Graph::~Graph() = default;

ValueDef* Graph::new_value(Type type, Block* block, Node* node, uint32_t index) {
  ValueDef& v = values_.emplace_back();
  v.type_ = std::move(type);
  v.block_ = block;
  v.node_ = node;
  v.index_ = index;
  return &v;
}

std::unique_ptr<Block> Graph::new_block(Node* parent) {
  auto block = std::make_unique<Block>();
  block->graph_ = this;
  block->parent_ = parent;
  return block;
}

Node* Graph::insert(Block& block, NodeSpec spec, Node* before) {
  IG_CHECK(block.graph_ == this, "a node is inserted into another graph's block");
  Node& node = nodes_.emplace_back();
  node.op_ = spec.op;
  node.attrs_ = std::move(spec.attrs);
  node.operands_ = std::move(spec.operands);
  node.segments_ = std::move(spec.segments);
  node.location_ = spec.location;
  node.scope_ = spec.scope;
  node.id_ = next_id_++;
  node.block_ = &block;
  for (size_t i = 0; i < spec.result_types.size(); ++i)
    node.results_.push_back(
        new_value(std::move(spec.result_types[i]), &block, &node, static_cast<uint32_t>(i)));
  for (int i = 0; i < spec.regions; ++i) node.regions_.push_back(new_block(&node));
  node.use_at_.resize(node.operands_.size());
  for (size_t i = 0; i < node.operands_.size(); ++i) node.add_use(i);
  bool is_return = node.op_ == OpId::of(kReturnOp);
  if (!before && !is_return) before = block.terminator();
  if (before) {
    node.next_ = before;
    node.previous_ = before->previous_;
    before->previous_ = &node;
    (node.previous_ ? node.previous_->next_ : block.first_) = &node;
  } else {
    node.previous_ = block.last_;
    (block.last_ ? block.last_->next_ : block.first_) = &node;
    block.last_ = &node;
  }
  if (!is_return) ++block.size_;
  return &node;
}

Block& Graph::add_region(Node* node) {
  node->regions_.push_back(new_block(node));
  return *node->regions_.back();
}

void Graph::erase(Node* node) {
  IG_CHECK(!node->has_uses(), "{} is erased while its results are in use", node->op().name());
  Block& block = *node->block_;
  // The nodes inside go too, the last first.
  for (auto& region : node->regions_)
    while (region->last_) erase(region->last_);
  for (size_t i = 0; i < node->operands_.size(); ++i) node->drop_use(i);
  (node->previous_ ? node->previous_->next_ : block.first_) = node->next_;
  (node->next_ ? node->next_->previous_ : block.last_) = node->previous_;
  if (node->op_ != OpId::of(kReturnOp)) --block.size_;
  node->block_ = nullptr;
  node->next_ = node->previous_ = nullptr;
  node->operands_.clear();
  for (Value v : node->results_) v->block_ = nullptr;
}

void Graph::move_before(Node* node, Node* before) {
  IG_CHECK(before && node->block_ == before->block_, "a node moves within its block");
  if (node == before || node->next_ == before) return;
  Block& block = *node->block_;
  (node->previous_ ? node->previous_->next_ : block.first_) = node->next_;
  (node->next_ ? node->next_->previous_ : block.last_) = node->previous_;
  node->next_ = before;
  node->previous_ = before->previous_;
  (before->previous_ ? before->previous_->next_ : block.first_) = node;
  before->previous_ = node;
}

std::vector<Value> Graph::inline_block(const Block& source, Block& block, std::span<const Value> arguments,
                                       Node* before) {
  IG_CHECK(arguments.size() == source.args().size(), "a block of {} arguments is inlined with {}",
           source.args().size(), arguments.size());
  std::unordered_map<Value, Value> map;
  for (size_t i = 0; i < arguments.size(); ++i) map[source.arg(i)] = arguments[i];
  for (Node* node : source) {
    if (node == source.terminator()) break;
    std::vector<Value> operands;
    for (Value v : node->operands()) operands.push_back(map.at(v));
    Node* copy = copy_node(node, block, std::move(operands), before);
    for (size_t i = 0; i < node->results().size(); ++i) map[node->result(i)] = copy->result(i);
  }
  std::vector<Value> results;
  for (Value v : source.results()) results.push_back(map.at(v));
  return results;
}

std::unique_ptr<Graph> Graph::clone() const {
  auto copy = std::make_unique<Graph>(name);
  copy->dims = dims;
  std::vector<Value> args;
  for (Value v : inputs()) args.push_back(copy->body_->add_arg(v->type(), v->name()));
  copy->body_->set_results(copy->inline_block(*body_, *copy->body_, args));
  return copy;
}

namespace {
size_t count(const Block& block) {
  size_t n = block.size();
  for (Node* node : block)
    for (const auto& region : node->regions()) n += count(*region);
  return n;
}
}  // namespace

size_t Graph::node_count() const { return count(*body_); }

}  // namespace ig
