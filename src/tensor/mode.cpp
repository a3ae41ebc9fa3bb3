// The modes of a thread, innermost first, as a list that calls at work share.
#include "tensor/mode.h"

#include <utility>

#include "support/error.h"

namespace ig {
namespace {

struct Entered {
  std::shared_ptr<OpMode> mode;
  std::shared_ptr<const Entered> around;
};

std::shared_ptr<const Entered>& entered() {
  static thread_local std::shared_ptr<const Entered> list;
  return list;
}
// Apart from the list, as it is asked on each eager call and has no destructor.
thread_local bool at_work = false;

// The list is another one for a scope of code.
class With {
 public:
  explicit With(std::shared_ptr<const Entered> list) : before_(std::exchange(entered(), std::move(list))) {
    at_work = entered() != nullptr;
  }
  With(const With&) = delete;
  With& operator=(const With&) = delete;
  ~With() {
    entered() = std::move(before_);
    at_work = entered() != nullptr;
  }

 private:
  std::shared_ptr<const Entered> before_;
};

}  // namespace

bool OpMode::any() { return at_work; }

std::vector<Tensor> OpMode::dispatch(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                                     const Run& run) {
  std::shared_ptr<const Entered> inner = entered();
  With around(inner->around);
  std::function<std::vector<Tensor>()> go_on = [&] { return run(operands, attrs); };
  return inner->mode->handle({op, operands, attrs, go_on});
}

void OpMode::enter(std::shared_ptr<OpMode> mode) {
  entered() = std::make_shared<const Entered>(Entered{std::move(mode), entered()});
  at_work = true;
}

const OpMode* OpMode::innermost() { return entered() ? entered()->mode.get() : nullptr; }

void OpMode::leave() {
  IG_CHECK(entered(), "a mode is left where none was entered");
  std::shared_ptr<const Entered> around = entered()->around;
  entered() = std::move(around);
  at_work = entered() != nullptr;
}

}  // namespace ig
