// Late binding without a kubelet: its checkpoint is a file that the test writes.
#include <fstream>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>
#include <grpcpp/grpcpp.h>
#include <nlohmann/json.hpp>

#include "kubelet/device_plugin.pb.h"
#include "kubelet/pod_resources.grpc.pb.h"
#include "plugins/node/binding/late_binding.h"
#include "plugins/node/binding/set_aside.h"
#include "plugins/node/cut/whole_cutter.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

// Pods as they are given, at once.
class GivenPods final : public PodSource {
 public:
  std::map<std::string, PodFacts> pods;

  absl::StatusOr<PodFacts> Wait(const std::string& uid, std::chrono::steady_clock::time_point,
                                const std::function<bool()>&,
                                const std::function<bool(const PodFacts&)>&) override {
    const auto found = pods.find(uid);
    if (found == pods.end()) return absl::NotFoundError("gone");
    return found->second;
  }
  absl::StatusOr<PodFacts> Named(const std::string&, const std::string& name) override {
    return Wait(name, {}, nullptr, nullptr);
  }
  bool Over(const std::string& uid) const override {
    const auto found = pods.find(uid);
    return found == pods.end() || found->second.ended;
  }
};

std::string Base64(const std::string& bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<std::uint8_t>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k > bytes.size() ? '=' : kDigits[group >> (18 - 6 * k) & 63];
    }
  }
  return text;
}

constexpr auto kNever = [] { return false; };
Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::milliseconds(50); }

// A node with two GPUs, and containers that the kubelet has admitted.
class Node {
 public:
  Node() {
    settings_.state_folder = at_.path() + "/state";
    settings_.checkpoint = at_.path() + "/checkpoint";
    settings_.cdi_folder = at_.path() + "/cdi";
    settings_.cgroup_root = at_.path() + "/cgroup";
    settings_.device_root = at_.path() + "/root";
    settings_.pod_resources = at_.path() + "/pod-resources.sock";
    settings_.resource = "t/t";
    settings_.schedulers = {"tephra"};
    settings_.settle_ms = 0;
    settings_.mount = true;
    std::filesystem::create_directories(settings_.device_root + "/dev");
    for (const char* node : {"nvidiactl", "nvidia-uvm", "nvidia0", "nvidia1"}) {
      std::ofstream(settings_.device_root + "/dev/" + node) << "";
    }
    Begin();
  }

  // A new process on what the old one left.
  void Begin(const Gpus& gpus = SomeGpus(2)) {
    binding_.reset();
    Cutters cutters;
    cutters.Set(SliceMode::kWhole, std::make_unique<WholeCutter>());
    auto opened =
        LateBinding::Open(settings_, gpus, std::move(cutters), pods, [](const std::string&) {});
    INFO(opened.status().ToString());
    REQUIRE(opened.ok());
    binding_ = *std::move(opened);
  }

  // Returns the nonce.
  std::string Admit(const std::string& uid, const std::string& container,
                    const std::string& ticket) {
    const auto answer = binding_->Mint({ticket});
    REQUIRE(answer.ok());
    v1beta1::ContainerAllocateResponse message;
    message.add_cdi_devices()->set_name(answer->cdi_device);
    entries_[uid + container] = {{"PodUID", uid},
                                 {"ContainerName", container},
                                 {"ResourceName", "t/t"},
                                 {"DeviceIDs", {{"-1", {ticket}}}},
                                 {"AllocResp", Base64(message.SerializeAsString())}};
    WriteCheckpoint();
    return answer->nonce;
  }

  void Forget(const std::string& uid, const std::string& container) {
    entries_.erase(uid + container);
    WriteCheckpoint();
  }

  // As after an update of the kubelet that changed the file's shape.
  void BreakCheckpoint() { std::ofstream(settings_.checkpoint) << R"({"Data": {"V2": []}})"; }

  void Give(const std::string& uid, int gpu, const std::string& scheduler = "tephra") {
    const std::string number = std::to_string(gpu);
    pods.pods[uid] = {
        uid,
        "team",
        uid,
        scheduler,
        false,
        R"({"version": 1, "containers": [{"name": "main", "slices": [{"uuid": "GPU-)" + number +
            R"(", "index": )" + number +
            R"(, "mode": "whole", "compute": 1000, "memoryMiB": 10000}]}]})",
        {},
        {}};
  }

  absl::Status Start(const std::string& ticket) {
    return binding_->PreStart({ticket}, Soon(), kNever);
  }

  std::string Cdi() const {
    std::ifstream in(settings_.cdi_folder + "/tephra.sh-slice.json");
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }
  bool Sees(const std::string& nonce, const std::string& gpu) const {
    const auto spec = nlohmann::json::parse(Cdi(), nullptr, false);
    if (!spec.is_object()) return false;
    for (const auto& device : spec["devices"]) {
      if (device["name"] != nonce) continue;
      return device["containerEdits"]["env"][1] == "NVIDIA_VISIBLE_DEVICES=" + gpu;
    }
    return false;
  }

  GivenPods pods;
  LateBinding& binding() { return *binding_; }
  const BindingSettings& settings() const { return settings_; }

 private:
  void WriteCheckpoint() {
    nlohmann::json entries = nlohmann::json::array();
    for (const auto& [key, entry] : entries_) entries.push_back(entry);
    std::ofstream(settings_.checkpoint) << nlohmann::json{
        {"Data", {{"PodDeviceEntries", entries}, {"RegisteredDevices", nlohmann::json::object()}}},
        {"Checksum", 1}};
  }

  TemporaryFolder at_;
  BindingSettings settings_;
  std::map<std::string, nlohmann::json> entries_;
  std::unique_ptr<LateBinding> binding_;
};

TEST_CASE("A container that starts sees the slices of its pod's annotation") {
  Node node;
  node.Give("a", 1);
  const std::string nonce = node.Admit("a", "main", "0-0");
  const absl::Status started = node.Start("0-0");
  INFO(started.ToString());
  REQUIRE(started.ok());
  CHECK(node.Sees(nonce, "GPU-1"));
  CHECK(
      std::filesystem::exists(node.settings().state_folder + "/nonces/" + nonce + "/slices.json"));
}

TEST_CASE("Starting again changes nothing, even where the annotation has changed since") {
  Node node;
  node.Give("a", 1);
  node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  const std::string before = node.Cdi();
  node.Give("a", 0);
  CHECK(node.Start("0-0").ok());
  node.Begin();
  CHECK(node.Start("0-0").ok());
  CHECK(node.Cdi() == before);
}

TEST_CASE("A GPU that is held stays its holder's until the holder is gone") {
  Node node;
  node.Give("a", 1);
  node.Give("b", 1);
  node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  const std::string nonce = node.Admit("b", "main", "0-1");
  const absl::Status refused = node.Start("0-1");
  CHECK(absl::IsUnavailable(refused));
  CHECK(refused.message() == "GPU 1 (GPU-1) is held by pod team/a (a), container main");
  CHECK_FALSE(node.Sees(nonce, "GPU-1"));
  // Forgotten by everybody, but its containers run on.
  const std::string cgroup = node.settings().cgroup_root + "/kubepods/poda";
  std::filesystem::create_directories(cgroup);
  node.Forget("a", "main");
  CHECK_FALSE(node.Start("0-1").ok());
  node.Begin();
  CHECK_FALSE(node.Start("0-1").ok());
  std::filesystem::remove(cgroup);
  node.binding().Sweep();
  CHECK(node.Start("0-1").ok());
  CHECK(node.Sees(nonce, "GPU-1"));
}

TEST_CASE("What a pod held is given back once it has ended, before the kubelet forgets it") {
  Node node;
  const std::string cgroup = node.settings().cgroup_root + "/kubepods/poda";
  std::filesystem::create_directories(cgroup);
  node.Give("a", 1);
  node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  CHECK_FALSE(node.binding().Sweep());
  node.pods.pods["a"].ended = true;
  CHECK(node.binding().Sweep());
  CHECK(node.binding().holdings().size() == 1);
  std::filesystem::remove(cgroup);
  CHECK_FALSE(node.binding().Sweep());
  CHECK(node.binding().holdings().empty());
  CHECK(node.Cdi().empty());
  CHECK(absl::IsNotFound(node.Start("0-0")));
}

TEST_CASE("Pods without annotation, of other schedulers, ended or gone get nothing") {
  Node node;
  node.Admit("gone", "main", "0-0");
  CHECK(absl::IsNotFound(node.Start("0-0")));
  node.pods.pods["plain"] = {"plain", "team", "plain", "tephra", false, std::nullopt, {}, {}};
  node.Admit("plain", "main", "0-1");
  CHECK(node.Start("0-1").message() == "team/plain: the pod has no annotation tephra.sh/slices");
  node.Give("foreign", 0, "default-scheduler");
  node.Admit("foreign", "main", "0-2");
  CHECK(node.Start("0-2").message() ==
        "team/foreign: scheduled by default-scheduler, which gives out no devices of this node");
  node.Give("other", 0);
  node.Admit("other", "helper", "0-3");
  CHECK(absl::IsFailedPrecondition(node.Start("0-3")));
  CHECK(node.Start("9-9").message() ==
        "the kubelet's checkpoint names no container that holds just these devices");
  CHECK(node.Cdi().empty());
  CHECK(node.binding().holdings().empty());
}

// A kubelet's pod resources: who holds which one ticket.
class PodResources final : public v1::PodResourcesLister::Service {
 public:
  explicit PodResources(const std::string& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* answer) override {
    for (const auto& [pod, ticket] : holders) {
      v1::PodResources& told = *answer->add_pod_resources();
      told.set_name(pod);
      told.set_namespace_("team");
      v1::ContainerResources& container = *told.add_containers();
      container.set_name("main");
      for (const char* resource : {"t/t", "other/resource"}) {
        v1::ContainerDevices& devices = *container.add_devices();
        devices.set_resource_name(resource);
        devices.add_device_ids(ticket);
      }
    }
    return grpc::Status::OK;
  }
  std::vector<std::pair<std::string, std::string>> holders;

 private:
  std::unique_ptr<grpc::Server> server_;
};

TEST_CASE(
    "Where the checkpoint is of an unknown shape, the kubelet's pod resources tell whose it is") {
  Node node;
  node.Give("a", 1);
  node.Give("b", 0);
  const std::string a = node.Admit("a", "main", "0-0");
  node.BreakCheckpoint();
  const std::string why = "kubelet checkpoint: Checksum: expected a number; ";
  CHECK(node.Start("0-0").message().find(why + "kubelet's pod resources at ") == 0);
  PodResources kubelet(node.settings().pod_resources);
  CHECK(node.Start("0-0").message() == why +
                                           "the kubelet's pod resources name 0 containers with "
                                           "these devices, expected one with just these");
  kubelet.holders = {{"a", "0-0"}};
  REQUIRE(node.Start("0-0").ok());
  CHECK(node.Sees(a, "GPU-1"));
  // A new process starts what was bound again, and says of the rest that nothing tells.
  const std::string b = node.Admit("b", "main", "0-1");
  node.BreakCheckpoint();
  kubelet.holders.emplace_back("b", "0-1");
  node.Begin();
  CHECK(node.Start("0-0").ok());
  CHECK(node.Sees(a, "GPU-1"));
  CHECK(node.Start("0-1").message().find("allocated before this process began") !=
        std::string::npos);
  // The ticket is another pod's now: its nonce is, too.
  node.pods.pods.erase("a");
  node.binding().Sweep();
  node.Give("c", 1);
  const std::string c = node.Admit("c", "main", "0-0");
  node.BreakCheckpoint();
  kubelet.holders = {{"c", "0-0"}};
  std::filesystem::create_directories(node.settings().cgroup_root + "/kubepods");
  node.binding().Sweep();
  REQUIRE(node.Start("0-0").ok());
  CHECK(node.Sees(c, "GPU-1"));
  CHECK_FALSE(node.Sees(a, "GPU-1"));
  // Given twice.
  kubelet.holders.emplace_back("b", "0-0");
  CHECK(absl::IsUnavailable(node.Start("0-0")));
}

TEST_CASE("A pod of another scheduler gets what is set aside for such, and nobody else does") {
  Node node;
  Gpus gpus = SomeGpus(2);
  gpus.devices[1].set_aside = true;
  node.Begin(gpus);
  node.Give("foreign", 0, "default-scheduler");  // whatever its annotation says
  const std::string nonce = node.Admit("foreign", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  CHECK(node.Sees(nonce, "GPU-1"));
  node.Begin(gpus);
  CHECK(node.Start("0-0").ok());
  CHECK(node.Sees(nonce, "GPU-1"));
  node.Give("second", 0, "default-scheduler");
  const std::string waits = node.Admit("second", "main", "0-1");
  CHECK(node.Start("0-1").message() ==
        "0 of 1 GPUs that are set aside for pods of other schedulers are free, 1 asked for");
  node.Give("ours", 1);
  node.Admit("ours", "main", "0-2");
  CHECK(node.Start("0-2").message() ==
        "team/ours: GPU GPU-1 is set aside for pods of other schedulers");
  node.pods.pods.erase("foreign");
  node.Forget("foreign", "main");
  node.binding().Sweep();
  REQUIRE(node.Start("0-1").ok());
  CHECK(node.Sees(waits, "GPU-1"));
}

TEST_CASE(
    "SetAside: each ticket is one device, and containers of a pod that run together share none") {
  Gpus gpus = SomeGpus(4);
  for (const std::size_t i : {1, 2, 3}) gpus.devices[i].set_aside = true;
  gpus.devices[2].hardware.healthy = false;
  Books books;
  const auto wanted = [](const std::string& nonce, const std::string& pod, bool init) {
    Holding holding;
    holding.init = init;
    holding.grant.holder = {nonce, pod, "team", pod, "c"};
    return holding;
  };
  const auto chosen = [&](Holding holding, std::size_t count) {
    const auto slices = ChooseSetAside(holding, count, books, gpus);
    if (!slices.ok()) return std::string(slices.status().message());
    std::string text;
    for (const GrantedSlice& slice : *slices) text += std::to_string(slice.gpu) + " ";
    holding.grant.slices = *slices;
    books.Put(holding);
    return text;
  };
  CHECK(chosen(wanted("i", "p", true), 2) == "1 3 ");
  CHECK(chosen(wanted("a", "p", false), 1) == "1 ");
  CHECK(chosen(wanted("b", "p", false), 1) == "3 ");
  CHECK(chosen(wanted("q", "other", false), 1) ==
        "0 of 2 GPUs that are set aside for pods of other schedulers are free, 1 asked for");
  CHECK(chosen(wanted("q", "other", false), 3) ==
        "2 healthy GPUs of this node are set aside for pods of other schedulers, 3 asked for");
}

TEST_CASE("An unhealthy GPU keeps its containers and takes no new one") {
  Node node;
  node.Give("a", 0);
  node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  Gpus gpus = SomeGpus(2);
  for (Gpu& gpu : gpus.devices) {
    gpu.hardware.healthy = false;
    gpu.unhealthy = "Xid 79";
  }
  REQUIRE(node.binding().SetGpus(gpus).ok());
  CHECK(node.Start("0-0").ok());
  node.Give("b", 1);
  node.Admit("b", "main", "0-1");
  CHECK(node.Start("0-1").message() == "team/b: GPU GPU-1 is unhealthy: Xid 79");
  CHECK(node.binding().held_tickets().at("0-0") == std::set<std::size_t>{0});
  CHECK_FALSE(node.binding().SetGpus(SomeGpus(1)).ok());
}

TEST_CASE("A record that somebody spoilt is made anew from what the pod was given") {
  Node node;
  node.Give("a", 1);
  const std::string nonce = node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  const std::string records = node.settings().state_folder + "/records/";
  std::ofstream(records + nonce + ".json") << "{}";
  std::ofstream(records + "passwd.json") << "{}";
  std::filesystem::create_symlink("/etc/passwd", records + std::string(32, 'a') + ".json");
  node.Begin();
  REQUIRE(node.binding().holdings().size() == 1);
  CHECK_FALSE(std::filesystem::exists(records + std::string(32, 'a') + ".json"));
  node.Give("b", 1);
  node.Admit("b", "main", "0-1");
  CHECK(node.Start("0-1").message() == "GPU 1 (GPU-1) is held by pod team/a (a), container main");
  CHECK(node.Start("0-0").ok());
  CHECK(node.Sees(nonce, "GPU-1"));
  node.Begin();
  CHECK(node.binding().holdings().at(nonce).bound);
}

TEST_CASE("While nobody knows what a spoilt record held, nothing new is bound") {
  Node node;
  node.Give("a", 1);
  const std::string nonce = node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  const std::string cgroup = node.settings().cgroup_root + "/kubepods/poda";
  std::filesystem::create_directories(cgroup);
  std::ofstream(node.settings().state_folder + "/records/" + nonce + ".json") << "{";
  node.pods.pods.erase("a");  // deleted by force, and its container runs on
  node.Begin();
  node.Give("b", 0);
  node.Admit("b", "main", "0-1");
  CHECK(node.Start("0-1").message() ==
        "the record of pod a, container main cannot be read, so what it holds is not known: gone");
  std::filesystem::remove(cgroup);
  CHECK(node.Start("0-1").ok());
  CHECK(node.binding().holdings().size() == 1);
}

TEST_CASE("A device node that is missing is said, and nothing is given") {
  Node node;
  std::filesystem::remove(node.settings().device_root + "/dev/nvidia1");
  node.Give("a", 1);
  node.Admit("a", "main", "0-0");
  CHECK(node.Start("0-0").message() ==
        "no device node " + node.settings().device_root + "/dev/nvidia1 on this node");
  CHECK(node.binding().holdings().empty());
  CHECK(node.Cdi().empty());
}

}  // namespace
}  // namespace tephra::node
