#include "simulations/whatif/history.h"

#include <algorithm>
#include <set>

#include "sidecar/wire/plan_codec.h"
#include "simulations/whatif/journal_batches.h"
#include "text/format.h"

namespace tephra {
namespace {

// The job without the fields that change while its pods are created.
JobSpec WithoutPods(JobSpec job) {
  job.pods_exist = false;
  job.held.clear();
  job.evictions = 0;
  return job;
}

bool OnlyExpectsLess(const JobSpec& before, JobSpec now) {
  now.estimated_runtime_ms = before.estimated_runtime_ms;
  return now == before;
}

// Folds batch after batch into a History.
class HistoryFold {
 public:
  HistoryFold(History& history, std::optional<DurationMs> checkpoints)
      : history_(history), checkpoints_(checkpoints) {}

  // `now`: the time of the events; `after`: whether it is after the cut.
  void Facts(const std::vector<Event>& events, TimeMs now, bool after) {
    ++batch_;
    now_ = now;
    after_ = after;
    lost_nodes_.clear();
    for (const Event& event : events) {
      std::visit([this](const auto& fact) { On(fact); }, event);
    }
  }

  absl::Status Cycle(TimeMs now, const std::string& plan) {
    cycle_ = now;
    TEPHRA_ASSIGN_OR_RETURN(const std::vector<PlannedEviction> evictions, EvictionsIn(plan));
    for (const PlannedEviction& eviction : evictions) {
      RecordedJob* job = Find(eviction.job);
      if (job == nullptr) continue;
      RecordedTask& task = job->tasks[{eviction.role, eviction.index}];
      task.evicted = task.runs;
      if (task.runs && task.released < 0) task.released = now;
    }
    return absl::OkStatus();
  }

  // The facts so far are the state at the cut.
  void CutHere() {
    history_.extended_kinds = kinds_;
    history_.config = config_;
    history_.nodes = nodes_;
    history_.queues = queues_;
    history_.domains = domains_;
    history_.version = version_;
    std::vector<std::size_t> there;
    for (const auto& [uid, number] : by_uid_) there.push_back(number);
    std::sort(there.begin(), there.end());
    for (const std::size_t number : there) {
      history_.jobs[number].standing = true;
      history_.standing.push_back(history_.jobs[number]);
    }
    history_.standing_jobs = std::move(there);
  }

  // A pod whose failure ended its task did not fail in terms of the simulation.
  void Finish() {
    std::vector<DatedHappening> events;
    for (std::size_t e = 0; e < history_.events.size(); ++e) {
      if (!dropped_.contains(e)) events.push_back(std::move(history_.events[e]));
    }
    history_.events = std::move(events);
    std::sort(history_.graces.begin(), history_.graces.end());
  }

 private:
  RecordedJob* Find(const std::string& uid) {
    const auto found = by_uid_.find(uid);
    return found == by_uid_.end() ? nullptr : &history_.jobs[found->second];
  }

  void Happens(Happening what) {
    if (after_) history_.events.push_back({now_, std::move(what)});
  }
  template <class Fact>
  void Passes(const Fact& fact) {
    Happens(OtherFact{fact});
  }
  void Follow(std::uint64_t version) { version_ = std::max(version_, version); }

  void On(const KindsDeclared& fact) {
    kinds_ = fact.names;
    Passes(fact);
  }
  void On(const NodeUpserted& fact) {
    Follow(fact.version);
    nodes_[fact.node.name] = fact.node;
    Happens(NodeComes{fact.node});
  }
  void On(const NodeRemoved& fact) {
    nodes_.erase(fact.name);
    lost_nodes_.insert(fact.name);
    Happens(NodeGoes{fact.name});
  }
  void On(const QueueUpserted& fact) {
    Follow(fact.version);
    queues_[fact.queue.name] = fact.queue;
    Happens(QueueChanges{fact.queue});
  }
  void On(const QueueRemoved& fact) {
    queues_.erase(fact.name);
    Happens(QueueGoes{fact.name});
  }
  void On(const ConfigChanged& fact) {
    config_ = fact.config;
    Happens(PoliciesChange{fact.config});
  }
  void On(const DomainUpserted& fact) {
    Follow(fact.version);
    domains_[fact.domain.name] = fact.domain;
    Passes(fact);
  }
  void On(const DomainRemoved& fact) {
    domains_.erase(fact.name);
    Passes(fact);
  }
  void On(const MaskUpserted& fact) {
    Follow(fact.version);
    Passes(fact);
  }
  void On(const MaskRemoved& fact) { Passes(fact); }
  void On(const DisruptionBudgetUpserted& fact) {
    Follow(fact.version);
    Passes(fact);
  }
  void On(const DisruptionBudgetRemoved& fact) { Passes(fact); }
  void On(const PlacementRefused& fact) { Happens(Refused{fact}); }
  // Outcomes of plans, which the continuation makes again, and facts that the engine derives
  // itself.
  void On(const PlanStale&) {}
  void On(const BindFailed&) {}
  void On(const MemoryRestored&) {}

  void On(const JobUpserted& fact) {
    Follow(fact.version);
    JobSpec spec = WithoutPods(fact.job);
    const auto [it, fresh] = by_uid_.try_emplace(spec.uid, history_.jobs.size());
    if (fresh) {
      RecordedJob& job = history_.jobs.emplace_back();
      job.came = spec.created > 0 ? std::min(spec.created, now_) : now_;
      job.heard = now_;
      job.later = after_;
      job.with_pods = fact.job.pods_exist;
      job.spec = job.latest = std::move(spec);
      return;
    }
    RecordedJob& job = history_.jobs[it->second];
    job.with_pods = fact.job.pods_exist;
    if (spec == job.latest) return;
    const bool lost = std::any_of(job.tasks.begin(), job.tasks.end(),
                                  [&](const auto& task) { return task.second.stopped == batch_; });
    if (lost && OnlyExpectsLess(job.latest, spec)) {  // because of the work done
      job.latest = std::move(spec);
      return;
    }
    job.latest = spec;
    if (!after_) job.spec = spec;
    Happens(JobChanges{std::move(spec), true});
  }

  void On(const JobRemoved& fact) {
    const auto found = by_uid_.find(fact.uid);
    if (found == by_uid_.end()) return;
    RecordedJob& job = history_.jobs[found->second];
    job.gone = now_;
    bool over = true;
    std::int64_t ended = 0;
    for (auto& [name, task] : job.tasks) {
      if (task.failure.has_value() && task.stopped == batch_) {
        // It ended with its job, so the removal of the job is the event.
        dropped_.insert(*task.failure);
        task.failure.reset();
        task.runs = true;
        task.end = -1;
      }
      ended += task.end >= 0;
      over = over && !task.runs;
    }
    for (const RoleSpec& role : job.latest.gang.roles) ended -= role.replicas;
    const bool dropped = job.later && job.heard == now_ && job.start < 0;
    if (dropped) {
      history_.drops = true;
    } else if (!over || ended < 0) {
      Happens(JobGoes{fact.uid});
    }
    by_uid_.erase(found);
  }

  void On(const TaskUpserted& fact) {
    Follow(fact.version);
    const TaskFact& said = fact.task;
    if (said.job.empty()) return Passes(fact);
    RecordedJob* job = Find(said.job);
    if (job == nullptr) return;
    RecordedTask& task = job->tasks[{said.role, said.index}];
    const std::pair<std::size_t, std::pair<std::string, std::int32_t>> name = {
        by_uid_.at(said.job), {said.role, said.index}};
    if (task.runs && !task.pod.empty() && task.pod != said.uid) Stop(*job, name.second, task);
    if (!task.pod.empty() && task.pod != said.uid) by_pod_.erase(task.pod);
    task.pod = said.uid;
    by_pod_[said.uid] = name;
    switch (said.phase) {
      case TaskPhase::kRunning:
      case TaskPhase::kReleasing:
        if (!task.runs) Begin(*job, task, said);
        if (said.checkpointed > 0) task.checkpointed = said.checkpointed;
        if (said.phase == TaskPhase::kReleasing && task.released < 0) task.released = cycle_;
        return;
      case TaskPhase::kSucceeded:
        if (task.runs) task.end = now_;
        if (task.start < 0) task.start = task.end = now_;  // the time of its run is unknown
        task.runs = false;
        return;
      case TaskPhase::kFailed:
        if (task.runs) return Stop(*job, name.second, task);
        if (task.start < 0) task.start = task.end = now_;
        return;
      default:  // pending
        if (task.runs) Stop(*job, name.second, task);
        return Wanted(task);
    }
  }

  void On(const TaskRemoved& fact) {
    const auto found = by_pod_.find(fact.uid);
    if (found == by_pod_.end()) return Passes(fact);
    RecordedJob& job = history_.jobs[found->second.first];
    RecordedTask& task = job.tasks[found->second.second];
    if (job.gone < 0) {
      if (task.runs) Stop(job, found->second.second, task);
      task.pod.clear();
      // If the engine does not wait for pods, the task is pending at once.
      if (!job.with_pods && task.stopped > 0) Wanted(task);
    }
    by_pod_.erase(found);
  }

  void Begin(RecordedJob& job, RecordedTask& task, const TaskFact& said) {
    Wanted(task);
    task.runs = true;
    task.start = said.started > 0 ? said.started : cycle_;
    task.node = said.node;
    task.evicted = false;
    task.stopped = 0;
    task.released = task.checkpointed = task.left = -1;
    ++task.attempts;
    task.turn = ++starts_;
    if (job.start < 0) job.start = task.start;
  }

  // The attempt ended with unfinished work.
  void Stop(RecordedJob& job, const std::pair<std::string, std::int32_t>& name,
            RecordedTask& task) {
    task.runs = false;
    task.stopped = batch_;
    task.end = task.left = now_;
    if (task.evicted) {
      history_.graces.push_back(now_ - task.released);
      return Wanted(task);
    }
    if (lost_nodes_.contains(task.node) || !nodes_.contains(task.node)) return Wanted(task);
    if (!after_) return;
    task.failure = history_.events.size();
    dropped_.insert(*task.failure);  // unless the task restarts
    Happens(TaskFails{job.spec.uid, name.first, name.second});
  }

  // The task is pending again, with its saved work.
  void Wanted(RecordedTask& task) {
    if (task.end < 0) return;
    if (task.failure.has_value()) dropped_.erase(*task.failure);
    task.failure.reset();
    const DurationMs worked = std::max<DurationMs>(task.end - task.start, 0);
    task.most = std::max(task.most, task.done + worked);
    if (task.checkpointed > task.start) {
      task.done += task.checkpointed - task.start;
    } else if (checkpoints_.has_value()) {
      task.done += *checkpoints_ == 0 ? worked : worked - worked % *checkpoints_;
    }
    task.end = -1;
  }

  History& history_;
  const std::optional<DurationMs> checkpoints_;
  std::uint64_t batch_ = 0;
  TimeMs now_ = 0;
  TimeMs cycle_ = 0;  // of the last cycle
  bool after_ = false;
  std::uint64_t version_ = 0, starts_ = 0;
  std::vector<std::string> kinds_;
  EngineConfig config_;
  std::map<std::string, NodeSpec> nodes_;
  std::map<std::string, QueueSpec> queues_;
  std::map<std::string, DomainSpec> domains_;
  std::set<std::string> lost_nodes_;           // in this batch
  std::map<std::string, std::size_t> by_uid_;  // current jobs; index in History::jobs
  std::map<std::string, std::pair<std::size_t, std::pair<std::string, std::int32_t>>> by_pod_;
  std::set<std::size_t> dropped_;  // of History::events
};

// The times of the first and the last cycle.
absl::StatusOr<std::pair<TimeMs, TimeMs>> SpanOf(const std::string& path) {
  TEPHRA_ASSIGN_OR_RETURN(const std::unique_ptr<JournalBatches> journal,
                          JournalBatches::Open(path));
  std::optional<TimeMs> first, last;
  while (true) {
    TEPHRA_ASSIGN_OR_RETURN(const std::optional<JournalBatch> batch, journal->Next());
    if (!batch.has_value()) break;
    if (batch->tick.has_value() && !first.has_value()) first = batch->tick;
    if (batch->tick.has_value()) last = batch->tick;
  }
  if (first.has_value()) return std::pair(*first, *last);
  return absl::InvalidArgumentError(path +
                                    ": the journal has no scheduling cycle; expected at least one");
}

}  // namespace

absl::StatusOr<History> ReadHistory(const std::string& path, const Cut& cut,
                                    std::optional<DurationMs> checkpoints) {
  TEPHRA_ASSIGN_OR_RETURN(const auto span, SpanOf(path));
  History history;
  history.file = path;
  history.begin = span.first;
  history.end = span.second;
  const bool all = cut.from == Cut::From::kEnd && cut.distance == 0;
  const bool none = cut.from == Cut::From::kStart && cut.distance == 0 && !cut.whole_cycle;
  history.cut =
      cut.from == Cut::From::kStart ? span.first + cut.distance : span.second - cut.distance;
  if (history.cut < span.first || history.cut > span.second) {
    return absl::InvalidArgumentError(
        path + ": --at: " + DurationText(cut.distance) + ", expected at most the " +
        DurationText(span.second - span.first) + " from its first cycle to its last");
  }
  TEPHRA_ASSIGN_OR_RETURN(const std::unique_ptr<JournalBatches> journal,
                          JournalBatches::Open(path));
  HistoryFold fold(history, checkpoints);
  TimeMs now = span.first;
  bool after = false;
  for (bool first = true;; first = false) {
    TEPHRA_ASSIGN_OR_RETURN(const std::optional<JournalBatch> batch, journal->Next());
    if (!batch.has_value()) break;
    now = batch->tick.value_or(now);
    const bool later = !all && now > history.cut;
    if (later && !after) fold.CutHere();
    after = after || later;
    fold.Facts(batch->events, now, after);
    if (first && none) {
      fold.CutHere();
      after = history.and_events = history.due = true;
    }
    if (!after) {
      ++history.batches;
      history.due = !batch->tick.has_value();
    }
    if (batch->tick.has_value()) {
      if (after && (history.events.empty() || history.events.back().at < now)) {
        history.events.push_back({now, CycleDue{}});
      }
      TEPHRA_RETURN_IF_ERROR(fold.Cycle(*batch->tick, batch->plan.value_or("")));
    }
  }
  if (!after) fold.CutHere();
  fold.Finish();
  return history;
}

}  // namespace tephra
