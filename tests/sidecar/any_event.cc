#include "tests/sidecar/any_event.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "engine/config_fields.h"

namespace tephra {
namespace {

template <class Int>
Int Number(Dice& dice) {
  switch (dice.Below(5)) {
    case 0:
      return 0;
    case 1:
      return std::numeric_limits<Int>::max();
    case 2:
      return std::numeric_limits<Int>::min();
    case 3:
      return static_cast<Int>(dice.Below(1000));
    default:
      return static_cast<Int>(dice.Next());
  }
}

double Real(Dice& dice) {
  const std::vector<double> edges = {
      0.0,         -0.0, 0.1, 1.0 / 3, 5e-324, 1e308, std::numeric_limits<double>::infinity(),
      std::nan("")};
  return dice.Percent(50) ? dice.Pick(edges) : std::bit_cast<double>(dice.Next());
}

std::string Word(Dice& dice) {
  static const std::vector<std::string> kWords = {"",
                                                  "a",
                                                  "node-17",
                                                  "kubernetes.io/hostname",
                                                  "ünïcode",
                                                  "日本語",
                                                  "🌋",
                                                  std::string(300, 'x'),
                                                  std::string("zero\0inside", 11),
                                                  "\n\t\"quoted\""};
  return dice.Pick(kWords);
}

template <class Enum>
Enum OneOf(Dice& dice, Enum last) {
  return static_cast<Enum>(dice.Below(static_cast<int>(last) + 1));
}

template <class Make>
auto Several(Dice& dice, Make make) {
  std::vector<decltype(make())> values;
  for (int i = dice.Below(4); i > 0; --i) values.push_back(make());
  return values;
}

std::vector<std::string> Words(Dice& dice) {
  return Several(dice, [&] { return Word(dice); });
}

Resources Amounts(Dice& dice) {
  Resources amounts;
  for (int i = dice.Below(4); i > 0; --i) {
    amounts[static_cast<Kind>(dice.Below(kMaxKinds))] = Number<std::int64_t>(dice);
  }
  return amounts;
}

Labels SomeLabels(Dice& dice) {
  Labels labels;
  for (int i = dice.Below(4); i > 0; --i) labels[Word(dice)] = Word(dice);
  return labels;
}

Slices SomeSlices(Dice& dice) {
  return Several(dice, [&] {
    return Slice{Number<std::uint16_t>(dice),  Number<std::uint16_t>(dice),
                 OneOf(dice, SliceMode::kMig), Number<std::int32_t>(dice),
                 Number<std::int32_t>(dice),   Number<std::uint8_t>(dice),
                 Number<std::uint8_t>(dice)};
  });
}

NodeLinks SomeLinks(Dice& dice) {
  NodeLinks links(dice.Percent(50) ? 0 : dice.Below(kMaxLinkedGpus + 1));
  for (int a = 0; a < links.gpus(); ++a) {
    links.SetNuma(a, static_cast<std::int16_t>(dice.From(-1, 0x7fff)));
    for (int b = 0; b < a; ++b) {
      // On the wire no speed stands for the usual one.
      const auto speed = Number<std::int32_t>(dice);
      links.Set(a, b,
                {speed == 0 ? 1 : speed, OneOf(dice, LinkType::kNvLink),
                 static_cast<std::uint8_t>(dice.Below(256))});
    }
  }
  return links;
}

NodeSpec SomeNode(Dice& dice) {
  NodeSpec node;
  node.name = Word(dice);
  node.labels = SomeLabels(dice);
  node.taints = Several(dice, [&] {
    return Taint{Word(dice), Word(dice), OneOf(dice, TaintEffect::kNoExecute)};
  });
  node.unschedulable = dice.Percent(50);
  node.allocatable = Amounts(dice);
  node.devices = Several(dice, [&] {
    DeviceHardware device{Word(dice), Word(dice), Number<std::int32_t>(dice), dice.Percent(50)};
    if (dice.Percent(50)) return device;
    device.modes = static_cast<SliceModes>(dice.From(1, (1 << kSliceModes) - 1));
    device.split_count = Number<std::int32_t>(dice);
    device.replicas = Number<std::int32_t>(dice);
    device.mps_clients = dice.From(1, 1000);
    device.compute_factor = dice.From(kNoFactor, kMostFactor);
    device.memory_factor = dice.From(kNoFactor, kMostFactor);
    device.mig_model = Word(dice);
    return device;
  });
  node.gpu_links = SomeLinks(dice);
  for (int i = dice.Below(3); i > 0; --i) node.limits[Word(dice)] = Number<std::int32_t>(dice);
  return node;
}

std::vector<LabelRequirement> Requirements(Dice& dice) {
  return Several(dice, [&] {
    return LabelRequirement{Word(dice), OneOf(dice, LabelRequirement::Operator::kLt), Words(dice)};
  });
}

NodeConstraints Constraints(Dice& dice) {
  NodeConstraints constraints;
  if (dice.Percent(30)) return constraints;
  constraints.selector = SomeLabels(dice);
  constraints.affinity = Several(dice, [&] {
    return NodeSelectorTerm{Requirements(dice), Requirements(dice)};
  });
  constraints.tolerations = Several(dice, [&] {
    return Toleration{Word(dice), Word(dice), OneOf(dice, Toleration::Operator::kExists),
                      dice.Percent(50), OneOf(dice, TaintEffect::kNoExecute)};
  });
  constraints.device_models = Words(dice);
  constraints.device_uuids = Words(dice);
  constraints.excluded_models = Words(dice);
  constraints.excluded_uuids = Words(dice);
  constraints.mask = Word(dice);
  return constraints;
}

PodTemplate Pod(Dice& dice) {
  PodTemplate pod;
  pod.containers = Several(dice, [&] {
    ContainerSpec container{Word(dice), OneOf(dice, ContainerKind::kSidecar), Amounts(dice), {}};
    if (dice.Percent(50)) {
      container.devices = {Number<std::int32_t>(dice), Number<std::int32_t>(dice),
                           Number<std::int32_t>(dice)};
      container.devices.sharing = OneOf(dice, Sharing::kMig);
      if (container.devices.sharing != Sharing::kHook) container.devices.mig_profile = Word(dice);
    }
    return container;
  });
  pod.overhead = Amounts(dice);
  pod.user_id = Number<std::uint32_t>(dice);
  pod.constraints = Constraints(dice);
  pod.limits = Several(dice, [&] {
    return DomainLimit{Word(dice), Word(dice), Number<std::int32_t>(dice), dice.Percent(50),
                       Number<std::int32_t>(dice), Words(dice)};
  });
  return pod;
}

Locality Near(Dice& dice) {
  return {OneOf(dice, Locality::Mode::kRequired), Number<std::int32_t>(dice), Word(dice)};
}

GangSpec Gang(Dice& dice) {
  GangSpec gang;
  gang.min_member = Number<std::int32_t>(dice);
  gang.roles = Several(dice, [&] {
    return RoleSpec{Word(dice), Number<std::int32_t>(dice), Number<std::int32_t>(dice), Pod(dice),
                    Word(dice)};
  });
  gang.groups = Several(dice, [&] {
    return GroupSpec{Word(dice), Number<std::int32_t>(dice), dice.Percent(50), Near(dice),
                     Word(dice)};
  });
  return gang;
}

QueueSpec Queue(Dice& dice) {
  QueueSpec queue;
  queue.name = Word(dice);
  queue.parent = Word(dice);
  queue.weight = Number<std::int32_t>(dice);
  queue.priority = Number<std::int32_t>(dice);
  queue.limit = Amounts(dice);
  queue.limited_kinds = static_cast<KindSet>(dice.Below(1 << kMaxKinds));
  queue.state = OneOf(dice, QueueState::kClosed);
  queue.guarantee = Amounts(dice);
  queue.deserved = Amounts(dice);
  queue.reclaimable = dice.Percent(50);
  queue.dequeue = OneOf(dice, Dequeue::kFifo);
  queue.eviction_delay_ms = Number<std::int64_t>(dice);
  return queue;
}

TaskFact Task(Dice& dice) {
  TaskFact task;
  task.uid = Word(dice);
  task.job = Word(dice);
  task.role = Word(dice);
  task.index = Number<std::int32_t>(dice);
  task.phase = OneOf(dice, TaskPhase::kAbsent);
  task.node = Word(dice);
  task.slices = SomeSlices(dice);
  if (dice.Percent(50)) task.pod = Pod(dice);
  task.disruption_budgets = Words(dice);
  task.started = Number<std::int64_t>(dice);
  task.checkpointed = Number<std::int64_t>(dice);
  task.preemptible = dice.Percent(50);
  task.terminates_by = Number<std::int64_t>(dice);
  if (dice.Percent(50)) task.priority = Number<std::int32_t>(dice);
  return task;
}

std::vector<WeightedName> Scores(Dice& dice) {
  return Several(dice, [&] { return WeightedName{Word(dice), Number<std::int32_t>(dice)}; });
}

ConfigValue SettingValue(const ConfigField& field, Dice& dice) {
  using Type = ConfigField::Type;
  switch (field.type) {
    case Type::kSwitch:
    case Type::kWord:
      return dice.Below(static_cast<int>(field.most) + 1);
    case Type::kWeightedNames:
      return Scores(dice);
    case Type::kNames:
      return Words(dice);
    case Type::kWindows:
      return Several(dice, [&] {
        return DailyWindow{Number<std::int32_t>(dice), Number<std::int32_t>(dice)};
      });
    case Type::kPods:
      return Several(dice, [&] {
        return ExpectedPod{Number<std::int64_t>(dice), Number<std::int32_t>(dice),
                           Number<std::int32_t>(dice), Words(dice), Real(dice)};
      });
    default:
      if (field.most > std::numeric_limits<std::int32_t>::max()) return Number<std::int64_t>(dice);
      return Number<std::int32_t>(dice);
  }
}

EngineConfig Config(Dice& dice) {
  EngineConfig config;
  for (const ConfigField& field : ConfigFields()) field.set(config, SettingValue(field, dice));
  return config;
}

std::vector<RememberedAmount> SomeSpent(Dice& dice) {
  return Several(dice, [&] { return RememberedAmount{Word(dice), Real(dice)}; });
}

Memory SomeMemory(Dice& dice) {
  Memory memory{
      Number<std::uint32_t>(dice), Number<std::int64_t>(dice), Number<std::int64_t>(dice), {}};
  memory.queues = Several(dice, [&] {
    RememberedQueue queue{Word(dice), SomeSpent(dice), {}};
    queue.users = Several(dice, [&] { return RememberedUser{Word(dice), SomeSpent(dice)}; });
    return queue;
  });
  return memory;
}

}  // namespace

Event AnyEvent(Dice& dice) { return AnyEvent(dice, dice.Below(kEventVariants)); }

Event AnyEvent(Dice& dice, int variant) {
  switch (variant) {
    case 0:
      return KindsDeclared{Words(dice)};
    case 1:
      return NodeUpserted{SomeNode(dice), Number<std::uint64_t>(dice)};
    case 2:
      return NodeRemoved{Word(dice)};
    case 3:
      return QueueUpserted{Queue(dice), Number<std::uint64_t>(dice)};
    case 4:
      return QueueRemoved{Word(dice)};
    case 5: {
      JobSpec job{Word(dice),
                  Word(dice),
                  Word(dice),
                  Number<std::int32_t>(dice),
                  Number<std::int64_t>(dice),
                  Gang(dice),
                  dice.Percent(50),
                  dice.Percent(50),
                  Number<std::int64_t>(dice),
                  Number<std::int64_t>(dice),
                  dice.Percent(50),
                  dice.Percent(50),
                  dice.Percent(50),
                  Number<std::int32_t>(dice),
                  {},
                  Word(dice),
                  {OneOf(dice, Locality::Mode::kRequired), Number<std::int32_t>(dice), Word(dice)},
                  Number<std::int64_t>(dice),
                  Word(dice)};
      if (dice.Percent(30)) {
        job.held.push_back({Word(dice), Number<std::int32_t>(dice), Word(dice), Task(dice).slices});
      }
      return JobUpserted{std::move(job), Number<std::uint64_t>(dice)};
    }
    case 6:
      return JobRemoved{Word(dice)};
    case 7:
      return TaskUpserted{Task(dice), Number<std::uint64_t>(dice)};
    case 8:
      return TaskRemoved{Word(dice)};
    case 9:
      return PlacementRefused{Word(dice), Word(dice), Word(dice), Word(dice), dice.Percent(50)};
    case 10:
      return ConfigChanged{Config(dice)};
    case 11:
      return MaskUpserted{Word(dice), Words(dice), Number<std::uint64_t>(dice)};
    case 12:
      return MaskRemoved{Word(dice)};
    case 13:
      return PlanStale{Word(dice), Word(dice), dice.Percent(50)};
    case 14:
      return BindFailed{Word(dice), Word(dice), Number<std::int32_t>(dice), Word(dice), Word(dice)};
    case 15:
      return DomainUpserted{
          {Word(dice), Number<std::int32_t>(dice), Word(dice), Words(dice), Words(dice)},
          Number<std::uint64_t>(dice)};
    case 16:
      return DomainRemoved{Word(dice)};
    case 17:
      return DisruptionBudgetUpserted{Word(dice), Number<std::int32_t>(dice),
                                      Number<std::uint64_t>(dice)};
    case 18:
      return DisruptionBudgetRemoved{Word(dice)};
    default:
      return MemoryRestored{SomeMemory(dice)};
  }
}

}  // namespace tephra
