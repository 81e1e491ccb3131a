// PodKind: what an expected pod takes of a node. Plain data.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

#include "engine/config.h"

namespace tephra {

constexpr std::int64_t kMilliPerCore = 1000;

struct PodKind {
  std::int64_t cpu = 0;      // milli-cores, in steps of half a core
  std::int32_t devices = 0;  // whole devices; 0: a share of one device
  std::int32_t percent = 0;  // of that device, rounded up

  // Fractions of several devices count as whole devices. REQUIRES: the pod requests devices.
  static PodKind Of(const ExpectedPod& pod) {
    const bool share = pod.devices == 1 && pod.compute <= 990;
    constexpr std::int64_t kStep = kMilliPerCore / 2;
    return {(pod.cpu + kStep - 1) / kStep * kStep, share ? 0 : pod.devices,
            share ? (pod.compute + 9) / 10 : 0};
  }

  double gpus() const { return devices > 0 ? devices : percent / 100.0; }

  // How many of these pods fit at once on `idle` devices and one with `percent` free.
  std::int64_t Fitting(std::int64_t idle, std::int32_t percent_free) const {
    if (devices > 0) return idle / devices;
    return idle * (100 / percent) + percent_free / percent;
  }
  std::int64_t FittingCpu(std::int64_t free) const {
    return cpu > 0 ? free / cpu : std::numeric_limits<std::int64_t>::max();
  }

  bool operator==(const PodKind&) const = default;
};

// Whether it requests devices at all.
inline bool NeedsDevices(const ExpectedPod& pod) {
  return pod.devices > 0 && pod.compute > 0 && pod.share > 0;
}

}  // namespace tephra
