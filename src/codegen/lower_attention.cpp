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
#include <limits>

#include "codegen/dot_operands.h"
#include "codegen/register_tile.h"
#include "loop/math_detail.h"
#include "ops/attention_attrs.h"

namespace ig::codegen {
namespace {

using loop::Expr;
constexpr int64_t kKeys = 128;       // scaled and summed together: part of the order of summation
constexpr int64_t kCausalRows = 48;  // queries that skip keys behind them together: a multiple of all tiles
constexpr int64_t kQueries = 192;    // of a block, at most

// Lanes of what runs over the keys of one query: two registers of 256 bits, whose exponentials do not spill.
int key_lanes(DType type) { return size_of(type) == 8 ? 8 : 16; }

// e^x of x <= 0. In single precision powers that would be denormal are 0: beside the greatest one, which is
// 1, they weigh nothing.
Expr power_of(Expr x) {
  if (x.type() != DType::F32) return loop::math::exp(x);
  return loop::select(x < -87.0, x.builder().constant(DType::F32, 0), loop::math::exp32_bounded(x));
}

Ints axes_below(int64_t count) {
  Ints out;
  for (int64_t i = 0; i < count; ++i) out.push_back(i);
  return out;
}

class AttentionLowering {
 public:
  AttentionLowering(GroupEmitter& emit, Kernel& kernel, const Node* node)
      : emit_(emit),
        kernel_(kernel),
        build_(emit.build),
        node_(node),
        rank_(node->operand(0)->type().rank()),
        q_(node->operand(0), axes_below(rank_ - 2), {rank_ - 1}),
        k_(node->operand(1), axes_below(rank_ - 2), {rank_ - 1}),
        v_(node->operand(2), axes_below(rank_ - 2), {rank_ - 2}),
        mask_(node->operands().size() > 3 ? node->operand(3) : nullptr),
        causal_(node->attrs().get(ops::kCausal)) {
    DType result = node->result()->type().dtype;
    type_ = size_of(result) < 4 ? DType::F32 : result;
    queries_ = product(q_.free_dims), keys_ = product(k_.free_dims);
    features_ = product(q_.folded_dims), columns_ = product(v_.free_dims);
    batch_ = product(q_.batch_dims);
    int64_t lanes = emit.target.vector_bytes / static_cast<int64_t>(size_of(type_));
    nr_ = 2 * lanes;
    mr_ = emit.target.registers == 32 ? 12 : 6;
    if (auto n = constant_of(queries_); n && *n < mr_) mr_ = std::max<int64_t>(1, *n);
    // More blocks for more threads, where heads alone are too few.
    rows_ = kQueries;
    auto heads = constant_of(batch_), n = constant_of(queries_);
    while (heads && n && rows_ > kCausalRows && *heads * ((*n + rows_ - 1) / rows_) < 8) rows_ /= 2;
    packs_q_ = !q_.columns_lie() || stored(q_) != type_;
    packs_v_ = !v_.rows_lie() || stored(v_) != type_;
  }

  void run() {
    const Dim parts = ceildiv(queries_, Dim(rows_));
    kernel_.blocks = batch_ * parts;
    kernel_.grain = 1;
    if (auto keys = constant_of(keys_), d = constant_of(features_); keys && d) {
      int64_t work = std::min(rows_, constant_of(queries_).value_or(rows_)) * *keys * *d * 2;
      kernel_.grain = std::max<int64_t>(1, 150'000 / std::max<int64_t>(1, work));
    }
    const Dim padded = ceildiv(columns_, Dim(nr_)) * Dim(nr_);
    packed_k_ = build_.add_scratch(type_, features_ * Dim((kKeys + nr_ - 1) / nr_ * nr_), "k");
    if (packs_v_) packed_v_ = build_.add_scratch(type_, padded * Dim(kKeys), "v");
    if (packs_q_) packed_q_ = build_.add_scratch(type_, features_ * Dim(rows_ + mr_), "q");
    powers_ = build_.add_scratch(type_, Dim(mr_ * kKeys), "powers");
    sums_ = build_.add_scratch(type_, padded * Dim(rows_ + mr_), "sums");
    tops_ = build_.add_scratch(type_, Dim(rows_ + mr_), "tops");
    totals_ = build_.add_scratch(type_, Dim(rows_ + mr_), "totals");
    row_ = emit_.size(padded);

    Expr part_count = emit_.size(parts), block = build_.block();
    batch_index_ = build_.let(block / part_count);
    first_ = build_.let((block % part_count) * rows_);
    count_ = build_.let(loop::lesser(build_.index(rows_), emit_.size(queries_) - first_));
    for (auto [side, at] : {std::pair{&q_, &q_first_}, {&k_, &k_first_}, {&v_, &v_first_}})
      if (side->view) *at = build_.let(side->batch_offset(emit_, batch_index_));
    double scale = node_->attrs().get(ops::kScale);
    Expr width = loop::convert(emit_.size(max(features_, Dim(int64_t{1}))), type_);
    scale_ = build_.let(scale == 0 ? build_.constant(type_, 1) / loop::sqrt(width)
                                   : build_.constant(type_, scale));

    const int lanes = natural_lanes(emit_.target, static_cast<int>(size_of(type_)));
    emit_.serial(build_.index(0), count_, [&](Expr r) {
      build_.store(tops_, r, lowest());
      build_.store(totals_, r, zero());
      emit_.vector(build_.index(0), row_, lanes, [&](Expr e) { build_.store(sums_, r * row_ + e, zero()); });
    });
    if (packs_q_)
      emit_.serial(build_.index(0), count_, [&](Expr r) {
        emit_.vector(build_.index(0), emit_.size(features_), lanes, [&](Expr d) {
          build_.store(packed_q_, r * emit_.size(features_) + d, element(q_, q_first_, first_ + r, d));
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
      emit_.vector(build_.index(0), emit_.size(columns_), lanes, [&](Expr e) {
        GroupEmitter::Index index = emit_.split(batch_index_, q_.batch_dims);
        index.push_back(first_ + r);
        index.push_back(e);
        store_sum(emit_, node_->result(), index, build_.let(build_.load(sums_, r * row_ + e) / by));
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
  static DType stored(const DotSide& side) { return side.view->arg->type().dtype; }
  Expr zero() { return build_.constant(type_, 0); }
  Expr lowest() { return build_.constant(type_, -std::numeric_limits<double>::infinity()); }
  Expr widen(Expr value) const { return value.type() == type_ ? value : loop::convert(value, type_); }
  Expr element(const DotSide& side, Expr first, Expr free, Expr folded) {
    if (!side.view) return widen(side.at(emit_, batch_index_, free, folded));
    return widen(build_.load(emit_.buffer_of_arg(side.view->arg), side.offset(emit_, first, free, folded)));
  }

  // Keys key … of one step, in strips; and their values where they do not lie as they are wanted.
  void pack(Expr key, Expr keys) {
    Expr nr = build_.index(nr_), features = emit_.size(features_);
    const bool turns = k_.columns_lie() && stored(k_) == type_;
    emit_.serial(build_.index(0), (keys + build_.index(nr_ - 1)) / nr, [&](Expr s) {
      Expr first = build_.let(s * nr_), to = build_.let(s * nr_ * features);
      Expr width = build_.let(loop::lesser(nr, keys - first));
      if (turns)
        return build_.transpose(
            {packed_k_, to, nr},
            {emit_.buffer_of_arg(k_.view->arg), k_.offset(emit_, k_first_, key + first, build_.index(0)),
             emit_.size(k_.free_stride)},
            width, features);
      emit_.serial(build_.index(0), features, [&](Expr d) {
        emit_.vector(build_.index(0), width, static_cast<int>(nr_), [&](Expr j) {
          build_.store(packed_k_, to + d * nr_ + j, element(k_, k_first_, key + first + j, d));
        });
      });
    });
    const int lanes = natural_lanes(emit_.target, static_cast<int>(size_of(type_)));
    if (packs_v_)
      emit_.serial(build_.index(0), keys, [&](Expr n) {
        emit_.vector(build_.index(0), emit_.size(columns_), lanes, [&](Expr e) {
          build_.store(packed_v_, n * row_ + e, element(v_, v_first_, e, key + n));
        });
      });
  }
  Expr value(Expr key, Expr n, Expr e) {
    if (packs_v_) return build_.load(packed_v_, n * row_ + e);
    return element(v_, v_first_, e, key + n);
  }

  // True where all values of these keys are finite: x * 0 is 0 for finite numbers alone.
  Expr all_finite(Expr key, Expr keys) {
    const int lanes = natural_lanes(emit_.target, static_cast<int>(size_of(type_)));
    uint32_t sum = build_.local(type_, lanes, 1, "finite");
    build_.assign(sum, zero());
    emit_.serial(build_.index(0), keys, [&](Expr n) {
      emit_.vector(build_.index(0), emit_.size(columns_), lanes, [&](Expr e) {
        build_.assign(sum, loop::fma(value(key, n, e), zero(), build_.read(sum)));
      });
    });
    return build_.let(build_.reduce_lanes(sum, loop::Reduction::Add) == zero());
  }

  // One mask for all queries, as that of padding.
  bool masks_keys() const {
    if (!mask_ || mask_->type().dtype != DType::Bool) return false;
    const Dims& dims = mask_->type().dims;
    return !dims.empty() && dims.back() != Dim(int64_t{1}) &&
           (dims.size() == 1 || dims[dims.size() - 2] == Dim(int64_t{1}));
  }

  // The index of a query and a key in the mask, which broadcasts.
  GroupEmitter::Index mask_index(Expr query, Expr key) {
    const Dims& dims = mask_->type().dims;
    GroupEmitter::Index whole = emit_.split(batch_index_, q_.batch_dims), index;
    whole.push_back(query);
    whole.push_back(key);
    const size_t skipped = whole.size() - dims.size();
    for (size_t i = 0; i < dims.size(); ++i)
      index.push_back(dims[i] == Dim(int64_t{1}) ? build_.index(0) : whole[skipped + i]);
    return index;
  }

  // Keys behind the last one that takes part are not looked at: their powers are zeros at the end of a sum.
  void some_keys(Expr key, Expr keys) {
    if (!masks_keys()) return taken_keys(key, keys);
    uint32_t last = build_.local(DType::I64, 1, 1, "last");
    build_.assign(last, build_.index(0));
    emit_.serial(build_.index(0), keys, [&](Expr n) {
      Expr taken = emit_.element(mask_, mask_index(build_.index(0), key + n));
      build_.assign(last, loop::select(taken, n + build_.index(1), build_.read(last)));
    });
    Expr count = build_.let(build_.read(last));
    build_.if_then(count > build_.index(0), [&] { emit_.scoped([&] { taken_keys(key, count); }); });
  }

  void taken_keys(Expr key, Expr keys) {
    pack(key, keys);
    Expr finite = mask_ || causal_ ? all_finite(key, keys) : Expr{};
    Expr groups = (count_ + build_.index(kCausalRows - 1)) / build_.index(kCausalRows);
    emit_.serial(build_.index(0), groups, [&](Expr group) {
      Expr from = build_.let(group * kCausalRows);
      Expr to = build_.let(loop::lesser(from + build_.index(kCausalRows), count_));
      auto all = [&](Expr count) {
        emit_.serial(build_.index(0), (to - from + build_.index(mr_ - 1)) / build_.index(mr_),
                     [&](Expr t) { tile(build_.let(from + t * mr_), to, key, count, finite); });
      };
      if (!causal_) return all(keys);
      // Which keys are behind all of these queries depends on their positions alone, not on how many there
      // are.
      Expr reach = build_.let(first_ + from + build_.index(kCausalRows) - key);
      build_.if_then(reach > build_.index(0),
                     [&] { emit_.scoped([&] { all(build_.let(loop::lesser(keys, reach))); }); });
    });
  }

  void tile(Expr row, Expr end, Expr key, Expr keys, Expr finite) {
    const auto mr = static_cast<size_t>(mr_);
    std::vector<Expr> rows(mr);  // those behind the last repeat it
    for (size_t i = 0; i < mr; ++i)
      rows[i] = build_.let(loop::lesser(row + build_.index(static_cast<int64_t>(i)), end - build_.index(1)));
    scores(rows, keys);
    emit_.serial(build_.index(0), loop::lesser(build_.index(mr_), end - row),
                 [&](Expr i) { weights(i, build_.let(row + i), key, keys); });
    if (!finite) return add_values(row, key, keys, false);
    build_.if_then(
        finite, [&] { emit_.scoped([&] { add_values(row, key, keys, false); }); },
        [&] { emit_.scoped([&] { add_values(row, key, keys, true); }); });
  }

  void scores(const std::vector<Expr>& rows, Expr keys) {
    Expr features = emit_.size(features_);
    RegisterTile tile(build_, type_, mr_, nr_);
    std::vector<Expr> from;
    for (Expr r : rows)
      from.push_back(
          build_.let(packs_q_ ? r * features : q_.offset(emit_, q_first_, first_ + r, build_.index(0))));
    emit_.serial(build_.index(0), (keys + build_.index(nr_ - 1)) / build_.index(nr_), [&](Expr s) {
      Expr strip = build_.let(s * nr_ * features);
      emit_.vector(build_.index(0), build_.index(nr_), static_cast<int>(nr_), [&](Expr j) {
        tile.clear();
        tile.sum(
            emit_, build_.index(0), features,
            [&](size_t i, Expr d) {
              uint32_t buffer = packs_q_ ? packed_q_ : emit_.buffer_of_arg(q_.view->arg);
              return build_.load(buffer, from[i] + d);
            },
            [&](Expr d, size_t) { return build_.load(packed_k_, strip + d * nr_ + j); });
        for (size_t i = 0; i < rows.size(); ++i)
          build_.store(powers_, s * nr_ + j + build_.index(static_cast<int64_t>(i) * kKeys), tile.value(i));
      });
    });
  }

  // The score of a query and a key, masked: minus infinity where the key takes no part.
  Expr masked(Expr score, Expr query, Expr key) {
    score = score * scale_;
    Expr taken;
    if (mask_) {
      Expr value = emit_.element(mask_, mask_index(query, key));
      if (mask_->type().dtype == DType::Bool)
        taken = value;
      else
        score = score + widen(value);
    }
    if (causal_) {
      Expr reached = key <= query;
      taken = taken ? taken & reached : reached;
    }
    return taken ? loop::select(taken, score, lowest()) : score;
  }

  // Scores to powers, and what is kept of the query so far brought to the new greatest score.
  void weights(Expr i, Expr row, Expr key, Expr keys) {
    const int lanes = key_lanes(type_);
    Expr at = build_.let(i * kKeys), query = build_.let(first_ + row);
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
    emit_.vector(build_.index(0), keys, lanes, [&](Expr n) {
      Expr power = build_.let(power_of(build_.load(powers_, at + n) - base));
      build_.store(powers_, at + n, power);
      build_.assign(total, build_.read(total) + power);
    });
    build_.store(tops_, row, after);
    build_.if_then((before < after) & (before > lowest()), [&] {
      Expr factor = build_.let(power_of(before - base));
      build_.store(totals_, row, build_.load(totals_, row) * factor);
      const int wide = natural_lanes(emit_.target, static_cast<int>(size_of(type_)));
      emit_.vector(build_.index(0), row_, wide, [&](Expr e) {
        build_.store(sums_, row * row_ + e, build_.load(sums_, row * row_ + e) * factor);
      });
    });
    build_.store(totals_, row, build_.load(totals_, row) + build_.reduce_lanes(total, loop::Reduction::Add));
  }

  void add_values(Expr row, Expr key, Expr keys, bool asked) {
    Expr columns = emit_.size(columns_);
    const auto lanes = static_cast<int>(nr_);
    RegisterTile tile(build_, type_, mr_, nr_);
    auto strip = [&](Expr first, Expr width) {
      emit_.vector(build_.index(0), width, lanes, [&](Expr j) {
        auto kept = [&](size_t i) {
          return (row + build_.index(static_cast<int64_t>(i))) * row_ + first + j;
        };
        auto power = [&](size_t i, Expr n) {
          return build_.load(powers_, build_.index(static_cast<int64_t>(i) * kKeys) + n);
        };
        tile.load([&](size_t i, size_t) { return build_.load(sums_, kept(i)); });
        if (!asked)
          tile.sum(emit_, build_.index(0), keys, power,
                   [&](Expr n, size_t) { return value(key, n, first + j); });
        else
          emit_.serial(build_.index(0), keys, [&](Expr n) {
            Expr v = build_.let(value(key, n, first + j));
            for (size_t i = 0; i < static_cast<size_t>(mr_); ++i) {
              Expr p = build_.let(power(i, n));
              build_.if_then(p != zero(), [&] { emit_.scoped([&] { tile.add(i, p, v); }); });
            }
          });
        for (size_t i = 0; i < static_cast<size_t>(mr_); ++i) build_.store(sums_, kept(i), tile.value(i));
      });
    };
    Expr full = build_.let(columns / build_.index(nr_));
    emit_.serial(build_.index(0), full, [&](Expr s) { strip(build_.let(s * nr_), build_.index(nr_)); });
    if (columns_.is_constant() && columns_.constant() % nr_ == 0) return;
    Expr done = build_.let(full * nr_);
    build_.if_then(done < columns, [&] { emit_.scoped([&] { strip(done, build_.let(columns - done)); }); });
  }

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* node_;
  int64_t rank_;
  DotSide q_, k_, v_;
  Value mask_;
  bool causal_, packs_q_ = false, packs_v_ = false;
  DType type_;
  Dim queries_, keys_, features_, columns_, batch_;
  int64_t nr_ = 0, mr_ = 0, rows_ = 0;
  uint32_t packed_k_ = 0, packed_v_ = 0, packed_q_ = 0, powers_ = 0, sums_ = 0, tops_ = 0, totals_ = 0;
  Expr row_, batch_index_, first_, count_, q_first_, k_first_, v_first_, scale_;
};

}  // namespace

void lower_attention(GroupEmitter& emit, Kernel& kernel, const Node* node) {
  AttentionLowering(emit, kernel, node).run();
}

}  // namespace ig::codegen
