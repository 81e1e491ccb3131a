// The queues that use the share of another queue, and whether it can be reclaimed.
#include "plugins/explain/borrowers.h"

#include <catch2/catch.hpp>

#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

std::vector<Shortfall> Lacking(SmallCluster& cluster, const std::string& job, TimeMs now = 1) {
  const Assembly assembly = DefaultAssembly();
  const Books& books = cluster.books();
  std::int32_t living = 0;
  const Snapshot snapshot(books, now, &living);
  const Policies policies =
      assembly.policies(books.config, assembly.score(books.config, books, nullptr));
  return FindShortfalls(snapshot, policies, cluster.engine().state().FindJob(job));
}

std::vector<std::string> WordsOf(SmallCluster& cluster, const std::string& job, TimeMs now = 1) {
  std::vector<std::string> lines;
  for (const Shortfall& shortfall : Lacking(cluster, job, now)) {
    lines.push_back(ShortfallText(cluster.books().kinds, shortfall));
    for (const Borrower& borrower : shortfall.borrowers) {
      lines.push_back(BorrowerText(cluster.books().kinds, shortfall.kind, borrower));
    }
  }
  return lines;
}

// All eight GPUs are lent to `dev` before a job of `research` requests any.
SmallCluster Lent(const AQueue& dev, AJob job = AJob("lent"), const EngineConfig& config = {}) {
  SmallCluster cluster(config);
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("research").Deserved(kGpu, 6000)).Add(dev);
  cluster.Add(job.In("dev").Role("w", 8, APod().Gpus(1)).MinMember(1)).Tick();
  cluster.Confirm().Add(AJob("j").In("research").Role("w", 4, APod().Gpus(1)));
  return cluster;
}

const char kShare[] = "queue research has a share of 4 GPUs (deserved: 6 GPUs) and uses 0 GPUs";

TEST_CASE("Borrowers: a queue above its share is named, with what can be reclaimed") {
  SmallCluster cluster = Lent(AQueue("dev"));
  CHECK(WordsOf(cluster, "j") ==
        std::vector<std::string>{kShare,
                                 "queue dev uses 8 GPUs (4 GPUs above its share): 4 GPUs can be "
                                 "reclaimed"});
  CHECK(WordsOf(cluster, "lent").empty());
}

TEST_CASE("Borrowers: the text says why resources cannot be reclaimed") {
  const auto why = [](SmallCluster cluster) { return WordsOf(cluster, "j", 1).at(1); };
  const std::string begin = "queue dev uses 8 GPUs (4 GPUs above its share): 8 GPUs ";
  CHECK(why(Lent(AQueue("dev").Reclaimable(false))) ==
        begin + "cannot be reclaimed (the queue or a child queue has reclaimable: false)");
  EngineConfig lends_for_good;
  lends_for_good.non_preemptible_quota = NonPreemptibleQuota::kNone;
  CHECK(why(Lent(AQueue("dev"), AJob("lent").Preemptible(false), lends_for_good)) ==
        begin + "cannot be reclaimed (the jobs are not preemptible)");
  CHECK(why(Lent(AQueue("dev"), AJob("lent").MinRun(60 * kSecondMs))) ==
        begin + "cannot be reclaimed yet (the minimum run time is not over)");
  EngineConfig config;
  config.disabled_actions = {"reclaim"};
  CHECK(why(Lent(AQueue("dev"), AJob("lent"), config)) ==
        begin + "cannot be reclaimed (the action reclaim is disabled)");
}

TEST_CASE("Borrowers: a job that needs more than the share of its queue reclaims nothing") {
  SmallCluster cluster = Lent(AQueue("dev"));
  cluster.Add(AJob("large").In("research").Role("w", 8, APod().Gpus(1)));
  CHECK(WordsOf(cluster, "large").at(1) ==
        "queue dev uses 8 GPUs (7 GPUs above its share): 8 GPUs cannot be reclaimed (the queue of "
        "this job would exceed its share)");
}

TEST_CASE("Borrowers: queues beside a parent queue are named at their level") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("science").Deserved(kGpu, 8000));
  cluster.Add(AQueue("research").Under("science"))
      .Add(AQueue("web"))
      .Add(AQueue("ads").Under("web"));
  cluster.Add(AJob("lent").In("ads").Role("w", 8, APod().Gpus(1))).Tick();
  cluster.Confirm().Add(AJob("j").In("research").Role("w", 4, APod().Gpus(1)));
  const std::vector<Shortfall> found = Lacking(cluster, "j");
  REQUIRE(found.size() == 1);
  CHECK(found[0].queue == "science");
  REQUIRE(found[0].borrowers.size() == 1);
  CHECK(found[0].borrowers[0].queue == "web");
  CHECK(found[0].borrowers[0].reclaimable() == 4000);
}

TEST_CASE("Borrowers: the five largest are named, and the rest is summed") {
  SmallCluster cluster;
  cluster.Add(ANode("a").Gpus(28)).Add(AQueue("mine").Deserved(kGpu, 28000));
  for (int q = 1; q <= 7; ++q) {
    const std::string name = "q" + std::to_string(q);
    cluster.Add(AQueue(name)).Add(AJob("in-" + name).In(name).Role("w", q, APod().Gpus(1)));
  }
  cluster.Tick();
  cluster.Confirm().Add(AJob("j").In("mine").Role("w", 28, APod().Gpus(1)));
  const std::vector<Shortfall> found = Lacking(cluster, "j");
  REQUIRE(found.size() == 1);
  REQUIRE(found[0].borrowers.size() == 5);
  CHECK(found[0].borrowers[0].queue == "q7");
  CHECK(found[0].borrowers[4].queue == "q3");
  CHECK(found[0].others == 2);
  CHECK(found[0].others_over == 3000);
}

}  // namespace
}  // namespace tephra
