#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "simulations/report/print.h"
#include "simulations/traces/trace_summary.h"
#include "text/format.h"
#include "text/table.h"
#include "topology/resources.h"

namespace tephra {
namespace {

constexpr std::size_t kMostNodeLines = 40;
constexpr std::size_t kMostJobLines = 60;
constexpr std::size_t kMostReasons = 25;

// One character for each device, filled in proportion to its use.
std::string Picture(const std::vector<std::int32_t>& used) {
  static constexpr const char* kFill[] = {"·", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  std::string text;
  for (const std::int32_t part : used) {
    if (part < 0) {
      text += "x";
    } else if (part == 0 || part >= kWholeGpu) {
      text += kFill[part == 0 ? 0 : 8];
    } else {
      text += kFill[std::clamp(static_cast<int>(part * 8 / kWholeGpu), 1, 7)];
    }
  }
  return text;
}

std::int64_t UsedGpu(const NodeLine& node) {
  std::int64_t sum = 0;
  for (const std::int32_t part : node.gpu_used) sum += std::max(part, 0);
  return sum;
}

void PrintMoves(const Summary& summary, std::ostream& out) {
  if (summary.moves.empty()) return;
  out << "\nConsolidation\n";
  Table table({"time", "for job", "", "tasks", "of jobs", "gain GPU-h", "cost GPU-h", "migrations"},
              "rllrrrrl");
  for (std::size_t i = 0; i < std::min(summary.moves.size(), kMostReasons); ++i) {
    const MovesLine& line = summary.moves[i];
    table.Add({Fixed(static_cast<double>(line.at) / 1000, 0) + " s", line.job,
               line.proposed ? "proposed" : "done", std::to_string(line.tasks),
               std::to_string(line.jobs), Fixed(static_cast<double>(line.gain_gpu_s) / 3600, 2),
               Fixed(static_cast<double>(line.cost_gpu_s) / 3600, 2),
               line.moves.empty() ? "" : line.moves[0] + (line.moves.size() > 1 ? ", ..." : "")});
  }
  table.Print(out);
  if (summary.moves.size() > kMostReasons) {
    out << "and " << summary.moves.size() - kMostReasons << " more\n";
  }
}

void PrintEachNode(const Summary& summary, std::ostream& out) {
  Table table({"node", "GPUs", "", "used", "CPU used"}, "lllrr");
  for (const NodeLine& node : summary.nodes) {
    const std::string gpus = node.gpu_used.empty() ? "-"
                                                   : Decimal(UsedGpu(node), kWholeGpu) + " of " +
                                                         std::to_string(node.gpu_used.size());
    table.Add({node.name + (node.unschedulable ? " (cordoned)" : ""), node.model,
               Picture(node.gpu_used), gpus,
               Decimal(node.cpu_used, 1000) + " of " + Decimal(node.cpu, 1000)});
  }
  table.Print(out);
}

// For many nodes: how many nodes of each model are idle, partly used and full.
void PrintNodeClasses(const Summary& summary, std::ostream& out) {
  struct Class {
    std::int64_t nodes = 0, gpus = 0, used = 0, idle = 0, part = 0, full = 0;
  };
  std::map<std::string, Class> classes;
  for (const NodeLine& node : summary.nodes) {
    Class& entry = classes[node.gpu_used.empty() ? "no GPU"
                           : node.model.empty()  ? "GPU"
                                                 : node.model];
    const std::int64_t used = UsedGpu(node);
    const auto gpus = static_cast<std::int64_t>(node.gpu_used.size());
    entry.nodes += 1;
    entry.gpus += gpus;
    entry.used += used;
    (used == 0 ? entry.idle : used >= gpus * kWholeGpu ? entry.full : entry.part) += 1;
  }
  Table table({"GPU model", "nodes", "GPUs", "used", "idle", "partly used", "full"}, "lrrrrrr");
  for (const auto& [model, of] : classes) {
    table.Add({model, std::to_string(of.nodes), std::to_string(of.gpus),
               Decimal(of.used, kWholeGpu), std::to_string(of.idle), std::to_string(of.part),
               std::to_string(of.full)});
  }
  table.Print(out);
}

void PrintResources(const Summary& summary, std::ostream& out) {
  Table table({"resource", "capacity", "used", "", "peak", "mean"}, "lrrrrr");
  for (const ResourceLine& line : summary.resources) {
    const auto percent = [&](std::int64_t amount) {
      return line.capacity == 0
                 ? std::string("-")
                 : Fixed(100 * static_cast<double>(amount) / static_cast<double>(line.capacity),
                         1) +
                       " %";
    };
    const auto amount = [&](std::int64_t value) {
      return line.unit == 1 ? std::to_string(value)
                            : Fixed(static_cast<double>(value) / static_cast<double>(line.unit), 1);
    };
    table.Add({line.name + (line.unit_name.empty() ? "" : " (" + line.unit_name + ")"),
               amount(line.capacity), amount(line.used), percent(line.used), percent(line.peak),
               Fixed(line.mean_percent, 1) + " %"});
  }
  table.Print(out);
}

void PrintQueues(const Summary& summary, std::ostream& out) {
  Table table(
      {"queue", "parent", "GPUs", "limit", "jobs", "running", "pending", "ended", "mean wait"},
      "llrrrrrrr");
  for (const QueueLine& queue : summary.queues) {
    const bool idle = queue.arrived == 0 && queue.gpu_used == 0 && !queue.gpu_limit.has_value();
    if (idle && queue.name == "default" && summary.queues.size() > 1) continue;
    table.Add({queue.name, queue.parent, Decimal(queue.gpu_used, kWholeGpu),
               queue.gpu_limit ? Decimal(*queue.gpu_limit, kWholeGpu) : "-",
               std::to_string(queue.arrived), std::to_string(queue.running),
               std::to_string(queue.waiting), std::to_string(queue.ended),
               Fixed(queue.mean_wait_s, 1) + " s"});
  }
  table.Print(out);
}

std::string Shortened(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most - 3) + "...";
}

// In GB/s, as nccl-tests print it.
std::string AllReduceText(const AllReduceLine& line) {
  return Decimal(line.mbit_per_s, 8000) + " GB/s, " + line.slowest;
}

void PrintJobs(const Summary& summary, std::ostream& out) {
  const bool rings = std::any_of(summary.jobs.begin(), summary.jobs.end(),
                                 [](const JobLine& job) { return job.all_reduce.has_value(); });
  std::vector<std::string> header = {"job",       "queue",  "tasks", "state",
                                     "submitted", "waited", "nodes"};
  if (rings) header.push_back("all-reduce");
  Table table(header, rings ? "llllrrll" : "llllrrl");
  std::size_t shown = 0;
  for (const JobLine& job : summary.jobs) {
    if (shown++ == kMostJobLines) break;
    std::string state = JobStateText(job.state);
    if (job.state == JobState::kRunning && job.running < job.tasks - job.finished) {
      state += " " + std::to_string(job.running) + " of " + std::to_string(job.tasks);
    }
    const TimeMs waited = job.start >= 0 ? job.start : job.end >= 0 ? job.end : summary.end;
    std::vector<std::string> row = {job.name,
                                    job.queue,
                                    job.shape,
                                    state,
                                    DurationText(job.arrival),
                                    DurationText(waited - job.arrival),
                                    Shortened(job.where, 60)};
    if (rings) row.push_back(job.all_reduce ? AllReduceText(*job.all_reduce) : "-");
    table.Add(std::move(row));
  }
  table.Print(out);
  const std::int64_t hidden =
      static_cast<std::int64_t>(summary.jobs.size()) -
      static_cast<std::int64_t>(std::min(summary.jobs.size(), kMostJobLines)) +
      summary.jobs_left_out;
  if (hidden > 0) out << "  ... and " << hidden << " more\n";
}

void PrintReasons(const Summary& summary, std::ostream& out) {
  std::size_t shown = 0, all = 0;
  for (const JobLine& job : summary.jobs) {
    if (job.why.empty()) continue;
    if (all++ == 0) out << "\nPending jobs and reasons\n";
    if (shown == kMostReasons) continue;
    ++shown;
    const char* what = job.state == JobState::kRunning ? "more tasks" : JobStateText(job.state);
    out << "  " << job.name << " (" << job.shape << "), " << what << ":\n      " << job.why << "\n";
  }
  if (all > shown) out << "  ... and " << all - shown << " more\n";
}

void PrintTimes(const GroupLine& all, std::ostream& out) {
  const AmountsLine& waits = all.wait_s;
  if (waits.count == 0) return;
  out << "\nWait of the " << waits.count << " jobs that started: mean " << Fixed(waits.mean, 1)
      << " s, median " << Fixed(waits.p50, 1) << " s, 95th percentile " << Fixed(waits.p95, 1)
      << " s, maximum " << Fixed(waits.most, 1) << " s\n";
  if (all.finished > 0) {
    out << "The " << all.finished << " jobs that finished: mean completion time "
        << Fixed(all.jct_s.mean, 1) << " s, mean bounded slowdown (10 s) "
        << Fixed(all.bounded_slowdown.mean, 2) << "\n";
  }
  if (all.evictions + all.failures > 0) {
    out << all.evictions << " evictions, " << all.failures << " job failures, "
        << Fixed(all.lost_gpu_hours, 1) << " GPU-hours of work lost\n";
  }
}

std::string Many(std::int64_t count, const char* what) {
  return ", " + std::to_string(count) + " " + what;
}

void PrintIntervals(const IntervalsLine& line, std::ostream& out) {
  if (line.judged == 0) return;
  out << "  start intervals (90 %) of " << line.judged << " pending jobs: " << line.inside
      << " started inside (" << Fixed(line.InsidePercent(), 1) << " %), " << line.early
      << " earlier, " << line.late << " later; mean width " << Fixed(line.mean_width_s, 1)
      << " s, median " << Fixed(line.median_width_s, 1) << " s; " << line.at_once
      << " jobs started at once, " << line.none << " had no interval\n";
}

}  // namespace

void PrintText(const Summary& summary, std::ostream& out) {
  out << (summary.name.empty() ? summary.file : summary.name) << "\n"
      << (summary.interrupted ? "interrupted: these are the results until then\n" : "") << "at "
      << DurationText(summary.end) << ": " << summary.arrived << " jobs submitted"
      << Many(summary.running, "running") << Many(summary.finished, "finished");
  if (summary.waiting > 0) out << Many(summary.waiting, "pending");
  if (summary.infeasible > 0) out << Many(summary.infeasible, "infeasible");
  if (summary.dropped > 0) out << Many(summary.dropped, "dropped");
  if (summary.removed > 0) out << Many(summary.removed, "removed");
  out << "\n\nNodes\n";
  if (summary.nodes.size() <= kMostNodeLines) {
    PrintEachNode(summary, out);
  } else {
    PrintNodeClasses(summary, out);
  }
  out << "\nResources\n";
  PrintResources(summary, out);
  out << "  fragmented (idle, but not usable by the typical pods): "
      << Fixed(summary.fragment_percent, 1) << " % of all GPUs, "
      << Fixed(summary.fragment_of_idle_percent, 1) << " % of the idle GPUs\n";
  out << "\nQueues\n";
  PrintQueues(summary, out);
  out << "\nJobs\n";
  PrintJobs(summary, out);
  PrintReasons(summary, out);
  PrintTimes(summary.all, out);
  PrintIntervals(summary.intervals, out);
  if (summary.trace) {
    out << "\nTrace " << summary.trace->path << ": " << summary.trace->reading.records
        << " records, " << summary.trace->reading.faults.skipped() << " skipped\n";
    if (summary.trace->reading.faults.any()) {
      PrintTraceFaults(summary.trace->path, summary.trace->reading.faults, out);
    }
  }
  PrintMoves(summary, out);
  if (summary.dropped_decisions > 0) {
    out << "\n" << summary.dropped_decisions << " decisions failed verification and were dropped\n";
  }
}

}  // namespace tephra
