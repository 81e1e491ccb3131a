// MigCard: one card's instances, named as topology/mig.h names them.
//
// An instance has other ids and another UUID each time it is made, so it is known by its profile and
// its first memory slice. Every call looks at the hardware; nothing is remembered.
#pragma once

#include <string>
#include <vector>

#include "plugins/node/gpu.h"
#include "plugins/node/nvml/nvml.h"
#include "topology/mig.h"

namespace tephra::node {

class MigCard {
 public:
  // An instance that the card has.
  struct Piece {
    std::optional<MigInstance> at;  // none: it is of a profile that the table lacks
    NvmlGpuInstance instance;
  };

  // NotFound, DataLoss: the card is gone. REQUIRES: `nvml` outlives it.
  static absl::StatusOr<MigCard> Open(const Nvml& nvml, const Gpu& gpu, const MigModel& model);

  absl::StatusOr<bool> IsOn() const;
  // FailedPrecondition: the change needs a reset, or a process uses the card; the mode stays what
  // it was.
  absl::Status TurnOn() const;
  absl::Status TurnOff() const;

  // The instances of the card; none while MIG mode is off.
  absl::StatusOr<std::vector<Piece>> Pieces() const;

  // An instance of this place with one compute instance that takes all of it. One that is there is
  // completed.
  absl::StatusOr<Piece> Make(const MigInstance& at, const std::vector<Piece>& there) const;
  absl::Status Remove(const Piece& piece) const;
  // How programs name it: "MIG-…". REQUIRES: Make returned it.
  absl::StatusOr<std::string> Uuid(const Piece& piece) const;

 private:
  MigCard(const Nvml& nvml, NvmlDevice device, const MigModel& model)
      : nvml_(&nvml), device_(device), model_(&model) {}
  absl::Status Complete(Piece& piece) const;

  const Nvml* nvml_;
  NvmlDevice device_;
  const MigModel* model_;
};

}  // namespace tephra::node
