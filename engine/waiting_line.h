// WaitingLine: pending jobs in the order of their turns, each with how long it is estimated to run.
// The next job that runs less than so long is found without a look at those between.
//
// A balanced tree with the shortest run time of each subtree: logarithmic in the number of jobs.
// A job that is in it stays where it is in memory. One owner thread.
#pragma once

#include <algorithm>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <ext/pb_ds/assoc_container.hpp>
#include <ext/pb_ds/tree_policy.hpp>
#include <functional>
#include <limits>
#include <string_view>
#include <utility>

#include "topology/base/ids.h"
#include "topology/base/time.h"

namespace tephra {

// The lower key goes first (Order::KeyOf).
struct OrderKey {
  std::int64_t first = 0, second = 0;

  auto operator<=>(const OrderKey&) const = default;
};

// Where a job stands: Order::Before, as long as none of it runs.
struct LinePlace {
  OrderKey key;
  TimeMs created = 0;
  std::string_view uid;  // of the job's row, which outlives the place
  JobId job;

  auto operator<=>(const LinePlace&) const = default;
};

class WaitingLine {
 public:
  // Longer than any job runs; a job without an estimate runs for kUnknownRun.
  static constexpr DurationMs kAnyRun = std::numeric_limits<DurationMs>::max();
  static constexpr DurationMs kUnknownRun = kAnyRun - 1;
  static DurationMs RunOf(DurationMs estimate) { return estimate > 0 ? estimate : kUnknownRun; }

  bool empty() const { return jobs_.empty(); }
  std::size_t size() const { return jobs_.size(); }
  // A job and how long it runs.
  using Entry = std::pair<const LinePlace, DurationMs>;
  const Entry* Insert(const LinePlace& place, DurationMs run) {
    return &*jobs_.insert({place, run}).first;
  }
  void Erase(const LinePlace& place) { jobs_.erase(place); }
  // The first job that runs less than `below`; null: there is none.
  const LinePlace* First(DurationMs below = kAnyRun) const {
    if (below == kAnyRun) return jobs_.empty() ? nullptr : &jobs_.begin()->first;
    return Seek(jobs_.node_begin(), nullptr, below);
  }
  // The same of the jobs behind that place.
  const LinePlace* After(const LinePlace& place, DurationMs below = kAnyRun) const {
    return Seek(jobs_.node_begin(), &place, below);
  }
  // kAnyRun: the line is empty.
  DurationMs ShortestRun() const {
    return jobs_.empty() ? kAnyRun : jobs_.node_begin().get_metadata();
  }

 private:
  // The shortest run of each subtree.
  template <class ConstNode, class Node, class, class>
  struct ShortestRuns {
    using metadata_type = DurationMs;
    virtual ~ShortestRuns() = default;
    virtual ConstNode node_begin() const = 0;
    virtual ConstNode node_end() const = 0;
    void operator()(Node node, ConstNode end) const {
      DurationMs shortest = (*node)->second;
      const Node left = node.get_l_child(), right = node.get_r_child();
      if (left != end) shortest = std::min(shortest, left.get_metadata());
      if (right != end) shortest = std::min(shortest, right.get_metadata());
      const_cast<DurationMs&>(node.get_metadata()) = shortest;
    }
  };
  using Jobs = __gnu_pbds::tree<LinePlace, DurationMs, std::less<>, __gnu_pbds::rb_tree_tag,
                                ShortestRuns>;

  // `after`: null: from the first on.
  const LinePlace* Seek(Jobs::node_const_iterator node, const LinePlace* after,
                        DurationMs below) const {
    if (node == jobs_.node_end() || node.get_metadata() >= below) return nullptr;
    const auto& [place, run] = **node;
    if (after != nullptr && place <= *after) return Seek(node.get_r_child(), after, below);
    if (const LinePlace* left = Seek(node.get_l_child(), after, below)) return left;
    if (run < below) return &place;
    return Seek(node.get_r_child(), nullptr, below);
  }

  Jobs jobs_;
};

}  // namespace tephra
