#include "simulations/report/curve.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

TEST_CASE("Curve: a percent holds the mean of the points whose arrived share rounds to it") {
  Curve curve;
  curve.Add(10, 10, 0, 1000);  // 1.0 % arrived and allocated
  curve.Add(14, 12, 0, 1000);  // 1.4 % and 1.2 %
  const auto bin = curve.At(1);
  REQUIRE(bin.has_value());
  CHECK(bin->points == 2);
  CHECK(bin->allocated == Approx(1.1));
  CHECK_FALSE(curve.At(2).has_value());
}

TEST_CASE("Curve: a half rounds to the even percent, as the published analysis does") {
  Curve curve;
  curve.Add(15, 0, 0, 1000);
  curve.Add(25, 0, 0, 1000);
  CHECK(curve.At(2)->points == 2);
  CHECK_FALSE(curve.At(1).has_value());
  CHECK_FALSE(curve.At(3).has_value());
}

TEST_CASE("Curve: allocation is rounded to two decimals before the mean is taken") {
  Curve curve;
  curve.Add(0, 1, 0, 30000);  // 0.00333... %
  CHECK(curve.At(0)->allocated == 0.0);
}

TEST_CASE("Curve: fragments are given of all GPUs and of the idle ones") {
  Curve curve;
  curve.Add(500, 600, 100'000, 1000);
  CHECK(curve.At(50)->fragment == Approx(10));
  CHECK(curve.At(50)->fragment_of_idle == Approx(25));
}

TEST_CASE("Curve: beyond 130 percent, and without GPUs, there are no points") {
  Curve curve;
  curve.Add(1400, 0, 0, 1000);
  curve.Add(0, 0, 0, 0);
  for (int p = 0; p < Curve::kPercents; ++p) CHECK_FALSE(curve.At(p).has_value());
}

}  // namespace
}  // namespace tephra
