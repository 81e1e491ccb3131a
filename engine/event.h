// Event: one fact that enters the engine. Upserts are idempotent and keyed by uid (nodes and
// queues by name); one with a version at or below the known one changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "engine/config.h"
#include "engine/memory.h"
#include "queue/job.h"
#include "queue/queue_tree.h"
#include "topology/domain.h"

namespace tephra {

// The names of the extended resource kinds, in the order of their numbers from
// kFirstExtendedKind on. The list only grows; it comes before any amount that uses it.
struct KindsDeclared {
  std::vector<std::string> names;
};

struct NodeUpserted {
  NodeSpec node;
  std::uint64_t version = 0;
};
struct NodeRemoved {
  std::string name;
};

struct QueueUpserted {
  QueueSpec queue;
  std::uint64_t version = 0;
};
struct QueueRemoved {
  std::string name;
};

struct JobUpserted {
  JobSpec job;
  std::uint64_t version = 0;
};
struct JobRemoved {
  std::string uid;
};

enum class TaskPhase : std::uint8_t {
  kPending,
  kAssumed,    // placed by a plan that no fact has confirmed yet
  kRunning,    // bound to a node
  kReleasing,  // on its way out, its room still taken
  kSucceeded,
  kFailed,    // ended, and nothing asks for it until it is pending again
  kAbsent,    // its job's pods exist and none of them is this task: asks for nothing
  kReserved,  // not a task: the reserved room of a task, until it starts there (Reservation)
};

// A pod as the cluster sees it. A job's task is named by job, role and index; a pod that no job
// of ours owns (job empty) by its uid alone, and says what it holds itself.
struct TaskFact {
  std::string uid;
  std::string job;
  std::string role;
  std::int32_t index = 0;
  // kAssumed, kAbsent and kReserved are the engine's own words.
  TaskPhase phase = TaskPhase::kPending;
  std::string node;  // set from kRunning on
  // Empty for a running task of a class that needs devices: the lowest free ones are assumed.
  Slices slices;
  std::optional<PodTemplate> pod;  // set for foreign pods only
  // Names of the disruption budgets that evicting it would draw on, in order; they need not be
  // known.
  std::vector<std::string> disruption_budgets;
  // Where it runs: since when, and when it last saved what it has done. 0: not known.
  TimeMs started = 0;
  TimeMs checkpointed = 0;
  // False: it is never evicted for other jobs, nor is its gang broken.
  bool preemptible = true;
  std::optional<std::int32_t> priority;  // its own, where that is not its job's
  TimeMs terminates_by = 0;  // kReleasing: when its grace period ends; 0: not known
};
struct TaskUpserted {
  TaskFact task;
  std::uint64_t version = 0;
};
// The pod object is gone. A job's task is wanted again as long as its job asks for it.
struct TaskRemoved {
  std::string uid;
};

// A decision was not carried out because `node` would not take tasks of `role`: they stay off that
// node until node or role changes.
//
// What is given up is what the decision's plan assumed for the job and no fact has confirmed,
// for later parts of a plan rest on the earlier ones. Where the decision was about elastic members
// the minimum placed before them stays: its binding may be under way. What earlier plans assumed
// stays in any case.
struct PlacementRefused {
  std::string job;
  std::string role;
  std::string node;
  std::string why;
  // The decision was about elastic members. Needed only where the plan put both parts of the job
  // on the node; else the node tells.
  bool elastic = false;
};

// A decision was not carried out because it no longer suits what is there (a pod that is bound or
// gone): what the job's latest plan assumed for it is given up, as above, and it asks again. Its
// reserved room is free again, and its victims run on.
struct PlanStale {
  std::string job;
  std::string why;
  bool elastic = false;
};

// One placement was handed over and its binding failed. The task asks again if it is still assumed
// there; one that a fact says runs is left alone, for facts outrank outcomes. Its class stays off
// the node until one of them changes; `node` empty: the failure says nothing about the node.
//
// A gang that this leaves below its minimum is completed, or unwound where it cannot be.
struct BindFailed {
  std::string job;
  std::string role;
  std::int32_t index = 0;
  std::string node;
  std::string why;
};

// Nodes, known or not yet, that pods whose constraints name the mask may not use.
struct MaskUpserted {
  std::string name;
  std::vector<std::string> excluded_nodes;
  std::uint64_t version = 0;
};
// Pods that name it wait from then on.
struct MaskRemoved {
  std::string name;
};

// Which nodes are near each other.
struct DomainUpserted {
  DomainSpec domain;
  std::uint64_t version = 0;
};
struct DomainRemoved {
  std::string name;
};

// How many more of the pods that name it may be evicted now: a PodDisruptionBudget, by
// "namespace/name".
struct DisruptionBudgetUpserted {
  std::string name;
  std::int32_t allowed = 0;
  std::uint64_t version = 0;
};
struct DisruptionBudgetRemoved {
  std::string name;
};

struct ConfigChanged {
  EngineConfig config;
};

// What an earlier engine remembered. Taken while past usage counts, where it is newer than what is
// known; queues and users that it does not name have used nothing. Best applied before the first
// cycle: what runs by then counts from its start, but not from before the memory.
struct MemoryRestored {
  Memory memory;
};

using Event =
    std::variant<KindsDeclared, NodeUpserted, NodeRemoved, QueueUpserted, QueueRemoved, JobUpserted,
                 JobRemoved, TaskUpserted, TaskRemoved, PlacementRefused, ConfigChanged,
                 MaskUpserted, MaskRemoved, PlanStale, BindFailed, DomainUpserted, DomainRemoved,
                 DisruptionBudgetUpserted, DisruptionBudgetRemoved, MemoryRestored>;

}  // namespace tephra
