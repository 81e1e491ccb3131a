#include "base/quantity.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

TEST_CASE("ParseQuantity: Kubernetes' suffixes, rounded up to the unit asked for") {
  CHECK(ParseQuantity("2", 1000) == 2000);
  CHECK(ParseQuantity("500m", 1000) == 500);
  CHECK(ParseQuantity("0.5", 1000) == 500);
  CHECK(ParseQuantity("1.5Gi", 1) == 1'610'612'736);
  CHECK(ParseQuantity("64Gi", 1) == 64LL << 30);
  CHECK(ParseQuantity("1k", 1) == 1000);
  CHECK(ParseQuantity("2e3", 1) == 2000);
  CHECK(ParseQuantity("1E", 1000) == std::nullopt);  // more than kMostQuantity
  CHECK(ParseQuantity("100u", 1000) == 1);
  CHECK(ParseQuantity("0", 1) == 0);
  CHECK(ParseQuantity("+3", 1) == 3);
}

TEST_CASE("ParseQuantity: what is negative, empty, unknown or too large is no quantity") {
  for (const char* text : {"", "-1", "-0", "1.2.3", "Gi", ".", "1gi", "1 Gi", "0x10", "NaN", "1e99",
                           "9999999999999999999", "8Ei", "1m1", "++1", "1e", "1Kii"}) {
    CAPTURE(text);
    CHECK(ParseQuantity(text, 1) == std::nullopt);
  }
}

TEST_CASE("ParseDuration: units add up") {
  CHECK(ParseDuration("0") == 0);
  CHECK(ParseDuration("0s") == 0);
  CHECK(ParseDuration("250ms") == 250);
  CHECK(ParseDuration("30s") == 30'000);
  CHECK(ParseDuration("1h30m") == 5'400'000);
  CHECK(ParseDuration("1.5h") == 5'400'000);
  CHECK(ParseDuration("2d") == 172'800'000);
  for (const char* text : {"", "30", "-5s", "s", "1y", "1h-3m", "1h 3m", "99999999d", "1e3s"}) {
    CAPTURE(text);
    CHECK(ParseDuration(text) == std::nullopt);
  }
}

TEST_CASE("ParseWhole: a sign and digits, nothing else") {
  CHECK(ParseWhole("-12") == -12);
  CHECK(ParseWhole("+12") == 12);
  for (const char* text : {"", "+-1", "1.0", " 1", "1 ", "9223372036854775808", "0x1"}) {
    CAPTURE(text);
    CHECK(ParseWhole(text) == std::nullopt);
  }
}

}  // namespace
}  // namespace tephra
