// Laws of deep queues: jobs that a cycle does not ask would get the answer that their line got. An
// engine that keeps lines decides as one that asks every pending job whenever room has grown
// anywhere, or a job may lose its reserved start to another one.
#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "tests/property/deep_queue_asker.h"
#include "tests/property/laws.h"
#include "tests/support/build.h"
#include "tests/support/dice.h"
#include "tests/support/named_plan.h"

namespace tephra {
namespace {

struct Shape {
  std::int32_t tasks;
  int gpus;
  double cores = 1;
};

struct Laid {  // a job of the history
  std::int32_t tasks = 0;
  DurationMs run = 0;
  TimeMs ends = 0;  // 0: it does not run
  JobSpec spec{};
};

// What a plan does, and when jobs that wait are to start.
NamedPlan Deeds(NamedPlan plan) {
  std::erase_if(plan.decisions, [](const NamedDecision& one) {
    return one.placements.empty() && one.evictions.empty() && one.moves.empty();
  });
  for (NamedDecision& one : plan.decisions) one.reason = {};
  return plan;
}

// When jobs are to start, and on which nodes.
using Starts = std::map<std::string, std::pair<TimeMs, std::vector<std::string>>>;

Starts StartsIn(const State& state) {
  Starts starts;
  for (const JobRow& job : state.books().jobs) {
    if (!job.live || job.reservation->at == 0) continue;
    auto& [at, nodes] = starts[job.name];
    at = job.reservation->at;
    for (const Placement& one : job.reservation->where) {
      nodes.push_back(state.books().hardware.spec(one.node).name);
    }
  }
  return starts;
}

class History {
 public:
  // `many_shapes`: so many that a cycle has more due lines than it asks one by one. `thorough`:
  // kLinesChecked: jobs are evicted.
  History(std::uint64_t seed, int queues, bool many_shapes = false, Asks thorough = Asks::kEveryJob)
      : dice_(seed),
        queues_(queues),
        many_shapes_(many_shapes),
        evicts_(thorough == Asks::kLinesChecked),
        thrifty_(Asks::kLines),
        thorough_(thorough) {}

  void Run(int events) {
    Open();
    while (events-- > 0) {
      INFO("at " << now_ << " ms, " << events << " events left");
      Step();
    }
  }
  std::size_t saved() const { return thorough_.asked() - thrifty_.asked(); }
  std::size_t deeds() const { return deeds_; }
  std::size_t evicted() const { return evicted_; }

 private:
  void Tell(const Event& event) {
    thrifty_.Apply(event);
    thorough_.Apply(event);
  }

  void Open() {
    EngineConfig config;
    config.moves.mode = MoveSettings::Mode::kOff;
    config.report_job_ahead = dice_.Percent(50);
    config.reservations.mode = dice_.Pick<ReservationSettings::Mode>(
        {ReservationSettings::Mode::kNone, ReservationSettings::Mode::kFirst});
    config.reservations.count = dice_.From(1, 2);
    config.reservations.predict = RunPrediction::kNone;
    if (dice_.Percent(20)) config.reservations.order = ReservationSettings::Order::kShortestFirst;
    config.job_order = dice_.Pick<JobOrder>(
        {JobOrder::kCreated, JobOrder::kEstimatedRuntime, JobOrder::kRemaining});
    // The room of victims would be reserved for any job that is asked after their eviction.
    if (!evicts_) config.disabled_actions = {"reclaim", "preempt"};
    if (evicts_ && dice_.Percent(30)) config.disabled_actions = {dice_.Pick<std::string>({"reclaim", "preempt"})};
    protects_ = dice_.Percent(40);
    Tell(ConfigChanged{config});
    for (int q = 0; q < queues_; ++q) {
      QueueSpec queue;
      queue.name = "q" + std::to_string(q);
      if (dice_.Percent(20)) queue.dequeue = Dequeue::kFifo;
      if (dice_.Percent(20)) {
        queue.limited_kinds = 1u << kGpu;
        queue.limit[kGpu] = dice_.From(4, 12) * kWholeGpu;
      }
      if ((evicts_ || protects_) && dice_.Percent(50)) {
        queue.deserved[kGpu] = dice_.From(1, 6) * kWholeGpu;
      }
      if (evicts_ && dice_.Percent(25)) queue.eviction_delay_ms = dice_.From(1, 6) * 10 * kSecondMs;
      Tell(QueueUpserted{queue, ++version_});
    }
    const int nodes = dice_.From(2, 5);
    for (int n = 0; n < nodes; ++n) {
      ANode node = ANode("n" + std::to_string(n)).Gpus(4);
      if (many_shapes_) node.Cores(8);
      Tell(NodeUpserted{node, ++version_});
    }
    for (int s = many_shapes_ ? dice_.From(20, 60) : dice_.From(1, 4); s > 0; --s) {
      const std::int32_t tasks = dice_.Percent(30) ? dice_.From(2, 3) : 1;
      const bool small = many_shapes_ && dice_.Percent(80);
      const int gpus = small ? dice_.From(0, 1) : dice_.From(1, 4);
      shapes_.push_back({tasks, gpus, many_shapes_ ? dice_.From(1, 16) * 0.25 : 1});
    }
    priorities_ = dice_.From(1, 3);
  }

  void Step() {
    const TimeMs next = NextEnd();
    if (next != 0 && dice_.Percent(50)) {
      now_ = std::max(now_, next);
      EndAll();
    } else {
      now_ += dice_.Below(8) * kSecondMs;
      if (next != 0 && next <= now_) now_ = next, EndAll();
      for (int i = dice_.From(1, many_shapes_ ? 8 : 4); i > 0; --i) Change();
    }
    const Plan plan = thrifty_.Tick(now_), all = thorough_.Tick(now_);
    const NamedPlan named = NameOf(thrifty_.state(), plan), others = NameOf(thorough_.state(), all);
    INFO("the plan:\n" << Text(thrifty_.state().books().kinds, named) << "\nof all jobs:\n"
                       << Text(thorough_.state().books().kinds, others));
    REQUIRE(Deeds(named) == Deeds(others));
    REQUIRE(StartsIn(thrifty_.state()) == StartsIn(thorough_.state()));
    Follow(Deeds(named));
  }

  void Change() {
    if (dice_.Percent(92)) return Come();
    protects_ && dice_.Percent(50) ? Turn() : Go();
  }

  // A job, pending or not, becomes preemptible or no longer is; or a queue deserves another amount.
  void Turn() {
    if (laid_.empty() || dice_.Percent(20)) {
      QueueSpec queue = thrifty_.state().books().queues.spec(QueueId(0));
      queue.deserved[kGpu] = dice_.From(0, 6) * kWholeGpu;
      return Tell(QueueUpserted{queue, ++version_});
    }
    const auto job = std::next(laid_.begin(), dice_.Below(static_cast<int>(laid_.size())));
    job->second.spec.preemptible = !job->second.spec.preemptible;
    Tell(JobUpserted{job->second.spec, ++version_});
  }

  void Come() {
    const Shape shape = shapes_[static_cast<std::size_t>(dice_.Below(static_cast<int>(shapes_.size())))];
    const std::string name = "j" + std::to_string(++jobs_);
    Laid laid{shape.tasks, dice_.From(1, 20) * 10 * kSecondMs};
    const DurationMs estimate = dice_.Percent(75)   ? laid.run
                                : dice_.Percent(30) ? 0
                                                    : laid.run * dice_.From(1, 6) / 3;
    laid.spec = AJob(name)
                    .Role("r", shape.tasks, APod().Gpus(shape.gpus).Cores(shape.cores))
                    .In("q" + std::to_string(dice_.Below(queues_)))
                    .Priority(dice_.Below(priorities_))
                    .Preemptible(!protects_ || dice_.Percent(60))
                    .Created(now_)
                    .Runs(estimate);
    Tell(JobUpserted{laid.spec, ++version_});
    laid_[name] = laid;
  }

  // A job is removed, pending or not.
  void Go() {
    if (laid_.empty()) return;
    Remove(std::next(laid_.begin(), dice_.Below(static_cast<int>(laid_.size())))->first);
  }

  void Remove(const std::string& name) {
    for (std::int32_t i = 0; i < laid_[name].tasks; ++i) Tell(TaskRemoved{PodOf(name, i)});
    Tell(JobRemoved{name});
    laid_.erase(name);
  }

  TimeMs NextEnd() const {
    TimeMs next = 0;
    for (const auto& [name, job] : laid_) {
      if (job.ends != 0 && (next == 0 || job.ends < next)) next = job.ends;
    }
    return next;
  }

  void EndAll() {
    std::vector<std::string> ended;
    for (const auto& [name, job] : laid_) {
      if (job.ends != 0 && job.ends <= now_) ended.push_back(name);
    }
    for (const std::string& name : ended) Remove(name);
  }

  static std::string PodOf(const std::string& job, std::int32_t index) {
    return job + "-" + std::to_string(index);
  }

  void Follow(const NamedPlan& plan) {
    for (const NamedDecision& one : plan.decisions) {
      ++deeds_;
      evicted_ += one.evictions.size();
      for (const std::string& pod : one.evictions) {
        laid_[pod.substr(0, pod.find('-'))].ends = 0;
        Tell(TaskRemoved{pod});
      }
      if (one.verdict != Verdict::kStart) continue;
      for (const NamedPlacement& placement : one.placements) {
        TaskFact task;
        task.uid = PodOf(one.job, placement.index);
        task.job = one.job;
        task.role = placement.role;
        task.index = placement.index;
        task.phase = TaskPhase::kRunning;
        task.node = placement.node;
        task.slices = placement.slices;
        Tell(TaskUpserted{task, ++version_});
      }
      laid_[one.job].ends = now_ + laid_[one.job].run;
    }
  }

  Dice dice_;
  int queues_;
  bool many_shapes_, evicts_, protects_ = false;
  Asker thrifty_, thorough_;
  TimeMs now_ = 1000;
  std::uint64_t version_ = 0;
  int jobs_ = 0, priorities_ = 1;
  std::vector<Shape> shapes_;
  std::map<std::string, Laid> laid_;
  std::size_t deeds_ = 0, evicted_ = 0;
};

TEST_CASE("Jobs of one queue: what is not asked would not have been answered otherwise") {
  std::size_t saved = 0, deeds = 0;
  ForEachSeed(500, [&](std::uint64_t seed) {
    History history(seed, 1);
    history.Run(120);
    saved += history.saved();
    deeds += history.deeds();
  });
  if (AllSeeds()) REQUIRE(saved > 100000);
  REQUIRE(deeds > 0);
}

TEST_CASE("Jobs of many shapes: lines that a sweep closes would not have started a job") {
  std::size_t saved = 0, deeds = 0;
  ForEachSeed(200, [&](std::uint64_t seed) {
    History history(seed, 1, true);
    history.Run(150);
    saved += history.saved();
    deeds += history.deeds();
  });
  if (AllSeeds()) REQUIRE(saved > 100000);
  REQUIRE(deeds > 0);
}

TEST_CASE("Evictions: a search for victims that was skipped would have found none") {
  std::size_t evicted = 0;
  ForEachSeed(300, [&](std::uint64_t seed) {
    History history(seed, Dice(seed).From(1, 4), Dice(seed + 1).Percent(30), Asks::kLinesChecked);
    history.Run(120);
    evicted += history.evicted();
  });
  REQUIRE(evicted > 0);
  WARN(evicted << " tasks were evicted");
}

}  // namespace
}  // namespace tephra
