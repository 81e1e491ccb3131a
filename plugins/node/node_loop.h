// NodeLoop: the loop of the main thread of tephra-node, and what it says to the kubelet, the
// cluster, the metrics and the command `tephra-node status`. It never waits for the driver.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>

#include "base/http_server.h"
#include "plugins/node/background_call.h"
#include "plugins/node/blocked_gpus.h"
#include "plugins/node/binding/late_binding.h"
#include "plugins/node/cluster/pod_watch.h"
#include "plugins/node/cluster/publisher.h"
#include "plugins/node/gpu_reader.h"
#include "plugins/node/kubelet/registration.h"
#include "plugins/node/metrics/node_metrics.h"
#include "plugins/node/problems.h"
#include "plugins/node/settings.h"
#include "plugins/node/status.h"

namespace tephra::node {

class NodeLoop {
 public:
  struct Parts {
    const Settings& settings;
    GpuSource& source;
    GpuReader& reader;
    LateBinding& binding;
    PodWatch& pods;
    Problems& problems;
    Publisher* publisher;  // null: nothing is published
    HttpServer* http;      // null: nothing is served
    HttpServer* probes;    // null: probes are served by `http` alone
  };
  // `driver`: of the reading that the binding began with.
  NodeLoop(Parts parts, GpuSource::Driver driver);

  // Until a signal comes by the descriptor.
  absl::Status Run(int signals);

 private:
  void Wake();
  bool Step(int signals, bool& waits);  // false: a signal came
  void ShowSlots();
  void TakeGpus();
  void ReportHealth(const Gpus& before);
  void Publish(bool again = false);
  void PublishBlocked();
  StatusFacts Facts() const;
  NodeFigures Figures();
  HttpServer::Answer Ready() const;
  HttpServer::Answer Healthy() const;

  const Parts parts_;
  GpuSource::Driver driver_;
  BlockedGpus blocked_;
  BackgroundCall<UseNow> use_;
  NodeMetrics metrics_;
  const Descriptor wake_;
  std::atomic<bool> watch_ended_ = false;  // the kubelet closed its stream
  DevicePlugin plugin_;
  std::optional<Registration> registration_;
  int registered_ = 0;  // times that the kubelet accepted it
  bool quiet_ = false;  // memory was given back since the last event
  // When the loop began to do something, of the steady clock; 0: it waits.
  std::atomic<std::chrono::steady_clock::rep> busy_since_ = 0;
};

// Why the driver counts as hung, and for how long it has been; nothing: it answers.
std::optional<std::string> DriverHung(const Settings& settings, const GpuSource& source);

// Ends the process if it has not ended by itself soon: a driver call that never returns would keep
// it from ending.
void ExitSoon();

}  // namespace tephra::node
