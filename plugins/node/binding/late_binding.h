// LateBinding: which slices a container gets is settled when it starts, by the one thing that names
// it for sure. Allocate mints a nonce; PreStartContainer finds in the kubelet's checkpoint whose
// nonce it is, reads what the scheduler gave that pod's container, checks it against the node and
// what others hold, cuts, and only then writes what the container is to see under its nonce.
//
// A container whose binding fails has no device of its nonce, so the runtime cannot create it: it
// gets nothing rather than something else. All steps can be made again after a crash at any of
// them:
//
//   record (not bound) -> cut -> record (bound) -> CDI file or mounted directory
//
// Any thread.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "plugins/node/binding/binding_settings.h"
#include "plugins/node/binding/books.h"
#include "plugins/node/binding/nonce_files.h"
#include "plugins/node/binding/pod_cgroups.h"
#include "plugins/node/cluster/pod_source.h"
#include "plugins/node/cut/cutters.h"
#include "plugins/node/file.h"
#include "plugins/node/kubelet/checkpoint.h"
#include "plugins/node/kubelet/device_plugin.h"

namespace tephra::node {

// Called after each step with its name: "minted", "recorded", "cut whole", ... A test ends the
// process there.
using StepDone = std::function<void(const std::string& step)>;

// Starts of containers that wait, by what for: the pod's annotation, or a GPU that another holds.
struct WaitFigures {
  struct Of {
    int now = 0;
    std::int64_t total = 0;
  };
  Of annotation, gpu;
};

class LateBinding {
 public:
  // Reads what earlier processes have bound. FAILED_PRECONDITION or UNAVAILABLE where its folders
  // cannot be used.
  static absl::StatusOr<std::unique_ptr<LateBinding>> Open(BindingSettings settings, Gpus gpus,
                                                           Cutters cutters, PodSource& pods,
                                                           StepDone step);

  absl::StatusOr<AllocateAnswer> Mint(std::vector<std::string> tickets);
  absl::Status PreStart(std::vector<std::string> tickets, Deadline deadline,
                        const std::function<bool()>& cancelled);

  // Gives back what no container can use any more. Returns whether some wait only for their
  // containers to end, so that it is worth asking again without any sign of change.
  bool Sweep();

  // The same GPUs in the same order, in another state. FAILED_PRECONDITION for others.
  absl::Status SetGpus(Gpus gpus);
  Gpus gpus() const;
  TicketGpus held_tickets() const;
  std::map<std::string, Holding> holdings() const;
  // Nonces of containers whose pods are known to be over, and that still hold what they had.
  std::set<std::string> orphans() const;
  WaitFigures waits() const;

 private:
  struct WaitCount {
    std::atomic<int> now = 0;
    std::atomic<std::int64_t> total = 0;
  };
  class Waiting;

  LateBinding(BindingSettings settings, Gpus gpus, Cutters cutters, PodSource& pods, StepDone step,
              Folder records, Folder nonces);

  absl::Status Load();
  // The holdings whose records cannot be read, from the checkpoint and the annotations of their
  // pods, for which it waits until then. UNAVAILABLE: some are still not known. REQUIRES: mutex_ is
  // held.
  absl::Status Recover(Deadline until);
  absl::StatusOr<Holding> RecoverOne(const CheckpointEntry& entry, Deadline until);
  absl::StatusOr<std::vector<CheckpointEntry>> Entries() const;
  // The same of just these tickets by the kubelet's pod resources, whose nonce this process minted,
  // or is in the books. `why`: of the checkpoint.
  absl::StatusOr<CheckpointEntry> EntryWithout(const std::vector<std::string>& tickets,
                                               const absl::Status& why);
  absl::Status BindEntry(const CheckpointEntry& entry, Deadline deadline,
                         const std::function<bool()>& cancelled);
  absl::StatusOr<Holding> Decide(const CheckpointEntry& entry, Deadline deadline,
                                 const std::function<bool()>& cancelled);
  // REQUIRES of all below: mutex_ is held.
  absl::Status Bind(Holding holding);
  absl::Status Record(const Holding& holding) const;
  absl::Status CheckDeviceNodes(Edits& edits) const;
  absl::Status Release(const std::string& nonce);
  bool SweepLocked();
  void Done(const char* what, SliceMode mode) const;

  const BindingSettings settings_;
  Cutters cutters_;
  PodSource& pods_;
  const StepDone step_;
  const PodCgroups cgroups_;
  const Folder records_;

  mutable std::mutex mutex_;
  std::mutex minted_mutex_;  // of minted_ alone: Allocate waits for nobody
  std::condition_variable released_;
  Gpus gpus_;
  Books books_;
  NonceFiles files_;  // Marks() and Name() without the mutex
  std::set<std::string>
      unread_;  // nonces of records that cannot be read; nothing new is bound then
  std::map<std::string, std::vector<std::string>> tickets_by_nonce_;
  // The newest nonce of each set of tickets that this process was asked to allocate. A ticket is in
  // one set: it was free, or is used again by a later container of its pod.
  std::map<std::vector<std::string>, std::string> minted_;
  Deadline swept_{};
  WaitCount annotation_waits_, gpu_waits_;
};

}  // namespace tephra::node
