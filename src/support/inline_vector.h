// A list whose most objects are known when it is made: on the stack where they are few. For what one call
// needs and forgets.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>

namespace ig {

template <typename T, size_t N>
class InlineVector {
 public:
  explicit InlineVector(size_t capacity)
      : data_(capacity <= N ? reinterpret_cast<T*>(inline_) : std::allocator<T>().allocate(capacity)),
        capacity_(capacity) {}
  ~InlineVector() {
    std::destroy_n(data_, size_);
    if (capacity_ > N) std::allocator<T>().deallocate(data_, capacity_);
  }
  InlineVector(const InlineVector&) = delete;
  InlineVector& operator=(const InlineVector&) = delete;

  // At most as many as the list was made for.
  template <typename... Args>
  void emplace_back(Args&&... args) {
    std::construct_at(data_ + size_, std::forward<Args>(args)...);
    ++size_;
  }
  T& operator[](size_t i) { return data_[i]; }
  size_t size() const { return size_; }
  std::span<T> span() const { return {data_, size_}; }

 private:
  alignas(T) std::byte inline_[N * sizeof(T)];
  T* data_;
  size_t capacity_, size_ = 0;
};

}  // namespace ig
