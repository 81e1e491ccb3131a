#include "tests/support/random_case.h"

#include <algorithm>

#include "tests/support/build.h"
#include "topology/mig.h"

namespace tephra {
namespace {

// Devices that may be in one or several modes, each with bounds of its own.
void AddModes(Dice& dice, NodeSpec& node) {
  const bool alike = dice.Percent(60);
  DeviceHardware as;
  for (DeviceHardware& device : node.devices) {
    if (!alike || &device == &node.devices.front()) {
      as = {};
      as.modes =
          dice.Pick<SliceModes>({kUsualModes, Only(SliceMode::kMps), Only(SliceMode::kTimeSlice),
                                 Only(SliceMode::kMig), 0b11111, 0b11001, 0b00111, 0b10111});
      as.split_count = dice.Pick<int>({0, 0, 1, 2});
      as.mps_clients = dice.Pick<int>({kUsualMpsClients, 1, 2, 3});
      as.replicas = dice.Pick<int>({0, 2, 3});
      as.compute_factor = dice.Percent(70) ? kNoFactor : 1500;
      as.memory_factor = dice.Percent(70) ? kNoFactor : 2000;
      if (dice.Percent(90)) as.mig_model = dice.Percent(60) ? "A30-24GB" : "A100-40GB";
      if (as.mig_model.empty() && as.may(SliceMode::kMig)) as.mig_model = "RTX-PRO-6000-96GB";
    }
    as.uuid = device.uuid;
    as.model = device.model;
    as.memory_mib = device.memory_mib;
    as.healthy = device.healthy;
    device = as;
    if (dice.Percent(10))
      device.uuid = node.name + "-" + std::to_string(&device - &node.devices[0]);
  }
}

// The same ask in another mode, or of other devices.
void AddModes(Dice& dice, PodTemplate& pod) {
  const Sharing sharing =
      dice.Pick<Sharing>({Sharing::kMps, Sharing::kTimeSlice, Sharing::kMig, Sharing::kMig});
  for (ContainerSpec& container : pod.containers) {
    DeviceRequest& asked = container.devices;
    if (asked.count == 0 || dice.Percent(15)) continue;
    asked.sharing = sharing;
    asked.count = std::min(asked.count, 2);
    if (sharing != Sharing::kMig) continue;
    asked.compute = asked.memory_mib = 0;
    asked.mig_profile = dice.Pick<const char*>(
        {"1g.6gb", "1g.6gb", "2g.12gb", "1g.6gb+me", "4g.24gb", "1g.5gb", "2g.10gb", "3g.20gb"});
  }
  pod.user_id = static_cast<std::uint32_t>(dice.Pick<int>({0, 0, 1000, 1001}));
  if (dice.Percent(10)) pod.constraints.excluded_models = {dice.Percent(50) ? "A" : "B"};
  if (dice.Percent(5)) pod.constraints.excluded_uuids = {"n1-0"};
  if (dice.Percent(3)) pod.constraints.device_uuids = {"n1-1", "n2-0"};
}

}  // namespace

void AddVolumes(Dice& dice, int percent, PodTemplate& pod) {
  for (const char* driver : {"volumes/x", "volumes/y"}) {
    if (!dice.Percent(percent)) continue;
    DomainLimit limit{driver, kHostnameKey, DomainLimit::kNoBound};
    if (dice.Percent(50)) limit.own = 1 + dice.Below(2);
    for (const char* name : {"a", "b", "c"}) {
      if (dice.Percent(40)) limit.shared.emplace_back(name);
    }
    if (limit.of_node()) pod.limits.push_back(limit);
  }
  if (dice.Percent(percent / 2)) pod.limits.push_back({"claim/data", kClusterKey, 1});
}

void AddVolumeLimits(Dice& dice, NodeSpec& node) {
  if (dice.Percent(85)) node.limits["volumes/x"] = dice.Below(6);
  if (dice.Percent(40)) node.limits["volumes/y"] = 1 + dice.Below(3);
}

NodeSpec RandomNode(Dice& dice, const std::string& name, const CaseSize& size) {
  Dice aside = Aside(dice);
  ANode node(name);
  node.Cores(dice.Pick<int>({4, 8, 16, 64}))
      .Memory(dice.Pick<int>({8, 32, 256}) * kGiB)
      .Pods(dice.Pick<int>({2, 4, 110, 110}));
  if (size.intricate) node.Cores(64).Memory(512 * kGiB).Pods(110);
  if (dice.Percent(85)) {
    node.Gpus(dice.From(1, size.devices), dice.Percent(70) ? "A" : "B",
              dice.Percent(70) ? 16000 : 40000);
  }
  NodeSpec spec = node;
  if (dice.Percent(10) && static_cast<int>(spec.devices.size()) < size.devices) {
    spec.devices.push_back({"", "B", 40000, true});
  }
  if (dice.Percent(10) && !spec.devices.empty()) spec.devices[0].healthy = false;
  spec.labels["zone"] = dice.Percent(60) ? "a" : "b";
  if (dice.Percent(90)) spec.labels["rack"] = "r" + std::to_string(dice.Below(2));
  if (dice.Percent(15)) spec.taints.push_back({"team", "x", TaintEffect::kNoSchedule});
  spec.unschedulable = dice.Percent(5);
  spec.allocatable[kFirstExtendedKind] = dice.Percent(30) ? 2 : 0;
  if (aside.Percent(size.modes ? 90 : 20)) AddModes(aside, spec);
  Dice last = Aside(aside);
  AddVolumeLimits(last, spec);
  return spec;
}

namespace {

DeviceRequest RandomDevices(Dice& dice) {
  switch (dice.Below(6)) {
    case 0:
      return {dice.From(1, 4), 1000, 0};
    case 1:
      return {1, 1000, 0};
    case 2:
      return {1, dice.Pick<int>({200, 250, 300, 500, 600}), 0};
    case 3:
      return {1, dice.Pick<int>({100, 250, 500}), dice.Pick<int>({2000, 6000, 9000})};
    case 4:
      return {1, 0, dice.Pick<int>({4000, 8000, 20000})};
    default:
      return {2, dice.Pick<int>({250, 400, 500}), dice.Pick<int>({0, 4000})};
  }
}

}  // namespace

PodTemplate RandomPod(Dice& dice, const CaseSize& size) {
  Dice aside = Aside(dice);
  PodTemplate pod;
  const auto container = [&](ContainerKind kind, int device_percent) {
    ContainerSpec& c = pod.containers.emplace_back();
    c.name = "c" + std::to_string(pod.containers.size());
    c.kind = kind;
    c.requests[kCpu] = dice.Pick<int>({0, 500, 1000, 2000, 4000});
    c.requests[kMemory] = dice.Pick<int>({0, 1, 4, 16}) * kGiB;
    if (dice.Percent(device_percent)) c.devices = RandomDevices(dice);
  };
  if (dice.Percent(size.intricate ? 40 : 10)) container(ContainerKind::kSidecar, 60);
  if (dice.Percent(size.intricate ? 60 : 15)) container(ContainerKind::kInit, 80);
  if (dice.Percent(size.intricate ? 20 : 2)) container(ContainerKind::kInit, 80);
  container(ContainerKind::kApp, 85);
  if (dice.Percent(10)) container(ContainerKind::kApp, 60);
  if (dice.Percent(5)) pod.containers[0].requests[kFirstExtendedKind] = 1;
  if (dice.Percent(10)) pod.overhead[kCpu] = 250;
  if (dice.Percent(15)) pod.constraints.selector["zone"] = dice.Percent(50) ? "a" : "b";
  if (dice.Percent(30)) {
    pod.constraints.tolerations.push_back({"team", "x", Toleration::Operator::kEqual, true, {}});
  }
  if (dice.Percent(10)) pod.constraints.device_models = {dice.Percent(60) ? "A" : "B"};
  if (dice.Percent(12)) pod.constraints.mask = "m" + std::to_string(dice.Below(3));
  if (dice.Percent(12)) pod.limits.push_back({"port-80", kHostnameKey, 1});
  if (dice.Percent(8)) pod.limits.push_back({"pair", kHostnameKey, dice.From(1, 3)});
  if (dice.Percent(10)) pod.limits.push_back({"wide", "rack", dice.From(1, 3)});
  if (aside.Percent(size.modes ? 75 : 10)) AddModes(aside, pod);
  Dice last = Aside(aside);
  for (DomainLimit& limit : pod.limits) {
    if (!aside.Percent(30)) continue;
    limit.counted = aside.Percent(50);
    limit.max = limit.counted ? DomainLimit::kNoBound : aside.Below(2);
  }
  AddVolumes(last, 15, pod);
  return pod;
}

JobSpec RandomJob(Dice& dice, const std::string& name, const CaseSize& size) {
  JobSpec job;
  job.uid = job.name = name;
  job.queue = dice.Percent(70) ? "q0" : "q1";
  job.priority = dice.Below(3);
  job.created = dice.Below(4);
  const int roles = dice.Percent(60) ? 1 : dice.From(2, 3);
  int left = size.tasks, replicas = 0;
  for (int r = 0; r < roles && left > 0; ++r) {
    RoleSpec& role = job.gang.roles.emplace_back();
    role.name = "r" + std::to_string(r);
    role.replicas = dice.From(1, std::min(left, 4));
    role.min = dice.Percent(60) ? dice.From(0, role.replicas) : 0;
    role.pod = r > 0 && dice.Percent(20) ? job.gang.roles[0].pod : RandomPod(dice, size);
    left -= role.replicas;
    replicas += role.replicas;
  }
  job.gang.min_member = dice.Percent(50) ? replicas : dice.From(std::min(1, replicas), replicas);
  job.pods_exist = dice.Percent(10);
  Dice aside = Aside(dice);
  job.estimated_runtime_ms = aside.Below(4) * 9 * kSecondMs;
  job.preemptible = !size.queue_limits || aside.Percent(75);
  return job;
}

QueueSpec RandomQueue(Dice& dice, const std::string& name, const std::string& parent,
                      const CaseSize& size) {
  AQueue queue(name);
  queue.Under(parent);
  if (size.queue_limits) {
    if (dice.Percent(50)) queue.Limit(kGpu, dice.From(0, 8) * 1000);
    if (dice.Percent(20)) queue.Limit(kCpu, dice.From(1, 20) * 1000);
    if (dice.Percent(20)) queue.Limit(kPods, dice.From(1, 8));
    if (dice.Percent(20)) queue.Limit(kGpuMemory, dice.From(1, 8) * 10000);
    if (dice.Percent(10)) queue.State(QueueState::kClosed);
    if (dice.Percent(30)) queue.Guarantee(kGpu, dice.From(0, 6) * 1000);
    if (dice.Percent(20)) queue.Guarantee(kCpu, dice.From(1, 20) * 1000);
    if (dice.Percent(20)) queue.Guarantee(kPods, dice.From(1, 6));
    if (dice.Percent(30)) {
      const std::int64_t gpus = dice.From(0, 8);
      queue.Deserved(kGpu, gpus * 1000);
      if (gpus % 3 == 1) queue.Deserved(kCpu, gpus * 1500);
    }
    if (dice.Percent(30)) queue.Weight(dice.From(1, 4));
    if (dice.Percent(20)) queue.Fifo();
  }
  return queue;
}

Slices RandomSlices(Dice& dice, const PodTemplate& pod, const NodeSpec& node) {
  Dice aside = Aside(dice);
  Slices slices;
  for (std::size_t c = 0; c < pod.containers.size(); ++c) {
    const DeviceRequest& asked = pod.containers[c].devices;
    if (asked.count == 0) continue;
    std::vector<int> devices(node.devices.size());
    for (std::size_t d = 0; d < devices.size(); ++d) devices[d] = static_cast<int>(d);
    dice.Shuffle(devices);
    if (devices.size() > static_cast<std::size_t>(asked.count)) {
      devices.resize(static_cast<std::size_t>(asked.count));
    }
    for (int d : devices) {
      const DeviceHardware& device = node.devices[static_cast<std::size_t>(d)];
      Slice& slice = slices.emplace_back(
          Slice{static_cast<std::uint16_t>(c), static_cast<std::uint16_t>(d), asked.mode(),
                asked.compute, asked.whole() ? device.memory_mib : asked.memory_mib});
      if (slice.mode != SliceMode::kMig) continue;
      // On a device that has the profile it is one of its instances; else anything.
      const MigModel* model = FindMigModel(device.mig_model);
      const int profile = model == nullptr ? -1 : FindMigProfile(*model, asked.mig_profile);
      if (profile < 0) continue;
      const MigProfile& of = model->profiles[static_cast<std::size_t>(profile)];
      const MigShare share = MigShareOf(*model, of);
      slice.compute = share.compute;
      slice.memory_mib = share.memory_mib;
      slice.mig_profile = static_cast<std::uint8_t>(profile);
      while ((of.starts >> slice.mig_start & 1) == 0 || aside.Percent(50)) {
        slice.mig_start = static_cast<std::uint8_t>(aside.Below(model->memory_slices));
      }
    }
  }
  return slices;
}

TaskFact RandomForeign(Dice& dice, const std::string& uid, const NodeSpec& node,
                       const CaseSize& size) {
  TaskFact fact;
  fact.uid = uid;
  fact.phase = dice.Percent(80) ? TaskPhase::kRunning : TaskPhase::kReleasing;
  fact.node = node.name;
  // Without a device there is nothing to guess, so that the books are a function of the facts.
  do {
    fact.pod = RandomPod(dice, size);
    fact.slices = RandomSlices(dice, *fact.pod, node);
  } while (fact.slices.empty() &&
           std::any_of(fact.pod->containers.begin(), fact.pod->containers.end(),
                       [](const ContainerSpec& c) { return c.devices.count > 0; }));
  return fact;
}

MaskUpserted RandomMask(Dice& dice, const std::string& name, const CaseSize& size) {
  MaskUpserted mask{name, {}, 1};
  for (int n = 1; n <= size.nodes; ++n) {
    if (dice.Percent(30)) mask.excluded_nodes.push_back("n" + std::to_string(n));
  }
  return mask;
}

const KindsDeclared kModelKinds{{"example.com/nic", "gpu.A", "gpu.B"}};

void AddModelQuotas(Dice& dice, QueueSpec& queue) {
  for (const Kind k : {kFirstExtendedKind + 1, kFirstExtendedKind + 2}) {
    if (dice.Percent(40)) {
      queue.limit[k] = dice.From(0, 6) * 1000;
      queue.limited_kinds |= KindSet{1} << k;
    }
    if (dice.Percent(25)) queue.guarantee[k] = dice.From(0, 3) * 1000;
    if (dice.Percent(40)) queue.deserved[k] = dice.From(0, 4) * 1000;
  }
  for (Resources* quota : {&queue.guarantee, &queue.deserved}) {
    std::int64_t& gpus = (*quota)[kGpu];
    const std::int64_t sum =
        (*quota)[kFirstExtendedKind + 1] + (*quota)[kFirstExtendedKind + 2];
    if (gpus > 0) gpus = std::max(gpus, sum);
  }
}

std::vector<Event> RandomCase(Dice& dice, const CaseSize& size) {
  std::vector<Event> events;
  Dice aside = Aside(dice);
  const bool models = aside.Percent(30), quotas = models && size.queue_limits;
  const auto queue = [&](const std::string& name, const std::string& parent) {
    QueueSpec spec = RandomQueue(dice, name, parent, size);
    if (quotas) AddModelQuotas(aside, spec);
    events.push_back(QueueUpserted{spec, 1});
  };
  events.push_back(models ? kModelKinds : KindsDeclared{{"example.com/nic"}});
  queue("q0", "");
  queue("q1", dice.Percent(50) ? "q0" : "");
  for (const char* name : {"m0", "m1"}) {
    if (dice.Percent(80)) events.push_back(RandomMask(dice, name, size));
  }
  std::vector<NodeSpec> nodes;
  for (int n = dice.From(1, size.nodes); n > 0; --n) {
    nodes.push_back(RandomNode(dice, "n" + std::to_string(n), size));
    events.push_back(NodeUpserted{nodes.back(), 1});
  }
  for (int f = dice.Percent(50) ? 0 : dice.Below(4); f > 0; --f) {
    events.push_back(TaskUpserted{
        RandomForeign(dice, "foreign" + std::to_string(f), dice.Pick(nodes), size), 1});
  }
  for (int j = dice.From(1, size.jobs); j > 0; --j) {
    JobSpec job = RandomJob(dice, "j" + std::to_string(j), size);
    for (RoleSpec& role : job.gang.roles) {
      std::vector<std::string>& names = role.pod.constraints.device_models;
      if (quotas && aside.Percent(30)) names = {aside.Percent(60) ? "A" : "B"};
      if (quotas && aside.Percent(10)) names = {"A", "B"};
    }
    events.push_back(JobUpserted{job, 1});
  }
  return events;
}

}  // namespace tephra
