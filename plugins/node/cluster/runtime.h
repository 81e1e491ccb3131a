// Runtime: whether the container runtime of this node learns of CDI devices that a device plugin
// names, by what the kubelet says of both in the status of its Node.
#pragma once

#include <string>
#include <string_view>

#include "plugins/node/cluster/api_client.h"
#include "topology/base/status.h"

namespace tephra::node {

struct RuntimeFacts {
  std::string runtime;  // "containerd://1.7.27"
  std::string kubelet;  // "v1.31.4"
};

enum class CdiSupport {
  kNo,
  kMaybe,  // it depends on its configuration, or is not known
  kYes,
};

// DATA_LOSS for what is no Node.
absl::StatusOr<RuntimeFacts> ParseRuntime(std::string_view node);

CdiSupport CdiSupportOf(const RuntimeFacts& facts);

// Asks the API server once.
absl::StatusOr<RuntimeFacts> AskRuntime(const ApiSettings& api, const std::string& node);

}  // namespace tephra::node
