// The extension module `intaglio._intaglio`.
#include "bindings/autograd.h"
#include "bindings/common.h"
#include "bindings/effects.h"
#include "bindings/kernel_cache.h"
#include "bindings/modes.h"
#include "bindings/record.h"
#include "runtime/background.h"
#include "runtime/executable.h"
#include "runtime/thread_pool.h"
#include "tensor/program.h"

namespace {

// While a loop of the graph runs: lets other Python threads on, and ends the run where a signal's handler
// raised (Ctrl-C).
void poll_python() {
  PyGILState_STATE state = PyGILState_Ensure();
  PyThreadState* paused = PyEval_SaveThread();
  PyEval_RestoreThread(paused);
  int status = PyErr_CheckSignals();
  PyGILState_Release(state);
  ig::py::check(status);
}

// Of what counts as a whole number in Python.
int64_t whole_number_of_threads(nanobind::handle count) {
  if (!PyIndex_Check(count.ptr()))
    throw ig::make_error(ig::ErrorKind::Type, "set_num_threads: {} is not a number of threads",
                         nanobind::repr(count).c_str())
        .why(fmt::format("threads are counted in whole numbers, and it is of type {}",
                         Py_TYPE(count.ptr())->tp_name))
        .hint("pass an int, as set_num_threads(2)");
  const nanobind::object number = ig::py::own(PyNumber_Index(count.ptr()));
  int overflow = 0;
  const int64_t value = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0)
    throw ig::make_error(ig::ErrorKind::Value, "set_num_threads: {} is not a number of threads",
                         nanobind::repr(number).c_str())
        .why("it does not fit into 64 bits")
        .hint("pass 1 to run on the calling thread alone");
  return value;
}

}  // namespace

NB_MODULE(_intaglio, m) {
  using namespace ig::py;
  nanobind::register_exception_translator([](const std::exception_ptr& pointer, void*) {
    try {
      std::rethrow_exception(pointer);
    } catch (const ig::Error& error) {
      set_error(error);
    } catch (const PythonError&) {
    }
  });
  // What the program's globals still hold when the interpreter ends is no fault of the program.
  nanobind::set_leak_warnings(false);
  ig::rt::set_loop_poll(&poll_python);
  m.def("_set_package_folder", &set_package_folder);
  m.def("compiler_available", &ig::compiler_available, "Whether this installation can compile.");
  m.def(
      "set_num_threads",
      [](nb::handle count) {
        const int64_t threads = whole_number_of_threads(count);
        nb::gil_scoped_release no_gil;
        ig::rt::ThreadPool::instance().set_num_threads(threads);
      },
      nb::arg("count").none(), nb::sig("def set_num_threads(count: int) -> None"),
      "Sets how many threads the process's pool has, counting the caller. No result depends on it.\n\n"
      "Raises ValueError outside 1 to 1024, TypeError for what is no whole number.");
  m.def(
      "get_num_threads", [] { return ig::rt::ThreadPool::instance().num_threads(); },
      "How many threads compute, counting the caller. At first: INTAGLIO_NUM_THREADS where it is set, else "
      "the "
      "processors that affinity and the cgroup's quota leave.");
  m.def(
      "block_until_compiled",
      [] {
        auto done = [] {
          nb::gil_scoped_release no_gil;
          return ig::rt::background::wait(std::chrono::milliseconds(50));
        };
        while (!done()) check(PyErr_CheckSignals());
      },
      "Waits until what is being compiled in the background is compiled.\n\n"
      "First calls of a captured function run without its program, which is made meanwhile; the calls after\n"
      "this one find it. For who measures them.\n\n"
      ">>> import intaglio as ig\n"
      ">>> f = ig.jit(lambda x: x + 1)\n"
      ">>> f(ig.ones(2)).tolist()\n"
      "[2.0, 2.0]\n"
      ">>> ig.block_until_compiled()\n");
  // These wait for what may need Python's lock, so without it.
  m.def("_pause_background", [] {
    nb::gil_scoped_release no_gil;
    ig::rt::background::pause();
  });
  m.def("_resume_background", &ig::rt::background::resume);
  m.def("_end_background", [] {
    nb::gil_scoped_release no_gil;
    ig::rt::background::end();
  });
  init_dtypes(m);
  init_tensor(m);
  init_updates(m);
  init_dim(m);
  init_ops(m);
  init_op_forms(m);
  init_modes(m);
  init_op_table(m);
  init_user_ops(m);
  init_array_in(m);
  init_creation(m);
  init_graph(m);
  init_pytree(m);
  init_record(m);
  init_transforms(m);
  init_effects(m);
  init_host_call(m);
  init_autograd(m);
  init_traced(m);
  init_jit(m);
  init_observer(m);
  init_kernel_cache(m);
  init_profile(m);
}
