// DevicePlugin: the kubelet's side of one resource. It counts slots, names a fresh nonce for each
// container that is admitted, and passes the start of a container on to the binding.
//
// Allocate does no more than that, at once: while a slow one runs, a list of pod resources makes
// the kubelet give one slot twice (kubernetes#137534). Any thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/node/kubelet/slots.h"
#include "topology/base/status.h"

namespace grpc {
class Service;
}

namespace tephra::node {

// What Allocate's answer names, and what its containers see of it.
struct AllocateAnswer {
  std::string nonce;
  std::string cdi_device;  // "tephra.sh/slice=<nonce>"; empty: none
  std::string mount_host;  // the nonce's directory; empty: none
  std::string mount_container;
};

using Deadline = std::chrono::steady_clock::time_point;

// What the plugin asks of the rest; all of it may be called by several threads at once.
struct DevicePluginCalls {
  std::function<absl::StatusOr<AllocateAnswer>(const std::vector<std::string>& slots)> mint;
  // Returns when the container that holds just these slots may be created, or with why not. To be
  // given up at the deadline, and as soon as `cancelled` says true.
  std::function<absl::Status(const std::vector<std::string>& slots, Deadline,
                             const std::function<bool()>& cancelled)>
      pre_start;
  std::function<void()> watch_ended;  // the kubelet closed ListAndWatch
  // How long a handler took, for the metrics; null: not counted.
  std::function<void(double seconds)> allocated;
  std::function<void(double seconds, bool refused)> pre_started;
};

// How long the handlers took.
struct CallFigures {
  std::vector<std::int64_t> allocate_us, pre_start_us;  // the last 1,000 of each
  std::int64_t refused = 0;                             // PreStartContainer calls
};

class DevicePlugin {
 public:
  explicit DevicePlugin(DevicePluginCalls calls);
  ~DevicePlugin();

  // To be registered with a server.
  grpc::Service& service();
  // Pushed to the kubelet where they differ from those before.
  void SetSlots(std::vector<Slot> slots);
  // Ends ListAndWatch and waits, so that a server can shut down; for good.
  void Stop();
  CallFigures figures() const;
  int watchers() const;  // ListAndWatch streams that are open

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace tephra::node
