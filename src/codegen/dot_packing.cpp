// What a product copies before it multiplies: B in strips, written once or in each call, or by each block
// for itself; rows of A, turned over or put together from their runs.
#include <map>

#include "codegen/dot_lowering.h"

namespace ig::codegen {

using loop::Expr;

// Rows are read from end to end, which the processor foresees. Where a store writes less than a line of the
// packed form, piece by piece, so that the line is complete before it leaves the first cache.
void DotLowering::turn_strip(loop::Builder& build, const loop::Builder::Matrix& to,
                             const loop::Builder::Matrix& from, Expr columns, Expr rows) const {
  const auto bytes = static_cast<int64_t>(size_of(storage_of(b_)));
  if (emit_.target.vector_bytes == 64 && bytes >= 4) return build.transpose(to, from, columns, rows);
  const int64_t piece = 8192 / (tiles_.nr * bytes);
  build.serial_for(build.index(0), (rows + (piece - 1)) / build.index(piece), [&](Expr p) {
    Expr begin = build.let(p * piece);
    build.transpose({to.buffer, to.offset + begin * tiles_.nr, to.stride},
                    {from.buffer, from.offset + begin, from.stride}, columns,
                    build.let(loop::lesser(build.index(piece), rows - begin)));
  });
}

void DotLowering::emit_packing() {
  loop::Builder pack("pack");
  const Type& type = b_.view->arg->type();
  const int64_t nr = tiles_.nr;
  const bool lies_along_n = b_.free_stride == kOne;
  const Dim strips = ceildiv(n_, Dim(nr)) * Dim(parts());  // n columns in each part
  uint32_t from = pack.add_buffer(type.dtype, false, "in0");
  uint32_t to = pack.add_buffer(type.dtype, true, "out0");
  // Sizes are parameters: weights of all shapes share one function. A step of 1 lets vectors be loaded.
  Kernel::Packing packing;
  std::map<std::string, Dim, std::less<>> values;
  auto size = [&](std::string_view name, const Dim& value, bool fixed = false) {
    if (fixed) return pack.size(value);
    values.emplace(name, value);
    return pack.size(Dim::symbol(name));
  };
  Expr columns = size("n", n_), rows = size("k", k_);
  Expr step_n = size("along_n", b_.free_stride, lies_along_n),
       step_k = size("along_k", b_.folded_stride, b_.folded_stride == kOne);
  Expr strip = pack.let(rows * pack.index(nr));
  auto zeros = [&](Expr target, Expr count) {
    Expr none = is_float(type.dtype) ? loop::convert(pack.constant(DType::F32, 0), type.dtype)
                                     : pack.constant_int(type.dtype, 0);
    pack.vector_for(pack.index(0), count, 32, [&](Expr i) { pack.store(to, target + i, none); });
  };
  if (b_.folded_stride == kOne) {  // a block is a strip
    Expr unit = pack.let(pack.block() / pack.index(parts()) * pack.index(nr));
    Expr width = pack.let(loop::lesser(pack.index(nr), columns - unit));
    Expr first = pack.let(unit + pack.block() % pack.index(parts()) * columns);
    Expr target = pack.let(pack.block() * strip);
    pack.if_then(width < pack.index(nr), [&] { zeros(target, strip); });
    turn_strip(pack, {to, target, pack.index(nr)}, {from, first * step_n, step_n}, width, rows);
    packing.blocks = strips;
  } else {
    // A block is a few rows of B, each of which is read from end to end, at the same time; a strip gets as
    // many rows in one piece. To read strip by strip would jump from row to row.
    constexpr int64_t kRows = 16;
    // The rows' pieces lie far apart, where the processor does not foresee them.
    const int64_t ahead = 1024 / static_cast<int64_t>(size_of(type.dtype));
    Expr begin = pack.let(pack.block() * pack.index(kRows));
    Expr end = pack.let(loop::lesser(begin + pack.index(kRows), rows));
    Expr whole = pack.let(columns / pack.index(nr));
    auto copy = [&](Expr s, Expr part, Expr width) {
      Expr target = pack.let((s * pack.index(parts()) + part) * strip);
      Expr first = pack.let(s * pack.index(nr) + part * columns);
      pack.if_then(width < pack.index(nr),
                   [&] { zeros(target + begin * nr, (end - begin) * pack.index(nr)); });
      pack.serial_for(begin, end, [&](Expr i) {
        pack.vector_for(pack.index(0), width, static_cast<int>(nr / tiles_.groups), [&](Expr j) {
          Expr source = (first + j) * step_n + i * step_k;
          if (lies_along_n) pack.prefetch(from, source + pack.index(ahead));
          pack.store(to, target + i * nr + j, pack.load(from, source));
        });
      });
    };
    pack.serial_for(pack.index(0), pack.index(parts()), [&](Expr part) {
      pack.serial_for(pack.index(0), whole, [&](Expr s) { copy(s, part, pack.index(nr)); });
      Expr rest = pack.let(columns - whole * pack.index(nr));
      pack.if_then(rest > pack.index(0), [&] { copy(whole, part, rest); });
    });
    packing.blocks = ceildiv(k_, Dim(kRows));
  }
  packing.operand = static_cast<int>(b_.view->arg->index());
  packing.elements = strips * k_ * Dim(nr);
  packing.pack = pack.finish();
  for (const std::string& name : packing.pack->sizes) packing.sizes.push_back(values.at(name));
  packing.every_call = packed_every_call_;
  kernel_.packings.push_back(std::move(packing));
}

void DotLowering::whole_then_single(Expr count, int lanes, const std::function<void(Expr)>& body) {
  Expr whole = build_.let((count / build_.index(lanes)) * build_.index(lanes));
  emit_.vector(build_.index(0), whole, lanes, body);
  emit_.serial(whole, count, body);
}

void DotLowering::pack_b(Expr k_begin, Expr k_end) {
  Expr kc = k_end - k_begin;
  if (turned_b_)
    return strips_of_parts([&](const Strip& strip) {
      turn_strip(build_, {scratch_b_, offset_of(strip), build_.index(tiles_.nr)},
                 {emit_.buffer_of_arg(b_.view->arg), b_.offset(emit_, b_first_, strip.column, k_begin),
                  emit_.size(b_.free_stride)},
                 strip.width, kc);
    });
  if (b_in_runs()) {
    const DotSide::Runs& runs = *b_.runs;
    return each_run(runs, k_begin, k_end, [&](Expr source, Expr at, Expr count) {
      strips_of_parts([&](const Strip& strip) {
        turn_strip(build_,
                   {scratch_b_, build_.let(offset_of(strip) + at * tiles_.nr), build_.index(tiles_.nr)},
                   {emit_.buffer_of_arg(runs.arg),
                    build_.let(b_first_ + source + strip.column * emit_.size(runs.free[0].stride)),
                    emit_.size(runs.free[0].stride)},
                   strip.width, count);
      });
    });
  }
  // Where B lies in runs, a strip is part of one.
  const bool in_runs = b_.runs && !b_.runs->free.empty() && b_.runs->free.back().stride == kOne &&
                       constant_of(b_.runs->free.back().size).value_or(1) % tiles_.nr == 0 &&
                       (!parts_ || even_columns());
  // `run`: where the strip's columns begin in a row of runs.
  auto copy_row = [&](Expr k, const Strip& strip, Expr run) {
    if (in_runs) run = build_.let(run + offset_in(emit_, b_.runs->folded, k_begin + k));
    whole_then_single(strip.width, static_cast<int>(tiles_.nr), [&](Expr j) {
      Expr value = b_.view   ? load_b(k_begin + k, strip.column + j)
                   : in_runs ? widen(build_.load(emit_.buffer_of_arg(b_.runs->arg), run + j))
                             : widen(b_.at(emit_, batch_index_, strip.column + j, k_begin + k));
      build_.store(scratch_b_, offset_of(strip) + k * tiles_.nr + j, value);
    });
  };
  // A strip gets a few rows in one piece, so that lines of different strips, which share places in the first
  // cache, are done with one after the other. Few of a row's columns are read, and the next row lies
  // elsewhere: those of the next piece are asked for.
  constexpr int64_t kRows = 8;
  const int64_t line = 64 / static_cast<int64_t>(size_of(storage_of(b_)));
  auto ask_ahead = [&](Expr k, Expr first) {
    Expr next = b_.offset(emit_, b_first_, first, k_begin + k + build_.index(kRows));
    for (int64_t at = 0; at < tiles_.nr; at += line)
      build_.prefetch(emit_.buffer_of_arg(b_.view->arg), next + build_.index(at));
  };
  emit_.serial(build_.index(0), (kc + build_.index(kRows - 1)) / build_.index(kRows), [&](Expr piece) {
    Expr begin = build_.let(piece * kRows), end = build_.let(loop::lesser(begin + kRows, kc));
    strips_of_parts([&](const Strip& strip) {
      Expr run = in_runs ? build_.let(b_first_ + offset_in(emit_, b_.runs->free, strip.column)) : Expr();
      emit_.serial(begin, end, [&](Expr k) {
        if (b_.rows_lie()) ask_ahead(k, strip.column);
        copy_row(k, strip, run);
      });
    });
  });
}

void DotLowering::pack_a(Expr from, Expr to, Expr k_begin, Expr k_end) {
  int lanes = 2 * emit_.target.vector_bytes / static_cast<int>(size_of(type_));
  if (turned_a_)
    return build_.transpose({scratch_a_, build_.index(0), build_.index(a_step_)},
                            {emit_.buffer_of_arg(a_.view->arg), a_.offset(emit_, a_first_, from, k_begin),
                             emit_.size(a_.folded_stride)},
                            k_end - k_begin, to - from);
  if (a_in_runs()) return pack_runs(from, to, k_begin, k_end);
  emit_.serial(build_.index(0), to - from, [&](Expr i) {
    Expr row = build_.let(from + i);
    whole_then_single(k_end - k_begin, lanes, [&](Expr k) {
      Expr value = a_.view ? load_a(row, k_begin + k) : widen(a_.at(emit_, batch_index_, row, k_begin + k));
      build_.store(scratch_a_, i * a_step_ + k, value);
    });
  });
}

void DotLowering::each_run(const DotSide::Runs& runs, Expr k_begin, Expr k_end,
                           const std::function<void(Expr, Expr, Expr)>& body) {
  const ops::Pieces outer(runs.folded.begin(), runs.folded.end() - 1);
  Expr length = build_.let(loop::greater(emit_.size(runs.folded.back().size), build_.index(1)));
  emit_.serial(k_begin / length, (k_end + (length - build_.index(1))) / length, [&](Expr run) {
    Expr first = build_.let(run * length);
    Expr begin = build_.let(loop::greater(first, k_begin)), end = loop::lesser(first + length, k_end);
    body(build_.let(offset_in(emit_, outer, run) + begin - first), build_.let(begin - k_begin),
         build_.let(end - begin));
  });
}

void DotLowering::pack_runs(Expr from, Expr to, Expr k_begin, Expr k_end) {
  const DotSide::Runs& runs = *a_.runs;
  const uint32_t buffer = emit_.buffer_of_arg(runs.arg);
  const int lanes = emit_.target.vector_bytes / static_cast<int>(size_of(type_));
  emit_.serial(build_.index(0), to - from, [&](Expr i) {
    Expr row = build_.let(a_first_ + offset_in(emit_, runs.free, from + i));
    each_run(runs, k_begin, k_end, [&](Expr source, Expr at, Expr count) {
      Expr target = build_.let(i * a_step_ + at);
      source = build_.let(row + source);
      whole_then_single(count, lanes, [&](Expr k) {
        build_.store(scratch_a_, target + k, widen(build_.load(buffer, source + k)));
      });
    });
  });
}

}  // namespace ig::codegen
