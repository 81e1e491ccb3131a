#include "plugins/node/partition/hook_limiter.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>

#include "base/log.h"
#include "plugins/node/partition/edits.h"
#include "plugins/node/binding/nonce.h"
#include "plugins/node/file.h"
#include "plugins/node/limited_folder.h"

namespace tephra::node {
namespace {

// Paths in a container.
constexpr const char* kInContainer = "/usr/local/vgpu";
constexpr const char* kLocksInContainer = "/tmp/vgpulock";
constexpr const char* kLocks = "vgpulock-";  // before the namespace; of earlier versions: without it
// For the user of the container, whichever it is.
constexpr unsigned kForAll = 0777, kSticky = 01777;
// The library writes one file of 2 MB, whose size depends on the version, and a lock.
constexpr FolderLimit kCacheLimit{8 << 20, 64, kForAll}, kLocksLimit{1 << 20, 256, kSticky};

bool IsPlainFile(const std::string& path) {
  struct stat found {};
  return stat(path.c_str(), &found) == 0 && S_ISREG(found.st_mode);
}

}  // namespace

absl::Status HookLimiter::Apply(const Grant& grant, const Gpus& gpus, Edits& edits) {
  for (const std::string& file : {settings_.library, settings_.preload}) {
    if (!IsPlainFile(file)) {
      return absl::FailedPreconditionError(
          "the library that limits GPU shares is not installed on this node: no file " + file);
    }
  }
  {
    const std::lock_guard lock(mutex_);
    live_[grant.holder.nonce] = grant.holder.pod_namespace;
  }
  TEPHRA_ASSIGN_OR_RETURN(const Folder folder, Folder::Open(settings_.folder, 0755));
  TEPHRA_ASSIGN_OR_RETURN(const Folder own, folder.Sub(grant.holder.nonce, kForAll));
  TEPHRA_ASSIGN_OR_RETURN(const Folder locks, folder.Sub(kLocks + grant.holder.pod_namespace, kSticky));
  TEPHRA_ASSIGN_OR_RETURN(const bool limited, LimitFolder(own.path(), kCacheLimit));
  TEPHRA_RETURN_IF_ERROR(LimitFolder(locks.path(), kLocksLimit).status());
  if (!limited && !warned_.exchange(true)) {
    LogWarning("containers with a fraction can fill the disk of the state folder: mount it into this pod with mountPropagation Bidirectional",
               {{"folder", settings_.folder}});
  }
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kFraction) continue;
    const std::string place = std::to_string(AddGpu(edits, gpus.devices[slice.gpu]));
    if (slice.memory_mib > 0) {
      SetEnv(edits, "CUDA_DEVICE_MEMORY_LIMIT_" + place, std::to_string(slice.memory_mib) + "m");
    }
    // Whole percents, at least 1: 0 means no limit.
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

absl::Status HookLimiter::Undo(const Grant& grant, const Gpus&) {
  TEPHRA_RETURN_IF_ERROR(Discard(grant.holder.nonce));
  const std::lock_guard lock(mutex_);
  live_.erase(grant.holder.nonce);
  const std::string& left = grant.holder.pod_namespace;
  const bool used = std::any_of(live_.begin(), live_.end(),
                                [&](const auto& each) { return each.second == left; });
  // Under the mutex, so that no container of the namespace begins meanwhile.
  return used ? absl::OkStatus() : Discard(kLocks + left);
}

// Another start of the container makes the folder again, so it gives up its name first.
absl::Status HookLimiter::Discard(const std::string& nonce) {
  TEPHRA_ASSIGN_OR_RETURN(const Folder folder, Folder::Open(settings_.folder, 0755));
  TEPHRA_RETURN_IF_ERROR(UnlimitFolder(folder.path() + "/" + nonce));
  const std::string discarded = NewNonce();
  const absl::Status renamed = folder.Rename(nonce, discarded);
  if (absl::IsNotFound(renamed)) return absl::OkStatus();
  TEPHRA_RETURN_IF_ERROR(renamed);
  cleaner_.Remove(discarded);
  return absl::OkStatus();
}

void HookLimiter::Remember(const std::vector<Grant>& live, const Gpus&) {
  const std::lock_guard lock(mutex_);
  for (const Grant& grant : live) live_[grant.holder.nonce] = grant.holder.pod_namespace;
}

absl::Status HookLimiter::Tidy(const std::string& uuid, const Gpus&) {
  if (!uuid.empty()) return absl::OkStatus();
  TEPHRA_ASSIGN_OR_RETURN(const Folder folder, Folder::Open(settings_.folder, 0755));
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<std::string> names, folder.Names());
  const std::lock_guard lock(mutex_);
  std::set<std::string> locks;
  for (const auto& [nonce, pod_namespace] : live_) locks.insert(kLocks + pod_namespace);
  for (const std::string& name : names) {
    if (name.rfind(kLocks, 0) == 0 && locks.count(name) == 0) {
      TEPHRA_RETURN_IF_ERROR(Discard(name));
    }
    if (!IsNonce(name) || live_.count(name) > 0) continue;
    TEPHRA_RETURN_IF_ERROR(UnlimitFolder(folder.path() + "/" + name));
    cleaner_.Remove(name);
  }
  return absl::OkStatus();
}

}  // namespace tephra::node
