#include "engine/gang_counts.h"

namespace tephra {

bool JobRow::satisfied() const { return GangCounts(*this).met(); }

std::int32_t GangCounts::of_group(const GroupRow& group) const {
  std::int32_t sum = 0;
  for (const std::uint32_t r : group.roles) sum += of_role(r);
  for (const std::uint32_t g : group.groups) sum += of_group(job_.groups[g]);
  return sum;
}

std::int32_t GangCounts::least(std::size_t role) const {
  const RoleRow& row = job_.roles[role];
  return row.group == kNoGroup || takes(job_.groups[row.group]) ? row.min : 0;
}

std::int32_t GangCounts::missing(const GroupRow& group) const {
  std::int32_t parts = 0;
  for (const std::uint32_t r : group.roles) parts += missing(r);
  for (const std::uint32_t g : group.groups) {
    if (needed(job_.groups[g])) parts += missing(job_.groups[g]);
  }
  return std::max(parts, group.spec.min_member - of_group(group));
}

std::int32_t GangCounts::missing() const {
  std::int32_t sum = 0, counted = 0;
  for (std::size_t r = 0; r < job_.roles.size(); ++r) {
    counted += of_role(r);
    if (job_.roles[r].group == kNoGroup) sum += missing(r);
  }
  for (const GroupRow& group : job_.groups) {
    if (group.parent == kNoGroup && needed(group)) sum += missing(group);
  }
  return std::max(sum, job_.min_member - counted);
}

GangCounts::Surplus GangCounts::surplus() const {
  Surplus surplus{0, std::vector<std::int32_t>(job_.roles.size())};
  if (!job_.groups.empty() || !met()) return surplus;
  surplus.all = all() - job_.min_member;
  for (std::size_t r = 0; r < job_.roles.size(); ++r) {
    surplus.by_role[r] = of_role(r) - job_.roles[r].min;
  }
  return surplus;
}

}  // namespace tephra
