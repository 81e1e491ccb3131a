#include "tests/sidecar/recorded_run.h"

#include <sstream>

#include "plugins/registry.h"
#include "sidecar/wire/frame.h"
#include "sidecar/wire/journaled_engine.h"
#include "sidecar/wire/plan_codec.h"
#include "tests/support/dice.h"
#include "tests/support/random_case.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

class Run {
 public:
  explicit Run(std::uint64_t seed) : dice_(seed) {}

  RecordedRun Go(int ticks) {
    ConfigChanged config;
    config.config.seed = 7;
    config.config.ties = Ties::kRandom;
    config.config.assume_timeout_ms = 2500;
    Tell(config);
    Tell(KindsDeclared{{"example.com/fpga"}});
    CaseSize size;
    size.queue_limits = dice_.Percent(30);
    for (const Event& event : RandomCase(dice_, size)) Tell(event);
    for (int tick = 0; tick < ticks; ++tick) {
      const Plan plan = engine_.Tick(1000 * tick);
      run_.plans.push_back(PlanBytes(plan, engine_.state().books()));
      for (const Decision& decision : plan.decisions) {
        for (const Placement& placement : decision.placements) FollowUp(placement);
        run_.placements += static_cast<int>(decision.placements.size());
      }
      Happen();
    }
    TEPHRA_CHECK(journal_.Close().ok());
    run_.journal = out_.str();
    return run_;
  }

 private:
  void Tell(const Event& event) {
    ++run_.events;
    run_.refused += !engine_.Apply(event).ok();
  }

  // What becomes of a placement: mostly the pod runs, at times it is forgotten or refused.
  void FollowUp(const Placement& placement) {
    const Books& books = engine_.state().books();
    const TaskRow& row = books.tasks[placement.task.index()];
    const JobRow& job = books.jobs[row.job.index()];
    const std::string role = job.roles[row.role].name;
    const std::string node = books.hardware.spec(placement.node).name;
    if (dice_.Percent(20)) return;
    if (dice_.Percent(10)) {
      Tell(PlacementRefused{job.uid, role, node, "no volume there"});
      return;
    }
    TaskFact fact;
    fact.uid = job.uid + "-" + role + "-" + std::to_string(row.index);
    fact.job = job.uid;
    fact.role = role;
    fact.index = row.index;
    fact.phase = TaskPhase::kRunning;
    fact.node = node;
    if (dice_.Percent(70)) fact.slices = placement.slices;
    pods_.push_back(fact);
    Tell(TaskUpserted{fact, ++version_});
  }

  void Happen() {
    for (TaskFact& pod : pods_) {
      if (!dice_.Percent(30)) continue;
      if (dice_.Percent(30)) {
        Tell(TaskRemoved{pod.uid});
        continue;
      }
      pod.phase = dice_.Pick<TaskPhase>(
          {TaskPhase::kReleasing, TaskPhase::kSucceeded, TaskPhase::kFailed, TaskPhase::kPending});
      Tell(TaskUpserted{pod, ++version_});
    }
    const NodeSpec& node = engine_.state().books().hardware.spec(NodeId(0));
    NodeUpserted back{node, ++version_};
    if (dice_.Percent(30)) {
      Tell(NodeRemoved{back.node.name});
      Tell(back);
    }
    JobUpserted late{RandomJob(dice_, "late-" + std::to_string(++version_), {}), 1};
    late.job.queue = "q0";
    Tell(late);
    late.job.uid.clear();
    Tell(late);  // refused
  }

  Dice dice_;
  Engine inner_{DefaultAssembly()};
  std::ostringstream out_;
  JournalWriter journal_{out_, "memory"};
  JournaledEngine engine_{inner_, &journal_};
  RecordedRun run_;
  std::vector<TaskFact> pods_;
  std::uint64_t version_ = 100;
};

}  // namespace

RecordedRun RunAndRecord(std::uint64_t seed, int ticks) { return Run(seed).Go(ticks); }

RecordedRun RunThatPlaces() {
  for (std::uint64_t seed = 1;; ++seed) {
    RecordedRun run = RunAndRecord(seed);
    if (run.placements >= 5 && run.refused >= 2) return run;
  }
}

std::vector<std::size_t> FrameEnds(const std::string& journal) {
  std::istringstream in(journal);
  FrameReader frames(in, "memory");
  std::vector<std::size_t> ends;
  for (auto frame = frames.Next();; frame = frames.Next()) {
    TEPHRA_CHECK(frame.ok());
    if (frames.record() > 0) ends.push_back(frames.offset());
    if (*frame == nullptr) return ends;
  }
}

std::string Rewritten(const std::string& journal, const ChangeRecord& change) {
  std::istringstream in(journal);
  FrameReader frames(in, "memory");
  std::string out;
  std::uint32_t crc = 0;
  for (auto frame = frames.Next();; frame = frames.Next()) {
    TEPHRA_CHECK(frame.ok());
    if (*frame == nullptr) return out;
    v1::JournalRecord record;
    TEPHRA_CHECK(record.ParseFromString(**frame));
    change(frames.record(), record);
    if (record.ByteSizeLong() > 0) AppendFrame(record.SerializeAsString(), crc, out);
  }
}

}  // namespace tephra
