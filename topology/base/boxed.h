// Boxed: a large value that most holders leave at its default, kept on the heap where it is another
// one. Never changed in place, so that copies share it; any thread may read.
#pragma once

#include <memory>
#include <utility>

namespace tephra {

template <typename T>
class Boxed {
 public:
  Boxed() = default;
  // Stands wherever the value itself does.
  Boxed(T value) {
    if (!(value == Default())) value_ = std::make_shared<const T>(std::move(value));
  }

  const T& operator*() const { return value_ == nullptr ? Default() : *value_; }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }
  bool operator==(const Boxed& other) const { return value_ == other.value_ || **this == *other; }

 private:
  static const T& Default() {
    static const T value{};
    return value;
  }

  std::shared_ptr<const T> value_;
};

}  // namespace tephra
