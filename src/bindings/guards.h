// Guards on what a captured function read from outside its arguments: globals, cells, defaults, attributes. A
// trace keeps the guards of its run; the entry checks them, after the arguments' key, before it runs the
// program. Which reads become guards is the observer's business; the entry only asks whether they hold.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "bindings/common.h"
#include "tensor/tensor.h"

namespace ig::py {

// Called with the GIL held. A guard holds references to what it compares with, so identity is enough where
// identity implies the value (functions, classes, immutable objects).
struct OutsideGuard {
  virtual ~OutsideGuard() = default;
  // Whether what was read still has the value that the trace saw. Reads nothing but the place; raises no
  // Python error (a place that is gone does not hold).
  virtual bool holds() const = 0;
  // For reports: the place and the value, as "global SCALE == 2.0 (at model.py:12)".
  virtual std::string describe() const = 0;
  // A guard whose place holds an array: its present array (dtype and shape are compared by `holds`), which
  // the entry passes to the program in place of the one seen by the trace. An empty tensor: this guard is
  // about no array.
  virtual Tensor array() const { return {}; }
  // The object that this place holds now, where the trace saw an array there: null of other guards.
  virtual nb::object handle() const { return {}; }
  // Whether, when `holds` was last asked, that was another object than the one that the trace saw.
  virtual bool moved() const { return false; }
  // For the tp_traverse of whoever owns the guard: a guard refers to globals and closures, which refer to the
  // compiled function in turn, and only the garbage collector can see that such a circle is unused.
  virtual int traverse(visitproc, void*) const { return 0; }
};

using OutsideGuards = std::vector<std::unique_ptr<OutsideGuard>>;

}  // namespace ig::py
