// NonceFiles: what is found under a container's nonce when it is created: its device in the CDI
// file, by the runtime, and its slices in a mounted directory, by the container itself.
//
// One owner; Name() by any thread.
#pragma once

#include <chrono>
#include <set>
#include <string>

#include "plugins/node/binding/binding_settings.h"
#include "plugins/node/binding/books.h"
#include "plugins/node/file.h"
#include "plugins/node/kubelet/checkpoint.h"
#include "plugins/node/kubelet/device_plugin.h"

namespace tephra::node {

class NonceFiles {
 public:
  NonceFiles(const BindingSettings& settings, Folder directories)
      : settings_(settings), directories_(std::move(directories)) {}

  NonceMarks Marks() const;
  // What Allocate answers for a new nonce, whose directory is made, where one is mounted.
  absl::StatusOr<AllocateAnswer> Name(const std::string& nonce) const;

  // Makes the CDI file, whatever an earlier process left there, what the books say.
  absl::Status Begin(const Books& books);
  // All that the container of this holding, which the books have, is to see.
  absl::Status Show(const Holding& holding, const Books& books, const Gpus& gpus);
  // The CDI file as the books have it. Without its device no container of a nonce can be created.
  absl::Status Update(const Books& books);
  absl::Status RemoveDirectory(const std::string& nonce) const;
  // Directories of nonces that were minted long ago, and that are in neither.
  void RemoveUnused(const std::set<std::string>& live, const Books& books) const;
  // When the runtime has surely read the CDI file as it is now.
  Deadline settled() const;

 private:
  const BindingSettings settings_;
  const Folder directories_;
  std::string cdi_text_;    // as it is on disk
  Deadline cdi_written_{};  // when it last changed
};

}  // namespace tephra::node
