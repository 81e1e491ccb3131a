#include "text/engine_settings.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>

#include "text/quantity.h"

namespace tephra {
namespace {

constexpr std::int64_t kMostUsageWeight = 1'000'000;  // per mille
constexpr std::int64_t kLeastOvercommit = 1000, kMostOvercommit = 1'000'000;

// "22:00" as minutes since midnight.
std::optional<std::int32_t> ParseMinute(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto hours = ParseWhole(text.substr(0, 2)), minutes = ParseWhole(text.substr(3));
  if (!hours || !minutes || *hours < 0 || *hours > 23 || *minutes < 0 || *minutes > 59) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(*hours * 60 + *minutes);
}

DailyWindow ReadWindow(const Item& item) {
  std::string text;
  DailyWindow window;
  if (!ReadText(item, text)) return window;
  const auto begin = ParseMinute(std::string_view(text).substr(0, 5));
  const auto end = text.size() == 11 && text[5] == '-'
                       ? ParseMinute(std::string_view(text).substr(6))
                       : std::nullopt;
  if (begin && end && *begin != *end) return {*begin, *end};
  item.Wrong("a stretch of the day in UTC such as 22:00-06:00");
  return window;
}

void ReadConsolidation(const Item& item, Consolidation& out) {
  if (item.node == nullptr) return;
  Fields fields(item);
  int mode = static_cast<int>(out.mode);
  fields.OneOf("mode", {"off", "dry-run", "on"}, mode);
  out.mode = static_cast<Consolidation::Mode>(mode);
  fields.Whole("moves_per_hour", out.moves_per_hour, 0);
  if (fields.Has("windows")) out.windows.clear();
  fields.List("windows", [&](const Item& one) { out.windows.push_back(ReadWindow(one)); });
  fields.Duration("horizon", out.horizon_ms);
  fields.Duration("restart_cost", out.restart_cost_ms);
  fields.Whole("budget", out.budget, 0);
  fields.Duration("return_timeout", out.return_timeout_ms);
  fields.Done();
}

void ReadBackfill(const Item& item, Backfill& out) {
  if (item.node == nullptr) return;
  Fields fields(item);
  int mode = static_cast<int>(out.mode), order = static_cast<int>(out.order);
  fields.OneOf("mode", {"none", "easy", "conservative"}, mode);
  out.mode = static_cast<Backfill::Mode>(mode);
  fields.OneOf("order", {"turn", "shortest-first"}, order);
  out.order = static_cast<Backfill::Order>(order);
  fields.Whole("reservations", out.reservations, 1);
  fields.Switch("per_queue", out.per_queue);
  int by = static_cast<int>(out.predict.by);
  fields.OneOf("predict", {"none", "last-two", "quantile"}, by);
  out.predict.by = static_cast<RunPrediction::By>(by);
  fields.Whole("predict_percent", out.predict.percent, 1, 100);
  fields.Done();
}

}  // namespace

void ReadScores(const Item& item, std::vector<WeightedName>& scores) {
  if (item.node == nullptr) return;
  scores.clear();
  const auto read = [&](const Item& one) {
    WeightedName entry;
    if (one.node->kind == Yaml::Kind::kMap) {
      Fields fields(one);
      fields.Need("name");
      fields.Text("name", entry.name);
      fields.Whole("weight", entry.weight, 1);
      fields.Done();
    } else {
      ReadText(one, entry.name);
    }
    scores.push_back(std::move(entry));
  };
  if (item.node->kind == Yaml::Kind::kList) {
    ReadList(item, read);
  } else {
    read(item);
  }
}

void ReadTies(Fields& fields, Ties& ties) {
  int word = static_cast<int>(ties);
  fields.OneOf("ties", {"name", "random"}, word);
  ties = static_cast<Ties>(word);
}

void ReadCommonSettings(Fields& fields, EngineConfig& config) {
  fields.Whole("search_budget", config.search_budget, 0);
  fields.Whole("eviction_budget", config.eviction_budget, 0);
  ReadScores(fields.At("victim_costs"), config.victim_costs);
  ReadConsolidation(fields.At("consolidation"), config.consolidation);
  ReadBackfill(fields.At("backfill"), config.backfill);
  fields.Switch("evict_from_unhealthy_devices", config.evict_from_unhealthy);
  fields.Whole("seed", config.seed, 0, std::numeric_limits<std::int64_t>::max());
  fields.Duration("assume_timeout", config.assume_timeout_ms);
  fields.Duration("priority_boost", config.priority_boost_ms);
  int order = static_cast<int>(config.job_order);
  fields.OneOf("job_order", {"fifo", "sjf", "srtf", "srsf"}, order);
  config.job_order = static_cast<JobOrder>(order);
  fields.Switch("tell_behind", config.tells_behind);
  const Item half_life = fields.At("usage_half_life");
  if (half_life.node != nullptr && ReadDuration(half_life, config.usage_half_life_ms) &&
      config.usage_half_life_ms <= 0) {
    half_life.Wrong("a duration above 0 such as 12h or 7d; left out: past usage does not count");
  }
  const Item usage_weight = fields.At("usage_weight");
  std::int64_t permille = 0;
  if (usage_weight.node != nullptr && ReadQuantity(usage_weight, permille, 1000)) {
    if (permille > kMostUsageWeight) usage_weight.Wrong("a number from 0 to 1000");
    config.usage_weight_permille = static_cast<std::int32_t>(std::min(permille, kMostUsageWeight));
  }
  int locality = static_cast<int>(config.gang_locality);
  fields.OneOf("gang_locality", {"near", "none"}, locality);
  config.gang_locality = static_cast<GangLocality>(locality);
  int gate = static_cast<int>(config.enqueue_gate);
  fields.OneOf("enqueue_gate", {"none", "volcano"}, gate);
  config.enqueue_gate = static_cast<EnqueueGate>(gate);
  const Item factor = fields.At("overcommit_factor");
  if (factor.node != nullptr) {
    const bool text = factor.node->kind == Yaml::Kind::kText;
    const auto overcommit = text ? ParseQuantity(factor.node->text, 1000) : std::nullopt;
    if (!overcommit || *overcommit < kLeastOvercommit || *overcommit > kMostOvercommit) {
      factor.Wrong("a number from 1 to 1000");
    } else {
      config.overcommit_permille = static_cast<std::int32_t>(*overcommit);
    }
  }
  fields.Whole("full_verify_every", config.full_verify_every, 0);
  fields.Texts("disabled_actions", config.disabled_actions);
}

}  // namespace tephra
