// Small clusters in prose: ANode("a").Gpus(8), APod().Gpus(1).Cores(4),
// AJob("train").Role("worker", 4, APod().Gpus(1)). Each builder turns into its plain value.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/event.h"
#include "queue/job.h"
#include "queue/queue_tree.h"
#include "topology/node.h"

namespace tephra {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
constexpr std::int32_t kDeviceMib = 80000;  // of a device whose memory is not given

// Roomy unless said otherwise: 64 cores, 256 GiB, 110 pods, no device.
class ANode {
 public:
  explicit ANode(std::string name);
  ANode& Gpus(int count, const std::string& model = "H100", std::int32_t memory_mib = kDeviceMib);
  ANode& Cores(double cores);
  ANode& Memory(std::int64_t bytes);
  ANode& Pods(std::int64_t pods);
  ANode& Has(Kind kind, std::int64_t amount);
  ANode& Label(const std::string& key, const std::string& value);
  ANode& Tainted(const std::string& key, const std::string& value,
                 TaintEffect effect = TaintEffect::kNoSchedule);
  ANode& Cordoned(bool cordoned = true);
  ANode& Unhealthy(std::size_t device);
  operator const NodeSpec&() const { return spec_; }

 private:
  NodeSpec spec_;
};

// Speaks of one container after the other; the first is there from the start.
class APod {
 public:
  APod();
  APod& Cores(double cores);
  APod& Memory(std::int64_t bytes);
  APod& Needs(Kind kind, std::int64_t amount);
  APod& Gpus(int count);
  APod& Share(std::int32_t compute, std::int32_t memory_mib, int devices = 1);
  APod& And(ContainerKind kind);  // the next container
  APod& As(ContainerKind kind);   // what the current one is
  APod& Overhead(double cores);
  APod& Select(const std::string& key, const std::string& value);
  APod& Affinity(NodeSelectorTerm term);
  APod& Tolerate(Toleration toleration);
  APod& Models(std::vector<std::string> models);
  APod& Masked(const std::string& mask);
  APod& AtMost(std::int32_t max, const std::string& group, const std::string& key = kHostnameKey);
  operator const PodTemplate&() const { return pod_; }

 private:
  ContainerSpec& now() { return pod_.containers.back(); }
  PodTemplate pod_;
};

// All of its tasks at once unless MinMember says otherwise; its uid is its name.
class AJob {
 public:
  explicit AJob(std::string name);
  AJob& Role(const std::string& name, std::int32_t replicas, const PodTemplate& pod,
             std::int32_t min = 0);
  AJob& MinMember(std::int32_t min);
  AJob& In(const std::string& queue);
  AJob& Priority(std::int32_t priority);
  AJob& Created(TimeMs at);
  AJob& PodsExist(bool exist = true);
  AJob& Preemptible(bool preemptible);
  AJob& MinRun(DurationMs least);
  AJob& Runs(DurationMs expected);
  AJob& Movable();
  operator const JobSpec&() const { return spec_; }

 private:
  JobSpec spec_;
  bool min_given_ = false;
};

class AQueue {
 public:
  explicit AQueue(std::string name);
  AQueue& Under(const std::string& parent);
  AQueue& Limit(Kind kind, std::int64_t amount);
  AQueue& Guarantee(Kind kind, std::int64_t amount);
  AQueue& Deserved(Kind kind, std::int64_t amount);
  AQueue& Weight(std::int32_t weight);
  AQueue& Fifo();
  AQueue& Reclaimable(bool reclaimable);
  AQueue& Priority(std::int32_t priority);
  AQueue& State(QueueState state);
  operator const QueueSpec&() const { return spec_; }

 private:
  QueueSpec spec_;
};

// One slice as SliceFit would cut it.
Slice WholeSlice(std::uint16_t device, std::int32_t memory_mib = kDeviceMib,
                 std::uint16_t container = 0);
Slice PartSlice(std::uint16_t device, std::int32_t compute, std::int32_t memory_mib,
                std::uint16_t container = 0);

}  // namespace tephra
