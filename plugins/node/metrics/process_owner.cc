#include "plugins/node/metrics/process_owner.h"

#include <algorithm>
#include <string_view>

#include "plugins/node/binding/nonce.h"
#include "plugins/node/file.h"
#include "plugins/node/kubelet/checkpoint.h"

namespace tephra::node {
namespace {

constexpr std::size_t kMostProcBytes = 2u << 20;  // of an environment: Linux keeps it below
constexpr std::string_view kVariable = "TEPHRA_NONCE=";

std::string NonceIn(const std::string& environment) {
  for (std::size_t at = 0; at < environment.size();) {
    const std::size_t end = std::min(environment.find('\0', at), environment.size());
    const std::string_view entry = std::string_view(environment).substr(at, end - at);
    if (entry.substr(0, kVariable.size()) == kVariable) {
      const std::string_view nonce = entry.substr(kVariable.size());
      return IsNonce(nonce) ? std::string(nonce) : "";
    }
    at = end + 1;
  }
  return "";
}

}  // namespace

// "…/kubepods/burstable/pod<uid>/<container>" or "…/kubepods-burstable-pod<uid>.slice/…", with "_"
// for "-": see binding/pod_cgroups.cc.
std::string PodUidIn(const std::string& cgroups) {
  const std::size_t pods = cgroups.find("kubepods");
  if (pods == std::string::npos) return "";
  for (std::size_t at = pods; (at = cgroups.find("pod", at + 1)) != std::string::npos;) {
    const char before = cgroups[at - 1];
    if (before != '/' && before != '-') continue;
    const std::size_t begin = at + 3;
    std::string uid = cgroups.substr(begin, cgroups.find_first_of("/.\n", begin) - begin);
    std::replace(uid.begin(), uid.end(), '_', '-');
    if (IsPodUid(uid)) return uid;
  }
  return "";
}

ProcessOwner OwnerOf(const std::string& proc, unsigned pid) {
  const std::string folder = proc + "/" + std::to_string(pid) + "/";
  const auto cgroups = ReadFile(folder + "cgroup", kMostProcBytes);
  const auto environment = ReadFile(folder + "environ", kMostProcBytes);
  return {environment.ok() ? NonceIn(*environment) : "", cgroups.ok() ? PodUidIn(*cgroups) : ""};
}

}  // namespace tephra::node
