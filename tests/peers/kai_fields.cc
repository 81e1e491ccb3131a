#include "tests/peers/kai_fields.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>

namespace tephra {
namespace {

using Json = nlohmann::json;
using Names = std::initializer_list<std::string_view>;

bool Among(Names names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

class Reader {
 public:
  std::string Run(const Json& one) {
    for (const auto& [field, value] : one.items()) {
      if (field.starts_with("actual")) continue;
      Known("the case", field, value,
            {"id", "name", "kind", "source_test", "source", "index", "actions",
             "predicates_plugin", "features", "nodes", "queues", "departments", "jobs", "placement",
             "node_ties", "expected", "assertions", "matches", "kai_failed", "max_calls", "rounds",
             "topologies", "scheduler_conf"});
    }
    One("the case", "kind", one, {"unit", "integration"});
    for (const Json& action : one.at("actions")) {
      Value("the case", "actions", action,
            {"allocate", "consolidation", "reclaim", "preempt", "stalegangeviction"});
    }
    One("the case", "nodes", one.at("placement"), {"binpack", "spread", "none"});
    One("the case", "gpus", one.at("placement"), {"pack", "spread", "none"});
    for (const Json& node : one.at("nodes")) Node(node);
    for (const char* queues : {"departments", "queues"}) {
      for (const Json& queue : one.at(queues)) Queue(queue);
    }
    for (const Json& job : one.at("jobs")) Job(job);
    return unread_;
  }

 private:
  void Say(const std::string& what) {
    if (unread_.empty()) unread_ = what;
  }

  static bool Empty(const Json& value) {
    return value.is_null() || value == false || ((value.is_array() || value.is_object()) && value.empty());
  }

  void Known(const std::string& of, const std::string& field, const Json& value, Names names) {
    if (!Among(names, field) && !Empty(value)) {
      Say("the translation does not read the field " + field + " of " + of);
    }
  }
  void Fields(const std::string& of, const Json& object, Names names) {
    for (const auto& [field, value] : object.items()) Known(of, field, value, names);
  }
  void Value(const std::string& of, const std::string& field, const Json& value, Names values) {
    if (!value.is_string() || !Among(values, value.get<std::string>())) {
      Say("the translation does not know the value " + value.dump() + " of the field " + field +
          " of " + of);
    }
  }
  void One(const std::string& of, const char* field, const Json& object, Names values) {
    Value(of, field, object.at(field), values);
  }

  void Node(const Json& node) {
    const std::string of = "a node";
    Fields(of, node,
           {"name", "allocatable", "gpus", "gpu_memory_mib", "gpu_name", "labels", "max_task_num",
            "mig", "mig_strategy", "numa"});
    for (const auto& [resource, amount] : node.at("allocatable").items()) {
      if (resource.starts_with("nvidia.com/mig-")) continue;
      Known(of + ", allocatable", resource, amount, {"cpu_milli", "memory_bytes", "gpu", "pods"});
    }
  }

  void Queue(const Json& queue) {
    const std::string of = "a queue";
    Fields(of, queue,
           {"name", "parent", "priority", "gpu", "cpu_milli", "memory_mb", "creation_order",
            "default"});
    for (const char* kind : {"gpu", "cpu_milli", "memory_mb"}) {
      Fields(of + ", " + kind, queue.at(kind), {"deserved", "limit", "weight"});
    }
  }

  void Job(const Json& job) {
    Fields("a job", job,
           {"name", "queue", "priority", "min_available", "age_min", "preemptible", "tree", "tasks",
            "delete_when_evicted", "qos", "preemption_delay_s", "stale_for_s",
            "staleness_grace_s"});
    Part(job.at("tree"));
    for (const Json& task : job.at("tasks")) Task(task);
  }

  void Part(const Json& part) {
    Fields("a sub-group", part,
           {"name", "pod_sets", "sub_groups", "min_available", "min_sub_groups",
            "topology_constraint"});
    if (const auto near = part.find("topology_constraint"); near != part.end() && near->is_object()) {
      Fields("a sub-group, topology_constraint", *near,
             {"topology", "required_level", "preferred_level"});
    }
    for (const char* below : {"pod_sets", "sub_groups"}) {
      const auto parts = part.find(below);
      if (parts == part.end() || parts->is_null()) continue;
      for (const Json& inner : *parts) Part(inner);
    }
  }

  void Task(const Json& task) {
    const std::string of = "a task";
    Fields(of, task,
           {"id", "state", "node", "pod_set", "priority", "gpu_groups", "allowed_nodes", "request",
            "legacy_mig", "annotations", "pod_affinity_labels", "pod_affinity_topology_key",
            "pod_anti_affinity_topology_key"});
    One(of, "state", task,
        {"Pending", "Gated", "Allocated", "Pipelined", "Binding", "Bound", "Running", "Releasing",
         "StuckInReleasing", "Succeeded", "Failed"});
    if (const auto notes = task.find("annotations"); notes != task.end() && notes->is_object()) {
      Fields(of + ", annotations", *notes, {"kai.scheduler/numa-placement-observed"});
    }
    const Json& request = task.at("request");
    Fields(of + ", request", request,
           {"kind", "gpus", "fraction", "devices", "gpu_memory_mib", "mig", "cpu_milli",
            "memory_bytes"});
    One(of + ", request", "kind", request, {"whole", "fraction", "gpu_memory", "mig", "none"});
  }

  std::string unread_;
};

}  // namespace

std::string UnreadField(const nlohmann::json& one) { return Reader().Run(one); }

}  // namespace tephra
