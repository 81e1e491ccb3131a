// World: the simulated outside of the engine: a clock that jumps from event to event, jobs that
// arrive, tasks that run for their time and end, nodes that come and go.
//
//   World world(std::move(setup), engine.state());
//   while (auto batch = world.Next()) {
//     for (const Event& event : batch->events) engine.Apply(event);
//     world.Execute(engine.Tick(batch->time));
//   }
//
// A batch is all that happens at one instant: first what follows from the last plan (its
// placements are confirmed at once, what it evicts is on its way out; under Unstarted::kDropped
// jobs that did not start go), then tasks that end or fail, then nodes that fail or are back, then
// the events of the simulation, then arrivals; within each, the earlier one of two equal times is
// the one that was scheduled first. The confirmations of a plan are a batch of their own at the
// same instant. One owner thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "plugins/framework/event.h"
#include "plugins/framework/plan.h"
#include "plugins/framework/state.h"
#include "simulations/arrivals.h"
#include "simulations/failures.h"
#include "simulations/workload/simulation.h"
#include "topology/base/status.h"

namespace tephra {

struct Batch {
  TimeMs time = 0;
  std::vector<Event> events;
};

// What became of one task. Times are -1 until they come.
struct TaskRecord {
  std::uint32_t role = 0;  // index into JobRecord::roles
  std::int32_t index = 0;
  TimeMs start = -1;    // of its last attempt
  TimeMs works = -1;    // since when, after its delay
  DurationMs done = 0;  // of its run time, saved by attempts before
  TimeMs finish = -1;
  std::int32_t attempts = 0;  // how often it was started
  std::int32_t evictions = 0;
  std::string node;  // of its last attempt
  Slices slices;
  std::optional<DurationMs> run;  // its own, where that is not its job's
  std::string pod;                // its uid, where an earlier world gave it
  bool running = false;
};

struct JobRecord {
  struct Role {
    std::string name;
    std::int64_t gpu_each = 0;             // milli-GPUs of one task
    std::int64_t gpu_memory_mib_each = 0;  // of its fractions
    std::size_t first_task = 0;            // in `tasks`
    std::int32_t replicas = 0;
  };
  std::uint64_t number = 0;  // in the order of arrival, from 0
  std::string uid, name, queue, user;
  std::int32_t priority = 0;
  TimeMs arrival = 0;
  std::optional<DurationMs> run;
  bool fails_whole = false;
  std::int64_t gpu_demand = 0;  // milli-GPUs of all its tasks
  std::vector<Role> roles;
  std::vector<TaskRecord> tasks;
  std::int32_t running = 0, finished = 0;  // tasks
  // How often plans evicted some of it, tasks of it failed or lost their node at one instant, and
  // it started after the first time.
  std::int32_t evictions = 0, failures = 0, restarts = 0;
  TimeMs evicted_at = -1, failed_at = -1;  // last
  std::int64_t lost_gpu_ms = 0;            // work that was not saved, times milli-GPUs
  TimeMs start = -1;                       // when the gang first started
  TimeMs end = -1;                         // when its last task ended or it was taken away
  bool dropped = false;                    // it did not start in the cycle of its arrival
  bool removed = false;                    // an event took it away
  bool asked = false;                      // some plan said something about its minimum
  Verdict verdict = Verdict::kWait;
  Reason reason;          // of that verdict
  Reason elastic_reason;  // why members beyond the minimum did not start, when last asked
  JobId id;               // the engine's, once a plan named it
  // What was last said of it to the engine, where that changes with its work: null unless an end is
  // expected of it.
  std::shared_ptr<const JobSpec> spec;
};

// Told by the world of what it did; the report listens.
class WorldListener {
 public:
  virtual ~WorldListener() = default;
  virtual void JobArrived(const JobRecord&) {}
  // Nothing will happen to it any more.
  virtual void JobEnded(const JobRecord&) {}
  // When the world is over, of each that is still there.
  virtual void JobLeft(const JobRecord&) {}
};

class World {
 public:
  // `state` is the one of the engine that this world is shown to; it must outlive the world.
  World(Simulation simulation, std::unique_ptr<Arrivals> arrivals, const State& state,
        WorldListener* listener = nullptr);

  // The next batch; none when nothing more will happen, or status() is not OK.
  std::optional<Batch> Next();
  // Takes back what Next gave, so that its memory serves again; need not be called.
  void Recycle(Batch batch) {
    spare_ = std::move(batch.events);
    spare_.clear();
  }
  // Carries out the plan that was made after the last batch.
  // REQUIRES: the state is the one that made the plan, and nothing was applied since.
  void Execute(const Plan& plan);

  // A fault in a file that is streamed.
  const absl::Status& status() const { return status_; }
  TimeMs now() const { return now_; }
  // Jobs that are there now, in the order of their arrival.
  std::vector<const JobRecord*> Jobs() const;
  std::uint64_t arrived() const { return arrived_; }
  double part_arrived() const { return arrivals_->part(); }
  const TraceReading* reading() const { return arrivals_->reading(); }

 private:
  enum class End : std::uint8_t { kDone, kEvicted, kFailed };
  // A task ends, is gone after its eviction, or fails.
  struct Finish {
    TimeMs at;
    std::uint64_t sequence;
    std::uint64_t job;   // JobRecord::number
    std::uint32_t task;  // index into JobRecord::tasks
    std::int32_t attempt;
    End end = End::kDone;
    bool operator>(const Finish& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };

  void Begin(Batch& batch);
  // What the simulation begins with instead (world_handover.cc).
  void TakeOver();
  void Take(HandedJob& job);
  void Take(JobRecord& job, std::size_t index, const HandedTask& task);
  void Arrive(Batch& batch);
  void Start(JobRecord& job, std::size_t index, const std::string& node, const Slices& slices);
  void EndLater(JobRecord& job, std::size_t index);
  bool IsStale(const Finish& finish) const;  // nothing ends then any more
  void Follow(const Finish& finish, Batch& batch);
  void PassOver();
  void Evict(JobRecord& job, std::size_t index);
  void Happen(const Happening& what, Batch& batch);
  void On(const NodeComes& what, Batch& batch);
  void On(const NodeGoes& what, Batch& batch);
  void On(const NodeCordoned& what, Batch& batch);
  void On(const QueueChanges& what, Batch& batch);
  void On(const QueueStateChanges& what, Batch& batch);
  void On(const QueueGoes& what, Batch& batch);
  void On(const JobChanges& what, Batch& batch);
  void On(const JobGoes& what, Batch& batch);
  void On(const TaskFails& what, Batch& batch);
  void On(const Refused& what, Batch& batch);
  void On(const ForeignPodRuns& what, Batch& batch);
  void On(const ForeignPodEnds& what, Batch& batch);
  void On(const PoliciesChange& what, Batch& batch);
  void On(const Told& what, Batch& batch);
  void On(const CycleDue&, Batch&) {}

  void NodeFails(Batch& batch);
  void LoseNode(const std::string& name, Batch& batch);
  void Fail(JobRecord& job, TaskRecord& task, Batch& batch);
  void Lose(JobRecord& job, TaskRecord& task, Batch& batch);
  void TellLeft(JobRecord& job, Batch& batch);
  DurationMs DelayOf(const JobRecord& job, const std::vector<DelayStep>& steps) const;
  static std::optional<DurationMs> RunOf(const JobRecord& job, const TaskRecord& task) {
    return task.run.has_value() ? task.run : job.run;
  }
  // Of its run time, from now on. REQUIRES: it has one.
  static DurationMs LeftOf(const JobRecord& job, const TaskRecord& task) {
    return *RunOf(job, task) - task.done;
  }
  void Close(JobRecord& job, Batch& batch);
  JobRecord* FindJob(const std::string& uid);
  JobRecord* FindJob(JobId id);
  // Of the task among the job's.
  std::size_t PlaceOf(const JobRecord& job, const TaskRow& row) const;
  void Fetch();
  TimeMs NextTime() const;
  std::uint64_t Version() { return ++version_; }

  Simulation simulation_;
  std::unique_ptr<Arrivals> arrivals_;
  const State& state_;
  WorldListener* listener_;
  absl::Status status_;
  TimeMs now_ = 0;
  bool begun_ = false;
  std::uint64_t version_ = 0, sequence_ = 0, arrived_ = 0;

  std::optional<Arrival> next_arrival_;
  std::size_t next_event_ = 0;
  std::priority_queue<Finish, std::vector<Finish>, std::greater<>> finishes_;
  std::vector<Event> follow_up_, spare_;
  std::vector<std::uint64_t> arrived_now_;  // numbers, of the last batch

  std::unordered_map<std::uint64_t, std::unique_ptr<JobRecord>> jobs_;  // by number
  std::unordered_map<std::string, JobRecord*> by_uid_;
  std::vector<JobRecord*> by_id_;  // by the engine's JobId, once a plan named it; null: not yet
  std::unordered_map<std::string, NodeSpec> nodes_;
  std::unordered_map<std::string, NodeSpec> down_;  // failed, by chance
  Failures failures_;
  std::unordered_map<std::string, QueueSpec> queues_;
};

// "job/role/3", and "#2" behind it from the second attempt on; or what an earlier world called it.
std::string TaskUid(const JobRecord& job, const TaskRecord& task);
// Where it is among the job's tasks; none: the job has no such task.
std::optional<std::size_t> IndexOf(const JobRecord& job, const std::string& role,
                                   std::int32_t index);
// What the world tells of it.
TaskFact FactOf(const JobRecord& job, const TaskRecord& task, TaskPhase phase);
// The record of a job of which nothing has happened yet.
std::unique_ptr<JobRecord> RecordOf(const Arrival& arrival, std::uint64_t number);

}  // namespace tephra
