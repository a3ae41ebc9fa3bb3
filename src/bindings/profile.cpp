// `intaglio.Profile`: what `ig.profile` gives.
#include "tensor/profile.h"

#include <limits>
#include <optional>

#include "bindings/common.h"

// After Python's own header.
#include <nanobind/stl/pair.h>

namespace ig::py {
namespace {

// Begun where it is entered, as with statements want it.
struct PyProfile {
  size_t most_spans;
  std::optional<Profile> profile{};

  const Profile& ended() const {
    if (!profile || profile->recording())
      throw Error(ErrorKind::Value,
                  profile ? "the profile is still recording" : "the profile has recorded nothing")
          .why("what took how long is told at the end of the recording")
          .hint("write `with ig.profile() as p: ...`, and read p behind that block");
    return *profile;
  }
};

nb::dict row_dict(const Profile::Row& row) {
  nb::dict out;
  out["kind"] = std::string(Profile::kind_name(row.kind));
  out["name"] = row.facts.name;
  out["ops"] = row.facts.ops;
  out["program"] = row.facts.program;
  out["module"] = row.facts.scope;
  out["line"] = row.facts.where;
  nb::list lines;
  for (const std::string& line : row.facts.lines) lines.append(line);
  out["lines"] = lines;
  out["result"] = row.facts.result;
  out["calls"] = row.calls;
  out["total_ns"] = row.total_ns;
  out["least_ns"] = row.least_ns;
  out["busy_ns"] = row.busy_ns;
  out["bytes"] = row.bytes;
  out["flops"] = row.facts.flops * static_cast<double>(row.calls);
  return out;
}

template <typename Wanted>
nb::list rows_of(const PyProfile& self, Wanted wanted) {
  nb::list out;
  for (const Profile::Row& row : self.ended().rows())
    if (wanted(row.kind)) out.append(row_dict(row));
  return out;
}

// A number of things to keep or to show.
size_t count_of(nb::handle object, const char* name, const char* why, const char* hint) {
  int overflow = 0;
  const bool whole = PyLong_Check(object.ptr()) && !PyBool_Check(object.ptr());
  const long long value = whole ? PyLong_AsLongLongAndOverflow(object.ptr(), &overflow) : -1;
  if (whole && overflow == 0 && value >= 0) return static_cast<size_t>(value);
  if (overflow > 0) return std::numeric_limits<size_t>::max();
  throw make_error(whole ? ErrorKind::Value : ErrorKind::Type, "{}={} is no whole number from 0 on", name,
                   nb::repr(object).c_str())
      .why(fmt::format("it says {}", why))
      .hint(hint);
}

// A thread that runs an op does not always hold the interpreter.
Location locate() { return PyGILState_Check() ? python_location() : Location(); }

}  // namespace

void init_profile(nb::module_& m) {
  using Kind = Profile::Kind;
  profile::set_locate(&locate);
  nb::class_<PyProfile>(m, "Profile",
                        "A recording of what ran, as ig.profile makes it. `print` it to read it.")
      .def(
          "__init__",
          [](PyProfile* self, nb::handle max_events) {
            new (self) PyProfile{count_of(max_events, "profile: max_events",
                                          "how many events of the timeline are kept",
                                          "pass 0 to keep none; tables count everything all the same")};
          },
          nb::arg("max_events") = static_cast<int64_t>(Profile::kMostSpans))
      .def("__enter__",
           [](nb::handle self) {
             PyProfile& profile = nb::cast<PyProfile&>(self);
             if (profile.profile && profile.profile->recording())
               throw Error(ErrorKind::Value, "a profile is recording already")
                   .why("it was entered twice")
                   .hint("make another one with ig.profile()");
             profile.profile.reset();
             profile.profile.emplace(profile.most_spans);
             return nb::borrow(self);
           })
      .def(
          "__exit__",
          [](PyProfile& self, nb::handle, nb::handle, nb::handle) {
            if (self.profile) self.profile->stop();
          },
          nb::arg().none(), nb::arg().none(), nb::arg().none())
      .def("__str__",
           [](const PyProfile& self) {
             return self.profile ? self.profile->str() : std::string("a profile that has recorded nothing\n");
           })
      .def("__repr__",
           [](const PyProfile& self) {
             const bool done = self.profile && !self.profile->recording();
             return done ? fmt::format("<Profile: {} entries, {:.1f} ms>", self.profile->rows().size(),
                                       self.profile->milliseconds())
                         : std::string(self.profile ? "<Profile: recording>" : "<Profile: empty>");
           })
      .def(
          "str",
          [](const PyProfile& self, nb::handle most) {
            return self.ended().str(
                count_of(most, "str: most", "how many lines of each kind are shown", "pass 30"));
          },
          nb::arg("most") = 30, "The table, of at most so many kernels and ops, and so many phases.")
      .def_prop_ro(
          "milliseconds", [](const PyProfile& self) { return self.ended().milliseconds(); },
          "From the beginning of the recording to its end.")
      .def_prop_ro(
          "kernels", [](const PyProfile& self) { return rows_of(self, &Profile::is_work); },
          "A dict for each kernel of a program, copy, call of the process and op that ran by itself, the "
          "longest first. `kind` is \"kernel\", \"copy\", \"host\" or \"op\"; `name` the kernel's kind or "
          "the "
          "op; `ops` what it computes; `program`, `module`, `line` and `lines` where it comes from; `result` "
          "its type; `calls`; `total_ns`, `least_ns` (one call) and `busy_ns` (of all threads; 0 of ops); "
          "`bytes` read "
          "and written and `flops` of products, by all calls.")
      .def_prop_ro(
          "phases",
          [](const PyProfile& self) {
            return rows_of(self, [](Kind kind) { return kind == Kind::Compile; });
          },
          "Such a dict for each phase of capturing and compiling a program: \"capture\", \"passes\", "
          "\"lower\", \"machine code\", \"plan\".")
      .def_prop_ro(
          "calls",
          [](const PyProfile& self) { return rows_of(self, [](Kind kind) { return kind == Kind::Call; }); },
          "Such a dict for each program, from its first kernel to its last.")
      .def(
          "by",
          [](const PyProfile& self, nb::handle what) {
            using By = Profile::By;
            const std::pair<const char*, By> kinds[] = {
                {"line", By::Line}, {"module", By::Module}, {"op", By::Op}, {"program", By::Program}};
            for (const auto& [name, by] : kinds) {
              if (!PyUnicode_Check(what.ptr()) || nb::cast<std::string>(what) != name) continue;
              nb::dict out;
              for (const Profile::Sum& sum : self.ended().by(by)) out[sum.of.c_str()] = sum.total_ns;
              return out;
            }
            throw make_error(ErrorKind::Value, "by: {} is nothing that kernels have in common",
                             nb::repr(what).c_str())
                .why("times are summed by \"line\", \"module\", \"op\" or \"program\"")
                .hint("pass one of these");
          },
          nb::arg("what"),
          "A dict of nanoseconds: what kernels and ops took, summed by their \"line\", \"module\", \"op\" or "
          "\"program\", the longest first. A kernel of several lines counts for that of its result. Raises "
          "ValueError for another word.")
      .def(
          "chrome_trace", [](const PyProfile& self) { return self.ended().chrome_trace(); },
          "The timeline as JSON in the Trace Event Format: an event a call, a lane a thread.");
}

}  // namespace ig::py
