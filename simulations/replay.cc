#include "simulations/replay.h"

#include <utility>

#include "sidecar/wire/plan_codec.h"
#include "sidecar/wire/plan_difference.h"

namespace tephra {
namespace {

class Replayer {
 public:
  Replayer(JournalReader& journal, Engine& engine, const ReplayOptions& options,
           ReplayReport& report)
      : journal_(journal), engine_(engine), options_(options), report_(report) {}

  absl::Status Run() {
    while (!report_.divergence.has_value()) {
      TEPHRA_ASSIGN_OR_RETURN(const std::optional<JournalEntry> entry, journal_.Next());
      if (!entry.has_value()) return End();
      if (!std::holds_alternative<JournalRefusal>(*entry)) ExpectAccepted();
      if (report_.divergence.has_value()) break;
      std::visit([this](const auto& what) { On(what); }, *entry);
    }
    return absl::OkStatus();
  }

 private:
  // The last event, until the next entry shows whether it was refused.
  struct Applied {
    absl::Status status;
    std::uint64_t record = 0, offset = 0;
  };

  void On(const Event& event) {
    applied_ = {engine_.Apply(event), journal_.record(), journal_.offset()};
    ++report_.events;
  }

  void On(const JournalRefusal& refusal) {
    const Applied now = *std::exchange(applied_, std::nullopt);
    ++report_.refused;
    if (now.status.code() != refusal.code) {
      DivergeAtEvent(now, "refused: " + refusal.message);
    }
  }

  void On(const JournalTick& tick) {
    tick_ = tick.now;
    const Plan plan = engine_.Tick(tick.now);
    made_ = PlanBytes(plan, engine_.state().books());
    ++report_.ticks;
    made_placements_ = 0;
    for (const Decision& decision : plan.decisions) made_placements_ += decision.placements.size();
    if (!options_.check_books) return;
    std::string fault = engine_.state().CheckBooks();
    if (fault.empty()) return;
    Divergence& found = Diverge(Divergence::Kind::kBooks);
    found.field = "derived state";
    found.made = std::move(fault);
  }

  void On(const JournalPlan& plan) {
    const std::optional<PlanDifference> difference = ComparePlans(plan.bytes, made_);
    if (!difference.has_value()) {
      ++report_.plans;
      report_.placements += made_placements_;
      return;
    }
    Divergence& found = Diverge(Divergence::Kind::kPlan);
    found.decision = difference->decision;
    found.job = difference->job;
    found.field = difference->field;
    found.recorded = difference->recorded;
    found.made = difference->made;
  }

  // The journal has no refusal of the last event.
  void ExpectAccepted() {
    if (!applied_.has_value()) return;
    const Applied now = *std::exchange(applied_, std::nullopt);
    if (!now.status.ok()) DivergeAtEvent(now, "accepted");
  }

  void DivergeAtEvent(const Applied& now, std::string recorded) {
    Divergence& found = Diverge(Divergence::Kind::kEvent);
    found.record = now.record;
    found.offset = now.offset;
    found.field = "outcome";
    found.recorded = std::move(recorded);
    found.made = now.status.ok() ? "accepted" : "refused: " + std::string(now.status.message());
  }

  Divergence& Diverge(Divergence::Kind kind) {
    Divergence& found = report_.divergence.emplace();
    found.kind = kind;
    found.record = journal_.record();
    found.offset = journal_.offset();
    found.tick = tick_;
    return found;
  }

  absl::Status End() {
    report_.closed = journal_.closed();
    report_.whole_bytes = journal_.offset();
    report_.torn_bytes = journal_.torn_bytes();
    if (!journal_.has_header()) {
      return absl::DataLossError(journal_.Where() + ": the file ends inside the journal header");
    }
    // If the journal is truncated right after an event, it is unknown whether the event was
    // refused.
    if (report_.closed) ExpectAccepted();
    return absl::OkStatus();
  }

  JournalReader& journal_;
  Engine& engine_;
  const ReplayOptions& options_;
  ReplayReport& report_;
  std::optional<Applied> applied_;
  std::optional<TimeMs> tick_;
  std::string made_;  // the plan of the last tick
  std::uint64_t made_placements_ = 0;
};

}  // namespace

absl::Status Replay(JournalReader& journal, Engine& engine, const ReplayOptions& options,
                    ReplayReport& report) {
  absl::Status status = Replayer(journal, engine, options, report).Run();
  report.written_by = journal.tool_version();
  return status;
}

}  // namespace tephra
