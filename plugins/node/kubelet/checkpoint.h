// Checkpoint: what the kubelet's device manager wrote down of which container holds which slots
// (kubelet_internal_checkpoint). It is the only place that names pod UID and container, ordinary
// init containers included, and the answer that Allocate gave.
//
// The file is internal to the kubelet, so its shape is checked: one that is not as kubelets
// from 1.20 to 1.35 write it is an error, never half read. Its check sum is not compared: that is
// one of Go's printed form of the data (k8s.io/kubernetes/pkg/kubelet/checkpointmanager/checksum),
// and the file is replaced by renaming, so that it is whole or absent.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/base/status.h"

namespace tephra::node {

constexpr std::size_t kMaxCheckpointBytes = 16u << 20;  // 60,000 slots take a few MB

// One container of the resource asked for.
struct CheckpointEntry {
  std::string pod_uid;
  std::string container;
  std::vector<std::string> slots;  // sorted
  std::string nonce;

  bool operator==(const CheckpointEntry&) const = default;
};

// What Allocate's answers look like, so that the nonce in one can be found.
struct NonceMarks {
  std::string cdi_kind;    // "tephra.sh/slice"; a CDI device is "<kind>=<nonce>"
  std::string nonce_root;  // a mounted directory is "<root>/<nonce>"
};

// The entries of `resource`. One whose answer holds no nonce is left out: another plugin served the
// resource then. DATA_LOSS, with what was expected, for anything of another shape.
absl::StatusOr<std::vector<CheckpointEntry>> ParseCheckpoint(std::string_view text,
                                                             const std::string& resource,
                                                             const NonceMarks& marks);

// The same of a file. NOT_FOUND where there is none yet.
absl::StatusOr<std::vector<CheckpointEntry>> ReadCheckpoint(const std::string& path,
                                                            const std::string& resource,
                                                            const NonceMarks& marks);

// Whether it may be a pod's UID: letters, digits and dashes, so that it may be part of a path.
bool IsPodUid(std::string_view text);
// Whether it may be a container's name (RFC 1123 label).
bool IsContainerName(std::string_view text);

}  // namespace tephra::node
