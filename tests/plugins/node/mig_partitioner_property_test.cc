// The MIG partitioner under random requests, faults, kills and reboots: after each of them the instances
// on the hardware are those of the books, no more and no less, and each container sees its own.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

#include <catch2/catch.hpp>

#include "plugins/node/partition/mig_partitioner.h"
#include "tests/plugins/node/fake_node.h"
#include "tests/plugins/node/gpus.h"
#include "tests/property/laws.h"
#include "tests/support/dice.h"

namespace tephra::node {
namespace {

constexpr int kRequestsOfARun = 500;
constexpr const char* kMachine =
    R"({"gpus": [{"model": "A100-40GB", "mig": true}, {"model": "H100-80GB"},
                 {"model": "A30-24GB", "mig": true}, {"model": "RTX-PRO-6000-96GB"}]})";

// The calls that change something, and some calls that read, which are made more often.
const std::vector<std::string> kChanges = {
    "nvmlDeviceCreateGpuInstanceWithPlacement", "nvmlGpuInstanceCreateComputeInstance",
    "nvmlComputeInstanceDestroy", "nvmlGpuInstanceDestroy", "nvmlDeviceSetMigMode"};
const std::vector<std::string> kLooks = {
    "nvmlDeviceGetMigMode", "nvmlDeviceGetGpuInstances", "nvmlGpuInstanceGetInfo",
    "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetHandleByUUID"};

struct Totals {
  std::uint64_t requests = 0, applied = 0, undone = 0, refused = 0, faults = 0, failed = 0, kills = 0,
                reboots = 0, strays = 0, illegal = 0, created = 0, destroyed = 0;
};

class Run {
 public:
  Run(std::uint64_t seed, Totals& totals)
      : dice_(seed),
        totals_(totals),
        node_(kMachine),
        config_(AllMay(kUsualModes | kMigOnly)),
        gpus_(node_.Read(config_)) {
    Begin();
  }

  void Step() {
    ++totals_.requests;
    const int what = dice_.Below(100);
    if (what < 50) {
      Ask(NewGrant());
    } else if (what < 85 && !live_.empty()) {
      Release(SomeNonce());
    } else if (what < 92 && !live_.empty()) {
      Ask(live_.at(SomeNonce()));  // its container starts again
    } else if (what < 95) {
      AskForNonsense();
    } else if (what < 98) {
      Kill();
    } else if (what == 98) {
      Forget();
    } else {
      Reboot();
    }
    Check();
  }

  void End() {
    while (!live_.empty()) Release(live_.begin()->first);
    Check();
    const FakeNode::Counts counts = node_.counts();
    totals_.illegal += counts.illegal;
    totals_.created += counts.created;
    totals_.destroyed += counts.destroyed;
  }

 private:
  const MigModel& ModelOf(std::size_t gpu) const {
    return *FindMigModel(gpus_.devices[gpu].hardware.mig_model);
  }

  void Begin() {
    partitioner_ = std::make_unique<MigPartitioner>(node_.nvml(), MigPartitioner::Options{node_.capabilities()});
    REQUIRE(Restore(*partitioner_, Live(), gpus_).ok());
    // Kept from before a crash or a reboot, and asked for again with the container's next start.
    for (const auto& [nonce, grant] : live_) {
      Edits edits;
      REQUIRE(partitioner_->Apply(grant, gpus_, edits).ok());
    }
  }

  std::vector<Grant> Live() const {
    std::vector<Grant> grants;
    for (const auto& [nonce, grant] : live_) grants.push_back(grant);
    return grants;
  }

  const std::string& SomeNonce() {
    return std::next(live_.begin(), dice_.Below(static_cast<int>(live_.size())))->first;
  }

  std::vector<MigInstance> HeldOf(std::size_t gpu) const {
    std::vector<MigInstance> held;
    for (const auto& [nonce, grant] : live_) {
      for (const GrantedSlice& slice : grant.slices) {
        if (slice.gpu == gpu) {
          held.push_back({FindMigProfile(ModelOf(gpu), slice.mig_profile), slice.mig_start});
        }
      }
    }
    return held;
  }

  // One to three slices, each where there is room; none on a card that is full.
  Grant NewGrant() {
    Grant grant;
    grant.holder.nonce = "n" + std::to_string(++named_);
    grant.holder.pod_uid = "pod-" + grant.holder.nonce;
    std::vector<std::vector<MigInstance>> held;
    for (std::size_t gpu = 0; gpu < gpus_.devices.size(); ++gpu) held.push_back(HeldOf(gpu));
    for (int slices = dice_.Percent(70) ? 1 : dice_.From(2, 3); slices > 0; --slices) {
      const auto gpu = static_cast<std::size_t>(dice_.Below(static_cast<int>(held.size())));
      const MigModel& model = ModelOf(gpu);
      std::vector<MigInstance> fitting;
      for (int profile = 0; profile < static_cast<int>(model.profiles.size()); ++profile) {
        for (int start = 0; start < model.memory_slices; ++start) {
          std::vector<MigInstance> more = held[gpu];
          more.push_back({profile, start});
          if (MigTakenBy(model, more)) fitting.push_back({profile, start});
        }
      }
      if (fitting.empty()) continue;
      const MigInstance at = dice_.Pick(fitting);
      held[gpu].push_back(at);
      GrantedSlice& slice = grant.slices.emplace_back();
      slice.gpu = gpu;
      slice.mode = SliceMode::kMig;
      slice.mig_profile = model.profiles[static_cast<std::size_t>(at.profile)].name;
      slice.mig_start = at.start;
    }
    return grant;
  }

  // Sets up to two faults; returns whether there are any.
  bool Break(bool abort) {
    std::string faults;
    for (int count = abort ? 1 : dice_.From(1, 2); count > 0; --count) {
      const bool change = dice_.Percent(70);
      faults += (faults.empty() ? "" : ",") + std::string(R"({"function": ")") +
                dice_.Pick(change ? kChanges : kLooks) + R"(", "call": )" +
                std::to_string(dice_.From(1, change ? 2 : 4)) + R"(, "after": )" +
                (dice_.Percent(50) ? "true" : "false") + R"(, "abort": )" +
                (abort ? "true" : "false") + "}";
    }
    node_.Control(R"({"run": )" + std::to_string(++controls_) + R"(, "faults": [)" + faults + "]}");
    return !faults.empty();
  }
  void Mend() { node_.Control(R"({"run": )" + std::to_string(++controls_) + "}"); }

  void Ask(const Grant& asked) {
    const Grant grant = asked;  // it may be a live one
    const bool broken = dice_.Percent(30) && Break(false);
    totals_.faults += broken ? 1 : 0;
    Edits edits;
    const absl::Status status = partitioner_->Apply(grant, gpus_, edits);
    if (broken) Mend();
    if (status.ok()) {
      ++totals_.applied;
      live_[grant.holder.nonce] = grant;
      if (!grant.slices.empty()) CheckEdits(grant, edits);
      return;
    }
    INFO(status.ToString());
    REQUIRE(broken);
    CHECK(edits == Edits{});
    live_.erase(grant.holder.nonce);
    ++totals_.failed;
    // Where the faults hit what was undone too, another try is asked for.
    const bool left = status.message().find("; ") != std::string_view::npos;
    if (left) REQUIRE(partitioner_->Undo(grant, gpus_).ok());
  }

  void Release(const std::string& name) {
    const std::string nonce = name;
    const Grant grant = live_.at(nonce);
    const bool broken = dice_.Percent(20) && Break(false);
    totals_.faults += broken ? 1 : 0;
    absl::Status status = partitioner_->Undo(grant, gpus_);
    if (broken) Mend();
    if (!status.ok()) {
      INFO(status.ToString());
      REQUIRE(broken);
      CHECK(absl::IsUnavailable(status));
      ++totals_.failed;
      status = partitioner_->Undo(grant, gpus_);
    }
    REQUIRE(status.ok());
    live_.erase(nonce);
    ++totals_.undone;
  }

  // What holds memory slices that are taken, or lies where nothing can.
  void AskForNonsense() {
    Grant grant;
    grant.holder.nonce = "n" + std::to_string(++named_);
    grant.holder.pod_uid = "pod-" + grant.holder.nonce;
    GrantedSlice& slice = grant.slices.emplace_back();
    slice.gpu = static_cast<std::size_t>(dice_.Below(5));
    slice.mode = SliceMode::kMig;
    slice.mig_profile = "3g.20gb";
    slice.mig_start = dice_.From(-1, 9);
    if (slice.gpu < gpus_.devices.size()) {
      const MigModel& model = ModelOf(slice.gpu);
      const int profile = dice_.Below(static_cast<int>(model.profiles.size()));
      slice.mig_profile = model.profiles[static_cast<std::size_t>(profile)].name;
      std::vector<MigInstance> all = HeldOf(slice.gpu);
      all.push_back({profile, slice.mig_start});
      if (MigTakenBy(model, all)) return;  // it makes sense
    }
    Edits edits;
    CHECK(absl::IsFailedPrecondition(partitioner_->Apply(grant, gpus_, edits)));
    CHECK(partitioner_->Undo(grant, gpus_).ok());
    ++totals_.refused;
  }

  // The plugin dies at some call; its successor knows of the grant, or not.
  void Kill() {
    const bool take = live_.empty() || dice_.Percent(60);
    const Grant grant = take ? NewGrant() : live_.at(SomeNonce());
    Break(true);
    const pid_t child = fork();
    if (child == 0) {
      Edits edits;
      if (take) {
        (void)partitioner_->Apply(grant, gpus_, edits);
      } else {
        (void)partitioner_->Undo(grant, gpus_);
      }
      _exit(0);
    }
    int status = 0;
    REQUIRE(waitpid(child, &status, 0) == child);
    Mend();
    if (WIFEXITED(status) && WEXITSTATUS(status) == 86) ++totals_.kills;
    node_.Restart();
    const bool known = dice_.Percent(50);
    if (known) {
      live_[grant.holder.nonce] = grant;
    } else {
      live_.erase(grant.holder.nonce);
    }
    Begin();
    // Each check that finds the container gone releases its slices, however often.
    if (!known) REQUIRE(partitioner_->Undo(grant, gpus_).ok());
  }

  // The plugin is away while a container ends, and its instance is not released: it stays until it
  // is in the way of another container, or a container gets the same.
  void Forget() {
    if (!live_.empty()) {
      const auto gone = live_.find(SomeNonce());
      for (const GrantedSlice& slice : gone->second.slices) {
        strays_.insert(Named(
            slice.gpu, {FindMigProfile(ModelOf(slice.gpu), slice.mig_profile), slice.mig_start}));
        ++totals_.strays;
      }
      live_.erase(gone);
    }
    node_.Restart();
    Begin();
  }

  void Reboot() {
    node_.Reboot();
    ++totals_.reboots;
    Begin();
  }

  std::string Named(std::size_t gpu, const MigInstance& at) const {
    return std::string(ModelOf(gpu).profiles[static_cast<std::size_t>(at.profile)].name) + "@" +
           std::to_string(at.start) + " of " + std::to_string(gpu);
  }

  std::set<std::string> OnHardware() {
    std::set<std::string> pieces;
    for (std::size_t gpu = 0; gpu < gpus_.devices.size(); ++gpu) {
      const auto card = MigCard::Open(node_.nvml(), gpus_.devices[gpu], ModelOf(gpu));
      REQUIRE(card.ok());
      const auto there = card->Pieces();
      REQUIRE(there.ok());
      for (const MigCard::Piece& piece : *there) {
        REQUIRE(piece.at.has_value());
        const std::string name = Named(gpu, *piece.at);
        CHECK(pieces.insert(name).second);
        // Of a stray that could not be cleared away, half may be left.
        CHECK((piece.instance.compute.size() == 1 || strays_.count(name) > 0));
      }
    }
    return pieces;
  }

  void Check() {
    std::set<std::string> books;
    for (std::size_t gpu = 0; gpu < gpus_.devices.size(); ++gpu) {
      for (const MigInstance& at : HeldOf(gpu)) books.insert(Named(gpu, at));
    }
    std::set<std::string> hardware = OnHardware(), left;
    for (const std::string& stray : strays_) {
      if (books.count(stray) == 0 && hardware.erase(stray) > 0) left.insert(stray);
    }
    strays_ = left;
    REQUIRE(hardware == books);
  }

  // Each name is of an instance that lies where the slice is.
  void CheckEdits(const Grant& grant, const Edits& edits) {
    std::string expected;
    for (const GrantedSlice& slice : grant.slices) {
      const auto card = MigCard::Open(node_.nvml(), gpus_.devices[slice.gpu], ModelOf(slice.gpu));
      const MigInstance at{FindMigProfile(ModelOf(slice.gpu), slice.mig_profile), slice.mig_start};
      const auto pieces = card->Pieces();
      for (const MigCard::Piece& piece : *pieces) {
        if (piece.at == at) expected += (expected.empty() ? "" : ",") + *card->Uuid(piece);
      }
    }
    REQUIRE(edits.env.size() == 2);
    CHECK(edits.env[0].second == expected);
    CHECK(edits.env[1].second == expected);
  }

  Dice dice_;
  Totals& totals_;
  FakeNode node_;
  NodeConfig config_;
  Gpus gpus_;
  std::unique_ptr<MigPartitioner> partitioner_;
  std::map<std::string, Grant> live_;  // by nonce
  std::set<std::string> strays_;       // what may lie there beside
  int named_ = 0, controls_ = 0;
};

TEST_CASE("MigPartitioner: under random requests, faults and kills the books are the hardware") {
  Totals totals;
  ForEachSeed(5, [&](std::uint64_t seed) {
    Run run(seed, totals);
    for (int i = 0; i < kRequestsOfARun; ++i) run.Step();
    run.End();
  });
  CHECK(totals.illegal == 0);
  std::printf(
      "requests %llu: applied %llu, undone %llu, refused %llu; with faults %llu, of which %llu "
      "failed and were undone; kills %llu; reboots %llu; left behind %llu; illegal %llu\n",
      static_cast<unsigned long long>(totals.requests),
      static_cast<unsigned long long>(totals.applied), static_cast<unsigned long long>(totals.undone),
      static_cast<unsigned long long>(totals.refused),
      static_cast<unsigned long long>(totals.faults),
      static_cast<unsigned long long>(totals.failed), static_cast<unsigned long long>(totals.kills),
      static_cast<unsigned long long>(totals.reboots),
      static_cast<unsigned long long>(totals.strays),
      static_cast<unsigned long long>(totals.illegal));
}

}  // namespace
}  // namespace tephra::node
