// TaskNeed: the least that a task of a job takes of the kinds that nearly all tasks ask for. It rules out
// nodes at the cost of a few comparisons.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "topology/resources.h"

namespace tephra {

struct TaskNeed {
  static constexpr std::array<Kind, 4> kKinds = {kGpu, kCpu, kMemory, kGpuMemory};
  // Within any amount that is free, or taken more than once.
  static constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::min();

  std::array<std::int64_t, 4> amount = {kNone, kNone, kNone, kNone};  // by kKinds
  std::int32_t tasks = 1;  // so many have to start at once, at least 1

  std::int64_t gpu() const { return std::max<std::int64_t>(amount[0], 0); }
  std::int64_t cpu() const { return std::max<std::int64_t>(amount[1], 0); }
  bool Within(const Resources& free) const {
    bool within = true;
    for (std::size_t k = 0; k < kKinds.size(); ++k) within &= amount[k] <= free[kKinds[k]];
    return within;
  }
  // Upper bound on how many tasks have room in that, at most `most`.
  std::int64_t CopiesIn(const Resources& free, std::int64_t most) const {
    for (std::size_t k = 0; k < kKinds.size(); ++k) {
      if (amount[k] <= 0) continue;
      most = std::min(most, std::max<std::int64_t>(free[kKinds[k]], 0) / amount[k]);
    }
    return most;
  }
};

}  // namespace tephra
