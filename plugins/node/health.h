// Health: which GPUs should take no new container, and when they may again.
//
// A state machine of what the driver reports, fed with events and probes and with the time of each.
// A sick card keeps its containers; the scheduler decides what becomes of them. It remembers
// nothing over a restart of the plugin: what is still wrong shows again. Pure, one owner
// thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "plugins/node/gpu.h"
#include "topology/base/status.h"

namespace tephra::node {

// Which Xids mean that a card is sick. Some Xids are errors of the program that ran: the ones that
// NVIDIA's device plugin ignores, 13, 31, 43, 45, 68 and 109 (internal/rm/health.go). The same
// environment variables change the set.
class XidPolicy {
 public:
  XidPolicy();
  // `disable`, of DP_DISABLE_HEALTHCHECKS: Xids by commas that do not count, or "all" or "xids" for
  // all of them. `enable`, of DP_ENABLE_HEALTHCHECKS: Xids that count in any case, or
  // "all". InvalidArgument: neither word nor number.
  static absl::StatusOr<XidPolicy> Parse(std::string_view disable, std::string_view enable);

  bool Counts(std::uint64_t xid) const;

 private:
  bool all_disabled_ = false, all_enabled_ = false;
  std::set<std::uint64_t> disabled_, enabled_;
};

// Whether a card that had this Xid is sick until it is reset: those for which NVIDIA's catalog of
// Xids asks for a reset of the card or of the machine.
bool XidTakesReset(std::uint64_t xid);

// How often each Xid was seen, by the card's UUID and its number, also Xids that do not count.
using XidCounts = std::map<std::string, std::map<std::uint64_t, std::int64_t>>;

struct HealthOptions {
  XidPolicy xids;
  // A card that did not need a reset is well after so long without another event.
  std::int64_t quiet_ms = 5 * 60 * 1000;
};

// A card became sick, got worse in other words, or became well.
struct HealthChange {
  std::string uuid;
  bool healthy = false;
  std::string why;                       // of a sick one
  std::optional<unsigned> gpu_instance;  // of MIG, where it is known to be of one only
  bool operator==(const HealthChange&) const = default;
};

class Health {
 public:
  explicit Health(HealthOptions options) : options_(std::move(options)) {}

  void OnXid(const std::string& uuid, std::uint64_t xid, std::optional<unsigned> gpu_instance,
             std::int64_t now_ms);
  // A memory error that could not be corrected.
  void OnEccError(const std::string& uuid, std::int64_t now_ms);
  // The card was asked: why it does not answer (OK: it does; DataLoss, NotFound: it is gone), and
  // how many uncorrected memory errors it has counted since its driver was loaded, if it counts
  // them.
  void OnProbe(const std::string& uuid, const absl::Status& answer,
               std::optional<std::int64_t> ecc_errors, std::int64_t now_ms);

  // What changed since it was last asked, in the order in which it did.
  std::vector<HealthChange> TakeChanges();
  bool healthy(const std::string& uuid) const;
  const XidCounts& xids() const { return xids_; }
  // Marks the sick ones.
  void Apply(Gpus& gpus) const;

 private:
  struct Card {
    std::string why;           // empty: it is well
    bool lost = false;         // was gone when it was asked last
    bool needs_reset = false;  // until it has been away and is back
    std::int64_t last_ms = 0;  // when something was last wrong
    std::optional<std::int64_t> ecc_errors;
  };
  void Sicken(const std::string& uuid, std::string why, bool needs_reset,
              std::optional<unsigned> gpu_instance, std::int64_t now_ms);

  HealthOptions options_;
  std::map<std::string, Card> cards_;  // by UUID
  std::vector<HealthChange> changes_;
  XidCounts xids_;
};

}  // namespace tephra::node
