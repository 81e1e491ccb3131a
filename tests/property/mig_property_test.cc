// MIG placements against a brute force that marks slices one by one, against the packings that
// NVIDIA publishes, and against other rules over random streams of requests.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "tests/property/laws.h"
#include "tests/support/dice.h"
#include "topology/mig.h"

namespace tephra {
namespace {

using Layout = std::vector<MigInstance>;  // ascending

// --- brute force: owners of slices, and of limits.

bool Legal(const MigModel& model, const Layout& layout) {
  std::vector<int> owners(model.memory_slices, 0);
  std::map<int, int> of_limit;
  for (const MigInstance& instance : layout) {
    const MigProfile& profile = model.profiles[static_cast<std::size_t>(instance.profile)];
    if (instance.start < 0 || instance.start + profile.memory_slices > model.memory_slices) {
      return false;
    }
    if ((profile.starts & (1 << instance.start)) == 0) return false;
    for (int slice = 0; slice < profile.memory_slices; ++slice) {
      if (++owners[static_cast<std::size_t>(instance.start + slice)] > 1) return false;
    }
    if (profile.limit != kNoLimit && ++of_limit[profile.limit] > 1) return false;
  }
  return true;
}

// visit(layout) for every legal layout of these profiles.
template <class Visit>
void ForEachLayout(const MigModel& model, const std::vector<int>& profiles, const Visit& visit) {
  std::set<Layout> seen;
  std::vector<Layout> open = {{}};
  while (!open.empty()) {
    const Layout layout = open.back();
    open.pop_back();
    if (!seen.insert(layout).second) continue;
    visit(layout);
    for (int profile : profiles) {
      for (int start = 0; start < model.memory_slices; ++start) {
        Layout more = layout;
        more.push_back({profile, start});
        std::sort(more.begin(), more.end());
        if (Legal(model, more)) open.push_back(more);
      }
    }
  }
}

std::vector<int> AllProfiles(const MigModel& model) {
  std::vector<int> all;
  for (std::size_t p = 0; p < model.profiles.size(); ++p) all.push_back(static_cast<int>(p));
  return all;
}

int RoomByTrying(const MigModel& model, const Layout& layout, int profile, int from) {
  int most = 0;
  for (int start = from; start < model.memory_slices; ++start) {
    Layout more = layout;
    more.push_back({profile, start});
    if (Legal(model, more)) {
      most = std::max(most, 1 + RoomByTrying(model, more, profile, start + 1));
    }
  }
  return most;
}

TEST_CASE("Mig: what fits is what brute force over slices finds, for every layout of every model") {
  for (const MigModel& model : MigModels()) {
    INFO(model.name);
    const MigPlacements places(model);
    int layouts = 0, asked = 0, wrong = 0, most_compute = 0;
    ForEachLayout(model, AllProfiles(model), [&](const Layout& layout) {
      ++layouts;
      const std::optional<MigTaken> taken = MigTakenBy(model, layout);
      REQUIRE(taken);
      int compute = 0;
      for (const MigInstance& instance : layout) {
        compute += model.profiles[static_cast<std::size_t>(instance.profile)].compute_slices;
      }
      most_compute = std::max(most_compute, compute);
      for (int profile : AllProfiles(model)) {
        for (int start = -1; start <= model.memory_slices; ++start, ++asked) {
          Layout more = layout;
          more.push_back({profile, start});
          const bool legal = Legal(model, more);
          wrong += MigTakenBy(model, more).has_value() != legal;
          if (start < 0 || start == model.memory_slices) continue;
          wrong += ((places.FreeStarts(*taken, profile) >> start & 1) != 0) != legal;
        }
        wrong += places.Room(*taken, profile) != RoomByTrying(model, layout, profile, 0);
      }
    });
    CHECK(wrong == 0);
    // Slices that do not overlap never need more compute slices than there are: so a mask of memory
    // slices tells all.
    CHECK(most_compute == model.compute_slices);
    std::printf("legality %s: %d layouts, %d placements, %d mismatches\n", model.name.data(),
                layouts, asked, wrong);
  }
}

// --- packings that are published.

struct Packings {
  int layouts = 0;
  int maximal = 0;
  std::set<std::vector<int>> compute;  // of maximal layouts, descending

  bool operator==(const Packings&) const = default;
};

// Of the profiles without attributes; those of one compute slice and two memory slices on demand.
Packings PackingsOf(const MigModel& model, bool with_double_memory) {
  std::vector<int> profiles;
  for (int p : AllProfiles(model)) {
    const MigProfile& profile = model.profiles[static_cast<std::size_t>(p)];
    const bool plain = profile.name.find_first_of("+-") == std::string_view::npos;
    const bool doubled = profile.compute_slices == 1 && profile.memory_slices == 2;
    if (plain && (with_double_memory || !doubled)) profiles.push_back(p);
  }
  Packings packings;
  ForEachLayout(model, profiles, [&](const Layout& layout) {
    ++packings.layouts;
    for (int profile : profiles) {
      if (RoomByTrying(model, layout, profile, 0) > 0) return;
    }
    ++packings.maximal;
    std::vector<int> compute;
    for (const MigInstance& instance : layout) {
      compute.push_back(model.profiles[static_cast<std::size_t>(instance.profile)].compute_slices);
    }
    std::sort(compute.rbegin(), compute.rend());
    packings.compute.insert(compute);
  });
  return packings;
}

// NVIDIA MIG User Guide, "Supported MIG Profiles": the combinations of a GPU with seven compute
// slices, and of the A30. By compute slices.
const std::set<std::vector<int>> kSevenSlices = {
    {7},          {4, 3},          {4, 2, 1},          {4, 1, 1, 1},         {3, 3},
    {3, 2, 1},    {3, 1, 1, 1},    {3, 2, 2},          {3, 2, 1, 1},         {3, 1, 1, 1, 1},
    {2, 2, 2, 1}, {2, 2, 1, 1, 1}, {2, 1, 1, 1, 1, 1}, {1, 1, 1, 1, 1, 1, 1}};
const std::set<std::vector<int>> kFourSlices = {{4}, {2, 2}, {2, 1, 1}, {1, 1, 1, 1}};

TEST_CASE("Mig: the maximal packings are the published ones of NVIDIA") {
  for (const MigModel& model : MigModels()) {
    INFO(model.name);
    const Packings packings = PackingsOf(model, false);
    if (model.compute_slices == 7) {
      CHECK(packings == Packings{298, 19, kSevenSlices});
      CHECK(PackingsOf(model, true).layouts == 723);
    } else {
      CHECK(packings == Packings{26, 5, kFourSlices});
    }
    std::printf("packings %s: %d layouts, %d maximal, %zu by compute slices\n", model.name.data(),
                packings.layouts, packings.maximal, packings.compute.size());
  }
}

// For tests/claims/topology-mig, which compares it with the data that the table was written from.
TEST_CASE("Mig: the table, printed", "[.table]") {
  for (const MigModel& model : MigModels()) {
    const MigPlacements places(model);
    for (int p : AllProfiles(model)) {
      const MigProfile& profile = model.profiles[static_cast<std::size_t>(p)];
      std::printf("row %s %d %d %s %d %d %d %d %d\n", model.name.data(), model.compute_slices,
                  model.memory_slices, profile.name.data(), profile.compute_slices,
                  profile.memory_slices, profile.starts, places.Room(0, p), profile.limit);
    }
  }
}

// --- rules that compete. Each returns one of the free starts.

int Lowest(const MigModel& model, std::uint8_t starts) {
  for (int start = 0; start < model.memory_slices; ++start) {
    if ((starts >> start & 1) != 0) return start;
  }
  return -1;
}

// HAMi v2.10, pkg/device/nvidia/mig_topology.go: profiles named 1g and 3g from above, all other ones from
// below.
int Hami(const MigModel& model, std::string_view profile, std::uint8_t starts) {
  if (profile.substr(0, 3) != "1g." && profile.substr(0, 3) != "3g.") return Lowest(model, starts);
  for (int start = model.memory_slices; start-- > 0;) {
    if ((starts >> start & 1) != 0) return start;
  }
  return -1;
}

// The shortest run of free slices that holds it, the lowest among equals.
int BestFit(const MigModel& model, MigTaken taken, std::uint8_t starts) {
  const auto free = [&](int slice) {
    return slice >= 0 && slice < model.memory_slices && (taken >> slice & 1) == 0;
  };
  int best = -1, shortest = 99;
  for (int start = 0; start < model.memory_slices; ++start) {
    if ((starts >> start & 1) == 0) continue;
    int run = 1;
    for (int below = start - 1; free(below); --below) ++run;
    for (int above = start + 1; free(above); ++above) ++run;
    if (run < shortest) shortest = run, best = start;
  }
  return best;
}

enum Rule { kOurs, kOursKnowing, kFirstFit, kBestFit, kHami, kRules };
constexpr const char* kRuleNames[] = {"ours", "ours knowing", "first-fit", "best-fit", "HAMi"};

constexpr int kStreamLength = 500;  // requests, 100 instants apart

struct Request {
  int profile = 0;
  int leaves = 0;  // at this instant
};

// Requests in their order; how long one stays is drawn with it, so that every rule is tried on the
// same stream. Together they ask for 30 % to 200 % of the memory slices that there are.
std::vector<Request> Stream(Dice& dice, const MigModel& model,
                            const std::vector<std::uint32_t>& demand) {
  std::uint64_t sum = 0, slices = 0;
  for (std::size_t p = 0; p < demand.size(); ++p) {
    sum += demand[p];
    slices += std::uint64_t{demand[p]} * model.profiles[p].memory_slices;
  }
  const int load_percent = dice.From(30, 200);
  const auto mean_stay = static_cast<int>(static_cast<std::uint64_t>(load_percent) *
                                          model.memory_slices * sum / slices);
  std::vector<Request> stream;
  for (int number = 0; number < kStreamLength; ++number) {
    auto drawn = static_cast<std::int64_t>(dice.Next() % sum);
    int profile = 0;
    while ((drawn -= demand[static_cast<std::size_t>(profile)]) >= 0) ++profile;
    stream.push_back({profile, 100 * number + dice.From(1, 2 * mean_stay)});
  }
  return stream;
}

int Place(Rule rule, const MigPlacements& places, const MigPlacements& sent, MigTaken taken,
          int profile) {
  const MigModel& model = places.model();
  const std::uint8_t starts = places.FreeStarts(taken, profile);
  const MigProfile& of = model.profiles[static_cast<std::size_t>(profile)];
  if (rule == kOurs) return places.Choose(taken, profile).value_or(-1);
  if (rule == kOursKnowing) return sent.Choose(taken, profile).value_or(-1);
  if (rule == kFirstFit) return Lowest(model, starts);
  if (rule == kBestFit) return BestFit(model, taken, starts);
  return Hami(model, of.name, starts);
}

int Admitted(Rule rule, const MigPlacements& places, const MigPlacements& sent,
             const std::vector<Request>& stream) {
  struct Running {
    int leaves;
    MigTaken footprint;
  };
  std::vector<Running> running;
  MigTaken taken = 0;
  int now = 0, admitted = 0;
  for (const Request& request : stream) {
    std::erase_if(running, [&](const Running& instance) {
      if (instance.leaves > now) return false;
      taken = static_cast<MigTaken>(taken & ~instance.footprint);
      return true;
    });
    now += 100;
    const int start = Place(rule, places, sent, taken, request.profile);
    if (start < 0) continue;
    const MigTaken footprint =
        MigFootprint(places.model().profiles[static_cast<std::size_t>(request.profile)], start);
    if ((taken & footprint) != 0) FAIL("a rule put two instances on one slice");
    taken = static_cast<MigTaken>(taken | footprint);
    running.push_back({request.leaves, footprint});
    ++admitted;
  }
  return admitted;
}

// How many requests each rule admitted, and how sure it is that ours admits more than another: in
// standard errors of the mean difference of a stream.
struct Totals {
  double streams = 0;
  double admitted[kRules] = {};
  double squares[kRules] = {};  // of ours less the rule's

  void Add(const int (&of_stream)[kRules]) {
    ++streams;
    for (int rule = 0; rule < kRules; ++rule) {
      const double more = of_stream[kOurs] - of_stream[rule];
      admitted[rule] += of_stream[rule];
      squares[rule] += more * more;
    }
  }
  double Sureness(int rule) const {
    const double mean = (admitted[kOurs] - admitted[rule]) / streams;
    return mean / std::sqrt((squares[rule] / streams - mean * mean) / streams);
  }
};

TEST_CASE("Mig: over random streams our places admit no less than other rules, for every model") {
  for (std::size_t m = 0; m < MigModels().size(); ++m) {
    const MigModel& model = MigModels()[m];
    const MigPlacements places(model);
    Totals totals;
    ForEachSeed(400, [&](std::uint64_t seed) {
      Dice dice(Mix(seed, m));
      std::vector<std::uint32_t> demand(model.profiles.size(), 1);
      const bool skewed = seed % 2 == 1;  // a profile is asked for up to 1,000 times as often
      for (std::uint32_t& weight : demand) {
        const auto root = static_cast<std::uint32_t>(skewed ? dice.From(1, 10) : 1);
        weight = root * root * root;
      }
      const MigPlacements sent(model, demand);
      const std::vector<Request> stream = Stream(dice, model, demand);
      int admitted[kRules];
      for (int rule = 0; rule < kRules; ++rule) {
        admitted[rule] = rule == kOursKnowing && !skewed
                             ? admitted[kOurs]
                             : Admitted(static_cast<Rule>(rule), places, sent, stream);
      }
      totals.Add(admitted);
    });
    std::printf("streams %s: %.0f requests; ours %.0f, ours knowing the demand %.0f",
                model.name.data(), totals.streams * kStreamLength, totals.admitted[kOurs],
                totals.admitted[kOursKnowing]);
    for (const Rule rule : {kFirstFit, kBestFit, kHami}) {
      std::printf(", %s %.0f (%.1f standard errors below)", kRuleNames[rule], totals.admitted[rule],
                  totals.Sureness(rule));
    }
    std::printf("\n");
    if (!AllSeeds()) continue;
    INFO(model.name);
    for (const Rule rule : {kFirstFit, kBestFit, kHami}) {
      CHECK(totals.admitted[kOurs] >= totals.admitted[rule]);
      CHECK(totals.admitted[kOursKnowing] >= totals.admitted[rule]);
    }
  }
}

}  // namespace
}  // namespace tephra
