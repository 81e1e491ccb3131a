// Mig: the possible places of Multi-Instance GPU (MIG) instances on a GPU, and the place for a new
// instance that leaves the most room for later requests.
//
// An instance of a profile covers adjacent memory slices, from one of a few first slices. So the
// taken part of a GPU is a mask, and one `and` says whether an instance fits. At run time the
// driver decides about the places of a card (nvmlDeviceGetGpuInstancePossiblePlacements). The table
// here is for cards without an answer from the driver, for simulation, and for tests.
//
// Source: NVIDIA Multi-Instance GPU User Guide. Pure values, no thread rule.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tephra {

// The taken part of a GPU: bit i of the low byte is memory slice i, bit i of the high byte is limit
// i (see MigProfile::limit).
using MigTaken = std::uint16_t;

struct MigProfile {
  std::string_view name;  // "2g.10gb", as nvidia-smi names it
  std::uint8_t compute_slices = 0;
  std::uint8_t memory_slices = 0;
  std::uint8_t starts = 0;  // bit i: memory slice i may be the first one
  // A GPU has at most one instance of all profiles with the same limit, because it has one set of
  // media engines (+me). kNoLimit: any number.
  std::int8_t limit = -1;
};
constexpr std::int8_t kNoLimit = -1;

struct MigModel {
  std::string_view name;  // "A100-40GB"
  std::uint8_t compute_slices = 0;
  std::uint8_t memory_slices = 0;  // at most 8
  std::vector<MigProfile> profiles;
};

// The 13 known models. mig_models.cc marks the models with inferred places.
const std::vector<MigModel>& MigModels();
const MigModel* FindMigModel(std::string_view name);  // null: unknown

int FindMigProfile(const MigModel& model, std::string_view name);  // -1: unknown

// What an instance counts in sums over a device: its part of the compute slices, rounded down, and
// the memory of its name. So the instances of one device never exceed the device.
struct MigShare {
  std::int32_t compute = 0;  // per mille
  std::int32_t memory_mib = 0;

  bool operator==(const MigShare&) const = default;
};
MigShare MigShareOf(const MigModel& model, const MigProfile& profile);
// The least of any model with a profile of that name; none if no model has one.
std::optional<MigShare> LeastMigShare(std::string_view profile);

struct MigInstance {
  int profile = 0;  // index into the model's profiles
  int start = 0;    // its first memory slice

  auto operator<=>(const MigInstance&) const = default;
};

// What an instance takes. REQUIRES: `start` may be the first slice of the profile.
MigTaken MigFootprint(const MigProfile& profile, int start);

// What these instances take together. None if the GPU cannot hold them: an invalid first slice,
// overlapping slices, too many compute slices, or an exceeded limit.
std::optional<MigTaken> MigTakenBy(const MigModel& model,
                                   const std::vector<MigInstance>& instances);

// The answers for every state of a GPU of one model, in a table. Immutable; any thread may read.
class MigPlacements {
 public:
  // `demand`: how often each profile is requested, in any unit up to 1,000,000, not all zero.
  // Empty: all profiles equally often.
  explicit MigPlacements(const MigModel& model, std::vector<std::uint32_t> demand = {});

  const MigModel& model() const { return *model_; }
  // A GPU of the model that is taken as a whole.
  MigTaken all() const { return static_cast<MigTaken>(states_.size() - 1); }
  // The possible first memory slices of an instance; bit i: memory slice i.
  std::uint8_t FreeStarts(MigTaken taken, int profile) const;
  // How many instances of this profile alone still fit.
  int Room(MigTaken taken, int profile) const { return states_[taken].room[Index(profile)]; }
  // The best place for an instance: the first slice after which the GPU is worth most, the lowest
  // among equals. None if there is no place.
  std::optional<int> Choose(MigTaken taken, int profile) const;

  // What the GPU is worth to later requests: how many of them it can hold. Requests follow
  // `demand`, each gets the best place, and the n-th request counts 0.6^n:
  //
  //   V(s) = sum over profiles p of demand(p) x (max over free starts (1 + 0.6 V(s with p there)),
  //                                              or 0.6 V(s) if there is none)
  //
  // The discount represents departures, which V does not model. Without a discount, random streams
  // with departures admit fewer instances than HAMi's rule; with 0.5 to 0.7 they admit more. V
  // assumes that requests that do not fit are lost, and that the load is not far above the
  // capacity. With four times the load, room that is left for large instances would have served
  // several small ones.
  //
  // To compare GPUs: the best GPU for a request is the one that loses the least worth.
  std::int64_t Worth(MigTaken taken) const { return states_[taken].worth; }
  static constexpr std::int64_t kOneRequest = 1'000'000'000;  // the unit of worth

 private:
  static constexpr std::size_t kMaxProfiles = 12;
  struct State {
    std::int64_t worth = 0;
    std::array<std::uint8_t, kMaxProfiles> room{};
  };

  std::size_t Index(int profile) const;
  State Rate(MigTaken taken, const std::vector<std::uint32_t>& demand) const;

  const MigModel* model_;
  std::vector<State> states_;  // by what is taken
};

// One table for all GPUs of a model, computed on first use and kept. One owner thread; copies share
// the tables.
class SharedMigPlacements {
 public:
  const MigPlacements* Of(const std::string& model);  // null: unknown

 private:
  std::map<std::string, std::shared_ptr<const MigPlacements>> tables_;
};

}  // namespace tephra
