// DriverSource: the GPUs that NVIDIA's driver reports, and how they are. A thread of its own waits for
// events of the driver and probes each card every few seconds, so that a change of health is seen at
// once.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugins/node/file.h"
#include "plugins/node/gpu_source.h"
#include "plugins/node/health_watch.h"
#include "plugins/node/inventory.h"
#include "plugins/node/nvml/nvml.h"

namespace tephra::node {

class DriverSource final : public GpuSource {
 public:
  DriverSource(std::unique_ptr<Nvml> nvml, NodeConfig config, HealthOptions health);
  ~DriverSource() override;

  // UNAVAILABLE while there is none. After the first answer the cards are watched.
  absl::StatusOr<Gpus> Read() override;
  Driver driver() const override;
  const Nvml* nvml() const override { return nvml_.get(); }
  std::optional<std::string> Hung(std::chrono::steady_clock::duration limit) const override {
    return nvml_->Hung(limit);
  }
  XidCounts xids() const override;
  int descriptor() const override { return news_.get(); }
  void Drain() override;

 private:
  void Watch(std::vector<std::string> uuids);

  const std::unique_ptr<Nvml> nvml_;
  const NodeConfig config_;
  const HealthOptions options_;
  const Descriptor news_;
  Gpus before_;                    // of the thread of Read
  std::vector<std::string> reported_;  // problems

  mutable std::mutex mutex_;
  std::unique_ptr<Health> health_;  // as the watch had it last; null before
  XidCounts xids_;
  std::atomic<bool> stopping_ = false;
  std::thread watch_;
};

}  // namespace tephra::node
