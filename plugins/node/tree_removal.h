// RemoveTree removes a folder that a tenant may have filled: any depth, any kind of file, any
// permissions. Links are removed and never followed, so nothing outside of the folder changes.
//
// Assumption: the tree is on one file system. Steps: each file is unlinked where it is; a folder
// that is not empty is first moved up, to directly below the top, under a random name. Therefore at
// most two folders are open at a time. A file that the system refuses to remove, such as an
// immutable one or a mount point, is an error; the rest of the tree is removed all the same.
#pragma once

#include <cstddef>
#include <string>

#include "topology/base/status.h"

namespace tephra::node {

// Removes the file or folder `name` in the open folder `at`, in at most `steps` steps of one entry
// each. True: nothing is left, or nothing was there. False: entries are left; call again.
// `path`: names the tree in errors.
absl::StatusOr<bool> RemoveTree(int at, const std::string& name, const std::string& path,
                                std::size_t steps);

}  // namespace tephra::node
