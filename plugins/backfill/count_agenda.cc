#include "plugins/backfill/count_agenda.h"

#include <algorithm>
#include <utility>

#include "plugins/backfill/profile.h"

namespace tephra {
namespace {

// Whether each task of the class that goes makes room for just one more.
bool Countable(const TaskClass& cls) {
  if (!cls.limits.empty()) return false;
  if (!cls.needs_devices()) return true;
  if (!cls.single_ask()) return false;
  const SliceMode mode = cls.lasting.front().request.mode();
  return mode == SliceMode::kWhole || mode == SliceMode::kFraction;
}

// The one class that the job asks for, wherever it is put; invalid: there is no such.
ClassId OnlyClass(const JobRow& job) {
  if (!job.groups.empty() || job.keeps_room()) return ClassId();
  if (job.locality.mode == Locality::Mode::kRequired) return ClassId();
  ClassId only;
  for (const RoleRow& role : job.roles) {
    if (role.tasks.empty()) continue;
    if (only.valid() && only != role.cls) return ClassId();
    only = role.cls;
  }
  return only;
}

// A queue may hold no more than so much, or something is kept for one.
bool AnyQuota(const Snapshot& snapshot) {
  const QueueTree& queues = snapshot.queues();
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const QueueId id(q);
    if (!queues.present(id)) continue;
    if (queues.spec(id).limited_kinds != 0 || queues.spec(id).guarantee != Resources{}) return true;
  }
  return false;
}

// Who waits and what ends are all of this class; invalid: they are not.
ClassId ClassOfAll(const Snapshot& snapshot, const std::vector<JobId>& due) {
  ClassId all;
  for (const JobId id : due) {
    const ClassId only = OnlyClass(snapshot.job(id));
    if (!only.valid() || (all.valid() && only != all)) return ClassId();
    all = only;
  }
  if (!all.valid() || !Countable(snapshot.cls(all)) || AnyQuota(snapshot)) return ClassId();
  for (const auto& [end, task] : snapshot.books().timeline.ends()) {
    if (snapshot.task(task).cls != all) return ClassId();
  }
  for (const TaskId task : snapshot.books().releasing) {
    if (snapshot.task(task).cls != all) return ClassId();
  }
  return all;
}

class CountAgenda final : public Agenda {
 public:
  CountAgenda(Workbench& now, ClassId cls)
      : bench_(now),
        snapshot_(now.ledger().snapshot()),
        free_(snapshot_.now(), now.rankings().WithRoom(cls).room()) {
    const auto frees = [&](TaskId task, TimeMs at) {
      if (!snapshot_.hardware().present(snapshot_.task(task).node)) return;
      free_.Add(std::max(at, Soon()), kForever, +1);
    };
    for (const TaskId task : snapshot_.books().releasing) frees(task, Soon());
    for (const auto& [end, task] : snapshot_.books().timeline.ends()) frees(task, end);
  }

  JobId Delays(const GangAsk& ask, std::size_t mark) override {
    Ledger& ledger = bench_.ledger();
    const auto tasks = static_cast<std::int64_t>(ledger.Since(mark).size());
    const TimeMs at = free_.Short(snapshot_.now(), Until(snapshot_.now(), RunOf(ask.job)), tasks);
    if (at == kForever) return JobId();
    const auto late = std::find_if(given_.begin(), given_.end(), [&](const Given& one) {
      return one.promise.at <= at && at < Until(one.promise.at, RunOf(one.job));
    });
    if (late == given_.end()) return JobId();
    ledger.RollBackTo(mark);
    return late->job;
  }

  Answer Reserve(const GangAsk& ask) override {
    const DurationMs run = RunOf(ask.job);
    const TimeMs at = free_.Earliest(Soon(), run, ask.least);
    if (at == kForever) return {{}, Untimed::kEnds};
    free_.Add(at, Until(at, run), -ask.least);
    given_.push_back({ask.job, {at, {}}});
    return {given_.back().promise, Untimed::kNotAsked};
  }

  const Promise* PromisedTo(JobId id) const override {
    const auto found =
        std::find_if(given_.begin(), given_.end(), [&](const Given& one) { return one.job == id; });
    return found == given_.end() ? nullptr : &found->promise;
  }

  void Follow(const Decision& decision) override {
    for (const TaskId task : decision.evictions) {
      const TimeMs end = snapshot_.task(task).expected_end;
      free_.Add(Soon(), end == 0 ? kForever : std::max(end, Soon()), +1);
    }
    const TimeMs from = decision.verdict == Verdict::kStart ? snapshot_.now() : Soon();
    free_.Add(from, Until(from, RunOf(decision.job)),
              -static_cast<std::int64_t>(decision.placements.size()));
  }

 private:
  struct Given {
    JobId job;
    Promise promise;
  };

  // What is on its way out, or should have ended, has gone.
  TimeMs Soon() const { return snapshot_.now() + 1; }
  DurationMs RunOf(JobId id) const { return snapshot_.job(id).expected_run_ms; }

  Workbench& bench_;
  const Snapshot& snapshot_;
  Profile free_;  // tasks, beside what runs and what is promised
  std::vector<Given> given_;
};

}  // namespace

std::unique_ptr<Agenda> MakeCountAgenda(Workbench& now, const std::vector<JobId>& due) {
  const ClassId cls = ClassOfAll(now.ledger().snapshot(), due);
  return cls.valid() ? std::make_unique<CountAgenda>(now, cls) : nullptr;
}

}  // namespace tephra
