// The guards that the observer makes: one fact each about a place outside of a captured function, checked by
// value on every call without running Python code where the place is a dict, a cell, a list or a class.
#pragma once

#include <string>
#include <vector>

#include "bindings/common.h"
#include "bindings/guards.h"

namespace ig::py {

// Whether an object's value is fixed and can be compared in C: numbers, text, None, tuples of such, NumPy's
// scalars.
bool is_atom(PyObject* object);
bool same_atom(PyObject* a, PyObject* b);  // by type and bits: 1, 1.0, True differ, and so do 0.0 and -0.0
bool is_numpy_array(PyObject* object);
bool is_array(PyObject* object);           // a concrete Tensor, or a NumPy array
std::string short_repr(PyObject* object);  // on one line, cut; raises nothing

// What a place must hold.
class Expected {
 public:
  enum class Kind : uint8_t { Absent, Present, Identity, Atom, Array };
  static Expected present();
  static Expected of(PyObject* value);  // null: absent
  // A handle that the program has bound to a value of its own by now.
  static Expected of(PyObject* handle, Type before);
  Kind kind() const { return kind_; }
  const nb::object& value() const { return value_; }
  void pin() { pinned_ = true; }  // an array: this very object, not another of its form
  bool matches(PyObject* now) const {
    if (kind_ <= Kind::Present) return (now != nullptr) == (kind_ == Kind::Present);
    if (now == value_.ptr() && kind_ != Kind::Array) return true;
    return now && kind_ != Kind::Identity && matches_slow(now);
  }
  std::string str() const;
  int traverse(visitproc visit, void* arg) const;

 private:
  bool matches_slow(PyObject* now) const;
  Kind kind_ = Kind::Absent;
  bool pinned_ = false;
  nb::object value_;
  Type type_;                 // of a Tensor
  nb::object dtype_, shape_;  // of a NumPy array
};

// A place that can be read again.
struct Place {
  enum class Kind : uint8_t {
    Global,          // holder: the globals, second: the builtins, key: the name
    Cell,            // holder: the cell
    Attribute,       // holder: an object, key: the name in its own dict
    TypeAttribute,   // holder: a class, key: the name, looked up along its bases
    SuperAttribute,  // holder: the object's class, second: the class to start behind, key: the name
    Descriptor,      // holder: an object, second: a descriptor in C
    DictItem,        // holder: a dict, key: the key
    SequenceItem,    // holder: a list or tuple, index
    SetItem,         // holder: a set, key
    Class,           // of holder
    Length,          // of holder (dict, list, set): no object; index is what it was
    Emptiness,       // likewise: index is whether it was empty
    Code,
    Defaults,
    KeywordDefaults,  // of holder, a function
    Gradient,         // of holder, an array that requires grad; None where it has none
  };
  Kind kind;
  nb::object holder, key, second;
  Py_ssize_t index = 0;
  std::string label;  // for reports: "global SCALE"

  nb::object read() const;  // null where there is nothing
  // Binds the place to a value; null takes what is there away. Of places that a program can store to.
  void write(nb::handle value) const;
  int traverse(visitproc visit, void* arg) const;
  bool matches(const Expected& expected) const;
};
Py_ssize_t length_of(PyObject* container);  // of a dict, list, tuple or set; -1 of others
PyObject* instance_dict(PyObject* object);  // borrowed; null without one

class PlaceGuard final : public OutsideGuard {
 public:
  PlaceGuard(Place place, Expected expected, Location where)
      : place_(std::move(place)), expected_(std::move(expected)), where_(where) {}
  bool holds() const override;
  std::string describe() const override;
  int traverse(visitproc visit, void* arg) const override;
  Tensor array() const override;
  nb::object handle() const override;
  bool moved() const override { return moved_; }
  void pin() { expected_.pin(); }

 private:
  Place place_;
  Expected expected_;
  Location where_;
  mutable uint64_t epoch_ = 0, second_epoch_ = 0;  // of what was looked up in, when the guard last held
  mutable bool moved_ = false;
};

// All elements of a container, in order.
class SnapshotGuard final : public OutsideGuard {
 public:
  SnapshotGuard(nb::object holder, std::string label, Location where);
  bool holds() const override;
  std::string describe() const override;
  int traverse(visitproc visit, void* arg) const override;

 private:
  nb::object holder_;
  std::string label_;
  Location where_;
  std::vector<Expected> keys_;    // of dicts
  std::vector<Expected> values_;  // the elements of others
};

// The bytes of something with a buffer (a NumPy array, a bytearray), or of a Tensor.
class ContentGuard final : public OutsideGuard {
 public:
  ContentGuard(nb::object holder, std::string label, Location where);
  bool holds() const override;
  std::string describe() const override;
  int traverse(visitproc visit, void* arg) const override;

 private:
  nb::object holder_;
  std::string label_;
  Location where_;
  Expected form_;  // dtype and shape
  std::vector<char> bytes_;
  Tensor tensor_;
};

}  // namespace ig::py
