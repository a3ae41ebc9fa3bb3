// `intaglio.jit`'s result: a callable of the raw C API. A warm call walks the arguments, compares them with
// the shape and the conditions of the trace that ran last, and runs its program; all else happens on a miss.

#include "bindings/call_slot.h"
#include "bindings/fast_math.h"
#include "bindings/jit_front.h"
#include "tensor/mode.h"
#include "tensor/program.h"

// After Python's own header.
#include <structmember.h>

#include <algorithm>

namespace ig::py {
namespace {

constexpr size_t kMostEntries = 256;

struct Entry {
  CallShape shape;
  std::unique_ptr<record::JitTree> tree;
};

struct Jit {
  nb::object function;
  CallOptions options;
  record::JitOptions tree;
  bool log = false;
  bool lift = true;  // arrays from outside become inputs of the graph
  bool warned = false;
  std::set<std::string> told;  // reads that could not be followed, in the log
  std::vector<std::shared_ptr<Entry>> entries;
  size_t recent = 0;
  std::vector<std::unique_ptr<CallObjects>> spare;  // of calls that have ended
};

// The lists of one call, in memory of an earlier one: calls nest, and threads call side by side.
class CallLists {
 public:
  explicit CallLists(Jit& jit) : jit_(jit) {
    if (jit.spare.empty()) {
      lists_ = std::make_unique<CallObjects>();
    } else {
      lists_ = std::move(jit.spare.back());
      jit.spare.pop_back();
    }
  }
  ~CallLists() {
    lists_->clear();
    jit_.spare.push_back(std::move(lists_));
  }
  CallLists(const CallLists&) = delete;
  CallLists& operator=(const CallLists&) = delete;
  CallObjects& operator*() { return *lists_; }

 private:
  Jit& jit_;
  std::unique_ptr<CallObjects> lists_;
};

struct PyJit {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject* dict;
  PyObject* weak;
  Jit* jit;
};
PyTypeObject* jit_type = nullptr;

Jit& jit_of(PyObject* self) { return *reinterpret_cast<PyJit*>(self)->jit; }

std::shared_ptr<Entry> find(Jit& jit, PyObject* const* args, size_t count, PyObject* names,
                            CallObjects& objects) {
  if (jit.recent < jit.entries.size()) {
    std::shared_ptr<Entry> entry = jit.entries[jit.recent];
    if (entry->shape.match(args, count, names, objects)) return entry;
  }
  for (size_t i = 0; i < jit.entries.size(); ++i) {
    if (i == jit.recent) continue;
    std::shared_ptr<Entry> entry =
        jit.entries[i];  // comparing runs the program's code, which may add entries
    if (!entry->shape.match(args, count, names, objects)) continue;
    jit.recent = i;
    return entry;
  }
  return nullptr;
}

std::shared_ptr<Entry> add(Jit& jit, PyObject* const* args, size_t count, PyObject* names,
                           CallObjects& objects) {
  auto entry = std::make_shared<Entry>();
  entry->shape = CallShape::of(jit.options, jit.function, args, count, names, objects);
  record::JitOptions options = jit.tree;
  for (size_t i : entry->shape.dynamic) options.leaf_names.push_back(entry->shape.leaves[i].name);
  if (jit.log) {
    options.log = [](const std::string& line) { PySys_FormatStderr("[intaglio] %s\n", line.c_str()); };
    if (!jit.entries.empty())
      options.log(fmt::format(
          "recompiling {}: the arguments have another structure, or another value of what is no array",
          options.name));
  }
  entry->tree = std::make_unique<record::JitTree>(std::move(options));
  // Another thread may have added the same shape while this one compared.
  CallObjects again;
  if (std::shared_ptr<Entry> other = find(jit, args, count, names, again)) {
    objects = std::move(again);
    return other;
  }
  // Values of what is no array may be many; the oldest structure goes.
  if (jit.entries.size() >= kMostEntries) jit.entries.erase(jit.entries.begin());
  jit.entries.push_back(entry);
  jit.recent = jit.entries.size() - 1;
  return entry;
}

void warn_given_up(Jit& jit, const record::JitTree::GivenUp& reason) {
  if (jit.warned) return;
  jit.warned = true;
  std::string text = fmt::format("{} runs op by op from now on: {}", jit.options.name, reason.why);
  if (!reason.where.empty()) text += "\n  at: " + reason.where;
  text += "\n  why: each outcome of a traced value that Python asks for is a trace of its own";
  text +=
      "\n  hint: keep the value in the graph: ig.where(condition, x, y) for a choice of values, ig.cond for "
      "a branch, "
      "ig.while_loop for a loop; or raise max_traces";
  check(PyErr_WarnEx(PyExc_RuntimeWarning, text.c_str(), 1));
}

bool same_handle_twice(const Entry& entry, const CallObjects& objects) {
  std::vector<PyObject*> handles;
  for (size_t i : entry.shape.dynamic)
    if (is_tensor(objects.leaves[i])) handles.push_back(objects.leaves[i]);
  std::sort(handles.begin(), handles.end());
  return std::adjacent_find(handles.begin(), handles.end()) != handles.end();
}

void check_donated(const Jit& jit, const Entry& entry, const CallObjects& objects) {
  for (size_t i = 0; i < entry.shape.leaves.size(); ++i) {
    if (!entry.shape.leaves[i].donated || !is_tensor(objects.leaves[i])) continue;
    for (size_t j = 0; j < i; ++j)
      if (entry.shape.leaves[j].donated && objects.leaves[j] == objects.leaves[i])
        throw make_error(ErrorKind::Value, "{}: one array is donated twice, as `{}` and as `{}`",
                         jit.options.name, entry.shape.leaves[j].name, entry.shape.leaves[i].name)
            .at(user_line())
            .why("its memory can become one result only")
            .hint("pass a copy for one of them: copy.copy(x), or x + 0");
  }
}

struct Found {
  std::shared_ptr<Entry> entry;
  record::JitTree::Result result;
  nb::object value;  // invalid where the function is to be run op by op
};

// `dry`: only the trace is wanted, so nothing is run, written back or given away.
Found run(Jit& jit, PyObject* const* args, size_t count, PyObject* names, bool dry = false) {
  CallLists lists(jit);
  CallObjects& objects = *lists;
  Found out;
  out.entry = find(jit, args, count, names, objects);
  if (!out.entry) out.entry = add(jit, args, count, names, objects);
  Entry& entry = *out.entry;
  if (!jit.options.donated_positions.empty() || !jit.options.donated_names.empty())
    check_donated(jit, entry, objects);
  entry.shape.read(objects, !dry);
  PyFront front(jit.function, entry.shape, objects, args, count, names);
  front.set_tree(*entry.tree, jit.lift);
  if (dry)
    out.result.trace = entry.tree->trace(objects.dynamic, front);
  else
    out.result = entry.tree->call(objects.dynamic, front);
  if (!out.result.trace) {
    warn_given_up(jit, *entry.tree->given_up());
    return out;
  }
  const auto& kept = static_cast<const PyKept&>(*out.result.trace->kept);
  if (jit.log)
    for (const std::string& line : kept.unknown)
      if (jit.told.insert(line).second)
        PySys_FormatStderr("[intaglio] %s: %s\n", jit.options.name.c_str(), line.c_str());
  if (dry) return out;
  // Two arguments that are one handle: which of them a write means is decided by running the function itself.
  if (!kept.writes.empty() && same_handle_twice(entry, objects)) return out;
  out.value = front.result(*out.result.trace, std::move(out.result.outputs));
  return out;
}

PyObject* jit_call(PyObject* self, PyObject* const* args, size_t nargs, PyObject* names) {
  Jit& jit = jit_of(self);
  // Inside of another capture the function is a part of that one, and a mode of the user's sees each op.
  if (Capture::current() || OpMode::any()) return PyObject_Vectorcall(jit.function.ptr(), args, nargs, names);
  nb::object value;
  try {
    if (names && PyTuple_GET_SIZE(names) == 0) names = nullptr;
    value = run(jit, args, static_cast<size_t>(PyVectorcall_NARGS(nargs)), names).value;
  } catch (...) {
    set_current_exception();
    return nullptr;
  }
  if (!value.is_valid()) return PyObject_Vectorcall(jit.function.ptr(), args, nargs, names);
  return value.release().ptr();
}

PyObject* jit_get(PyObject* self, PyObject* instance, PyObject*) {
  if (!instance || instance == Py_None) return Py_NewRef(self);
  return PyMethod_New(self, instance);
}

int jit_traverse(PyObject* self, visitproc visit, void* arg) {
  auto* object = reinterpret_cast<PyJit*>(self);
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(object->dict);
  if (!object->jit) return 0;
  Py_VISIT(object->jit->function.ptr());
  // Guards refer to globals and closures, which may refer to this function in turn.
  for (const std::shared_ptr<Entry>& entry : object->jit->entries) {
    for (const CallShape::Leaf& leaf : entry->shape.leaves) Py_VISIT(leaf.value.ptr());
    for (const auto& trace : *entry->tree->traces()) {
      const auto& kept = static_cast<const PyKept&>(*trace->kept);
      for (const auto& guard : kept.guards)
        if (int stop = guard->traverse(visit, arg)) return stop;
      for (const ResultLeaf& leaf : kept.leaves) Py_VISIT(leaf.object.ptr());
      for (const WriteBack& write : kept.writes) {
        Py_VISIT(write.value.object.ptr());
        if (int stop = write.place.traverse(visit, arg)) return stop;
      }
      for (const PyKept::Number& number : kept.numbers)
        if (int stop = number.place.traverse(visit, arg)) return stop;
      for (const ArrayNotes::Handle& handle : kept.handles) Py_VISIT(handle.object.ptr());
      for (const nb::object& handle : kept.found) Py_VISIT(handle.ptr());
      for (const ArrayNotes::Foreign& one : kept.foreign) Py_VISIT(one.object.ptr());
    }
  }
  return 0;
}

int jit_clear(PyObject* self) {
  auto* object = reinterpret_cast<PyJit*>(self);
  Py_CLEAR(object->dict);
  if (Jit* jit = object->jit) {
    object->jit = nullptr;
    delete jit;
  }
  return 0;
}

void jit_dealloc(PyObject* self) {
  PyObject_GC_UnTrack(self);
  auto* object = reinterpret_cast<PyJit*>(self);
  if (object->weak) PyObject_ClearWeakRefs(self);
  jit_clear(self);
  PyTypeObject* type = Py_TYPE(self);
  type->tp_free(self);
  Py_DECREF(type);
}

PyObject* jit_repr(PyObject* self) {
  return PyUnicode_FromFormat("<jit %s>", jit_of(self).options.name.c_str());
}

PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(PyJit, vectorcall), READONLY, nullptr},
    {"__dictoffset__", T_PYSSIZET, offsetof(PyJit, dict), READONLY, nullptr},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(PyJit, weak), READONLY, nullptr},
    {},
};
PyGetSetDef getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, nullptr, nullptr},
    {},
};

nb::object make(nb::object function, const std::string& name, nb::handle static_argnums,
                nb::handle static_argnames, nb::handle donate_argnums, nb::handle donate_argnames,
                int max_traces, bool log, bool lift, bool exact, nb::handle fast_math) {
  const FastMath flags = fast_math_of(fast_math, "jit");
  flags.require_inexact(exact, "jit");
  auto* self = PyObject_GC_New(PyJit, jit_type);
  if (!self) throw PythonError{};
  self->vectorcall = jit_call;
  self->dict = nullptr;
  self->weak = nullptr;
  self->jit = new Jit;
  nb::object out = nb::steal(reinterpret_cast<PyObject*>(self));
  PyObject_GC_Track(out.ptr());
  Jit& jit = *self->jit;
  jit.function = std::move(function);
  jit.options.name = name;
  for (nb::handle i : static_argnums) jit.options.static_positions.insert(nb::cast<Py_ssize_t>(i));
  for (nb::handle i : donate_argnums) jit.options.donated_positions.insert(nb::cast<Py_ssize_t>(i));
  for (nb::handle i : static_argnames) jit.options.static_names.insert(nb::cast<std::string>(i));
  for (nb::handle i : donate_argnames) jit.options.donated_names.insert(nb::cast<std::string>(i));
  jit.tree.name = name;
  jit.tree.max_traces = max_traces;
  jit.tree.compile.exact = exact;
  jit.tree.compile.fast_math = flags;
  jit.log = log;
  jit.lift = lift;
  return out;
}

nb::object require(nb::handle object) {
  if (Py_TYPE(object.ptr()) != jit_type)
    throw make_error(ErrorKind::Type, "a jitted function is wanted, not {}", Py_TYPE(object.ptr())->tp_name)
        .why("only what ig.jit returned has traces")
        .hint("wrap the function: ig.jit(f)");
  return nb::borrow(object);
}

template <typename T, typename F>
nb::object list_of(const T& items, F&& one) {
  nb::list out;
  for (const auto& item : items) out.append(one(item));
  return out;
}

// The program of a trace, made now where it is not; null where the trace has none.
std::shared_ptr<Program> program_of(const record::JitTrace& trace) {
  if (!trace.program) return nullptr;
  nb::gil_scoped_release aside;  // whoever waits for the program must not hold what its maker needs
  return trace.program->get();
}

nb::dict describe(const Entry& entry, const record::JitTrace& trace) {
  auto text = [](const auto& item) { return nb::str(item.str().c_str()); };
  const auto& kept = static_cast<const PyKept&>(*trace.kept);
  nb::dict out;
  out["signature"] = trace.signature(entry.tree->options().leaf_names);
  out["reason"] = trace.reason;
  out["size_guards"] = list_of(trace.size_guards, text);
  out["outcomes"] = list_of(trace.outcomes, text);
  out["guards"] = list_of(kept.guards, [](const auto& guard) { return nb::str(guard->describe().c_str()); });
  out["specialised"] = list_of(trace.specialised, text);
  out["lifted"] = list_of(trace.lifted, [](const Capture::Lifted& one) { return nb::str(one.name.c_str()); });
  out["unknown"] = list_of(kept.unknown, [](const std::string& line) { return nb::str(line.c_str()); });
  out["writes"] = kept.writes.size();
  out["graph"] = graph_object(trace.graph);
  out["exact"] = entry.tree->options().compile.exact;
  out["fast_math"] = fast_math_names(entry.tree->options().compile.fast_math);
  out["nodes"] = trace.graph->node_count();
  out["trace_ms"] = trace.trace_ms;
  out["calls"] = trace.calls.load();
  nb::dict fixed;
  for (const CallShape::Leaf& leaf : entry.shape.leaves)
    if (leaf.kind == CallShape::LeafKind::Static) fixed[leaf.name.c_str()] = leaf.value;
  out["static"] = fixed;
  return out;
}

// What calls of one structure, and of one dtype and size for each array, have in common: known from one of
// them.
struct ArgumentsLike {
  struct Array {
    DType dtype;
    Shape shape;
  };
  ArgumentsLike(const Jit& jit, const CallArguments& given) {
    CallObjects objects;
    call =
        CallShape::of(jit.options, jit.function, given.all.data(), given.count, given.name_list(), objects);
    for (PyObject* leaf : objects.leaves)
      arrays.push_back(is_array(leaf) ? std::optional(Array{tensor_of(leaf).dtype(), tensor_of(leaf).shape()})
                                      : std::nullopt);
  }
  // False where other libraries' arrays are among them, whatever these are.
  bool match(const CallArguments& given) const {
    CallObjects objects;
    if (!call.match(given.all.data(), given.count, given.name_list(), objects)) return false;
    for (size_t i = 0; i < arrays.size(); ++i) {
      if (call.leaves[i].kind != CallShape::LeafKind::Array) continue;
      PyObject* leaf = objects.leaves[i];
      if (!arrays[i] || !is_array(leaf)) return false;
      const Tensor& array = tensor_of(leaf);
      if (array.dtype() != arrays[i]->dtype || array.shape() != arrays[i]->shape) return false;
    }
    return true;
  }
  static bool is_array(PyObject* leaf) { return is_tensor(leaf) && !tensor_of(leaf).is_symbolic(); }

  CallShape call;
  std::vector<std::optional<Array>> arrays;
};

// A jitted function for calls like those that its `_check(args, kwargs)` has let pass.
struct CompiledFunction {
  explicit CompiledFunction(nb::handle jitted) : jitted(require(jitted)) {}
  nb::object jitted;
  std::shared_ptr<const ArgumentsLike> checked{};
};

nb::object call_compiled(CompiledFunction& self, nb::handle object, nb::handle args, nb::handle kwargs) {
  const CallArguments given(args, kwargs);
  // Comparing runs the program's code, which may come here, too.
  const std::shared_ptr<const ArgumentsLike> checked = self.checked;
  if (!checked || !checked->match(given)) {
    object.attr("_check")(nb::borrow(args), kwargs.is_valid() ? nb::borrow(kwargs) : nb::dict());
    self.checked = std::make_shared<const ArgumentsLike>(jit_of(self.jitted.ptr()), given);
  }
  return own(PyObject_Vectorcall(self.jitted.ptr(), given.all.data(), given.count, given.name_list()));
}

int traverse_compiled(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const CompiledFunction& function = *nb::inst_ptr<CompiledFunction>(self);
  Py_VISIT(function.jitted.ptr());
  if (!function.checked) return 0;
  for (const CallShape::Leaf& leaf : function.checked->call.leaves) {
    Py_VISIT(leaf.value.ptr());
    Py_VISIT(leaf.type.ptr());
  }
  return 0;
}
int clear_compiled(PyObject* self) {
  CompiledFunction gone = std::move(*nb::inst_ptr<CompiledFunction>(self));
  return 0;
}
PyType_Slot compiled_slots[] = {
    {Py_tp_call, reinterpret_cast<void*>(&call_slot<CompiledFunction, call_compiled>)},
    {Py_tp_traverse, reinterpret_cast<void*>(traverse_compiled)},
    {Py_tp_clear, reinterpret_cast<void*>(clear_compiled)},
    {0, nullptr}};

}  // namespace

void init_jit(nb::module_& m) {
  static PyType_Slot slots[] = {
      {Py_tp_doc, const_cast<char*>("A function captured as a tree of traces; made by ig.jit.")},
      {Py_tp_call, reinterpret_cast<void*>(PyVectorcall_Call)},
      {Py_tp_dealloc, reinterpret_cast<void*>(jit_dealloc)},
      {Py_tp_traverse, reinterpret_cast<void*>(jit_traverse)},
      {Py_tp_clear, reinterpret_cast<void*>(jit_clear)},
      {Py_tp_descr_get, reinterpret_cast<void*>(jit_get)},
      {Py_tp_repr, reinterpret_cast<void*>(jit_repr)},
      {Py_tp_members, members},
      {Py_tp_getset, getset},
      {0, nullptr},
  };
  static PyType_Spec spec = {"intaglio.Jit", sizeof(PyJit), 0,
                             Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL, slots};
  jit_type = reinterpret_cast<PyTypeObject*>(PyType_FromSpec(&spec));
  if (!jit_type) nb::raise_python_error();
  m.attr("Jit") = nb::borrow(reinterpret_cast<PyObject*>(jit_type));
  m.def("_jit_make", &make, nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(), nb::arg(),
        nb::arg(), nb::arg(), nb::arg(), nb::arg().none());
  m.def("_jit_function", [](nb::handle self) { return jit_of(require(self).ptr()).function; });
  m.def("_jit_clear", [](nb::handle self) {
    Jit& jit = jit_of(require(self).ptr());
    std::vector<std::shared_ptr<Entry>> gone =
        std::move(jit.entries);  // runs of other threads keep what they use
    jit.entries.clear();
    jit.recent = 0;
    jit.warned = false;
  });
  m.def(
      "_jit_traces",
      [](nb::handle self) {
        nb::list out;
        for (const std::shared_ptr<Entry>& entry : jit_of(require(self).ptr()).entries)
          for (const auto& trace : *entry->tree->traces()) {
            const std::shared_ptr<Program> program = program_of(*trace);
            nb::dict one = describe(*entry, *trace);
            const ProgramReport report = program ? program->report() : ProgramReport();
            one["prepared_bytes"] = report.prepared_bytes;
            one["computed_bytes"] = report.computed_bytes;
            one["computed_once"] = report.computed_once;
            if (program) one["fusion"] = report.fusion;  // of the program that runs
            one["fast_math"] = program ? fast_math_dict(report) : nb::dict();
            one["compile_ms"] = program ? trace->program->compile_ms() : 0.0;
            out.append(one);
          }
        return out;
      },
      "What is known of each trace and its program, in the order of their recording within each structure "
      "of\n"
      "arguments; programs are made where they are not.");
  m.def("_jit_hits", [](nb::handle self) {
    uint64_t hits = 0;
    for (const std::shared_ptr<Entry>& entry : jit_of(require(self).ptr()).entries)
      hits += entry->tree->hits();
    return hits;
  });
  m.def("_jit_given_up", [](nb::handle self) -> nb::object {
    for (const std::shared_ptr<Entry>& entry : jit_of(require(self).ptr()).entries)
      if (auto reason = entry->tree->given_up()) return nb::make_tuple(reason->why, reason->where);
    return nb::none();
  });
  m.def(
      "_jit_run",
      [](nb::handle self, nb::args args, nb::kwargs kwargs) -> nb::object {
        const CallArguments given(args, kwargs);
        Found found =
            run(jit_of(require(self).ptr()), given.all.data(), given.count, given.name_list(), true);
        if (!found.result.trace) return nb::none();
        nb::dict out = describe(*found.entry, *found.result.trace);
        // A trace that was forgotten since may be asked for its program, too.
        out["compile"] = nb::cpp_function([trace = found.result.trace] { program_of(*trace); });
        return out;
      },
      "The trace of this call, with its graph; nothing of the call is seen outside. `compile` makes its "
      "program.");
  nb::class_<CompiledFunction>(m, "_CompiledFunction", nb::type_slots(compiled_slots),
                               "A compiled call, for arguments like those it was compiled for.")
      .def(nb::init<nb::handle>(), nb::arg("jitted"));
}

}  // namespace ig::py
