#include "topology/mig.h"

#include <algorithm>
#include <bit>
#include <numeric>

#include "topology/base/check.h"

namespace tephra {
namespace {

constexpr int kLimitShift = 8;
constexpr std::int32_t kMigWhole = 1000;          // per mille
constexpr std::uint32_t kMostDemand = 1'000'000;  // keeps the sums in Rate within 64 bits
// The next request counts 6/10.
constexpr std::int64_t kLater = 6, kNow = 10;

// visit(start) for each bit.
template <class Visit>
void ForEachStart(std::uint8_t starts, const Visit& visit) {
  for (unsigned left = starts; left != 0; left &= left - 1) visit(std::countr_zero(left));
}

}  // namespace

const MigModel* FindMigModel(std::string_view name) {
  const std::vector<MigModel>& models = MigModels();
  const auto found = std::find_if(models.begin(), models.end(),
                                  [&](const MigModel& model) { return model.name == name; });
  return found == models.end() ? nullptr : &*found;
}

int FindMigProfile(const MigModel& model, std::string_view name) {
  const auto found = std::find_if(model.profiles.begin(), model.profiles.end(),
                                  [&](const MigProfile& profile) { return profile.name == name; });
  return found == model.profiles.end() ? -1 : static_cast<int>(found - model.profiles.begin());
}

MigShare MigShareOf(const MigModel& model, const MigProfile& profile) {
  // "3g.40gb": 40 * 10^9 bytes, in whole MiB.
  std::int64_t gigabytes = 0;
  for (std::size_t i = profile.name.find('.') + 1; i < profile.name.size(); ++i) {
    if (profile.name[i] < '0' || profile.name[i] > '9') break;
    gigabytes = gigabytes * 10 + (profile.name[i] - '0');
  }
  return {kMigWhole * profile.compute_slices / model.compute_slices,
          static_cast<std::int32_t>(gigabytes * 1'000'000'000 / (1 << 20))};
}

std::optional<MigShare> LeastMigShare(std::string_view profile) {
  std::optional<MigShare> least;
  for (const MigModel& model : MigModels()) {
    const int index = FindMigProfile(model, profile);
    if (index < 0) continue;
    const MigShare share = MigShareOf(model, model.profiles[static_cast<std::size_t>(index)]);
    if (!least) least = share;
    least = {std::min(least->compute, share.compute),
             std::min(least->memory_mib, share.memory_mib)};
  }
  return least;
}

MigTaken MigFootprint(const MigProfile& profile, int start) {
  TEPHRA_CHECK_OP(profile.starts >> start & 1, ==, 1);
  const unsigned slices = ((1u << profile.memory_slices) - 1) << start;
  const unsigned limit = profile.limit == kNoLimit ? 0 : 1u << (kLimitShift + profile.limit);
  return static_cast<MigTaken>(slices | limit);
}

std::optional<MigTaken> MigTakenBy(const MigModel& model,
                                   const std::vector<MigInstance>& instances) {
  MigTaken taken = 0;
  int compute = 0;
  for (const MigInstance& instance : instances) {
    const MigProfile& profile = model.profiles.at(static_cast<std::size_t>(instance.profile));
    const bool has_start = instance.start >= 0 && instance.start < model.memory_slices &&
                           (profile.starts >> instance.start & 1) != 0;
    if (!has_start) return std::nullopt;
    const MigTaken footprint = MigFootprint(profile, instance.start);
    if ((taken & footprint) != 0) return std::nullopt;
    taken = static_cast<MigTaken>(taken | footprint);
    compute += profile.compute_slices;
  }
  return compute <= model.compute_slices ? std::optional<MigTaken>(taken) : std::nullopt;
}

MigPlacements::MigPlacements(const MigModel& model, std::vector<std::uint32_t> demand)
    : model_(&model) {
  TEPHRA_CHECK_OP(model.profiles.size(), <=, kMaxProfiles);
  TEPHRA_CHECK_OP(model.memory_slices, <=, kLimitShift);
  if (demand.empty()) demand.assign(model.profiles.size(), 1);
  TEPHRA_CHECK_OP(demand.size(), ==, model.profiles.size());
  TEPHRA_CHECK_OP(*std::max_element(demand.begin(), demand.end()), >, 0);
  TEPHRA_CHECK_OP(*std::max_element(demand.begin(), demand.end()), <=, kMostDemand);
  int limits = 0;
  for (const MigProfile& profile : model.profiles) limits = std::max(limits, profile.limit + 1);
  states_.resize(std::size_t{1} << (kLimitShift + limits));
  // One more instance leads to a state with a greater number, which is rated already.
  for (std::size_t s = states_.size(); s-- > 0;) {
    states_[s] = Rate(static_cast<MigTaken>(s), demand);
  }
}

// V is on both sides if some profile does not fit. Solved for V, with F the profiles that fit: V =
// sum over F of demand x (1 + 0.6 V') / (sum of demand - 0.6 x demand outside F).
MigPlacements::State MigPlacements::Rate(MigTaken taken,
                                         const std::vector<std::uint32_t>& demand) const {
  State state;
  std::int64_t admitted = 0;
  std::int64_t weight = kNow * std::accumulate(demand.begin(), demand.end(), std::int64_t{0});
  for (std::size_t p = 0; p < demand.size(); ++p) {
    std::int64_t best = -1;
    ForEachStart(FreeStarts(taken, static_cast<int>(p)), [&](int start) {
      const State& after =
          states_[static_cast<MigTaken>(taken | MigFootprint(model_->profiles[p], start))];
      best = std::max(best, after.worth);
      state.room[p] = std::max(state.room[p], static_cast<std::uint8_t>(after.room[p] + 1));
    });
    if (best >= 0) {
      admitted += demand[p] * (kNow * kOneRequest + kLater * best);
    } else {
      weight -= kLater * demand[p];
    }
  }
  state.worth = admitted / weight;
  return state;
}

std::size_t MigPlacements::Index(int profile) const {
  TEPHRA_CHECK(profile >= 0 && static_cast<std::size_t>(profile) < model_->profiles.size());
  return static_cast<std::size_t>(profile);
}

std::uint8_t MigPlacements::FreeStarts(MigTaken taken, int profile) const {
  TEPHRA_CHECK_OP(taken, <, states_.size());
  const MigProfile& of = model_->profiles[Index(profile)];
  unsigned free = 0;
  ForEachStart(of.starts, [&](int start) {
    if ((taken & MigFootprint(of, start)) == 0) free |= 1u << start;
  });
  return static_cast<std::uint8_t>(free);
}

std::optional<int> MigPlacements::Choose(MigTaken taken, int profile) const {
  std::optional<int> chosen;
  std::int64_t most = -1;
  ForEachStart(FreeStarts(taken, profile), [&](int start) {
    const MigTaken after =
        static_cast<MigTaken>(taken | MigFootprint(model_->profiles[Index(profile)], start));
    if (Worth(after) > most) most = Worth(after), chosen = start;
  });
  return chosen;
}

const MigPlacements* SharedMigPlacements::Of(const std::string& model) {
  const MigModel* known = FindMigModel(model);
  if (known == nullptr) return nullptr;
  std::shared_ptr<const MigPlacements>& table = tables_[model];
  if (table == nullptr) table = std::make_shared<const MigPlacements>(*known);
  return table.get();
}

}  // namespace tephra
