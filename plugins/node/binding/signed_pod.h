// CheckSigned: whether the slices of a pod count on this node.
#pragma once

#include "plugins/node/binding/binding_settings.h"
#include "plugins/node/cluster/pod_source.h"
#include "plugins/node/slice_keys.h"

namespace tephra::node {

// OK without a folder of keys. FAILED_PRECONDITION: the keys cannot be read, so no slices count.
// PERMISSION_DENIED: the scheduler did not sign them. REQUIRES: the pod has slices.
inline absl::Status CheckSigned(const BindingSettings& settings, const PodFacts& pod) {
  if (settings.slices_keys.empty()) return absl::OkStatus();
  TEPHRA_ASSIGN_OR_RETURN(const SliceKeys keys, SliceKeys::Read(settings.slices_keys));
  return keys.Check({pod.uid, settings.node, pod.queue, *pod.slices}, pod.signature, pod.created_s);
}

}  // namespace tephra::node
