#include "plugins/fairshare/fair_order.h"

#include <catch2/catch.hpp>

#include "plugins/fairshare/fair_shares.h"
#include "tests/support/small_cluster.h"

namespace tephra {
namespace {

Resources ShareOf(const SmallCluster& cluster, const std::string& queue) {
  const Books& books = cluster.books();
  return FairShares().Of(books).share[books.queues.Find(queue).index()];
}

void Submit(SmallCluster& cluster, const std::string& queue, int jobs, const PodTemplate& pod) {
  for (int i = 0; i < jobs; ++i) {
    cluster.Add(AJob(queue + std::to_string(i)).In(queue).Role("w", 1, pod));
  }
}

TEST_CASE("FairShares: each kind is filled by the usage and the requests of jobs") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(8).Cores(16)).Add(AQueue("a")).Add(AQueue("b").Weight(3));
  Submit(cluster, "a", 8, APod().Gpus(1).Cores(2));
  Submit(cluster, "b", 2, APod().Cores(7));
  CHECK(ShareOf(cluster, "a")[kCpu] == 4000);
  CHECK(ShareOf(cluster, "b")[kCpu] == 12000);
  CHECK(ShareOf(cluster, "a")[kGpu] == 8000);
  CHECK(ShareOf(cluster, "b")[kGpu] == 0);
  CHECK(ShareOf(cluster, "a")[kFirstExtendedKind] == Share::kNotShared);
  const Resources before = ShareOf(cluster, "a");
  cluster.Tick();  // usage and requests change, shares do not
  CHECK(ShareOf(cluster, "a")[kCpu] == before[kCpu]);
  CHECK(ShareOf(cluster, "a")[kGpu] == before[kGpu]);
}

TEST_CASE("FairShares: with quotas of GPUs, GPU memory is not shared") {
  SmallCluster cluster;
  cluster.Add(ANode("n").Gpus(8)).Add(AQueue("a")).Add(AQueue("b"));
  Submit(cluster, "a", 8, APod().Gpus(1));
  CHECK(ShareOf(cluster, "a")[kGpuMemory] == 8 * kDeviceMib);
  cluster.Add(AQueue("b").Deserved(kGpu, 4000));
  CHECK(ShareOf(cluster, "a")[kGpuMemory] == Share::kNotShared);
  cluster.Add(AQueue("b").Deserved(kGpu, 4000).Deserved(kGpuMemory, 100));
  CHECK(ShareOf(cluster, "a")[kGpuMemory] == 8 * kDeviceMib);
}

TEST_CASE("FairShares: a GPU model is shared out while more of it is wanted than there is") {
  SmallCluster cluster;
  cluster.Tell(KindsDeclared{{"gpu.A100"}});
  const Kind a100 = kFirstExtendedKind;
  cluster.Add(ANode("a").Gpus(4, "A100")).Add(ANode("h").Gpus(8, "H100"));
  cluster.Add(AQueue("owner").Deserved(a100, 3000)).Add(AQueue("guest"));
  Submit(cluster, "guest", 6, APod().Gpus(1));
  cluster.Tick();
  cluster.Confirm();
  REQUIRE(cluster.books().occupancy.queue_total(cluster.books().queues.Find("guest"))[a100] ==
          4000);
  // No job requests the model, and all of it is in use.
  CHECK(ShareOf(cluster, "guest")[a100] == 4000);
  Submit(cluster, "owner", 4, APod().Gpus(1).Models({"A100"}));
  CHECK(ShareOf(cluster, "owner")[a100] == 3500);  // 3 deserved, and half of what is left
  CHECK(ShareOf(cluster, "guest")[a100] == 500);
  CHECK(ShareOf(cluster, "owner")[kGpu] == 4000);
  CHECK(ShareOf(cluster, "guest")[kGpu] == 6000);
  cluster.Add(ANode("b").Gpus(5, "A100"));
  CHECK(ShareOf(cluster, "owner")[a100] == Share::kNotShared);
  CHECK(ShareOf(cluster, "guest")[a100] == Share::kNotShared);
}

TEST_CASE("DominantPart: the largest part counts, and a share of zero counts as endless") {
  Resources share, holds;
  share.amount.fill(Share::kNotShared);
  share[kCpu] = 8000, share[kGpu] = 4000;
  holds[kCpu] = 2000, holds[kGpu] = 3000, holds[kMemory] = 5;
  CHECK(DominantPart(holds, share) == 750000);
  CHECK(DominantPart({}, share) == 0);
  share[kMemory] = 0;
  CHECK(DominantPart(holds, share) == kNoShare);
}

}  // namespace
}  // namespace tephra
