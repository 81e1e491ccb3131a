#include "tests/support/build.h"

namespace tephra {

ANode::ANode(std::string name) {
  spec_.name = std::move(name);
  Cores(64).Memory(256 * kGiB).Pods(110);
}
ANode& ANode::Gpus(int count, const std::string& model, std::int32_t memory_mib) {
  for (int i = 0; i < count; ++i) spec_.devices.push_back({"", model, memory_mib, true});
  return *this;
}
ANode& ANode::Cores(double cores) {
  spec_.allocatable[kCpu] = static_cast<std::int64_t>(cores * 1000);
  return *this;
}
ANode& ANode::Memory(std::int64_t bytes) { return Has(kMemory, bytes); }
ANode& ANode::Pods(std::int64_t pods) { return Has(kPods, pods); }
ANode& ANode::Has(Kind kind, std::int64_t amount) {
  spec_.allocatable[kind] = amount;
  return *this;
}
ANode& ANode::Label(const std::string& key, const std::string& value) {
  spec_.labels[key] = value;
  return *this;
}
ANode& ANode::Tainted(const std::string& key, const std::string& value, TaintEffect effect) {
  spec_.taints.push_back({key, value, effect});
  return *this;
}
ANode& ANode::Cordoned(bool cordoned) {
  spec_.unschedulable = cordoned;
  return *this;
}
ANode& ANode::Unhealthy(std::size_t device) {
  spec_.devices.at(device).healthy = false;
  return *this;
}

APod::APod() { pod_.containers.emplace_back().name = "main"; }
APod& APod::Cores(double cores) { return Needs(kCpu, static_cast<std::int64_t>(cores * 1000)); }
APod& APod::Memory(std::int64_t bytes) { return Needs(kMemory, bytes); }
APod& APod::Needs(Kind kind, std::int64_t amount) {
  now().requests[kind] = amount;
  return *this;
}
APod& APod::Gpus(int count) {
  now().devices = {count, static_cast<std::int32_t>(kWholeGpu), 0};
  return *this;
}
APod& APod::Share(std::int32_t compute, std::int32_t memory_mib, int devices) {
  now().devices = {devices, compute, memory_mib};
  return *this;
}
APod& APod::And(ContainerKind kind) {
  const std::string name = "c" + std::to_string(pod_.containers.size());
  pod_.containers.emplace_back().name = name;
  return As(kind);
}
APod& APod::As(ContainerKind kind) {
  now().kind = kind;
  return *this;
}
APod& APod::Overhead(double cores) {
  pod_.overhead[kCpu] = static_cast<std::int64_t>(cores * 1000);
  return *this;
}
APod& APod::Select(const std::string& key, const std::string& value) {
  pod_.constraints.selector[key] = value;
  return *this;
}
APod& APod::Affinity(NodeSelectorTerm term) {
  pod_.constraints.affinity.push_back(std::move(term));
  return *this;
}
APod& APod::Tolerate(Toleration toleration) {
  pod_.constraints.tolerations.push_back(std::move(toleration));
  return *this;
}
APod& APod::Models(std::vector<std::string> models) {
  pod_.constraints.device_models = std::move(models);
  return *this;
}
APod& APod::Masked(const std::string& mask) {
  pod_.constraints.mask = mask;
  return *this;
}
APod& APod::AtMost(std::int32_t max, const std::string& group, const std::string& key) {
  pod_.limits.push_back({group, key, max});
  return *this;
}

AJob::AJob(std::string name) {
  spec_.uid = spec_.name = std::move(name);
  spec_.queue = "default";
  spec_.gang.min_member = 0;
}
AJob& AJob::Role(const std::string& name, std::int32_t replicas, const PodTemplate& pod,
                 std::int32_t min) {
  spec_.gang.roles.push_back({name, replicas, min, pod});
  if (!min_given_) spec_.gang.min_member += replicas;
  return *this;
}
AJob& AJob::MinMember(std::int32_t min) {
  spec_.gang.min_member = min;
  min_given_ = true;
  return *this;
}
AJob& AJob::In(const std::string& queue) {
  spec_.queue = queue;
  return *this;
}
AJob& AJob::Priority(std::int32_t priority) {
  spec_.priority = priority;
  return *this;
}
AJob& AJob::Created(TimeMs at) {
  spec_.created = at;
  return *this;
}

AJob& AJob::Preemptible(bool preemptible) {
  spec_.preemptible = preemptible;
  return *this;
}
AJob& AJob::Movable() {
  spec_.movable = true;
  return *this;
}

AJob& AJob::MinRun(DurationMs least) {
  spec_.min_run_ms = least;
  return *this;
}
AJob& AJob::Runs(DurationMs expected) {
  spec_.estimated_runtime_ms = expected;
  return *this;
}
AQueue& AQueue::Priority(std::int32_t priority) {
  spec_.priority = priority;
  return *this;
}
AQueue& AQueue::Reclaimable(bool reclaimable) {
  spec_.reclaimable = reclaimable;
  return *this;
}
AJob& AJob::PodsExist(bool exist) {
  spec_.pods_exist = exist;
  return *this;
}

AQueue::AQueue(std::string name) { spec_.name = std::move(name); }
AQueue& AQueue::Under(const std::string& parent) {
  spec_.parent = parent;
  return *this;
}
AQueue& AQueue::Limit(Kind kind, std::int64_t amount) {
  spec_.limit[kind] = amount;
  spec_.limited_kinds |= 1u << kind;
  return *this;
}
AQueue& AQueue::Guarantee(Kind kind, std::int64_t amount) {
  spec_.guarantee[kind] = amount;
  return *this;
}
AQueue& AQueue::Deserved(Kind kind, std::int64_t amount) {
  spec_.deserved[kind] = amount;
  return *this;
}
AQueue& AQueue::Weight(std::int32_t weight) {
  spec_.weight = weight;
  return *this;
}
AQueue& AQueue::Fifo() {
  spec_.dequeue = Dequeue::kFifo;
  return *this;
}
AQueue& AQueue::State(QueueState state) {
  spec_.state = state;
  return *this;
}

Slice WholeSlice(std::uint16_t device, std::int32_t memory_mib, std::uint16_t container) {
  return {container, device, SliceMode::kWhole, static_cast<std::int32_t>(kWholeGpu), memory_mib};
}
Slice PartSlice(std::uint16_t device, std::int32_t compute, std::int32_t memory_mib,
                std::uint16_t container) {
  return {container, device, SliceMode::kFraction, compute, memory_mib};
}

}  // namespace tephra
