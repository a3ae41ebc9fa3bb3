// The derivative of attention as one kernel: no matrix of weights is in memory (Dao et al., FlashAttention,
// 2022). The weights of kRows queries and kKeys keys are made again from the logarithms that the forward
// kernel gave, and what they weigh is added to the gradients at once:
//
//   w = exp(q k^T scale + mask - log_sum)      ds = w (g v^T - rowsum(g result))
//   dv += w^T g      dk += ds^T q      dq += ds k      d_mask += ds
//
//   task (a batch entry, or some of its queries or keys)
//     for each kKeys keys: packed into strips, as their values are
//       for each kRows queries
//         scores and g v^T: mr x nr sums over the features, then w and ds, element by element
//         dv, dk: mr x nr sums over the queries; dq: over the keys
//
// With heads enough for all threads a task is a head. Else there are tasks for keys, which give dk and dv,
// and tasks for queries, which give dq; both make the weights. A mask that is the same for several batch
// entries gets the sum over them: its task goes through them one after the other.
//
// Order of summation, the same for either way, for any number of threads and on every host: each element of
// dq is one fma chain over the keys, of dk and dv over the queries, ascending from +0; dq and dk are scaled
// at the end. Which queries and keys are left out, being masked, follows from a fixed grid.
//
// A masked key contributes nothing and gets nothing, whatever stands there, and so does a query without keys:
// where numbers that are not finite are among what is multiplied by weights, those that are 0 are left out
// one by one.
#include <algorithm>

#include "codegen/attention_kernel.h"
#include "ops/attention_attrs.h"

namespace ig::codegen {
namespace {

using loop::Expr;
constexpr int64_t kKeys = 96, kRows = 48;  // multiples of all tiles, and the keys of the queries
constexpr int64_t kPart = 192;             // queries or keys of a task that is part of a head
constexpr int64_t kEnough = 8;             // tasks

class AttentionGradient : AttentionKernel {
 public:
  AttentionGradient(GroupEmitter& emit, Kernel& kernel, const Node* node)
      : AttentionKernel(emit, kernel, node, node->operands().size() > 6 ? node->operand(6) : nullptr),
        v_(node->operand(2), batch_axes(rank_), Ints{rank_ - 1}),
        result_(node->operand(3), batch_axes(rank_), Ints{rank_ - 1}),
        g_(node->operand(5), batch_axes(rank_), Ints{rank_ - 1}) {
    columns_ = product(v_.folded_dims);
    for (size_t i = 0; i < 4; ++i) {
      wanted_[i] = -1;
      for (size_t r = 0; i < node->results().size() && r < emit.region.results().size(); ++r)
        if (emit.region.results()[r] == node->result(i)) wanted_[i] = static_cast<int>(r);
    }
    asks_ = mask_ || causal_;
  }

  void run() {
    bool whole = wanted_[3] < 0;  // a task is a batch entry
    if (auto heads = constant_of(batch_); heads && *heads < kEnough) whole = false;
    part_ = kPart;
    if (auto heads = constant_of(batch_), n = constant_of(queries_), m = constant_of(keys_); heads && n && m)
      while (part_ > kKeys && *heads * (ceil_over(*n, part_) + ceil_over(*m, part_)) < kEnough) part_ /= 2;
    find_shared_batch();
    const bool for_keys = wanted_[1] >= 0 || wanted_[2] >= 0,
               for_queries = wanted_[0] >= 0 || wanted_[3] >= 0;
    const Dim key_parts = ceildiv(keys_, Dim(part_)), query_parts = ceildiv(queries_, Dim(part_));
    const Dim key_tasks = for_keys ? batch_ * key_parts : Dim(int64_t{0});
    kernel_.blocks = batch_;
    if (!whole)
      kernel_.blocks = key_tasks + (for_queries ? product(own_dims_) * query_parts : Dim(int64_t{0}));
    kernel_.grain = 1;
    if (auto n = constant_of(queries_), m = constant_of(keys_), d = constant_of(features_); n && m && d) {
      int64_t work = 5 * (whole ? *n * *m : std::min(part_ * std::max(*n, *m), *n * *m)) * *d;
      set_grain(kernel_, emit_.target, type_, work);
    }
    add_scratch(whole);
    read_scale();

    Expr all_queries = emit_.size(queries_), all_keys = emit_.size(keys_), none = build_.index(0);
    if (whole) {
      begin(build_.let(build_.block()), none, all_queries);
      walk(none, all_keys, for_queries, for_keys);
      return;
    }
    auto keys_task = [&] {
      Expr parts = emit_.size(max(key_parts, Dim(int64_t{1}))), task = build_.block();
      Expr from = build_.let((task % parts) * part_);
      begin(build_.let(task / parts), none, all_queries);
      walk(from, build_.let(loop::lesser(from + build_.index(part_), all_keys)), false, true);
    };
    auto queries_task = [&] {
      Expr parts = emit_.size(max(query_parts, Dim(int64_t{1}))),
           task = build_.let(build_.block() - emit_.size(key_tasks));
      Expr from = build_.let((task % parts) * part_), own = build_.let(task / parts);
      Expr to = build_.let(loop::lesser(from + build_.index(part_), all_queries));
      GroupEmitter::Index place = emit_.split(own, own_dims_);
      for (Expr& i : place) i = build_.let(i);
      if (wanted_[3] >= 0) clear_mask(place, from, to);
      emit_.serial(none, emit_.size(product(shared_dims_)), [&](Expr shared) {
        begin(build_.let(batch_of(place, shared)), from, to);
        walk(none, all_keys, true, false);
      });
    };
    if (!for_keys) return queries_task();
    if (!for_queries) return keys_task();
    build_.if_then(
        build_.block() < emit_.size(key_tasks), [&] { emit_.scoped(keys_task); },
        [&] { emit_.scoped(queries_task); });
  }

 private:
  // --- tasks

  // The batch axes along which the mask is the same, where its gradient is wanted: they are summed over.
  void find_shared_batch() {
    const size_t axes = q_.batch_dims.size();
    for (size_t axis = 0; axis < axes; ++axis) {
      bool shared = false;
      if (wanted_[3] >= 0) {
        const Dims& dims = mask_->type().dims;
        shared = axis + dims.size() < axes + 2 || dims[axis + dims.size() - axes - 2] == Dim(int64_t{1});
      }
      (shared ? shared_dims_ : own_dims_).push_back(q_.batch_dims[axis]);
      is_shared_.push_back(shared);
    }
  }

  Expr batch_of(const GroupEmitter::Index& own, Expr shared) {
    GroupEmitter::Index rest = emit_.split(shared, shared_dims_), index;
    for (size_t axis = 0, o = 0, s = 0; axis < is_shared_.size(); ++axis)
      index.push_back(is_shared_[axis] ? rest[s++] : own[o++]);
    return emit_.flat(index, q_.batch_dims);
  }

  void add_scratch(bool whole) {
    const Dim nr(nr_), mr(mr_);
    const Dim features = ceildiv(features_, nr) * nr, columns = ceildiv(columns_, nr) * nr;
    const bool whole_keys = wanted_[1] >= 0 || wanted_[2] >= 0;  // then some task goes through all queries
    const Dim rows = whole || whole_keys ? queries_ : min(queries_, Dim(part_));
    const Dim summed = whole ? queries_ : min(queries_, Dim(part_));
    strips_k_ = build_.add_scratch(type_, features_ * Dim(kKeys + nr_), "k");
    strips_v_ = build_.add_scratch(type_, columns_ * Dim(kKeys + nr_), "v");
    if (packs_k_ = !lies(k_); packs_k_) rows_k_ = build_.add_scratch(type_, features_ * Dim(kKeys), "rows");
    if (packs_q_ = !lies(q_); packs_q_) rows_q_ = build_.add_scratch(type_, features_ * rows, "q");
    if (packs_g_ = !lies(g_); packs_g_) rows_g_ = build_.add_scratch(type_, columns_ * rows, "g");
    weights_ = build_.add_scratch(type_, Dim((kRows + mr_) * kPitch), "weights");
    slopes_ = build_.add_scratch(type_, Dim((kRows + mr_) * kPitch), "slopes");
    along_ = build_.add_scratch(type_, rows, "along");
    if (wanted_[0] >= 0) dq_ = build_.add_scratch(type_, features * (summed + mr), "dq");
    if (wanted_[1] >= 0) dk_ = build_.add_scratch(type_, features * Dim(kKeys + mr_), "dk");
    if (wanted_[2] >= 0) dv_ = build_.add_scratch(type_, columns * Dim(kKeys + mr_), "dv");
    features_pitch_ = emit_.size(features), columns_pitch_ = emit_.size(columns);
  }

  // The queries [from, to) of a batch entry: what there is to know of each.
  void begin(Expr batch, Expr from, Expr to) {
    at_batch(batch, {&q_, &k_, &v_, &result_, &g_});
    from_ = from, to_ = to;
    Expr columns = emit_.size(columns_), features = emit_.size(features_);
    emit_.serial(from, to, [&](Expr i) {
      const int lanes = attention_lanes(type_);
      uint32_t sum = build_.local(type_, lanes, 1, "along");
      build_.assign(sum, zero());
      emit_.vector(build_.index(0), columns, lanes, [&](Expr e) {
        Expr g = build_.let(element(g_, i, e));
        if (packs_g_) build_.store(rows_g_, (i - from) * columns + e, g);
        build_.assign(sum, loop::fma(g, element(result_, i, e), build_.read(sum)));
      });
      build_.store(along_, i - from, build_.reduce_lanes(sum, loop::Reduction::Add));
      if (packs_q_)
        emit_.vector(build_.index(0), features, lanes,
                     [&](Expr d) { build_.store(rows_q_, (i - from) * features + d, element(q_, i, d)); });
    });
    if (!asks_) return;
    finite_ = all_finite(from, to, features, [&](Expr i, Expr d) { return query(i, d); });
    finite_ =
        build_.let(finite_ & all_finite(from, to, columns, [&](Expr i, Expr e) { return cotangent(i, e); }));
  }

  Expr row_of(const Side& side, bool packed, Expr i, const Dim& width) {
    return packed ? (i - from_) * emit_.size(width) : side.offset(emit_, side.first, i, build_.index(0));
  }
  uint32_t buffer_of(const Side& side, bool packed, uint32_t rows) {
    return packed ? rows : emit_.buffer_of_arg(side.view->arg);
  }
  Expr query(Expr i, Expr d) {
    return build_.load(buffer_of(q_, packs_q_, rows_q_), row_of(q_, packs_q_, i, features_) + d);
  }
  Expr cotangent(Expr i, Expr e) {
    return build_.load(buffer_of(g_, packs_g_, rows_g_), row_of(g_, packs_g_, i, columns_) + e);
  }
  Expr key_row(Expr key, Expr n, Expr d) {
    if (packs_k_) return build_.load(rows_k_, n * emit_.size(features_) + d);
    return element(k_, key + n, d);
  }

  // --- the walk

  // Keys [first, last), and the queries that were begun.
  void walk(Expr first, Expr last, bool queries, bool keys) {
    gives_queries_ = queries, gives_keys_ = keys;
    const bool sums_dq = queries && wanted_[0] >= 0;
    if (sums_dq)
      emit_.vector(build_.index(0), (to_ - from_) * features_pitch_, lanes(),
                   [&](Expr i) { build_.store(dq_, i, zero()); });
    emit_.serial(build_.index(0), (last - first + build_.index(kKeys - 1)) / build_.index(kKeys),
                 [&](Expr step) {
                   Expr key = build_.let(first + step * kKeys);
                   some_keys(key, build_.let(loop::lesser(build_.index(kKeys), last - key)));
                 });
    if (sums_dq)
      emit_.serial(from_, to_, [&](Expr i) {
        store_row(0, i, features_,
                  [&](Expr d) { return build_.load(dq_, (i - from_) * features_pitch_ + d) * scale_; });
      });
  }

  void store_row(size_t result, Expr row, const Dim& width, const std::function<Expr(Expr)>& value) {
    const auto place = static_cast<size_t>(wanted_[result]);
    emit_.vector(build_.index(0), emit_.size(width), lanes(), [&](Expr e) {
      GroupEmitter::Index index = emit_.split(batch_index_, q_.batch_dims);
      index.push_back(row);
      index.push_back(e);
      emit_.store_result(place, emit_.flat(index, node_->result(result)->type().dims), value(e));
    });
  }

  void some_keys(Expr key, Expr keys) {
    struct Of {
      size_t result;
      uint32_t sums;
      Expr pitch;
      Dim width;
    };
    std::vector<Of> given;
    if (gives_keys_ && wanted_[1] >= 0) given.push_back({1, dk_, features_pitch_, features_});
    if (gives_keys_ && wanted_[2] >= 0) given.push_back({2, dv_, columns_pitch_, columns_});
    for (const Of& of : given)
      emit_.vector(build_.index(0), keys * of.pitch, lanes(),
                   [&](Expr i) { build_.store(of.sums, i, zero()); });
    // Keys behind the last one that takes part are not looked at, and get nothing.
    Expr count = masks_keys() ? taken_keys(key, keys) : keys;
    build_.if_then(count > build_.index(0), [&] { emit_.scoped([&] { looked_at(key, count); }); });
    for (const Of& of : given)
      emit_.serial(build_.index(0), keys, [&](Expr n) {
        store_row(of.result, key + n, of.width, [&](Expr d) {
          Expr sum = build_.load(of.sums, n * of.pitch + d);
          if (of.result == 1) sum = sum * scale_;
          return masks_keys() ? loop::select(n < count, sum, zero()) : sum;
        });
      });
  }

  void looked_at(Expr key, Expr keys) {
    Expr features = emit_.size(features_);
    pack_strips(strips_k_, k_, key, keys, features);
    pack_strips(strips_v_, v_, key, keys, emit_.size(columns_));
    if (packs_k_)
      emit_.serial(build_.index(0), keys, [&](Expr n) {
        emit_.vector(build_.index(0), features, lanes(),
                     [&](Expr d) { build_.store(rows_k_, n * features + d, element(k_, key + n, d)); });
      });
    Expr finite{};
    if (asks_)
      finite = build_.let(finite_ & all_finite(build_.index(0), keys, features,
                                               [&](Expr n, Expr d) { return key_row(key, n, d); }));
    Expr groups = (to_ - from_ + build_.index(kRows - 1)) / build_.index(kRows);
    emit_.serial(build_.index(0), groups, [&](Expr group) {
      Expr row = build_.let(from_ + group * kRows);
      Expr rows = build_.let(loop::lesser(build_.index(kRows), to_ - row));
      if (!causal_) return block(row, rows, key, keys, finite);
      Expr reach = build_.let(row + build_.index(kRows) - key);
      build_.if_then(reach > build_.index(0), [&] {
        emit_.scoped([&] { block(row, rows, key, build_.let(loop::lesser(keys, reach)), finite); });
      });
    });
  }

  // Queries row … and keys key …
  void block(Expr row, Expr rows, Expr key, Expr keys, Expr finite) {
    each_tile(emit_, tiles_of(rows), [&](int64_t height, Expr first) {
      std::vector<Expr> q, g;
      for (int64_t i = 0; i < height; ++i) {  // those behind the last repeat it
        Expr at = build_.let(row + loop::lesser(first + build_.index(i), rows - build_.index(1)));
        q.push_back(build_.let(row_of(q_, packs_q_, at, features_)));
        g.push_back(build_.let(row_of(g_, packs_g_, at, columns_)));
      }
      Expr to = build_.let(first * kPitch);
      products(height, keys, emit_.size(features_), strips_k_, weights_, to, kPitch,
               [&](size_t i, Expr d) { return build_.load(buffer_of(q_, packs_q_, rows_q_), q[i] + d); });
      products(height, keys, emit_.size(columns_), strips_v_, slopes_, to, kPitch,
               [&](size_t i, Expr e) { return build_.load(buffer_of(g_, packs_g_, rows_g_), g[i] + e); });
    });
    emit_.serial(build_.index(0), rows, [&](Expr i) { weigh(i, build_.let(row + i), key, keys); });
    if (!finite) return add(row, rows, key, keys, false);
    build_.if_then(
        finite, [&] { emit_.scoped([&] { add(row, rows, key, keys, false); }); },
        [&] { emit_.scoped([&] { add(row, rows, key, keys, true); }); });
  }

  // Scores to weights, and what is added to the cotangent of each score.
  void weigh(Expr i, Expr query, Expr key, Expr keys) {
    GroupEmitter::Index index = emit_.split(batch_index_, q_.batch_dims);
    index.push_back(query);
    Expr sum = build_.let(widen(emit_.element(node_->operand(4), index)));
    Expr along = build_.let(build_.load(along_, query - from_));
    Expr at = build_.let(i * kPitch);
    emit_.vector(build_.index(0), keys, attention_lanes(type_), [&](Expr n) {
      Expr score = masked(build_.load(weights_, at + n), query, key + n);
      Expr weight = build_.let(attention_power(score - sum));
      Expr slope = weight * (build_.load(slopes_, at + n) - along);
      if (asks_) slope = loop::select(weight == zero(), zero(), slope);
      slope = build_.let(slope);
      build_.store(weights_, at + n, weight);
      build_.store(slopes_, at + n, slope);
      if (gives_queries_ && wanted_[3] >= 0) {
        Expr flat = build_.let(mask_place(query, key + n));
        const auto place = static_cast<size_t>(wanted_[3]);
        emit_.store_result(place, flat, build_.load(emit_.result_buffer(place), flat) + slope);
      }
    });
  }

  void add(Expr row, Expr rows, Expr key, Expr keys, bool asked) {
    auto number = [this](uint32_t buffer) -> Number {  // of a query, and a key
      return [this, buffer](Expr i, Expr n) { return build_.load(buffer, i * kPitch + n); };
    };
    auto turned = [this](uint32_t buffer) -> Number {  // of a key, and a query
      return [this, buffer](Expr n, Expr i) { return build_.load(buffer, i * kPitch + n); };
    };
    auto sum = [&](Expr count, const Sums& to, Expr steps, const Number& a, const Number& b,
                   const Number& taken) {
      if (asked) return add_taken(count, to, steps, a, b, taken);
      each_tile(emit_, tiles_of(count),
                [&](int64_t height, Expr first) { add_tile(height, first, to, steps, a, b); });
    };
    if (gives_queries_ && wanted_[0] >= 0)
      sum(
          rows, {dq_, build_.let(row - from_), features_pitch_, features_}, keys, number(slopes_),
          [&](Expr n, Expr d) { return key_row(key, n, d); }, number(weights_));
    if (gives_keys_ && wanted_[2] >= 0)
      sum(
          keys, {dv_, build_.index(0), columns_pitch_, columns_}, rows, turned(weights_),
          [&](Expr i, Expr e) { return cotangent(row + i, e); }, turned(weights_));
    if (gives_keys_ && wanted_[1] >= 0)
      sum(
          keys, {dk_, build_.index(0), features_pitch_, features_}, rows, turned(slopes_),
          [&](Expr i, Expr d) { return query(row + i, d); }, turned(weights_));
  }

  // --- the mask's gradient

  Expr mask_place(Expr query, Expr key) {
    const Dims& dims = node_->result(3)->type().dims;
    return emit_.flat(pair_index(dims, query, key), dims);
  }

  void clear_mask(const GroupEmitter::Index& own, Expr from, Expr to) {
    batch_index_ = build_.let(batch_of(own, build_.index(0)));
    const auto place = static_cast<size_t>(wanted_[3]);
    emit_.serial(from, to, [&](Expr i) {
      emit_.vector(build_.index(0), emit_.size(keys_), lanes(),
                   [&](Expr n) { emit_.store_result(place, mask_place(i, n), zero()); });
    });
  }

  static constexpr int64_t kPitch = kKeys + 16;  // rows of weights, apart in the first cache
  Side v_, result_, g_;
  Dim columns_;
  int wanted_[4] = {-1, -1, -1, -1};  // which result of the kernel each gradient is: dq, dk, dv, d_mask
  bool asks_ = false, packs_k_ = false, packs_q_ = false, packs_g_ = false;
  bool gives_queries_ = false, gives_keys_ = false;
  int64_t part_ = kPart;
  Dims own_dims_, shared_dims_;
  std::vector<bool> is_shared_;
  uint32_t strips_k_ = 0, strips_v_ = 0, rows_k_ = 0, rows_q_ = 0, rows_g_ = 0, weights_ = 0, slopes_ = 0;
  uint32_t along_ = 0, dq_ = 0, dk_ = 0, dv_ = 0;
  Expr features_pitch_{}, columns_pitch_{}, from_{}, to_{}, finite_{};
};

}  // namespace

void lower_attention_gradient(GroupEmitter& emit, Kernel& kernel, const Node* node) {
  AttentionGradient(emit, kernel, node).run();
}

}  // namespace ig::codegen
