#include "simulations/report/recorder.h"

#include <algorithm>
#include <utility>

#include "plugins/registry.h"
#include "simulations/report/job_all_reduce.h"
#include "text/format.h"

namespace tephra {
namespace {

// "4 x 8 GPU", roles joined by " + ".
std::string ShapeText(const JobRecord& job) {
  std::string text;
  for (const JobShape::Role& role : job.roles()) {
    if (!text.empty()) text += " + ";
    text += std::to_string(role.replicas);
    text += " x ";
    if (role.gpu_each > 0) {
      text += Decimal(role.gpu_each, kWholeGpu) + " GPU";
    } else if (role.gpu_memory_mib_each > 0) {
      text += Decimal(role.gpu_memory_mib_each, 1024) + " GiB GPU";
    } else {
      text += "CPU";
    }
  }
  return text;
}

// "0 1 2", and of a fraction its share and memory: "3:500m:10240Mi".
void AppendSlices(const Slices& slices, std::string& out) {
  bool first = true;
  for (const Slice& slice : slices) {
    if (!first) out += ' ';
    first = false;
    out += std::to_string(slice.device);
    if (slice.mode == SliceMode::kWhole) continue;
    out += ':' + std::to_string(slice.compute) + 'm';
    if (slice.memory_mib > 0) out += ':' + std::to_string(slice.memory_mib) + "Mi";
  }
}

}  // namespace

JobState StateOf(const JobRecord& job) {
  if (job.dropped) return JobState::kDropped;
  if (job.removed) return JobState::kRemoved;
  if (job.end >= 0) return JobState::kFinished;
  if (job.start >= 0 && job.verdict == Verdict::kStart) return JobState::kRunning;
  return job.asked && job.verdict == Verdict::kInfeasible ? JobState::kInfeasible
                                                          : JobState::kWaiting;
}

std::string WhereText(const JobRecord& job) {
  std::map<std::string, int> nodes;
  for (const TaskRecord& task : job.tasks) {
    if (!task.node.is_default()) ++nodes[*task.node];
  }
  std::string text;
  for (const auto& [node, count] : nodes) {
    if (!text.empty()) text += ", ";
    text += node;
    if (count > 1) text += " x" + std::to_string(count);
  }
  return text;
}

const char* JobStateText(JobState state) {
  switch (state) {
    case JobState::kRunning:
      return "running";
    case JobState::kFinished:
      return "finished";
    case JobState::kWaiting:
      return "pending";
    case JobState::kInfeasible:
      return "infeasible";
    case JobState::kDropped:
      return "dropped";
    case JobState::kRemoved:
      return "removed";
  }
  return "?";
}

const char* VerdictText(Verdict verdict) {
  switch (verdict) {
    case Verdict::kStart:
      return "start";
    case Verdict::kStartAfterEviction:
      return "start after eviction";
    case Verdict::kReserve:
      return "reserve";
    case Verdict::kWait:
      return "wait";
    case Verdict::kInfeasible:
      return "infeasible";
    case Verdict::kUnwind:
      return "unwind";
  }
  return "?";
}

Recorder::Recorder(const State& state, const std::vector<ExpectedPod>& shapes,
                   std::optional<Bandwidths> bandwidths, std::unique_ptr<OutputFile> tasks,
                   std::unique_ptr<OutputFile> jobs, const std::optional<LargeGangs>& large)
    : state_(state),
      bandwidths_(std::move(bandwidths)),
      tasks_(std::move(tasks)),
      fragments_(shapes),
      stats_(std::move(jobs), large) {
  if (tasks_ != nullptr) {
    tasks_->Write(
        "job,task,queue,state,arrival_s,start_s,finish_s,wait_s,node,devices,verdict,"
        "reason\n");
  }
}

void Recorder::JobArrived(const JobRecord& job) {
  arrivals_ = true;
  gpu_arrived_ += job.gpu_demand();
  ++sums_.arrived;
  ++queues_[job.queue].arrived;
}

void Recorder::JobEnded(const JobRecord& job) {
  ++ended_jobs_;
  Count(job, StateOf(job));
  stats_.Add(job, StateOf(job), WhyNot(job, StateOf(job)));
  WriteRows(job);
  if (ended_.size() < kMostEndedLines) {
    ended_.push_back(LineOf(job));
  } else {
    ++sums_.jobs_left_out;
  }
}

void Recorder::Count(const JobRecord& job, JobState state) {
  QueueSums& queue = queues_[job.queue];
  switch (state) {
    case JobState::kRunning:
      ++sums_.running, ++queue.running;
      break;
    case JobState::kFinished:
      ++sums_.finished, ++queue.ended;
      break;
    case JobState::kWaiting:
      ++sums_.waiting, ++queue.waiting;
      break;
    case JobState::kInfeasible:
      ++sums_.infeasible, ++queue.waiting;
      break;
    case JobState::kDropped:
      ++sums_.dropped, ++queue.ended;
      break;
    case JobState::kRemoved:
      ++sums_.removed, ++queue.ended;
      break;
  }
  for (const TaskRecord& task : job.tasks) {
    sums_.tasks_started += task.attempts > 0;
    sums_.tasks_running += task.running;
    sums_.tasks_finished += task.finish >= 0 && task.start >= 0;
  }
  if (job.start < 0) return;
  ++sums_.started;
  ++queue.started;
  queue.wait += job.start - job.arrival;
}

std::string Recorder::WhyNot(const JobRecord& job, JobState state) const {
  const bool waits =
      state == JobState::kWaiting || state == JobState::kInfeasible || state == JobState::kDropped;
  const ResourceKinds& kinds = state_.books().kinds;
  if (waits) return ReasonText(kinds, job.reason);
  const bool all = job.running + job.finished >= static_cast<std::int32_t>(job.tasks.size());
  return job.end < 0 && !all ? ReasonText(kinds, job.elastic_reason) : "";
}

JobLine Recorder::LineOf(const JobRecord& job) const {
  JobLine line;
  line.name = job.name;
  line.queue = job.queue;
  line.shape = ShapeText(job);
  line.state = StateOf(job);
  line.arrival = job.arrival;
  line.start = job.start;
  line.end = job.end;
  line.tasks = static_cast<std::int32_t>(job.tasks.size());
  for (const TaskRecord& task : job.tasks) {
    line.running += task.running;
    line.finished += task.finish >= 0 && task.start >= 0;
  }
  line.where = WhereText(job);
  if (bandwidths_) {
    line.all_reduce = EstimateAllReduce(state_.books().hardware, job, *bandwidths_);
  }
  line.why = WhyNot(job, line.state);
  return line;
}

void Recorder::WriteRows(const JobRecord& job) {
  if (tasks_ == nullptr) return;
  const ResourceKinds& kinds = state_.books().kinds;
  const char* state = JobStateText(StateOf(job));
  std::string reason, elastic;
  if (job.verdict != Verdict::kStart) AppendCsv(ReasonText(kinds, job.reason), reason);
  if (job.elastic_reason->obstacle != Obstacle::kNone) {
    AppendCsv(ReasonText(kinds, job.elastic_reason), elastic);
  }
  for (const TaskRecord& task : job.tasks) {
    row_.clear();
    AppendCsv(job.name, row_);
    row_ += ',';
    AppendCsv(job.roles()[task.role].name, row_);
    row_ += '/' + std::to_string(task.index) + ',';
    AppendCsv(*job.queue, row_);
    row_.append(",").append(state).append(",");
    AppendSeconds(job.arrival, row_);
    row_ += ',';
    if (task.start >= 0) AppendSeconds(task.start, row_);
    row_ += ',';
    if (task.start >= 0 && task.finish >= 0) AppendSeconds(task.finish, row_);
    row_ += ',';
    if (task.start >= 0) AppendSeconds(task.start - job.arrival, row_);
    row_ += ',';
    AppendCsv(*task.node, row_);
    row_ += ',';
    AppendSlices(task.slices, row_);
    row_ += ',';
    const bool started = task.start >= 0;
    const bool waits_elastic = !started && job.verdict == Verdict::kStart;
    if (job.asked) {
      row_ += VerdictText(started ? Verdict::kStart : waits_elastic ? Verdict::kWait : job.verdict);
    }
    row_ += ',';
    if (!started) row_ += waits_elastic ? elastic : reason;
    row_ += '\n';
    tasks_->Write(row_);
  }
}

double Recorder::Use::Percent(Kind kind) const {
  const auto k = static_cast<std::size_t>(kind);
  return capacity_ms[k] > 0 ? 100 * used_ms[k] / capacity_ms[k] : 0;
}

void Recorder::Integrate(TimeMs now) {
  timeline_.Add(last_, now, cluster_now_, queues_now_);
  const auto span = static_cast<double>(now - last_);
  last_ = now;
  if (span <= 0) return;
  const int kinds = state_.books().kinds.size();
  for (int k = 0; k < kinds; ++k) {
    const auto kind = static_cast<std::size_t>(k);
    use_.used_ms[kind] += span * static_cast<double>(used_.amount[kind]);
    use_.capacity_ms[kind] += span * static_cast<double>(capacity_.amount[kind]);
  }
}

void Recorder::NoteMoves(TimeMs now, const Decision& decision) {
  const Books& books = state_.books();
  MovesLine line;
  line.job = books.jobs[decision.job.index()].name;
  line.at = now;
  line.proposed = decision.reason->moving == Moving::kProposed;
  line.tasks = decision.reason->moved;
  line.jobs = decision.reason->jobs_moved;
  line.gain_gpu_s = decision.reason->gain_gpu_s;
  line.cost_gpu_s = decision.reason->cost_gpu_s;
  for (const Placement& move : decision.moves) {
    const TaskRow& task = books.tasks[move.task.index()];
    const JobRow& job = books.jobs[task.job.index()];
    line.moves.push_back(job.name + "/" + job.roles[task.role].name + "/" +
                         std::to_string(task.index) + ": " + books.hardware.spec(task.node).name +
                         " to " + books.hardware.spec(move.node).name);
  }
  if (line.proposed) {
    std::erase_if(sums_.moves,
                  [&](const MovesLine& other) { return other.proposed && other.job == line.job; });
  }
  if (sums_.moves.size() < kMostMovesLines) sums_.moves.push_back(std::move(line));
}

void Recorder::AfterCycle(TimeMs now, std::size_t events, const Plan& plan) {
  sums_.events += static_cast<std::int64_t>(events);
  sums_.cycles += !plan.decisions.empty();
  sums_.dropped_decisions += static_cast<std::int64_t>(plan.dropped.size());
  Integrate(now);
  for (const Decision& decision : plan.decisions) {
    if (!decision.moves.empty()) NoteMoves(now, decision);
  }
  for (const Decision& proposal : plan.proposals) NoteMoves(now, proposal);
  FollowUse(now);
  if (!arrivals_) return;
  arrivals_ = false;
  use_until_last_arrival_ = use_;
  curve_.Add(gpu_arrived_, std::max<std::int64_t>(used_[kGpu], 0),
             fragments_.Update(state_.books()), capacity_[kGpu]);
}

void Recorder::BeginAt(TimeMs time) {
  last_ = time;
  FollowUse(time);
}

// Updates the current use.
void Recorder::FollowUse(TimeMs now) {
  const Books& books = state_.books();
  capacity_ = books.hardware.total();
  used_ = capacity_;
  used_.Add(books.occupancy.free_total(), -1);
  for (int k = 0; k < books.kinds.size(); ++k) {
    const auto kind = static_cast<Kind>(k);
    peak_[kind] = std::max(peak_[kind], used_[kind]);
  }
  FollowTime(now);
}

// Updates the current values, and samples values at the first event of a step.
void Recorder::FollowTime(TimeMs now) {
  const Books& books = state_.books();
  cluster_now_.gpus = static_cast<double>(capacity_[kGpu]);
  cluster_now_.used = static_cast<double>(used_[kGpu]);
  cluster_now_.jobs_pending = static_cast<double>(books.waiting.size());
  cluster_now_.jobs_running =
      static_cast<double>(sums_.arrived - ended_jobs_) - cluster_now_.jobs_pending;
  queues_now_.resize(books.queues.size());
  for (std::size_t q = 0; q < queues_now_.size(); ++q) {
    const QueueId id(q);
    queues_now_[q].used = static_cast<double>(books.occupancy.queue_total(id)[kGpu]);
    queues_now_[q].asked = q < books.queue_pending.size()
                               ? static_cast<double>(books.queue_pending[q].amount[kGpu])
                               : 0;
  }
  if (!timeline_.WantsSample(now)) return;
  const std::vector<Resources> shares = QueueShares(books);
  for (std::size_t q = 0; q < queues_now_.size(); ++q) {
    const std::int64_t share = q < shares.size() ? shares[q][kGpu] : 0;
    queues_now_[q].share = static_cast<double>(std::max<std::int64_t>(share, 0));
    queues_now_[q].deserved = static_cast<double>(books.queues.spec(QueueId(q)).deserved[kGpu]);
  }
  timeline_.Sample(now, static_cast<double>(fragments_.Update(books)) / 1000, queues_now_);
}

}  // namespace tephra
