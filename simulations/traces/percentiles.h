// Percentiles: of a stream of amounts, in constant memory, exact below 2048 and never more than
// 0.1 % too high above.
//
// Amounts are counted by their first 11 bits, as in HdrHistogram (hdrhistogram.org); the
// largest amount with these bits is reported, so each reported value did occur.
#pragma once

#include <absl/container/flat_hash_map.h>

#include <cstdint>

namespace tephra {

class Percentiles {
 public:
  // REQUIRES: amount >= 0.
  void Add(std::int64_t amount);

  std::int64_t count() const { return count_; }
  std::int64_t least() const { return least_; }  // exact, as is most; 0 of nothing
  std::int64_t most() const { return most_; }
  // The least amount that at least so many percent are at most; 0 of nothing.
  // REQUIRES: 0 < percent <= 100.
  std::int64_t At(int percent) const;

 private:
  struct Place {
    std::int64_t count = 0, most = 0;
  };
  absl::flat_hash_map<std::uint32_t, Place> places_;
  std::int64_t count_ = 0, least_ = 0, most_ = 0;
};

}  // namespace tephra
