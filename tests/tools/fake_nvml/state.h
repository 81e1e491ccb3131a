// FakeState: what the hardware remembers while processes come and go: MIG modes and instances. It
// lies in a file that all processes map, or in this process alone. A process that ends inside a
// call leaves it as it was after its last write, and the lock free.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/tools/fake_nvml/control.h"

namespace tephra::node {

constexpr std::size_t kFakeSlots = 8;  // GPU instances of a card, compute instances of one

struct FakeComputeInstance {
  bool used = false;
  std::uint8_t id = 0, slices = 0;
  std::uint32_t serial = 0;  // never given twice
};
struct FakeGpuInstance {
  bool used = false;
  std::uint8_t id = 0;
  std::uint8_t profile = 0;  // its place among those of the model
  std::uint8_t start = 0;
  std::uint32_t serial = 0;
  std::array<FakeComputeInstance, kFakeSlots> compute{};
};
struct FakeGpuState {
  bool mig = false, mig_pending = false;
  std::uint32_t resets = 0;
  std::uint32_t compute_mode = 0;
  std::array<FakeGpuInstance, kFakeSlots> instances{};
};

// All zeroes is the state of no machine.
struct FakeStateData {
  std::uint64_t magic = 0;
  std::uint32_t gpus_known = 0;
  std::uint32_t next_serial = 1;
  // What was asked for that no card could do: a start that the profile lacks, slices that are
  // taken.
  std::uint64_t illegal = 0;
  std::uint64_t created = 0, destroyed = 0;  // GPU instances
  std::uint64_t control = 0;                 // the control file that `calls` count for
  std::array<std::uint32_t, kMostFakeFaults> calls{};
  std::array<FakeGpuState, kMostFakeGpus> gpu{};
};

class FakeState {
 public:
  // Empty: of this process alone. Begins again if the file is absent or of another machine.
  static absl::StatusOr<std::unique_ptr<FakeState>> Open(const std::string& path,
                                                         const FakeMachine& machine);
  ~FakeState();
  FakeState(const FakeState&) = delete;
  FakeState& operator=(const FakeState&) = delete;

  FakeStateData& data() { return *data_; }

  // Keeps other processes out; threads of this one take turns by themselves.
  class Lock {
   public:
    explicit Lock(FakeState& state);
    ~Lock();
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    int file_;
  };

 private:
  FakeState() = default;
  int file_ = -1;
  FakeStateData* data_ = nullptr;
};

}  // namespace tephra::node
