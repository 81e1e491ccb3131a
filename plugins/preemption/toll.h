// Toll: what a set of evictions costs, in the order in which it counts: gangs broken, then tasks
// evicted, then the sum of their costs.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>

namespace tephra {

struct Toll {
  // Of a gang, so that a part of it on one of many nodes can be given a part of the gang.
  static constexpr std::int64_t kGang = std::int64_t{1} << 30;

  std::int64_t gangs = 0;  // in parts of kGang
  std::int64_t tasks = 0;
  std::int64_t cost = 0;

  auto operator<=>(const Toll&) const = default;
  Toll& operator+=(const Toll& other) {
    gangs += other.gangs;
    tasks += other.tasks;
    cost += other.cost;
    return *this;
  }
  friend Toll operator+(Toll a, const Toll& b) { return a += b; }
  static Toll Most() { return {std::numeric_limits<std::int64_t>::max(), 0, 0}; }
};

}  // namespace tephra
