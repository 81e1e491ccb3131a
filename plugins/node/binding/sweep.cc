// How LateBinding releases the slices of containers that have ended.
#include <algorithm>

#include "plugins/node/binding/late_binding.h"
#include "plugins/node/binding/record.h"

namespace tephra::node {
namespace {

using SweepClock = std::chrono::steady_clock;

// How long one sweep waits for the driver.
constexpr std::chrono::milliseconds kReleaseWithin(1000);

}  // namespace

bool LateBinding::Sweep() {
  bool waits = false;
  std::map<GpuTasks::Uuids, std::vector<std::string>> gone;  // by their GPUs
  {
    const std::lock_guard lock(mutex_);
    swept_ = SweepClock::now();
    for (std::string& nonce : FindGone(waits)) {
      gone[UuidsOf(*books_.Find(nonce))].push_back(std::move(nonce));
    }
  }
  const auto until = SweepClock::now() + kReleaseWithin;
  std::vector<std::shared_ptr<GpuTasks::Task>> tasks;
  for (const auto& [gpus, nonces] : gone) {
    tasks.push_back(tasks_.Start(
        gpus, "releasing the slices of " + std::to_string(nonces.size()) + " containers",
        [this, nonces = nonces] { return ReleaseAll(nonces); }, until));
  }
  for (const auto& task : tasks) waits |= !tasks_.Wait(task, until).ok();
  return waits;
}

std::vector<std::string> LateBinding::FindGone(bool& waits) {
  const auto entries = Entries();
  waits = !entries.ok();
  // Without the checkpoint, the API server and the control groups of pods together say which
  // containers are gone. Without control groups, nothing does.
  if (!entries.ok() && !cgroups_.Sees()) return {};
  std::set<std::string> live;
  if (entries.ok()) {
    for (const CheckpointEntry& entry : *entries) {
      live.insert(entry.nonce);
      slots_by_nonce_[entry.nonce] = entry.slots;
    }
  } else {
    for (const auto& [nonce, holding] : books_.all()) live.insert(nonce);
  }
  std::vector<std::string> gone;
  for (const auto& [nonce, holding] : books_.all()) {
    const std::string& uid = holding.grant.holder.pod_uid;
    // The kubelet keeps containers of ended pods in its checkpoint until it admits another pod. If
    // the control groups can be seen, there is no need to wait for that.
    const bool over = live.count(nonce) == 0 || (cgroups_.Sees() && pods_.Over(uid));
    if (!over) continue;
    if (cgroups_.Runs(uid)) {
      waits = true;
    } else {
      gone.push_back(nonce);
    }
  }
  std::erase_if(slots_by_nonce_, [&](const auto& known) {
    return live.count(known.first) == 0;
  });
  if (entries.ok()) files_.RemoveUnused(live, books_);
  return gone;
}

absl::Status LateBinding::ReleaseAll(const std::vector<std::string>& nonces) {
  absl::Status first;
  for (const std::string& nonce : nonces) {
    const absl::Status released = Release(nonce);
    first.Update(released);
    if (released.ok()) {
      problems_.Clear(problem_kind::kSlice, nonce);
    } else {
      problems_.Set(problem_kind::kSlice, nonce,
                    "a container has ended, but its slices are still held: " +
                        std::string(released.message()));
    }
  }
  released_.notify_all();
  return first;
}

absl::Status LateBinding::Release(const std::string& nonce) {
  std::unique_lock lock(mutex_);
  const Holding* const known = books_.Find(nonce);
  if (known == nullptr) return absl::OkStatus();  // released since
  Holding holding = *known;
  if (holding.bound) {
    holding.bound = false;
    books_.Put(holding);
    TEPHRA_RETURN_IF_ERROR(files_.Update(books_));
    step_("withdrawn");
  }
  const Gpus gpus = gpus_;
  lock.unlock();
  TEPHRA_RETURN_IF_ERROR(partitioners_.Undo(
      holding.grant, gpus, [&](const char* what, SliceMode mode) { Done(what, mode); }));
  lock.lock();
  TEPHRA_RETURN_IF_ERROR(files_.RemoveDirectory(nonce));
  TEPHRA_RETURN_IF_ERROR(records_.Remove(nonce + kRecordEnding));
  step_("released");
  books_.Remove(nonce);
  slots_by_nonce_.erase(nonce);
  return absl::OkStatus();
}

}  // namespace tephra::node
