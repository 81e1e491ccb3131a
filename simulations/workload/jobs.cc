// The section `jobs`: jobs with roles, or flat jobs with equal tasks.
#include <algorithm>
#include <utility>

#include "simulations/workload/sections.h"

namespace tephra {
namespace {

constexpr std::int64_t kMostReplicas = 1'000'000;
constexpr std::size_t kMostRoles = 10'000;                   // of a job, in all its groups together
constexpr std::int64_t kJobBytes = 6144, kRoleBytes = 1024;  // estimates, here and in the engine

// `count_key` is "replicas" in a role and "members" in a flat job. As in Volcano, the default
// minimum of a role is all of its tasks.
RoleSpec ReadRole(Sections& sections, Fields& fields, const std::string& count_key,
                  std::string name) {
  RoleSpec role;
  role.name = std::move(name);
  fields.Whole(count_key, role.replicas, 0, kMostReplicas);
  role.min = role.replicas;
  const Item least = fields.At("min");
  std::int64_t min = 0;
  if (least.node != nullptr && ReadWhole(least, min, 0, kMostReplicas)) {
    if (min > role.replicas) {
      least.Wrong("0 to " + std::to_string(role.replicas) + ", the number of tasks of the role");
    }
    role.min = static_cast<std::int32_t>(min);
  }
  role.pod = ReadPod(sections, fields);
  return role;
}

// The total request of the gang must fit in 64 bits.
void CheckSums(const Item& item, const JobSpec& job) {
  __extension__ __int128 sums[kMaxKinds] = {};
  for (const RoleSpec& role : job.gang.roles) {
    for (Kind kind = 0; kind < kMaxKinds; ++kind) {
      __extension__ __int128 one = role.pod.overhead[kind];
      for (const ContainerSpec& container : role.pod.containers) one += container.requests[kind];
      sums[kind] += one * role.replicas;
    }
  }
  for (const auto& sum : sums) {
    if (sum > std::int64_t{1'000'000'000'000'000'000}) {
      item.Wrong("a job that requests at most 10^18 of a resource in total");
    }
  }
}

// As in Volcano: spec.networkTopology of a pod group.
Locality ReadLocality(const Item& item) {
  Locality locality;
  if (item.node == nullptr) return locality;
  Fields fields(item);
  int mode = 0;
  fields.OneOf("mode", {"hard", "soft"}, mode);
  locality.mode = mode == 0 ? Locality::Mode::kRequired : Locality::Mode::kPreferred;
  const bool tier = fields.Whole("highest_tier_allowed", locality.highest_tier, 0);
  const bool name = fields.Text("highest_tier_name", locality.highest_tier_name);
  fields.Done();
  if (tier && name) item.Wrong("either highest_tier_allowed or highest_tier_name, not both");
  if (mode == 0 && !tier && !name) item.Wrong("highest_tier_allowed or highest_tier_name");
  return locality;
}

// The roles of a job or group: a list, or the single role of a flat job, named `alone`.
std::vector<RoleSpec> ReadRoles(Sections& sections, Fields& fields, const std::string& alone) {
  std::vector<RoleSpec> roles;
  const Item list = fields.At("roles");
  if (list.node == nullptr) {
    roles.push_back(ReadRole(sections, fields, "members", alone));
    return roles;
  }
  if (list.node->items.size() > kMostRoles) {
    list.Wrong("at most " + std::to_string(kMostRoles) + " roles");
    return roles;
  }
  ReadList(list, [&](const Item& one) {
    Fields role(one);
    std::string name;
    role.Need("name");
    role.Text("name", name);
    for (const RoleSpec& other : roles) {
      if (other.name == name) role.At("name").Wrong("a unique name");
    }
    roles.push_back(ReadRole(sections, role, "replicas", std::move(name)));
    role.Done();
  });
  return roles;
}

// `min_member`; the default is the sum of the minimums of the roles.
std::int32_t ReadMinMember(Fields& fields, std::int64_t sum, std::int64_t most,
                           std::int64_t least) {
  const Item item = fields.At("min_member");
  if (item.node != nullptr) ReadWhole(item, sum, least, most);
  return static_cast<std::int32_t>(std::min(sum, Sections::kMostTasks));
}

// One entry of `groups`: `copies` equal groups, of which the first `min_copies` are needed to start
// what they are in. Several copies are named NAME/0 and so on; a group in a group, GROUP/NAME. Roles
// are named GROUP/ROLE, or like the group.
struct GroupEntry {
  GroupSpec group;
  std::int64_t copies = 1, least = 1;
  bool flat = true;
  std::vector<RoleSpec> roles;
  std::vector<GroupEntry> groups;
  // Of all copies, with what is inside them.
  std::int64_t tasks = 0, roles_made = 0, groups_made = 0;
};

bool ReadGroup(Sections& sections, const Item& item, int level, GroupEntry& entry);

// Adds the groups of a list, and the sums of what they need and have.
bool ReadGroups(Sections& sections, const Item& list, int level, std::vector<GroupEntry>& entries,
                std::int64_t& needed, std::int64_t& needed_tasks) {
  bool good = true;
  ReadList(list, [&](const Item& one) {
    GroupEntry& entry = entries.emplace_back();
    good = ReadGroup(sections, one, level, entry) && good;
    needed += entry.least * entry.group.min_member;
    needed_tasks += entry.tasks / entry.copies * entry.least;
  });
  return good;
}

bool ReadGroup(Sections& sections, const Item& item, int level, GroupEntry& entry) {
  if (level > kMaxGroupLevels) {
    item.Wrong("at most " + std::to_string(kMaxGroupLevels) + " groups inside each other");
    return false;
  }
  Fields fields(item);
  fields.Need("name");
  fields.Text("name", entry.group.name);
  fields.Whole("copies", entry.copies, 1, kMostReplicas);
  entry.least = entry.copies;
  const Item needed = fields.At("min_copies");
  if (needed.node != nullptr) ReadWhole(needed, entry.least, 0, entry.copies);
  entry.group.locality = ReadLocality(fields.At("network_topology"));
  const Item groups = fields.At("groups");
  entry.flat = !fields.Has("roles");
  if (groups.node == nullptr || !entry.flat) entry.roles = ReadRoles(sections, fields, "");
  std::int64_t sum = 0, most = 0, all = 0;
  for (const RoleSpec& role : entry.roles) sum += role.min, most += role.replicas;
  all = most;
  bool good = true;
  if (groups.node != nullptr) {
    good = ReadGroups(sections, groups, level + 1, entry.groups, sum, most);
  }
  auto roles = static_cast<std::int64_t>(entry.roles.size());
  std::int64_t made = 1;
  for (const GroupEntry& inner : entry.groups) {
    all += inner.tasks;
    roles += inner.roles_made;
    made += inner.groups_made;
  }
  entry.group.min_member = ReadMinMember(fields, sum, most, 1);
  fields.Done();
  // Each factor is at most a million, and so is each sum below.
  if (entry.copies * all > Sections::kMostTasks) {
    item.Wrong("at most " + std::to_string(Sections::kMostTasks) + " tasks in all copies together");
    return false;
  }
  if (entry.copies * roles > static_cast<std::int64_t>(kMostRoles)) {
    item.Wrong("at most " + std::to_string(kMostRoles) + " roles in all groups of the job");
    return false;
  }
  // Each has a role, if only in a group inside it; groups without any are refused before they are made.
  if (entry.copies * made > static_cast<std::int64_t>(kMostRoles) * kMaxGroupLevels) {
    item.Wrong("at most " + std::to_string(kMostRoles * kMaxGroupLevels) + " groups in all copies");
    return false;
  }
  entry.tasks = entry.copies * all;
  entry.roles_made = entry.copies * roles;
  entry.groups_made = entry.copies * made;
  return good && item.wrong->ok();
}

void MakeGroups(const GroupEntry& entry, const std::string& parent, GangSpec& gang) {
  for (std::int64_t copy = 0; copy < entry.copies; ++copy) {
    GroupSpec group = entry.group;
    group.parent = parent;
    if (!parent.empty()) group.name = parent + "/" + group.name;
    if (entry.copies > 1) group.name += "/" + std::to_string(copy);
    group.elastic = copy >= entry.least;
    gang.groups.push_back(group);
    for (RoleSpec role : entry.roles) {
      role.name = entry.flat ? group.name : group.name + "/" + role.name;
      role.group = group.name;
      gang.roles.push_back(std::move(role));
    }
    for (const GroupEntry& inner : entry.groups) MakeGroups(inner, group.name, gang);
  }
}

GangSpec ReadGang(Sections& sections, Fields& fields) {
  GangSpec gang;
  const Item groups = fields.At("groups");
  if (groups.node == nullptr || fields.Has("roles")) {
    gang.roles = ReadRoles(sections, fields, "worker");
  }
  std::int64_t sum = 0, most = 0, needed_tasks = 0;
  for (const RoleSpec& role : gang.roles) sum += role.min;
  if (groups.node != nullptr) {
    std::vector<GroupEntry> entries;
    bool good = ReadGroups(sections, groups, 1, entries, sum, needed_tasks);
    auto roles = static_cast<std::int64_t>(gang.roles.size());
    for (const GroupEntry& entry : entries) roles += entry.roles_made;
    if (roles > static_cast<std::int64_t>(kMostRoles)) {
      groups.Wrong("at most " + std::to_string(kMostRoles) + " roles in all groups of the job");
      good = false;
    }
    if (good && sections.Reserve(groups, 1, kRoleBytes * roles)) {
      for (const GroupEntry& entry : entries) MakeGroups(entry, "", gang);
    }
  }
  for (const RoleSpec& role : gang.roles) most += role.replicas;
  gang.min_member = ReadMinMember(fields, sum, most, 0);
  return gang;
}

JobSpec ReadJob(Sections& sections, Fields& fields) {
  JobSpec job;
  job.queue = "default";
  fields.Need("name");
  fields.Text("name", job.name);
  const JobSpec* before = nullptr;
  if (sections.before != nullptr) {
    const auto found = sections.before->jobs.find(job.name);
    if (found != sections.before->jobs.end()) before = &found->second;
  }
  if (before != nullptr) job = *before;
  fields.Text("queue", job.queue);
  fields.Text("user", job.user);
  fields.Text("image", job.image);
  fields.Whole("priority", job.priority);
  fields.Switch("preemptible", job.preemptible);
  fields.Switch("movable", job.movable);
  int alone = 0;
  if (fields.OneOf("on_migration", {"gang", "task"}, alone)) job.restarts_by_task = alone == 1;
  fields.Switch("evicts", job.evicts);
  fields.Duration("min_runtime", job.min_run_ms);
  fields.Duration("checkpoint_interval", job.checkpoint_interval_ms);
  fields.Duration("estimated_runtime", job.estimated_runtime_ms);
  const Item topology = fields.At("network_topology");
  if (topology.node != nullptr) job.locality = ReadLocality(topology);
  // An event sets all roles and groups, or none of them.
  if (before == nullptr || fields.HasMore()) job.gang = ReadGang(sections, fields);
  if (before == nullptr) job.uid = job.name;
  CheckSums(fields.item(), job);
  for (const RoleSpec& role : job.gang.roles) sections.tasks += role.replicas;
  return job;
}

void CheckJob(const Item& item, const JobSpec& job) {
  if (item.wrong->ok()) item.wrong->Wrong(item.node->line, ValidateJob(job));
}

}  // namespace

JobSpec ReadJobAlone(Sections& sections, const Item& item) {
  Fields fields(item);
  JobSpec job = ReadJob(sections, fields);
  fields.Done();
  CheckJob(item, job);
  return job;
}

void ReadJobs(Sections& sections, const Item& item, std::vector<Arrival>& jobs) {
  Fields fields(item);
  Arrival arrival;
  std::int64_t copies = 1;
  const std::int64_t before = sections.tasks, bytes_before = sections.bytes;
  arrival.job = ReadJob(sections, fields);
  fields.Duration("at", arrival.at);
  const Item run = fields.At("runtime");
  DurationMs duration = 0;
  if (run.node != nullptr && ReadDuration(run, duration)) arrival.run = duration;
  if (!fields.Has("estimated_runtime")) arrival.job.estimated_runtime_ms = arrival.run.value_or(0);
  int fails = 0;
  if (fields.OneOf("on_failure", {"task", "gang"}, fails)) arrival.fails_whole = fails == 1;
  fields.Duration("stuck_for", arrival.stuck_for);
  fields.Whole("copies", copies, 1, Sections::kMostTasks);
  fields.Done();
  arrival.job.created = arrival.at;
  CheckJob(item, arrival.job);
  sections.tasks = before + copies * std::max<std::int64_t>(1, sections.tasks - before);
  if (sections.tasks > Sections::kMostTasks) {
    item.Wrong("at most " + std::to_string(Sections::kMostTasks) + " tasks in all jobs together");
  }
  if (!item.wrong->ok()) return;
  const std::int64_t groups = std::exchange(sections.bytes, bytes_before) - bytes_before;
  if (!sections.Reserve(item, copies, kJobBytes + groups)) return;
  for (std::int64_t i = 0; i < copies && item.wrong->ok(); ++i) {
    Arrival& one = jobs.emplace_back(arrival);
    if (fields.Has("copies")) one.job.name.append("-").append(std::to_string(i));
    one.job.uid = one.job.name;
    Sections::Once(sections.jobs, one.job.name, fields.line(), item.path + ".name", *item.wrong);
  }
}

}  // namespace tephra
