// A node with late binding and without a kubelet: its checkpoint is a file that the test writes.
#pragma once

#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "kubelet/device_plugin.pb.h"
#include "plugins/node/binding/late_binding.h"
#include "plugins/node/partition/whole_gpu.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {

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

inline std::string Base64(const std::string& bytes) {
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

inline constexpr auto kNever = [] { return false; };
inline Deadline Soon() { return std::chrono::steady_clock::now() + std::chrono::milliseconds(50); }

// A node with two GPUs, and containers that the kubelet has admitted.
class BindingNode {
 public:
  BindingNode() {
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
    Partitioners partitioners;
    partitioners.Set(SliceMode::kWhole, std::make_unique<WholeGpu>());
    auto opened =
        LateBinding::Open(settings_, gpus, std::move(partitioners), pods, problems_, [](const std::string&) {});
    INFO(opened.status().ToString());
    REQUIRE(opened.ok());
    binding_ = *std::move(opened);
  }

  // Returns the nonce.
  std::string Admit(const std::string& uid, const std::string& container,
                    const std::string& slot) {
    const auto answer = binding_->Mint({slot});
    REQUIRE(answer.ok());
    v1beta1::ContainerAllocateResponse message;
    message.add_cdi_devices()->set_name(answer->cdi_device);
    entries_[uid + container] = {{"PodUID", uid},
                                 {"ContainerName", container},
                                 {"ResourceName", "t/t"},
                                 {"DeviceIDs", {{"-1", {slot}}}},
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

  absl::Status Start(const std::string& slot) {
    return binding_->PreStart({slot}, Soon(), kNever);
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
  Problems problems_;
  BindingSettings settings_;
  std::map<std::string, nlohmann::json> entries_;
  std::unique_ptr<LateBinding> binding_;
};

}  // namespace tephra::node
