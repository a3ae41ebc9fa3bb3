// Finds work for several threads at once: steps of loops that need nothing of each other, and instructions.
// These change places where neither touches memory that the other writes.
#include "plan/side_by_side.h"

#include <algorithm>
#include <set>

namespace ig::plan {
namespace {

constexpr size_t kFarthest = 256;  // instructions that one is brought past

// Memory of a block: arena slots by the first of those that take over each other's place, others by kind and
// number. An output that may lie where an input does is that one's memory too.
using Memory = std::pair<rt::SlotKind, int32_t>;

// Whether nothing in the loop is seen from outside, ends the run, or needs the thread that called.
bool is_pure(const rt::Program& program, const rt::Scan& loop) {
  return std::ranges::all_of(
      program.blocks[static_cast<size_t>(loop.body)].code, [&](const rt::Instruction& instruction) {
        if (const auto* inner = std::get_if<rt::Scan>(&instruction)) return is_pure(program, *inner);
        const auto* kernel = std::get_if<rt::KernelCall>(&instruction);
        return std::holds_alternative<rt::Copy>(instruction) || (kernel && !kernel->fail);
      });
}

class Touched {
 public:
  Touched(const rt::Program& program, const rt::Block& block, std::span<const std::pair<int, int>> shared,
          const rt::Instruction& instruction) {
    // What may end the run stays where it is: errors come in order, and whoever gave an input that may be
    // overwritten has it back then.
    const auto* kernel = std::get_if<rt::KernelCall>(&instruction);
    if (kernel && !kernel->fail) {
      const auto reads = static_cast<size_t>(kernel->reads);
      add(block, shared, std::span(kernel->buffers).first(reads), read_);
      add(block, shared, std::span(kernel->buffers).subspan(reads), written_);
    } else if (const auto* scan = std::get_if<rt::Scan>(&instruction); scan && is_pure(program, *scan)) {
      for (const auto* slots : {&scan->consts, &scan->init, &scan->xs}) add(block, shared, *slots, read_);
      for (const auto* slots : {&scan->results, &scan->ys}) add(block, shared, *slots, written_);
    } else if (const auto* copy = std::get_if<rt::Copy>(&instruction)) {
      add(block, shared, {&copy->from, 1}, read_);
      add(block, shared, {&copy->to, 1}, written_);
    } else {
      known_ = false;
    }
  }

  // Whether either may come first, or both at once.
  bool apart(const Touched& other) const {
    return known_ && other.known_ && !meet(written_, other.read_) && !meet(written_, other.written_) &&
           !meet(read_, other.written_);
  }

 private:
  using Pairs = std::span<const std::pair<int, int>>;
  static void add(const rt::Block& block, Pairs shared, std::span<const rt::SlotId> slots,
                  std::set<Memory>& to) {
    for (rt::SlotId id : slots) {
      while (block.slots[static_cast<size_t>(id)].alias >= 0) id = block.slots[static_cast<size_t>(id)].alias;
      const rt::Slot& slot = block.slots[static_cast<size_t>(id)];
      to.insert({slot.kind, slot.kind == rt::SlotKind::Arena ? id : slot.index});
      if (slot.kind != rt::SlotKind::Output) continue;
      for (auto [output, input] : shared)
        if (output == slot.index) to.insert({rt::SlotKind::Input, input});
    }
  }
  static bool meet(const std::set<Memory>& a, const std::set<Memory>& b) {
    return std::ranges::any_of(a, [&](const Memory& memory) { return b.contains(memory); });
  }

  bool known_ = true;
  std::set<Memory> read_, written_;
};

// Whether one thread is at it for long, though there are others. A loop of an unknown number of steps is left
// alone: who waits for it on another thread could not stop it.
bool takes_long(const rt::Program& program, const rt::Instruction& instruction) {
  if (const auto* scan = std::get_if<rt::Scan>(&instruction)) return is_pure(program, *scan);
  const auto* kernel = std::get_if<rt::KernelCall>(&instruction);
  return kernel && kernel->steps == rt::KernelSteps::Counted && !kernel->fail;
}

}  // namespace

void put_side_by_side(const rt::Program& program, rt::Block& block, std::vector<Plan::Made>& made,
                      std::span<const std::pair<int, int>> shared) {
  for (rt::Instruction& instruction : block.code)
    if (auto* scan = std::get_if<rt::Scan>(&instruction))
      scan->apart = scan->init.empty() && is_pure(program, *scan);
  const size_t n = block.code.size();
  std::vector<bool> is_long(n);
  for (size_t i = 0; i < n; ++i) is_long[i] = takes_long(program, block.code[i]);
  if (std::ranges::count(is_long, true) < 2) return;
  std::vector<Touched> touched;
  for (const rt::Instruction& instruction : block.code)
    touched.emplace_back(program, block, shared, instruction);

  // From the last one up: each is brought to the next group that needs nothing of it. What lies between comes
  // before both, or behind them where it needs something of the one.
  using Unit = std::vector<size_t>;  // instructions that lie together
  std::vector<Unit> units;
  for (size_t i = 0; i < n; ++i) units.push_back({i});
  auto apart = [&](const Unit& a, const Unit& b) {
    return std::ranges::all_of(a, [&](size_t i) {
      return std::ranges::all_of(b, [&](size_t k) { return touched[i].apart(touched[k]); });
    });
  };
  for (size_t at = n; at-- > 0;) {
    if (!is_long[units[at][0]]) continue;
    const Unit self = units[at];
    std::vector<Unit> before, behind;
    for (size_t next = at + 1; next < std::min(units.size(), at + kFarthest); ++next) {
      const Unit& other = units[next];
      if (!apart(self, other) ||
          !std::ranges::all_of(behind, [&](const Unit& later) { return apart(later, other); })) {
        behind.push_back(other);
        continue;
      }
      if (!is_long[other[0]]) {
        before.push_back(other);
        continue;
      }
      Unit both = self;
      both.insert(both.end(), other.begin(), other.end());
      const auto from = units.begin() + static_cast<std::ptrdiff_t>(at);
      auto to = std::ranges::move(before, from).out;
      *to++ = std::move(both);
      to = std::ranges::move(behind, to).out;
      units.erase(to);  // two are one now
      break;
    }
  }

  std::vector<rt::Instruction> code;
  std::vector<Plan::Made> of;
  for (const Unit& unit : units) {
    const auto begin = static_cast<int32_t>(code.size());
    for (size_t i : unit) {
      code.push_back(std::move(block.code[i]));
      of.push_back(made[i]);
    }
    if (unit.size() > 1) block.side_by_side.emplace_back(begin, static_cast<int32_t>(code.size()));
  }
  block.code = std::move(code);
  made = std::move(of);
}

}  // namespace ig::plan
