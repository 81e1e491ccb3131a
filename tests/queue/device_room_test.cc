// DeviceRoom: one device's rules, against a brute force that knows the slices one by one.
#include "queue/device_room.h"

#include <algorithm>
#include <map>
#include <set>
#include <vector>

#include <catch2/catch.hpp>

#include "queue/task_class.h"
#include "tests/support/dice.h"
#include "tests/support/random_case.h"

namespace tephra {
namespace {

struct Holder {
  Slice slice;
  std::uint32_t user = 0;
};

// A device with its slices and the row that their charges add up to.
struct Bench {
  DeviceHardware hardware;
  std::shared_ptr<const MigPlacements> mig;
  DeviceRow row;
  std::vector<Holder> holders;

  explicit Bench(const DeviceHardware& device) : hardware(device) {
    if (const MigModel* model = FindMigModel(device.mig_model)) {
      mig = std::make_shared<const MigPlacements>(*model);
    }
    row = {device.shareable_compute(), {}, device.shareable_memory_mib()};
  }
  DeviceState state() const { return {hardware, mig.get(), row}; }
  void Move(const Holder& holder, int sign) {
    row.free_compute -= sign * holder.slice.compute;
    row.free_memory_mib -= sign * holder.slice.memory_mib;
    row.use.Add(UseOf(holder.slice, mig.get(), holder.user), sign);
  }
  void Put(const Holder& holder) {
    Move(holder, +1);
    holders.push_back(holder);
  }
};

// By all that is held, without the row: is this a device that the rules allow?
bool Allowed(const DeviceHardware& hardware, const std::vector<Holder>& holders) {
  if (holders.empty()) return true;
  if (!hardware.healthy) return false;
  const SliceMode mode = holders[0].slice.mode;
  std::int64_t compute = 0, memory = 0;
  std::map<int, int> taken;  // memory slices, and 100 and up: limits
  for (const Holder& holder : holders) {
    if (holder.slice.mode != mode) return false;
    compute += holder.slice.compute;
    memory += holder.slice.memory_mib;
    if (mode == SliceMode::kMps && holder.user != holders[0].user) return false;
    if (mode != SliceMode::kMig) continue;
    const MigProfile& profile =
        FindMigModel(hardware.mig_model)->profiles.at(holder.slice.mig_profile);
    for (int i = 0; i < profile.memory_slices; ++i) ++taken[holder.slice.mig_start + i];
    if (profile.limit >= 0) ++taken[100 + profile.limit];
  }
  for (const auto& [what, times] : taken) {
    if (times > 1) return false;
  }
  const int slices = static_cast<int>(holders.size());
  if ((hardware.modes >> static_cast<int>(mode) & 1) == 0) return false;
  const bool oversubscribed = mode == SliceMode::kFraction;
  if (compute > (oversubscribed ? hardware.compute_factor : 1000)) return false;
  if (memory >
      std::int64_t{hardware.memory_mib} * (oversubscribed ? hardware.memory_factor : 1000) / 1000) {
    return false;
  }
  switch (mode) {
    case SliceMode::kWhole:
      return slices == 1;
    case SliceMode::kFraction:
      return hardware.split_count == 0 || slices <= hardware.split_count;
    case SliceMode::kMps:
      return slices <= hardware.mps_clients;
    case SliceMode::kTimeSlice:
      return hardware.replicas == 0 || slices <= hardware.replicas;
    case SliceMode::kMig:
      return true;
  }
  return false;
}

DeviceHardware ADevice(Dice& dice) {
  DeviceHardware device;
  device.memory_mib = dice.Pick<int>({16000, 24576, 40960});
  device.healthy = dice.Percent(95);
  device.modes = static_cast<SliceModes>(dice.From(1, 31));
  device.split_count = dice.Pick<int>({0, 1, 3});
  device.mps_clients = dice.Pick<int>({48, 1, 3});
  device.replicas = dice.Pick<int>({0, 1, 3});
  device.compute_factor = dice.Pick<int>({1000, 1500, 3000});
  device.memory_factor = dice.Pick<int>({1000, 2000});
  if (dice.Percent(80) || device.may(SliceMode::kMig)) {
    device.mig_model = dice.Pick<const char*>({"A30-24GB", "A100-40GB", "RTX-PRO-6000-96GB"});
  }
  return device;
}

DeviceRequest AnAsk(Dice& dice) {
  DeviceRequest ask{1, dice.Pick<int>({0, 100, 250, 500, 1000}), dice.Pick<int>({0, 2000, 9000}),
                    dice.Pick<Sharing>({Sharing::kHook, Sharing::kHook, Sharing::kMps,
                                        Sharing::kTimeSlice, Sharing::kMig, Sharing::kMig})};
  if (ask.sharing == Sharing::kMig) {
    ask.mig_profile = dice.Pick<const char*>(
        {"1g.6gb", "1g.6gb+me", "2g.12gb", "4g.24gb", "1g.5gb", "1g.5gb+me", "1g.10gb", "2g.10gb",
         "3g.20gb", "4g.20gb", "7g.40gb", "1g.24gb", "1g.24gb+me.all", "2g.48gb"});
    return WithAmounts({1, 0, 0, Sharing::kMig, ask.mig_profile});
  }
  if (ask.compute == 0 && ask.memory_mib == 0) ask.compute = 100;
  return ask;
}

// Every slice that the device might give for the ask.
Slices Candidates(const DeviceHardware& hardware, const DeviceRequest& ask) {
  Slice slice{0, 0, ask.mode(), ask.compute, ask.memory_mib};
  if (ask.whole()) slice.memory_mib = hardware.memory_mib;
  if (ask.sharing != Sharing::kMig) return {slice};
  Slices all;
  const MigModel* model = FindMigModel(hardware.mig_model);
  const int profile = model == nullptr ? -1 : FindMigProfile(*model, ask.mig_profile);
  if (profile < 0) return {};
  const MigProfile& of = model->profiles[static_cast<std::size_t>(profile)];
  const MigShare share = MigShareOf(*model, of);
  for (int start = 0; start < 8; ++start) {
    if ((of.starts >> start & 1) == 0) continue;
    all.push_back({0, 0, SliceMode::kMig, share.compute, share.memory_mib,
                   static_cast<std::uint8_t>(profile), static_cast<std::uint8_t>(start)});
  }
  return all;
}

constexpr std::uint64_t kDevices = 4000;

TEST_CASE("DeviceRoom: there is room for a slice exactly where a brute force finds it") {
  int gave = 0, refused = 0;
  for (std::uint64_t seed = 1; seed <= kDevices; ++seed) {
    Dice dice(seed);
    Bench bench(ADevice(dice));
    INFO("seed " << seed);
    for (int step = 0; step < 20; ++step) {
      if (!bench.holders.empty() && dice.Percent(dice.Percent(10) ? 90 : 20)) {
        const std::size_t leaves =
            static_cast<std::size_t>(dice.Below(static_cast<int>(bench.holders.size())));
        bench.Move(bench.holders[leaves], -1);
        bench.holders.erase(bench.holders.begin() + static_cast<std::ptrdiff_t>(leaves));
      }
      const DeviceRequest ask = AnAsk(dice);
      const std::uint32_t user = static_cast<std::uint32_t>(dice.Pick<int>({0, 1000, 1001}));
      bool possible = false;
      for (const Slice& slice : Candidates(bench.hardware, ask)) {
        std::vector<Holder> with = bench.holders;
        with.push_back({slice, user});
        possible = possible || Allowed(bench.hardware, with);
      }
      REQUIRE(HasRoom(bench.state(), ask, user) == possible);
      const std::int32_t room = RoomFor(bench.state(), ask, user);
      REQUIRE((room > 0) == possible);
      if (!possible) {
        ++refused;
        continue;
      }
      // So many fit, one after the other, and not one more.
      Bench filled = bench;
      for (int i = 0; i < std::min(room, 60); ++i) {
        REQUIRE(HasRoom(filled.state(), ask, user));
        filled.Put({SliceOf(filled.state(), ask, 0, 0), user});
        REQUIRE(Allowed(filled.hardware, filled.holders));
        REQUIRE(Sound(filled.state(), user));
      }
      if (room < 60) REQUIRE_FALSE(HasRoom(filled.state(), ask, user));
      bench.Put({SliceOf(bench.state(), ask, 0, 0), user});
      ++gave;
    }
  }
  CHECK(gave > 5000);
  CHECK(refused > 5000);
}

TEST_CASE("DeviceRoom: contradicting slices are not sound, and undo is exact") {
  for (std::uint64_t seed = 1; seed <= kDevices; ++seed) {
    Dice dice(seed);
    Bench bench(ADevice(dice));
    const DeviceRow empty = bench.row;
    INFO("seed " << seed);
    for (int i = dice.From(1, 40); i > 0; --i) {
      const DeviceRequest ask = AnAsk(dice);
      Slices slices = Candidates(bench.hardware, ask);
      if (slices.empty()) slices = {Slice{0, 0, ask.mode(), 100, 100, 11, 7}};
      bench.Put({dice.Pick(slices), static_cast<std::uint32_t>(dice.Pick<int>({0, 1000}))});
    }
    const bool known =
        std::all_of(bench.holders.begin(), bench.holders.end(), [&](const Holder& holder) {
          return holder.slice.mode != SliceMode::kMig || holder.slice.mig_profile != 11;
        });
    if (known && bench.holders.size() < 15) {
      REQUIRE(Sound(bench.state(), bench.holders[0].user) ==
              Allowed(bench.hardware, bench.holders));
    }
    dice.Shuffle(bench.holders);
    for (const Holder& holder : bench.holders) bench.Move(holder, -1);
    REQUIRE(bench.row == empty);
  }
}

TEST_CASE("DeviceRoom: MPS serves one user at a time") {
  DeviceHardware device;
  device.memory_mib = 16000;
  device.modes = Only(SliceMode::kMps);
  Bench bench(device);
  const DeviceRequest ask{1, 100, 0, Sharing::kMps};
  // The second slice contradicts the first one, so no slice may join them.
  bench.Put({Slice{0, 0, SliceMode::kMps, 100, 0}, 999});
  CHECK_FALSE(HasRoom(bench.state(), ask, 1000));
  CHECK(HasRoom(bench.state(), ask, 999));
  bench.Put({Slice{0, 0, SliceMode::kMps, 100, 0}, 1001});
  CHECK_FALSE(HasRoom(bench.state(), ask, 999));
  CHECK_FALSE(HasRoom(bench.state(), ask, 1001));
}

TEST_CASE("DeviceCharges: an init container and an app hold instances at different times") {
  PodTemplate pod;
  pod.containers.resize(2);
  pod.containers[0].kind = ContainerKind::kInit;
  for (ContainerSpec& container : pod.containers) {
    container.devices = {1, 0, 0, Sharing::kMig, "1g.5gb"};
  }
  const TaskClass cls = MakeTaskClass(pod);
  CHECK(cls.demand[kGpu] == 142);
  CHECK(cls.demand[kGpuMemory] == 4768);  // 5 * 10^9 bytes
  SharedMigPlacements tables;
  const std::vector<const MigPlacements*> mig = {tables.Of("A100-40GB")};
  std::vector<DeviceCharge> charges;
  DeviceCharges(
      cls, {{0, 0, SliceMode::kMig, 142, 4768, 0, 3}, {1, 0, SliceMode::kMig, 142, 4768, 0, 3}},
      mig, charges);
  REQUIRE(charges.size() == 1);
  CHECK(charges[0].compute == 142);
  CHECK(charges[0].use.of(SliceMode::kMig) == 1);
  CHECK(MigTakenOf(charges[0].use, *mig[0]) == 0b1000);
  DeviceCharges(
      cls, {{0, 0, SliceMode::kMig, 142, 4768, 0, 3}, {1, 0, SliceMode::kMig, 142, 4768, 0, 6}},
      mig, charges);
  CHECK(MigTakenOf(charges[0].use, *mig[0]) == 0b1001000);
}

TEST_CASE("Mig: the instances of a device never sum above it") {
  for (const MigModel& model : MigModels()) {
    INFO(model.name);
    // Of one profile as many as find a place: compute at most a device.
    const MigPlacements placements(model);
    const std::string name(model.name);
    for (std::size_t p = 0; p < model.profiles.size(); ++p) {
      const MigShare share = MigShareOf(model, model.profiles[p]);
      CHECK(placements.Room(0, static_cast<int>(p)) * share.compute <= 1000);
      CHECK(share.memory_mib > 0);
      const auto least = LeastMigShare(model.profiles[p].name);
      REQUIRE(least.has_value());
      CHECK(least->compute <= share.compute);
      CHECK(least->memory_mib == share.memory_mib);
    }
  }
  CHECK(LeastMigShare("1g.24gb")->compute == 142);  // a quarter of an RTX PRO 6000, a 7th elsewhere
  CHECK_FALSE(LeastMigShare("1g.7gb").has_value());
}

}  // namespace
}  // namespace tephra
