// What would let a pending job start: one case for each kind of change, with its text.
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
  CHECK(Texts(cluster, "j") == Lines{"fits if the limit of queue research is 6 GPUs (now 4 GPUs)",
                                     "fits now with 4 of 6 members"});
}

TEST_CASE("Relaxations: a job that is not preemptible starts if its queue deserves more, or if it is preemptible") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("research").Deserved(kGpu, 3000)).Add(AQueue("other").Deserved(kGpu, 5000));
  cluster.Add(AJob("j").In("research").Preemptible(false).Role("w", 5, APod().Gpus(1))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"fits now with 3 of 5 members", "fits if queue research deserves 5 GPUs (now 3 GPUs)",
                                     "fits if the job is preemptible"});
}

TEST_CASE("Relaxations: a job at the enqueue gate also gets the other changes that it needs") {
  EngineConfig config;
  config.enqueue_gate = EnqueueGate::kVolcano;
  config.overcommit_permille = 1000;
  SmallCluster cluster(config);
  cluster.Add(ANode("a").Gpus(8)).Add(AJob("large").Role("w", 6, APod().Gpus(2))).Tick();
  CHECK(Texts(cluster, "large") ==
        Lines{"fits if the enqueue gate admits the job and the job starts with 4 of 6 members",
              "fits if the enqueue gate admits the job and each task of role w requests 1 GPU",
              "fits if the enqueue gate admits the job and the cluster has 1 more node like a"});
}

TEST_CASE("Relaxations: a job with room needs only the enqueue gate") {
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
  CHECK(Texts(cluster, "j") == Lines{"starts now if the enqueue gate admits the job"});
}

TEST_CASE("Relaxations: a job that must run in one rack fits in a row, or anywhere") {
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
        Lines{"fits now with 1 of 2 members", "fits if each task of role w requests 4 GPUs",
              "fits if the job may span one domain of tier 3 (now tier 1)"});
  cluster.Add(three).Tick();
  CHECK(Texts(cluster, "three") == Lines{"fits now with 1 of 3 members",
                                         "fits if each task of role w requests 2 GPUs",
                                         "fits if the job does not have to run in one domain"});
}

TEST_CASE("Relaxations: a sub-group that must run in one rack fits in a row") {
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
        Lines{"fits if each task of role g requests 4 GPUs",
              "fits if sub-group g may span one domain of tier 2 (now tier 1)"});
}

TEST_CASE("Relaxations: limits of several levels and kinds are raised together") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("top").Limit(kGpu, 3000));
  cluster.Add(AQueue("q").Under("top").Limit(kGpu, 1000).Limit(kCpu, 2000));
  cluster.Add(AJob("j").In("q").Role("w", 1, APod().Gpus(4).Cores(4))).Tick();
  CHECK(Texts(cluster, "j") ==
        Lines{"fits if the limit of queue q is 4 CPUs (now 2 CPUs) and the limit of queue q "
              "is 4 GPUs (now 1 GPU) and the limit of queue top is 4 GPUs (now 3 GPUs)"});
}

TEST_CASE("Relaxations: a limit that does not help without room is offered together with nodes") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("q").Limit(kGpu, 8000));
  cluster.Add(AJob("j").In("q").Role("w", 12, APod().Gpus(1))).Tick();
  CHECK(Texts(cluster, "j") ==
        Lines{"fits now with 8 of 12 members",
              "fits if the cluster has 1 more node like a and the limit of queue q is 12 GPUs "
              "(now 8 GPUs)"});
}

TEST_CASE("Relaxations: guaranteed resources are lent, or nodes are added") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("prod").Guarantee(kGpu, 4000)).Add(AQueue("q"));
  cluster.Add(AJob("j").In("q").Role("w", 2, APod().Gpus(3))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"fits if queue prod lends 2 GPUs of its guarantee",
                                     "fits now with 1 of 2 members",
                                     "fits with 1 more node like a"});
}

TEST_CASE("Relaxations: two queues lend their guarantees if one is not enough") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("x").Guarantee(kGpu, 3000));
  cluster.Add(AQueue("y").Guarantee(kGpu, 3000)).Add(AQueue("q"));
  cluster.Add(AJob("j").In("q").Role("w", 1, APod().Gpus(6))).Tick();
  CHECK(Texts(cluster, "j")[1] ==
        "fits if queue x lends 3 GPUs of its guarantee and queue y lends 1 GPU of its guarantee");
}

TEST_CASE("Relaxations: smaller tasks fit into fragmented room") {
  SmallCluster cluster;
  for (const char* name : {"a", "b", "c"}) {
    cluster.Add(ANode(name).Gpus(8)).Foreign(std::string("on-") + name, name, APod().Gpus(4));
  }
  cluster.Add(AJob("j").Role("w", 1, APod().Gpus(8))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"free GPUs are fragmented (12 GPUs): fits if each task of "
                                     "role w requests 4 GPUs",
                                     "fits with 1 more node like a"});
}

TEST_CASE("Relaxations: shares of devices shrink in steps of a per mille") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1))
      .Foreign("f", "a", APod().Share(700, 100), {PartSlice(0, 700, 100)});
  cluster.Add(AJob("j").Role("w", 1, APod().Share(500, 100))).Tick();
  CHECK(Texts(cluster, "j")[0] == "fits if each task of role w requests 0.3 GPU");
}

TEST_CASE("Relaxations: the fewest new nodes, like the most suitable node") {
  SmallCluster cluster;
  cluster.Add(ANode("big").Gpus(8)).Add(ANode("small").Gpus(2));
  cluster.Add(AJob("j").Role("w", 5, APod().Gpus(8))).Tick();
  CHECK(Texts(cluster, "j") == Lines{"fits now with 1 of 5 members",
                                     "fits if each task of role w requests 2 GPUs",
                                     "fits with 4 more nodes like big"});
}

TEST_CASE("Relaxations: as few cordoned nodes as needed become available") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(ANode("b").Gpus(4).Cordoned());
  cluster.Add(ANode("c").Gpus(2).Cordoned()).Add(ANode("d").Gpus(1).Cordoned());
  cluster.Add(AJob("j").Role("w", 7, APod().Gpus(1))).Tick();
  CHECK(Texts(cluster, "j")[1] ==
        "fits if 2 of the 3 cordoned or unready nodes (b, c) become schedulable");
}

TEST_CASE("Relaxations: a node that rejected the tasks is tried again, and stays rejected") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(AJob("j").Role("w", 1, APod().Gpus(1))).Tick();
  REQUIRE(cluster.Started("j"));
  cluster.Tell(PlacementRefused{"j", "w", "a", "no"}).Tick();
  CHECK(Texts(cluster, "j") ==
        Lines{"fits if the node that rejected these tasks before (a) accepts them"});
  CHECK(cluster.books().refused.size() == 1);
}

TEST_CASE("Relaxations: nodes that a mask excludes are allowed") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(1)).Add(ANode("b").Gpus(1)).Tell(MaskUpserted{"m", {"a", "b"}, 1});
  cluster.Add(AJob("j").Role("w", 2, APod().Gpus(1).Masked("m"))).Tick();
  CHECK(Texts(cluster, "j") ==
        Lines{"fits if the 2 nodes that Volcano's predicates exclude (a, b) are allowed"});
}

TEST_CASE("Relaxations: a job behind another one needs its turn, and the other changes") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(4)).Add(AQueue("q").Fifo());
  cluster.Add(AJob("first").In("q").Role("w", 8, APod().Gpus(1)).Created(1));
  cluster.Add(AJob("second").In("q").Role("w", 4, APod().Gpus(1)).Created(2));
  cluster.Add(AJob("third").In("q").Role("w", 5, APod().Gpus(1)).Created(3)).Tick();
  CHECK(Texts(cluster, "second") == Lines{"starts now if job first is not ahead of this job"});
  CHECK(Texts(cluster, "third") ==
        Lines{"fits if job first is not ahead of this job and the job starts with 4 of 5 members",
              "fits if job first is not ahead of this job and the cluster has 1 more node like a"});
}

TEST_CASE("Relaxations: a role with its own minimum starts with fewer tasks") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(5));
  cluster
      .Add(
          AJob("j").Role("lead", 1, APod().Gpus(1), 1).Role("w", 8, APod().Gpus(1), 8).MinMember(9))
      .Tick();
  CHECK(Texts(cluster, "j")[0] == "fits now with 4 of 8 tasks of role w");
}

TEST_CASE("Relaxations: a running job and a closed queue have none; a new job fits now") {
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

TEST_CASE("Relaxations: the search changes nothing") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(3)).Add(ANode("b").Gpus(3).Cordoned());
  cluster.Add(AJob("j").Role("w", 5, APod().Gpus(1))).Tick();
  const std::uint64_t version = cluster.books().version;
  CHECK(Found(cluster, "j").nearest.size() == 3);
  CHECK(cluster.books().version == version);
  CHECK(cluster.engine().state().CheckBooks() == "");
}

TEST_CASE("Relaxations: the answer says that the search budget ended") {
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
