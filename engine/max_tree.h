// MaxTree: numbers in a row, the first largest of them found in logarithmic time, and changed in
// less where the change is soon outshone.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tephra {

class MaxTree {
 public:
  using Value = std::int32_t;
  static constexpr Value kLowest = std::numeric_limits<Value>::min();

  void Assign(const std::vector<Value>& leaves) {
    width_ = std::bit_ceil(std::max<std::size_t>(leaves.size(), 1));
    values_.assign(2 * width_, kLowest);
    std::copy(leaves.begin(), leaves.end(), values_.begin() + static_cast<std::ptrdiff_t>(width_));
    for (std::size_t i = width_ - 1; i > 0; --i) {
      values_[i] = std::max(values_[2 * i], values_[2 * i + 1]);
    }
  }
  void Set(std::size_t leaf, Value value) {
    std::size_t i = leaf + width_;
    if (values_[i] == value) return;
    values_[i] = value;
    while (i > 1) {
      i /= 2;
      const Value larger = std::max(values_[2 * i], values_[2 * i + 1]);
      if (values_[i] == larger) break;
      values_[i] = larger;
    }
  }
  Value at(std::size_t leaf) const { return values_[leaf + width_]; }
  Value best() const { return values_.empty() ? kLowest : values_[1]; }
  // The lowest leaf that holds best().
  std::size_t first_best() const {
    std::size_t i = 1;
    while (i < width_) i = values_[2 * i] == values_[i] ? 2 * i : 2 * i + 1;
    return i - width_;
  }
  // The largest from leaf `first` on and before `last`, and the lowest leaf there that holds it.
  // REQUIRES: first < last, and no leaf is out of range.
  std::pair<Value, std::size_t> BestIn(std::size_t first, std::size_t last) const {
    // Of the nodes that cover the range the leftmost with the largest value.
    std::size_t best = first + width_;
    std::size_t from = first + width_, to = last + width_,
                right = 0;  // the leftmost best among those met from the right
    for (; from < to; from /= 2, to /= 2) {
      if (from % 2 == 1) {
        if (values_[from] > values_[best]) best = from;
        ++from;
      }
      if (to % 2 == 1) {
        --to;
        if (right == 0 || values_[to] >= values_[right]) right = to;
      }
    }
    if (right != 0 && values_[right] > values_[best]) best = right;
    while (best < width_) best = values_[2 * best] == values_[best] ? 2 * best : 2 * best + 1;
    return {values_[best], best - width_};
  }
  std::size_t bytes() const { return values_.capacity() * sizeof(Value); }

 private:
  std::size_t width_ = 0;
  std::vector<Value> values_;
};

}  // namespace tephra
