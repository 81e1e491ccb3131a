// PodShapes: how often each shape of pod occurs in a workload, for policies that look ahead.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/config.h"
#include "queue/job.h"

namespace tephra {

struct PodShape {
  std::int64_t cpu = 0;      // milli-cores
  std::int32_t compute = 0;  // per mille of each device; 0 without devices
  std::int32_t devices = 0;
  std::string models;  // "A|B"; empty: any

  auto operator<=>(const PodShape&) const = default;
};

// The shape of a pod as the fragmentation measure sees it: its whole CPU demand, and the largest
// ask for devices among its containers.
PodShape ShapeOf(const PodTemplate& pod);

class PodShapes {
 public:
  void Add(const PodShape& shape, std::int64_t count = 1) { counts_[shape] += count; }

  // The "typical pods" of Weng et al. (USENIX ATC 2023): the most frequent shapes that cover 95 %
  // of all pods, with their shares of those. Among equally frequent ones the larger comes first,
  // by CPU, compute, devices, models.
  std::vector<ExpectedPod> Expected() const;

 private:
  std::map<PodShape, std::int64_t> counts_;
};

// Milli-GPUs that the pod's lasting containers ask for.
std::int64_t GpuDemand(const PodTemplate& pod);
// MiB of GPU memory that they ask for beside that.
std::int64_t GpuMemoryDemand(const PodTemplate& pod);

// "A|B" as a list; empty for an empty text.
std::vector<std::string> SplitModels(const std::string& text);

}  // namespace tephra
