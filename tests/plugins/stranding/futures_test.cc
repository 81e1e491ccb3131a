// The recurrence, worked by hand; the end has a chance of 1/200 against a draw, with two
// idle devices of 1/400.
#include "plugins/stranding/futures.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

constexpr double kEnd = 1.0 / 200, kEndOfTwo = kEnd / 2;

Approx About(double value) { return Approx(value).margin(1e-5); }

double Left(const Futures& futures, std::int64_t idle, std::int32_t percent, double cpu) {
  return -futures.Worth(idle, percent, cpu);  // without weights there is no room
}

TEST_CASE("Futures: without expected pods, all idle compute is left") {
  const Futures futures({});
  CHECK(Left(futures, 2, 50, 8000) == About(2.5));
  CHECK(Left(futures, 0, 0, 8000) == 0);
  CHECK(Left(futures, 20, 0, 0) == About(20));
}

TEST_CASE("Futures: what CPU is missing for is left") {
  const Futures futures({{{4000, 1, 0}, 1, 0}});
  CHECK(Left(futures, 1, 0, 3000) == About(1));
  const double one = kEnd / (kEnd + 1);  // the pod comes before the end, or does not
  CHECK(Left(futures, 1, 0, 4000) == About(one));
  CHECK(Left(futures, 2, 0, 4000) == About((2 * kEndOfTwo + 1) / (kEndOfTwo + 1)));  // 402/401
  CHECK(Left(futures, 2, 0, 8000) == About((2 * kEndOfTwo + one) / (kEndOfTwo + 1)));
  CHECK(Left(futures, 2, 0, 12000) == About(Left(futures, 2, 0, 8000)));
  // Linear between whole cores.
  CHECK(Left(futures, 1, 0, 3500) == About((1 + one) / 2));
}

TEST_CASE("Futures: a share goes to the begun device while it fits, then begins an idle one") {
  const Futures futures({{{0, 0, 40}, 1, 0}});
  const double fifty = (kEnd * 0.5 + 0.1) / (kEnd + 1);
  CHECK(Left(futures, 0, 10, 0) == About(0.1));
  CHECK(Left(futures, 0, 50, 0) == About(fifty));
  CHECK(Left(futures, 0, 90, 0) == About((kEnd * 0.9 + fifty) / (kEnd + 1)));
  // 10 % fit no pod, so the pod takes from the idle device, which then has 60 %.
  const double sixty = (kEnd * 0.6 + 0.2) / (kEnd + 1);
  CHECK(Left(futures, 1, 10, 0) == About((kEnd * 1.1 + sixty + 0.1) / (kEnd + 1)));
}

TEST_CASE("Futures: a pod with several devices needs them idle together") {
  const Futures futures({{{0, 2, 0}, 0.5, 0}, {{0, 1, 0}, 0.5, 0}});
  const double one = kEnd / (kEnd + 0.5);
  CHECK(Left(futures, 1, 0, 0) == About(one));
  CHECK(Left(futures, 2, 0, 0) == About((2 * kEndOfTwo + 0.5 * one) / (kEndOfTwo + 1)));
}

TEST_CASE("Futures: rarer pods leave more") {
  const Futures often({{{1000, 1, 0}, 1, 0}}), seldom({{{1000, 1, 0}, 0.01, 0}});
  CHECK(Left(often, 4, 0, 64000) < Left(seldom, 4, 0, 64000));
}

TEST_CASE("Futures: more than 8 idle devices are groups with their part of the CPU") {
  const Futures futures({{{4000, 1, 0}, 0.7, 0}, {{9000, 0, 30}, 0.3, 0}});
  CHECK(Left(futures, 16, 0, 96000) == About(2 * Left(futures, 8, 0, 48000)));
  CHECK(Left(futures, 10, 30, 50000) ==
        About(Left(futures, 8, 0, 40000) + Left(futures, 2, 30, 10000)));
}

TEST_CASE("Futures: CPU that over-commitment made negative counts as none") {
  const Futures futures({{{0, 1, 0}, 0.5, 0}, {{1000, 1, 0}, 0.5, 0}});
  CHECK(Left(futures, 3, 20, -5000) == Left(futures, 3, 20, 0));
}

TEST_CASE("Futures: room is for as many equal pods as devices and CPU allow") {
  const Futures whole({{{4000, 2, 0}, 0, 0.5}});
  CHECK(whole.Worth(5, 0, 64000) == About(0.5 * 4 - 5));
  CHECK(whole.Worth(5, 0, 4000) == About(0.5 * 2 - 5));
  CHECK(whole.Worth(1, 0, 64000) == About(-1));
  const Futures share({{{1000, 0, 40}, 0, 1}});
  CHECK(share.Worth(2, 50, 64000) == About(5 * 0.4 - 2.5));
  CHECK(share.Worth(2, 50, 3000) == About(3 * 0.4 - 2.5));
}

}  // namespace
}  // namespace tephra
