#include "topology/all_reduce.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include <catch2/catch.hpp>

#include "tests/support/dice.h"

namespace tephra {
namespace {

using Limit = AllReduce::Limit;

// Nodes, some of them in domains, and a gang's tasks on them: how many GPUs where, in their order.
struct Case {
  std::map<std::string, DomainSpec> domains;
  std::vector<std::string> nodes;
  std::vector<std::pair<std::string, int>> tasks;
  Bandwidths bandwidths{3600, {400, 200, 100}};

  std::string limit;  // a node or a domain; empty: within nodes, or none
  std::int64_t Gbit() {
    std::vector<const std::string*> row;
    for (const std::string& node : nodes) row.push_back(&node);
    const Fabric fabric(domains, row);
    std::vector<RingStop> stops;
    for (const auto& [node, gpus] : tasks) {
      const auto at =
          std::find_if(row.begin(), row.end(), [&, &name = node](auto* n) { return *n == name; });
      stops.push_back({static_cast<std::uint32_t>(at - row.begin()), gpus});
    }
    const std::optional<AllReduce> found = RingAllReduce(fabric, stops, bandwidths);
    if (!found) return -1;
    limit = found->limit == Limit::kNode     ? *row[found->which]
            : found->limit == Limit::kDomain ? fabric.domains()[found->which].name
                                             : "";
    mbit = found->mbit_per_s;
    return mbit / 1000;
  }
  std::int64_t mbit = 0;
};

// Two rows of two racks of two nodes: a0 a1 | b0 b1 || c0 c1 | d0 d1.
Case TwoRows(std::vector<std::pair<std::string, int>> tasks) {
  Case one;
  for (const std::string rack : {"a", "b", "c", "d"}) {
    one.nodes.insert(one.nodes.end(), {rack + "0", rack + "1"});
    one.domains[rack] = {rack, 1, "rack", {rack + "0", rack + "1"}, {}};
  }
  one.domains["north"] = {"north", 2, "row", {}, {"a", "b"}};
  one.domains["south"] = {"south", 2, "row", {}, {"c", "d"}};
  one.tasks = std::move(tasks);
  return one;
}

TEST_CASE("AllReduce: a gang on one node is as fast as the links within it") {
  Case one = TwoRows({{"a0", 8}});
  CHECK(one.Gbit() == 3600);
  Case two = TwoRows({{"a0", 1}, {"a0", 1}});
  CHECK(two.Gbit() == 3600);
}

TEST_CASE("AllReduce: fewer than two GPUs sum nothing up") {
  CHECK(TwoRows({}).Gbit() == -1);
  CHECK(TwoRows({{"a0", 1}}).Gbit() == -1);
  CHECK(TwoRows({{"a0", 0}, {"b0", 1}, {"c0", 0}}).Gbit() == -1);
}

TEST_CASE("AllReduce: two nodes of a rack have what all their GPUs may send out") {
  Case whole = TwoRows({{"a0", 8}, {"a1", 8}});
  CHECK(whole.Gbit() == 8 * 400);
  CHECK(whole.limit == "a0");
  CHECK(TwoRows({{"a0", 1}, {"a1", 1}}).Gbit() == 400);
  CHECK(TwoRows({{"a0", 8}, {"a1", 2}}).Gbit() == 2 * 400);
  CHECK(TwoRows({{"a0", 8}, {"a1", 8}, {"b0", 0}}).Gbit() == 8 * 400);
}

TEST_CASE("AllReduce: a ring that comes back to a node shares its uplink") {
  CHECK(TwoRows({{"a0", 4}, {"a0", 4}, {"a1", 4}, {"a1", 4}}).Gbit() == 3200);
  CHECK(TwoRows({{"a0", 4}, {"a1", 4}, {"a0", 4}, {"a1", 4}}).Gbit() == 3200 / 2);
}

TEST_CASE("AllReduce: between racks the uplink of the rack with fewer GPUs counts") {
  // 16 GPUs of rack a have 16 x 200, the 8 of rack b 8 x 200.
  Case one = TwoRows({{"a0", 8}, {"a1", 8}, {"b0", 8}});
  CHECK(one.Gbit() == 8 * 200);
  CHECK(one.limit == "b");
}

TEST_CASE("AllReduce: tasks in rack order cross each rack once, and other orders at each change") {
  Case near = TwoRows({{"a0", 8}, {"a1", 8}, {"b0", 8}, {"b1", 8}});
  CHECK(near.Gbit() == 3200);  // 16 x 200 out of a rack is as much as 8 x 400 out of a node
  CHECK(near.limit == "a0");
  Case zigzag = TwoRows({{"a0", 8}, {"b0", 8}, {"a1", 8}, {"b1", 8}});
  CHECK(zigzag.Gbit() == 16 * 200 / 2);
  CHECK(zigzag.limit == "a");
}

TEST_CASE("AllReduce: the last uplink stands for all that are wider") {
  Case one = TwoRows({{"a0", 8}, {"c0", 8}});
  CHECK(one.Gbit() == 8 * 100);
  CHECK(one.limit == "north");
  one.bandwidths.uplinks = {400, 200};
  CHECK(one.Gbit() == 8 * 200);
  one.bandwidths.uplinks = {50};
  CHECK(one.Gbit() == 8 * 50);
  CHECK(one.limit == "a0");
}

TEST_CASE("AllReduce: slow links within a node are slower than fast ones between them") {
  Case one = TwoRows({{"a0", 8}, {"a1", 8}});
  one.bandwidths = {100, {400}};
  CHECK(one.Gbit() == 100);
  CHECK(one.limit.empty());
  one.tasks = {{"a0", 1}, {"a1", 1}};  // which have no step within a node
  CHECK(one.Gbit() == 400);
}

TEST_CASE("AllReduce: without domains the uplinks of nodes count alone") {
  Case one;
  one.nodes = {"n0", "n1", "n2"};
  one.tasks = {{"n2", 4}, {"n0", 4}, {"n1", 4}};
  CHECK(one.Gbit() == 4 * 400);
  CHECK(one.limit == "n0");
}

// --- the definition, step by step ----------------------------------------------------------

std::set<std::string> NodesOf(const Case& one, const std::string& domain) {
  const DomainSpec& spec = one.domains.at(domain);
  std::set<std::string> nodes(spec.nodes.begin(), spec.nodes.end());
  for (const std::string& part : spec.domains) nodes.merge(NodesOf(one, part));
  return nodes;
}

// Times a ring all-reduce of one Gbit: 2 (n - 1) steps, in each of which every GPU sends a part to
// the next, and which last as long as the fullest link takes; then nccl-tests' formula.
double Played(const Case& one) {
  std::vector<std::string> gpus;  // the node of each
  for (const auto& [node, count] : one.tasks) gpus.insert(gpus.end(), count, node);
  const auto n = static_cast<double>(gpus.size());
  if (gpus.size() < 2) return -1;
  const auto uplink = [&](std::int32_t tier) {
    return static_cast<double>(tier < static_cast<int>(one.bandwidths.uplinks.size())
                                   ? one.bandwidths.uplinks[static_cast<std::size_t>(tier)]
                                   : one.bandwidths.uplinks.back());
  };
  std::vector<std::pair<std::set<std::string>, double>>
      links;  // around which nodes, each GPU's part
  for (const std::string& node : one.nodes) links.push_back({{node}, uplink(0)});
  for (const auto& [name, spec] : one.domains) {
    links.push_back({NodesOf(one, name), uplink(spec.tier)});
  }
  double seconds = 0;
  for (int step = 0; step < 2 * (static_cast<int>(gpus.size()) - 1); ++step) {
    double longest = 0;
    for (const auto& [inside, each] : links) {
      double capacity = 0, out = 0, in = 0;
      for (std::size_t g = 0; g < gpus.size(); ++g) {
        const bool here = inside.contains(gpus[g]);
        const bool next = inside.contains(gpus[(g + 1) % gpus.size()]);
        capacity += here ? each : 0;
        out += here && !next ? 1 / n : 0;
        in += !here && next ? 1 / n : 0;
      }
      if (out + in > 0) longest = std::max(longest, std::max(out, in) / capacity);
    }
    for (std::size_t g = 0; g < gpus.size(); ++g) {
      if (gpus[g] != gpus[(g + 1) % gpus.size()]) continue;
      longest = std::max(longest, 1 / n / static_cast<double>(one.bandwidths.node));
    }
    seconds += longest;
  }
  return 1 / seconds * 2 * (n - 1) / n;
}

Case RandomCase(Dice& dice) {
  Case one;
  const int nodes = dice.From(1, 9), racks = dice.From(1, 4), rows = dice.From(1, 2);
  const auto add = [&](const std::string& prefix, int tier, int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = prefix + std::to_string(i);
      one.domains[name] = {name, tier, "", {}, {}};
    }
  };
  add("rack", 1, racks);
  add("row", dice.From(2, 4), rows);
  for (int r = 0; r < racks; ++r) {
    if (dice.Percent(20)) continue;
    one.domains["row" + std::to_string(dice.Below(rows))].domains.push_back("rack" +
                                                                            std::to_string(r));
  }
  for (int n = 0; n < nodes; ++n) {
    one.nodes.push_back("n" + std::to_string(n));
    const int where = dice.Below(10);
    if (where == 0) continue;  // in no domain
    const std::string home = where == 1 ? "row" + std::to_string(dice.Below(rows))
                                        : "rack" + std::to_string(dice.Below(racks));
    one.domains[home].nodes.push_back(one.nodes.back());
  }
  for (int tasks = dice.From(0, 7); tasks > 0; --tasks) {
    const int gpus = dice.From(0, 4);
    one.tasks.emplace_back(dice.Pick(one.nodes), gpus);
  }
  one.bandwidths.node = dice.From(1, 3000);
  one.bandwidths.uplinks.clear();
  for (int i = dice.From(1, 4); i > 0; --i) one.bandwidths.uplinks.push_back(dice.From(1, 1000));
  return one;
}

TEST_CASE("AllReduce: is what playing each step of the ring gives") {
  int estimates = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    INFO("seed " << seed);
    Dice dice(seed);
    Case one = RandomCase(dice);
    const double played = Played(one);
    const std::int64_t gbit = one.Gbit();
    REQUIRE((played < 0) == (gbit < 0));
    if (played < 0) continue;
    ++estimates;
    REQUIRE(static_cast<double>(one.mbit) == Approx(1000 * played).margin(1).epsilon(1e-9));
  }
  CHECK(estimates > 1500);
}

}  // namespace
}  // namespace tephra
