// The Summary of a run, built by the Recorder at the end.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulations/report/recorder.h"
#include "text/format.h"

namespace tephra {
namespace {

// (sum of x)^2 / (n * sum of x^2) (Jain, Chiu, Hawe, 1984).
double JainIndex(const std::vector<double>& amounts) {
  double sum = 0, squares = 0;
  for (const double amount : amounts) sum += amount, squares += amount * amount;
  return squares > 0 ? sum * sum / (static_cast<double>(amounts.size()) * squares) : 0;
}

}  // namespace

Summary Recorder::Finish(const World& world, TimeMs now) {
  Integrate(now);
  Summary summary;
  std::vector<JobLine> lines;
  for (const JobRecord* job : world.Jobs()) {
    Count(*job, StateOf(*job));
    stats_.Add(*job, StateOf(*job), WhyNot(*job, StateOf(*job)));
    WriteRows(*job);
    if (lines.size() < kMostEndedLines) {
      lines.push_back(LineOf(*job));
    } else {
      ++sums_.jobs_left_out;
    }
  }
  summary = sums_;
  summary.end = now;
  summary.jobs = std::move(lines);
  for (JobLine& line : ended_) summary.jobs.push_back(std::move(line));
  AddResources(summary);
  AddQueues(summary);
  AddNodes(summary);
  stats_.Fill(summary);
  AddFairness(summary);
  const std::int64_t fragment = fragments_.Update(state_.books());
  const double lost = static_cast<double>(fragment) / 1000;
  const std::int64_t idle = capacity_[kGpu] - used_[kGpu];
  if (capacity_[kGpu] > 0) {
    summary.fragment_percent = 100 * lost / static_cast<double>(capacity_[kGpu]);
  }
  if (idle > 0) summary.fragment_of_idle_percent = 100 * lost / static_cast<double>(idle);
  return summary;
}

absl::Status Recorder::CloseRows() {
  if (tasks_ != nullptr) TEPHRA_RETURN_IF_ERROR(tasks_->Close());
  return stats_.Close();
}

absl::Status Recorder::CommitRows() {
  if (tasks_ != nullptr) TEPHRA_RETURN_IF_ERROR(tasks_->Commit());
  return stats_.Commit();
}

std::vector<std::string> Recorder::QueueNames() const {
  const QueueTree& queues = state_.books().queues;
  std::vector<std::string> names;
  for (std::size_t q = 0; q < queues.size(); ++q) names.push_back(queues.spec(QueueId(q)).name);
  return names;
}

void Recorder::AddResources(Summary& summary) const {
  const Books& books = state_.books();
  for (int k = 0; k < books.kinds.size(); ++k) {
    const auto kind = static_cast<Kind>(k);
    if (capacity_[kind] == 0 && used_[kind] == 0) continue;
    ResourceLine line;
    line.name = books.kinds.Name(kind);
    if (kind == kCpu) line.unit = 1000, line.unit_name = "cores";
    if (kind == kMemory) line.unit = 1 << 30, line.unit_name = "GiB";
    if (kind == kGpu || books.kinds.CountsModel(kind)) {
      line.unit = kWholeGpu, line.unit_name = "GPUs";
    }
    if (kind == kGpuMemory) line.unit = 1024, line.unit_name = "GiB";
    line.capacity = capacity_[kind];
    line.used = used_[kind];
    line.peak = peak_[kind];
    line.mean_percent = use_.Percent(kind);
    line.mean_percent_while_jobs_come = use_until_last_arrival_.Percent(kind);
    summary.resources.push_back(std::move(line));
  }
}

void Recorder::AddQueues(Summary& summary) const {
  const Books& books = state_.books();
  std::map<std::string, QueueLine> lines;
  for (std::size_t q = 0; q < books.queues.size(); ++q) {
    const QueueId id(q);
    const QueueSpec& spec = books.queues.spec(id);
    QueueLine& line = lines[spec.name];
    line.name = spec.name;
    line.parent = books.queues.present(id) ? spec.parent : "";
    line.gpu_used = books.occupancy.queue_total(id)[kGpu];
    if (spec.limited_kinds >> kGpu & 1) line.gpu_limit = spec.limit[kGpu];
  }
  for (const auto& [name, sums] : queues_) {
    QueueLine& line = lines[name];
    line.name = name;
    line.arrived = sums.arrived;
    line.running = sums.running;
    line.waiting = sums.waiting;
    line.ended = sums.ended;
    if (sums.started > 0) {
      line.mean_wait_s = static_cast<double>(sums.wait) / 1000 / static_cast<double>(sums.started);
    }
  }
  for (auto& [name, line] : lines) summary.queues.push_back(std::move(line));
}

void Recorder::AddNodes(Summary& summary) const {
  const Books& books = state_.books();
  std::vector<NodeId> nodes;
  for (std::size_t n = 0; n < books.hardware.slots(); ++n) {
    if (books.hardware.present(NodeId(n))) nodes.push_back(NodeId(n));
  }
  std::sort(nodes.begin(), nodes.end(), [&](NodeId a, NodeId b) {
    return NameBefore(books.hardware.spec(a).name, books.hardware.spec(b).name);
  });
  for (const NodeId id : nodes) {
    const NodeView view = books.occupancy.View(books.hardware, id);
    NodeLine& line = summary.nodes.emplace_back();
    line.name = view.spec.name;
    line.model = view.spec.devices.empty() ? "" : view.spec.devices[0].model;
    line.unschedulable = view.spec.unschedulable;
    line.cpu = view.capacity[kCpu];
    line.cpu_used = line.cpu - view.row.free[kCpu];
    for (std::size_t d = 0; d < view.devices.size(); ++d) {
      const bool healthy = view.spec.devices[d].healthy;
      line.gpu_used.push_back(
          healthy ? static_cast<std::int32_t>(kWholeGpu) - view.devices[d].free_compute : -1);
    }
  }
}

// Over the steps of the timeline.
void Recorder::AddFairness(Summary& summary) const {
  std::vector<double> used, share;
  for (const TimeSeries::Row& row : timeline_.Rows()) {
    used.resize(std::max(used.size(), row.queues.size()));
    share.resize(used.size());
    for (std::size_t q = 0; q < row.queues.size(); ++q) {
      used[q] += row.queues[q].used * static_cast<double>(row.span);
      share[q] += row.queues[q].share * static_cast<double>(row.span);
    }
  }
  std::vector<double> queues, users;
  for (std::size_t q = 0; q < used.size(); ++q) {
    if (share[q] > 0) queues.push_back(used[q] / share[q]);
  }
  for (const UserLine& user : summary.by_user) {
    if (user.finished > 0) users.push_back(user.mean_bounded_slowdown);
  }
  summary.fairness = {JainIndex(queues), JainIndex(users)};
}

}  // namespace tephra
