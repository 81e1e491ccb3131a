#include "sidecar/wire/plan_codec.h"

#include <catch2/catch.hpp>

#include "plugins/registry.h"
#include "sidecar/wire/plan_difference.h"
#include "tephra/v1/plan.pb.h"
#include "tests/support/build.h"

namespace tephra {
namespace {

// A cluster of one node with 2 GPUs, a gang that starts there and one that never will.
struct Case {
  Engine engine{DefaultAssembly()};
  Plan plan;

  Case() {
    REQUIRE(engine.Apply(QueueUpserted{AQueue("q"), 1}).ok());
    REQUIRE(engine.Apply(NodeUpserted{ANode("n0").Gpus(2), 1}).ok());
    const AJob small = AJob("small").Role("worker", 2, APod().Gpus(1)).In("q");
    const AJob large = AJob("large").Role("worker", 3, APod().Gpus(1)).In("q").Created(1);
    REQUIRE(engine.Apply(JobUpserted{small, 1}).ok());
    REQUIRE(engine.Apply(JobUpserted{large, 1}).ok());
    plan = engine.Tick(12345);
  }
  const Books& books() const { return engine.state().books(); }
  v1::Plan Wire() const {
    v1::Plan wire;
    EncodePlan(plan, books(), &wire);
    return wire;
  }
};

TEST_CASE("Plan codec: a plan goes out in names, with all numbers of its reasons") {
  const Case made;
  const v1::Plan wire = made.Wire();
  CHECK(wire.now_ms() == 12345);
  CHECK(wire.version() == made.plan.version);
  REQUIRE(wire.decisions_size() == 2);

  const v1::Decision& start = wire.decisions(0);
  CHECK(start.job() == "small");
  CHECK(start.part() == v1::PART_MINIMUM);
  CHECK(start.verdict() == v1::VERDICT_START);
  CHECK_FALSE(start.has_reason());
  REQUIRE(start.placements_size() == 2);
  for (int i = 0; i < 2; ++i) {
    CHECK(start.placements(i).role() == "worker");
    CHECK(start.placements(i).index() == i);
    CHECK(start.placements(i).node() == "n0");
    REQUIRE(start.placements(i).slices_size() == 1);
    const Slice& slice = made.plan.decisions[0].placements[static_cast<std::size_t>(i)].slices[0];
    const v1::Slice& sent = start.placements(i).slices(0);
    CHECK(sent.device() == slice.device);
    CHECK(sent.container() == slice.container);
    CHECK(sent.mode() == v1::SLICE_MODE_WHOLE);
    CHECK(sent.compute() == slice.compute);
    CHECK(sent.memory_mib() == slice.memory_mib);
  }

  const v1::Decision& never = wire.decisions(1);
  const Reason& reason = made.plan.decisions[1].reason;
  CHECK(never.job() == "large");
  CHECK(never.verdict() == v1::VERDICT_INFEASIBLE);
  CHECK(never.placements_size() == 0);
  CHECK(never.reason().obstacle() == static_cast<int>(reason.obstacle) + 1);
  CHECK(never.reason().role() == reason.role);
  CHECK(never.reason().tasks_needed() == reason.tasks_needed);
  CHECK(never.reason().tasks_fit() == reason.tasks_fit);
  CHECK(never.reason().binding_kind() == reason.binding);
  CHECK(never.reason().per_task() == reason.per_task);
  CHECK(never.reason().free_total() == reason.free_total);
  CHECK(never.reason().capacity_total() == reason.capacity_total);
  CHECK(never.reason().best_node() == reason.best_node);
  CHECK(never.reason().best_free() == reason.best_free);
}

TEST_CASE("Plan codec: evictions and dropped jobs go out in names too") {
  Case made;
  Decision& decision = made.plan.decisions[1];
  decision.verdict = Verdict::kStartAfterEviction;
  decision.evictions = {made.plan.decisions[0].placements[1].task};
  made.plan.dropped = {made.plan.decisions[0].job};
  const v1::Plan wire = made.Wire();
  REQUIRE(wire.decisions(1).evictions_size() == 1);
  CHECK(wire.decisions(1).evictions(0).job() == "small");
  CHECK(wire.decisions(1).evictions(0).role() == "worker");
  CHECK(wire.decisions(1).evictions(0).index() == 1);
  CHECK(wire.decisions(1).evictions(0).uid().empty());  // no pod of it is known yet
  REQUIRE(wire.dropped_size() == 1);
  CHECK(wire.dropped(0) == "small");
}

TEST_CASE("Plan codec: misfits are counted sparsely, in the order of the enum") {
  Case made;
  Reason reason = made.plan.decisions[1].reason;
  reason.nodes = {};
  reason.nodes[static_cast<int>(Misfit::kFragmented)] = 3;
  reason.nodes[static_cast<int>(Misfit::kFits)] = 2;
  made.plan.decisions[1].reason = reason;
  const v1::Reason sent = made.Wire().decisions(1).reason();
  REQUIRE(sent.nodes_size() == 2);
  CHECK(sent.nodes(0).misfit() == v1::MISFIT_FITS);
  CHECK(sent.nodes(0).nodes() == 2);
  CHECK(sent.nodes(1).misfit() == v1::MISFIT_FRAGMENTED);
  CHECK(sent.nodes(1).nodes() == 3);
}

TEST_CASE("Plan codec: two engines with the same facts send the same bytes") {
  const Case a, b;
  CHECK(PlanBytes(a.plan, a.books()) == PlanBytes(b.plan, b.books()));
}

TEST_CASE("Plan difference: names the first field that differs, its decision and its job") {
  const Case made;
  const v1::Plan plan = made.Wire();
  const std::string bytes = plan.SerializeAsString();
  CHECK_FALSE(ComparePlans(bytes, bytes).has_value());

  const auto difference = [&](auto change) {
    v1::Plan other = plan;
    change(other);
    const auto found = ComparePlans(bytes, other.SerializeAsString());
    REQUIRE(found.has_value());
    return *found;
  };
  SECTION("another node") {
    const PlanDifference found = difference([](v1::Plan& p) {
      p.mutable_decisions(0)->mutable_placements(1)->set_node("n9");
      p.mutable_decisions(1)->set_job("other");
    });
    CHECK(found.decision == 0);
    CHECK(found.job == "small");
    CHECK(found.field == "decisions[0].placements[1].node");
    CHECK(found.recorded == "\"n0\"");
    CHECK(found.made == "\"n9\"");
  }
  SECTION("another number in a reason") {
    const PlanDifference found = difference(
        [](v1::Plan& p) { p.mutable_decisions(1)->mutable_reason()->set_tasks_fit(1000); });
    CHECK(found.decision == 1);
    CHECK(found.job == "large");
    CHECK(found.field == "decisions[1].reason.tasks_fit");
    CHECK(found.made == "1000");
  }
  SECTION("a decision fewer") {
    const PlanDifference found =
        difference([](v1::Plan& p) { p.mutable_decisions()->RemoveLast(); });
    CHECK(found.decision == 1);
    CHECK(found.job == "large");
    CHECK(found.field == "decisions[1]");
    CHECK(found.made.empty());
    CHECK_FALSE(found.recorded.empty());
  }
  SECTION("a decision more") {
    const PlanDifference found = difference([](v1::Plan& p) { p.add_decisions()->set_job("new"); });
    CHECK(found.decision == 2);
    CHECK(found.job == "new");
    CHECK(found.recorded.empty());
  }
  SECTION("something that is in no decision") {
    const PlanDifference found = difference([](v1::Plan& p) { p.set_version(1); });
    CHECK(found.decision == -1);
    CHECK(found.field == "version");
    CHECK(found.made == "1");
  }
  SECTION("the same values in other bytes") {
    // A scalar field that comes twice counts by its last value.
    const auto found = ComparePlans(std::string("\x08\x01", 2) + bytes, bytes);
    REQUIRE(found.has_value());
    CHECK(found->field == "bytes");
  }
  SECTION("bytes that are no plan") {
    const auto found = ComparePlans("\xff", bytes);
    REQUIRE(found.has_value());
    CHECK(found->field == "bytes");
  }
}

}  // namespace
}  // namespace tephra
