#include "simulations/traces/pod_shapes.h"

#include <algorithm>

#include "queue/task_class.h"

namespace tephra {
namespace {

template <class Amount>
std::int64_t SumOverLasting(const PodTemplate& pod, Amount of_one) {
  std::int64_t sum = 0;
  for (const ContainerSpec& container : pod.containers) {
    if (container.kind == ContainerKind::kInit) continue;
    sum += std::int64_t{container.devices.count} * of_one(container.devices);
  }
  return sum;
}

}  // namespace

std::vector<std::string> SplitModels(const std::string& text) {
  std::vector<std::string> models;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('|', from), text.size());
    models.push_back(text.substr(from, end - from));
    from = end + 1;
  }
  return models;
}

PodShape ShapeOf(const PodTemplate& pod) {
  const TaskClass cls = MakeTaskClass(pod);
  PodShape shape;
  shape.cpu = cls.demand[kCpu];
  const DeviceRequest largest = LargestAsk(cls);
  shape.devices = largest.count;
  shape.compute = largest.compute;
  if (shape.devices == 0) return shape;
  for (const std::string& model : pod.constraints.device_models) {
    shape.models += (shape.models.empty() ? "" : "|") + model;
  }
  return shape;
}

std::int64_t GpuDemand(const PodTemplate& pod) {
  return SumOverLasting(pod, [](const DeviceRequest& ask) { return ask.compute; });
}

std::int64_t GpuMemoryDemand(const PodTemplate& pod) {
  return SumOverLasting(pod, [](const DeviceRequest& ask) { return ask.memory_mib; });
}

std::vector<ExpectedPod> PodShapes::Expected() const {
  std::int64_t total = 0;
  std::vector<std::pair<std::int64_t, const PodShape*>> sorted;
  for (const auto& [shape, count] : counts_) {
    total += count;
    sorted.emplace_back(count, &shape);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : *a.second > *b.second;
  });
  std::vector<ExpectedPod> expected;
  std::int64_t covered = 0;
  for (const auto& [count, shape] : sorted) {
    if (covered * 100 >= total * 95) break;
    covered += count;
    expected.push_back({shape->cpu, shape->devices, shape->compute, SplitModels(shape->models),
                        static_cast<double>(count) / static_cast<double>(total)});
  }
  // The published doubles: share of all, then divided by the share that is covered.
  const double part = static_cast<double>(covered) / static_cast<double>(total);
  for (ExpectedPod& pod : expected) pod.share /= part;
  return expected;
}

}  // namespace tephra
