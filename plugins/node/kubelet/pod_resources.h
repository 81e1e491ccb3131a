// PodResources: who holds which tickets, as the kubelet tells whoever asks it. It names pods, not
// their UIDs, leaves out ordinary init containers, and does not know of nonces: second best to the
// checkpoint, and an API that stays.
#pragma once

#include <string>
#include <vector>

#include "topology/base/status.h"

namespace tephra::node {

// One container of the resource asked for.
struct TicketHolder {
  std::string pod_namespace, pod, container;
  std::vector<std::string> tickets;  // sorted

  bool operator==(const TicketHolder&) const = default;
};

// Asks the kubelet that listens at the path. UNAVAILABLE: it does not answer.
absl::StatusOr<std::vector<TicketHolder>> ListTicketHolders(const std::string& socket,
                                                            const std::string& resource);

// The one container that holds just these tickets. UNAVAILABLE: none does, several do (the kubelet
// may give a ticket twice, kubernetes#137534), or two pods of its name are there.
absl::StatusOr<TicketHolder> HolderOf(const std::vector<TicketHolder>& holders,
                                      const std::vector<std::string>& tickets);

}  // namespace tephra::node
