#include "plugins/node/binding/pod_cgroups.h"

#include <unistd.h>

#include <algorithm>

namespace tephra::node {
namespace {

// Version 2 of control groups, and of version 1 two hierarchies that the kubelet always makes.
constexpr const char* kHierarchies[] = {"", "/pids", "/memory"};
constexpr const char* kClasses[] = {"", "burstable", "besteffort"};  // guaranteed has no folder

bool Exists(const std::string& path) { return access(path.c_str(), F_OK) == 0; }

}  // namespace

// The two drivers name a pod's group "kubepods/burstable/pod<uid>" and
// "kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod<uid>.slice", with "_" for "-"
// (k8s.io/kubernetes/pkg/kubelet/cm: pod_container_manager_linux.go, cgroup_manager_linux.go).
bool PodCgroups::Runs(const std::string& uid) const {
  if (root_.empty()) return false;
  std::string escaped = uid;
  std::replace(escaped.begin(), escaped.end(), '-', '_');
  for (const std::string hierarchy : kHierarchies) {
    const std::string top = root_ + hierarchy;
    for (const std::string one : kClasses) {
      const std::string folder = one.empty() ? "" : "/" + one;
      if (Exists(top + "/kubepods" + folder + "/pod" + uid)) return true;
      const std::string dashed = one.empty() ? "" : "-" + one;
      const std::string slice = one.empty() ? "" : "/kubepods-" + one + ".slice";
      if (Exists(top + "/kubepods.slice" + slice + "/kubepods" + dashed + "-pod" + escaped +
                 ".slice")) {
        return true;
      }
    }
  }
  return false;
}

bool PodCgroups::Sees() const {
  return !root_.empty() &&
         std::any_of(std::begin(kHierarchies), std::end(kHierarchies), [&](const char* hierarchy) {
           const std::string top = root_ + hierarchy;
           return Exists(top + "/kubepods") || Exists(top + "/kubepods.slice");
         });
}

}  // namespace tephra::node
