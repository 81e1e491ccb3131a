// KaiCase: one case of KAI-Scheduler's own tests, as a plain value in KAI's words: a cluster, the
// actions to run, and what is to have become of each task.
//
// Source: github.com/kai-scheduler/KAI-Scheduler (Apache License 2.0), in the form of the data
// folder's kai-vectors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "topology/base/status.h"

namespace tephra {

struct KaiNode {
  std::string name;
  std::map<std::string, std::string> labels;
  std::int64_t cpu_milli = 0, memory_bytes = 0, pods = 0;
  int gpus = 0;                     // that are given out whole or in part
  std::int32_t gpu_memory_mib = 0;  // of each
  std::string gpu_name;             // empty: not said
  std::map<std::string, int> mig;   // instances that there are by profile
};

// What a queue deserves of one kind. -1: no bound.
struct KaiQuota {
  double deserved = -1, limit = -1, weight = 1;
};

// A queue, or a department above queues.
struct KaiQueue {
  std::string name, parent;
  std::int32_t priority = 0;
  KaiQuota gpu, cpu_milli, memory_mb;
};

struct KaiTask {
  std::string id;
  std::string state;  // at the beginning
  std::string node;   // empty: nowhere
  std::string set;    // its pod set
  std::string kind;   // of GPUs: whole, fraction, gpu_memory, mig, none
  double gpus = 0;    // whole ones, or the fraction of each device
  int devices = 1;    // asked for in part
  std::map<std::string, int> mig;  // instances by profile
  bool older_mig = false;          // asks for MIG by KAI's older annotation, which names no profile
  std::int32_t gpu_memory_mib = 0;
  std::int64_t cpu_milli = 0, memory_bytes = 0;
  std::int32_t priority = 0;
  std::vector<std::string> gpu_groups;     // tasks on a node that share one share a device
  std::vector<std::string> node_types;     // KaiTypeOf any of them; none given: all
  // Labels of the pod, which its terms select in domains of these labels of nodes; empty: no term.
  std::map<std::string, std::string> affinity_labels;
  std::string affinity_key, anti_affinity_key;
};

// A pod set or, where it has parts, a sub-group.
struct KaiPart {
  std::string name;
  std::int32_t least = 0;           // pods of a pod set; parts of a sub-group
  std::string topology;             // it is to be near in; empty: none
  std::string required, preferred;  // levels of it; empty: not that
  std::vector<KaiPart> parts;
};

struct KaiJob {
  std::string name, queue;
  std::int32_t priority = 0, min_available = 1;
  std::int64_t age_min = 0;
  bool preemptible = true;
  std::int64_t preemption_delay_s = 0;
  std::int64_t stale_for_s = 0;         // it has been below its minimum for so long
  std::int64_t staleness_grace_s = 60;  // KAI's default; below 0: without end
  bool stays_releasing = false;  // what is on its way out of it stays so while the case lasts
  KaiPart tree;
  std::vector<KaiTask> tasks;
};

struct KaiOutcome {
  std::string status, node;  // no node: any
};

constexpr int kKaiAnyNumber = 1 << 30;

struct KaiCase {
  std::string id, name, file, kind;
  std::vector<std::string> actions;
  int until_match = 1, after_match = 0;  // rounds, of integration cases
  // The most of each; binds are not counted in integration cases.
  int binds = 0, evictions = 0, pipelines = 0;
  bool predicates = true;  // labels and node names count
  std::string node_strategy, gpu_strategy;
  std::vector<KaiNode> nodes;
  std::vector<std::vector<std::string>> node_ties;
  std::string topology;
  std::vector<std::string> levels;  // labels of the topology, the widest first
  std::vector<KaiQueue> departments, queues;
  std::vector<KaiJob> jobs;
  std::map<std::string, KaiOutcome> expected;  // by task
  // Why it cannot be put to the engine; empty: it can.
  std::string excluded;
};

// All cases of one file of the data folder. INVALID_ARGUMENT says what is wrong with it.
absl::StatusOr<std::vector<KaiCase>> ReadKaiCases(const std::string& file, const std::string& text);

}  // namespace tephra
