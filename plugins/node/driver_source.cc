#include "plugins/node/driver_source.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <utility>

#include "base/log.h"

namespace tephra::node {
namespace {

constexpr std::int64_t kProbeMs = 5000;
constexpr int kWaitMs = 500;  // for an event: as long as stopping may take

std::int64_t NowMs() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

}  // namespace

DriverSource::DriverSource(std::unique_ptr<Nvml> nvml, NodeConfig config, HealthOptions health)
    : nvml_(std::move(nvml)),
      config_(std::move(config)),
      options_(std::move(health)),
      news_(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC)) {}

DriverSource::~DriverSource() {
  stopping_ = true;
  if (watch_.joinable()) watch_.join();
}

absl::StatusOr<Gpus> DriverSource::Read() {
  TEPHRA_ASSIGN_OR_RETURN(Reading reading, ReadGpus(*nvml_, config_, before_));
  if (reading.gpus.devices.empty()) return absl::UnavailableError("the driver reports no GPU");
  if (reading.problems != reported_) {
    for (const std::string& problem : reading.problems) LogWarning("a GPU cannot be used as configured", {{"why", problem}});
    reported_ = reading.problems;
  }
  before_ = reading.gpus;
  if (!watch_.joinable()) {
    std::vector<std::string> uuids;
    for (const Gpu& gpu : before_.devices) uuids.push_back(gpu.hardware.uuid);
    watch_ = std::thread([this, uuids = std::move(uuids)]() mutable { Watch(std::move(uuids)); });
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  if (health_ != nullptr) health_->Apply(reading.gpus);
  return std::move(reading.gpus);
}

GpuSource::Driver DriverSource::driver() const {
  const absl::StatusOr<std::string> version = nvml_->DriverVersion();
  const absl::StatusOr<int> cuda = nvml_->CudaVersion();
  return {version.ok() ? *version : "", cuda.ok() ? *cuda : 0};
}

XidCounts DriverSource::xids() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return xids_;
}

void DriverSource::Drain() {
  std::uint64_t count = 0;
  static_cast<void>(!read(news_.get(), &count, sizeof count));
}

void DriverSource::Watch(std::vector<std::string> uuids) {
  HealthWatch watch(*nvml_, std::move(uuids), options_);
  absl::Status unwatched;
  std::int64_t probed = NowMs();
  while (!stopping_) {
    if (watch.unwatched() != unwatched) {
      unwatched = watch.unwatched();
      if (!unwatched.ok()) {
        LogWarning("the driver sends no events; GPUs are probed instead",
                   {{"why", std::string(unwatched.message())}});
      }
    }
    const bool probe = NowMs() - probed >= kProbeMs;
    if (probe) probed = NowMs();
    const std::vector<HealthChange> changes = watch.Round(kWaitMs, NowMs, probe);
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (watch.health().xids() != xids_) xids_ = watch.health().xids();
    }
    if (changes.empty()) continue;
    for (const HealthChange& change : changes) {
      if (change.healthy) {
        LogInfo("a GPU is healthy again", {{"gpu", change.uuid}});
      } else {
        LogError("a GPU is unhealthy and takes no new container", {{"gpu", change.uuid}, {"why", change.why}});
      }
    }
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      health_ = std::make_unique<Health>(watch.health());
    }
    const std::uint64_t one = 1;
    static_cast<void>(!write(news_.get(), &one, sizeof one));
  }
}

}  // namespace tephra::node
