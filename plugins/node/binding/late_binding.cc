#include "plugins/node/binding/late_binding.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "base/log.h"
#include "plugins/node/binding/nonce.h"
#include "plugins/node/binding/record.h"
#include "plugins/node/binding/reserved_gpus.h"
#include "plugins/node/partition/edits.h"
#include "plugins/node/binding/signed_pod.h"
#include "plugins/node/slices_annotation.h"

namespace tephra::node {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

// How often a container that waits for a GPU tries again without any sign of change.
constexpr milliseconds kLookAgain(500);
// Sweeps that containers ask for are at least so far apart.
constexpr milliseconds kSweepEvery(200);
// Work that has begun is waited for at least so long, even after the deadline.
constexpr milliseconds kFinishWithin(1000);
// Only debuggers use it, and not every driver has it.
constexpr const char* kOptionalNode = "/dev/nvidia-uvm-tools";

bool SameDevices(const Gpus& a, const Gpus& b) {
  return std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(),
                    [](const Gpu& x, const Gpu& y) { return x.hardware.uuid == y.hardware.uuid; });
}

std::string ContainerOf(const CheckpointEntry& entry) {
  return "pod " + entry.pod_uid + ", container " + entry.container;
}

}  // namespace

// Counts a start that waits, from Begin until the object goes out of scope.
class LateBinding::Waiting {
 public:
  explicit Waiting(WaitCount& count) : count_(count) {}
  ~Waiting() { count_.now -= began_ ? 1 : 0; }
  void Begin() {
    if (began_) return;
    began_ = true;
    ++count_.now;
    ++count_.total;
  }

 private:
  WaitCount& count_;
  bool began_ = false;
};

LateBinding::LateBinding(BindingSettings settings, Gpus gpus, Partitioners partitioners,
                         PodSource& pods, Problems& problems, StepDone step, Folder records,
                         Folder nonces)
    : settings_(std::move(settings)),
      partitioners_(std::move(partitioners)),
      pods_(pods),
      problems_(problems),
      step_(std::move(step)),
      cgroups_(settings_.cgroup_root),
      records_(std::move(records)),
      gpus_(std::move(gpus)),
      files_(settings_, std::move(nonces)) {}

absl::StatusOr<std::unique_ptr<LateBinding>> LateBinding::Open(BindingSettings settings, Gpus gpus,
                                                               Partitioners partitioners,
                                                               PodSource& pods, Problems& problems,
                                                               StepDone step) {
  TEPHRA_ASSIGN_OR_RETURN(const Folder state, Folder::Open(settings.state_folder, 0711));
  TEPHRA_ASSIGN_OR_RETURN(Folder records, state.Sub("records"));
  TEPHRA_ASSIGN_OR_RETURN(Folder nonces, state.Sub("nonces", 0711));
  std::unique_ptr<LateBinding> binding(
      new LateBinding(std::move(settings), std::move(gpus), std::move(partitioners), pods, problems,
                      std::move(step), std::move(records), std::move(nonces)));
  TEPHRA_RETURN_IF_ERROR(binding->Load());
  return binding;
}

absl::StatusOr<AllocateAnswer> LateBinding::Mint(std::vector<std::string> slots) {
  const std::string nonce = NewNonce();
  {
    std::sort(slots.begin(), slots.end());
    const std::lock_guard lock(minted_mutex_);
    std::erase_if(minted_, [&](const auto& known) {
      return std::any_of(slots.begin(), slots.end(), [&](const std::string& slot) {
        return std::binary_search(known.first.begin(), known.first.end(), slot);
      });
    });
    minted_[std::move(slots)] = nonce;
  }
  TEPHRA_ASSIGN_OR_RETURN(AllocateAnswer answer, files_.Name(nonce));
  step_("minted");
  return answer;
}

absl::Status LateBinding::PreStart(std::vector<std::string> slots, Deadline deadline,
                                   const std::function<bool()>& cancelled) {
  std::sort(slots.begin(), slots.end());
  auto entries = Entries();
  if (!entries.ok()) {
    TEPHRA_ASSIGN_OR_RETURN(CheckpointEntry entry, EntryWithout(slots, entries.status()));
    entries = std::vector<CheckpointEntry>{std::move(entry)};
  }
  // An init container has the slots of a later container, and the kubelet may have given a slot
  // twice: all of these containers are bound, each under its own nonce.
  int bound = 0;
  absl::Status why = absl::UnavailableError(
      "the kubelet's checkpoint has no container with exactly these device IDs");
  for (const CheckpointEntry& entry : *entries) {
    if (entry.slots != slots) continue;
    const absl::Status status = BindEntry(entry, deadline, cancelled);
    if (absl::IsNotFound(status)) {
      why = status;
      continue;
    }
    if (!status.ok()) {
      LogWarning("a container cannot start", {{"pod", entry.pod_uid},
                                                {"container", entry.container},
                                                {"why", std::string(status.message())}});
      return status;
    }
    ++bound;
  }
  if (bound == 0) return why;
  Deadline settled;
  {
    const std::lock_guard lock(mutex_);
    settled = files_.settled();
  }
  std::this_thread::sleep_until(settled);
  step_("settled");
  return absl::OkStatus();
}

absl::Status LateBinding::BindEntry(const CheckpointEntry& entry, Deadline deadline,
                                    const std::function<bool()>& cancelled) {
  std::optional<Holding> holding;
  {
    const std::lock_guard lock(mutex_);
    if (const Holding* known = books_.Find(entry.nonce)) {
      const Holder& holder = known->grant.holder;
      if (holder.pod_uid != entry.pod_uid || holder.container != entry.container) {
        return absl::FailedPreconditionError(ContainerOf(entry) +
                                             ": its nonce belongs to another container");
      }
      holding = *known;
    }
  }
  if (!holding) {
    TEPHRA_ASSIGN_OR_RETURN(holding, Decide(entry, deadline, cancelled));
  }
  if (holding->slots.empty()) holding->slots = entry.slots;
  Waiting waiting(gpu_waits_);
  while (true) {
    GpuTasks::Uuids gpus;
    {
      const std::lock_guard lock(mutex_);
      slots_by_nonce_[entry.nonce] = entry.slots;
      gpus = UuidsOf(*holding);
    }
    const auto task = tasks_.Start(std::move(gpus), "binding " + ContainerOf(entry),
                                   [this, wanted = *holding] { return Bind(wanted); }, deadline);
    const absl::Status status =
        tasks_.Wait(task, std::max(deadline, SteadyClock::now() + kFinishWithin));
    if (!absl::IsUnavailable(status)) return status;
    if (cancelled() || SteadyClock::now() >= deadline) return status;
    waiting.Begin();
    bool sweep = false;
    {
      std::unique_lock lock(mutex_);
      released_.wait_until(lock, std::min(deadline, SteadyClock::now() + kLookAgain));
      sweep = SteadyClock::now() - swept_ >= kSweepEvery;
    }
    if (sweep) Sweep();
  }
}

GpuTasks::Uuids LateBinding::UuidsOf(const Holding& holding) const {
  GpuTasks::Uuids uuids;
  for (const GrantedSlice& slice : holding.grant.slices) {
    if (slice.gpu < gpus_.devices.size()) uuids.insert(gpus_.devices[slice.gpu].hardware.uuid);
  }
  if (!holding.grant.slices.empty()) return uuids;
  // A container of another scheduler gets some of these when it is bound.
  for (const Gpu& gpu : gpus_.devices) {
    if (gpu.reserved) uuids.insert(gpu.hardware.uuid);
  }
  return uuids;
}

absl::StatusOr<Holding> LateBinding::Decide(const CheckpointEntry& entry, Deadline deadline,
                                            const std::function<bool()>& cancelled) {
  const auto ours = [&](const PodFacts& pod) {
    return settings_.schedulers.empty() || settings_.schedulers.count(pod.scheduler) > 0;
  };
  Waiting waiting(annotation_waits_);
  const auto pod = pods_.Wait(entry.pod_uid, deadline, cancelled, [&](const PodFacts& facts) {
    const bool enough = facts.slices.has_value() || facts.ended || !ours(facts);
    if (!enough) waiting.Begin();
    return enough;
  });
  if (!pod.ok()) return pod.status();
  const std::string name = pod->pod_namespace + "/" + pod->name + ": ";
  if (pod->ended) return absl::NotFoundError(name + "the pod has ended");
  const Gpus gpus = this->gpus();
  Holding holding;
  holding.init = pod->init.count(entry.container) > 0;
  const Holder holder = {entry.nonce, pod->uid, pod->pod_namespace, pod->name, entry.container};
  if (!ours(*pod)) {
    const bool any = std::any_of(gpus.devices.begin(), gpus.devices.end(),
                                 [](const Gpu& gpu) { return gpu.reserved; });
    if (!any) {
      return absl::FailedPreconditionError(name + "scheduled by " + pod->scheduler +
                                           ", and no GPU of this node is reserved for it");
    }
    holding.grant.holder = holder;  // its slices are chosen when it is bound
    return holding;
  }
  if (!pod->slices.has_value()) {
    return absl::FailedPreconditionError(name + "the pod has no annotation " + kSlicesKey);
  }
  TEPHRA_RETURN_IF_ERROR(CheckSigned(settings_, *pod));
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<ContainerSlices> containers, ParseSlices(*pod->slices));
  TEPHRA_ASSIGN_OR_RETURN(holding.grant, MatchSlices(holder, containers, gpus));
  for (const GrantedSlice& slice : holding.grant.slices) {
    const Gpu& gpu = gpus.devices[slice.gpu];
    if (!gpu.hardware.healthy) {
      return absl::FailedPreconditionError(name + "GPU " + gpu.hardware.uuid +
                                           " is unhealthy: " + gpu.unhealthy);
    }
    if (gpu.reserved) {
      return absl::FailedPreconditionError(name + "GPU " + gpu.hardware.uuid +
                                           " is reserved for pods of other schedulers");
    }
  }
  return holding;
}

absl::StatusOr<Holding> LateBinding::Reserve(Holding holding) {
  const std::string nonce = holding.grant.holder.nonce;
  TEPHRA_RETURN_IF_ERROR(Recover(SteadyClock::now()));
  if (const Holding* known = books_.Find(nonce)) return *known;  // it was just recovered
  if (holding.grant.slices.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(holding.grant.slices,
                            ChooseReservedGpus(holding, holding.slots.size(), books_, gpus_));
  }
  TEPHRA_RETURN_IF_ERROR(books_.Fits(holding, gpus_));
  TEPHRA_RETURN_IF_ERROR(Record(holding));
  step_("recorded");
  books_.Put(holding);
  return holding;
}

absl::Status LateBinding::Bind(Holding holding) {
  const std::string nonce = holding.grant.holder.nonce;
  std::unique_lock lock(mutex_);
  const Holding* const known = books_.Find(nonce);
  const bool fresh = known == nullptr;
  if (fresh) {
    TEPHRA_ASSIGN_OR_RETURN(holding, Reserve(std::move(holding)));
  } else {
    holding = *known;  // as another call for the same container left it
  }
  const Gpus gpus = gpus_;
  lock.unlock();
  Edits edits;
  absl::Status applied = partitioners_.Apply(
      holding.grant, gpus, edits, [&](const char* what, SliceMode mode) { Done(what, mode); });
  applied.Update(CheckDeviceNodes(edits));
  if (!applied.ok()) {
    // The slices are free again once nothing of them is on the hardware. What cannot be undone, or
    // was there before this call, stays in the books until its container is gone.
    if (fresh) static_cast<void>(Release(nonce).ok());
    return applied;
  }
  if (settings_.visible_by_mounts) AddVisibleMounts(edits);
  lock.lock();
  if (!holding.bound || holding.edits != edits) {
    holding.bound = true;
    holding.edits = std::move(edits);
    TEPHRA_RETURN_IF_ERROR(Record(holding));
    step_("bound");
    books_.Put(holding);
  }
  TEPHRA_RETURN_IF_ERROR(files_.Show(holding, books_, gpus_));
  step_("published");
  return absl::OkStatus();
}

absl::Status LateBinding::Record(const Holding& holding) const {
  return records_.Write(holding.grant.holder.nonce + kRecordEnding, FormatRecord(holding, gpus_));
}

// A device node that does not exist would make the runtime refuse the container.
absl::Status LateBinding::CheckDeviceNodes(Edits& edits) const {
  std::string missing;
  const auto absent = [&](const std::string& node) {
    if (access((settings_.device_root + node).c_str(), F_OK) == 0) return false;
    if (node != kOptionalNode) missing = node;
    return true;
  };
  edits.device_nodes.erase(
      std::remove_if(edits.device_nodes.begin(), edits.device_nodes.end(), absent),
      edits.device_nodes.end());
  return missing.empty() ? absl::OkStatus()
                         : absl::UnavailableError("device node " + settings_.device_root + missing +
                                                  " does not exist on this node");
}

void LateBinding::Done(const char* what, SliceMode mode) const {
  step_(std::string(what) + " " + ModeWord(mode));
}

absl::Status LateBinding::SetGpus(Gpus gpus) {
  const std::lock_guard lock(mutex_);
  if (!SameDevices(gpus_, gpus)) {
    return absl::FailedPreconditionError(
        "the driver reports other GPUs than at the start of this process; restart tephra-node");
  }
  gpus_ = std::move(gpus);
  return absl::OkStatus();
}

Gpus LateBinding::gpus() const {
  const std::lock_guard lock(mutex_);
  return gpus_;
}

SlotGpus LateBinding::held_slots() const {
  const std::lock_guard lock(mutex_);
  SlotGpus held;
  for (const auto& [nonce, slots] : slots_by_nonce_) {
    std::set<std::size_t> gpus;
    if (const Holding* holding = books_.Find(nonce)) {
      for (const GrantedSlice& slice : holding->grant.slices) gpus.insert(slice.gpu);
    }
    for (const std::string& slot : slots) held[slot].insert(gpus.begin(), gpus.end());
  }
  return held;
}

std::map<std::string, Holding> LateBinding::holdings() const {
  const std::lock_guard lock(mutex_);
  return books_.all();
}

std::set<std::string> LateBinding::orphans() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string> nonces;
  for (const auto& [nonce, holding] : books_.all()) {
    if (pods_.Over(holding.grant.holder.pod_uid)) nonces.insert(nonce);
  }
  return nonces;
}

WaitFigures LateBinding::waits() const {
  return {{annotation_waits_.now, annotation_waits_.total}, {gpu_waits_.now, gpu_waits_.total}};
}

}  // namespace tephra::node
