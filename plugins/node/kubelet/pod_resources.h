// PodResources: which containers have which slots, from an API of the kubelet. The API names pods
// without their UIDs, leaves out ordinary init containers, and does not know nonces. So it is second
// best to the checkpoint, but it is stable.
#pragma once

#include <string>
#include <vector>

#include "topology/base/status.h"

namespace tephra::node {

// One container of the resource asked for.
struct SlotHolder {
  std::string pod_namespace, pod, container;
  std::vector<std::string> slots;  // sorted

  bool operator==(const SlotHolder&) const = default;
};

// Asks the kubelet that listens at the path. UNAVAILABLE: it does not answer.
absl::StatusOr<std::vector<SlotHolder>> ListSlotHolders(const std::string& socket,
                                                            const std::string& resource);

// The one container that holds just these slots. UNAVAILABLE: none does, several do (the kubelet
// may give a slot twice, kubernetes#137534), or two pods of its name are there.
absl::StatusOr<SlotHolder> HolderOf(const std::vector<SlotHolder>& holders,
                                      const std::vector<std::string>& slots);

}  // namespace tephra::node
