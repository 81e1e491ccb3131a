#include "plugins/registry.h"

#include <algorithm>
#include <map>
#include <utility>

#include "engine/config_fields.h"
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
#include "plugins/rentorbuy/rent_or_buy.h"
#include "plugins/repair/repair.h"
#include "plugins/stranding/stranding.h"
#include "plugins/vgpu/slice_fit.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

// What some scores look at; empty where none of them does.
struct Outlook {
  std::vector<ExpectedPod> given;  // expected by the configuration
  std::vector<ExpectedPod> pods;   // expected by the configuration and as they came recently
  Scarcity scarcity;

  bool operator==(const Outlook&) const = default;
};

using MakeScore = std::function<std::unique_ptr<Score>(const Outlook&)>;

template <class T>
std::unique_ptr<Score> Make(const Outlook&) {
  return std::make_unique<T>();
}

std::map<std::string, MakeScore>& Scores() {
  static std::map<std::string, MakeScore> scores = {
      {"bestfit", Make<BestFit>},
      {"binpack", Make<Binpack>},
      {"dotprod", Make<DotProduct>},
      {"fgd",
       [](const Outlook& outlook) -> std::unique_ptr<Score> {
         return std::make_unique<Fgd>(outlook.given);
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
  return scores;
}

// Empty: FairOrder.
OrderRegistration::Make& RegisteredOrder() {
  static OrderRegistration::Make make;
  return make;
}

// The weighted mean of several scores, rounded down to a fixed integer.
class WeightedScore final : public Score {
 public:
  WeightedScore(const EngineConfig& config, Outlook outlook) : outlook_(std::move(outlook)) {
    // One object for each score, and its weights together.
    std::map<std::string, std::shared_ptr<const Score>> made;
    const auto add = [&](const WeightedName& entry, std::vector<Weighted>& parts) {
      // While no pods with devices are expected, the fullest node.
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

  Outlook outlook_;
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
  if (Uses(config, "fgd")) outlook.given = config.expected_pods;
  if (Uses(config, "stranding")) {
    outlook.pods = books.recent_pods.ExpectedWith(config.expected_pods);
    outlook.scarcity = ScarcityOf(outlook.pods, books.hardware);
  }
  const auto* known = dynamic_cast<const WeightedScore*>(current.get());
  if (known != nullptr && known->outlook() == outlook) return current;
  return std::make_shared<WeightedScore>(config, std::move(outlook));
}

// Least disruptive first.
std::vector<std::unique_ptr<Action>> Actions() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<Allocate>());
  actions.push_back(std::make_unique<Consolidate>());
  actions.push_back(std::make_unique<Repair>());
  return actions;
}

// Each name of a list is one that this build knows.
absl::Status CheckNames(const ConfigField& field, const std::vector<std::string>& used) {
  const std::vector<std::string> known = SettingNames(field.name);
  for (const std::string& name : used) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    std::string all;
    for (const std::string& each : known) all += (all.empty() ? "" : ", ") + each;
    return absl::InvalidArgumentError(std::string(field.name) + ": \"" + name +
                                      "\", expected one of " + all);
  }
  return absl::OkStatus();
}

absl::Status ValidateConfig(const EngineConfig& config) {
  TEPHRA_RETURN_IF_ERROR(CheckValues(config));
  for (const ConfigField& field : ConfigFields()) {
    const ConfigValue value = field.get(config);
    if (const auto* names = std::get_if<std::vector<std::string>>(&value)) {
      TEPHRA_RETURN_IF_ERROR(CheckNames(field, *names));
    } else if (const auto* weighted = std::get_if<std::vector<WeightedName>>(&value)) {
      if (weighted->empty()) {
        return absl::InvalidArgumentError(std::string(field.name) +
                                          ": empty, expected at least one name");
      }
      std::vector<std::string> used;
      for (const WeightedName& entry : *weighted) used.push_back(entry.name);
      TEPHRA_RETURN_IF_ERROR(CheckNames(field, used));
    }
  }
  if (Uses(config, "fgd") && config.expected_pods.empty()) {
    return absl::InvalidArgumentError(
        "expected_pods: empty, expected the pods that score fgd keeps room for");
  }
  return absl::OkStatus();
}

Policies MakePolicies(const EngineConfig& config, std::shared_ptr<const Score> score) {
  Policies policies;
  if (const OrderRegistration::Make& make = RegisteredOrder()) {
    policies.order = make();
  } else {
    policies.order = std::make_unique<FairOrder>();
  }
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
  policies.worth = std::make_unique<RentOrBuy>(config.lost_work);
  policies.eviction = std::make_unique<EvictionSearch>(config.eviction_budget);
  policies.relocation = std::make_unique<MoveSearch>(config.moves);
  if (config.reservations.mode != ReservationSettings::Mode::kNone) {
    policies.reservations = std::make_unique<PlannedReservations>(config.reservations);
  }
  return policies;
}

}  // namespace

ScoreRegistration::ScoreRegistration(std::string name, Make make) {
  const bool name_is_new =
      Scores()
          .emplace(std::move(name), [make = std::move(make)](const Outlook&) { return make(); })
          .second;
  TEPHRA_CHECK(name_is_new);
}

OrderRegistration::OrderRegistration(Make make) {
  const bool is_the_only_order = !RegisteredOrder();
  TEPHRA_CHECK(is_the_only_order);
  RegisteredOrder() = std::move(make);
}

std::vector<std::string> ScoreNames() {
  std::vector<std::string> names;
  for (const auto& [name, make] : Scores()) names.push_back(name);
  return names;
}

std::vector<std::string> SettingNames(const std::string& setting) {
  if (setting == "node_scores" || setting == "device_scores") return ScoreNames();
  if (setting == "victim_costs") return VictimCostNames();
  if (setting != "disabled_actions") return {};
  std::vector<std::string> names;
  for (const auto& action : Actions()) names.emplace_back(action->name());
  // Evictions are part of action allocate: a gang that finds no room asks for them in its turn.
  names.insert(names.end(), {"reclaim", "preempt"});
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

std::vector<Resources> QueueShares(const Books& books) { return FairShares::SharesOf(books); }

}  // namespace tephra
