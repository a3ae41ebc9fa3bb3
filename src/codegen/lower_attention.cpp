// Scaled dot-product attention as one kernel: no matrix of scores is in memory. A block of queries walks over
// the keys, kKeys at a time, and keeps for each query the greatest score so far, the sum of the powers, and
// the sum of the values with the powers as weights; where a greater score turns up, both sums are scaled
// down.
//
//   block (batch, up to kQueries queries)
//     for each kKeys keys
//       pack the keys into strips of nr: [strip][feature][nr]
//       for each mr queries
//         scores: mr x nr sums over the features, a strip at a time
//         for each query: scale, mask, the greatest, the powers, their sum; the weighted sum scaled
//         weighted sums: mr x nr sums over the keys, a strip of the values' columns at a time
//     the weighted sums over the sums of powers, with the work fused behind, are stored
//
// Order of summation, the same on every host and for any number of queries, keys or threads: a score is one
// fma chain over the features, then times the scale. Powers are summed over kKeys keys in fixed lanes, these
// sums in order. A weighted sum is one fma chain over the keys, interrupted by the scalings.
//
// A key that is masked does not contribute, whatever its value: where values that are not finite stand among
// the keys' values, keys of weight 0 are left out one by one; else their products are zeros.
#include <algorithm>

#include "codegen/attention_kernel.h"
#include "ops/attention_attrs.h"

namespace ig::codegen {
namespace {

using loop::Expr;
constexpr int64_t kKeys = 256;          // scaled and summed together: part of the order of summation
constexpr int64_t kPitch = kKeys + 16;  // from a query's powers to the next one's, apart in the first cache
constexpr int64_t kCausalRows = 48;  // queries that skip keys behind them together: a multiple of all tiles
constexpr int64_t kQueries = 288;    // of a block, at most: a multiple of kCausalRows

class AttentionLowering : AttentionKernel {
 public:
  AttentionLowering(GroupEmitter& emit, Kernel& kernel, const Node* node)
      : AttentionKernel(emit, kernel, node, node->operands().size() > 3 ? node->operand(3) : nullptr),
        v_(node->operand(2), batch_axes(rank_), Ints{rank_ - 2}) {
    columns_ = product(v_.free_dims);
    if (auto n = constant_of(queries_); n && *n < mr_) mr_ = std::max<int64_t>(1, *n);
    // More blocks for more threads, where heads alone are too few.
    rows_ = kQueries;
    auto heads = constant_of(batch_), n = constant_of(queries_);
    while (heads && n && rows_ > kCausalRows && *heads * ((*n + rows_ - 1) / rows_) < 8) rows_ -= kCausalRows;
    packs_q_ = !lies(q_);
    packs_v_ = !v_.rows_lie() || stored(v_) != type_;
  }

  void run() {
    const Dim parts = ceildiv(queries_, Dim(rows_));
    kernel_.blocks = batch_ * parts;
    kernel_.grain = 1;
    if (auto keys = constant_of(keys_), d = constant_of(features_); keys && d) {
      int64_t work = std::min(rows_, constant_of(queries_).value_or(rows_)) * *keys * *d * 2;
      set_grain(kernel_, emit_.target, type_, work);
    }
    const Dim padded = ceildiv(columns_, Dim(nr_)) * Dim(nr_);
    packed_k_ = build_.add_scratch(type_, features_ * Dim((kKeys + nr_ - 1) / nr_ * nr_), "k");
    if (packs_v_) packed_v_ = build_.add_scratch(type_, padded * Dim(kKeys), "v");
    if (packs_q_) packed_q_ = build_.add_scratch(type_, features_ * Dim(rows_ + mr_), "q");
    powers_ = build_.add_scratch(type_, Dim(mr_ * kPitch), "powers");
    sums_ = build_.add_scratch(type_, padded * Dim(rows_ + mr_), "sums");
    tops_ = build_.add_scratch(type_, Dim(rows_ + mr_), "tops");
    totals_ = build_.add_scratch(type_, Dim(rows_ + mr_), "totals");
    row_ = emit_.size(padded);

    Expr part_count = emit_.size(parts), block = build_.block();
    Expr batch = build_.let(block / part_count);
    first_ = build_.let((block % part_count) * rows_);
    count_ = build_.let(loop::lesser(build_.index(rows_), emit_.size(queries_) - first_));
    at_batch(batch, {&q_, &k_, &v_});
    read_scale();

    emit_.serial(build_.index(0), count_, [&](Expr r) {
      build_.store(tops_, r, lowest());
      build_.store(totals_, r, zero());
      emit_.vector(build_.index(0), row_, lanes(),
                   [&](Expr e) { build_.store(sums_, r * row_ + e, zero()); });
    });
    if (packs_q_)
      emit_.serial(build_.index(0), count_, [&](Expr r) {
        emit_.vector(build_.index(0), emit_.size(features_), lanes(), [&](Expr d) {
          build_.store(packed_q_, r * emit_.size(features_) + d, element(q_, first_ + r, d));
        });
      });
    Expr steps = (emit_.size(keys_) + build_.index(kKeys - 1)) / build_.index(kKeys);
    emit_.serial(build_.index(0), steps, [&](Expr step) {
      Expr key = build_.let(step * kKeys);
      some_keys(key, build_.let(loop::lesser(build_.index(kKeys), emit_.size(keys_) - key)));
    });
    emit_.serial(build_.index(0), count_, [&](Expr r) {
      Expr total = build_.load(totals_, r);
      Expr by = build_.let(loop::select(total == zero(), build_.constant(type_, 1), total));
      store_log_sum(r, by);
      // One division a row, as in softmax.
      Expr share = build_.let(build_.constant(type_, 1) / by);
      emit_.vector(build_.index(0), emit_.size(columns_), lanes(), [&](Expr e) {
        GroupEmitter::Index index = emit_.split(batch_index_, q_.batch_dims);
        index.push_back(first_ + r);
        index.push_back(e);
        store_sum(emit_, node_->result(), index, build_.let(build_.load(sums_, r * row_ + e) * share));
      });
    });
  }

 private:
  // For derivatives: the logarithm of a query's sum of powers, 0 where it has no key.
  void store_log_sum(Expr r, Expr sum) {
    for (size_t i = 0; node_->results().size() > 1 && i < emit_.region.results().size(); ++i) {
      if (emit_.region.results()[i] != node_->result(1)) continue;
      Expr top = build_.load(tops_, r);
      top = loop::select(top == lowest(), zero(), top);
      GroupEmitter::Index index = emit_.split(batch_index_, q_.batch_dims);
      index.push_back(first_ + r);
      emit_.store_result(i, emit_.flat(index, node_->result(1)->type().dims), top + loop::math::log(sum));
    }
  }
  // Keys key … of one step, in strips; and their values where they do not lie as they are wanted.
  void pack(Expr key, Expr keys) {
    if (lies(k_)) ask_for(k_, key, keys, emit_.size(features_));
    pack_strips(packed_k_, k_, key, keys, emit_.size(features_));
    if (packs_v_)
      emit_.serial(build_.index(0), keys, [&](Expr n) {
        emit_.vector(build_.index(0), emit_.size(columns_), lanes(),
                     [&](Expr e) { build_.store(packed_v_, n * row_ + e, element(v_, e, key + n)); });
      });
  }
  Expr value(Expr key, Expr n, Expr e) {
    if (packs_v_) return build_.load(packed_v_, n * row_ + e);
    return element(v_, e, key + n);
  }

  // Keys behind the last one that takes part are not looked at: their powers are zeros at the end of a sum.
  void some_keys(Expr key, Expr keys) {
    if (!masks_keys()) return looked_at(key, keys);
    Expr count = taken_keys(key, keys);
    build_.if_then(count > build_.index(0), [&] { emit_.scoped([&] { looked_at(key, count); }); });
  }

  void looked_at(Expr key, Expr keys) {
    pack(key, keys);
    Expr finite{};
    if (mask_ || causal_)
      finite = all_finite(build_.index(0), keys, emit_.size(columns_),
                          [&](Expr n, Expr e) { return value(key, n, e); });
    Expr groups = (count_ + build_.index(kCausalRows - 1)) / build_.index(kCausalRows);
    emit_.serial(build_.index(0), groups, [&](Expr group) {
      Expr from = build_.let(group * kCausalRows);
      Expr to = build_.let(loop::lesser(from + build_.index(kCausalRows), count_));
      auto all = [&](Expr count) {
        each_tile(emit_, tiles_of(to - from), [&](Expr height, Expr first, const ByHeight& by_height) {
          tile(height, by_height, build_.let(from + first), to, key, count, finite);
        });
      };
      if (!causal_) return all(keys);
      // Which keys are behind all of these queries depends on their positions alone, not on how many there
      // are.
      Expr reach = build_.let(first_ + from + build_.index(kCausalRows) - key);
      build_.if_then(reach > build_.index(0),
                     [&] { emit_.scoped([&] { all(build_.let(loop::lesser(keys, reach))); }); });
    });
  }

  // `height` queries from `row` on.
  void tile(Expr height, const ByHeight& by_height, Expr row, Expr end, Expr key, Expr keys, Expr finite) {
    by_height([&](int64_t rows) { scores(rows, row, end, keys); });
    // The next tile's queries, which lie in no near cache, come while this one's powers are made: its sums
    // over a few features would wait for each line of each of them.
    if (!packs_q_) ask_for(q_, build_.let(first_ + row + height), height, emit_.size(features_));
    Expr count = build_.let(loop::lesser(height, end - row));
    emit_.serial(build_.index(0), count, [&](Expr i) { weights(i, build_.let(row + i), key, keys); });
    Number power = [&](Expr i, Expr n) { return build_.load(powers_, i * kPitch + n); };
    Number values = [&](Expr n, Expr e) { return value(key, n, e); };
    const Sums sums{sums_, row, row_, columns_};
    auto all = [&] {
      by_height([&](int64_t rows) { add_tile(rows, build_.index(0), sums, keys, power, values); });
    };
    if (!finite) return all();
    build_.if_then(
        finite, [&] { emit_.scoped(all); },
        [&] { emit_.scoped([&] { add_taken(count, sums, keys, power, values, power); }); });
  }

  void scores(int64_t rows, Expr row, Expr end, Expr keys) {
    Expr features = emit_.size(features_);
    std::vector<Expr> from;
    for (int64_t i = 0; i < rows; ++i) {  // those behind the last repeat it
      Expr r = build_.let(loop::lesser(row + build_.index(i), end - build_.index(1)));
      from.push_back(
          build_.let(packs_q_ ? r * features : q_.offset(emit_, q_.first, first_ + r, build_.index(0))));
    }
    uint32_t buffer = packs_q_ ? packed_q_ : emit_.buffer_of_arg(q_.view->arg);
    products(rows, keys, features, packed_k_, powers_, build_.index(0), kPitch,
             [&](size_t i, Expr d) { return build_.load(buffer, from[i] + d); });
  }

  // Scores to powers, and what is kept of the query so far brought to the new greatest score.
  void weights(Expr i, Expr row, Expr key, Expr keys) {
    const int lanes = attention_lanes(type_);
    Expr at = build_.let(i * kPitch), query = build_.let(first_ + row);
    uint32_t top = build_.local(type_, lanes, 1, "top"), total = build_.local(type_, lanes, 1, "total");
    build_.assign(top, lowest());
    build_.assign(total, zero());
    emit_.vector(build_.index(0), keys, lanes, [&](Expr n) {
      Expr score = build_.let(masked(build_.load(powers_, at + n), query, key + n));
      build_.store(powers_, at + n, score);
      Expr best = build_.read(top);
      build_.assign(top, loop::select(best < score, score, best));
    });
    Expr before = build_.let(build_.load(tops_, row));
    Expr here = build_.let(build_.reduce_lanes(top, loop::Reduction::Max));
    Expr after = build_.let(loop::select(before < here, here, before));
    // Nothing is subtracted while no key takes part: all powers are 0.
    Expr base = build_.let(loop::select(after == lowest(), zero(), after));
    // Powers of 0 fill the last vector, so that the code of an exponential is not there a second time for it.
    emit_.vector(build_.index(0), build_.index(lanes), lanes,
                 [&](Expr n) { build_.store(powers_, at + keys + n, lowest()); });
    Expr whole = (keys + build_.index(lanes - 1)) / build_.index(lanes) * build_.index(lanes);
    emit_.vector(build_.index(0), whole, lanes, [&](Expr n) {
      Expr power = build_.let(attention_power(build_.load(powers_, at + n) - base));
      build_.store(powers_, at + n, power);
      build_.assign(total, build_.read(total) + power);
    });
    build_.store(tops_, row, after);
    build_.if_then((before < after) & (before > lowest()), [&] {
      Expr factor = build_.let(attention_power(before - base));
      build_.store(totals_, row, build_.load(totals_, row) * factor);
      emit_.vector(build_.index(0), row_, this->lanes(), [&](Expr e) {
        build_.store(sums_, row * row_ + e, build_.load(sums_, row * row_ + e) * factor);
      });
    });
    build_.store(totals_, row, build_.load(totals_, row) + build_.reduce_lanes(total, loop::Reduction::Add));
  }

  Side v_;
  bool packs_q_ = false, packs_v_ = false;
  Dim columns_;
  int64_t rows_ = 0;
  uint32_t packed_k_ = 0, packed_v_ = 0, packed_q_ = 0, powers_ = 0, sums_ = 0, tops_ = 0, totals_ = 0;
  Expr row_, first_, count_;
};

}  // namespace

void lower_attention(GroupEmitter& emit, Kernel& kernel, const Node* node) {
  AttentionLowering(emit, kernel, node).run();
}

}  // namespace ig::codegen
