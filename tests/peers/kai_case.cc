#include "tests/peers/kai_case.h"

#include <algorithm>
#include <set>
#include <utility>

#include <nlohmann/json.hpp>

#include "tests/peers/kai_affinity.h"
#include "tests/peers/kai_fields.h"
#include "tests/peers/kai_gang.h"
#include "tests/peers/kai_hardware.h"

namespace tephra {
namespace {

using Json = nlohmann::json;

template <class T>
T Get(const Json& from, const char* key, T otherwise) {
  const auto it = from.find(key);
  return it == from.end() || it->is_null() ? otherwise : it->get<T>();
}

KaiQuota QuotaOf(const Json& json) {
  return {json.at("deserved").get<double>(), json.at("limit").get<double>(),
          json.at("weight").get<double>()};
}

KaiQueue QueueOf(const Json& json) {
  return {json.at("name").get<std::string>(),     Get<std::string>(json, "parent", ""),
          Get<std::int32_t>(json, "priority", 0), QuotaOf(json.at("gpu")),
          QuotaOf(json.at("cpu_milli")),          QuotaOf(json.at("memory_mb"))};
}

// "1g.10gb+me" of "nvidia.com/mig-1g.10gb.me".
std::string MigProfileOf(const std::string& resource) {
  const std::string prefix = "nvidia.com/mig-", media = ".me";
  std::string profile = resource.substr(resource.starts_with(prefix) ? prefix.size() : 0);
  if (const auto at = profile.find(media); at != std::string::npos) profile[at] = '+';
  return profile;
}

std::map<std::string, int> MigOf(const Json& json) {
  std::map<std::string, int> instances;
  const Json mig = Get<Json>(json, "mig", Json::object());
  for (const auto& [resource, count] : mig.items()) {
    if (count.get<int>() > 0) instances[MigProfileOf(resource)] = count.get<int>();
  }
  return instances;
}

KaiNode NodeOf(const Json& json) {
  KaiNode node;
  node.name = json.at("name").get<std::string>();
  const Json& allocatable = json.at("allocatable");
  node.cpu_milli = allocatable.at("cpu_milli").get<std::int64_t>();
  node.memory_bytes = allocatable.at("memory_bytes").get<std::int64_t>();
  node.pods = allocatable.at("pods").get<std::int64_t>();
  node.pods = std::min(node.pods, Get<std::int64_t>(json, "max_task_num", node.pods));
  // A node that has its GPUs partitioned (mixed) has them, and gives out none.
  node.gpus = Get<int>(allocatable, "gpu", 0);
  node.gpu_memory_mib = json.at("gpu_memory_mib").get<std::int32_t>();
  node.labels = Get<std::map<std::string, std::string>>(json, "labels", {});
  node.gpu_name = Get<std::string>(json, "gpu_name", "");
  node.mig = MigOf(json);
  return node;
}

KaiTask TaskOf(const Json& json) {
  KaiTask task;
  task.id = json.at("id").get<std::string>();
  task.state = json.at("state").get<std::string>();
  task.node = Get<std::string>(json, "node", "");
  task.set = Get<std::string>(json, "pod_set", "default");
  task.priority = Get<std::int32_t>(json, "priority", 0);
  task.gpu_groups = Get<std::vector<std::string>>(json, "gpu_groups", {});
  task.affinity_labels =
      Get<std::map<std::string, std::string>>(json, "pod_affinity_labels", {});
  task.affinity_key = Get<std::string>(json, "pod_affinity_topology_key", "");
  task.anti_affinity_key = Get<std::string>(json, "pod_anti_affinity_topology_key", "");
  task.node_types = Get<std::vector<std::string>>(json, "allowed_nodes", {});
  const Json& request = json.at("request");
  task.kind = request.at("kind").get<std::string>();
  task.gpus =
      task.kind == "whole" ? request.at("gpus").get<double>() : Get<double>(request, "fraction", 0);
  task.devices = Get<int>(request, "devices", 1);
  task.gpu_memory_mib = Get<std::int32_t>(request, "gpu_memory_mib", 0);
  task.mig = MigOf(request);
  task.older_mig = Get<bool>(json, "legacy_mig", false);
  task.cpu_milli = request.at("cpu_milli").get<std::int64_t>();
  task.memory_bytes = request.at("memory_bytes").get<std::int64_t>();
  return task;
}

// Without a number of its own a sub-group needs all of its parts.
KaiPart PartOf(const Json& json) {
  KaiPart part;
  part.name = json.at("name").get<std::string>();
  for (const char* below : {"pod_sets", "sub_groups"}) {
    for (const Json& inner : Get<Json>(json, below, Json::array())) {
      part.parts.push_back(PartOf(inner));
    }
  }
  const auto all = static_cast<std::int32_t>(part.parts.size());
  part.least = Get<std::int32_t>(json, "min_available", Get(json, "min_sub_groups", all));
  const Json near = Get<Json>(json, "topology_constraint", Json::object());
  part.topology = Get<std::string>(near, "topology", "");
  part.required = Get<std::string>(near, "required_level", "");
  part.preferred = Get<std::string>(near, "preferred_level", "");
  return part;
}

KaiJob JobOf(const Json& json) {
  KaiJob job;
  job.name = json.at("name").get<std::string>();
  job.queue = json.at("queue").get<std::string>();
  job.priority = json.at("priority").get<std::int32_t>();
  job.min_available = json.at("min_available").get<std::int32_t>();
  job.age_min = json.at("age_min").get<std::int64_t>();
  job.preemptible = json.at("preemptible").get<bool>();
  job.preemption_delay_s = Get<std::int64_t>(json, "preemption_delay_s", 0);
  job.stale_for_s = Get<std::int64_t>(json, "stale_for_s", 0);
  job.staleness_grace_s = Get<std::int64_t>(json, "staleness_grace_s", job.staleness_grace_s);
  job.stays_releasing = Get<bool>(json, "delete_when_evicted", false);
  job.tree = PartOf(json.at("tree"));
  for (const Json& task : json.at("tasks")) job.tasks.push_back(TaskOf(task));
  return job;
}

void AddTopologies(const KaiPart& part, std::set<std::string>& names) {
  if (!part.topology.empty()) names.insert(part.topology);
  for (const KaiPart& inner : part.parts) AddTopologies(inner, names);
}

std::set<std::string> TopologiesOf(const KaiCase& one) {
  std::set<std::string> names;
  for (const KaiJob& job : one.jobs) AddTopologies(job.tree, names);
  return names;
}

bool AnyPending(const KaiJob& job) {
  return std::any_of(job.tasks.begin(), job.tasks.end(),
                     [](const KaiTask& task) { return task.state == "Pending"; });
}

std::string UnknownProfile(const std::string& profile) {
  return "MIG profile " + profile + ": no GPU model that the engine knows has it";
}

// What the case asks for that the engine has no word for.
std::string Excluded(const KaiCase& one, const Json& json) {
  if (std::string unread = UnreadField(json); !unread.empty()) return unread;
  for (const Json& node : json.at("nodes")) {
    if (node.contains("numa")) return "NUMA zones are the kubelet's: the engine does not know them";
  }
  for (const KaiNode& node : one.nodes) {
    for (const auto& [profile, count] : node.mig) {
      if (KaiMigModel(node.gpu_name, profile) == nullptr) return UnknownProfile(profile);
    }
  }
  for (const KaiJob& job : one.jobs) {
    for (const KaiTask& task : job.tasks) {
      for (const auto& [profile, count] : task.mig) {
        if (KaiMigModel("", profile) == nullptr) return UnknownProfile(profile);
      }
    }
  }
  if (std::string excluded = KaiAffinityExcluded(one); !excluded.empty()) return excluded;
  if (TopologiesOf(one).size() > 1) {
    return "several topologies of the same nodes: the engine has one forest of domains";
  }
  std::map<std::string, std::int64_t> delays;
  for (const KaiJob& job : one.jobs) {
    if (!AnyPending(job)) continue;
    const auto [known, fresh] = delays.emplace(job.queue, job.preemption_delay_s);
    if (known->second != job.preemption_delay_s) {
      return "Pending jobs of one queue with different preemption delays: here the queue has the delay";
    }
  }
  for (const KaiJob& job : one.jobs) {
    const KaiGang gang = GangOf(one, job);
    if (!gang.excluded.empty()) return gang.excluded;
  }
  return "";
}

// KAI gives no instance of a node beside a pod that asks for MIG by the older annotation, because the
// annotation does not say what the pod holds. So the pod holds all of them. A pending one asks for an
// instance that no node has (KaiMigDeviceModel of no profile).
void NameOlderMig(KaiCase& one) {
  for (KaiJob& job : one.jobs) {
    for (KaiTask& task : job.tasks) {
      if (!task.older_mig) continue;
      task.kind = "mig";
      for (const KaiNode& node : one.nodes) {
        if (task.node == node.name) task.mig = node.mig;
        if (task.node.empty() && !node.mig.empty()) task.mig = {{node.mig.begin()->first, 1}};
      }
    }
  }
}

KaiCase CaseOf(const std::string& file, const Json& json) {
  KaiCase one;
  one.file = file;
  one.id = json.at("id").get<std::string>();
  one.name = json.at("name").get<std::string>();
  one.kind = json.at("kind").get<std::string>();
  one.actions = json.at("actions").get<std::vector<std::string>>();
  if (json.contains("rounds")) {
    one.until_match = json["rounds"].at("until_match").get<int>();
    one.after_match = json["rounds"].at("after_match").get<int>();
  }
  const Json calls = Get<Json>(json, "max_calls", Json::object());
  one.binds = Get(calls, "binds", kKaiAnyNumber);
  one.evictions = Get(calls, "evictions", kKaiAnyNumber);
  one.pipelines = Get(calls, "pipelines", kKaiAnyNumber);
  one.predicates = json.at("predicates_plugin").get<bool>();
  one.node_strategy = json.at("placement").at("nodes").get<std::string>();
  one.gpu_strategy = json.at("placement").at("gpus").get<std::string>();
  for (const Json& node : json.at("nodes")) one.nodes.push_back(NodeOf(node));
  one.node_ties = json.at("node_ties").get<std::vector<std::vector<std::string>>>();
  for (const Json& queue : json.at("departments")) one.departments.push_back(QueueOf(queue));
  for (const Json& queue : json.at("queues")) one.queues.push_back(QueueOf(queue));
  for (const Json& job : json.at("jobs")) one.jobs.push_back(JobOf(job));
  NameOlderMig(one);
  for (const auto& [task, outcome] : json.at("expected").at("by_task").items()) {
    one.expected[task] = {outcome.at("status").get<std::string>(),
                          Get<std::string>(outcome, "node", "")};
  }
  // The one that jobs name; if none is named, domains have no effect.
  const std::set<std::string> named = TopologiesOf(one);
  for (const Json& topology : Get<Json>(json, "topologies", Json::array())) {
    const std::string name = topology.at("name").get<std::string>();
    if (!named.empty() && !named.contains(name)) continue;
    one.topology = name;
    one.levels = topology.at("levels").get<std::vector<std::string>>();
  }
  one.excluded = Excluded(one, json);
  for (const KaiJob& job : one.jobs) {
    const std::string key = KaiSharedKey(one, job);
    if (!key.empty() && one.excluded.empty()) one.levels = {key};
  }
  return one;
}

}  // namespace

absl::StatusOr<std::vector<KaiCase>> ReadKaiCases(const std::string& file,
                                                  const std::string& text) {
  try {
    std::vector<KaiCase> cases;
    const Json json = Json::parse(text);
    for (const Json& one : json.at("cases")) cases.push_back(CaseOf(file, one));
    return cases;
  } catch (const Json::exception& error) {
    return absl::InvalidArgumentError(file + ": " + error.what());
  }
}

}  // namespace tephra
