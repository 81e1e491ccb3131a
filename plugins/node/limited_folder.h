// A folder that a container may write gets a file system of its own in memory, with a size. So a container cannot
// fill a disk of the node, and what it writes counts as its own memory.
#pragma once

#include <cstddef>
#include <string>

#include "topology/base/status.h"

namespace tephra::node {

struct FolderLimit {
  std::size_t bytes = 0;
  std::size_t files = 0;
  unsigned mode = 0777;
};

// False: containers would not see the file system, because the mount that holds the folder is not shared with the
// host. The folder stays as it is then. True, too, if the folder has one already.
absl::StatusOr<bool> LimitFolder(const std::string& path, const FolderLimit& limit);
// Takes the file system away, with all that is in it. Containers that still use it keep it. OK if there is none.
absl::Status UnlimitFolder(const std::string& path);

}  // namespace tephra::node
