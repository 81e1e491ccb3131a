// Scarcity: the part of each GPU model that expected pods without a choice of model will request,
// so that other pods leave these GPUs free.
//
// Expected pods are scaled so that they request as many GPUs as the cluster has. For each pod that
// names models, scarcity is the requested GPUs over the GPUs that the pod may use, summed by model,
// at most 1. It has steps of a sixteenth, so one node more or less seldom changes it. Pure.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/config.h"
#include "topology/hardware.h"

namespace tephra {

// By model, in sixteenths; 0 for a model that is missing here.
using Scarcity = std::map<std::string, std::int32_t>;
constexpr std::int32_t kWhollyScarce = 16;

Scarcity ScarcityOf(const std::vector<ExpectedPod>& expected, const Hardware& hardware);

}  // namespace tephra
