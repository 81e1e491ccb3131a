#include "topology/mig.h"

#include <catch2/catch.hpp>

namespace tephra {
namespace {

const MigModel& A100() { return *FindMigModel("A100-40GB"); }

int Profile(const MigModel& model, std::string_view name) {
  for (std::size_t p = 0; p < model.profiles.size(); ++p) {
    if (model.profiles[p].name == name) return static_cast<int>(p);
  }
  FAIL("no profile " << name);
  return -1;
}

MigTaken Taken(const MigModel& model, std::string_view name, int start) {
  return MigFootprint(model.profiles[static_cast<std::size_t>(Profile(model, name))], start);
}

TEST_CASE("Mig: an A100-40GB holds three of 28 SMs and 10 GB, not four") {
  const MigPlacements places(A100());
  CHECK(places.Room(0, Profile(A100(), "2g.10gb")) == 3);
  CHECK(places.Room(0, Profile(A100(), "1g.5gb")) == 7);
  CHECK(places.Room(0, Profile(A100(), "1g.10gb")) == 4);
  CHECK(places.Room(0, Profile(A100(), "3g.20gb")) == 2);
}

TEST_CASE("Mig: four, two and one compute slice fit beside each other") {
  const int one = Profile(A100(), "1g.5gb"), two = Profile(A100(), "2g.10gb");
  const int three = Profile(A100(), "3g.20gb"), four = Profile(A100(), "4g.20gb");
  CHECK(MigTakenBy(A100(), {{four, 0}, {two, 4}, {one, 6}}) == MigTaken{0x7f});
  CHECK(MigTakenBy(A100(), {{three, 0}, {three, 4}}) == MigTaken{0xff});
  CHECK(MigTakenBy(A100(), {}) == MigTaken{0});
  CHECK_FALSE(MigTakenBy(A100(), {{four, 0}, {two, 2}}));
  CHECK_FALSE(MigTakenBy(A100(), {{two, 6}}));
  CHECK_FALSE(MigTakenBy(A100(), {{one, 7}}));
  CHECK_FALSE(MigTakenBy(A100(), {{one, -1}}));
}

TEST_CASE("Mig: there is one set of media engines to give away") {
  const MigModel& a30 = *FindMigModel("A30-24GB");
  const MigPlacements places(a30);
  const int one = Profile(a30, "1g.6gb+me"), two = Profile(a30, "2g.12gb+me");
  CHECK(places.Room(0, one) == 1);
  const MigTaken taken = Taken(a30, "1g.6gb+me", 0);
  CHECK(places.FreeStarts(taken, two) == 0);
  CHECK(places.FreeStarts(taken, Profile(a30, "2g.12gb")) == 0b100);
  CHECK_FALSE(MigTakenBy(a30, {{one, 0}, {two, 2}}));
}

TEST_CASE("Mig: a small instance goes where no large one could have been") {
  const MigPlacements places(A100());
  CHECK(places.Choose(0, Profile(A100(), "1g.5gb")) >= 4);
  CHECK(places.Choose(0, Profile(A100(), "1g.10gb")) == 6);
  CHECK(places.Choose(0, Profile(A100(), "3g.20gb")) == 4);
  const MigTaken high = Taken(A100(), "1g.5gb", 6);
  CHECK(places.FreeStarts(high, Profile(A100(), "4g.20gb")) == 1);
  CHECK(places.Choose(high, Profile(A100(), "2g.10gb")) == 4);
  CHECK_FALSE(places.Choose(high, Profile(A100(), "7g.40gb")));
}

TEST_CASE("Mig: with requests for 1g alone, all slices are equal and the lowest is first") {
  std::vector<std::uint32_t> demand(A100().profiles.size(), 0);
  demand[static_cast<std::size_t>(Profile(A100(), "1g.5gb"))] = 1;
  const MigPlacements places(A100(), demand);
  CHECK(places.Choose(0, Profile(A100(), "1g.5gb")) == 0);
}

TEST_CASE("Mig: a full GPU is worth nothing, and every instance takes worth away or leaves it") {
  for (const MigModel& model : MigModels()) {
    const MigPlacements places(model);
    CHECK(places.Worth(static_cast<MigTaken>((1u << model.memory_slices) - 1)) == 0);
    for (std::size_t p = 0; p < model.profiles.size(); ++p) {
      const int start = *places.Choose(0, static_cast<int>(p));
      CHECK(places.Worth(MigFootprint(model.profiles[p], start)) < places.Worth(0));
    }
  }
}

TEST_CASE("Mig: an unknown model is not found") { CHECK(FindMigModel("A100") == nullptr); }

}  // namespace
}  // namespace tephra
