// The array class itself: making one, and its passage to and from literals.
#include "tensor/tensor.h"

#include <mutex>
#include <utility>

#include "support/once.h"
#include "tensor/capture.h"

namespace ig {

Tensor Tensor::empty(DType dtype, Shape shape) {
  size_t bytes = size_of(dtype);
  for (int64_t dim : shape) {
    if (dim < 0)
      throw make_error(ErrorKind::Value, "an array cannot have the negative size {}", dim)
          .why("a size counts elements")
          .hint("sizes are 0 or more; only reshape takes one -1, for \"what is left\"");
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(dim), &bytes))
      throw Error(ErrorKind::Memory, "an array of this shape has more bytes than 64 bits can count")
          .why("no machine could hold it")
          .hint("look at the sizes; one of them may be a product by mistake");
  }
  return Tensor(dtype, std::move(shape), Storage::allocate(bytes));
}

Tensor Tensor::scalar(DType dtype, double value) { return from(Literal::scalar(dtype, value)); }
Tensor Tensor::scalar_int(DType dtype, int64_t value) { return from(Literal::scalar_int(dtype, value)); }

Tensor Tensor::from(const Literal& literal) {
  return Tensor(literal.dtype(), literal.dims(), literal.storage());
}

Literal Tensor::literal() const {
  IG_CHECK(!is_symbolic(), "a symbolic array has no bytes");
  return Literal(dtype_, shape_.vector(), storage());
}

Tensor Tensor::symbolic(Capture* capture, Value value) {
  Tensor out;
  out.dtype_ = value->type().dtype;
  out.symbol_ = std::make_shared<const Symbol>(
      Symbol{capture, capture->serial(), value, value->type(), false, false, {}});
  return out;
}

Tensor Tensor::number(Capture* capture, Value value) {
  Tensor out;
  out.dtype_ = value->type().dtype;
  out.symbol_ = std::make_shared<const Symbol>(
      Symbol{capture, capture->serial(), value, value->type(), true, false, {}});
  return out;
}

// Shared by all handles of the array.
struct Tensor::Later {
  std::vector<int64_t> permutation;
  std::function<Tensor(const Tensor& of)> lay_out;
  mutable Once made;
  mutable std::mutex mutex;  // of what follows
  mutable Tensor of;         // none once the elements are laid out
  mutable int turnings = 0;
  // Twice, so that none of the handles takes the storage for its own.
  mutable Storage storage, also_shared;
};

Tensor Tensor::laid_out_later(Tensor of, std::vector<int64_t> permutation,
                              std::function<Tensor(const Tensor& of)> lay_out) {
  std::vector<int64_t> sizes;
  for (int64_t axis : permutation) sizes.push_back(of.shape()[static_cast<size_t>(axis)]);
  Tensor out(of.dtype(), sizes, {});
  auto later = std::make_shared<Later>();
  later->permutation = std::move(permutation);
  later->lay_out = std::move(lay_out);
  later->of = std::move(of);
  out.later_ = std::move(later);
  return out;
}

bool Tensor::turns_later() const { return !later_->made.done(); }

const Storage& Tensor::laid_out() const {
  const Later& later = *later_;
  later.made([&] {
    const Tensor out = later.lay_out(later.of);
    std::lock_guard lock(later.mutex);
    later.storage = later.also_shared = out.storage();
    later.of = Tensor();
  });
  return later.storage;
}

std::optional<Tensor::Turning> Tensor::turning() const {
  constexpr int kOften = 8;
  if (!later_) return std::nullopt;
  std::lock_guard lock(later_->mutex);
  if (!later_->of.valid() || ++later_->turnings > kOften) return std::nullopt;
  return Turning{later_->of, &later_->permutation};
}

Tensor Tensor::copy_unlinked() const {
  Tensor out = *this;
  out.link_ = nullptr;
  return out;
}

Tensor Tensor::donated(Type type, Location where) {
  Tensor out;
  out.dtype_ = type.dtype;
  out.symbol_ =
      std::make_shared<const Symbol>(Symbol{nullptr, 0, nullptr, std::move(type), false, true, where});
  return out;
}

Type Tensor::type() const {
  if (symbol_) return symbol_->type;
  return Type::tensor(dtype_, Dims(shape_.begin(), shape_.end()));
}

}  // namespace ig
