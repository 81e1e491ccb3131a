#include "engine/free_nodes.h"

#include <algorithm>
#include <bit>

namespace tephra {

std::size_t FreeNodes::BucketOf(bool gpus, std::int64_t amount) {
  if (amount <= 0) return 0;
  const auto size = static_cast<std::uint64_t>(amount);
  const std::uint64_t bucket = gpus ? (size + kWholeGpu - 1) / kWholeGpu
                                    : static_cast<std::uint64_t>(std::bit_width(size));
  return static_cast<std::size_t>(std::min<std::uint64_t>(bucket, kBuckets - 1));
}

void FreeNodes::Index::Put(NodeId node, std::uint8_t bucket) {
  if (places.size() <= node.index()) places.resize(node.index() + 1);
  Place& place = places[node.index()];
  if (place.bucket == bucket) return;
  if (place.bucket != kAbsent) {
    std::vector<NodeId>& from = buckets[place.bucket];
    places[from.back().index()].at = place.at;
    from[place.at] = from.back();
    from.pop_back();
  }
  place.bucket = bucket;
  if (bucket == kAbsent) return;
  place.at = static_cast<std::uint32_t>(buckets[bucket].size());
  buckets[bucket].push_back(node);
}

void FreeNodes::Put(const Ledger& ledger, NodeId node) {
  const bool present = ledger.snapshot().hardware().present(node);
  const auto put = [&](Index& index, bool gpus, Kind kind) {
    const std::size_t bucket =
        present ? BucketOf(gpus, ledger.occupancy().node(node).free[kind]) : kAbsent;
    index.Put(node, static_cast<std::uint8_t>(bucket));
  };
  put(by_gpus_, true, kGpu);
  put(by_cpus_, false, kCpu);
}

void FreeNodes::Follow(const Ledger& ledger) {
  const Hardware& hardware = ledger.snapshot().hardware();
  const auto& log = ledger.occupancy().node_log();
  if (order_ != hardware.order_version() + 1 || !log.Covers(seen_)) {
    by_gpus_ = by_cpus_ = Index();
    for (const NodeId node : hardware.ranked()) Put(ledger, node);
  } else {
    log.EachSince(seen_, [&](NodeId node) { Put(ledger, node); });
  }
  order_ = hardware.order_version() + 1;
  seen_ = log.end();
}

}  // namespace tephra
