// GangCounts: the arithmetic of a job's minimums: those of its roles, of its groups, and of all of it.
//
// A task counts from when a plan places it until it is gone, and also when it has succeeded
// (RoleRow::counted). The tasks of a group include those of the groups inside it. The minimums of an
// elastic group count once the group has begun. The Verifier does not use this: it has arithmetic of
// its own.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "engine/rows.h"

namespace tephra {

class GangCounts {
 public:
  // `gone`: by role, how many of its tasks count no longer; empty: none. Both must outlive this.
  explicit GangCounts(const JobRow& job, std::span<const std::int32_t> gone = {})
      : job_(job), gone_(gone) {}

  // Tasks that count.
  std::int32_t of_role(std::size_t role) const {
    return job_.roles[role].counted - (gone_.empty() ? 0 : gone_[role]);
  }
  std::int32_t of_group(const GroupRow& group) const;
  std::int32_t all() const {
    std::int32_t sum = 0;
    for (std::size_t r = 0; r < job_.roles.size(); ++r) sum += of_role(r);
    return sum;
  }
  // Whether the minimums of the group count once those of the group that it is in do.
  bool needed(const GroupRow& group) const { return !group.spec.elastic || of_group(group) > 0; }
  // Whether the minimums of the group count.
  bool takes(const GroupRow& group) const {
    return needed(group) && (group.parent == kNoGroup || takes(job_.groups[group.parent]));
  }
  // The role's minimum, where it counts; else 0.
  std::int32_t least(std::size_t role) const;

  // Tasks that are missing to the role's own minimum, whether it counts or not.
  std::int32_t missing(std::size_t role) const {
    return std::max(0, job_.roles[role].min - of_role(role));
  }
  // To the minimums of the group, of its roles and of the needed groups inside it, whether they
  // count or not.
  std::int32_t missing(const GroupRow& group) const;
  // To all minimums that count.
  std::int32_t missing() const;
  // Whether every minimum is met.
  bool met() const { return missing() <= 0; }
  // How many tasks, and of each role, may go so that every minimum is still met. Of a job with
  // groups, or that is below a minimum: none.
  struct Surplus {
    std::int32_t all = 0;
    std::vector<std::int32_t> by_role;
  };
  Surplus surplus() const;

 private:
  const JobRow& job_;
  std::span<const std::int32_t> gone_;
};

}  // namespace tephra
