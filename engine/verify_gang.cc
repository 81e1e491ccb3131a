// Whether a decision makes a gang whole, and keeps it together.
#include "engine/verify.h"

namespace tephra {

std::string Verifier::CheckMinimum(const Decision& decision) {
  const JobRow& job = snapshot_->job(decision.job);
  std::vector<std::int32_t> counted;
  std::vector<std::int32_t> of_group(job.groups.size());
  std::int32_t total = 0;
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const auto extra = counted_.find(PairKey(decision.job.value, r));
    counted.push_back(job.roles[r].counted + (extra == counted_.end() ? 0 : extra->second));
    total += counted[r];
    for (std::uint32_t g = job.roles[r].group; g != kNoGroup; g = job.groups[g].parent) {
      of_group[g] += counted[r];
    }
  }
  // The group, or one that it is in, may be left out, and is.
  const auto left_out = [&](std::uint32_t g) {
    for (; g != kNoGroup; g = job.groups[g].parent) {
      if (job.groups[g].spec.elastic && of_group[g] == 0) return true;
    }
    return false;
  };
  for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
    const RoleRow& role = job.roles[r];
    if (counted[r] < role.min && !left_out(role.group)) {
      return "role " + role.name + " would run " + Numbers(counted[r], role.min);
    }
  }
  for (std::uint32_t g = 0; g < job.groups.size(); ++g) {
    const GroupSpec& group = job.groups[g].spec;
    if (of_group[g] >= group.min_member || left_out(g)) continue;
    return "group " + group.name + " would run " + Numbers(of_group[g], group.min_member);
  }
  if (total < job.min_member) return "gang would run " + Numbers(total, job.min_member);
  return "";
}

std::string Verifier::CheckLocality(JobId id, const std::vector<Placement>& placements) {
  const JobRow& job = snapshot_->job(id);
  std::string fault = CheckNear(id, placements, job.locality, kNoGroup);
  for (std::uint32_t g = 0; g < job.groups.size() && fault.empty(); ++g) {
    fault = CheckNear(id, placements, job.groups[g].spec.locality, g);
  }
  return fault;
}

// A gang that has to be in one domain is, unless it was not before.
std::string Verifier::CheckNear(JobId of, const std::vector<Placement>& placements,
                                const Locality& locality, std::uint32_t group) {
  if (locality.mode != Locality::Mode::kRequired) return "";
  const JobRow& job = snapshot_->job(of);
  const Hardware& hardware = snapshot_->hardware();
  const Fabric& fabric = hardware.fabric();
  const std::int32_t highest = locality.highest_tier_name.empty()
                                   ? locality.highest_tier
                                   : fabric.TierNamed(locality.highest_tier_name);
  const auto together = [&](const RankSpan& span) {
    const std::vector<std::uint32_t> around = fabric.Around(span);
    return !around.empty() && fabric.domains()[around.front()].tier <= highest;
  };
  const auto at = [&](NodeId node) {
    return RankSpan{hardware.rank(node), hardware.rank(node) + 1};
  };
  const auto concerns = [&](const RoleRow& role) {
    return job.Inside(role.group, group);
  };
  RankSpan span{0, 0};
  for (const RoleRow& role : job.roles) {
    if (!concerns(role)) continue;
    for (const TaskId id : role.tasks) {
      const TaskRow& task = snapshot_->task(id);
      const bool stays = (task.phase == TaskPhase::kRunning || task.phase == TaskPhase::kAssumed) &&
                         placed_in_[id.index()] != plan_;
      if (stays && hardware.present(task.node)) span = RankSpan::Around(span, at(task.node));
    }
  }
  if (!span.empty() && !together(span)) return "";
  for (const Placement& placement : placements) {
    if (!concerns(job.roles[snapshot_->task(placement.task).role])) continue;
    span = RankSpan::Around(span, at(placement.node));
  }
  if (span.empty() || together(span)) return "";
  const std::string what = group == kNoGroup ? "" : "group " + job.groups[group].spec.name + " of ";
  return what + "job " + job.name + " would not be in one domain of tier " +
         std::to_string(highest);
}

}  // namespace tephra
