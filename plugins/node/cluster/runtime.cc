#include "plugins/node/cluster/runtime.h"

#include <cstdio>
#include <utility>

#include <nlohmann/json.hpp>

namespace tephra::node {
namespace {

using MajorMinor = std::pair<int, int>;

// "1.7.27" and "v1.31.4-eks-1"; zeros for anything else.
MajorMinor VersionOf(std::string_view text) {
  if (!text.empty() && text.front() == 'v') text.remove_prefix(1);
  MajorMinor version;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%d.%d", &version.first, &version.second) != 2) return {};
  return version;
}

// Kubelets hand on what plugins name from 1.29 on (feature DevicePluginCDIDevices, beta then).
constexpr MajorMinor kKubelet = {1, 29};
// containerd reads it from 1.7 on, where `enable_cdi` is set in its configuration; by default
// from 2.0 on. Older ones pass over it without a word.
constexpr MajorMinor kContainerdMaybe = {1, 7}, kContainerd = {2, 0};
constexpr MajorMinor kCrio = {1, 28};

}  // namespace

absl::StatusOr<RuntimeFacts> ParseRuntime(std::string_view node) {
  const auto all = nlohmann::json::parse(node, nullptr, false);
  try {
    const auto& said = all.at("status").at("nodeInfo");
    return RuntimeFacts{said.at("containerRuntimeVersion").get<std::string>(),
                        said.at("kubeletVersion").get<std::string>()};
  } catch (const nlohmann::json::exception&) {
    return absl::DataLossError(
        "node: status.nodeInfo: expected the versions of runtime and kubelet");
  }
}

CdiSupport CdiSupportOf(const RuntimeFacts& facts) {
  const MajorMinor kubelet = VersionOf(facts.kubelet);
  if (kubelet != MajorMinor{} && kubelet < kKubelet) return CdiSupport::kNo;
  const std::size_t sign = facts.runtime.find("://");
  if (sign == std::string::npos) return CdiSupport::kMaybe;
  const std::string name = facts.runtime.substr(0, sign);
  const MajorMinor version = VersionOf(std::string_view(facts.runtime).substr(sign + 3));
  if (version == MajorMinor{}) return CdiSupport::kMaybe;
  if (name == "containerd") {
    if (version < kContainerdMaybe) return CdiSupport::kNo;
    return version < kContainerd ? CdiSupport::kMaybe : CdiSupport::kYes;
  }
  if (name == "cri-o") return version < kCrio ? CdiSupport::kNo : CdiSupport::kYes;
  return name == "docker" ? CdiSupport::kNo : CdiSupport::kMaybe;
}

absl::StatusOr<RuntimeFacts> AskRuntime(const ApiSettings& api, const std::string& node) {
  ApiClient client(api);
  TEPHRA_ASSIGN_OR_RETURN(const ApiAnswer answer, client.Get("/api/v1/nodes/" + node));
  if (answer.code != 200) return ApiError("get of node " + node, answer);
  return ParseRuntime(answer.body);
}

}  // namespace tephra::node
