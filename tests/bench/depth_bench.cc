// What an event costs in a full cluster, by the size of the cluster and of the queue.
//
//   depth_bench NODES PENDING QUEUES SHAPES RUNNING EVENTS
//
// Nodes have 8 GPUs. Pending jobs wait for GPUs, have exact estimates and are spread over the
// queues, three levels deep. RUNNING tasks without a GPU run beside the tasks with GPUs. Half of
// the events are new jobs, the others ends of jobs. Each event is timed with its Tick.
// Prints one JSON object.
#include <sys/resource.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iostream>
#include <map>
#include <string_view>

#include <nlohmann/json.hpp>

#include "tests/bench/cases.h"
#include "tests/support/dice.h"

namespace tephra::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr DurationMs kMinuteMs = 60 * kSecondMs;
constexpr int kGpusPerNode = 8;

struct Sizes {
  int nodes, pending, queues, shapes, running, events;
};

double MsSince(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

class Site {
 public:
  explicit Site(const Sizes& sizes) : sizes_(sizes), engine_(DefaultAssembly()) {
    EngineConfig config;
    config.disabled_actions = {"preempt", "reclaim"};
    Must(engine_.Apply(ConfigChanged{std::move(config)}));
    AddQueues();
    Node node;
    node.pods = 110 + sizes.running / sizes.nodes + 1;
    node.cpu += 10 * (sizes.running / sizes.nodes + 1);
    for (int i = 0; i < sizes.nodes; ++i) Must(engine_.Apply(NodeEvent(i, node)));
    AddTasksWithoutGpus();
  }

  // Jobs come until the cluster is full and as many wait as asked for.
  void Fill() {
    while (waiting() < static_cast<std::size_t>(sizes_.pending)) {
      const std::size_t missing = static_cast<std::size_t>(sizes_.pending) - waiting();
      for (std::size_t i = 0; i < missing; ++i) Must(engine_.Apply(NewJob()));
      CarryOut(engine_.Tick(now_));
      engine_.Tick(now_);
    }
  }
  // Returns the milliseconds of a new job and of an end, each with its Tick.
  std::pair<double, double> Step() {
    now_ = std::max(now_, ends_.begin()->first);
    const std::vector<Event> end = NextEnd();
    const double ended = Timed(end);
    return {Timed({NewJob()}), ended};
  }
  std::size_t waiting() const { return engine_.state().books().waiting.size(); }
  std::size_t started() const { return started_; }

 private:
  void AddQueues() {
    // A tenth of the queues are parents, a tenth of those are roots.
    const int parents = std::max(1, sizes_.queues / 10), roots = std::max(1, parents / 10);
    const auto add = [this](const std::string& name, const std::string& parent) {
      QueueUpserted event{{}, 1};
      event.queue.name = name;
      event.queue.parent = parent;
      Must(engine_.Apply(event));
    };
    add("none", "");
    for (int i = 0; i < roots; ++i) add("root-" + std::to_string(i), "");
    for (int i = 0; i < parents; ++i) {
      add("parent-" + std::to_string(i), "root-" + std::to_string(i % roots));
    }
    for (int i = 0; i < sizes_.queues; ++i) {
      queues_.push_back("queue-" + std::to_string(i));
      add(queues_.back(), "parent-" + std::to_string(i % parents));
    }
  }
  void AddTasksWithoutGpus() {
    constexpr int kGang = 1000;
    for (int i = 0; i < sizes_.running; i += kGang) {
      Pod pod{10, std::int64_t{1} << 20, 0};
      Must(engine_.Apply(JobOf("none", "old-" + std::to_string(i),
                               std::min(kGang, sizes_.running - i), pod)));
    }
    Confirm(engine_, engine_.Tick(now_));
    TEPHRA_CHECK_OP(waiting(), ==, 0u);
  }
  // Shapes differ in processors and, with every fourth, in the number of nodes.
  JobUpserted NewJob() {
    static constexpr int kGpus[] = {1, 1, 2, 4, 8};
    const int shape = dice_.Below(sizes_.shapes);
    const Pod pod{1000 + shape / 5, std::int64_t{4} << 30, kGpus[shape % 5]};
    const int members = shape % 20 == 4 ? 4 : 1;
    JobUpserted event = JobOf(dice_.Pick(queues_), "job-" + std::to_string(++jobs_), members, pod);
    event.job.created = now_;
    event.job.estimated_runtime_ms = dice_.From(10, 480) * kMinuteMs;
    return event;
  }
  std::vector<Event> NextEnd() {
    const auto [uid, tasks] = ends_.begin()->second;
    ends_.erase(ends_.begin());
    std::vector<Event> events;
    for (int task = 0; task < tasks; ++task) {
      events.push_back(TaskRemoved{uid + "/" + std::to_string(task)});
    }
    events.push_back(JobRemoved{uid});
    return events;
  }
  double Timed(const std::vector<Event>& events) {
    const auto began = Clock::now();
    for (const Event& event : events) Must(engine_.Apply(event));
    const Plan plan = engine_.Tick(now_);
    const double took = MsSince(began);
    CarryOut(plan);
    return took;
  }
  void CarryOut(const Plan& plan) {
    for (const Decision& decision : plan.decisions) {
      if (decision.verdict != Verdict::kStart) continue;
      const JobRow& job = engine_.state().books().jobs[decision.job.index()];
      ends_.emplace(now_ + job.estimated_runtime_ms,
                    std::pair(job.uid, static_cast<int>(decision.placements.size())));
      ++started_;
    }
    Confirm(engine_, plan);
  }

  Sizes sizes_;
  Engine engine_;
  Dice dice_{1};
  TimeMs now_ = 0;
  int jobs_ = 0;
  std::size_t started_ = 0;
  std::vector<std::string> queues_;
  std::multimap<TimeMs, std::pair<std::string, int>> ends_;
};

nlohmann::json Figures(std::vector<double> ms) {
  std::sort(ms.begin(), ms.end());
  return {{"median", ms[ms.size() / 2]}, {"p99", ms[ms.size() * 99 / 100]}, {"worst", ms.back()}};
}

nlohmann::json Run(const Sizes& sizes) {
  const auto began = Clock::now();
  Site site(sizes);
  const double cluster_ms = MsSince(began);
  site.Fill();
  const double fill_ms = MsSince(began) - cluster_ms;
  std::vector<double> all, arrivals, ends;
  for (int i = 0; i < sizes.events / 2; ++i) {
    const auto [arrival, end] = site.Step();
    arrivals.push_back(arrival);
    ends.push_back(end);
  }
  all = arrivals;
  all.insert(all.end(), ends.begin(), ends.end());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return {{"cluster_s", cluster_ms / 1000}, {"fill_s", fill_ms / 1000},
          {"event_ms", Figures(std::move(all))}, {"arrival_ms", Figures(std::move(arrivals))},
          {"end_ms", Figures(std::move(ends))},  {"waiting", site.waiting()},
          {"started", site.started()},           {"memory_mb", usage.ru_maxrss / 1024}};
}

}  // namespace
}  // namespace tephra::bench

int main(int argc, char** argv) {
  constexpr int kLeast[] = {1, 0, 1, 1, 0, 2};
  int sizes[6];
  bool valid = argc == 7;
  for (int i = 0; valid && i < 6; ++i) {
    const std::string_view word = argv[i + 1];
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), sizes[i]);
    valid = error == std::errc() && end == word.data() + word.size() && sizes[i] >= kLeast[i] &&
            sizes[i] <= 10'000'000;
  }
  if (!valid) {
    std::cerr << "usage: depth_bench NODES PENDING QUEUES SHAPES RUNNING EVENTS\n"
                 "Each is a number, at least 1, 0, 1, 1, 0 and 2, at most 10000000.\n";
    return 2;
  }
  std::cout << tephra::bench::Run({sizes[0], sizes[1], sizes[2], sizes[3], sizes[4], sizes[5]})
            << "\n";
  return 0;
}
