#include "engine/mask.h"

#include <algorithm>
#include <utility>

namespace tephra {

bool Mask::Replace(std::vector<bool> excluded) {
  const std::size_t slots = std::max(excluded.size(), excluded_.size());
  excluded.resize(slots);
  excluded_.resize(slots);
  bool freed = false;
  for (std::size_t n = 0; n < slots; ++n) {
    if (excluded[n] == excluded_[n]) continue;
    freed = freed || excluded_[n];
    log_.Add(NodeId(n));
  }
  excluded_ = std::move(excluded);
  return freed;
}

const Mask* Masks::Find(const std::string& name) const {
  const auto it = by_name_.find(name);
  return it == by_name_.end() ? nullptr : &it->second;
}

bool Masks::Exclude(const std::string& name, NodeId node) const {
  if (name.empty()) return false;
  const Mask* mask = Find(name);
  return mask == nullptr || mask->Excludes(node);
}

bool Masks::Upsert(const std::string& name, std::vector<bool> excluded) {
  const auto [it, fresh] = by_name_.try_emplace(name);
  if (!fresh) return it->second.Replace(std::move(excluded));
  it->second.excluded_ = std::move(excluded);
  it->second.serial_ = ++made_;
  return true;
}

}  // namespace tephra
