// Event: one fact that enters the engine. Upserts are idempotent and keyed by uid (nodes and
// queues by name); one with a version at or below the known one changes nothing.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "plugins/framework/config.h"
#include "queue/job.h"
#include "queue/queue_tree.h"

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
  kFailed,  // ended, and nothing asks for it until it is pending again
};

// A pod as the cluster sees it. A job's task is named by job, role and index; a pod that no job
// of ours owns (job empty) by its uid alone, and says what it holds itself.
struct TaskFact {
  std::string uid;
  std::string job;
  std::string role;
  std::int32_t index = 0;
  TaskPhase phase = TaskPhase::kPending;  // kAssumed is the engine's own word and refused here
  std::string node;                       // set from kRunning on
  // Empty for a running task of a class that needs devices: the lowest free ones are assumed.
  Slices slices;
  std::optional<PodTemplate> pod;  // set for foreign pods only
};
struct TaskUpserted {
  TaskFact task;
  std::uint64_t version = 0;
};
// The pod object is gone. A job's task is wanted again as long as its job asks for it.
struct TaskRemoved {
  std::string uid;
};

// A plan for the gang was not carried out because `node` would not take tasks of `role`: they
// stay off that node until node or role changes, and what was assumed for the gang is taken back.
struct PlacementRefused {
  std::string job;
  std::string role;
  std::string node;
  std::string why;
};

struct ConfigChanged {
  EngineConfig config;
};

using Event =
    std::variant<KindsDeclared, NodeUpserted, NodeRemoved, QueueUpserted, QueueRemoved, JobUpserted,
                 JobRemoved, TaskUpserted, TaskRemoved, PlacementRefused, ConfigChanged>;

}  // namespace tephra
