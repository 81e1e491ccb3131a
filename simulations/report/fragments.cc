#include "simulations/report/fragments.h"

#include <algorithm>
#include <cmath>

namespace tephra {

std::int64_t Fragments::Of(const Books& books, NodeId node) {
  if (!books.hardware.present(node) || books.hardware.device_count(node) == 0) return 0;
  const NodeView view = books.occupancy.View(books.hardware, node);
  free_.clear();
  for (const DeviceRow& row : view.devices) free_.push_back(std::max(row.free_compute, 0));
  const FragmentInput input{view.row.free[kCpu], free_};
  return std::llround(1000 * table_.Fragment(input, view.spec.devices[0].model));
}

void Fragments::Refresh(const Books& books, NodeId node) {
  if (by_node_.size() <= node.index()) by_node_.resize(node.index() + 1, 0);
  std::int64_t& known = by_node_[node.index()];
  sum_ -= known;
  known = Of(books, node);
  sum_ += known;
}

std::int64_t Fragments::Update(const Books& books) {
  if (!known_) return 0;
  const ChangeLog<NodeId>& log = books.occupancy.node_log();
  if (log.Covers(read_)) {
    log.EachSince(read_, [&](NodeId node) { Refresh(books, node); });
  } else {
    for (std::size_t n = 0; n < books.hardware.slots(); ++n) Refresh(books, NodeId(n));
  }
  read_ = log.end();
  return sum_;
}

}  // namespace tephra
