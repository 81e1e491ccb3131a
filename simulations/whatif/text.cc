#include <algorithm>
#include <map>
#include <ostream>
#include <string>

#include "simulations/whatif/whatif.h"
#include "text/format.h"
#include "text/table.h"

namespace tephra {
namespace {

std::string Jobs(std::int64_t count) {
  return std::to_string(count) + (count == 1 ? " job" : " jobs");
}

// Relative to the cut.
std::string FromCut(TimeMs time, TimeMs cut) {
  return time < cut ? "-" + DurationText(cut - time) : "+" + DurationText(time - cut);
}

// A value of both runs; one value if they are equal.
std::string Both(const std::string& before, const std::string& after) {
  return before == after ? before : before + " -> " + after;
}

void PrintBeginning(const WhatifResult& result, std::ostream& out) {
  out << result.file << ", continued from " << DurationText(result.after_first)
      << " after its first cycle ("
      << (result.before_last == 0 ? "the end"
                                  : DurationText(result.before_last) + " before its last cycle")
      << ")\n";
  for (const std::string& change : result.changes) out << "  change: " << change << "\n";
  out << "at that time: " << Jobs(result.running) << " running, " << result.waiting << " pending; "
      << result.coming << " recorded for later\n";
  const RunTimes& runs = result.runs;
  std::string sources;
  const auto add = [&](std::int64_t count, const char* source) {
    if (count > 0) sources += (sources.empty() ? "" : ", ") + std::to_string(count) + source;
  };
  add(runs.recorded, " recorded");
  add(runs.expected, " estimated");
  add(runs.predicted, " predicted from earlier jobs");
  add(runs.assumed, " from --default-runtime");
  add(runs.unknown, " unknown, so these jobs never end (see --default-runtime)");
  if (!sources.empty()) out << "run times: " << sources << "\n";
  if (result.decided_otherwise) {
    out << "warning: this version of tephra decides differently from the journal, so reservations "
           "made before that time are unknown\n";
  }
  const Reproduced& same = result.reproduced;
  if (same.starts + same.ends > 0) {
    out << "accuracy of the unchanged run: " << same.same_starts << " of " << same.starts
        << " starts and " << same.same_ends << " of " << same.ends << " ends match the journal";
    if (same.most_off > 0) out << "; largest difference " << DurationText(same.most_off);
    out << "\n";
  }
}

void PrintJobs(const WhatifResult& result, std::ostream& out) {
  Table table({"job", "queue", "submitted", "starts", "first estimate (90 %)", "ends", "evictions"},
              "llrllll");
  const auto time = [&](const JobOutcome* job, TimeMs JobOutcome::*which) -> std::string {
    if (job == nullptr) return "-";
    return job->*which < 0 ? "never" : FromCut(job->*which, result.cut);
  };
  const auto interval = [&](const JobOutcome* job) -> std::string {
    if (job == nullptr || !job->first_interval) return "-";
    return FromCut(job->first_interval->low, result.cut) + " to " +
           FromCut(job->first_interval->high, result.cut);
  };
  const std::size_t lines = std::min(result.differences.size(), kMostWhatifLines);
  for (std::size_t i = 0; i < lines; ++i) {
    const JobDifference& one = result.differences[i];
    const JobOutcome& job = one.before != nullptr ? *one.before : *one.after;
    const auto evicted = [](const JobOutcome* of) {
      return of == nullptr ? std::string("-") : std::to_string(of->evictions);
    };
    table.Add({job.name, job.queue, FromCut(job.arrival, result.cut),
               Both(time(one.before, &JobOutcome::start), time(one.after, &JobOutcome::start)),
               Both(interval(one.before), interval(one.after)),
               Both(time(one.before, &JobOutcome::end), time(one.after, &JobOutcome::end)),
               Both(evicted(one.before), evicted(one.after))});
  }
  out << "\n"
      << Jobs(static_cast<std::int64_t>(result.differences.size()))
      << " differ (times are relative to that time)\n";
  table.Print(out);
  if (result.differences.size() > lines) {
    out << "  and " << result.differences.size() - lines << " more\n";
  }
  if (result.elsewhere > 0) {
    out << "  " << result.elsewhere << " more run at the same times on other nodes\n";
  }
}

// Jobs that start in one run and not in the other.
void PrintReasons(const WhatifResult& result, std::ostream& out) {
  std::size_t lines = 0;
  for (const JobDifference& one : result.differences) {
    if (one.before == nullptr || one.after == nullptr) continue;
    if ((one.before->start < 0) == (one.after->start < 0)) continue;
    const JobOutcome& waits = one.before->start < 0 ? *one.before : *one.after;
    if (lines++ == 0) out << "\nJobs that start in one run only, and why not in the other\n";
    if (lines > kMostWhatifLines) break;
    out << "  " << waits.name << (one.before->start < 0 ? ", unchanged: " : ", with the change: ")
        << (waits.why.empty() ? JobStateText(waits.state) : waits.why) << "\n";
  }
}

void PrintTotals(const WhatifResult& result, std::ostream& out) {
  Table table({"", "jobs", "started", "mean wait", "median", "p95", "evictions"}, "lrrrrrr");
  const auto seconds = [](double s) {
    return DurationText(static_cast<DurationMs>(s) * kSecondMs);
  };
  const auto add = [&](const std::string& name, const Waits& before, const Waits& after) {
    if (before.jobs + after.jobs == 0) return;
    const auto both = [&](std::int64_t Waits::*which) {
      return Both(std::to_string(before.*which), std::to_string(after.*which));
    };
    const auto times = [&](double Waits::*which) {
      return Both(seconds(before.*which), seconds(after.*which));
    };
    table.Add({name, both(&Waits::jobs), both(&Waits::started), times(&Waits::mean_s),
               times(&Waits::median_s), times(&Waits::p95_s), both(&Waits::evictions)});
  };
  add("pending at that time", result.as_is.totals.waiting, result.changed.totals.waiting);
  add("submitted later", result.as_is.totals.coming, result.changed.totals.coming);
  std::map<std::string, Waits> queues = result.changed.totals.queues;
  for (const auto& [name, waits] : result.as_is.totals.queues) queues.try_emplace(name);
  if (queues.size() > 1) {
    for (const auto& [name, after] : queues) {
      const auto before = result.as_is.totals.queues.find(name);
      add("queue " + name, before == result.as_is.totals.queues.end() ? Waits() : before->second,
          after);
    }
  }
  if (!table.empty()) {
    out << "\n";
    table.Print(out);
  }
  const auto gpus = [](const WhatifRun& run) {
    for (const ResourceLine& line : run.summary.resources) {
      if (line.name == "gpu") return Fixed(line.mean_percent, 1) + " %";
    }
    return std::string("-");
  };
  out << "mean GPU use " << Both(gpus(result.as_is), gpus(result.changed)) << ", evictions "
      << Both(std::to_string(result.as_is.totals.all.evictions),
              std::to_string(result.changed.totals.all.evictions))
      << ", last event "
      << Both(FromCut(result.as_is.summary.end, result.cut),
              FromCut(result.changed.summary.end, result.cut))
      << "\n";
}

}  // namespace

void PrintWhatif(const WhatifResult& result, std::ostream& out) {
  PrintBeginning(result, out);
  if (result.interrupted) out << "interrupted: these are the results until then\n";
  if (result.differences.empty()) {
    out << "\nno job differs";
    if (result.elsewhere > 0) out << ", except the nodes of " << Jobs(result.elsewhere);
    out << "\n";
  } else {
    PrintJobs(result, out);
    PrintReasons(result, out);
  }
  PrintTotals(result, out);
}

}  // namespace tephra
