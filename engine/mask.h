// Mask: the nodes that pods of a class may not use for reasons that only the process that carries
// plans out can judge (volumes, affinity between pods). Each is replaced whole, by name.
//
// A mask that a class names and that is not known keeps the class off every node: the facts are
// not there yet. A node that a known mask does not name is open. One owner thread.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/change_log.h"
#include "topology/base/ids.h"

namespace tephra {

class Mask {
 public:
  bool Excludes(NodeId node) const {
    return node.index() < excluded_.size() && excluded_[node.index()];
  }
  // By NodeId, as long as it needs to be. True if a node came free.
  bool Replace(std::vector<bool> excluded);

  // Nodes whose verdict changed since the mask came to be.
  const ChangeLog<NodeId>& log() const { return log_; }
  // Another number for each mask that comes to be, one of an old name too; never 0.
  std::uint64_t serial() const { return serial_; }

 private:
  friend class Masks;
  std::vector<bool> excluded_;
  ChangeLog<NodeId> log_;
  std::uint64_t serial_ = 0;
};

class Masks {
 public:
  // Null where it is not known.
  const Mask* Find(const std::string& name) const;
  // Whether the mask of that name keeps its pods off the node; empty: there is none to do so.
  bool Exclude(const std::string& name, NodeId node) const;
  // True if a node came free.
  bool Upsert(const std::string& name, std::vector<bool> excluded);
  void Remove(const std::string& name) { by_name_.erase(name); }

 private:
  std::unordered_map<std::string, Mask> by_name_;
  std::uint64_t made_ = 0;
};

}  // namespace tephra
