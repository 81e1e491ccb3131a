#include "plugins/node/kubelet/pod_resources.h"

#include <algorithm>
#include <chrono>

#include <grpcpp/grpcpp.h>

#include "kubelet/pod_resources.grpc.pb.h"

namespace tephra::node {
namespace {

constexpr std::chrono::seconds kListPods(5);

}  // namespace

absl::StatusOr<std::vector<SlotHolder>> ListSlotHolders(const std::string& socket,
                                                            const std::string& resource) {
  grpc::ChannelArguments arguments;
  // Not shared: a shared channel waits longer after each failure of any caller.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  const auto channel =
      grpc::CreateCustomChannel("unix:" + socket, grpc::InsecureChannelCredentials(), arguments);
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kListPods);
  v1::ListPodResourcesResponse answer;
  const grpc::Status status = v1::PodResourcesLister::NewStub(channel)->List(&context, {}, &answer);
  if (!status.ok()) {
    return absl::UnavailableError("kubelet's pod resources at " + socket + ": " +
                                  status.error_message());
  }
  std::vector<SlotHolder> holders;
  for (const v1::PodResources& pod : answer.pod_resources()) {
    for (const v1::ContainerResources& container : pod.containers()) {
      SlotHolder holder{pod.namespace_(), pod.name(), container.name(), {}};
      for (const v1::ContainerDevices& devices : container.devices()) {
        if (devices.resource_name() != resource) continue;
        holder.slots.insert(holder.slots.end(), devices.device_ids().begin(),
                              devices.device_ids().end());
      }
      if (holder.slots.empty()) continue;
      std::sort(holder.slots.begin(), holder.slots.end());
      holders.push_back(std::move(holder));
    }
  }
  return holders;
}

absl::StatusOr<SlotHolder> HolderOf(const std::vector<SlotHolder>& holders,
                                      const std::vector<std::string>& slots) {
  const SlotHolder* found = nullptr;
  int of_any = 0;
  for (const SlotHolder& holder : holders) {
    const bool shares = std::any_of(slots.begin(), slots.end(), [&](const std::string& slot) {
      return std::binary_search(holder.slots.begin(), holder.slots.end(), slot);
    });
    of_any += shares ? 1 : 0;
    if (holder.slots == slots) found = &holder;
  }
  if (found == nullptr || of_any != 1) {
    return absl::UnavailableError("the kubelet's pod resources name " + std::to_string(of_any) +
                                  " containers with these devices, expected one with just these");
  }
  return *found;
}

}  // namespace tephra::node
