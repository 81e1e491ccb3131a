// BindingSettings: where LateBinding finds what it reads, and puts what containers are to see.
#pragma once

#include <set>
#include <string>

namespace tephra::node {

struct BindingSettings {
  std::string state_folder = "/var/lib/tephra-node";
  std::string checkpoint = "/var/lib/kubelet/device-plugins/kubelet_internal_checkpoint";
  // The kubelet's socket of pod resources, used if its checkpoint cannot be read; empty: not used.
  std::string pod_resources = "/var/lib/kubelet/pod-resources/kubelet.sock";
  std::string resource;
  std::string cdi_folder = "/var/run/cdi";  // empty: the runtime knows no CDI
  bool mount = false;                       // mount the nonce's directory into the container
  std::string mount_at = "/run/tephra";     // where it is then
  // NVIDIA's runtime is to find the GPUs of a container by mounts that CDI makes, not by a variable alone.
  bool visible_by_mounts = false;
  std::set<std::string> schedulers;         // whose pods are served
  std::string node;                         // the name of this node
  std::string slices_keys;                  // folder of slice_keys.h; empty: slices need no signature
  std::string cgroup_root = "/sys/fs/cgroup";
  std::string device_root;  // below which "/dev" is, where the driver is not installed on the host
  // containerd learns of a CDI file by inotify; a container that was created at once missed it in 1
  // to 11 of 300 cases, none after this long.
  int settle_ms = 50;
};

}  // namespace tephra::node
