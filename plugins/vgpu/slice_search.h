// SliceSearch: which devices of one node fit all containers of a task. The search is exact.
//
// It goes depth first over the requests of lasting containers, the best device first. Init
// containers come last: they share room with containers that do not run at the same time. Equal
// devices are tried once, and so is each place of a MIG instance. After kMostSteps the search ends
// with what it found. Made for one task and node, used once. One thread.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "engine/policy.h"

namespace tephra {

// How much a device is preferred for a request; greater is better. For a MIG instance, partitioned
// devices come first, then the place that takes the least worth from later requests. In all modes
// the points of the score decide last.
struct Liking {
  bool cut = false;
  std::int64_t spared = 0;  // minus the lost worth, see MigPlacements
  Points points = 0;

  auto operator<=>(const Liking&) const = default;
};
Liking LikingOf(const NodeView& view, const DeviceRequest& request, std::size_t device,
                Points points);

class SliceSearch {
 public:
  using Rating = std::function<Points(const DeviceAsk&, std::size_t device)>;
  SliceSearch(const NodeView& view, const TaskClass& cls, Rating rate);

  std::optional<Slices> First();
  std::vector<Slices> All();

 private:
  static constexpr int kMostSteps = 1 << 16;

  bool PlaceAsk(std::size_t ask);
  bool PlaceUnit(std::size_t ask, std::int32_t unit, std::size_t from);
  bool PlaceInit(std::size_t init);
  bool PlaceInitUnit(std::size_t init, std::int32_t unit, std::size_t from,
                     const std::vector<std::size_t>& devices);
  Slices WaysToGive(const DeviceAsk& ask, std::size_t device, const DeviceRow& row) const;
  void Add(const Slice& slice, DeviceRow& row) const;
  bool Held(std::size_t device) const;
  bool InAnotherMode(std::size_t device, SliceMode mode) const;
  bool Alike(std::size_t a, std::size_t b) const;
  DeviceRow Beside(const DeviceAsk& init, std::size_t device) const;

  const NodeView& view_;
  const TaskClass& cls_;
  std::vector<std::vector<std::size_t>> by_rating_;  // by lasting request: devices, best first
  std::vector<std::vector<std::size_t>> init_by_rating_;
  std::vector<DeviceRow> rows_;
  Slices slices_;
  std::vector<Slices> found_;
  bool stop_at_first_ = true;
  int steps_ = 0;
};

}  // namespace tephra
