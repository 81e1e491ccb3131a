#include "simulations/whatif/continuation.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "engine/timeline.h"

namespace tephra {
namespace {

// The run times of one job.
struct Runs {
  std::optional<DurationMs> all;  // of tasks that are not in `tasks`; none: endless
  std::map<std::pair<std::string, std::int32_t>, DurationMs> tasks;
};

class Continuer {
 public:
  Continuer(const History& history, const State& state, const ContinueOptions& options)
      : history_(history), state_(state), options_(options) {}

  Continuation Run() && {
    FindOrigin();
    Simulation& next = out_.simulation;
    next.file = history_.file;
    next.origin = origin_;
    next.extended_kinds = history_.extended_kinds;
    next.config = history_.config;
    for (const auto& [name, node] : history_.nodes) next.nodes.push_back(node);
    for (const auto& [name, queue] : history_.queues) next.queues.push_back(queue);
    for (const auto& [name, domain] : history_.domains) next.domains.push_back(domain);
    next.eviction_grace = Grace();
    next.unstarted = history_.drops ? Unstarted::kDropped : Unstarted::kWaits;
    next.restarts.checkpoints = options_.checkpoints;
    if (options_.until.has_value()) next.until = Mine(history_.cut) + *options_.until;
    Handover& handover = next.handover.emplace();
    handover.at = Mine(history_.cut);
    handover.due = history_.due;
    handover.version = history_.version;
    for (std::size_t i = 0; i < history_.standing.size(); ++i) {
      Stand(history_.standing[i], history_.jobs[history_.standing_jobs[i]], handover);
    }
    for (const RecordedJob& job : history_.jobs) {
      if (job.later) Come(job);
    }
    for (const DatedHappening& event : history_.events) {
      next.events.push_back({Mine(event.at), event.what});
    }
    return std::move(out_);
  }

 private:
  TimeMs Mine(TimeMs time) const { return time - origin_; }

  // Time 0 is before all times in use, so that no time is negative.
  void FindOrigin() {
    origin_ = history_.begin;
    for (const RecordedJob& job : history_.standing) {
      origin_ = std::min(origin_, job.came);
      for (const auto& [name, task] : job.tasks) {
        if (task.start >= 0) origin_ = std::min(origin_, task.start);
      }
    }
  }

  DurationMs Grace() const {
    if (options_.grace.has_value()) return *options_.grace;
    const std::vector<DurationMs>& seen = history_.graces;
    return seen.empty() ? kUsualGraceMs : seen[seen.size() / 2];
  }

  // The run-time estimate; unknown: 0. Its source is counted.
  RunEstimate Expected(const RecordedJob& job, bool counts) {
    const DurationMs stated = job.spec.estimated_runtime_ms;
    const JobId id = job.standing ? state_.FindJob(job.spec.uid) : JobId();
    const DurationMs predicted =
        id.valid() ? state_.books().jobs[id.index()].estimated_runtime_ms : 0;
    if (predicted > 0 && predicted != stated) {
      out_.runs.predicted += counts;
      return {predicted, stated};
    }
    if (stated > 0) {
      out_.runs.expected += counts;
      return {stated, stated};
    }
    out_.runs.assumed += counts && options_.default_runtime.has_value();
    out_.runs.unknown += counts && !options_.default_runtime.has_value();
    const DurationMs assumed = options_.default_runtime.value_or(0);
    return {assumed, assumed};
  }

  // `job` is the job at the end of the journal.
  Runs RunsOf(const RecordedJob& job) {
    Runs runs;
    bool recorded = false, open = false;
    for (const auto& [name, task] : job.tasks) recorded = recorded || task.end >= 0;
    out_.runs.recorded += recorded;
    const RunEstimate estimate = Expected(job, !recorded);
    const DurationMs expected = estimate.expected;
    for (const auto& [name, task] : job.tasks) {
      if (task.end >= 0) {
        runs.tasks[name] = task.done + std::max<DurationMs>(task.end - task.start, 0);
        continue;
      }
      open = open || (task.runs && expected == 0);
      if (expected == 0) continue;
      // The task ran at least this long without an end.
      DurationMs seen = task.most > 0 ? task.most + 1 : 0;
      if (task.runs) {
        const TimeMs last = job.gone >= 0 ? job.gone + 1 : history_.end;
        seen = std::max(seen, task.done + last - task.start);
      }
      if (seen > 0) runs.tasks[name] = ExpectedEnd(0, estimate, seen);
    }
    if (expected > 0 && !recorded) runs.all = expected;
    for (const auto& [name, run] : runs.tasks) {
      if (recorded || expected > 0) runs.all = std::max(runs.all.value_or(0), run);
    }
    if (open) runs.all.reset();
    if (runs.all.has_value()) {
      std::erase_if(runs.tasks, [&](const auto& one) { return one.second == *runs.all; });
    }
    return runs;
  }

  Arrival ArrivalOf(const RecordedJob& job, const Runs& runs, TimeMs at) const {
    Arrival arrival;
    arrival.at = Mine(at);
    arrival.job = job.spec;
    arrival.run = runs.all;
    for (const auto& [name, run] : runs.tasks) {
      arrival.task_runs.push_back({name.first, name.second, run});
    }
    return arrival;
  }

  void Come(const RecordedJob& job) {
    Arrival arrival = ArrivalOf(job, RunsOf(job), job.heard);
    out_.simulation.jobs.push_back(std::move(arrival));
  }

  // `now` is the job at the cut, `later` the job at the end of the journal.
  void Stand(const RecordedJob& now, const RecordedJob& later, Handover& handover) {
    const JobId id = state_.FindJob(now.spec.uid);
    if (!id.valid()) return;
    const JobRow& row = state_.books().jobs[id.index()];
    HandedJob handed;
    bool over = true;
    std::vector<HandedTask> tasks;
    for (const RoleRow& role : row.roles) {
      for (const TaskId task : role.tasks) {
        HandedTask one = Hand(now, later, role.name, state_.books().tasks[task.index()]);
        over = over && one.phase == TaskPhase::kSucceeded;
        tasks.push_back(std::move(one));
      }
    }
    if (over && !tasks.empty()) return;  // the job exists, but nothing more will happen to it
    const Runs runs = RunsOf(later);
    for (HandedTask& task : tasks) {
      const auto own = runs.tasks.find({task.role, task.index});
      if (own != runs.tasks.end()) task.run = own->second;
    }
    handed.came = ArrivalOf(now, runs, now.came);
    handed.came.task_runs.clear();
    handed.start = now.start >= 0 ? Mine(now.start) : -1;
    handed.tell = row.pods_exist;
    handed.tasks = std::move(tasks);
    handover.jobs.push_back(std::move(handed));
  }

  HandedTask Hand(const RecordedJob& now, const RecordedJob& later, const std::string& role,
                  const TaskRow& row) const {
    HandedTask handed;
    handed.role = role;
    handed.index = row.index;
    handed.pod = row.uid;
    const std::pair<std::string, std::int32_t> name = {role, row.index};
    const auto found = now.tasks.find(name);
    const RecordedTask recorded = found == now.tasks.end() ? RecordedTask() : found->second;
    const auto after = later.tasks.find(name);
    const bool asked_again = after != later.tasks.end() &&
                             (after->second.attempts > recorded.attempts || after->second.end < 0);
    handed.done = recorded.done;
    handed.attempts = recorded.attempts;
    handed.turn = recorded.turn;
    switch (row.phase) {
      case TaskPhase::kRunning:
      case TaskPhase::kReleasing:
      case TaskPhase::kAssumed:
        handed.phase = row.phase;
        handed.node = state_.books().hardware.spec(row.node).name;
        handed.slices = row.slices;
        break;
      case TaskPhase::kSucceeded:
        handed.phase = TaskPhase::kSucceeded;
        break;
      case TaskPhase::kFailed:
      case TaskPhase::kAbsent:
        handed.phase =
            recorded.end >= 0 && !asked_again ? TaskPhase::kSucceeded : TaskPhase::kPending;
        break;
      default:
        break;
    }
    if (handed.phase == TaskPhase::kAssumed || handed.phase == TaskPhase::kPending) return handed;
    handed.attempts = std::max(handed.attempts, 1);
    const TimeMs start = row.started > 0 || recorded.start < 0 ? row.started : recorded.start;
    handed.start = std::max<TimeMs>(Mine(start), 0);
    if (row.evicting || (handed.phase == TaskPhase::kReleasing && recorded.released < 0)) {
      handed.phase = TaskPhase::kRunning;
      handed.to_go = true;
    } else if (handed.phase == TaskPhase::kReleasing) {
      const bool seen = after != later.tasks.end() && after->second.attempts == recorded.attempts &&
                        after->second.left >= 0;
      handed.leaves = Mine(seen ? after->second.left : recorded.released + Grace());
    }
    return handed;
  }

  const History& history_;
  const State& state_;
  const ContinueOptions& options_;
  TimeMs origin_ = 0;
  Continuation out_;
};

}  // namespace

Continuation Continue(const History& history, const State& state, const ContinueOptions& options) {
  return Continuer(history, state, options).Run();
}

}  // namespace tephra
