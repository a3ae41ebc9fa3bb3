// Automatic casting: the thread's type, what each op does, and the casts.
#include "tensor/autocast.h"

#include <atomic>
#include <memory>

namespace ig::front {
namespace {

thread_local std::optional<DType> active;

// By the index of the op; replaced as a whole, so that a reader needs no lock.
using Works = std::vector<Work>;
std::atomic<std::shared_ptr<const Works>>& table() {
  static std::atomic<std::shared_ptr<const Works>> works;
  return works;
}

Work work_of(const ops::Op& op) {
  std::shared_ptr<const Works> works = table().load();
  size_t i = op.id.index();
  return works && i < works->size() ? (*works)[i] : Work::Other;
}

}  // namespace

std::optional<DType> autocast() { return active; }
void set_autocast(std::optional<DType> dtype) { active = dtype; }

void set_work(std::span<const std::pair<const ops::Op*, Work>> works) {
  auto made = std::make_shared<Works>();
  for (const auto& [op, work] : works) {
    if (op->id.index() >= made->size()) made->resize(op->id.index() + 1, Work::Other);
    (*made)[op->id.index()] = work;
  }
  table().store(std::move(made));
}

std::vector<Operand> autocast_operands(const ops::Op& op, std::span<const Operand> operands, DType dtype) {
  std::vector<Operand> out(operands.begin(), operands.end());
  const OperandKinds& kinds = operand_kinds(op);
  auto array = [&](size_t i) -> const Tensor* {
    const Tensor* tensor = kinds.is_t(i) ? std::get_if<Tensor>(&out[i]) : nullptr;
    return tensor && !tensor->is_number() && is_float(tensor->dtype()) ? tensor : nullptr;
  };
  bool low = false, single = false;
  for (size_t i = 0; i < out.size(); ++i) {
    const Tensor* given = std::get_if<Tensor>(&out[i]);
    if (given && kinds.is_t(i) && is_complex(given->dtype())) return out;
    const Tensor* x = array(i);
    if (!x) continue;
    if (x->dtype() == DType::F64) return out;
    low |= x->dtype() == dtype;
    single |= x->dtype() == DType::F32;
  }
  std::optional<DType> wanted;
  Work work = work_of(op);
  if (work == Work::Products && ops::contains(op.decl.dtypes, dtype))
    wanted = dtype;
  else if (low && (work == Work::Folds || single))
    wanted = DType::F32;
  if (!wanted) return out;
  for (size_t i = 0; i < out.size(); ++i)
    if (const Tensor* x = array(i); x && (x->dtype() == DType::F32 || x->dtype() == dtype))
      out[i] = convert(*x, *wanted);
  return out;
}

}  // namespace ig::front
