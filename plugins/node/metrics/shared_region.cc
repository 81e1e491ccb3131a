#include "plugins/node/metrics/shared_region.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "base/descriptor.h"

namespace tephra::node {
namespace {

constexpr std::size_t kDevices = 16, kProcesses = 1024, kUuidBytes = 96;
constexpr std::int32_t kMagic = 19920718;
constexpr std::uint32_t kMajor = 1, kMinor = 2;
constexpr std::uint64_t kMostGpuBytes = std::uint64_t{1} << 44;  // no GPU has more
constexpr std::uint64_t kMostPercent = 100;

// The parts as they lie in the file; what is not read here is filler.
struct Head {
  std::int32_t magic;
  std::uint32_t major, minor;
  std::int32_t filler;
  std::uint64_t owner, semaphore[4];
  std::uint64_t devices;
  char uuids[kDevices][kUuidBytes];
  std::uint64_t memory_limits[kDevices], compute_limits[kDevices];
};
struct MemoryOf {
  std::uint64_t context, module, data, offset, total, filler[3];
};
struct ComputeOf {
  std::uint64_t decoder, encoder, compute, filler[3];
};
struct ProcessSlot {
  std::int32_t pid, host_pid;
  MemoryOf memory[kDevices];
  std::uint64_t monitored[kDevices];
  ComputeOf compute[kDevices];
  std::int32_t status;
  std::uint64_t sequence, filler[2];
};
struct Tail {
  std::int32_t processes, filler[3];
  std::uint64_t last_kernel, semaphore[4];
};
constexpr std::size_t kTailAt = sizeof(Head) + kProcesses * sizeof(ProcessSlot);
constexpr std::size_t kSize = kTailAt + sizeof(Tail);
static_assert(sizeof(Head) == 1856 && sizeof(ProcessSlot) == 1960 && sizeof(Tail) == 56);

absl::Status Other(const std::string& path, const std::string& why) {
  return absl::DataLossError(path + ": " + why);
}

template <class Part>
bool ReadAt(int file, std::size_t at, Part& part) {
  return pread(file, &part, sizeof part, static_cast<off_t>(at)) ==
         static_cast<ssize_t>(sizeof part);
}

}  // namespace

absl::StatusOr<std::map<std::string, RegionUse>> ReadSharedRegion(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  if (!file.valid()) {
    return errno == ENOENT ? absl::NotFoundError(path + ": not there yet")
                           : Other(path, std::strerror(errno));
  }
  struct stat found {};
  if (fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode) ||
      found.st_size != static_cast<off_t>(kSize)) {
    return Other(path, "expected a file of " + std::to_string(kSize) + " bytes");
  }
  Head head;
  Tail tail;
  if (!ReadAt(file.get(), 0, head) || !ReadAt(file.get(), kTailAt, tail)) {
    return Other(path, "shorter than it was");
  }
  if (head.magic != kMagic || head.major != kMajor || head.minor != kMinor) {
    return Other(path, "expected a shared region of version 1.2");
  }
  const std::size_t devices = std::min<std::uint64_t>(head.devices, kDevices);
  const std::size_t processes =
      static_cast<std::size_t>(std::clamp<std::int64_t>(tail.processes, 0, kProcesses));
  std::uint64_t bytes[kDevices] = {}, percent[kDevices] = {};
  for (std::size_t p = 0; p < processes; ++p) {
    ProcessSlot slot;
    if (!ReadAt(file.get(), sizeof(Head) + p * sizeof(ProcessSlot), slot)) {
      return Other(path, "shorter than it was");
    }
    if (slot.pid == 0) continue;  // a process that has ended
    for (std::size_t d = 0; d < devices; ++d) {
      bytes[d] = std::min(bytes[d] + std::min(slot.memory[d].total, kMostGpuBytes), kMostGpuBytes);
      percent[d] =
          std::min(percent[d] + std::min(slot.compute[d].compute, kMostPercent), kMostPercent);
    }
  }
  std::map<std::string, RegionUse> uses;
  for (std::size_t d = 0; d < devices; ++d) {
    const std::string uuid(head.uuids[d], strnlen(head.uuids[d], kUuidBytes));
    uses[uuid] = {static_cast<std::int64_t>(bytes[d]), static_cast<int>(percent[d])};
  }
  return uses;
}

}  // namespace tephra::node
