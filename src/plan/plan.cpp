// Slots, instructions and blocks for a graph.
#include "plan/plan.h"

#include <algorithm>
#include <map>
#include <unordered_set>

#include <fmt/format.h>

#include "ops/effects.h"
#include "ops/host_call.h"
#include "ops/memory.h"
#include "ops/table.h"
#include "plan/control.h"
#include "plan/side_by_side.h"

namespace ig::plan {

rt::SizeId add_size(rt::SizeTable& table, const Dim& dim, const std::map<std::string, int32_t>& symbols) {
  std::vector<rt::SizeId> stack;
  dim.postfix([&](Dim::Step step, int64_t constant, std::string_view symbol) {
    if (step == Dim::Step::Constant) return stack.push_back(table.constant(constant));
    if (step == Dim::Step::Symbol) {
      auto it = symbols.find(std::string(symbol));
      if (it == symbols.end())
        throw make_error(ErrorKind::Shape, "the size {} is not declared", symbol)
            .why("types of the graph name it, and the graph does not list it")
            .hint(fmt::format("declare it behind the arguments: ) where {} {{", symbol));
      return stack.push_back(table.symbol(it->second));
    }
    rt::SizeId b = stack.back();
    stack.pop_back();
    static constexpr rt::SizeTable::Op kOps[] = {rt::SizeTable::Op::Constant, rt::SizeTable::Op::Symbol,
                                                 rt::SizeTable::Op::Add,      rt::SizeTable::Op::Multiply,
                                                 rt::SizeTable::Op::FloorDiv, rt::SizeTable::Op::Mod,
                                                 rt::SizeTable::Op::Min,      rt::SizeTable::Op::Max};
    stack.back() = table.binary(kOps[static_cast<int>(step)], stack.back(), b);
  });
  return stack.back();
}

namespace {

// The slow path for what has no kernel: the op's reference rule, on copies of the buffers.
struct Fallback {
  OpId op;
  Attrs attrs;
  std::vector<Type> operands, results;
  std::vector<std::string> symbols;
};

int32_t run_fallback(void* raw, void* const* buffers, const int64_t* dims, int64_t*) {
  const auto& f = *static_cast<const Fallback*>(raw);
  SymbolValues values;
  for (size_t i = 0; i < f.symbols.size(); ++i) values.emplace(f.symbols[i], dims[i]);
  auto sizes = [&](const Dims& d) {
    std::vector<int64_t> out;
    for (const Dim& x : d) out.push_back(x.evaluate(values));
    return out;
  };
  std::vector<Literal> operands;
  for (size_t i = 0; i < f.operands.size(); ++i) {
    Literal literal = Literal::allocate(f.operands[i].dtype, sizes(f.operands[i].dims));
    if (literal.bytes()) std::memcpy(literal.mutable_data(), buffers[i], literal.bytes());
    operands.push_back(std::move(literal));
  }
  Attrs attrs;
  for (const auto& [key, value] : f.attrs.items()) {
    const auto* d = std::get_if<Dims>(&value);
    if (!d) {
      attrs.set(key, value);
      continue;
    }
    Dims fixed;
    for (const Dim& x : *d) fixed.push_back(x.evaluate(values));
    attrs.set(key, std::move(fixed));
  }
  std::vector<Literal> results = ops::evaluate(ops::get(f.op), attrs, operands);
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].bytes())
      std::memcpy(buffers[f.operands.size() + i], results[i].data(), results[i].bytes());
  return 0;
}

// An effect, done by its reference rule on copies of its values.
struct EffectCall {
  OpId op;
  Attrs attrs;
  std::vector<Type> values;
  std::vector<std::string> symbols;
  Location where;
};

int32_t run_effect(void* raw, void* const* buffers, const int64_t* dims, int64_t*) {
  const auto& call = *static_cast<const EffectCall*>(raw);
  SymbolValues symbols;
  for (size_t i = 0; i < call.symbols.size(); ++i) symbols.emplace(call.symbols[i], dims[i]);
  // A check that holds needs no copies: what it would show may be long.
  if (const int condition = ops::get(call.op).rules.lower.condition; condition > 0) {
    const auto at = static_cast<size_t>(condition) - 1;  // the token is no value
    const int64_t n = product(call.values[at].dims).evaluate(symbols);
    if (n == 0 || !std::memchr(buffers[at], 0, static_cast<size_t>(n))) return 0;
  }
  std::vector<Literal> values;
  for (size_t i = 0; i < call.values.size(); ++i) {
    std::vector<int64_t> sizes;
    for (const Dim& size : call.values[i].dims) sizes.push_back(size.evaluate(symbols));
    values.push_back(Literal::allocate(call.values[i].dtype, sizes));
    if (values.back().bytes()) std::memcpy(values.back().mutable_data(), buffers[i], values.back().bytes());
  }
  ops::run_effect(ops::get(call.op), call.attrs, values, call.where);
  return 0;
}

// A call of the host, on arrays of its own: the function may keep them.
struct HostNode {
  OpId op;
  Attrs attrs;
  std::vector<Type> operands;
  std::vector<std::string> symbols;
  Location where;
};

int32_t run_host_node(void* raw, void* const* buffers, const int64_t* dims, int64_t*) {
  const auto& call = *static_cast<const HostNode*>(raw);
  SymbolValues symbols;
  for (size_t i = 0; i < call.symbols.size(); ++i) symbols.emplace(call.symbols[i], dims[i]);
  std::vector<Literal> operands;
  for (size_t i = 0; i < call.operands.size(); ++i) {
    std::vector<int64_t> sizes;
    for (const Dim& size : call.operands[i].dims) sizes.push_back(size.evaluate(symbols));
    Literal literal = Literal::allocate(call.operands[i].dtype, std::move(sizes));
    if (literal.bytes()) std::memcpy(literal.mutable_data(), buffers[i], literal.bytes());
    operands.push_back(std::move(literal));
  }
  const ops::Op& op = ops::get(call.op);
  std::vector<Literal> results;
  if (symbols.empty()) {
    results = ops::run_host_call(op, call.attrs, operands, call.where);
  } else {
    Attrs attrs;
    for (const auto& [key, value] : call.attrs.items()) {
      const auto* sizes = std::get_if<Dims>(&value);
      Dims fixed;
      for (const Dim& size : sizes ? *sizes : Dims()) fixed.push_back(size.evaluate(symbols));
      attrs.set(key, sizes ? AttrValue(std::move(fixed)) : value);
    }
    results = ops::run_host_call(op, attrs, operands, call.where);
  }
  for (size_t i = 0; i < results.size(); ++i)
    if (results[i].bytes())
      std::memcpy(buffers[call.operands.size() + i], results[i].data(), results[i].bytes());
  return 0;
}

class Planner final : public BlockPlanner {
 public:
  explicit Planner(Input input)
      : input_(std::move(input)), sharing_([this](const Node* node) {
          auto kernel = input_.kernels.find(node);
          return kernel == input_.kernels.end() ? ops::Sharing::Pairs() : kernel->second.in_place;
        }) {
    out_.program.name = input_.graph.name;
    for (const auto& [symbol, range] : input_.graph.dims.symbols()) {
      symbol_index_[symbol] = static_cast<int32_t>(out_.symbols.size());
      out_.symbols.push_back(symbol);
    }
    out_.program.owners = std::move(input_.owners);
  }

  Plan run() {
    block(input_.graph.body());
    // The graph lives as long as the program that was planned for it.
    out_.program.describe = [held = std::move(held_)](rt::BlockId block, rt::SlotId slot) {
      return describe(held[static_cast<size_t>(block)][static_cast<size_t>(slot)]);
    };
    return std::move(out_);
  }

  rt::SizeId size(const Dim& dim) override { return add_size(out_.program.sizes, dim, symbol_index_); }
  rt::SizeId bytes(const Type& type) override {
    if (!type.is_tensor()) return size(Dim(int64_t{0}));
    return size(type.elements() * Dim(static_cast<int64_t>(size_of(type.dtype))));
  }

  rt::BlockId block(const Block& source) override {
    auto id = static_cast<rt::BlockId>(out_.program.blocks.size());
    out_.program.blocks.emplace_back();
    held_.emplace_back();
    out_.made.emplace_back();
    rt::Block made;
    made.inputs = static_cast<int32_t>(source.args().size());
    made.outputs = static_cast<int32_t>(source.results().size());
    std::unordered_map<Value, rt::SlotId> saved_slots = std::exchange(slots_, {});
    std::unordered_map<rt::SlotId, Value> saved_temporaries = std::exchange(temporary_of_, {});
    std::vector<Once> saved_once = std::exchange(once_, {});
    rt::Block* saved_block = std::exchange(current_, &made);

    const ops::Sharing::OfBlock& sharing = sharing_.of(source);
    const std::unordered_map<Value, int>& output_of = sharing.output_of;
    for (size_t i = 0; i < source.args().size(); ++i)
      slots_[source.arg(i)] =
          add_slot({rt::SlotKind::Input, static_cast<int32_t>(i), bytes(source.arg(i)->type())});
    if (id == 0) {  // other forms of inputs stand behind them
      first_prepared_ = made.inputs;
      made.inputs += static_cast<int32_t>(input_.prepared.size());
    }
    std::vector<Plan::Made> made_of;
    for (Node* node : source) {
      if (node == source.terminator()) break;
      emit(node, sharing);
      if (made.code.size() == made_of.size()) continue;
      const size_t first = made_of.size();
      made_of.resize(made.code.size(), {node, true});
      made_of.back().prepares = false;
      // One of several kernels runs, each of which is the node.
      for (size_t at = first; at < made_of.size(); ++at)
        if (const auto* call = std::get_if<rt::KernelCall>(&made.code[at]); call && call->when >= 0)
          made_of[at].prepares = std::ranges::count(call->buffers, slots_.at(node->result(0))) == 0;
    }
    for (size_t i = 0; i < source.results().size(); ++i) {
      Value v = source.results()[i];
      auto claimed = output_of.find(ops::root_of(v));
      if (claimed != output_of.end() && claimed->second == static_cast<int>(i)) continue;
      rt::SizeId n = bytes(v->type());
      rt::SlotId to = add_slot({rt::SlotKind::Output, static_cast<int32_t>(i), n});
      current_->code.push_back(rt::Copy{slots_.at(v), to, n});
    }
    made_of.resize(made.code.size());
    ops::Sharing::Pairs shared = sharing.shared;
    if (!once_.empty()) make_room(made, source, shared);
    if (id == 0)
      std::erase_if(shared, [&](const auto& pair) { return !input_.donated.contains(pair.second); });
    put_side_by_side(out_.program, made, made_of, shared);
    out_.made[static_cast<size_t>(id)] = std::move(made_of);
    std::vector<Held>& held = held_[static_cast<size_t>(id)];
    held.resize(made.slots.size());
    for (const auto& [value, slot] : slots_) held[static_cast<size_t>(slot)].value = ops::root_of(value);
    for (const auto& [slot, value] : temporary_of_) held[static_cast<size_t>(slot)] = {value, true};
    for (size_t s = 0; s < made.slots.size(); ++s)
      if (made.slots[s].kind == rt::SlotKind::Output)
        held[s].value = ops::root_of(source.results()[static_cast<size_t>(made.slots[s].index)]);
    if (id == 0) find_donatable(source, sharing);
    current_ = saved_block;
    planned_once_ = std::exchange(once_, std::move(saved_once));
    slots_ = std::move(saved_slots);
    temporary_of_ = std::move(saved_temporaries);
    out_.program.blocks[static_cast<size_t>(id)] = std::move(made);
    return id;
  }

  rt::SlotId slot(Value v) const override { return slots_.at(v); }
  bool shares(const Block& source, int output, int input) override {
    return std::ranges::count(sharing_.of(source).shared, std::pair{output, input}) != 0;
  }
  std::vector<rt::SlotId> packed_once(const Node* scan) override {
    std::vector<rt::SlotId> out;
    for (const Once& once : std::exchange(planned_once_, {}))
      out.push_back(packed_before(scan->operand(once.argument), once.kernel, once.pack, once.when));
    return out;
  }
  void add(rt::Instruction instruction) override { current_->code.push_back(std::move(instruction)); }

 private:
  // Whose elements a slot holds: null where it has no value of its own; or what a kernel that computes the
  // value keeps meanwhile.
  struct Held {
    Value value = nullptr;
    bool temporary = false;
  };

  // "f32[8, 128] of model.py:12 in forward:  s = x.sum(0)".
  static std::string describe(const Held& held) {
    const Value v = held.value;
    if (!v) return "an array";
    std::string text = (held.temporary ? "a temporary for " : "") + v->type().str();
    if (v->node() && v->node()->location().known()) text += " of " + v->node()->location().str();
    return text;
  }

  // What a kernel of a scan's body reads in another form, of an argument that is the same in every step.
  struct Once {
    size_t argument;
    const Node* kernel;
    KernelChoice::Pack pack;
    std::optional<Dim> when;
    rt::SlotId slot;  // of the body: where it reads that form
  };

  // The other forms stand behind the body's constants, and in front of what is carried and scanned.
  void make_room(rt::Block& body, const Block& source, ops::Sharing::Pairs& shared) const {
    const auto constants = static_cast<int32_t>(source.parent()->segments()[0]);
    const auto added = static_cast<int32_t>(once_.size());
    for (rt::Slot& slot : body.slots)
      if (slot.kind == rt::SlotKind::Input && slot.index >= constants) slot.index += added;
    for (auto& [output, input] : shared)
      if (input >= constants) input += added;
    for (int32_t i = 0; i < added; ++i)
      body.slots[static_cast<size_t>(once_[static_cast<size_t>(i)].slot)].index = constants + i;
    body.inputs += added;
  }

  static bool may_fail(const Node* node) {
    if (ops::has(node, ops::Trait::Effect) || ops::is_host_call(node)) return true;
    for (const auto& region : node->regions())
      for (const Node* inner : *region)
        if (may_fail(inner)) return true;
    return false;
  }

  // An output may take an input's memory where nothing can end the run once it is written to: whoever gave
  // the input still has it then, as it was.
  void find_donatable(const Block& source, const ops::Sharing::OfBlock& sharing) {
    for (auto [output, input] : sharing.shared) {
      bool written = false, safe = true;
      for (const Node* node : source) {
        for (Value v : node->results())
          if (auto it = sharing.output_of.find(v); it != sharing.output_of.end())
            written |= it->second == output;
        safe = safe && !(written && may_fail(node));
      }
      if (safe) out_.donatable.emplace_back(output, input);
    }
  }

  rt::SlotId add_slot(rt::Slot slot) {
    current_->slots.push_back(slot);
    return static_cast<rt::SlotId>(current_->slots.size() - 1);
  }

  rt::SlotId temporary(rt::SizeId bytes, Value of) {
    rt::SlotId slot = add_slot({rt::SlotKind::Arena, 0, bytes});
    temporary_of_[slot] = of;
    return slot;
  }

  void emit(Node* node, const ops::Sharing::OfBlock& sharing) {
    if (const AttrValue* literal = node->attrs().find("value");
        literal && ops::has(node, ops::Trait::Constant) && std::holds_alternative<Literal>(*literal)) {
      slots_[node->result()] = constant(std::get<Literal>(*literal).storage());
      return;
    }
    if (ops::is_relabel(node)) {
      slots_[node->result()] = slots_.at(node->operand(0));
      return;
    }
    auto kernel = input_.kernels.find(node);
    for (size_t i = 0; i < node->results().size(); ++i) {
      Value v = node->result(i);
      rt::Slot slot{rt::SlotKind::Arena, 0, bytes(v->type())};
      if (auto it = sharing.output_of.find(v); it != sharing.output_of.end())
        slot = {rt::SlotKind::Output, it->second, bytes(v->type())};
      else if (kernel != input_.kernels.end())
        slot.alias = take_over(node, static_cast<int>(i), kernel->second, sharing);
      slots_[v] = add_slot(slot);
    }
    if (kernel != input_.kernels.end()) return launch(node, kernel->second);
    if (ops::has(node, ops::Trait::Control)) return plan_control(*this, node);
    if (ops::is_host_call(node)) return host_call(node);
    if (ops::has(node, ops::Trait::Effect)) return effect(node);
    bool token = node->results().size() == 1 && !node->result()->type().is_tensor();
    if (token && node->operands().empty()) return;  // the order of instructions is all there is to a token
    fall_back(node);
  }

  // An operand's arena slot whose place the result takes, or -1.
  rt::SlotId take_over(Node* node, int result, const KernelChoice& kernel,
                       const ops::Sharing::OfBlock& sharing) {
    for (auto [r, a] : kernel.in_place) {
      if (r != result) continue;
      Value operand = ops::root_of(node->operand(static_cast<size_t>(a)));
      rt::SlotId slot = slots_.at(operand);
      bool arena = current_->slots[static_cast<size_t>(slot)].kind == rt::SlotKind::Arena;
      bool same = current_->slots[static_cast<size_t>(slot)].bytes ==
                  bytes(node->result(static_cast<size_t>(result))->type());
      if (!arena || !same || sharing.last_use.at(operand) != node || taken_.contains(operand)) continue;
      if (!ops::read_once(node, operand)) continue;
      taken_.insert(operand);
      return slot;
    }
    return -1;
  }

  // The check with the number, done again on what the kernel told.
  static std::function<void(int64_t, int64_t)> failing(const std::vector<const Node*>& nodes) {
    std::vector<EffectCall> checks;
    for (const Node* node : nodes) {
      checks.push_back({node->op(), node->attrs(), {}, {}, node->location()});
      for (Value v : node->operands().subspan(1)) checks.back().values.push_back(v->type());
    }
    return [checks = std::move(checks)](int64_t check, int64_t value) {
      const EffectCall& call = checks.at(static_cast<size_t>(check));
      std::vector<Literal> values;  // the condition, which is false, and what is told; little-endian
      for (const Type& type : call.values) {
        const int64_t element = values.empty() ? 0 : value;
        values.push_back(Literal::allocate(type.dtype, std::vector<int64_t>(type.dims.size(), 1)));
        std::memcpy(values.back().mutable_data(), &element, values.back().bytes());
      }
      ops::run_effect(ops::get(call.op), call.attrs, values, call.where);
    };
  }

  rt::KernelCall call_of(const KernelChoice& kernel) {
    rt::KernelCall call;
    call.kernel = kernel.function;
    call.origin = kernel.origin;
    call.name = kernel.name;
    call.grain = kernel.grain;
    call.block_grains = kernel.block_grains;
    if (kernel.grains) call.grains = size(*kernel.grains);
    if (kernel.when) call.when = size(*kernel.when);
    call.steps = kernel.steps;
    if (!kernel.checks.empty()) call.fail = failing(kernel.checks);
    for (const std::string& formula : kernel.sizes) call.dims.push_back(size(Dim::parse(formula)));
    call.blocks = size(kernel.blocks);
    if (!kernel.scratch.empty()) {
      Dim total = int64_t{0};
      for (const auto& [dtype, elements] : kernel.scratch) {
        Dim n = elements * Dim(static_cast<int64_t>(size_of(dtype))) + Dim(rt::kScratchSpare);
        total = total + ceildiv(n, Dim(int64_t{64})) * Dim(int64_t{64});
      }
      call.scratch = size(total);
    }
    return call;
  }

  void launch(Node* node, const KernelChoice& kernel) {
    rt::KernelCall call = call_of(kernel);
    for (Value v : node->operands()) call.buffers.push_back(slots_.at(v));
    for (const auto& [operand, storage] : kernel.packed)
      call.buffers[static_cast<size_t>(operand)] = constant(storage);
    for (auto [operand, index] : kernel.prepared)
      call.buffers[static_cast<size_t>(operand)] =
          add_slot({rt::SlotKind::ProgramInput, first_prepared_ + index,
                    size(Dim(input_.prepared[static_cast<size_t>(index)]))});
    for (const KernelChoice::Pack& pack : kernel.packs)
      call.buffers[static_cast<size_t>(pack.operand)] =
          packed_before(node->operand(static_cast<size_t>(pack.operand)), node, pack, kernel.when);
    for (Value v : node->results()) call.buffers.push_back(slots_.at(v));
    for (const auto& [dtype, elements] : kernel.temporaries)
      call.buffers.push_back(
          temporary(size(elements * Dim(static_cast<int64_t>(size_of(dtype)))), node->result(0)));
    for (auto [result, operand] : kernel.updates)
      bring(call.buffers[static_cast<size_t>(operand)], slots_.at(node->result(static_cast<size_t>(result))));
    call.reads = static_cast<int32_t>(node->operands().size());
    if (kernel.first) {
      rt::KernelCall first = call_of(*kernel.first);
      first.buffers = call.buffers;
      first.reads = call.reads;
      current_->code.push_back(std::move(first));
    }
    current_->code.push_back(std::move(call));
    if (kernel.other) launch(node, *kernel.other);
  }

  // The elements of one slot into another, unless they lie there already.
  void bring(rt::SlotId from, rt::SlotId to) {
    const rt::Slot &source = current_->slots[static_cast<size_t>(from)],
                   &target = current_->slots[static_cast<size_t>(to)];
    const bool output = source.kind == rt::SlotKind::Output && target.kind == rt::SlotKind::Output &&
                        source.index == target.index;
    if (target.alias != from && !output) current_->code.push_back(rt::Copy{from, to, target.bytes});
  }

  // Where the operand's other form lies: in a temporary, which a call in front writes; of what is the same in
  // every step of a scan, in front of the scan.
  static constexpr int64_t kBytesOfGrain = 64 << 10;  // some microseconds
  rt::SlotId packed_before(Value operand, const Node* kernel, const KernelChoice::Pack& pack,
                           const std::optional<Dim>& when) {
    operand = ops::root_of(operand);
    const rt::SizeId bytes = size(when ? pack.bytes * *when : pack.bytes);
    const Node* loop = operand->node() ? nullptr : operand->block()->parent();
    if (loop && ops::way_of(loop) == ops::Way::Scan && operand->index() < loop->segments()[0]) {
      const rt::SlotId slot = add_slot({rt::SlotKind::Input, 0, bytes});
      temporary_of_[slot] = kernel->result(0);
      once_.push_back({operand->index(), kernel, pack, when, slot});
      return slot;
    }
    const rt::SlotId to = temporary(bytes, kernel->result(0));
    rt::KernelCall call;
    call.kernel = pack.function;
    call.name = "pack";
    call.buffers = {slots_.at(operand), to};
    call.reads = 1;
    for (const Dim& n : pack.sizes) call.dims.push_back(size(n));
    call.blocks = size(pack.blocks);
    call.grains = size(floordiv(pack.bytes, Dim(kBytesOfGrain)));
    if (when) call.when = size(*when);
    current_->code.push_back(std::move(call));
    return to;
  }

  void fall_back(Node* node) {
    auto context = std::make_shared<Fallback>();
    context->op = node->op();
    context->attrs = node->attrs();
    for (Value v : node->operands()) context->operands.push_back(v->type());
    for (Value v : node->results()) context->results.push_back(v->type());
    context->symbols = out_.symbols;
    rt::Host host;
    host.function = run_fallback;
    host.context = context;
    host.fallback = true;
    host.name = node->op().name();
    for (Value v : node->operands()) host.buffers.push_back(slots_.at(v));
    for (Value v : node->results()) host.buffers.push_back(slots_.at(v));
    for (const std::string& symbol : out_.symbols) host.dims.push_back(size(Dim::symbol(symbol)));
    current_->code.push_back(std::move(host));
  }

  void effect(Node* node) {
    auto call = std::make_shared<EffectCall>();
    call->op = node->op();
    call->attrs = node->attrs();
    call->symbols = out_.symbols;
    call->where = node->location();
    rt::Host host;
    host.function = run_effect;
    host.context = call;
    host.name = node->op().name();
    for (Value v : node->operands().subspan(1)) {
      call->values.push_back(v->type());
      host.buffers.push_back(slots_.at(v));
    }
    for (const std::string& symbol : out_.symbols) host.dims.push_back(size(Dim::symbol(symbol)));
    current_->code.push_back(std::move(host));
  }

  void host_call(Node* node) {
    auto call = std::make_shared<HostNode>();
    call->op = node->op();
    call->attrs = node->attrs();
    call->symbols = out_.symbols;
    call->where = node->location();
    rt::Host host;
    host.function = run_host_node;
    host.context = call;
    host.name = node->op().name();
    const size_t token = ops::has(node, ops::Trait::Effect);
    for (Value v : node->operands().subspan(token)) {
      call->operands.push_back(v->type());
      host.buffers.push_back(slots_.at(v));
    }
    for (Value v : node->results().subspan(token)) host.buffers.push_back(slots_.at(v));
    for (const std::string& symbol : out_.symbols) host.dims.push_back(size(Dim::symbol(symbol)));
    current_->code.push_back(std::move(host));
  }

  rt::SlotId constant(const Storage& storage) {
    auto [it, fresh] =
        constants_.try_emplace(storage.data(), static_cast<int32_t>(out_.program.constants.size()));
    if (fresh) out_.program.constants.push_back(storage);
    return add_slot({rt::SlotKind::Constant, it->second, size(Dim(static_cast<int64_t>(storage.bytes())))});
  }

  Input input_;
  ops::Sharing sharing_;
  Plan out_;
  std::map<std::string, int32_t> symbol_index_;
  std::unordered_map<Value, rt::SlotId> slots_;
  std::vector<Once> once_;          // of the block at hand
  std::vector<Once> planned_once_;  // of the one that was planned last
  std::unordered_set<Value> taken_;
  std::unordered_map<const void*, int32_t> constants_;
  int32_t first_prepared_ = 0;  // among the program's inputs
  std::unordered_map<rt::SlotId, Value> temporary_of_;
  std::vector<std::vector<Held>> held_;  // of each block's slots
  rt::Block* current_ = nullptr;
};

}  // namespace

Plan make_plan(Input input) { return Planner(std::move(input)).run(); }

}  // namespace ig::plan
