// Files and folders of the node plugin. The last part of a path is never followed if it is a link;
// a file is written whole or not at all; every error names the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.h"
#include "topology/base/status.h"

namespace tephra::node {

// NOT_FOUND: there is no such file. FAILED_PRECONDITION: it has more than `most` bytes, or is not a
// regular file.
absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t most);
// Follows links: a mounted secret is a link to its newest version.
absl::StatusOr<std::string> ReadFileThroughLinks(const std::string& path, std::size_t most);

// A folder that stays open, so that a later change of what its name leads to has no effect.
class Folder {
 public:
  // Creates the folder and its parents if they do not exist. FAILED_PRECONDITION: something else
  // has the name, for example a link.
  static absl::StatusOr<Folder> Open(const std::string& path, unsigned mode = 0700);

  const std::string& path() const { return path_; }
  // REQUIRES of all: `name` is one part of a path, neither "." nor "..".

  absl::StatusOr<Folder> Sub(const std::string& name, unsigned mode = 0700) const;
  absl::StatusOr<std::string> Read(const std::string& name, std::size_t most) const;
  // Replaces the file by a new one with the permissions `mode`.
  absl::Status Write(const std::string& name, std::string_view text, unsigned mode = 0600) const;
  // NOT_FOUND: there is nothing of that name.
  absl::Status Rename(const std::string& name, const std::string& to) const;
  // OK if there is nothing.
  absl::Status Remove(const std::string& name) const;
  // Removes a file, or a folder with all that is in it, as tree_removal.h says. False: `steps`
  // entries were removed and more are left. True if there is nothing.
  absl::StatusOr<bool> RemoveTree(const std::string& name, std::size_t steps) const;
  // Sorted, without "." and "..".
  absl::StatusOr<std::vector<std::string>> Names() const;

 private:
  Folder(std::string path, Descriptor folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;
  Descriptor folder_;
};

}  // namespace tephra::node
