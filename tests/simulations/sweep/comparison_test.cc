#include "simulations/sweep/comparison.h"

#include <cmath>
#include <sstream>

#include <catch2/catch.hpp>

namespace tephra {
namespace {

// Two policies, two metrics.
Sweep Two(std::size_t seeds) {
  Sweep sweep;
  sweep.simulation = "base.yaml";
  sweep.policies = {{"fifo", nullptr}, {"easy", nullptr}};
  sweep.loads = {1000};
  for (std::size_t s = 0; s < seeds; ++s) sweep.seeds.push_back(s + 1);
  sweep.metrics = {Metrics()[0], Metrics()[1]};
  return sweep;
}

using Runs = std::vector<std::optional<SweepOutcome::Figures>>;

TEST_CASE("Comparison: a difference that seeds hide shows when they are paired") {
  const Sweep sweep = Two(4);
  // Seeds differ by thousands, the policies by about ten.
  Runs runs;
  const double difference[] = {9, 10, 11, 10};
  for (int seed = 0; seed < 4; ++seed) {
    runs.push_back({{1000.0 * seed, std::nullopt}});
    runs.push_back({{1000.0 * seed - difference[seed], std::nullopt}});
  }
  const std::vector<ComparisonRow> rows = Compare(sweep, runs);
  REQUIRE(rows.size() == 2);  // no run has the second metric
  CHECK(rows[0].policy == 0);
  CHECK_FALSE(rows[0].difference);
  CHECK(rows[1].value->mean == Approx(1490));
  CHECK(*rows[1].value->half_width > 1000);
  CHECK(rows[1].difference->mean == Approx(-10));
  // 3.182 at 3 degrees of freedom; squares 1 + 0 + 1 + 0.
  CHECK(*rows[1].difference->half_width == Approx(3.182 * std::sqrt(2.0 / 3) / 2).epsilon(1e-3));
  CHECK(rows[1].difference->Excludes(0));
  std::ostringstream text;
  PrintComparison(sweep, rows, text);
  CHECK(text.str().find("-10.0  ± 1.3  *\n") != std::string::npos);
}

TEST_CASE("Comparison: seeds that one side lacks are left out of the difference alone") {
  const Sweep sweep = Two(3);
  const Runs runs = {{{1, 1}}, {{4, 1}}, std::nullopt, {{100, 1}}, {{3, 1}}, {{8, 1}}};
  const std::vector<ComparisonRow> rows = Compare(sweep, runs);
  REQUIRE(rows.size() == 4);
  CHECK(rows[0].value->samples == 2);
  CHECK(rows[1].value->samples == 3);
  CHECK(rows[1].difference->samples == 2);
  CHECK(rows[1].difference->mean == Approx(4));
  CHECK_FALSE(rows[0].by_seed[1]);
}

TEST_CASE("Comparison: with one seed it says that nothing is known of chance") {
  const Sweep sweep = Two(1);
  const std::vector<ComparisonRow> rows = Compare(sweep, {{{1, 2}}, {{3, 4}}});
  std::ostringstream text;
  PrintComparison(sweep, rows, text);
  CHECK(text.str().find("one seed") != std::string::npos);
  CHECK(text.str().find("±") == std::string::npos);
  CHECK(ComparisonCsv(sweep, rows).find("\n1,mean_wait_s,easy,1,3.0,,2.0,\n") != std::string::npos);
  CHECK(ComparisonJson(sweep, rows).find("\"half_width_95\": null") != std::string::npos);
}

}  // namespace
}  // namespace tephra
