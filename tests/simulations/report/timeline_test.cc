#include "simulations/report/timeline.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

TEST_CASE("TimeSeries: however long it is, its steps are few and their means add up") {
  TimeSeries timeline;
  double sum = 0;
  TimeMs now = 0;
  for (int i = 0; i < 5000; ++i) {
    const TimeMs next = now + 137 + 7919 * (i % 11);
    const double used = 1000 * (i % 8);
    if (timeline.WantsSample(now)) timeline.Sample(now, 250, {{0, 0, 4000, 2000}});
    timeline.Add(now, next, {8000, used, 0, 3, 1}, {{used / 2, 500, 0, 0}});
    sum += used * static_cast<double>(next - now);
    now = next;
  }
  const std::vector<TimeSeries::Row> rows = timeline.Rows();
  CHECK(rows.size() > TimeSeries::kMostSteps / 2 - 1);
  CHECK(rows.size() <= TimeSeries::kMostSteps);
  double seen = 0, of_queue = 0;
  TimeMs lived = 0;
  for (const TimeSeries::Row& row : rows) {
    CHECK(row.begin == lived);
    lived += row.span;
    seen += row.cluster.used * static_cast<double>(row.span);
    of_queue += row.queues[0].used * static_cast<double>(row.span);
    CHECK(row.cluster.gpus == Approx(8000));
    CHECK(row.cluster.fragments == Approx(250));
    CHECK(row.queues[0].share == Approx(4000));
    CHECK(row.queues[0].asked == Approx(500));
  }
  CHECK(lived == now);
  CHECK(seen == Approx(sum));
  CHECK(of_queue == Approx(sum / 2));
}

TEST_CASE("TimeSeries: what was sampled last holds in steps in which nothing happens") {
  TimeSeries timeline;
  timeline.Sample(0, 250, {{0, 0, 4000, 2000}});
  timeline.Add(0, 3 * kSecondMs, {8000, 1000, 0, 1, 0}, {{1000, 0, 0, 0}});
  timeline.Sample(3 * kSecondMs, 500, {{0, 0, 6000, 2000}});
  timeline.Add(3 * kSecondMs, 4 * kSecondMs, {8000, 0, 0, 0, 0}, {{0, 0, 0, 0}});
  const std::vector<TimeSeries::Row> rows = timeline.Rows();
  REQUIRE(rows.size() == 4);
  for (const std::size_t i : {0, 1, 2}) {
    CHECK(rows[i].cluster.fragments == 250);
    CHECK(rows[i].queues[0].share == 4000);
    CHECK(rows[i].queues[0].deserved == 2000);
  }
  CHECK(rows[3].cluster.fragments == 500);
  CHECK(rows[3].queues[0].share == 6000);
}

TEST_CASE("TimeSeries: a step that is lived through in part counts for that part") {
  TimeSeries timeline;
  timeline.Sample(0, 0, {});
  timeline.Add(0, 500, {1000, 1000, 0, 0, 0}, {});
  timeline.Add(500, 1250, {1000, 0, 0, 0, 0}, {});
  CHECK(TimelineCsv(timeline.Rows()) ==
        "time_s,span_s,gpus,gpus_used,gpus_fragmented,jobs_running,jobs_pending\n"
        "0.000,1.000,1.000,0.500,0.000,0.000,0.000\n"
        "1.000,0.250,1.000,0.000,0.000,0.000,0.000\n");
}

}  // namespace
}  // namespace tephra
