#include "tests/tools/fake_nvml/machine.h"

#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "topology/links_text.h"

namespace tephra::node {
namespace {

using Json = nlohmann::json;

// The machines of tests/support/gpu_machines.h, which names their sources.
constexpr std::string_view kDgx1 =
    R"(	GPU0	GPU1	GPU2	GPU3	GPU4	GPU5	GPU6	GPU7
GPU0	 X 	NV1	NV1	NV2	NV2	SYS	SYS	SYS
GPU1	NV1	 X 	NV2	NV1	SYS	NV2	SYS	SYS
GPU2	NV1	NV2	 X 	NV2	SYS	SYS	NV1	SYS
GPU3	NV2	NV1	NV2	 X 	SYS	SYS	SYS	NV1
GPU4	NV2	SYS	SYS	SYS	 X 	NV1	NV1	NV2
GPU5	SYS	NV2	SYS	SYS	NV1	 X 	NV2	NV1
GPU6	SYS	SYS	NV1	SYS	NV1	NV2	 X 	NV2
GPU7	SYS	SYS	SYS	NV1	NV2	NV1	NV2	 X 
)";
constexpr std::string_view kPcieBox =
    R"(	GPU0	GPU1	GPU2	GPU3	GPU4	GPU5	GPU6	GPU7	CPU Affinity	NUMA Affinity
GPU0	 X 	PIX	PHB	PHB	SYS	SYS	SYS	SYS	0-31	0
GPU1	PIX	 X 	PHB	PHB	SYS	SYS	SYS	SYS	0-31	0
GPU2	PHB	PHB	 X 	PIX	SYS	SYS	SYS	SYS	0-31	0
GPU3	PHB	PHB	PIX	 X 	SYS	SYS	SYS	SYS	0-31	0
GPU4	SYS	SYS	SYS	SYS	 X 	PIX	NODE	NODE	32-63	1
GPU5	SYS	SYS	SYS	SYS	PIX	 X 	NODE	NODE	32-63	1
GPU6	SYS	SYS	SYS	SYS	NODE	NODE	 X 	PIX	32-63	1
GPU7	SYS	SYS	SYS	SYS	NODE	NODE	PIX	 X 	32-63	1
)";

struct Preset {
  std::string_view name, model, topo;
  int switched_nvlinks = 0;                 // of every pair, where there are switches
  std::array<int, 4> numa{-1, -1, -1, -1};  // of each pair of GPUs
};
constexpr Preset kPresets[] = {
    {"dgx-1", "Tesla V100-SXM2-16GB", kDgx1, 0, {-1, -1, -1, -1}},
    {"dgx-a100", "A100-40GB", "", 12, {3, 1, 7, 5}},
    {"hgx-h100", "H100-80GB", "", 18, {0, 0, 1, 1}},
    {"pcie", "NVIDIA L40S", kPcieBox, 0, {0, 0, 1, 1}},
};
constexpr int kPresetGpus = 8;

absl::Status Bad(const std::string& what) {
  return absl::InvalidArgumentError("fake NVML: " + what);
}

std::string Uuid(std::size_t index) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "GPU-7e9f0000-0000-4000-8000-%012zx", index);
  return text.data();
}

absl::StatusOr<FakeGpu> ReadGpu(const Json& json, const Json& machine, std::size_t index) {
  FakeGpu gpu;
  const std::string model = json.value("model", machine.value("model", std::string()));
  const CardKind* card = FindCardByName(model);
  if (card == nullptr) return Bad("no card of the name \"" + model + "\"");
  gpu.card = *card;
  gpu.card.memory_mib = json.value("memoryMiB", card->memory_mib);
  gpu.mig = FindMigModel(card->mig_model);
  gpu.uuid = json.value("uuid", Uuid(index));
  gpu.bus = json.value("bus", static_cast<int>(index) * 8 + 7);
  gpu.numa = json.value("numa", -1);
  gpu.mig_at_start = gpu.mig != nullptr && json.value("mig", machine.value("mig", false));
  return gpu;
}

absl::StatusOr<FakeMachine> Read(Json json) {
  const Preset* preset = nullptr;
  if (json.contains("preset")) {
    for (const Preset& each : kPresets) {
      if (each.name == json["preset"].get<std::string>()) preset = &each;
    }
    if (preset == nullptr) return Bad("no preset \"" + json["preset"].get<std::string>() + '"');
    if (!json.contains("model")) json["model"] = std::string(preset->model);
    json["count"] = kPresetGpus;
  }
  Json gpus = json.value("gpus", Json::array());
  for (int i = json.value("count", 0); i > 0; --i) gpus.push_back(Json::object());
  if (gpus.size() > kMostFakeGpus) return Bad("more than 16 GPUs");
  FakeMachine machine;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    TEPHRA_ASSIGN_OR_RETURN(FakeGpu gpu, ReadGpu(gpus[i], json, i));
    if (preset != nullptr) gpu.numa = preset->numa[i / 2];
    machine.gpus.push_back(std::move(gpu));
  }
  const int count = static_cast<int>(machine.gpus.size());
  machine.links = NodeLinks(count);
  const std::string_view model = count == 0 ? "" : machine.gpus[0].card.model;
  const std::string topo =
      json.value("topo", preset == nullptr ? std::string() : std::string(preset->topo));
  if (!topo.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(machine.links, ParseLinks(topo, model));
    if (machine.links.gpus() != count) return Bad("topo is of another number of GPUs");
  }
  if (preset != nullptr && preset->switched_nvlinks > 0) {
    for (int a = 0; a < count; ++a) {
      for (int b = 0; b < a; ++b) machine.links.Set(a, b, NvLink(preset->switched_nvlinks, model));
    }
  }
  machine.switched = json.value("switched", preset != nullptr && preset->switched_nvlinks > 0);
  machine.driver = json.value("driver", std::string("550.54.15"));
  machine.cuda = json.value("cuda", machine.cuda);
  return machine;
}

}  // namespace

std::string FakeGpu::bus_id() const {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "00000000:%02X:00.0", static_cast<unsigned>(bus) & 0xff);
  return text.data();
}

absl::StatusOr<FakeMachine> ParseFakeMachine(std::string_view text) {
  try {
    return Read(Json::parse(text));
  } catch (const Json::exception& error) {
    return Bad(error.what());
  }
}

}  // namespace tephra::node
