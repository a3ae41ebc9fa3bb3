// What was noted so far while a function ran to be captured: which objects lie outside of it, which were made
// by it, and the guards on what was read. The observer sees instructions and calls; this class knows what
// each means for objects of each kind.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bindings/outside_guards.h"

namespace ig::py {

// A read whose effect could not be traced back to places; what was guarded in its stead is said in `what`.
struct UnknownRead {
  std::string what;
  std::string where;
};

class OutsideNotes {
 public:
  // The capture itself follows arrays: it reads Tensors and NumPy arrays that it is handed again on each
  // call, and turns what is asked of a Tensor into conditions.
  bool arrays_followed = false;
  // The instruction at hand; it becomes a location only where a guard wants one.
  void at(PyCodeObject* code, int offset) {
    code_ = code;
    offset_ = offset;
  }

  // Objects reached from outside; what they hold is guarded when it is read.
  void reach(PyObject* object);
  bool is_outside(PyObject* object) const;
  void made_here(PyObject* object);
  bool was_made_here(PyObject* object) const { return fresh_.contains(object); }
  void allow_writes(PyObject* object) { writable_.insert(keep(object)); }
  bool may_write(PyObject* object) const { return writable_.contains(object); }

  // Reads. Each makes guards where the object lies outside (or, for what its class says, where the class
  // does).
  void global(PyObject* globals, PyObject* builtins, PyObject* name);
  void cell(PyObject* cell, PyObject* name);
  void attribute(PyObject* object, PyObject* name);
  void item(PyObject* container, PyObject* key);
  void contains(PyObject* container, PyObject* key);
  void length(PyObject* container);
  void truth(PyObject* object);
  void elements(PyObject* container, bool deep);
  void content(PyObject* array);
  void class_of(PyObject* object);
  // Special methods that the object's class has or lacks, as "__len__".
  void special(PyObject* object, std::initializer_list<const char*> names);
  void type_attribute(PyTypeObject* type, PyObject* name);
  void function(PyFunctionObject* function);
  // Handed to code that cannot be followed.
  void opaque(PyObject* object, std::string_view reader, Location line = {});

  // Places outside that the function binds to new values. The function sees its own values there; at the end
  // each place gets back what it held, and the caller of the capture stores anew on each call. What is read
  // of such a place after the store needs no guard.
  struct Rebound {
    Place place;
    nb::object before, after;  // null: nothing was there
    std::string where;         // the user's line of the first store
    bool read = false;         // before the first store, so that a guard says what was there
    nb::object assumed;        // what the recording put there for the function to find
  };
  void rebind(Place place, std::string where);
  // A gradient: its place, which is guarded where the program has not bound it.
  Place gradient(PyObject* array);
  nb::object read_gradient(PyObject* array);
  // Puts a value of the recording there, which the program may change.
  void assume(Place place, nb::handle value);
  void give_back();  // every place; the function's own values are in `after` then
  std::vector<Rebound> take_rebound() { return std::move(rebound_); }
  PyObject* key_for(PyObject* key) { return same_key(key); }

  // What the observer calls it in messages: "global SCALE", "an object of class Model".
  std::string name_of(PyObject* object) const;

  OutsideGuards take_guards();
  const OutsideGuards& guards() const { return guards_; }
  const std::vector<UnknownRead>& unknown() const { return unknown_; }
  void forget();  // all references but the guards'

 private:
  struct Key {
    int kind;
    const void *holder, *key;
    Py_ssize_t index;
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    size_t operator()(const Key& k) const {
      auto mix = [](size_t h, size_t v) { return (h ^ v) * 0x9E3779B97F4A7C15ull; };
      return mix(mix(mix(static_cast<size_t>(k.kind), reinterpret_cast<size_t>(k.holder) >> 3),
                     reinterpret_cast<size_t>(k.key) >> 3),
                 static_cast<size_t>(k.index));
    }
  };
  Location where() const { return code_ ? location_at(code_, offset_) : Location(); }
  PyObject* keep(PyObject* object);
  static Key key_of(const Place& place, bool presence_only);
  bool first(Key key) { return seen_.insert(key).second; }
  PyObject* same_key(PyObject* key);
  // Notes the place's present value, which it gives (borrowed, or null).
  PyObject* note(Place place, bool presence_only = false);
  void snapshot(PyObject* container);
  const Rebound* rebound(const Place& place) const;
  // The way from the function's own object, or from a global, to what a place holds:
  // "encoder.layer.0.weight".
  std::string path_of(const Place& place) const;
  void super_attribute(PyObject* super, PyObject* name);
  void elements(PyObject* container, bool deep, int depth);

  PyCodeObject* code_ = nullptr;  // borrowed from the frame that runs
  int offset_ = 0;
  std::unordered_map<PyObject*, std::string> outside_;  // with the place where each was first met
  std::unordered_set<PyObject*> fresh_, writable_;
  std::unordered_map<PyObject*, nb::object> kept_;  // so that addresses stay what they are
  std::unordered_set<Key, KeyHash> seen_;
  nb::object keys_;
  std::unordered_map<PyObject*, std::vector<PlaceGuard*>> array_places_;
  std::unordered_map<PyObject*, std::string> paths_;
  std::vector<Rebound> rebound_;
  bool bound_ = false;  // the places of `rebound_` hold the function's values
  OutsideGuards guards_;
  std::vector<UnknownRead> unknown_;
};

// Classes and modules that are this package's own: taken as they are.
bool is_own_type(PyTypeObject* type);

}  // namespace ig::py
