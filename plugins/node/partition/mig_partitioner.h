// MigPartitioner partitions GPUs by Multi-Instance GPU (MIG). A slice of mode kMig becomes one GPU
// instance at the placement that the scheduler chose, with one compute instance that takes all of
// it.
//
// The hardware is the truth: every call looks first, finishes what an earlier call began, and takes
// over an instance that lies where it should. On a GPU that it may partition, it removes an instance
// that overlaps and that no container of Tephra has, whatever made it. To keep your own instances
// on a GPU, do not give the GPU the mode "mig".
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plugins/node/partition/partitioner.h"
#include "plugins/node/partition/mig_card.h"

namespace tephra::node {

class MigPartitioner : public Partitioner {
 public:
  struct Options {
    std::string capabilities = "/proc/driver/nvidia/capabilities";
  };
  // REQUIRES: `nvml` outlives it.
  MigPartitioner(const Nvml& nvml, Options options);

  void Remember(const std::vector<Grant>& live, const Gpus& gpus) override;
  std::vector<std::string> Leftovers(const Gpus& gpus) const override;
  // Turns MIG mode off, and removes all instances, on a GPU that holds nothing and that may be
  // shared in other modes too.
  absl::Status Tidy(const std::string& uuid, const Gpus& gpus) override;

  // Containers of one pod may hold one instance, at different times; two pods may not.
  // REQUIRES: Remember was called.
  absl::Status Apply(const Grant& grant, const Gpus& gpus, Edits& edits) override;
  absl::Status Undo(const Grant& grant, const Gpus& gpus) override;

 private:
  struct Place {
    std::string uuid;  // of the GPU
    MigInstance at;

    bool operator==(const Place&) const = default;
  };
  struct Held {
    std::string pod_uid;
    std::vector<Place> places;
  };
  static absl::StatusOr<std::vector<Place>> PlacesOf(const Grant& grant, const Gpus& gpus);
  absl::Status CheckFree(const Place& place, const MigModel& model, const Holder& holder) const;
  void Hold(const Holder& holder, const std::vector<Place>& places);
  bool Holds(const Place& place) const;  // any container
  bool HoldsAnyOf(const std::string& uuid) const;

  absl::Status MakeInstance(const Place& place, const Gpu& gpu, Edits& edits) const;
  absl::Status RemoveInstance(const Place& place, const Gpu& gpu) const;
  absl::Status ClearFor(const Place& place, const MigModel& model, const MigCard& card,
                        std::vector<MigCard::Piece>& pieces) const;
  absl::Status LeaveIfEmpty(const Gpu& gpu) const;
  absl::Status AddAccess(const Gpu& gpu, const NvmlGpuInstance& instance, Edits& edits) const;

  const Nvml* nvml_;
  Options options_;
  mutable std::mutex mutex_;  // of the two below
  bool remembered_ = false;
  std::map<std::string, Held> held_;  // by nonce
};

}  // namespace tephra::node
