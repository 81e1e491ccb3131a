// What else would let a job start: one case for each kind of thing that may be different, in the
// words that people read.
#include "plugins/explain/relaxations.h"

#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

using Lines = std::vector<std::string>;

Relaxations Found(SmallCluster& cluster, const std::string& job) {
  static const Assembly kAssembly = DefaultAssembly();
  const State& state = cluster.engine().state();
  return FindRelaxations(state, kAssembly, state.FindJob(job), 1);
}

Lines Texts(SmallCluster& cluster, const std::string& job) {
  Lines lines;
  for (const Relaxation& relaxation : Found(cluster, job).nearest) {
    lines.push_back(RelaxationText(cluster.books().kinds, relaxation));
  }
  return lines;
}

TEST_CASE("Relaxations: a limit in the way is raised by what is missing, and fewer members fit") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(ANode("b").Gpus(8)).Add(AQueue("research").Limit(kGpu, 4000));
  cluster.Add(AJob("j").In("research").Role("w", 6, APod().Gpus(1))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"fits if queue research's limit were +2 GPU (6 GPU)",
                                     "fits now with 4 of 6 members"});
}

TEST_CASE("Relaxations: who waits at the enqueue gate is told what else is in its way") {
  EngineConfig config;
  config.enqueue_gate = EnqueueGate::kVolcano;
  config.overcommit_permille = 1000;
  SmallCluster cluster(config);
  cluster.Add(ANode("a").Gpus(8)).Add(AJob("large").Role("w", 6, APod().Gpus(2))).Tick();
  CHECK(Texts(cluster, "large") ==
        Lines{"fits if the enqueue gate let it in and it started with 4 of 6 members",
              "fits if the enqueue gate let it in and tasks of role w asked for 1 GPU each",
              "fits if the enqueue gate let it in and there was 1 more node like a"});
}

TEST_CASE("Relaxations: who has room, and waits at the enqueue gate alone, is told so") {
  EngineConfig config;
  config.enqueue_gate = EnqueueGate::kVolcano;
  config.overcommit_permille = 1000;
  SmallCluster cluster(config);
  for (const char* node : {"a", "b"}) {
    cluster.Add(ANode(node).Gpus(4));
    cluster.Foreign(node, node, APod().Gpus(2), {WholeSlice(0), WholeSlice(1)});
  }
  cluster.Add(AJob("inside").Role("w", 1, APod().Gpus(4))).Tick();
  cluster.Add(AJob("j").Role("w", 1, APod().Gpus(1))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"would start now if the enqueue gate let it in"});
}

TEST_CASE("Relaxations: who has to be in one rack is told that a row would do, or anywhere") {
  SmallCluster cluster;
  for (const char* node : {"a", "b", "c"}) cluster.Add(ANode(node).Gpus(8));
  cluster.Tell(DomainUpserted{{"rack-0", 1, "rack", {"a"}, {}}, 1});
  cluster.Tell(DomainUpserted{{"rack-1", 1, "rack", {"b"}, {}}, 1});
  cluster.Tell(DomainUpserted{{"row", 3, "row", {}, {"rack-0", "rack-1"}}, 1});
  JobSpec two = AJob("two").Role("w", 2, APod().Gpus(8)),
          three = AJob("three").Role("w", 3, APod().Gpus(8));
  two.locality = {Locality::Mode::kRequired, 1, ""};
  three.locality = {Locality::Mode::kRequired, 0, "rack"};
  cluster.Add(two).Tick();
  CHECK(Texts(cluster, "two") ==
        Lines{"fits now with 1 of 2 members", "fits if tasks of role w asked for 4 GPU each",
              "fits if it might be in one domain of tier 3, instead of 1"});
  cluster.Add(three).Tick();
  CHECK(Texts(cluster, "three") == Lines{"fits now with 1 of 3 members",
                                         "fits if tasks of role w asked for 2 GPU each",
                                         "fits if it did not have to be in one domain"});
}

TEST_CASE("Relaxations: a group that has to be in one rack is told of what it may be in instead") {
  SmallCluster cluster;
  for (const char* node : {"a", "b"}) cluster.Add(ANode(node).Gpus(8));
  cluster.Tell(DomainUpserted{{"rack-0", 1, "rack", {"a"}, {}}, 1});
  cluster.Tell(DomainUpserted{{"rack-1", 1, "rack", {"b"}, {}}, 1});
  cluster.Tell(DomainUpserted{{"row", 2, "row", {}, {"rack-0", "rack-1"}}, 1});
  JobSpec job = AJob("j").Role("g", 2, APod().Gpus(8));
  job.gang.roles[0].group = "g";
  job.gang.groups = {{"g", 2, false, {Locality::Mode::kRequired, 1, ""}}};
  cluster.Add(job).Tick();
  CHECK(Texts(cluster, "j") ==
        Lines{"fits if tasks of role g asked for 4 GPU each",
              "fits if sub-group g might be in one domain of tier 2, instead of 1"});
}

TEST_CASE("Relaxations: limits of several levels and kinds are raised together") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("top").Limit(kGpu, 3000));
  cluster.Add(AQueue("q").Under("top").Limit(kGpu, 1000).Limit(kCpu, 2000));
  cluster.Add(AJob("j").In("q").Role("w", 1, APod().Gpus(4).Cores(4))).Tick();
  CHECK(Texts(cluster, "j") ==
        Lines{"fits if queue q's limit were +2 CPU (4 CPU) and queue q's limit were +3 GPU (4 GPU) "
              "and queue top's limit were +1 GPU (4 GPU)"});
}

TEST_CASE("Relaxations: a limit that does not help for want of room is offered with the room") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("q").Limit(kGpu, 8000));
  cluster.Add(AJob("j").In("q").Role("w", 12, APod().Gpus(1))).Tick();
  CHECK(Texts(cluster, "j") ==
        Lines{"fits now with 8 of 12 members",
              "fits if there was 1 more node like a and queue q's limit were +4 GPU (12 GPU)"});
}

TEST_CASE("Relaxations: room that is kept for a guarantee is lent, or grows") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("prod").Guarantee(kGpu, 4000)).Add(AQueue("q"));
  cluster.Add(AJob("j").In("q").Role("w", 2, APod().Gpus(3))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"fits if 2 GPU kept for queue prod were lent",
                                     "fits now with 1 of 2 members",
                                     "fits with 1 more node like a"});
}

TEST_CASE("Relaxations: what is kept for two queues is lent by both where one is not enough") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("x").Guarantee(kGpu, 3000));
  cluster.Add(AQueue("y").Guarantee(kGpu, 3000)).Add(AQueue("q"));
  cluster.Add(AJob("j").In("q").Role("w", 1, APod().Gpus(6))).Tick();
  CHECK(Texts(cluster, "j")[1] ==
        "fits if 3 GPU kept for queue x were lent and 1 GPU kept for queue y were lent");
}

TEST_CASE("Relaxations: where room lies in pieces, smaller tasks fit") {
  SmallCluster cluster;
  for (const char* name : {"a", "b", "c"}) {
    cluster.Add(ANode(name).Gpus(8)).Foreign(std::string("on-") + name, name, APod().Gpus(4));
  }
  cluster.Add(AJob("j").Role("w", 1, APod().Gpus(8))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"12 GPU are free, but in pieces: fits if tasks of role w "
                                     "asked for 4 GPU each",
                                     "fits with 1 more node like a"});
}

TEST_CASE("Relaxations: shares of devices are made smaller by per mille") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1))
      .Foreign("f", "a", APod().Share(700, 100), {PartSlice(0, 700, 100)});
  cluster.Add(AJob("j").Role("w", 1, APod().Share(500, 100))).Tick();
  CHECK(Texts(cluster, "j")[0] == "fits if tasks of role w asked for 0.3 GPU each");
}

TEST_CASE("Relaxations: as few nodes more as it takes, like the one that suits best") {
  SmallCluster cluster;
  cluster.Add(ANode("big").Gpus(8)).Add(ANode("small").Gpus(2));
  cluster.Add(AJob("j").Role("w", 5, APod().Gpus(8))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"fits now with 1 of 5 members",
                                     "fits if tasks of role w asked for 2 GPU each",
                                     "fits with 4 more nodes like big"});
}

TEST_CASE("Relaxations: nodes that are cordoned come back, no more than it takes") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(ANode("b").Gpus(4).Cordoned());
  cluster.Add(ANode("c").Gpus(2).Cordoned()).Add(ANode("d").Gpus(1).Cordoned());
  cluster.Add(AJob("j").Role("w", 7, APod().Gpus(1))).Tick();
  CHECK(Texts(cluster, "j")[1] == "fits if 2 of the 3 cordoned or unready nodes (b, c) came back");
}

TEST_CASE("Relaxations: a node that refused the job's tasks is asked again, and stays refused") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(AJob("j").Role("w", 1, APod().Gpus(1))).Tick();
  REQUIRE(cluster.Started("j"));
  cluster.Tell(PlacementRefused{"j", "w", "a", "no"}).Tick();
  CHECK(Texts(cluster, "j") ==
        Lines{"fits if the node that refused its tasks before (a) took them now"});
  CHECK(cluster.books().refused.size() == 1);
}

TEST_CASE("Relaxations: nodes that a mask excludes are opened") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(ANode("b").Gpus(1)).Tell(MaskUpserted{"m", {"a", "b"}, 1});
  cluster.Add(AJob("j").Role("w", 2, APod().Gpus(1).Masked("m"))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"fits if the 2 nodes that the scheduler's own checks exclude "
                                     "(a, b) were open to it"});
}

TEST_CASE("Relaxations: who waits behind another in its queue is told so, and what else it lacks") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(4)).Add(AQueue("q").Fifo());
  cluster.Add(AJob("first").In("q").Role("w", 8, APod().Gpus(1)).Created(1));
  cluster.Add(AJob("second").In("q").Role("w", 4, APod().Gpus(1)).Created(2));
  cluster.Add(AJob("third").In("q").Role("w", 5, APod().Gpus(1)).Created(3)).Tick();
  CHECK(Texts(cluster, "second") == Lines{"would start now if it were not behind job first"});
  CHECK(Texts(cluster, "third") ==
        Lines{"fits if it were not behind job first and it started with 4 of 5 members",
              "fits if it were not behind job first and there was 1 more node like a"});
}

TEST_CASE("Relaxations: of a role that has a minimum of its own fewer tasks are enough") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(5));
  cluster
      .Add(
          AJob("j").Role("lead", 1, APod().Gpus(1), 1).Role("w", 8, APod().Gpus(1), 8).MinMember(9))
      .Tick();
  CHECK(Texts(cluster, "j")[0] == "fits now with 4 of 8 tasks of role w");
}

TEST_CASE(
    "Relaxations: a job that runs, or whose queue is shut, has none; one not asked yet fits") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(2)).Add(AQueue("shut").State(QueueState::kClosed));
  cluster.Add(AJob("runs").Role("w", 1, APod().Gpus(1)));
  cluster.Add(AJob("out").In("shut").Role("w", 1, APod().Gpus(1))).Tick();
  CHECK(Found(cluster, "runs").nearest.empty());
  CHECK(Found(cluster, "runs").trials == 0);
  CHECK(Found(cluster, "out").nearest.empty());
  cluster.Add(AJob("new").Role("w", 1, APod().Gpus(1)));
  CHECK(Found(cluster, "new").fits_now);
}

TEST_CASE("Relaxations: whoever looks changes nothing") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(3)).Add(ANode("b").Gpus(3).Cordoned());
  cluster.Add(AJob("j").Role("w", 5, APod().Gpus(1))).Tick();
  const std::uint64_t version = cluster.books().version;
  CHECK(Found(cluster, "j").nearest.size() == 3);
  CHECK(cluster.books().version == version);
  CHECK(cluster.engine().state().CheckBooks() == "");
}

TEST_CASE("Relaxations: where the search budget ends first, no more is tried and that is said") {
  EngineConfig config;
  config.search_budget = 1;
  SmallCluster cluster(config);
  cluster.Add(ANode("a").Gpus(3)).Add(ANode("b").Gpus(3)).Add(ANode("c").Gpus(3));
  cluster.Add(AJob("j").Role("x", 3, APod().Gpus(2), 3).Role("y", 4, APod().Gpus(1), 4)).Tick();
  const Relaxations found = Found(cluster, "j");
  CHECK(found.ended);
  CHECK(found.trials <= 3);
}

}  // namespace
}  // namespace tephra
