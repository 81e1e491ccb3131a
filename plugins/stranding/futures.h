// Futures: what a node's idle compute is worth to expected pods.
//
// Left(s), in devices, is the mean of the idle compute that stays idle. Pods are drawn one after
// another, each kind at its rate, and are placed if they fit. After each draw the process ends with
// a small probability, which is smaller with more idle devices, because these attract more pods. A
// pod that requests a share takes it from the partly used device if it fits there, and otherwise
// from an idle device. A state s is the number of idle devices, the free part of the partly used
// device, and the free CPU. e is the rate of the end, and m runs over the kinds of pods that fit:
//
//   Left(s) = (e x idle(s) + sum over m of rate(m) x Left(s with m placed)) / (e + sum of rate(m)).
//
// Each placement lowers s, so one pass from the smallest state up solves it. Two parts are
// approximate: values between whole cores, and a second partly used device, which counts as if
// filled separately.
//
// Room(s) is the sum over m of weight(m) x the compute of as many pods m as fit in s at once.
//
// Immutable after construction; any thread.
#pragma once

#include <cstdint>
#include <vector>

#include "plugins/stranding/pod_kind.h"

namespace tephra {

// A kind of pod that may take devices of the node.
struct Drawn {
  PodKind pod;
  double rate = 0;    // of all draws, including draws of pods that may not run here; 0: not drawn
  double weight = 0;  // of its room
};

class Futures {
 public:
  explicit Futures(const std::vector<Drawn>& drawn);
  // Room - Left, with `idle` idle devices and one partly used device with `percent` free (0: there
  // is none). CPU in milli-cores; more than 128 cores for 8 devices does not count.
  // REQUIRES: percent is below 100.
  double Worth(std::int64_t idle, std::int32_t percent, double cpu) const;

 private:
  void AddRoom(const Drawn& drawn);
  double At(std::int32_t idle, std::int32_t percent, double cpu) const;

  std::vector<float> worth_;  // by idle devices, percent, whole cores
};

}  // namespace tephra
