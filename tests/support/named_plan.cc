#include "tests/support/named_plan.h"

namespace tephra {

NamedPlan NameOf(const State& state, const Plan& plan) {
  const Books& books = state.books();
  NamedPlan named;
  for (const Decision& decision : plan.decisions) {
    const JobRow& job = books.jobs[decision.job.index()];
    NamedDecision& out = named.decisions.emplace_back(
        NamedDecision{job.uid, decision.part, decision.verdict, decision.reason, {}, {}, {}});
    for (const Placement& placement : decision.placements) {
      const TaskRow& task = books.tasks[placement.task.index()];
      out.placements.push_back({job.roles[task.role].name, task.index,
                                books.hardware.spec(placement.node).name, placement.slices});
    }
    for (TaskId task : decision.evictions) out.evictions.push_back(books.tasks[task.index()].uid);
    for (const Placement& move : decision.moves) {
      out.moves.push_back(
          {books.tasks[move.task.index()].uid, books.hardware.spec(move.node).name, move.slices});
    }
  }
  for (JobId job : plan.dropped) named.dropped.push_back(books.jobs[job.index()].uid);
  return named;
}

const char* VerdictWord(Verdict verdict) {
  switch (verdict) {
    case Verdict::kStart:
      return "start";
    case Verdict::kStartAfterEviction:
      return "start-after-eviction";
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

std::string SliceText(const Slices& slices) {
  std::string text;
  for (const Slice& slice : slices) {
    text += " c" + std::to_string(slice.container) + ":d" + std::to_string(slice.device) + "=" +
            std::to_string(slice.compute) + "/" + std::to_string(slice.memory_mib);
  }
  return text;
}

std::string Text(const ResourceKinds& kinds, const NamedPlan& plan) {
  std::string text;
  for (const NamedDecision& decision : plan.decisions) {
    text += "  " + decision.job + (decision.part == Part::kElastic ? " (elastic)" : "") + ": " +
            VerdictWord(decision.verdict) + " " + ReasonText(kinds, decision.reason) + "\n";
    for (const NamedPlacement& placed : decision.placements) {
      text += "    " + placed.role + "/" + std::to_string(placed.index) + " on " + placed.node +
              SliceText(placed.slices) + "\n";
    }
    for (const std::string& pod : decision.evictions) text += "    evicts " + pod + "\n";
    for (const NamedDecision::Move& move : decision.moves) {
      text += "    moves " + move.pod + " to " + move.node + SliceText(move.slices) + "\n";
    }
  }
  for (const std::string& job : plan.dropped) text += "  " + job + ": dropped\n";
  return text;
}

}  // namespace tephra
