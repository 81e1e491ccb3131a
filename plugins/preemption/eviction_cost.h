// EvictionCost: what a set of evictions costs. Costs compare by gangs broken, then by tasks
// evicted, then by the sum of the task costs.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace tephra {

struct EvictionCost {
  // Of a gang, so that a part of it on one of many nodes can be given a part of the gang.
  static constexpr std::int64_t kGang = std::int64_t{1} << 30;
  // The part of a gang for the i-th of n places, counted from 0. All n parts add up to a gang.
  static constexpr std::int64_t PartOfGang(std::int64_t i, std::int64_t n) {
    return kGang * (i + 1) / n - kGang * i / n;
  }

  std::int64_t gangs = 0;  // in parts of kGang
  std::int64_t tasks = 0;
  std::int64_t sum = 0;  // of the costs of the tasks

  auto operator<=>(const EvictionCost&) const = default;
  EvictionCost& operator+=(const EvictionCost& other) {
    gangs += other.gangs;
    tasks += other.tasks;
    sum += other.sum;
    return *this;
  }
  friend EvictionCost operator+(EvictionCost a, const EvictionCost& b) { return a += b; }
  static EvictionCost Most() { return {std::numeric_limits<std::int64_t>::max(), 0, 0}; }
};

}  // namespace tephra
