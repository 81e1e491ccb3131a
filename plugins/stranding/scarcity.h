// Scarcity: how much of each GPU model those pods will want that may use no other, so that pods
// with a choice leave it to them.
//
// Of expected pods that name models, the GPUs that they ask for, were the cluster asked for as many
// as it has, over the GPUs that they may use; summed by model, and at most all of it. In steps of
// a sixteenth, so that a node more or less seldom changes it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "plugins/framework/config.h"
#include "topology/hardware.h"

namespace tephra {

// By model, in sixteenths; what is missing is 0.
using Scarcity = std::map<std::string, std::int32_t>;
constexpr std::int32_t kWhollyScarce = 16;

Scarcity ScarcityOf(const std::vector<ExpectedPod>& expected, const Hardware& hardware);

}  // namespace tephra
