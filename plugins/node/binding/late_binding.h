// LateBinding settles which slices a container gets when the container starts. Allocate mints a
// nonce. PreStartContainer finds the container of the nonce in the kubelet's checkpoint, reads the
// slices that the scheduler gave to it, checks them against the node and against what other
// containers hold, and applies them. Only then it publishes, under the nonce, what the container is
// to see.
//
// A container whose binding fails has no device of its nonce, so the runtime cannot create it: it
// gets nothing rather than something else. After a crash, every step can be done again:
//
//   record (not bound) -> apply -> record (bound) -> CDI file or mounted directory
//
// Any thread. No lock is held while the driver is called or a program runs: that is done by
// GpuTasks, so a driver that hangs on one GPU holds up the containers of this GPU alone.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "plugins/node/binding/binding_settings.h"
#include "plugins/node/binding/books.h"
#include "plugins/node/binding/gpu_tasks.h"
#include "plugins/node/binding/nonce_files.h"
#include "plugins/node/binding/pod_cgroups.h"
#include "plugins/node/cluster/pod_source.h"
#include "plugins/node/file.h"
#include "plugins/node/kubelet/checkpoint.h"
#include "plugins/node/kubelet/device_plugin.h"
#include "plugins/node/partition/partitioners.h"
#include "plugins/node/problems.h"

namespace tephra::node {

// Called after each step with its name: "minted", "recorded", "applied whole", ... A test ends the
// process there.
using StepDone = std::function<void(const std::string& step)>;

// Containers whose start waits, by cause: the annotation of the pod, or a GPU that is not free.
struct WaitFigures {
  struct Of {
    int now = 0;
    std::int64_t total = 0;
  };
  Of annotation, gpu;
};

class LateBinding {
 public:
  // Reads what earlier processes have bound. FAILED_PRECONDITION or UNAVAILABLE: its folders cannot
  // be used. REQUIRES: `pods` and `problems` outlive it.
  static absl::StatusOr<std::unique_ptr<LateBinding>> Open(BindingSettings settings, Gpus gpus,
                                                           Partitioners partitioners,
                                                           PodSource& pods, Problems& problems,
                                                           StepDone step);

  absl::StatusOr<AllocateAnswer> Mint(std::vector<std::string> slots);
  absl::Status PreStart(std::vector<std::string> slots, Deadline deadline,
                        const std::function<bool()>& cancelled);

  // Releases the slices of containers that have ended. Returns whether it is worth another call
  // without any sign of change: a container of a pod that is over still runs, or a release failed
  // or goes on. Waits for releases, but not for long.
  bool Sweep();

  // The same GPUs in the same order, in another state. FAILED_PRECONDITION: they are other GPUs.
  absl::Status SetGpus(Gpus gpus);
  Gpus gpus() const;
  SlotGpus held_slots() const;
  std::map<std::string, Holding> holdings() const;
  // Nonces of containers that still hold their slices although their pods are over.
  std::set<std::string> orphans() const;
  WaitFigures waits() const;
  // Work on a GPU that has run for longer than `limit`, for example "binding pod a, container b".
  std::optional<std::string> Hung(std::chrono::steady_clock::duration limit) const {
    return tasks_.Hung(limit);
  }

 private:
  struct WaitCount {
    std::atomic<int> now = 0;
    std::atomic<std::int64_t> total = 0;
  };
  class Waiting;

  LateBinding(BindingSettings settings, Gpus gpus, Partitioners partitioners, PodSource& pods,
              Problems& problems, StepDone step, Folder records, Folder nonces);

  // At the start, in recover.cc.
  absl::Status Load();
  void ReadRecords(const std::vector<std::string>& names);
  void TidyUp();
  // The holdings whose records cannot be read, from the checkpoint and from the annotations of
  // their pods, for which it waits until then. UNAVAILABLE: some are still not known. REQUIRES:
  // mutex_ is held.
  absl::Status Recover(Deadline until);
  absl::StatusOr<Holding> RecoverOne(const CheckpointEntry& entry, Deadline until);

  // Which container has the slots.
  absl::StatusOr<std::vector<CheckpointEntry>> Entries() const;
  // The same for these slots alone, from the kubelet's pod resources; the nonce is one that this
  // process minted, or one in the books. `why`: the checkpoint cannot be used.
  absl::StatusOr<CheckpointEntry> EntryWithout(const std::vector<std::string>& slots,
                                               const absl::Status& why);

  absl::Status BindEntry(const CheckpointEntry& entry, Deadline deadline,
                         const std::function<bool()>& cancelled);
  absl::StatusOr<Holding> Decide(const CheckpointEntry& entry, Deadline deadline,
                                 const std::function<bool()>& cancelled);
  // Of the GPUs whose slices the holding has or may get. REQUIRES: mutex_ is held.
  GpuTasks::Uuids UuidsOf(const Holding& holding) const;
  // Bind and Release run as tasks of the GPUs of UuidsOf.
  absl::Status Bind(Holding holding);
  // Puts a new holding into the books, if there is room. REQUIRES: mutex_ is held.
  absl::StatusOr<Holding> Reserve(Holding holding);
  absl::Status Record(const Holding& holding) const;
  absl::Status CheckDeviceNodes(Edits& edits) const;

  // In sweep.cc.
  absl::Status Release(const std::string& nonce);
  // The first error; a release that fails is a problem of the node.
  absl::Status ReleaseAll(const std::vector<std::string>& nonces);
  // The containers that have ended, by nonce. `waits`: set if another call is worth it. REQUIRES:
  // mutex_ is held.
  std::vector<std::string> FindGone(bool& waits);

  void Done(const char* what, SliceMode mode) const;

  const BindingSettings settings_;
  Partitioners partitioners_;
  PodSource& pods_;
  Problems& problems_;
  const StepDone step_;
  const PodCgroups cgroups_;
  const Folder records_;

  mutable std::mutex mutex_;
  std::mutex minted_mutex_;  // of minted_ alone: Allocate never waits
  std::condition_variable released_;
  Gpus gpus_;
  Books books_;
  NonceFiles files_;  // Marks() and Name() without the mutex
  // Nonces of records that cannot be read; no new container is bound while there are any.
  std::set<std::string> unread_;
  std::map<std::string, std::vector<std::string>> slots_by_nonce_;
  // The newest nonce of each set of slots that this process was asked to allocate. A slot is in one
  // set: it was free, or a later container of its pod uses it again.
  std::map<std::vector<std::string>, std::string> minted_;
  Deadline swept_{};
  WaitCount annotation_waits_, gpu_waits_;
  GpuTasks tasks_;  // last: it waits for its tasks, which use the rest
};

}  // namespace tephra::node
