// The ids that the kubelet counts.
#include "plugins/node/kubelet/slots.h"

#include <catch2/catch.hpp>

#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

std::vector<std::string> Ids(const std::vector<Slot>& slots, bool healthy) {
  std::vector<std::string> ids;
  for (const Slot& slot : slots) {
    if (slot.healthy == healthy) ids.push_back(slot.id);
  }
  return ids;
}

TEST_CASE("Each GPU has its slots, on its NUMA node, in a fixed order") {
  const auto slots = MakeSlots(SomeGpus(2), 2, {});
  CHECK(slots ==
        std::vector<Slot>{
            {"0-0", 0, 0, true}, {"0-1", 0, 0, true}, {"1-0", 1, 1, true}, {"1-1", 1, 1, true}});
}

TEST_CASE("An unhealthy GPU takes the slots of its users, and spares other slots") {
  Gpus gpus = SomeGpus(2);
  gpus.devices[1].hardware.healthy = false;
  // 1-0 is held for GPU 0; 0-0 for the one that failed.
  const auto slots = MakeSlots(gpus, 2, {{"1-0", {0}}, {"0-0", {1}}});
  CHECK(Ids(slots, false) == std::vector<std::string>{"0-0", "1-1"});
}

TEST_CASE("If all slots of an unhealthy GPU are held, free slots of other GPUs go") {
  Gpus gpus = SomeGpus(2);
  gpus.devices[1].hardware.healthy = false;
  const auto slots = MakeSlots(gpus, 2, {{"1-0", {0}}, {"1-1", {0}}});
  CHECK(Ids(slots, false) == std::vector<std::string>{"0-0", "0-1"});
}

TEST_CASE("A recovered GPU gives its slots back") {
  CHECK(Ids(MakeSlots(SomeGpus(2), 2, {{"0-0", {1}}}), false).empty());
}

TEST_CASE("Slots of one NUMA node are preferred, the node on which fewest are left over") {
  const auto slots = MakeSlots(SomeGpus(4), 2, {});
  const std::vector<std::string> available = {"3-1", "0-0", "3-0", "0-1", "1-0", "2-1"};
  // Both nodes have three: the lower one.
  CHECK(PreferSlots(slots, available, {}, 2) == std::vector<std::string>{"0-0", "0-1"});
  CHECK(PreferSlots(slots, {"3-1", "0-0", "3-0", "0-1", "1-0"}, {}, 2) ==
        std::vector<std::string>{"3-0", "3-1"});
  // What must be is there already.
  CHECK(PreferSlots(slots, available, {"2-1"}, 3) ==
        std::vector<std::string>{"2-1", "3-0", "3-1"});
  CHECK(PreferSlots(slots, available, {}, 5).size() == 5);
}

TEST_CASE("Ids that were never given out are not preferred") {
  CHECK(PreferSlots(MakeSlots(SomeGpus(1), 2, {}), {"0-0", "../etc", "9-9"}, {}, 2) ==
        std::vector<std::string>{"0-0"});
}

}  // namespace
}  // namespace tephra::node
