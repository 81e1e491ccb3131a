#include "plugins/node/binding/late_binding.h"

#include <unistd.h>

#include <algorithm>
#include <thread>

#include "plugins/node/binding/nonce.h"
#include "plugins/node/binding/record.h"
#include "plugins/node/binding/set_aside.h"
#include "plugins/node/kubelet/pod_resources.h"
#include "plugins/node/slices_annotation.h"
#include "sidecar/log.h"

namespace tephra::node {
namespace {

using std::chrono::milliseconds;
using SteadyClock = std::chrono::steady_clock;

constexpr std::size_t kMaxRecordBytes = 1u << 20;
constexpr const char* kRecordEnding = ".json";
// How often one that waits for a GPU looks again where nothing tells it.
constexpr milliseconds kLookAgain(500);
// Looking at what containers run is not worth more.
constexpr milliseconds kSweepEvery(200);
// Only debuggers use it, and not every driver makes it.
constexpr const char* kOptionalNode = "/dev/nvidia-uvm-tools";
// How long a start of this process waits for the API server where records cannot be read.
constexpr std::chrono::seconds kRecoverWithin(10);

bool SameDevices(const Gpus& a, const Gpus& b) {
  return std::equal(a.devices.begin(), a.devices.end(), b.devices.begin(), b.devices.end(),
                    [](const Gpu& x, const Gpu& y) { return x.hardware.uuid == y.hardware.uuid; });
}

std::string Who(const CheckpointEntry& entry) {
  return "pod " + entry.pod_uid + ", container " + entry.container;
}

}  // namespace

// Counts one start among those that wait, from when it first does until it goes out of scope.
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

LateBinding::LateBinding(BindingSettings settings, Gpus gpus, Cutters cutters, PodSource& pods,
                         StepDone step, Folder records, Folder nonces)
    : settings_(std::move(settings)),
      cutters_(std::move(cutters)),
      pods_(pods),
      step_(std::move(step)),
      cgroups_(settings_.cgroup_root),
      records_(std::move(records)),
      gpus_(std::move(gpus)),
      files_(settings_, std::move(nonces)) {}

absl::StatusOr<std::unique_ptr<LateBinding>> LateBinding::Open(BindingSettings settings, Gpus gpus,
                                                               Cutters cutters, PodSource& pods,
                                                               StepDone step) {
  TEPHRA_ASSIGN_OR_RETURN(const Folder state, Folder::Open(settings.state_folder, 0711));
  TEPHRA_ASSIGN_OR_RETURN(Folder records, state.Sub("records"));
  TEPHRA_ASSIGN_OR_RETURN(Folder nonces, state.Sub("nonces", 0711));
  std::unique_ptr<LateBinding> binding(new LateBinding(std::move(settings), std::move(gpus),
                                                       std::move(cutters), pods, std::move(step),
                                                       std::move(records), std::move(nonces)));
  TEPHRA_RETURN_IF_ERROR(binding->Load());
  return binding;
}

absl::StatusOr<std::vector<CheckpointEntry>> LateBinding::Entries() const {
  return ReadCheckpoint(settings_.checkpoint, settings_.resource, files_.Marks());
}

absl::Status LateBinding::Load() {
  const std::lock_guard lock(mutex_);
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<std::string> names, records_.Names());
  for (const std::string& name : names) {
    const std::string nonce = name.substr(0, kNonceLength);
    if (!IsNonce(nonce) || name != nonce + kRecordEnding) continue;
    const auto text = records_.Read(name, kMaxRecordBytes);
    auto holding = text.ok() ? ParseRecord(*text, gpus_) : text.status();
    if (holding.ok() && holding->grant.holder.nonce != nonce) {
      holding = absl::DataLossError("record: of another nonce");
    }
    if (!holding.ok()) {
      LogError("a record cannot be used", {{"file", records_.path() + "/" + name},
                                           {"why", std::string(holding.status().message())}});
      // On a card that is gone nothing runs; its container, should it start again, is bound anew.
      if (!absl::IsNotFound(holding.status())) unread_.insert(nonce);
      continue;
    }
    tickets_by_nonce_[nonce] = holding->tickets;
    books_.Put(*std::move(holding));
  }
  if (const absl::Status status = Recover(SteadyClock::now() + kRecoverWithin); !status.ok()) {
    LogError("nothing new is bound", {{"why", std::string(status.message())}});
  }
  std::vector<Grant> live;
  for (const auto& [nonce, holding] : books_.all()) live.push_back(holding.grant);
  // A card that does not answer keeps no other from being used.
  if (const absl::Status status = cutters_.Restore(live, gpus_); !status.ok()) {
    LogError("what earlier cuts left could not be looked at",
             {{"why", std::string(status.message())}});
  }
  // A disk that is full now may have room when a container starts; then its start says so.
  if (const absl::Status status = files_.Begin(books_); !status.ok()) {
    LogError("the CDI file cannot be written", {{"why", std::string(status.message())}});
  }
  return absl::OkStatus();
}

absl::Status LateBinding::Recover(Deadline until) {
  if (unread_.empty()) return absl::OkStatus();
  const auto entries = Entries();
  if (!entries.ok()) {
    return absl::UnavailableError("records cannot be read, and " +
                                  std::string(entries.status().message()));
  }
  absl::Status unknown;
  const std::set<std::string> unread = unread_;
  for (const std::string& nonce : unread) {
    const auto entry =
        std::find_if(entries->begin(), entries->end(),
                     [&](const CheckpointEntry& each) { return each.nonce == nonce; });
    // The kubelet has forgotten it: it has ended, or was deleted by force just before.
    const bool over =
        entry == entries->end() || (pods_.Over(entry->pod_uid) && !cgroups_.Runs(entry->pod_uid));
    if (over) {
      LogWarning("a record that cannot be read is of a container that is gone", {{"nonce", nonce}});
      TEPHRA_RETURN_IF_ERROR(records_.Remove(nonce + kRecordEnding));
      unread_.erase(nonce);
      continue;
    }
    auto holding = RecoverOne(*entry, until);
    if (!holding.ok()) {
      unknown = absl::UnavailableError("the record of " + Who(*entry) +
                                       " cannot be read, so what it holds is not known: " +
                                       std::string(holding.status().message()));
      continue;
    }
    TEPHRA_RETURN_IF_ERROR(Record(*holding));
    LogWarning("a record that cannot be read was made anew", {{"nonce", nonce}});
    books_.Put(*std::move(holding));
    unread_.erase(nonce);
  }
  return unknown;
}

// As it was decided then, whatever has become of the GPUs since; its next start cuts and shows it.
absl::StatusOr<Holding> LateBinding::RecoverOne(const CheckpointEntry& entry, Deadline until) {
  TEPHRA_ASSIGN_OR_RETURN(const PodFacts pod, pods_.Wait(
                                                  entry.pod_uid, until, [] { return false; },
                                                  [](const PodFacts&) { return true; }));
  Holding holding;
  holding.tickets = entry.tickets;
  holding.init = pod.init.count(entry.container) > 0;
  const Holder holder = {entry.nonce, pod.uid, pod.pod_namespace, pod.name, entry.container};
  if (pod.slices.has_value()) {
    TEPHRA_ASSIGN_OR_RETURN(const std::vector<ContainerSlices> containers,
                            ParseSlices(*pod.slices));
    TEPHRA_ASSIGN_OR_RETURN(holding.grant, MatchSlices(holder, containers, gpus_));
    return holding;
  }
  // Of another scheduler: any of those that are set aside may be its.
  holding.grant.holder = holder;
  for (std::size_t i = 0; i < gpus_.devices.size(); ++i) {
    const Gpu& gpu = gpus_.devices[i];
    if (!gpu.set_aside) continue;
    GrantedSlice slice;
    slice.gpu = i;
    slice.compute = kNoFactor;
    slice.memory_mib = gpu.hardware.memory_mib;
    holding.grant.slices.push_back(slice);
  }
  return holding;
}

absl::StatusOr<AllocateAnswer> LateBinding::Mint(std::vector<std::string> tickets) {
  const std::string nonce = NewNonce();
  {
    std::sort(tickets.begin(), tickets.end());
    const std::lock_guard lock(minted_mutex_);
    std::erase_if(minted_, [&](const auto& known) {
      return std::any_of(tickets.begin(), tickets.end(), [&](const std::string& ticket) {
        return std::binary_search(known.first.begin(), known.first.end(), ticket);
      });
    });
    minted_[std::move(tickets)] = nonce;
  }
  TEPHRA_ASSIGN_OR_RETURN(AllocateAnswer answer, files_.Name(nonce));
  step_("minted");
  return answer;
}

absl::Status LateBinding::PreStart(std::vector<std::string> tickets, Deadline deadline,
                                   const std::function<bool()>& cancelled) {
  std::sort(tickets.begin(), tickets.end());
  auto entries = Entries();
  if (!entries.ok()) {
    TEPHRA_ASSIGN_OR_RETURN(CheckpointEntry entry, EntryWithout(tickets, entries.status()));
    entries = std::vector<CheckpointEntry>{std::move(entry)};
  }
  // An init container has the tickets of one that comes after it, and the kubelet may have given a
  // ticket twice: all of them are bound, each under its own nonce.
  int bound = 0;
  absl::Status why = absl::UnavailableError(
      "the kubelet's checkpoint names no container that holds just these devices");
  for (const CheckpointEntry& entry : *entries) {
    if (entry.tickets != tickets) continue;
    const absl::Status status = BindEntry(entry, deadline, cancelled);
    if (absl::IsNotFound(status)) {
      why = status;
      continue;
    }
    if (!status.ok()) {
      LogWarning("a container is not started", {{"pod", entry.pod_uid},
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

absl::StatusOr<CheckpointEntry> LateBinding::EntryWithout(const std::vector<std::string>& tickets,
                                                          const absl::Status& why) {
  if (settings_.pod_resources.empty()) return why;
  const auto with_why = [&](const absl::Status& status) {
    return absl::UnavailableError(std::string(why.message()) + "; " +
                                  std::string(status.message()));
  };
  const auto holders = ListTicketHolders(settings_.pod_resources, settings_.resource);
  if (!holders.ok()) return with_why(holders.status());
  const auto holder = HolderOf(*holders, tickets);
  if (!holder.ok()) return with_why(holder.status());
  CheckpointEntry entry{"", holder->container, tickets, ""};
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [nonce, holding] : books_.all()) {
      if (holding.tickets != tickets) continue;
      const Holder& was = holding.grant.holder;
      const bool same = was.pod_namespace == holder->pod_namespace && was.pod_name == holder->pod &&
                        was.container == holder->container;
      if (same) entry.nonce = nonce, entry.pod_uid = was.pod_uid;
    }
  }
  // A container that was bound starts again as it was, unless it was allocated anew since.
  {
    const std::lock_guard lock(minted_mutex_);
    const auto fresh = minted_.find(tickets);
    if (fresh != minted_.end() && fresh->second != entry.nonce) {
      entry.nonce = fresh->second;
      entry.pod_uid.clear();
    }
  }
  if (entry.nonce.empty()) {
    return with_why(absl::UnavailableError(
        "these devices were allocated before this process began, and nothing else tells whose"));
  }
  if (entry.pod_uid.empty()) {
    const auto pod = pods_.Named(holder->pod_namespace, holder->pod);
    if (!pod.ok()) return with_why(pod.status());
    entry.pod_uid = pod->uid;
  }
  return entry;
}

absl::Status LateBinding::BindEntry(const CheckpointEntry& entry, Deadline deadline,
                                    const std::function<bool()>& cancelled) {
  Holding holding;
  std::unique_lock lock(mutex_);
  if (const Holding* known = books_.Find(entry.nonce)) {
    const Holder& holder = known->grant.holder;
    if (holder.pod_uid != entry.pod_uid || holder.container != entry.container) {
      return absl::FailedPreconditionError(Who(entry) + ": its nonce is another container's");
    }
    holding = *known;
  } else {
    lock.unlock();
    TEPHRA_ASSIGN_OR_RETURN(holding, Decide(entry, deadline, cancelled));
    lock.lock();
  }
  tickets_by_nonce_[entry.nonce] = entry.tickets;
  if (holding.tickets.empty()) holding.tickets = entry.tickets;
  Waiting waiting(gpu_waits_);
  while (true) {
    const absl::Status status = Bind(holding);
    if (!absl::IsUnavailable(status)) return status;
    if (cancelled() || SteadyClock::now() >= deadline) return status;
    waiting.Begin();
    released_.wait_until(lock, std::min(deadline, SteadyClock::now() + kLookAgain));
    if (SteadyClock::now() - swept_ >= kSweepEvery) SweepLocked();
  }
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
  const std::string who = pod->pod_namespace + "/" + pod->name + ": ";
  if (pod->ended) return absl::NotFoundError(who + "the pod has ended");
  const Gpus gpus = this->gpus();
  Holding holding;
  holding.init = pod->init.count(entry.container) > 0;
  const Holder holder = {entry.nonce, pod->uid, pod->pod_namespace, pod->name, entry.container};
  if (!ours(*pod)) {
    const bool any = std::any_of(gpus.devices.begin(), gpus.devices.end(),
                                 [](const Gpu& gpu) { return gpu.set_aside; });
    if (!any) {
      return absl::FailedPreconditionError(who + "scheduled by " + pod->scheduler +
                                           ", which gives out no devices of this node");
    }
    holding.grant.holder = holder;  // its slices are chosen when it is bound
    return holding;
  }
  if (!pod->slices.has_value()) {
    return absl::FailedPreconditionError(who + "the pod has no annotation " + kSlicesKey);
  }
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<ContainerSlices> containers, ParseSlices(*pod->slices));
  TEPHRA_ASSIGN_OR_RETURN(holding.grant, MatchSlices(holder, containers, gpus));
  for (const GrantedSlice& slice : holding.grant.slices) {
    const Gpu& gpu = gpus.devices[slice.gpu];
    if (!gpu.hardware.healthy) {
      return absl::FailedPreconditionError(who + "GPU " + gpu.hardware.uuid +
                                           " is unhealthy: " + gpu.unhealthy);
    }
    if (gpu.set_aside) {
      return absl::FailedPreconditionError(who + "GPU " + gpu.hardware.uuid +
                                           " is set aside for pods of other schedulers");
    }
  }
  return holding;
}

absl::Status LateBinding::Bind(Holding holding) {
  const std::string nonce = holding.grant.holder.nonce;
  // Another call for the same container may have come first.
  if (const Holding* known = books_.Find(nonce)) holding = *known;
  const bool fresh = books_.Find(nonce) == nullptr;
  if (fresh) {
    TEPHRA_RETURN_IF_ERROR(Recover(SteadyClock::now()));
    if (const Holding* known = books_.Find(nonce)) return Bind(*known);  // it was one of them
    if (holding.grant.slices.empty()) {
      TEPHRA_ASSIGN_OR_RETURN(holding.grant.slices,
                              ChooseSetAside(holding, holding.tickets.size(), books_, gpus_));
    }
    TEPHRA_RETURN_IF_ERROR(books_.Fits(holding, gpus_));
    TEPHRA_RETURN_IF_ERROR(Record(holding));
    step_("recorded");
    books_.Put(holding);
  }
  Edits edits;
  absl::Status cut = cutters_.Cut(holding.grant, gpus_, edits,
                                  [&](const char* what, SliceMode mode) { Done(what, mode); });
  cut.Update(CheckDeviceNodes(edits));
  if (!cut.ok()) {
    // The slices are free for others once nothing of it is on the hardware. What cannot be taken
    // back, or was there before this call, stays in the books until its container is gone.
    if (fresh) static_cast<void>(Release(nonce).ok());
    return cut;
  }
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

// One that is named and not there would make the runtime refuse the container in words of its own.
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
                         : absl::UnavailableError("no device node " + settings_.device_root +
                                                  missing + " on this node");
}

absl::Status LateBinding::Release(const std::string& nonce) {
  Holding holding = *books_.Find(nonce);
  if (holding.bound) {
    holding.bound = false;
    books_.Put(holding);
    TEPHRA_RETURN_IF_ERROR(files_.Update(books_));
    step_("withdrawn");
  }
  TEPHRA_RETURN_IF_ERROR(cutters_.Undo(
      holding.grant, gpus_, [&](const char* what, SliceMode mode) { Done(what, mode); }));
  TEPHRA_RETURN_IF_ERROR(files_.RemoveDirectory(nonce));
  TEPHRA_RETURN_IF_ERROR(records_.Remove(nonce + kRecordEnding));
  step_("released");
  books_.Remove(nonce);
  tickets_by_nonce_.erase(nonce);
  return absl::OkStatus();
}

bool LateBinding::Sweep() {
  const std::lock_guard lock(mutex_);
  return SweepLocked();
}

bool LateBinding::SweepLocked() {
  swept_ = SteadyClock::now();
  const auto entries = Entries();
  // Without the checkpoint, and where the control groups of pods can be seen, the API server's word
  // and theirs tell who is gone; else nobody does.
  if (!entries.ok() && !cgroups_.Sees()) return true;
  std::set<std::string> live;
  if (entries.ok()) {
    for (const CheckpointEntry& entry : *entries) {
      live.insert(entry.nonce);
      tickets_by_nonce_[entry.nonce] = entry.tickets;
    }
  } else {
    for (const auto& [nonce, holding] : books_.all()) live.insert(nonce);
  }
  std::vector<std::string> gone;
  bool waits = false;
  for (const auto& [nonce, holding] : books_.all()) {
    const std::string& uid = holding.grant.holder.pod_uid;
    // The kubelet's checkpoint keeps those that are over until it admits another pod. Where their
    // control groups can be seen, that is not waited for.
    const bool over = live.count(nonce) == 0 || (cgroups_.Sees() && pods_.Over(uid));
    if (!over) continue;
    if (cgroups_.Runs(uid)) {
      waits = true;
    } else {
      gone.push_back(nonce);
    }
  }
  for (const std::string& nonce : gone) {
    const absl::Status released = Release(nonce);
    if (released.ok()) continue;
    waits = true;
    LogWarning("slices are not given back yet",
               {{"nonce", nonce}, {"why", std::string(released.message())}});
  }
  if (!gone.empty()) released_.notify_all();
  for (auto known = tickets_by_nonce_.begin(); known != tickets_by_nonce_.end();) {
    const bool held = live.count(known->first) > 0;
    known = held ? std::next(known) : tickets_by_nonce_.erase(known);
  }
  if (entries.ok()) files_.RemoveUnused(live, books_);
  return waits || !entries.ok();
}

void LateBinding::Done(const char* what, SliceMode mode) const {
  step_(std::string(what) + " " + ModeWord(mode));
}

absl::Status LateBinding::SetGpus(Gpus gpus) {
  const std::lock_guard lock(mutex_);
  if (!SameDevices(gpus_, gpus)) {
    return absl::FailedPreconditionError(
        "other GPUs than at the start, expected the same until a restart");
  }
  gpus_ = std::move(gpus);
  return absl::OkStatus();
}

Gpus LateBinding::gpus() const {
  const std::lock_guard lock(mutex_);
  return gpus_;
}

TicketGpus LateBinding::held_tickets() const {
  const std::lock_guard lock(mutex_);
  TicketGpus held;
  for (const auto& [nonce, tickets] : tickets_by_nonce_) {
    std::set<std::size_t> gpus;
    if (const Holding* holding = books_.Find(nonce)) {
      for (const GrantedSlice& slice : holding->grant.slices) gpus.insert(slice.gpu);
    }
    for (const std::string& ticket : tickets) held[ticket].insert(gpus.begin(), gpus.end());
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
