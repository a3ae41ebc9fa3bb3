// Convolutions of 3 x 3 taps by Winograd's minimal filtering F(2 x 2, 3 x 3) (Lavin and Gray, "Fast
// algorithms for convolutional neural networks", 2015): a square of 2 x 2 places takes 16 products a pair of
// features where the taps alone take 36. With d the 4 x 4 elements under a square and g the taps,
//
//   result = A (sum over the input features of (B d B^T) * (G g G^T)) A^T
//
//   B = 1  0 -1  0    G =  1    0    0     A = 1  1  1  0
//       0  1  1  0        1/2  1/2  1/2        0  1 -1 -1
//       0 -1  1  0        1/2 -1/2  1/2
//       0  1  0 -1         0    0    1
//
// The sums are 16 products of matrices, one for each of the 4 x 4 terms: squares x input features times input
// x output features. The weights come transformed, packed as [strip of features][term][input feature][nr],
// with the taps behind the terms.
//
//   block (some strips of features, a chunk of squares)
//     the image under the chunk's squares, transformed: [term][square][input feature]
//     for each strip
//       for each term, for each mr of the squares: mr x nr sums      [term][square][nr]
//       for each square: its 2 x 2 results, stored with the work that is fused behind
//
// What is infinite or no number, or far larger than what lies beside it, would spoil its whole square: where
// results come out not finite, or of very different sizes (ops::kWinogradRange), they are computed again, tap
// by tap, so that they are what the definition gives.
//
// Order of summation: for each term one fma chain over the input features from +0; then as written here. It
// depends on no size, so neither do the bits of a result.
#include <algorithm>

#include "codegen/convolution_weights.h"
#include "codegen/register_tile.h"
#include "codegen/winograd.h"
#include "ops/attrs.h"
#include "ops/contraction.h"

namespace ig::codegen {
namespace {

using loop::Expr;
using namespace winograd;
constexpr int64_t kChunkBytes = 512 * 1024;  // of what a chunk keeps: most of a second cache
// Squares for which all weights are read once: from memory, where they fit in no cache.
constexpr int64_t kLeastSquares = 48;
constexpr int64_t kEnoughBlocks = 8;  // for threads to share
const Dim kOne = Dim(int64_t{1});

int64_t ceil_to(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

class WinogradLowering {
 public:
  WinogradLowering(GroupEmitter& emit, Kernel& kernel, const Node* node,
                   const std::vector<bool>& constant_operands)
      : emit_(emit),
        kernel_(kernel),
        build_(emit.build),
        node_(node),
        d_(node->attrs()),
        x_(ops::strided_view(node->operand(0))),
        w_(ops::strided_view(node->operand(1))),
        type_(node->result()->type().dtype) {
    const Dims &image = node->operand(0)->type().dims, &weights = node->operand(1)->type().dims;
    const Dims& result = node->result()->type().dims;
    supported_ =
        x_ && w_ && ops::suits_winograd(node->attrs(), node->operand(0)->type(), node->operand(1)->type());
    if (!supported_) return;
    constant_weights_ = constant_operands[w_->arg->index()];
    inputs_ = weights[at(d_.rhs_in)].constant();
    features_ = weights[at(d_.rhs_out)].constant();
    image_ = FeatureMap(emit, *x_, image, d_.lhs_batch, d_.lhs_space, d_.lhs_feature);
    for (size_t s = 0; s < 2; ++s) {
      image_.low[s] = d_.low[s];
      places_[s] = result[at(d_.out_space[s])].constant();
      squares_[s] = (places_[s] + 1) / 2;
    }
    all_squares_ = result[at(d_.out_batch)] * Dim(squares_[0] * squares_[1]);
    lanes_ = emit.target.vector_bytes / static_cast<int64_t>(size_of(type_));
    nr_ = features_ <= lanes_ ? lanes_ : 2 * lanes_;
    mr_ = emit.target.registers == 32 ? 12 : (nr_ == lanes_ ? 8 : 6);
    strips_ = (features_ + nr_ - 1) / nr_;
    turned_ = d_.out_feature + 1 != static_cast<int64_t>(result.size());
    const Node* last = emit.region.results()[0]->node();
    if (last && last->attrs().find(ops::kPermutation.name) && last->operand(0)->node())
      finished_ = last->operand(0);
  }
  bool supported() const { return supported_; }

  void run() {
    kernel_.kind = "winograd";
    choose_chunks();
    const Dims& steps = w_->strides;
    packs_before_ = w_->arg->uses().size() == 1 &&
                    (constant_weights_ ||
                     (emit_.traffic.may_go_twice && constant_dims(steps) && w_->offset.is_constant()));
    if (packs_before_) emit_packing();
    FeatureMap* maps[] = {&image_};
    put_features_last(emit_, kernel_, type_, node_->operand(0)->type().dims[at(d_.lhs_batch)], maps);
    weights_buffer_ =
        packs_before_ ? emit_.buffer_of_arg(w_->arg) : build_.add_scratch(type_, Dim(strip_elements()), "w");
    kept_ = ceil_to(chunk_, mr_);
    const auto bytes = static_cast<int64_t>(size_of(type_));
    row_ = inputs_ * bytes % 1024 == 0 ? inputs_ + kApart : inputs_;  // rows of a tile meet in no set
    image_term_ = kept_ * row_ + kApart, sums_term_ = kept_ * nr_ + kApart;
    transformed_ = build_.add_scratch(type_, Dim(kTerms * image_term_), "image");
    sums_ = build_.add_scratch(type_, Dim(kTerms * sums_term_), "sums");
    if (waits()) {
      waiting_ =
          build_.add_scratch(finished_ ? finished_->type().dtype : type_, Dim(4 * kept_ * nr_), "kept");
      if (!finished_) turned_results_ = build_.add_scratch(type_, Dim(4 * kept_ * nr_), "turned");
    }

    Expr chunks = emit_.size(ceildiv(all_squares_, Dim(chunk_)));
    Expr chunk = build_.let(build_.block() % chunks), part = build_.let(build_.block() / chunks);
    first_square_ = build_.let(chunk * chunk_);
    count_ = build_.let(loop::lesser(build_.index(chunk_), emit_.size(all_squares_) - first_square_));
    emit_.serial(build_.index(0), count_, [&](Expr square) { transform_image(square); });
    Expr first = build_.let(part * part_strips_);
    emit_.serial(
        first, loop::lesser(first + build_.index(part_strips_), build_.index(strips_)), [&](Expr strip) {
          first_feature_ = build_.let(strip * nr_);
          width_ = width_of(build_, first_feature_);
          weights_ = packs_before_ ? build_.let(strip * build_.index(strip_elements())) : build_.index(0);
          if (!packs_before_)
            pack_strip({build_, emit_.size, emit_.buffer_of_arg(w_->arg), weights_buffer_}, weights_,
                       first_feature_);
          emit_.serial(build_.index(0), build_.index(kTerms), [&](Expr term) { sum_term(term); });
          emit_.serial(build_.index(0), count_, [&](Expr square) { finish(square); });
          if (waits()) store_runs();
        });
  }

 private:
  static size_t at(int64_t axis) { return static_cast<size_t>(axis); }
  int64_t strip_elements() const { return (kTerms + kTaps) * inputs_ * nr_; }
  Expr width_of(loop::Builder& build, Expr first) const {
    if (features_ % nr_ == 0) return build.index(nr_);
    return build.let(loop::lesser(build.index(nr_), build.index(features_) - first));
  }
  bool waits() const { return turned_ || finished_; }
  Expr zero() { return build_.constant(type_, 0); }

  void choose_chunks() {
    const int64_t bytes = static_cast<int64_t>(size_of(type_)) * kTerms * (inputs_ + nr_);
    chunk_ = std::max(kChunkBytes / bytes, kLeastSquares) / mr_ * mr_;
    part_strips_ = strips_;
    if (all_squares_.is_constant()) {
      const int64_t all = std::max<int64_t>(1, all_squares_.constant());
      auto blocks = [&] {
        return (all + chunk_ - 1) / chunk_ * ((strips_ + part_strips_ - 1) / part_strips_);
      };
      // Each part of the strips transforms the image anew, which is a small part of its products.
      constexpr int64_t kFewStrips = 2;
      while (blocks() < kEnoughBlocks && part_strips_ > kFewStrips) part_strips_ = (part_strips_ + 1) / 2;
      while (blocks() < kEnoughBlocks && chunk_ > 2 * mr_) chunk_ -= mr_;
      // As many in each chunk.
      const int64_t chunks = (all + chunk_ - 1) / chunk_;
      chunk_ = std::min(chunk_, ceil_to((all + chunks - 1) / chunks, mr_));
    }
    kernel_.blocks = ceildiv(all_squares_, Dim(chunk_)) * Dim((strips_ + part_strips_ - 1) / part_strips_);
    set_grain(kernel_, emit_.target, type_, chunk_ * kTerms * inputs_ * part_strips_ * nr_);
  }

  // A strip of the weights: G g G^T of each pair of features, and behind all terms the taps.
  void pack_strip(const WeightStrips::Place& place, Expr target, Expr first) const {
    loop::Builder& build = place.build;
    Expr between = build.index(inputs_ * nr_), taps_at = build.let(target + between * kTerms);
    WeightStrips(d_, *w_, node_->operand(1)->type(), nr_)
        .pack(place, taps_at, first, width_of(build, first), type_);
    build.serial_for(build.index(0), build.index(inputs_), [&](Expr i) {
      build.vector_for(build.index(0), build.index(nr_), static_cast<int>(lanes_), [&](Expr j) {
        Expr at = build.let(i * nr_ + j);
        std::array<Expr, kTaps> taps;
        for (int64_t tap = 0; tap < kTaps; ++tap)
          taps[static_cast<size_t>(tap)] = build.let(build.load(place.to, taps_at + between * tap + at));
        const std::array<Expr, kTerms> terms = taps_to_terms(build, taps);
        for (size_t t = 0; t < terms.size(); ++t)
          build.store(place.to, target + between * static_cast<int64_t>(t) + at, terms[t]);
      });
    });
  }
  // All strips, once, or in each call before the kernel.
  void emit_packing() {
    loop::Builder build("pack");
    uint32_t from = build.add_buffer(type_, false, "in0"), to = build.add_buffer(type_, true, "out0");
    ops::SizeFn size = [&](const Dim& d) { return build.size(d); };
    pack_strip({build, size, from, to}, build.let(build.block() * strip_elements()),
               build.let(build.block() * nr_));
    Kernel::Packing packing;
    packing.operand = static_cast<int>(w_->arg->index());
    packing.blocks = strips_;
    packing.elements = Dim(strips_ * strip_elements());
    packing.every_call = !constant_weights_;
    packing.pack = build.finish();
    kernel_.packings.push_back(std::move(packing));
  }
  // A vector of the weights, for an input feature: of a term, or of a tap behind these.
  Expr weight(Expr term, Expr input, Expr j) {
    return build_.load(weights_buffer_, weights_ + (term * inputs_ + input) * nr_ + j);
  }

  // Where a square lies: its image, and its number along each axis.
  struct Square {
    Expr image, place[2];
  };
  Square square_at(Expr number) {
    std::vector<Expr> index = emit_.split(
        build_.let(first_square_ + number),
        {ceildiv(all_squares_, Dim(squares_[0] * squares_[1])), Dim(squares_[0]), Dim(squares_[1])});
    return {index[0], {build_.let(index[1] * 2), build_.let(index[2] * 2)}};
  }

  // B d B^T, a vector of input features at a time. What lies over the border is zero.
  void transform_image(Expr number) {
    const Square square = square_at(number);
    Expr origin = image_.origin(emit_, square.image), target = build_.let(number * row_);
    FeatureMap::Reaches<4> reaches;
    for (size_t s = 0; s < 2; ++s) reaches[s] = image_.reaches<4>(emit_, s, square.place[s]);
    emit_.vector(build_.index(0), build_.index(inputs_), static_cast<int>(lanes_), [&](Expr j) {
      const std::array<Expr, kTerms> terms = image_to_terms(build_, image_.square(emit_, reaches, origin, j));
      for (size_t t = 0; t < terms.size(); ++t)
        build_.store(transformed_, target + build_.index(static_cast<int64_t>(t) * image_term_) + j,
                     terms[t]);
    });
  }

  // The products of all the chunk's squares for one term.
  void sum_term(Expr term) {
    Expr image = build_.let(term * image_term_), to = build_.let(term * sums_term_);
    const int64_t vectors = nr_ / lanes_;
    each_tile(emit_, tile_rows(build_, mr_, low_tile(mr_, vectors), count_), [&](int64_t height, Expr first) {
      RegisterTile tile(build_, type_, height, nr_);
      std::vector<Expr> rows;
      for (int64_t i = 0; i < height; ++i)
        rows.push_back(build_.let(image + (first + build_.index(i)) * row_));
      Expr goal = build_.let(to + first * nr_);
      emit_.vector(build_.index(0), build_.index(nr_), static_cast<int>(nr_), [&](Expr j) {
        tile.clear();
        tile.sum(
            emit_, build_.index(0), build_.index(inputs_),
            [&](size_t i, Expr k) { return build_.load(transformed_, rows[i] + k); },
            [&](Expr k, size_t) { return weight(term, k, j); }, inputs_);
        for (int64_t i = 0; i < height; ++i)
          build_.store(sums_, goal + build_.index(i * nr_) + j, tile.value(static_cast<size_t>(i)));
      });
    });
  }

  // The results of a square, A m A^T, and what becomes of them.
  void finish(Expr number) {
    const Square square = square_at(number);
    const Expr none = build_.index(0);
    const int lanes = static_cast<int>(nr_);
    Expr from = build_.let(number * nr_);
    for (int64_t q = 0; q < 4 && !waits(); ++q)
      ask_for_stores(emit_, node_->result(), index_at(square, q, first_feature_), nr_);
    std::vector<uint32_t> results;
    for (int64_t q = 0; q < 4; ++q) results.push_back(build_.local(type_, lanes, 1, "result", true));
    uint32_t bad = build_.local(type_, lanes, 1, "bad");
    emit_.vector(none, build_.index(nr_), lanes, [&](Expr) { build_.assign(bad, zero()); });
    emit_.vector(none, width_, lanes, [&](Expr j) {
      std::array<Expr, kTerms> terms;
      for (int64_t t = 0; t < kTerms; ++t)
        terms[static_cast<size_t>(t)] =
            build_.let(build_.load(sums_, from + build_.index(t * sums_term_) + j));
      const std::array<Expr, 4> values = terms_to_results(build_, terms);
      for (size_t q = 0; q < 4; ++q) build_.assign(results[q], values[q]);
      build_.assign(bad, loop::select(are_alike(build_, values), zero(), build_.constant(type_, 1)));
    });
    Expr any = build_.reduce_lanes(bad, loop::Reduction::Max);
    build_.if_then(any != zero(), [&] { compute_again(square, results, bad); });
    emit_.vector(none, width_, lanes, [&](Expr j) {
      for (int64_t q = 0; q < 4; ++q)
        where_there(square, q, [&] {
          emit_.scoped([&] {
            Expr value = build_.let(build_.read(results[static_cast<size_t>(q)]));
            store_one(index_at(square, q, first_feature_ + j), number, q, j, value);
          });
        });
    });
  }
  // Of a square at an end of an odd number of places some lie beyond.
  void where_there(const Square& square, int64_t q, const std::function<void()>& body) {
    Expr there;
    for (int64_t s = 0; s < 2; ++s)
      if (places_[s] % 2 != 0 && (s == 0 ? q / 2 : q % 2) == 1) {
        Expr here = square.place[s] + build_.index(1) < build_.index(places_[s]);
        there = there ? there & here : here;
      }
    there ? build_.if_then(there, body) : body();
  }
  void store_one(const GroupEmitter::Index& index, Expr number, int64_t q, Expr j, Expr value) {
    if (!waits()) return store_sum(emit_, node_->result(), index, value);
    Expr place = (waiting_at(number, q / 2) + build_.index(q % 2)) * nr_ + j;
    if (turned_) return build_.store(waiting_, place, value);
    know_sum(emit_, node_->result(), value);
    const DType stored = finished_->type().dtype;
    value = emit_.element(finished_, index);
    build_.store(waiting_, place, value.type() == stored ? value : loop::convert(value, stored));
  }
  // Where the results of the chunk's square in one of its two rows wait: places of a row are side by side.
  Expr waiting_at(Expr number, int64_t row) { return (number + build_.index(row * kept_)) * 2; }

  // The strip's results that waited, by runs of places: the rows of the image that the chunk's squares lie
  // in.
  void store_runs() {
    Expr all = build_.index(4 * kept_), row = build_.index(squares_[1]);
    if (turned_)
      build_.transpose({turned_results_, build_.index(0), all},
                       {waiting_, build_.index(0), build_.index(nr_)}, all, build_.index(nr_));
    Expr first = build_.let(first_square_ / row), last = build_.let((first_square_ + count_ - 1) / row);
    emit_.serial(first, last + build_.index(1), [&](Expr r) {
      Expr begin = build_.let(loop::greater(r * row - first_square_, build_.index(0)));
      Expr end = build_.let(loop::lesser((r + build_.index(1)) * row - first_square_, count_));
      const Square square = square_at(begin);
      Expr places = build_.let(loop::lesser((end - begin) * 2, build_.index(places_[1]) - square.place[1]));
      for (int64_t y = 0; y < 2; ++y)
        where_there(square, 2 * y,
                    [&] { store_run(square, 2 * y, build_.let(waiting_at(begin, y)), places); });
    });
  }
  void store_run(const Square& square, int64_t q, Expr from, Expr places) {
    if (turned_) {
      const int lanes = natural_lanes(emit_.target, widest_element(emit_.region));
      return emit_.serial(build_.index(0), width_, [&](Expr f) {
        GroupEmitter::Index index = index_at(square, q, first_feature_ + f);
        Expr held = build_.let(f * build_.index(4 * kept_) + from), corner = index[at(d_.out_space[1])];
        emit_.vector(build_.index(0), places, lanes, [&](Expr p) {
          index[at(d_.out_space[1])] = corner + p;
          store_sum(emit_, node_->result(), index, build_.let(build_.load(turned_results_, held + p)));
        });
      });
    }
    const Dims& dims = emit_.region.results()[0]->type().dims;
    const Ints& order = emit_.region.results()[0]->node()->attrs().get(ops::kPermutation);
    GroupEmitter::Index own = index_at(square, q, first_feature_), index;
    Dim feature_step = kOne, place_step = kOne;
    for (size_t i = 0; i < order.size(); ++i) {
      index.push_back(own[at(order[i])]);
      const Dim step = product(Dims(dims.begin() + static_cast<long>(i) + 1, dims.end()));
      if (order[i] == d_.out_feature) feature_step = step;
      if (order[i] == d_.out_space[1]) place_step = step;
    }
    Expr to = build_.let(emit_.flat(index, dims));
    if (place_step == kOne)
      return build_.transpose({emit_.result_buffer(0), to, emit_.size(feature_step)},
                              {waiting_, from * nr_, build_.index(nr_)}, places, width_);
    emit_.serial(build_.index(0), places, [&](Expr p) {
      Expr of_place = build_.let(to + p * emit_.size(place_step)), held = build_.let((from + p) * nr_);
      emit_.vector(build_.index(0), width_, static_cast<int>(lanes_), [&](Expr j) {
        build_.store(emit_.result_buffer(0), of_place + j * emit_.size(feature_step),
                     build_.load(waiting_, held + j));
      });
    });
  }
  GroupEmitter::Index index_at(const Square& square, int64_t q, Expr feature) const {
    GroupEmitter::Index index(4);
    index[at(d_.out_batch)] = square.image;
    index[at(d_.out_feature)] = feature;
    index[at(d_.out_space[0])] = square.place[0] + build_.index(q / 2);
    index[at(d_.out_space[1])] = square.place[1] + build_.index(q % 2);
    return index;
  }

  // The results of the features that say so, tap by tap.
  void compute_again(const Square& square, const std::vector<uint32_t>& results, uint32_t bad) {
    const Expr none = build_.index(0);
    const int lanes = static_cast<int>(nr_);
    std::vector<uint32_t> sums;
    for (size_t q = 0; q < 4; ++q) sums.push_back(build_.local(type_, lanes, 1, "sum", true));
    emit_.vector(none, width_, lanes, [&](Expr j) {
      for (uint32_t sum : sums) build_.assign(sum, zero());
      emit_.serial(none, build_.index(kTaps), [&](Expr tap) {
        const Expr step[2] = {build_.let(tap / build_.index(3)), build_.let(tap % build_.index(3))};
        FeatureMap::Reaches<2> reach;  // of the two places along each axis
        for (size_t s = 0; s < 2; ++s) reach[s] = image_.reaches<2>(emit_, s, square.place[s] + step[s]);
        Expr origin = image_.origin(emit_, square.image);
        emit_.serial(none, build_.index(inputs_), [&](Expr k) {
          Expr weight = build_.let(this->weight(tap + build_.index(kTerms), k, j));
          for (size_t q = 0; q < 4; ++q) {
            Expr sum = build_.read(sums[q]);
            const FeatureMap::Reach &row = reach[0][q / 2], &column = reach[1][q % 2];
            Expr element = image_.load(emit_, origin + row.offset + column.offset, k);
            build_.assign(sums[q],
                          loop::select(row.inside & column.inside, loop::fma(element, weight, sum), sum));
          }
        });
      });
      Expr again = build_.let(build_.read(bad) != zero());
      for (size_t q = 0; q < 4; ++q)
        build_.assign(results[q], loop::select(again, build_.read(sums[q]), build_.read(results[q])));
    });
  }

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* node_;
  ops::ConvDims d_;
  std::optional<ops::StridedView> x_, w_;
  DType type_;
  bool supported_ = false, constant_weights_ = false, packs_before_ = false;
  FeatureMap image_;
  int64_t places_[2] = {}, squares_[2] = {};  // along each axis
  Dim all_squares_ = int64_t{0};
  int64_t inputs_ = 0, features_ = 0, lanes_ = 0, nr_ = 0, mr_ = 0, strips_ = 0, part_strips_ = 0;
  bool turned_ = false;       // the features are not the result's last axis
  Value finished_ = nullptr;  // what the kernel gives, before it is turned over
  uint32_t weights_buffer_ = 0, waiting_ = 0, turned_results_ = 0;
  int64_t kept_ = 0;                                  // squares that there is room for
  int64_t chunk_ = 0;                                 // squares
  int64_t row_ = 0, image_term_ = 0, sums_term_ = 0;  // elements, from one to the next
  uint32_t transformed_ = 0, sums_ = 0;
  Expr first_square_, count_, first_feature_, width_, weights_;
};

}  // namespace

bool lower_winograd(GroupEmitter& emit, Kernel& kernel, const Node* node,
                    const std::vector<bool>& constant_operands) {
  WinogradLowering lowering(emit, kernel, node, constant_operands);
  if (lowering.supported()) lowering.run();
  return lowering.supported();
}

}  // namespace ig::codegen
