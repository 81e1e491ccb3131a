// The section `jobs`: jobs with roles, or flat ones whose tasks are all alike.
#include <algorithm>

#include "simulations/workload/sections.h"

namespace tephra {
namespace {

constexpr std::int64_t kMostReplicas = 1'000'000;

// `count_key` is "replicas" in a role and "members" in a flat job. As in Volcano a role's minimum
// is all of it unless given.
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
      least.Wrong("0 to the " + std::to_string(role.replicas) + " that there are");
    }
    role.min = static_cast<std::int32_t>(min);
  }
  role.pod = ReadPod(sections, fields);
  return role;
}

// What the whole gang asks for stays within 64 bits.
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
      item.Wrong("a job that asks for at most 10^18 of a resource in all");
    }
  }
}

GangSpec ReadGang(Sections& sections, Fields& fields) {
  GangSpec gang;
  const Item roles = fields.At("roles");
  if (roles.node == nullptr) {
    gang.roles.push_back(ReadRole(sections, fields, "members", "worker"));
  } else {
    ReadList(roles, [&](const Item& one) {
      Fields role(one);
      std::string name;
      role.Need("name");
      role.Text("name", name);
      for (const RoleSpec& other : gang.roles) {
        if (other.name == name) role.At("name").Wrong("a name that is not given twice");
      }
      gang.roles.push_back(ReadRole(sections, role, "replicas", std::move(name)));
      role.Done();
    });
  }
  std::int64_t sum = 0, most = 0;
  for (const RoleSpec& role : gang.roles) sum += role.min, most += role.replicas;
  const Item least = fields.At("min_member");
  if (least.node != nullptr) ReadWhole(least, sum, 0, most);
  gang.min_member = static_cast<std::int32_t>(std::min(sum, Sections::kMostTasks));
  return gang;
}

// In Volcano's words: spec.networkTopology of a pod group.
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

JobSpec ReadJob(Sections& sections, Fields& fields) {
  JobSpec job;
  job.queue = "default";
  fields.Need("name");
  fields.Text("name", job.name);
  fields.Text("queue", job.queue);
  fields.Text("user", job.user);
  fields.Whole("priority", job.priority);
  fields.Switch("preemptible", job.preemptible);
  fields.Switch("evicts", job.evicts);
  fields.Duration("min_run", job.min_run_ms);
  job.locality = ReadLocality(fields.At("network_topology"));
  job.gang = ReadGang(sections, fields);
  job.uid = job.name;
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
  const std::int64_t before = sections.tasks;
  arrival.job = ReadJob(sections, fields);
  fields.Duration("at", arrival.at);
  const Item run = fields.At("run");
  DurationMs duration = 0;
  if (run.node != nullptr && ReadDuration(run, duration)) arrival.run = duration;
  fields.Whole("copies", copies, 1, Sections::kMostTasks);
  fields.Done();
  arrival.job.created = arrival.at;
  CheckJob(item, arrival.job);
  sections.tasks = before + copies * std::max<std::int64_t>(1, sections.tasks - before);
  if (sections.tasks > Sections::kMostTasks) {
    item.Wrong("at most " + std::to_string(Sections::kMostTasks) + " tasks in all jobs together");
  }
  for (std::int64_t i = 0; i < copies && item.wrong->ok(); ++i) {
    Arrival& one = jobs.emplace_back(arrival);
    if (fields.Has("copies")) one.job.name.append("-").append(std::to_string(i));
    one.job.uid = one.job.name;
    Sections::Once(sections.jobs, one.job.name, fields.line(), item.path + ".name", *item.wrong);
  }
}

}  // namespace tephra
