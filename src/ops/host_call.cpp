// The registry of host functions, and calling them; see host_call.h.
#include "ops/host_call.h"

#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <random>

#include <fmt/format.h>

#include "ops/host_attrs.h"

namespace ig::ops {

// Names to functions. It is never destroyed: graphs may go while the process ends.
class HostRegistry {
 public:
  static HostRegistry& instance() {
    static auto* registry = new HostRegistry;
    return *registry;
  }

  HostRef add(std::string name, HostFunction function, bool forever) {
    auto entry = std::make_shared<HostEntry>(name, std::move(function));
    HostRef replaced;  // goes after the lock: it may end functions that come back here
    std::lock_guard lock(mutex_);
    if (forever) replaced = std::exchange(permanent_[name], entry);
    by_name_[name] = entry;
    return entry;
  }

  // The place of that name with another function: graphs that keep the place call it from now on.
  HostRef replace(std::string_view name, HostFunction function) {
    auto fresh = std::make_shared<const HostFunction>(std::move(function));
    HostRef held = find(name);
    if (!held) return nullptr;
    std::lock_guard lock(mutex_);
    std::swap(held->function_, fresh);
    permanent_.emplace(std::string(name), held);
    return held;
  }

  HostRef find(std::string_view name) {
    std::lock_guard lock(mutex_);
    auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.lock();
  }

  std::shared_ptr<const HostFunction> function(std::string_view name) {
    HostRef held;
    std::lock_guard lock(mutex_);
    auto found = by_name_.find(name);
    if (found == by_name_.end() || !(held = found->second.lock())) return nullptr;
    return held->function_;
  }

  void forget(const std::string& name) {
    std::lock_guard lock(mutex_);
    auto found = by_name_.find(name);
    if (found != by_name_.end() && found->second.expired()) by_name_.erase(found);
  }

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<HostEntry>, std::less<>> by_name_;
  std::map<std::string, HostRef, std::less<>> permanent_;
};

HostEntry::HostEntry(std::string name, HostFunction function)
    : name_(std::move(name)), function_(std::make_shared<const HostFunction>(std::move(function))) {}
HostEntry::~HostEntry() { HostRegistry::instance().forget(name_); }

namespace {

thread_local HostResults* writing = nullptr;

// Part of the names: two processes, also one forked off the other, have none in common.
std::string process_mark() {
  static const auto mark = [] {
    std::random_device random;
    return (uint64_t{random()} << 32) | random();
  }();
  return fmt::format("{:x}", mark ^ (static_cast<uint64_t>(getpid()) << 40));
}

// What gives its arguments back: for tests, and to measure what a call costs.
std::vector<Literal> identity(const HostCall&, std::span<const Literal> values) {
  return {values.begin(), values.end()};
}

void register_own() {
  static const HostRef own = HostRegistry::instance().add("intaglio.identity", identity, true);
}

std::string list(std::span<const Type> types) {
  std::string out;
  for (const Type& type : types) out += (out.empty() ? "" : ", ") + type.str();
  return out.empty() ? "nothing" : out;
}

void for_each_call(const Block& block, const std::function<void(Node*)>& f) {
  for (Node* node : block) {
    for (const auto& region : node->regions()) for_each_call(*region, f);
    if (is_host_call(node)) f(node);
  }
}

}  // namespace

HostRef make_host_function(std::string_view label, HostFunction function) {
  static std::atomic<uint64_t> next{1};
  return HostRegistry::instance().add(fmt::format("{}@{}.{}", label, process_mark(), next++),
                                      std::move(function), false);
}

HostRef register_host_function(std::string_view name, HostFunction function) {
  if (name.empty() || name.find('@') != std::string_view::npos)
    throw make_error(ErrorKind::Value, "a host function cannot be registered as '{}'", name)
        .why("names with an @ are those that functions get which nobody registers")
        .hint("choose a name without it, such as \"my_package.load\"");
  if (HostRef held = HostRegistry::instance().replace(name, function)) return held;
  return HostRegistry::instance().add(std::string(name), std::move(function), true);
}

HostRef find_host_function(std::string_view name) {
  register_own();
  return HostRegistry::instance().find(name);
}

Literal host_anchor(HostRef function) {
  static char nothing;
  return Literal(DType::U8, {0}, Storage::adopt(&nothing, 0, [held = std::move(function)] {}));
}

void keep_host_functions(Graph& graph) {
  for_each_call(graph.body(), [](Node* node) {
    HostRef held = find_host_function(node->attrs().get(kHostFunction));
    if (!held) return;
    Attrs attrs = node->attrs();
    attrs.set(kHostKept, host_anchor(std::move(held)));
    node->set_attrs(std::move(attrs));
  });
}

void release_host_functions(Graph& graph) {
  for_each_call(graph.body(), [](Node* node) {
    Attrs attrs = node->attrs();
    attrs.set(kHostKept, Literal::allocate(DType::U8, {0}));
    node->set_attrs(std::move(attrs));
  });
}

bool calls_host(const Graph& graph) {
  bool any = false;
  for_each_call(graph.body(), [&](Node*) { any = true; });
  return any;
}

std::vector<HostRef> host_functions(const Graph& graph) {
  std::vector<HostRef> out;
  for_each_call(graph.body(), [&](Node* node) {
    if (HostRef held = find_host_function(node->attrs().get(kHostFunction))) out.push_back(std::move(held));
  });
  return out;
}

std::string_view host_label(std::string_view name) { return name.substr(0, name.find('@')); }

void set_host_results(Attrs& attrs, std::span<const Type> results) {
  std::string dtypes;
  Ints ranks;
  Dims sizes;
  for (const Type& type : results) {
    dtypes += fmt::format("{}{}", dtypes.empty() ? "" : " ", name(type.dtype));
    ranks.push_back(type.rank());
    sizes.insert(sizes.end(), type.dims.begin(), type.dims.end());
  }
  attrs.set(kHostDtypes, std::move(dtypes))
      .set(kHostRanks, std::move(ranks))
      .set(kHostSizes, std::move(sizes));
}

std::optional<std::vector<Type>> host_results(const Attrs& attrs) {
  std::vector<Type> out;
  std::string_view dtypes = attrs.get(kHostDtypes);
  const Dims& sizes = attrs.get(kHostSizes);
  size_t at = 0;
  for (int64_t rank : attrs.get(kHostRanks)) {
    size_t space = dtypes.find(' ');
    std::optional<DType> dtype = dtype_from_name(dtypes.substr(0, space));
    dtypes = space == std::string_view::npos ? std::string_view() : dtypes.substr(space + 1);
    if (!dtype || rank < 0 || static_cast<size_t>(rank) > sizes.size() - at) return std::nullopt;
    auto first = sizes.begin() + static_cast<std::ptrdiff_t>(at);
    out.push_back(Type::tensor(*dtype, Dims(first, first + rank)));
    at += static_cast<size_t>(rank);
  }
  if (at != sizes.size() || !dtypes.empty()) return std::nullopt;
  return out;
}

void host_call_reference(ReferenceContext& c) {
  // A token among the results is an empty literal, and none among the operands.
  static const Op& pure = get("pure_callback");
  std::vector<Literal> results = run_host_call(pure, c.attrs, c.operands, {});
  for (size_t i = 0; i < results.size(); ++i) c.results[i] = std::move(results[i]);
}

bool is_host_call(const Op& op) {
  return op.rules.reference && op.rules.reference.get() == &host_call_reference;
}
bool is_host_call(const Node* node) {
  const Op* op = find(node->op());
  return op && is_host_call(*op);
}

HostResults::HostResults() : before_(std::exchange(writing, this)) {}
HostResults::~HostResults() { writing = before_; }

std::vector<Literal> run_host_call(const Op& op, const Attrs& attrs, std::span<const Literal> operands,
                                   Location where) {
  register_own();
  const std::string& name = attrs.get(kHostFunction);
  auto placed = [&](Error error) {
    if (error.where().empty() && where.known()) error.at(where.str());
    return error;
  };
  if (name.empty())
    throw placed(
        Error(ErrorKind::Unsupported, "what an effectful callback gave is wanted a second time")
            .why("this part of the program runs again for a derivative or a guard, and an effect "
                 "happens once")
            .hint("call it in front of the loop, the checkpoint or the jitted function, and pass on what it "
                  "gives; in the place of backward() take the gradient inside, by ig.grad; or use "
                  "pure_callback, if calling it again does no harm"));
  std::shared_ptr<const HostFunction> function = HostRegistry::instance().function(name);
  if (!function)
    throw placed(
        make_error(ErrorKind::Value, "the host function '{}' is not there", name)
            .why("the graph names it and does not hold it: it was read from text or from a file, and "
                 "this process has registered no function of that name")
            .hint(name.find('@') == std::string::npos
                      ? fmt::format("register it before the run: register_host_function(\"{}\", f)", name)
                      : "register the function under a name of its own before the graph is captured, "
                        "and here under the same one, with register_host_function(name, f)"));
  std::vector<Type> results = *host_results(attrs);
  std::vector<Literal> out;
  {
    HostResults* log = std::exchange(writing, nullptr);  // what the function calls in turn is its own
    struct Back {
      HostResults* log;
      ~Back() { writing = log; }
    } back{log};
    try {
      out = (*function)({name, attrs.get(kHostStructure), results, where}, operands);
    } catch (Error& error) {
      throw placed(std::move(error));
    }
  }
  std::vector<Type> given;
  for (const Literal& literal : out) given.push_back(literal.type());
  if (given != results)
    throw placed(make_error(ErrorKind::Type, "the host function '{}' gave {}, but {} was declared", name,
                            list(given), list(results))
                     .why("what a callback gives is known before it runs by what is declared, and is never "
                          "converted")
                     .hint("give arrays of these dtypes and shapes, or declare what it gives"));
  if (writing && op.has(Trait::Effect)) writing->all_.push_back(out);
  return out;
}

}  // namespace ig::ops
