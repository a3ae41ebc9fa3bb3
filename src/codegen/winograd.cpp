// The transforms' statements, and the kernel that turns maps of features over.
#include "codegen/winograd.h"

#include "ops/winograd_steps.h"

namespace ig::codegen::winograd {

using loop::Expr;
namespace steps = ops::winograd;
namespace {

const Dim kOne = Dim(int64_t{1});

// The elements that a step gives are evaluated once, and so are halves.
struct Once {
  loop::Builder& build;
  Expr operator()(Expr e) const { return build.let(e); }
};
struct Half {
  loop::Builder& build;
  Expr operator()(Expr e) const { return build.let(build.constant(e.type(), 0.5) * e); }
};

}  // namespace

std::array<Expr, kTerms> image_to_terms(loop::Builder& build, const std::array<Expr, 16>& image) {
  return steps::both_ways<4, 4>(image, steps::image_to_terms<Expr, Half>, Half{build}, Once{build});
}
std::array<Expr, kTerms> taps_to_terms(loop::Builder& build, const std::array<Expr, kTaps>& taps) {
  return steps::both_ways<3, 4>(taps, steps::taps_to_terms<Expr, Half>, Half{build}, Once{build});
}
std::array<Expr, 4> terms_to_results(loop::Builder& build, const std::array<Expr, kTerms>& terms) {
  return steps::both_ways<4, 2>(terms, steps::terms_to_results<Expr, Half>, Half{build}, Once{build});
}
std::array<Expr, kTerms> results_to_terms(loop::Builder& build, const std::array<Expr, 4>& results) {
  return steps::both_ways<2, 4>(results, steps::results_to_terms<Expr, Half>, Half{build}, Once{build});
}
std::array<Expr, kTaps> terms_to_taps(loop::Builder& build, const std::array<Expr, kTerms>& terms) {
  return steps::both_ways<4, 3>(terms, steps::terms_to_taps<Expr, Half>, Half{build}, Once{build});
}

Expr are_finite(loop::Builder& build, std::span<const Expr> values) {
  Expr odd = values[0] - values[0];
  for (Expr value : values.subspan(1)) odd = odd + (value - value);
  return odd == build.constant(odd.type(), 0);
}
Expr are_alike(loop::Builder& build, std::span<const Expr> values) {
  Expr least = build.let(loop::abs(values[0])), most = least;
  for (Expr value : values.subspan(1)) {
    Expr size = build.let(loop::abs(value));
    least = build.let(loop::select(size < least, size, least));
    most = build.let(loop::select(size > most, size, most));
  }
  return (most <= least * build.constant(least.type(), ops::kWinogradRange)) & are_finite(build, values);
}

FeatureMap::FeatureMap(GroupEmitter& emit, const ops::StridedView& view, const Dims& dims, int64_t image_axis,
                       const Ints& space_axes, int64_t feature_axis)
    : buffer(emit.buffer_of_arg(view.arg)), offset(view.offset) {
  auto step = [&](int64_t axis) { return view.strides[static_cast<size_t>(axis)]; };
  image = step(image_axis), feature = step(feature_axis);
  features = dims[static_cast<size_t>(feature_axis)].constant();
  for (size_t s = 0; s < 2; ++s) {
    space[s] = step(space_axes[s]);
    size[s] = dims[static_cast<size_t>(space_axes[s])].constant();
  }
}

Expr FeatureMap::origin(GroupEmitter& emit, Expr number) const {
  return emit.build.let(emit.size(offset) + number * emit.size(image));
}

FeatureMap::Reach FeatureMap::reach(GroupEmitter& emit, size_t axis, Expr number) const {
  loop::Builder& build = emit.build;
  Expr place = build.let(number - build.index(low[axis])), end = build.index(size[axis]);
  Expr held = loop::greater(loop::lesser(place, end - build.index(1)), build.index(0));
  return {build.let((place >= build.index(0)) & (place < end)), build.let(held * emit.size(space[axis]))};
}

Expr FeatureMap::load(GroupEmitter& emit, Expr at, Expr number) const {
  return emit.build.load(buffer, at + number * emit.size(feature));
}

void put_features_last(GroupEmitter& emit, Kernel& kernel, DType type, const Dim& images,
                       std::span<FeatureMap* const> maps) {
  if (!emit.traffic.may_go_twice) return;
  std::vector<FeatureMap*> turned;
  // Several rows that lie one behind the other are turned over at once.
  constexpr int64_t kRun = 256;  // places
  auto rows_at_once = [](const FeatureMap& map) {
    const bool run = map.space[0] == map.space[1] * Dim(map.size[1]);
    return run ? std::max<int64_t>(1, kRun / map.size[1]) : 1;
  };
  auto steps_of = [&](const FeatureMap& map) {
    return (map.size[0] + rows_at_once(map) - 1) / rows_at_once(map);
  };
  int64_t all_steps = 0, elements = 0;
  for (FeatureMap* map : maps)
    if (map->feature != kOne) {
      turned.push_back(map);
      all_steps += steps_of(*map);
      elements = std::max(elements, rows_at_once(*map) * map->size[1] * map->features);
    }
  if (turned.empty()) return;
  GroupEmitter before(emit.fusion, emit.target, emit.relaxed);
  loop::Builder& build = before.build;
  kernel.first = std::make_unique<Kernel>();
  kernel.first->kind = kernel.kind;
  std::vector<FeatureMap> from;
  for (FeatureMap* map : turned) {
    const Dim row(map->size[1] * map->features), all(map->size[0] * map->size[1] * map->features);
    kernel.temporaries.emplace_back(type, images * all);
    from.push_back(*map);
    map->buffer = build.add_buffer(type, true, "turned");
    IG_CHECK(emit.build.add_buffer(type, false, "turned") == map->buffer, "two kernels' buffers differ");
    map->offset = Dim(int64_t{0}), map->image = all, map->feature = kOne;
    map->space[0] = row, map->space[1] = Dim(map->features);
  }
  Expr steps = build.index(all_steps), image = build.let(build.block() / steps);
  Expr number = build.let(build.block() % steps);
  int64_t first_step = 0;
  for (size_t i = 0; i < turned.size(); ++i) {
    const FeatureMap &source = from[i], &goal = *turned[i];
    Expr step = build.let(number - build.index(first_step)), row = build.let(step * rows_at_once(source));
    auto turn = [&] {
      Expr begin = build.let(source.origin(before, image) + row * before.size(source.space[0]));
      Expr target = build.let(goal.origin(before, image) + row * before.size(goal.space[0]));
      Expr features = build.index(source.features), rows = build.index(rows_at_once(source));
      if (rows_at_once(source) > 1) rows = build.let(loop::lesser(rows, build.index(source.size[0]) - row));
      Expr places = build.let(rows * source.size[1]);
      if (source.space[1] == kOne)
        return build.transpose({goal.buffer, target, features},
                               {source.buffer, begin, before.size(source.feature)}, features, places);
      const int lanes = emit.target.vector_bytes / static_cast<int>(size_of(type));
      before.serial(build.index(0), places, [&](Expr place) {
        Expr of_place = build.let(begin + place * before.size(source.space[1]));
        before.vector(build.index(0), features, lanes, [&](Expr j) {
          build.store(goal.buffer, target + place * features + j, source.load(before, of_place, j));
        });
      });
    };
    if (turned.size() == 1)
      turn();
    else
      build.if_then((step >= build.index(0)) & (step < build.index(steps_of(source))), turn);
    first_step += steps_of(source);
  }
  kernel.first->blocks = images * Dim(all_steps);
  set_grain(*kernel.first, emit.target, type, elements);
  kernel.first->function = build.finish();
}

}  // namespace ig::codegen::winograd
