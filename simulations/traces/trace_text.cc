#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/bad_input.h"
#include "simulations/traces/trace_summary.h"
#include "text/format.h"
#include "text/table.h"

namespace tephra {
namespace {

constexpr std::size_t kMostShareLines = 20;
constexpr int kPercents[] = {10, 25, 50, 75, 90, 99};

std::string HoursText(double ms) { return Fixed(ms / 3'600'000, 1); }

std::vector<std::string> ShareCells(const std::string& name, const std::string& jobs, bool has_cpus,
                                    const std::string& cpus, bool has_gpus,
                                    const std::string& gpus) {
  std::vector<std::string> cells = {name, jobs};
  if (has_cpus) cells.push_back(cpus);
  if (has_gpus) cells.push_back(gpus);
  return cells;
}

// Sorted by use, largest first, then by name.
void PrintShares(const TraceSummary& summary, const std::string& title,
                 const std::map<std::string, TraceShare>& shares, std::ostream& out) {
  if (shares.empty()) return;
  std::vector<std::pair<std::string, TraceShare>> sorted(shares.begin(), shares.end());
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    if (a.second.gpu_ms != b.second.gpu_ms) return a.second.gpu_ms > b.second.gpu_ms;
    if (a.second.cpu_ms != b.second.cpu_ms) return a.second.cpu_ms > b.second.cpu_ms;
    return NameBefore(a.first, b.first);
  });
  out << "\n" << title << "\n";
  const bool cpus = summary.all.cpu_ms > 0, gpus = summary.all.gpu_ms > 0;
  Table table(ShareCells("name", "jobs", cpus, "CPU hours", gpus, "GPU hours"), "lrrr");
  for (std::size_t i = 0; i < std::min(sorted.size(), kMostShareLines); ++i) {
    const auto& [name, share] = sorted[i];
    table.Add(ShareCells(name, std::to_string(share.jobs), cpus, HoursText(share.cpu_ms), gpus,
                         HoursText(share.gpu_ms)));
  }
  table.Print(out);
  if (sorted.size() > kMostShareLines) {
    out << "  and " << sorted.size() - kMostShareLines << " more\n";
  }
}

void PrintPercentiles(const TraceSummary& summary, std::ostream& out) {
  out << "\nPer job\n";
  std::vector<std::string> header = {"", "known", "min"};
  for (const int percent : kPercents) header.push_back("p" + std::to_string(percent));
  header.push_back("max");
  Table table(header, "lrrrrrrrrr");
  const auto add = [&](const std::string& what, const Percentiles& of, const auto& text) {
    if (of.count() == 0) return;
    table.Add({what, std::to_string(of.count()), text(of.least())});
    for (const int percent : kPercents) table.Append(text(of.At(percent)));
    table.Append(text(of.most()));
  };
  const auto plain = [](std::int64_t amount) { return std::to_string(amount); };
  add(summary.all.gpu_ms == 0   ? "CPUs"
      : summary.all.cpu_ms == 0 ? "GPUs"
                                : "GPUs or CPUs",
      summary.sizes, plain);
  add("run time", summary.runs_ms, DurationText);
  add("requested time", summary.requested_ms, DurationText);
  table.Print(out);
}

void PrintMachine(const TraceSummary& summary, std::ostream& out) {
  const auto load = [&](const char* what, std::int64_t there, double part) {
    if (there <= 0) return;
    out << "machine: " << there << " " << what;
    if (part >= 0) out << ", offered load " << Fixed(100 * part, 2) << " %";
    out << "\n";
  };
  load("CPUs", summary.machine.Cpus(), summary.CpuLoad());
  load("GPUs", summary.machine.Gpus(), summary.GpuLoad());
  if (summary.machine.parts.empty()) out << "machine: unknown (set it with --cpus or --gpus)\n";
}

}  // namespace

void PrintTraceFaults(const std::string& path, const TraceFaultCounts& faults, std::ostream& out) {
  Table table({"fault", "lines", "skipped lines", "first"}, "lrrl");
  for (std::size_t i = 0; i < kTraceFaultKinds; ++i) {
    const auto kind = static_cast<TraceFaultKind>(i);
    const TraceFaultCounts::Count& count = faults.of(kind);
    if (count.times == 0) continue;
    table.Add({TraceFaultName(kind), std::to_string(count.times), std::to_string(count.skipped),
               std::string(FaultStatus(path, count.first).message())});
  }
  if (table.empty()) {
    out << "\nNo faults\n";
    return;
  }
  out << "\nFaults\n";
  table.Print(out);
}

void PrintTraceText(const TraceSummary& summary, std::ostream& out) {
  out << summary.path << ": " << TraceFormName(summary.form)
      << (summary.guessed ? " (detected)" : "") << "\n"
      << summary.records << " records: " << summary.all.jobs << " jobs, "
      << summary.faults.skipped() << " skipped\n"
      << "submitted from " << DurationText(summary.first) << " to " << DurationText(summary.last)
      << ", a span of " << DurationText(summary.last - summary.first) << "\n"
      << summary.users.size() << " users, " << summary.groups.size() << " groups, "
      << summary.queues.size() << " queues";
  if (summary.all.cpu_ms > 0) out << "; " << HoursText(summary.all.cpu_ms) << " CPU hours";
  if (summary.all.gpu_ms > 0) out << "; " << HoursText(summary.all.gpu_ms) << " GPU hours";
  out << "\n";
  std::string statuses;
  for (const auto& [status, jobs] : summary.statuses) {
    statuses +=
        (statuses.empty() ? "" : ", ") + std::to_string(jobs) + " " + TraceStatusName(status);
  }
  if (!statuses.empty()) out << "ended: " << statuses << "\n";
  PrintMachine(summary, out);
  PrintPercentiles(summary, out);
  PrintShares(summary, "Queues", summary.queues, out);
  PrintShares(summary, "Users", summary.users, out);
  PrintTraceFaults(summary.path, summary.faults, out);
}

}  // namespace tephra
