#include "plugins/node/kubelet/device_plugin.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <set>

#include <grpcpp/grpcpp.h>

#include "base/bad_input.h"
#include "base/log.h"
#include "kubelet/device_plugin.grpc.pb.h"

namespace tephra::node {
namespace {

using Clock = std::chrono::steady_clock;

// How soon a stream that its kubelet has left is noticed.
constexpr std::chrono::milliseconds kWatchGlance(500);
// The kubelet gives PreStartContainer 30 s; the answer has to be there before.
constexpr std::chrono::seconds kLongestPreStart(25);
constexpr std::chrono::seconds kBeforeDeadline(2);
constexpr std::size_t kFiguresKept = 1000;

std::int64_t MicrosSince(Clock::time_point began) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - began).count();
}

double Seconds(std::int64_t us) { return static_cast<double>(us) / 1e6; }

grpc::Status ToGrpc(const absl::Status& status) {
  // Abseil's codes are gRPC's.
  return {static_cast<grpc::StatusCode>(status.raw_code()), std::string(status.message())};
}

void Keep(std::vector<std::int64_t>& figures, std::size_t& next, std::int64_t figure) {
  if (figures.size() < kFiguresKept) {
    figures.push_back(figure);
  } else {
    figures[next++ % kFiguresKept] = figure;
  }
}

std::vector<std::string> Strings(const google::protobuf::RepeatedPtrField<std::string>& from) {
  return {from.begin(), from.end()};
}

}  // namespace

class DevicePlugin::Service final : public v1beta1::DevicePlugin::Service {
 public:
  explicit Service(DevicePluginCalls calls) : calls_(std::move(calls)) {}

  grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                      v1beta1::DevicePluginOptions* options) override {
    options->set_pre_start_required(true);
    options->set_get_preferred_allocation_available(true);
    return grpc::Status::OK;
  }

  grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                            grpc::ServerWriter<v1beta1::ListAndWatchResponse>* writer) override {
    std::unique_lock lock(mutex_);
    ++watchers_;
    std::int64_t sent = -1;
    while (!stopping_ && !context->IsCancelled()) {
      if (sent == version_) {
        changed_.wait_for(lock, kWatchGlance);
        continue;
      }
      sent = version_;
      const v1beta1::ListAndWatchResponse list = List();
      lock.unlock();
      const bool written = writer->Write(list);
      lock.lock();
      if (!written) break;
    }
    --watchers_;
    changed_.notify_all();
    const bool left = !stopping_;
    lock.unlock();
    if (left) calls_.watch_ended();
    return grpc::Status::OK;
  }

  grpc::Status GetPreferredAllocation(grpc::ServerContext*,
                                      const v1beta1::PreferredAllocationRequest* request,
                                      v1beta1::PreferredAllocationResponse* response) override {
    const std::lock_guard lock(mutex_);
    for (const auto& asked : request->container_requests()) {
      auto* const answer = response->add_container_responses();
      for (std::string& id :
           PreferSlots(slots_, Strings(asked.available_deviceids()),
                         Strings(asked.must_include_deviceids()), asked.allocation_size())) {
        answer->add_deviceids(std::move(id));
      }
    }
    return grpc::Status::OK;
  }

  grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* request,
                        v1beta1::AllocateResponse* response) override {
    const auto began = Clock::now();
    for (const auto& asked : request->container_requests()) {
      const std::vector<std::string> slots = Strings(asked.devices_ids());
      if (const absl::Status known = CheckSlots(slots); !known.ok()) return ToGrpc(known);
      const auto minted = calls_.mint(slots);
      if (!minted.ok()) return ToGrpc(minted.status());
      auto* const answer = response->add_container_responses();
      if (!minted->cdi_device.empty()) answer->add_cdi_devices()->set_name(minted->cdi_device);
      if (minted->mount_host.empty()) continue;
      auto* const mount = answer->add_mounts();
      mount->set_host_path(minted->mount_host);
      mount->set_container_path(minted->mount_container);
      mount->set_read_only(true);
    }
    const std::int64_t took_us = MicrosSince(began);
    if (calls_.allocated) calls_.allocated(Seconds(took_us));
    const std::lock_guard lock(mutex_);
    Keep(figures_.allocate_us, next_allocate_, took_us);
    return grpc::Status::OK;
  }

  grpc::Status PreStartContainer(grpc::ServerContext* context,
                                 const v1beta1::PreStartContainerRequest* request,
                                 v1beta1::PreStartContainerResponse*) override {
    const auto began = Clock::now();
    const std::vector<std::string> slots = Strings(request->devices_ids());
    absl::Status done = CheckSlots(slots);
    if (done.ok()) {
      const auto theirs = std::chrono::duration_cast<Clock::duration>(
          context->deadline() - std::chrono::system_clock::now());
      const Deadline deadline =
          began + std::min<Clock::duration>(kLongestPreStart, theirs - kBeforeDeadline);
      done =
          calls_.pre_start(slots, deadline, [&] { return stopping_ || context->IsCancelled(); });
    }
    const std::int64_t took_us = MicrosSince(began);
    if (calls_.pre_started) calls_.pre_started(Seconds(took_us), !done.ok());
    const std::lock_guard lock(mutex_);
    Keep(figures_.pre_start_us, next_pre_start_, took_us);
    if (done.ok()) return grpc::Status::OK;
    ++figures_.refused;
    return ToGrpc(done);
  }

  void SetSlots(std::vector<Slot> slots) {
    const std::lock_guard lock(mutex_);
    if (version_ > 0 && slots == slots_) return;
    slots_ = std::move(slots);
    known_.clear();
    for (const Slot& slot : slots_) known_.insert(slot.id);
    ++version_;
    changed_.notify_all();
  }

  void Stop() {
    std::unique_lock lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return watchers_ == 0; });
  }

  CallFigures figures() const {
    const std::lock_guard lock(mutex_);
    return figures_;
  }
  int watchers() const {
    const std::lock_guard lock(mutex_);
    return watchers_;
  }

 private:
  absl::Status CheckSlots(const std::vector<std::string>& ids) {
    const std::lock_guard lock(mutex_);
    if (ids.empty()) return absl::InvalidArgumentError("the request has no device ID, expected at least 1");
    for (const std::string& id : ids) {
      if (known_.count(id) == 0) {
        return absl::InvalidArgumentError("device ID " + Quoted(id) +
                                          ": this plugin has not listed it");
      }
    }
    return absl::OkStatus();
  }

  // REQUIRES: mutex_ is held.
  v1beta1::ListAndWatchResponse List() const {
    v1beta1::ListAndWatchResponse list;
    for (const Slot& slot : slots_) {
      auto* const device = list.add_devices();
      device->set_id(slot.id);
      device->set_health(slot.healthy ? "Healthy" : "Unhealthy");
      if (slot.numa >= 0) device->mutable_topology()->add_nodes()->set_id(slot.numa);
    }
    return list;
  }

  const DevicePluginCalls calls_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Slot> slots_;
  std::set<std::string> known_;
  std::int64_t version_ = 0;  // of the list
  int watchers_ = 0;
  std::atomic<bool> stopping_ = false;
  CallFigures figures_;
  std::size_t next_allocate_ = 0, next_pre_start_ = 0;
};

DevicePlugin::DevicePlugin(DevicePluginCalls calls)
    : service_(std::make_unique<Service>(std::move(calls))) {}
DevicePlugin::~DevicePlugin() = default;
grpc::Service& DevicePlugin::service() { return *service_; }
void DevicePlugin::SetSlots(std::vector<Slot> slots) {
  service_->SetSlots(std::move(slots));
}
void DevicePlugin::Stop() { service_->Stop(); }
CallFigures DevicePlugin::figures() const { return service_->figures(); }
int DevicePlugin::watchers() const { return service_->watchers(); }

}  // namespace tephra::node
