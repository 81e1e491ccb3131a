#include <algorithm>
#include <map>

#include "plugins/explain/relaxations.h"

namespace tephra {
namespace {

// Higher than any priority with its age boost.
constexpr std::int32_t kFirstOfAll = std::int32_t{1} << 30;
// A label without meaning: it changes the node, which clears rejections.
constexpr char kAnother[] = "tephra.sh/changed";

// The job as the State knows it.
JobSpec SpecOf(const Books& books, JobId id) {
  const JobRow& row = books.jobs[id.index()];
  JobSpec job;
  job.uid = row.uid;
  job.name = row.name;
  job.queue = row.queue_name;
  job.priority = row.priority;
  job.created = row.created;
  job.pods_exist = row.pods_exist;
  job.preemptible = row.preemptible;
  job.min_run_ms = row.min_run_ms;
  job.checkpoint_interval_ms = row.checkpoint_interval_ms;
  job.estimated_runtime_ms = row.estimated_runtime_ms;
  job.user = row.user;
  job.locality = row.locality;
  job.evicts = row.evicts;
  job.evictions = row.evictions;
  job.gang.min_member = row.min_member;
  for (const GroupRow& group : row.groups) job.gang.groups.push_back(group.spec);
  for (const RoleRow& role : row.roles) {
    if (role.tasks.empty()) continue;
    job.gang.roles.push_back({role.name, static_cast<std::int32_t>(role.tasks.size()), role.min,
                              books.classes[role.cls].pod,
                              role.group == kNoGroup ? "" : row.groups[role.group].spec.name});
  }
  return job;
}

// Of the group, or of the whole job.
Locality& LocalityOf(JobSpec& job, const std::string& group) {
  for (GroupSpec& one : job.gang.groups) {
    if (!group.empty() && one.name == group) return one.locality;
  }
  return job.locality;
}

void StartWith(const Change& change, GangSpec& gang) {
  const auto members = static_cast<std::int32_t>(change.amount);
  if (change.role.empty()) {
    gang.min_member = std::min(gang.min_member, members);
    if (gang.roles.size() == 1) gang.roles[0].min = std::min(gang.roles[0].min, members);
    return;
  }
  for (RoleSpec& role : gang.roles) {
    if (role.name == change.role) role.min = members;
  }
  const auto fewer = static_cast<std::int32_t>(change.now - change.amount);
  gang.min_member = std::max(gang.min_member - fewer, 1);
}

void AskFor(const Change& change, GangSpec& gang) {
  for (RoleSpec& role : gang.roles) {
    if (role.name != change.role) continue;
    for (ContainerSpec& container : role.pod.containers) {
      DeviceRequest& asked = container.devices;
      if (asked.count == 0) continue;
      if (asked.whole()) {
        asked.count = static_cast<std::int32_t>(change.amount / kWholeGpu);
      } else {
        asked.compute = static_cast<std::int32_t>(change.amount / asked.count);
      }
    }
  }
}

NodeSpec AnotherLike(const NodeSpec& node, std::int64_t number) {
  NodeSpec more = node;
  const std::string mark = "-more-" + std::to_string(number);
  more.name += mark;
  if (const auto host = more.labels.find(kHostnameKey); host != more.labels.end()) {
    host->second = more.name;
  }
  for (DeviceHardware& device : more.devices) {
    if (!device.uuid.empty()) device.uuid += mark;
  }
  return more;
}

// The mask without the nodes in `open`.
MaskUpserted MaskWithout(const Books& books, const std::string& name,
                         const std::vector<std::string>& open) {
  MaskUpserted mask{name, {}, 0};
  for (std::size_t n = 0; n < books.hardware.slots(); ++n) {
    const std::string& node = books.hardware.spec(NodeId(n)).name;
    if (!books.masks.Exclude(name, NodeId(n))) continue;
    if (std::find(open.begin(), open.end(), node) == open.end())
      mask.excluded_nodes.push_back(node);
  }
  return mask;
}

// The new version of each object that changes.
struct Objects {
  std::map<std::string, QueueSpec> queues;
  std::map<std::string, NodeSpec> nodes;
  std::map<std::string, MaskUpserted> masks;
  std::vector<std::string> new_nodes;
  bool gate_opens = false;
  bool job_changes = false;
  JobSpec job;
};

void Open(const Books& books, const Change& change, JobId id, Objects& objects) {
  if (change.misfit == Misfit::kExcluded) {
    for (const RoleRow& role : books.jobs[id.index()].roles) {
      const std::string& mask = books.classes[role.cls].pod.constraints.mask;
      if (books.masks.Find(mask) == nullptr) continue;
      objects.masks[mask] = MaskWithout(books, mask, change.nodes);
    }
    return;
  }
  for (const std::string& name : change.nodes) {
    const NodeId node = books.hardware.Find(name);
    if (!node.valid()) continue;
    NodeSpec& spec = objects.nodes.try_emplace(name, books.hardware.spec(node)).first->second;
    spec.unschedulable = false;
    if (change.misfit == Misfit::kRefused) spec.labels[kAnother] = "true";
  }
}

// A guarantee of GPU models must not exceed the guarantee of GPUs.
void FitModels(const ModelKinds& models, Resources& guarantee) {
  std::int64_t left = guarantee[kGpu];
  for (const auto& [model, kind] : models) {
    guarantee[kind] = std::min(guarantee[kind], left);
    left -= guarantee[kind];
  }
}

void Add(const Books& books, const Change& change, JobId id, Objects& objects) {
  const auto queue = [&]() -> QueueSpec& {
    const QueueId known = books.queues.Find(change.queue);
    return objects.queues.try_emplace(change.queue, books.queues.spec(known)).first->second;
  };
  switch (change.easing) {
    case Easing::kAhead:
      objects.job.priority = kFirstOfAll;
      objects.job_changes = true;
      return;
    case Easing::kLimit:
      queue().limit[change.kind] += change.amount;
      return;
    case Easing::kDeserved:
      queue().deserved[change.kind] = change.now + change.amount;
      return;
    case Easing::kPreemptible:
      objects.job.preemptible = true;
      objects.job_changes = true;
      return;
    case Easing::kLend:
      queue().guarantee[change.kind] -= change.amount;
      if (change.kind == kGpu) FitModels(books.kinds.models(), queue().guarantee);
      return;
    case Easing::kMembers:
      StartWith(change, objects.job.gang);
      objects.job_changes = true;
      return;
    case Easing::kAsk:
      AskFor(change, objects.job.gang);
      objects.job_changes = true;
      return;
    case Easing::kReturn:
      return Open(books, change, id, objects);
    case Easing::kNodes:
      for (std::int64_t n = 1; n <= change.amount; ++n) {
        const NodeSpec more =
            AnotherLike(books.hardware.spec(books.hardware.Find(change.nodes[0])), n);
        objects.nodes[more.name] = more;
      }
      return;
    case Easing::kAdmitted:
      objects.gate_opens = true;
      return;
    case Easing::kTier:
      LocalityOf(objects.job, change.group) =
          change.amount < 0
              ? Locality{Locality::Mode::kPreferred, 0, ""}
              : Locality{Locality::Mode::kRequired, static_cast<std::int32_t>(change.amount), ""};
      objects.job_changes = true;
      return;
  }
}

}  // namespace

WhatIf FactsOf(const Books& books, JobId job, const std::vector<Change>& changes,
               std::uint64_t version) {
  Objects objects;
  objects.job = SpecOf(books, job);
  const JobSpec before = objects.job;
  for (const Change& change : changes) Add(books, change, job, objects);
  WhatIf what;
  const auto add = [&](Event fact, Event back) {
    what.facts.push_back(std::move(fact));
    what.back.push_back(std::move(back));
  };
  for (const auto& [name, queue] : objects.queues) {
    add(QueueUpserted{queue, version},
        QueueUpserted{books.queues.spec(books.queues.Find(name)), version + 1});
  }
  for (const auto& [name, node] : objects.nodes) {
    const NodeId known = books.hardware.Find(name);
    add(NodeUpserted{node, version},
        known.valid() ? Event(NodeUpserted{books.hardware.spec(known), version + 1})
                      : Event(NodeRemoved{name}));
  }
  for (auto& [name, mask] : objects.masks) {
    MaskUpserted back = MaskWithout(books, name, {});
    mask.version = version;
    back.version = version + 1;
    add(mask, back);
  }
  if (objects.gate_opens) {
    EngineConfig open = books.config;
    open.enqueue_gate = EnqueueGate::kNone;
    add(ConfigChanged{open}, ConfigChanged{books.config});
  }
  if (objects.job_changes) add(JobUpserted{objects.job, version}, JobUpserted{before, version + 1});
  return what;
}

}  // namespace tephra
