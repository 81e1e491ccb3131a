// NodeWriter: what this node says of itself to the cluster: annotations and labels of its Node, and
// extended resources in its status. It writes what differs from what it wrote last, and nothing by
// the clock. One owner thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "plugins/node/cluster/api_client.h"

namespace tephra::node {

struct NodeFacts {
  // Nothing: the key is taken away.
  std::map<std::string, std::optional<std::string>> annotations, labels;
  // Beside the kubelet's own; it copies them to what is allocatable.
  std::map<std::string, std::int64_t> capacity;

  bool operator==(const NodeFacts&) const = default;
};

class NodeWriter {
 public:
  // REQUIRES: `client` outlives it, and is used by its owner thread alone.
  NodeWriter(ApiClient& client, std::string node) : client_(client), node_(std::move(node)) {}

  // Asked again after an error it writes all of it again. Labels are left alone where NVIDIA's GPU
  // Feature Discovery sets them, which shows in a label of its own.
  absl::Status Write(const NodeFacts& facts);
  // What was written may not stand any more: the next Write writes all of it.
  void Forget() { written_.reset(); }

 private:
  absl::StatusOr<bool> LabelsAreOthers();
  absl::Status Patch(const std::string& path, const std::string& what);

  ApiClient& client_;
  const std::string node_;
  std::optional<NodeFacts> written_;
};

// The bodies of the two requests, as JSON merge patches (RFC 7386); empty where there is nothing.
std::string MetadataPatch(const NodeFacts& facts);
std::string StatusPatch(const NodeFacts& facts);

}  // namespace tephra::node
