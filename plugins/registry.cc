#include "plugins/registry.h"

#include <algorithm>
#include <map>
#include <utility>

#include "plugins/backfill/reservations.h"
#include "plugins/consolidation/consolidate.h"
#include "plugins/fairshare/enqueue_gate.h"
#include "plugins/fairshare/fair_order.h"
#include "plugins/fairshare/fair_shares.h"
#include "plugins/fairshare/queue_limits.h"
#include "plugins/gang/allocate.h"
#include "plugins/gang/gang_placer.h"
#include "plugins/links/links_score.h"
#include "plugins/locality/group_placer.h"
#include "plugins/locality/local_placer.h"
#include "plugins/openb/fgd.h"
#include "plugins/openb/openb_scores.h"
#include "plugins/packing/packing.h"
#include "plugins/preemption/eviction_search.h"
#include "plugins/preemption/move_search.h"
#include "plugins/preemption/victim_cost.h"
#include "plugins/repair/repair.h"
#include "plugins/stranding/stranding.h"
#include "plugins/vgpu/slice_fit.h"

namespace tephra {
namespace {

// What some scores look at: the pods that are expected, by the configuration or as they came of
// late.
struct Outlook {
  std::vector<ExpectedPod> pods;
  Scarcity scarcity;

  bool operator==(const Outlook&) const = default;
};

using MakeScore = std::unique_ptr<Score> (*)(const Outlook&);

template <class T>
std::unique_ptr<Score> Make(const Outlook&) {
  return std::make_unique<T>();
}

const std::map<std::string, MakeScore>& Scores() {
  static const std::map<std::string, MakeScore> kScores = {
      {"bestfit", Make<BestFit>},
      {"binpack", Make<Binpack>},
      {"dotprod", Make<DotProduct>},
      {"fgd",
       [](const Outlook& outlook) -> std::unique_ptr<Score> {
         return std::make_unique<Fgd>(outlook.pods);
       }},
      {"gpuclustering", Make<GpuClustering>},
      {"gpupacking", Make<GpuPacking>},
      {"links", Make<LinksScore>},
      {"random", Make<RandomScore>},
      {"spread", Make<Spread>},
      {"stranding",
       [](const Outlook& outlook) -> std::unique_ptr<Score> {
         return std::make_unique<Stranding>(outlook.pods, outlook.scarcity);
       }},
  };
  return kScores;
}

constexpr std::int32_t kMostWeight = 1000;
constexpr std::int64_t kMostAmount = std::int64_t{1} << 40;  // of a duration in ms: 34 years
constexpr std::int32_t kMinutesOfDay = 24 * 60;
constexpr std::int32_t kMostUsageWeight = 1'000'000;
constexpr std::int32_t kLeastOvercommit = 1000, kMostOvercommit = 1'000'000;

// The weighted mean of several scores, rounded down to a fixed integer.
class WeightedScore final : public Score {
 public:
  WeightedScore(const EngineConfig& config, Outlook outlook) : outlook_(std::move(outlook)) {
    // One object for each score, and its weights together.
    std::map<std::string, std::shared_ptr<const Score>> made;
    const auto add = [&](const WeightedName& entry, std::vector<Weighted>& parts) {
      // While nobody with devices is expected, the fullest node.
      const bool blind = entry.name == "stranding" && !Stranding::Foresees(outlook_.pods);
      const std::string name = blind ? "binpack" : entry.name;
      auto& score = made[name];
      if (score == nullptr) score = Scores().at(name)(outlook_);
      for (Weighted& part : parts) {
        if (part.score == score) return void(part.weight += entry.weight);
      }
      parts.push_back({score, entry.weight});
    };
    for (const WeightedName& entry : config.node_scores) add(entry, nodes_);
    for (const WeightedName& entry : config.device_scores) add(entry, devices_);
  }
  const Outlook& outlook() const { return outlook_; }
  Points Rate(const NodeView& view, const TaskClass& cls) const override {
    if (nodes_.size() == 1) return nodes_[0].score->Rate(view, cls);
    return Mean(nodes_, [&](const Score& score) { return score.Rate(view, cls); });
  }
  Points RateDevice(const NodeView& view, const TaskClass& cls, const DeviceAsk& ask, int device,
                    std::uint64_t draw) const override {
    return Mean(devices_,
                [&](const Score& score) { return score.RateDevice(view, cls, ask, device, draw); });
  }

 private:
  struct Weighted {
    std::shared_ptr<const Score> score;
    std::int32_t weight;
  };
  template <class Ask>
  static Points Mean(const std::vector<Weighted>& parts, Ask ask) {
    std::int64_t sum = 0, weights = 0;
    for (const Weighted& part : parts) {
      sum += std::int64_t{part.weight} * ask(*part.score);
      weights += part.weight;
    }
    return static_cast<Points>(sum / weights);
  }

  Outlook outlook_;  // empty where none of them looks at it
  std::vector<Weighted> nodes_, devices_;
};

bool Uses(const EngineConfig& config, const std::string& name) {
  const auto is = [&](const WeightedName& entry) { return entry.name == name; };
  return std::any_of(config.node_scores.begin(), config.node_scores.end(), is) ||
         std::any_of(config.device_scores.begin(), config.device_scores.end(), is);
}

std::shared_ptr<const Score> MakeWeighted(const EngineConfig& config, const Books& books,
                                          std::shared_ptr<const Score> current) {
  Outlook outlook;
  if (Uses(config, "fgd") || Uses(config, "stranding")) {
    const bool told = !config.expected_pods.empty();
    outlook.pods = told ? config.expected_pods : books.recent_pods.expected();
    outlook.scarcity = ScarcityOf(outlook.pods, books.hardware);
  }
  const auto* known = dynamic_cast<const WeightedScore*>(current.get());
  if (known != nullptr && known->outlook() == outlook) return current;
  return std::make_shared<WeightedScore>(config, std::move(outlook));
}

// `what` is "score" and the like.
absl::Status ValidateWeights(const std::string& field, const std::string& what,
                             const std::vector<WeightedName>& entries,
                             const std::vector<std::string>& names) {
  if (entries.empty()) {
    return absl::InvalidArgumentError(field + ": empty, expected a " + what);
  }
  for (const WeightedName& entry : entries) {
    if (std::find(names.begin(), names.end(), entry.name) == names.end()) {
      std::string known;
      for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
      return absl::InvalidArgumentError(field + ": \"" + entry.name + "\" is not a " + what +
                                        ", expected one of " + known);
    }
    if (entry.weight < 1 || entry.weight > kMostWeight) {
      return absl::InvalidArgumentError(field + ": " + entry.name + ": weight: " +
                                        std::to_string(entry.weight) + ", expected 1 to 1000");
    }
  }
  return absl::OkStatus();
}

// Least disruptive first.
std::vector<std::unique_ptr<Action>> Actions() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<Allocate>());
  actions.push_back(std::make_unique<Consolidate>());
  actions.push_back(std::make_unique<Repair>());
  return actions;
}

absl::Status ValidateActions(const std::vector<std::string>& names) {
  const auto actions = Actions();
  std::string known;
  for (const auto& action : actions) {
    known += (known.empty() ? "" : ", ") + std::string(action->name());
  }
  // Not passes of their own: whoever finds no room in its turn asks for evictions there and then.
  for (const char* name : {"reclaim", "preempt"}) known += std::string(", ") + name;
  for (const std::string& name : names) {
    if (name == "reclaim" || name == "preempt") continue;
    const bool found = std::any_of(actions.begin(), actions.end(),
                                   [&](const auto& action) { return action->name() == name; });
    if (found) continue;
    return absl::InvalidArgumentError("disabled_actions: \"" + name +
                                      "\" is not an action, expected one of " + known);
  }
  return absl::OkStatus();
}

absl::Status ValidateConsolidation(const Consolidation& said) {
  const std::string where = "consolidation: ";
  const std::pair<const char*, std::int64_t> amounts[] = {
      {"moves_per_hour", said.moves_per_hour},
      {"horizon_ms", said.horizon_ms},
      {"restart_cost_ms", said.restart_cost_ms},
      {"budget", said.budget},
      {"return_timeout_ms", said.return_timeout_ms}};
  for (const auto& [name, amount] : amounts) {
    if (amount >= 0 && amount <= kMostAmount) continue;
    return absl::InvalidArgumentError(where + name + ": " + std::to_string(amount) +
                                      ", expected 0 to " + std::to_string(kMostAmount));
  }
  for (const DailyWindow& window : said.windows) {
    const auto minute = [](std::int32_t at) { return at >= 0 && at < kMinutesOfDay; };
    if (minute(window.begin_min) && minute(window.end_min)) continue;
    return absl::InvalidArgumentError(where + "windows: " + std::to_string(window.begin_min) +
                                      " to " + std::to_string(window.end_min) +
                                      ", expected minutes of a day, 0 to 1439");
  }
  return absl::OkStatus();
}

absl::Status ValidateConfig(const EngineConfig& config) {
  TEPHRA_RETURN_IF_ERROR(ValidateActions(config.disabled_actions));
  TEPHRA_RETURN_IF_ERROR(ValidateWeights("node_scores", "score", config.node_scores, ScoreNames()));
  TEPHRA_RETURN_IF_ERROR(
      ValidateWeights("device_scores", "score", config.device_scores, ScoreNames()));
  TEPHRA_RETURN_IF_ERROR(
      ValidateWeights("victim_costs", "cost", config.victim_costs, VictimCostNames()));
  if (Uses(config, "fgd") && config.expected_pods.empty()) {
    return absl::InvalidArgumentError(
        "expected_pods: empty, expected the shapes of pods that score fgd is to keep room for");
  }
  for (const ExpectedPod& pod : config.expected_pods) {
    if (!(pod.share >= 0 && pod.share <= 1)) {
      return absl::InvalidArgumentError("expected_pods: share: " + std::to_string(pod.share) +
                                        ", expected 0 to 1");
    }
    if (pod.compute < 0 || pod.compute > kWholeGpu) {
      return absl::InvalidArgumentError("expected_pods: compute: " + std::to_string(pod.compute) +
                                        ", expected 0 to 1000 per mille");
    }
  }
  if (config.search_budget < 0) {
    return absl::InvalidArgumentError("search_budget: " + std::to_string(config.search_budget) +
                                      ", expected at least 0");
  }
  if (config.eviction_budget < 0) {
    return absl::InvalidArgumentError("eviction_budget: " + std::to_string(config.eviction_budget) +
                                      ", expected at least 0");
  }
  TEPHRA_RETURN_IF_ERROR(ValidateConsolidation(config.consolidation));
  const std::int32_t percent = config.backfill.predict.percent;
  if (percent < 1 || percent > 100) {
    return absl::InvalidArgumentError("backfill: predict: percent: " + std::to_string(percent) +
                                      ", expected 1 to 100");
  }
  if (config.backfill.reservations < 1) {
    return absl::InvalidArgumentError(
        "backfill: reservations: " + std::to_string(config.backfill.reservations) +
        ", expected at least 1");
  }
  if (config.priority_boost_ms < 0) {
    return absl::InvalidArgumentError(
        "priority_boost_ms: " + std::to_string(config.priority_boost_ms) + ", expected at least 0");
  }
  if (config.usage_half_life_ms < 0) {
    return absl::InvalidArgumentError(
        "usage_half_life_ms: " + std::to_string(config.usage_half_life_ms) +
        ", expected above 0 (0: past usage does not count)");
  }
  if (config.usage_weight_permille < 0 || config.usage_weight_permille > kMostUsageWeight) {
    return absl::InvalidArgumentError(
        "usage_weight_permille: " + std::to_string(config.usage_weight_permille) +
        ", expected 0 to " + std::to_string(kMostUsageWeight));
  }
  if (config.overcommit_permille < kLeastOvercommit ||
      config.overcommit_permille > kMostOvercommit) {
    return absl::InvalidArgumentError(
        "overcommit_permille: " + std::to_string(config.overcommit_permille) + ", expected " +
        std::to_string(kLeastOvercommit) + " to " + std::to_string(kMostOvercommit));
  }
  if (config.assume_timeout_ms < 1) {
    return absl::InvalidArgumentError(
        "assume_timeout_ms: " + std::to_string(config.assume_timeout_ms) + ", expected at least 1");
  }
  if (config.full_verify_every < 0) {
    return absl::InvalidArgumentError(
        "full_verify_every: " + std::to_string(config.full_verify_every) +
        ", expected at least 0 (0: never)");
  }
  return absl::OkStatus();
}

Policies MakePolicies(const EngineConfig& config, std::shared_ptr<const Score> score) {
  Policies policies;
  policies.order = std::make_unique<FairOrder>();
  if (config.enqueue_gate == EnqueueGate::kVolcano) {
    policies.admission = std::make_unique<VolcanoGate>(config.overcommit_permille);
  }
  policies.entitlement = std::make_unique<QueueLimits>();
  policies.score = std::move(score);
  policies.fit = std::make_unique<SliceFit>(*policies.score);
  policies.placer = std::make_unique<GroupPlacer>(
      std::make_unique<LocalPlacer>(std::make_unique<GangPlacer>(config.search_budget),
                                    config.search_budget),
      config.search_budget);
  policies.share = std::make_unique<FairShares>();
  policies.victims = std::make_unique<VictimCost>(config);
  policies.eviction = std::make_unique<EvictionSearch>(config.eviction_budget);
  policies.relocation = std::make_unique<MoveSearch>(config.consolidation);
  if (config.backfill.mode != Backfill::Mode::kNone) {
    policies.reservations = std::make_unique<PlannedReservations>(config.backfill);
  }
  return policies;
}

}  // namespace

std::vector<std::string> ScoreNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : Scores()) names.push_back(name);
  return names;
}

Assembly DefaultAssembly() {
  Assembly assembly;
  assembly.validate = ValidateConfig;
  assembly.score = MakeWeighted;
  assembly.policies = MakePolicies;
  assembly.actions = Actions();
  return assembly;
}

std::vector<Resources> QueueShares(const Books& books) { return FairShares().Of(books).share; }

}  // namespace tephra
