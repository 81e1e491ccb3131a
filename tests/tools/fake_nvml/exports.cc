// The calls about the driver, cards and links.
#include "tests/tools/fake_nvml/exports.h"

#include <algorithm>
#include <cstring>

namespace tephra::node {
namespace {

// Runs `work(scene, gpu)` if the device is a GPU that answers.
template <class Work>
abi::Return OnGpu(const char* name, abi::Device device, const Work& work) {
  return FakeDriver::Get().Run(name, [&](Scene& scene) {
    std::size_t gpu = 0;
    const abi::Return code = FindGpu(scene, device, &gpu);
    return code == abi::kSuccess ? work(scene, gpu) : code;
  });
}

abi::PciInfo PciOf(const FakeGpu& gpu) {
  abi::PciInfo pci{};
  pci.bus = static_cast<unsigned>(gpu.bus);
  pci.pci_device_id = static_cast<unsigned>(gpu.card.pci_device_id) << 16 | 0x10DE;
  const std::string id = gpu.bus_id();
  std::copy(id.begin(), id.end(), pci.bus_id);
  std::copy(id.begin() + 4, id.end(), pci.bus_id_legacy);
  return pci;
}

// Where the GPU's NVLink of that number goes: to one GPU after the other, or all to switches.
struct LinkEnd {
  bool exists = false;
  std::size_t gpu = 0;
};
LinkEnd EndOf(const FakeMachine& machine, std::size_t gpu, unsigned link) {
  unsigned counted = 0;
  for (int other = 0; other < machine.links.gpus(); ++other) {
    if (static_cast<std::size_t>(other) == gpu) continue;
    const unsigned bonded = machine.links.at(static_cast<int>(gpu), other).nvlinks;
    counted = machine.switched ? std::max(counted, bonded) : counted + bonded;
    if (link < counted) return {true, static_cast<std::size_t>(other)};
  }
  return {};
}

unsigned AncestorOf(const Link& link) {
  switch (link.type) {
    case LinkType::kPix:
      return abi::kSingle;
    case LinkType::kPxb:
      return abi::kMultiple;
    case LinkType::kPhb:
      return abi::kHostBridge;
    case LinkType::kNode:
      return abi::kNode;
    default:
      return abi::kSystem;  // NVLinks lie beside the PCIe path, of which the machine tells nothing
  }
}

}  // namespace

abi::Return CopyText(const std::string& text, char* to, unsigned size) {
  if (to == nullptr) return abi::kInvalidArgument;
  if (text.size() >= size) return abi::kInsufficientSize;
  std::memcpy(to, text.c_str(), text.size() + 1);
  return abi::kSuccess;
}

abi::Return nvmlInit_v2() { return FakeDriver::Get().Begin(); }
abi::Return nvmlShutdown() { return FakeDriver::Get().End(); }

const char* nvmlErrorString(abi::Return code) {
  switch (code) {
    case abi::kSuccess:
      return "fake: fine";
    case abi::kUninitialized:
      return "fake: not begun";
    case abi::kInvalidArgument:
      return "fake: bad argument";
    case abi::kNotSupported:
      return "fake: this card has no such thing";
    case abi::kNotFound:
      return "fake: nothing of that name";
    case abi::kInsufficientSize:
      return "fake: too little room for the answer";
    case abi::kDriverNotLoaded:
      return "fake: no driver";
    case abi::kTimeout:
      return "fake: nothing within the time";
    case abi::kGpuIsLost:
      return "fake: the GPU is lost";
    case abi::kResetRequired:
      return "fake: the GPU wants a reset";
    case abi::kInUse:
      return "fake: in use";
    case abi::kInsufficientResources:
      return "fake: no room on the card";
    default:
      return "fake: unknown error";
  }
}

abi::Return nvmlSystemGetDriverVersion(char* text, unsigned size) {
  return FakeDriver::Get().Run("nvmlSystemGetDriverVersion", [&](Scene& scene) {
    return CopyText(scene.machine.driver, text, size);
  });
}

abi::Return nvmlSystemGetCudaDriverVersion_v2(int* version) {
  return FakeDriver::Get().Run("nvmlSystemGetCudaDriverVersion_v2", [&](Scene& scene) {
    *version = scene.machine.cuda;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetCount_v2(unsigned* count) {
  return FakeDriver::Get().Run("nvmlDeviceGetCount_v2", [&](Scene& scene) {
    *count = static_cast<unsigned>(scene.machine.gpus.size());
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetHandleByIndex_v2(unsigned index, abi::Device* device) {
  return FakeDriver::Get().Run("nvmlDeviceGetHandleByIndex_v2", [&](Scene& scene) {
    if (index >= scene.machine.gpus.size()) return abi::kInvalidArgument;
    if (scene.control.gpus[index].lost) return abi::kGpuIsLost;
    *device = FakeHandle{FakeHandle::kGpu, index}.As<abi::Device>();
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetHandleByUUID(const char* uuid, abi::Device* device) {
  return FakeDriver::Get().Run("nvmlDeviceGetHandleByUUID", [&](Scene& scene) {
    for (std::size_t i = 0; i < scene.machine.gpus.size(); ++i) {
      if (scene.machine.gpus[i].uuid != uuid) continue;
      if (scene.control.gpus[i].lost) return abi::kGpuIsLost;
      *device = FakeHandle{FakeHandle::kGpu, i}.As<abi::Device>();
      return abi::kSuccess;
    }
    return abi::kNotFound;
  });
}

abi::Return nvmlDeviceGetName(abi::Device device, char* text, unsigned size) {
  return OnGpu("nvmlDeviceGetName", device, [&](Scene& scene, std::size_t gpu) {
    return CopyText(std::string(scene.machine.gpus[gpu].card.model), text, size);
  });
}

abi::Return nvmlDeviceGetMinorNumber(abi::Device device, unsigned* minor) {
  return OnGpu("nvmlDeviceGetMinorNumber", device, [&](Scene&, std::size_t gpu) {
    *minor = static_cast<unsigned>(gpu);
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetPciInfo_v3(abi::Device device, abi::PciInfo* pci) {
  return OnGpu("nvmlDeviceGetPciInfo_v3", device, [&](Scene& scene, std::size_t gpu) {
    *pci = PciOf(scene.machine.gpus[gpu]);
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetMemoryInfo(abi::Device device, abi::Memory* memory) {
  return OnGpu("nvmlDeviceGetMemoryInfo", device, [&](Scene& scene, std::size_t gpu) {
    std::int64_t used_mib = scene.control.gpus[gpu].used_mib;
    for (const FakeControl::Process& process : scene.control.processes) {
      if (process.gpu == gpu) used_mib += process.memory_mib;
    }
    memory->total = static_cast<unsigned long long>(scene.machine.gpus[gpu].card.memory_mib) << 20;
    memory->used = std::min(static_cast<unsigned long long>(used_mib) << 20, memory->total);
    memory->free = memory->total - memory->used;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetUtilizationRates(abi::Device device, abi::Utilization* utilization) {
  return OnGpu("nvmlDeviceGetUtilizationRates", device, [&](Scene& scene, std::size_t gpu) {
    if (scene.state.gpu[gpu].mig) return abi::kNotSupported;
    *utilization = {scene.control.gpus[gpu].compute_percent, 0};
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetCudaComputeCapability(abi::Device device, int* major, int* minor) {
  return OnGpu("nvmlDeviceGetCudaComputeCapability", device, [&](Scene& scene, std::size_t gpu) {
    *major = scene.machine.gpus[gpu].card.cuda_major;
    *minor = scene.machine.gpus[gpu].card.cuda_minor;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetComputeRunningProcesses_v3(abi::Device device, unsigned* count,
                                                    abi::ProcessInfo* processes) {
  const char* name = "nvmlDeviceGetComputeRunningProcesses_v3";
  return OnGpu(name, device, [&](Scene& scene, std::size_t gpu) {
    const unsigned room = *count;
    *count = 0;
    for (const FakeControl::Process& process : scene.control.processes) {
      if (process.gpu != gpu) continue;
      if (*count < room) {
        processes[*count] = {process.pid, static_cast<unsigned long long>(process.memory_mib) << 20,
                             process.gi.value_or(abi::kNoInstance),
                             process.ci.value_or(abi::kNoInstance)};
      }
      ++*count;
    }
    return *count <= room ? abi::kSuccess : abi::kInsufficientSize;
  });
}

// Every sample is of now.
abi::Return nvmlDeviceGetProcessUtilization(abi::Device device, abi::ProcessSample* samples,
                                            unsigned* count, unsigned long long since_us) {
  return OnGpu("nvmlDeviceGetProcessUtilization", device, [&](Scene& scene, std::size_t gpu) {
    if (scene.state.gpu[gpu].mig) return abi::kNotSupported;
    const unsigned room = *count;
    *count = 0;
    for (const FakeControl::Process& process : scene.control.processes) {
      if (process.gpu != gpu || process.compute_percent == 0) continue;
      if (*count < room) {
        samples[*count] = {process.pid, since_us + 1, process.compute_percent, 0, 0, 0};
      }
      ++*count;
    }
    if (*count == 0) return abi::kNotFound;
    return *count <= room ? abi::kSuccess : abi::kInsufficientSize;
  });
}

abi::Return nvmlDeviceGetTotalEccErrors(abi::Device device, unsigned kind, unsigned,
                                        unsigned long long* count) {
  return OnGpu("nvmlDeviceGetTotalEccErrors", device, [&](Scene& scene, std::size_t gpu) {
    const bool uncorrected = kind == abi::kUncorrected;
    *count = uncorrected ? static_cast<unsigned long long>(scene.control.gpus[gpu].ecc_errors) : 0;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetComputeMode(abi::Device device, unsigned* mode) {
  return OnGpu("nvmlDeviceGetComputeMode", device, [&](Scene& scene, std::size_t gpu) {
    *mode = scene.state.gpu[gpu].compute_mode;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceSetComputeMode(abi::Device device, unsigned mode) {
  return OnGpu("nvmlDeviceSetComputeMode", device, [&](Scene& scene, std::size_t gpu) {
    scene.state.gpu[gpu].compute_mode = mode;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetTopologyCommonAncestor(abi::Device a, abi::Device b, unsigned* level) {
  return OnGpu("nvmlDeviceGetTopologyCommonAncestor", a, [&](Scene& scene, std::size_t gpu) {
    std::size_t other = 0;
    const abi::Return code = FindGpu(scene, b, &other);
    if (code != abi::kSuccess || other == gpu) {
      return code != abi::kSuccess ? code : abi::kInvalidArgument;
    }
    *level = AncestorOf(scene.machine.links.at(static_cast<int>(gpu), static_cast<int>(other)));
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetNvLinkState(abi::Device device, unsigned link, unsigned* active) {
  return OnGpu("nvmlDeviceGetNvLinkState", device, [&](Scene& scene, std::size_t gpu) {
    if (!EndOf(scene.machine, gpu, 0).exists) return abi::kNotSupported;
    if (!EndOf(scene.machine, gpu, link).exists) return abi::kInvalidArgument;
    *active = 1;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetNvLinkRemoteDeviceType(abi::Device device, unsigned link, unsigned* type) {
  return OnGpu("nvmlDeviceGetNvLinkRemoteDeviceType", device, [&](Scene& scene, std::size_t gpu) {
    if (!EndOf(scene.machine, gpu, link).exists) return abi::kInvalidArgument;
    *type = scene.machine.switched ? abi::kRemoteSwitch : abi::kRemoteGpu;
    return abi::kSuccess;
  });
}

abi::Return nvmlDeviceGetNvLinkRemotePciInfo_v2(abi::Device device, unsigned link,
                                                abi::PciInfo* pci) {
  return OnGpu("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, [&](Scene& scene, std::size_t gpu) {
    const LinkEnd end = EndOf(scene.machine, gpu, link);
    if (!end.exists) return abi::kInvalidArgument;
    if (scene.machine.switched) {
      *pci = {};  // a switch's own address is of no use to anyone
      return abi::kSuccess;
    }
    *pci = PciOf(scene.machine.gpus[end.gpu]);
    return abi::kSuccess;
  });
}

abi::Return tephraFakeNvmlCounts(std::uint64_t* counts) {
  return FakeDriver::Get().Run("tephraFakeNvmlCounts", [&](Scene& scene) {
    counts[0] = scene.state.illegal;
    counts[1] = scene.state.created;
    counts[2] = scene.state.destroyed;
    return abi::kSuccess;
  });
}

}  // namespace tephra::node
