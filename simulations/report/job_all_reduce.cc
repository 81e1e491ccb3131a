#include "simulations/report/job_all_reduce.h"

#include <vector>

namespace tephra {

std::optional<AllReduceLine> EstimateAllReduce(const Hardware& hardware, const JobRecord& job,
                                               const Bandwidths& bandwidths) {
  std::vector<RingStop> stops;
  for (const TaskRecord& task : job.tasks) {
    if (task.slices.empty()) continue;
    const NodeId node = hardware.Find(task.node);
    if (!node.valid()) return std::nullopt;
    for (const Slice& slice : task.slices) {
      if (slice.mode != SliceMode::kWhole) return std::nullopt;
    }
    stops.push_back({hardware.rank(node), static_cast<std::int32_t>(task.slices.size())});
  }
  const std::optional<AllReduce> found = RingAllReduce(hardware.fabric(), stops, bandwidths);
  if (!found) return std::nullopt;
  AllReduceLine line{found->mbit_per_s, "in a node"};
  if (found->limit == AllReduce::Limit::kNode) {
    line.slowest = "out of " + hardware.spec(hardware.ranked()[found->which]).name;
  } else if (found->limit == AllReduce::Limit::kDomain) {
    line.slowest = "out of " + hardware.fabric().domains()[found->which].name;
  }
  return line;
}

}  // namespace tephra
