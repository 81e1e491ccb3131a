#include "simulations/report/job_stats.h"

#include <algorithm>
#include <utility>

#include "text/format.h"

namespace tephra {
namespace {

constexpr DurationMs kShortRun = 10 * kSecondMs;

double GpuSeconds(std::int64_t gpu_ms) { return static_cast<double>(gpu_ms) / 1e6; }

bool Finished(JobState state) { return state == JobState::kFinished; }

// The saved work of a task, in milli-GPUs times ms.
std::int64_t Worked(const JobRecord& job, JobState state) {
  if (!Finished(state) || !job.run.has_value()) return 0;
  return *job.run * job.gpu_demand();
}

}  // namespace

std::int64_t BoundedSlowdown(const JobRecord& job) {
  const DurationMs run = std::max(job.run.value_or(0), kShortRun);
  return std::max<std::int64_t>((job.end - job.arrival) * 1000 / run, 1000);
}

void Amounts::Add(std::int64_t thousandths) {
  percentiles_.Add(thousandths);
  sum_ += static_cast<double>(thousandths);
}

AmountsLine Amounts::Line() const {
  AmountsLine line;
  line.count = percentiles_.count();
  if (line.count == 0) return line;
  const auto at = [&](int percent) { return static_cast<double>(percentiles_.At(percent)) / 1000; };
  line.mean = sum_ / static_cast<double>(line.count) / 1000;
  line.p50 = at(50);
  line.p90 = at(90);
  line.p95 = at(95);
  line.p99 = at(99);
  line.most = static_cast<double>(percentiles_.most()) / 1000;
  return line;
}

JobStats::JobStats(std::unique_ptr<OutputFile> rows, const std::optional<LargeGangs>& large)
    : rows_(std::move(rows)), large_(large) {
  if (rows_ == nullptr) return;
  rows_->Write(
      "job,user,queue,state,gpus,tasks,submit_s,start_s,end_s,wait_s,run_s,jct_s,"
      "bounded_slowdown,evictions,failures,restarts,lost_gpu_s,start_low_s,start_high_s,reason\n");
}

void JobStats::Add(const JobRecord& job, JobState state, const std::string& why) {
  all_.Add(job, state);
  if (large_ && job.gpu_demand() >= large_->gpus * kWholeGpu &&
      static_cast<std::int64_t>(job.tasks.size()) >= large_->tasks) {
    of_large_.Add(job, state);
  }
  queues_[job.queue].Add(job, state);
  if (!job.user->empty()) {
    User& user = users_[job.user];
    ++user.jobs;
    user.gpu_s += GpuSeconds(Worked(job, state));
    if (job.start >= 0) {
      ++user.started;
      user.wait_s += static_cast<double>(job.start - job.arrival) / 1000;
    }
    if (Finished(state)) {
      ++user.finished;
      user.slowdown += static_cast<double>(BoundedSlowdown(job)) / 1000;
    }
  }
  AddInterval(job);
  if (rows_ != nullptr) Write(job, state, why);
}

void JobStats::AddInterval(const JobRecord& job) {
  if (job.start < 0) return;
  IntervalsLine& line = intervals_.line;
  if (!job.first_interval) {
    ++(job.start == job.arrival ? line.at_once : line.none);
    return;
  }
  ++line.judged;
  if (job.start < job.first_interval->low) {
    ++line.early;
  } else if (job.start > job.first_interval->high) {
    ++line.late;
  } else {
    ++line.inside;
  }
  intervals_.widths.Add(job.first_interval->high - job.first_interval->low);
}

void JobStats::Group::Add(const JobRecord& job, JobState state) {
  ++jobs;
  evictions += job.evictions;
  failures += job.failures;
  restarts += job.restarts;
  gpu_s += GpuSeconds(Worked(job, state));
  lost_gpu_s += GpuSeconds(job.lost_gpu_ms);
  if (job.start >= 0) waits.Add(job.start - job.arrival);
  if (!Finished(state)) return;
  ++finished;
  completions.Add(job.end - job.arrival);
  slowdowns.Add(BoundedSlowdown(job));
}

GroupLine JobStats::Group::Line(const std::string& name) const {
  GroupLine line;
  line.name = name;
  line.jobs = jobs;
  line.finished = finished;
  line.evictions = evictions;
  line.failures = failures;
  line.restarts = restarts;
  line.gpu_hours = gpu_s / 3600;
  line.lost_gpu_hours = lost_gpu_s / 3600;
  line.wait_s = waits.Line();
  line.jct_s = completions.Line();
  line.bounded_slowdown = slowdowns.Line();
  return line;
}

void JobStats::Write(const JobRecord& job, JobState state, const std::string& why) {
  row_.clear();
  const auto seconds = [&](bool known, DurationMs time) {
    row_ += ',';
    if (known) AppendSeconds(time, row_);
  };
  AppendCsv(job.name, row_);
  row_ += ',';
  AppendCsv(*job.user, row_);
  row_ += ',';
  AppendCsv(*job.queue, row_);
  row_.append(",").append(JobStateText(state)).append(",");
  row_ += Decimal(job.gpu_demand(), kWholeGpu) + ',' + std::to_string(job.tasks.size());
  const bool started = job.start >= 0, finished = Finished(state);
  seconds(true, job.arrival);
  seconds(started, job.start);
  seconds(job.end >= 0, job.end);
  seconds(started, job.start - job.arrival);
  seconds(job.run.has_value(), job.run.value_or(0));
  seconds(finished, job.end - job.arrival);
  row_ += ',';
  if (finished) AppendSeconds(BoundedSlowdown(job), row_);  // three decimals, too
  for (const std::int32_t times : {job.evictions, job.failures, job.restarts}) {
    row_ += ',' + std::to_string(times);
  }
  row_ += ',' + Fixed(GpuSeconds(job.lost_gpu_ms), 3);
  const StartInterval interval = job.first_interval.value_or(StartInterval{});
  seconds(job.first_interval.has_value(), interval.low);
  seconds(job.first_interval.has_value(), interval.high);
  row_ += ',';
  AppendCsv(why, row_);
  row_ += '\n';
  rows_->Write(row_);
}

absl::Status JobStats::Close() { return rows_ == nullptr ? absl::OkStatus() : rows_->Close(); }
absl::Status JobStats::Commit() { return rows_ == nullptr ? absl::OkStatus() : rows_->Commit(); }

void JobStats::Fill(Summary& summary) const {
  summary.all = all_.Line("");
  if (large_) summary.large = LargeLine{*large_, of_large_.Line("")};
  summary.intervals = intervals_.line;
  const AmountsLine widths = intervals_.widths.Line();
  summary.intervals.mean_width_s = widths.mean;
  summary.intervals.median_width_s = widths.p50;
  for (const auto& [name, group] : queues_) summary.by_queue.push_back(group.Line(name));
  for (const auto& [name, user] : users_) {
    UserLine line{name, user.jobs, user.finished, user.gpu_s / 3600, 0, 0};
    if (user.started > 0) line.mean_wait_s = user.wait_s / static_cast<double>(user.started);
    if (user.finished > 0) {
      line.mean_bounded_slowdown = user.slowdown / static_cast<double>(user.finished);
    }
    summary.by_user.push_back(std::move(line));
  }
}

}  // namespace tephra
