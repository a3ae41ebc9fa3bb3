// What is fixed by a set of sizes: the sizes of all arrays, and where each lies in the arena.
#include <algorithm>

#include "runtime/executable_code.h"
#include "runtime/thread_pool.h"

namespace ig::rt {

constexpr size_t kSmallLanes = size_t{16} << 20;  // bytes that steps at once may take in any case

size_t checked_bytes(const Program& program, int64_t bytes) {
  if (bytes < 0)
    throw make_error(ErrorKind::Value, "{}: an array would have {} bytes", program.name, bytes)
        .why("the formula of its size is negative for these sizes")
        .hint("call with sizes for which every dimension is zero or more");
  return static_cast<size_t>(bytes);
}

int Executable::threads() const { return code_->trials > 0 ? ThreadPool::instance().num_threads() : 1; }

bool Executable::fits(const Sized& sized, std::span<const int64_t> symbol_values) const {
  return std::ranges::equal(sized.symbols, symbol_values) && sized.threads == threads();
}

std::shared_ptr<const Executable::Sized> Executable::plan(std::span<const int64_t> symbol_values) const {
  auto sized = std::make_shared<Sized>();
  sized->trials = std::make_unique<Trial[]>(static_cast<size_t>(code_->trials));
  sized->symbols.assign(symbol_values.begin(), symbol_values.end());
  sized->threads = threads();
  program_.sizes.evaluate(symbol_values, sized->values);
  for (SizeId id : code_->dims) sized->dims.push_back((*sized)[id]);
  for (SizeId id : code_->output_bytes) {
    size_t bytes = checked_bytes(program_, (*sized)[id]);
    sized->output_bytes.push_back(bytes);
    sized->planned_outputs += bytes;
  }

  // Bodies stand after the blocks that run them, so planning backwards has every body's total when it is
  // needed.
  sized->blocks.resize(program_.blocks.size());
  for (size_t b = program_.blocks.size(); b-- > 0;) {
    const Block& block = program_.blocks[b];
    const BlockCode& code = code_->blocks[b];
    BlockPlan& out = sized->blocks[b];
    std::vector<LiveRange> ranges;
    std::vector<size_t*> targets;
    auto slot_bytes = [&](SlotId id) {
      return checked_bytes(program_, (*sized)[block.slots[static_cast<size_t>(id)].bytes]);
    };
    auto want = [&](LiveRange range, size_t* target) {
      ranges.push_back(range);
      targets.push_back(target);
    };
    out.slots.assign(block.slots.size(), 0);
    out.child.assign(block.code.size(), 0);
    out.lanes.assign(block.code.size(), 1);
    out.spares.resize(block.code.size());
    for (size_t s = 0; s < block.slots.size(); ++s) {
      LiveRange range = code.lifetimes[s];
      if (block.slots[s].kind != SlotKind::Arena || range.last < range.first) continue;
      range.bytes = slot_bytes(static_cast<SlotId>(s));
      want(range, &out.slots[s]);
    }
    for (size_t i = 0; i < block.code.size(); ++i) {
      LiveRange life{.first = static_cast<int32_t>(i), .last = static_cast<int32_t>(i)};
      for (const Group& group : code.groups)
        if (life.first >= group.begin && life.last < group.end)
          life = {.first = group.begin, .last = group.end - 1};
      size_t body = 0;
      auto consider = [&](BlockId id) {
        body = std::max(body, sized->blocks[static_cast<size_t>(id)].total);
      };
      std::vector<size_t> spare_bytes;
      if (const auto* c = std::get_if<Cond>(&block.code[i])) {
        for (BlockId id : c->branches) consider(id);
      } else if (const auto* w = std::get_if<While>(&block.code[i])) {
        consider(w->cond);
        consider(w->body);
        for (size_t k = 0; k < w->results.size(); ++k)
          spare_bytes.push_back(w->in_place[k] ? 0 : slot_bytes(w->results[k]));
        spare_bytes.push_back(kAlignment);
      } else if (const auto* s = std::get_if<Scan>(&block.code[i])) {
        consider(s->body);
        for (size_t k = 0; k < s->results.size(); ++k)
          spare_bytes.push_back(s->in_place[k] ? 0 : slot_bytes(s->results[k]));
      } else if (const auto* call = std::get_if<Call>(&block.code[i])) {
        consider(call->body);
      }
      auto want_here = [&](size_t bytes, size_t* target) {
        life.bytes = bytes;
        want(life, target);
      };
      if (code.steps[i].trial >= 0) {
        // Each lane has a part of its own, all together no more than what the loop reads and gives.
        const auto& scan = std::get<Scan>(block.code[i]);
        size_t moved = kSmallLanes;
        for (const auto* slots : {&scan.xs, &scan.ys})
          for (SlotId slot : *slots) moved += slot_bytes(slot);
        const auto most = std::min<int64_t>(sized->threads, (*sized)[scan.trips]);
        out.lanes[i] = static_cast<int32_t>(std::clamp<int64_t>(
            static_cast<int64_t>(moved / std::max<size_t>(body, 1)), 1, std::max<int64_t>(most, 1)));
        body *= static_cast<size_t>(out.lanes[i]);
      }
      if (body) want_here(body, &out.child[i]);
      out.spares[i].resize(spare_bytes.size());
      for (size_t k = 0; k < spare_bytes.size(); ++k) want_here(spare_bytes[k], &out.spares[i][k]);
    }
    ArenaPlan arena = plan_arena(ranges);
    for (size_t k = 0; k < targets.size(); ++k) *targets[k] = arena.offsets[k];
    out.total = arena.total;
    out.lower_bound = arena.lower_bound;
  }
  return sized;
}

}  // namespace ig::rt
