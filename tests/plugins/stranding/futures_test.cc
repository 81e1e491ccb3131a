// The recurrence, worked by hand; the end has a chance of 1/60 against a draw.
#include "plugins/stranding/futures.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

constexpr double kEnd = 1.0 / 60;

Approx About(double value) { return Approx(value).margin(1e-6); }

TEST_CASE("Futures: without expected pods, all idle compute is left") {
  const Futures futures({});
  CHECK(futures.Left(2, 50, 8000) == About(2.5));
  CHECK(futures.Left(0, 0, 8000) == 0);
  CHECK(futures.Left(20, 0, 0) == About(20));
}

TEST_CASE("Futures: what CPU is missing for is left") {
  const Futures futures({{4000, 1, 0, 1}});
  CHECK(futures.Left(1, 0, 3500) == About(1));
  const double one = kEnd / (kEnd + 1);  // the pod comes before the end, or does not
  CHECK(futures.Left(1, 0, 4000) == About(one));
  CHECK(futures.Left(2, 0, 4000) == About((2 * kEnd + 1) / (kEnd + 1)));  // 62/61
  CHECK(futures.Left(2, 0, 8000) == About((2 * kEnd + one) / (kEnd + 1)));
  CHECK(futures.Left(2, 0, 12000) == About(futures.Left(2, 0, 8000)));
}

TEST_CASE("Futures: a share goes to the begun device while it fits, then begins an idle one") {
  const Futures futures({{0, 0, 40, 1}});
  const double fifty = (kEnd * 0.5 + 0.1) / (kEnd + 1);
  CHECK(futures.Left(0, 10, 0) == About(0.1));
  CHECK(futures.Left(0, 50, 0) == About(fifty));
  CHECK(futures.Left(0, 90, 0) == About((kEnd * 0.9 + fifty) / (kEnd + 1)));
  // 10 % fit no pod, so the pod takes from the idle device, which then has 60 %.
  const double sixty = (kEnd * 0.6 + 0.2) / (kEnd + 1);
  CHECK(futures.Left(1, 10, 0) == About((kEnd * 1.1 + sixty + 0.1) / (kEnd + 1)));
}

TEST_CASE("Futures: a pod with several devices needs them idle together") {
  const Futures futures({{0, 2, 0, 0.5}, {0, 1, 0, 0.5}});
  const double one = kEnd / (kEnd + 0.5);
  CHECK(futures.Left(1, 0, 0) == About(one));
  CHECK(futures.Left(2, 0, 0) == About((2 * kEnd + 0.5 * one) / (kEnd + 1)));
}

TEST_CASE("Futures: rarer pods leave more") {
  const Futures often({{1000, 1, 0, 1}}), seldom({{1000, 1, 0, 0.01}});
  CHECK(often.Left(4, 0, 64000) < seldom.Left(4, 0, 64000));
}

TEST_CASE("Futures: more than 8 idle devices are groups with their part of the CPU") {
  const Futures futures({{4000, 1, 0, 0.7}, {9000, 0, 30, 0.3}});
  CHECK(futures.Left(16, 0, 96000) == About(2 * futures.Left(8, 0, 48000)));
  CHECK(futures.Left(10, 30, 50000) ==
        About(futures.Left(8, 0, 40000) + futures.Left(2, 30, 10000)));
}

TEST_CASE("Futures: CPU that over-commitment made negative counts as none") {
  const Futures futures({{0, 1, 0, 0.5}, {1000, 1, 0, 0.5}});
  CHECK(futures.Left(3, 20, -5000) == futures.Left(3, 20, 0));
}

}  // namespace
}  // namespace tephra
