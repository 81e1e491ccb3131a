// Simulation: the content of a simulation file (docs/reference/simulate.md): cluster, queues, jobs,
// policies, events and outputs.
//
// Plain values. Jobs are in the order of submission. Jobs of a trace are not part of it; they are
// read row by row (arrivals.h).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "base/yaml_tree.h"
#include "engine/event.h"
#include "simulations/arrivals.h"
#include "simulations/failures.h"
#include "simulations/handover.h"
#include "simulations/traces/openb.h"
#include "simulations/workload/trace_workload.h"
#include "topology/all_reduce.h"
#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

// An event of the simulated cluster, other than the submission of a job and the end of a task.
struct NodeComes {
  NodeSpec node;
};  // or changes, if the name is known
struct NodeGoes {
  std::string name;
};  // its tasks are lost and restart
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
  // True: `job` is complete. False: the submission time stays, and so does the run-time estimate if
  // `job` has none.
  bool whole = false;
};
struct JobGoes {
  std::string name;
};
// The task fails and its pod is created again; the task is pending from then on.
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
// Any other fact, with its own version.
struct OtherFact {
  Event event;
};
// Runs a scheduling cycle without another event, because time alone may change decisions.
struct CycleDue {};

using Happening = std::variant<NodeComes, NodeGoes, NodeCordoned, QueueChanges, QueueStateChanges,
                               QueueGoes, JobChanges, JobGoes, TaskFails, Refused, ForeignPodRuns,
                               ForeignPodEnds, PoliciesChange, OtherFact, CycleDue>;

struct DatedHappening {
  TimeMs at = 0;
  Happening what;
};

// What happens to a job that did not start in the cycle of its submission.
enum class Unstarted : std::uint8_t { kWaits, kDropped };

// A workload of the openb trace. With an order its pods are loaded; otherwise they are read row by
// row.
struct OpenbWorkload {
  std::string path;                       // the pod list
  std::shared_ptr<const OpenbPods> pods;  // null without an order
  std::shared_ptr<const OpenbOrder> order;
};

// A delay by the size of the job: the first step that is large enough for its GPUs.
struct DelayStep {
  std::int64_t most_gpus = 0;
  DurationMs delay = 0;
};

// What happens to the work of a task that is evicted, fails or loses its node.
struct Restarts {
  // The interval at which work is saved; 0: continuously; none: never.
  std::optional<DurationMs> checkpoints;
  // The delay from a start until the task works, for the first start and for later ones; default 0.
  std::vector<DelayStep> start_delay, restart_delay;
};

// Large jobs, which have statistics of their own: at least this many GPUs and tasks.
struct LargeGangs {
  std::int64_t gpus = 0, tasks = 0;
};

struct Outputs {
  std::string directory;  // empty: write no files
  bool tasks = true;
  bool jobs = true;
  bool timeline = true;  // of the cluster and of queues
  bool curve = true;
  std::optional<LargeGangs> large;
};

struct Simulation {
  std::string file;
  std::string name;                         // a title; may be empty
  std::vector<std::string> extended_kinds;  // names of the kinds from kFirstExtendedKind on
  std::vector<NodeSpec> nodes;
  std::vector<DomainSpec> domains;
  std::optional<Bandwidths> bandwidths;  // none: not configured
  std::vector<QueueSpec> queues;         // includes "default"
  Memory past;                           // past usage of queues and users; may be empty
  std::vector<Arrival> jobs;             // by time, then by position in the file
  std::optional<OpenbWorkload> openb;    // instead of jobs
  std::optional<TraceWorkload> trace;    // instead of both
  bool queues_of_jobs = false;           // a missing queue is created with its first job
  Dequeue dequeue = Dequeue::kTraverse;  // of these queues
  Unstarted unstarted = Unstarted::kWaits;
  std::vector<DatedHappening> events;  // by time, then by position in the file
  EngineConfig config;
  std::vector<ExpectedPod> shapes;  // the typical pods of this workload, most frequent first
  // Set if the simulation continues an earlier run. The engine then already knows `nodes` and
  // `queues`, and only `jobs` and `events` are new.
  std::optional<Handover> handover;
  TimeMs origin = 0;              // time 0 on the clock of the engine
  std::optional<TimeMs> until;    // the end of the simulation
  DurationMs eviction_grace = 0;  // from an eviction to the end of the task
  Restarts restarts;
  FailureRates failures;
  Outputs outputs;
  std::vector<std::string> inputs;  // the other input files; some may not exist
  Yaml::Ptr document;               // the whole file, for additional keys of the caller
};

// The jobs, listed or from a trace. Listed jobs are moved out of the simulation.
absl::StatusOr<std::unique_ptr<Arrivals>> TakeArrivals(Simulation& simulation);

}  // namespace tephra
