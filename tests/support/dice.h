// Dice: random numbers that are the same on every machine for the same seed (SplitMix64).
#pragma once

#include <cstdint>
#include <vector>

#include "topology/base/hash.h"

namespace tephra {

class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(Mix(seed)) {}

  std::uint64_t Next() { return state_ = Mix(state_); }
  // From 0 to n - 1. REQUIRES: n > 0.
  int Below(int n) { return static_cast<int>(Next() % static_cast<std::uint64_t>(n)); }
  int From(int least, int most) { return least + Below(most - least + 1); }
  bool Percent(int percent) { return Below(100) < percent; }
  template <class T>
  const T& Pick(const std::vector<T>& values) {
    return values[static_cast<std::size_t>(Below(static_cast<int>(values.size())))];
  }
  template <class T>
  void Shuffle(std::vector<T>& values) {
    for (std::size_t i = values.size(); i > 1; --i) {
      std::swap(values[i - 1], values[static_cast<std::size_t>(Below(static_cast<int>(i)))]);
    }
  }

 private:
  std::uint64_t state_;
};

}  // namespace tephra
