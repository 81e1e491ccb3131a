#include "plugins/links/links_score.h"

#include <catch2/catch.hpp>

#include "tests/support/frozen.h"

namespace tephra {
namespace {

// Four GPUs: two pairs by NVLink, PCIe between the pairs.
NodeSpec Paired(const std::string& name) {
  NodeSpec node = ANode(name).Gpus(4, "A100");
  node.gpu_links = NodeLinks(4);
  node.gpu_links.Set(0, 1, NvLink(4, "A100"));
  node.gpu_links.Set(2, 3, NvLink(4, "A100"));
  return node;
}

TEST_CASE("Links score: by the slowest link between the GPUs that the pod would get") {
  Frozen cluster;
  cluster.Add(Paired("whole")).Add(Paired("halved")).Add(ANode("unknown").Gpus(4, "A100"));
  cluster.Foreign("halved", APod().Gpus(1), {WholeSlice(0)});
  cluster.Foreign("halved", APod().Gpus(1), {WholeSlice(2)});
  const auto rate = [&](const std::string& node, const PodTemplate& pod) {
    return LinksScore().Rate(cluster.View(node), MakeTaskClass(pod));
  };
  const auto points = [](std::int64_t speed) {
    return static_cast<Points>(kMaxPoints * speed / (speed + 100'000));
  };
  CHECK(rate("whole", APod().Gpus(2)) == points(NvLink(4, "A100").mb_per_s));
  CHECK(rate("whole", APod().Gpus(3)) == points(PcieLink(LinkType::kSys).mb_per_s));
  CHECK(rate("halved", APod().Gpus(2)) == points(PcieLink(LinkType::kSys).mb_per_s));
  CHECK(rate("unknown", APod().Gpus(2)) == 0);
  CHECK(rate("whole", APod().Gpus(1)) == 0);
  CHECK(rate("whole", APod().Share(500, 0)) == 0);
}

}  // namespace
}  // namespace tephra
