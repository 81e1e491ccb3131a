#include "engine/reason.h"

#include <absl/time/time.h>

#include "topology/base/hash.h"
#include "topology/base/time.h"

namespace tephra {
namespace {

// "1 task", "4 tasks".
std::string Count(std::int64_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

// "; of 4 nodes: 1 with an untolerated taint, 1 with too few free GPUs".
std::string NodesText(const Reason& reason) {
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
  return "; of " + Count(all, "node") + ": " + text;
}

// What is short: the cause that the numbers of NumbersText show.
std::string RoomCause(const ResourceKinds& kinds, const Reason& reason) {
  if (reason.per_task <= 0) return reason.best_node.empty() ? "no node is eligible" : "no room";
  const std::string kind = reason.binding == kPods ? "pod slots" : KindText(kinds, reason.binding);
  const std::int64_t needed = reason.tasks_needed * reason.per_task;
  if (reason.capacity_total < needed) return "not enough " + kind;
  if (reason.free_total < needed) return "not enough free " + kind;
  const auto nodes = [&](Misfit misfit) { return reason.nodes[static_cast<std::size_t>(misfit)]; };
  if (nodes(Misfit::kFragmented) > 0) return "free GPUs are fragmented";
  const bool enough = nodes(Misfit::kGpu) == 0 && nodes(Misfit::kResource) == 0;
  if (enough && nodes(Misfit::kLimit) > 0) {
    return "host ports, anti-affinity, volumes or limits allow too few tasks on the eligible nodes";
  }
  return "enough free " + kind + " in total, but too few nodes have room for a task";
}

// "; limit port/TCP/8080/0.0.0.0 is used up: job web holds it on node n1 and is not preemptible", or
// "; node n1 has 25 of 25 places of limit volumes/x.csi taken, and a task takes 1 more: job web holds ...".
std::string LimitText(const Reason& reason) {
  if (reason.full_group.empty()) return "";
  std::string text = "; limit " + reason.full_group + " is used up";
  const std::string holder = ": job " + reason.holder + " holds ";
  if (!reason.full_node.empty()) {
    text = "; node " + reason.full_node + " has " + std::to_string(reason.places_taken) + " of " +
           Count(reason.places, "place") + " of limit " + reason.full_group +
           " taken, and a task takes " + std::to_string(reason.places_asked) + " more";
    if (reason.holder.empty()) return text;
    text += holder + "some of them";
  } else {
    if (reason.holder.empty()) return text;
    text += holder + "it on node " + reason.holder_node;
  }
  return text + (reason.holder_preemptible ? "" : " and is not preemptible");
}

// "the job needs 4 tasks of role worker x 8 GPUs; eligible nodes have 19 of 32 GPUs free and room
// for 2 tasks; the most suitable node for a task, n3, has 7 GPUs free; ...". `place` has the room.
std::string NumbersText(const ResourceKinds& kinds, const Reason& reason,
                        const std::string& place = "eligible nodes have") {
  std::string text = "the job needs " + Count(reason.tasks_needed, "task");
  if (!reason.role.empty()) text += " of role " + reason.role;
  if (reason.per_task > 0) text += " x " + AmountText(kinds, reason.binding, reason.per_task);
  text += "; " + place + " ";
  if (reason.per_task > 0) {
    text +=
        PartText(kinds, reason.binding, reason.free_total, reason.capacity_total) + " free and ";
  }
  text += "room for " + Count(reason.tasks_fit, "task");
  if (reason.per_task > 0 && !reason.best_node.empty()) {
    text += "; the most suitable node for a task, " + reason.best_node + ", has " +
            AmountText(kinds, reason.binding, reason.best_free) + " free";
  }
  return text + NodesText(reason) + LimitText(reason);
}

std::string RoomText(const ResourceKinds& kinds, const Reason& reason) {
  return RoomCause(kinds, reason) + ": " + NumbersText(kinds, reason);
}

std::string LocalityText(const ResourceKinds& kinds, const Reason& reason) {
  const std::string tier =
      "tier " + (reason.tier_name.empty() ? std::to_string(reason.tier) : reason.tier_name);
  if (reason.domains == 0) return "no domain of " + tier + " exists, and the job must run in one";
  const std::string where = reason.domains == 1
                                ? "the only domain"
                                : "any of the " + std::to_string(reason.domains) + " domains";
  const std::string text = "not enough room in " + where + " of " + tier;
  if (reason.domain.empty()) return text;
  return text + ": " +
         NumbersText(kinds, reason, "the domain with the most room, " + reason.domain + ", has");
}

// Hundredths, rounded down.
std::string GpuHours(std::int64_t gpu_s) {
  const std::int64_t hundredths = gpu_s / 36;
  const std::string rest = std::to_string(hundredths % 100);
  return std::to_string(hundredths / 100) + (rest.size() < 2 ? ".0" : ".") + rest + " GPU hours";
}

// "2026-11-22T10:00:00Z", or "2h5m of simulated time" in a trace.
std::string TimeText(std::int64_t ms) {
  if (IsUnixTime(ms)) {
    return absl::FormatTime("%Y-%m-%dT%H:%M:%SZ", absl::FromUnixMillis(ms), absl::UTCTimeZone());
  }
  return absl::FormatDuration(absl::Milliseconds(ms)) + " of simulated time";
}

std::string InstantText(std::int64_t ms) { return "at " + TimeText(ms); }

std::string DurationText(std::int64_t ms) {
  return absl::FormatDuration(absl::Milliseconds(ms));
}

std::string RemedyText(const ResourceKinds& kinds, const Reason& reason) {
  const auto words = [&](std::int64_t amount) {
    return AmountText(kinds, reason.over_kind, amount);
  };
  switch (reason.remedy) {
    case Remedy::kNotAsked:
      return "";
    case Remedy::kOverShare:
      return "; no reclaim: the fair share of queue " + reason.over_queue + " is " +
             words(reason.over_share) + ", it uses " + words(reason.over_holds) +
             ", the job needs " + words(reason.over_asked);
    case Remedy::kImpossible:
      return "; no allowed eviction makes room";
    case Remedy::kSearch:
      return "; the eviction search reached its limit and found no solution, but one may exist";
    case Remedy::kLoss:
      return "; no reclaim yet: the victims would lose at least " + GpuHours(reason.loss_gpu_s) +
             " of work, more than the " + GpuHours(reason.loss_limit_gpu_s) +
             " that its wait allows (reclaim.max_loss_percent); any loss is allowed " + InstantText(reason.any_loss_from_ms) +
             " (reclaim.patience)";
    case Remedy::kDelay:
      return "; the eviction delay of the queue is " + DurationText(reason.eviction_delay_ms) +
             ": no task is evicted for this job before " + TimeText(reason.evicts_from_ms);
    case Remedy::kOnce:
      return "; tasks were evicted for this job before, and nothing has changed since";
  }
  return "";
}

std::string MigrationsText(const Reason& reason) {
  return Count(reason.moved, "task") + " of " + Count(reason.jobs_moved, "job");
}

std::string MovingText(const Reason& reason) {
  const std::string gains =
      "gains " + GpuHours(reason.gain_gpu_s) + " and costs " + GpuHours(reason.cost_gpu_s);
  switch (reason.moving) {
    case Moving::kNotAsked:
    case Moving::kDone:
      return "";
    case Moving::kProposed:
      return "; migrating " + MigrationsText(reason) + " would make room (" + gains +
             "), but consolidation is in dry-run mode";
    case Moving::kNoPlan:
      return "; no allowed migration makes room";
    case Moving::kCost:
      return "; migrating " + MigrationsText(reason) + " would make room, but " + gains;
    case Moving::kBudget:
      if (reason.moved == 0) return "; the limit of migrations per hour is reached";
      return "; migrating " + MigrationsText(reason) + " would make room, but only " +
             std::to_string(reason.moves_left) + " may migrate now";
    case Moving::kWindow:
      return "; migrations are not allowed at this time of day";
  }
  return "";
}

std::string ReleasingText(const Reason& reason) {
  std::string text = "room is reserved, waiting for ";
  if (reason.moving == Moving::kDone) {
    return text + MigrationsText(reason) + " to migrate (gains " + GpuHours(reason.gain_gpu_s) +
           ", costs " + GpuHours(reason.cost_gpu_s) + ")" +
           (reason.fewest ? "" : "; fewer migrations may be enough (not proven)");
  }
  if (reason.evicted == 0) return text + "terminating tasks to release it";
  text += Count(reason.evicted, "evicted task") + " to terminate";
  if (reason.gangs_broken > 0) text += ", among them " + Count(reason.gangs_broken, "whole gang");
  return text + (reason.fewest ? "" : "; fewer evictions may be enough (not proven)");
}

std::string GuaranteeText(const ResourceKinds& kinds, const Reason& reason) {
  const auto words = [&](std::int64_t amount) { return AmountText(kinds, reason.binding, amount); };
  const std::string rest = words(reason.kept) +
                           " guaranteed to other queues (the largest part to queue " +
                           reason.kept_for + "), the job needs " + words(reason.asked);
  if (reason.queue.empty()) {
    return "free " + KindText(kinds, reason.binding) +
           " are guaranteed to other queues: " + words(reason.limit) + " free, " + rest;
  }
  return "queue " + reason.queue +
         " has no room beside the guarantees of its child queues: limit "
         "" +
         words(reason.limit) + ", used " + words(reason.used) + ", " + rest;
}

std::string GateText(const ResourceKinds& kinds, const Reason& reason) {
  const auto words = [&](std::int64_t amount) { return AmountText(kinds, reason.binding, amount); };
  const std::string asked = "; this job needs " + words(reason.asked);
  if (!reason.queue.empty()) {
    return "enqueue gate: queue " + reason.queue + " allows " + words(reason.limit) +
           "; admitted jobs use " + words(reason.used) + asked;
  }
  return "enqueue gate: the cluster allows " + words(reason.limit) + " with overcommitment; " +
         words(reason.used) + " in use; admitted jobs need " + words(reason.kept) + " more" + asked;
}

// The reserved start of a pending job, or why the job has no reserved start.
std::string StartText(const Reason& reason) {
  if (reason.start_ms != 0) {
    const std::string on = reason.start_on.empty() ? "" : " on " + reason.start_on;
    return "; reserved to start " + InstantText(reason.start_ms) + on;
  }
  switch (reason.untimed) {
    case Untimed::kNotAsked:
      return "";
    case Untimed::kEnds:
      return "; no reserved start: the job does not fit even after every job with a known end time "
             "finishes";
    case Untimed::kDepth:
      return "; no reserved start: the backfill settings give this job no reservation";
  }
  return "";
}

}  // namespace

const char* MisfitText(Misfit misfit) {
  switch (misfit) {
    case Misfit::kFits:
      return "with room";
    case Misfit::kAbsent:
      return "absent";
    case Misfit::kUnschedulable:
      return "cordoned or not ready";
    case Misfit::kTaint:
      return "with an untolerated taint";
    case Misfit::kSelector:
      return "not matching the node selector or affinity";
    case Misfit::kModel:
      return "without the requested GPU model";
    case Misfit::kRefused:
      return "that rejected these tasks before";
    case Misfit::kLimit:
      return "where host ports, anti-affinity, volumes or limits allow no more tasks";
    case Misfit::kResource:
      return "with too little CPU, memory, pod slots or another resource";
    case Misfit::kGpu:
      return "with too few free GPUs";
    case Misfit::kFragmented:
      return "with fragmented free GPUs";
    case Misfit::kExcluded:
      return "excluded by Volcano's predicates";
    case Misfit::kMode:
      return "without a GPU in the requested sharing mode";
  }
  return "?";
}

namespace {

std::string IncompleteText(const Reason& reason) {
  return "the gang was below its minimum for " + DurationText(reason.incomplete_timeout_ms) + ": " +
         Count(reason.tasks_run, "task") + " ran, the minimum is " + std::to_string(reason.tasks_least) +
         ", since " + TimeText(reason.incomplete_since_ms) + "; " +
         Count(reason.evicted, "task") + " evicted";
}

std::string ObstacleText(const ResourceKinds& kinds, const Reason& reason) {
  const auto words = [&](std::int64_t amount) { return AmountText(kinds, reason.binding, amount); };
  const std::string of_role = reason.role.empty() ? "" : " of role " + reason.role;
  switch (reason.obstacle) {
    case Obstacle::kNone:
      return "";
    case Obstacle::kQueueMissing:
      return "queue " + reason.queue + " does not exist";
    case Obstacle::kQueueClosed:
      return "queue " + reason.queue + " is not open";
    case Obstacle::kQueueLimit:
      return "queue " + reason.queue + " would exceed its limit: limit " + words(reason.limit) +
             ", used " + words(reason.used) + ", the job needs " + words(reason.asked);
    case Obstacle::kMembers:
      if (reason.pods_there < reason.pods_needed) {
        return "pods are missing: " + std::to_string(reason.pods_there) + " of " +
               std::to_string(reason.pods_needed) + " pods" + of_role + " exist";
      }
      return "tasks are missing: needs " + Count(reason.tasks_needed, "more task") + of_role +
             ", " + std::to_string(reason.tasks_fit) + " can run";
    case Obstacle::kRoom:
      return RoomText(kinds, reason);
    case Obstacle::kTogether:
      return "not enough room for all roles together, although each role fits alone: " +
             NumbersText(kinds, reason);
    case Obstacle::kSearch:
      return "no placement found within the search budget, and none proven impossible: " +
             NumbersText(kinds, reason);
    case Obstacle::kQueueCycle:
      return "the parents of the queue form a cycle: " + reason.queue;
    case Obstacle::kQueueGuarantee:
      return GuaranteeText(kinds, reason);
    case Obstacle::kBehind:
      return "queue " + reason.queue + " is FIFO, and job " + reason.ahead +
             " ahead of this job is pending";
    case Obstacle::kReleasing:
      return ReleasingText(reason);
    case Obstacle::kQueueParent:
      return "queue " + reason.queue + " has child queues, and only leaf queues run jobs";
    case Obstacle::kGate:
      return GateText(kinds, reason);
    case Obstacle::kLocality:
      return LocalityText(kinds, reason);
    case Obstacle::kGroups:
      return "sub-groups must start together: room found for " + std::to_string(reason.groups_fit) +
             " of " + std::to_string(reason.groups_needed) +
             " sub-groups, no room left for sub-group " + reason.group;
    case Obstacle::kReserved:
      return "room is reserved: starting now would delay job " + reason.ahead +
             ", which is reserved to start " + InstantText(reason.ahead_start_ms);
    case Obstacle::kLimitReserved:
      return "the limit of queue " + reason.queue + " is reserved: starting now would delay job " + reason.ahead +
             "; job " + reason.ahead + " comes first in its queue, and fits within the limit " + InstantText(reason.ahead_start_ms);
    case Obstacle::kUnhealthy:
      return "unhealthy devices: " + Count(reason.sick_tasks, "task") + " on " +
             Count(reason.sick_devices, "unhealthy device") + ", first on node " +
             reason.best_node + "; " + Count(reason.evicted, "task") + " evicted";
    case Obstacle::kQueueDeserved:
      return "only preemptible jobs may use more than queue " + reason.queue + " deserves: deserved " +
             words(reason.limit) + ", jobs that are not preemptible use " + words(reason.used) +
             ", the job needs " + words(reason.asked);
    case Obstacle::kIncomplete:
      return IncompleteText(reason);
    case Obstacle::kQuarantine:
      return "quarantined: the last placement failed verification; the job is retried when its "
             "data changes";
  }
  return "?";
}

}  // namespace

Awaits AwaitsOf(const Reason& reason) {
  const bool unproven = reason.obstacle == Obstacle::kSearch ||
                        reason.remedy == Remedy::kSearch || reason.remedy == Remedy::kOnce;
  // Any start or end of another job may give it a reserved start.
  if (unproven || reason.untimed == Untimed::kEnds) return Awaits::kAnyChange;
  if (reason.obstacle == Obstacle::kReserved) return Awaits::kReservations;
  return IsRoom(reason.obstacle) ? Awaits::kRoom : Awaits::kAnyChange;
}

std::size_t ReasonHash::operator()(const Reason& reason) const {
  std::uint64_t hash = Mix(static_cast<std::uint64_t>(reason.obstacle), HashOf(reason.best_node));
  for (const std::int64_t number :
       {reason.tasks_needed, reason.tasks_fit, reason.per_task, reason.free_total, reason.best_free,
        reason.used, reason.start_ms, reason.ahead_start_ms, reason.evicted, reason.over_share,
        reason.over_holds, reason.over_asked, reason.loss_gpu_s, reason.loss_limit_gpu_s,
        reason.any_loss_from_ms, reason.evicts_from_ms, reason.incomplete_since_ms}) {
    hash = Mix(hash, static_cast<std::uint64_t>(number));
  }
  for (const std::int32_t number : reason.nodes) hash = Mix(hash, static_cast<std::uint64_t>(number));
  for (const std::string* name : {&reason.ahead, &reason.over_queue, &reason.queue, &reason.holder}) {
    hash = Mix(hash, HashOf(*name));
  }
  return hash;
}

std::string ReasonText(const ResourceKinds& kinds, const Reason& reason) {
  const bool of_group = !reason.group.empty() && reason.obstacle != Obstacle::kGroups;
  return (of_group ? "sub-group " + reason.group + ": " : "") + ObstacleText(kinds, reason) +
         RemedyText(kinds, reason) + MovingText(reason) + StartText(reason);
}

}  // namespace tephra
