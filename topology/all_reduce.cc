#include "topology/all_reduce.h"

#include <algorithm>
#include <map>

#include "topology/base/check.h"

namespace tephra {
namespace {

struct Uplink {
  std::int64_t gpus = 0;   // of the gang, behind this uplink
  std::int64_t edges = 0;  // of the ring, leaving through this uplink
};

class Slowest {
 public:
  void Offer(std::int64_t mbit_per_s, AllReduce::Limit limit, std::uint32_t which) {
    if (!found_ || mbit_per_s < found_->mbit_per_s) found_ = {mbit_per_s, limit, which};
  }
  const std::optional<AllReduce>& found() const { return found_; }

 private:
  std::optional<AllReduce> found_;
};

}  // namespace

std::optional<AllReduce> RingAllReduce(const Fabric& fabric, const std::vector<RingStop>& stops,
                                       const Bandwidths& bandwidths) {
  TEPHRA_CHECK(!bandwidths.uplinks.empty());
  std::vector<RingStop> ring;
  std::int64_t gpus = 0;
  bool within_node = false;
  for (const RingStop& stop : stops) {
    if (stop.gpus == 0) continue;
    within_node |= stop.gpus > 1 || (!ring.empty() && ring.back().rank == stop.rank);
    gpus += stop.gpus;
    ring.push_back(stop);
  }
  if (gpus < 2) return std::nullopt;
  within_node |= ring.size() > 1 && ring.back().rank == ring.front().rank;

  std::map<std::uint32_t, Uplink> nodes, domains;  // by rank; by index
  for (std::size_t i = 0; i < ring.size(); ++i) {
    const std::uint32_t from = ring[i].rank, to = ring[(i + 1) % ring.size()].rank;
    nodes[from].gpus += ring[i].gpus;
    nodes[from].edges += from != to;
    for (std::uint32_t d = fabric.HomeOf(from); d != Fabric::kNone;
         d = fabric.domains()[d].parent) {
      domains[d].gpus += ring[i].gpus;
      domains[d].edges += !fabric.domains()[d].span.contains(to);
    }
  }

  const auto mbit_of = [&](const Uplink& uplink, std::int32_t tier) {
    const std::size_t last = bandwidths.uplinks.size() - 1;
    const std::int64_t each = bandwidths.uplinks[std::min(static_cast<std::size_t>(tier), last)];
    return 1000 * each * uplink.gpus / uplink.edges;
  };
  Slowest slowest;
  if (within_node) slowest.Offer(1000 * bandwidths.node, AllReduce::Limit::kWithinNode, 0);
  for (const auto& [rank, uplink] : nodes) {
    if (uplink.edges > 0) slowest.Offer(mbit_of(uplink, 0), AllReduce::Limit::kNode, rank);
  }
  for (const auto& [d, uplink] : domains) {
    if (uplink.edges == 0) continue;
    slowest.Offer(mbit_of(uplink, fabric.domains()[d].tier), AllReduce::Limit::kDomain, d);
  }
  return slowest.found();
}

}  // namespace tephra
