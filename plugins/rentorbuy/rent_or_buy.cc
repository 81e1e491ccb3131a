#include "plugins/rentorbuy/rent_or_buy.h"

#include <algorithm>

#include "engine/rows.h"
#include "engine/snapshot.h"
#include "engine/unsaved_work.h"

namespace tephra {
namespace {

// A task without a GPU counts for a tenth of a GPU.
constexpr std::int64_t kLeastSize = kWholeGpu / 10;
constexpr std::int64_t kMostSize = std::int64_t{1} << 27;  // 134,000 GPUs
constexpr std::int64_t kMostSeconds = 1'000'000'000;       // 31 years
constexpr std::int32_t kMostDoublings = 10;
// 550 years of a GPU: sums of 500,000 losses do not overflow.
constexpr std::int64_t kMostLoss = std::int64_t{1} << 44;

std::int64_t SizeOf(const JobRow& job, const Resources& asked) {
  const std::int64_t tasks = std::max(job.min_member - job.counted(), 1);
  return std::min(std::max(asked[kGpu], tasks * kLeastSize), kMostSize);
}

}  // namespace

LossLimit RentOrBuy::LimitFor(const Snapshot& snapshot, JobId id, const Resources& asked,
                              bool in_quota) const {
  const JobRow& job = snapshot.job(id);
  const TimeMs since = std::max(job.created, job.waits_since);
  const DurationMs waited = std::max<DurationMs>(snapshot.now() - since, 0);
  const DurationMs patience = in_quota ? config_.quota_patience_ms : config_.patience_ms;
  if (waited >= patience) return {};
  LossLimit limit;
  limit.per_second = SizeOf(job, asked) * config_.max_loss_percent / 100;
  limit.most = limit.per_second * std::min(waited / kSecondMs, kMostSeconds);
  limit.since = since;
  limit.none_from = since + patience;
  return limit;
}

std::int64_t RentOrBuy::LossOf(const Snapshot& snapshot, TaskId id, TimeMs at) const {
  const TaskRow& task = snapshot.task(id);
  const std::int64_t size =
      std::clamp(snapshot.cls(task.cls).demand[kGpu], kLeastSize, kMostSize);
  const DurationMs work = UnsavedWork(snapshot, task, at);
  const std::int64_t seconds = std::min((work + config_.restart_cost_ms) / kSecondMs, kMostSeconds);
  const std::int32_t before = task.job.valid() ? snapshot.job(task.job).evictions : 0;
  const std::int64_t weighed = seconds << std::min(before, kMostDoublings);
  return weighed > kMostLoss / size ? kMostLoss : size * weighed;
}

}  // namespace tephra
