// Mig: where the instances of a GPU that is cut by NVIDIA's Multi-Instance GPU may lie, and which
// place to give one so that as many later requests as possible still find theirs.
//
// An instance of a profile covers a run of memory slices that begins at one of a few slices. So
// what is taken of a GPU is a mask, and whether one more instance fits is one `and`. At run time
// the driver is the authority on the placements of a card
// (nvmlDeviceGetGpuInstancePossiblePlacements); the table here is for cards that it has not been
// asked about yet, for simulation, and for tests.
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

// What is taken of a GPU: bit i of the low byte is memory slice i, bit i of the high byte is limit
// i (see MigProfile::limit).
using MigTaken = std::uint16_t;

struct MigProfile {
  std::string_view name;  // "2g.10gb", as nvidia-smi names it
  std::uint8_t compute_slices = 0;
  std::uint8_t memory_slices = 0;
  std::uint8_t starts = 0;  // bit i: an instance may begin at memory slice i
  // Of the profiles with one limit there is at most one instance on the GPU: there is one set of
  // media engines to give away (+me). kNoLimit: as many as find a place.
  std::int8_t limit = -1;
};
constexpr std::int8_t kNoLimit = -1;

struct MigModel {
  std::string_view name;  // "A100-40GB"
  std::uint8_t compute_slices = 0;
  std::uint8_t memory_slices = 0;  // at most 8
  std::vector<MigProfile> profiles;
};

// The models known, 13 of them; those whose placements are inferred are marked in mig_models.cc.
const std::vector<MigModel>& MigModels();
const MigModel* FindMigModel(std::string_view name);  // null: unknown

int FindMigProfile(const MigModel& model, std::string_view name);  // -1: it has none of that name

// What an instance counts for in sums over a device: its part of the compute slices, rounded down,
// and the memory that its name tells, so that the instances of one device never sum above it.
struct MigShare {
  std::int32_t compute = 0;  // per mille
  std::int32_t memory_mib = 0;

  bool operator==(const MigShare&) const = default;
};
MigShare MigShareOf(const MigModel& model, const MigProfile& profile);
// The least that it counts on any model that has a profile of the name; nothing when none has.
std::optional<MigShare> LeastMigShare(std::string_view profile);

struct MigInstance {
  int profile = 0;  // index into the model's profiles
  int start = 0;    // its first memory slice

  auto operator<=>(const MigInstance&) const = default;
};

// What an instance takes. REQUIRES: the profile may begin at `start`.
MigTaken MigFootprint(const MigProfile& profile, int start);

// What these instances take together, or nothing if the GPU cannot hold them: a start that the
// profile does not have, slices taken twice, more compute slices than there are, a limit passed.
std::optional<MigTaken> MigTakenBy(const MigModel& model,
                                   const std::vector<MigInstance>& instances);

// Answers for every state of a GPU of one model, by table.
class MigPlacements {
 public:
  // `demand`: how often each profile is asked for, in any unit up to 1,000,000, not all zero.
  // None given: all alike.
  explicit MigPlacements(const MigModel& model, std::vector<std::uint32_t> demand = {});

  const MigModel& model() const { return *model_; }
  // All that can be taken of a GPU of the model.
  MigTaken all() const { return static_cast<MigTaken>(states_.size() - 1); }
  // Where an instance of the profile may begin; bit i: at memory slice i.
  std::uint8_t FreeStarts(MigTaken taken, int profile) const;
  // How many instances of the profile, and of no other, still find a place.
  int Room(MigTaken taken, int profile) const { return states_[taken].room[Index(profile)]; }
  // Where to put one: the free start after which the GPU is worth most, the lowest among equals.
  // Nothing when there is no place.
  std::optional<int> Choose(MigTaken taken, int profile) const;

  // What the GPU is worth to requests to come: the number of them that it can hold, when they ask
  // for profiles as in `demand`, each gets the best place, and one that comes n requests later
  // counts 0.6^n:
  //
  //   V(s) = sum over profiles p of demand(p) x (max over free starts (1 + 0.6 V(s with p there)),
  //                                              or 0.6 V(s) when there is none)
  //
  // The discount stands for departures, which V knows nothing of. Without it V never expects a GPU
  // to be emptied, fills it as if for good, and over random streams with departures admits less
  // than HAMi's rule does; with 0.5 to 0.7 it admits more. Requests for more than the GPU can hold
  // are assumed to be lost, and the load not far above what it holds: when asked for four times as
  // much, room kept for large instances is room that several small ones would have had.
  // To compare GPUs: the best one for a request is where its placement costs the least worth.
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

// One table for all GPUs of a model, worked out when it is first asked for, and kept. One owner
// thread; copies share what there is.
class SharedMigPlacements {
 public:
  const MigPlacements* Of(const std::string& model);  // null: unknown

 private:
  std::map<std::string, std::shared_ptr<const MigPlacements>> tables_;
};

}  // namespace tephra
