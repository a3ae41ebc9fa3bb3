// The tree of traces: looking one up, recording one, running it.
#include "frontends/record/jit.h"

#include <algorithm>
#include <bit>
#include <chrono>

#include "ops/effects.h"
#include "support/inline_vector.h"
#include "tensor/numbers.h"
#include "tensor/profile.h"
#include "tensor/strided.h"

namespace ig::record {
namespace {

using Clock = std::chrono::steady_clock;
double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Beyond this much estimated work a run is done aside (from Python: without the interpreter's lock).
constexpr double kAsideNs = 20'000;

std::string number_text(Leaf::Kind kind, int64_t bits) {
  return kind == Leaf::Kind::Integer ? std::to_string(bits) : fmt::format("{}", std::bit_cast<double>(bits));
}

std::string name_of(std::span<const std::string> names, size_t i) {
  return i < names.size() ? names[i] : fmt::format("argument {}", i);
}

std::string kind_text(Leaf::Kind kind) {
  return kind == Leaf::Kind::Array ? "an array" : kind == Leaf::Kind::Integer ? "an int" : "a float";
}

std::string key_of(std::span<const Leaf> leaves) {
  std::string out;
  for (const Leaf& leaf : leaves) {
    out += static_cast<char>('a' + static_cast<int>(leaf.kind));
    if (leaf.kind != Leaf::Kind::Array) continue;
    out += static_cast<char>('A' + static_cast<int>(leaf.array->dtype()));
    out += std::to_string(leaf.array->rank());
  }
  return out;
}

// Sizes of all axes, and the bits of numbers, in order.
std::vector<int64_t> flat_sizes(std::span<const Leaf> leaves) {
  std::vector<int64_t> out;
  for (const Leaf& leaf : leaves) {
    if (leaf.kind == Leaf::Kind::Array)
      out.insert(out.end(), leaf.array->shape().begin(), leaf.array->shape().end());
    else
      out.push_back(leaf.bits);
  }
  return out;
}

void check_leaf(const Leaf& leaf) {
  if (leaf.kind != Leaf::Kind::Array) return;
  if (leaf.array->is_symbolic()) Capture::leaked(*leaf.array, nullptr);
}

// Handles whose arrays were given to the call hold nothing afterwards, also where their memory was not taken.
void mark_donated(std::span<const Leaf> leaves, JitFront& front) {
  for (const Leaf& leaf : leaves)
    if (leaf.donate && !leaf.donate->is_symbolic())
      *leaf.donate = Tensor::donated(leaf.donate->type(), front.here());
}

constexpr size_t kManySymbols = 16;

// A program that goes its paths by turns would run the whole of a wrong trace on most calls. A surprise
// counts for more than a hit, so that about one in four is enough to ask first.
constexpr int kSurprise = 3, kAskFirst = 6, kMostSurprises = 12;

// Memory of somebody else's that a call has not copied.
bool is_borrowed(const Leaf& leaf) { return leaf.borrowed && leaf.borrowed->storage().read_only(); }

void copy_borrowed(std::span<const Leaf> leaves) {
  for (const Leaf& leaf : leaves)
    if (is_borrowed(leaf))
      *leaf.borrowed = copy_strided(*leaf.borrowed, StridedView::whole(leaf.borrowed->shape()));
}

// Copies what is borrowed where a run may find it changed, by a function of the user's that it calls, or keep
// it: a steady input's packed form is held with what it was made of.
void copy_at_risk(const JitTrace& trace, std::span<const Leaf> leaves) {
  if (std::ranges::none_of(leaves, is_borrowed)) return;
  const std::shared_ptr<Program>* program = trace.program->ready();
  const bool only_reads = program && !(*program)->calls_back();
  const bool keeps = std::ranges::any_of(trace.steady, [&](int input) {
    const auto i = static_cast<size_t>(input);
    return i < trace.inputs.size() && is_borrowed(leaves[trace.inputs[i]]);
  });
  if (!only_reads || keeps) copy_borrowed(leaves);
}

}  // namespace

bool JitTrace::matches(std::span<const Leaf> call) const {
  if (call.size() != leaves.size()) return false;
  int64_t values[kManySymbols];
  std::vector<int64_t> more;
  int64_t* at = values;
  if (symbols.size() > kManySymbols) {
    more.resize(symbols.size());
    at = more.data();
  }
  std::fill(at, at + symbols.size(), -1);
  for (size_t i = 0; i < call.size(); ++i) {
    const Pattern& want = leaves[i];
    const Leaf& have = call[i];
    if (want.kind != have.kind) return false;
    if (want.kind != Leaf::Kind::Array) {
      if (want.fixed && want.bits != have.bits) return false;
      continue;
    }
    const Tensor& array = *have.array;
    if (array.is_symbolic() || array.dtype() != want.dtype) return false;
    const Shape& shape = array.shape();
    if (shape.size() != want.sizes.size()) return false;
    const int64_t* sizes = shape.data();
    for (size_t a = 0; a < want.sizes.size(); ++a) {
      int64_t size = want.sizes[a];
      if (size >= 0) {
        if (size != sizes[a]) return false;
        continue;
      }
      int64_t& value = at[-1 - size];
      if (value < 0 && sizes[a] >= 2)
        value = sizes[a];
      else if (value != sizes[a])
        return false;
    }
  }
  if (size_guards.empty()) return true;
  SymbolValues by_name;
  for (size_t s = 0; s < symbols.size(); ++s) by_name.emplace(symbols[s], at[s]);
  return std::all_of(size_guards.begin(), size_guards.end(), [&](const SizeGuard& guard) {
    int64_t a = guard.a.evaluate(by_name), b = guard.b.evaluate(by_name);
    return (guard.relation == "==" ? a == b : a <= b) == guard.expected;
  });
}

std::string JitTrace::mismatch(std::span<const Leaf> call, std::span<const std::string> names) const {
  std::map<int64_t, std::pair<int64_t, std::string>> seen;
  SymbolValues by_name;
  for (size_t i = 0; i < call.size() && i < leaves.size(); ++i) {
    const Pattern& want = leaves[i];
    const Leaf& have = call[i];
    std::string name = name_of(names, i);
    if (want.kind != have.kind)
      return fmt::format("`{}` was {}, is {}", name, kind_text(want.kind), kind_text(have.kind));
    if (want.kind != Leaf::Kind::Array) {
      if (want.fixed && want.bits != have.bits)
        return fmt::format("the number `{}` was {}, is {}", name, number_text(want.kind, want.bits),
                           number_text(have.kind, have.bits));
      continue;
    }
    const Tensor& array = *have.array;
    if (array.dtype() != want.dtype)
      return fmt::format("`{}` was {}, is {}", name, info(want.dtype).api_name, info(array.dtype()).api_name);
    if (array.shape().size() != want.sizes.size())
      return fmt::format("`{}` had rank {}, has {}", name, want.sizes.size(), array.rank());
    for (size_t a = 0; a < want.sizes.size(); ++a) {
      int64_t size = array.shape()[a];
      std::string axis = fmt::format("axis {} of `{}`", a, name);
      if (want.sizes[a] >= 0) {
        if (want.sizes[a] != size) return fmt::format("{} was {}, is {}", axis, want.sizes[a], size);
        continue;
      }
      if (size < 2) return fmt::format("{} is {}, which is a case of its own", axis, size);
      auto [place, fresh] = seen.try_emplace(want.sizes[a], size, axis);
      if (!fresh && place->second.first != size)
        return fmt::format("{} and {} were equal, are {} and {}", place->second.second, axis,
                           place->second.first, size);
      by_name[symbols[static_cast<size_t>(-1 - want.sizes[a])]] = size;
    }
  }
  for (const SizeGuard& guard : size_guards) {
    int64_t a = guard.a.evaluate(by_name), b = guard.b.evaluate(by_name);
    if ((guard.relation == "==" ? a == b : a <= b) != guard.expected)
      return fmt::format("the sizes do not keep {}: {} against {}", guard.str(), a, b);
  }
  return "";
}

std::string JitTrace::signature(std::span<const std::string> names) const {
  std::string out;
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Pattern& leaf = leaves[i];
    out += (i ? ", " : "") + name_of(names, i) + ": ";
    if (leaf.kind != Leaf::Kind::Array) {
      out += leaf.kind == Leaf::Kind::Integer ? "int" : "float";
      if (leaf.fixed) out += " " + number_text(leaf.kind, leaf.bits);
      continue;
    }
    Dims dims;
    for (int64_t size : leaf.sizes)
      dims.push_back(size >= 0 ? Dim(size) : Dim::symbol(symbols[static_cast<size_t>(-1 - size)]));
    out += fmt::format("{}{}", info(leaf.dtype).api_name, str(dims));
  }
  return out;
}

// What one recording takes as varying, beside what the attempts before it found out.
struct JitTree::Attempt {
  std::vector<int> symbol;         // of each axis, or -1; of each number: 0 where symbolic
  std::vector<std::string> names;  // of symbols
  std::vector<Reason> specialised;
  std::vector<size_t> leaf_of_input;
  std::vector<size_t> place_of_leaf;  // in `symbol`: a number's own place, an array's first axis
  bool any_symbolic() const {
    return std::any_of(symbol.begin(), symbol.end(), [](int s) { return s >= 0; });
  }
};

JitTree::Family& JitTree::observe(std::span<const Leaf> leaves) {
  std::vector<int64_t> sizes = flat_sizes(leaves);
  auto [place, fresh] = families_.try_emplace(key_of(leaves));
  Family& family = place->second;
  std::vector<bool> number;
  for (const Leaf& leaf : leaves) {
    if (leaf.kind == Leaf::Kind::Array)
      number.insert(number.end(), leaf.array->shape().size(), false);
    else
      number.push_back(true);
  }
  if (fresh) {
    family.first = sizes;
    family.varies.assign(sizes.size(), false);
    family.group.assign(sizes.size(), 0);
  }
  // Groups are refined: two axes stay together while their sizes were equal in all calls.
  std::map<std::pair<int, int64_t>, int> next;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] != family.first[i]) family.varies[i] = true;
    if (number[i]) continue;
    auto [group, made] = next.try_emplace({family.group[i], sizes[i]}, static_cast<int>(next.size()));
    (void)made;
    family.group[i] = group->second;
  }
  return family;
}

std::shared_ptr<JitTrace> JitTree::record_once(std::span<const Leaf> leaves, JitFront& front,
                                               Attempt& attempt) {
  SymbolValues values;
  std::vector<int64_t> sizes = flat_sizes(leaves);
  size_t place = 0;
  for (const Leaf& leaf : leaves) {
    size_t count = leaf.kind == Leaf::Kind::Array ? leaf.array->shape().size() : 1;
    for (size_t a = 0; a < count; ++a, ++place)
      if (leaf.kind == Leaf::Kind::Array && attempt.symbol[place] >= 0)
        values[attempt.names[static_cast<size_t>(attempt.symbol[place])]] = sizes[place];
  }
  auto trace = std::make_shared<JitTrace>();
  auto capture = std::make_unique<JitCapture>(options_.name, values);
  Clock::time_point start = Clock::now();
  front.prepare(*capture);
  std::vector<Tensor> stand_ins;
  place = 0;
  trace->symbols = attempt.names;
  attempt.leaf_of_input.clear();
  for (size_t i = 0; i < leaves.size(); ++i) {
    const Leaf& leaf = leaves[i];
    JitTrace::Pattern pattern;
    pattern.kind = leaf.kind;
    std::string name = name_of(options_.leaf_names, i);
    std::replace_if(
        name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
    if (leaf.kind != Leaf::Kind::Array) {
      pattern.fixed = attempt.symbol[place] < 0;
      pattern.bits = leaf.bits;
      ++place;
      if (pattern.fixed) {
        stand_ins.emplace_back();
      } else {
        bool whole = leaf.kind == Leaf::Kind::Integer;
        Tensor now = whole ? Tensor::scalar_int(DType::I64, leaf.bits)
                           : Tensor::scalar(DType::F64, std::bit_cast<double>(leaf.bits));
        stand_ins.push_back(capture->add_argument(now.type(), name, now, true));
        attempt.leaf_of_input.push_back(i);
      }
    } else {
      Dims dims;
      pattern.dtype = leaf.array->dtype();
      for (int64_t size : leaf.array->shape()) {
        int symbol = attempt.symbol[place++];
        pattern.sizes.push_back(symbol < 0 ? size : -1 - symbol);
        dims.push_back(symbol < 0 ? Dim(size) : Dim::symbol(attempt.names[static_cast<size_t>(symbol)]));
      }
      stand_ins.push_back(capture->add_argument(Type::tensor(pattern.dtype, dims), name, *leaf.array, false));
      attempt.leaf_of_input.push_back(i);
    }
    trace->leaves.push_back(std::move(pattern));
  }
  JitFront::Recorded recorded;
  try {
    Capture::Active active(capture.get());
    recorded = front.record(*capture, stand_ins);
    if (capture->restart().kind == Restart::Kind::None) {
      std::vector<Tensor> outputs = recorded.outputs;
      trace->results = outputs.size();
      for (const Outcome& outcome : capture->outcomes())
        outputs.push_back(Tensor::symbolic(capture.get(), outcome.value));
      capture->finish(outputs);
    }
  } catch (...) {
    if (capture->restart().kind == Restart::Kind::None) throw;
  }
  const Restart& restart = capture->restart();
  if (restart.kind != Restart::Kind::None) {
    auto symbol_of = [&](const std::string& name) {
      return static_cast<int>(std::find(attempt.names.begin(), attempt.names.end(), name) -
                              attempt.names.begin());
    };
    if (restart.kind == Restart::Kind::FixNumber) {
      size_t leaf = attempt.leaf_of_input[restart.number->index()];
      attempt.symbol[attempt.place_of_leaf[leaf]] = -1;
      attempt.specialised.push_back(restart.why);
      return nullptr;
    }
    int a = symbol_of(restart.a), b = restart.kind == Restart::Kind::Unify ? symbol_of(restart.b) : -1;
    size_t at = 0;
    for (const Leaf& leaf : leaves) {
      size_t count = leaf.kind == Leaf::Kind::Array ? leaf.array->shape().size() : 1;
      for (size_t i = 0; i < count; ++i, ++at) {
        if (leaf.kind != Leaf::Kind::Array) continue;
        int& symbol = attempt.symbol[at];
        if (b >= 0 ? symbol == b : symbol == a) symbol = b >= 0 ? a : -1;
      }
    }
    // Symbols are counted anew, without the one that is gone.
    int gone = b >= 0 ? b : a;
    attempt.names.erase(attempt.names.begin() + gone);
    at = 0;
    for (const Leaf& leaf : leaves) {
      size_t count = leaf.kind == Leaf::Kind::Array ? leaf.array->shape().size() : 1;
      for (size_t i = 0; i < count; ++i, ++at)
        if (leaf.kind == Leaf::Kind::Array && attempt.symbol[at] > gone) --attempt.symbol[at];
    }
    if (b < 0) attempt.specialised.push_back(restart.why);
    return nullptr;
  }
  capture->graph().dims.set_decider(nullptr);
  trace->size_guards = capture->size_guards();
  trace->outcomes = capture->outcomes();
  trace->lifted = capture->lifted();
  trace->inputs = attempt.leaf_of_input;
  // An array on the tape is being trained; what another library owns is written to without a word.
  for (size_t i = 0; i < recorded.steady.size(); ++i)
    if (const Tensor& one = trace->lifted[i].tensor;
        recorded.steady[i] && !one.link() && !one.storage().read_only())
      trace->steady.insert(static_cast<int>(trace->inputs.size() + i));
  trace->kept = std::move(recorded.kept);
  trace->tape = recorded.tape;
  trace->graph = capture->take();
  trace->specialised = attempt.specialised;
  ops::verify(*trace->graph);
  trace->trace_ms = ms_since(start);
  profile::phase("capture", trace->graph->name, start);
  return trace;
}

CompileOptions JitTree::options_for(const JitTrace& trace, std::span<const Leaf> leaves) const {
  CompileOptions options = options_.compile;
  // A trace that may turn out not to be the right one must leave its arguments whole.
  if (trace.outcomes.empty())
    for (size_t i = 0; i < trace.inputs.size(); ++i)
      if (leaves[trace.inputs[i]].donated) options.donated.insert(static_cast<int>(i));
  return options;
}

void JitTree::compile_trace(JitTrace& trace, std::span<const Leaf> leaves, JitFront& front) {
  trace.effects = ops::has_effects(*trace.graph);
  if (trace.graph->outputs().empty() && !trace.effects) return;
  CompileOptions options = options_for(trace, leaves);
  options.steady = trace.steady;
  const FirstCalls first = options_.first;
  trace.program = std::make_unique<const LazyProgram>(trace.graph, std::move(options), first);
  // Whether a graph of sizes that are not known can be compiled is to be known now, while it can be recorded
  // again without them.
  if (!trace.symbols.empty())
    front.aside([&] { first == FirstCalls::Compile ? (void)trace.program->get() : trace.program->check(); });
}

std::shared_ptr<JitTrace> JitTree::record(std::span<const Leaf> leaves, JitFront& front, std::string reason) {
  copy_borrowed(leaves);  // the function runs, and may write to them
  for (const Leaf& leaf : leaves) check_leaf(leaf);
  const Family family = observe(leaves);
  Attempt attempt;
  std::vector<int64_t> sizes = flat_sizes(leaves);
  std::map<int, int> symbol_of_group;
  size_t place = 0;
  for (const Leaf& leaf : leaves) {
    attempt.place_of_leaf.push_back(place);
    size_t count = leaf.kind == Leaf::Kind::Array ? leaf.array->shape().size() : 1;
    for (size_t i = 0; i < count; ++i, ++place) {
      int symbol = -1;
      if (leaf.kind != Leaf::Kind::Array) {
        symbol = family.varies[place] ? 0 : -1;
      } else if (family.varies[place] && sizes[place] >= 2) {
        auto [at, fresh] =
            symbol_of_group.try_emplace(family.group[place], static_cast<int>(attempt.names.size()));
        if (fresh) attempt.names.push_back(fmt::format("s{}", attempt.names.size()));
        symbol = at->second;
      }
      attempt.symbol.push_back(symbol);
    }
  }
  std::shared_ptr<JitTrace> trace;
  try {
    while (!trace) trace = record_once(leaves, front, attempt);
    compile_trace(*trace, leaves, front);
  } catch (...) {
    if (!attempt.any_symbolic() || front.interrupted()) throw;
    // What cannot be said for all sizes may be said for these.
    std::fill(attempt.symbol.begin(), attempt.symbol.end(), -1);
    attempt.names.clear();
    attempt.specialised.push_back({"it could not be recorded for all sizes and numbers"});
    trace = nullptr;
  }
  if (!trace) {
    while (!trace) trace = record_once(leaves, front, attempt);
    compile_trace(*trace, leaves, front);
  }
  trace->reason = std::move(reason);
  std::lock_guard lock(mutex_);
  auto longer = std::make_shared<Traces>(*traces_);
  trace->id = static_cast<int>(longer->size());
  longer->push_back(trace);
  traces_ = longer;
  recent_ = longer->size() - 1;
  return trace;
}

JitTree::Inputs::Inputs(const JitTrace& trace, std::span<const Leaf> leaves, JitFront& front)
    : InlineVector(trace.inputs.size() + trace.lifted.size()) {
  for (size_t i : trace.inputs) {
    const Leaf& leaf = leaves[i];
    if (leaf.kind == Leaf::Kind::Array) {
      emplace_back(*leaf.array);
    } else if (leaf.kind == Leaf::Kind::Integer) {
      emplace_back(Tensor::scalar_int(DType::I64, leaf.bits));
    } else {
      emplace_back(Tensor::scalar(DType::F64, std::bit_cast<double>(leaf.bits)));
    }
  }
  if (trace.lifted.empty()) return;
  for (const Capture::Lifted& one : trace.lifted) emplace_back(one.tensor);
  front.outside(trace, span().subspan(trace.inputs.size()));
}

std::vector<Tensor> JitTree::ask(const JitTrace& trace, std::span<const Leaf> leaves, JitFront& front) const {
  copy_at_risk(trace, leaves);
  Inputs inputs(trace, leaves, front);
  std::vector<Tensor> out;
  // Always aside: whoever waits for the program to be made must not hold what its maker needs.
  front.aside([&] {
    std::call_once(trace.asking, [&] {
      std::unique_ptr<Graph> graph = trace.graph->clone();
      ops::strip_effects(*graph);
      std::span<const Value> all = graph->outputs();
      graph->body().set_results({all.begin() + static_cast<std::ptrdiff_t>(trace.results), all.end()});
      trace.questions = compile(*graph, options_.compile);
    });
    out = trace.questions->run(inputs.span());
  });
  return out;
}

const Program& JitTree::program(const JitTrace& trace, std::span<const Leaf> leaves, JitFront& front) const {
  if (!trace.program->ready()) front.aside([&] { trace.program->get(); });
  const Program& program = **trace.program->ready();
  if (program.steady()) return program;
  front.aside([&] {
    std::call_once(trace.unsettling,
                   [&] { trace.unsteady = compile(*trace.graph, options_for(trace, leaves)); });
  });
  return *trace.unsteady;
}

bool JitTree::run_small(const JitTrace& trace, std::span<const Leaf> leaves, std::vector<Tensor>& out) const {
  const std::shared_ptr<Program>* program = trace.program ? trace.program->ready() : nullptr;
  if (!program || !(*program)->small() || !trace.lifted.empty() || numbers::possible()) return false;
  InlineVector<void*, 8> inputs(trace.inputs.size());
  for (size_t i : trace.inputs) {
    const Leaf& leaf = leaves[i];
    if (leaf.kind != Leaf::Kind::Array) {
      inputs.emplace_back(const_cast<int64_t*>(&leaf.bits));  // an int64, or a float64's bits
      continue;
    }
    if (leaf.array->link() || leaf.donate) return false;
    inputs.emplace_back(leaf.array->data());
  }
  out = (*program)->run_small(inputs.span().data());
  trace.calls.fetch_add(1, std::memory_order_relaxed);
  return true;
}

std::vector<Tensor> JitTree::run(const JitTrace& trace, std::span<const Leaf> leaves, JitFront& front) const {
  if (!trace.program) return {};
  copy_at_risk(trace, leaves);
  std::optional<Inputs> arrays(std::in_place, trace, leaves, front);
  if (trace.tape != JitTrace::Tape::Off && std::ranges::any_of(leaves, is_borrowed) &&
      std::ranges::any_of(arrays->span(), [](const Tensor& input) { return input.link() != nullptr; })) {
    copy_borrowed(leaves);  // the tape keeps inputs
    arrays.emplace(trace, leaves, front);
  }
  Inputs& inputs = *arrays;
  std::optional<std::vector<Tensor>> early_results;
  if (!trace.program->ready()) front.aside([&] { early_results = trace.program->run_early(inputs.span()); });
  const Program* program = early_results ? nullptr : &this->program(trace, leaves, front);
  int64_t elements = 1;
  for (const Tensor& input : inputs.span()) elements += input.elements();
  bool donates = std::any_of(trace.inputs.begin(), trace.inputs.end(),
                             [&](size_t i) { return leaves[i].donate != nullptr; });
  Location here;
  auto give = [&] {
    here = front.here();
    for (size_t k = 0; k < trace.inputs.size(); ++k)
      if (Tensor* handle = leaves[trace.inputs[k]].donate)
        if (!handle->is_symbolic()) *handle = Tensor::donated(handle->type(), here);
  };
  auto take_back = [&] {
    for (size_t k = 0; k < trace.inputs.size(); ++k)
      if (Tensor* handle = leaves[trace.inputs[k]].donate) *handle = inputs[k];
  };
  bool early = donates && trace.outcomes.empty();
  if (early) give();
  std::vector<Tensor> out = early_results ? *std::move(early_results) : std::vector<Tensor>();
  auto go = [&] {
    auto compute = [&] { return program->run(inputs.span()); };
    out = numbers::possible() ? numbers::run(*trace.graph, inputs.span(), compute) : compute();
  };
  try {
    float each = trace.ns_per_element.load(std::memory_order_relaxed);
    bool timed = each == 0 || (trace.calls.load(std::memory_order_relaxed) & 255) == 0;
    if (!program) {
      // The results are there.
    } else if (timed) {
      Clock::time_point start = Clock::now();
      if (each == 0 || static_cast<double>(each) * static_cast<double>(elements) > kAsideNs)
        front.aside(go);
      else
        go();
      trace.ns_per_element.store(static_cast<float>(ms_since(start) * 1e6 / static_cast<double>(elements)),
                                 std::memory_order_relaxed);
    } else if (static_cast<double>(each) * static_cast<double>(elements) > kAsideNs) {
      front.aside(go);
    } else {
      go();
    }
  } catch (...) {
    if (early) take_back();
    throw;
  }
  trace.calls.fetch_add(1, std::memory_order_relaxed);
  if (trace.tape == JitTrace::Tape::Off) return out;
  const GradLink* link = recording_link(inputs.span());
  if (!link && trace.tape == JitTrace::Tape::On)
    for (const Tensor& input : inputs.span())
      if (input.link()) link = input.link().get();
  if (link) link->record(trace.graph, inputs.span(), out);
  return out;
}

void JitTree::give_up(std::string why, std::string where) {
  std::lock_guard lock(mutex_);
  if (!given_up_) given_up_ = std::make_shared<const GivenUp>(GivenUp{std::move(why), std::move(where)});
}

std::shared_ptr<const JitTree::GivenUp> JitTree::given_up() const {
  std::lock_guard lock(mutex_);
  return given_up_;
}

std::shared_ptr<const JitTree::Traces> JitTree::traces() const {
  std::lock_guard lock(mutex_);
  return traces_;
}

void JitTree::clear(JitFront& front) {
  std::unique_lock recording(recording_, std::defer_lock);
  front.aside([&] { recording.lock(); });
  std::lock_guard lock(mutex_);
  traces_ = std::make_shared<Traces>();
  given_up_ = nullptr;
  families_.clear();
  forks_.clear();
  recent_ = 0;
  hits_ = 0;
}

std::shared_ptr<const JitTrace> JitTree::recent() const {
  std::lock_guard lock(mutex_);
  size_t recent = recent_.load(std::memory_order_relaxed);
  return given_up_ || recent >= traces_->size() ? nullptr : (*traces_)[recent];
}

JitTree::Result JitTree::find(std::span<const Leaf> leaves, JitFront& front, bool runs) {
  // Most calls are like the one before, and ask nothing of the values.
  if (std::shared_ptr<const JitTrace> trace = recent();
      trace && trace->outcomes.empty() && trace->matches(leaves) && front.holds(*trace, nullptr)) {
    std::vector<Tensor> out;
    if (runs && !run_small(*trace, leaves, out)) out = run(*trace, leaves, front);
    hits_.fetch_add(1, std::memory_order_relaxed);
    return {std::move(trace), std::move(out)};
  }
  std::unique_lock recording(recording_, std::defer_lock);
  // A run may call back into the program, which may call this function again, or wait for who does.
  auto freely = [&] {
    if (recording.owns_lock()) recording.unlock();
  };
  std::set<const JitTrace*> tried;
  const JitTrace* last = nullptr;  // that was run and whose values came out differently
  size_t differs = 0;              // at this outcome
  std::vector<Tensor> seen;        // what they came out as
  for (;;) {
    std::shared_ptr<const Traces> traces;
    {
      std::lock_guard lock(mutex_);
      if (given_up_) return {};
      traces = traces_;
    }
    size_t count = traces->size(), recent = recent_.load(std::memory_order_relaxed);
    for (size_t k = 0; k <= count && count > 0; ++k) {
      size_t i = k == 0 ? recent : k - 1;
      if (i >= count || (k > 0 && i == recent)) continue;
      const JitTrace& trace = *(*traces)[i];
      if (tried.contains(&trace) || !trace.matches(leaves)) continue;
      // A trace with the same beginning as one that was run does the same up to where it differs.
      if (last && trace.symbols == last->symbols && trace.outcomes.size() > differs) {
        bool fits = true;
        for (size_t g = 0; g <= differs && fits; ++g) fits = trace.outcomes[g].matches(seen[g]);
        if (!fits && trace.outcomes[differs].kind == last->outcomes[differs].kind) {
          tried.insert(&trace);
          continue;
        }
      }
      if (!front.holds(trace, nullptr)) continue;
      bool ask_first = !trace.outcomes.empty() &&
                       (!runs || trace.effects || surprises_.load(std::memory_order_relaxed) >= kAskFirst);
      freely();
      std::vector<Tensor> out;
      if (ask_first)
        out = ask(trace, leaves, front);
      else if (runs)
        out = run(trace, leaves, front);
      size_t answers = ask_first ? 0 : trace.results, bad = 0;
      while (bad < trace.outcomes.size() && trace.outcomes[bad].matches(out[answers + bad])) ++bad;
      if (!trace.outcomes.empty() && !last) {
        int surprises = surprises_.load(std::memory_order_relaxed);
        surprises += bad < trace.outcomes.size() ? kSurprise : -1;
        surprises_.store(std::clamp(surprises, 0, kMostSurprises), std::memory_order_relaxed);
      }
      if (bad < trace.outcomes.size()) {
        tried.insert(&trace);
        last = &trace;
        differs = bad;
        seen.assign(std::make_move_iterator(out.begin() + static_cast<std::ptrdiff_t>(answers)),
                    std::make_move_iterator(out.end()));
        continue;
      }
      if (runs) {
        if (ask_first) out = run(trace, leaves, front);
        if (!trace.outcomes.empty()) mark_donated(leaves, front);
        out.resize(trace.results);
      }
      if (i != recent) recent_.store(i, std::memory_order_relaxed);
      hits_.fetch_add(1, std::memory_order_relaxed);
      return {(*traces)[i], std::move(out)};
    }
    if (!recording.owns_lock()) {
      // Another thread may be recording just what is wanted: wait, then look again.
      front.aside([&] { recording.lock(); });
      std::lock_guard lock(mutex_);
      if (traces_ != traces) continue;
    }
    std::string reason = "the first call";
    Location site;
    if (last) {
      site = last->outcomes[differs].where;
      Outcome now = last->outcomes[differs];
      reason = fmt::format("a value came out differently; it was {}", now.str());
      if (forks_[site.str()] + 1 >= options_.max_outcomes) {
        give_up(fmt::format("a traced value had more than {} outcomes at one place", options_.max_outcomes),
                site.str());
        return {};
      }
    } else if (count > 0) {
      const JitTrace& nearest = *(*traces)[std::min(recent, count - 1)];
      reason = nearest.mismatch(leaves, options_.leaf_names);
      if (reason.empty()) front.holds(nearest, &reason);
    }
    if (count >= static_cast<size_t>(options_.max_traces)) {
      give_up(fmt::format("it has {} traces, which is the most that it may have", count), site.str());
      return {};
    }
    if (options_.log && count > 0)
      options_.log(fmt::format("recompiling {} (trace {}): {}", options_.name, count, reason));
    std::shared_ptr<JitTrace> trace = record(leaves, front, reason);
    if (last) ++forks_[site.str()];
    freely();
    if (!runs) return {trace, {}};
    std::vector<Tensor> out = run(*trace, leaves, front);
    mark_donated(leaves, front);
    out.resize(std::min(out.size(), trace->results));
    return {trace, std::move(out)};
  }
}

}  // namespace ig::record
