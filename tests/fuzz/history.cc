#include "tests/fuzz/history.h"

namespace tephra {
namespace {

constexpr std::int64_t kGib = std::int64_t{1} << 30;

}  // namespace

// One in sixteen is off: nothing, below zero, or as large as a file may say.
std::int64_t History::Amount(const std::vector<std::int64_t>& usual) {
  if (!bytes_.Once(16)) return bytes_.Pick(usual);
  return bytes_.Pick<std::int64_t>({0, -1, 1, kMaxAmount, kMaxAmount + 1});
}

std::vector<Event> History::Opening() {
  std::vector<Event> events;
  events.push_back(KindsDeclared{{"example.com/fpga"}});
  events.push_back(ConfigChanged{MakeConfig()});
  for (const char* name : {"q0", "q1"}) events.push_back(QueueUpserted{MakeQueue(name), 1});
  for (const char* name : {"n0", "n1", "n2"}) events.push_back(NodeUpserted{MakeNode(name), 1});
  return events;
}

Event History::Next() {
  switch (bytes_.Below(24)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
      return JobUpserted{MakeJob(Job()), Version()};
    case 5:
    case 6:
      return JobRemoved{Job()};
    case 7:
    case 8:
    case 9:
    case 10:
      return TaskUpserted{MakeTask(), Version()};
    case 11:
    case 12:
      return TaskRemoved{Uid()};
    case 13:
    case 14:
      return NodeUpserted{MakeNode(Node()), Version()};
    case 15:
      return NodeRemoved{Node()};
    case 16:
      return QueueUpserted{MakeQueue(Queue()), Version()};
    case 17:
      return bytes_.Below(4) == 0 ? Event(QueueRemoved{Queue()})
                                  : Event(ConfigChanged{MakeConfig()});
    case 18:
      return PlacementRefused{Job(), Role(), Node(), "fuzz", bytes_.Below(2) == 1};
    case 19:
      return PlanStale{Job(), "fuzz", bytes_.Below(2) == 1};
    case 20:
      return BindFailed{Job(), Role(), bytes_.Below(6), bytes_.Once(8) ? "" : Node(), "fuzz"};
    case 21:
    case 22:
      return MakeMask();
    default:
      break;
  }
  switch (bytes_.Below(6)) {
    case 0:
      return DomainUpserted{{bytes_.Once(8) ? "" : "d0", bytes_.Below(4) - 1, "", {Node()}, {}},
                            Version()};
    case 1:
      return DomainRemoved{"d0"};
    case 2:
      return DisruptionBudgetUpserted{bytes_.Once(8) ? "" : "b0", bytes_.Below(4) - 1, Version()};
    case 3:
      return DisruptionBudgetRemoved{"b0"};
    case 4:
      return MakeMemory();
    default:
      return KindsDeclared{{"example.com/fpga", "example.com/nic"}};
  }
}

std::vector<Event> History::Answers(const Plan& plan, const Books& books) {
  std::vector<Event> events;
  for (const Decision& decision : plan.decisions) {
    const bool at_once = decision.verdict == Verdict::kStart;
    for (const Placement& placement : decision.placements) {
      if (!at_once) continue;
      const TaskRow& row = books.tasks[placement.task.index()];
      const JobRow& job = books.jobs[row.job.index()];
      TaskFact fact;
      fact.job = job.uid;
      fact.role = job.roles[row.role].name;
      fact.index = row.index;
      fact.uid = fact.job + fact.role + std::to_string(fact.index);
      fact.node = books.hardware.spec(placement.node).name;
      switch (bytes_.Below(10)) {
        case 8:
          events.push_back(PlanStale{fact.job, "fuzz", decision.part == Part::kElastic});
          continue;
        case 9:
          events.push_back(BindFailed{fact.job, fact.role, fact.index, fact.node, "fuzz"});
          continue;
        case 0:
        case 1:
        case 2:
        case 3:
          fact.slices = placement.slices;
          fact.phase = TaskPhase::kRunning;
          break;
        case 4:  // the shim knows of no slices
          fact.phase = TaskPhase::kRunning;
          break;
        case 5:
          fact.phase = TaskPhase::kSucceeded;
          break;
        case 6:
          events.push_back(PlacementRefused{fact.job, fact.role, fact.node, "fuzz",
                                            decision.part == Part::kElastic});
          continue;
        default:
          continue;
      }
      events.push_back(TaskUpserted{fact, Version()});
    }
    for (TaskId task : decision.evictions) {
      if (bytes_.Below(3) != 0) events.push_back(TaskRemoved{books.tasks[task.index()].uid});
    }
  }
  return events;
}

Event History::MakeMask() {
  const std::string name = bytes_.Below(2) == 0 ? "m0" : "m1";
  if (bytes_.Once(4)) return MaskRemoved{name};
  MaskUpserted mask{name, {}, Version()};
  for (int i = bytes_.Below(4); i > 0; --i) mask.excluded_nodes.push_back(Node());
  return mask;
}

MemoryRestored History::MakeMemory() {
  Memory memory;
  memory.version = bytes_.Once(8) ? 2 : 1;
  memory.at = bytes_.Once(8) ? bytes_.Number<std::int64_t>() : bytes_.Byte();
  memory.half_life_ms = bytes_.Below(4);
  for (int i = bytes_.Below(3); i > 0; --i) {
    const double spent = bytes_.Once(8) ? -1 : 1000.0 * bytes_.Byte();
    memory.queues.push_back({Queue(), {{"gpu", spent}, {"example.com/fpga", 7}}, {}});
    memory.queues.back().users.push_back({bytes_.Below(2) == 0 ? "" : "ann", {{"gpu", spent}}});
  }
  return {memory};
}

NodeSpec History::MakeNode(std::string name) {
  NodeSpec node;
  node.name = std::move(name);
  node.labels["kubernetes.io/hostname"] = node.name;
  if (bytes_.Below(4) != 0) node.labels["rack"] = bytes_.Below(2) == 0 ? "r0" : "r1";
  if (bytes_.Once(8))
    node.taints.push_back({"team", "x", static_cast<TaintEffect>(bytes_.Below(3))});
  node.unschedulable = bytes_.Once(16);
  node.allocatable[kCpu] = Amount({16000, 4000, 64000});
  node.allocatable[kMemory] = Amount({64 * kGib, 8 * kGib});
  node.allocatable[kPods] = Amount({110, 3, 8});
  node.allocatable[kFirstExtendedKind] = Amount({0, 2});
  if (bytes_.Once(8)) node.limits["volumes"] = bytes_.Below(4) - 1;
  for (int i = bytes_.Below(6); i > 0; --i) {
    node.devices.push_back(
        {"", bytes_.Once(4) ? "B" : "A",
         static_cast<std::int32_t>(bytes_.Pick<int>({16000, 16000, 40000, 0, kMaxDeviceMib})),
         !bytes_.Once(16)});
    if (!bytes_.Once(4)) continue;
    DeviceHardware& device = node.devices.back();
    device.modes = static_cast<SliceModes>(1 + bytes_.Below(31));  // none is as usual on the wire
    device.mig_model = bytes_.Pick<const char*>({"A100-40GB", "A30-24GB", "", "A100"});
    device.split_count = bytes_.Below(3);
    device.mps_clients = 1 + bytes_.Below(4);
    device.replicas = bytes_.Below(3);
    device.compute_factor = bytes_.Pick<int>({1000, 2000, 500});
    device.memory_factor = bytes_.Pick<int>({1000, 1500, 20000});
    if (bytes_.Once(3)) device.uuid = bytes_.Below(2) == 0 ? "u" : "v";
  }
  return node;
}

QueueSpec History::MakeQueue(std::string name) {
  QueueSpec queue;
  queue.name = std::move(name);
  if (bytes_.Once(4)) queue.parent = Queue();
  queue.weight = bytes_.Once(32) ? 0 : 1;
  if (bytes_.Once(3)) {
    const Kind kind = static_cast<Kind>(bytes_.Below(6));
    queue.limit[kind] = Amount({2000, 8000, 4, 1});
    queue.limited_kinds |= KindSet{1} << kind;
  }
  if (bytes_.Once(16)) queue.state = static_cast<QueueState>(bytes_.Below(3));
  return queue;
}

DeviceRequest History::MakeDevices() {
  if (bytes_.Once(4)) {
    const auto sharing = static_cast<Sharing>(bytes_.Below(4));
    DeviceRequest asked{1, bytes_.Pick<int>({500, 250, 1000}), bytes_.Pick<int>({0, 4000}),
                        sharing};
    if (sharing != Sharing::kMig) return asked;
    asked.compute = asked.memory_mib = 0;
    asked.mig_profile =
        bytes_.Pick<const char*>({"1g.5gb", "2g.10gb", "3g.20gb", "1g.5gb+me", "9g.99gb"});
    return asked;
  }
  switch (bytes_.Below(8)) {
    case 0:
    case 1:
      return {1, 1000, 0};
    case 2:
      return {2, 1000, 0};
    case 3:
      return {bytes_.Below(6), 1000, 0};
    case 4:
      return {1, bytes_.Pick<int>({500, 250, 300, 100}), bytes_.Pick<int>({0, 4000, 9000})};
    case 5:
      return {2, 500, 4000};
    case 6:
      return {1, 0, bytes_.Pick<int>({4000, 8000})};
    default:
      return {static_cast<std::int32_t>(Amount({1, 3})) % 100000,
              static_cast<std::int32_t>(bytes_.Number<std::int16_t>()),
              static_cast<std::int32_t>(bytes_.Number<std::int16_t>())};
  }
}

NodeConstraints History::MakeConstraints() {
  using Operator = LabelRequirement::Operator;
  NodeConstraints constraints;
  switch (bytes_.Below(9)) {
    case 8:
      constraints.mask = bytes_.Below(2) == 0 ? "m0" : "m1";
      break;
    case 0:
      constraints.selector["rack"] = "r0";
      break;
    case 1:
      constraints.tolerations.push_back({"team", "x"});
      break;
    case 2:
      constraints.device_models = {bytes_.Below(2) == 0 ? "A" : "B"};
      if (bytes_.Once(3)) constraints.excluded_models = {"B"};
      if (bytes_.Once(3)) constraints.device_uuids = {"u"};
      if (bytes_.Once(3)) constraints.excluded_uuids = {"v"};
      break;
    case 3:
      constraints.affinity.push_back(
          {{{"rack", static_cast<Operator>(bytes_.Below(6)), {"r1"}}}, {}});
      break;
    case 4:
      constraints.affinity.push_back({{}, {{"metadata.name", Operator::kIn, {Node()}}}});
      break;
    default:
      break;
  }
  return constraints;
}

PodTemplate History::MakePod() {
  PodTemplate pod;
  for (int i = bytes_.Once(8) ? bytes_.Below(4) : 1; i > 0; --i) {
    ContainerSpec& container = pod.containers.emplace_back();
    if (bytes_.Once(6)) container.kind = static_cast<ContainerKind>(bytes_.Below(3));
    container.requests[kCpu] = Amount({1000, 0, 4000});
    container.requests[kMemory] = Amount({kGib, 0});
    if (bytes_.Once(8)) container.requests[kFirstExtendedKind] = Amount({1});
    if (bytes_.Below(4) != 0) container.devices = MakeDevices();
  }
  if (bytes_.Once(16)) pod.overhead[kCpu] = Amount({250});
  if (bytes_.Once(8)) pod.user_id = 1000;
  if (bytes_.Once(3)) pod.constraints = MakeConstraints();
  if (bytes_.Once(6)) {
    pod.limits.push_back({bytes_.Below(2) == 0 ? "g" : "h",
                          bytes_.Below(2) == 0 ? kHostnameKey : "rack", bytes_.Below(4)});
  }
  if (bytes_.Once(8)) {
    pod.limits.push_back({"volumes", bytes_.Once(16) ? kClusterKey : kHostnameKey, 1, true,
                          bytes_.Below(3), {"a"}});
  }
  return pod;
}

JobSpec History::MakeJob(std::string uid) {
  JobSpec job;
  job.uid = job.name = std::move(uid);
  job.queue = Queue();
  job.priority = bytes_.Below(3);
  job.movable = job.priority != 1;
  job.estimated_runtime_ms = job.priority * 40;
  job.created = bytes_.Byte();
  std::int32_t replicas = 0;
  for (int i = bytes_.Once(3) ? bytes_.Below(3) : 1; i > 0; --i) {
    RoleSpec& role = job.gang.roles.emplace_back();
    role.name = Role();
    role.replicas =
        bytes_.Once(16) ? bytes_.Pick<int>({-1, 0, 40, kMaxTasks + 1}) : 1 + bytes_.Below(6);
    role.min = bytes_.Once(4) ? bytes_.Below(6) : 0;
    role.pod = MakePod();
    replicas += role.replicas;
  }
  job.gang.min_member = bytes_.Below(2) == 0 ? replicas : bytes_.Below(8);
  job.pods_exist = bytes_.Once(4);
  if (bytes_.Once(3)) job.user = bytes_.Below(2) == 0 ? "ann" : "bob";
  if (job.created % 16 == 5) job.locality = {Locality::Mode::kRequired, 1, ""};
  if (job.created % 64 == 6) job.locality = {Locality::Mode::kRequired, -1, "t"};
  if (job.created % 8 == 3) {
    for (const char* name : {"a", "b"}) {
      GroupSpec& group = job.gang.groups.emplace_back();
      group.name = name;
      group.min_member = bytes_.Below(5);
      group.elastic = bytes_.Below(2) == 0;
      if (job.created % 16 == 3 && group.name == "b") group.parent = "a";
      if (job.created % 64 == 3 && group.name == "a") group.parent = "b";
      if (bytes_.Below(2) == 0) group.locality = {Locality::Mode::kRequired, bytes_.Below(3), ""};
    }
    for (RoleSpec& role : job.gang.roles) role.group = bytes_.Pick<const char*>({"a", "b", ""});
    job.gang.groups.resize(static_cast<std::size_t>(bytes_.Below(3)));
    if (job.gang.groups.empty()) {
      for (RoleSpec& role : job.gang.roles) role.group.clear();
    }
  }
  return job;
}

Slices History::MakeSlices() {
  Slices slices;
  for (int i = bytes_.Below(4); i > 0; --i) {
    const bool whole = bytes_.Below(2) == 0;
    Slice& slice = slices.emplace_back(Slice{
        static_cast<std::uint16_t>(bytes_.Below(2)), static_cast<std::uint16_t>(bytes_.Below(7)),
        whole ? SliceMode::kWhole : SliceMode::kFraction, whole ? 1000 : 500,
        bytes_.Once(16) ? bytes_.Number<std::int32_t>() : 4000});
    if (!bytes_.Once(4)) continue;
    slice.mode = static_cast<SliceMode>(bytes_.Below(kSliceModes));
    slice.mig_profile = static_cast<std::uint8_t>(bytes_.Below(12));
    slice.mig_start = static_cast<std::uint8_t>(bytes_.Below(9));
  }
  return slices;
}

TaskFact History::MakeTask() {
  TaskFact task;
  task.uid = Uid();
  if (bytes_.Below(3) != 0) {
    task.job = Job();
    task.role = Role();
    task.index = bytes_.Once(16) ? -1 : bytes_.Below(8);
  }
  if (task.job.empty() != bytes_.Once(32)) task.pod = MakePod();
  task.phase = static_cast<TaskPhase>(bytes_.Below(7));
  if (!bytes_.Once(16)) task.node = Node();
  if (bytes_.Below(2) == 0) task.slices = MakeSlices();
  return task;
}

EngineConfig History::MakeConfig() {
  EngineConfig config;
  const std::vector<std::string> scores = {"binpack",       "spread", "bestfit",
                                           "dotprod",       "fgd",    "gpupacking",
                                           "gpuclustering", "random", "none"};
  config.node_scores = {{bytes_.Pick(scores), 1}};
  if (bytes_.Once(8)) config.node_scores.push_back({bytes_.Pick(scores), bytes_.Below(5)});
  config.device_scores = {{bytes_.Pick(scores), 1}};
  config.ties = bytes_.Below(2) == 0 ? Ties::kFirstName : Ties::kRandom;
  config.seed = bytes_.Byte();
  config.expected_pods = {{1000, 1, 1000, {}, 0.75}, {500, 1, 500, {"A"}, 0.25}};
  config.search_budget = bytes_.Once(16) ? 0 : 50 + 20 * bytes_.Below(256);
  config.assume_timeout_ms = bytes_.Once(16) ? 0 : 1 + bytes_.Byte();
  config.full_verify_every = 0;  // the target does it itself
  if (bytes_.Once(32)) config.disabled_actions = {"allocate"};
  if (bytes_.Once(4)) config.disabled_actions = {"reclaim", "preempt"};
  config.eviction_budget = 500;
  config.moves.mode = static_cast<MoveSettings::Mode>(config.seed % 3);
  config.moves.budget = 500;
  config.moves.return_timeout_ms = 100;
  config.reservations.mode = static_cast<ReservationSettings::Mode>(config.seed / 4 % 3);
  config.reservations.order = static_cast<ReservationSettings::Order>(config.seed / 16 % 2);
  config.reservations.count = 1 + static_cast<std::int32_t>(config.seed / 32 % 3);
  if (bytes_.Once(3)) config.usage_half_life_ms = bytes_.Pick<int>({-1, 1, 100, 100'000});
  if (bytes_.Once(8)) config.usage_weight_permille = bytes_.Pick<int>({-1, 0, 3000});
  if (config.seed % 8 == 1) config.enqueue_gate = EnqueueGate::kVolcano;
  if (config.seed % 64 == 3) config.overcommit_permille = 999;
  return config;
}

}  // namespace tephra
