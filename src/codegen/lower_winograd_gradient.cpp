// Gradients by the weights of convolutions of 3 x 3 taps, by Winograd's minimal filtering: sums over all
// places of an image's element under each tap times the cotangent of the place. The transforms of
// lower_winograd.cpp are linear, so their transposes give the gradient. With d the 4 x 4 elements under a
// square of 2 x 2 places and y the cotangents there,
//
//   taps = G^T (sum over the squares of all images of (B d B^T) * (A^T y A)) G
//
// which takes 16 products a square and pair of features where the places alone take 36. The sums are 16
// products of matrices: input features x squares times squares x output features.
//
//   block (some input features, some strips of output features)
//     for each chunk of squares:
//       the image under them, transformed: [term][square][input feature]
//       their cotangents, transformed:     [term][square][output feature]
//       for each term and strip, for each mr of the input features: mr x nr sums go on
//     for each input feature and strip: the 3 x 3 taps, stored with the work that is fused behind
//
// As the op is a convolution, its "image" has the examples as features and the input features as batch, its
// "kernel" is the cotangent, and its result's places are the taps. Taps that are not finite are summed
// place by place, as the definition does.
//
// Order of summation: for each term one fma chain over the squares, images slowest, from +0.
#include <algorithm>

#include "codegen/register_tile.h"
#include "codegen/winograd.h"
#include "ops/attrs.h"

namespace ig::codegen {
namespace {

using loop::Expr;
using namespace winograd;
constexpr int64_t kChunkBytes = 256 * 1024;     // of what a chunk transforms: with the sums, a second cache
constexpr int64_t kInputs = 64, kOutputs = 64;  // features of a block, about: each side is transformed for
                                                // each part of the other
constexpr int64_t kEnoughBlocks = 4;            // for threads to share
constexpr int64_t kLeastInputs = 16;

class GradientLowering {
 public:
  GradientLowering(GroupEmitter& emit, Kernel& kernel, const Node* node)
      : emit_(emit),
        kernel_(kernel),
        build_(emit.build),
        node_(node),
        d_(node->attrs()),
        x_(ops::strided_view(node->operand(0))),
        y_(ops::strided_view(node->operand(1))),
        type_(node->result()->type().dtype) {
    const Type &image = node->operand(0)->type(), &cotangent = node->operand(1)->type();
    supported_ = x_ && y_ && ops::suits_winograd_gradient(node->attrs(), image, cotangent);
    if (!supported_) return;
    image_ = FeatureMap(emit, *x_, image.dims, d_.lhs_feature, d_.lhs_space, d_.lhs_batch);
    cotangent_ = FeatureMap(emit, *y_, cotangent.dims, d_.rhs_in, d_.rhs_space, d_.rhs_out);
    for (size_t s = 0; s < 2; ++s) {
      image_.low[s] = d_.low[s];
      squares_[s] = (cotangent_.size[s] + 1) / 2;
    }
    images_ = image.dims[static_cast<size_t>(d_.lhs_feature)];
    lanes_ = emit.target.vector_bytes / static_cast<int64_t>(size_of(type_));
    nr_ = cotangent_.features <= lanes_ ? lanes_ : 2 * lanes_;
    mr_ = emit.target.registers == 32 ? 8 : 4;
    strips_ = (cotangent_.features + nr_ - 1) / nr_;
  }
  bool supported() const { return supported_; }

  void run() {
    kernel_.kind = "winograd";
    choose_blocks();
    FeatureMap* maps[] = {&image_, &cotangent_};
    put_features_last(emit_, kernel_, type_, images_, maps);
    image_term_ = chunk_ * inputs_ + kApart, cotangent_term_ = chunk_ * columns() + kApart;
    sums_term_ = inputs_ * columns() + kApart;
    transformed_ = build_.add_scratch(type_, Dim(kTerms * image_term_), "image");
    cotangents_ = build_.add_scratch(type_, Dim(kTerms * cotangent_term_), "cotangents");
    sums_ = build_.add_scratch(type_, Dim(kTerms * sums_term_), "sums");
    turned_ = lie_by_outputs();
    if (turned_) {
      waiting_ = build_.add_scratch(type_, Dim(inputs_ * kTaps * nr_), "kept");
      turned_taps_ = build_.add_scratch(type_, Dim(inputs_ * kTaps * nr_), "turned");
    }

    Expr none = build_.index(0), parts = build_.index((strips_ + part_strips_ - 1) / part_strips_);
    Expr part = build_.let(build_.block() % parts * part_strips_);
    first_input_ = build_.let(build_.block() / parts * inputs_);
    input_count_ =
        build_.let(loop::lesser(build_.index(inputs_), build_.index(image_.features) - first_input_));
    first_output_ = build_.let(part * nr_);
    output_count_ =
        build_.let(loop::lesser(build_.index(columns()), build_.index(cotangent_.features) - first_output_));
    strip_count_ = build_.let((output_count_ + build_.index(nr_ - 1)) / build_.index(nr_));
    emit_.vector(none, build_.index(kTerms * sums_term_), static_cast<int>(lanes_),
                 [&](Expr i) { build_.store(sums_, i, zero()); });
    const Dim all = images_ * Dim(squares_[0] * squares_[1]);
    emit_.serial(none, emit_.size(ceildiv(all, Dim(chunk_))), [&](Expr chunk) {
      Expr first = build_.let(chunk * chunk_);
      Expr count = build_.let(loop::lesser(build_.index(chunk_), emit_.size(all) - first));
      emit_.serial(none, count, [&](Expr number) { transform(build_.let(first + number), number); });
      emit_.serial(none, build_.index(kTerms), [&](Expr term) { sum_term(term, count); });
    });
    emit_.serial(none, strip_count_, [&](Expr strip) {
      Expr column = build_.let(strip * nr_);
      Expr width = build_.let(loop::lesser(build_.index(nr_), output_count_ - column));
      emit_.serial(none, input_count_, [&](Expr input) { finish(input, column, width); });
      if (turned_) store_turned(column, width);
    });
  }

 private:
  // Whether the taps of all input features lie side by side for each output feature, in the result and in
  // what the work behind reads: then they are turned over, since stores of vectors would go to as many pages.
  bool lie_by_outputs() const {
    const int64_t rank = 4;
    if (d_.out_feature != 0 || d_.out_batch != 1 || d_.out_space != Ints{2, 3}) return false;
    for (const Node* node : emit_.region) {
      if (node == node_ || node == emit_.region.terminator()) continue;
      const bool number = node->operands().size() == 1 && node->operand(0)->type().rank() == 0;
      if (!number && (!ops::has(node, ops::Trait::Elementwise) || node->result()->type().rank() != rank))
        return false;
    }
    return true;
  }
  int64_t columns() const { return part_strips_ * nr_; }
  Expr zero() { return build_.constant(type_, 0); }

  void choose_blocks() {
    auto up = [](int64_t n, int64_t step) { return (n + step - 1) / step; };
    inputs_ = up(std::min(kInputs, image_.features), mr_) * mr_;
    part_strips_ = std::clamp<int64_t>(kOutputs / nr_, 1, strips_);
    auto blocks = [&] { return up(image_.features, inputs_) * up(strips_, part_strips_); };
    while (blocks() < kEnoughBlocks && part_strips_ > 1) part_strips_ = up(part_strips_, 2);
    while (blocks() < kEnoughBlocks && inputs_ > kLeastInputs) inputs_ = up(inputs_ / 2, mr_) * mr_;
    const auto bytes = static_cast<int64_t>(size_of(type_));
    chunk_ = std::max<int64_t>(8, kChunkBytes / (kTerms * (inputs_ + columns()) * bytes));
    kernel_.blocks = Dim(blocks());
    const Dim all = images_ * Dim(squares_[0] * squares_[1]);
    const int64_t usual = all.is_constant() ? all.constant() : squares_[0] * squares_[1];
    set_grain(kernel_, emit_.target, type_, usual * kTerms * inputs_ * columns());
  }

  // Both sides of a square, which stands at this number of its chunk.
  void transform(Expr square, Expr number) {
    const Dims sizes{images_, Dim(squares_[0]), Dim(squares_[1])};
    const std::vector<Expr> index = emit_.split(square, sizes);
    FeatureMap::Reaches<4> under;
    FeatureMap::Reaches<2> of;
    for (size_t s = 0; s < 2; ++s) {
      Expr place = build_.let(index[s + 1] * 2);
      under[s] = image_.reaches<4>(emit_, s, place), of[s] = cotangent_.reaches<2>(emit_, s, place);
    }
    auto side = [&](const FeatureMap& map, const auto& reaches, const auto& to_terms, Expr first, Expr count,
                    uint32_t to, int64_t row, int64_t term) {
      Expr origin = map.origin(emit_, index[0]), target = build_.let(number * row);
      emit_.vector(build_.index(0), count, static_cast<int>(lanes_), [&](Expr j) {
        const std::array<Expr, kTerms> terms =
            to_terms(build_, map.square(emit_, reaches, origin, first + j));
        for (size_t t = 0; t < terms.size(); ++t)
          build_.store(to, target + build_.index(static_cast<int64_t>(t) * term) + j, terms[t]);
      });
    };
    side(image_, under, image_to_terms, first_input_, input_count_, transformed_, inputs_, image_term_);
    side(cotangent_, of, results_to_terms, first_output_, output_count_, cotangents_, columns(),
         cotangent_term_);
  }

  // The products of a chunk's squares for one term. Rows and columns beyond the block's features hold what is
  // never read.
  void sum_term(Expr term, Expr count) {
    Expr image = build_.let(term * image_term_), cotangents = build_.let(term * cotangent_term_);
    Expr sums = build_.let(term * sums_term_);
    emit_.serial(build_.index(0), strip_count_, [&](Expr strip) {
      Expr column = build_.let(strip * nr_);
      each_tile(emit_, tile_rows(build_, mr_, mr_, input_count_), [&](int64_t height, Expr first) {
        RegisterTile tile(build_, type_, height, nr_);
        Expr row = build_.let(sums + first * columns() + column), of_first = build_.let(image + first);
        Expr from = build_.let(cotangents + column);
        auto kept = [&](size_t i, Expr j) {
          return row + build_.index(static_cast<int64_t>(i) * columns()) + j;
        };
        emit_.vector(build_.index(0), build_.index(nr_), static_cast<int>(nr_), [&](Expr j) {
          tile.load([&](size_t i, size_t) { return build_.load(sums_, kept(i, j)); });
          tile.sum(
              emit_, build_.index(0), count,
              [&](size_t i, Expr k) {
                return build_.load(transformed_,
                                   of_first + k * inputs_ + build_.index(static_cast<int64_t>(i)));
              },
              [&](Expr k, size_t) { return build_.load(cotangents_, from + k * columns() + j); }, chunk_);
          for (size_t i = 0; i < static_cast<size_t>(height); ++i)
            build_.store(sums_, kept(i, j), tile.value(i));
        });
      });
    });
  }

  // The taps of an input feature and a strip of output features.
  void finish(Expr input, Expr column, Expr width) {
    const Expr none = build_.index(0);
    const int lanes = static_cast<int>(nr_);
    Expr from = build_.let(input * columns() + column), output = build_.let(first_output_ + column);
    Expr own = build_.let(first_input_ + input);
    std::vector<uint32_t> taps;
    for (int64_t t = 0; t < kTaps; ++t) taps.push_back(build_.local(type_, lanes, 1, "tap", true));
    uint32_t bad = build_.local(type_, lanes, 1, "bad");
    emit_.vector(none, build_.index(nr_), lanes, [&](Expr) { build_.assign(bad, zero()); });
    emit_.vector(none, width, lanes, [&](Expr j) {
      std::array<Expr, kTerms> terms;
      for (int64_t t = 0; t < kTerms; ++t)
        terms[static_cast<size_t>(t)] =
            build_.let(build_.load(sums_, from + build_.index(t * sums_term_) + j));
      const std::array<Expr, kTaps> values = terms_to_taps(build_, terms);
      for (size_t t = 0; t < taps.size(); ++t) build_.assign(taps[t], values[t]);
      build_.assign(bad, loop::select(are_finite(build_, values), zero(), build_.constant(type_, 1)));
    });
    Expr any = build_.reduce_lanes(bad, loop::Reduction::Max);
    build_.if_then(any != zero(), [&] { sum_again(own, output, width, taps, bad); });
    emit_.vector(none, width, lanes, [&](Expr j) {
      for (int64_t t = 0; t < kTaps; ++t) {
        Expr tap = build_.let(build_.read(taps[static_cast<size_t>(t)]));
        if (turned_) {
          build_.store(waiting_, (input * kTaps + build_.index(t)) * nr_ + j, tap);
          continue;
        }
        emit_.scoped([&] {
          GroupEmitter::Index index(4);
          index[static_cast<size_t>(d_.out_batch)] = own;
          index[static_cast<size_t>(d_.out_feature)] = output + j;
          index[static_cast<size_t>(d_.out_space[0])] = build_.index(t / 3);
          index[static_cast<size_t>(d_.out_space[1])] = build_.index(t % 3);
          store_one(index, tap);
        });
      }
    });
  }

  void store_one(const GroupEmitter::Index& index, Expr tap) {
    const Node* last = emit_.region.results()[0]->node();
    if (last == node_ || !last->attrs().find(ops::kPermutation.name))
      return store_sum(emit_, node_->result(), index, tap);
    know_sum(emit_, node_->result(), tap);
    GroupEmitter::Index turned;
    for (int64_t axis : last->attrs().get(ops::kPermutation))
      turned.push_back(index[static_cast<size_t>(axis)]);
    Expr value = build_.let(emit_.element(last->operand(0), index));
    emit_.store_result(0, emit_.flat(turned, last->result()->type().dims), value);
  }

  // The strip's taps, an output feature at a time: those of all the block's input features are one run, which
  // the index tells as places of the last axis.
  void store_turned(Expr column, Expr width) {
    Expr step = build_.index(inputs_ * kTaps), none = build_.index(0);
    build_.transpose({turned_taps_, none, step}, {waiting_, none, build_.index(nr_)}, input_count_ * kTaps,
                     build_.index(nr_));
    const int lanes = natural_lanes(emit_.target, widest_element(emit_.region));
    emit_.serial(none, width, [&](Expr f) {
      Expr held = build_.let(f * step), output = build_.let(first_output_ + column + f);
      Expr first = build_.let(first_input_ * kTaps);
      emit_.vector(none, input_count_ * kTaps, lanes, [&](Expr p) {
        store_sum(emit_, node_->result(), GroupEmitter::Index{output, none, none, first + p},
                  build_.let(build_.load(turned_taps_, held + p)));
      });
    });
  }

  // The taps of the output features that say so, place by place: along the rows, the columns, the images.
  void sum_again(Expr input, Expr output, Expr width, const std::vector<uint32_t>& taps, uint32_t bad) {
    const Expr none = build_.index(0);
    const int lanes = static_cast<int>(nr_);
    std::vector<uint32_t> sums;
    for (int64_t t = 0; t < kTaps; ++t) sums.push_back(build_.local(type_, lanes, 1, "sum", true));
    emit_.vector(none, width, lanes, [&](Expr j) {
      for (uint32_t sum : sums) build_.assign(sum, zero());
      emit_.serial(none, build_.index(cotangent_.size[0]), [&](Expr row) {
        emit_.serial(none, build_.index(cotangent_.size[1]), [&](Expr place) {
          const Expr at[2] = {row, place};
          FeatureMap::Reaches<3> under;
          FeatureMap::Reach of[2];
          for (size_t s = 0; s < 2; ++s)
            of[s] = cotangent_.reach(emit_, s, at[s]), under[s] = image_.reaches<3>(emit_, s, at[s]);
          emit_.serial(none, emit_.size(images_), [&](Expr image) {
            Expr origin = image_.origin(emit_, image), of_image = cotangent_.origin(emit_, image);
            Expr factor =
                build_.let(cotangent_.load(emit_, of_image + of[0].offset + of[1].offset, output + j));
            for (size_t t = 0; t < sums.size(); ++t) {
              const FeatureMap::Reach &above = under[0][t / 3], &beside = under[1][t % 3];
              Expr element = image_.load(emit_, origin + above.offset + beside.offset, input);
              Expr sum = build_.read(sums[t]);
              build_.assign(sums[t],
                            loop::select(above.inside & beside.inside, loop::fma(element, factor, sum), sum));
            }
          });
        });
      });
      Expr again = build_.let(build_.read(bad) != zero());
      for (size_t t = 0; t < taps.size(); ++t)
        build_.assign(taps[t], loop::select(again, build_.read(sums[t]), build_.read(taps[t])));
    });
  }

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* node_;
  ops::ConvDims d_;
  std::optional<ops::StridedView> x_, y_;
  DType type_;
  bool supported_ = false;
  FeatureMap image_, cotangent_;
  Dim images_ = int64_t{0};
  int64_t squares_[2] = {};  // along each axis
  int64_t lanes_ = 0, nr_ = 0, mr_ = 0, strips_ = 0;
  int64_t inputs_ = 0, part_strips_ = 0;  // of a block: input features, strips of output features
  int64_t chunk_ = 0;                     // squares
  int64_t image_term_ = 0, cotangent_term_ = 0, sums_term_ = 0;  // elements, from one to the next
  bool turned_ = false;
  uint32_t transformed_ = 0, cotangents_ = 0, sums_ = 0, waiting_ = 0, turned_taps_ = 0;
  Expr first_input_, input_count_, first_output_, output_count_, strip_count_;
};

}  // namespace

bool lower_winograd_gradient(GroupEmitter& emit, Kernel& kernel, const Node* node) {
  GradientLowering lowering(emit, kernel, node);
  if (lowering.supported()) lowering.run();
  return lowering.supported();
}

}  // namespace ig::codegen
