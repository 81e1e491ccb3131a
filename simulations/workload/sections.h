// The readers of the sections of a simulation file, one .cc file each. They share what one section
// must know of another: the names of resource kinds, and which models and names there are.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "simulations/workload/simulation.h"
#include "text/fields.h"
#include "topology/all_reduce.h"
#include "topology/resources.h"

namespace tephra {

// What there is before an event, where that is known: then the event changes only what it gives.
struct Before {
  EngineConfig config;
  std::map<std::string, QueueSpec> queues;  // by name, as jobs
  std::map<std::string, JobSpec> jobs;
};

struct Sections {
  const Before* before = nullptr;
  std::string file;  // in whose folder relative paths start
  ResourceKinds kinds;
  std::set<std::string> models;               // of all devices of the cluster, later nodes included
  std::set<std::string> nodes, queues, jobs;  // names so far
  // gpu_models of jobs and what queues count by model, checked when all nodes are known.
  struct ModelUse {
    int line;
    std::string path, model;
    Diagnosis* wrong;
  };
  std::vector<ModelUse> model_uses;
  std::int64_t tasks = 0;  // of all jobs so far
  Resources capacity;      // of all nodes so far

  // No file may describe more: a slip of the hand should not take all memory.
  static constexpr std::int64_t kMostNodes = 1'000'000, kMostTasks = 10'000'000;

  Dequeue dequeue = Dequeue::kTraverse;  // of queues that do not say
  std::vector<std::string> inputs;       // other files that are read, as Input has named them

  // The path of a file to be read, as the simulation file means it.
  std::string Input(const std::string& path);

  // A fault where the name was there before.
  static void Once(std::set<std::string>& names, const std::string& name, int line,
                   const std::string& path, Diagnosis& wrong);
  // A fault for each model asked for that no node has.
  void CheckModels() const;
  // Reads cpu, memory and `resources` of a mapping into the vector. Kinds that Tephra derives are
  // refused in `resources`, with the field that stands for them.
  void ReadAmounts(Fields& fields, Resources& out);
};

// Everything but a trace's node list. `domains`: those that a list of hosts tells.
void ReadCluster(Sections& sections, Fields& fields, std::vector<NodeSpec>& nodes,
                 std::vector<DomainSpec>& domains);
// The path as the simulation file means it.
std::string Resolved(const std::string& file, const std::string& path);
// cluster.domains: each with its nodes and the domains that are part of it.
void ReadDomains(Sections& sections, Fields& fields, std::vector<DomainSpec>& domains);
// cluster.domain_labels: domains told by labels of these nodes, instead of cluster.domains.
void ReadDomainLabels(Fields& fields, const std::vector<NodeSpec>& nodes,
                      std::vector<DomainSpec>& domains);
// cluster.bandwidth: of the links in a node and out of it, its domain, the domain around that ...
void ReadBandwidth(Fields& fields, std::optional<Bandwidths>& bandwidths);
// cluster.nodes as a list of hosts in a file: their names and, into `domains`, where they are.
std::vector<std::string> ReadHostList(Sections& sections, const Item& item,
                                      std::vector<DomainSpec>& domains);
// One entry of cluster.nodes: one node or `count` of them.
void ReadNodes(Sections& sections, const Item& item, bool known_may_come_again,
               std::vector<NodeSpec>& nodes);

// `past` is what they and their users have used before.
void ReadQueues(Sections& sections, const Item& item, std::vector<QueueSpec>& queues, Memory& past);
QueueSpec ReadQueue(Sections& sections, const Item& item);
QueueSpec ReadQueue(Sections& sections, Fields& fields);
// Each parent exists, and no chain of parents comes back to where it began.
void CheckParents(const std::vector<QueueSpec>& queues, const std::vector<Item>& items);

// One entry of jobs: one arrival or `copies` of them.
void ReadJobs(Sections& sections, const Item& item, std::vector<Arrival>& jobs);
// The job alone, for events; `at`, `run` and `copies` are unknown keys there.
JobSpec ReadJobAlone(Sections& sections, const Item& item);
// The fields of a pod in the mapping of its role, its job or by itself.
PodTemplate ReadPod(Sections& sections, Fields& fields);

// workload.trace, and workload.generate.
TraceWorkload ReadTraceWorkload(const Sections& sections, const Item& item);
TraceWorkload ReadGenerator(const Item& item);

// restarts and failures.
Restarts ReadRestarts(const Item& item);
FailureRates ReadFailures(const Item& item);

LargeGangs ReadLargeGangs(const Item& item);

struct PolicySettings {
  EngineConfig config;
  std::optional<Dequeue> dequeue;       // of queues that do not say
  bool expected_from_workload = false;  // expected_pods is to be worked out
};
// What is not given stays as in `config`.
PolicySettings ReadPolicies(const Item& item, EngineConfig config = {});

DatedHappening ReadEvent(Sections& sections, const Item& item);
// What happens, of an event, `but` for what the caller reads; none where that is not exactly one
// thing.
std::optional<Happening> ReadHappening(Sections& sections, Fields& fields,
                                       const std::set<std::string>& but = {});
// What an event names exists in the file, and no change of queues makes a cycle. The events are in
// the order of their times. `any_job`: jobs come from a trace, their names are not known.
void CheckEvents(const Sections& sections, const std::vector<QueueSpec>& queues, bool any_job,
                 const std::vector<DatedHappening>& events, const std::vector<Item>& items);

}  // namespace tephra
