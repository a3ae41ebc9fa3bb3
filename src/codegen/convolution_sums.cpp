// The sums of a convolution's chunk, tile by tile, and their way into the result. Places are noted
// (tile_places.h), since those of a tile lie anywhere; a depthwise convolution goes along rows, where they
// lie at known distances.
#include "codegen/conv_lowering.h"
#include "ops/attrs.h"

namespace ig::codegen {

void ConvLowering::each_parts(size_t axes, Expr only,
                              const std::function<void(const std::vector<WindowPart>&)>& body) {
  std::vector<WindowPart> chosen;
  std::function<void(size_t)> axis = [&](size_t s) {
    if (s == axes) return body(chosen);
    if (s == 0 && only && axes_[0].gaps == 1) {
      chosen.push_back(axes_[0].part_of_tap(build_, emit_.size, first_row_, end_row_, only));
      axis(1);
      return chosen.pop_back();
    }
    Expr from = s == 0 ? first_row_ : build_.index(0), to = s == 0 ? end_row_ : emit_.size(space_[s]);
    axes_[s].each_part(build_, emit_.size, from, to, [&](const WindowPart& part) {
      emit_.scoped([&] {
        chosen.push_back(part);
        if (s == 0 && only) {  // this number among the part's taps, or none
          WindowPart& first = chosen.back();
          Expr behind = build_.let(only - part.tap), step = build_.index(part.tap_step);
          Expr skipped = build_.let(behind / step);
          Expr here = (behind >= build_.index(0)) & (skipped < part.taps) & (skipped * step == behind);
          first.tap = only;
          first.origin = part.origin + skipped * part.dilation;
          first.taps = build_.let(loop::select(here, build_.index(1), build_.index(0)));
        }
        axis(s + 1);
        chosen.pop_back();
      });
    });
  };
  axis(0);
}

void ConvLowering::sum_rows() {
  each_parts(axes_.size() - 1, {}, [&](const std::vector<WindowPart>& outer) {
    std::vector<Expr> place;  // an image and a place along every axis but the last: a row
    std::function<void(size_t, Expr)> rows = [&](size_t s, Expr origin) {
      if (s == outer.size()) return sum_row(outer, place, build_.let(origin));
      const Expr step = emit_.size(image_step(s) * Dim(outer[s].stride));
      emit_.serial(build_.index(0), outer[s].count, [&](Expr k) {
        place.push_back(build_.let(outer[s].first + k * outer[s].step));
        rows(s + 1, origin + outer[s].origin * emit_.size(image_step(s)) + k * step);
        place.pop_back();
      });
    };
    emit_.serial(build_.index(0), image_count_, [&](Expr image) {
      place.assign(1, image);
      rows(0, image_origin() + image * image_between());
    });
  });
}

void ConvLowering::sum_row(const std::vector<WindowPart>& outer, const std::vector<Expr>& place, Expr row) {
  for (const RowTiles& tiles : row_tiles_)
    emit_.serial(build_.index(0), build_.index(tiles.repeats), [&](Expr t) {
      const Expr first = build_.let(t * tiles.places + build_.index(tiles.first));
      const auto count = static_cast<size_t>(tiles.places);
      std::vector<std::vector<Expr>> places(count, place);
      for (size_t i = 0; i < count; ++i) places[i].push_back(first + static_cast<int64_t>(i));
      of_strips([&] {
        if (asks_ahead_) ask_for_next_row(outer.back(), row, first, tiles.places);
        RegisterTile tile(build_, type_, tiles.places, nr_);
        for (const std::vector<Expr>& one : places)
          ask_for_stores(emit_, node_->result(), index_at(one, first_feature_), nr_);
        const Expr lanes = depthwise_ ? width_ : build_.index(nr_);
        emit_.vector(build_.index(0), lanes, static_cast<int>(nr_), [&](Expr j) {
          tile.clear();
          sum_row_taps(tile, tiles, outer, row, first, j);
        });
        emit_.vector(build_.index(0), width_, static_cast<int>(nr_), [&](Expr j) {
          for (size_t i = 0; i < count; ++i)
            emit_.scoped([&] { store_one(places[i], Expr(), j, build_.let(tile.value(i))); });
        });
      });
    });
}

void ConvLowering::ask_for_next_row(const WindowPart& part, Expr row, Expr first, int64_t places) {
  const WindowAxis &rows = axes_[axes_.size() - 2], &last = axes_.back();
  const Dim row_step = image_step(axes_.size() - 2), step = image_step(axes_.size() - 1);
  const Expr seen =
      build_.let(row + (part.taps - build_.index(1)) * emit_.size(Dim(rows.dilation) * row_step) +
                 first * emit_.size(Dim(last.stride) * step) + first_feature_);
  const int64_t line = kLineBytes / static_cast<int64_t>(size_of(x_->arg->type().dtype));
  for (int64_t r = std::max<int64_t>(0, rows.stride - rows.taps); r < rows.stride; ++r)
    for (int64_t c = 0; c < places * last.stride; ++c)
      for (int64_t j = 0; j < nr_ * usual_inputs_; j += line)
        build_.prefetch(image_buffer(), seen + emit_.size(Dim(r + 1) * row_step + Dim(c) * step + Dim(j)));
}

void ConvLowering::sum_row_taps(RegisterTile& tile, const RowTiles& tiles,
                                const std::vector<WindowPart>& outer, Expr row, Expr first, Expr j) {
  const WindowAxis& last = axes_.back();
  const Dim step = image_step(outer.size());
  const Expr corner = row + first * last.stride / build_.index(last.gaps) * emit_.size(step);
  std::function<void(size_t, Expr, Expr)> taps = [&](size_t s, Expr number, Expr at_tap) {
    if (s < outer.size()) {
      const WindowPart& part = outer[s];
      const Expr from_tap = emit_.size(image_step(s) * Dim(part.dilation));
      number = number * axes_[s].taps + part.tap;
      return emit_.serial(build_.index(0), part.taps, [&](Expr u) {
        taps(s + 1, number + u * part.tap_step, build_.let(at_tap + u * from_tap));
      });
    }
    const Expr of_row = build_.let(number * (last.taps * usual_inputs_));
    for (int64_t term = 0; term < last.taps * usual_inputs_; ++term) {
      const int64_t tap = term / usual_inputs_, input = term % usual_inputs_;
      const Expr weights = build_.let(load_w(of_row + term, j));
      for (int64_t i = 0; i < tiles.places; ++i) {
        if (!tiles.sees(at(i), tap)) continue;
        const Dim apart = Dim(last.element_under(i, tap)) * step + Dim(input) * image_feature_step();
        tile.add(at(i), widen(build_.load(image_buffer(), at_tap + emit_.size(apart))), weights);
      }
    }
  };
  taps(0, build_.index(0), build_.let(depthwise_ ? corner + first_feature_ + j : corner));
}

void ConvLowering::sum_part(const std::vector<WindowPart>& parts, Expr only) {
  Expr origin = image_origin(), places = image_count_;
  for (size_t s = 0; s < parts.size(); ++s) {
    origin = origin + parts[s].origin * emit_.size(image_step(s));
    places = places * parts[s].count;
  }
  origin = build_.let(origin), places = build_.let(places);
  TilePlaces::Walk walk{parts, origin, image_between(), {}, first_row_, end_row_, {}};
  for (size_t s = 0; s < parts.size(); ++s) {
    walk.steps.push_back(emit_.size(image_step(s) * Dim(parts[s].stride)));
    walk.space.push_back(emit_.size(space_[s]));
  }
  places_.begin(walk);
  // As each_tile; what low tiles compute is noted together.
  const Expr tall = build_.index(mr_);
  emit_.serial(build_.index(0), (places + (tall - build_.index(1))) / tall, [&](Expr number) {
    Expr left = build_.let(places - number * tall);
    places_.note(walk, left);
    const int64_t low = low_tile(mr_, vectors()),
                  most = (mr_ - 1) / low;  // so many are less than a tall one
    auto all = [&] { emit_.scoped([&] { tile(mr_, walk, build_.index(0), left, only); }); };
    if (most == 0) return all();
    build_.if_then(left > build_.index(most * low), all, [&] {
      emit_.serial(build_.index(0), (left + build_.index(low - 1)) / build_.index(low), [&](Expr t) {
        Expr first = build_.let(t * low);
        tile(low, walk, first, build_.let(left - first), only);
      });
    });
  });
}

void ConvLowering::sum_images(const std::vector<WindowPart>& parts, Expr only) {
  const Expr last = build_.let(image_count_ - build_.index(1));
  const Expr image_places = build_.let((end_row_ - first_row_) * emit_.size(product(inner_space())));
  std::function<void(size_t, Expr, Expr)> places = [&](size_t s, Expr number, Expr corner) {
    if (s < parts.size())
      return emit_.serial(build_.index(0), parts[s].count, [&](Expr k) {
        const Expr place = parts[s].first + k * parts[s].step;
        const Expr in_chunk = s == 0 ? place - first_row_ : number * emit_.size(space_[s]) + place;
        places(s + 1, build_.let(in_chunk),
               build_.let(corner + (parts[s].origin + k * parts[s].stride) * emit_.size(image_step(s))));
      });
    each_tile(emit_, tile_rows(build_, mr_, low_tile(mr_, vectors()), image_count_),
              [&](int64_t height, Expr first) {
                std::vector<Expr> at_corner, kept_at;
                for (int64_t i = 0; i < height; ++i) {  // those behind the last one repeat it
                  const Expr image = build_.let(loop::lesser(first + i, last));
                  at_corner.push_back(build_.let(corner + image));
                  kept_at.push_back(build_.let((image * image_places + number) * nr_));
                }
                sum_and_store(parts, {}, at_corner, kept_at, {}, {}, only);
              });
  };
  places(0, {}, image_origin());
}

void ConvLowering::tile(int64_t height, const TilePlaces::Walk& walk, Expr first, Expr left, Expr only) {
  std::vector<Expr> at_corner, kept_at;
  std::vector<std::vector<Expr>> place;
  for (int64_t i = 0; i < height; ++i) {
    const Expr number = first + i;
    at_corner.push_back(places_.corner(number));
    kept_at.push_back(keeps_sums() ? places_.kept(number) : Expr());
    if (!waits_) place.push_back(places_.place(number));
  }
  of_strips([&] { sum_and_store(walk.parts, place, at_corner, kept_at, first, left, only); });
}

void ConvLowering::sum_and_store(const std::vector<WindowPart>& parts,
                                 const std::vector<std::vector<Expr>>& place,
                                 const std::vector<Expr>& at_corner, const std::vector<Expr>& kept_at,
                                 Expr first_noted, Expr left, Expr only) {
  const size_t mr = at_corner.size();
  const Expr none = build_.index(0);
  RegisterTile tile(build_, type_, static_cast<int64_t>(mr), nr_);
  if (!keeps_sums())
    emit_.serial(none, build_.index(static_cast<int64_t>(mr)), [&](Expr i) {
      ask_for_stores(emit_, node_->result(), index_at(places_.place(first_noted + i), first_feature_), nr_);
    });
  Expr lanes = depthwise_ ? width_ : build_.index(nr_);
  emit_.vector(none, lanes, static_cast<int>(nr_), [&](Expr j) {
    tile.clear();
    if (only) tile.load([&](size_t i, size_t) { return build_.load(sums_, kept_at[i] + j); });
    sum_taps(tile, parts, at_corner, j);
    if (waits_)
      for (size_t i = 0; i < mr; ++i) build_.store(sums_, kept_at[i] + j, tile.value(i));
  });
  if (waits_) return;
  emit_.vector(none, width_, static_cast<int>(nr_), [&](Expr j) {
    for (size_t i = 0; i < mr; ++i) {
      auto one_place = [&] {
        emit_.scoped([&] { store_one(place[i], kept_at[i], j, build_.let(tile.value(i))); });
      };
      if (i == 0)
        one_place();
      else
        build_.if_then(left > build_.index(static_cast<int64_t>(i)), one_place);
    }
  });
}

void ConvLowering::sum_taps(RegisterTile& tile, const std::vector<WindowPart>& parts,
                            const std::vector<Expr>& at_corner, Expr j) {
  const uint32_t image = image_buffer();
  const WindowPart& last = parts.back();
  const Dim tap_step = image_step(parts.size() - 1) * Dim(last.dilation);
  // `count` steps of the sum from number `step` on, for all places: element number n of the place's run.
  auto together = [&](Expr step, Expr count, Expr from, const Dim& between, int64_t usual) {
    tile.sum(
        emit_, build_.index(0), count,
        [&](size_t i, Expr n) {
          Expr offset = at_corner[i] + from + n * emit_.size(between);
          return widen(build_.load(image, depthwise_ ? offset + first_feature_ + j : offset));
        },
        [&](Expr n, size_t) { return load_w(step + n, j); }, usual);
  };
  // Taps along the last axis and input features are one run, in the image as in the kernel.
  const bool adjoin = axes_.back().taps_adjoin();
  const bool one_input = inputs_ == kOne && adjoin;
  const bool joined = adjoin && tap_step == inputs_ * image_feature_step();
  const int64_t inputs = inputs_.is_constant() ? usual_inputs_ : 0;  // where it is known
  std::function<void(size_t, Expr, Expr)> outer = [&](size_t s, Expr number, Expr offset) {
    const WindowPart& part = parts[s];
    number = number * axes_[s].taps + part.tap;
    if (s + 1 < parts.size()) {
      Expr step = emit_.size(image_step(s) * Dim(part.dilation));
      return emit_.serial(build_.index(0), part.taps,
                          [&](Expr u) { outer(s + 1, number + u * part.tap_step, offset + u * step); });
    }
    Expr first = build_.let(number * emit_.size(inputs_));
    offset = build_.let(offset);
    if (one_input) return together(first, part.taps, offset, tap_step, axes_[s].taps);
    if (joined)
      return together(first, part.taps * emit_.size(inputs_), offset, image_feature_step(),
                      axes_[s].taps * inputs);
    emit_.serial(build_.index(0), part.taps, [&](Expr u) {
      together(build_.let(first + u * emit_.size(Dim(part.tap_step) * inputs_)), emit_.size(inputs_),
               build_.let(offset + u * emit_.size(tap_step)), image_feature_step(), inputs);
    });
  };
  outer(0, build_.index(0), build_.index(0));
}

void ConvLowering::store_chunk() {
  Expr row_places = emit_.size(product(inner_space()));
  Expr image_places = build_.let((end_row_ - first_row_) * row_places);
  Expr first_place = build_.let(first_row_ * row_places);
  auto index_of = [&](Expr image, Expr p) {
    std::vector<Expr> index{image};
    for (Expr e : emit_.split(first_place + p, space_)) index.push_back(e);
    return index;
  };
  if (!turned_)
    return emit_.serial(build_.index(0), image_count_, [&](Expr image) {
      emit_.serial(build_.index(0), image_places, [&](Expr p) {
        Expr kept = build_.let((image * image_places + p) * nr_);
        std::vector<Expr> index = index_of(image, p);
        for (Expr& e : index) e = build_.let(e);
        emit_.vector(build_.index(0), width_, static_cast<int>(nr_),
                     [&](Expr j) { store_one(index, kept, j, build_.let(build_.load(sums_, kept + j))); });
      });
    });
  build_.transpose({turned_sums_, build_.index(0), kept_}, {sums_, build_.index(0), build_.index(nr_)},
                   image_count_ * image_places, build_.index(nr_));
  int lanes = natural_lanes(emit_.target, widest_element(emit_.region));
  emit_.serial(build_.index(0), image_count_, [&](Expr image) {
    emit_.serial(build_.index(0), width_, [&](Expr f) {
      Expr feature = build_.let(first_feature_ + f), row = build_.let(f * kept_ + image * image_places);
      emit_.vector(build_.index(0), image_places, lanes, [&](Expr p) {
        store_sum(emit_, node_->result(), index_at(index_of(image, p), feature),
                  build_.let(build_.load(turned_sums_, row + p)));
      });
    });
  });
}

GroupEmitter::Index ConvLowering::index_at(const std::vector<Expr>& place, Expr feature) const {
  GroupEmitter::Index index(node_->result()->type().dims.size());
  index[at(d_.out_batch)] = first_image_ + place[0];
  index[at(d_.out_feature)] = feature;
  for (size_t s = 0; s + 1 < place.size(); ++s) index[at(d_.out_space[s])] = place[s + 1];
  return index;
}

void ConvLowering::store_one(const std::vector<Expr>& place, Expr kept, Expr j, Expr sum) {
  GroupEmitter::Index index = index_at(place, first_feature_ + j);
  if (!finished_) return store_sum(emit_, node_->result(), index, sum);
  know_sum(emit_, node_->result(), sum);
  const DType stored = finished_->type().dtype;
  Expr value = emit_.element(finished_, index);
  build_.store(finished_values_, kept + j, value.type() == stored ? value : loop::convert(value, stored));
}

void ConvLowering::turn_finished() {
  const Dims& dims = emit_.region.results()[0]->type().dims;
  const Ints& order = emit_.region.results()[0]->node()->attrs().get(ops::kPermutation);
  Expr row_places = emit_.size(product(inner_space()));
  Expr image_places = build_.let((end_row_ - first_row_) * row_places);
  emit_.serial(build_.index(0), image_count_, [&](Expr image) {
    std::vector<Expr> place(axes_.size() + 1, build_.index(0));
    place[0] = image, place[1] = first_row_;
    GroupEmitter::Index own = index_at(place, first_feature_), index;
    Dim feature_step = kOne;
    for (size_t i = 0; i < order.size(); ++i) {
      index.push_back(own[at(order[i])]);
      if (order[i] == d_.out_feature)
        feature_step = product(Dims(dims.begin() + static_cast<long>(i) + 1, dims.end()));
    }
    build_.transpose({emit_.result_buffer(0), build_.let(emit_.flat(index, dims)), emit_.size(feature_step)},
                     {finished_values_, image * image_places * nr_, build_.index(nr_)}, image_places, width_);
  });
}

}  // namespace ig::codegen
