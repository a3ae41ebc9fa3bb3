// Runs a chain of kernels over a batch for a few examples at a time: through all kernels with these, before
// the next ones come. Kernel by kernel, all that one hands to the next lies far from the processor once the
// batch is larger than the caches are; depth first, it is still near when it is read, and takes the memory of
// a few examples, not of all. A chain becomes a loop over slices of the batch, which moves no byte: kernels
// read and write where the slices lie. It is worth what it saves of the way to the caches; what it costs are
// more, shorter kernels, and weights that are read again for each slice where they do not stay near. Each
// element is computed by the same operations in the same order as before.
#include <algorithm>
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "ir/copy.h"
#include "ops/examples.h"
#include "ops/saved_values.h"
#include "passes/pass.h"
#include "passes/program_kernel.h"
#include "passes/walk.h"

namespace ig::passes {
namespace {

// Costs are told in bytes that come from the last cache.
constexpr double kFromMemory = 3;  // what a byte of memory takes in the place of one of the last cache
constexpr double kMeeting = 3;     // what starting a kernel takes of each thread, where all have a part of it
// A chain is worth it where it spares more than this share of what its kernels touch: work on a few examples
// may be cut into tiles and threads less evenly than work on many.
constexpr double kLeastShare = 1.0 / 8;

// What of a cache an array may take: it holds other things, too.
double usable(size_t cache) { return static_cast<double>(cache) / 2; }

double bytes_of(Value v) { return ops::bytes_of(v->type(), v->block()->graph().dims); }

// How a value of a kernel's region is wanted: of some examples, or as it is.
struct Wanted {
  bool cut = false, whole = false;
};
using WantedValues = std::unordered_map<Value, Wanted>;

// What of a kernel's region is wanted where its results are wanted of some examples; nullopt where it does
// not keep them apart. Arguments are wanted one way alone.
std::optional<WantedValues> read_region(const Block& region) {
  WantedValues out;
  for (Value v : region.results()) out[v].cut = true;
  std::vector<const Node*> nodes;
  for (const Node* node : region)
    if (!is_terminator(node)) nodes.push_back(node);
  for (auto it = nodes.rbegin(); it != nodes.rend(); ++it) {
    Wanted wanted;
    for (Value v : (*it)->results()) wanted.cut |= out[v].cut, wanted.whole |= out[v].whole;
    std::optional<ops::ForExamples> form;
    if (wanted.cut && !(form = ops::for_examples(*it, Dim(1)))) return std::nullopt;
    for (size_t i = 0; i < (*it)->operands().size(); ++i) {
      Wanted& operand = out[(*it)->operand(i)];
      if (wanted.cut) (form->cut[i] ? operand.cut : operand.whole) = true;
      operand.whole |= wanted.whole;
    }
  }
  for (Value arg : region.args())
    if (out[arg].cut && out[arg].whole) return std::nullopt;
  return out;
}

struct Member {
  Node* kernel;
  WantedValues wanted;
  bool is_cut(size_t operand) const { return wanted.at(kernel->region(0).arg(operand)).cut; }
};

// A chain as it grows, in the order of the program. Its members stand so that the loop can take the place of
// the last one: what stands between them needs none of them.
class Chain {
 public:
  // A chain that takes as many examples at a time as fit in so many bytes of each thread.
  Chain(const Machine& machine, double fits, const Dim& examples, const DimScope& scope)
      : machine_(machine),
        fits_(fits),
        examples_(examples),
        count_(std::max<int64_t>(1, ops::usual_size(examples, scope))),
        lanes_(count_ >= machine.threads ? machine.threads : 1),
        slice_(count_ / lanes_) {}

  const Dim& examples() const { return examples_; }
  bool holds(const Node* node) const { return places_.contains(node); }
  bool holds(Value v) const { return v->node() && holds(v->node()); }
  std::span<const Member> members() const { return members_; }

  // What it is worth that the next kernel comes behind the others; and alone.
  double worth(const Member& next) const { return saved(next) - lost(next); }
  double worth_alone(const Member& next) const { return -lost(next); }

  void add(Member next) {
    worth_ += worth(next);
    slice_ = std::min(slice_, largest_slice(next.kernel));
    for (Value v : next.kernel->operands()) ++read_[v];
    places_.insert(next.kernel);
    members_.push_back(std::move(next));
    if (worth_ > best_) best_ = worth_, best_size_ = members_.size();
  }
  double worth_so_far() const { return worth_; }

  // Leaves the members up to where the chain was worth the most.
  void cut_to_best() {
    while (members_.size() > best_size_) places_.erase(members_.back().kernel), members_.pop_back();
    slice_ = count_ / lanes_;
    for (const Member& member : members_) slice_ = std::min(slice_, largest_slice(member.kernel));
  }
  double best() const { return best_; }
  bool is_worth_it() const {
    double touched = 0;
    for (const Member& member : std::span(members_).first(best_size_))
      for (std::span<const Value> values : {member.kernel->operands(), member.kernel->results()})
        for (Value v : values) touched += bytes_of(v);
    return best_ > std::max(static_cast<double>(machine_.near), touched * kLeastShare);
  }
  int64_t slice() const { return slice_; }  // examples at a time

 private:
  // How far away something is that takes so much, of all threads together: what a byte of it costs. The last
  // cache is shared, with others that nobody knows of, too: the more of it something takes, the less of that
  // is still there.
  double distance(double bytes) const {
    const double near = usable(machine_.near) * machine_.threads;
    const double last = std::max(static_cast<double>(machine_.last), 2 * near);
    return kFromMemory * std::clamp(std::log2(bytes / near) / std::log2(last / near), 0.0, 1.0);
  }

  double of_examples(const Node* kernel) const {
    double bytes = 0;
    for (Value v : kernel->results()) bytes += bytes_of(v);
    for (Value v : kernel->operands())
      if (ops::examples_of(v) == examples_) bytes += bytes_of(v);
    return bytes;
  }
  double of_one(double bytes) const { return bytes / static_cast<double>(count_); }
  // The most examples at a time with which what a kernel touches fits; they divide the batch, so of one whose
  // size is a symbol it is one. Threads have slices of their own, or all have a part of one.
  int64_t largest_slice(const Node* kernel) const {
    if (!examples_.is_constant()) return 1;
    const double fits = lanes_ > 1 ? fits_ : fits_ * machine_.threads;
    auto slice = static_cast<int64_t>(fits / std::max(of_one(of_examples(kernel)), 1.0));
    slice = std::clamp<int64_t>(slice, 1, count_ / lanes_);
    while (count_ % slice != 0) --slice;
    return slice;
  }

  double saved(const Member& next) const {
    if (is_relabel(next.kernel)) return 0;
    const auto slice = static_cast<double>(std::min(slice_, largest_slice(next.kernel)));
    double out = 0;
    for (uint32_t i = 0; i < next.kernel->operands().size(); ++i) {
      const Value v = root_of(next.kernel->operand(i));
      if (!holds(v)) continue;
      const double all = bytes_of(v);
      const double nearer = distance(all) - distance(of_one(all) * slice * static_cast<double>(lanes_));
      out += all * nearer;
      // What is read by members alone need not be written anywhere else.
      auto read = read_.find(v);
      if ((read == read_.end() ? 0 : read->second) + 1 == v->uses().size()) out += all * nearer;
    }
    return out;
  }

  double lost(const Member& next) const {
    if (is_relabel(next.kernel)) return 0;
    const auto slice = static_cast<double>(std::min(slice_, largest_slice(next.kernel)));
    const double again = static_cast<double>(count_) / slice - 1;
    double weights = 0;
    for (size_t i = 0; i < next.kernel->operands().size(); ++i)
      if (!next.is_cut(i)) weights += bytes_of(next.kernel->operand(i));
    const double all = (weights + of_one(of_examples(next.kernel)) * slice) * static_cast<double>(lanes_);
    const double launch = machine_.launch * (lanes_ == machine_.threads ? 1 : kMeeting * machine_.threads);
    // To read weights again costs something wherever they lie.
    return again * (launch + weights * (1 + distance(all)));
  }

  const Machine& machine_;
  double fits_;
  Dim examples_;
  int64_t count_;  // of examples, as many as there usually are
  int64_t lanes_;  // slices that are at work at once
  int64_t slice_;
  std::vector<Member> members_;
  std::unordered_set<const Node*> places_;
  std::unordered_map<Value, size_t> read_;  // by how many members
  double worth_ = 0, best_ = 0;
  size_t best_size_ = 0;
};

// Puts the loop in the place of a chain's members.
class Looper {
 public:
  Looper(const Chain& chain, Block& block)
      : chain_(chain),
        block_(block),
        last_(chain.members().back().kernel),
        body_(kernel_graph(block.graph())) {
    body_->name = "examples";
    body_->body().set_results({});
    end_ = body_->body().terminator();
  }

  void run() {
    add_arguments();
    std::vector<Value> given, results;
    for (const Member& member : chain_.members()) {
      Node* kernel = add_member(member);
      for (size_t i = 0; i < kernel->results().size(); ++i) {
        Value v = member.kernel->result(i);
        inside_[v] = kernel->result(i);
        if (!leaves(v)) continue;
        given.push_back(v);
        results.push_back(kernel->result(i));
      }
    }
    body_->body().set_results(results);

    ops::Builder build(block_, last_);
    build.at(chain_.members().front().kernel);
    std::vector<Value> slices;
    for (Value v : xs_) slices.push_back(relabelled(v, sliced(v->type())));
    const std::vector<Value> stacked = ops::for_each_slice(build, consts_, slices, std::move(body_));
    for (size_t i = 0; i < given.size(); ++i) {
      Value whole = relabelled(stacked[i], given[i]->type());
      whole->set_name(given[i]->name());
      given[i]->replace_all_uses_with(whole);
    }
    for (size_t i = chain_.members().size(); i-- > 0;) block_.graph().erase(chain_.members()[i].kernel);
  }

 private:
  bool leaves(Value v) const {
    return std::ranges::any_of(v->uses(), [&](const Use& use) { return !chain_.holds(use.user); });
  }

  // [examples, ...] as [slices, examples of a slice, ...].
  Type sliced(Type type) const {
    type.dims[0] = Dim(chain_.slice());
    type.dims.insert(type.dims.begin(), floordiv(chain_.examples(), Dim(chain_.slice())));
    return type;
  }

  Value relabelled(Value v, const Type& type) {
    std::unique_ptr<Graph> inner = kernel_graph(block_.graph());
    Value arg = inner->body().add_arg(v->type(), v->name());
    ops::Builder build(inner->body());
    build.at(last_);
    inner->body().set_results({build.reshape(arg, type.dims)});
    return add_kernel(last_, "relabel", {v}, std::move(inner), last_)->result();
  }

  // What is the same for all examples comes first, then the slices.
  void add_arguments() {
    for (bool cut : {false, true})
      for (const Member& member : chain_.members())
        for (size_t i = 0; i < member.kernel->operands().size(); ++i) {
          Value v = member.kernel->operand(i);
          if (member.is_cut(i) != cut || chain_.holds(v) || argument_of(v, cut)) continue;
          (cut ? xs_ : consts_).push_back(v);
          const Type type = cut ? ops::with_examples(v->type(), Dim(chain_.slice())) : v->type();
          (cut ? inside_ : consts_inside_)[v] = body_->body().add_arg(type, v->name());
        }
  }
  Value argument_of(Value v, bool cut) const {
    const auto& known = cut ? inside_ : consts_inside_;
    auto it = known.find(v);
    return it == known.end() ? nullptr : it->second;
  }

  // The kernel, for the examples of a slice.
  Node* add_member(const Member& member) {
    const Block& region = member.kernel->region(0);
    std::unique_ptr<Graph> inner = kernel_graph(block_.graph());
    std::unordered_map<Value, Value> cut, whole;
    std::vector<Value> operands;
    for (size_t i = 0; i < region.args().size(); ++i) {
      Value operand = argument_of(member.kernel->operand(i), member.is_cut(i));
      operands.push_back(operand);
      (member.is_cut(i) ? cut : whole)[region.arg(i)] =
          inner->body().add_arg(operand->type(), region.arg(i)->name());
    }
    ops::Builder build(inner->body());
    for (const Node* node : region) {
      if (is_terminator(node)) continue;
      Wanted wanted;
      for (Value v : node->results())
        wanted.cut |= member.wanted.at(v).cut, wanted.whole |= member.wanted.at(v).whole;
      auto add = [&](const std::vector<bool>& is_cut, auto make, std::unordered_map<Value, Value>& into) {
        std::vector<Value> from;
        for (size_t i = 0; i < node->operands().size(); ++i)
          from.push_back((is_cut[i] ? cut : whole).at(node->operand(i)));
        Node* made = make(std::move(from));
        for (size_t i = 0; i < node->results().size(); ++i) {
          made->result(i)->set_name(node->result(i)->name());
          into[node->result(i)] = made->result(i);
        }
      };
      if (wanted.whole)
        add(
            std::vector<bool>(node->operands().size(), false),
            [&](std::vector<Value> from) { return copy_node(node, inner->body(), std::move(from)); }, whole);
      if (wanted.cut) {
        ops::ForExamples form = *ops::for_examples(node, Dim(chain_.slice()));
        build.at(node);
        add(
            form.cut,
            [&](std::vector<Value> from) {
              return build.node(ops::op_of(node), std::move(from), std::move(form.attrs));
            },
            cut);
      }
    }
    std::vector<Value> results;
    for (Value v : region.results()) results.push_back(cut.at(v));
    inner->body().set_results(results);
    return add_kernel(end_, std::string(kind_of_kernel(member.kernel)), std::move(operands), std::move(inner),
                      member.kernel);
  }

  const Chain& chain_;
  Block& block_;
  Node* last_;
  std::unique_ptr<Graph> body_;
  Node* end_;
  std::vector<Value> consts_, xs_;
  std::unordered_map<Value, Value> inside_, consts_inside_;
};

class Finder {
 public:
  Finder(Block& block, double fits, Context& context)
      : block_(block), fits_(fits), context_(context), machine_(context.options.machine) {}

  void run() {
    if (!any_larger()) return;
    for (Node* node : block_)
      if (!is_terminator(node)) visit(node);
    close();
  }

 private:
  static bool has_examples(Value v) {
    const std::optional<Dim> examples = ops::examples_of(v);
    return examples && (!examples->is_constant() || examples->constant() > 1);
  }
  // Where all of a batch fits, nothing is to be gained.
  bool any_larger() const {
    for (const Node* node : block_)
      for (Value v : node->results())
        if (is_kernel(node) && has_examples(v) && bytes_of(v) > fits_) return true;
    return false;
  }

  void visit(Node* node) {
    const bool needs =
        chain_ && std::ranges::any_of(node->operands(), [&](Value v) { return chain_->holds(v); });
    std::optional<Member> member = as_member(node);
    if (chain_ && member && joins(*member)) {
      if (chain_->worth_so_far() + chain_->worth(*member) > chain_->worth_alone(*member))
        return chain_->add(*std::move(member));
      close();
    } else if (needs) {
      close();
    }
    if (!member || chain_) return;
    chain_.emplace(machine_, fits_, *ops::examples_of(node->result(0)), block_.graph().dims);
    chain_->add(*std::move(member));
  }

  // A kernel that reads examples and keeps them apart.
  static std::optional<Member> as_member(Node* node) {
    if (!is_kernel(node) || node->results().empty() || !has_examples(node->result(0))) return std::nullopt;
    for (Value v : node->results())
      if (ops::examples_of(v) != ops::examples_of(node->result(0))) return std::nullopt;
    auto wanted = read_region(node->region(0));
    if (!wanted) return std::nullopt;
    Member out{node, *std::move(wanted)};
    for (size_t i = 0; i < node->operands().size(); ++i)
      if (out.is_cut(i)) return out;
    return std::nullopt;
  }

  bool joins(const Member& member) const {
    if (*ops::examples_of(member.kernel->result(0)) != chain_->examples()) return false;
    for (size_t i = 0; i < member.kernel->operands().size(); ++i)
      if (chain_->holds(member.kernel->operand(i)) && !member.is_cut(i)) return false;
    return true;
  }

  void close() {
    if (!chain_) return;
    if (chain_->is_worth_it()) {
      chain_->cut_to_best();
      if (Dim(chain_->slice()) != chain_->examples()) {
        ops::DepthFirst made = told();
        context_.changed(made.headline());
        context_.fusion.chains.push_back(std::move(made));
        Looper(*chain_, block_).run();
      }
    }
    chain_.reset();
  }

  ops::DepthFirst told() const {
    ops::DepthFirst out;
    out.examples = chain_->examples();
    out.at_a_time = chain_->slice();
    out.bytes = chain_->best();
    for (const Member& member : chain_->members()) {
      if (is_relabel(member.kernel)) continue;
      const Node* last = member.kernel;  // which the kernel is known by
      for (const Node* node : member.kernel->region(0)) {
        if (is_terminator(node)) continue;
        out.nodes.push_back(ops::FusionNode::of(node));
        last = node;
      }
      out.kernels.push_back(ops::FusionNode::of(last));
    }
    return out;
  }

  Block& block_;
  double fits_;
  Context& context_;
  const Machine& machine_;
  std::optional<Chain> chain_;
};

}  // namespace

void depth_first(Graph& graph, Context& context) {
  // What would wait for too many weights with a few examples at a time may do with more of them, which at
  // least spares the way to memory.
  const Machine& machine = context.options.machine;
  for_each_block(graph.body(), [&](Block& block) {
    if (block.parent() && is_kernel(block.parent())) return;
    for (double fits : {usable(machine.near), usable(machine.last) / machine.threads})
      Finder(block, fits, context).run();
  });
}

}  // namespace ig::passes
