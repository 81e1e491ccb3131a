// The section `policies`: the engine's settings.
#include "plugins/registry.h"
#include "simulations/workload/sections.h"
#include "text/engine_settings.h"

namespace tephra {
namespace {

ExpectedPod ReadExpectedPod(const Item& item) {
  ExpectedPod pod;
  std::int64_t share_of_gpu = kWholeGpu, millionths = 0;
  Fields fields(item);
  fields.Quantity("cpu", pod.cpu, 1000);
  fields.Whole("gpus", pod.devices, 0, 1024);
  fields.Quantity("gpu_share", share_of_gpu, kWholeGpu);
  fields.Texts("gpu_models", pod.models);
  const Item share = fields.Need("share");
  if (share.node != nullptr && ReadQuantity(share, millionths, 1'000'000) &&
      millionths > 1'000'000) {
    share.Wrong("a share of all pods, 0 to 1");
  }
  fields.Done();
  if (share_of_gpu < 1 || share_of_gpu > kWholeGpu) item.Wrong("a gpu_share above 0 and at most 1");
  pod.compute = pod.devices == 0 ? 0 : static_cast<std::int32_t>(share_of_gpu);
  pod.share = static_cast<double>(millionths) / 1e6;
  return pod;
}

// A list, or `workload`.
void ReadExpectedPods(const Item& item, PolicySettings& settings) {
  if (item.node == nullptr) return;
  if (item.node->kind == Yaml::Kind::kText && item.node->text == "workload") {
    settings.expected_from_workload = true;
  } else if (item.node->kind == Yaml::Kind::kList) {
    settings.config.expected_pods.clear();
    ReadList(item, [&](const Item& one) {
      settings.config.expected_pods.push_back(ReadExpectedPod(one));
    });
  } else {
    item.Wrong("a list of pods, or the word workload");
  }
}

}  // namespace

PolicySettings ReadPolicies(const Item& item, EngineConfig before) {
  PolicySettings settings;
  settings.config = std::move(before);
  EngineConfig& config = settings.config;
  Fields fields(item);
  const Item score = fields.At("score");
  if (score.node != nullptr) {
    Fields parts(score);
    ReadScores(parts.At("nodes"), config.node_scores);
    ReadScores(parts.At("devices"), config.device_scores);
    ReadTies(parts, config.ties);
    parts.Done();
  }
  ReadCommonSettings(fields, config);
  ReadExpectedPods(fields.At("expected_pods"), settings);
  int dequeue = 0;
  if (fields.OneOf("dequeue_strategy", {"traverse", "fifo"}, dequeue)) {
    settings.dequeue = static_cast<Dequeue>(dequeue);
  }
  fields.Done();
  if (item.wrong->ok()) {
    EngineConfig checked = config;
    // What is worked out later must not be missed now.
    if (settings.expected_from_workload) checked.expected_pods.push_back({});
    item.wrong->Wrong(item.node->line, DefaultAssembly().validate(checked));
  }
  return settings;
}

}  // namespace tephra
