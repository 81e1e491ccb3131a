// SliceSearch: which devices of one node serve all containers of a task, exactly.
//
// Depth first over the asks of lasting containers, best-rated devices first, then the init
// containers, which share room with whatever does not run beside them. Devices that are alike are
// tried once, and so is each place of a MIG instance. Bounded by kMostSteps, past which it answers
// with what it has found.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "plugins/framework/policy.h"

namespace tephra {

// How much a device is preferred for an ask, the greater the better. For a MIG instance those that
// are cut already come first, then where it takes the least from requests to come; in all modes the
// score's points decide what is left.
struct Liking {
  bool cut = false;
  std::int64_t spared = 0;  // less the worth that is lost, see MigPlacements
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
  std::vector<std::vector<std::size_t>> by_rating_;  // per lasting ask: devices, best first
  std::vector<std::vector<std::size_t>> init_by_rating_;
  std::vector<DeviceRow> rows_;
  Slices slices_;
  std::vector<Slices> found_;
  bool stop_at_first_ = true;
  int steps_ = 0;
};

}  // namespace tephra
