// Program kernels: small kernels, or a loop of them, as one function. Each kernel is lowered as it always is,
// and spliced in where it runs; what passes between them lies in scratch, or in a register where it is a
// single element. Scratch whose value nobody reads any more is taken again.
//
// Kernels that follow each other are one block. Of a loop, a block of the kernel is a step. Slices of what is
// scanned and stacked are read and written where they are, and what is carried lies in the buffers of the
// loop's results between steps, so the caller may run the steps in several calls and look at interrupts in
// between. A `while` leaves by a check that is no error (rt::kLoopDone).
#include <algorithm>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "codegen/group_emitter.h"
#include "codegen/splice.h"
#include "ops/control_attrs.h"
#include "ops/effects.h"
#include "ops/memory.h"
#include "runtime/kernel_abi.h"

namespace ig::codegen {
namespace {

using loop::Expr;

bool is_kernel(const Node* node) { return node->attrs().find("kind") && node->regions().size() == 1; }
bool single(const Type& type) { return product(type.dims) == Dim(int64_t{1}); }

class ProgramLowering {
 public:
  ProgramLowering(GroupEmitter& emit, Kernel& kernel, const std::vector<bool>& constant_operands)
      : emit_(emit), build_(emit.build), kernel_(kernel), constant_operands_(constant_operands) {}

  void run() {
    const Node* first = emit_.region.first();
    if (ops::is_loop(first)) {
      IG_CHECK(emit_.region.size() == 1, "a program kernel holds one loop, or kernels");
      loop(first);
    } else {
      line();
    }
  }

 private:
  using Places = std::unordered_map<Value, Place>;
  using Wanted = std::vector<std::optional<Place>>;

  // Kernels that follow each other.
  void line() {
    std::vector<Place> operands;
    for (Value v : emit_.region.args()) operands.push_back(at(emit_.buffer_of_arg(v)));
    Wanted results;
    for (size_t r = 0; r < emit_.region.results().size(); ++r) results.push_back(at(emit_.result_buffer(r)));
    run_block(emit_.region, operands, results);
  }

  void loop(const Node* loop) {
    std::vector<Place> operands, results;
    for (Value v : loop->operands()) operands.push_back(at(emit_.buffer_of_arg(v)));
    for (size_t i = 0; i < loop->results().size(); ++i) results.push_back(at(result_buffer(loop, i)));
    if (ops::way_of(loop) == ops::Way::While)
      steps_of_while(loop, operands, results);
    else
      steps_of_scan(loop, operands, results);
    // The first step copies what is carried into the results, element by element.
    size_t consts = loop->segments()[0];
    for (size_t k = 0; k < loop->segments()[1]; ++k) {
      Value init = loop->operand(consts + k);
      for (size_t r = 0; r < emit_.region.results().size(); ++r)
        if (emit_.region.results()[r] == loop->result(k) && init->uses().size() == 1)
          kernel_.in_place.emplace_back(static_cast<int>(r), static_cast<int>(init->index()));
    }
  }

  Place at(uint32_t buffer) { return {Place::Kind::Buffer, buffer, build_.index(0), {}}; }

  // Scratch of that size, and giving it back: the next one who asks may have it.
  Place temporary(DType dtype, const Dim& elements) {
    std::vector<uint32_t>& unused = unused_[{dtype, elements.str()}];
    if (unused.empty()) return at(build_.add_scratch(dtype, elements, "t"));
    uint32_t id = unused.back();
    unused.pop_back();
    return at(id);
  }
  Place temporary(const Type& type) { return temporary(type.dtype, product(type.dims)); }
  void give_back(const Place& place, DType dtype, const Dim& elements) {
    unused_[{dtype, elements.str()}].push_back(place.id);
  }

  // A result that nobody reads has no buffer among the node's.
  uint32_t result_buffer(const Node* loop, size_t i) {
    for (size_t r = 0; r < emit_.region.results().size(); ++r)
      if (emit_.region.results()[r] == loop->result(i)) return emit_.result_buffer(r);
    return temporary(loop->result(i)->type()).id;
  }

  void copy(const Place& to, const Place& from, const Type& type) {
    if (to.kind == from.kind && to.kind != Place::Kind::Number && to.id == from.id &&
        (to.kind == Place::Kind::Register || to.offset.node() == from.offset.node()))
      return;
    if (single(type))
      return write_place(build_, to, build_.index(0), build_.let(read_place(build_, from, build_.index(0))));
    int lanes = lanes_for(emit_.target, static_cast<int>(size_of(type.dtype)), product(type.dims));
    build_.vector_for(build_.index(0), emit_.size(product(type.dims)), lanes,
                      [&](Expr i) { write_place(build_, to, i, read_place(build_, from, i)); });
  }

  void first_step(const Node* loop, std::span<const Place> operands, std::span<const Place> results) {
    size_t consts = loop->segments()[0];
    build_.if_then(build_.block() == build_.index(0), [&] {
      for (size_t k = 0; k < loop->segments()[1]; ++k)
        copy(results[k], operands[consts + k], loop->operand(consts + k)->type());
    });
  }

  void steps_of_while(const Node* loop, std::span<const Place> operands, std::span<const Place> results) {
    kernel_.steps = rt::KernelSteps::Until;
    first_step(loop, operands, results);
    std::vector<Place> args(operands.begin(), operands.begin() + loop->segments()[0]);
    args.insert(args.end(), results.begin(), results.end());
    const Block &condition = loop->region(0), &body = loop->region(1);
    Place flag = run_block(condition, args, Wanted(1))[0];
    build_.fail_if(~read_place(build_, flag, build_.index(0)), rt::kLoopDone, build_.index(0));
    run_block(body, args, Wanted(results.begin(), results.end()));
  }

  void steps_of_scan(const Node* loop, std::span<const Place> operands, std::span<const Place> results) {
    kernel_.steps = rt::KernelSteps::Counted;
    Dim trips = ops::scan_length(loop);
    kernel_.blocks = max(trips, Dim(int64_t{1}));  // the carry goes to the results even where nothing runs
    first_step(loop, operands, results);
    auto step = [&] { scan_step(loop, operands, results, trips, build_.block()); };
    if (!trips.is_constant()) return build_.if_then(build_.block() < emit_.size(trips), step);
    if (trips.constant() > 0) step();
  }

  void scan_step(const Node* scan, std::span<const Place> operands, std::span<const Place> results,
                 const Dim& trips, Expr n) {
    const Block& body = scan->region(0);
    size_t consts = scan->segments()[0], carries = scan->segments()[1];
    Expr i = scan->attrs().get(ops::kReverse) ? emit_.size(trips) - build_.index(1) - n : n;
    auto slice = [&](Place whole, const Type& type) {
      if (whole.kind == Place::Kind::Buffer) whole.offset = whole.offset + i * emit_.size(product(type.dims));
      return whole;
    };
    std::vector<Place> args(operands.begin(), operands.begin() + static_cast<int64_t>(consts));
    args.insert(args.end(), results.begin(), results.begin() + static_cast<int64_t>(carries));
    for (size_t x = consts + carries; x < operands.size(); ++x)
      args.push_back(slice(operands[x], body.arg(x)->type()));
    Wanted wanted(results.begin(), results.begin() + static_cast<int64_t>(carries));
    for (size_t y = carries; y < results.size(); ++y)
      wanted.push_back(slice(results[y], body.results()[y]->type()));
    run_block(body, args, wanted);
  }

  // Which values of a block its kernels may write at once where a result of it is wanted: results, and what
  // is changed in place on the way to one. A place that is also an argument's (what is carried) must not be
  // read any more.
  class Claims {
   public:
    Claims(const Block& block, std::span<const Place> args, const Wanted& wanted, ops::Sharing& sharing)
        : sharing_(sharing), output_of_(sharing.of(block).output_of), wanted_(wanted) {
      int position = 0;
      for (Node* node : block) {
        bool end = node == block.terminator();
        for (size_t o = 0; o < node->operands().size(); ++o) {
          Value v = ops::root_of(node->operand(o));
          if (v->node()) continue;
          // An argument that is given back as it came needs its place at the end, unless that is its place.
          if (end && wanted[o] && same(args[v->index()], *wanted[o])) continue;
          last_read_[v->index()] = position;
        }
        position_[node] = position++;
      }
      for (size_t i = 0; i < wanted.size(); ++i)
        for (size_t a = 0; a < args.size(); ++a)
          if (wanted[i] && same(args[a], *wanted[i])) shares_[i].push_back(a);
    }

    // The number of the block's result that the node's result may be written as, or -1.
    int of(const Node* node, size_t result) const {
      auto it = output_of_.find(node->result(result));
      if (it == output_of_.end() || !wanted_[static_cast<size_t>(it->second)]) return -1;
      const Value wanted = node->block()->results()[static_cast<size_t>(it->second)];
      if (wanted->type().dtype != node->result(result)->type().dtype) return -1;  // buffers have types
      auto shared = shares_.find(static_cast<size_t>(it->second));
      if (shared == shares_.end()) return it->second;
      for (size_t a : shared->second)
        if (!may_replace(a, node, result)) return -1;
      return it->second;
    }

    // Whether the node may write its result where the block's argument lies: nothing reads that any more.
    bool may_replace(size_t argument, const Node* node, size_t result) const {
      auto read = last_read_.find(argument);
      if (read == last_read_.end() || read->second < position_.at(node)) return true;
      if (read->second > position_.at(node)) return false;
      int readers = 0;
      bool allowed = false;
      const ops::Sharing::Pairs in_place = sharing_.in_place(node);
      for (size_t o = 0; o < node->operands().size(); ++o) {
        Value v = ops::root_of(node->operand(o));
        if (v->node() || v->index() != argument) continue;
        ++readers;
        allowed = std::find(in_place.begin(), in_place.end(),
                            std::pair{static_cast<int>(result), static_cast<int>(o)}) != in_place.end();
      }
      return readers == 1 && allowed;
    }

    static bool same(const Place& a, const Place& b) { return a.kind == b.kind && a.id == b.id; }

   private:
    ops::Sharing& sharing_;
    const std::unordered_map<Value, int>& output_of_;
    const Wanted& wanted_;
    std::unordered_map<size_t, int> last_read_;  // of each argument: the last node that reads it
    std::unordered_map<const Node*, int> position_;
    std::unordered_map<size_t, std::vector<size_t>> shares_;  // of each result: arguments at its place
  };

  // Runs a block's nodes; its results go where they are wanted, or stay where they are.
  std::vector<Place> run_block(const Block& block, std::span<const Place> args, const Wanted& wanted) {
    Claims claims(block, args, wanted, sharing_);
    Places places;
    for (size_t i = 0; i < args.size(); ++i) places[block.arg(i)] = args[i];
    std::unordered_map<Value, const Node*> last_reader;
    for (const Node* node : block)
      if (!ops::is_relabel(node))
        for (Value v : node->operands()) last_reader[ops::root_of(v)] = node;
    std::unordered_map<const Node*, std::vector<Value>> dead_behind;  // in order: it decides about places
    for (const Node* node : block)
      for (Value v : node->results())
        if (auto reader = last_reader.find(v);
            reader != last_reader.end() && reader->second != block.terminator())
          dead_behind[reader->second].push_back(v);
    for (Node* node : block) {
      if (node == block.terminator()) break;
      if (ops::is_relabel(node))
        places[node->result()] = places.at(node->operand(0));
      else if (ops::is_plain_check(node))
        check(node, places);
      else if (node->operands().empty() && !node->result(0)->type().is_tensor())
        continue;  // a token: effects stand in their order
      else if (ops::has(node, ops::Trait::Constant))
        places[node->result()] = number(node);
      else if (is_kernel(node))
        kernel(node, claims, wanted, places);
      else
        control(node, claims, wanted, places);
      for (Value v : dead_behind[node])
        if (own_.contains(v)) give_back(places.at(v), v->type().dtype, product(v->type().dims));
    }

    // The rest is copied; first aside what would be written over by another of these copies.
    std::vector<Place> out;
    std::vector<std::pair<size_t, Place>> late;
    for (size_t i = 0; i < wanted.size(); ++i) {
      Value v = block.results()[i];
      Place from = places.at(v);
      out.push_back(wanted[i].value_or(from));
      if (!wanted[i] || Claims::same(from, *wanted[i])) continue;
      bool overwritten = false;
      for (size_t k = 0; k < wanted.size(); ++k)
        overwritten = overwritten || (k != i && wanted[k] && Claims::same(from, *wanted[k]));
      if (overwritten && !ops::root_of(v)->node()) {
        Place aside = temporary(v->type());
        copy(aside, from, v->type());
        from = aside;
      }
      late.emplace_back(i, from);
    }
    for (const auto& [i, from] : late) copy(*wanted[i], from, block.results()[i]->type());
    return out;
  }

  void check(const Node* node, const Places& places) {
    const auto condition = static_cast<size_t>(ops::op_of(node).rules.lower.condition);
    auto read = [&](size_t i) { return read_place(build_, places.at(node->operand(i)), build_.index(0)); };
    const bool tells = node->operands().size() > condition + 1;
    Expr value = tells ? loop::convert(read(condition + 1), DType::I64) : build_.index(0);
    build_.fail_if(~read(condition), static_cast<uint32_t>(kernel_.checks.size()), value);
    kernel_.checks.push_back(node);
  }

  Place number(const Node* node) {
    const auto& literal = std::get<Literal>(*node->attrs().find("value"));
    DType dtype = literal.dtype();
    Place place{Place::Kind::Number, 0, {}, {}};
    place.number = is_float(dtype) ? build_.constant(dtype, literal.as_double(0))
                                   : build_.constant_int(dtype, literal.as_int(0));
    return place;
  }

  // The operand of the whole kernel that this value is, where that is a constant and nothing else reads it;
  // so it may come in another layout. Or -1.
  int constant_behind(Value v) const {
    while (v->uses().size() == 1) {
      if (v->node()) {
        if (!ops::is_relabel(v->node())) return -1;
        v = v->node()->operand(0);
        continue;
      }
      const Node* holder = v->block()->parent();
      if (v->block() == &emit_.region)
        return constant_operands_[v->index()] ? static_cast<int>(v->index()) : -1;
      if (!ops::is_loop(holder) || v->index() >= holder->segments()[0]) return -1;
      size_t readers = 0;  // a `while` gives it to its condition and its body
      for (const auto& region : holder->regions()) readers += region->arg(v->index())->uses().size();
      if (readers != 1) return -1;
      v = holder->operand(v->index());
    }
    return -1;
  }

  static bool is_result(Value v) {
    return std::ranges::any_of(v->block()->results(),
                               [&](Value result) { return ops::root_of(result) == v; });
  }

  Kernel& lowered(const Node* node) {
    auto it = parts_.find(node);
    if (it != parts_.end()) return it->second;
    std::vector<bool> constant;
    for (Value v : node->operands()) constant.push_back(constant_behind(v) >= 0);
    Kernel part = lower(node, constant, emit_.target, {}, emit_.exact, emit_.relaxed.allowed);
    emit_.relaxed.add(part.relaxed);
    return parts_.emplace(node, std::move(part)).first->second;
  }

  void kernel(const Node* node, const Claims& claims, const Wanted& wanted, Places& places) {
    std::vector<int> constants;
    for (Value v : node->operands()) constants.push_back(constant_behind(v));
    Kernel& part = lowered(node);
    for (Kernel::Packing& packing : part.packings) {
      packing.operand = constants[static_cast<size_t>(packing.operand)];
      kernel_.packings.push_back(std::move(packing));
    }
    std::vector<Place> buffers;
    for (Value v : node->operands()) buffers.push_back(places.at(v));
    for (size_t r = 0; r < node->results().size(); ++r) {
      Value v = node->result(r);
      auto buffer = static_cast<uint32_t>(buffers.size());
      bool plain = !is_complex(v->type().dtype) && compute_type(v->type().dtype) == v->type().dtype;
      bool number = single(v->type()) && plain && fits_register(*part.function, buffer);
      // What is read inside as a number goes to its place at the end.
      const bool outermost = &emit_.region == node->block();
      int claimed = number && (outermost || !is_result(v)) ? -1 : claims.of(node, r);
      Place place;
      if (claimed >= 0)
        place = *wanted[static_cast<size_t>(claimed)];
      else if (number)
        place = {Place::Kind::Register, build_.local(v->type().dtype), {}, {}};
      else
        place = temporary(v->type()), own_.insert(v);
      places[v] = place;
      buffers.push_back(place);
      // The first who writes there decides what may lie there till then.
      if (claimed < 0 || !outermost || !written_.insert(claimed).second) continue;
      for (size_t a = 0; a < emit_.region.args().size(); ++a)
        if (claims.may_replace(a, node, r)) kernel_.in_place.emplace_back(claimed, static_cast<int>(a));
    }
    for (auto [result, operand] : part.updates) {
      const Value from = node->operand(static_cast<size_t>(operand));
      copy(buffers[node->operands().size() + static_cast<size_t>(result)],
           buffers[static_cast<size_t>(operand)], from->type());
    }
    const loop::Function& function = *part.function;
    for (size_t s = 0; s < function.scratch.size(); ++s)
      buffers.push_back(temporary(function.scratch[s].type, function.scratch_elements[s]));
    if (part.blocks == Dim(int64_t{1}))
      splice(build_, function, buffers, build_.index(0));
    else
      build_.serial_for(build_.index(0), emit_.size(part.blocks),
                        [&](Expr b) { splice(build_, function, buffers, b); });
    for (size_t s = 0; s < function.scratch.size(); ++s)
      give_back(buffers[function.buffers.size() + s], function.scratch[s].type, function.scratch_elements[s]);
  }

  void control(const Node* node, const Claims& claims, const Wanted& wanted, Places& places) {
    std::vector<Place> operands, results;
    for (Value v : node->operands()) operands.push_back(places.at(v));
    for (size_t r = 0; r < node->results().size(); ++r) {
      int claimed = claims.of(node, r);
      Value v = node->result(r);
      bool slot = claimed >= 0 && wanted[static_cast<size_t>(claimed)]->kind == Place::Kind::Buffer;
      results.push_back(slot ? *wanted[static_cast<size_t>(claimed)] : temporary(v->type()));
      if (!slot) own_.insert(v);
      places[v] = results.back();
    }
    const ops::Way way = ops::way_of(node);
    Wanted into(results.begin(), results.end());
    if (way == ops::Way::Scan) return inner_scan(node, operands, results);
    if (way == ops::Way::Call) {
      run_block(node->region(0), operands, into);
      return;
    }
    std::span<const Place> args = std::span<const Place>(operands).subspan(1);
    Expr selector = build_.let(read_place(build_, operands[0], build_.index(0)));
    if (way == ops::Way::Cond)
      return build_.if_then(
          selector, [&] { run_block(node->region(0), args, into); },
          [&] { run_block(node->region(1), args, into); });
    IG_CHECK(way == ops::Way::Switch, "a program kernel holds {}", node->op().name());
    branch(node, 0, loop::convert(selector, DType::I64), args, into);
  }

  // What lies outside of the branches takes the last one.
  void branch(const Node* node, size_t which, Expr selector, std::span<const Place> args,
              const Wanted& into) {
    if (which + 1 == node->regions().size()) {
      run_block(node->region(which), args, into);
      return;
    }
    build_.if_then(
        selector == build_.index(static_cast<int64_t>(which)),
        [&] { run_block(node->region(which), args, into); },
        [&] { branch(node, which + 1, selector, args, into); });
  }

  void inner_scan(const Node* node, std::span<const Place> operands, std::span<const Place> results) {
    size_t consts = node->segments()[0];
    for (size_t k = 0; k < node->segments()[1]; ++k)
      copy(results[k], operands[consts + k], node->operand(consts + k)->type());
    Dim trips = ops::scan_length(node);
    build_.serial_for(build_.index(0), emit_.size(trips),
                      [&](Expr n) { scan_step(node, operands, results, trips, n); });
  }

  GroupEmitter& emit_;
  loop::Builder& build_;
  Kernel& kernel_;
  const std::vector<bool>& constant_operands_;
  std::unordered_map<const Node*, Kernel> parts_;
  ops::Sharing sharing_{[this](const Node* node) {
    return is_kernel(node) && !ops::is_relabel(node) ? lowered(node).in_place : ops::Sharing::Pairs();
  }};
  std::map<std::pair<DType, std::string>, std::vector<uint32_t>> unused_;  // scratch, by type and size
  std::unordered_set<int> written_;                                        // results of the whole kernel
  std::unordered_set<Value> own_;  // values in scratch that was taken for them
};

}  // namespace

void lower_program(GroupEmitter& emit, Kernel& kernel, const std::vector<bool>& constant_operands) {
  ProgramLowering(emit, kernel, constant_operands).run();
}

}  // namespace ig::codegen
