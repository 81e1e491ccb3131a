// The scheduler's table of MIG placements against the hardware.
#include <cstdio>

#include <catch2/catch.hpp>

#include "plugins/node/partition/mig_partitioner.h"
#include "tests/plugins/node/fake_node.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

// Every multiset of profiles that the packings of an A100-40GB have, applied one after the other at the
// places that the scheduler's table chooses.
TEST_CASE("MigPartitioner: the arithmetic of an A100-40GB, on the hardware") {
  const std::vector<std::pair<std::vector<std::string>, bool>> asked = {
      {{"2g.10gb", "2g.10gb", "2g.10gb"}, true},
      {{"2g.10gb", "2g.10gb", "2g.10gb", "2g.10gb"}, false},
      {std::vector<std::string>(7, "1g.5gb"), true},
      {std::vector<std::string>(8, "1g.5gb"), false},
      {{"3g.20gb", "3g.20gb"}, true},
      {{"3g.20gb", "3g.20gb", "1g.5gb"}, false},
      {{"4g.20gb", "2g.10gb", "1g.5gb"}, true},
      {{"4g.20gb", "2g.10gb", "1g.5gb", "1g.5gb"}, false},
      {{"7g.40gb"}, true}};
  for (const auto& [profiles, fits] : asked) {
    FakeNode node(R"({"model": "A100-40GB", "count": 1, "mig": true})");
    const Gpus gpus = node.Read(AllMay(kMigOnly));
    const MigModel& model = *FindMigModel("A100-40GB");
    const MigPlacements table(model);
    MigPartitioner partitioner(node.nvml(), {node.capabilities()});
    REQUIRE(Restore(partitioner, {}, gpus).ok());
    MigTaken taken = 0;
    bool all = true;
    int multiprocessors = 0;
    std::string text;
    for (const std::string& name : profiles) {
      const int profile = FindMigProfile(model, name);
      const std::optional<int> start = table.Choose(taken, profile);
      all &= start.has_value();
      if (!start) break;
      taken |= MigFootprint(model.profiles[static_cast<std::size_t>(profile)], *start);
      Grant grant;
      grant.holder.nonce = text += name + "@" + std::to_string(*start) + " ";
      grant.holder.pod_uid = grant.holder.nonce;
      GrantedSlice& slice = grant.slices.emplace_back();
      slice.mode = SliceMode::kMig;
      slice.mig_profile = name;
      slice.mig_start = *start;
      Edits edits;
      INFO(text);
      REQUIRE(partitioner.Apply(grant, gpus, edits).ok());
      const auto known = node.nvml().MigProfiles(*node.nvml().Find(gpus.devices[0].hardware.uuid));
      for (const NvmlMigProfile& each : *known) {
        if (each.name == name) multiprocessors += each.multiprocessors;
      }
    }
    CHECK(all == fits);
    CHECK(node.counts().illegal == 0);
    std::printf("A100-40GB %s: %s(%d SMs)\n", all ? "holds" : "has no more room than", text.c_str(),
                multiprocessors);
  }
}

}  // namespace
}  // namespace tephra::node
