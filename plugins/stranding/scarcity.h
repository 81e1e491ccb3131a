// Scarcity: how scarce the room for each expected pod is, so that other pods leave it free.
//
// Expected pods are scaled so that they request as many GPUs as the cluster has. The room of a pod
// m is the GPUs that pods like m would use if they filled the idle cluster. The pods tied to m are
// m itself and all pods that fit only where m fits. With demand in GPUs,
//
//   scarcity(m) = min(1, demand(m) / room(m)) x min(1, demand of all pods tied to m / room(m))^2.
//
// The number of nodes of a kind has four significant bits, so one node more or less seldom changes
// the scarcity. Pure.
#pragma once

#include <vector>

#include "engine/config.h"
#include "topology/hardware.h"

namespace tephra {

using Scarcity = std::vector<double>;  // by expected pod, 0 to 1

Scarcity ScarcityOf(const std::vector<ExpectedPod>& expected, const Hardware& hardware);

}  // namespace tephra
