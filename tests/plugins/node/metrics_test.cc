// Figures of GPUs and containers, and their sources.
#include <cstring>
#include <fstream>

#include <catch2/catch.hpp>

#include "plugins/node/metrics/node_metrics.h"
#include "plugins/node/metrics/process_owner.h"
#include "plugins/node/metrics/shared_region.h"
#include "tests/plugins/node/fake_node.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

const std::string kNonceA(32, 'a'), kNonceB(32, 'b');
const std::string kUid = "0f6a1c2e-1111-2222-3333-444455556666";

Holding Held(const std::string& nonce, const std::string& uid, GrantedSlice slice) {
  Holding holding;
  holding.bound = true;
  holding.grant = {{nonce, uid, "team", "train-0", "main"}, {std::move(slice)}};
  return holding;
}

// The text of HAMi-core's file, version 1.2 as its header lays it out: two GPUs, and processes that
// use so much of the first.
class Region {
 public:
  Region() : bytes_(2'008'952, '\0') {
    Put<std::int32_t>(0, 19920718);
    Put<std::uint32_t>(4, 1);
    Put<std::uint32_t>(8, 2);
    Put<std::uint64_t>(56, 2);
    std::strcpy(&bytes_[64], "GPU-0");
    std::strcpy(&bytes_[64 + 96], "GPU-1");
  }
  void Process(int slot, std::int32_t pid, std::uint64_t memory, std::uint64_t percent) {
    const std::size_t at = 1856 + 1960 * static_cast<std::size_t>(slot);
    Put<std::int32_t>(at, pid);
    Put<std::uint64_t>(at + 8 + 32, memory);
    Put<std::uint64_t>(at + 8 + 1024 + 128 + 16, percent);
    Put<std::int32_t>(1856 + 1960 * 1024, slot + 1);
  }
  template <class T>
  void Put(std::size_t at, T value) {
    std::memcpy(&bytes_[at], &value, sizeof value);
  }
  void Write(const std::string& path) const { std::ofstream(path, std::ios::binary) << bytes_; }
  std::string& bytes() { return bytes_; }

 private:
  std::string bytes_;
};

TEST_CASE("SharedRegion: what the library's processes use is summed by GPU") {
  const TemporaryFolder at;
  const std::string path = at.path() + "/x.cache";
  CHECK(absl::IsNotFound(ReadSharedRegion(path).status()));
  Region region;
  region.Process(0, 17, 100, 20);
  region.Process(1, 0, 999, 99);  // one that has ended
  region.Process(2, 18, 11, 30);
  region.Write(path);
  const auto uses = ReadSharedRegion(path);
  REQUIRE(uses.ok());
  CHECK(uses->at("GPU-0").memory_bytes == 111);
  CHECK(uses->at("GPU-0").compute_percent == 50);
  CHECK(uses->at("GPU-1").memory_bytes == 0);
}

TEST_CASE("SharedRegion: a file of another layout is refused, and lies in it stay small") {
  const TemporaryFolder at;
  const std::string path = at.path() + "/x.cache";
  Region older;
  older.Put<std::uint32_t>(8, 1);
  older.Write(path);
  CHECK(absl::IsDataLoss(ReadSharedRegion(path).status()));
  Region cut;
  cut.bytes().resize(5000);
  cut.Write(path);
  CHECK(absl::IsDataLoss(ReadSharedRegion(path).status()));
  Region lies;
  lies.Process(0, 17, ~std::uint64_t{0}, ~std::uint64_t{0});
  lies.Process(1, 18, ~std::uint64_t{0}, 5);
  lies.Put<std::int32_t>(1856 + 1960 * 1024, 1 << 30);
  lies.Put<std::uint64_t>(56, ~std::uint64_t{0});
  lies.Write(path);
  const auto uses = ReadSharedRegion(path);
  REQUIRE(uses.ok());
  CHECK(uses->at("GPU-0").memory_bytes == std::int64_t{1} << 44);
  CHECK(uses->at("GPU-0").compute_percent == 100);
  std::filesystem::create_symlink("/etc/passwd", at.path() + "/link.cache");
  CHECK(absl::IsDataLoss(ReadSharedRegion(at.path() + "/link.cache").status()));
}

TEST_CASE("ProcessOwner: a pod's UID is found in every form of its control group") {
  const std::string escaped = "0f6a1c2e_1111_2222_3333_444455556666";
  CHECK(PodUidIn("0::/kubepods/besteffort/pod" + kUid + "/abc\n") == kUid);
  CHECK(PodUidIn("0::/kubepods/pod" + kUid + "\n") == kUid);
  CHECK(PodUidIn("12:pids:/../kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod" +
                 escaped + ".slice/cri-containerd-12.scope\n") == kUid);
  CHECK(PodUidIn("0::/kubepods.slice/kubepods-pod" + escaped + ".slice/x.scope\n") == kUid);
  CHECK(PodUidIn("0::/system.slice/podman.service\n").empty());
  CHECK(PodUidIn("").empty());
}

TEST_CASE("Use: processes count for the container that their environment or their pod names") {
  FakeNode node(R"({"model": "A100-40GB", "count": 2})");
  const Gpus gpus = node.Read();
  const TemporaryFolder proc;
  const auto process = [&](int pid, const std::string& environment, const std::string& cgroup) {
    const std::string folder = proc.path() + "/" + std::to_string(pid);
    std::filesystem::create_directory(folder);
    std::ofstream(folder + "/environ") << environment;
    std::ofstream(folder + "/cgroup") << cgroup;
  };
  using namespace std::string_literals;
  process(11, "A=1\0TEPHRA_NONCE="s + kNonceA + "\0"s, "0::/\n");
  process(12, "", "0::/kubepods/pod" + kUid + "/c\n");
  process(13, "", "0::/system.slice/x\n");
  node.Control(R"({"gpus": {"1": {"usedMiB": 4000, "computePercent": 90}}, "processes": [
    {"gpu": 0, "pid": 11, "memoryMiB": 100, "computePercent": 20},
    {"gpu": 0, "pid": 12, "memoryMiB": 30, "computePercent": 5},
    {"gpu": 0, "pid": 13, "memoryMiB": 7, "computePercent": 1},
    {"gpu": 0, "pid": 14, "memoryMiB": 7}]})");
  std::map<std::string, Holding> holdings;
  holdings[kNonceA] = Held(kNonceA, "other", {0, SliceMode::kTimeSlice, 0, 0, "", 0});
  holdings[kNonceB] = Held(kNonceB, kUid, {0, SliceMode::kTimeSlice, 0, 0, "", 0});
  const std::string whole(32, 'c');
  holdings[whole] = Held(whole, "third", {1, SliceMode::kWhole, 1000, 40'960, "", 0});
  const UseNow use = ReadUse({"", proc.path()}, &node.nvml(), gpus, holdings);
  const auto of = [&](const std::string& nonce, std::size_t gpu) {
    return use.slices.at({nonce, gpu});
  };
  CHECK(of(kNonceA, 0).memory_bytes == std::int64_t{100} << 20);
  CHECK(of(kNonceA, 0).compute_percent == 20);
  CHECK(of(kNonceB, 0).memory_bytes == std::int64_t{30} << 20);
  CHECK(of(kNonceB, 0).compute_percent == 5);
  CHECK(use.gpus[0].memory_bytes == std::int64_t{144} << 20);
  // No other container is on that GPU.
  CHECK(of(whole, 1).memory_bytes == std::int64_t{4000} << 20);
  CHECK(of(whole, 1).compute_percent == 90);
  // Two containers of one pod, and a process that says not of which it is.
  holdings[kNonceA].grant.holder.pod_uid = kUid;
  const UseNow unclear = ReadUse({"", proc.path()}, &node.nvml(), gpus, holdings);
  CHECK(unclear.slices.at({kNonceB, 0}).memory_bytes == 0);
}

TEST_CASE("Use: of a fraction the library's count holds, and without a driver it is all there is") {
  const TemporaryFolder at;
  std::filesystem::create_directory(at.path() + "/" + kNonceA);
  Region region;
  region.Process(0, 17, 1 << 20, 40);
  region.Write(at.path() + "/" + kNonceA + "/" + kNonceA + ".cache");
  std::map<std::string, Holding> holdings;
  holdings[kNonceA] = Held(kNonceA, kUid, {0, SliceMode::kFraction, 500, 5000, "", 0});
  const UseNow use = ReadUse({at.path(), "/nowhere"}, nullptr, SomeGpus(2), holdings);
  CHECK(use.slices.at({kNonceA, 0}).memory_bytes == 1 << 20);
  CHECK(use.slices.at({kNonceA, 0}).compute_percent == 40);
  CHECK_FALSE(use.gpus[0].memory_bytes.has_value());
}

TEST_CASE("NodeMetrics: a container's series are there while it holds something") {
  NodeFigures figures;
  figures.facts.gpus = SomeGpus(2);
  figures.facts.gpus.devices[1].hardware.healthy = false;
  figures.facts.holdings[kNonceA] =
      Held(kNonceA, kUid, {1, SliceMode::kFraction, 250, 2000, "", 0});
  figures.facts.orphans = {kNonceA};
  figures.facts.waits.gpu = {1, 3};
  figures.use.gpus.resize(2);
  figures.use.slices[{kNonceA, 1}] = {1 << 20, 40};
  figures.xids["GPU-1"][79] = 2;
  NodeMetrics metrics([&] { return figures; });
  metrics.PreStarted(0.05, false);
  metrics.PreStarted(2, true);
  const std::string gpu = R"({gpu="1",uuid="GPU-1")";
  const std::string slice =
      gpu + R"(,namespace="team",pod="train-0",container="main",mode="fraction"} )";
  const std::string text = metrics.Text();
  INFO(text);
  for (const std::string& line :
       {"tephra_node_slice_memory_bytes" + slice + "2097152000",
        "tephra_node_slice_compute_ratio" + slice + "0.25",
        "tephra_node_slice_memory_used_bytes" + slice + "1048576",
        "tephra_node_slice_compute_used_ratio" + slice + "0.4",
        "tephra_node_gpu_healthy" + gpu + R"(,model="H100"} 0)",
        "tephra_node_gpu_xids_total" + gpu + R"(,xid="79"} 2)",
        "tephra_node_orphan_slices" + gpu + "} 1",
        std::string(R"(tephra_node_pre_start_waits_total{on="gpu"} 3)"),
        std::string(R"(tephra_node_pre_start_duration_seconds_bucket{le="0.06"} 1)"),
        std::string("tephra_node_pre_start_refused_total 1")}) {
    CHECK(text.find("\n" + line + "\n") != std::string::npos);
  }
  CHECK(text.find("tephra_node_gpu_memory_used_bytes") == std::string::npos);
  figures.facts.holdings.clear();
  CHECK(metrics.Text().find("train-0") == std::string::npos);
}

}  // namespace
}  // namespace tephra::node
