// The small structures under the rankings: MaxTree, SumTree, ChangeLog, Occupancy, Ledger.
#include <algorithm>
#include <set>

#include <catch2/catch.hpp>

#include "engine/change_log.h"
#include "engine/ledger.h"
#include "engine/max_tree.h"
#include "engine/proofs.h"
#include "engine/state.h"
#include "engine/sum_tree.h"
#include "tests/support/build.h"
#include "tests/support/dice.h"

namespace tephra {
namespace {

TEST_CASE("MaxTree: best and its first leaf are those of a plain search, whatever is set") {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Dice dice(seed);
    std::vector<MaxTree::Value> leaves(static_cast<std::size_t>(dice.From(1, 40)));
    for (auto& leaf : leaves) leaf = dice.From(-5, 5);
    MaxTree tree;
    tree.Assign(leaves);
    for (int i = 0; i < 60; ++i) {
      const auto best = std::max_element(leaves.begin(), leaves.end());
      INFO("seed " << seed);
      REQUIRE(tree.best() == *best);
      REQUIRE(tree.first_best() == static_cast<std::size_t>(best - leaves.begin()));
      const std::size_t leaf =
          static_cast<std::size_t>(dice.Below(static_cast<int>(leaves.size())));
      leaves[leaf] = dice.Percent(10) ? MaxTree::kLowest : dice.From(-5, 5);
      tree.Set(leaf, leaves[leaf]);
      REQUIRE(tree.at(leaf) == leaves[leaf]);
      const int first = dice.Below(static_cast<int>(leaves.size()));
      const int last = dice.From(first + 1, static_cast<int>(leaves.size()));
      const auto best_in = std::max_element(leaves.begin() + first, leaves.begin() + last);
      const auto [value, at] =
          tree.BestIn(static_cast<std::size_t>(first), static_cast<std::size_t>(last));
      REQUIRE(value == *best_in);
      REQUIRE(at == static_cast<std::size_t>(best_in - leaves.begin()));
    }
  }
}

TEST_CASE("MaxTree: without leaves the best is the lowest there is") {
  MaxTree tree;
  CHECK(tree.best() == MaxTree::kLowest);
  tree.Assign({});
  CHECK(tree.best() == MaxTree::kLowest);
  tree.Assign({MaxTree::kLowest, MaxTree::kLowest});
  CHECK(tree.best() == MaxTree::kLowest);
}

TEST_CASE("SumTree: the sum of every beginning is that of a plain loop, whatever is added") {
  for (std::uint64_t seed = 1; seed <= 100; ++seed) {
    Dice dice(seed);
    std::vector<std::int32_t> numbers(static_cast<std::size_t>(dice.Below(40)));
    for (auto& number : numbers) number = dice.From(-5, 5);
    SumTree tree;
    tree.Assign(numbers);
    for (int i = 0; i < 30; ++i) {
      std::int64_t sum = 0;
      INFO("seed " << seed);
      for (std::size_t n = 0; n <= numbers.size(); ++n) {
        REQUIRE(tree.SumBefore(n) == sum);
        if (n < numbers.size()) sum += numbers[n];
      }
      REQUIRE(tree.all() == sum);
      if (numbers.empty()) break;
      const auto at = static_cast<std::size_t>(dice.Below(static_cast<int>(numbers.size())));
      const std::int32_t more = dice.From(-5, 5);
      numbers[at] += more;
      tree.Add(at, more);
    }
  }
}

TEST_CASE("ChangeLog: a reader gets each row that changed since, or has to start over") {
  ChangeLog<NodeId> log;
  const auto since = [&log](std::uint64_t seen) {
    std::vector<std::size_t> rows;
    log.EachSince(seen, [&rows](NodeId node) { rows.push_back(node.index()); });
    return rows;
  };
  CHECK(log.Covers(log.end()));
  CHECK(since(0).empty());
  for (const std::size_t row : {3, 1, 4, 1, 1, 5}) log.Add(NodeId(row));
  CHECK(since(0) == std::vector<std::size_t>{5, 1, 4, 3});
  const auto seen = log.end();
  CHECK(since(seen).empty());
  for (const std::size_t row : {3, 4, 3}) log.Add(NodeId(row));
  CHECK(since(seen) == std::vector<std::size_t>{3, 4});
  CHECK(since(0) == std::vector<std::size_t>{3, 4, 5, 1});
  const auto end = log.end();
  log.Reset();
  CHECK_FALSE(log.Covers(end));
  CHECK(log.Covers(log.end()));
  CHECK(since(log.end()).empty());
}

TEST_CASE("ChangeLog: as a plain list of all changes says") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    Dice dice(seed);
    ChangeLog<NodeId> log;
    std::vector<std::size_t> changes;  // log.end() is how many there are
    for (int i = 0; i < 200; ++i) {
      changes.push_back(static_cast<std::size_t>(dice.Below(20)));
      log.Add(NodeId(changes.back()));
      const auto seen = static_cast<std::size_t>(dice.Below(static_cast<int>(changes.size())));
      std::vector<std::size_t> expected;
      for (std::size_t c = changes.size(); c-- > seen;) {
        const bool named = std::count(expected.begin(), expected.end(), changes[c]) > 0;
        if (!named) expected.push_back(changes[c]);
      }
      std::vector<std::size_t> rows;
      log.EachSince(seen, [&rows](NodeId node) { rows.push_back(node.index()); });
      REQUIRE(rows == expected);
    }
  }
}

// A node "n" with 4 devices, and classes to charge there.
struct Desk {
  State state;
  ClassId whole, part, port;

  Desk() {
    const auto tell = [&](const Event& event) { REQUIRE(state.Apply(event).ok()); };
    tell(NodeUpserted{ANode("n").Cores(16).Gpus(4, "A", 16000).Label("rack", "r"), 1});
    tell(NodeUpserted{ANode("m").Cores(16).Label("rack", "r"), 1});
    tell(QueueUpserted{AQueue("top"), 1});
    tell(QueueUpserted{AQueue("q").Under("top"), 1});
    tell(JobUpserted{AJob("j")
                         .In("q")
                         .Role("whole", 1, APod().Gpus(2).Cores(4))
                         .Role("part", 1, APod().Share(300, 1000).Cores(1))
                         .Role("port", 1, APod().Cores(1).AtMost(2, "g", "rack").AtMost(1, "h")),
                     1});
    const JobRow& job = state.books().jobs[0];
    whole = job.roles[0].cls, part = job.roles[1].cls, port = job.roles[2].cls;
  }
  NodeId node(const char* name) const { return state.books().hardware.Find(name); }
  QueueId queue(const char* name) const { return state.books().queues.Find(name); }
};

TEST_CASE("Proofs: asks of different shape never share one") {
  const auto role = [](std::uint32_t cls, std::int32_t least, std::size_t tasks) {
    return RoleAsk{0, ClassId(cls), least, std::vector<TaskId>(tasks)};
  };
  GangAsk two_roles;
  two_roles.roles = {role(1, 2, 3), role(4, 5, 6)};
  two_roles.least = 7;
  GangAsk tied;
  tied.roles = {role(1, 2, 3)};
  tied.least = 4;
  tied.highest_tier = 5;
  tied.around = {6, 7};
  GangAsk without = tied;
  without.highest_tier = kAnyTier;
  without.without = 5;
  GangAsk inside = two_roles;
  inside.within = {0, 8};
  GangAsk group = two_roles;
  group.groups.push_back({});
  group.groups[0].first_role = 1, group.groups[0].end_role = 2;
  GangAsk other_group = group;
  other_group.groups[0].first_role = 0, other_group.groups[0].end_role = 1;
  GangAsk tied_group = group;
  tied_group.groups[0].highest_tier = 1;
  const std::vector<GangAsk> asks = {two_roles, tied,        without,   inside,
                                     group,     other_group, tied_group};
  std::set<Proofs::Shape> shapes;
  for (const GangAsk& ask : asks) shapes.insert(Proofs::ShapeOf(ask));
  CHECK(shapes.size() == asks.size());
  two_roles.job = JobId(3);
  two_roles.near = true;
  CHECK(shapes.contains(Proofs::ShapeOf(two_roles)));
}

TEST_CASE("Ledger: a charge moves node, devices, every queue above, and counts of the domain") {
  Desk desk;
  const Snapshot snapshot = desk.state.Freeze(0);
  Ledger ledger(Ledger::Basis::kNow);
  ledger.Begin(snapshot);
  const QueueId q = desk.queue("q"), top = desk.queue("top");
  ledger.Charge(desk.whole, q,
                {TaskId(), desk.node("n"), {WholeSlice(1, 16000), WholeSlice(3, 16000)}});
  ledger.Charge(desk.part, q, {TaskId(), desk.node("n"), {PartSlice(0, 300, 1000)}});
  const NodeView view = ledger.View(desk.node("n"));
  CHECK(view.row.free[kCpu] == 11000);  // 16 - 4 - 1
  CHECK(view.row.free[kPods] == 108);
  CHECK(view.row.free[kGpu] == 1700);         // 4 - 2 - 0.3
  CHECK(view.row.free[kGpuMemory] == 31000);  // 64000 - 2 x 16000 - 1000
  CHECK(view.row.gpu_tasks[2] == 1);
  CHECK(view.row.gpu_tasks[0] == 1);
  const auto row = [](std::int32_t compute, std::int64_t memory_mib, SliceMode mode,
                      std::uint16_t slices) {
    DeviceRow made{compute, {}, memory_mib};
    made.use.slices[static_cast<std::size_t>(mode)] = slices;
    return made;
  };
  CHECK(view.devices[1] == row(0, 0, SliceMode::kWhole, 1));
  CHECK(view.devices[0] == row(700, 15000, SliceMode::kFraction, 1));
  CHECK(ledger.occupancy().queue_total(top)[kGpu] == 2300);
  CHECK(ledger.occupancy().queue_own(top)[kGpu] == 0);
  CHECK(ledger.occupancy().queue_own(q)[kGpuMemory] == 33000);

  ledger.Charge(desk.port, q, {TaskId(), desk.node("m"), {}});
  const TaskClass& port = snapshot.cls(desk.port);
  CHECK(ledger.occupancy().LimitRoom(ledger.facts(), port, desk.node("m")) == 0);  // of h
  CHECK(ledger.occupancy().LimitRoom(ledger.facts(), port, desk.node("n")) == 1);  // of g
}

TEST_CASE("Ledger: rollback restores every column") {
  Desk desk;
  const Snapshot snapshot = desk.state.Freeze(0);
  Ledger ledger(Ledger::Basis::kNow);
  ledger.Begin(snapshot);
  const Occupancy before = ledger.occupancy();
  {
    Attempt outer(ledger);
    ledger.Charge(desk.port, desk.queue("q"), {TaskId(), desk.node("m"), {}});
    {
      Attempt kept(ledger);
      ledger.Charge(desk.part, desk.queue("q"),
                    {TaskId(), desk.node("n"), {PartSlice(2, 300, 1000)}});
      CHECK(kept.placements().size() == 1);
      kept.Keep();
    }
    CHECK(ledger.mark() == 2);
    CHECK_FALSE(ledger.occupancy().SameColumns(before));
  }
  CHECK(ledger.mark() == 0);
  CHECK(ledger.occupancy().SameColumns(before));
}

TEST_CASE("Ledger: what is kept through Settle is undone by Uncharge, and found again by Begin") {
  Desk desk;
  const Snapshot snapshot = desk.state.Freeze(0);
  Ledger ledger(Ledger::Basis::kNow);
  ledger.Begin(snapshot);
  const Occupancy before = ledger.occupancy();
  const Placement placement{TaskId(), desk.node("n"), {PartSlice(2, 300, 1000)}};
  ledger.Charge(desk.part, desk.queue("q"), placement);
  ledger.Settle();
  CHECK(ledger.mark() == 0);
  ledger.RollBackTo(0);
  CHECK_FALSE(ledger.occupancy().SameColumns(before));
  ledger.Uncharge(desk.part, desk.queue("q"), placement);
  CHECK(ledger.occupancy().SameColumns(before));
}

TEST_CASE("Ledger: on an empty basis nothing runs, however full the cluster is") {
  Desk desk;
  TaskFact fact;
  fact.uid = "foreign", fact.phase = TaskPhase::kRunning, fact.node = "n";
  fact.pod = APod().Cores(16).Gpus(4);
  REQUIRE(desk.state.Apply(TaskUpserted{fact, 1}).ok());
  const Snapshot snapshot = desk.state.Freeze(0);
  Ledger now(Ledger::Basis::kNow), empty(Ledger::Basis::kEmpty);
  now.Begin(snapshot);
  empty.Begin(snapshot);
  CHECK(now.View(desk.node("n")).row.free[kCpu] == 0);
  CHECK(now.View(desk.node("n")).row.free[kGpu] == 0);
  CHECK(empty.View(desk.node("n")).row.free == snapshot.hardware().capacity(desk.node("n")));
}

TEST_CASE("Occupancy: an over-committed device takes nothing from the others") {
  Desk desk;
  const Snapshot snapshot = desk.state.Freeze(0);
  Ledger ledger(Ledger::Basis::kNow);
  ledger.Begin(snapshot);
  const Occupancy before = ledger.occupancy();
  for (int i = 0; i < 5; ++i) {
    ledger.Charge(desk.part, QueueId(), {TaskId(), desk.node("n"), {PartSlice(0, 300, 5000)}});
  }
  const NodeView view = ledger.View(desk.node("n"));
  CHECK(view.devices[0].free_compute == -500);
  CHECK(view.devices[0].free_memory_mib == -9000);
  CHECK(view.devices[0].use.of(SliceMode::kFraction) == 5);
  CHECK(view.row.free[kGpu] == 3000);
  CHECK(view.row.free[kGpuMemory] == 48000);
  ledger.RollBackTo(0);
  CHECK(ledger.occupancy().SameColumns(before));
}

}  // namespace
}  // namespace tephra
