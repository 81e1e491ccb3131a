// Bytes: the input of a fuzz target as choices, taken from the front until there are none; then
// every choice is the first one. Equal inputs make equal choices on every machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace tephra {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}

  bool empty() const { return size_ == 0; }
  std::uint8_t Byte() {
    if (size_ == 0) return 0;
    --size_;
    return *data_++;
  }
  // From 0 to n - 1. REQUIRES: 0 < n <= 256.
  int Below(int n) { return Byte() % n; }
  bool Once(int in) { return Below(in) == in - 1; }
  template <class T>
  const T& Pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(Below(static_cast<int>(values.size())))];
  }
  template <class Int>
  Int Number() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < sizeof(Int); ++i) value = value << 8 | Byte();
    return static_cast<Int>(value);
  }
  std::string Take(std::size_t most) {
    const std::size_t taken = most < size_ ? most : size_;
    std::string text(reinterpret_cast<const char*>(data_), taken);
    data_ += taken;
    size_ -= taken;
    return text;
  }

 private:
  const std::uint8_t* data_;
  std::size_t size_;
};

}  // namespace tephra
