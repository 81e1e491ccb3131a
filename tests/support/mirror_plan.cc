// How the mirror follows a plan, decision by decision, and which law the plan breaks.
#include <algorithm>
#include <set>

#include "tests/support/mirror.h"
#include "tests/support/mirror_tasks.h"

namespace tephra {

std::string Mirror::CheckNo(const NamedDecision& decision, const MirrorJob& job,
                            const GangWish& wish, const Room& room) const {
  switch (decision.reason->obstacle) {
    case Obstacle::kQueueMissing:
    case Obstacle::kQueueClosed:
      return Open(job.spec.queue) ? "waits for a queue that is open" : "";
    case Obstacle::kQueueParent:
      return HasHeirs(job.spec.queue) ? "" : "waits for queues to go that are not there";
    case Obstacle::kSearch:
    case Obstacle::kQueueLimit:
    case Obstacle::kQueueGuarantee:
      return "";
    case Obstacle::kQueueDeserved:
      return job.spec.preemptible ? "waits for what its queue deserves, but is preemptible" : "";
    case Obstacle::kBehind:
      return BehindAnother(decision, job) ? ""
                                          : "waits behind a job that does not wait ahead of it";
    case Obstacle::kRoom:
    case Obstacle::kTogether:
      break;
    default:
      return "says no without a reason that the facts bear out";
  }
  if (room.AnyPlacement(wish)) return "does not start although a placement exists";
  const bool ever = Empty().AnyPlacement(wish);
  if (ever && decision.verdict == Verdict::kInfeasible) {
    return "is called infeasible, but the empty cluster would do";
  }
  if (!ever && decision.verdict == Verdict::kWait) {
    return "has verdict wait, but not even the empty cluster would do";
  }
  return "";
}

// If a failed binding left a gang incomplete and the rest has no place, the gang's running tasks are
// evicted, once no other binding of it is under way. No other task is evicted.
std::string Mirror::FollowEvictions(const NamedDecision& decision, TimeMs now, MirrorJob& job) {
  const Obstacle why = decision.reason->obstacle;
  const bool unwinds = job.broken && decision.part == Part::kMinimum &&
                       decision.verdict != Verdict::kStart && why != Obstacle::kMembers &&
                       mirror_tasks::CountPhase(job, TaskPhase::kAssumed) == 0;
  std::set<std::string> expected;
  mirror_tasks::ForEachTask(job, [&](const MirrorTask& task) {
    if (unwinds && task.phase == TaskPhase::kRunning) expected.insert(task.uid);
  });
  if (expected != std::set<std::string>(decision.evictions.begin(), decision.evictions.end())) {
    return "evicts " + std::to_string(decision.evictions.size()) + " tasks where " +
           std::to_string(expected.size()) + " are to be given back";
  }
  if (expected.empty()) return "";
  job.broken = false;
  mirror_tasks::ForEachTask(job, [&](MirrorTask& task) {
    if (task.phase != TaskPhase::kRunning) return;
    task.phase = TaskPhase::kReleasing;
    task.terminates_by = 0;
    task.evicting = true;
    task.evicted_for = job.spec.uid;
    task.assumed_at = now;
  });
  return "";
}

// The victims may be evicted for the job, and no gang is left in part.
std::string Mirror::FollowVictims(const NamedDecision& decision, TimeMs now, const MirrorJob& job) {
  std::set<std::string> victims(decision.evictions.begin(), decision.evictions.end());
  if (victims.size() != decision.evictions.size()) return "evicts a task twice";
  // Else some of its victims go on elsewhere.
  const bool moves = !decision.moves.empty() && decision.moves.size() == victims.size() &&
                     decision.reason->moving == Moving::kDone;
  for (auto& [uid, other] : jobs_) {
    int evicted = 0;
    mirror_tasks::ForEachTask(other, [&](MirrorTask& task) {
      if (victims.erase(task.uid) == 0) return;
      evicted += task.phase == TaskPhase::kRunning ? 1 : 1000000;
      task.phase = TaskPhase::kReleasing;
      task.terminates_by = 0;
      task.evicting = true;
      task.evicted_for = job.spec.uid;
      task.assumed_at = now;
    });
    if (evicted == 0) continue;
    if (evicted >= 1000000) return "evicts a task of " + uid + " that does not run";
    if (!other.spec.preemptible) return "evicts " + uid + ", which is not preemptible";
    const bool same = other.spec.queue == job.spec.queue;
    if (moves && !other.spec.movable) return "moves " + uid + ", which is not to be moved";
    if (!moves && same && other.spec.priority >= job.spec.priority)
      return "evicts its better " + uid;
    if (!moves && !same && !queues_.at(other.spec.queue).reclaimable) {
      return "reclaims from queue " + other.spec.queue;
    }
    if (moves && other.spec.restarts_by_task) continue;
    if (!Satisfied(other) && (mirror_tasks::CountPhase(other, TaskPhase::kRunning) > 0 ||
                              mirror_tasks::CountPhase(other, TaskPhase::kAssumed) > 0)) {
      return "leaves " + uid + " in part";
    }
  }
  return victims.empty() ? "" : "evicts " + *victims.begin() + ", which is no task";
}

// Each migrated task has a place beside all that will be there, and its gang is complete.
std::string Mirror::FollowMoves(const NamedDecision& decision, Room& room, Room& left) {
  for (const NamedDecision::Move& move : decision.moves) {
    bool found = false;
    for (auto& [uid, job] : jobs_) {
      for (auto& [name, role] : job.roles) {
        for (MirrorTask& task : role.tasks) {
          if (task.uid != move.pod) continue;
          found = true;
          ++moves_;
          if (task.phase != TaskPhase::kReleasing || !task.evicting) return "moves a task that stays";
          const std::string fault = left.Refuses(role.pod, move.node, move.slices);
          if (!fault.empty()) return "moves " + move.pod + " where it cannot be: " + fault;
          room.Take(role.pod, move.node, move.slices);
          left.Take(role.pod, move.node, move.slices);
          task.reserved_node = move.node;
          task.reserved_slices = move.slices;
        }
      }
    }
    if (!found) return "moves " + move.pod + ", which is no task";
  }
  return "";
}

std::string Mirror::FollowOne(const NamedDecision& decision, TimeMs now, Judge judge, Room& room) {
  const auto found = jobs_.find(decision.job);
  if (found == jobs_.end()) return "is not a job";
  MirrorJob& job = found->second;
  GangWish wish;
  const bool enough = Missing(job, wish);
  ++asked_;
  if (decision.reason->obstacle == Obstacle::kSearch) ++searches_ended_;
  const bool later = decision.verdict == Verdict::kStartAfterEviction;
  if (std::string fault =
          later ? FollowVictims(decision, now, job) : FollowEvictions(decision, now, job);
      !fault.empty()) {
    return fault;
  }
  bool kept = false;  // tasks of it had reserved room
  const auto leave = [&](const MirrorRole& role, MirrorTask& task) {
    if (task.reserved_node.empty()) return;
    kept = true;
    room.Take(role.pod, task.reserved_node, task.reserved_slices, -1);
    mirror_tasks::DropReservation(task);
  };
  for (const NamedPlacement& placed : decision.placements) {
    MirrorRole& role = job.roles.at(placed.role);
    leave(role, role.tasks.at(static_cast<std::size_t>(placed.index)));
  }
  if (decision.part == Part::kMinimum) {
    // All of its reservations are decided again.
    for (auto& [name, role] : job.roles) {
      for (MirrorTask& task : role.tasks) leave(role, task);
    }
    mirror_tasks::ForEachTask(job, [&](MirrorTask& task) {
      if (task.phase != TaskPhase::kReserved) return;
      kept = true;
      room.Take(task.pod, task.node, task.slices, -1);
      mirror_tasks::Unplace(job, task);
    });
  }
  if (decision.verdict != Verdict::kStart && !later) {
    if (!decision.placements.empty()) return "places tasks without a start";
    if (decision.part == Part::kElastic || judge == Judge::kSoundness) return "";
    if (decision.reason->obstacle == Obstacle::kMembers) {
      return enough ? "waits for members that it has" : "";
    }
    return CheckNo(decision, job, wish, room);
  }
  if (!Open(job.spec.queue)) return "starts in a queue that is not open";
  // A gang starts with all of its members that have reserved room, elastic ones too.
  const auto least = static_cast<std::size_t>(wish.least);
  if (decision.part == Part::kMinimum && decision.placements.size() != least &&
      !(kept && decision.placements.size() > least)) {
    return "starts " + std::to_string(decision.placements.size()) + " tasks where " +
           std::to_string(wish.least) + " are missing";
  }
  ahead_ = later;
  Room left = Now();
  Resources taken;
  for (const NamedPlacement& placed : decision.placements) {
    MirrorRole& role = job.roles.at(placed.role);
    MirrorTask& task = role.tasks.at(static_cast<std::size_t>(placed.index));
    if (task.phase != TaskPhase::kPending) return "places a task that is not pending";
    const std::string fault = (later ? left : room).Refuses(role.pod, placed.node, placed.slices);
    if (!fault.empty()) return "places " + placed.role + " where it cannot be: " + fault;
    room.Take(role.pod, placed.node, placed.slices);
    left.Take(role.pod, placed.node, placed.slices);
    task = {later ? TaskPhase::kReserved : TaskPhase::kAssumed,
            task.uid,
            placed.node,
            placed.slices,
            role.pod,
            now,
            plans_,
            decision.part,
            false};
    taken.Add(Amounts(task));
  }
  if (!later && !Satisfied(job)) return "runs below its minimum";
  std::string fault = FollowMoves(decision, room, left);
  if (fault.empty()) fault = CheckQueues(decision.job, taken);
  if (fault.empty()) fault = CheckDeserved(decision.job, taken);
  if (fault.empty()) fault = CheckKept(decision.job, taken);
  ahead_ = false;
  return fault;
}

// A gang that still waits after a cycle has no placement beside what was decided.
std::string Mirror::CheckLeftWaiting(const Room& room) const {
  for (const auto& [uid, job] : jobs_) {
    GangWish wish;
    if (!Open(job.spec.queue)) continue;
    const bool moves = std::any_of(job.roles.begin(), job.roles.end(), [](const auto& role) {
      return std::any_of(role.second.tasks.begin(), role.second.tasks.end(),
                         [](const MirrorTask& task) { return !task.reserved_node.empty(); });
    });
    if (moves) continue;
    if (!Satisfied(job)) {
      if (Missing(job, wish) && room.AnyPlacement(wish)) {
        return "job " + uid + " was left waiting although a placement exists";
      }
      continue;
    }
    for (const auto& [name, role] : job.roles) {
      if (mirror_tasks::Pending(role) > 0 && room.AnyPlacement({{{role.pod, 1, 1}}, 1})) {
        return "job " + uid + " role " + name + ": an elastic member was left waiting";
      }
    }
  }
  return "";
}

std::string Mirror::Follow(const NamedPlan& plan, TimeMs now, Judge judge) {
  NoteStuck(now);
  Room room = Now();
  ++plans_;
  if (!plan.dropped.empty()) return "job " + plan.dropped[0] + ": its decision was dropped";
  const int ended_before = searches_ended_;
  for (const NamedDecision& decision : plan.decisions) {
    const std::string fault = FollowOne(decision, now, judge, room);
    if (!fault.empty()) return "job " + decision.job + " " + fault;
  }
  Mend();
  // A gang given up on may have a placement, and is not asked again until something changes.
  if (judge == Judge::kExactness && searches_ended_ == ended_before) return CheckLeftWaiting(room);
  return "";
}

}  // namespace tephra
