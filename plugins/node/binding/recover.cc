// What LateBinding does when it starts: it reads what earlier processes have bound.
#include <algorithm>

#include "plugins/node/binding/late_binding.h"
#include "plugins/node/binding/nonce.h"
#include "plugins/node/binding/record.h"
#include "plugins/node/binding/signed_pod.h"
#include "plugins/node/slices_annotation.h"
#include "base/log.h"

namespace tephra::node {
namespace {

using StartClock = std::chrono::steady_clock;

constexpr std::size_t kMaxRecordBytes = 1u << 20;
// How long a start waits for the API server if records cannot be read.
constexpr std::chrono::seconds kRecoverWithin(10);
// How long a start waits for the driver; the rest is done while the node serves.
constexpr std::chrono::seconds kTidyWithin(10);

std::string NameOf(const CheckpointEntry& entry) {
  return "pod " + entry.pod_uid + ", container " + entry.container;
}

}  // namespace

absl::Status LateBinding::Load() {
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<std::string> names, records_.Names());
  bool all_known = false;
  {
    const std::lock_guard lock(mutex_);
    ReadRecords(names);
    const absl::Status known = Recover(StartClock::now() + kRecoverWithin);
    if (!known.ok()) {
      LogError("no new container is bound", {{"why", std::string(known.message())}});
    }
    all_known = unread_.empty();
    std::vector<Grant> live;
    for (const auto& [nonce, holding] : books_.all()) live.push_back(holding.grant);
    partitioners_.Remember(live, gpus_);
    // A disk that is full now may have room when a container starts; else that start fails.
    if (const absl::Status status = files_.Begin(books_); !status.ok()) {
      LogError("the CDI file cannot be written", {{"why", std::string(status.message())}});
    }
  }
  // What belongs to a record that cannot be read must stay.
  if (all_known) TidyUp();
  return absl::OkStatus();
}

void LateBinding::ReadRecords(const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    const std::string nonce = name.substr(0, kNonceLength);
    if (!IsNonce(nonce) || name != nonce + kRecordEnding) continue;
    const auto text = records_.Read(name, kMaxRecordBytes);
    auto holding = text.ok() ? ParseRecord(*text, gpus_) : text.status();
    if (holding.ok() && holding->grant.holder.nonce != nonce) {
      holding = absl::DataLossError("the record is of another nonce");
    }
    if (!holding.ok()) {
      LogError("a record cannot be used", {{"file", records_.path() + "/" + name},
                                           {"why", std::string(holding.status().message())}});
      // On a GPU that is gone nothing runs; if its container starts again, it is bound again.
      if (!absl::IsNotFound(holding.status())) unread_.insert(nonce);
      continue;
    }
    slots_by_nonce_[nonce] = holding->slots;
    books_.Put(*std::move(holding));
  }
}

// A GPU that does not answer keeps no other GPU from being used.
void LateBinding::TidyUp() {
  const auto until = StartClock::now() + kTidyWithin;
  std::vector<std::pair<std::string, std::shared_ptr<GpuTasks::Task>>> tasks;
  for (const std::string& uuid : partitioners_.Leftovers(gpus_)) {
    const auto work = [this, uuid] { return partitioners_.Tidy(uuid, gpus()); };
    tasks.emplace_back(uuid, tasks_.Start({uuid}, "tidying up after an earlier process", work, until));
  }
  for (const auto& [uuid, task] : tasks) {
    const absl::Status status = tasks_.Wait(task, until);
    if (status.ok()) continue;
    LogError("what an earlier process left could not be removed",
             {{"gpu", uuid}, {"why", std::string(status.message())}});
  }
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
    // Not in the checkpoint: the container has ended, or its pod was deleted by force just before.
    const bool over =
        entry == entries->end() || (pods_.Over(entry->pod_uid) && !cgroups_.Runs(entry->pod_uid));
    if (over) {
      LogWarning("a record that cannot be read belongs to a container that is gone",
                 {{"nonce", nonce}});
      TEPHRA_RETURN_IF_ERROR(records_.Remove(nonce + kRecordEnding));
      unread_.erase(nonce);
      continue;
    }
    auto holding = RecoverOne(*entry, until);
    if (!holding.ok()) {
      unknown = absl::UnavailableError("the record of " + NameOf(*entry) +
                                       " cannot be read, so what it holds is not known: " +
                                       std::string(holding.status().message()));
      continue;
    }
    TEPHRA_RETURN_IF_ERROR(Record(*holding));
    LogWarning("a record that could not be read was written again", {{"nonce", nonce}});
    books_.Put(*std::move(holding));
    unread_.erase(nonce);
  }
  return unknown;
}

// As it was decided then, whatever has become of the GPUs since; its next start applies it.
absl::StatusOr<Holding> LateBinding::RecoverOne(const CheckpointEntry& entry, Deadline until) {
  TEPHRA_ASSIGN_OR_RETURN(const PodFacts pod, pods_.Wait(
                                                  entry.pod_uid, until, [] { return false; },
                                                  [](const PodFacts&) { return true; }));
  Holding holding;
  holding.slots = entry.slots;
  holding.init = pod.init.count(entry.container) > 0;
  const Holder holder = {entry.nonce, pod.uid, pod.pod_namespace, pod.name, entry.container};
  if (pod.slices.has_value()) {
    TEPHRA_RETURN_IF_ERROR(CheckSigned(settings_, pod));
    TEPHRA_ASSIGN_OR_RETURN(const std::vector<ContainerSlices> containers,
                            ParseSlices(*pod.slices));
    TEPHRA_ASSIGN_OR_RETURN(holding.grant, MatchSlices(holder, containers, gpus_));
    return holding;
  }
  // A pod of another scheduler: any of the reserved GPUs may be its own.
  holding.grant.holder = holder;
  for (std::size_t i = 0; i < gpus_.devices.size(); ++i) {
    const Gpu& gpu = gpus_.devices[i];
    if (!gpu.reserved) continue;
    GrantedSlice slice;
    slice.gpu = i;
    slice.compute = kNoFactor;
    slice.memory_mib = gpu.hardware.memory_mib;
    holding.grant.slices.push_back(slice);
  }
  return holding;
}

}  // namespace tephra::node
