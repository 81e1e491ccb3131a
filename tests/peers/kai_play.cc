#include "tests/peers/kai_play.h"

#include <algorithm>

#include "plugins/registry.h"
#include "tests/peers/kai_judge.h"
#include "tests/peers/kai_setup.h"
#include "tests/support/named_plan.h"

namespace tephra {
namespace {

class Play {
 public:
  explicit Play(const KaiCase& one)
      : case_(one), setup_(SetupOf(one)), engine_(DefaultAssembly()), version_(setup_.version) {}

  KaiResult Run() {
    for (const Event& event : setup_.events) Tell(event);
    if (!fault_.empty()) return {fault_, plans_};
    if (case_.kind == "unit") {
      GoStale();
      Tick();
      Differs(StatesDiffer(case_, setup_, Actual()));
    } else {
      Rounds();
      calls_.binds = 0;  // by the statuses; KAI itself binds more than its limit (reclaim/020)
    }
    if (difference_.empty()) Differs(CallsDiffer(case_, calls_));
    return {fault_.empty() ? difference_ : fault_, plans_};
  }

 private:
  // Gangs are below their minimum as of a first cycle.
  void GoStale() {
    std::int64_t longest_s = 0;
    for (const KaiJob& job : case_.jobs) longest_s = std::max(longest_s, job.stale_for_s);
    if (longest_s == 0) return;
    Tick();
    now_ += (longest_s - 1) * kSecondMs;
  }

  void Rounds() {
    int round = 0;
    do {
      Tick();
      Pass();
      difference_ = StatesDiffer(case_, setup_, Actual());
    } while (++round < case_.until_match && !difference_.empty());
    for (int more = 0; more < case_.after_match && difference_.empty(); ++more) {
      Tick();
      Pass();
      const std::string lost = StatesDiffer(case_, setup_, Actual());
      if (!lost.empty()) difference_ = "does not hold: " + lost;
    }
  }

  void Tick() {
    const Plan plan = engine_.Tick(now_);
    now_ += kSecondMs;
    const NamedPlan named = NameOf(engine_.state(), plan);
    plans_ += " cycle\n" + Text(engine_.state().books().kinds, named);
    for (const NamedDecision& decision : named.decisions) {
      const auto placed = static_cast<int>(decision.placements.size());
      (decision.verdict == Verdict::kStart ? calls_.binds : calls_.pipelines) += placed;
      calls_.pipelines += static_cast<int>(decision.moves.size());
      calls_.evictions += static_cast<int>(decision.evictions.size());
    }
    for (const std::string& job : named.dropped) Fault("a decision for " + job + " was dropped");
  }

  // From one round to the next.
  void Pass() {
    for (const KaiJob& job : case_.jobs) {
      for (const KaiTask& task : job.tasks) {
        const TaskRow& row = RowOf(task);
        TaskFact fact;
        const KaiSeat& seat = setup_.seats.at(task.id);
        fact.uid = task.id;
        fact.job = seat.job;
        fact.role = seat.role;
        fact.index = seat.index;
        if (row.phase == TaskPhase::kAssumed) {
          fact.phase = TaskPhase::kRunning;
          fact.node = engine_.state().books().hardware.spec(row.node).name;
          fact.slices = row.slices;
          fact.started = now_;
          Tell(TaskUpserted{fact, ++version_});
        } else if (row.phase == TaskPhase::kReleasing && !job.stays_releasing &&
                   task.state != "StuckInReleasing") {
          Tell(TaskRemoved{task.id});
          Tell(TaskUpserted{fact, ++version_});
        }
      }
    }
  }

  const TaskRow& RowOf(const KaiTask& task) const {
    const Books& books = engine_.state().books();
    const KaiSeat& seat = setup_.seats.at(task.id);
    const JobRow& job = books.jobs[engine_.state().FindJob(seat.job).index()];
    for (const RoleRow& role : job.roles) {
      if (role.name != seat.role) continue;
      return books.tasks[role.tasks[static_cast<std::size_t>(seat.index)].index()];
    }
    return books.tasks[0];
  }

  std::map<std::string, KaiOutcome> Actual() const {
    std::map<std::string, KaiOutcome> actual;
    if (!fault_.empty()) return actual;
    for (const KaiJob& job : case_.jobs) {
      for (const KaiTask& task : job.tasks) {
        const TaskRow& row = RowOf(task);
        if (case_.kind == "unit" && row.reserved_row.valid()) {
          const Books& books = engine_.state().books();
          const NodeId to = books.tasks[row.reserved_row.index()].node;
          actual[task.id] = {"Pipelined", books.hardware.spec(to).name};
          continue;
        }
        actual[task.id] = {
            std::string(StatusOf(row.phase)),
            row.node.valid() ? engine_.state().books().hardware.spec(row.node).name : ""};
      }
    }
    return actual;
  }

  // In KAI's words, by which what has been placed and what runs are one.
  const char* StatusOf(TaskPhase phase) const {
    switch (phase) {
      case TaskPhase::kAssumed:
      case TaskPhase::kRunning:
        return "Running";
      case TaskPhase::kReleasing:
        return "Releasing";
      case TaskPhase::kSucceeded:
        return "Succeeded";
      case TaskPhase::kFailed:
        return "Failed";
      case TaskPhase::kPending:
      case TaskPhase::kAbsent:
      case TaskPhase::kReserved:
        break;
    }
    return "Pending";
  }

  void Tell(const Event& event) {
    if (!fault_.empty()) return;
    const absl::Status status = engine_.Apply(event);
    if (!status.ok()) Fault("refused: " + std::string(status.message()));
    const std::string books = engine_.state().CheckBooks();
    if (!books.empty()) Fault("books: " + books);
  }

  void Fault(std::string what) {
    if (fault_.empty()) fault_ = std::move(what);
  }
  void Differs(std::string what) {
    if (difference_.empty()) difference_ = std::move(what);
  }

  const KaiCase& case_;
  const KaiSetup setup_;
  Engine engine_;
  std::uint64_t version_;
  TimeMs now_ = kKaiBegin;
  KaiCalls calls_;
  std::string difference_, fault_, plans_;
};

}  // namespace

KaiResult PlayKaiCase(const KaiCase& one) { return Play(one).Run(); }

}  // namespace tephra
