#include "sidecar/client/words.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <map>

#include "text/format.h"

namespace tephra {

std::int64_t AmountOf(const Amounts& amounts, Kind kind) {
  for (const v1::Amount& amount : amounts) {
    if (amount.kind() == kind) return amount.amount();
  }
  return 0;
}

std::string AmountWords(const Names& kinds, Kind kind, std::int64_t amount) {
  ResourceKinds known;
  for (const std::string& name : kinds) static_cast<void>(known.Intern(name).ok());
  return kind < known.size() ? AmountText(known, kind, amount) : std::to_string(amount);
}

std::string HoursWords(double hours) {
  return Decimal(std::llround(std::clamp(hours, 0.0, 1e15) * 10), 10);
}

std::string GpuWords(std::int64_t per_mille) { return Decimal(per_mille, kWholeGpu); }

std::string StandingWords(const v1::JobView& job) {
  std::int32_t pending = 0, placed = 0;
  for (const v1::RoleView& role : job.roles()) {
    pending += role.pending();
    placed += role.placed();
  }
  if (pending == 0) return placed > 0 ? "runs" : "requests nothing";
  if (placed > 0 && placed >= job.min_member()) return "runs, and some of its tasks are pending";
  switch (job.verdict()) {
    case v1::VERDICT_START:
    case v1::VERDICT_START_AFTER_EVICTION:
      return "can start";
    case v1::VERDICT_RESERVE:
      return "has a reserved start";
    case v1::VERDICT_WAIT:
      return "is pending";
    case v1::VERDICT_INFEASIBLE:
      return "cannot start before the cluster changes";
    case v1::VERDICT_UNWIND:
      return "is being evicted; its tasks are pending again when they have ended";
    default:
      return "is new, without a decision";
  }
}

std::string PhaseWords(v1::TaskPhase phase) {
  switch (phase) {
    case v1::TASK_PHASE_PENDING:
      return "pending";
    case v1::TASK_PHASE_ASSUMED:
      return "placed";
    case v1::TASK_PHASE_RUNNING:
      return "bound";
    case v1::TASK_PHASE_RELEASING:
      return "terminating";
    case v1::TASK_PHASE_SUCCEEDED:
      return "succeeded";
    case v1::TASK_PHASE_FAILED:
      return "failed";
    case v1::TASK_PHASE_ABSENT:
      return "no pod yet";
    case v1::TASK_PHASE_RESERVED:
      return "reserved";
    default:
      return "?";
  }
}

std::string LifecycleWords(v1::QueueLifecycle lifecycle) {
  switch (lifecycle) {
    case v1::QUEUE_LIFECYCLE_OPEN:
      return "open";
    case v1::QUEUE_LIFECYCLE_CLOSING:
      return "closing";
    case v1::QUEUE_LIFECYCLE_CLOSED:
      return "closed";
    case v1::QUEUE_LIFECYCLE_MISSING:
      return "missing";
    default:
      return "?";
  }
}

std::string SliceWords(const google::protobuf::RepeatedPtrField<v1::Slice>& slices) {
  // Containers of one pod may share a device: the pod has the largest part.
  std::map<std::uint32_t, const v1::Slice*> by_device;
  for (const v1::Slice& slice : slices) {
    const v1::Slice*& held = by_device[slice.device()];
    if (held == nullptr || slice.compute() > held->compute()) held = &slice;
  }
  std::string text;
  for (const auto& [device, slice] : by_device) {
    if (!text.empty()) text += ",";
    text += std::to_string(device);
    if (slice->mode() == v1::SLICE_MODE_WHOLE) continue;
    text += " (" + GpuWords(slice->compute()) + " GPU, " + std::to_string(slice->memory_mib()) +
            " MiB)";
  }
  return text;
}

std::string AgeWords(std::int64_t from_ms, std::int64_t to_ms) {
  const std::int64_t age = std::max<std::int64_t>(to_ms - from_ms, 0);
  return DurationText(age < kSecondMs ? age : age / kSecondMs * kSecondMs);
}

std::string TimeWords(std::int64_t unix_ms) {
  const std::time_t seconds = unix_ms / kSecondMs;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace tephra
