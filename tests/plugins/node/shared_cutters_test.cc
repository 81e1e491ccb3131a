#include <signal.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <thread>

#include <catch2/catch.hpp>

#include "plugins/node/cut/mps_cutter.h"
#include "plugins/node/cut/time_slice_cutter.h"
#include "plugins/node/mps_keeper.h"
#include "plugins/node/run_program.h"
#include "sidecar/descriptor.h"
#include "tests/plugins/node/fake_node.h"

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
        told(node.folder() / "told") {
    setenv("FAKE_MPS_TOLD", told.c_str(), 1);
    unsetenv("FAKE_MPS_FAILS");
    Begin({});
  }
  void Begin(const std::vector<Grant>& live) {
    MpsCutter::Options options;
    options.daemons = DaemonsOf(node.folder());
    options.daemons.kept = kept;
    options.shm = "/run/shm";
    options.user_of = [this](const Holder& holder) -> std::optional<std::uint32_t> {
      const auto found = users.find(holder.nonce);
      return found == users.end() ? std::nullopt : std::optional(found->second);
    };
    cutter = std::make_unique<MpsCutter>(node.nvml(), options);
    REQUIRE(cutter->Restore(live, gpus).ok());
  }
  absl::Status Cut(const Grant& grant) {
    edits = {};
    return cutter->Cut(grant, gpus, edits);
  }
  // The keeper may still look at the daemon that it has just started.
  void UndoAtLast(const Grant& grant) {
    while (!cutter->Undo(grant, gpus).ok()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }
  unsigned ComputeMode() const {
    return *node.nvml().ComputeMode(*node.nvml().Find(gpus.devices[0].hardware.uuid));
  }

  bool kept = false;  // from the next Begin on
  FakeNode node;
  Gpus gpus;
  std::filesystem::path told;
  std::map<std::string, std::uint32_t> users;
  std::unique_ptr<MpsCutter> cutter;
  Edits edits;
};

TEST_CASE("RunProgram: what it prints, how it fails, and when it takes too long") {
  Program program;
  program.arguments = {"sh", "-c", "read line; echo \"$line $WORD\""};
  program.environment = {{"WORD", "there"}};
  program.input = "hello\n";
  CHECK(*RunProgram(program) == "hello there\n");
  program.arguments = {"sh", "-c", "echo oh; exit 4"};
  CHECK(RunProgram(program).status() == absl::FailedPreconditionError("sh: exit 4: oh"));
  program.arguments = {"/nonexistent/program"};
  CHECK(absl::IsNotFound(RunProgram(program).status()));
  program.arguments = {"sleep", "10"};
  program.timeout_ms = 20;
  CHECK(absl::IsDeadlineExceeded(RunProgram(program).status()));
}

TEST_CASE("RunProgram: no folder need be writable, and blocked signals are not inherited") {
  const char* const folder = getenv("TMPDIR");
  const std::string before = folder == nullptr ? "/tmp" : folder;
  setenv("TMPDIR", "/nonexistent", 1);
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &old);
  Program program;
  program.arguments = {"sh", "-c", "echo begun; kill -TERM $$; echo alive"};
  const absl::Status status = RunProgram(program).status();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  setenv("TMPDIR", before.c_str(), 1);
  CHECK(status == absl::FailedPreconditionError("sh: signal 15: begun"));
}

TEST_CASE(
    "MpsCutter: a daemon comes with the first container, serves all, and goes with the last") {
  MpsBench bench;
  const std::string uuid = bench.gpus.devices[0].hardware.uuid;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 8000)});
  const Grant b = Holding("b", {Share(SliceMode::kMps, 0, 0)});
  REQUIRE(bench.Cut(a).ok());
  CHECK(bench.ComputeMode() == nvml_abi::kExclusiveProcess);
  CHECK(Value(bench.edits, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") == "25");
  CHECK(Value(bench.edits, "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT") == "0=8000M");
  CHECK(Value(bench.edits, "CUDA_MPS_PIPE_DIRECTORY") == "/tmp/nvidia-mps");
  CHECK(Value(bench.edits, "NVIDIA_VISIBLE_DEVICES") == uuid);
  const std::string pipe = (bench.node.folder() / "mps" / uuid / "pipe").string();
  CHECK(bench.edits.mounts == std::vector<Edits::Mount>{{pipe, "/tmp/nvidia-mps", false},
                                                        {"/run/shm", "/dev/shm", false}});
  REQUIRE(bench.Cut(b).ok());
  CHECK(Value(bench.edits, "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE") == "(not set)");
  REQUIRE(bench.Cut(a).ok());
  REQUIRE(bench.cutter->Undo(a, bench.gpus).ok());
  CHECK(Content(bench.told) == "start of " + uuid + "\n");
  REQUIRE(bench.cutter->Undo(b, bench.gpus).ok());
  CHECK(Content(bench.told) == "start of " + uuid + "\nquit\n");
  CHECK(bench.ComputeMode() == nvml_abi::kDefaultCompute);
  CHECK(bench.cutter->Undo(b, bench.gpus).ok());
}

TEST_CASE("MpsCutter: a restarted plugin finds its daemons again, and ends those of nobody") {
  MpsBench bench;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  const Grant c = Holding("c", {Share(SliceMode::kMps, 250, 0, 1)});
  REQUIRE(bench.Cut(a).ok());
  REQUIRE(bench.Cut(c).ok());
  bench.Begin({a});
  REQUIRE(bench.Cut(a).ok());
  const std::string first = bench.gpus.devices[0].hardware.uuid;
  const std::string second = bench.gpus.devices[1].hardware.uuid;
  CHECK(Content(bench.told) == "start of " + first + "\nstart of " + second + "\nquit\n");
}

TEST_CASE("MpsCutter: clients beyond the limit and of other users are refused with the reason") {
  MpsBench bench;
  bench.gpus.devices[0].hardware.mps_clients = 2;
  const std::vector<GrantedSlice> share = {Share(SliceMode::kMps, 250, 0)};
  bench.users = {{"a", 1000}, {"b", 2000}};
  REQUIRE(bench.Cut(Holding("a", share)).ok());
  const absl::Status user = bench.Cut(Holding("b", share));
  CHECK(absl::IsFailedPrecondition(user));
  CHECK(user.message().find("one user at a time, now 1000, and not 2000") !=
        std::string_view::npos);
  REQUIRE(bench.Cut(Holding("unknown", share)).ok());
  const absl::Status third = bench.Cut(Holding("c", share));
  CHECK(third.message().find("2 containers share it by MPS, as many as may") !=
        std::string_view::npos);
  CHECK(bench.Cut(Holding("a", share)).ok());
  std::vector<GrantedSlice> two = share;
  two.push_back(Share(SliceMode::kMps, 250, 0, 1));
  CHECK(absl::IsFailedPrecondition(bench.Cut(Holding("d", two))));
}

TEST_CASE(
    "MpsCutter: a daemon that does not start leaves nothing, one that does not end is told of") {
  MpsBench bench;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  setenv("FAKE_MPS_FAILS", "start", 1);
  const absl::Status status = bench.Cut(a);
  CHECK(absl::IsFailedPrecondition(status));
  CHECK(status.message().find("exit 3: no start today") != std::string_view::npos);
  CHECK(bench.edits == Edits{});
  CHECK(bench.ComputeMode() == nvml_abi::kDefaultCompute);
  CHECK_FALSE(
      std::filesystem::exists(bench.node.folder() / "mps" / bench.gpus.devices[0].hardware.uuid));
  unsetenv("FAKE_MPS_FAILS");
  REQUIRE(bench.Cut(a).ok());
  setenv("FAKE_MPS_FAILS", "quit", 1);
  CHECK(absl::IsUnavailable(bench.cutter->Undo(a, bench.gpus)));
  unsetenv("FAKE_MPS_FAILS");
  CHECK(bench.cutter->Undo(a, bench.gpus).ok());
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

TEST_CASE("MpsCutter: where another process keeps the daemons, it is told which are wanted") {
  MpsBench bench;
  bench.kept = true;
  bench.Begin({});
  const std::filesystem::path mps = bench.node.folder() / "mps";
  const std::string uuid = bench.gpus.devices[0].hardware.uuid;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  {
    const Keeper keeper(bench.node.folder());
    while (!bench.Cut(a).ok()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
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
  CHECK(Content(bench.told).find("start of " + uuid + "\n") != std::string::npos);
}

TEST_CASE("MpsCutter: a daemon that is not there yet is waited for, and not ended while it comes") {
  MpsBench bench;
  bench.kept = true;
  bench.Begin({});
  const std::string uuid = bench.gpus.devices[0].hardware.uuid;
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  const absl::Status status = bench.Cut(a);
  CHECK(absl::IsUnavailable(status));
  CHECK(status.message().find("is tephra-node mps-keeper running on this node?") !=
        std::string_view::npos);
  CHECK(bench.edits == Edits{});
  CHECK(bench.ComputeMode() == nvml_abi::kDefaultCompute);
  setenv("FAKE_MPS_SLOW", "0.5", 1);
  const Keeper keeper(bench.node.folder());
  while (!std::filesystem::exists(bench.told)) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  CHECK(absl::IsUnavailable(bench.cutter->Undo(a, bench.gpus)));
  while (!bench.Cut(a).ok()) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  unsetenv("FAKE_MPS_SLOW");
  CHECK(Content(bench.told) == "start of " + uuid + "\n");
  bench.UndoAtLast(a);
  // One of a card that is no longer there.
  std::ofstream(bench.node.folder() / "mps" / "wanted" / "GPU-that-was");
  bench.Begin({});
  CHECK(std::filesystem::is_empty(bench.node.folder() / "mps" / "wanted"));
}

TEST_CASE("MpsCutter: whose a container is stays known when its pod has gone") {
  MpsBench bench;
  bench.users = {{"a", 1000}, {"b", 2000}};
  REQUIRE(bench.Cut(Holding("a", {Share(SliceMode::kMps, 250, 0)})).ok());
  bench.users.erase("a");
  CHECK(absl::IsFailedPrecondition(bench.Cut(Holding("b", {Share(SliceMode::kMps, 250, 0)}))));
}

TEST_CASE("MpsCutter: a card that is too old or not meant for it is refused") {
  MpsBench bench(kUsualModes);
  const Grant a = Holding("a", {Share(SliceMode::kMps, 250, 0)});
  CHECK(bench.Cut(a).message().find("is not shared by MPS on this node") != std::string_view::npos);
  bench.gpus.devices[0].hardware.modes = Only(SliceMode::kMps);
  bench.gpus.devices[0].cuda_major = 6;
  CHECK(bench.Cut(a).message().find("from 7.0 on") != std::string_view::npos);
  CHECK(bench.Cut(Holding("w", {Share(SliceMode::kWhole, 1000, 40960)})).ok());
  CHECK(bench.edits == Edits{});
}

TEST_CASE("TimeSliceCutter: turns are as long as configured while somebody takes them") {
  FakeNode node(R"({"model": "NVIDIA L40S", "count": 2})");
  Gpus gpus = node.Read(AllMay(Only(SliceMode::kTimeSlice)));
  gpus.devices[0].hardware.replicas = 2;
  const std::filesystem::path told = node.folder() / "told", smi = node.folder() / "smi";
  std::ofstream(smi) << "#!/bin/sh\necho \"$@\" >>" << told.string() << "\n";
  std::filesystem::permissions(smi, std::filesystem::perms::owner_all);
  const std::string uuid = gpus.devices[0].hardware.uuid;
  TimeSliceCutter cutter({smi.string(), TimeSliceCutter::Interval::kLong, 10'000});
  const std::vector<GrantedSlice> turn = {Share(SliceMode::kTimeSlice, 0, 1000)};
  Edits edits;
  REQUIRE(cutter.Cut(Holding("a", turn), gpus, edits).ok());
  CHECK(Value(edits, "NVIDIA_VISIBLE_DEVICES") == uuid);
  CHECK(Content(told) == "compute-policy -i " + uuid + " --set-timeslice 3\n");
  REQUIRE(cutter.Restore({Holding("a", turn)}, gpus).ok());
  REQUIRE(cutter.Cut(Holding("b", turn), gpus, edits).ok());
  const absl::Status third = cutter.Cut(Holding("c", turn), gpus, edits);
  CHECK(absl::IsFailedPrecondition(third));
  CHECK(third.message().find("2 containers take turns at it") != std::string_view::npos);
  REQUIRE(cutter.Undo(Holding("a", turn), gpus).ok());
  REQUIRE(cutter.Undo(Holding("b", turn), gpus).ok());
  const std::string all = Content(told);
  CHECK(all.substr(all.size() - 2) == "0\n");

  std::ofstream(smi) << "#!/bin/sh\necho Not Supported\nexit 3\n";
  edits = {};
  const absl::Status refused = cutter.Cut(Holding("d", turn), gpus, edits);
  CHECK(absl::IsFailedPrecondition(refused));
  CHECK(refused.message().find("exit 3: Not Supported") != std::string_view::npos);
  CHECK(edits == Edits{});

  TimeSliceCutter plain({"/nonexistent", TimeSliceCutter::Interval::kDefault, 10'000});
  CHECK(plain.Cut(Holding("e", turn), gpus, edits).ok());
  CHECK(plain.Undo(Holding("e", turn), gpus).ok());
}

}  // namespace
}  // namespace tephra::node
