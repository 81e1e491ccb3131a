// The calls about events.
#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/tools/fake_nvml/exports.h"

namespace tephra::node {
namespace {

constexpr unsigned long long kKnownEvents =
    abi::kSingleBitEcc | abi::kDoubleBitEcc | abi::kXidCritical;
constexpr std::chrono::milliseconds kLook{5};

// The next event that the set waits for, if it has come.
abi::Return Next(Scene& scene, FakeEventSet& set, abi::EventData* data) {
  for (std::size_t i = 0; i < kMostFakeGpus; ++i) {
    const bool lost = scene.control.gpus[i].lost && set.wanted[i] != 0;
    const bool news = lost && !set.reported_lost[i];
    set.reported_lost[i] = lost;
    if (news) return abi::kGpuIsLost;
  }
  set.next = std::min(set.next, scene.control.events.size());
  while (set.next < scene.control.events.size()) {
    const FakeControl::Event& event = scene.control.events[set.next++];
    const unsigned long long type = event.xid != 0 ? abi::kXidCritical : abi::kDoubleBitEcc;
    if ((set.wanted[event.gpu] & type) == 0) continue;
    *data = {FakeHandle{FakeHandle::kGpu, event.gpu}.As<abi::Device>(), type, event.xid,
             event.gi.value_or(abi::kNoInstance), event.ci.value_or(abi::kNoInstance)};
    return abi::kSuccess;
  }
  return abi::kTimeout;
}

}  // namespace

abi::Return nvmlEventSetCreate(abi::EventSet* set) {
  return FakeDriver::Get().Run("nvmlEventSetCreate", [&](Scene& scene) {
    auto& made = scene.driver.event_sets.emplace_back(std::make_unique<FakeEventSet>());
    made->next = scene.control.events.size();
    *set = reinterpret_cast<abi::EventSet>(made.get());
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetSupportedEventTypes(abi::Device device, unsigned long long* types) {
  return FakeDriver::Get().Run("nvmlDeviceGetSupportedEventTypes", [&](Scene& scene) {
    std::size_t gpu = 0;
    *types = kKnownEvents;
    return FindGpu(scene, device, &gpu);
  });
}

abi::Return nvmlDeviceRegisterEvents(abi::Device device, unsigned long long types,
                                     abi::EventSet set) {
  return FakeDriver::Get().Run("nvmlDeviceRegisterEvents", [&](Scene& scene) {
    std::size_t gpu = 0;
    const abi::Return code = FindGpu(scene, device, &gpu);
    if (code != abi::kSuccess) return code;
    if ((types & ~kKnownEvents) != 0) return abi::kNotSupported;
    reinterpret_cast<FakeEventSet*>(set)->wanted[gpu] |= types;
    return abi::kSuccess;
  });
}

abi::Return nvmlEventSetWait_v2(abi::EventSet set, abi::EventData* data, unsigned timeout_ms) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  for (const char* name = "nvmlEventSetWait_v2";; name = "") {  // one call, however often it looks
    const abi::Return code = FakeDriver::Get().Run(name, [&](Scene& scene) {
      return Next(scene, *reinterpret_cast<FakeEventSet*>(set), data);
    });
    if (code != abi::kTimeout || std::chrono::steady_clock::now() >= end) return code;
    std::this_thread::sleep_for(kLook);
  }
}

abi::Return nvmlEventSetFree(abi::EventSet set) {
  return FakeDriver::Get().Run("nvmlEventSetFree", [&](Scene& scene) {
    auto& sets = scene.driver.event_sets;
    const auto gone = std::remove_if(sets.begin(), sets.end(), [&](const auto& each) {
      return each.get() == reinterpret_cast<FakeEventSet*>(set);
    });
    if (gone == sets.end()) return abi::kInvalidArgument;
    sets.erase(gone, sets.end());
    return abi::kSuccess;
  });
}

}  // namespace tephra::node
