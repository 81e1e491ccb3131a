#include "plugins/fairshare/water_fill.h"

#include <algorithm>
#include <cmath>
#include <iostream>

#include <catch2/catch.hpp>

#include "tests/support/dice.h"

namespace tephra {
namespace {

constexpr double kEndless = std::numeric_limits<double>::infinity();

// --- an oracle that shares nothing with what it judges: levels by bisection, trees by recursion
// ---

struct Party {
  double weight, have, until;
};

// Pours `amount` evenly in units of weight; what is left.
double OraclePour(std::vector<Party>& parties, double amount) {
  const auto poured = [&](double level) {
    double sum = 0;
    for (const Party& p : parties)
      sum += std::max(0.0, std::min(p.until - p.have, p.weight * level));
    return sum;
  };
  double room = 0;
  for (const Party& p : parties) room += std::max(0.0, p.until - p.have);
  double low = 0, high = 1;
  if (room > amount) {
    while (poured(high) < amount) high *= 2;
    for (int i = 0; i < 200; ++i) {
      const double middle = (low + high) / 2;
      (poured(middle) < amount ? low : high) = middle;
    }
  } else {
    low = kEndless;
  }
  for (Party& p : parties) {
    const double more = std::max(0.0, p.until - p.have);
    p.have += low == kEndless ? more : std::min(more, p.weight * low);
  }
  return std::max(0.0, amount - std::min(room, amount));
}

struct Needs {
  double use = 0, guarantee = 0, deserved = 0;
};

Needs OracleNeeds(const std::vector<FillQueue>& queues, std::size_t at) {
  Needs needs{queues[at].demand, 0, 0};
  for (std::size_t c = 0; c < queues.size(); ++c) {
    if (queues[c].parent != static_cast<std::int32_t>(at)) continue;
    const Needs under = OracleNeeds(queues, c);
    needs.use += under.use;
    needs.guarantee += std::min(under.guarantee, under.use);
    needs.deserved += std::min(under.deserved, under.use);
  }
  needs.use = std::min(needs.use, queues[at].limit);
  needs.guarantee = std::max(needs.guarantee, queues[at].guarantee);
  if (queues[at].deserved > 0) needs.deserved = queues[at].deserved;
  needs.deserved = std::max(needs.deserved, needs.guarantee);
  return needs;
}

void OracleFill(const std::vector<FillQueue>& queues, std::int32_t parent, double amount,
                std::vector<double>& shares) {
  std::vector<std::size_t> members;
  std::vector<Needs> needs;
  std::vector<Party> parties;
  for (std::size_t q = 0; q < queues.size(); ++q) {
    if (queues[q].parent != parent) continue;
    members.push_back(q);
    needs.push_back(OracleNeeds(queues, q));
    const double usable = std::min(needs.back().guarantee, needs.back().use);
    parties.push_back({needs.back().guarantee, 0, usable});
  }
  if (members.empty()) return;
  if (parent >= 0 && queues[static_cast<std::size_t>(parent)].demand > 0) {
    needs.push_back({queues[static_cast<std::size_t>(parent)].demand, 0, 0});
    parties.push_back({0, 0, 0});
  }
  amount = OraclePour(parties, amount);
  for (std::size_t i = 0; i < parties.size(); ++i) {
    const double due = std::min(needs[i].deserved, needs[i].use);
    parties[i].until = due;
    parties[i].weight = std::max(0.0, needs[i].deserved - parties[i].have);
  }
  amount = OraclePour(parties, amount);
  for (std::size_t i = 0; i < parties.size(); ++i) {
    parties[i].until = needs[i].use;
    parties[i].weight = i < members.size() ? queues[members[i]].weight : 1;
  }
  OraclePour(parties, amount);
  for (std::size_t i = 0; i < members.size(); ++i) {
    shares[members[i]] = parties[i].have;
    OracleFill(queues, static_cast<std::int32_t>(members[i]), parties[i].have, shares);
  }
}

std::vector<FillQueue> RandomTree(Dice& dice) {
  std::vector<FillQueue> queues(static_cast<std::size_t>(dice.From(1, 12)));
  for (std::size_t q = 0; q < queues.size(); ++q) {
    FillQueue& queue = queues[q];
    if (q > 0 && dice.Percent(60)) queue.parent = dice.Below(static_cast<int>(q));
    queue.weight = dice.From(1, 5);
    if (dice.Percent(40)) queue.guarantee = dice.Below(20);
    if (dice.Percent(40)) queue.deserved = dice.Below(40);
    if (dice.Percent(40)) queue.limit = dice.Below(60);
    if (dice.Percent(80)) queue.demand = dice.Below(50) + dice.Below(1000) / 1000.0;
  }
  // Parents may come after the queues under them.
  if (dice.Percent(50)) {
    std::reverse(queues.begin(), queues.end());
    for (FillQueue& queue : queues) {
      if (queue.parent >= 0)
        queue.parent = static_cast<std::int32_t>(queues.size()) - 1 - queue.parent;
    }
  }
  return queues;
}

FillQueue Under(std::int32_t parent, FillQueue queue) {
  queue.parent = parent;
  return queue;
}

TEST_CASE("Water-fill property: 5,000 random trees are filled as by an independent oracle") {
  constexpr std::uint64_t kSeeds = 5000;
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    const std::vector<FillQueue> queues = RandomTree(dice);
    const double capacity = dice.Below(150);
    const std::vector<double> shares = WaterFill(queues, capacity);
    std::vector<double> expected(queues.size());
    OracleFill(queues, FillQueue::kTop, capacity, expected);
    for (std::size_t q = 0; q < queues.size(); ++q) {
      CAPTURE(q, shares[q], expected[q]);
      const double off = std::abs(shares[q] - expected[q]) / std::max(1.0, expected[q]);
      worst = std::max(worst, off);
      REQUIRE(off <= 1e-9);
    }
  }
  std::cout << kSeeds << " trees, seeds from 1, off by at most " << worst << " of a share\n";
}

TEST_CASE("Water-fill: guarantee before deserved, deserved before weight") {
  // 10 are left after the guarantee, 4 after what the second deserves: 3 to 1 by weight.
  const std::vector<FillQueue> queues = {{.weight = 3, .guarantee = 10, .demand = 100},
                                         {.weight = 1, .deserved = 6, .demand = 100}};
  CHECK(WaterFill(queues, 20) == std::vector<double>{13, 7});
  CHECK(WaterFill(queues, 13) == std::vector<double>{10, 3});
}

TEST_CASE("Water-fill: what one cannot use is lent, and no limit is passed") {
  const std::vector<FillQueue> queues = {
      {.deserved = 10, .demand = 2}, {.deserved = 10, .limit = 13, .demand = 50}, {.demand = 50}};
  CHECK(WaterFill(queues, 20) == std::vector<double>{2, 13, 5});
  CHECK(WaterFill(queues, 100) == std::vector<double>{2, 13, 50});
}

TEST_CASE("Water-fill: quotas above the amount are filled to the same part") {
  const std::vector<FillQueue> queues = {{.guarantee = 10, .demand = 50},
                                         {.guarantee = 30, .demand = 50}};
  CHECK(WaterFill(queues, 20) == std::vector<double>{5, 15});
}

TEST_CASE("Water-fill: a small demand within an overdrawn quota is met") {
  const std::vector<FillQueue> queues = {{.deserved = 2, .demand = 1},
                                         {.deserved = 2, .demand = 2}};
  CHECK(WaterFill(queues, 2) == std::vector<double>{1, 1});
}

TEST_CASE(
    "Water-fill: a tree shares level by level, and the quota of a child counts for its parent") {
  const std::vector<FillQueue> queues = {{.weight = 1},
                                         {.weight = 1, .demand = 100},
                                         Under(0, {.guarantee = 12, .demand = 100}),
                                         Under(0, {.demand = 100})};
  // The first is owed 12 for the queue under it; the other 8 are shared by halves.
  CHECK(WaterFill(queues, 20) == std::vector<double>{16, 4, 14, 2});
}

TEST_CASE("Water-fill: the own demand of a parent queue counts as one more child") {
  const std::vector<FillQueue> queues = {{.demand = 100}, Under(0, {.weight = 3, .demand = 100})};
  CHECK(WaterFill(queues, 20) == std::vector<double>{20, 15});
}

TEST_CASE("Water-fill: no queues, or no capacity") {
  CHECK(WaterFill({}, 10).empty());
  CHECK(WaterFill({{.guarantee = 5, .demand = 5}}, 0) == std::vector<double>{0});
  CHECK(WaterFill({{.guarantee = 5}}, 10) == std::vector<double>{0});
}

TEST_CASE("WaterFill: past usage changes the part by weight, and no quota") {
  std::vector<FillQueue> queues(2);
  queues[0].demand = queues[1].demand = 8;
  queues[0].usage = 8 * 100 * 15 / 16.0;  // of 800, the usage of everything forever
  const PastUsage past{1, 100};
  // 1/2 + 15/16 (1/2 - 1) = 1/32.
  CHECK(WaterFill(queues, 8, past)[0] == Approx(0.25));
  CHECK(WaterFill(queues, 8, past)[1] == Approx(7.75));
  CHECK(WaterFill(queues, 8)[0] == 4);
  CHECK(WaterFill(queues, 8, {0, 100})[0] == 4);
  // A queue that used as much as its weight says keeps its weight.
  queues[1].usage = queues[0].usage;
  CHECK(WaterFill(queues, 8, past)[0] == Approx(4));
  // Little use weighs little, and the floor is a hundredth of the weight.
  queues[0].usage = 8, queues[1].usage = 0;
  CHECK(WaterFill(queues, 8, past)[0] == Approx(8 * (0.5 - 0.005)));
  queues[0].usage = 80000;
  CHECK(WaterFill(queues, 8, past)[0] == Approx(8 * 0.005 / 1.005));
  // A queue that asks for nothing takes no part, whatever it used.
  queues.emplace_back().usage = 1e9;
  CHECK(WaterFill(queues, 8, past)[0] == Approx(8 * 0.005 / 1.005));
  queues[0].deserved = 6;
  CHECK(WaterFill(queues, 8, past)[0] == Approx(6 + 2 * 0.005 / 1.005));
  queues[0].guarantee = 7;
  CHECK(WaterFill(queues, 8, past)[0] == Approx(7 + 1 * 0.005 / 1.005));
}

}  // namespace
}  // namespace tephra
