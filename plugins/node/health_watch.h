// HealthWatch: feeds Health with what the driver reports. Its owner calls Round again and again
// from one thread, and hears of each change from it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plugins/node/health.h"
#include "plugins/node/nvml/nvml.h"

namespace tephra::node {

class HealthWatch {
 public:
  // `uuids`: the cards to watch. REQUIRES: `nvml` outlives it.
  HealthWatch(const Nvml& nvml, std::vector<std::string> uuids, HealthOptions options);

  // Waits for an event, for `wait_ms` at most, then asks every card how it is if `probe` says so.
  // `now_ms()`: a clock that only goes forward.
  template <class Clock>
  std::vector<HealthChange> Round(int wait_ms, const Clock& now_ms, bool probe = true) {
    const absl::StatusOr<std::optional<NvmlEvent>> event = Wait(wait_ms);
    return Take(event, now_ms(), probe);
  }

  const Health& health() const { return health_; }
  // Why events do not come, if so: then only what probes see is seen.
  const absl::Status& unwatched() const { return unwatched_; }

 private:
  absl::StatusOr<std::optional<NvmlEvent>> Wait(int wait_ms);
  std::vector<HealthChange> Take(const absl::StatusOr<std::optional<NvmlEvent>>& event,
                                 std::int64_t now_ms, bool probe);
  void Probe(const std::string& uuid, std::int64_t now_ms);
  void Watch();

  const Nvml* nvml_;
  std::vector<std::string> uuids_;
  Health health_;
  std::unique_ptr<Nvml::Events> events_;
  std::vector<std::pair<NvmlDevice, std::string>> watched_;  // in `events_`
  absl::Status unwatched_;
};

}  // namespace tephra::node
