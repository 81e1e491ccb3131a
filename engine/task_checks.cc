// All columns and indexes, recomputed from the rows.
#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/task_table.h"

namespace tephra {
namespace {

Resources Held(const Account& account) {
  Resources held = account.holds;
  return held.Add(account.coming);
}

// The accounts hold what the tasks do, each once.
std::string CheckUsage(const Books& books,
                       std::map<std::pair<QueueId, std::string>, Resources> by_user) {
  const auto& rows = books.usage.rows();
  for (std::size_t q = 0; q < rows.size(); ++q) {
    const QueueId queue(q);
    if (Held(rows[q].own) != books.occupancy.queue_own(queue)) {
      return "queue \"" + books.queues.spec(queue).name + "\": usage: holds another amount";
    }
    for (const auto& [user, account] : rows[q].users) {
      const auto held = by_user.find({queue, user});
      if (Held(account) != (held == by_user.end() ? Resources{} : held->second)) {
        return "queue \"" + books.queues.spec(queue).name + "\": usage: user \"" + user +
               "\" holds another amount";
      }
      if (held != by_user.end()) by_user.erase(held);
    }
  }
  for (const auto& [account, held] : by_user) {
    if (held != Resources{}) {
      return "queue \"" + books.queues.spec(account.first).name + "\": usage: user \"" +
             account.second + "\" has no account";
    }
  }
  return "";
}

// The tasks whose room is expected to be free soon, and until when, are the tasks that say so.
std::string CheckTerminations(const Books& books, const std::set<std::pair<TimeMs, TaskId>>& terminations) {
  std::size_t leave = 0, timed = 0;
  for (std::size_t t = 0; t < books.tasks.size(); ++t) {
    const TaskRow& task = books.tasks[t];
    if (task.stuck && task.phase != TaskPhase::kReleasing) {
      return "task \"" + task.uid + "\": is stuck, and does not terminate";
    }
    if (!task.leaves()) continue;
    ++leave;
    if (task.terminates_by == 0) continue;
    ++timed;
    if (!terminations.contains({task.terminates_by, TaskId(t)})) {
      return "task \"" + task.uid + "\": the end of its grace period is not listed";
    }
  }
  const bool same = leave == books.releasing.size() && timed == terminations.size();
  return same ? "" : "terminating tasks are listed otherwise";
}

}  // namespace

std::string TaskTable::CheckPlaced() const {
  std::set<std::pair<QueueId, JobId>> listed, counting;
  for (std::size_t q = 0; q < books_.placed.size(); ++q) {
    for (std::size_t i = 0; i < books_.placed[q].size(); ++i) {
      const JobId id = books_.placed[q][i];
      if (books_.jobs[id.index()].placed_at != i)
        return "a job is not where it is listed as placed";
      listed.emplace(QueueId(q), id);
    }
  }
  for (std::size_t j = 0; j < books_.jobs.size(); ++j) {
    const JobRow& job = books_.jobs[j];
    if (job.live && job.counted() > 0) counting.emplace(job.queue, JobId(j));
  }
  if (listed != counting) return "placed jobs of queues differ from those of which a task counts";
  return CheckTerminations(books_, terminations_);
}

// Each row that keeps room is for one task, which has no place, and jobs know how many they have.
std::string TaskTable::CheckReservations() const {
  std::int64_t rows = 0, kept = 0;
  for (const TaskRow& task : books_.tasks) rows += task.phase == TaskPhase::kReserved;
  std::int32_t movable = 0;
  for (const JobRow& job : books_.jobs) {
    movable += job.live && job.movable;
    std::int32_t reserved = 0;
    for (const RoleRow& role : job.roles) {
      for (const TaskId id : role.tasks) {
        const TaskRow& task = books_.tasks[id.index()];
        if (!task.reserved_row.valid()) continue;
        ++reserved;
        const TaskRow& room = books_.tasks[task.reserved_row.index()];
        if (room.phase != TaskPhase::kReserved || room.job != task.job || room.role != task.role ||
            room.index != task.index) {
          return "job \"" + job.name + "\": room is reserved for another task";
        }
        if (HoldsRoom(task.phase) && task.phase != TaskPhase::kReleasing) {
          return "job \"" + job.name + "\": room is reserved for a task that has a place";
        }
      }
    }
    if (reserved != job.reservation->rows ||
        (reserved > 0) != (job.reservation->kind == Reservation::Kind::kVictims ||
                           job.reservation->kind == Reservation::Kind::kMove))
      return "job \"" + job.name + "\": reserved rows differ from its tasks'";
    kept += reserved;
  }
  if (movable != books_.movable_jobs) return "jobs that may be moved: counted otherwise";
  return kept == rows ? "" : "room is reserved for tasks that do not exist";
}

std::string TaskTable::CheckStarts() const {
  std::vector<std::pair<JobId, PendingWork>> pending;
  for (std::size_t j = 0; j < books_.jobs.size(); ++j) {
    const JobRow& job = books_.jobs[j];
    const bool awaited = job.live && job.waits() && !job.satisfied();
    if (awaited != job.start_awaited) {
      return "job \"" + job.name + "\": start intervals: pending or not is known otherwise";
    }
    if (awaited) pending.emplace_back(JobId(j), WorkOf(job));
  }
  return books_.starts.Check(pending);
}

// The counters of roles and queues are those of the tasks.
std::string TaskTable::CheckJobs() const {
  std::vector<std::map<std::int32_t, std::int32_t>> priorities(books_.queue_priorities.size());
  for (const JobRow& job : books_.jobs) {
    if (!job.live) continue;
    ++priorities[job.queue.index()][job.priority];
    for (const RoleRow& role : job.roles) {
      std::int32_t pending = 0, counted = 0;
      for (TaskId id : role.tasks) {
        const TaskRow& task = books_.tasks[id.index()];
        const bool asks = task.phase == TaskPhase::kPending || task.phase == TaskPhase::kAbsent;
        if (asks && task.phase != Unplaced(task)) {
          return "job \"" + job.name + "\" role \"" + role.name + "\": task " +
                 std::to_string(task.index) + " asks to run without a pod, or fails to with one";
        }
        pending += books_.tasks[id.index()].phase == TaskPhase::kPending;
        counted += CountsToMinimum(books_.tasks[id.index()].phase);
      }
      if (pending != role.pending || counted != role.counted) {
        return "job \"" + job.name + "\" role \"" + role.name +
               "\": counters differ from its tasks";
      }
    }
    std::int32_t protects = 0;
    for (const RoleRow& role : job.roles) {
      protects += static_cast<std::int32_t>(
          std::count_if(role.tasks.begin(), role.tasks.end(),
                        [&](TaskId id) { return !books_.tasks[id.index()].preemptible; }));
    }
    if (protects != job.protected_tasks) {
      return "job \"" + job.name + "\": tasks that are not preemptible: counted otherwise";
    }
    if (job.delayed_until != DelayedUntil(job)) {
      return "job \"" + job.name + "\": eviction delay differs from that of its queue";
    }
    if (job.waits() != (job.waiting_at != JobRow::kNotWaiting)) {
      return "job \"" + job.name + "\" is not where waiting jobs are listed";
    }
  }
  std::vector<JobId> incomplete;
  for (std::size_t j = 0; j < books_.jobs.size(); ++j) {
    const JobRow& job = books_.jobs[j];
    const bool listed = books_.config.incomplete_gang_timeout_ms > 0 && job.live && job.counted() > 0;
    if (listed && !job.satisfied()) incomplete.emplace_back(j);
  }
  const bool same = std::equal(incomplete.begin(), incomplete.end(), books_.incomplete.begin(),
                               books_.incomplete.end(),
                               [](JobId id, const auto& one) { return id == one.first; });
  if (!same) return "jobs below their minimum differ from those listed";
  return priorities == books_.queue_priorities ? "" : "priorities in queues differ from the jobs'";
}

std::string TaskTable::Check() const {
  Occupancy fresh;
  fresh.Grow(books_.facts());
  std::map<std::pair<QueueId, std::string>, Resources> by_user;
  for (std::size_t n = 0; n < books_.hardware.slots(); ++n)
    fresh.ResetNode(books_.facts(), NodeId(n));
  for (const TaskRow& task : books_.tasks) {
    if (!HoldsRoom(task.phase) || !books_.hardware.present(task.node)) continue;
    const QueueId queue = QueueOf(task);
    const bool counts = books_.usage.on() && queue.valid();
    const Resources before = counts ? fresh.queue_own(queue) : Resources{};
    fresh.Charge(books_.facts(), books_.classes[task.cls], HolderOf(task), task.node, task.slices, +1);
    if (!counts) continue;
    by_user[{queue, books_.jobs[task.job.index()].user}]
        .Add(fresh.queue_own(queue))
        .Add(before, -1);
  }
  fresh.RollUpQueues(books_.queues);
  if (!fresh.SameColumns(books_.occupancy)) return "occupancy differs from what the tasks hold";
  if (const std::string fault = CheckUsage(books_, std::move(by_user)); !fault.empty())
    return fault;
  std::vector<Books::Demand> pending(books_.queue_pending.size());
  for (const TaskRow& task : books_.tasks) {
    if (!Demands(task)) continue;
    const TaskClass& asks = books_.classes[task.cls];
    pending[QueueOf(task).index()].amount.Add(asks.demand);
    pending[QueueOf(task).index()].whole_gpus += asks.whole_gpus;
  }
  if (pending != books_.queue_pending) return "demand of queues differs from what is pending";
  if (const std::string fault = CheckReservations(); !fault.empty()) return fault;
  if (const std::string fault = CheckTimeline(); !fault.empty()) return fault;
  if (const std::string fault = CheckJobs(); !fault.empty()) return fault;
  if (const std::string fault = CheckStarts(); !fault.empty()) return fault;
  if (const std::string fault = CheckPlaced(); !fault.empty()) return fault;
  if (const std::string fault = books_.lines.Check(books_); !fault.empty()) return fault;
  Inqueue inqueue = books_.inqueue;
  inqueue.Follow(books_);
  return inqueue.Check(books_);
}

}  // namespace tephra
