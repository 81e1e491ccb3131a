// TaskClass: everything that placement asks of a pod, worked out once for all equal pods.
//
// Demand follows Kubernetes' rule for init and sidecar containers (KEP-753): the larger of what
// the long-running containers hold together and of what any init container needs beside the
// sidecars started before it. Immutable once interned; any thread may read.
#pragma once

#include <deque>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "queue/job.h"
#include "topology/base/ids.h"
#include "topology/mig.h"

namespace tephra {

// One container's wish for devices, with its place in the pod's life.
struct DeviceAsk {
  std::uint16_t container = 0;
  ContainerKind kind = ContainerKind::kApp;
  DeviceRequest request;  // with its amounts
};

struct TaskClass {
  PodTemplate pod;
  // kPods 1, kGpu the peak compute; kGpuMemory: asked fractions only. Of the one model that it may
  // run on, where that is counted by itself, as much as of kGpu.
  Resources demand;
  KindSet demand_kinds = 0;        // the non-zero kinds of demand
  KindSet model_kinds = 0;         // of these, that of the model
  std::vector<DeviceAsk> lasting;  // asks of app and sidecar containers: held together
  std::vector<DeviceAsk> init;     // asks of init containers: each beside the sidecars before it
  std::vector<LimitId> limits;     // parallel to pod.limits
  int whole_gpus = 0;              // devices asked whole by lasting containers
  bool fractional = false;         // some lasting ask is for a part of a device
  bool names_devices = false;      // it tells devices of one model apart

  bool needs_devices() const { return !lasting.empty() || !init.empty(); }
  // One container asks, once: the case that every index is quick for.
  bool single_ask() const { return lasting.size() == 1 && init.empty(); }
};

// The ask for the most compute, which stands for the pod where one shape has to: the last of equal
// ones, no device where none asks.
DeviceRequest LargestAsk(const TaskClass& cls);

// REQUIRES: ValidatePod(pod) is OK. `models`: those that are counted by themselves.
TaskClass MakeTaskClass(const PodTemplate& pod, const ModelKinds& models = {});

// What a device gives up for one task's slices on it: the peak over the pod's life.
struct DeviceCharge {
  std::uint16_t device = 0;
  std::int32_t compute = 0;
  std::int64_t memory_mib = 0;
  DeviceUse use;
};

// The charges of a task's slices, by device. Init containers and lasting ones do not run at the
// same time, so a device is charged the largest of its phases. `mig`: as Hardware::mig of the node.
void DeviceCharges(const TaskClass& cls, const Slices& slices,
                   std::span<const MigPlacements* const> mig, std::vector<DeviceCharge>& out);

// How many tasks of a group a domain holds, by the bound that each brought.
class BoundedCount {
 public:
  // `sign` is +1 or -1.
  void Add(std::int32_t bound, std::int32_t sign);
  std::int32_t total() const;
  // How many more tasks with that bound there may be; below zero where there are too many.
  std::int32_t Left(std::int32_t bound) const;
  bool empty() const { return by_bound_.empty(); }
  bool operator==(const BoundedCount&) const = default;

 private:
  std::vector<std::pair<std::int32_t, std::int32_t>> by_bound_;  // rising; no zero is kept
};

// Equal pods get one id, counted by reference. A class that no task uses any more is kept for a
// while, since its like often comes again; then its id is given to a new one.
class ClassTable {
 public:
  // REQUIRES: ValidatePod(pod) is OK. Takes one reference.
  ClassId Acquire(const PodTemplate& pod);
  // From now on these models are counted by themselves: what classes ask for changes.
  void CountModels(const ModelKinds& models);
  // One more reference to, or one less of, an id that is in use.
  void Retain(ClassId id) { ++entries_[id.index()].references; }
  void Release(ClassId id);
  const TaskClass& operator[](ClassId id) const { return entries_[id.index()].cls; }
  std::size_t size() const { return entries_.size(); }
  bool live(ClassId id) const { return entries_[id.index()].references > 0; }
  // Grows whenever the id is given to another class: derived indexes compare it.
  std::uint32_t generation(ClassId id) const { return entries_[id.index()].generation; }

  // Grows whenever any id is given to another class.
  std::uint64_t generations() const { return recycled_; }

  // Limits are shared by all classes that name the same group and topology key.
  LimitId limit(const std::string& group, const std::string& topology_key) const;
  std::size_t limit_count() const { return limit_rows_.size(); }
  const std::string& topology_key(LimitId id) const { return limit_rows_[id.index()].topology_key; }

 private:
  struct Entry {
    TaskClass cls;
    std::uint64_t hash = 0;
    std::uint32_t references = 0;
    std::uint32_t generation = 0;
    std::uint64_t left = 0;  // when its last reference went
  };
  static constexpr std::size_t kMostUnused = 256;

  struct Limit {
    std::string name;  // key into limits_
    std::string topology_key;
    std::uint32_t classes = 0;
  };
  ClassId Recycle();
  void Forget(ClassId id);
  LimitId AcquireLimit(const DomainLimit& limit);

  std::vector<Entry> entries_;
  ModelKinds models_;
  std::deque<std::pair<std::uint64_t, ClassId>> unused_;  // by when they were left; some came back
  std::uint64_t leavings_ = 0;
  std::uint64_t recycled_ = 0;
  std::unordered_multimap<std::uint64_t, ClassId> by_hash_;
  std::unordered_map<std::string, LimitId> limits_;
  std::vector<Limit> limit_rows_;
  std::vector<LimitId> unused_limits_;
};

}  // namespace tephra
