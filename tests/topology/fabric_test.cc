#include "topology/fabric.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

struct Built {
  std::vector<std::string> names;
  Fabric fabric;

  Built(const std::vector<DomainSpec>& specs, std::vector<std::string> nodes) {
    std::map<std::string, DomainSpec> by_name;
    for (const DomainSpec& spec : specs) by_name.emplace(spec.name, spec);
    std::vector<const std::string*> row;
    for (const std::string& node : nodes) row.push_back(&node);
    fabric = Fabric(by_name, row);
    for (const std::string* node : row) names.push_back(*node);
  }
  const Fabric::Domain& Of(const std::string& name) const {
    for (const Fabric::Domain& domain : fabric.domains()) {
      if (domain.name == name) return domain;
    }
    FAIL("no domain " << name);
    return fabric.domains()[0];
  }
};

const DomainSpec kRackA{"rack-a", 1, "rack", {"n3", "n1"}, {}};
const DomainSpec kRackB{"rack-b", 1, "rack", {"n2"}, {}};
const DomainSpec kRow{"row", 2, "row", {"n0"}, {"rack-b", "rack-a"}};

TEST_CASE("Fabric: without domains nodes stand by name") {
  const Built built({}, {"b", "c", "a"});
  CHECK(built.names == std::vector<std::string>{"a", "b", "c"});
  CHECK(built.fabric.empty());
  CHECK(built.fabric.Around({0, 1}).empty());
}

TEST_CASE("Fabric: the nodes of every domain stand side by side, those of none at the end") {
  const Built built({kRow, kRackB, kRackA}, {"a", "n0", "n1", "n2", "n3"});
  CHECK(built.names == std::vector<std::string>{"n1", "n3", "n2", "n0", "a"});
  CHECK(built.Of("rack-a").span == RankSpan{0, 2});
  CHECK(built.Of("rack-b").span == RankSpan{2, 3});
  CHECK(built.Of("row").span == RankSpan{0, 4});
  CHECK(built.Of("row").children.size() == 2);
  CHECK(built.fabric.problems().empty());
  CHECK(built.fabric.domains().back().name == "row");
  CHECK(built.fabric.HomeOf(4) == Fabric::kNone);
}

TEST_CASE("Fabric: what is around nodes, from the lowest tier up") {
  const Built built({kRow, kRackB, kRackA}, {"n0", "n1", "n2", "n3", "x"});
  const auto names = [&](RankSpan span) {
    std::vector<std::string> found;
    for (const std::uint32_t d : built.fabric.Around(span)) {
      found.push_back(built.fabric.domains()[d].name);
    }
    return found;
  };
  CHECK(names({0, 1}) == std::vector<std::string>{"rack-a", "row"});
  CHECK(names({1, 3}) == std::vector<std::string>{"row"});
  CHECK(names({3, 4}) == std::vector<std::string>{"row"});
  CHECK(names({3, 5}).empty());
  CHECK(names({0, 0}).empty());
}

TEST_CASE("Fabric: the widest domains of a tier have no part among them") {
  const Built built({kRow, kRackB, kRackA}, {"n1", "n2"});
  CHECK(built.fabric.Widest(0).empty());
  CHECK(built.fabric.Widest(1).size() == 2);
  CHECK(built.fabric.Widest(2).size() == 1);
  CHECK(built.fabric.TierNamed("row") == 2);
  CHECK(built.fabric.TierNamed("hall") == Fabric::kNoTier);
}

TEST_CASE("Fabric: a part without a lower tier is ignored and reported, so there is no cycle") {
  const DomainSpec a{"a", 1, "", {"n"}, {"b"}}, b{"b", 1, "", {"m"}, {"a"}};
  const Built built({a, b}, {"n", "m"});
  REQUIRE(built.fabric.problems().size() == 2);
  CHECK(built.fabric.problems()[0] ==
        "domain \"a\" (tier 1) names \"b\" (tier 1) as a part of it: expected a part of a lower "
        "tier; left out");
  CHECK(built.Of("a").parent == Fabric::kNone);
  CHECK(built.Of("a").span == RankSpan{0, 1});
}

TEST_CASE("Fabric: a node in two racks counts in the first, and a rack in two rows as well") {
  const DomainSpec other{"rack-c", 1, "", {"n2", "n4"}, {}}, hall{"hall", 2, "", {}, {"rack-b"}};
  const Built built({kRow, kRackA, kRackB, other, hall}, {"n0", "n1", "n2", "n3", "n4"});
  REQUIRE(built.fabric.problems().size() == 2);
  CHECK(built.fabric.problems()[0] ==
        "domain \"rack-b\" is a part of \"hall\" and of \"row\": counted in the first");
  CHECK(built.fabric.problems()[1] ==
        "node \"n2\" is in domains \"rack-b\" and \"rack-c\", of which neither is part of the "
        "other: counted in the first");
  CHECK(built.Of("rack-c").span.last - built.Of("rack-c").span.first == 1);
}

TEST_CASE(
    "Fabric: a domain may name the nodes of its parts too, and nodes and parts not known yet") {
  const DomainSpec all{"all", 2, "", {"n1", "n2", "later"}, {"rack-a", "unknown"}};
  const Built built({all, kRackA}, {"n1", "n2", "n3"});
  CHECK(built.fabric.problems().empty());
  CHECK(built.names == std::vector<std::string>{"n1", "n3", "n2"});
  CHECK(built.Of("all").span == RankSpan{0, 3});
}

}  // namespace
}  // namespace tephra
