// Books: what the containers of this node hold of its GPUs, whatever the API server says of their
// pods: a container that outlives the deletion of its pod keeps its slices here until it is gone.
//
// What goes together on one GPU: slices of one pod in any way (the scheduler has counted its
// containers, and init containers do not run beside its other containers); of several pods, only one mode
// that can be shared, and within the memory, the compute and the number of containers that the GPU
// has to give. One owner.
#pragma once

#include <map>
#include <set>
#include <string>

#include "plugins/node/partition/partitioner.h"
#include "plugins/node/gpu.h"
#include "plugins/node/grant.h"
#include "topology/base/status.h"

namespace tephra::node {

struct Holding {
  Grant grant;
  bool init = false;   // of an ordinary init container
  bool bound = false;  // all is cut, and `edits` is what the container is to see
  Edits edits;
  std::vector<std::string> slots;  // that admitted it, sorted; none: not known

  bool operator==(const Holding&) const = default;
};

class Books {
 public:
  // OK where the grant can stand beside what the other pods hold. UNAVAILABLE, with the GPU and its
  // holder, where it cannot until that one is gone.
  absl::Status Fits(const Holding& wanted, const Gpus& gpus) const;

  const Holding* Find(const std::string& nonce) const;  // null: nothing
  void Put(Holding holding);
  void Remove(const std::string& nonce) { by_nonce_.erase(nonce); }
  const std::map<std::string, Holding>& all() const { return by_nonce_; }

 private:
  template <class Visit>
  void VisitOthers(const Holding& wanted, std::size_t gpu, const Visit& visit) const;
  // One slice beside those of other pods on its GPU: modes and places; sums of one that is shared.
  absl::Status StandsBeside(const Holding& wanted, const GrantedSlice& slice,
                            const Gpus& gpus) const;
  absl::Status SumsFit(const Holding& wanted, const GrantedSlice& slice, const Gpus& gpus) const;

  std::map<std::string, Holding> by_nonce_;
};

}  // namespace tephra::node
