// SumTree: numbers in a row, the sum of any stretch of them found and one of them changed in
// logarithmic time.
//
// Source: P. Fenwick, "A new data structure for cumulative frequency tables", 1994.
#pragma once

#include <cstdint>
#include <vector>

namespace tephra {

class SumTree {
 public:
  void Assign(const std::vector<std::int32_t>& numbers) {
    sums_.assign(numbers.size() + 1, 0);
    for (std::size_t i = 1; i < sums_.size(); ++i) {
      sums_[i] += numbers[i - 1];
      const std::size_t up = i + (i & -i);
      if (up < sums_.size()) sums_[up] += sums_[i];
    }
    all_ = SumBefore(numbers.size());
  }
  void Add(std::size_t at, std::int64_t more) {
    if (more == 0) return;
    all_ += more;
    for (std::size_t i = at + 1; i < sums_.size(); i += i & -i) sums_[i] += more;
  }
  std::int64_t all() const { return all_; }
  // Of the first `count` numbers.
  std::int64_t SumBefore(std::size_t count) const {
    std::int64_t sum = 0;
    for (std::size_t i = count; i > 0; i -= i & -i) sum += sums_[i];
    return sum;
  }

 private:
  std::vector<std::int64_t> sums_;
  std::int64_t all_ = 0;
};

}  // namespace tephra
