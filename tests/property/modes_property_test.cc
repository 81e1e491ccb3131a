// Laws of the modes in which devices are shared: over any history no device is ever in two of them
// by our decisions, nor over a rule of the one that it is in. Counted slice by slice from the
// tasks, without the rows and the rules that the decisions went by.
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "plugins/registry.h"
#include "tests/property/laws.h"
#include "tests/support/mirror.h"
#include "tests/support/random_history.h"
#include "topology/mig.h"

namespace tephra {
namespace {

constexpr int kEvents = 150;

struct Held {
  Slice slice;
  TaskId task;
  std::uint32_t user = 0;
  ContainerKind kind = ContainerKind::kApp;
  std::string profile;  // that was asked for
};

std::string InstanceText(const Held& held, const DeviceHardware& hardware, std::vector<int>& slices,
                         std::map<int, int>& limits) {
  const MigModel* model = FindMigModel(hardware.mig_model);
  if (model == nullptr || held.slice.mig_profile >= model->profiles.size())
    return "no such profile";
  const MigProfile& profile = model->profiles[held.slice.mig_profile];
  if (profile.name != held.profile) return "another profile than asked";
  const int start = held.slice.mig_start;
  if ((profile.starts >> start & 1) == 0) return "begins where it may not";
  for (int i = start; i < start + profile.memory_slices; ++i) {
    if (++slices[static_cast<std::size_t>(i)] > 1) return "a memory slice twice";
  }
  if (profile.limit >= 0 && ++limits[profile.limit] > 1) return "a limit passed";
  return "";
}

// What is wrong with a device that these hold at one time; empty: nothing.
std::string Fault(const DeviceHardware& hardware, const std::vector<Held>& at_once) {
  std::int64_t compute = 0, memory = 0;
  std::vector<int> slices(8);
  std::map<int, int> limits;
  const SliceMode mode = at_once.front().slice.mode;
  for (const Held& held : at_once) {
    if (held.slice.mode != mode) return "two modes";
    compute += held.slice.compute;
    memory += held.slice.memory_mib;
    if (mode == SliceMode::kMps && held.user != at_once.front().user) return "two users";
    if (mode != SliceMode::kMig) continue;
    const std::string fault = InstanceText(held, hardware, slices, limits);
    if (!fault.empty()) return fault;
  }
  const auto over = [&](std::int64_t bound) {
    return bound != 0 && static_cast<std::int64_t>(at_once.size()) > bound;
  };
  const bool fractions = mode == SliceMode::kFraction;
  if (!hardware.may(mode)) return "a mode that it may not be in";
  if (compute > (fractions ? hardware.compute_factor : 1000)) return "too much compute";
  if (memory >
      std::int64_t{hardware.memory_mib} * (fractions ? hardware.memory_factor : 1000) / 1000)
    return "too much memory";
  if (mode == SliceMode::kWhole && at_once.size() > 1) return "whole, for two";
  if (fractions && over(hardware.split_count)) return "split too often";
  if (mode == SliceMode::kMps && over(hardware.mps_clients)) return "too many clients";
  if (mode == SliceMode::kTimeSlice && over(hardware.replicas)) return "too many replicas";
  return "";
}

// Of a device: all that lasts, and each init container in place of its own pod's apps.
std::string FaultAtAnyTime(const DeviceHardware& hardware, const std::vector<Held>& all) {
  std::vector<Held> lasting;
  for (const Held& held : all) {
    if (held.kind != ContainerKind::kInit) lasting.push_back(held);
  }
  if (!lasting.empty()) {
    const std::string fault = Fault(hardware, lasting);
    if (!fault.empty()) return fault;
  }
  for (const Held& init : all) {
    if (init.kind != ContainerKind::kInit) continue;
    std::vector<Held> beside;
    for (const Held& held : lasting) {
      const bool own = held.task == init.task;
      const bool before =
          held.kind == ContainerKind::kSidecar && held.slice.container < init.slice.container;
      if (!own || before) beside.push_back(held);
    }
    beside.push_back(init);
    const std::string fault = Fault(hardware, beside);
    if (!fault.empty()) return "in an init container: " + fault;
  }
  return "";
}

struct Counts {
  std::int64_t plans = 0, devices = 0;
  std::map<SliceMode, std::int64_t> by_mode;
};

// Of devices that only our own tasks hold, and that are as they were when these were placed.
std::string CheckDevices(const Books& books, const std::set<std::string>& changed, Counts& counts) {
  for (const NodeId node : books.hardware.ranked()) {
    const NodeSpec& spec = books.hardware.spec(node);
    if (changed.contains(spec.name)) continue;
    std::map<int, std::vector<Held>> by_device;
    std::set<int> foreign;
    for (const TaskId id : books.tasks_on[node.index()]) {
      const TaskRow& task = books.tasks[id.index()];
      const PodTemplate& pod = books.classes[task.cls].pod;
      for (const Slice& slice : task.slices) {
        // A reservation may overlap with tasks that still have to leave.
        if (!task.job.valid() || task.phase == TaskPhase::kReserved) foreign.insert(slice.device);
        if (slice.container >= pod.containers.size()) return "no such container";
        const ContainerSpec& container = pod.containers[slice.container];
        by_device[slice.device].push_back(
            {slice, id, pod.user_id, container.kind, container.devices.mig_profile});
      }
    }
    for (const auto& [device, held] : by_device) {
      if (foreign.contains(device)) continue;
      ++counts.devices;
      ++counts.by_mode[held.front().slice.mode];
      const std::string fault =
          FaultAtAnyTime(spec.devices.at(static_cast<std::size_t>(device)), held);
      if (!fault.empty()) return spec.name + "/" + std::to_string(device) + ": " + fault;
    }
  }
  return "";
}

TEST_CASE("No device is ever in two modes or over a rule of its mode, whatever happens") {
  Counts counts;
  ForEachSeed(300, [&](std::uint64_t seed) {
    Engine engine(DefaultAssembly());
    const CaseSize size{.nodes = 3, .devices = 3, .queue_limits = seed % 2 == 0, .modes = true};
    RandomHistory history(seed + 30000000, size, {});
    Mirror mirror;
    EngineConfig config;
    config.assume_timeout_ms = 20 * kSecondMs;
    REQUIRE(engine.Apply(ConfigChanged{config}).ok());
    std::set<std::string> changed;
    const auto tell = [&](const Event& event) {
      if (const auto* e = std::get_if<NodeUpserted>(&event)) {
        const auto before = mirror.nodes().find(e->node.name);
        if (before != mirror.nodes().end() && before->second.devices != e->node.devices) {
          changed.insert(e->node.name);
        }
      }
      REQUIRE(engine.Apply(event).ok());
      mirror.Apply(event);
    };
    for (const Event& event : history.Opening()) tell(event);
    TimeMs now = 0;
    for (int i = 0; i < kEvents; ++i) {
      INFO("event " << i);
      tell(history.Next(mirror));
      now += static_cast<TimeMs>(i % 5) * kSecondMs;
      mirror.Expire(now, config.assume_timeout_ms);
      const Plan plan = engine.Tick(now);
      REQUIRE(mirror.Follow(NameOf(engine.state(), plan), now, Mirror::Judge::kSoundness) == "");
      REQUIRE(engine.state().CheckBooks() == "");
      REQUIRE(CheckDevices(engine.state().books(), changed, counts) == "");
      ++counts.plans;
    }
  });
  std::printf("%lld plans, %lld devices looked at, 0 faults\n",
              static_cast<long long>(counts.plans), static_cast<long long>(counts.devices));
  const char* words[] = {"whole", "fraction", "mps", "time slice", "mig"};
  for (const auto& [mode, devices] : counts.by_mode) {
    std::printf("%s: %lld\n", words[static_cast<int>(mode)], static_cast<long long>(devices));
  }
}

}  // namespace
}  // namespace tephra
