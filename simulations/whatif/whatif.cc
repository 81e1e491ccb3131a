#include "simulations/whatif/whatif.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "plugins/registry.h"
#include "sidecar/wire/plan_codec.h"
#include "simulations/whatif/journal_batches.h"

namespace tephra {
namespace {

enum class Cycles : std::uint8_t { kToo, kNot };

// Feeds the journal up to the cut to a new engine. False if a plan differs from the recorded plan.
absl::StatusOr<bool> FeedHistory(const History& history, Cycles cycles, Engine& engine) {
  TEPHRA_ASSIGN_OR_RETURN(const std::unique_ptr<JournalBatches> journal,
                          JournalBatches::Open(history.file));
  const std::uint64_t batches = history.batches + (history.and_events ? 1 : 0);
  for (std::uint64_t b = 0; b < batches; ++b) {
    TEPHRA_ASSIGN_OR_RETURN(const std::optional<JournalBatch> batch, journal->Next());
    if (!batch.has_value()) break;
    // An event that this version refuses but the recorded version accepted is left out.
    for (const Event& event : batch->events) engine.Apply(event).IgnoreError();
    if (b == history.batches || !batch->tick.has_value() || cycles == Cycles::kNot) continue;
    const Plan plan = engine.Tick(*batch->tick);
    if (!batch->plan.has_value()) continue;
    if (PlanBytes(plan, engine.state().books()) != *batch->plan) return false;
  }
  return true;
}

// An engine with the state of the recorded engine.
absl::StatusOr<std::unique_ptr<Engine>> StandingEngine(History& history, bool& otherwise) {
  if (!otherwise) {
    auto engine = std::make_unique<Engine>(DefaultAssembly());
    TEPHRA_ASSIGN_OR_RETURN(const bool same, FeedHistory(history, Cycles::kToo, *engine));
    if (same) return engine;
    otherwise = true;
    history.due = true;
  }
  auto engine = std::make_unique<Engine>(DefaultAssembly());
  TEPHRA_ASSIGN_OR_RETURN(const bool ticked, FeedHistory(history, Cycles::kNot, *engine));
  if (!ticked) return absl::InternalError(history.file + ": no scheduling cycle is due");
  return engine;
}

Reproduced Compare(const History& history, const Outcomes& outcomes, TimeMs origin) {
  Reproduced reproduced;
  const auto count = [&](TimeMs recorded, TimeMs made, std::int64_t& all, std::int64_t& same) {
    if (recorded <= history.cut && !(history.and_events && recorded == history.cut)) return;
    ++all;
    if (made < 0) made = history.end - origin;
    same += made == recorded - origin;
    const DurationMs off = made - (recorded - origin);
    reproduced.most_off = std::max(reproduced.most_off, off < 0 ? -off : off);
  };
  for (const RecordedJob& job : history.jobs) {
    const auto found = outcomes.jobs().find(job.spec.uid);
    if (found == outcomes.jobs().end()) continue;
    count(job.start, found->second.start, reproduced.starts, reproduced.same_starts);
    std::int64_t over = 0;
    TimeMs end = -1;
    for (const auto& [name, task] : job.tasks) {
      over += task.end >= 0;
      end = std::max(end, task.end);
    }
    for (const RoleSpec& role : job.latest.gang.roles) over -= role.replicas;
    count(over >= 0 ? end : job.gone, found->second.end, reproduced.ends, reproduced.same_ends);
  }
  return reproduced;
}

absl::Status GoOn(Simulation simulation, const WhatifOptions& options, const char* folder,
                  WhatifRun& run) {
  const std::filesystem::path directory = options.directory;
  simulation.outputs.directory = options.directory.empty() ? "" : (directory / folder).string();
  run.jobs = std::make_unique<Outcomes>(run.engine->state(), simulation.handover->at);
  simulation.file = options.path;
  TEPHRA_ASSIGN_OR_RETURN(SimulateResult result,
                          RunSimulation(std::move(simulation), {.stop = options.stop,
                                                                .engine = run.engine.get(),
                                                                .listener = run.jobs.get()}));
  run.summary = std::move(result.summary);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<WhatifResult> RunWhatif(const WhatifOptions& options) {
  WhatifResult result;
  result.file = options.path;
  for (const ChangeText& change : options.changes) {
    result.changes.push_back(change.source == kChangeArgument ? change.text : change.source);
  }
  TEPHRA_ASSIGN_OR_RETURN(History history,
                          ReadHistory(options.path, options.cut, options.go_on.checkpoints));
  TEPHRA_ASSIGN_OR_RETURN(result.as_is.engine, StandingEngine(history, result.decided_otherwise));
  TEPHRA_ASSIGN_OR_RETURN(result.changed.engine, StandingEngine(history, result.decided_otherwise));
  Continuation as_is = Continue(history, result.as_is.engine->state(), options.go_on);
  TEPHRA_ASSIGN_OR_RETURN(Simulation changed, WithChanges(as_is.simulation, options.changes));
  result.runs = as_is.runs;
  result.grace = as_is.simulation.eviction_grace;
  result.origin = as_is.simulation.origin;
  result.cut = as_is.simulation.handover->at;
  result.after_first = history.cut - history.begin;
  result.before_last = history.end - history.cut;
  result.coming = static_cast<std::int64_t>(as_is.simulation.jobs.size());
  for (const HandedJob& job : as_is.simulation.handover->jobs) {
    ++(job.start >= 0 ? result.running : result.waiting);
  }
  TEPHRA_RETURN_IF_ERROR(GoOn(std::move(as_is.simulation), options, "as-is", result.as_is));
  TEPHRA_RETURN_IF_ERROR(GoOn(std::move(changed), options, "changed", result.changed));
  result.interrupted = result.as_is.summary.interrupted || result.changed.summary.interrupted;
  result.reproduced = Compare(history, *result.as_is.jobs, result.origin);
  const TimeMs end = std::max(result.as_is.summary.end, result.changed.summary.end);
  result.as_is.totals = TotalsOf(*result.as_is.jobs, result.cut, end);
  result.changed.totals = TotalsOf(*result.changed.jobs, result.cut, end);
  result.differences = DifferencesOf(*result.as_is.jobs, *result.changed.jobs);
  result.elsewhere = ElsewhereIn(*result.as_is.jobs, *result.changed.jobs);
  return result;
}

}  // namespace tephra
