#include "simulations/sweep/interval.h"

#include <cmath>

#include <catch2/catch.hpp>

namespace tephra {
namespace {

TEST_CASE(
    "Interval: its half width is Student's t of a printed table times the error of the mean") {
  // Quantiles 0.975 at 1, 4 and 29 degrees of freedom.
  const auto two = IntervalOf({1, 3});
  REQUIRE(two);
  CHECK(two->mean == Approx(2));
  CHECK(*two->half_width == Approx(12.706 * std::sqrt(2.0) / std::sqrt(2.0)).epsilon(1e-4));
  const auto five = IntervalOf({1, 2, 3, 4, 5});
  CHECK(*five->half_width == Approx(2.776 * std::sqrt(2.5) / std::sqrt(5.0)).epsilon(1e-3));
  std::vector<double> thirty;
  for (int i = 0; i < 30; ++i) thirty.push_back(i % 2);
  CHECK(*IntervalOf(thirty)->half_width ==
        Approx(2.045 * std::sqrt(7.5 / 29) / std::sqrt(30.0)).epsilon(1e-3));
}

TEST_CASE("Interval: one sample has no width and excludes nothing, none at all is no interval") {
  const auto one = IntervalOf({7});
  REQUIRE(one);
  CHECK(one->mean == 7);
  CHECK_FALSE(one->half_width);
  CHECK_FALSE(one->Excludes(0));
  CHECK_FALSE(IntervalOf({}));
}

TEST_CASE("Interval: equal samples are certain") {
  const auto same = IntervalOf({-2, -2, -2});
  CHECK(*same->half_width == 0);
  CHECK(same->Excludes(0));
  CHECK_FALSE(same->Excludes(-2));
  CHECK_FALSE(IntervalOf({-1, 1})->Excludes(0));
}

}  // namespace
}  // namespace tephra
