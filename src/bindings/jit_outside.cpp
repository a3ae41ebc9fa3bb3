// The observer as the watch of a recording.
#include "bindings/jit_front.h"
#include "bindings/observer.h"

namespace ig::py {
namespace {

class ObserverWatch final : public OutsideWatch {
 public:
  ObserverWatch(nb::handle function, const std::vector<nb::object>& arguments)
      : observer_(function, arguments) {
    observer_.follow_arrays();
  }
  void allow_writes(nb::handle object) override { observer_.allow_writes(object); }
  void assume(const Place& place, nb::handle value) override { observer_.assume(place, value); }
  nb::object read_gradient(nb::handle array) override { return observer_.read_gradient(array); }
  void bind_gradient(nb::handle array) override { observer_.bind_gradient(array); }
  void start() override { observer_.start(); }
  OutsideGuards stop(nb::handle result) override {
    if (result.ptr()) observer_.returned(result);
    observer_.stop(!result.ptr());
    return observer_.take_guards();
  }

  std::vector<OutsideNotes::Rebound> rebound() override { return observer_.take_rebound(); }
  std::vector<std::string> unknown() override {
    std::vector<std::string> out;
    for (const UnknownRead& read : observer_.unknown())
      out.push_back(read.where.empty() ? read.what : fmt::format("{} ({})", read.what, read.where));
    return out;
  }

 private:
  Observer observer_;
};

}  // namespace

std::unique_ptr<OutsideWatch> watch_outside(nb::handle function, const std::vector<nb::object>& arguments) {
  return std::make_unique<ObserverWatch>(function, arguments);
}

}  // namespace ig::py
