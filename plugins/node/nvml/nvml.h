// Nvml: the NVIDIA driver of this node, through its management library, which is loaded at run time.
//
// A call that the driver is too old for returns Unimplemented; the other calls work. An error names
// the call and has the text of the library. Any thread: the library locks by itself. Any call may
// hang, so no lock may be held across one; Hung says when that happens.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugins/node/nvml/nvml_abi.h"
#include "topology/base/status.h"
#include "topology/links.h"

namespace tephra::node {

using NvmlDevice = nvml_abi::Device;

// What never changes while the card stays in its slot.
struct NvmlCard {
  NvmlDevice handle = nullptr;
  std::string uuid;
  std::string model;   // as the driver names it
  std::string bus_id;  // PCI, "00000000:3B:00.0"
  std::uint16_t pci_device_id = 0;
  int memory_mib = 0;
  int minor = 0;  // of /dev/nvidia<minor>
  int cuda_major = 0, cuda_minor = 0;
  std::optional<int> numa;
};

struct NvmlUse {
  // The share of the last sample in which a kernel ran. Nothing: a card in MIG mode has no such
  // figure.
  std::optional<int> compute_percent;
  std::int64_t used_memory_mib = 0;
};

struct NvmlProcess {
  unsigned pid = 0;
  std::optional<std::int64_t> memory_mib;
  std::optional<unsigned> gpu_instance, compute_instance;
};

struct NvmlProcessUse {
  unsigned pid = 0;
  int compute_percent = 0;  // of its newest sample
};

struct NvmlMigMode {
  bool on = false;
  bool pending = false;  // what it becomes with the next reset
};

// A kind of GPU instance that a card has.
struct NvmlMigProfile {
  unsigned id = 0;
  std::string name;  // "1g.5gb", as nvidia-smi has it
  int compute_slices = 0;
  int memory_mib = 0;
  int multiprocessors = 0;
  int most = 0;  // on one card
};

struct NvmlComputeInstance {
  nvml_abi::ComputeInstance handle = nullptr;
  unsigned id = 0;
  int slices = 0;
};

struct NvmlGpuInstance {
  nvml_abi::GpuInstance handle = nullptr;
  unsigned id = 0;
  unsigned profile_id = 0;
  int start = 0, size = 0;  // in memory slices
  std::vector<NvmlComputeInstance> compute;
};

// What went wrong on a card, as the driver reports it.
struct NvmlEvent {
  NvmlDevice device = nullptr;  // null: the driver does not say which
  bool lost = false;            // a card has gone
  unsigned long long type = 0;  // nvml_abi::kXidCritical and so on
  unsigned long long xid = 0;
  std::optional<unsigned> gpu_instance, compute_instance;
};

class Nvml {
 public:
  struct Options {
    std::string library = "libnvidia-ml.so.1";
    std::string sysfs = "/sys";
  };
  // NotFound: no such library; else why it does not start.
  static absl::StatusOr<std::unique_ptr<Nvml>> Load(const Options& options);
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  // The call that has run for longer than `limit`; nothing: there is none.
  std::optional<std::string> Hung(std::chrono::steady_clock::duration limit) const;

  absl::StatusOr<std::string> DriverVersion() const;
  absl::StatusOr<int> CudaVersion() const;  // 12040: 12.4

  // In the driver's order, each with what could be read of it: a card that does not answer has an
  // entry with its status.
  absl::StatusOr<std::vector<absl::StatusOr<NvmlCard>>> Cards() const;
  absl::StatusOr<NvmlDevice> Find(const std::string& uuid) const;

  absl::StatusOr<NvmlUse> Use(NvmlDevice device) const;
  absl::StatusOr<std::vector<NvmlProcess>> Processes(NvmlDevice device) const;
  // Of the processes that ran a kernel in a sample later than `since_us`, which is a time of the Unix epoch
  // in microseconds. Unimplemented: the card is in MIG mode.
  absl::StatusOr<std::vector<NvmlProcessUse>> ProcessUses(NvmlDevice device,
                                                          std::uint64_t since_us) const;
  // Uncorrected memory errors since the driver was loaded.
  absl::StatusOr<std::int64_t> EccErrors(NvmlDevice device) const;
  absl::StatusOr<unsigned> ComputeMode(NvmlDevice device) const;
  absl::Status SetComputeMode(NvmlDevice device, unsigned mode) const;

  // The links between all cards, and their NUMA nodes, in the order of `cards`. Where the driver
  // does not tell a pair's path it counts as the farthest. REQUIRES: at most kMaxLinkedGpus.
  NodeLinks Links(const std::vector<NvmlCard>& cards) const;

  // --- Multi-Instance GPU. Unimplemented: the card, or the driver, has no such thing.
  absl::StatusOr<NvmlMigMode> MigMode(NvmlDevice device) const;
  // OK once the driver has taken the wish; whether it is so now or after a reset MigMode tells.
  absl::Status SetMigMode(NvmlDevice device, bool on) const;
  absl::StatusOr<std::vector<NvmlMigProfile>> MigProfiles(NvmlDevice device) const;
  // The memory slices at which an instance of the profile may begin, taken or not.
  absl::StatusOr<std::vector<nvml_abi::Placement>> MigPlacements(NvmlDevice device,
                                                                 unsigned profile_id) const;
  absl::StatusOr<std::vector<NvmlGpuInstance>> GpuInstances(NvmlDevice device) const;
  absl::StatusOr<NvmlGpuInstance> CreateGpuInstance(NvmlDevice device, unsigned profile_id,
                                                    nvml_abi::Placement placement) const;
  absl::Status DestroyGpuInstance(nvml_abi::GpuInstance instance) const;
  // One that takes all `slices` of the GPU instance.
  absl::StatusOr<NvmlComputeInstance> CreateComputeInstance(nvml_abi::GpuInstance instance,
                                                            int slices) const;
  absl::Status DestroyComputeInstance(nvml_abi::ComputeInstance instance) const;
  // How a program names the compute instance: "MIG-…".
  absl::StatusOr<std::string> MigUuid(NvmlDevice device, unsigned gpu_instance,
                                      unsigned compute_instance) const;

  // --- Events
  class Events {
   public:
    ~Events();
    Events(const Events&) = delete;
    Events& operator=(const Events&) = delete;
    // Events of the card from now on. Unimplemented: it has none.
    absl::Status Watch(NvmlDevice device);
    // The next event, or none within the time.
    absl::StatusOr<std::optional<NvmlEvent>> Wait(int timeout_ms);

   private:
    friend class Nvml;
    Events(const Nvml* nvml, nvml_abi::EventSet set) : nvml_(nvml), set_(set) {}
    const Nvml* nvml_;
    nvml_abi::EventSet set_;
  };
  // REQUIRES: it does not outlive this.
  absl::StatusOr<std::unique_ptr<Events>> WatchEvents() const;

 private:
  struct Api;
  explicit Nvml(const Options& options);
  absl::Status Error(const char* call, nvml_abi::Return code) const;
  absl::StatusOr<NvmlCard> Card(unsigned index) const;
  std::optional<int> Numa(const std::string& bus_id) const;
  struct NvLinks;
  NvLinks NvLinksOf(NvmlDevice device) const;
  absl::StatusOr<NvmlGpuInstance> Describe(nvml_abi::GpuInstance instance) const;

  Options options_;
  void* library_ = nullptr;
  bool begun_ = false;
  std::unique_ptr<Api> api_;
};

}  // namespace tephra::node
