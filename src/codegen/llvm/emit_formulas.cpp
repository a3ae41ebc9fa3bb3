// Formulas that a kernel has many times: a hundred sines would be a hundred times the code of one, megabytes
// that take seconds to compile and have no room in a processor's caches. Where there is so much of it, each
// formula becomes a function of its own in the kernel's object, for whole groups of lanes, and is called: the
// same instructions, so the same bits. Short kernels are left as they are: a call keeps no vector in a
// register, and the formulas of one group are no longer beside each other.
#include <fmt/format.h>

#include <functional>
#include <map>

#include "codegen/llvm/emit.h"

namespace ig::codegen {

using loop::Op;

namespace {

constexpr size_t kMuch = 300;        // operations of a kernel's formulas: below, all are written out
constexpr size_t kLeastLength = 16;  // operations of a formula that is worth a call
constexpr size_t kLeastTimes = 3;
constexpr size_t kShared = 8;  // operations that formulas of one call have in common

void visit(const loop::ExprNode* n, std::unordered_set<const loop::ExprNode*>& seen) {
  if (n == nullptr || !seen.insert(n).second) return;
  for (const loop::Expr& part : {n->a, n->b, n->c}) visit(part.node(), seen);
}

void visit(const loop::Stmts& all, std::unordered_set<const loop::ExprNode*>& seen) {
  for (const auto& s : all) {
    visit(s->value.node(), seen);
    visit(s->body, seen);
    visit(s->otherwise, seen);
  }
}

}  // namespace

// Describes them, together; false where they read anything but their operands, or where lanes that are not
// active could trap.
bool Emitter::describe(Formulas& all) {
  all.text.clear(), all.read.clear(), all.length = 0;
  std::unordered_map<const Node*, size_t> numbers;
  std::function<bool(const Node*)> take = [&](const Node* n) {
    if (n == nullptr || numbers.contains(n)) return true;
    if (is_complex(n->type)) return false;
    if (n->op != Op::Size && n->type != DType::Bool &&
        std::ranges::find(all.operands, n) != all.operands.end()) {
      all.text += fmt::format("operand {}\n", static_cast<int>(n->type));
      all.read.push_back(n);
    } else {
      const bool reads = n->op == Op::Var || n->op == Op::Size || n->op == Op::Load || n->op == Op::Local ||
                         n->op == Op::ReduceLanes;
      const bool traps = (n->op == Op::Div || n->op == Op::Rem) && !is_float(n->type);
      if (reads || traps || !take(n->a.node()) || !take(n->b.node()) || !take(n->c.node())) return false;
      all.text += fmt::format("{} {} {} {}", static_cast<int>(n->op), static_cast<int>(n->type), n->bits[0],
                              n->bits[1]);
      for (const loop::Expr& part : {n->a, n->b, n->c})
        if (part) all.text += fmt::format(" %{}", numbers.at(part.node()));
      all.text += '\n';
      if (n->op != Op::Const) ++all.length;
    }
    numbers.emplace(n, numbers.size());
    return true;
  };
  for (const Node* value : all.values) {
    if (value->type == DType::Bool || !take(value)) return false;
    all.text += fmt::format("value %{}\n", numbers.at(value));
  }
  return !all.read.empty();
}

// Those that share much of what they compute (a sine and a cosine of one angle) are one call.
std::vector<Emitter::Formulas> Emitter::formulas_of_body() const {
  std::unordered_set<const Node*> seen, taken;
  visit(f_.body, seen);
  std::vector<Formulas> out;
  std::map<std::vector<const Node*>, std::vector<size_t>> by_operands;
  for (const loop::Formula& formula : f_.formulas) {
    if (!seen.contains(formula.value) || !taken.insert(formula.value).second) continue;
    Formulas one{{formula.value}, formula.operands, {}, {}, 0};
    std::erase_if(one.operands, [](const Node* n) { return n->op == Op::Const; });
    if (!describe(one) || one.length < kLeastLength) continue;
    std::vector<size_t>& others = by_operands[one.operands];
    const bool joined = std::ranges::any_of(others, [&](size_t other) {
      Formulas both = out[other];
      both.values.push_back(formula.value);
      if (!describe(both) || out[other].length + one.length < both.length + kShared) return false;
      out[other] = std::move(both);
      return true;
    });
    if (joined) continue;
    others.push_back(out.size());
    out.push_back(std::move(one));
  }
  return out;
}

void Emitter::find_called() {
  if (f_.formulas.empty()) return;
  std::vector<Formulas> all = formulas_of_body();
  std::unordered_map<std::string, size_t> times;
  size_t length = 0;
  for (const Formulas& one : all) length += one.length, ++times[one.text];
  if (length < kMuch) return;
  std::erase_if(all, [&](const Formulas& one) { return times.at(one.text) < kLeastTimes; });
  calls_ = std::move(all);
  for (size_t i = 0; i < calls_.size(); ++i)
    for (const Node* value : calls_[i].values) called_[value] = i;
}

// All values of the call are known behind it.
Emitter::Value Emitter::call(const Formulas& all, const Node& n) {
  std::vector<Value> operands;
  std::vector<llvm::Value*> given;
  for (const Node* operand : all.read) {
    Value value = eval(operand);
    operands.push_back(value.uniform() ? value : Value{wide(value)});
    given.push_back(operands.back().v);
  }
  auto* results = b_.CreateCall(function_of(all, operands, "formula"), given);
  for (unsigned i = 0; i < all.values.size(); ++i)
    remember(all.values[i], {b_.CreateExtractValue(results, i)});
  return *known(&n);
}

// Of the lanes of the loop, or of one where no operand varies.
llvm::Function* Emitter::function_of(const Formulas& all, std::span<const Value> operands, const char* name) {
  const bool uniform = std::ranges::all_of(operands, &Value::uniform);
  std::string key = fmt::format("{}{} lanes", all.text, uniform ? 1 : lanes_);
  for (const Value& operand : operands) key += operand.uniform() ? " one" : " all";
  llvm::Function*& function = functions_[key];
  if (function != nullptr) return function;
  Emitter inside(f_, target_, module_);
  inside.lanes_ = uniform ? 1 : lanes_;
  std::vector<llvm::Type*> given, results;
  for (const Value& operand : operands) given.push_back(operand.v->getType());
  for (const Node* value : all.values)
    results.push_back(uniform ? register_type(value->type) : vector_of(register_type(value->type)));
  auto* type = llvm::FunctionType::get(llvm::StructType::get(b_.getContext(), results), given, false);
  function = inside.entry_ = llvm::Function::Create(type, llvm::Function::InternalLinkage, name, module_);
  function->addFnAttrs(llvm::AttrBuilder(b_.getContext(), entry_->getAttributes().getFnAttrs()));
  function->addFnAttr(llvm::Attribute::NoInline);
  function->setDoesNotAccessMemory();
  function->setWillReturn();
  inside.first_ = inside.block("entry");
  auto* start = inside.block("start");
  inside.b_.SetInsertPoint(start);
  inside.vars_.resize(f_.variables);
  inside.scopes_.emplace_back();
  for (unsigned i = 0; i < all.read.size(); ++i) {
    const Node* operand = all.read[i];
    (operand->op == Op::Var ? inside.vars_[operand->id]
                            : inside.scopes_.back().pure[operand]) = {function->getArg(i)};
  }
  std::vector<llvm::Value*> values;
  for (const Node* value : all.values) values.push_back(inside.wide(inside.eval(value)));
  inside.b_.CreateAggregateRet(values.data(), static_cast<unsigned>(values.size()));
  inside.b_.SetInsertPoint(inside.first_);
  inside.b_.CreateBr(start);
  return function;
}

}  // namespace ig::codegen
