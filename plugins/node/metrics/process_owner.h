// ProcessOwner: whose a process is that the driver tells of. Processes of containers show only
// where this process shares the host's process numbers (hostPID).
#pragma once

#include <string>

namespace tephra::node {

struct ProcessOwner {
  std::string nonce;    // that CDI gave its container; empty: it has none, or has cleared it
  std::string pod_uid;  // by its control group; empty: it is in no pod's
};

// `proc`: "/proc". Both are empty for a process that is gone.
ProcessOwner OwnerOf(const std::string& proc, unsigned pid);

// The pod's UID in the text of /proc/<pid>/cgroup; empty: none.
std::string PodUidIn(const std::string& cgroups);

}  // namespace tephra::node
