// Matrices turned over: squares of vectors, read by rows, shuffled in registers and written by columns; what
// is left at the edges goes element by element, but for the few rows or columns of an image's colours.
// Reading and writing whole vectors is what makes a transposition run at the speed of a copy: single elements
// would touch a cache line each. That is much code, and always the same; so a kernel calls one that has it,
// unless the matrix is small.
#include <llvm/Analysis/VectorUtils.h>

#include <bit>

#include "codegen/llvm/emit.h"
#include "runtime/kernel_abi.h"
#include "support/error.h"

namespace ig::codegen {
namespace {

// The element numbers of two vectors a, b of n: the low or the high halves, interleaved in units of `unit`
// elements within groups of `group` elements (a 256-bit register shuffles within its halves at the price of
// one instruction).
std::vector<int> interleaved(int n, int unit, int group, bool high) {
  std::vector<int> out;
  for (int g = 0; g < n; g += group) {
    int first = g + (high ? group / 2 : 0);
    for (int u = 0; u < group / 2; u += unit)
      for (int from : {0, n})
        for (int i = 0; i < unit; ++i) out.push_back(from + first + u + i);
  }
  return out;
}

}  // namespace

// Rows of as many parts as there are rows, a part being 128 bits: vector q has part q of each of them.
std::vector<llvm::Value*> Emitter::parts_turned(std::span<llvm::Value* const> rows) {
  const auto parts = static_cast<int>(rows.size());
  const auto n = static_cast<int>(llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements());
  const int size = n / parts;
  // Of two vectors the parts first, first + step, …, half as many as there are of each.
  auto chosen = [&](llvm::Value* a, llvm::Value* b, int first, int step) {
    std::vector<int> order;
    for (int from : {0, n})
      for (int q = 0; q < parts / 2; ++q)
        for (int e = 0; e < size; ++e) order.push_back(from + (first + q * step) * size + e);
    return b_.CreateShuffleVector(a, b, order);
  };
  if (parts == 2) return {chosen(rows[0], rows[1], 0, 1), chosen(rows[0], rows[1], 1, 1)};
  IG_CHECK(parts == 4, "a register of {} parts", parts);
  std::vector<llvm::Value*> out;
  for (int half : {0, 2}) {
    auto *low = chosen(rows[0], rows[1], half, 1), *high = chosen(rows[2], rows[3], half, 1);
    out.push_back(chosen(low, high, 0, 2));
    out.push_back(chosen(low, high, 1, 2));
  }
  return out;
}

// The vectors of the first `columns` of a square in memory. Vector k of group g takes part g of rows k, k +
// group, …; so the parts stand in their columns' order at once, and what is left are squares within parts:
// pairs at distance 1, 2, … interleave in units of 1, 2, … elements. An instruction that loads puts a part
// into its place, which leaves least to shuffle. But lines a power of two apart share a place in the first
// cache, which has room for few of them: `whole_rows` are read at once, so that a line is done with when it
// is read.
std::vector<llvm::Value*> Emitter::load_transposed(std::span<llvm::Value* const> rows, int columns,
                                                   llvm::Type* element, llvm::Align align, bool whole_rows) {
  const auto n = static_cast<int>(rows.size());
  const int group = std::min(n, 128 / static_cast<int>(element->getPrimitiveSizeInBits()));
  auto* part = llvm::FixedVectorType::get(element, static_cast<unsigned>(group));
  auto* whole = llvm::FixedVectorType::get(element, static_cast<unsigned>(n));
  auto load = [&](int row, int first, llvm::Type* type) {
    auto* at = b_.CreateInBoundsGEP(element, rows[static_cast<size_t>(row)], i64(first));
    return b_.CreateAlignedLoad(type, at, align);
  };
  std::vector<std::vector<llvm::Value*>> turned;  // of rows k, k + group, …: the parts
  for (int k = 0; k < group && whole_rows && n > group; ++k) {
    std::vector<llvm::Value*> of_group;
    for (int row = k; row < n; row += group) of_group.push_back(load(row, 0, whole));
    turned.push_back(parts_turned(of_group));
  }
  auto part_of_rows = [&](int k, int first) -> llvm::Value* {
    if (!turned.empty()) return turned[static_cast<size_t>(k)][static_cast<size_t>(first / group)];
    if (n == group) return load(k, first, part);
    llvm::Value* all = llvm::PoisonValue::get(whole);
    for (int row = k; row < n; row += group)
      all = b_.CreateInsertVector(whole, all, load(row, first, part), b_.getInt64(row - k));
    return all;
  };
  std::vector<llvm::Value*> out;
  for (int first = 0; first < columns; first += group) {
    std::vector<llvm::Value*> square;
    for (int k = 0; k < group; ++k) square.push_back(part_of_rows(k, first));
    for (int unit = 1; unit < group; unit *= 2)
      for (int i = 0; i < group; ++i) {
        if ((i & unit) != 0) continue;
        auto *&a = square[static_cast<size_t>(i)], *&b = square[static_cast<size_t>(i + unit)];
        auto* low = b_.CreateShuffleVector(a, b, interleaved(n, unit, group, false));
        b = b_.CreateShuffleVector(a, b, interleaved(n, unit, group, true));
        a = low;
      }
    // Vector i now holds the column whose number has the bits of i in reverse.
    for (int column = 0; column < group; ++column) {
      int i = 0;
      for (int bit = 1, mirror = group / 2; bit < group; bit *= 2, mirror /= 2)
        if ((column & bit) != 0) i |= mirror;
      out.push_back(square[static_cast<size_t>(i)]);
    }
  }
  return out;
}

// Few vectors of n elements become one of their columns, one after the other.
llvm::Value* Emitter::side_by_side(std::span<llvm::Value*> rows) {
  auto n = llvm::cast<llvm::FixedVectorType>(rows[0]->getType())->getNumElements();
  llvm::Value* all = llvm::concatenateVectors(b_, {rows.data(), rows.size()});
  std::vector<int> order;
  for (unsigned c = 0; c < n; ++c)
    for (unsigned r = 0; r < rows.size(); ++r) order.push_back(static_cast<int>(r * n + c));
  return b_.CreateShuffleVector(all, order);
}

// And back: of few vectors one after the other, the elements i, i + few, …
llvm::Value* Emitter::one_of_few(llvm::Value* all, int64_t few, int64_t i) {
  auto n = llvm::cast<llvm::FixedVectorType>(all->getType())->getNumElements();
  std::vector<int> order;
  for (auto at = static_cast<int>(i); at < static_cast<int>(n); at += static_cast<int>(few))
    order.push_back(at);
  return b_.CreateShuffleVector(all, order);
}

// Addresses a stride apart. Where that is no constant, LLVM would keep one register for each of them, more
// than there are: here every fourth has one, whose origin it is not to see, and the others are found from
// there as they are used.
std::vector<llvm::Value*> Emitter::side_by_stride(llvm::Value* first, llvm::Value* stride, int64_t bytes,
                                                  int64_t count) {
  auto* step = b_.CreateMul(stride, i64(bytes));
  auto at = [&](llvm::Value* base, int64_t i) {
    return i == 0 ? base : b_.CreateInBoundsGEP(b_.getInt8Ty(), base, b_.CreateMul(step, i64(i)));
  };
  const bool hides = !llvm::isa<llvm::Constant>(stride) && count > 4;
  std::vector<llvm::Value*> out;
  for (int64_t i = 0; i < count; i += 4) {
    auto* base = at(first, i);
    if (hides) base = hidden(base);
    for (int64_t k = i; k < std::min(i + 4, count); ++k) out.push_back(at(base, k - i));
  }
  return out;
}

void Emitter::load_columns(const loop::Stmt& s) {
  const loop::Local& columns = f_.locals[s.id];
  IG_CHECK(columns.lanes == lanes_, "local {} has {} lanes, and is filled in a loop of {}", columns.name,
           columns.lanes, lanes_);
  const uint32_t from = s.value->id;
  auto* element = memory_type(columns.type);
  auto *first = scalar(s.value->a), *stride = scalar(s.from_stride), *rows = scalar(s.begin);
  auto* known = llvm::dyn_cast<llvm::ConstantInt>(rows);
  const bool all = known != nullptr && known->getSExtValue() >= lanes_;
  auto* last = all ? nullptr : b_.CreateNSWSub(rows, i64(1));
  // A square fills half of the registers: the next one is not to be read before this one is used.
  b_.CreateFence(llvm::AtomicOrdering::AcquireRelease, llvm::SyncScope::SingleThread);
  std::vector<llvm::Value*> starts;
  for (int64_t i = 0; i < lanes_; ++i) {
    auto* row = all ? i64(i) : b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, i64(i), last);
    starts.push_back(address(from, element, b_.CreateAdd(first, b_.CreateMul(row, stride))));
  }
  auto* apart = llvm::dyn_cast<llvm::ConstantInt>(stride);
  const bool whole_rows =
      columns.count == lanes_ &&
      (!apart || !rows_stay(lanes_, apart->getSExtValue() * static_cast<int64_t>(size_of(columns.type))));
  const auto square = load_transposed(starts, static_cast<int>(columns.count), element,
                                      llvm::Align(size_of(part_of(columns.type))), whole_rows);
  for (int64_t i = 0; i < columns.count; ++i)
    b_.CreateStore(from_memory(columns.type, square[static_cast<size_t>(i)]),
                   b_.CreateInBoundsGEP(locals_[s.id]->getAllocatedType(), locals_[s.id], {i64(0), i64(i)}));
}

void Emitter::transpose(const loop::Stmt& s) {
  IG_CHECK(lanes_ == 1, "a transposition of kernel {} stands inside a vector loop", f_.name);
  DType type = s.value->type;
  uint32_t from = s.value->id, to = s.id;
  auto* element = memory_type(type);
  llvm::Align align(size_of(part_of(type)));
  auto* from_first = scalar(s.value->a);
  auto* from_stride = scalar(s.from_stride);
  auto* to_first = scalar(s.index);
  auto* to_stride = scalar(s.to_stride);
  auto* rows = scalar(s.begin);
  auto* columns = scalar(s.end);
  auto source = [&](llvm::Value* r, llvm::Value* c) {
    return address(from, element, b_.CreateAdd(b_.CreateAdd(from_first, b_.CreateMul(r, from_stride)), c));
  };
  auto target = [&](llvm::Value* r, llvm::Value* c) {
    return address(to, element, b_.CreateAdd(b_.CreateAdd(to_first, b_.CreateMul(c, to_stride)), r));
  };
  // The side of a square: a whole register of numbers of four bytes or eight, so that lines are read whole;
  // eight of smaller ones.
  const auto bytes = static_cast<int64_t>(size_of(type));
  const int64_t side = bytes == 1 ? 8 : std::min<int64_t>(bytes >= 4 ? 16 : 8, target_.vector_bytes / bytes);
  auto* vector = llvm::FixedVectorType::get(element, static_cast<unsigned>(side));
  auto* whole_rows = b_.CreateAnd(rows, i64(-side));
  auto* whole_columns = b_.CreateAnd(columns, i64(-side));
  auto single = [&](llvm::Value* r, llvm::Value* c) {
    auto* v = b_.CreateAlignedLoad(element, source(r, c), align);
    b_.CreateAlignedStore(v, target(r, c), align);
  };
  auto constant = [](llvm::Value* v) {
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(v);
    return known != nullptr ? known->getSExtValue() : 0;
  };
  const int64_t known_rows = constant(rows), known_columns = constant(columns);
  auto are_few = [&](int64_t n, llvm::Value* step) { return n <= most_of_few(bytes) && constant(step) == n; };
  const bool few_columns = known_columns >= 2 && are_few(known_columns, from_stride);
  const bool few_rows = known_rows >= 1 && known_rows < side && are_few(known_rows, to_stride);
  // Without a square of this side the code is short, and with few of them a call would take as long as a few:
  // one or two, where sums of products are the work, of which packing what they take is a small part.
  const int64_t few_squares = multiplies() ? 2 : 16;
  auto lacks_squares = [&](int64_t n) { return n > 0 && n < side; };
  const std::optional<int64_t> most_rows = most(s.begin.node()), most_columns = most(s.end.node());
  const bool short_one =
      lacks_squares(known_rows) || lacks_squares(known_columns) ||
      (most_rows && most_columns && *most_rows * *most_columns <= few_squares * side * side);
  // What does nothing else is the code that others call, or as long.
  const bool does_all = f_.body.size() == 1 && f_.body[0].get() == &s;
  if (!few_columns && !few_rows && !short_one && !does_all) {
    auto* functions = b_.CreateAlignedLoad(
        b_.getPtrTy(),
        b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), entry_->getArg(0), offsetof(rt::KernelArgs, turn_over)),
        llvm::Align(8));
    auto* at = b_.CreateConstInBoundsGEP1_64(b_.getPtrTy(), functions, std::countr_zero(size_of(type)));
    auto* turn_over = b_.CreateAlignedLoad(b_.getPtrTy(), at, llvm::Align(8));
    llvm::Type *pointer = b_.getPtrTy(), *number = b_.getInt64Ty();
    auto* signature =
        llvm::FunctionType::get(b_.getVoidTy(), {pointer, pointer, number, number, number, number}, false);
    auto* call = b_.CreateCall(signature, turn_over,
                               {address(to, element, to_first), address(from, element, from_first), to_stride,
                                from_stride, rows, columns});
    call->setDoesNotThrow();
    return;
  }
  if (few_columns) {
    const int64_t few = known_columns;
    constexpr int64_t kSmallest = 16;  // elements that are worth shuffles
    const int64_t count = std::max(side, bytes <= 2 ? kSmallest : side);
    auto* some = llvm::FixedVectorType::get(element, static_cast<unsigned>(count));
    auto* whole = b_.CreateAnd(rows, i64(-count));
    counted(i64(0), whole, count, false, [&](llvm::Value* r) {
      std::vector<llvm::Value*> lines;
      lines.reserve(static_cast<size_t>(few));
      for (int64_t i = 0; i < few; ++i)
        lines.push_back(b_.CreateAlignedLoad(some, source(r, i64(i * count)), align));
      llvm::Value* all = llvm::concatenateVectors(b_, lines);
      for (int64_t c = 0; c < few; ++c)
        b_.CreateAlignedStore(one_of_few(all, few, c), target(r, i64(c)), align);
    });
    counted(whole, rows, 1, false, [&](llvm::Value* r) {
      counted(i64(0), columns, 1, true, [&](llvm::Value* c) { single(r, c); });
    });
    return;
  }
  // Squares of this side, those at the ends moved back over what is done already, where that is asked for.
  auto squares = [&](int64_t n, llvm::Value* row0, llvm::Value* row1, llvm::Value* column0,
                     llvm::Value* column1, bool back) {
    auto at = [&](llvm::Value* i, llvm::Value* size) {
      if (!back) return i;
      return static_cast<llvm::Value*>(
          b_.CreateBinaryIntrinsic(llvm::Intrinsic::smin, i, b_.CreateSub(size, i64(n))));
    };
    counted(row0, row1, n, false, [&](llvm::Value* row) {
      counted(column0, column1, n, false, [&](llvm::Value* column) {
        auto *r = at(row, rows), *c = at(column, columns);
        const auto square = load_transposed(side_by_stride(source(r, c), from_stride, bytes, n),
                                            static_cast<int>(n), element, align, false);
        const auto goals = side_by_stride(target(r, c), to_stride, bytes, n);
        for (size_t i = 0; i < square.size(); ++i) b_.CreateAlignedStore(square[i], goals[i], align);
      });
    });
  };
  squares(side, i64(0), whole_rows, i64(0), whole_columns, false);
  llvm::Value* done = i64(0);  // columns of the rows behind the last square
  if (few_rows) {
    const int64_t few = known_rows;
    done = whole_columns;
    counted(i64(0), whole_columns, side, false, [&](llvm::Value* c) {
      std::vector<llvm::Value*> lines;
      for (int64_t r = 0; r < few; ++r)
        lines.push_back(b_.CreateAlignedLoad(vector, source(i64(r), c), align));
      b_.CreateAlignedStore(side_by_side(lines), target(i64(0), c), align);
    });
  }
  // The rest, beside the squares and below them: by smaller ones where these fit, or element by element.
  const int64_t small = std::min<int64_t>(side, 16 / bytes);
  auto* fits = b_.CreateAnd(b_.CreateICmpSGE(rows, i64(small)), b_.CreateICmpSGE(columns, i64(small)));
  auto *by_squares = block("small"), *by_element = block("single"), *end = block("turned");
  b_.CreateCondBr(fits, by_squares, by_element);
  b_.SetInsertPoint(by_squares);
  squares(small, i64(0), whole_rows, whole_columns, columns, true);
  squares(small, whole_rows, rows, done, columns, true);
  b_.CreateBr(end);
  b_.SetInsertPoint(by_element);
  auto singles = [&](llvm::Value* row0, llvm::Value* row1, llvm::Value* column0) {
    counted(row0, row1, 1, false, [&](llvm::Value* r) {
      counted(column0, columns, 1, false, [&](llvm::Value* c) { single(r, c); });
    });
  };
  singles(i64(0), whole_rows, whole_columns);
  singles(whole_rows, rows, done);
  b_.CreateBr(end);
  b_.SetInsertPoint(end);
}

}  // namespace ig::codegen
