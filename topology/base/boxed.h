// Boxed: a large value that most holders leave at its default, kept on the heap where it is another
// one. Never changed in place, so that copies share it; any thread may read, and each holder has one
// owner thread. As large as a pointer.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>

namespace tephra {

template <typename T>
class Boxed {
 public:
  Boxed() = default;
  // Stands wherever the value itself does.
  Boxed(T value) {
    if (!(value == Default())) box_ = new Box{{1}, std::move(value)};
  }
  Boxed(const Boxed& other) : box_(other.box_) {
    if (box_ != nullptr) box_->holders.fetch_add(1, std::memory_order_relaxed);
  }
  Boxed(Boxed&& other) noexcept : box_(std::exchange(other.box_, nullptr)) {}
  Boxed& operator=(Boxed other) noexcept {
    std::swap(box_, other.box_);
    return *this;
  }
  ~Boxed() {
    if (box_ != nullptr && box_->holders.fetch_sub(1, std::memory_order_acq_rel) == 1) delete box_;
  }

  const T& operator*() const { return box_ == nullptr ? Default() : box_->value; }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }
  bool operator==(const Boxed& other) const { return box_ == other.box_ || **this == *other; }
  // It is the default, and takes no memory of its own.
  bool is_default() const { return box_ == nullptr; }
  // Another holder shares the value.
  bool shared() const {
    return box_ != nullptr && box_->holders.load(std::memory_order_acquire) > 1;
  }

 private:
  struct Box {
    std::atomic<std::uint32_t> holders;
    T value;
  };
  static const T& Default() {
    static const T value{};
    return value;
  }

  Box* box_ = nullptr;
};

}  // namespace tephra
