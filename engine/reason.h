// Reason: why a gang did not start, in numbers that can be checked against the cluster.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "topology/resources.h"

namespace tephra {

// Why one task may not run on one node; the first check that fails names it.
enum class Misfit : std::uint8_t {
  kFits,
  kAbsent,
  kUnschedulable,
  kTaint,
  kSelector,
  kModel,
  kRefused,     // the scheduler refused this class on the node
  kLimit,       // a host port, anti-affinity or limit allows no more tasks there
  kResource,    // CPU, memory, pods or an extended resource
  kGpu,         // too little free GPU on the node in total
  kFragmented,  // enough in total, but not on single devices
  kExcluded,    // the mask of its class excludes the node, or is not known yet
  kMode,        // no device allows the requested sharing mode
};
constexpr int kMisfits = 13;
// Whether the node would fit with more room.
constexpr bool MayUse(Misfit misfit) {
  return misfit == Misfit::kFits || misfit == Misfit::kLimit || misfit == Misfit::kResource ||
         misfit == Misfit::kGpu || misfit == Misfit::kFragmented;
}
const char* MisfitText(Misfit misfit);

// Why a gang is pending.
enum class Obstacle : std::uint8_t {
  kNone,
  kQueueMissing,
  kQueueClosed,
  kQueueLimit,
  kMembers,         // fewer tasks can run than its minimum needs
  kRoom,            // not enough room for its tasks
  kTogether,        // each role has room alone, but not all roles together
  kSearch,          // the search budget ended before an answer was proven
  kQuarantine,      // its last decision failed verification; retried when its facts change
  kQueueCycle,      // the parents of its queue form a cycle
  kQueueGuarantee,  // the free room is guaranteed to other queues
  kBehind,          // its queue is FIFO, and a job ahead of it is pending
  kReleasing,       // room is reserved for it, and tasks there must terminate first
  kQueueParent,     // its queue has child queues
  kGate,            // the enqueue gate does not admit it
  kLocality,        // enough room in total, but not in one domain of its highest tier
  kGroups,          // each sub-group has room alone, but not all of them together
  kReserved,        // the room is reserved for jobs that start before this job would end
  kUnhealthy,       // tasks on unhealthy devices are evicted
  kQueueDeserved,   // only preemptible jobs may use more than its queue deserves
  kIncomplete,      // it ran with less than its minimum for too long, and is evicted whole
  kLimitReserved,   // a limit of its queue is reserved for a gang that is ahead in the queue
};
// A quota of its queue is in the way.
constexpr bool IsQuota(Obstacle obstacle) {
  return obstacle == Obstacle::kQueueLimit || obstacle == Obstacle::kQueueGuarantee ||
         obstacle == Obstacle::kQueueDeserved;
}
// Room on nodes is in the way.
constexpr bool IsRoom(Obstacle obstacle) {
  return obstacle == Obstacle::kRoom || obstacle == Obstacle::kTogether ||
         obstacle == Obstacle::kSearch || obstacle == Obstacle::kLocality ||
         obstacle == Obstacle::kGroups;
}
// Whether a job that is pending for this reason is admitted.
constexpr bool BehindGate(Obstacle obstacle) {
  return IsQuota(obstacle) || IsRoom(obstacle) || obstacle == Obstacle::kMembers ||
         obstacle == Obstacle::kReserved || obstacle == Obstacle::kLimitReserved;
}

// The result of the search for tasks to evict for a gang.
enum class Remedy : std::uint8_t {
  kNotAsked,
  kOverShare,   // no reclaim: its queue would exceed its fair share
  kImpossible,  // proven: no allowed evictions make room
  kSearch,      // the search budget ended before an answer was proven
  kOnce,        // tasks were evicted for it before, and nothing has changed since
  kLoss,        // no reclaim: the victims would lose more work than it is worth
  kDelay,       // the eviction delay of its queue has not passed
};

// The result of the search for tasks to migrate for a gang.
enum class Moving : std::uint8_t {
  kNotAsked,
  kDone,
  kProposed,  // consolidation is in dry-run mode
  kNoPlan,    // no allowed migrations make room
  kCost,      // the migrations cost more than the gang gains
  kBudget,    // more migrations than are allowed now
  kWindow,    // no migrations at this time of day
};

// Why a pending gang has no reserved start.
enum class Untimed : std::uint8_t {
  kNotAsked,
  kEnds,   // it does not fit even after every job with a known end time finishes
  kDepth,  // it is not among the jobs that get a reservation
};

struct Reason {
  Obstacle obstacle = Obstacle::kNone;

  // kMembers, kRoom, kTogether, kSearch, kLocality: the sub-group in the way, if the gang has
  // sub-groups. kGroups: the first sub-group without room, how many have room, of how many.
  std::string group;
  std::int64_t groups_fit = 0, groups_needed = 0;
  // kMembers, kRoom, kTogether, kSearch, kLocality: the role in the way.
  std::string role;
  std::int64_t tasks_needed = 0;  // of that role, beside its running tasks
  std::int64_t tasks_fit = 0;     // how many of them have room
  Kind binding = kGpu;            // the kind of which the closest node lacks most
  std::int64_t per_task = 0;      // request of one task, in units of `binding`
  std::int64_t free_total = 0;    // of `binding` on eligible nodes
  std::int64_t capacity_total = 0;
  // kMembers if pods are missing: how many pods of that role (empty: of the gang) exist, and how
  // many the minimum needs. Otherwise both are zero.
  std::int64_t pods_there = 0, pods_needed = 0;
  std::string best_node;                       // the closest node; empty if no node is eligible
  std::int64_t best_free = 0;                  // of `binding` there
  std::array<std::int32_t, kMisfits> nodes{};  // number of nodes by what they lack for one task
  // Of the first node on which a limit allows no more tasks: the group of the limit, a job that holds a
  // place of it (empty: none was found), the node of its task, and whether that job is preemptible.
  std::string full_group, holder, holder_node;
  bool holder_preemptible = true;
  // If it is a limit of the node (`best_node` may be another one): the node, how many places it has, how
  // many are taken, and how many a task takes there. Otherwise empty and zero.
  std::string full_node;
  std::int64_t places = 0, places_taken = 0, places_asked = 0;

  // kLocality: the domain with the most room for that role, and the number of domains of at most
  // that tier that are part of no other such domain. The numbers above describe that domain.
  std::string domain;
  std::int64_t domains = 0;
  std::int32_t tier = 0;
  std::string tier_name;

  // kQueue*: the queue, and for its limit the numbers of `binding`. kQueueDeserved: `limit` is what
  // the queue deserves, and `used` what its jobs that are not preemptible use.
  // kGate: `limit` is the most that the queue allows, and `used` what admitted jobs use of it. If
  // `queue` is empty: the cluster with overcommitment, what is in use, and as `kept` what admitted
  // jobs still lack.
  std::string queue;
  std::int64_t limit = 0, used = 0, asked = 0;
  // kQueueGuarantee: `limit` is the limit of the queue; if `queue` is empty, the free amount of the
  // cluster. `kept` of it is guaranteed to child queues, the most to `kept_for`.
  std::int64_t kept = 0;
  std::string kept_for;
  // kBehind: the job ahead. kReserved: a job that this gang would delay, and its reserved start. kLimitReserved:
  // the same, and when the limit of `queue` has enough left for that job.
  std::string ahead;
  std::int64_t ahead_start_ms = 0;
  // The reserved start and place: the smallest domain or the node. 0: no reserved start.
  std::int64_t start_ms = 0;
  std::string start_on;
  Untimed untimed = Untimed::kNotAsked;
  // kReleasing: tasks evicted for it, whole gangs among them, and whether this is proven the
  // fewest.
  std::int64_t evicted = 0, gangs_broken = 0;
  bool fewest = true;
  // kUnhealthy: how many tasks use how many unhealthy devices, the first on `best_node`, and how
  // many tasks are `evicted` for that.
  std::int64_t sick_tasks = 0, sick_devices = 0;
  Remedy remedy = Remedy::kNotAsked;
  // The tasks to migrate, of how many jobs, the gain of the gang and the cost, in GPU-seconds.
  // kBudget: also how many may migrate now. kWindow: none of these.
  Moving moving = Moving::kNotAsked;
  std::int64_t moved = 0, jobs_moved = 0, gain_gpu_s = 0, cost_gpu_s = 0, moves_left = 0;
  // kOverShare: the queue, the kind, its share, what it uses, and what the job needs.
  std::string over_queue;
  Kind over_kind = kGpu;
  std::int64_t over_share = 0, over_holds = 0, over_asked = 0;

  // kLoss: what the first possible victim would lose, how much victims may lose for the gang now, in
  // GPU-seconds, and from when on they may lose anything.
  std::int64_t loss_gpu_s = 0, loss_limit_gpu_s = 0, any_loss_from_ms = 0;

  // kDelay: when tasks may be evicted for it, and the eviction delay.
  std::int64_t evicts_from_ms = 0, eviction_delay_ms = 0;
  // kIncomplete: how many tasks ran, how many the gang needed, since when, and the timeout. All running
  // tasks are `evicted`.
  std::int64_t tasks_run = 0, tasks_least = 0, incomplete_since_ms = 0, incomplete_timeout_ms = 0;

  bool operator==(const Reason&) const = default;
};

// Of what most often differs between reasons.
struct ReasonHash {
  std::size_t operator()(const Reason& reason) const;
};

// What may change the answer to a pending job, beside its turn and changes of the cluster.
enum class Awaits : std::uint8_t {
  kRoom,          // room on a node where its tasks have none now
  kReservations,  // that, or a change of the starts that are reserved for other jobs
  kAnyChange,
};
Awaits AwaitsOf(const Reason& reason);

// For users: the cause, then the numbers, then the reserved start; "not enough free GPUs: ...".
std::string ReasonText(const ResourceKinds& kinds, const Reason& reason);

}  // namespace tephra
