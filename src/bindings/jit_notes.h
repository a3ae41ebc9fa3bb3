// What a function that is being recorded does to arrays that lie outside of it: which handles it reads, which
// arrays of other libraries it copies, and which handles it binds to new values. A trace reads these places
// again on each call.
#pragma once

#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bindings/common.h"

namespace ig::py {

// What a handle from outside held before the program bound it to a value of the recording; any other array as
// it is.
Tensor before_recording(PyObject* handle);

struct OutsideWatch;

struct ArrayNotes {
  struct Handle {
    nb::object object;
    Tensor before;  // as the trace found it
  };
  struct Foreign {
    nb::object object;
    Tensor copy;
  };
  std::vector<Handle> read;
  std::vector<Foreign> foreign;
  std::vector<Handle> rebound;
  std::unordered_map<PyObject*, size_t> known;  // in `read`
  // Handles that the program itself changed in place. Others are bound by modules and optimisers, which
  // nothing records (`_bind`, `_set_value`).
  std::unordered_set<PyObject*> changed;

  bool tape_asked = false;           // the program depends on what is on the tape
  std::vector<PyObject*> gone_back;  // handles of leaves that a backward pass came to

  Capture* capture = nullptr;     // of the recording
  OutsideWatch* watch = nullptr;  // on the other places that it reads and binds

  ArrayNotes() = default;
  ArrayNotes(const ArrayNotes&) = delete;
  ArrayNotes& operator=(const ArrayNotes&) = delete;
  // Gives the rebound handles their arrays back.
  ~ArrayNotes() { restore(); }
  void restore();
  // Of the recording that goes on in this thread; null where there is none, or another capture is at work
  // within it (of a loop's body, of what is differentiated).
  static ArrayNotes* at_work();
  static void
  tape_is_asked();  // by the recording that goes on in this thread, also within its other captures

  class Active {  // makes notes current for a scope of code, in this thread
   public:
    explicit Active(ArrayNotes* notes);
    ~Active();

   private:
    ArrayNotes* previous_;
  };
};

}  // namespace ig::py
