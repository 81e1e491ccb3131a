// Sections: the readers of the sections of a simulation file, one .cc file each. They share the
// names of resource kinds, GPU models, nodes, queues and jobs.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/fields.h"
#include "simulations/workload/simulation.h"
#include "topology/all_reduce.h"
#include "topology/resources.h"

namespace tephra {

// The state before an event, if it is known. The event then changes only the fields that it has.
struct Before {
  EngineConfig config;
  std::map<std::string, QueueSpec> queues;  // by name; so are the jobs
  std::map<std::string, JobSpec> jobs;
};

struct Sections {
  const Before* before = nullptr;
  std::string file;  // relative paths start in its folder
  ResourceKinds kinds;
  std::set<std::string> models;               // of all devices, including nodes added later
  std::set<std::string> nodes, queues, jobs;  // names so far
  // Uses of models by jobs and queues, checked when all nodes are known.
  struct ModelUse {
    int line;
    std::string path, model;
    Diagnosis* wrong;
  };
  std::vector<ModelUse> model_uses;
  std::int64_t tasks = 0;  // of all jobs so far
  Resources capacity;      // of all nodes so far

  // Limits of one file, so that a typing error cannot use all memory.
  static constexpr std::int64_t kMostNodes = 1'000'000, kMostTasks = 10'000'000;
  static constexpr std::int64_t kMostBytes = std::int64_t{8} << 30;
  std::int64_t bytes = 0;  // estimated memory of all nodes and jobs so far

  // Adds `count` objects of `bytes_each` plus the text of `item` to the estimate. False, with a
  // fault, if that exceeds kMostBytes. Call it before the objects are made.
  bool Reserve(const Item& item, std::int64_t count, std::int64_t bytes_each);

  Dequeue dequeue = Dequeue::kTraverse;  // the default of queues
  std::vector<std::string> inputs;       // other files that are read

  // Resolves the path of a file to read, relative to the simulation file.
  std::string Input(const std::string& path);

  // A fault if the name exists already, is too long or has control characters.
  static void Once(std::set<std::string>& names, const std::string& name, int line,
                   const std::string& path, Diagnosis& wrong);
  // A fault for each used model that no node has.
  void CheckModels() const;
  // Reads cpu, memory and `resources` of a mapping into the vector. Kinds that Tephra derives are
  // refused in `resources`, with the field that stands for them.
  void ReadAmounts(Fields& fields, Resources& out);
};

// Reads `cluster.nodes` and its related fields. `domains`: the domains of a host list.
void ReadCluster(Sections& sections, Fields& fields, std::vector<NodeSpec>& nodes,
                 std::vector<DomainSpec>& domains);
// The path relative to the simulation file.
std::string Resolved(const std::string& file, const std::string& path);
// cluster.domains: each with its nodes and child domains.
void ReadDomains(Sections& sections, Fields& fields, std::vector<DomainSpec>& domains);
// cluster.domain_labels: domains from labels of the nodes, instead of cluster.domains.
void ReadDomainLabels(Fields& fields, const std::vector<NodeSpec>& nodes,
                      std::vector<DomainSpec>& domains);
// cluster.bandwidth: of the links within a node, out of a node, out of its domain and so on.
void ReadBandwidth(Fields& fields, std::optional<Bandwidths>& bandwidths);
// cluster.nodes as a host list in a file: returns the names and adds their domains to `domains`.
std::vector<std::string> ReadHostList(Sections& sections, const Item& item,
                                      std::vector<DomainSpec>& domains);
// One entry of cluster.nodes: one node or `count` of them.
void ReadNodes(Sections& sections, const Item& item, bool known_may_come_again,
               std::vector<NodeSpec>& nodes);

// `past`: the past usage of queues and users.
void ReadQueues(Sections& sections, const Item& item, std::vector<QueueSpec>& queues, Memory& past);
QueueSpec ReadQueue(Sections& sections, const Item& item);
QueueSpec ReadQueue(Sections& sections, Fields& fields);
// Checks that each parent exists, that there is no cycle, and that the tree is not too deep.
void CheckParents(const std::vector<QueueSpec>& queues, const std::vector<Item>& items);

// One entry of jobs: one arrival or `copies` of them.
void ReadJobs(Sections& sections, const Item& item, std::vector<Arrival>& jobs);
// A job of an event, without the keys `at`, `runtime` and `copies`.
JobSpec ReadJobAlone(Sections& sections, const Item& item);
// The pod fields of a role, of a job, or of a pod without a job.
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
  std::optional<Dequeue> dequeue;       // the default of queues
  bool expected_from_workload = false;  // expected_pods is computed from the workload
};
// Missing fields stay as in `config`.
PolicySettings ReadPolicies(const Item& item, EngineConfig config = {});

DatedHappening ReadEvent(Sections& sections, const Item& item);
// Reads the one event of the mapping, except the kinds in `but`; none if there is not exactly one.
std::optional<Happening> ReadHappening(Sections& sections, Fields& fields,
                                       const std::set<std::string>& but = {});
// Checks that the objects named by events exist and that changes of queues make no cycle. The
// events are sorted by time. `any_job`: the jobs are those of a trace, so their names are unknown.
void CheckEvents(const Sections& sections, const std::vector<QueueSpec>& queues, bool any_job,
                 const std::vector<DatedHappening>& events, const std::vector<Item>& items);

}  // namespace tephra
