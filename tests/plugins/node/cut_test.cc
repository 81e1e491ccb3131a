// What a container is given for a mode.
#include <fstream>

#include <catch2/catch.hpp>

#include "plugins/node/cut/cutters.h"
#include "plugins/node/cut/edits.h"
#include "plugins/node/cut/hook_cutter.h"
#include "plugins/node/cut/whole_cutter.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

const auto kNoStep = [](const char*, SliceMode) {};
const Holder kHolder{"000102030405060708090a0b0c0d0e0f", "u", "team", "pod", "main"};

Cutters Both(const std::string& folder, bool installed = true) {
  if (installed) {
    std::ofstream(folder + "/libvgpu.so.1") << "";
    std::ofstream(folder + "/preload") << "";
  }
  Cutters cutters;
  cutters.Set(SliceMode::kWhole, std::make_unique<WholeCutter>());
  cutters.Set(SliceMode::kFraction,
              std::make_unique<HookCutter>(
                  HookSettings{folder + "/libvgpu.so.1", folder + "/preload", folder + "/hook"}));
  return cutters;
}

TEST_CASE("A container with a whole GPU and a fraction sees both, and is bound on the fraction") {
  const TemporaryFolder at;
  Cutters cutters = Both(at.path());
  const Grant grant{
      kHolder,
      {{1, SliceMode::kFraction, 255, 800, "", 0}, {0, SliceMode::kWhole, 1000, 10'000, "", 0}}};
  Edits edits;
  REQUIRE(cutters.Cut(grant, SomeGpus(2), edits, kNoStep).ok());
  CHECK(*FindEnv(edits, "NVIDIA_VISIBLE_DEVICES") == "GPU-0,GPU-1");
  CHECK(*FindEnv(edits, "CUDA_DEVICE_MEMORY_LIMIT_1") == "800m");
  CHECK(*FindEnv(edits, "CUDA_DEVICE_SM_LIMIT_1") == "25");
  CHECK(FindEnv(edits, "CUDA_DEVICE_MEMORY_LIMIT_0") == nullptr);
  CHECK(FindEnv(edits, "GPU_CORE_UTILIZATION_POLICY") == nullptr);
  CHECK(edits.device_nodes == std::vector<std::string>{"/dev/nvidiactl", "/dev/nvidia-uvm",
                                                       "/dev/nvidia-uvm-tools", "/dev/nvidia0",
                                                       "/dev/nvidia1"});
  const std::string own = at.path() + "/hook/" + kHolder.nonce;
  CHECK(edits.mounts ==
        std::vector<Edits::Mount>{{at.path() + "/libvgpu.so.1", "/usr/local/vgpu/libvgpu.so", true},
                                  {at.path() + "/preload", "/etc/ld.so.preload", true},
                                  {own, "/usr/local/vgpu/cache", false},
                                  {at.path() + "/hook/vgpulock", "/tmp/vgpulock", false}});
  CHECK(std::filesystem::exists(own));
  CHECK(cutters.Undo(grant, SomeGpus(2), kNoStep).ok());
  CHECK_FALSE(std::filesystem::exists(own));
}

TEST_CASE("Cutting again changes nothing") {
  const TemporaryFolder at;
  Cutters cutters = Both(at.path());
  const Grant grant{kHolder, {{0, SliceMode::kFraction, 5, 0, "", 0}}};
  Edits first, second;
  REQUIRE(cutters.Cut(grant, SomeGpus(1), first, kNoStep).ok());
  REQUIRE(cutters.Cut(grant, SomeGpus(1), second, kNoStep).ok());
  CHECK(first == second);
  // Less than a percent is one: 0 would be no bound.
  CHECK(*FindEnv(first, "CUDA_DEVICE_SM_LIMIT") == "1");
  CHECK(FindEnv(first, "CUDA_DEVICE_MEMORY_LIMIT_0") == nullptr);
}

TEST_CASE("What the node lacks is said") {
  const TemporaryFolder at;
  Cutters cutters = Both(at.path(), false);
  Edits edits;
  CHECK(
      cutters.Cut({kHolder, {{0, SliceMode::kFraction, 5, 5, "", 0}}}, SomeGpus(1), edits, kNoStep)
          .message() ==
      "the hook library is not installed: no file " + at.path() + "/libvgpu.so.1");
  CHECK(cutters.Cut({kHolder, {{0, SliceMode::kMps, 5, 5, "", 0}}}, SomeGpus(1), edits, kNoStep)
            .message() == "this node cannot cut GPUs in the mode \"mps\"");
  Gpus cut = SomeGpus(1);
  cut.devices[0].mig_mode = true;
  CHECK_FALSE(
      cutters.Cut({kHolder, {{0, SliceMode::kWhole, 1000, 1, "", 0}}}, cut, edits, kNoStep).ok());
}

}  // namespace
}  // namespace tephra::node
