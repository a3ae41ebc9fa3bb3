// Recording a Python function, and its results.
#include "bindings/jit_front.h"

#include "bindings/autograd.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace ig::py {
namespace {

bool is_ndarray(nb::handle object) {
  return nb::hasattr(object, "__array_interface__") && nb::hasattr(object, "copy");
}

// One memory, and one place on the tape of eager autograd: x and x.detach() are two arrays.
bool same_array(const Tensor& a, const Tensor& b) { return a.data() == b.data() && a.link() == b.link(); }

// What is made for one recording becomes a constant up to this size: beyond it, folding takes longer than
// reading. Whole numbers are more often indices, which need no check in each call where they are known.
constexpr size_t kLargestConstant = size_t{1} << 20, kLargestIndices = size_t{64} << 20;  // bytes

// Whether none but the recording's notes holds the memory of an array of NumPy's: what the function made for
// itself, and will make anew if it is recorded again. (A subclass may share its memory with a file.)
bool is_left_alone(PyObject* array, const ArrayNotes& notes) {
  auto plain = [](PyObject* object) { return std::string_view(Py_TYPE(object)->tp_name) == "numpy.ndarray"; };
  if (!plain(array) ||
      Py_REFCNT(array) != std::ranges::count(notes.foreign, array,
                                             [](const ArrayNotes::Foreign& one) { return one.object.ptr(); }))
    return false;
  nb::object base = nb::steal(PyObject_GetAttrString(array, "base"));
  while (base.is_valid() && !base.is_none()) {  // held by the view on it, and here
    if (!plain(base.ptr()) || Py_REFCNT(base.ptr()) != 2) return false;
    base = nb::steal(PyObject_GetAttrString(base.ptr(), "base"));
  }
  return base.is_valid();
}

// Where the value that stands in `tensor` was made, for errors.
std::string made_at(const Tensor& tensor) {
  const Node* node = tensor.is_symbolic() && tensor.value() ? tensor.value()->node() : nullptr;
  return node ? node->location().str() : std::string();
}

// The containers of a tree, whose leaves are written back where the function replaces them.
void containers_of(nb::handle object, std::vector<nb::object>& out) {
  PyObject* raw = object.ptr();
  bool listed = PyList_CheckExact(raw) || PyTuple_Check(raw);
  bool fields = !PyType_Check(raw) && nb::hasattr(object.type(), "__dataclass_fields__");
  if (!listed && !PyDict_Check(raw) && !fields) return;
  out.push_back(nb::borrow(object));
  if (listed) {
    for (nb::handle item : nb::borrow(object)) containers_of(item, out);
  } else if (fields) {
    for (nb::handle name : nb::object(object.type().attr("__dataclass_fields__")))
      containers_of(nb::object(nb::getattr(object, name)), out);
  } else {
    nb::object values = own(PyDict_Values(raw));
    for (nb::handle item : values) containers_of(item, out);
  }
}

}  // namespace

void PyFront::prepare(record::JitCapture& capture) {
  capture.locate = &python_location;
  capture.scope = &current_scope;
}

void PyFront::aside(const std::function<void()>& work) {
  {
    nb::gil_scoped_release released;
    try {
      work();
    } catch (const PythonError&) {  // a loop saw the signal first
      interrupted_ = true;
      throw;
    }
  }
  if (PyErr_CheckSignals() < 0) {
    interrupted_ = true;
    nb::raise_python_error();
  }
}

ResultLeaf PyFront::result_leaf(record::JitCapture& capture, nb::handle object,
                                std::span<const nb::object> stand_ins, std::vector<Tensor>& outputs) const {
  ResultLeaf out;
  for (size_t i = 0; i < stand_ins.size(); ++i)
    if (stand_ins[i].ptr() == object.ptr() && !shape_.leaves[i].donated && is_tensor(object.ptr()) &&
        !is_number(object.ptr())) {
      out.kind = ResultLeaf::Kind::Argument;
      out.index = i;
      return out;
    }
  if (is_tensor(object.ptr())) {
    const Tensor& tensor = tensor_of(object.ptr());
    if (tensor.is_symbolic()) {
      if (tensor.is_number()) out.kind = ResultLeaf::Kind::Number;
      out.index = outputs.size();
      capture.value_of(tensor);  // refuses one that leaked from another trace
      outputs.push_back(tensor);
    } else if (capture.made_here(tensor) && tensor.link() && lift_) {
      out.index = outputs.size();  // it has a place on the tape of the function
      outputs.push_back(tensor);
    } else if (capture.made_here(tensor) || !tensor.data()) {
      out.kind = ResultLeaf::Kind::Array;
      out.array = tensor;
    } else if (auto spot = spot_of_.find(object.ptr()); spot != spot_of_.end()) {
      out.kind = ResultLeaf::Kind::Spot;  // a handle from outside, as the function finds it
      out.index = spot->second;
    } else {
      out.kind = ResultLeaf::Kind::Object;
      out.object = nb::borrow(object);
    }
    return out;
  }
  out.kind = is_ndarray(object) ? ResultLeaf::Kind::Copy : ResultLeaf::Kind::Object;
  out.object = nb::borrow(object);
  return out;
}

record::JitFront::Recorded PyFront::record(record::JitCapture& capture, std::span<const Tensor> stand_ins) {
  std::vector<nb::object> given;  // one a leaf
  std::vector<Tensor> before;
  size_t dynamic = 0;
  for (size_t i = 0; i < shape_.leaves.size(); ++i) {
    bool is_dynamic = shape_.leaves[i].kind != CallShape::LeafKind::Static;
    Tensor stand_in = is_dynamic ? stand_ins[dynamic++] : Tensor();
    before.push_back(stand_in);
    given.push_back(stand_in.valid() ? nb::steal(wrap(stand_in_for(stand_in, objects_.leaves[i])))
                                     : nb::borrow(objects_.leaves[i]));
  }
  nb::object args = shape_.args(given), kwargs = shape_.kwargs(given);
  auto kept = std::make_shared<PyKept>();
  kept->autocast = front::autocast();
  kept->tape.mode = tape::mode();
  Recorded out;
  ArrayNotes notes;
  std::unique_ptr<OutsideWatch> watch = watch_outside(function_, given);
  notes.capture = &capture;
  notes.watch = watch.get();
  nb::object result;
  {
    ArrayNotes::Active active(&notes);
    std::vector<nb::object> containers;
    for (nb::handle one : args) containers_of(one, containers);
    for (auto item : nb::cast<nb::dict>(kwargs)) containers_of(item.second, containers);
    for (const nb::object& one : containers) watch->allow_writes(one);
    // Numbers that an earlier trace wrote back vary from call to call: here each is a symbol.
    kept->numbers = moving_numbers();
    for (const PyKept::Number& number : kept->numbers)
      watch->assume(number.place, nb::steal(wrap(Tensor::number(&capture, capture.value_of(number.seen)))));
    capture.lift_constants = lift_;
    watch->start();
    result = nb::steal(PyObject_Call(function_.ptr(), args.ptr(), kwargs.ptr()));
    bool failed = !result.is_valid();
    if (failed) {
      interrupted_ = !PyErr_ExceptionMatches(PyExc_Exception);
      nb::python_error error;  // takes it over
      watch->stop({});
      throw error;
    }
    kept->guards = watch->stop(result);
    kept->unknown = watch->unknown();
    find_spots(*kept, notes);
  }
  std::vector<nb::object> leaves;
  kept->tree = flatten(result, leaves);
  for (const nb::object& leaf : leaves)
    kept->leaves.push_back(result_leaf(capture, leaf, given, out.outputs));
  // Handles among the arguments that were bound to new values.
  for (size_t i = 0; i < given.size(); ++i) {
    if (!before[i].valid() || !is_tensor(given[i].ptr()) || before[i].is_number()) continue;
    const Tensor& now = tensor_of(given[i].ptr());
    if (now.symbol() == before[i].symbol()) continue;
    if (!is_tensor(objects_.leaves[i]))
      throw make_error(ErrorKind::Capture,
                       "the argument `{}`, an array of another library ({}), is written to",
                       shape_.leaves[i].name, Py_TYPE(objects_.leaves[i])->tp_name)
          .at(made_at(now))
          .why("arrays of other libraries are copied in, so the write would not be seen outside")
          .hint("write x = x + y in place of x += y, or pass ig.asarray(x)");
    WriteBack write;
    write.leaf = i;
    write.silent = !notes.changed.contains(given[i].ptr());
    write.value = {ResultLeaf::Kind::Output, out.outputs.size(), {}, {}};
    if (now.is_symbolic() || (now.link() && lift_))
      out.outputs.push_back(write.silent ? now.unlinked() : now);
    else
      write.value = {ResultLeaf::Kind::Array, 0, {}, now};
    kept->writes.push_back(std::move(write));
  }
  // Containers among the arguments that hold other leaves now.
  size_t at = 0;
  auto compare = [&](const Tree& tree, nb::handle object) {
    std::vector<nb::object> now;
    Tree after = flatten(object, now);
    size_t count = tree.leaves();
    if (tree.kind == Tree::Kind::Leaf) {
      ++at;
      return;
    }
    if (!(after == tree))
      throw make_error(ErrorKind::Capture, "an argument, a container, has another structure after the call")
          .at(user_line())
          .why(fmt::format("it was {} and became {}, and a trace writes back leaves alone", tree.str(),
                           after.str()))
          .hint("return the new container in place of changing the one that was passed");
    for (size_t i = 0; i < count; ++i) {
      if (now[i].ptr() == given[at + i].ptr()) continue;
      WriteBack write;
      write.where = WriteBack::Where::Slot;
      write.leaf = at + i;
      write.value = result_leaf(capture, now[i], given, out.outputs);
      kept->writes.push_back(std::move(write));
    }
    at += count;
  };
  for (size_t i = 0; i < shape_.positional.size(); ++i)
    compare(shape_.positional[i], nb::object(args[nb::int_(i)]));
  for (size_t i = 0; i < shape_.keywords.size(); ++i)
    compare(shape_.keywords[i], nb::object(kwargs[shape_.names[i]]));
  // Handles from outside that were bound to new values.
  std::unordered_map<PyObject*, bool> written;
  for (const ArrayNotes::Handle& handle : notes.rebound) {
    if (!written.emplace(handle.object.ptr(), true).second) continue;
    const Tensor& now = tensor_of(handle.object.ptr());
    WriteBack write;
    write.where = WriteBack::Where::Outside;
    write.spot = spot_of_.at(handle.object.ptr());
    write.silent = !notes.changed.contains(handle.object.ptr());
    if (now.is_symbolic() || (now.link() && lift_)) {
      write.value.index = out.outputs.size();
      out.outputs.push_back(write.silent ? now.unlinked() : now);
    } else {
      write.value = {ResultLeaf::Kind::Array, 0, {}, now};
    }
    kept->writes.push_back(std::move(write));
  }
  // Names, attributes and elements outside that were bound to new values.
  std::unordered_set<const void*> replaced;  // the arrays that were there
  for (OutsideNotes::Rebound& one : watch->rebound()) {
    if (!one.after.is_valid()) continue;
    if (one.after.is(one.before)) {
      if (one.read) continue;
      // What was there before was not looked at: on another call it may be something else.
      if (!is_tensor(one.after.ptr()) && !is_atom(one.after.ptr())) {
        kept->guards.push_back(
            std::make_unique<PlaceGuard>(std::move(one.place), Expected::of(one.after.ptr()), Location()));
        continue;
      }
    }
    if (one.before.is_valid() && is_tensor(one.before.ptr()))
      replaced.insert(tensor_of(one.before.ptr()).data());
    bool number = is_number(one.after.ptr());
    if (number && std::any_of(kept->numbers.begin(), kept->numbers.end(), [&](const PyKept::Number& known) {
          return known.place.holder.is(one.place.holder) && known.place.key.is(one.place.key) &&
                 capture.value_of(known.seen) == tensor_of(one.after.ptr()).value();
        }))
      continue;  // the symbol that was put there
    const bool gradient = one.place.kind == Place::Kind::Gradient;
    if (gradient && one.read && is_tensor(one.before.ptr()) && is_tensor(one.after.ptr()) &&
        tensor_of(one.after.ptr()).value() == capture.value_of(tensor_of(one.before.ptr())))
      continue;  // as it was found
    if (!is_tensor(one.after.ptr()) && !is_atom(one.after.ptr()))
      throw make_error(ErrorKind::Capture,
                       "a captured function changes what lies outside of it: {} is bound to a {}",
                       one.place.label, Py_TYPE(one.after.ptr())->tp_name)
          .at(one.where)
          .why(
              "arrays, numbers and text are stored anew on each call; another object would be the same one "
              "in every call")
          .hint(
              "store its arrays in attributes of their own, or return it and store it where the function "
              "is called");
    WriteBack write;
    write.where = WriteBack::Where::Place;
    write.leaf = given.size();
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i].is(one.place.holder) && shape_.leaves[i].kind == CallShape::LeafKind::Static)
        write.leaf = i;
    write.value = result_leaf(capture, one.after, given, out.outputs);
    write.in_place = gradient && one.assumed.is_valid() && one.after.is(one.assumed);
    write.place = std::move(one.place);
    kept->writes.push_back(std::move(write));
  }
  notes.restore();
  for (const WriteBack& write : kept->writes)
    if (write.where == WriteBack::Where::Outside)
      replaced.insert(tensor_of(kept->found[write.spot].ptr()).data());
  // What the function itself wrote to while it ran, it also made: a constant of each place that copied it.
  for (ArrayNotes::Foreign& one : notes.foreign) {
    Tensor now = as_tensor(one.object.ptr(), std::nullopt, "an array from outside");
    bool kept_still =
        now.bytes() == one.copy.bytes() && std::memcmp(now.data(), one.copy.data(), now.bytes()) == 0;
    if (!kept_still) continue;
    const Value input = capture.input_of(one.copy);
    const bool asked = std::ranges::any_of(
        capture.outcomes(), [&](const record::Outcome& outcome) { return input && outcome.value == input; });
    if (asked || !is_left_alone(one.object.ptr(), notes)) {
      kept->foreign_last.push_back(one.copy);
      kept->foreign.push_back(std::move(one));
    } else if (now.bytes() <= (is_integer(now.dtype()) ? kLargestIndices : kLargestConstant)) {
      capture.make_constant(one.copy);
    }
    // A larger one stays the input that it is, and what was copied stands for it in every call.
  }
  foreign_now_.clear();
  out.tape = know_tape(*kept, notes, capture, out.outputs);
  // The first spot of each array from outside, by its memory. (An array may be there on the tape and off it.)
  std::unordered_multimap<const void*, size_t> spot_of_array;
  auto spot_with = [&](const Tensor& array) -> std::optional<size_t> {
    for (auto [at, end] = spot_of_array.equal_range(array.data()); at != end; ++at)
      if (same_array(tensor_of(kept->found[at->second].ptr()), array)) return at->second;
    return std::nullopt;
  };
  for (size_t i = 0; i < kept->spots.size(); ++i) {
    if (kept->twins[i] != i) continue;
    const Tensor& array = tensor_of(kept->found[i].ptr());
    if (std::optional<size_t> first = spot_with(array))
      kept->same.emplace_back(*first, i);
    else
      spot_of_array.emplace(array.data(), i);
  }
  // Where each array from outside is read again.
  for (const Capture::Lifted& one : capture.lifted()) {
    PyKept::Source source;
    if (std::optional<size_t> spot = spot_with(one.tensor)) source = {PyKept::Source::Kind::Spot, *spot};
    for (size_t i = 0; i < kept->foreign.size() && source.kind == PyKept::Source::Kind::Fixed; ++i)
      if (kept->foreign[i].copy.data() == one.tensor.data()) source = {PyKept::Source::Kind::Foreign, i};
    for (size_t i = 0; i < kept->numbers.size() && source.kind == PyKept::Source::Kind::Fixed; ++i)
      if (kept->numbers[i].seen.data() == one.tensor.data()) source = {PyKept::Source::Kind::Number, i};
    kept->sources.push_back(source);
    out.steady.push_back(source.kind != PyKept::Source::Kind::Number &&
                         !replaced.contains(one.tensor.data()));
  }
  if (!lift_) {
    auto constant = [&](PyKept::Source source, const Tensor& value) {
      kept->constants.push_back(source);
      kept->constant_values.push_back(value);
    };
    for (size_t i = 0; i < kept->spots.size(); ++i)
      if (kept->twins[i] == i) constant({PyKept::Source::Kind::Spot, i}, tensor_of(kept->found[i].ptr()));
    for (size_t i = 0; i < kept->foreign.size(); ++i)
      constant({PyKept::Source::Kind::Foreign, i}, kept->foreign[i].copy);
  }
  out.kept = std::move(kept);
  return out;
}

void PyFront::hold(const PyKept& kept) {
  held_.clear();
  held_by_ = &kept;
  held_.resize(kept.spots.size());
  for (size_t spot = 0; spot < held_.size(); ++spot) {
    held_[spot] = kept.handle(spot);
    if (!held_[spot].is_valid())
      throw Error(ErrorKind::Capture, "an array outside of a jitted function went away during the call")
          .at(user_line())
          .why("another thread, or a callback, took it away while the call was to read or write it")
          .hint("change what the function reads before or after the call");
  }
}

void PyFront::find_spots(PyKept& kept, const ArrayNotes& notes) {
  spot_of_.clear();
  auto add = [&](PyKept::Spot spot, nb::object handle) {
    kept.twins.push_back(spot_of_.try_emplace(handle.ptr(), kept.spots.size()).first->second);
    kept.spots.push_back(spot);
    kept.found.push_back(std::move(handle));
  };
  for (size_t i = 0; i < kept.guards.size(); ++i)
    if (nb::object handle = kept.guards[i]->handle(); handle.is_valid()) add({true, i}, handle);
  for (const ArrayNotes::Handle& read : notes.read) {
    if (spot_of_.contains(read.object.ptr())) continue;
    add({false, kept.handles.size()}, read.object);
    kept.handles.push_back(read);
  }
}

std::vector<PyKept::Number> PyFront::moving_numbers() const {
  std::vector<PyKept::Number> out;
  if (!tree_) return out;
  auto add = [&](const Place& place) {
    for (const PyKept::Number& known : out)
      if (known.place.holder.is(place.holder) && known.place.key.is(place.key) &&
          known.place.index == place.index)
        return;
    nb::object now = place.read();
    PyKept::Number number{place, true, {}};
    if (now.is_valid() && PyFloat_CheckExact(now.ptr())) {
      number.whole = false;
      number.seen = Tensor::scalar(DType::F64, PyFloat_AS_DOUBLE(now.ptr()));
    } else if (now.is_valid() && PyLong_CheckExact(now.ptr())) {
      int overflow = 0;
      int64_t value = PyLong_AsLongLongAndOverflow(now.ptr(), &overflow);
      if (overflow) return;
      number.seen = Tensor::scalar_int(DType::I64, value);
    } else {
      return;
    }
    out.push_back(std::move(number));
  };
  for (const auto& trace : *tree_->traces()) {
    const auto& kept = static_cast<const PyKept&>(*trace->kept);
    for (const PyKept::Number& number : kept.numbers) add(number.place);
    for (const WriteBack& write : kept.writes)
      if (write.where == WriteBack::Where::Place) add(write.place);
  }
  return out;
}

// The present value of an array from outside.
Tensor PyFront::outside_array(const PyKept& kept, const PyKept::Source& source) const {
  switch (source.kind) {
    case PyKept::Source::Kind::Fixed: return {};
    case PyKept::Source::Kind::Spot: {
      const nb::object& handle = held_by_ == &kept ? held_[source.index] : kept.found[source.index];
      return tensor_of(handle.ptr());
    }
    // Of a trace that was recorded a moment ago, nothing has changed yet.
    case PyKept::Source::Kind::Foreign:
      return source.index < foreign_now_.size() ? foreign_now_[source.index] : Tensor();
    case PyKept::Source::Kind::Number: {
      const PyKept::Number& number = kept.numbers[source.index];
      nb::object now = number.place.read();
      return number.whole ? Tensor::scalar_int(DType::I64, PyLong_AsLongLong(now.ptr()))
                          : Tensor::scalar(DType::F64, PyFloat_AsDouble(now.ptr()));
    }
  }
  return {};
}

bool PyFront::holds(const record::JitTrace& trace, std::string* why) {
  const auto& kept = static_cast<const PyKept&>(*trace.kept);
  auto fail = [&](auto&& text) {
    if (why) *why = text();
    return false;
  };
  if (kept.autocast != front::autocast())
    return fail([&] {
      auto said = [](std::optional<DType> on) {
        return on ? fmt::format("to {}", info(*on).api_name) : std::string("off");
      };
      return fmt::format("automatic casting was {}, is {}", said(kept.autocast), said(front::autocast()));
    });
  if (kept.tape.asked)
    if (std::string other = other_tape(kept); !other.empty()) return fail([&] { return other; });
  bool moved = false;
  for (const auto& guard : kept.guards)
    if (!guard->holds()) return fail([&] { return "no longer holds: " + guard->describe(); });
  for (const PyKept::Spot& spot : kept.spots) moved |= spot.placed && kept.guards[spot.index]->moved();
  for (const ArrayNotes::Handle& handle : kept.handles) {
    const Tensor& now = tensor_of(handle.object.ptr());
    if (now.is_symbolic() || now.dtype() != handle.before.dtype() || !(now.shape() == handle.before.shape()))
      return fail([&] {
        return fmt::format("an array from outside was {}, is {}", handle.before.type().str(),
                           now.type().str());
      });
  }
  if (moved) {
    // Which places hold one handle decides where a change is seen, and which of them are one input.
    std::vector<nb::object> objects;
    std::unordered_map<PyObject*, size_t> first;
    for (size_t i = 0; i < kept.spots.size(); ++i) {
      objects.push_back(kept.handle(i));
      if (first.try_emplace(objects.back().ptr(), i).first->second != kept.twins[i])
        return fail([] { return std::string("other places outside hold one and the same array"); });
    }
  }
  for (auto [a, b] : kept.same)
    if (!same_array(tensor_of(kept.handle(a).ptr()), tensor_of(kept.handle(b).ptr())))
      return fail([] { return std::string("two handles from outside no longer hold the same array"); });
  foreign_now_.clear();
  for (size_t i = 0; i < kept.foreign.size(); ++i) {
    const ArrayNotes::Foreign& one = kept.foreign[i];
    const Tensor last = kept.foreign_last[i];
    Tensor now = as_it_is(one.object.ptr(), last, "an array from outside");
    if (now.dtype() != one.copy.dtype() || !(now.shape() == one.copy.shape()))
      return fail([&] {
        return fmt::format("an array from outside was {}, is {}", one.copy.type().str(), now.type().str());
      });
    kept.foreign_last[i] = now;
    foreign_now_.push_back(std::move(now));
  }
  for (const PyKept::Number& number : kept.numbers) {
    nb::object now = number.place.read();
    int overflow = 1;
    if (now.is_valid() && number.whole && PyLong_CheckExact(now.ptr()))
      PyLong_AsLongLongAndOverflow(now.ptr(), &overflow);
    if (now.is_valid() && !number.whole && PyFloat_CheckExact(now.ptr())) overflow = 0;
    if (overflow)
      return fail([&] {
        return fmt::format("{} is no {} any more", number.place.label, number.whole ? "int" : "float");
      });
  }
  if (moved)
    hold(kept);
  else
    held_by_ = nullptr;
  for (size_t i = 0; i < kept.constants.size(); ++i) {
    Tensor now = outside_array(kept, kept.constants[i]);
    const Tensor& then = kept.constant_values[i];
    bool same = now.data() == then.data() ||
                (kept.constants[i].kind == PyKept::Source::Kind::Foreign && now.bytes() == then.bytes() &&
                 std::memcmp(now.data(), then.data(), now.bytes()) == 0);
    if (!same ||
        recording_link(std::span(&now, 1)))  // recorded anew, which refuses what would lose a gradient
      return fail(
          [&] { return fmt::format("an array from outside ({}) has new values", then.type().str()); });
  }
  return true;
}

// What the trace depends on, where the program asked; of a trace that was recorded a moment ago.
record::JitFront::Recorded::Tape PyFront::know_tape(PyKept& kept, const ArrayNotes& notes,
                                                    record::JitCapture& capture,
                                                    std::vector<Tensor>& outputs) {
  TapeFacts& tape = kept.tape;
  tape.asked = notes.tape_asked;
  if (!tape.asked) return record::JitFront::Recorded::Tape::Usual;
  for (PyObject* leaf : objects_.leaves) tape.arguments.push_back(TapeFacts::place_of(leaf));
  for (const nb::object& handle : kept.found) tape.spots.push_back(TapeFacts::place_of(handle.ptr()));
  for (PyObject* handle : notes.gone_back)
    if (auto spot = spot_of_.find(handle); spot != spot_of_.end())
      tape.hooks.push_back({spot->second, TapeFacts::hooks_of(handle)});
  know_arguments(kept, tape.argument_hooks, tape.same);
  return tape.settle(capture, outputs);
}

// Of the arguments that require grad, of which there are few.
void PyFront::know_arguments(const PyKept& kept, std::vector<TapeFacts::Hooks>& hooks,
                             std::vector<std::pair<size_t, size_t>>& same) const {
  const size_t count = objects_.leaves.size();
  for (size_t i = 0; i < count; ++i) {
    if (TapeFacts::place_of(objects_.leaves[i]) == TapeFacts::Place::None) continue;
    hooks.push_back({i, TapeFacts::hooks_of(objects_.leaves[i])});
    const tape::Edge edge = tape::edge_of(tensor_of(objects_.leaves[i]));
    for (size_t k = 0; k < count + kept.spots.size(); ++k) {
      if (k >= i && k < count) continue;
      nb::object other = k < count ? nb::borrow(objects_.leaves[k]) : kept.handle(k - count);
      if (other.is_valid() && is_tensor(other.ptr()) && tape::edge_of(tensor_of(other.ptr())) == edge)
        same.emplace_back(i, k);
    }
  }
}

// What is not as the trace knows it; "" where all is.
std::string PyFront::other_tape(const PyKept& kept) const {
  const TapeFacts& known = kept.tape;
  const tape::Mode& now = tape::mode();
  if (known.mode.grad != now.grad || known.mode.inference != now.inference ||
      known.mode.anomaly != now.anomaly)
    return "the mode of eager autograd is another one";
  for (size_t i = 0; i < known.arguments.size(); ++i)
    if (TapeFacts::place_of(objects_.leaves[i]) != known.arguments[i])
      return fmt::format("`{}` {} grad", shape_.leaves[i].name,
                         known.arguments[i] == TapeFacts::Place::None ? "requires" : "does not require");
  for (size_t i = 0; i < known.spots.size(); ++i) {
    nb::object handle = kept.handle(i);
    if (!handle.is_valid() || TapeFacts::place_of(handle.ptr()) != known.spots[i])
      return "an array from outside has another place on the tape";
  }
  for (const TapeFacts::Hooks& hooks : known.hooks)
    if (TapeFacts::hooks_of(kept.handle(hooks.at).ptr()) != hooks.ids)
      return "an array from outside has other hooks";
  if (known.argument_hooks.empty()) return "";
  std::vector<TapeFacts::Hooks> hooks;
  std::vector<std::pair<size_t, size_t>> same;
  know_arguments(kept, hooks, same);
  if (hooks != known.argument_hooks) return "an argument has other hooks";
  return same == known.same ? "" : "other arguments are one and the same array";
}

void PyFront::outside(const record::JitTrace& trace, std::span<Tensor> lifted) {
  const auto& kept = static_cast<const PyKept&>(*trace.kept);
  for (size_t i = 0; i < lifted.size(); ++i) {
    Tensor now = outside_array(kept, kept.sources[i]);
    if (!now.valid()) continue;
    if (!(now.shape() == lifted[i].shape())) now = now.reshaped(lifted[i].shape());
    lifted[i] = std::move(now);
  }
}

PyObject* PyFront::argument(size_t i) const {
  if (i < count_) return args_[i];
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(names_); ++k)
    if (PyUnicode_Compare(PyTuple_GET_ITEM(names_, k), shape_.names[i - count_].ptr()) == 0)
      return args_[count_ + static_cast<size_t>(k)];
  return nullptr;
}

nb::object PyFront::leaf_object(const ResultLeaf& leaf, std::vector<Tensor>& outputs,
                                std::span<const nb::object> held) const {
  switch (leaf.kind) {
    case ResultLeaf::Kind::Output: return nb::steal(wrap(std::move(outputs[leaf.index])));
    case ResultLeaf::Kind::Number: return item_at(outputs[leaf.index], 0);
    case ResultLeaf::Kind::Array: return nb::steal(wrap(leaf.array));
    case ResultLeaf::Kind::Object: return leaf.object;
    case ResultLeaf::Kind::Spot: return held[leaf.index];
    case ResultLeaf::Kind::Copy: return leaf.object.attr("copy")();
    case ResultLeaf::Kind::Argument: {
      PyObject* given = objects_.leaves[leaf.index];
      return is_tensor(given) ? nb::borrow(given)
                              : nb::steal(wrap(as_tensor(given, std::nullopt, "the result")));
    }
  }
  return nb::none();
}

nb::object PyFront::result(const record::JitTrace& trace, std::vector<Tensor> outputs) {
  const auto& kept = static_cast<const PyKept&>(*trace.kept);
  kept.tape.place(outputs);
  // As the call found them: the program, or another thread, may have put others there by now.
  std::span<const nb::object> held = held_by_ == &kept ? held_ : kept.found;
  auto handle_of = [&](const WriteBack& write) {
    return write.where == WriteBack::Where::Outside ? held[write.spot].ptr() : objects_.leaves[write.leaf];
  };
  for (const WriteBack& write : kept.writes)  // before anything is written
    if ((write.where == WriteBack::Where::Outside || write.where == WriteBack::Where::Argument) &&
        !write.silent)
      refuse_change_of_leaf(tensor_of(handle_of(write)));
  for (const WriteBack& write : kept.writes) {
    nb::object value = leaf_object(write.value, outputs, held);
    if (write.where == WriteBack::Where::Place) {
      Place place = write.place;
      if (write.leaf < objects_.leaves.size()) place.holder = nb::borrow(objects_.leaves[write.leaf]);
      nb::object now = write.in_place ? place.read() : nb::object();
      if (now.is_valid() && is_tensor(now.ptr()))
        bind_silently(now.ptr(), tensor_of(value.ptr()));
      else
        place.write(value);
      continue;
    }
    if (write.where == WriteBack::Where::Slot) {
      size_t at = write.leaf;
      bool done = false;
      for (size_t i = 0; i < shape_.positional.size() + shape_.keywords.size() && !done; ++i) {
        bool keyword = i >= shape_.positional.size();
        const Tree& tree = keyword ? shape_.keywords[i - shape_.positional.size()] : shape_.positional[i];
        size_t n = tree.leaves();
        if (at >= n) {
          at -= n;
          continue;
        }
        done = set_leaf(tree, argument(i), at, value.ptr());
        if (PyErr_Occurred()) nb::raise_python_error();
      }
      if (!done)
        throw make_error(ErrorKind::Capture, "`{}` was replaced in a container that cannot be changed",
                         shape_.leaves[write.leaf].name)
            .at(user_line())
            .why(
                "the function set a leaf of a registered class, and there is no way to set it in the one "
                "passed")
            .hint("return the new object instead");
      continue;
    }
    if (write.silent)
      bind_silently(handle_of(write), tensor_of(value.ptr()));
    else
      rebind(handle_of(write), tensor_of(value.ptr()));
  }
  if (kept.tree.kind == Tree::Kind::Leaf) return leaf_object(kept.leaves[0], outputs, held);
  std::vector<nb::object> leaves;
  leaves.reserve(kept.leaves.size());
  for (const ResultLeaf& leaf : kept.leaves) leaves.push_back(leaf_object(leaf, outputs, held));
  return unflatten(kept.tree, leaves);
}

}  // namespace ig::py
