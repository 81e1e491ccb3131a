#include "simulations/sweep/metrics.h"

namespace tephra {
namespace {

using Json = nlohmann::ordered_json;
using Figure = std::optional<double>;

// A statistic of wait_s, jct_s or bounded_slowdown, over the jobs.
Figure StatisticOf(const Json& group, const char* amount, const char* statistic) {
  const Json& amounts = group.at(amount);
  if (amounts.at("jobs").get<std::int64_t>() == 0) return std::nullopt;
  return amounts.at(statistic).get<double>();
}

Figure OfLarge(const Json& summary, const char* statistic) {
  const auto large = summary.find("large_gangs");
  return large == summary.end() ? Figure() : StatisticOf(*large, "wait_s", statistic);
}

// None if the resource was never used.
Figure Held(const Json& summary, const char* kind) {
  for (const Json& resource : summary.at("resources")) {
    if (resource.at("name") != kind || resource.at("peak") == 0) continue;
    return resource.at("mean_percent_while_jobs_come").get<double>();
  }
  return std::nullopt;
}

// 0 means no values.
Figure Jain(const Json& summary, const char* index) {
  const auto of = summary.at("fairness").at(index).get<double>();
  return of > 0 ? Figure(of) : std::nullopt;
}

Figure Unfinished(const Json& summary) {
  const Json& jobs = summary.at("jobs_by_state");
  return jobs.at("arrived").get<double>() - jobs.at("finished").get<double>();
}

}  // namespace

const std::vector<Metric>& Metrics() {
  static const std::vector<Metric> kMetrics = {
      {"mean_wait_s", "mean wait, s", 1,
       [](const Json& s) { return StatisticOf(s.at("all"), "wait_s", "mean"); }},
      {"p95_wait_s", "95th percentile of wait, s", 1,
       [](const Json& s) { return StatisticOf(s.at("all"), "wait_s", "p95"); }},
      {"large_mean_wait_s", "mean wait of large gangs, s", 1,
       [](const Json& s) { return OfLarge(s, "mean"); }},
      {"large_p95_wait_s", "95th percentile of wait of large gangs, s", 1,
       [](const Json& s) { return OfLarge(s, "p95"); }},
      {"mean_jct_s", "mean completion time, s", 1,
       [](const Json& s) { return StatisticOf(s.at("all"), "jct_s", "mean"); }},
      {"mean_bounded_slowdown", "mean bounded slowdown", 2,
       [](const Json& s) { return StatisticOf(s.at("all"), "bounded_slowdown", "mean"); }},
      {"gpus_used_percent", "GPU use until the last submission, %", 2,
       [](const Json& s) { return Held(s, "gpu"); }},
      {"cpus_used_percent", "CPU use until the last submission, %", 2,
       [](const Json& s) { return Held(s, "cpu"); }},
      {"jain_queues", "fairness between queues (Jain)", 4,
       [](const Json& s) { return Jain(s, "jain_queues"); }},
      {"jain_users", "fairness between users (Jain)", 4,
       [](const Json& s) { return Jain(s, "jain_users"); }},
      {"evictions", "evictions", 1,
       [](const Json& s) { return Figure(s.at("all").at("evictions").get<double>()); }},
      {"lost_gpu_hours", "lost work, GPU hours", 1,
       [](const Json& s) { return Figure(s.at("all").at("lost_gpu_hours").get<double>()); }},
      {"unfinished", "unfinished jobs", 1, Unfinished},
  };
  return kMetrics;
}

std::vector<Metric> MetricsOfQueue(const std::string& queue) {
  const auto wait = [queue](const char* statistic) {
    return [queue, statistic](const Json& summary) -> Figure {
      const Json& queues = summary.at("by_queue");
      const auto found = queues.find(queue);
      return found == queues.end() ? Figure() : StatisticOf(*found, "wait_s", statistic);
    };
  };
  return {{"mean_wait_s:" + queue, "mean wait in " + queue + ", s", 1, wait("mean")},
          {"p95_wait_s:" + queue, "95th percentile of wait in " + queue + ", s", 1, wait("p95")}};
}

}  // namespace tephra
