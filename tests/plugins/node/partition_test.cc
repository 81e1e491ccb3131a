// What a container is given for a mode.
#include <algorithm>
#include <chrono>
#include <fstream>
#include <thread>

#include <catch2/catch.hpp>

#include "plugins/node/partition/partitioners.h"
#include "plugins/node/partition/edits.h"
#include "plugins/node/partition/hook_limiter.h"
#include "plugins/node/partition/whole_gpu.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

const auto kNoStep = [](const char*, SliceMode) {};
const Holder kHolder{"000102030405060708090a0b0c0d0e0f", "u", "team", "pod", "main"};

Partitioners Both(const std::string& folder, bool installed = true) {
  static Problems problems;
  if (installed) {
    std::ofstream(folder + "/libvgpu.so.1") << "";
    std::ofstream(folder + "/preload") << "";
  }
  Partitioners partitioners;
  partitioners.Set(SliceMode::kWhole, std::make_unique<WholeGpu>());
  partitioners.Set(SliceMode::kFraction,
              std::make_unique<HookLimiter>(
                  HookSettings{folder + "/libvgpu.so.1", folder + "/preload", folder + "/hook"},
                  problems));
  return partitioners;
}

TEST_CASE("A container with a whole GPU and a fraction sees both, and is bound on the fraction") {
  const TemporaryFolder at;
  Partitioners partitioners = Both(at.path());
  const Grant grant{
      kHolder,
      {{1, SliceMode::kFraction, 255, 800, "", 0}, {0, SliceMode::kWhole, 1000, 10'000, "", 0}}};
  Edits edits;
  REQUIRE(partitioners.Apply(grant, SomeGpus(2), edits, kNoStep).ok());
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
                                  {at.path() + "/hook/vgpulock-" + kHolder.pod_namespace, "/tmp/vgpulock", false}});
  CHECK(std::filesystem::exists(own));
  CHECK(partitioners.Undo(grant, SomeGpus(2), kNoStep).ok());
  CHECK_FALSE(std::filesystem::exists(own));
}

TEST_CASE("AddVisibleMounts: each GPU or instance that is visible is a mount of /dev/null") {
  Edits edits;
  AddVisibleMounts(edits);
  CHECK(edits.mounts.empty());
  AddVisible(edits, "GPU-1");
  AddVisible(edits, "MIG-2");
  for (int times = 0; times < 2; ++times) AddVisibleMounts(edits);
  CHECK(edits.mounts == std::vector<Edits::Mount>{
                            {"/dev/null", "/var/run/nvidia-container-devices/GPU-1", true},
                            {"/dev/null", "/var/run/nvidia-container-devices/MIG-2", true}});
}

TEST_CASE("Cutting again changes nothing") {
  const TemporaryFolder at;
  Partitioners partitioners = Both(at.path());
  const Grant grant{kHolder, {{0, SliceMode::kFraction, 5, 0, "", 0}}};
  Edits first, second;
  REQUIRE(partitioners.Apply(grant, SomeGpus(1), first, kNoStep).ok());
  REQUIRE(partitioners.Apply(grant, SomeGpus(1), second, kNoStep).ok());
  CHECK(first == second);
  // Less than a percent is one: 0 would be no bound.
  CHECK(*FindEnv(first, "CUDA_DEVICE_SM_LIMIT") == "1");
  CHECK(FindEnv(first, "CUDA_DEVICE_MEMORY_LIMIT_0") == nullptr);
}

// Folders below `at` for as long as the cleaner may take.
bool Emptied(const std::string& at) {
  for (int i = 0; i < 1000 && !std::filesystem::is_empty(at); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  return std::filesystem::is_empty(at);
}

TEST_CASE("HookLimiter: whatever a tenant left in its folder, the slice is free at once") {
  const TemporaryFolder at;
  const std::string hook = at.path() + "/hook", own = hook + "/" + kHolder.nonce;
  Partitioners partitioners = Both(at.path());
  const Grant grant{kHolder, {{0, SliceMode::kFraction, 5, 0, "", 0}}};
  Edits edits;
  REQUIRE(partitioners.Apply(grant, SomeGpus(1), edits, kNoStep).ok());
  std::filesystem::create_directories(own + "/a/b/c");
  std::filesystem::permissions(own + "/a", std::filesystem::perms::none);
  CHECK(partitioners.Undo(grant, SomeGpus(1), kNoStep).ok());
  CHECK_FALSE(std::filesystem::exists(own));
  // Its container may start again before the old folder is removed.
  REQUIRE(partitioners.Apply(grant, SomeGpus(1), edits, kNoStep).ok());
  CHECK(std::filesystem::is_empty(own));
  CHECK(partitioners.Undo(grant, SomeGpus(1), kNoStep).ok());
  CHECK(Emptied(hook));
}

TEST_CASE("HookLimiter: namespaces share no folder of locks, and the last container of one removes it") {
  const TemporaryFolder at;
  const std::string hook = at.path() + "/hook";
  Partitioners partitioners = Both(at.path());
  const auto grant = [](const std::string& pod_namespace, char nonce) {
    Holder holder = kHolder;
    holder.pod_namespace = pod_namespace;
    holder.nonce = std::string(32, nonce);
    return Grant{holder, {{0, SliceMode::kFraction, 5, 0, "", 0}}};
  };
  const auto locks_of = [&](const Grant& grant) {
    Edits edits;
    REQUIRE(partitioners.Apply(grant, SomeGpus(1), edits, kNoStep).ok());
    const auto mount = std::find_if(edits.mounts.begin(), edits.mounts.end(),
                                    [](const auto& each) { return each.container == "/tmp/vgpulock"; });
    REQUIRE(mount != edits.mounts.end());
    return mount->host;
  };
  const std::string mine = locks_of(grant("team", 'a'));
  CHECK(locks_of(grant("team", 'b')) == mine);
  const std::string other = locks_of(grant("other", 'c'));
  CHECK(other != mine);
  CHECK(partitioners.Undo(grant("team", 'a'), SomeGpus(1), kNoStep).ok());
  CHECK(std::filesystem::exists(mine));
  CHECK(partitioners.Undo(grant("team", 'b'), SomeGpus(1), kNoStep).ok());
  CHECK_FALSE(std::filesystem::exists(mine));
  CHECK(std::filesystem::exists(other));
}

TEST_CASE("HookLimiter: folders that an earlier process left are removed, those in use stay") {
  const TemporaryFolder at;
  const std::string hook = at.path() + "/hook", left(32, 'f');
  std::filesystem::create_directories(hook + "/" + left + "/a/b");
  std::filesystem::create_directories(hook + "/" + kHolder.nonce + "/a/b");
  Partitioners partitioners = Both(at.path());
  partitioners.Remember({{kHolder, {}}}, SomeGpus(1));
  CHECK(partitioners.Leftovers(SomeGpus(1)) == std::vector<std::string>{""});
  REQUIRE(partitioners.Tidy("", SomeGpus(1)).ok());
  for (int i = 0; i < 1000 && std::filesystem::exists(hook + "/" + left); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK_FALSE(std::filesystem::exists(hook + "/" + left));
  CHECK(std::filesystem::exists(hook + "/" + kHolder.nonce + "/a/b"));
}

TEST_CASE("FolderCleaner: a folder that cannot be removed is a problem until it is gone") {
  const TemporaryFolder at;
  // A mount point or an immutable file needs rights that a test has not; a folder that is no folder
  // does as well.
  std::ofstream(at.path() + "/parent") << "";
  Problems problems;
  FolderCleaner cleaner(at.path() + "/parent", problems);
  cleaner.Remove("x");
  for (int i = 0; i < 500 && problems.All().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  REQUIRE(problems.All().size() == 1);
  CHECK(problems.All()[0].kind == problem_kind::kFolder);
  CHECK(problems.All()[0].text.find("/parent: is not a folder") != std::string::npos);
  std::filesystem::remove(at.path() + "/parent");
  cleaner.Remove("x");
  for (int i = 0; i < 500 && !problems.All().empty(); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  CHECK(problems.All().empty());
}

TEST_CASE("What the node lacks is said") {
  const TemporaryFolder at;
  Partitioners partitioners = Both(at.path(), false);
  Edits edits;
  CHECK(
      partitioners.Apply({kHolder, {{0, SliceMode::kFraction, 5, 5, "", 0}}}, SomeGpus(1), edits, kNoStep)
          .message() ==
      "the library that limits GPU shares is not installed on this node: no file " + at.path() + "/libvgpu.so.1");
  CHECK(partitioners.Apply({kHolder, {{0, SliceMode::kMps, 5, 5, "", 0}}}, SomeGpus(1), edits, kNoStep)
            .message() == "this node has no GPUs that can be shared in the mode \"mps\"");
  Gpus cut = SomeGpus(1);
  cut.devices[0].mig_mode = true;
  CHECK_FALSE(
      partitioners.Apply({kHolder, {{0, SliceMode::kWhole, 1000, 1, "", 0}}}, cut, edits, kNoStep).ok());
}

}  // namespace
}  // namespace tephra::node
