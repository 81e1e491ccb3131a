// Simulation: all that one YAML file (docs/simulate.md) says: cluster, queues, jobs, policies,
// events, outputs.
//
// Plain values. Jobs stand in the order of their arrival; those of a trace are not in here but
// come row by row (arrivals.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plugins/framework/event.h"
#include "simulations/arrivals.h"
#include "simulations/failures.h"
#include "simulations/handover.h"
#include "simulations/traces/openb.h"
#include "simulations/workload/trace_workload.h"
#include "text/yaml_tree.h"
#include "topology/all_reduce.h"
#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

// What the world does by itself at a time, apart from jobs that arrive and tasks that end.
struct NodeComes {
  NodeSpec node;
};  // or changes, where the name is known
struct NodeGoes {
  std::string name;
};  // its tasks are lost, and wanted again
struct NodeCordoned {
  std::string name;
  bool unschedulable = true;
};
struct QueueChanges {
  QueueSpec queue;
};
struct QueueStateChanges {
  std::string name;
  QueueState state = QueueState::kOpen;
};
struct QueueGoes {
  std::string name;
};
struct JobChanges {
  JobSpec job;
  // As it stands; else it came when it did, and is expected to run as long as it does where nothing
  // is said of that.
  bool whole = false;
};
struct JobGoes {
  std::string name;
};
// The task ends in failure and its pod is made anew; it is wanted again from then on.
struct TaskFails {
  std::string job;
  std::string role;
  std::int32_t index = 0;
};
struct Refused {
  PlacementRefused refusal;
};
struct ForeignPodRuns {
  TaskFact task;
};
struct ForeignPodEnds {
  std::string uid;
};
struct PoliciesChange {
  EngineConfig config;
};
// Any other fact, with a version of its own.
struct Told {
  Event event;
};
// Nothing: the engine is asked, for what time alone may change.
struct CycleDue {};

using Happening = std::variant<NodeComes, NodeGoes, NodeCordoned, QueueChanges, QueueStateChanges,
                               QueueGoes, JobChanges, JobGoes, TaskFails, Refused, ForeignPodRuns,
                               ForeignPodEnds, PoliciesChange, Told, CycleDue>;

struct DatedHappening {
  TimeMs at = 0;
  Happening what;
};

// What becomes of a job that did not start in the cycle of its arrival.
enum class Unstarted : std::uint8_t { kWaits, kDropped };

// A workload of the openb trace: with an order its pods are loaded, else read row by row.
struct OpenbWorkload {
  std::string path;                       // of the pod list
  std::shared_ptr<const OpenbPods> pods;  // null without an order
  std::shared_ptr<const OpenbOrder> order;
};

// A delay by the size of the job: of steps that grow, the first that reaches its GPUs.
struct DelayStep {
  std::int64_t most_gpus = 0;
  DurationMs delay = 0;
};

// What becomes of a task's work when it is evicted, fails or loses its node.
struct Restarts {
  // Its work is saved each time that it has done so much; 0: at any time. None: never.
  std::optional<DurationMs> checkpoints;
  // From a start until it works, for the first time and after that; none of a size given: 0.
  std::vector<DelayStep> start_delay, restart_delay;
};

// Jobs that are told apart: those of at least so many GPUs and so many tasks.
struct LargeGangs {
  std::int64_t gpus = 0, tasks = 0;
};

struct Outputs {
  std::string directory;  // empty: no files
  bool tasks = true;
  bool jobs = true;
  bool timeline = true;  // of the cluster and of queues
  bool curve = true;
  std::optional<LargeGangs> large;
};

struct Simulation {
  std::string file;
  std::string name;                         // a title; may be empty
  std::vector<std::string> extended_kinds;  // names from kFirstExtendedKind on
  std::vector<NodeSpec> nodes;
  std::vector<DomainSpec> domains;
  std::optional<Bandwidths> bandwidths;  // none: nothing is said of them
  std::vector<QueueSpec> queues;         // "default" among them
  Memory past;                           // what queues and users have used before; may be empty
  std::vector<Arrival> jobs;             // by time, then as in the file
  std::optional<OpenbWorkload> openb;    // instead of jobs
  std::optional<TraceWorkload> trace;    // instead of both
  bool queues_of_jobs = false;           // a queue that is not there comes with its first job
  Dequeue dequeue = Dequeue::kTraverse;  // of such queues
  Unstarted unstarted = Unstarted::kWaits;
  std::vector<DatedHappening> events;  // by time, then as in the file
  EngineConfig config;
  std::vector<ExpectedPod> shapes;  // the usual pods of this workload, most frequent first
  // It goes on from there: what is in `nodes` and `queues` the engine knows, and of the rest but
  // `jobs` and `events` it is told nothing.
  std::optional<Handover> handover;
  TimeMs origin = 0;              // the engine's time at time 0
  std::optional<TimeMs> until;    // nothing later happens
  DurationMs eviction_grace = 0;  // from an eviction until the task is gone
  Restarts restarts;
  FailureRates failures;
  Outputs outputs;
  std::vector<std::string> inputs;  // the other files that it is read from; some may not be there
  Yaml::Ptr document;               // the whole file, for keys of the caller's own
};

// The jobs, listed or from a trace. Those listed are moved out of the simulation.
absl::StatusOr<std::unique_ptr<Arrivals>> TakeArrivals(Simulation& simulation);

}  // namespace tephra
