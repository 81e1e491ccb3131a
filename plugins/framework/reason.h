// Reason: why a gang did not start, in numbers that can be checked against the cluster.
#pragma once

#include <array>
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
  kRefused,     // whoever carries plans out refused this class here
  kLimit,       // "at most k in a domain" is used up
  kResource,    // CPU, memory, pods or an extended resource
  kGpu,         // too little free GPU on the node in all
  kFragmented,  // enough in all, but not on the devices it takes
  kExcluded,    // the mask of its class rules the node out, or is not known yet
  kMode,        // none of its devices may be shared in the way that is asked for
};
constexpr int kMisfits = 13;
// Whether the node would do if it had more room.
constexpr bool MayUse(Misfit misfit) {
  return misfit == Misfit::kFits || misfit == Misfit::kLimit || misfit == Misfit::kResource ||
         misfit == Misfit::kGpu || misfit == Misfit::kFragmented;
}
const char* MisfitText(Misfit misfit);

// What holds a gang back.
enum class Obstacle : std::uint8_t {
  kNone,
  kQueueMissing,
  kQueueClosed,
  kQueueLimit,
  kMembers,         // fewer tasks ask to run than its minimum takes
  kRoom,            // not enough room for its tasks
  kTogether,        // each role has room, all of them together have not
  kSearch,          // the search budget ended before an answer was proven
  kQuarantine,      // its last decision failed verification; waits for its facts to change
  kQueueCycle,      // its queue, or one above it, is its own ancestor
  kQueueGuarantee,  // room is there, but kept for other queues
  kBehind,          // its queue is first in, first out, and one ahead of it waits
  kReleasing,       // room is set aside for it, and others have yet to leave it
  kQueueParent,     // its queue has others under it
  kGate,            // the enqueue gate does not let it in
  kLocality,        // enough room in all, but not within one domain of the tier that it may span
  kGroups,          // its groups have room by themselves, but not all of them were placed at once
  kReserved,        // there is room, but it is promised to others that start before it would end
  kUnhealthy,       // it holds slices of unhealthy devices, and leaves them
};
// Its queue may not hold it.
constexpr bool IsQuota(Obstacle obstacle) {
  return obstacle == Obstacle::kQueueLimit || obstacle == Obstacle::kQueueGuarantee;
}
// Nodes have no room for it, as it wants to lie on them.
constexpr bool IsRoom(Obstacle obstacle) {
  return obstacle == Obstacle::kRoom || obstacle == Obstacle::kTogether ||
         obstacle == Obstacle::kSearch || obstacle == Obstacle::kLocality ||
         obstacle == Obstacle::kGroups;
}
// Whether whoever waits for that has passed the enqueue gate.
constexpr bool BehindGate(Obstacle obstacle) {
  return IsQuota(obstacle) || IsRoom(obstacle) || obstacle == Obstacle::kMembers ||
         obstacle == Obstacle::kReserved;
}

// What became of the question whether others may be evicted for a gang.
enum class Remedy : std::uint8_t {
  kNotAsked,
  kOverShare,   // nothing is reclaimed for it: its queue would hold more than its fair share
  kImpossible,  // proven: whoever may be evicted for it, it does not fit
  kSearch,      // the search budget ended before an answer was proven
  kOnce,        // others were evicted for it before, and nothing else has happened since
};

// What became of the question whether others may be moved for a gang.
enum class Moving : std::uint8_t {
  kNotAsked,
  kDone,
  kProposed,  // they would be, were consolidation on
  kNoPlan,    // no moves that are allowed were found to make room
  kCost,      // they would lose more than the gang gains
  kBudget,    // it would take more moves than may be made now
  kWindow,    // not at this time of the day
};

// Why a gang that waits is told no time at which it starts.
enum class Untimed : std::uint8_t {
  kNotAsked,
  kEnds,   // it has no room even when all that is expected to end has ended
  kDepth,  // it is not among those that are promised a start
};

struct Reason {
  Obstacle obstacle = Obstacle::kNone;

  // kMembers, kRoom, kTogether, kSearch, kLocality: of the group that binds, where the gang has
  // such. kGroups: the first that was not placed, beside how many others, of how many.
  std::string group;
  std::int64_t groups_fit = 0, groups_needed = 0;
  // kMembers, kRoom, kTogether, kSearch, kLocality: the role that binds.
  std::string role;
  std::int64_t tasks_needed = 0;  // of that role, more than already run
  std::int64_t tasks_fit = 0;     // how many of those there is room for
  Kind binding = kGpu;            // the kind that the most nodes lack
  std::int64_t per_task = 0;      // demand of one task, in units of `binding`
  std::int64_t free_total = 0;    // of `binding` on nodes that the role may use
  std::int64_t capacity_total = 0;
  // kMembers where the job's pods exist: pods of that role (empty: of the gang) that are there, of
  // how many its minimum takes. Both zero where pods are not what is missing.
  std::int64_t pods_there = 0, pods_needed = 0;
  std::string best_node;       // where the least is missing; empty if no node is eligible
  std::int64_t best_free = 0;  // of `binding` there
  std::array<std::int32_t, kMisfits> nodes{};  // nodes by what they lack, for one task

  // kLocality: the domain with the most room for that role, how many tasks it has room for, and
  // how many domains there are of at most that tier (by its name, where the job gives one) that
  // are part of no other such. The numbers above are of that domain.
  std::string domain;
  std::int64_t domains = 0;
  std::int32_t tier = 0;
  std::string tier_name;

  // kQueue*: the queue, and for its limit the numbers of the kind that binds.
  // kGate: `limit` is what the queue may have at most, and `used` what those who were let in have a
  // claim to there; where `queue` is empty, that of the cluster with overcommitment, what is used
  // of it and, as `kept`, what those who were let in still lack.
  std::string queue;
  std::int64_t limit = 0, used = 0, asked = 0;
  // kQueueGuarantee: `limit` is that of the queue, or what is free where `queue` is empty: the
  // cluster. Of it `kept` is for the queues under it, the most for `kept_for`.
  std::int64_t kept = 0;
  std::string kept_for;
  // kBehind: the job that it waits behind. kReserved: one that would start later if this gang
  // started now, and when that is to start.
  std::string ahead;
  std::int64_t ahead_start_ms = 0;
  // When it is to start and where, as the smallest domain or the node that it has room on then;
  // 0: no time is told.
  std::int64_t start_ms = 0;
  std::string start_on;
  Untimed untimed = Untimed::kNotAsked;
  // kReleasing: tasks evicted for it, of which gangs whole, and whether fewer are proven not to do.
  std::int64_t evicted = 0, gangs_broken = 0;
  bool fewest = true;
  // kUnhealthy: how many of its tasks hold slices of how many such devices, the first of them on
  // `best_node`, and how many are `evicted` for that.
  std::int64_t sick_tasks = 0, sick_devices = 0;
  Remedy remedy = Remedy::kNotAsked;
  // The tasks that move, of how many jobs, what the gang gains and they lose, in GPU-seconds. For
  // kBudget also how many may be moved now, for kWindow none of these.
  Moving moving = Moving::kNotAsked;
  std::int64_t moved = 0, jobs_moved = 0, gain_gpu_s = 0, cost_gpu_s = 0, moves_left = 0;
  // kOverShare: the queue, the kind, what is its share of it, what it holds and what this needs.
  std::string over_queue;
  Kind over_kind = kGpu;
  std::int64_t over_share = 0, over_holds = 0, over_asked = 0;

  bool operator==(const Reason&) const = default;
};

// One sentence for people: "needs 4 more of role worker (8 GPU each), room for 2: ...".
std::string ReasonText(const ResourceKinds& kinds, const Reason& reason);

}  // namespace tephra
