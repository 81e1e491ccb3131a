// TaskClass: everything that placement needs to know about a pod, computed once for all equal pods.
//
// Demand follows the Kubernetes rule for init and sidecar containers (KEP-753). It is the larger of
// the sum over the long-running containers, and of the most that any init container needs together
// with the sidecars that started before it. Immutable once interned; any thread may read.
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

// The device request of one container, and when the container runs.
struct DeviceAsk {
  std::uint16_t container = 0;
  ContainerKind kind = ContainerKind::kApp;
  DeviceRequest request;  // with its amounts
};

// What a task has of one of its limits.
struct LimitUse {
  // NOLINTNEXTLINE(google-explicit-constructor): most limits have no names
  LimitUse(const DomainLimit& limit, std::span<const std::uint32_t> shared = {})
      : limit(limit), shared(shared) {}

  const DomainLimit& limit;
  std::span<const std::uint32_t> shared;  // numbers of limit.shared, rising
};

struct TaskClass {
  PodTemplate pod;
  // kPods is 1, kGpu the peak compute, kGpuMemory only the requested fractions. If the pod may use
  // only one model and that model has its own kind, the kind gets the same amount as kGpu.
  Resources demand;
  KindSet demand_kinds = 0;        // the non-zero kinds of demand
  KindSet model_kinds = 0;         // of these, the kind of the model
  std::vector<DeviceAsk> lasting;  // requests of app and sidecar containers, which run together
  std::vector<DeviceAsk> init;     // requests of init containers, each with the sidecars before it
  std::vector<LimitId> limits;     // parallel to pod.limits
  // Parallel to pod.limits: the numbers of the names in `shared`, rising.
  std::vector<std::vector<std::uint32_t>> shared;
  int whole_gpus = 0;              // whole devices that lasting containers request
  bool fractional = false;         // some lasting container requests a part of a device
  bool names_devices = false;      // the constraints name single devices

  bool needs_devices() const { return !lasting.empty() || !init.empty(); }
  LimitUse use(std::size_t i) const { return {pod.limits[i], shared[i]}; }
  // One lasting request and no init request: every index is fast in this case.
  bool single_ask() const { return lasting.size() == 1 && init.empty(); }
};

// The request with the most compute, the last of equals, which represents the pod if one shape
// must. No device if no container requests one.
DeviceRequest LargestAsk(const TaskClass& cls);

// REQUIRES: ValidatePod(pod) is OK. `models`: models with a kind of their own.
TaskClass MakeTaskClass(const PodTemplate& pod, const ModelKinds& models = {});

// What one task's slices take of a device: the peak over the life of the pod.
struct DeviceCharge {
  std::uint16_t device = 0;
  std::int32_t compute = 0;
  std::int64_t memory_mib = 0;
  DeviceUse use;
};

// The charges of a task's slices, by device. Init and lasting containers do not run at the same
// time, so a device is charged its largest phase. `mig`: as Hardware::mig of the node.
void DeviceCharges(const TaskClass& cls, const Slices& slices,
                   std::span<const MigPlacements* const> mig, std::vector<DeviceCharge>& out);

// How many tasks with a limit of one group run in a domain, by their bounds, and the places that they
// take of a limit of the node.
class BoundedCount {
 public:
  // `sign` is +1 or -1.
  void Add(const LimitUse& use, std::int32_t sign);
  std::int32_t total() const;  // of the group
  // Places of a limit of the node; a name that several tasks have is one place.
  std::int32_t taken() const { return own_ + static_cast<std::int32_t>(shared_.size()); }
  // How many places more one task would take.
  std::int32_t Asked(const LimitUse& use) const;
  // How many more tasks with that limit may run; not above zero if none may. `places`: of the node.
  std::int32_t Left(const LimitUse& use, std::int32_t places = DomainLimit::kNoBound) const;
  bool empty() const { return bounds_.empty() && shared_.empty() && own_ == 0; }
  bool operator==(const BoundedCount&) const = default;

 private:
  struct Bound {
    std::int32_t max = 0, counted = 0, uncounted = 0;

    bool operator==(const Bound&) const = default;
  };
  struct Name {
    std::uint32_t number;
    std::int32_t tasks;

    bool operator==(const Name&) const = default;
  };
  std::vector<Bound> bounds_;  // by max, rising; each of some task
  std::vector<Name> shared_;   // by number, rising; each of some task
  std::int32_t own_ = 0;
};

// Equal pods share one id, with a reference count. An unused class is kept for a while, because
// equal pods often follow. Later a new class gets its id.
class ClassTable {
 public:
  // REQUIRES: ValidatePod(pod) is OK. Takes one reference.
  ClassId Acquire(const PodTemplate& pod);
  // From now on these models have kinds of their own, so the demand of classes changes.
  void CountModels(const ModelKinds& models);
  // Adds or removes a reference of an id that is in use.
  void Retain(ClassId id) { ++entries_[id.index()].references; }
  void Release(ClassId id);
  const TaskClass& operator[](ClassId id) const { return entries_[id.index()].cls; }
  std::size_t size() const { return entries_.size(); }
  bool live(ClassId id) const { return entries_[id.index()].references > 0; }
  // Grows whenever the id is given to another class: derived indexes compare it.
  std::uint32_t generation(ClassId id) const { return entries_[id.index()].generation; }

  // Grows whenever any id is given to another class.
  std::uint64_t generations() const { return recycled_; }

  // Classes with the same group and topology key share a limit.
  LimitId limit(const std::string& group, const std::string& topology_key) const;
  std::size_t limit_count() const { return limit_rows_.size(); }
  const std::string& topology_key(LimitId id) const { return limit_rows_[id.index()].topology_key; }

 private:
  struct Entry {
    TaskClass cls;
    std::uint64_t hash = 0;
    std::uint32_t references = 0;
    std::uint32_t generation = 0;
    std::uint64_t left = 0;  // when its last reference was removed
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
  std::vector<std::uint32_t> AcquireNames(const std::vector<std::string>& names);
  void ReleaseNames(const std::vector<std::string>& names);

  std::vector<Entry> entries_;
  ModelKinds models_;
  std::deque<std::pair<std::uint64_t, ClassId>>
      unused_;  // by when they became unused; some are in use again
  std::uint64_t leavings_ = 0;
  std::uint64_t recycled_ = 0;
  std::unordered_multimap<std::uint64_t, ClassId> by_hash_;
  std::unordered_map<std::string, LimitId> limits_;
  std::vector<Limit> limit_rows_;
  std::vector<LimitId> unused_limits_;
  struct Name {
    std::uint32_t number = 0;
    std::uint32_t uses = 0;  // by limits of classes
  };
  std::unordered_map<std::string, Name> names_;  // in DomainLimit::shared
  std::vector<std::uint32_t> unused_names_;
};

}  // namespace tephra
