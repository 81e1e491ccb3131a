#include "simulations/failures.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

TEST_CASE("Failures: equal seeds give equal times, with the given mean") {
  const FailureRates rates{7, 100 * kSecondMs, 10 * kSecondMs, 50 * kSecondMs};
  Failures one(rates), other(rates);
  one.Follow("a", 0);
  other.Follow("a", 0);
  one.Follow("a", 5);  // known already
  TimeMs up = 0, down = 0, last = 0;
  constexpr int kTimes = 4000;
  for (int i = 0; i < 2 * kTimes; ++i) {
    const Failures::Change change = one.Pop();
    CHECK(change.at == other.Pop().at);
    CHECK(change.fails == (i % 2 == 0));
    CHECK(one.repairs() == change.fails);
    (change.fails ? up : down) += change.at - last;
    last = change.at;
  }
  CHECK(std::abs(up / kTimes - 100'000) < 5000);
  CHECK(std::abs(down / kTimes - 10'000) < 500);
  CHECK(one.TaskFailsAfter() == other.TaskFailsAfter());
}

TEST_CASE("Failures: without means nothing fails") {
  Failures none({});
  none.Follow("a", 0);
  CHECK_FALSE(none.Next().has_value());
  CHECK_FALSE(none.TaskFailsAfter().has_value());
}

}  // namespace
}  // namespace tephra
