#include "plugins/backfill/count_plan.h"

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
  if (job.locality->mode == Locality::Mode::kRequired) return ClassId();
  ClassId only;
  for (const RoleRow& role : job.roles) {
    if (role.tasks.empty()) continue;
    if (only.valid() && only != role.cls) return ClassId();
    only = role.cls;
  }
  return only;
}

// A queue may hold no more than so much, or something is kept for one.
bool AnyQuota(const Snapshot& snapshot, bool any_protected) {
  const QueueTree& queues = snapshot.queues();
  for (std::size_t q = 0; q < queues.size(); ++q) {
    const QueueId id(q);
    if (!queues.present(id)) continue;
    if (queues.spec(id).limited_kinds != 0 || queues.spec(id).guarantee != Resources{}) return true;
    if (any_protected && queues.spec(id).deserved != Resources{}) return true;
  }
  return false;
}

// The node holds more than it has.
bool Overfull(const Snapshot& snapshot, NodeId node) {
  const Resources& free = snapshot.occupancy().node(node).free;
  for (Kind kind = 0; kind < kMaxKinds; ++kind) {
    if (free[kind] < 0) return true;
  }
  return false;
}

// Another task is to have the room when the task has gone, or a part of it.
bool SharesItsRoom(const Snapshot& snapshot, const TaskRow& task) {
  const Hardware& hardware = snapshot.hardware();
  if (!hardware.present(task.node)) return false;
  if (Overfull(snapshot, task.node)) return true;
  const NodeView view = snapshot.occupancy().View(hardware, task.node);
  return std::any_of(task.slices.begin(), task.slices.end(), [&](const Slice& slice) {
    if (slice.device >= view.devices.size()) return false;
    const DeviceRow& device = view.devices[slice.device];
    return device.free_compute < 0 || device.free_memory_mib < 0;
  });
}

// The class of all that waits and all that ends; invalid: there are several.
ClassId ClassOfAll(const Snapshot& snapshot, const Due& due,
                   const std::vector<JobId>& standing) {
  ClassId all;
  bool any_protected = false;
  const auto other = [&](JobId id) {
    any_protected = any_protected || snapshot.job(id).is_protected();
    const ClassId only = OnlyClass(snapshot.job(id));
    if (!only.valid() || (all.valid() && only != all)) return true;
    all = only;
    return false;
  };
  // Jobs that are not due may get a reservation in this cycle, too.
  const Books& books = snapshot.books();
  const std::vector<JobId>& singles = books.lines.on() ? books.lines.loose() : books.waiting;
  if (std::any_of(due.jobs.begin(), due.jobs.end(), other)) return ClassId();
  if (std::any_of(standing.begin(), standing.end(), other)) return ClassId();
  if (std::any_of(singles.begin(), singles.end(), other)) return ClassId();
  std::vector<LineId> lines;
  books.lines.AddAll(lines);
  if (std::any_of(lines.begin(), lines.end(), [&](LineId id) {
        return other(books.lines.line(id).First()->job);
      })) {
    return ClassId();
  }
  if (!all.valid() || !Countable(snapshot.cls(all)) || AnyQuota(snapshot, any_protected)) return ClassId();
  for (const auto& [end, task] : snapshot.books().timeline.ends()) {
    if (snapshot.task(task).cls != all) return ClassId();
  }
  for (const TaskId task : snapshot.books().releasing) {
    if (snapshot.task(task).cls != all || SharesItsRoom(snapshot, snapshot.task(task))) {
      return ClassId();
    }
  }
  return all;
}

// Whether one of its class may have its place when the task goes: not on a node that is closed to
// it or holds more than it has, nor on a device that has failed under it.
bool MakesRoom(const Snapshot& snapshot, const Ranking& ranking, const TaskRow& task) {
  const Hardware& hardware = snapshot.hardware();
  if (!hardware.present(task.node) || !MayUse(ranking.misfit(hardware.rank(task.node)))) {
    return false;
  }
  if (Overfull(snapshot, task.node)) return false;
  const std::vector<DeviceHardware>& devices = hardware.spec(task.node).devices;
  return std::all_of(task.slices.begin(), task.slices.end(), [&](const Slice& slice) {
    return slice.device < devices.size() && devices[slice.device].healthy;
  });
}

class CountPlan final : public ReservationPlan {
 public:
  CountPlan(Workbench& now, ClassId cls, const std::vector<JobId>& standing)
      : bench_(now), snapshot_(now.ledger().snapshot()), free_(FreeFrom(now, cls, standing)) {
    for (const JobId id : standing) given_.push_back({id, snapshot_.job(id).reservation});
  }

  JobId Delays(const GangAsk& ask, std::size_t mark) override {
    Ledger& ledger = bench_.ledger();
    const auto tasks = static_cast<std::int64_t>(ledger.Since(mark).size());
    const TimeMs at = free_.Short(snapshot_.now(), Until(snapshot_.now(), RunOf(ask.job)), tasks);
    if (at == kForever) return JobId();
    const auto late = std::find_if(given_.begin(), given_.end(), [&](const Given& one) {
      return one.reservation.at <= at && at < Until(one.reservation.at, RunOf(one.job));
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
    given_.push_back({ask.job, Reservation::Start(at, ask.least, {})});
    return {given_.back().reservation, Untimed::kNotAsked};
  }

  const Reservation* ReservationOf(JobId id) const override {
    const auto found =
        std::find_if(given_.begin(), given_.end(), [&](const Given& one) { return one.job == id; });
    return found == given_.end() ? nullptr : &found->reservation;
  }

  std::vector<JobId> Moved() const override { return {}; }

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
    Reservation reservation;
  };

  // Beside what runs and what is reserved for the standing jobs.
  static Profile FreeFrom(Workbench& now, ClassId cls, const std::vector<JobId>& standing) {
    const Snapshot& snapshot = now.ledger().snapshot();
    std::vector<Profile::Change> changes;
    const Ranking& ranking = now.rankings().WithRoom(cls);
    const auto frees = [&](TaskId task, TimeMs at) {
      if (!MakesRoom(snapshot, ranking, snapshot.task(task))) return;
      changes.push_back({std::max(at, snapshot.now() + 1), +1});
    };
    for (const TaskId task : snapshot.books().releasing) frees(task, 0);
    for (const auto& [end, task] : snapshot.books().timeline.ends()) frees(task, end);
    for (const JobId id : standing) {
      const Reservation& reservation = snapshot.job(id).reservation;
      changes.push_back({reservation.at, -reservation.tasks});
      changes.push_back(
          {Until(reservation.at, snapshot.job(id).estimated_runtime_ms), +reservation.tasks});
    }
    return Profile(snapshot.now(), ranking.room(), std::move(changes));
  }

  // What is on its way out, or should have ended, has gone.
  TimeMs Soon() const { return snapshot_.now() + 1; }
  DurationMs RunOf(JobId id) const { return snapshot_.job(id).estimated_runtime_ms; }

  Workbench& bench_;
  const Snapshot& snapshot_;
  Profile free_;  // tasks, beside what runs and what is reserved
  std::vector<Given> given_;
};

}  // namespace

std::unique_ptr<ReservationPlan> MakeCountPlan(Workbench& now, const Due& due,
                                            const std::vector<JobId>& standing) {
  const ClassId cls = ClassOfAll(now.ledger().snapshot(), due, standing);
  return cls.valid() ? std::make_unique<CountPlan>(now, cls, standing) : nullptr;
}

}  // namespace tephra
