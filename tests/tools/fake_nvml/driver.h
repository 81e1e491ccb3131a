// FakeDriver: what every call of the fake library goes through: the machine, its state under a
// lock, the control file, and the faults that it asks for.
#pragma once

#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/tools/fake_nvml/control.h"
#include "tests/tools/fake_nvml/machine.h"
#include "tests/tools/fake_nvml/state.h"
#include "plugins/node/nvml/nvml_abi.h"

namespace tephra::node {

namespace abi = nvml_abi;

// A set of events, from its beginning on.
struct FakeEventSet {
  std::array<unsigned long long, kMostFakeGpus> wanted{};
  std::array<bool, kMostFakeGpus> reported_lost{};
  std::size_t next = 0;  // of FakeControl::events
};

class FakeDriver {
 public:
  static FakeDriver& Get();

  // Calls count; the last end frees everything.
  abi::Return Begin();
  abi::Return End();

  // What a call works on, for as long as it runs.
  struct Scene {
    const FakeMachine& machine;
    const FakeControl& control;
    FakeStateData& state;
    FakeDriver& driver;
  };
  // Runs `work(Scene&)` alone on the machine, with the faults that are due. `name`: of the
  // function.
  template <class Work>
  abi::Return Run(const char* name, const Work& work) {
    std::uint64_t hung = 0;  // by which control file
    std::optional<abi::Return> code;
    while (!(code = Try(name, work, hung))) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return *code;
  }

  // Capability files appear and go with instances, as the kernel module keeps them.
  void TellInstances(std::size_t gpu);

  std::vector<std::unique_ptr<FakeEventSet>> event_sets;

 private:
  // Nothing: the call hangs, without a lock.
  template <class Work>
  std::optional<abi::Return> Try(const char* name, const Work& work, std::uint64_t& hung) {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (state_ == nullptr) return abi::kUninitialized;
    const FakeState::Lock lock(*state_);
    const FakeControl& control = control_->Now();
    if (hung != 0 && hung == control_->identity()) return std::nullopt;
    Settle(control);
    const FakeControl::Fault* fault = hung == 0 ? Due(name, control) : nullptr;
    if (fault != nullptr && fault->hang) {
      hung = control_->identity();
      return std::nullopt;
    }
    if (fault != nullptr && !fault->after) return Strike(*fault);
    Scene scene{machine_, control, state_->data(), *this};
    const abi::Return code = work(scene);
    return fault == nullptr || code != abi::kSuccess ? code : Strike(*fault);
  }
  void Settle(const FakeControl& control);
  const FakeControl::Fault* Due(const char* name, const FakeControl& control);
  static abi::Return Strike(const FakeControl::Fault& fault);
  void TellNuma() const;

  std::mutex mutex_;
  int begun_ = 0;
  std::string root_;
  FakeMachine machine_;
  std::unique_ptr<FakeControlFile> control_;
  std::unique_ptr<FakeState> state_;
};

// Handles are numbers: kind, GPU, slots, and a serial number, so that one of an instance that is
// gone is known for what it is.
struct FakeHandle {
  enum Kind : std::uint64_t { kGpu = 1, kMigDevice, kGpuInstance, kComputeInstance };
  Kind kind = kGpu;
  std::size_t gpu = 0, slot = 0, compute = 0;
  std::uint32_t serial = 0;

  template <class Handle>
  Handle As() const {
    return reinterpret_cast<Handle>(std::uint64_t{serial} << 32 | kind << 24 | gpu << 16 |
                                    slot << 8 | compute);
  }
  template <class Handle>
  static FakeHandle Of(Handle handle) {
    const auto bits = reinterpret_cast<std::uint64_t>(handle);
    return {static_cast<Kind>(bits >> 24 & 0xff), bits >> 16 & 0xff, bits >> 8 & 0xff, bits & 0xff,
            static_cast<std::uint32_t>(bits >> 32)};
  }
};

// The GPU of a device handle, or why there is none: -1 and the code.
abi::Return FindGpu(const FakeDriver::Scene& scene, abi::Device device, std::size_t* gpu);

}  // namespace tephra::node
