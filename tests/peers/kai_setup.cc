#include "tests/peers/kai_setup.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "tests/peers/kai_affinity.h"
#include "tests/peers/kai_config.h"
#include "tests/peers/kai_gang.h"
#include "tests/peers/kai_hardware.h"

namespace tephra {
namespace {

constexpr double kMegabyte = 1e6;
// So long ago that a pod which still terminates is stuck.
constexpr TimeMs kStuckSince = kKaiBegin - 60 * 60 * kSecondMs;

// A domain for each value of each level, named after those above it. As with KAI a node is in none
// unless it has a value of each.
std::vector<DomainSpec> DomainsOf(const KaiCase& one) {
  std::map<std::string, DomainSpec> domains;
  for (const KaiNode& node : one.nodes) {
    const bool inside = std::all_of(one.levels.begin(), one.levels.end(),
                                    [&](const auto& level) { return node.labels.contains(level); });
    if (!inside) continue;
    DomainSpec* above = nullptr;
    auto tier = static_cast<std::int32_t>(one.levels.size());
    for (const std::string& level : one.levels) {
      const std::string& value = node.labels.at(level);
      const std::string name = above == nullptr ? value : above->name + "/" + value;
      const auto [at, fresh] = domains.try_emplace(name);
      at->second.name = name;
      at->second.tier = tier--;
      if (fresh && above != nullptr) above->domains.push_back(name);
      above = &at->second;
    }
    if (above != nullptr) above->nodes.push_back(node.name);
  }
  std::vector<DomainSpec> specs;
  for (auto& [name, spec] : domains) specs.push_back(std::move(spec));
  return specs;
}

std::int64_t AmountOf(double amount) {
  return std::min<std::int64_t>(kMaxSum, std::llround(amount));
}

class Setup {
 public:
  explicit Setup(const KaiCase& one) : case_(one) {
    for (const KaiNode& node : one.nodes) {
      total_[kCpu] += node.cpu_milli;
      total_[kMemory] += node.memory_bytes;
      total_[kGpu] += static_cast<std::int64_t>(KaiDevices(node).size()) * kWholeGpu;
      if (node.gpus > 0 && (device_mib_ == 0 || node.gpu_memory_mib < device_mib_)) {
        device_mib_ = node.gpu_memory_mib;
      }
    }
  }

  KaiSetup Run() {
    Tell(ConfigChanged{KaiConfig(case_)});
    for (const KaiNode& node : case_.nodes) {
      Tell(NodeUpserted{KaiHardware(node), ++out_.version});
      for (TaskFact& pod : KaiForeignPods(node)) Tell(TaskUpserted{std::move(pod), ++out_.version});
    }
    for (DomainSpec& domain : DomainsOf(case_)) Tell(DomainUpserted{domain, ++out_.version});
    for (const KaiQueue& queue : case_.departments)
      Tell(QueueUpserted{SpecOf(queue, case_.departments), ++out_.version});
    for (const KaiQueue& queue : case_.queues)
      Tell(QueueUpserted{SpecOf(queue, case_.queues), ++out_.version});
    for (const KaiJob& job : case_.jobs) AddJob(job);
    SeatGroups();
    for (const KaiJob& job : case_.jobs) {
      for (const KaiTask& task : job.tasks) AddTask(job, task);
    }
    return std::move(out_);
  }

 private:
  using Member = KaiQuota KaiQueue::*;

  void Tell(Event event) { out_.events.push_back(std::move(event)); }

  // Zero is next to nothing for a queue with queues under it, because with us such a queue that says
  // nothing deserves what they do.
  std::int64_t DeservedOf(const KaiQueue& queue, Member of, double unit, Kind kind) const {
    const double deserved = (queue.*of).deserved;
    if (deserved < 0) return total_[kind];
    const bool above = std::any_of(case_.queues.begin(), case_.queues.end(), [&](const KaiQueue& one) {
      return one.parent == queue.name;
    });
    return std::max<std::int64_t>(above ? 1 : 0, AmountOf(deserved * unit));
  }

  // The weight of GPUs. Beside other queues, zero counts as a millionth, or as less beside a weight
  // above 1,000.
  static std::int32_t WeightOf(const KaiQueue& queue, const std::vector<KaiQueue>& all) {
    constexpr double kMillion = 1e6, kMost = 1e9;
    double most = 0;
    for (const KaiQueue& other : all) {
      if (other.parent == queue.parent) most = std::max(most, other.gpu.weight);
    }
    if (queue.gpu.weight <= 0) return 1;
    const double weight = queue.gpu.weight * std::min(kMillion, kMost / most);
    return std::max(1, static_cast<std::int32_t>(std::lround(weight)));
  }

  QueueSpec SpecOf(const KaiQueue& queue, const std::vector<KaiQueue>& all) const {
    QueueSpec spec;
    spec.name = queue.name;
    spec.parent = queue.parent;
    spec.priority = queue.priority;
    for (const KaiJob& job : case_.jobs) {
      const bool waits = std::any_of(job.tasks.begin(), job.tasks.end(),
                                     [](const KaiTask& task) { return task.state == "Pending"; });
      if (waits && job.queue == queue.name) {
        spec.eviction_delay_ms = job.preemption_delay_s * kSecondMs;
      }
    }
    spec.weight = WeightOf(queue, all);
    const std::tuple<Kind, Member, double> kinds[] = {
        {kGpu, &KaiQueue::gpu, static_cast<double>(KaiGpuUnit(case_))},
        {kCpu, &KaiQueue::cpu_milli, 1},
        {kMemory, &KaiQueue::memory_mb, kMegabyte}};
    for (const auto& [kind, of, unit] : kinds) {
      spec.deserved[kind] = DeservedOf(queue, of, unit, kind);
      const double limit = (queue.*of).limit;
      if (limit < 0) continue;
      spec.limit[kind] = AmountOf(limit * unit);
      spec.limited_kinds |= KindSet{1} << kind;
    }
    return spec;
  }

  DeviceRequest DevicesOf(const KaiTask& task) const {
    if (task.kind == "whole") {
      return {static_cast<std::int32_t>(task.gpus), static_cast<std::int32_t>(kWholeGpu), 0};
    }
    DeviceRequest request{task.devices, 0, 0};
    if (task.kind == "fraction") {
      request.compute = static_cast<std::int32_t>(std::lround(task.gpus * kWholeGpu));
      request.memory_mib = static_cast<std::int32_t>(std::lround(task.gpus * device_mib_));
    } else if (task.kind == "gpu_memory" && device_mib_ > 0) {
      request.compute = static_cast<std::int32_t>(
          std::min<std::int64_t>(kWholeGpu, task.gpu_memory_mib * kWholeGpu / device_mib_));
      request.memory_mib = task.gpu_memory_mib;
    } else {
      return {};
    }
    if (request.whole()) request.memory_mib = 0;
    return request;
  }

  PodTemplate PodOf(const KaiTask& task) const {
    PodTemplate pod;
    ContainerSpec& main = pod.containers.emplace_back();
    main.name = "main";
    main.requests[kCpu] = task.cpu_milli;
    main.requests[kMemory] = task.memory_bytes;
    main.devices = DevicesOf(task);
    // A container has instances of one profile.
    for (const auto& [profile, count] : task.mig) {
      const bool anywhere = task.older_mig && task.node.empty();
      pod.constraints.device_models.push_back(KaiMigDeviceModel(anywhere ? "" : profile));
      if (pod.containers.back().devices.count > 0) pod.containers.emplace_back().name = profile;
      pod.containers.back().devices = {count, 0, 0, Sharing::kMig, profile};
    }
    if (case_.predicates && !task.node_types.empty()) {
      NodeSelectorTerm term;
      term.expressions.push_back({kKaiTypeKey, LabelRequirement::Operator::kIn, task.node_types});
      pod.constraints.affinity.push_back(std::move(term));
    }
    if (case_.predicates) AddKaiAffinity(case_, task, pod);
    return pod;
  }

  void AddJob(const KaiJob& job) {
    const KaiGang gang = GangOf(case_, job);
    JobSpec spec;
    spec.uid = spec.name = job.name;
    spec.queue = job.queue;
    spec.priority = job.priority;
    spec.created = CreatedOf(job);
    spec.pods_exist = true;
    spec.preemptible = spec.movable = job.preemptible;
    if (!KaiMayEvict(case_)) spec.min_run_ms = kMostRunMs;
    spec.gang.min_member = gang.min_member;
    spec.gang.groups = gang.groups;
    spec.locality = gang.locality;
    std::vector<std::string> sets;  // of each role
    std::vector<const KaiTask*> tasks;
    for (const KaiTask& task : job.tasks) tasks.push_back(&task);
    std::stable_sort(tasks.begin(), tasks.end(),
                     [](const KaiTask* a, const KaiTask* b) { return a->priority > b->priority; });
    for (const KaiTask* task : tasks) {
      const PodTemplate pod = PodOf(*task);
      std::size_t r = 0;
      while (r < sets.size() && !(sets[r] == task->set && spec.gang.roles[r].pod == pod)) ++r;
      if (r == sets.size()) {
        sets.push_back(task->set);
        spec.gang.roles.push_back({"role" + std::to_string(r), 0, 0, pod});
      }
      RoleSpec& role = spec.gang.roles[r];
      out_.seats[task->id] = {job.name, role.name, role.replicas++};
    }
    // Of a single pod set the minimum is the gang's, of unlike pods their group's.
    for (const auto& [name, set] : gang.sets) {
      const auto first = static_cast<std::size_t>(std::find(sets.begin(), sets.end(), name) - sets.begin());
      std::int32_t pods = 0;
      for (std::size_t r = first; r < sets.size(); ++r) {
        if (sets[r] != name) continue;
        spec.gang.roles[r].group = set.group;
        pods += spec.gang.roles[r].replicas;
      }
      if (first == sets.size()) {
        sets.push_back(name);
        PodTemplate pod;
        pod.containers.emplace_back().name = "main";
        spec.gang.roles.push_back({"role" + std::to_string(first), 0, 0, pod, set.group});
      }
      // Places without a pod do not ask.
      spec.gang.roles[first].replicas += std::max(0, set.least - pods);
      const bool one_role = std::count(sets.begin(), sets.end(), name) == 1;
      if (gang.sets.size() > 1 && one_role) spec.gang.roles[first].min = set.least;
    }
    Tell(JobUpserted{std::move(spec), ++out_.version});
  }

  static TimeMs CreatedOf(const KaiJob& job) { return kKaiBegin - job.age_min * 60 * kSecondMs; }

  // Devices of the groups that tasks share, by node and group; those named after a device are it.
  void SeatGroups() {
    for (const KaiJob& job : case_.jobs) {
      for (const KaiTask& task : job.tasks) {
        for (const std::string& group : task.gpu_groups) {
          if (task.node.empty() || groups_.contains({task.node, group})) continue;
          const int named =
              group.size() == 1 && group[0] >= '0' && group[0] <= '9' ? group[0] - '0' : 0;
          groups_[{task.node, group}] = TakeDevice(task.node, named);
        }
      }
    }
  }

  // The first free device from `from` on; -1: none.
  int TakeDevice(const std::string& name, int from) {
    const KaiNode* node = NodeOf(name);
    if (node == nullptr) return -1;
    for (int device = from; device < node->gpus; ++device) {
      if (taken_[name].insert(device).second) return device;
    }
    return from > 0 ? TakeDevice(name, 0) : -1;
  }

  const KaiNode* NodeOf(const std::string& name) const {
    const auto node = std::find_if(case_.nodes.begin(), case_.nodes.end(),
                                   [&](const KaiNode& one) { return one.name == name; });
    return node == case_.nodes.end() ? nullptr : &*node;
  }

  // The devices of a task that has a node. None where there are too few: the engine guesses then.
  Slices SlicesOf(const KaiTask& task) {
    const KaiNode* node = NodeOf(task.node);
    if (node == nullptr) return {};
    if (!task.mig.empty()) return InstancesOf(task, *node);
    const DeviceRequest request = DevicesOf(task);
    std::vector<int> devices;
    for (const std::string& group : task.gpu_groups)
      devices.push_back(groups_.at({task.node, group}));
    while (devices.size() < static_cast<std::size_t>(request.count)) {
      devices.push_back(TakeDevice(task.node, 0));
    }
    Slices slices;
    for (std::int32_t i = 0; i < request.count; ++i) {
      const int device = devices[static_cast<std::size_t>(i)];
      if (device < 0) return {};
      slices.push_back({0, static_cast<std::uint16_t>(device),
                        request.whole() ? SliceMode::kWhole : SliceMode::kFraction, request.compute,
                        request.whole() ? node->gpu_memory_mib : request.memory_mib});
    }
    return slices;
  }

  // The first free instances of each profile.
  Slices InstancesOf(const KaiTask& task, const KaiNode& node) {
    Slices slices;
    const std::vector<std::string> devices = KaiDevices(node);
    std::uint16_t container = 0;
    for (const auto& [profile, count] : task.mig) {
      int open = count;
      for (std::size_t d = 0; d < devices.size() && open > 0; ++d) {
        if (devices[d] != profile) continue;
        if (!taken_[node.name].insert(static_cast<int>(d)).second) continue;
        Slice slice = KaiMigSlice(node, profile, static_cast<std::uint16_t>(d));
        slice.container = container;
        slices.push_back(slice);
        --open;
      }
      if (open > 0) return {};
      ++container;
    }
    return slices;
  }

  void AddTask(const KaiJob& job, const KaiTask& task) {
    const KaiSeat& seat = out_.seats.at(task.id);
    TaskFact fact;
    fact.uid = task.id;
    fact.job = seat.job;
    fact.role = seat.role;
    fact.index = seat.index;
    if (task.state == "Gated") return;  // its pod may not be scheduled yet
    if (KaiHoldsRoom(task.state)) {
      fact.phase = TaskPhase::kRunning;
    } else if (task.state == "Releasing" || task.state == "StuckInReleasing") {
      fact.phase = TaskPhase::kReleasing;
    } else if (task.state == "Failed") {
      fact.phase = TaskPhase::kFailed;
    } else if (task.state == "Succeeded") {
      fact.phase = TaskPhase::kSucceeded;
    }
    if (fact.phase == TaskPhase::kRunning || fact.phase == TaskPhase::kReleasing) {
      fact.node = task.node;
      fact.slices = SlicesOf(task);
      fact.started = CreatedOf(job);
      if (task.state == "StuckInReleasing") fact.terminates_by = kStuckSince;
    }
    Tell(TaskUpserted{std::move(fact), ++out_.version});
  }

  const KaiCase& case_;
  KaiSetup out_;
  Resources total_;
  std::int32_t device_mib_ = 0;  // of the smallest device
  std::map<std::pair<std::string, std::string>, int> groups_;
  std::map<std::string, std::set<int>> taken_;  // devices by node
};

}  // namespace

KaiSetup SetupOf(const KaiCase& one) { return Setup(one).Run(); }

}  // namespace tephra
