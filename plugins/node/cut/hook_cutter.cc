#include "plugins/node/cut/hook_cutter.h"

#include <sys/stat.h>

#include <algorithm>

#include "plugins/node/cut/edits.h"
#include "plugins/node/file.h"

namespace tephra::node {
namespace {

// Where the library looks, and is looked for, in a container.
constexpr const char* kInContainer = "/usr/local/vgpu";
constexpr const char* kLocksInContainer = "/tmp/vgpulock";
constexpr const char* kLocks = "vgpulock";
// Whatever user the container runs as writes there.
constexpr unsigned kForAll = 0777, kSticky = 01777;

bool IsPlainFile(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

absl::Status HookCutter::Cut(const Grant& grant, const Gpus& gpus, Edits& edits) {
  for (const std::string& file : {settings_.library, settings_.preload}) {
    if (!IsPlainFile(file)) {
      return absl::FailedPreconditionError("the hook library is not installed: no file " + file);
    }
  }
  TEPHRA_ASSIGN_OR_RETURN(const Folder folder, Folder::Open(settings_.folder, 0755));
  TEPHRA_ASSIGN_OR_RETURN(const Folder own, folder.Sub(grant.holder.nonce, kForAll));
  TEPHRA_ASSIGN_OR_RETURN(const Folder locks, folder.Sub(kLocks, kSticky));
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kFraction) continue;
    const std::string place = std::to_string(AddGpu(edits, gpus.devices[slice.gpu]));
    if (slice.memory_mib > 0) {
      SetEnv(edits, "CUDA_DEVICE_MEMORY_LIMIT_" + place, std::to_string(slice.memory_mib) + "m");
    }
    // Whole percents, at least one: 0 would be no bound at all.
    const std::string percent =
        std::to_string(slice.compute == 0 ? 0 : std::max(1, slice.compute / 10));
    SetEnv(edits, "CUDA_DEVICE_SM_LIMIT_" + place, percent);
    if (FindEnv(edits, "CUDA_DEVICE_SM_LIMIT") == nullptr) {
      SetEnv(edits, "CUDA_DEVICE_SM_LIMIT", percent);
    }
  }
  const std::string in = kInContainer;
  SetEnv(edits, "CUDA_DEVICE_MEMORY_SHARED_CACHE", in + "/cache/" + grant.holder.nonce + ".cache");
  AddMount(edits, {settings_.library, in + "/libvgpu.so", true});
  AddMount(edits, {settings_.preload, "/etc/ld.so.preload", true});
  AddMount(edits, {own.path(), in + "/cache", false});
  AddMount(edits, {locks.path(), kLocksInContainer, false});
  return absl::OkStatus();
}

absl::Status HookCutter::Undo(const Grant& grant, const Gpus&) {
  const auto folder = Folder::Open(settings_.folder, 0755);
  if (!folder.ok()) return folder.status();
  return folder->RemoveFolder(grant.holder.nonce);
}

}  // namespace tephra::node
