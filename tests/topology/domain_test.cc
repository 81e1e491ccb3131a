#include "topology/domain.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

std::string Fault(const DomainSpec& domain) {
  return std::string(ValidateDomain(domain).message());
}

TEST_CASE("Domain: what cannot be one is refused by field and value") {
  CHECK(Fault({"rack-0", 0, "", {"a", "b"}, {"rack-1"}}).empty());
  CHECK(Fault({"", 1, "", {}, {}}) == "domain: name: empty");
  CHECK(Fault({"rack-0", -1, "", {}, {}}) == "domain \"rack-0\": tier: -1, expected 0 or more");
  CHECK(Fault({"rack-0", 1, "", {"a", ""}, {}}) == "domain \"rack-0\": nodes: an empty name");
  CHECK(Fault({"rack-0", 1, "", {"a", "b", "a"}, {}}) ==
        "domain \"rack-0\": nodes: \"a\" is named twice");
  CHECK(Fault({"rack-0", 1, "", {}, {"rack-1", "rack-0"}}) ==
        "domain \"rack-0\": domains: a member of itself");
}

}  // namespace
}  // namespace tephra
