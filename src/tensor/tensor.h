// The one array class, concrete (a buffer) or symbolic (a value of a graph that is being captured). Every
// function of the library takes both, so every capture front end sees the same calls. Arrays are values: no
// two alias, and a rebinding of a handle is seen through no other. A large concrete one whose axes were put
// in another order has its buffer made when somebody reads it: products need none, so `x @ w.T` copies
// nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ir/graph.h"
#include "support/storage.h"

namespace ig {

class Capture;
class Tensor;
namespace ops {
struct Op;
}

// What an array remembers for eager autograd: its place on the tape (frontends/tape). An array that no
// derivative is asked of has none. A symbolic one has its place in the tape of the program that is captured.
class GradLink {
 public:
  virtual ~GradLink() = default;
  // Whether what is computed now, in this thread, goes on the tape.
  virtual bool recording() const = 0;
  // An op ran on operands of which one has this link: links the results.
  virtual void record(const ops::Op& op, std::span<const Tensor> operands, const Attrs& attrs,
                      std::span<Tensor> results) const = 0;
  // A whole graph ran on inputs of which one has this link: the same.
  virtual void record(std::shared_ptr<const Graph> graph, std::span<const Tensor> inputs,
                      std::span<Tensor> results) const = 0;
};

// Sizes of a concrete array; six axes without an allocation.
class Shape {
 public:
  Shape() = default;
  Shape(std::span<const int64_t> dims) { assign(dims); }
  Shape(std::initializer_list<int64_t> dims) { assign({dims.begin(), dims.size()}); }
  Shape(const std::vector<int64_t>& dims) { assign(dims); }
  int rank() const { return rank_; }
  size_t size() const { return static_cast<size_t>(rank_); }
  const int64_t* data() const { return rank_ <= kInline ? inline_ : heap_.data(); }
  int64_t operator[](size_t i) const { return data()[i]; }
  const int64_t* begin() const { return data(); }
  const int64_t* end() const { return data() + rank_; }
  std::span<const int64_t> span() const { return {data(), size()}; }
  int64_t elements() const {
    int64_t n = 1;
    for (int64_t d : *this) n *= d;
    return n;
  }
  bool operator==(const Shape& o) const {
    if (rank_ != o.rank_) return false;
    for (int i = 0; i < rank_; ++i)
      if (data()[i] != o.data()[i]) return false;
    return true;
  }
  std::vector<int64_t> vector() const { return {begin(), end()}; }

 private:
  static constexpr int kInline = 6;
  void assign(std::span<const int64_t> dims) {
    rank_ = static_cast<int>(dims.size());
    if (rank_ > kInline)
      heap_.assign(dims.begin(), dims.end());
    else
      for (int i = 0; i < rank_; ++i) inline_[i] = dims[i];
  }
  int rank_ = 0;
  int64_t inline_[kInline] = {};
  std::vector<int64_t> heap_;
};

class Tensor {
 public:
  Tensor() = default;  // no array at all
  Tensor(DType dtype, Shape shape, Storage storage)
      : dtype_(dtype), shape_(std::move(shape)), storage_(std::move(storage)) {}
  static Tensor empty(DType dtype, Shape shape);
  static Tensor scalar(DType dtype, double value);
  static Tensor scalar_int(DType dtype, int64_t value);
  static Tensor from(const Literal& literal);  // shares the bytes
  Literal literal() const;                     // likewise; concrete only
  static Tensor symbolic(Capture* capture, Value value);
  // A Python number that a capture made symbolic: it takes the dtype of the arrays that it meets
  // (tensor/front.h).
  static Tensor number(Capture* capture, Value value);
  // What stays in a handle whose memory was given to a call: no array; every use is refused, naming that
  // call's line.
  static Tensor donated(Type type, Location where);

  // The array `of` with its axes in another order, whose elements `lay_out` makes when somebody reads them.
  static Tensor laid_out_later(Tensor of, std::vector<int64_t> permutation,
                               std::function<Tensor(const Tensor& of)> lay_out);

  bool valid() const { return storage_ || symbol_ || later_; }
  bool is_symbolic() const { return symbol_ != nullptr; }
  DType dtype() const { return dtype_; }
  int rank() const { return symbol_ ? symbol_->type.rank() : shape_.rank(); }
  Type type() const;  // of either kind

  // Concrete only.
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  size_t bytes() const { return static_cast<size_t>(elements()) * size_of(dtype_); }
  void* data() const { return storage().data(); }
  const Storage& storage() const { return later_ ? laid_out() : storage_; }
  Tensor reshaped(Shape shape) const { return Tensor(dtype_, std::move(shape), storage()); }  // same bytes
  // What this array is made of, where it has not been laid out yet: `of` with its axes in the order of
  // `permutation`. For those who can take it so; who asks often is better off with it laid out, so then it
  // is.
  struct Turning;
  bool waits() const { return later_ && turns_later(); }
  std::optional<Turning> turning() const;

  // Null for all arrays that eager autograd has nothing to do with.
  const std::shared_ptr<const GradLink>& link() const { return link_; }
  void set_link(std::shared_ptr<const GradLink> link) { link_ = std::move(link); }
  Tensor unlinked() const { return symbol_ || later_ ? copy_unlinked() : Tensor(dtype_, shape_, storage_); }

  // Symbolic only. The type is a copy, so that a handle that outlives its capture still tells what it was;
  // `capture` and `value` may be used while that capture lives alone, which `Capture::owns` says.
  struct Symbol {
    Capture* capture = nullptr;
    uint64_t serial = 0;  // of the capture: another one may come to lie at the same address
    Value value = nullptr;
    Type type;
    bool number = false;   // stands for a Python number
    bool donated = false;  // see `donated`
    Location donated_at;   // the call
  };
  bool is_number() const { return symbol_ && symbol_->number; }
  const Symbol* symbol() const { return symbol_.get(); }
  Capture* capture() const { return symbol_ ? symbol_->capture : nullptr; }
  Value value() const { return symbol_ ? symbol_->value : nullptr; }

 private:
  struct Later;
  Tensor copy_unlinked() const;
  bool turns_later() const;
  const Storage& laid_out() const;
  DType dtype_ = DType::F32;
  Shape shape_;
  Storage storage_;
  std::shared_ptr<const Symbol> symbol_;
  std::shared_ptr<const GradLink> link_;
  std::shared_ptr<const Later> later_;  // instead of a storage
};

struct Tensor::Turning {
  Tensor of;
  const std::vector<int64_t>* permutation;  // lives as long as the array
};

// The link of the first array that has one, where what is computed now goes on the tape; null otherwise.
inline const GradLink* recording_link(std::span<const Tensor> arrays) {
  for (const Tensor& array : arrays)
    if (array.link()) return array.link()->recording() ? array.link().get() : nullptr;
  return nullptr;
}

}  // namespace ig
