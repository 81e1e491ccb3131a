// SliceKeys: the public keys by which the scheduler's signature of a pod's slices is checked. The
// scheduler signs with Ed25519 (plugins/volcano/annotations), so a node that is taken over cannot
// sign. tests/vectors has cases for both.
//
// A folder has up to 8 files NAME.pub, each a key in PEM, and may have a file `since`: pods created
// before that time need no signature. Keys are read for each check, so a key that is rotated counts
// at once. Immutable, any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "topology/base/status.h"

namespace tephra::node {

constexpr const char* kQueueKey = "tephra.sh/queue";
constexpr const char* kSignatureKey = "tephra.sh/slices-signature";

// What the scheduler said of a pod with its Binding.
struct SignedSlices {
  std::string pod_uid, node;
  std::string queue;   // the annotation kQueueKey; empty: there is none
  std::string slices;  // the annotation kSlicesKey
};

class SliceKeys {
 public:
  // FAILED_PRECONDITION: a file is not what it should be; the message names the file.
  static absl::StatusOr<SliceKeys> Read(const std::string& folder);

  // PERMISSION_DENIED: the signature does not count for a pod that was created then (Unix time).
  absl::Status Check(const SignedSlices& given, const std::string& signature,
                     std::int64_t created_s) const;

 private:
  std::map<std::string, std::string> keys_;  // raw public keys by the name that signatures have
  std::int64_t since_s_ = 0;
  std::string since_;  // its text
};

// Unix time of a text such as "2026-01-31T08:00:00Z"; nothing: it is another text.
std::optional<std::int64_t> ParseApiTime(const std::string& text);

}  // namespace tephra::node
