// Who holds what a queue was promised, and whether it can be taken back.
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

// Eight GPUs all lent to `dev` before anybody of `research` asks.
SmallCluster Lent(const AQueue& dev, AJob job = AJob("lent"), const EngineConfig& config = {}) {
  SmallCluster cluster(config);
  cluster.Add(ANode("a").Gpus(8)).Add(AQueue("research").Deserved(kGpu, 6000)).Add(dev);
  cluster.Add(job.In("dev").Role("w", 8, APod().Gpus(1)).MinMember(1)).Tick();
  cluster.Confirm().Add(AJob("j").In("research").Role("w", 4, APod().Gpus(1)));
  return cluster;
}

const char kHas[] = "queue research is to have 4 GPU (deserves 6 GPU) and holds 0 GPU";

TEST_CASE("Borrowers: who holds more than its own, and that it may be reclaimed") {
  SmallCluster cluster = Lent(AQueue("dev"));
  CHECK(WordsOf(cluster, "j") ==
        std::vector<std::string>{
            kHas, "queue dev holds 8 GPU, 4 GPU more than its own: 4 GPU may be reclaimed"});
  CHECK(WordsOf(cluster, "lent").empty());
}

TEST_CASE("Borrowers: why what they hold is left alone") {
  const auto why = [](SmallCluster cluster) { return WordsOf(cluster, "j", 1).at(1); };
  const std::string begin = "queue dev holds 8 GPU, 4 GPU more than its own: 8 GPU ";
  CHECK(why(Lent(AQueue("dev").Reclaimable(false))) ==
        begin + "is left alone, since its queue is not reclaimable");
  CHECK(why(Lent(AQueue("dev"), AJob("lent").Preemptible(false))) ==
        begin + "is held by jobs that are not preemptible");
  CHECK(why(Lent(AQueue("dev"), AJob("lent").MinRun(60 * kSecondMs))) ==
        begin + "is held by tasks that have not run for their least time yet");
  EngineConfig config;
  config.disabled_actions = {"reclaim"};
  CHECK(why(Lent(AQueue("dev"), AJob("lent"), config)) ==
        begin + "is left alone, since the action reclaim is disabled");
}

TEST_CASE("Borrowers: a job that asks for more than its queue is to have takes nothing back") {
  SmallCluster cluster = Lent(AQueue("dev"));
  cluster.Add(AJob("large").In("research").Role("w", 8, APod().Gpus(1)));
  CHECK(WordsOf(cluster, "large").at(1) ==
        "queue dev holds 8 GPU, 7 GPU more than its own: 8 GPU is left alone, since with this job "
        "its queue would hold more than its own");
}

TEST_CASE("Borrowers: those beside the queue above are named at their level") {
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

TEST_CASE("Borrowers: the five largest are named, the others summed") {
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
