// MigCutter: cuts GPUs by Multi-Instance GPU. A slice of mode kMig becomes one GPU instance at the
// placement that the scheduler chose, with one compute instance that takes all of it.
//
// What is on the hardware counts, not what is remembered of it: every call looks first, finishes
// what an earlier one began, and takes over an instance that lies where it should. From a card that
// it may cut it takes away an instance that is in the way and that nobody holds, whoever made it;
// an administrator who wants to keep instances of his own gives the card no mode "mig".
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugins/node/cut/cutter.h"
#include "plugins/node/cut/mig_card.h"

namespace tephra::node {

class MigCutter : public Cutter {
 public:
  struct Options {
    std::string capabilities = "/proc/driver/nvidia/capabilities";
  };
  // REQUIRES: `nvml` outlives it.
  MigCutter(const Nvml& nvml, Options options);

  // Tells which grants have containers that live, once before any Cut. On cards that hold nothing
  // and may be in other modes MIG mode is turned off, with whatever instances are left there.
  absl::Status Restore(const std::vector<Grant>& live, const Gpus& gpus) override;

  // Containers of one pod may hold one instance, at different times; two pods may not.
  // REQUIRES: Restore was called.
  absl::Status Cut(const Grant& grant, const Gpus& gpus, Edits& edits) override;
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
  bool Holds(const Place& place) const;  // somebody does
  bool HoldsAnyOf(const std::string& uuid) const;

  absl::Status CutOne(const Place& place, const Gpu& gpu, Edits& edits) const;
  absl::Status UndoOne(const Place& place, const Gpu& gpu) const;
  absl::Status ClearFor(const Place& place, const MigModel& model, const MigCard& card,
                        std::vector<MigCard::Piece>& pieces) const;
  absl::Status LeaveIfEmpty(const Gpu& gpu) const;
  absl::Status AddAccess(const Gpu& gpu, const NvmlGpuInstance& instance, Edits& edits) const;

  const Nvml* nvml_;
  Options options_;
  bool restored_ = false;
  std::map<std::string, Held> held_;  // by nonce
};

}  // namespace tephra::node
