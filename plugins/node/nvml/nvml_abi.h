// The part of NVML's C interface that is used here, declared again, so that nothing of NVIDIA's is
// needed to build; the library is loaded at run time.
//
// Names of functions, numbers and layouts are the library's own, as NVIDIA's NVML API Reference
// Guide documents them; sizes are checked below, for a struct that is one byte off is no error that
// the library could tell. Both sides of the interface include this: nvml.cc, which loads the
// library, and fake_nvml/, which stands in for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tephra::node::nvml_abi {

// Handles are the library's; they mean nothing in another process or after nvmlShutdown.
struct DeviceTag;
struct GpuInstanceTag;
struct ComputeInstanceTag;
struct EventSetTag;
using Device = DeviceTag*;  // of a GPU, or of an instance as CUDA sees it
using GpuInstance = GpuInstanceTag*;
using ComputeInstance = ComputeInstanceTag*;
using EventSet = EventSetTag*;

using Return = int;
constexpr Return kSuccess = 0;
constexpr Return kUninitialized = 1;
constexpr Return kInvalidArgument = 2;
constexpr Return kNotSupported = 3;
constexpr Return kNoPermission = 4;
constexpr Return kNotFound = 6;
constexpr Return kInsufficientSize = 7;
constexpr Return kDriverNotLoaded = 9;
constexpr Return kTimeout = 10;
constexpr Return kLibraryNotFound = 12;
constexpr Return kFunctionNotFound = 13;
constexpr Return kGpuIsLost = 15;
constexpr Return kResetRequired = 16;
constexpr Return kInUse = 19;
constexpr Return kMemory = 20;
constexpr Return kInsufficientResources = 23;
constexpr Return kVersionMismatch = 25;
constexpr Return kUnknown = 999;

constexpr unsigned kNameSize = 96;
constexpr unsigned kUuidSize = 96;
constexpr unsigned kDriverVersionSize = 80;

struct PciInfo {
  char bus_id_legacy[16];
  unsigned domain, bus, device;
  unsigned pci_device_id;  // the device's in the high half, 10DE in the low one
  unsigned pci_subsystem_id;
  char bus_id[32];  // "00000000:3B:00.0"
};
struct Memory {
  unsigned long long total, free, used;  // bytes
};
struct Utilization {
  unsigned gpu, memory;  // per cent of the last sample
};
// Of nvmlDeviceGetComputeRunningProcesses_v3. 0xFFFFFFFF where there is no instance.
struct ProcessInfo {
  unsigned pid;
  unsigned long long used_memory;  // bytes; all ones: not known
  unsigned gpu_instance_id, compute_instance_id;
};
constexpr unsigned kNoInstance = 0xFFFFFFFFu;
// Of nvmlDeviceGetProcessUtilization.
struct ProcessSample {
  unsigned pid;
  unsigned long long time_us;                  // since the Unix epoch
  unsigned compute, memory, encoder, decoder;  // per cent
};

// --- Multi-Instance GPU
constexpr unsigned kMigDisable = 0, kMigEnable = 1;

// Two numberings: the constants here, which ask what there is, and the `id` in the answer, which is
// what everything else is asked with.
constexpr unsigned kGpuInstanceProfiles = 0x11;
constexpr unsigned kComputeInstanceProfiles = 8;
constexpr unsigned kSharedEngines = 0;  // the only engine profile of compute instances

struct Placement {
  unsigned start, size;  // in memory slices
};
struct GpuInstanceProfileInfo {
  unsigned id;
  unsigned p2p;
  unsigned slices;  // of compute
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines, decoders, encoders, jpegs, ofas;
  unsigned long long memory_mib;
};
struct GpuInstanceProfileInfoV2 {
  unsigned version;
  unsigned id;
  unsigned p2p;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines, decoders, encoders, jpegs, ofas;
  unsigned long long memory_mib;
  char name[96];  // "MIG 1g.5gb"
};
struct GpuInstanceInfo {
  Device device;
  unsigned id;
  unsigned profile_id;
  Placement placement;
};
struct ComputeInstanceProfileInfo {
  unsigned id;
  unsigned slices;
  unsigned instances;
  unsigned multiprocessors;
  unsigned copy_engines, decoders, encoders, jpegs, ofas;
};
struct ComputeInstanceInfo {
  Device device;
  GpuInstance gpu_instance;
  unsigned id;
  unsigned profile_id;
  Placement placement;  // in compute slices
};

// --- Links. Of a common ancestor: the levels are ten apart.
constexpr unsigned kInternal = 0, kSingle = 10, kMultiple = 20, kHostBridge = 30, kNode = 40,
                   kSystem = 50;
constexpr unsigned kRemoteGpu = 0, kRemoteSwitch = 2;
constexpr unsigned kMostNvLinks = 36;

// --- Events, ECC, compute mode
constexpr unsigned long long kSingleBitEcc = 0x1, kDoubleBitEcc = 0x2, kXidCritical = 0x8;
struct EventData {
  Device device;
  unsigned long long type;
  unsigned long long data;  // of kXidCritical: the Xid
  unsigned gpu_instance_id, compute_instance_id;
};
constexpr unsigned kCorrected = 0, kUncorrected = 1;  // kinds of ECC errors
constexpr unsigned kVolatile = 0;                     // counted since the driver was loaded
constexpr unsigned kDefaultCompute = 0, kExclusiveProcess = 3;

// A struct's version goes with its size, so that the library knows which one it is handed.
template <class T>
constexpr unsigned Version(unsigned version) {
  return static_cast<unsigned>(sizeof(T)) | version << 24;
}

static_assert(sizeof(PciInfo) == 68 && offsetof(PciInfo, bus_id) == 36);
static_assert(sizeof(Memory) == 24 && sizeof(Utilization) == 8);
static_assert(sizeof(ProcessSample) == 32 && offsetof(ProcessSample, compute) == 16);
static_assert(sizeof(ProcessInfo) == 24 && offsetof(ProcessInfo, used_memory) == 8);
static_assert(sizeof(GpuInstanceProfileInfo) == 48);
static_assert(sizeof(GpuInstanceProfileInfoV2) == 152);
static_assert(offsetof(GpuInstanceProfileInfoV2, memory_mib) == 48);
static_assert(sizeof(GpuInstanceInfo) == 24 && sizeof(ComputeInstanceInfo) == 32);
static_assert(sizeof(ComputeInstanceProfileInfo) == 36);
static_assert(sizeof(EventData) == 32);

// Every function used: its name and what it takes, where `abi` is this namespace. All return
// Return; nvmlErrorString, which returns a text, stands apart.
#define TEPHRA_NVML_FUNCTIONS(X)                                                                   \
  X(nvmlInit_v2, ())                                                                               \
  X(nvmlShutdown, ())                                                                              \
  X(nvmlSystemGetDriverVersion, (char*, unsigned))                                                 \
  X(nvmlSystemGetCudaDriverVersion_v2, (int*))                                                     \
  X(nvmlDeviceGetCount_v2, (unsigned*))                                                            \
  X(nvmlDeviceGetHandleByIndex_v2, (unsigned, abi::Device*))                                       \
  X(nvmlDeviceGetHandleByUUID, (const char*, abi::Device*))                                        \
  X(nvmlDeviceGetName, (abi::Device, char*, unsigned))                                             \
  X(nvmlDeviceGetUUID, (abi::Device, char*, unsigned))                                             \
  X(nvmlDeviceGetMinorNumber, (abi::Device, unsigned*))                                            \
  X(nvmlDeviceGetPciInfo_v3, (abi::Device, abi::PciInfo*))                                         \
  X(nvmlDeviceGetMemoryInfo, (abi::Device, abi::Memory*))                                          \
  X(nvmlDeviceGetUtilizationRates, (abi::Device, abi::Utilization*))                               \
  X(nvmlDeviceGetCudaComputeCapability, (abi::Device, int*, int*))                                 \
  X(nvmlDeviceGetComputeRunningProcesses_v3, (abi::Device, unsigned*, abi::ProcessInfo*))          \
  X(nvmlDeviceGetProcessUtilization,                                                               \
    (abi::Device, abi::ProcessSample*, unsigned*, unsigned long long))                             \
  X(nvmlDeviceGetTotalEccErrors, (abi::Device, unsigned, unsigned, unsigned long long*))           \
  X(nvmlDeviceGetComputeMode, (abi::Device, unsigned*))                                            \
  X(nvmlDeviceSetComputeMode, (abi::Device, unsigned))                                             \
  X(nvmlDeviceGetTopologyCommonAncestor, (abi::Device, abi::Device, unsigned*))                    \
  X(nvmlDeviceGetNvLinkState, (abi::Device, unsigned, unsigned*))                                  \
  X(nvmlDeviceGetNvLinkRemoteDeviceType, (abi::Device, unsigned, unsigned*))                       \
  X(nvmlDeviceGetNvLinkRemotePciInfo_v2, (abi::Device, unsigned, abi::PciInfo*))                   \
  X(nvmlDeviceGetMigMode, (abi::Device, unsigned*, unsigned*))                                     \
  X(nvmlDeviceSetMigMode, (abi::Device, unsigned, abi::Return*))                                   \
  X(nvmlDeviceGetGpuInstanceProfileInfo, (abi::Device, unsigned, abi::GpuInstanceProfileInfo*))    \
  X(nvmlDeviceGetGpuInstanceProfileInfoV, (abi::Device, unsigned, abi::GpuInstanceProfileInfoV2*)) \
  X(nvmlDeviceGetGpuInstancePossiblePlacements_v2,                                                 \
    (abi::Device, unsigned, abi::Placement*, unsigned*))                                           \
  X(nvmlDeviceCreateGpuInstanceWithPlacement,                                                      \
    (abi::Device, unsigned, const abi::Placement*, abi::GpuInstance*))                             \
  X(nvmlDeviceGetGpuInstances, (abi::Device, unsigned, abi::GpuInstance*, unsigned*))              \
  X(nvmlGpuInstanceGetInfo, (abi::GpuInstance, abi::GpuInstanceInfo*))                             \
  X(nvmlGpuInstanceDestroy, (abi::GpuInstance))                                                    \
  X(nvmlGpuInstanceGetComputeInstanceProfileInfo,                                                  \
    (abi::GpuInstance, unsigned, unsigned, abi::ComputeInstanceProfileInfo*))                      \
  X(nvmlGpuInstanceCreateComputeInstance, (abi::GpuInstance, unsigned, abi::ComputeInstance*))     \
  X(nvmlGpuInstanceGetComputeInstances,                                                            \
    (abi::GpuInstance, unsigned, abi::ComputeInstance*, unsigned*))                                \
  X(nvmlComputeInstanceGetInfo_v2, (abi::ComputeInstance, abi::ComputeInstanceInfo*))              \
  X(nvmlComputeInstanceDestroy, (abi::ComputeInstance))                                            \
  X(nvmlDeviceGetMaxMigDeviceCount, (abi::Device, unsigned*))                                      \
  X(nvmlDeviceGetMigDeviceHandleByIndex, (abi::Device, unsigned, abi::Device*))                    \
  X(nvmlDeviceGetGpuInstanceId, (abi::Device, unsigned*))                                          \
  X(nvmlDeviceGetComputeInstanceId, (abi::Device, unsigned*))                                      \
  X(nvmlEventSetCreate, (abi::EventSet*))                                                          \
  X(nvmlDeviceGetSupportedEventTypes, (abi::Device, unsigned long long*))                          \
  X(nvmlDeviceRegisterEvents, (abi::Device, unsigned long long, abi::EventSet))                    \
  X(nvmlEventSetWait_v2, (abi::EventSet, abi::EventData*, unsigned))                               \
  X(nvmlEventSetFree, (abi::EventSet))

}  // namespace tephra::node::nvml_abi
