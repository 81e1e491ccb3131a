#include "tests/tools/fake_nvml/driver.h"

#include <cctype>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace tephra::node {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

void WriteAccess(const std::filesystem::path& folder, unsigned minor) {
  std::error_code ignored;
  std::filesystem::create_directories(folder, ignored);
  std::ofstream(folder / "access")
      << "DeviceFileMinor: " << minor << "\nDeviceFileMode: 256\nDeviceFileModify: 1\n";
}

}  // namespace

FakeDriver& FakeDriver::Get() {
  static FakeDriver driver;
  return driver;
}

abi::Return FakeDriver::Begin() {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (begun_++ > 0) return abi::kSuccess;
  std::stringstream text;
  text << std::ifstream(Environment("TEPHRA_FAKE_NVML")).rdbuf();
  absl::StatusOr<FakeMachine> machine = ParseFakeMachine(text.str());
  absl::Status status = machine.status();
  if (status.ok()) {
    absl::StatusOr<std::unique_ptr<FakeState>> state =
        FakeState::Open(Environment("TEPHRA_FAKE_NVML_STATE"), *machine);
    status = state.status();
    if (status.ok()) state_ = *std::move(state);
  }
  if (!status.ok()) {
    std::fprintf(stderr, "%s (TEPHRA_FAKE_NVML names the file)\n", status.ToString().c_str());
    begun_ = 0;
    return abi::kDriverNotLoaded;
  }
  machine_ = *std::move(machine);
  control_ = std::make_unique<FakeControlFile>(Environment("TEPHRA_FAKE_NVML_CONTROL"));
  root_ = Environment("TEPHRA_FAKE_NVML_ROOT");
  TellNuma();
  return abi::kSuccess;
}

abi::Return FakeDriver::End() {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (begun_ == 0) return abi::kUninitialized;
  if (--begun_ > 0) return abi::kSuccess;
  event_sets.clear();
  state_.reset();
  control_.reset();
  return abi::kSuccess;
}

// Resets that have been made since the last call.
void FakeDriver::Settle(const FakeControl& control) {
  FakeStateData& state = state_->data();
  for (std::size_t i = 0; i < machine_.gpus.size(); ++i) {
    FakeGpuState& gpu = state.gpu[i];
    if (control.gpus[i].resets <= gpu.resets) continue;
    gpu.resets = control.gpus[i].resets;
    gpu.mig = gpu.mig_pending;
    gpu.compute_mode = 0;
    gpu.instances = {};
    TellInstances(i);
  }
}

const FakeControl::Fault* FakeDriver::Due(const char* name, const FakeControl& control) {
  FakeStateData& state = state_->data();
  if (state.control != control_->identity()) {
    state.control = control_->identity();
    state.calls = {};
  }
  const FakeControl::Fault* due = nullptr;
  for (std::size_t i = 0; i < control.faults.size(); ++i) {
    const FakeControl::Fault& fault = control.faults[i];
    if (fault.function == name && ++state.calls[i] == fault.call) due = &fault;
  }
  return due;
}

abi::Return FakeDriver::Strike(const FakeControl::Fault& fault) {
  if (fault.abort) std::_Exit(86);  // no handlers, as when it is killed
  return fault.error;
}

void FakeDriver::TellNuma() const {
  if (root_.empty()) return;
  for (const FakeGpu& gpu : machine_.gpus) {
    std::string name = gpu.bus_id().substr(4);
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    const auto folder = std::filesystem::path(root_) / "sys/bus/pci/devices" / name;
    std::error_code ignored;
    std::filesystem::create_directories(folder, ignored);
    std::ofstream(folder / "numa_node") << gpu.numa << '\n';
  }
}

void FakeDriver::TellInstances(std::size_t gpu) {
  if (root_.empty()) return;
  const auto folder = std::filesystem::path(root_) / "proc/driver/nvidia/capabilities" /
                      ("gpu" + std::to_string(gpu)) / "mig";
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  // Numbers as the module lays them out: a stretch for each GPU, in it one for each instance.
  constexpr unsigned kOfGpu = 135, kOfInstance = 9, kFirst = 3;
  for (const FakeGpuInstance& instance : state_->data().gpu[gpu].instances) {
    if (!instance.used) continue;
    const unsigned minor = kFirst + static_cast<unsigned>(gpu) * kOfGpu + instance.id * kOfInstance;
    const auto gi = folder / ("gi" + std::to_string(instance.id));
    WriteAccess(gi, minor);
    for (const FakeComputeInstance& compute : instance.compute) {
      if (compute.used)
        WriteAccess(gi / ("ci" + std::to_string(compute.id)), minor + 1 + compute.id);
    }
  }
}

abi::Return FindGpu(const FakeDriver::Scene& scene, abi::Device device, std::size_t* gpu) {
  const FakeHandle handle = FakeHandle::Of(device);
  if (handle.kind != FakeHandle::kGpu || handle.gpu >= scene.machine.gpus.size()) {
    return abi::kInvalidArgument;
  }
  *gpu = handle.gpu;
  return scene.control.gpus[handle.gpu].lost ? abi::kGpuIsLost : abi::kSuccess;
}

}  // namespace tephra::node
