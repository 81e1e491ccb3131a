// World: the simulated cluster around the engine: a clock that jumps from event to event, jobs that
// are submitted, tasks that run and end, nodes that are added and removed.
//
//   World world(std::move(setup), engine.state());
//   while (auto batch = world.Next()) {
//     for (const Event& event : batch->events) engine.Apply(event);
//     world.Execute(engine.Tick(batch->time));
//   }
//
// A batch is everything that happens at one time, in this order: effects of the last plan
// (placements are confirmed, evicted tasks terminate, and under Unstarted::kDropped jobs that did
// not start are removed), tasks that end or fail, nodes that fail or are repaired, events of the
// simulation, and submissions. Within each group the order of scheduling decides. The confirmations
// of a plan are a batch of their own at the same time. One owner thread.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include "engine/event.h"
#include "engine/plan.h"
#include "engine/start_interval.h"
#include "engine/state.h"
#include "simulations/arrivals.h"
#include "simulations/failures.h"
#include "simulations/job_shape.h"
#include "simulations/workload/simulation.h"
#include "topology/base/status.h"

namespace tephra {

struct Batch {
  TimeMs time = 0;
  std::vector<Event> events;
};

// The state of one task. A time is -1 until it is known.
struct TaskRecord {
  std::uint32_t role = 0;  // index into JobRecord::roles
  std::int32_t index = 0;
  TimeMs start = -1;    // of its last attempt
  TimeMs works = -1;    // when it began to work, after its delay
  DurationMs done = 0;  // work saved by earlier attempts
  TimeMs finish = -1;
  std::int32_t attempts = 0;     // number of starts
  std::uint64_t run_number = 0;  // of its last attempt, unique in the world
  std::int32_t evictions = 0;
  Boxed<std::string> node;       // of its last attempt
  Slices slices;
  std::optional<DurationMs> run;  // set if it differs from the job
  Boxed<std::string> pod;         // its uid, if an earlier world gave it
  bool running = false;
};

struct JobRecord {
  std::uint64_t number = 0;  // in the order of arrival, from 0
  std::string uid, name;
  Boxed<std::string> queue, user;
  std::int32_t priority = 0;
  bool fails_whole = false;
  DurationMs stuck_for = 0;     // as in Arrival
  TimeMs arrival = 0;
  TimeMs created = 0;           // as the engine knows it
  DurationMs estimate = 0;      // as the engine knows it before the job first runs; 0: none
  std::optional<DurationMs> run;
  Boxed<JobShape> shape;
  std::vector<TaskRecord> tasks;
  std::int32_t running = 0, finished = 0;  // tasks
  // The number of times that plans evicted tasks of it, that tasks of it failed or lost their node,
  // and that it restarted.
  std::int32_t evictions = 0, failures = 0, restarts = 0;
  JobId id;                                // the id in the engine, known after its first plan
  TimeMs evicted_at = -1, failed_at = -1;  // the last time
  std::int64_t lost_gpu_ms = 0;            // work that was not saved, times milli-GPUs
  TimeMs start = -1;                       // when the gang first started
  TimeMs end = -1;                         // when its last task ended or it was removed
  std::optional<StartInterval> first_interval;  // when it was first found pending
  bool dropped = false;                    // removed, because it did not start in its first cycle
  bool removed = false;                    // removed by an event
  bool asked = false;                      // a plan had a verdict on its minimum
  Verdict verdict = Verdict::kWait;
  Boxed<Reason> reason;          // of that verdict
  Boxed<Reason> elastic_reason;  // why members beyond the minimum did not start, when last asked
  Boxed<JobSpec> changed;        // as the last event of the simulation changed it; else the default

  const std::vector<JobShape::Role>& roles() const { return shape->roles; }
  // How often its tasks save their work; 0: never.
  DurationMs checkpoint_interval() const {
    return (changed.is_default() ? shape->spec : *changed).checkpoint_interval_ms;
  }
  std::int64_t gpu_demand() const { return shape->gpu_demand; }  // milli-GPUs of all its tasks
};

// Is notified of jobs by the world.
class WorldListener {
 public:
  virtual ~WorldListener() = default;
  virtual void JobArrived(const JobRecord&) {}
  // The job has ended.
  virtual void JobEnded(const JobRecord&) {}
  // Called at the end for each job that is left.
  virtual void JobLeft(const JobRecord&) {}
};

class World {
 public:
  // `state` belongs to the engine that this world drives; it must outlive the world.
  World(Simulation simulation, std::unique_ptr<Arrivals> arrivals, const State& state,
        WorldListener* listener = nullptr);

  // The next batch; none at the end, or if status() is not OK.
  std::optional<Batch> Next();
  // Returns a batch for reuse of its memory. Optional.
  void Recycle(Batch batch) {
    spare_ = std::move(batch.events);
    spare_.clear();
  }
  // Executes the plan that was made after the last batch.
  // REQUIRES: no event was applied since the plan was made.
  void Execute(const Plan& plan);

  // An error in the workload.
  const absl::Status& status() const { return status_; }
  TimeMs now() const { return now_; }
  // The current jobs, in the order of submission.
  std::vector<const JobRecord*> Jobs() const;
  std::uint64_t arrived() const { return arrived_; }
  double part_arrived() const { return arrivals_->part(); }
  const TraceReading* reading() const { return arrivals_->reading(); }

 private:
  enum class End : std::uint8_t { kDone, kEvicted, kFailed };
  // A task ends, terminates after its eviction, or fails.
  struct Finish {
    TimeMs at;
    std::uint64_t sequence;
    std::uint64_t job;   // JobRecord::number
    std::uint32_t task;  // index into JobRecord::tasks, unless the job changed since
    std::uint64_t run;   // TaskRecord::run_number
    End end = End::kDone;
    bool operator>(const Finish& other) const {
      return at != other.at ? at > other.at : sequence > other.sequence;
    }
  };

  struct UidHash {
    using is_transparent = void;
    std::size_t operator()(const std::string& uid) const { return TextHash()(uid); }
    std::size_t operator()(const JobRecord* job) const { return TextHash()(job->uid); }
  };
  struct UidEqual {
    using is_transparent = void;
    static const std::string& Uid(const std::string& uid) { return uid; }
    static const std::string& Uid(const JobRecord* job) { return job->uid; }
    bool operator()(const auto& a, const auto& b) const { return Uid(a) == Uid(b); }
  };

  void Begin(Batch& batch);
  // Starts with the jobs of an earlier run (world_handover.cc).
  void TakeOver();
  void Take(HandedJob& job);
  void Take(JobRecord& job, std::size_t index, const HandedTask& task);
  void Arrive(Batch& batch);
  // The record of a new job, in all tables.
  JobRecord& Add(Arrival& arrival);
  void Start(JobRecord& job, std::size_t index, const std::string& node, const Slices& slices);
  void EndLater(JobRecord& job, std::size_t index);
  // The task whose run ends then; null: that run is over already.
  TaskRecord* TaskOf(const Finish& finish) const;
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
  void On(const OtherFact& what, Batch& batch);
  void On(const CycleDue&, Batch&) {}

  void NodeFails(Batch& batch);
  void LoseNode(const std::string& name, Batch& batch);
  void Fail(JobRecord& job, TaskRecord& task, Batch& batch);
  void Lose(JobRecord& job, TaskRecord& task, Batch& batch);
  void SendRemainingTime(JobRecord& job, Batch& batch);
  DurationMs DelayOf(const JobRecord& job, const std::vector<DelayStep>& steps) const;
  static std::optional<DurationMs> RunOf(const JobRecord& job, const TaskRecord& task) {
    return task.run.has_value() ? task.run : job.run;
  }
  // The remaining run time. REQUIRES: the task has a run time.
  static DurationMs LeftOf(const JobRecord& job, const TaskRecord& task) {
    return *RunOf(job, task) - task.done;
  }
  void Close(JobRecord& job, Batch& batch);
  // Writes down the answer to another job of its line that holds for the job, too.
  void Refresh(JobRecord& job) const;
  // On the clock of the jobs.
  std::optional<StartInterval> FirstIntervalOf(const JobRow& job) const;
  JobRecord* FindJob(const std::string& uid);
  JobRecord* FindJob(JobId id);
  // The index of the task in the job.
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
  std::uint64_t version_ = 0, sequence_ = 0, arrived_ = 0, runs_ = 0;

  std::optional<Arrival> next_arrival_;
  std::set<TimeMs> wakes_;  // when the engine may have new answers by time alone
  std::size_t next_event_ = 0;
  std::priority_queue<Finish, std::vector<Finish>, std::greater<>> finishes_;
  std::vector<Event> follow_up_, spare_;
  std::vector<std::uint64_t> arrived_now_;  // numbers, of the last batch

  JobShapes shapes_;
  ValuePool<std::string, TextHash> texts_;  // names of queues, users and nodes
  absl::flat_hash_map<std::uint64_t, std::unique_ptr<JobRecord>> jobs_;  // by number
  absl::flat_hash_set<JobRecord*, UidHash, UidEqual> by_uid_;
  std::vector<JobRecord*> by_id_;  // by JobId; null: no plan named it yet
  std::unordered_map<std::string, NodeSpec> nodes_;
  std::unordered_map<std::string, NodeSpec> down_;  // failed nodes
  Failures failures_;
  std::unordered_map<std::string, QueueSpec> queues_;
};

// "job/role/3", with "#2" appended for the second attempt and so on; or the uid of an earlier
// world.
std::string TaskUid(const JobRecord& job, const TaskRecord& task);
// The index of the task in the job; none: the job has no such task.
std::optional<std::size_t> IndexOf(const JobRecord& job, const std::string& role,
                                   std::int32_t index);
// The fact that the engine gets for the task.
TaskFact FactOf(const JobRecord& job, const TaskRecord& task, TaskPhase phase);
// Sets the roles and tasks of the record to those of the shape. Tasks that exist keep their state.
void Reshape(JobRecord& record, Boxed<JobShape> shape);
// The job as the engine got it. REQUIRES: it has a run-time estimate.
JobSpec SpecOf(const JobRecord& job);

}  // namespace tephra
