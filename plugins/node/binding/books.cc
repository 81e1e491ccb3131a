#include "plugins/node/binding/books.h"

#include <algorithm>

#include "plugins/node/slices_annotation.h"
#include "topology/mig.h"

namespace tephra::node {
namespace {

// What a pod holds of one GPU at a time: its init containers one after the other, then the rest.
struct PodShare {
  std::int64_t init_compute = 0, init_memory = 0;
  std::int64_t compute = 0, memory = 0;

  void Add(const GrantedSlice& slice, bool init) {
    if (init) {
      init_compute = std::max<std::int64_t>(init_compute, slice.compute);
      init_memory = std::max<std::int64_t>(init_memory, slice.memory_mib);
    } else {
      compute += slice.compute;
      memory += slice.memory_mib;
    }
  }
  std::int64_t most_compute() const { return std::max(init_compute, compute); }
  std::int64_t most_memory() const { return std::max(init_memory, memory); }
};

bool InstancesOverlap(const GrantedSlice& a, const GrantedSlice& b, const std::string& model_name) {
  if (a.mig_start == b.mig_start) return true;
  const MigModel* const model = FindMigModel(model_name);
  if (model == nullptr) return false;  // the driver knows
  const auto taken = [&](const GrantedSlice& slice) {
    const int profile = FindMigProfile(*model, slice.mig_profile);
    return profile < 0
               ? MigTaken{0}
               : MigFootprint(model->profiles[static_cast<std::size_t>(profile)], slice.mig_start);
  };
  return (taken(a) & taken(b)) != 0;
}

std::string Name(const Holder& holder) {
  return holder.pod_namespace + "/" + holder.pod_name + " (" + holder.pod_uid + ")";
}

absl::Status Held(std::size_t gpu, const Gpus& gpus, const std::string& why) {
  return absl::UnavailableError("GPU " + std::to_string(gpu) + " (" +
                                gpus.devices[gpu].hardware.uuid + ") " + why);
}

// How many slices of a mode one GPU takes; 0: no bound.
std::int32_t MostSlices(const DeviceHardware& hardware, SliceMode mode) {
  switch (mode) {
    case SliceMode::kFraction:
      return hardware.split_count;
    case SliceMode::kMps:
      return hardware.mps_clients;
    case SliceMode::kTimeSlice:
      return hardware.replicas;
    default:
      return 0;
  }
}

}  // namespace

absl::Status Books::Fits(const Holding& wanted, const Gpus& gpus) const {
  for (const GrantedSlice& slice : wanted.grant.slices) {
    TEPHRA_RETURN_IF_ERROR(StandsBeside(wanted, slice, gpus));
    const bool shared = slice.mode != SliceMode::kWhole && slice.mode != SliceMode::kMig;
    if (shared) TEPHRA_RETURN_IF_ERROR(SumsFit(wanted, slice, gpus));
  }
  return absl::OkStatus();
}

template <class Visit>
void Books::VisitOthers(const Holding& wanted, std::size_t gpu, const Visit& visit) const {
  for (const auto& [nonce, holding] : by_nonce_) {
    if (nonce == wanted.grant.holder.nonce) continue;
    for (const GrantedSlice& other : holding.grant.slices) {
      if (other.gpu == gpu) visit(holding, other);
    }
  }
}

absl::Status Books::StandsBeside(const Holding& wanted, const GrantedSlice& slice,
                                 const Gpus& gpus) const {
  const std::string& own = wanted.grant.holder.pod_uid;
  const std::string& model = gpus.devices[slice.gpu].hardware.mig_model;
  absl::Status status;
  VisitOthers(wanted, slice.gpu, [&](const Holding& holding, const GrantedSlice& other) {
    if (holding.grant.holder.pod_uid == own || !status.ok()) return;
    const std::string by =
        "by pod " + Name(holding.grant.holder) + ", container " + holding.grant.holder.container;
    if (slice.mode == SliceMode::kWhole || other.mode == SliceMode::kWhole) {
      status = Held(slice.gpu, gpus, "is held " + by);
    } else if (slice.mode != other.mode) {
      status = Held(slice.gpu, gpus,
                    std::string("is held in the mode \"") + ModeWord(other.mode) + "\" " + by);
    } else if (slice.mode == SliceMode::kMig && InstancesOverlap(slice, other, model)) {
      status = Held(slice.gpu, gpus, "has an instance in that place, held " + by);
    }
  });
  return status;
}

absl::Status Books::SumsFit(const Holding& wanted, const GrantedSlice& slice,
                            const Gpus& gpus) const {
  const DeviceHardware& hardware = gpus.devices[slice.gpu].hardware;
  const std::string& own = wanted.grant.holder.pod_uid;
  std::map<std::string, PodShare> pods;
  std::int32_t slices = 1;
  pods[own].Add(slice, wanted.init);
  VisitOthers(wanted, slice.gpu, [&](const Holding& holding, const GrantedSlice& other) {
    pods[holding.grant.holder.pod_uid].Add(other, holding.init);
    if (holding.grant.holder.pod_uid != own) ++slices;
  });
  std::int64_t memory = 0, compute = 0;
  for (const auto& [uid, share] : pods) {
    memory += share.most_memory();
    compute += share.most_compute();
  }
  const bool fraction = slice.mode == SliceMode::kFraction;
  const std::int64_t most_memory = std::int64_t{hardware.memory_mib} *
                                   (fraction ? hardware.memory_factor : kNoFactor) / kNoFactor;
  const std::int64_t most_compute = fraction ? hardware.compute_factor : kNoFactor;
  const std::int32_t most = MostSlices(hardware, slice.mode);
  if (memory <= most_memory && compute <= most_compute && (most == 0 || slices <= most)) {
    return absl::OkStatus();
  }
  return Held(slice.gpu, gpus,
              "would have " + std::to_string(memory) + " of " + std::to_string(most_memory) +
                  " MiB and " + std::to_string(compute) + " of " + std::to_string(most_compute) +
                  " per mille given out to " + std::to_string(slices) + " slices");
}

const Holding* Books::Find(const std::string& nonce) const {
  const auto found = by_nonce_.find(nonce);
  return found == by_nonce_.end() ? nullptr : &found->second;
}

void Books::Put(Holding holding) {
  std::string nonce = holding.grant.holder.nonce;
  by_nonce_.insert_or_assign(std::move(nonce), std::move(holding));
}

}  // namespace tephra::node
