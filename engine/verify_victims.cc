// Which tasks a decision evicts or moves, and why it may.
#include <algorithm>
#include <map>
#include <set>

#include "engine/priority.h"
#include "engine/verify.h"

namespace tephra {

// The victims of the decision may be evicted, are of lower priority if of the same queue, and no
// gang is left in part.
std::string Verifier::CheckVictims(const Decision& decision) {
  const JobRow& winner = snapshot_->job(decision.job);
  std::unordered_map<std::uint64_t, std::int32_t> evicted;  // by job and role
  std::vector<JobId> jobs;
  std::set<TaskId> moved;
  for (const Placement& move : decision.moves) moved.insert(move.task);
  for (const TaskId id : decision.evictions) {
    if (id.index() >= snapshot_->books().tasks.size()) return "evicts an unknown task";
    const TaskRow& task = snapshot_->task(id);
    if (!task.job.valid()) return "evicts a pod of no job";
    const JobRow& job = snapshot_->job(task.job);
    if (task.job == decision.job) return "evicts a task of its own job";
    if (task.phase != TaskPhase::kRunning) return "evicts a task that does not run";
    if (placed_in_[id.index()] == plan_) return "evicts a task twice";
    if (!job.preemptible || !task.preemptible) {
      return "evicts a task of job " + job.name + ", which is not preemptible";
    }
    if (!winner.evicts) return "evicts for job " + winner.name + ", which evicts no other job";
    const DurationMs delay = snapshot_->queues().EvictionDelay(winner.queue);
    const TimeMs since = std::max(winner.created, winner.waits_since);
    if (!moved.contains(id) && delay > 0 && snapshot_->now() - since < delay) {
      return "evicts for job " + winner.name + ", which waited for " +
             std::to_string(snapshot_->now() - since) + " of " + std::to_string(delay) + " ms";
    }
    if (moved.contains(id)) {
      if (!job.movable) return "moves a task of job " + job.name + ", which is not to be moved";
    } else if (job.queue == winner.queue &&
               PrecedenceOf(*snapshot_, job) >= PrecedenceOf(*snapshot_, winner)) {
      return "evicts a task of job " + job.name + " of priority " + std::to_string(job.priority) +
             " for one of priority " + std::to_string(winner.priority) + " in the same queue";
    }
    const bool other = !moved.contains(id) && job.queue != winner.queue;
    if (other && !(snapshot_->queues().present(job.queue) &&
                   snapshot_->queues().spec(job.queue).reclaimable)) {
      return "evicts from queue " + *job.queue_name + ", which is not reclaimable";
    }
    if (++evicted[PairKey(task.job.value, task.role)] == 1) jobs.push_back(task.job);
  }
  for (const JobId id : jobs) {
    const JobRow& job = snapshot_->job(id);
    std::int32_t left = 0;
    bool below = false;
    for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
      const std::uint64_t key = PairKey(id.value, r);
      const auto before = counted_.find(key);
      const auto here = evicted.find(key);
      const std::int32_t counted = job.roles[r].counted +
                                   (before == counted_.end() ? 0 : before->second) -
                                   (here == evicted.end() ? 0 : here->second);
      below = below || counted < job.roles[r].min;
      left += counted;
    }
    below = below || left < job.min_member || !job.groups.empty();  // one with groups goes whole
    if (!below) continue;
    // The other tasks wait for the tasks that migrate.
    const bool alone = job.restarts_by_task && job.satisfied() &&
                       std::all_of(decision.evictions.begin(), decision.evictions.end(), [&](TaskId task) {
                         return snapshot_->task(task).job != id || moved.contains(task);
                       });
    if (alone) continue;
    for (std::uint32_t r = 0; r < job.roles.size(); ++r) {
      for (const TaskId task : job.roles[r].tasks) {
        const TaskPhase phase = snapshot_->task(task).phase;
        const bool goes = placed_in_[task.index()] == plan_ ||
                          std::find(decision.evictions.begin(), decision.evictions.end(), task) !=
                              decision.evictions.end();
        if ((phase == TaskPhase::kRunning || phase == TaskPhase::kAssumed) && !goes) {
          return "leaves job " + job.name + " with " + Numbers(left, job.min_member) +
                 " tasks and evicts only part of it";
        }
      }
    }
  }
  return "";
}

// The task may start at its new place.
std::string Verifier::CheckMove(const Placement& move) {
  const TaskRow& task = snapshot_->task(move.task);
  const JobRow& job = snapshot_->job(task.job);
  const std::string moves = "moves a task of job " + job.name;
  if (!job.movable) return moves + ", which is not to be moved";
  if (task.cls != job.roles[task.role].cls) return moves + ", which would return as another";
  const std::string fault = CheckPlace(later_, move);
  return fault.empty() ? "" : moves + ": " + fault;
}

std::string Verifier::CheckPlaces(const Decision& decision, const std::vector<Placement>& places) {
  if (!ahead_ || decision.verdict != Verdict::kStartAfterEviction) return "reserves places for no victims";
  if (!snapshot_->config().moves_tasks()) return "moves tasks although the config allows none";
  std::set<TaskId> open(decision.evictions.begin(), decision.evictions.end());
  for (const Placement& move : decision.moves) open.erase(move.task);
  JobId job;
  std::string fault;
  std::size_t taken = 0;
  Before before;
  for (; fault.empty() && taken < places.size(); ++taken) {
    const Placement& place = places[taken];
    if (open.erase(place.task) == 0) {
      fault = "moves a task that it does not evict, or moves it twice";
      break;
    }
    const TaskRow& task = snapshot_->task(place.task);
    if (!job.valid()) {
      job = task.job;
      before = BeforeOf(later_, snapshot_->job(job).queue);
    }
    fault = task.job != job ? "moves tasks of two jobs" : CheckMove(place);
    if (!fault.empty()) break;
    TakeBoth(place.task, place.node, place.slices, +1);
    counted_[PairKey(job.value, task.role)] += 1;
  }
  if (fault.empty() && !job.valid()) fault = "moves no task";
  if (fault.empty()) fault = CheckMinimum({job, Part::kMinimum, decision.verdict, {}, places, {}});
  if (fault.empty()) fault = CheckLocality(job, places);
  if (fault.empty()) fault = CheckQueue(later_, before, job);
  // Its tasks count as evicted also with a place.
  for (std::size_t i = 0; i < taken; ++i) {
    const Placement& place = places[i];
    counted_[PairKey(job.value, snapshot_->task(place.task).role)] -= 1;
    if (!fault.empty()) TakeBoth(place.task, place.node, place.slices, -1);
  }
  return fault;
}

// A moved task has a place to go on, where it fits beside all that is there then: all of its
// job that goes, as near to each other as it has to be, within what its queue may hold.
std::string Verifier::CheckMoves(const Decision& decision, const std::map<JobId, Before>& before,
                                 std::size_t& taken) {
  if (decision.moves.empty()) return "";
  if (!snapshot_->config().moves_tasks()) return "moves tasks although the config allows none";
  const std::set<TaskId> evicted(decision.evictions.begin(), decision.evictions.end());
  std::set<TaskId> moved;
  std::map<JobId, std::vector<Placement>> jobs;
  for (const Placement& move : decision.moves) {
    const TaskRow& task = snapshot_->task(move.task);
    if (!evicted.contains(move.task)) return "moves a task that it does not evict";
    if (!moved.insert(move.task).second) return "moves a task twice";
    std::string fault = CheckMove(move);
    if (!fault.empty()) return fault;
    TakeBoth(move.task, move.node, move.slices, +1);
    ++taken;
    jobs[task.job].push_back(move);
  }
  if (moved.size() != evicted.size()) {
    return "moves " +
           Numbers(static_cast<std::int64_t>(moved.size()),
                   static_cast<std::int64_t>(evicted.size())) +
           " tasks that it evicts";
  }
  for (const auto& [job, moves] : jobs) {
    std::string fault = CheckLocality(job, moves);
    if (fault.empty()) fault = CheckQueue(later_, before.at(job), job);
    if (!fault.empty()) return fault;
  }
  return "";
}

// A gang that a failed binding left below its minimum gives back all that runs of it.
std::string Verifier::CheckUnwinding(const Decision& decision) {
  const JobRow& job = snapshot_->job(decision.job);
  if (decision.evictions.empty()) return "unwinds a gang and evicts no task";
  const bool unhealthy = decision.reason->obstacle == Obstacle::kUnhealthy;
  if (unhealthy) {
    std::string fault = CheckUnhealthy(decision);
    if (!fault.empty()) return fault;
  } else if (decision.reason->obstacle == Obstacle::kIncomplete) {
    std::string fault = CheckIncomplete(decision);
    if (!fault.empty()) return fault;
  } else if (!job.broken || job.satisfied()) {
    return "evicts tasks of a gang that no failed binding broke";
  }
  std::size_t running = 0;
  for (const RoleRow& role : job.roles) {
    running += static_cast<std::size_t>(std::count_if(
        role.tasks.begin(), role.tasks.end(),
        [&](TaskId task) { return snapshot_->task(task).phase == TaskPhase::kRunning; }));
    for (TaskId task : role.tasks) {
      if (snapshot_->task(task).phase != TaskPhase::kAssumed) continue;
      return "evicts tasks of a gang while a binding of it is under way";
    }
  }
  std::set<TaskId> here;
  for (TaskId id : decision.evictions) {
    if (id.index() >= snapshot_->books().tasks.size()) return "evicts an unknown task";
    const TaskRow& task = snapshot_->task(id);
    if (task.job != decision.job) return "evicts a task of another job";
    if (task.phase != TaskPhase::kRunning) return "evicts a task that does not run";
    if (placed_in_[id.index()] == plan_ || !here.insert(id).second) return "evicts a task twice";
  }
  const bool runs_on = unhealthy && decision.part == Part::kElastic;
  if (decision.evictions.size() != running && !runs_on) {
    return "evicts " +
           Numbers(static_cast<std::int64_t>(decision.evictions.size()),
                   static_cast<std::int64_t>(running)) +
           " running tasks";
  }
  for (const TaskId id : decision.evictions) {
    const TaskRow& task = snapshot_->task(id);
    placed_in_[id.index()] = plan_;
    counted_[PairKey(task.job.value, task.role)] -= 1;
    if (ahead_ && snapshot_->hardware().present(task.node)) {
      Take(later_, id, task.node, task.slices, -1);
    }
  }
  return "";
}

// A gang goes whole if it ran with less than its minimum for too long.
std::string Verifier::CheckIncomplete(const Decision& decision) const {
  const JobRow& job = snapshot_->job(decision.job);
  const DurationMs timeout = snapshot_->config().incomplete_gang_timeout_ms;
  if (timeout == 0) return "evicts a gang below its minimum unasked";
  if (job.satisfied()) return "evicts a gang that has its minimum as one below it";
  if (job.keeps_room()) return "evicts a gang that has reserved room as one below its minimum";
  const auto since = snapshot_->books().incomplete.find(decision.job);
  if (since == snapshot_->books().incomplete.end() || snapshot_->now() - since->second < timeout) {
    return "evicts a gang that is below its minimum for less than " + std::to_string(timeout) + " ms";
  }
  return "";
}

// A gang leaves unhealthy devices by the configuration's wish alone: with those tasks only that
// hold slices of them where it meets every minimum without them, else as a whole.
std::string Verifier::CheckUnhealthy(const Decision& decision) const {
  const JobRow& job = snapshot_->job(decision.job);
  if (!snapshot_->config().evict_from_unhealthy)
    return "evicts tasks from unhealthy devices unasked";
  std::vector<std::int32_t> gone(job.roles.size());
  std::int32_t sick = 0;
  for (const TaskId id : decision.evictions) {
    if (id.index() >= snapshot_->books().tasks.size()) return "evicts an unknown task";
    const TaskRow& task = snapshot_->task(id);
    if (task.job != decision.job) return "evicts a task of another job";
    if (!job.preemptible || !task.preemptible) {
      return "evicts a task of job " + job.name + ", which is not preemptible";
    }
    const auto& devices = snapshot_->hardware().spec(task.node).devices;
    sick += std::any_of(task.slices.begin(), task.slices.end(), [&](const Slice& slice) {
      return slice.device < devices.size() && !devices[slice.device].healthy;
    });
    ++gone[task.role];
  }
  const auto all = static_cast<std::int32_t>(decision.evictions.size());
  if (sick == 0) return "evicts tasks for unhealthy devices, and none of them has such";
  if (decision.part == Part::kMinimum) return "";
  if (sick != all) return "evicts " + Numbers(sick, all) + " tasks that hold unhealthy devices";
  bool below = job.counted() - all < job.min_member || !job.groups.empty();
  for (std::size_t r = 0; r < gone.size(); ++r) {
    below = below || job.roles[r].counted - gone[r] < job.roles[r].min;
  }
  return below ? "leaves job " + job.name + " below its minimum and evicts only part of it" : "";
}

}  // namespace tephra
