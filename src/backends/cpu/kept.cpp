// The present forms and values, and how often they were made anew.
#include "backends/cpu/kept.h"

#include <algorithm>
#include <utility>

namespace ig::cpu {
namespace {

// Memory of another library may be written to behind our back.
bool is_same(const Storage& kept, const Storage& now) { return kept == now && !now.read_only(); }

}  // namespace

bool Kept::compute(std::span<const Tensor> arguments) const {
  bool anew = false;
  for (size_t o = 0; o < parts_.once.size(); ++o) {
    const ComputedOnce& once = parts_.once[o];
    std::optional<std::vector<Storage>>& sources = sources_[o];
    auto storage_of = [&](int source) -> const Storage& {
      return arguments[static_cast<size_t>(source)].storage();
    };
    if (sources && std::ranges::equal(*sources, once.sources(), is_same, {}, storage_of)) continue;
    anew = true;
    sources.reset();  // it may not come to the new ones
    std::vector<Tensor> given;
    for (int source : once.sources()) given.push_back(arguments[static_cast<size_t>(source)]);
    const std::vector<Tensor> results = once.compute(given);
    const size_t first = static_cast<size_t>(once.first()) - arguments_;
    for (size_t r = 0; r < results.size(); ++r) computed_[first + r] = results[r].storage();
    for (size_t i = 0; i < forms_.size(); ++i)
      if (const int input = parts_.prepared[i].input;
          input >= once.first() && input < once.first() + once.results())
        forms_[i].packed = Storage();
    sources.emplace();
    for (int source : once.sources()) sources->push_back(storage_of(source));
  }
  return anew;
}

bool Kept::make_forms(std::span<const Tensor> arguments) const {
  bool anew = false;
  for (size_t i = 0; i < forms_.size(); ++i) {
    const PreparedInput& prepared = parts_.prepared[i];
    const auto input = static_cast<size_t>(prepared.input);
    Form& form = forms_[i];
    if (input >= arguments_) {
      if (!form.packed) form.packed = pack(computed_[input - arguments_], prepared.form);
      continue;
    }
    const Storage& source = arguments[input].storage();
    if (form.packed && is_same(form.source, source)) continue;
    form.packed = Storage();
    form.packed = packed(source, prepared.form);
    form.source = source;
    anew = true;
  }
  return anew;
}

void Kept::prepare(std::span<const Tensor> arguments, std::span<Storage> out) const {
  std::lock_guard lock(mutex_);
  if (sources_.empty() && forms_.empty()) {
    sources_.resize(parts_.once.size());
    computed_.resize(parts_.read.size());
    forms_.resize(parts_.prepared.size());
  }
  const bool computed = compute(arguments), formed = make_forms(arguments);
  for (size_t i = 0; i < computed_.size(); ++i) {
    if (!parts_.read[i]) computed_[i] = Storage();
    out[i] = computed_[i];
  }
  for (size_t i = 0; i < forms_.size(); ++i) out[computed_.size() + i] = forms_[i].packed;
  const int score = unsteady_.load(std::memory_order_relaxed) + (computed || formed ? kAnew : -1);
  if (std::exchange(first_, false)) return;
  unsteady_.store(std::clamp(score, 0, kMostUnsteady), std::memory_order_relaxed);
  if (steady()) return;
  sources_.clear(), computed_.clear(), forms_.clear();  // another program runs from now on
}

}  // namespace ig::cpu
