#include "simulations/traces/job_model.h"

#include <bit>
#include <cmath>

#include <catch2/catch.hpp>

namespace tephra {
namespace {

std::vector<TraceJob> All(const JobModel& model) {
  ModelJobs jobs(model);
  std::vector<TraceJob> all;
  TraceJob job;
  while (jobs.Next(job)) all.push_back(job);
  return all;
}

TEST_CASE("JobModel: times, bursts, sizes and run times have the configured means") {
  JobModel model;
  model.seed = 5;
  model.jobs = 40'000;
  model.every = 60 * kSecondMs;
  model.burst = 4;
  model.sizes = {{1, 3}, {8, 1}};
  model.mean_run = 600 * kSecondMs;
  model.queues = {"a", "b"};
  const std::vector<TraceJob> jobs = All(model);
  REQUIRE(jobs.size() == 40'000);
  double run = 0, large = 0, of_a = 0, times = 1;
  bool sorted = true;
  for (std::size_t j = 0; j < jobs.size(); ++j) {
    run += static_cast<double>(jobs[j].run);
    large += jobs[j].tasks == 8;
    of_a += jobs[j].queue == "a";
    if (j == 0) continue;
    sorted = sorted && jobs[j].submit >= jobs[j - 1].submit;
    times += jobs[j].submit > jobs[j - 1].submit;
  }
  const auto count = static_cast<double>(jobs.size());
  CHECK(sorted);
  CHECK(run / count == Approx(600'000).epsilon(0.03));
  CHECK(large / count == Approx(0.25).epsilon(0.05));
  CHECK(of_a / count == Approx(0.5).epsilon(0.05));
  CHECK(count / times == Approx(4).epsilon(0.05));
  CHECK(static_cast<double>(jobs.back().submit) / times == Approx(60'000).epsilon(0.05));
  const std::vector<TraceJob> again = All(model);
  CHECK(again.back().submit == jobs.back().submit);
  model.seed = 6;
  CHECK(All(model).back().submit != jobs.back().submit);
}

TEST_CASE(
    "JobModel: sizes as Lublin and Feitelson are serial, powers of two, and fit the machine") {
  JobModel model;
  model.jobs = 40'000;
  model.every = kSecondMs;
  model.largest = 200;
  double serial = 0, power = 0, log_run = 0;
  for (const TraceJob& job : All(model)) {
    REQUIRE((job.tasks >= 1 && job.tasks <= 200));
    serial += job.tasks == 1;
    power += std::has_single_bit(static_cast<std::uint64_t>(job.tasks));
    log_run += std::log(static_cast<double>(job.run) / 1000);
  }
  CHECK(serial / 40'000 > 0.244 - 0.01);
  CHECK(serial / 40'000 < 0.35);
  CHECK(power / 40'000 > 0.244 + 0.576 - 0.01);
  // Between the means of its two gammas, 3.95 and 9.36, nearer the first.
  CHECK(log_run / 40'000 > 4.5);
  CHECK(log_run / 40'000 < 6.5);
}

}  // namespace
}  // namespace tephra
