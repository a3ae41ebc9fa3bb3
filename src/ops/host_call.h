// Calls from a graph back into the host: a registry of functions over concrete arrays, which nodes name, and
// the one way in which every executor calls them. Nothing here knows a language: a function is a C++ one, and
// a binding gives functions that call its own.
//
// A node names its function by text, so that it prints, parses and hashes, and keeps it alive by an attribute
// that owns it: attributes are copied wherever a node is, so a function lives as long as the last graph or
// program that names it. A graph that was read from text owns none, and finds the function by its name at
// each run.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ops/table.h"

namespace ig::ops {

struct HostCall {
  std::string_view function;      // its name
  std::string_view structure;     // how the caller's containers hold the arrays; "" is one behind the other
  std::span<const Type> results;  // what it must give
  Location where;                 // the call in the user's program
};
// The arrays are the function's own: nobody writes to them later.
using HostFunction = std::function<std::vector<Literal>(const HostCall&, std::span<const Literal>)>;

// A place of the registry, alive while anybody holds it.
class HostEntry {
 public:
  HostEntry(std::string name, HostFunction function);
  ~HostEntry();
  HostEntry(const HostEntry&) = delete;
  HostEntry& operator=(const HostEntry&) = delete;
  const std::string& name() const { return name_; }

 private:
  friend class HostRegistry;
  std::string name_;
  std::shared_ptr<const HostFunction> function_;  // guarded by the registry
};
using HostRef = std::shared_ptr<HostEntry>;

// Under a name that no other process and no other function has; `label` is the part that people read.
HostRef make_host_function(std::string_view label, HostFunction function);
// Under this very name, for the life of the process; a later one of the name takes its place.
HostRef register_host_function(std::string_view name, HostFunction function);
HostRef find_host_function(std::string_view name);  // null where there is none

// An attribute value that keeps the function: an array without elements.
Literal host_anchor(HostRef function);
// Gives each node of the graph the function of its name to keep, where the process has it.
void keep_host_functions(Graph& graph);
// Takes them away: of a graph that a cache holds, and whose functions others keep.
void release_host_functions(Graph& graph);

bool calls_host(const Graph& graph);
// The functions of its calls, as far as the process has them.
std::vector<HostRef> host_functions(const Graph& graph);
// The part of a function's name that people read.
std::string_view host_label(std::string_view name);

// The attributes that say what a call gives: dtypes by name, ranks, and all sizes one behind the other.
void set_host_results(Attrs& attrs, std::span<const Type> results);

// Ops that call the host are known by their reference rule. Those with effects take a token before their
// operands, and give one before their results.
void host_call_reference(ReferenceContext& context);
bool is_host_call(const Op& op);
bool is_host_call(const Node* node);

// Calls the function on the operands (without the token) and checks what it gives. Sizes among the attributes
// are numbers. Errors that name no line carry `where`; what else the function throws passes through.
std::vector<Literal> run_host_call(const Op& op, const Attrs& attrs, std::span<const Literal> operands,
                                   Location where);

// While it lives, what calls with effects give in this thread is written down, so that a second run can take
// it from there instead of doing the effects again. A call that one of them makes is not.
class HostResults {
 public:
  HostResults();
  ~HostResults();
  HostResults(const HostResults&) = delete;
  HostResults& operator=(const HostResults&) = delete;
  const std::vector<std::vector<Literal>>& all() const { return all_; }

 private:
  friend std::vector<Literal> run_host_call(const Op&, const Attrs&, std::span<const Literal>, Location);
  std::vector<std::vector<Literal>> all_;
  HostResults* before_;
};

}  // namespace ig::ops
