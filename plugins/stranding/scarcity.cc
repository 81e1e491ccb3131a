#include "plugins/stranding/scarcity.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "plugins/stranding/pod_kind.h"

namespace tephra {
namespace {

// Nodes that are alike: with one model, so many devices and so many whole cores.
using NodeKind = std::tuple<std::string, std::int64_t, std::int64_t>;

double FourBits(std::int64_t count) {
  std::int64_t step = 1;
  while (count / step >= 16) step *= 2;
  return static_cast<double>(count / step * step);
}

std::vector<std::pair<NodeKind, double>> NodeKinds(const Hardware& hardware) {
  std::map<NodeKind, std::int64_t> counts;
  for (std::size_t slot = 0; slot < hardware.slots(); ++slot) {
    const NodeId node(slot);
    if (!hardware.present(node) || hardware.spec(node).devices.empty()) continue;
    const NodeSpec& spec = hardware.spec(node);
    ++counts[{spec.devices[0].model, static_cast<std::int64_t>(spec.devices.size()),
              spec.allocatable[kCpu] / kMilliPerCore}];
  }
  std::vector<std::pair<NodeKind, double>> kinds;
  for (const auto& [kind, count] : counts) kinds.emplace_back(kind, FourBits(count));
  return kinds;
}

// GPUs that pods like this one would use on an idle node.
double RoomOn(const NodeKind& kind, const ExpectedPod& pod) {
  const auto& [model, devices, cores] = kind;
  if (!NeedsDevices(pod)) return 0;
  if (!pod.models.empty() && !ModelAllowed(pod.models, model)) return 0;
  const PodKind of = PodKind::Of(pod);
  const std::int64_t cpu = cores * kMilliPerCore;
  return of.gpus() * static_cast<double>(std::min(of.Fitting(devices, 0), of.FittingCpu(cpu)));
}

using Kinds = std::vector<bool>;  // by kind of node: whether a pod fits there

bool Within(const Kinds& kinds, const Kinds& others) {
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    if (kinds[k] && !others[k]) return false;
  }
  return true;
}

struct Room {
  Kinds kinds;
  double gpus = 0;
  double demand = 0;
};

}  // namespace

Scarcity ScarcityOf(const std::vector<ExpectedPod>& expected, const Hardware& hardware) {
  const auto node_kinds = NodeKinds(hardware);
  double all = 0, asked = 0;
  for (const auto& [kind, count] : node_kinds) {
    all += static_cast<double>(std::get<1>(kind)) * count;
  }
  for (const ExpectedPod& pod : expected) asked += pod.share * pod.devices * pod.compute;
  std::vector<Room> rooms;
  std::map<Kinds, double> demand;  // of pods that fit on the same kinds of nodes
  for (const ExpectedPod& pod : expected) {
    Room& room = rooms.emplace_back();
    for (const auto& [kind, count] : node_kinds) {
      const double on = RoomOn(kind, pod);
      room.kinds.push_back(on > 0);
      room.gpus += on * count;
    }
    if (room.gpus == 0) continue;
    room.demand = pod.share * pod.devices * pod.compute / asked * all;
    demand[room.kinds] += room.demand;
  }
  Scarcity scarcity;
  for (const Room& room : rooms) {
    double tied = 0;
    for (const auto& [kinds, gpus] : demand) tied += Within(kinds, room.kinds) ? gpus : 0;
    const double tight = room.gpus == 0 ? 0 : std::min(tied / room.gpus, 1.0);
    scarcity.push_back(room.gpus == 0 ? 0 : std::min(room.demand / room.gpus, 1.0) * tight * tight);
  }
  return scarcity;
}

}  // namespace tephra
