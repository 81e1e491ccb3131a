// Late binding without a kubelet: its checkpoint is a file that the test writes.
#include <fstream>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "kubelet/device_plugin.pb.h"
#include "plugins/node/binding/late_binding.h"
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
  void Begin() {
    binding_.reset();
    Cutters cutters;
    cutters.Set(SliceMode::kWhole, std::make_unique<WholeCutter>());
    auto opened = LateBinding::Open(settings_, SomeGpus(2), std::move(cutters), pods,
                                    [](const std::string&) {});
    INFO(opened.status().ToString());
    REQUIRE(opened.ok());
    binding_ = *std::move(opened);
  }

  // Returns the nonce.
  std::string Admit(const std::string& uid, const std::string& container,
                    const std::string& ticket) {
    const auto answer = binding_->Mint();
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
  node.pods.pods["plain"] = {"plain", "team", "plain", "tephra", false, std::nullopt, {}};
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

TEST_CASE("Records that somebody spoilt, and names that are no nonces, are passed over") {
  Node node;
  node.Give("a", 1);
  const std::string nonce = node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  const std::string records = node.settings().state_folder + "/records/";
  std::ofstream(records + nonce + ".json") << "{}";
  std::ofstream(records + "passwd.json") << "{}";
  std::filesystem::create_symlink("/etc/passwd", records + std::string(32, 'a') + ".json");
  node.Begin();
  CHECK(node.binding().holdings().empty());
  CHECK(node.Start("0-0").ok());
  CHECK(node.Sees(nonce, "GPU-1"));
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
