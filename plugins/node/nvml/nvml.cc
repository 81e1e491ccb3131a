#include "plugins/node/nvml/nvml.h"

#include <dlfcn.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <map>

#include "plugins/node/nvml/api.h"
#include "topology/base/check.h"

namespace tephra::node {
namespace {

constexpr int kMibShift = 20;

absl::StatusCode StatusCodeOf(abi::Return code) {
  switch (code) {
    case abi::kInvalidArgument:
      return absl::StatusCode::kInvalidArgument;
    case abi::kNotSupported:
    case abi::kFunctionNotFound:
      return absl::StatusCode::kUnimplemented;
    case abi::kNoPermission:
      return absl::StatusCode::kPermissionDenied;
    case abi::kNotFound:
      return absl::StatusCode::kNotFound;
    case abi::kInUse:
    case abi::kResetRequired:
      return absl::StatusCode::kFailedPrecondition;
    case abi::kInsufficientResources:
      return absl::StatusCode::kResourceExhausted;
    case abi::kTimeout:
      return absl::StatusCode::kDeadlineExceeded;
    case abi::kGpuIsLost:
      return absl::StatusCode::kDataLoss;
    default:
      return absl::StatusCode::kInternal;
  }
}

// Of a library without nvmlErrorString.
const char* PlainText(abi::Return code) {
  return code == abi::kFunctionNotFound ? "the driver has no such call" : "no text";
}

std::optional<unsigned> InstanceId(unsigned id) {
  return id == abi::kNoInstance ? std::nullopt : std::optional<unsigned>(id);
}

Link PathOf(unsigned ancestor) {
  switch (ancestor) {
    case abi::kInternal:  // two GPUs on one board
    case abi::kSingle:
      return PcieLink(LinkType::kPix);
    case abi::kMultiple:
      return PcieLink(LinkType::kPxb);
    case abi::kHostBridge:
      return PcieLink(LinkType::kPhb);
    case abi::kNode:
      return PcieLink(LinkType::kNode);
    default:
      return PcieLink(LinkType::kSys);
  }
}

}  // namespace

Nvml::Nvml(const Options& options) : options_(options), api_(std::make_unique<Api>()) {}

Nvml::~Nvml() {
  if (begun_) (void)TEPHRA_NVML_CALL(nvmlShutdown);
  if (library_ != nullptr) dlclose(library_);
}

absl::StatusOr<std::unique_ptr<Nvml>> Nvml::Load(const Options& options) {
  std::unique_ptr<Nvml> nvml(new Nvml(options));
  nvml->library_ = dlopen(options.library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (nvml->library_ == nullptr) return absl::NotFoundError(dlerror());
  const auto find = [&](const char* name, auto& function) {
    function =
        reinterpret_cast<std::remove_reference_t<decltype(function)>>(dlsym(nvml->library_, name));
  };
#define TEPHRA_NVML_FIND(name, arguments) find(#name, nvml->api_->name);
  TEPHRA_NVML_FUNCTIONS(TEPHRA_NVML_FIND)
#undef TEPHRA_NVML_FIND
  find("nvmlErrorString", nvml->api_->nvmlErrorString);
  const std::unique_ptr<Api>& api_ = nvml->api_;
  const abi::Return code = TEPHRA_NVML_CALL(nvmlInit_v2);
  if (code != abi::kSuccess) return nvml->Error("nvmlInit_v2", code);
  nvml->begun_ = true;
  return nvml;
}

absl::Status Nvml::Error(const char* call, nvml_abi::Return code) const {
  const bool asked = api_->nvmlErrorString != nullptr;
  const char* text = asked ? api_->nvmlErrorString(code) : PlainText(code);
  return absl::Status(StatusCodeOf(code),
                      std::string(call) + ": " + text + " (" + std::to_string(code) + ")");
}

std::optional<std::string> Nvml::Hung(std::chrono::steady_clock::duration limit) const {
  return api_->watch.Hung(limit);
}

absl::StatusOr<std::string> Nvml::DriverVersion() const {
  std::array<char, abi::kDriverVersionSize> text{};
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlSystemGetDriverVersion, text.data(), text.size());
  return std::string(text.data());
}

absl::StatusOr<int> Nvml::CudaVersion() const {
  int version = 0;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlSystemGetCudaDriverVersion_v2, &version);
  return version;
}

absl::StatusOr<std::vector<absl::StatusOr<NvmlCard>>> Nvml::Cards() const {
  unsigned count = 0;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetCount_v2, &count);
  std::vector<absl::StatusOr<NvmlCard>> cards;
  for (unsigned i = 0; i < count; ++i) cards.push_back(Card(i));
  return cards;
}

absl::StatusOr<NvmlCard> Nvml::Card(unsigned index) const {
  NvmlCard card;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetHandleByIndex_v2, index, &card.handle);
  std::array<char, abi::kUuidSize> uuid{};
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetUUID, card.handle, uuid.data(), uuid.size());
  card.uuid = uuid.data();
  std::array<char, abi::kNameSize> name{};
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetName, card.handle, name.data(), name.size());
  card.model = name.data();
  abi::PciInfo pci{};
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetPciInfo_v3, card.handle, &pci);
  pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
  card.bus_id = pci.bus_id;
  card.pci_device_id = static_cast<std::uint16_t>(pci.pci_device_id >> 16);
  abi::Memory memory{};
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetMemoryInfo, card.handle, &memory);
  card.memory_mib = static_cast<int>(memory.total >> kMibShift);
  unsigned minor = 0;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetMinorNumber, card.handle, &minor);
  card.minor = static_cast<int>(minor);
  (void)TEPHRA_NVML_CALL(nvmlDeviceGetCudaComputeCapability, card.handle, &card.cuda_major,
                         &card.cuda_minor);
  card.numa = Numa(card.bus_id);
  return card;
}

// The driver writes an eight-digit domain in capitals, the kernel four digits in small letters.
std::optional<int> Nvml::Numa(const std::string& bus_id) const {
  std::string name = bus_id;
  if (name.size() > 12) name.erase(0, name.size() - 12);
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  std::ifstream file(options_.sysfs + "/bus/pci/devices/" + name + "/numa_node");
  int node = -1;
  if (!(file >> node) || node < 0) return std::nullopt;
  return node;
}

absl::StatusOr<NvmlDevice> Nvml::Find(const std::string& uuid) const {
  NvmlDevice device = nullptr;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetHandleByUUID, uuid.c_str(), &device);
  return device;
}

absl::StatusOr<NvmlUse> Nvml::Use(NvmlDevice device) const {
  abi::Memory memory{};
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetMemoryInfo, device, &memory);
  NvmlUse use;
  use.used_memory_mib = static_cast<std::int64_t>(memory.used >> kMibShift);
  abi::Utilization utilization{};
  const abi::Return code = TEPHRA_NVML_CALL(nvmlDeviceGetUtilizationRates, device, &utilization);
  if (code == abi::kSuccess) {
    use.compute_percent = static_cast<int>(utilization.gpu);
  } else if (code != abi::kNotSupported) {
    return Error("nvmlDeviceGetUtilizationRates", code);
  }
  return use;
}

absl::StatusOr<std::vector<NvmlProcess>> Nvml::Processes(NvmlDevice device) const {
  std::vector<abi::ProcessInfo> found(64);
  while (true) {
    auto count = static_cast<unsigned>(found.size());
    const abi::Return code =
        TEPHRA_NVML_CALL(nvmlDeviceGetComputeRunningProcesses_v3, device, &count, found.data());
    if (code == abi::kInsufficientSize) {
      found.resize(std::max<std::size_t>(count, found.size()) * 2);  // more may come meanwhile
      continue;
    }
    if (code != abi::kSuccess) return Error("nvmlDeviceGetComputeRunningProcesses_v3", code);
    found.resize(count);
    break;
  }
  std::vector<NvmlProcess> processes;
  for (const abi::ProcessInfo& info : found) {
    NvmlProcess& process = processes.emplace_back();
    process.pid = info.pid;
    if (info.used_memory != ~0ULL) {
      process.memory_mib = static_cast<std::int64_t>(info.used_memory >> kMibShift);
    }
    process.gpu_instance = InstanceId(info.gpu_instance_id);
    process.compute_instance = InstanceId(info.compute_instance_id);
  }
  return processes;
}

absl::StatusOr<std::vector<NvmlProcessUse>> Nvml::ProcessUses(NvmlDevice device,
                                                              std::uint64_t since_us) const {
  std::vector<abi::ProcessSample> samples(64);
  while (true) {
    auto count = static_cast<unsigned>(samples.size());
    const abi::Return code =
        TEPHRA_NVML_CALL(nvmlDeviceGetProcessUtilization, device, samples.data(), &count, since_us);
    if (code == abi::kInsufficientSize) {
      samples.resize(std::max<std::size_t>(count, samples.size()) * 2);  // as in Processes
      continue;
    }
    if (code == abi::kNotFound) return std::vector<NvmlProcessUse>{};  // nothing ran
    if (code != abi::kSuccess) return Error("nvmlDeviceGetProcessUtilization", code);
    samples.resize(count);
    break;
  }
  std::map<unsigned, const abi::ProcessSample*> newest;
  for (const abi::ProcessSample& sample : samples) {
    const abi::ProcessSample*& known = newest[sample.pid];
    if (known == nullptr || known->time_us <= sample.time_us) known = &sample;
  }
  std::vector<NvmlProcessUse> uses;
  for (const auto& [pid, sample] : newest) uses.push_back({pid, static_cast<int>(sample->compute)});
  return uses;
}

absl::StatusOr<std::int64_t> Nvml::EccErrors(NvmlDevice device) const {
  unsigned long long count = 0;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetTotalEccErrors, device, abi::kUncorrected,
                              abi::kVolatile, &count);
  return static_cast<std::int64_t>(count);
}

absl::StatusOr<unsigned> Nvml::ComputeMode(NvmlDevice device) const {
  unsigned mode = 0;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceGetComputeMode, device, &mode);
  return mode;
}

absl::Status Nvml::SetComputeMode(NvmlDevice device, unsigned mode) const {
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlDeviceSetComputeMode, device, mode);
  return absl::OkStatus();
}

struct Nvml::NvLinks {
  std::map<std::string, int> to_gpu;  // by PCI bus id
  int to_switches = 0;
};

Nvml::NvLinks Nvml::NvLinksOf(NvmlDevice device) const {
  NvLinks links;
  for (unsigned link = 0; link < abi::kMostNvLinks; ++link) {
    unsigned active = 0, remote = abi::kRemoteGpu;
    if (TEPHRA_NVML_CALL(nvmlDeviceGetNvLinkState, device, link, &active) != abi::kSuccess) break;
    if (active == 0) continue;
    // A driver that does not tell what is at the end is older than NVSwitches are.
    (void)TEPHRA_NVML_CALL(nvmlDeviceGetNvLinkRemoteDeviceType, device, link, &remote);
    if (remote == abi::kRemoteSwitch) ++links.to_switches;
    if (remote != abi::kRemoteGpu) continue;
    abi::PciInfo pci{};
    if (TEPHRA_NVML_CALL(nvmlDeviceGetNvLinkRemotePciInfo_v2, device, link, &pci) ==
        abi::kSuccess) {
      pci.bus_id[sizeof(pci.bus_id) - 1] = '\0';
      ++links.to_gpu[pci.bus_id];
    }
  }
  return links;
}

NodeLinks Nvml::Links(const std::vector<NvmlCard>& cards) const {
  TEPHRA_CHECK_OP(cards.size(), <=, static_cast<std::size_t>(kMaxLinkedGpus));
  std::vector<NvLinks> nvlinks;
  for (const NvmlCard& card : cards) nvlinks.push_back(NvLinksOf(card.handle));
  NodeLinks links(static_cast<int>(cards.size()));
  for (int a = 0; a < links.gpus(); ++a) {
    const auto& card = cards[static_cast<std::size_t>(a)];
    const NvLinks& mine = nvlinks[static_cast<std::size_t>(a)];
    if (card.numa) links.SetNuma(a, static_cast<std::int16_t>(*card.numa));
    for (int b = 0; b < a; ++b) {
      const auto& other = cards[static_cast<std::size_t>(b)];
      const NvLinks& theirs = nvlinks[static_cast<std::size_t>(b)];
      const auto direct = mine.to_gpu.find(other.bus_id);
      // Through switches a pair has what both ends have.
      const int bonded = direct != mine.to_gpu.end()
                             ? direct->second
                             : std::min(mine.to_switches, theirs.to_switches);
      unsigned ancestor = abi::kSystem;
      if (TEPHRA_NVML_CALL(nvmlDeviceGetTopologyCommonAncestor, card.handle, other.handle,
                           &ancestor) != abi::kSuccess) {
        ancestor = abi::kSystem;
      }
      links.Set(a, b, bonded > 0 ? NvLink(bonded, card.model) : PathOf(ancestor));
    }
  }
  return links;
}

absl::StatusOr<std::unique_ptr<Nvml::Events>> Nvml::WatchEvents() const {
  nvml_abi::EventSet set = nullptr;
  TEPHRA_NVML_RETURN_IF_ERROR(nvmlEventSetCreate, &set);
  return std::unique_ptr<Events>(new Events(this, set));
}

Nvml::Events::~Events() {
  const std::unique_ptr<Api>& api_ = nvml_->api_;
  (void)TEPHRA_NVML_CALL(nvmlEventSetFree, set_);
}

absl::Status Nvml::Events::Watch(NvmlDevice device) {
  const std::unique_ptr<Api>& api_ = nvml_->api_;
  constexpr unsigned long long kWanted =
      abi::kXidCritical | abi::kDoubleBitEcc | abi::kSingleBitEcc;
  unsigned long long known = 0;
  abi::Return code = TEPHRA_NVML_CALL(nvmlDeviceGetSupportedEventTypes, device, &known);
  if (code != abi::kSuccess) return nvml_->Error("nvmlDeviceGetSupportedEventTypes", code);
  code = TEPHRA_NVML_CALL(nvmlDeviceRegisterEvents, device, known & kWanted, set_);
  if (code != abi::kSuccess) return nvml_->Error("nvmlDeviceRegisterEvents", code);
  return absl::OkStatus();
}

absl::StatusOr<std::optional<NvmlEvent>> Nvml::Events::Wait(int timeout_ms) {
  const std::unique_ptr<Api>& api_ = nvml_->api_;
  abi::EventData data{};
  const abi::Return code =
      TEPHRA_NVML_CALL(nvmlEventSetWait_v2, set_, &data, static_cast<unsigned>(timeout_ms));
  if (code == abi::kTimeout) return std::nullopt;
  NvmlEvent event;
  if (code == abi::kGpuIsLost) {
    event.lost = true;
    return event;
  }
  if (code != abi::kSuccess) return nvml_->Error("nvmlEventSetWait_v2", code);
  event.device = data.device;
  event.type = data.type;
  if (data.type == abi::kXidCritical) event.xid = data.data;
  event.gpu_instance = InstanceId(data.gpu_instance_id);
  event.compute_instance = InstanceId(data.compute_instance_id);
  return event;
}

}  // namespace tephra::node
