// Holders: which containers have slices of one mode of which GPU. One owner thread.
#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "plugins/node/gpu.h"
#include "plugins/node/grant.h"

namespace tephra::node {

class Holders {
 public:
  explicit Holders(SliceMode mode) : mode_(mode) {}

  // Adds those of the grant's slices that are of the mode.
  void Add(const Grant& grant, const Gpus& gpus) {
    for (const GrantedSlice& slice : grant.slices) {
      if (slice.mode != mode_ || slice.gpu >= gpus.devices.size()) continue;
      held_[gpus.devices[slice.gpu].hardware.uuid][grant.holder.nonce] = grant.holder;
    }
  }
  void Remove(const Grant& grant) {
    for (auto& [uuid, holders] : held_) holders.erase(grant.holder.nonce);
  }
  void Clear() { held_.clear(); }

  // By nonce.
  const std::map<std::string, Holder>& Of(const std::string& uuid) const {
    static const std::map<std::string, Holder> nobody;
    const auto found = held_.find(uuid);
    return found == held_.end() ? nobody : found->second;
  }

 private:
  SliceMode mode_;
  std::map<std::string, std::map<std::string, Holder>> held_;  // by GPU
};

}  // namespace tephra::node
