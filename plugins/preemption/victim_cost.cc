#include "plugins/preemption/victim_cost.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/priority.h"
#include "engine/unsaved_work.h"

namespace tephra {
namespace {

// Each part is 0 to kMost, like the points of a score.
constexpr std::int64_t kMost = kMaxPoints;

// Rises from 0 to kMost; kMost / 2 at `half`.
std::int64_t Saturating(std::int64_t amount, std::int64_t half) {
  amount = std::clamp<std::int64_t>(amount, 0, std::int64_t{1} << 42);
  return static_cast<std::int64_t>(static_cast<double>(amount) /
                                   static_cast<double>(amount + half) * static_cast<double>(kMost));
}

// Monotone over all Kubernetes priorities, with the finest steps near 0.
std::int64_t PartOf(double priority) {
  const double part = std::log2(1 + std::abs(priority)) / 32;
  return std::llround((priority < 0 ? 0.5 - part / 2 : 0.5 + part / 2) *
                      static_cast<double>(kMost));
}

std::int64_t Priority(const Snapshot& snapshot, const Share::Answer&, const TaskRow& task) {
  return PartOf(task.priority.value_or(snapshot.job(task.job).priority));
}

std::int64_t QueuePriority(const Snapshot& snapshot, const Share::Answer&, const TaskRow& task) {
  const QueueId queue = snapshot.job(task.job).queue;
  return queue.valid() ? PartOf(snapshot.queues().spec(queue).priority) : 0;
}

std::int64_t ShareLeft(const Snapshot& snapshot, const Share::Answer& shares, const TaskRow& task) {
  const QueueId queue = snapshot.job(task.job).queue;
  if (!queue.valid() || queue.index() >= shares.share.size()) return 0;
  const Resources& holds = snapshot.occupancy().queue_total(queue);
  double over = 1;
  for (Kind k = 0; k < kMaxKinds; ++k) {
    const std::int64_t share = shares.share[queue.index()][k];
    if (holds[k] <= 0 || share == Share::kNotShared) continue;
    over = std::max(over, static_cast<double>(holds[k]) /
                              static_cast<double>(std::max<std::int64_t>(share, 1)));
  }
  return std::llround(static_cast<double>(kMost) / over);
}

std::int64_t LostWork(const Snapshot& snapshot, const Share::Answer&, const TaskRow& task) {
  constexpr std::int64_t kHour = 60 * 60 * kSecondMs;
  // A task without a GPU counts for a tenth of a GPU.
  const std::int64_t gpu = std::max<std::int64_t>(snapshot.cls(task.cls).demand[kGpu], 100);
  const std::int64_t seconds =
      std::min<TimeMs>(UnsavedWork(snapshot, task, snapshot.now()), 10'000 * kHour) / kSecondMs;
  return Saturating(seconds * gpu, kHour / kSecondMs * 1000);
}

// The longer the remaining run time, the lower the cost, with the finest steps near 0.
std::int64_t TimeLeft(const Snapshot& snapshot, const Share::Answer&, const TaskRow& task) {
  const auto left = static_cast<double>(LeftOf(snapshot, snapshot.job(task.job)));
  return std::llround(static_cast<double>(kMost) * (1 - std::log2(1 + left) / 64));
}

std::int64_t Restarts(const Snapshot& snapshot, const Share::Answer&, const TaskRow& task) {
  return Saturating(snapshot.job(task.job).evictions, 1);
}

using Part = std::int64_t (*)(const Snapshot&, const Share::Answer&, const TaskRow&);

const std::map<std::string, Part>& Parts() {
  static const std::map<std::string, Part> kParts = {
      {"lost-work", LostWork}, {"priority", Priority}, {"queue-priority", QueuePriority},
      {"restarts", Restarts},  {"share", ShareLeft},   {"time-left", TimeLeft}};
  return kParts;
}

}  // namespace

VictimCost::VictimCost(const EngineConfig& config) {
  for (const WeightedName& entry : config.victim_costs) {
    parts_.push_back({Parts().at(entry.name), entry.weight});
  }
}

std::optional<std::int64_t> VictimCost::Cost(const Snapshot& snapshot, const Share::Answer& shares,
                                             TaskId id) const {
  const TaskRow& task = snapshot.task(id);
  const JobRow& job = snapshot.job(task.job);
  if (!job.preemptible || !task.preemptible) return std::nullopt;
  if (job.min_run_ms > 0 && snapshot.now() - task.started < job.min_run_ms) return std::nullopt;
  std::int64_t cost = 0;
  for (const Weighted& one : parts_) cost += one.weight * one.part(snapshot, shares, task);
  return cost;
}

std::vector<std::string> VictimCostNames() {
  std::vector<std::string> names;
  for (const auto& [name, part] : Parts()) names.push_back(name);
  return names;
}

}  // namespace tephra
