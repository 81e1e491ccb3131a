// Holders: which containers have slices of one mode, by GPU. Any thread.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plugins/node/gpu.h"
#include "plugins/node/grant.h"

namespace tephra::node {

class Holders {
 public:
  explicit Holders(SliceMode mode) : mode_(mode) {}

  // Replaces all by the slices of these grants.
  void Remember(const std::vector<Grant>& live, const Gpus& gpus) {
    const std::lock_guard lock(mutex_);
    held_.clear();
    for (const Grant& grant : live) AddLocked(grant, gpus);
  }
  // Adds the slices of the grant that are of the mode.
  void Add(const Grant& grant, const Gpus& gpus) {
    const std::lock_guard lock(mutex_);
    AddLocked(grant, gpus);
  }
  void Remove(const Grant& grant) {
    const std::lock_guard lock(mutex_);
    for (auto& [uuid, holders] : held_) holders.erase(grant.holder.nonce);
  }

  // By nonce.
  std::map<std::string, Holder> Of(const std::string& uuid) const {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(uuid);
    return found == held_.end() ? std::map<std::string, Holder>() : found->second;
  }

 private:
  void AddLocked(const Grant& grant, const Gpus& gpus) {
    for (const GrantedSlice& slice : grant.slices) {
      if (slice.mode != mode_ || slice.gpu >= gpus.devices.size()) continue;
      held_[gpus.devices[slice.gpu].hardware.uuid][grant.holder.nonce] = grant.holder;
    }
  }

  const SliceMode mode_;
  mutable std::mutex mutex_;
  std::map<std::string, std::map<std::string, Holder>> held_;  // by GPU
};

}  // namespace tephra::node
