#include "plugins/node/health_watch.h"

#include <chrono>
#include <thread>

namespace tephra::node {

HealthWatch::HealthWatch(const Nvml& nvml, std::vector<std::string> uuids, HealthOptions options)
    : nvml_(&nvml), uuids_(std::move(uuids)), health_(std::move(options)) {
  Watch();
}

// Cards that have no events, or do not answer, are probed all the same.
void HealthWatch::Watch() {
  events_.reset();
  watched_.clear();
  unwatched_ = absl::OkStatus();
  absl::StatusOr<std::unique_ptr<Nvml::Events>> events = nvml_->WatchEvents();
  if (!events.ok()) {
    unwatched_ = events.status();
    return;
  }
  events_ = *std::move(events);
  for (const std::string& uuid : uuids_) {
    const absl::StatusOr<NvmlDevice> device = nvml_->Find(uuid);
    absl::Status status = device.ok() ? events_->Watch(*device) : device.status();
    if (status.ok()) {
      watched_.emplace_back(*device, uuid);
    } else {
      unwatched_ = absl::Status(status.code(), uuid + ": " + std::string(status.message()));
    }
  }
}

absl::StatusOr<std::optional<NvmlEvent>> HealthWatch::Wait(int wait_ms) {
  absl::StatusOr<std::optional<NvmlEvent>> event = std::nullopt;
  if (events_ != nullptr && !watched_.empty()) event = events_->Wait(wait_ms);
  if (!event.ok()) unwatched_ = event.status();
  const bool no_wait = events_ == nullptr || watched_.empty() || !event.ok();
  if (no_wait) std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms));
  return event;
}

std::vector<HealthChange> HealthWatch::Take(const absl::StatusOr<std::optional<NvmlEvent>>& event,
                                            std::int64_t now_ms, bool probe) {
  if (event.ok() && event->has_value() && !(*event)->lost) {
    for (const auto& [device, uuid] : watched_) {
      if (device != (*event)->device) continue;
      if ((*event)->type == nvml_abi::kXidCritical) {
        health_.OnXid(uuid, (*event)->xid, (*event)->gpu_instance, now_ms);
      } else if ((*event)->type == nvml_abi::kDoubleBitEcc) {
        health_.OnEccError(uuid, now_ms);
      }
    }
  }
  if (probe) {
    for (const std::string& uuid : uuids_) Probe(uuid, now_ms);
  }
  std::vector<HealthChange> changes = health_.TakeChanges();
  // A card that was away is another one to the driver, and events of the old one do not come.
  bool back = !event.ok();
  for (const HealthChange& change : changes) back |= change.healthy;
  if (back) Watch();
  return changes;
}

void HealthWatch::Probe(const std::string& uuid, std::int64_t now_ms) {
  const absl::StatusOr<NvmlDevice> device = nvml_->Find(uuid);
  if (!device.ok()) {
    health_.OnProbe(uuid, device.status(), std::nullopt, now_ms);
    return;
  }
  const absl::StatusOr<std::int64_t> errors = nvml_->EccErrors(*device);
  // A card without ECC is no worse for it; one that is lost says so with every call.
  absl::Status answer = absl::OkStatus();
  if (absl::IsDataLoss(errors.status())) answer = errors.status();
  health_.OnProbe(uuid, answer, errors.ok() ? std::optional<std::int64_t>(*errors) : std::nullopt,
                  now_ms);
}

}  // namespace tephra::node
