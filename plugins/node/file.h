// Files and folders of the plugin: no link is followed in the last part of a path, what is written
// is whole or not there, and every error names the file.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sidecar/descriptor.h"
#include "topology/base/status.h"

namespace tephra::node {

// NOT_FOUND: nothing is there. FAILED_PRECONDITION: it is longer than `most`, or no plain file.
absl::StatusOr<std::string> ReadFile(const std::string& path, std::size_t most);
// The same where links belong there: a mounted secret is one to its newest version.
absl::StatusOr<std::string> ReadFileThroughLinks(const std::string& path, std::size_t most);

// A folder that is held open, so that what its name leads to later changes nothing.
class Folder {
 public:
  // Makes it, and the folders above it, where it is not there. FAILED_PRECONDITION: something else
  // is there, a link for one.
  static absl::StatusOr<Folder> Open(const std::string& path, unsigned mode = 0700);

  const std::string& path() const { return path_; }
  // REQUIRES of all: `name` is one part of a path, neither "." nor "..".

  absl::StatusOr<Folder> Sub(const std::string& name, unsigned mode = 0700) const;
  absl::StatusOr<std::string> Read(const std::string& name, std::size_t most) const;
  // By a new file that takes the old one's place. `mode` is what it has then.
  absl::Status Write(const std::string& name, std::string_view text, unsigned mode = 0600) const;
  // OK where there is nothing.
  absl::Status Remove(const std::string& name) const;
  // A folder, the plain files in it and one level of folders of such. OK where there is nothing.
  absl::Status RemoveFolder(const std::string& name) const;
  // Sorted, without "." and "..".
  absl::StatusOr<std::vector<std::string>> Names() const;

 private:
  Folder(std::string path, Descriptor folder)
      : path_(std::move(path)), folder_(std::move(folder)) {}

  std::string path_;
  Descriptor folder_;
};

}  // namespace tephra::node
