#include "plugins/node/partition/mig_partitioner.h"

#include <algorithm>

#include <catch2/catch.hpp>

#include "tests/plugins/node/fake_node.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

constexpr SliceModes kMigToo = kUsualModes | kMigOnly;

GrantedSlice Mig(const std::string& profile, int start, std::size_t gpu = 0) {
  GrantedSlice slice;
  slice.gpu = gpu;
  slice.mode = SliceMode::kMig;
  slice.mig_profile = profile;
  slice.mig_start = start;
  return slice;
}

Grant GrantOf(const std::string& nonce, std::vector<GrantedSlice> slices,
              const std::string& pod = "") {
  Grant grant;
  grant.holder.nonce = nonce;
  grant.holder.pod_uid = pod.empty() ? "pod-" + nonce : pod;
  grant.slices = std::move(slices);
  return grant;
}

struct Bench {
  explicit Bench(const std::string& machine, SliceModes modes = kMigOnly)
      : node(machine), config(AllMay(modes)), gpus(node.Read(config)) {
    Begin({});
  }
  // As after a restart of the plugin, with these containers alive.
  void Begin(const std::vector<Grant>& live) {
    partitioner = std::make_unique<MigPartitioner>(node.nvml(), MigPartitioner::Options{node.capabilities()});
    restored = Restore(*partitioner, live, gpus);
  }
  absl::Status Apply(const Grant& grant) {
    edits = {};
    return partitioner->Apply(grant, gpus, edits);
  }
  // "1g.5gb@3" and so on of the card, in order, those with a compute instance; "!" before the
  // others.
  std::vector<std::string> Pieces(std::size_t gpu = 0) const {
    const MigCard card = *MigCard::Open(node.nvml(), gpus.devices[gpu],
                                        *FindMigModel(gpus.devices[gpu].hardware.mig_model));
    const MigModel& model = *FindMigModel(gpus.devices[gpu].hardware.mig_model);
    std::vector<std::string> names;
    const auto pieces = card.Pieces();
    REQUIRE(pieces.ok());
    for (const MigCard::Piece& piece : *pieces) {
      names.push_back(
          (piece.instance.compute.size() == 1 ? "" : "!") +
          std::string(model.profiles[static_cast<std::size_t>(piece.at->profile)].name) + "@" +
          std::to_string(piece.at->start));
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  bool MigIsOn() const {
    return node.nvml().MigMode(*node.nvml().Find(gpus.devices[0].hardware.uuid))->on;
  }
  std::string Variable(const std::string& name) const {
    for (const auto& [key, value] : edits.env) {
      if (key == name) return value;
    }
    return "";
  }

  FakeNode node;
  NodeConfig config;
  Gpus gpus;
  std::unique_ptr<MigPartitioner> partitioner;
  absl::Status restored;
  Edits edits;
};

using Names = std::vector<std::string>;
constexpr const char* kA100 = R"({"model": "A100-40GB", "count": 1, "mig": true})";
constexpr const char* kH100 = R"({"model": "H100-80GB", "count": 1})";

TEST_CASE("MigPartitioner: a slice becomes an instance that its container sees, and nothing else") {
  Bench bench(kA100);
  const Grant grant = GrantOf("a", {Mig("2g.10gb", 2)});
  REQUIRE(bench.Apply(grant).ok());
  CHECK(bench.Pieces() == Names{"2g.10gb@2"});
  const std::string uuid = bench.Variable("NVIDIA_VISIBLE_DEVICES");
  CHECK(uuid.substr(0, 4) == "MIG-");
  CHECK(bench.Variable("CUDA_VISIBLE_DEVICES") == uuid);
  CHECK(bench.edits.device_nodes ==
        Names{"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia0",
              "/dev/nvidia-caps/nvidia-cap12", "/dev/nvidia-caps/nvidia-cap13"});
  // Again, as after a crash or with a restarted container: the same one.
  REQUIRE(bench.Apply(grant).ok());
  CHECK(bench.Variable("NVIDIA_VISIBLE_DEVICES") == uuid);
  CHECK(bench.node.counts().created == 1);
  REQUIRE(bench.partitioner->Undo(grant, bench.gpus).ok());
  CHECK(bench.Pieces().empty());
  CHECK(bench.partitioner->Undo(grant, bench.gpus).ok());
}

TEST_CASE("MigPartitioner: instances of 28 multiprocessors and 10 GB fit on an A100-40GB three times") {
  Bench bench(kA100);
  for (const int start : {0, 2, 4}) {
    REQUIRE(bench.Apply(GrantOf("a" + std::to_string(start), {Mig("2g.10gb", start)})).ok());
  }
  const absl::Status fourth = bench.Apply(GrantOf("b", {Mig("2g.10gb", 6)}));
  CHECK(absl::IsFailedPrecondition(fourth));
  CHECK(fourth.message() == "2g.10gb at 6: no instance may be placed there on " +
                                bench.gpus.devices[0].hardware.uuid + ", a A100-40GB");
  CHECK(bench.Apply(GrantOf("c", {Mig("1g.5gb", 6)})).ok());
  CHECK(bench.node.counts().illegal == 0);
}

TEST_CASE("MigPartitioner: an A100-40GB holds seven 1g, or two 3g, or a 4g, a 2g and a 1g") {
  const std::vector<std::vector<GrantedSlice>> layouts = {
      {Mig("1g.5gb", 0), Mig("1g.5gb", 1), Mig("1g.5gb", 2), Mig("1g.5gb", 3), Mig("1g.5gb", 4),
       Mig("1g.5gb", 5), Mig("1g.5gb", 6)},
      {Mig("3g.20gb", 0), Mig("3g.20gb", 4)},
      {Mig("4g.20gb", 0), Mig("2g.10gb", 4), Mig("1g.5gb", 6)}};
  Bench bench(kA100);
  for (const std::vector<GrantedSlice>& layout : layouts) {
    std::vector<Grant> grants;
    for (const GrantedSlice& slice : layout) {
      grants.push_back(GrantOf("n" + std::to_string(slice.mig_start), {slice}));
      REQUIRE(bench.Apply(grants.back()).ok());
    }
    CHECK(bench.Pieces().size() == layout.size());
    const absl::Status full = bench.Apply(GrantOf("one more", {Mig("1g.5gb", 0)}));
    CHECK(absl::IsFailedPrecondition(full));
    for (const Grant& grant : grants) REQUIRE(bench.partitioner->Undo(grant, bench.gpus).ok());
  }
  CHECK(bench.node.counts().illegal == 0);
  CHECK(bench.node.counts().created == bench.node.counts().destroyed);
}

TEST_CASE("MigPartitioner: what one container holds no other pod is given, its own pod's may share it") {
  Bench bench(kA100);
  REQUIRE(bench.Apply(GrantOf("init", {Mig("3g.20gb", 4)}, "pod")).ok());
  const absl::Status other = bench.Apply(GrantOf("x", {Mig("1g.5gb", 5)}));
  CHECK(absl::IsFailedPrecondition(other));
  CHECK(other.message().find("still has 3g.20gb at 4 of GPU-") != std::string_view::npos);
  CHECK(absl::IsFailedPrecondition(bench.Apply(GrantOf("y", {Mig("3g.20gb", 4)}))));
  REQUIRE(bench.Apply(GrantOf("app", {Mig("3g.20gb", 4)}, "pod")).ok());
  REQUIRE(bench.partitioner->Undo(GrantOf("init", {Mig("3g.20gb", 4)}, "pod"), bench.gpus).ok());
  CHECK(bench.Pieces() == Names{"3g.20gb@4"});
  REQUIRE(bench.partitioner->Undo(GrantOf("app", {Mig("3g.20gb", 4)}, "pod"), bench.gpus).ok());
  CHECK(bench.Pieces().empty());
}

TEST_CASE("MigPartitioner: two of a grant's slices in one place are refused before anything is made") {
  Bench bench(kA100);
  CHECK(absl::IsFailedPrecondition(bench.Apply(GrantOf("a", {Mig("3g.20gb", 0), Mig("1g.5gb", 3)}))));
  CHECK(absl::IsFailedPrecondition(
      bench.Apply(GrantOf("b", {Mig("1g.5gb+me", 0), Mig("1g.5gb+me", 3)}))));
  CHECK(absl::IsFailedPrecondition(bench.Apply(GrantOf("c", {Mig("1g.5gb", 0, 7)}))));
  CHECK(bench.node.counts().created == 0);
}

TEST_CASE("MigPartitioner: where one step fails nothing stays, whichever step it is") {
  struct Step {
    const char* function;
    bool after;
  };
  const Step steps[] = {{"nvmlDeviceCreateGpuInstanceWithPlacement", false},
                        {"nvmlDeviceCreateGpuInstanceWithPlacement", true},
                        {"nvmlGpuInstanceCreateComputeInstance", false},
                        {"nvmlGpuInstanceCreateComputeInstance", true},
                        {"nvmlDeviceGetMigDeviceHandleByIndex", false},
                        {"nvmlComputeInstanceGetInfo_v2", false}};
  for (const Step& step : steps) {
    Bench bench(kA100);
    bench.node.Control(R"({"faults": [{"call": 2, "function": ")" + std::string(step.function) +
                       R"(", "after": )" + (step.after ? "true" : "false") + "}]}");
    const Grant grant = GrantOf("a", {Mig("1g.5gb", 1), Mig("3g.20gb", 4)});
    const absl::Status status = bench.Apply(grant);
    INFO(step.function << ' ' << status.ToString());
    CHECK(absl::IsUnavailable(status));
    CHECK(bench.edits == Edits{});
    CHECK(bench.Pieces().empty());
    REQUIRE(bench.Apply(grant).ok());
    CHECK(bench.Pieces() == Names{"1g.5gb@1", "3g.20gb@4"});
  }
}

TEST_CASE("MigPartitioner: if the undo fails too, the instance stays held until another try") {
  Bench bench(kA100);
  bench.node.Control(R"({"faults": [{"function": "nvmlGpuInstanceCreateComputeInstance"},
                                    {"function": "nvmlGpuInstanceDestroy"}]})");
  const Grant grant = GrantOf("a", {Mig("1g.5gb", 1)});
  CHECK(absl::IsUnavailable(bench.Apply(grant)));
  CHECK(bench.Pieces() == Names{"!1g.5gb@1"});
  CHECK(absl::IsFailedPrecondition(bench.Apply(GrantOf("b", {Mig("1g.5gb", 1)}))));
  REQUIRE(bench.partitioner->Undo(grant, bench.gpus).ok());
  CHECK(bench.Pieces().empty());
  CHECK(bench.Apply(GrantOf("b", {Mig("1g.5gb", 1)})).ok());
}

TEST_CASE("MigPartitioner: an instance is not taken from under a process that runs on it") {
  Bench bench(kA100);
  const Grant grant = GrantOf("a", {Mig("1g.5gb", 1)});
  REQUIRE(bench.Apply(grant).ok());
  bench.node.Control(R"({"processes": [{"gpu": 0, "pid": 5, "gi": 1, "ci": 0}]})");
  const absl::Status status = bench.partitioner->Undo(grant, bench.gpus);
  CHECK(absl::IsUnavailable(status));
  CHECK(status.message().find("in use") != std::string_view::npos);
  CHECK(bench.Pieces() == Names{"1g.5gb@1"});
  bench.node.Control("{}");
  CHECK(bench.partitioner->Undo(grant, bench.gpus).ok());
}

TEST_CASE(
    "MigPartitioner: what exists at start is taken over, finished, or cleared away when in the way") {
  Bench bench(kA100);
  const Grant live = GrantOf("live", {Mig("2g.10gb", 0)});
  REQUIRE(bench.Apply(live).ok());
  REQUIRE(bench.Apply(GrantOf("dead", {Mig("2g.10gb", 2)})).ok());
  REQUIRE(bench.Apply(GrantOf("dead too", {Mig("1g.5gb", 4)})).ok());
  bench.Begin({live});
  CHECK(bench.Pieces().size() == 3);
  REQUIRE(bench.Apply(GrantOf("same", {Mig("2g.10gb", 2)})).ok());
  CHECK(bench.node.counts().created == 3);
  REQUIRE(bench.Apply(GrantOf("over", {Mig("2g.10gb", 4)})).ok());
  CHECK(bench.Pieces() == Names{"2g.10gb@0", "2g.10gb@2", "2g.10gb@4"});
  CHECK(absl::IsFailedPrecondition(bench.Apply(GrantOf("x", {Mig("1g.5gb", 1)}))));
}

TEST_CASE("MigPartitioner: after a reboot a container's instance is made again, with another name") {
  Bench bench(kA100);
  const Grant grant = GrantOf("a", {Mig("2g.10gb", 2)});
  REQUIRE(bench.Apply(GrantOf("b", {Mig("1g.5gb", 0)})).ok());
  REQUIRE(bench.Apply(grant).ok());
  const std::string before = bench.Variable("NVIDIA_VISIBLE_DEVICES");
  bench.node.Reboot();
  bench.Begin({grant});
  CHECK(bench.Pieces().empty());
  REQUIRE(bench.Apply(grant).ok());
  CHECK(bench.Pieces() == Names{"2g.10gb@2"});
  CHECK(bench.Variable("NVIDIA_VISIBLE_DEVICES") != before);
}

TEST_CASE(
    "MigPartitioner: on a card of other modes too, MIG mode is on as long as a container holds a part") {
  Bench bench(kH100, kMigToo);
  CHECK_FALSE(bench.MigIsOn());
  const Grant a = GrantOf("a", {Mig("1g.10gb", 0)}), b = GrantOf("b", {Mig("1g.10gb", 1)});
  REQUIRE(bench.Apply(a).ok());
  REQUIRE(bench.Apply(b).ok());
  CHECK(bench.MigIsOn());
  REQUIRE(bench.partitioner->Undo(a, bench.gpus).ok());
  CHECK(bench.MigIsOn());
  REQUIRE(bench.partitioner->Undo(b, bench.gpus).ok());
  CHECK_FALSE(bench.MigIsOn());
  // What a plugin that was killed left behind is gone with the next start.
  REQUIRE(bench.Apply(a).ok());
  bench.Begin({});
  CHECK(bench.restored.ok());
  CHECK_FALSE(bench.MigIsOn());
}

TEST_CASE(
    "MigPartitioner: MIG mode that would take a reset, or comes too early, is refused with the reason") {
  Bench bench(kH100, kMigToo);
  bench.node.Control(R"({"gpus": {"0": {"busy": true}}})");
  absl::Status status = bench.Apply(GrantOf("a", {Mig("1g.10gb", 0)}));
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("takes a reset of the GPU") != std::string_view::npos);
  CHECK_FALSE(bench.node.nvml()
                  .MigMode(*bench.node.nvml().Find(bench.gpus.devices[0].hardware.uuid))
                  ->pending);
  bench.node.Control(R"({"processes": [{"gpu": 0, "pid": 4711}]})");
  status = bench.Apply(GrantOf("a", {Mig("1g.10gb", 0)}));
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("process 4711 uses the whole GPU") != std::string_view::npos);
  CHECK_FALSE(bench.MigIsOn());
}

TEST_CASE("MigPartitioner: on a lost card nothing is created, and there is nothing to undo") {
  Bench bench(kA100);
  const Grant grant = GrantOf("a", {Mig("1g.5gb", 0)});
  REQUIRE(bench.Apply(grant).ok());
  bench.node.Control(R"({"gpus": {"0": {"lost": true}}})");
  const absl::Status status = bench.Apply(GrantOf("b", {Mig("1g.5gb", 1)}));
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("the GPU is lost") != std::string_view::npos);
  CHECK(bench.partitioner->Undo(grant, bench.gpus).ok());
}

}  // namespace
}  // namespace tephra::node
