#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <thread>

#include <absl/strings/str_cat.h>
#include <catch2/catch.hpp>

#include "base/descriptor.h"
#include "plugins/node/partition/mps_limiter.h"
#include "plugins/node/partition/time_slice_limiter.h"
#include "plugins/node/mps_keeper.h"
#include "plugins/node/run_program.h"
#include "tests/plugins/node/fake_node.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

GrantedSlice Share(SliceMode mode, std::int32_t compute, std::int32_t memory_mib,
                   std::size_t gpu = 0) {
  GrantedSlice slice;
  slice.gpu = gpu;
  slice.mode = mode;
  slice.compute = compute;
  slice.memory_mib = memory_mib;
  return slice;
}

Grant Holding(const std::string& nonce, std::vector<GrantedSlice> slices) {
  Grant grant;
  grant.holder.nonce = nonce;
  grant.slices = std::move(slices);
  return grant;
}

std::string Value(const Edits& edits, const std::string& name) {
  for (const auto& [key, value] : edits.env) {
    if (key == name) return value;
  }
  return "(not set)";
}

std::string Content(const std::filesystem::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

MpsDaemons::Options DaemonsOf(const std::filesystem::path& folder) {
  MpsDaemons::Options options;
  options.control = TEPHRA_FAKE_MPS_CONTROL;
  options.root = (folder / "mps").string();
  return options;
}

struct MpsBench {
  explicit MpsBench(SliceModes modes = Only(SliceMode::kMps))
      : node(R"({"gpus": [{"model": "A100-40GB"}, {"model": "A100-40GB"}]})"),
        gpus(node.Read(AllMay(modes))),
        commands(node.folder() / "commands") {
    setenv("FAKE_MPS_COMMANDS", commands.c_str(), 1);
    unsetenv("FAKE_MPS_FAILS");
    Begin({});
  }
  void Begin(const std::vector<Grant>& live) {
    MpsLimiter::Options options;
    options.daemons = DaemonsOf(node.folder());
    options.daemons.kept = kept;
    options.shm = "/run/shm";
    options.across_namespaces = across_namespaces;
    options.user_of = [this](const Holder& holder) -> std::optional<std::uint32_t> {
      if (unknown.count(holder.nonce) > 0) return std::nullopt;
      const auto found = users.find(holder.nonce);
      return found == users.end() ? 1000 : found->second;
    };
    partitioner = std::make_unique<MpsLimiter>(node.nvml(), options);
    REQUIRE(Restore(*partitioner, live, gpus).ok());
  }
  absl::Status Apply(const Grant& grant) {
    edits = {};
    return partitioner->Apply(grant, gpus, edits);
  }
  // The keeper may still look at the daemon that it has just started.
  void UndoAtLast(const Grant& grant) {
    while (!partitioner->Undo(grant, gpus).ok()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  unsigned ComputeMode() const {
    return *node.nvml().ComputeMode(*node.nvml().Find(gpus.devices[0].hardware.uuid));
  }

  bool kept = false, across_namespaces = false;  // from the next Begin on
  FakeNode node;
  Gpus gpus;
  std::filesystem::path commands;
  std::map<std::string, std::uint32_t> users;  // absent: 1000
  std::set<std::string> unknown;
  std::unique_ptr<MpsLimiter> partitioner;
  Edits edits;
};

TEST_CASE(
    "MpsLimiter: a daemon comes with the first container, serves all, and goes with the last") {
  MpsBench bench;
  const std::string uuid = bench.gpus.devices[0].hardware.uuid;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 8000)});
  const Grant b = Holding("b", {Share(SliceMode::kMps, 0, 0)});
  REQUIRE(bench.Apply(a).ok());
  CHECK(bench.ComputeMode() == nvml_abi::kExclusiveProcess);
  CHECK(Value(bench.edits, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") == "25");
  CHECK(Value(bench.edits, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT") == "0=8000M");
  CHECK(Value(bench.edits, "CUDA_MPS_PIPE_DIRECTORY") == "/tmp/nvidia-mps");
  CHECK(Value(bench.edits, "NVIDIA_VISIBLE_DEVICES") == uuid);
  const std::string pipe = (bench.node.folder() / "mps" / uuid / "pipe").string();
  CHECK(bench.edits.mounts == std::vector<Edits::Mount>{{pipe, "/tmp/nvidia-mps", false},
                                                        {"/run/shm", "/dev/shm", false}});
  REQUIRE(bench.Apply(b).ok());
  CHECK(Value(bench.edits, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") == "(not set)");
  REQUIRE(bench.Apply(a).ok());
  REQUIRE(bench.partitioner->Undo(a, bench.gpus).ok());
  CHECK(Content(bench.commands) == "start of " + uuid + "\n");
  REQUIRE(bench.partitioner->Undo(b, bench.gpus).ok());
  CHECK(Content(bench.commands) == "start of " + uuid + "\nquit\n");
  CHECK(bench.ComputeMode() == nvml_abi::kDefaultCompute);
  CHECK(bench.partitioner->Undo(b, bench.gpus).ok());
}

TEST_CASE("MpsLimiter: a restarted plugin finds its daemons again, and ends unused ones") {
  MpsBench bench;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  const Grant c = Holding("c", {Share(SliceMode::kMps, 250, 0, 1)});
  REQUIRE(bench.Apply(a).ok());
  REQUIRE(bench.Apply(c).ok());
  bench.Begin({a});
  REQUIRE(bench.Apply(a).ok());
  const std::string first = bench.gpus.devices[0].hardware.uuid;
  const std::string second = bench.gpus.devices[1].hardware.uuid;
  CHECK(Content(bench.commands) == "start of " + first + "\nstart of " + second + "\nquit\n");
}

TEST_CASE("MpsLimiter: clients beyond the limit and of other users are refused with the reason") {
  MpsBench bench;
  bench.gpus.devices[0].hardware.mps_clients = 2;
  const std::vector<GrantedSlice> share = {Share(SliceMode::kMps, 250, 0)};
  bench.users = {{"a", 1000}, {"b", 2000}};
  REQUIRE(bench.Apply(Holding("a", share)).ok());
  const absl::Status user = bench.Apply(Holding("b", share));
  CHECK(absl::IsFailedPrecondition(user));
  CHECK(user.message().find("runs as user 1000, this one as user 2000") != std::string_view::npos);
  bench.unknown = {"unknown"};
  const absl::Status unknown = bench.Apply(Holding("unknown", share));
  CHECK(absl::IsFailedPrecondition(unknown));
  CHECK(unknown.message().find("set securityContext.runAsUser in the pod") != std::string_view::npos);
  REQUIRE(bench.Apply(Holding("known", share)).ok());
  const absl::Status third = bench.Apply(Holding("c", share));
  CHECK(third.message().find("2 containers share it by MPS, its limit") !=
        std::string_view::npos);
  CHECK(bench.Apply(Holding("a", share)).ok());
  std::vector<GrantedSlice> two = share;
  two.push_back(Share(SliceMode::kMps, 250, 0, 1));
  CHECK(absl::IsFailedPrecondition(bench.Apply(Holding("d", two))));
}

TEST_CASE("MpsLimiter: containers of another namespace are refused, on every GPU with the same /dev/shm") {
  const auto of = [](const std::string& pod_namespace, const std::string& nonce, std::size_t gpu) {
    Grant grant = Holding(nonce, {Share(SliceMode::kMps, 250, 0, gpu)});
    grant.holder.pod_namespace = pod_namespace;
    return grant;
  };
  MpsBench bench;
  REQUIRE(bench.Apply(of("team", "a", 0)).ok());
  for (std::size_t gpu : {0, 1}) {
    const absl::Status refused = bench.Apply(of("mallory", "c", gpu));
    CHECK(refused.message().find("containers of namespace team use it on GPU " + bench.gpus.devices[0].hardware.uuid +
                                 ", this one is of namespace mallory") != std::string_view::npos);
  }
  REQUIRE(bench.partitioner->Undo(of("team", "a", 0), bench.gpus).ok());
  CHECK(bench.Apply(of("mallory", "c", 0)).ok());
  bench.across_namespaces = true;
  bench.Begin({of("mallory", "c", 0)});
  CHECK(bench.Apply(of("team", "a", 0)).ok());
}

TEST_CASE(
    "MpsLimiter: a daemon that does not start leaves nothing, one that does not end is reported") {
  MpsBench bench;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  setenv("FAKE_MPS_FAILS", "start", 1);
  const absl::Status status = bench.Apply(a);
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("exit 3: no start today") != std::string_view::npos);
  CHECK(bench.edits == Edits{});
  CHECK(bench.ComputeMode() == nvml_abi::kDefaultCompute);
  CHECK_FALSE(
      std::filesystem::exists(bench.node.folder() / "mps" / bench.gpus.devices[0].hardware.uuid));
  unsetenv("FAKE_MPS_FAILS");
  REQUIRE(bench.Apply(a).ok());
  setenv("FAKE_MPS_FAILS", "quit", 1);
  CHECK(absl::IsUnavailable(bench.partitioner->Undo(a, bench.gpus)));
  unsetenv("FAKE_MPS_FAILS");
  CHECK(bench.partitioner->Undo(a, bench.gpus).ok());
}

// `tephra-node mps-keeper`, as a thread.
class Keeper {
 public:
  explicit Keeper(const std::filesystem::path& folder)
      : daemons_(DaemonsOf(folder)),
        stop_(eventfd(0, EFD_CLOEXEC)),
        thread_([this] { status_ = KeepMpsDaemons(daemons_, stop_.get(), 20); }) {}
  ~Keeper() {
    const std::uint64_t one = 1;
    CHECK(write(stop_.get(), &one, sizeof one) == sizeof one);
    thread_.join();
    CHECK(status_ == absl::OkStatus());
  }

 private:
  MpsDaemons daemons_;
  Descriptor stop_;
  absl::Status status_;
  std::thread thread_;
};

TEST_CASE("MpsLimiter: if another process keeps the daemons, it gets the list of wanted ones") {
  MpsBench bench;
  bench.kept = true;
  bench.Begin({});
  const std::filesystem::path mps = bench.node.folder() / "mps";
  const std::string uuid = bench.gpus.devices[0].hardware.uuid;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  {
    const Keeper keeper(bench.node.folder());
    while (!bench.Apply(a).ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    CHECK(bench.ComputeMode() == nvml_abi::kExclusiveProcess);
    // Another one, where the first has gone.
    std::filesystem::remove(mps / uuid / "pipe" / "control");
    while (!std::filesystem::exists(mps / uuid / "pipe" / "control")) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    bench.UndoAtLast(a);
    CHECK_FALSE(std::filesystem::exists(mps / "wanted" / uuid));
  }
  CHECK(bench.ComputeMode() == nvml_abi::kDefaultCompute);
  CHECK_FALSE(std::filesystem::exists(mps / uuid / "pipe" / "control"));
  CHECK(Content(bench.commands).find("start of " + uuid + "\n") != std::string::npos);
}

TEST_CASE("MpsLimiter: a daemon that is not there yet is waited for, and not ended while it comes") {
  MpsBench bench;
  bench.kept = true;
  bench.Begin({});
  const std::string uuid = bench.gpus.devices[0].hardware.uuid;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  const absl::Status status = bench.Apply(a);
  CHECK(absl::IsUnavailable(status));
  CHECK(status.message().find("is tephra-node mps-keeper running on this node?") !=
        std::string_view::npos);
  CHECK(bench.edits == Edits{});
  CHECK(bench.ComputeMode() == nvml_abi::kDefaultCompute);
  setenv("FAKE_MPS_SLOW", "0.5", 1);
  const Keeper keeper(bench.node.folder());
  while (!std::filesystem::exists(bench.commands)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(absl::IsUnavailable(bench.partitioner->Undo(a, bench.gpus)));
  while (!bench.Apply(a).ok()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  unsetenv("FAKE_MPS_SLOW");
  CHECK(Content(bench.commands) == "start of " + uuid + "\n");
  bench.UndoAtLast(a);
  // One of a card that is no longer there.
  std::ofstream(bench.node.folder() / "mps" / "wanted" / "GPU-that-was");
  bench.Begin({});
  CHECK(std::filesystem::is_empty(bench.node.folder() / "mps" / "wanted"));
}

TEST_CASE("MpsLimiter: whose a container is stays known when its pod has gone") {
  MpsBench bench;
  bench.users = {{"a", 1000}, {"b", 2000}};
  REQUIRE(bench.Apply(Holding("a", {Share(SliceMode::kMps, 250, 0)})).ok());
  bench.unknown = {"a"};
  const absl::Status other = bench.Apply(Holding("b", {Share(SliceMode::kMps, 250, 0)}));
  CHECK(other.message().find("runs as user 1000, this one as user 2000") != std::string_view::npos);
  // A container of an earlier version, whose user nothing says any more.
  bench.Begin({Holding("a", {Share(SliceMode::kMps, 250, 0)})});
  const absl::Status last = bench.Apply(Holding("c", {Share(SliceMode::kMps, 250, 0)}));
  CHECK(last.message().find("runs as a user that is not known, this one as user 1000") != std::string_view::npos);
}

TEST_CASE("MpsLimiter: the daemon gives no client more than the largest container has") {
  MpsBench bench;
  const std::filesystem::path pipe = bench.node.folder() / "mps" / bench.gpus.devices[0].hardware.uuid / "pipe";
  REQUIRE(bench.Apply(Holding("a", {Share(SliceMode::kMps, 250, 8000)})).ok());
  CHECK(Content(pipe / "limits") ==
        "set_default_active_thread_percentage 25\nset_default_device_pinned_mem_limit 0 8000M\n");
  std::ofstream(pipe / "servers") << "41\n42\n";
  std::filesystem::remove(pipe / "limits");
  REQUIRE(bench.Apply(Holding("b", {Share(SliceMode::kMps, 100, 12000)})).ok());
  CHECK(Content(pipe / "limits") ==
        "set_default_active_thread_percentage 25\nset_default_device_pinned_mem_limit 0 12000M\n"
        "set_active_thread_percentage 41 25\nset_device_pinned_mem_limit 41 0 12000M\n"
        "set_active_thread_percentage 42 25\nset_device_pinned_mem_limit 42 0 12000M\n");
  std::filesystem::remove(pipe / "limits");
  // No limit for one container is no limit for the daemon.
  REQUIRE(bench.Apply(Holding("c", {Share(SliceMode::kMps, 0, 0)})).ok());
  const std::string all = std::to_string(bench.gpus.devices[0].hardware.memory_mib);
  CHECK(Content(pipe / "limits")
            .find("set_default_active_thread_percentage 100\n"
                  "set_default_device_pinned_mem_limit 0 " + all + "M\n") == 0);
}

TEST_CASE("MpsLimiter: a card that is too old or not meant for it is refused") {
  MpsBench bench(kUsualModes);
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  CHECK(bench.Apply(a).message().find("may not be shared by MPS on this node") != std::string_view::npos);
  bench.gpus.devices[0].hardware.modes = Only(SliceMode::kMps);
  bench.gpus.devices[0].cuda_major = 6;
  CHECK(bench.Apply(a).message().find("from 7.0 on") != std::string_view::npos);
  CHECK(bench.Apply(Holding("w", {Share(SliceMode::kWhole, 1000, 40960)})).ok());
  CHECK(bench.edits == Edits{});
}

TEST_CASE("TimeSliceLimiter: turns are as long as configured while a container takes them") {
  FakeNode node(R"({"model": "NVIDIA L40S", "count": 2})");
  Gpus gpus = node.Read(AllMay(Only(SliceMode::kTimeSlice)));
  gpus.devices[0].hardware.replicas = 2;
  const std::filesystem::path commands = node.folder() / "commands", smi = node.folder() / "smi";
  std::ofstream(smi) << "#!/bin/sh\necho \"$@\" >>" << commands.string() << "\n";
  std::filesystem::permissions(smi, std::filesystem::perms::owner_all);
  const std::string uuid = gpus.devices[0].hardware.uuid;
  TimeSliceLimiter partitioner({smi.string(), TimeSliceLimiter::Interval::kLong, 10'000});
  const std::vector<GrantedSlice> turn = {Share(SliceMode::kTimeSlice, 0, 1000)};
  Edits edits;
  REQUIRE(partitioner.Apply(Holding("a", turn), gpus, edits).ok());
  CHECK(Value(edits, "NVIDIA_VISIBLE_DEVICES") == uuid);
  CHECK(Content(commands) == "compute-policy -i " + uuid + " --set-timeslice 3\n");
  REQUIRE(Restore(partitioner, {Holding("a", turn)}, gpus).ok());
  REQUIRE(partitioner.Apply(Holding("b", turn), gpus, edits).ok());
  const absl::Status third = partitioner.Apply(Holding("c", turn), gpus, edits);
  CHECK(absl::IsFailedPrecondition(third));
  CHECK(third.message().find("2 containers share it by time slicing, its limit") != std::string_view::npos);
  REQUIRE(partitioner.Undo(Holding("a", turn), gpus).ok());
  REQUIRE(partitioner.Undo(Holding("b", turn), gpus).ok());
  const std::string all = Content(commands);
  CHECK(all.substr(all.size() - 2) == "0\n");

  std::ofstream(smi) << "#!/bin/sh\necho Not Supported\nexit 3\n";
  edits = {};
  const absl::Status refused = partitioner.Apply(Holding("d", turn), gpus, edits);
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(refused.message().find("exit 3: Not Supported") != std::string_view::npos);
  CHECK(edits == Edits{});

  TimeSliceLimiter plain({"/nonexistent", TimeSliceLimiter::Interval::kDefault, 10'000});
  CHECK(plain.Apply(Holding("e", turn), gpus, edits).ok());
  CHECK(plain.Undo(Holding("e", turn), gpus).ok());
}

}  // namespace
}  // namespace tephra::node
