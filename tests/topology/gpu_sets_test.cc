#include "topology/gpu_sets.h"

#include <catch2/catch.hpp>

#include "tests/support/gpu_machines.h"
#include "topology/links_text.h"

namespace tephra {
namespace {

GpuSets Sets(std::string_view topo, std::string_view model) {
  return GpuSets(*ParseLinks(topo, model));
}

TEST_CASE("GpuSets: on a DGX-1 a pair gets two NVLinks and four get a quad of the mesh") {
  const GpuSets sets = Sets(kDgx1Topo, "V100");
  CHECK(sets.SlowestLinkMbPerS(sets.Best(0xff, 2)) == 40000);
  CHECK(sets.Best(0xff, 4) == 0x0f);
  CHECK(sets.SlowestLinkMbPerS(0x0f) == 20000);
  CHECK(sets.SlowestLinkMbPerS(0xff) == 6000);
}

TEST_CASE("GpuSets: a pair leaves a quad whole where it can") {
  const GpuSets sets = Sets(kDgx1Topo, "V100");
  const GpuMask pair = sets.Best(0xff, 2);
  CHECK((pair == (pair & 0x0f) || pair == (pair & 0xf0)));
}

TEST_CASE("GpuSets: one GPU is taken where it breaks no pair") {
  const GpuSets sets = Sets(kPcieBoxTopo, "L40S");
  CHECK(sets.Best(0b0000'0111, 1) == 0b0000'0100);
  CHECK(sets.Best(0b1101'0000, 1) == 0b0001'0000);
  CHECK(sets.Best(0b1101'1011, 1) == 0b0001'0000);
}

TEST_CASE("GpuSets: on an NVSwitch GPUs of one NUMA node are taken, and the other left whole") {
  const GpuSets sets = Sets(kHgxH100Topo, "H100");
  CHECK(sets.Best(0xfe, 4) == 0xf0);
  CHECK(sets.Best(0b1000'1111, 1) == 0b1000'0000);
  CHECK(sets.Best(0b1100'1111, 2) == 0b1100'0000);
}

TEST_CASE("GpuSets: there is no set if fewer GPUs are free than requested") {
  const GpuSets sets = Sets(kHgxH100Topo, "H100");
  CHECK(sets.Best(0x07, 4) == 0);
  CHECK(sets.Best(0, 1) == 0);
  CHECK(sets.Best(0x07, 3) == 0x07);
  CHECK(GpuSets(NodeLinks(0)).Best(0, 1) == 0);
}

TEST_CASE("GpuSets: nodes with equal links share a table, for as long as one of them has it") {
  SharedGpuSets shared;
  const NodeLinks links = *ParseLinks(kDgx1Topo, "V100");
  std::shared_ptr<const GpuSets> first = shared.Of(links);
  CHECK(shared.Of(links) == first);
  CHECK(shared.Of(NodeLinks(8)) != first);
  const std::weak_ptr<const GpuSets> watched = first;
  first.reset();
  CHECK(watched.expired());
  CHECK(shared.Of(links)->gpus() == 8);
}

}  // namespace
}  // namespace tephra
