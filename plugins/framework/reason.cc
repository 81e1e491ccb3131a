#include "plugins/framework/reason.h"

#include <absl/time/time.h>

namespace tephra {
namespace {

std::string Nodes(const Reason& reason) {
  std::string text;
  std::int64_t all = 0;
  for (int m = 0; m < kMisfits; ++m) {
    if (m == static_cast<int>(Misfit::kAbsent)) continue;
    all += reason.nodes[m];
    if (reason.nodes[m] == 0 || m == static_cast<int>(Misfit::kFits)) continue;
    if (!text.empty()) text += ", ";
    text += std::to_string(reason.nodes[m]) + " " + MisfitText(static_cast<Misfit>(m));
  }
  if (text.empty()) return "";
  return "; of " + std::to_string(all) + (all == 1 ? " node " : " nodes ") + text;
}

std::string RoomText(const ResourceKinds& kinds, const Reason& reason) {
  std::string text = "needs " + std::to_string(reason.tasks_needed) +
                     (reason.tasks_needed == 1 ? " task" : " tasks");
  if (!reason.role.empty()) text += " of role " + reason.role;
  if (reason.per_task > 0) {
    text += " with " + AmountText(kinds, reason.binding, reason.per_task) + " each";
  }
  text += ", room for " + std::to_string(reason.tasks_fit);
  if (reason.per_task > 0) {
    text += ": " + AmountText(kinds, reason.binding, reason.free_total) + " free of " +
            AmountText(kinds, reason.binding, reason.capacity_total) + " on nodes it may use";
    if (!reason.best_node.empty()) {
      text += ", best is " + reason.best_node + " with " +
              AmountText(kinds, reason.binding, reason.best_free) + " free";
    }
  }
  return text + Nodes(reason);
}

std::string LocalityText(const ResourceKinds& kinds, const Reason& reason) {
  const std::string tier =
      reason.tier_name.empty() ? "tier " + std::to_string(reason.tier) : "tier " + reason.tier_name;
  if (reason.domains == 0) return "has to be in one domain of " + tier + ", and there is none";
  std::string text = "has to be in one domain of " + tier + ", and of " +
                     std::to_string(reason.domains) + " none has room for all of it";
  if (reason.domain.empty()) return text;
  return text + "; best is " + reason.domain + ": " + RoomText(kinds, reason);
}

std::string RemedyText(const ResourceKinds& kinds, const Reason& reason) {
  const auto words = [&](std::int64_t amount) {
    return AmountText(kinds, reason.over_kind, amount);
  };
  switch (reason.remedy) {
    case Remedy::kNotAsked:
      return "";
    case Remedy::kOverShare:
      return "; nothing is reclaimed for it, since queue " + reason.over_queue + " is to have " +
             words(reason.over_share) + ", holds " + words(reason.over_holds) +
             ", and this needs " + words(reason.over_asked);
    case Remedy::kImpossible:
      return "; no eviction that is allowed would make room";
    case Remedy::kSearch:
      return "; no evictions that make room were found within the search budget";
    case Remedy::kOnce:
      return "; others were evicted for it before, and nothing else has happened since";
  }
  return "";
}

// Hundredths, rounded down.
std::string GpuHours(std::int64_t gpu_s) {
  const std::int64_t hundredths = gpu_s / 36;
  const std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + (rest.size() < 2 ? ".0" : ".") + rest + " GPU-h";
}

std::string MovesText(const Reason& reason) {
  return std::to_string(reason.moved) + (reason.moved == 1 ? " task of " : " tasks of ") +
         std::to_string(reason.jobs_moved) + (reason.jobs_moved == 1 ? " job" : " jobs");
}

std::string MovingText(const Reason& reason) {
  const std::string gains =
      "gains " + GpuHours(reason.gain_gpu_s) + " and costs " + GpuHours(reason.cost_gpu_s);
  switch (reason.moving) {
    case Moving::kNotAsked:
    case Moving::kDone:
      return "";
    case Moving::kProposed:
      return "; to move " + MovesText(reason) + " would make room, which " + gains +
             ", but consolidation only proposes it";
    case Moving::kNoPlan:
      return "; no moves that are allowed were found to make room";
    case Moving::kCost:
      return "; to move " + MovesText(reason) + " would make room, but " + gains;
    case Moving::kBudget:
      if (reason.moved == 0) return "; no more tasks may be moved in this hour";
      return "; to move " + MovesText(reason) + " would make room, but " +
             std::to_string(reason.moves_left) + " may be moved now";
    case Moving::kWindow:
      return "; tasks are not moved at this time of the day";
  }
  return "";
}

std::string ReleasingText(const Reason& reason) {
  if (reason.moving == Moving::kDone) {
    return "room is set aside, and starts when " + MovesText(reason) +
           (reason.moved == 1 ? " has" : " have") + " moved, which gains " +
           GpuHours(reason.gain_gpu_s) + " and costs " + GpuHours(reason.cost_gpu_s) +
           (reason.fewest ? "" : "; whether fewer would do was not proven");
  }
  if (reason.evicted == 0) return "room is set aside, and starts when what leaves it has gone";
  std::string text = "room is set aside, and starts when " + std::to_string(reason.evicted) +
                     (reason.evicted == 1 ? " evicted task has" : " evicted tasks have") + " gone";
  if (reason.gangs_broken > 0) {
    text += ", " + std::to_string(reason.gangs_broken) +
            (reason.gangs_broken == 1 ? " gang" : " gangs") + " among them";
  }
  return text + (reason.fewest ? "" : "; whether fewer would do was not proven");
}

std::string KeptText(const ResourceKinds& kinds, const Reason& reason) {
  const auto words = [&](std::int64_t amount) { return AmountText(kinds, reason.binding, amount); };
  std::string text;
  if (reason.queue.empty()) {
    text = words(reason.limit) + " are free, but " + words(reason.kept) + " of them are kept";
  } else {
    text = "queue " + reason.queue + " may hold " + words(reason.limit) + ", holds " +
           words(reason.used) + ", and keeps " + words(reason.kept);
  }
  return text + " for queues with a guarantee (the most for " + reason.kept_for +
         "), and this needs " + words(reason.asked);
}

std::string GateText(const ResourceKinds& kinds, const Reason& reason) {
  const auto words = [&](std::int64_t amount) { return AmountText(kinds, reason.binding, amount); };
  const std::string asked = ", and this needs " + words(reason.asked);
  if (!reason.queue.empty()) {
    return "not let in: queue " + reason.queue + " may have " + words(reason.limit) +
           ", jobs that were let in have a claim to " + words(reason.used) + asked;
  }
  return "not let in: of " + words(reason.limit) + " with overcommitment " + words(reason.used) +
         " are used, jobs that were let in lack " + words(reason.kept) + asked;
}

// "at 2026-11-22T10:00:00Z"; "2h5m after the start" of a trace.
std::string InstantText(std::int64_t ms) {
  constexpr std::int64_t kYearMs = std::int64_t{365} * 24 * 3600 * 1000;
  if (ms >= 20 * kYearMs) {
    return "at " +
           absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(ms), absl::UTCTimeZone());
  }
  return absl::FormatDuration(absl::Milliseconds(ms)) + " after the beginning";
}

// What waits is told when it starts, as things stand, or why nobody can say.
std::string StartText(const Reason& reason) {
  if (reason.start_ms != 0) {
    const std::string on = reason.start_on.empty() ? "" : " on " + reason.start_on;
    return "; to start " + InstantText(reason.start_ms) + on;
  }
  switch (reason.untimed) {
    case Untimed::kNotAsked:
      return "";
    case Untimed::kEnds:
      return "; no time can be told: all that is expected to end may end, and it still has no room";
    case Untimed::kDepth:
      return "; not among those that are promised a start";
  }
  return "";
}

}  // namespace

const char* MisfitText(Misfit misfit) {
  switch (misfit) {
    case Misfit::kFits:
      return "fit";
    case Misfit::kAbsent:
      return "absent";
    case Misfit::kUnschedulable:
      return "cordoned or not ready";
    case Misfit::kTaint:
      return "with an untolerated taint";
    case Misfit::kSelector:
      return "not selected by labels";
    case Misfit::kModel:
      return "without the device model";
    case Misfit::kRefused:
      return "refused before";
    case Misfit::kLimit:
      return "at the limit per domain";
    case Misfit::kResource:
      return "short of CPU, memory, pods or another resource";
    case Misfit::kGpu:
      return "short of GPU";
    case Misfit::kFragmented:
      return "with enough GPU only in pieces";
    case Misfit::kExcluded:
      return "excluded by the scheduler's own checks";
    case Misfit::kMode:
      return "without a GPU that may be shared so";
  }
  return "?";
}

namespace {

std::string ObstacleText(const ResourceKinds& kinds, const Reason& reason) {
  switch (reason.obstacle) {
    case Obstacle::kNone:
      return "";
    case Obstacle::kQueueMissing:
      return "queue " + reason.queue + " does not exist";
    case Obstacle::kQueueClosed:
      return "queue " + reason.queue + " is not open";
    case Obstacle::kQueueLimit:
      return "queue " + reason.queue + " may hold " +
             AmountText(kinds, reason.binding, reason.limit) + ", holds " +
             AmountText(kinds, reason.binding, reason.used) + ", and this needs " +
             AmountText(kinds, reason.binding, reason.asked);
    case Obstacle::kMembers:
      if (reason.pods_there < reason.pods_needed) {
        return std::to_string(reason.pods_there) + " of " + std::to_string(reason.pods_needed) +
               " pods" + (reason.role.empty() ? "" : " of role " + reason.role) + " exist";
      }
      return "needs " + std::to_string(reason.tasks_needed) + " more tasks" +
             (reason.role.empty() ? "" : " of role " + reason.role) + ", and " +
             std::to_string(reason.tasks_fit) + " ask to run";
    case Obstacle::kRoom:
      return RoomText(kinds, reason);
    case Obstacle::kTogether:
      return "each role has room by itself, but all together do not fit; " +
             RoomText(kinds, reason);
    case Obstacle::kSearch:
      return "no placement found within the search budget, though none is proven impossible; " +
             RoomText(kinds, reason);
    case Obstacle::kQueueCycle:
      return "the queue cannot be used: its parents form a cycle, " + reason.queue;
    case Obstacle::kQueueGuarantee:
      return KeptText(kinds, reason);
    case Obstacle::kBehind:
      return "queue " + reason.queue + " is first in, first out, and job " + reason.ahead +
             " waits ahead of this";
    case Obstacle::kReleasing:
      return ReleasingText(reason);
    case Obstacle::kQueueParent:
      return "queue " + reason.queue + " has others under it, and jobs start in those only";
    case Obstacle::kGate:
      return GateText(kinds, reason);
    case Obstacle::kLocality:
      return LocalityText(kinds, reason);
    case Obstacle::kGroups:
      return "its " + std::to_string(reason.groups_needed) +
             " sub-groups start together, and room was found for " +
             std::to_string(reason.groups_fit) + " at once, not for " + reason.group +
             " beside them";
    case Obstacle::kReserved:
      return "there is room, but then job " + reason.ahead + " would not start " +
             InstantText(reason.ahead_start_ms);
    case Obstacle::kUnhealthy:
      return std::to_string(reason.evicted) +
             " of its tasks are evicted: " + std::to_string(reason.sick_tasks) +
             " of them hold slices of " + std::to_string(reason.sick_devices) +
             " unhealthy devices, the first on " + reason.best_node;
    case Obstacle::kQuarantine:
      return "its last placement failed verification; it waits until its facts change";
  }
  return "?";
}

}  // namespace

std::string ReasonText(const ResourceKinds& kinds, const Reason& reason) {
  const bool of_group = !reason.group.empty() && reason.obstacle != Obstacle::kGroups;
  return (of_group ? "sub-group " + reason.group + ": " : "") + ObstacleText(kinds, reason) +
         RemedyText(kinds, reason) + MovingText(reason) + StartText(reason);
}

}  // namespace tephra
