#include "plugins/node/partition/mig_partitioner.h"

#include <algorithm>
#include <fstream>

#include "plugins/node/partition/edits.h"
#include "topology/base/check.h"

namespace tephra::node {
namespace {

std::string Named(const MigModel& model, const MigInstance& at, const std::string& uuid) {
  return std::string(model.profiles[static_cast<std::size_t>(at.profile)].name) + " at " +
         std::to_string(at.start) + " of " + uuid;
}

// The code that Apply returns: FAILED_PRECONDITION if the GPU does not allow it, UNAVAILABLE if
// another try may help.
absl::Status MakeError(const absl::Status& status) {
  switch (status.code()) {
    case absl::StatusCode::kOk:
      return status;
    case absl::StatusCode::kUnimplemented:
    case absl::StatusCode::kFailedPrecondition:
    case absl::StatusCode::kResourceExhausted:
    case absl::StatusCode::kPermissionDenied:
    case absl::StatusCode::kNotFound:
    case absl::StatusCode::kDataLoss:
      return absl::FailedPreconditionError(status.message());
    default:
      return absl::UnavailableError(status.message());
  }
}

const Gpu& GpuOf(const Gpus& gpus, const std::string& uuid) {
  const auto found = std::find_if(gpus.devices.begin(), gpus.devices.end(),
                                  [&](const Gpu& gpu) { return gpu.hardware.uuid == uuid; });
  TEPHRA_CHECK(found != gpus.devices.end());
  return *found;
}

bool MayPartition(const Gpu& gpu) {
  return gpu.hardware.may(SliceMode::kMig) && FindMigModel(gpu.hardware.mig_model) != nullptr;
}

}  // namespace

MigPartitioner::MigPartitioner(const Nvml& nvml, Options options)
    : nvml_(&nvml), options_(std::move(options)) {}

absl::StatusOr<std::vector<MigPartitioner::Place>> MigPartitioner::PlacesOf(const Grant& grant,
                                                                  const Gpus& gpus) {
  std::vector<Place> places;
  for (const GrantedSlice& slice : grant.slices) {
    if (slice.mode != SliceMode::kMig) continue;
    const std::string what = slice.mig_profile + " at " + std::to_string(slice.mig_start);
    if (slice.gpu >= gpus.devices.size()) {
      return absl::FailedPreconditionError(what + ": the node has no GPU " +
                                           std::to_string(slice.gpu));
    }
    const Gpu& gpu = gpus.devices[slice.gpu];
    if (!MayPartition(gpu)) {
      return absl::FailedPreconditionError(what + ": " + gpu.hardware.uuid +
                                           " may not be partitioned by MIG on this node: see its device rules");
    }
    const MigModel& model = *FindMigModel(gpu.hardware.mig_model);
    const MigInstance at{FindMigProfile(model, slice.mig_profile), slice.mig_start};
    if (at.profile < 0 || !MigTakenBy(model, {at})) {
      return absl::FailedPreconditionError(what + ": no instance may be placed there on " + gpu.hardware.uuid +
                                           ", a " + std::string(model.name));
    }
    places.push_back({gpu.hardware.uuid, at});
  }
  return places;
}

absl::Status MigPartitioner::CheckFree(const Place& place, const MigModel& model,
                                  const Holder& holder) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [nonce, held] : held_) {
    if (nonce == holder.nonce) continue;
    for (const Place& other : held.places) {
      const bool shared = other == place && held.pod_uid == holder.pod_uid;
      if (other.uuid != place.uuid || shared || MigTakenBy(model, {other.at, place.at})) continue;
      return absl::FailedPreconditionError(Named(model, place.at, place.uuid) +
                                           ": pod " + held.pod_uid +
                                           " still has " + Named(model, other.at, other.uuid));
    }
  }
  return absl::OkStatus();
}

bool MigPartitioner::Holds(const Place& place) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(held_.begin(), held_.end(), [&](const auto& entry) {
    const std::vector<Place>& places = entry.second.places;
    return std::find(places.begin(), places.end(), place) != places.end();
  });
}

bool MigPartitioner::HoldsAnyOf(const std::string& uuid) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(held_.begin(), held_.end(), [&](const auto& entry) {
    const std::vector<Place>& places = entry.second.places;
    return std::any_of(places.begin(), places.end(),
                       [&](const Place& place) { return place.uuid == uuid; });
  });
}

void MigPartitioner::Remember(const std::vector<Grant>& live, const Gpus& gpus) {
  const std::lock_guard lock(mutex_);
  held_.clear();
  for (const Grant& grant : live) {
    const absl::StatusOr<std::vector<Place>> places = PlacesOf(grant, gpus);
    // A grant of a GPU that is gone, or that MIG no longer partitions, holds nothing.
    if (places.ok() && !places->empty()) {
      held_[grant.holder.nonce] = {grant.holder.pod_uid, *places};
    }
  }
  remembered_ = true;
}

std::vector<std::string> MigPartitioner::Leftovers(const Gpus& gpus) const {
  std::vector<std::string> uuids;
  for (const Gpu& gpu : gpus.devices) {
    if (MayPartition(gpu)) uuids.push_back(gpu.hardware.uuid);
  }
  return uuids;
}

absl::Status MigPartitioner::Tidy(const std::string& uuid, const Gpus& gpus) {
  for (const Gpu& gpu : gpus.devices) {
    if (gpu.hardware.uuid == uuid && MayPartition(gpu)) return LeaveIfEmpty(gpu);
  }
  return absl::OkStatus();
}

void MigPartitioner::Hold(const Holder& holder, const std::vector<Place>& places) {
  const std::lock_guard lock(mutex_);
  held_[holder.nonce] = {holder.pod_uid, places};
}

absl::Status MigPartitioner::Apply(const Grant& grant, const Gpus& gpus, Edits& edits) {
  TEPHRA_CHECK(remembered_);
  TEPHRA_ASSIGN_OR_RETURN(const std::vector<Place> places, PlacesOf(grant, gpus));
  if (places.empty()) return absl::OkStatus();
  for (std::size_t i = 0; i < places.size(); ++i) {
    const MigModel& model = *FindMigModel(GpuOf(gpus, places[i].uuid).hardware.mig_model);
    for (std::size_t j = 0; j < i; ++j) {
      if (places[j].uuid == places[i].uuid && !MigTakenBy(model, {places[j].at, places[i].at})) {
        return absl::FailedPreconditionError(Named(model, places[i].at, places[i].uuid) + " and " +
                                             Named(model, places[j].at, places[j].uuid) +
                                             " overlap");
      }
    }
    TEPHRA_RETURN_IF_ERROR(CheckFree(places[i], model, grant.holder));
  }
  Hold(grant.holder, places);
  Edits added = edits;
  for (const Place& place : places) {
    const absl::Status status = MakeInstance(place, GpuOf(gpus, place.uuid), added);
    if (status.ok()) continue;
    const absl::Status undone = Undo(grant, gpus);
    if (undone.ok()) return MakeError(status);
    // It stays held, so that no other container gets it, and the next call goes on.
    return absl::UnavailableError(std::string(status.message()) + "; " +
                                  std::string(undone.message()));
  }
  edits = std::move(added);
  return absl::OkStatus();
}

absl::Status MigPartitioner::MakeInstance(const Place& place, const Gpu& gpu, Edits& edits) const {
  const MigModel& model = *FindMigModel(gpu.hardware.mig_model);
  const auto make = [&]() -> absl::Status {
    TEPHRA_ASSIGN_OR_RETURN(const MigCard card, MigCard::Open(*nvml_, gpu, model));
    TEPHRA_RETURN_IF_ERROR(card.TurnOn());
    TEPHRA_ASSIGN_OR_RETURN(std::vector<MigCard::Piece> pieces, card.Pieces());
    TEPHRA_RETURN_IF_ERROR(ClearFor(place, model, card, pieces));
    TEPHRA_ASSIGN_OR_RETURN(const MigCard::Piece piece, card.Make(place.at, pieces));
    TEPHRA_ASSIGN_OR_RETURN(const std::string uuid, card.Uuid(piece));
    TEPHRA_RETURN_IF_ERROR(AddAccess(gpu, piece.instance, edits));
    AddVisible(edits, uuid);
    return absl::OkStatus();
  };
  const absl::Status status = make();
  if (status.ok()) return status;
  return absl::Status(status.code(),
                      Named(model, place.at, place.uuid) + ": " + std::string(status.message()));
}

// Removes the instances that overlap with this place, but not an instance that lies exactly there.
absl::Status MigPartitioner::ClearFor(const Place& place, const MigModel& model, const MigCard& card,
                                 std::vector<MigCard::Piece>& pieces) const {
  const MigProfile& wanted = model.profiles[static_cast<std::size_t>(place.at.profile)];
  for (const MigCard::Piece& piece : pieces) {
    if (piece.at == place.at) continue;
    const NvmlGpuInstance& other = piece.instance;
    const bool apart = piece.at ? MigTakenBy(model, {*piece.at, place.at}).has_value()
                                : other.start >= place.at.start + wanted.memory_slices ||
                                      place.at.start >= other.start + other.size;
    if (apart) continue;
    if (piece.at && Holds({place.uuid, *piece.at})) {
      return absl::FailedPreconditionError("GPU instance " + std::to_string(other.id) +
                                           " overlaps with it and is in use");
    }
    TEPHRA_RETURN_IF_ERROR(card.Remove(piece));
  }
  return absl::OkStatus();
}

// The kernel module guards each instance by its own device node, whose number is in a file.
absl::Status MigPartitioner::AddAccess(const Gpu& gpu, const NvmlGpuInstance& instance,
                                  Edits& edits) const {
  AddGpuNodes(edits, gpu);
  const std::string gi = options_.capabilities + "/gpu" + std::to_string(gpu.minor) + "/mig/gi" +
                         std::to_string(instance.id);
  const std::string ci = gi + "/ci" + std::to_string(instance.compute.front().id);
  for (const std::string& folder : {gi, ci}) {
    std::ifstream file(folder + "/access");
    std::string word;
    while (file >> word && word != "DeviceFileMinor:") {
    }
    int minor = -1;
    if (!(file >> minor) || minor < 0) {
      return absl::UnavailableError(folder + "/access: no line \"DeviceFileMinor: NUMBER\" names the device node");
    }
    AddDeviceNode(edits, "/dev/nvidia-caps/nvidia-cap" + std::to_string(minor));
  }
  return absl::OkStatus();
}

absl::Status MigPartitioner::Undo(const Grant& grant, const Gpus& gpus) {
  const absl::StatusOr<std::vector<Place>> places = PlacesOf(grant, gpus);
  if (!places.ok()) return absl::OkStatus();  // such a grant was never applied
  {
    const std::lock_guard lock(mutex_);
    held_.erase(grant.holder.nonce);
  }
  absl::Status first;
  for (const Place& place : *places) {
    if (Holds(place)) continue;  // by another container of its pod
    if (absl::Status status = RemoveInstance(place, GpuOf(gpus, place.uuid)); first.ok()) first = status;
  }
  for (const Place& place : *places) {
    if (!first.ok()) break;
    first = LeaveIfEmpty(GpuOf(gpus, place.uuid));
  }
  if (!first.ok()) Hold(grant.holder, *places);
  return first;
}

// A call that made the instance may have returned an error, so the instance is searched for.
absl::Status MigPartitioner::RemoveInstance(const Place& place, const Gpu& gpu) const {
  const MigModel& model = *FindMigModel(gpu.hardware.mig_model);
  const auto undo = [&]() -> absl::Status {
    const absl::StatusOr<MigCard> card = MigCard::Open(*nvml_, gpu, model);
    // The GPU is gone, and its instances with it.
    if (absl::IsNotFound(card.status()) || absl::IsDataLoss(card.status())) return absl::OkStatus();
    TEPHRA_RETURN_IF_ERROR(card.status());
    TEPHRA_ASSIGN_OR_RETURN(const std::vector<MigCard::Piece> pieces, card->Pieces());
    for (const MigCard::Piece& piece : pieces) {
      if (piece.at == place.at) TEPHRA_RETURN_IF_ERROR(card->Remove(piece));
    }
    return absl::OkStatus();
  };
  const absl::Status status = undo();
  if (status.ok()) return status;
  // The cause, for example its last processes, may be gone the next time.
  return absl::UnavailableError("removing " + Named(model, place.at, place.uuid) + ": " +
                                std::string(status.message()));
}

// Turns MIG mode off on a GPU that holds nothing, if the GPU may be shared in other modes too.
absl::Status MigPartitioner::LeaveIfEmpty(const Gpu& gpu) const {
  const bool others = gpu.hardware.modes != Only(SliceMode::kMig);
  if (!others || HoldsAnyOf(gpu.hardware.uuid)) return absl::OkStatus();
  const auto leave = [&]() -> absl::Status {
    const absl::StatusOr<MigCard> card =
        MigCard::Open(*nvml_, gpu, *FindMigModel(gpu.hardware.mig_model));
    if (absl::IsNotFound(card.status()) || absl::IsDataLoss(card.status())) return absl::OkStatus();
    TEPHRA_RETURN_IF_ERROR(card.status());
    TEPHRA_ASSIGN_OR_RETURN(const std::vector<MigCard::Piece> pieces, card->Pieces());
    for (const MigCard::Piece& piece : pieces) TEPHRA_RETURN_IF_ERROR(card->Remove(piece));
    return card->TurnOff();
  };
  const absl::Status status = leave();
  if (status.ok()) return status;
  return absl::UnavailableError("turning off MIG mode of " + gpu.hardware.uuid + ": " +
                                std::string(status.message()));
}

}  // namespace tephra::node
