// PodCgroups: whether anything of a pod still runs, by its control group, which the kubelet removes
// once the last container is gone. The API server and the kubelet's books forget a pod that is
// deleted by force at once, while its containers take seconds more to end.
#pragma once

#include <string>

namespace tephra::node {

class PodCgroups {
 public:
  // `root`: "/sys/fs/cgroup". Empty: not known, and every pod counts as ended.
  explicit PodCgroups(std::string root) : root_(std::move(root)) {}

  // REQUIRES: IsPodUid(uid).
  bool Runs(const std::string& uid) const;
  // Whether pods can be seen there at all.
  bool Sees() const;

 private:
  const std::string root_;
};

}  // namespace tephra::node
