#include "plugins/node/nvml/nvml.h"

#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include <catch2/catch.hpp>

#include "tests/plugins/node/fake_node.h"
#include "tests/support/gpu_machines.h"
#include "topology/links_text.h"
#include "topology/mig.h"

namespace tephra::node {
namespace {

std::vector<NvmlCard> CardsOf(const Nvml& nvml) {
  const auto found = nvml.Cards();
  REQUIRE(found.ok());
  std::vector<NvmlCard> cards;
  for (const absl::StatusOr<NvmlCard>& card : *found) {
    INFO(card.status().ToString());
    REQUIRE(card.ok());
    cards.push_back(*card);
  }
  return cards;
}

TEST_CASE("Nvml: a library that is not there is not found, one that is none says so") {
  CHECK(absl::IsNotFound(Nvml::Load({"/nonexistent/libnvidia-ml.so.1", "/sys"}).status()));
  const absl::Status other = Nvml::Load({"libm.so.6", "/sys"}).status();
  CHECK(absl::IsUnimplemented(other));
  CHECK(other.message() == "nvmlInit_v2: the driver has no such call (13)");
}

TEST_CASE("Nvml: a card is what the driver says, and its NUMA node what the kernel says") {
  const FakeNode node(R"({"gpus": [{"model": "H100-80GB", "numa": 1, "bus": 59},
                                   {"model": "NVIDIA L40S"}], "driver": "550.54.15"})");
  const std::vector<NvmlCard> cards = CardsOf(node.nvml());
  REQUIRE(cards.size() == 2);
  CHECK(cards[0].model == "NVIDIA H100 80GB HBM3");
  CHECK(cards[0].bus_id == "00000000:3B:00.0");
  CHECK(cards[0].pci_device_id == 0x2330);
  CHECK(cards[0].memory_mib == 81559);
  CHECK(cards[0].cuda_major == 9);
  CHECK(cards[0].numa == 1);
  CHECK(cards[1].minor == 1);
  CHECK(cards[1].numa == std::nullopt);
  CHECK(*node.nvml().DriverVersion() == "550.54.15");
  CHECK(*node.nvml().CudaVersion() == 12040);
  CHECK(*node.nvml().Find(cards[1].uuid) == cards[1].handle);
  CHECK(absl::IsNotFound(node.nvml().Find("GPU-none").status()));
}

TEST_CASE("Nvml: links of the known machines are what nvidia-smi prints of them") {
  constexpr const char* kPresets[] = {"dgx-1", "dgx-a100", "hgx-h100", "pcie"};
  for (std::size_t i = 0; i < std::size(kPresets); ++i) {
    const FakeNode node(R"({"preset": ")" + std::string(kPresets[i]) + "\"}");
    const std::vector<NvmlCard> cards = CardsOf(node.nvml());
    const NodeLinks printed = *ParseLinks(kGpuMachines[i].topo, cards[0].model);
    INFO(kPresets[i]);
    CHECK(node.nvml().Links(cards) == printed);
  }
}

TEST_CASE("Nvml: processes, use and memory errors are those of the control file") {
  FakeNode node(R"({"model": "A100-40GB", "count": 2})");
  std::string processes;
  for (int pid = 1; pid <= 100; ++pid) {  // more than fit at the first asking
    processes += (pid > 1 ? "," : "") + std::string(R"({"gpu": 1, "memoryMiB": 10, "pid": )") +
                 std::to_string(pid) + "}";
  }
  node.Control(R"({"gpus": {"1": {"computePercent": 70, "eccErrors": 2}}, "processes": [)" +
               processes + "]}");
  const std::vector<NvmlCard> cards = CardsOf(node.nvml());
  CHECK(node.nvml().Processes(cards[0].handle)->empty());
  const auto found = node.nvml().Processes(cards[1].handle);
  REQUIRE(found->size() == 100);
  CHECK(found->at(99).pid == 100);
  CHECK(found->at(99).memory_mib == 10);
  CHECK(found->at(99).gpu_instance == std::nullopt);
  CHECK(node.nvml().Use(cards[1].handle)->compute_percent == 70);
  CHECK(node.nvml().Use(cards[1].handle)->used_memory_mib == 1000);
  CHECK(*node.nvml().EccErrors(cards[1].handle) == 2);
  CHECK(*node.nvml().EccErrors(cards[0].handle) == 0);
}

TEST_CASE("Nvml: a lost card is distinguished from other cards") {
  FakeNode node(R"({"model": "A100-40GB", "count": 2})");
  node.Control(R"({"gpus": {"0": {"lost": true}}})");
  const auto cards = node.nvml().Cards();
  REQUIRE(cards->size() == 2);
  CHECK(absl::IsDataLoss((*cards)[0].status()));
  CHECK((*cards)[0].status().message() ==
        "nvmlDeviceGetHandleByIndex_v2: fake: the GPU is lost (15)");
  CHECK((*cards)[1].ok());
}

TEST_CASE("Nvml: the profiles and placements of every model are those of the table") {
  for (const MigModel& model : MigModels()) {
    const FakeNode node(R"({"model": ")" + std::string(model.name) +
                        R"(", "count": 1, "mig": true})");
    const NvmlDevice device = CardsOf(node.nvml())[0].handle;
    const auto profiles = node.nvml().MigProfiles(device);
    REQUIRE(profiles->size() == model.profiles.size());
    for (const NvmlMigProfile& profile : *profiles) {
      const int known = FindMigProfile(model, profile.name);
      INFO(model.name << ' ' << profile.name);
      REQUIRE(known >= 0);
      const MigProfile& row = model.profiles[static_cast<std::size_t>(known)];
      CHECK(profile.compute_slices == row.compute_slices);
      unsigned starts = 0;
      const auto placements = node.nvml().MigPlacements(device, profile.id);
      for (const nvml_abi::Placement& placement : *placements) {
        starts |= 1u << placement.start;
        CHECK(placement.size == row.memory_slices);
      }
      CHECK(starts == row.starts);
    }
  }
}

TEST_CASE("Nvml: an instance is made, found again after a restart, and gone after a reboot") {
  FakeNode node(R"({"model": "A100-40GB", "count": 1, "mig": true})");
  NvmlDevice device = CardsOf(node.nvml())[0].handle;
  const auto profiles = node.nvml().MigProfiles(device);
  const auto two = std::find_if(profiles->begin(), profiles->end(),
                                [](const auto& each) { return each.name == "2g.10gb"; });
  CHECK(two->multiprocessors == 28);
  const auto made = node.nvml().CreateGpuInstance(device, two->id, {4, 2});
  REQUIRE(made.ok());
  CHECK(made->start == 4);
  CHECK(made->compute.empty());
  const auto taken = node.nvml().CreateGpuInstance(device, two->id, {4, 2});
  CHECK(absl::IsResourceExhausted(taken.status()));
  CHECK(absl::IsInvalidArgument(node.nvml().CreateGpuInstance(device, two->id, {1, 2}).status()));
  CHECK(node.counts().illegal == 2);
  const auto compute = node.nvml().CreateComputeInstance(made->handle, 2);
  REQUIRE(compute.ok());
  const std::string uuid = *node.nvml().MigUuid(device, made->id, compute->id);
  CHECK(uuid.substr(0, 4) == "MIG-");
  CHECK(absl::IsFailedPrecondition(node.nvml().DestroyGpuInstance(made->handle)));

  node.Restart();
  device = CardsOf(node.nvml())[0].handle;
  auto there = node.nvml().GpuInstances(device);
  REQUIRE(there->size() == 1);
  REQUIRE(there->at(0).compute.size() == 1);
  CHECK(*node.nvml().MigUuid(device, there->at(0).id, 0) == uuid);
  CHECK(node.nvml().DestroyComputeInstance(there->at(0).compute[0].handle).ok());
  CHECK(node.nvml().DestroyGpuInstance(there->at(0).handle).ok());
  CHECK(absl::IsNotFound(node.nvml().DestroyGpuInstance(there->at(0).handle)));
  REQUIRE(node.nvml().CreateGpuInstance(device, two->id, {0, 2}).ok());

  node.Reboot();
  device = CardsOf(node.nvml())[0].handle;
  CHECK(node.nvml().GpuInstances(device)->empty());
}

TEST_CASE("Nvml: a process that is killed in the middle of a call leaves the card usable") {
  FakeNode node(R"({"model": "A100-40GB", "count": 1, "mig": true})");
  node.Control(R"({"faults": [{"function": "nvmlGpuInstanceCreateComputeInstance", "call": 1,
                               "abort": true}]})");
  const NvmlDevice device = CardsOf(node.nvml())[0].handle;
  const pid_t child = fork();
  if (child == 0) {
    const auto profiles = node.nvml().MigProfiles(device);
    const auto made = node.nvml().CreateGpuInstance(device, profiles->at(0).id, {2, 1});
    (void)node.nvml().CreateComputeInstance(made->handle, 1);
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WEXITSTATUS(status) == 86);
  const auto left = node.nvml().GpuInstances(device);
  REQUIRE(left->size() == 1);
  CHECK(left->at(0).start == 2);
  CHECK(left->at(0).compute.empty());
  CHECK(node.nvml().CreateComputeInstance(left->at(0).handle, 1).ok());  // the fault strikes once
}

TEST_CASE("Nvml: a change of MIG mode waits on a busy card until it is reset") {
  FakeNode node(R"({"model": "A100-40GB", "count": 1})");
  const NvmlDevice device = CardsOf(node.nvml())[0].handle;
  node.Control(R"({"processes": [{"gpu": 0, "pid": 7}]})");
  REQUIRE(node.nvml().SetMigMode(device, true).ok());
  CHECK_FALSE(node.nvml().MigMode(device)->on);
  CHECK(node.nvml().MigMode(device)->pending);
  node.Control(R"({"gpus": {"0": {"resets": 1}}})");
  CHECK(node.nvml().MigMode(device)->on);
}

TEST_CASE("Nvml: events reach all waiting readers, from the time that they began") {
  FakeNode node(R"({"model": "A100-40GB", "count": 2, "mig": true})");
  const std::vector<NvmlCard> cards = CardsOf(node.nvml());
  node.Control(R"({"events": [{"gpu": 0, "xid": 31}]})");
  const auto events = node.nvml().WatchEvents();
  REQUIRE(events.ok());
  for (const NvmlCard& card : cards) REQUIRE((*events)->Watch(card.handle).ok());
  CHECK(*(*events)->Wait(0) == std::nullopt);
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    node.Control(R"({"events": [{"gpu": 0, "xid": 31}, {"gpu": 1, "xid": 79, "gi": 3, "ci": 0},
                                {"gpu": 0, "ecc": true}], "gpus": {"0": {"lost": true}}})");
  });
  auto lost = (*events)->Wait(5000);
  later.join();
  REQUIRE(lost->has_value());
  CHECK((*lost)->lost);
  const auto xid = (*events)->Wait(0);
  REQUIRE(xid->has_value());
  CHECK((*xid)->device == cards[1].handle);
  CHECK((*xid)->xid == 79);
  CHECK((*xid)->gpu_instance == 3u);
  CHECK((*(*events)->Wait(0))->type == nvml_abi::kDoubleBitEcc);
  CHECK(*(*events)->Wait(0) == std::nullopt);
}

}  // namespace
}  // namespace tephra::node
