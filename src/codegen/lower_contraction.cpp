// Sums of products. A dot product kernel computes, for each batch, C[m, n] = sum over k of A[m, k] * B[k, n], then the
// element-wise work that was fused behind it, and stores.
//
//   block (batch, rows of MB, columns of NB)
//     for each chunk of KC of k
//       pack B into strips of NR columns: scratch[strip][k][NR]        (unless it came packed, or lies so already)
//       pack A into strips of MR rows:    scratch[strip][k][MR]        (unless a row of it lies contiguously)
//       for each strip of B, for each strip of A: MR x NR accumulators in registers, one fma chain over k
//
// Order of summation: for each output one chain of fma over k, ascending, from +0; tiles and chunks only interrupt the
// chain (the running value is stored and loaded), so no result depends on sizes of tiles, number of rows, or the host.
#include <algorithm>
#include <optional>

#include "codegen/group_emitter.h"
#include "ops/attrs.h"

namespace ig::codegen {
namespace {

using loop::Expr;
const Dim kOne = Dim(int64_t{1});

// The operands of a dot product in matrix form: which axes are batch, rows (or columns), and folded.
struct Side {
  Value value = nullptr;
  Ints batch, free, folded;
  Dims batch_dims, free_dims, folded_dims;

  Side(Value v, Ints batch_axes, Ints folded_axes) : value(v), batch(std::move(batch_axes)), folded(std::move(folded_axes)) {
    const Dims& dims = v->type().dims;
    for (int64_t a : batch) batch_dims.push_back(dims[static_cast<size_t>(a)]);
    for (int64_t a : folded) folded_dims.push_back(dims[static_cast<size_t>(a)]);
    for (int64_t a = 0; a < static_cast<int64_t>(dims.size()); ++a)
      if (std::find(batch.begin(), batch.end(), a) == batch.end() &&
          std::find(folded.begin(), folded.end(), a) == folded.end()) {
        free.push_back(a);
        free_dims.push_back(dims[static_cast<size_t>(a)]);
      }
  }
  Expr at(GroupEmitter& emit, Expr batch_flat, Expr free_flat, Expr folded_flat) const {
    GroupEmitter::Index index(value->type().dims.size());
    auto put = [&](const Ints& axes, const Dims& dims, Expr flat) {
      GroupEmitter::Index part = emit.split(flat, dims);
      for (size_t i = 0; i < axes.size(); ++i) index[static_cast<size_t>(axes[i])] = part[i];
    };
    put(batch, batch_dims, batch_flat);
    put(free, free_dims, free_flat);
    put(folded, folded_dims, folded_flat);
    return emit.element(value, index);
  }
  bool is_operand() const { return value->node() == nullptr; }
  // Elements next to each other along the free axes lie next to each other in memory.
  bool free_contiguous() const {
    return is_operand() && !free.empty() && free.back() == static_cast<int64_t>(value->type().dims.size()) - 1 && consecutive(free);
  }
  bool folded_contiguous() const {
    return is_operand() && !folded.empty() && folded.back() == static_cast<int64_t>(value->type().dims.size()) - 1 &&
           consecutive(folded);
  }
  static bool consecutive(const Ints& axes) {
    for (size_t i = 1; i < axes.size(); ++i)
      if (axes[i] != axes[i - 1] + 1) return false;
    return true;
  }
};

struct Tiles {
  int64_t mr, nr;    // the register tile
  int64_t mb, nb;    // the tile of a block
  int64_t kc;        // the chunk of k
};

std::optional<int64_t> constant(const Dim& d) {
  return d.is_constant() ? std::optional(d.constant()) : std::nullopt;
}

// A register tile of mr x nr leaves room for the column's vectors and one broadcast; the block's panel of B stays in the
// second-level cache, where every strip of A meets it.
Tiles choose_tiles(const Dim& m, const Dim& n, const Dim& k, int element_bytes, const Target& target) {
  constexpr int64_t kPanelBytes = 192 * 1024;
  Tiles t{};
  int64_t lanes = target.vector_bytes / element_bytes;
  t.nr = 2 * lanes;
  if (auto cn = constant(n); cn && *cn <= lanes) t.nr = lanes;
  int64_t most = target.registers == 32 ? 12 : (t.nr == lanes ? 10 : 6);
  t.mr = most;
  if (auto cm = constant(m)) {
    // The fewest strips, then as even as they can be.
    int64_t strips = std::max<int64_t>(1, (*cm + most - 1) / most);
    t.mr = std::max<int64_t>(1, (*cm + strips - 1) / strips);
  }
  auto ck = constant(k);
  t.kc = ck ? std::max<int64_t>(1, std::min<int64_t>(*ck, 512)) : 384;
  if (ck && *ck > 512) t.kc = (*ck + (*ck + 511) / 512 - 1) / ((*ck + 511) / 512);
  int64_t columns = std::max<int64_t>(1, kPanelBytes / (t.kc * element_bytes * t.nr));
  t.nb = t.nr * std::min<int64_t>(columns, 16);
  if (auto cn = constant(n)) t.nb = std::min(t.nb, (std::max<int64_t>(*cn, 1) + t.nr - 1) / t.nr * t.nr);
  t.mb = t.mr * std::max<int64_t>(1, 96 / t.mr);
  if (auto cm = constant(m)) t.mb = std::min(t.mb, (std::max<int64_t>(*cm, 1) + t.mr - 1) / t.mr * t.mr);
  return t;
}

class DotLowering {
 public:
  DotLowering(GroupEmitter& emit, Kernel& kernel, const Node* dot, const std::vector<bool>& constant_operands)
      : emit_(emit), kernel_(kernel), build_(emit.build), dot_(dot),
        a_(dot->operand(0), ints("lhs_batching_dimensions"), ints("lhs_contracting_dimensions")),
        b_(dot->operand(1), ints("rhs_batching_dimensions"), ints("rhs_contracting_dimensions")) {
    m_ = product(a_.free_dims), n_ = product(b_.free_dims), k_ = product(a_.folded_dims);
    batch_ = product(a_.batch_dims);
    type_ = compute_type(dot->result()->type().dtype);
    tiles_ = choose_tiles(m_, n_, k_, static_cast<int>(size_of(type_)), emit.target);
    auto cm = constant(m_), ck = constant(k_), cn = constant(n_);
    prepacked_b_ = b_.is_operand() && constant_operands[b_.value->index()] && batch_ == kOne && b_.batch.empty();
    // Copying B pays where several strips of A meet it, or where its columns do not lie side by side.
    pack_b_ = !prepacked_b_ && !(b_.free_contiguous() && cm && *cm <= 2 * tiles_.mr);
    pack_a_ = !(a_.folded_contiguous() && ((cm && *cm <= 64) || (cn && *cn <= tiles_.nr) || (ck && *ck <= 64)));
    chunked_ = !ck || *ck > tiles_.kc;
  }

  void run() {
    const Dim m_blocks = ceildiv(m_, Dim(tiles_.mb)), n_blocks = ceildiv(n_, Dim(tiles_.nb));
    kernel_.blocks = batch_ * m_blocks * n_blocks;
    kernel_.grain = 1;
    if (auto k = constant(k_))
      kernel_.grain = std::max<int64_t>(1, 150000 / std::max<int64_t>(1, tiles_.mb * tiles_.nb * std::max<int64_t>(*k, 1)));
    if (prepacked_b_) emit_packing();

    if (pack_a_) scratch_a_ = build_.add_scratch(type_, Dim(tiles_.mb * tiles_.kc), "a");
    if (pack_b_) scratch_b_ = build_.add_scratch(type_, Dim(tiles_.nb * tiles_.kc), "b");
    if (chunked_) scratch_c_ = build_.add_scratch(type_, Dim(tiles_.mb * tiles_.nb), "c");

    Expr columns = emit_.size(n_blocks), rows = emit_.size(m_blocks);
    Expr block = build_.block();
    Expr nb = block % columns, rest = block / columns;
    batch_index_ = build_.let(rest / rows);
    m_begin_ = build_.let((rest % rows) * tiles_.mb);
    n_begin_ = build_.let(nb * tiles_.nb);
    m_end_ = build_.let(loop::lesser(m_begin_ + build_.index(tiles_.mb), emit_.size(m_)));
    n_end_ = build_.let(loop::lesser(n_begin_ + build_.index(tiles_.nb), emit_.size(n_)));

    if (!chunked_) return chunk(build_.index(0), emit_.size(k_), true, {});
    // An empty sum still writes its results, so there is always one chunk.
    Expr chunks = loop::greater((emit_.size(k_) + build_.index(tiles_.kc - 1)) / build_.index(tiles_.kc), build_.index(1));
    emit_.serial(build_.index(0), chunks, [&](Expr c) {
      Expr begin = build_.let(c * tiles_.kc);
      Expr end = build_.let(loop::lesser(begin + build_.index(tiles_.kc), emit_.size(k_)));
      Expr last = c == chunks - build_.index(1);
      build_.if_then(last, [&] { emit_.scoped([&] { chunk(begin, end, true, c); }); },
                     [&] { emit_.scoped([&] { chunk(begin, end, false, c); }); });
    });
  }

 private:
  const Ints& ints(std::string_view name) const {
    const AttrValue* v = dot_->attrs().find(name);
    IG_CHECK(v != nullptr, "{} has no attribute {}", dot_->op().name(), name);
    return std::get<Ints>(*v);
  }

  // B in strips of NR columns, all of k, zeros behind the last column: written once, when the program is made.
  void emit_packing() {
    loop::Builder pack("pack");
    const Type& type = b_.value->type();
    uint32_t from = pack.add_buffer(type.dtype, false, "in0");
    uint32_t to = pack.add_buffer(type_, true, "out0");
    ops::SizeFn size = [&](const Dim& d) { return pack.size(d); };
    Expr k = pack.size(k_), n = pack.size(n_);
    Expr strip = pack.block();
    pack.serial_for(pack.index(0), k, [&](Expr i) {
      pack.serial_for(pack.index(0), pack.index(tiles_.nr), [&](Expr j) {
        Expr column = strip * tiles_.nr + j;
        Expr clamped = loop::lesser(column, n - pack.index(1));
        GroupEmitter::Index index(type.dims.size());
        std::vector<Expr> free = ops::split_index(clamped, b_.free_dims, size, pack);
        std::vector<Expr> folded = ops::split_index(i, b_.folded_dims, size, pack);
        for (size_t a = 0; a < b_.free.size(); ++a) index[static_cast<size_t>(b_.free[a])] = free[a];
        for (size_t a = 0; a < b_.folded.size(); ++a) index[static_cast<size_t>(b_.folded[a])] = folded[a];
        Expr value = pack.load(from, ops::linear_index(index, type.dims, size));
        if (value.type() != type_) value = loop::convert(value, type_);
        Expr zero = type_is_float() ? pack.constant(type_, 0) : pack.constant_int(type_, 0);
        pack.store(to, (strip * k + i) * tiles_.nr + j, loop::select(column < n, value, zero));
      });
    });
    Kernel::Packing packing;
    packing.operand = static_cast<int>(b_.value->index());
    packing.blocks = ceildiv(n_, Dim(tiles_.nr));
    packing.elements = packing.blocks * k_ * Dim(tiles_.nr);
    packing.pack = pack.finish();
    kernel_.packings.push_back(std::move(packing));
  }
  bool type_is_float() const { return is_float(type_); }

  void pack_panels(Expr k_begin, Expr k_end) {
    Expr kc = k_end - k_begin;
    if (pack_b_) {
      Expr strips = (n_end_ - n_begin_ + build_.index(tiles_.nr - 1)) / build_.index(tiles_.nr);
      emit_.serial(build_.index(0), strips, [&](Expr s) {
        emit_.serial(build_.index(0), kc, [&](Expr k) {
          Expr first = n_begin_ + s * tiles_.nr;
          Expr width = loop::lesser(build_.index(tiles_.nr), n_end_ - first);
          emit_.vector(build_.index(0), width, static_cast<int>(tiles_.nr), [&](Expr j) {
            Expr value = b_.at(emit_, batch_index_, first + j, k_begin + k);
            build_.store(scratch_b_, (s * tiles_.kc + k) * tiles_.nr + j, value);
          });
        });
      });
    }
    if (pack_a_) {
      Expr strips = (m_end_ - m_begin_ + build_.index(tiles_.mr - 1)) / build_.index(tiles_.mr);
      emit_.serial(build_.index(0), strips, [&](Expr s) {
        build_.unrolled(0, tiles_.mr, [&](Expr i) {
          emit_.scoped([&] {
            Expr row = build_.let(loop::lesser(m_begin_ + s * tiles_.mr + i, m_end_ - build_.index(1)));
            emit_.serial(build_.index(0), kc, [&](Expr k) {
              Expr value = a_.at(emit_, batch_index_, row, k_begin + k);
              build_.store(scratch_a_, (s * tiles_.kc + k) * tiles_.mr + i, value);
            });
          });
        });
      });
    }
  }

  void chunk(Expr k_begin, Expr k_end, bool last, Expr chunk_index) {
    pack_panels(k_begin, k_end);
    Expr n_strips = (n_end_ - n_begin_ + build_.index(tiles_.nr - 1)) / build_.index(tiles_.nr);
    Expr m_strips = (m_end_ - m_begin_ + build_.index(tiles_.mr - 1)) / build_.index(tiles_.mr);
    emit_.serial(build_.index(0), n_strips, [&](Expr sn) {
      emit_.serial(build_.index(0), m_strips, [&](Expr sm) {
        Expr first = build_.let(n_begin_ + sn * tiles_.nr);
        Expr width = loop::lesser(build_.index(tiles_.nr), n_end_ - first);
        emit_.vector(build_.index(0), width, static_cast<int>(tiles_.nr),
                     [&](Expr j) { tile(sm, sn, first, j, k_begin, k_end, last, chunk_index); });
      });
    });
  }

  void tile(Expr sm, Expr sn, Expr first, Expr j, Expr k_begin, Expr k_end, bool last, Expr chunk_index) {
    const int lanes = static_cast<int>(tiles_.nr);
    const auto mr = static_cast<size_t>(tiles_.mr);
    Expr row0 = build_.let(m_begin_ + sm * tiles_.mr);
    std::vector<uint32_t> acc(mr);
    std::vector<Expr> rows(mr);
    bool even = m_.is_constant() && m_.constant() % tiles_.mr == 0;
    Expr zero = type_is_float() ? build_.constant(type_, 0) : build_.constant_int(type_, 0);
    auto c_offset = [&](size_t i) {
      return (sm * tiles_.mr + build_.index(static_cast<int64_t>(i))) * tiles_.nb + (sn * tiles_.nr + j);
    };
    for (size_t i = 0; i < mr; ++i) {
      acc[i] = build_.local(type_, lanes, 1, "acc");
      Expr row = row0 + build_.index(static_cast<int64_t>(i));
      rows[i] = build_.let(even ? row : loop::lesser(row, m_end_ - build_.index(1)));
      build_.assign(acc[i], zero);
    }
    if (chunk_index)
      build_.if_then(chunk_index > build_.index(0), [&] {
        for (size_t i = 0; i < mr; ++i) build_.assign(acc[i], build_.load(scratch_c_, c_offset(i)));
      });

    auto step = [&](Expr k) {  // k counts from the chunk's first
      Expr b;
      if (prepacked_b_)
        b = build_.load(emit_.buffer_of_arg(b_.value),
                        ((first / build_.index(tiles_.nr)) * emit_.size(k_) + (k_begin + k)) * tiles_.nr + j);
      else if (pack_b_) b = build_.load(scratch_b_, (sn * tiles_.kc + k) * tiles_.nr + j);
      else b = b_.at(emit_, batch_index_, first + j, k_begin + k);
      b = build_.let(b);
      for (size_t i = 0; i < mr; ++i) {
        Expr a = pack_a_ ? build_.load(scratch_a_, (sm * tiles_.kc + k) * tiles_.mr + build_.index(static_cast<int64_t>(i)))
                         : a_.at(emit_, batch_index_, rows[i], k_begin + k);
        Expr sum = build_.read(acc[i]);
        build_.assign(acc[i], multiply_add(a, b, sum));
      }
    };
    constexpr int64_t kUnroll = 4;
    Expr kc = k_end - k_begin;
    Expr whole = build_.let(kc / build_.index(kUnroll));
    emit_.serial(build_.index(0), whole, [&](Expr group) {
      for (int64_t u = 0; u < kUnroll; ++u)
        emit_.scoped([&] { step(group * build_.index(kUnroll) + build_.index(u)); });
    });
    emit_.serial(whole * build_.index(kUnroll), kc, [&](Expr k) { step(k); });

    for (size_t i = 0; i < mr; ++i) {
      auto finish = [&] {
        emit_.scoped([&] {
          if (!last) return build_.store(scratch_c_, c_offset(i), build_.read(acc[i]));
          store_row(rows[i], first + j, build_.let(build_.read(acc[i])));
        });
      };
      if (even) finish();
      else build_.if_then(row0 + build_.index(static_cast<int64_t>(i)) < m_end_, finish);
    }
  }

  Expr multiply_add(Expr a, Expr b, Expr sum) const {
    if (type_is_float()) return loop::fma(a, b, sum);
    if (type_ == DType::Bool) return sum | (a & b);
    return sum + a * b;
  }

  void store_row(Expr row, Expr column, Expr sum) {
    Value product_value = dot_->result();
    sum = emit_.round_to(sum, product_value->type().dtype);
    emit_.pin(product_value, [sum](std::span<const Expr>) { return sum; });
    GroupEmitter::Index index = emit_.split(batch_index_, a_.batch_dims);
    for (Expr e : emit_.split(row, a_.free_dims)) index.push_back(e);
    for (Expr e : emit_.split(column, b_.free_dims)) index.push_back(e);
    Expr flat = emit_.flat(index, product_value->type().dims);
    std::vector<Expr> values;
    for (Value v : emit_.region.results()) values.push_back(build_.let(emit_.element(v, index)));
    for (size_t r = 0; r < values.size(); ++r) emit_.store_result(r, flat, values[r]);
  }

  GroupEmitter& emit_;
  Kernel& kernel_;
  loop::Builder& build_;
  const Node* dot_;
  Side a_, b_;
  Dim m_, n_, k_, batch_;
  DType type_;
  Tiles tiles_;
  bool prepacked_b_, pack_b_, pack_a_, chunked_;
  uint32_t scratch_a_ = 0, scratch_b_ = 0, scratch_c_ = 0;
  Expr batch_index_, m_begin_, n_begin_, m_end_, n_end_;
};

}  // namespace

void lower_contraction(GroupEmitter& emit, Kernel& kernel, const std::vector<bool>& constant_operands) {
  for (Node* node : emit.region)
    if (ops::has(node, ops::Trait::Contraction)) {
      if (node->attrs().find("lhs_contracting_dimensions")) return DotLowering(emit, kernel, node, constant_operands).run();
      return lower_loop(emit, kernel);  // other sums of products fold inside their element expression
    }
  IG_CHECK(false, "a contraction kernel without a contraction");
}

}  // namespace ig::codegen
