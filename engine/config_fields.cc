#include "engine/config_fields.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <type_traits>
#include <utility>

#include "topology/resources.h"

namespace tephra {
namespace {

using Type = ConfigField::Type;

constexpr std::int64_t kMostInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int64_t kLeastInt64 = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t kMostInt64 = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kDayMs = 24 * 3600 * kSecondMs;
constexpr std::int64_t kLongestMs = 10'000 * kDayMs;
constexpr std::int64_t kMostWeight = 1000;
constexpr std::int64_t kMostPercent = 1000;
constexpr std::int64_t kThousand = 1000, kMillion = 1'000'000;
constexpr std::int32_t kMinutesOfHour = 60, kMinutesOfDay = 24 * 60;
constexpr std::int32_t kMostDevices = 1024;

// The member at the end of a path of members.
template <auto... path>
auto& Member(auto& config) {
  return (config.*....*path);
}

template <class T>
constexpr bool kIsNumber = std::is_integral_v<T> || std::is_enum_v<T>;

// A row of the table for the member at the end of the path.
template <auto... path>
ConfigField Row(const char* name, Type type, const char* doc, std::int64_t least = 0,
                std::int64_t most = 0, std::vector<std::string> words = {}) {
  ConfigField field{name, type, doc, least, most, std::move(words)};
  if (type == Type::kSwitch) field.most = 1;
  if (type == Type::kWord) field.most = std::ssize(field.words) - 1;
  field.get = [](const EngineConfig& config) {
    const auto& member = Member<path...>(config);
    if constexpr (kIsNumber<std::decay_t<decltype(member)>>) {
      return ConfigValue(static_cast<std::int64_t>(member));
    } else {
      return ConfigValue(member);
    }
  };
  field.set = [](EngineConfig& config, const ConfigValue& value) {
    auto& member = Member<path...>(config);
    using T = std::decay_t<decltype(member)>;
    if constexpr (kIsNumber<T>) {
      member = static_cast<T>(std::get<std::int64_t>(value));
    } else {
      member = std::get<T>(value);
    }
  };
  return field;
}

// The setting is an unsigned 64-bit number. A ConfigValue holds its bits, so any value is valid.
bool IsUnsigned(const ConfigField& field) {
  return field.type == Type::kWhole && field.least == kLeastInt64;
}

// A member of EngineConfig, of its settings of lost work, of moves and of reservations.
#define OF(member) &EngineConfig::member
#define OF_LOST_WORK(member) &EngineConfig::lost_work, &LossSettings::member
#define OF_MOVES(member) &EngineConfig::moves, &MoveSettings::member
#define OF_RESERVATIONS(member) &EngineConfig::reservations, &ReservationSettings::member

std::vector<ConfigField> Table() {
  return {
      Row<OF(node_scores)>("node_scores", Type::kWeightedNames,
                           "Scores that rank nodes; the highest weighted mean wins.", 1,
                           kMostWeight),
      Row<OF(device_scores)>("device_scores", Type::kWeightedNames,
                             "Scores that rank the GPUs of a node for a slice.", 1, kMostWeight),
      Row<OF(ties)>("ties", Type::kWord,
                    "Which of the best nodes is used: the first by name, or a random one.", 0, 0,
                    {"name", "random"}),
      Row<OF(seed)>("seed", Type::kWhole, "Seed of `ties: random` and of score `random`.",
                    kLeastInt64, kMostInt64),
      Row<OF(expected_pods)>(
          "expected_pods", Type::kPods,
          "Pods to keep room for, for scores `fgd` and `stranding`. Score `stranding` adds the pods "
          "that arrived recently; the list counts as 100 pods."),
      Row<OF(search_budget)>("search_budget", Type::kWhole,
                             "Steps of the exact search for one gang.", 0, kMostInt32),
      Row<OF(eviction_budget)>("eviction_budget", Type::kWhole,
                               "Steps of the exact search for the victims of one gang.", 0,
                               kMostInt32),
      Row<OF(victim_costs)>("victim_costs", Type::kWeightedNames,
                            "What makes a task costly to evict.", 1, kMostWeight),
      Row<OF_LOST_WORK(max_loss_percent)>(
          "reclaim.max_loss_percent", Type::kWhole,
          "How much work reclaim for a fair share may lose, in percent of what the job gains. The gain "
          "is its GPUs times its wait, and for each victim at most its GPUs times the run time that the "
          "victim has left.",
          0, kMostPercent),
      Row<OF_LOST_WORK(patience_ms)>(
          "reclaim.patience", Type::kDuration,
          "A job that waited so long for the fair share of its queue has other jobs evicted, whatever "
          "they lose. 0s: at once.",
          0, kLongestMs),
      Row<OF_LOST_WORK(quota_patience_ms)>(
          "reclaim.quota_patience", Type::kDuration,
          "A job whose queue stays within its `deserved` or `guarantee`, and that waited so long, has other jobs "
          "evicted, whatever they lose. 0s: at once.", 0, kLongestMs),
      Row<OF_LOST_WORK(restart_cost_ms)>(
          "reclaim.restart_cost", Type::kDuration,
          "What each restart costs a task, beside the work since its last checkpoint.", 0, kLongestMs),
      Row<OF_MOVES(mode)>(
          "consolidation.mode", Type::kWord,
          "Whether Tephra moves jobs for a gang if enough room is free, but in pieces that are too "
          "small. Only jobs that allow it are moved. `dry-run` reports the moves and does not make "
          "them.",
          0, 0, {"off", "dry-run", "on"}),
      Row<OF_MOVES(moves_per_hour)>("consolidation.moves_per_hour", Type::kWhole,
                                            "Tasks that may be moved in one hour.", 0, kMostInt32),
      Row<OF_MOVES(windows)>(
          "consolidation.windows", Type::kWindows,
          "Parts of the day, in UTC, in which tasks may be moved. Empty: always."),
      Row<OF_MOVES(horizon_ms)>(
          "consolidation.horizon", Type::kDuration,
          "A plan is worth its moves if the GPUs of the gang, for this long, exceed the lost work "
          "of the moved tasks.",
          0, kLongestMs),
      Row<OF_MOVES(restart_cost_ms)>(
          "consolidation.restart_cost", Type::kDuration,
          "What each restart costs a moved task, beside the work since its last checkpoint.", 0,
          kLongestMs),
      Row<OF_MOVES(budget)>("consolidation.budget", Type::kWhole,
                                    "Placements tried in the search for the fewest moves for one "
                                    "gang.",
                                    0, kMostInt32),
      Row<OF_MOVES(return_timeout_ms)>(
          "consolidation.return_timeout", Type::kDuration,
          "How long the room of a moved task stays reserved while its pod is gone.", 0, kLongestMs),
      Row<OF_RESERVATIONS(mode)>(
          "backfill.mode", Type::kWord,
          "Which pending jobs get a reservation. `none`: no job. `easy`: the first jobs, as many "
          "as `reservations` says. `conservative`: all jobs.",
          0, 0, {"none", "easy", "conservative"}),
      Row<OF_RESERVATIONS(order)>(
          "backfill.order", Type::kWord,
          "In which order jobs without a reservation are tried: in queue order, or the shortest "
          "run-time estimate first.",
          0, 0, {"turn", "shortest-first"}),
      Row<OF_RESERVATIONS(count)>("backfill.reservations", Type::kWhole,
                                     "How many pending jobs get a reservation in mode `easy`.", 1,
                                     kMostInt32),
      Row<OF_RESERVATIONS(per_queue)>("backfill.per_queue", Type::kSwitch,
                                  "`true`: `reservations` is the number for each queue. `false`: "
                                  "for all queues together."),
      Row<OF_RESERVATIONS(predict)>(
          "backfill.predict", Type::kWord,
          "Which jobs get a run-time estimate from earlier jobs. `unstated`: jobs whose owner states "
          "no run time. `all`: all jobs; the stated run time is the most. `none`: no job.",
          0, 0, {"none", "unstated", "all"}),
      Row<OF(evict_from_unhealthy)>(
          "evict_from_unhealthy_devices", Type::kSwitch,
          "Whether gangs that hold slices of an unhealthy GPU are evicted."),
      Row<OF(incomplete_gang_timeout_ms)>(
          "incomplete_gang_timeout", Type::kDuration,
          "A gang that has run with less than its minimum for so long is evicted whole. 0s: never; "
          "the controller of the job decides.",
          0, kLongestMs),
      Row<OF(stuck_pod_timeout_ms)>(
          "stuck_pod_timeout", Type::kDuration,
          "A pod that still terminates so long after its grace period counts as stuck: no job waits "
          "for its room. 0s: never.",
          0, kLongestMs),
      Row<OF(non_preemptible_quota)>(
          "non_preemptible_quota", Type::kWord,
          "What jobs that are not preemptible may use of a queue from which other queues may reclaim. "
          "`deserved`: at most its `deserved` or `guarantee`, for resources of which a queue with the "
          "same parent deserves something. `none`: as much as other jobs.",
          0, 0, {"none", "deserved"}),
      Row<OF(assume_timeout_ms)>(
          "assume_timeout", Type::kDuration,
          "How long Tephra waits for facts. A placement that no fact has confirmed counts as used "
          "for this time. A node on which a binding failed is avoided for this time.",
          1, kLongestMs),
      Row<OF(priority_boost_ms)>(
          "priority_boost", Type::kDuration,
          "The priority of a pending job rises by one after each such time. 0s: never.", 0,
          kLongestMs),
      Row<OF(job_order)>(
          "job_order", Type::kWord,
          "Order of jobs of one queue and priority: first come, shortest job, shortest remaining "
          "time, or shortest remaining time times GPUs.",
          0, 0, {"fifo", "sjf", "srtf", "srsf"}),
      Row<OF(report_job_ahead)>(
          "report_job_ahead", Type::kSwitch,
          "Whether each pending job of a FIFO queue gets a new reason whenever another job is "
          "first. A cycle then costs as much as the queue is long. `false`: only when the job "
          "arrives."),
      Row<OF(usage_half_life_ms)>(
          "usage_half_life", Type::kDuration,
          "Past usage counts for fair shares, half as much after each such time. 0s: it does not "
          "count.",
          0, kLongestMs),
      Row<OF(usage_weight_permille)>(
          "usage_weight", Type::kFactor,
          "How much past usage counts beside the weights of queues. 0: only among the users of one "
          "queue.",
          0, kMillion),
      Row<OF(gang_locality)>(
          "gang_locality", Type::kWord,
          "Placement of gangs that request no locality: as near as there is room, or by score "
          "alone.",
          0, 0, {"near", "none"}),
      Row<OF(enqueue_gate)>(
          "enqueue_gate", Type::kWord,
          "Which pending jobs are tried: all, or only jobs that Volcano's action enqueue would "
          "admit.",
          0, 0, {"none", "volcano"}),
      Row<OF(overcommit_permille)>(
          "overcommit_factor", Type::kFactor,
          "How much of the cluster admitted jobs may use or wait for, with `enqueue_gate: "
          "volcano`.",
          kThousand, kMillion),
      Row<OF(full_verify_every)>(
          "full_verify_every", Type::kWhole,
          "Cycles between two recomputations of all sums, or as many as there are nodes and tasks "
          "if that is more. 0: never.",
          0, kMostInt32),
      Row<OF(disabled_actions)>("disabled_actions", Type::kNames, "Actions that never run."),
  };
}

#undef OF
#undef OF_LOST_WORK
#undef OF_MOVES
#undef OF_RESERVATIONS

// "90s", "1h", "7d": in the largest unit that gives a whole number.
std::string DurationValue(std::int64_t ms) {
  constexpr std::pair<std::int64_t, const char*> kUnits[] = {
      {kDayMs, "d"}, {3600 * kSecondMs, "h"}, {60 * kSecondMs, "m"}, {kSecondMs, "s"}};
  if (ms == 0) return "0s";
  for (const auto& [unit, suffix] : kUnits) {
    if (ms % unit == 0) return std::to_string(ms / unit) + suffix;
  }
  return std::to_string(ms) + "ms";
}

// With at most as many decimals as `unit` has zeros.
std::string DecimalValue(std::int64_t amount, std::int64_t unit) {
  const std::uint64_t size = amount < 0 ? 0 - static_cast<std::uint64_t>(amount) : amount;
  std::string text = (amount < 0 ? "-" : "") + std::to_string(size / unit);
  std::string part = std::to_string(unit + size % unit).substr(1);
  part.erase(part.find_last_not_of('0') + 1);
  return part.empty() ? text : text + "." + part;
}

std::string MinuteValue(std::int32_t minute) {
  const auto two = [](std::int32_t n) { return std::to_string(100 + n).substr(1); };
  return two(minute / kMinutesOfHour) + ":" + two(minute % kMinutesOfHour);
}

std::string ListText(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

std::string Flow(const char* open, const std::vector<std::string>& parts, const char* close) {
  std::string text = open;
  for (const std::string& part : parts) text += (&part == &parts.front() ? "" : ", ") + part;
  return text + close;
}

std::string ItemText(const WeightedName& entry) {
  return "{ name: " + entry.name + ", weight: " + std::to_string(entry.weight) + " }";
}
std::string ItemText(const std::string& name) { return name; }
std::string ItemText(const DailyWindow& window) {
  return "\"" + MinuteValue(window.begin_min) + "-" + MinuteValue(window.end_min) + "\"";
}
std::string ItemText(const ExpectedPod& pod) {
  std::string text = "{ cpu: " + DecimalValue(pod.cpu, kThousand);
  if (pod.devices != 0) {
    text += ", gpus: " + std::to_string(pod.devices) +
            ", gpu_share: " + DecimalValue(pod.compute, kWholeGpu);
  }
  if (!pod.models.empty()) text += ", gpu_models: " + Flow("[", pod.models, "]");
  return text + ", share: " + DecimalValue(std::llround(pod.share * kMillion), kMillion) + " }";
}

struct TextOf {
  const ConfigField& field;

  std::string operator()(std::int64_t value) const {
    switch (field.type) {
      case Type::kSwitch:
        return value != 0 ? "true" : "false";
      case Type::kDuration:
        return DurationValue(value);
      case Type::kFactor:
        return DecimalValue(value, kThousand);
      case Type::kWord:
        if (value >= 0 && value < std::ssize(field.words)) {
          return field.words[static_cast<std::size_t>(value)];
        }
        return "word " + std::to_string(value);
      default:
        if (IsUnsigned(field)) return std::to_string(static_cast<std::uint64_t>(value));
        return std::to_string(value);
    }
  }
  template <class T>
  std::string operator()(const std::vector<T>& list) const {
    std::vector<std::string> parts;
    for (const T& item : list) parts.push_back(ItemText(item));
    return Flow("[", parts, "]");
  }
};

struct WrongIn {
  const ConfigField& field;

  // The value that is wrong and what is expected of it; empty: all is well.
  std::string operator()(std::int64_t value) const {
    if (value >= field.least && value <= field.most) return "";
    return TextOf{field}(value) + ", expected " + field.expected();
  }
  std::string operator()(const std::vector<WeightedName>& list) const {
    for (const WeightedName& entry : list) {
      if (entry.weight >= field.least && entry.weight <= field.most) continue;
      return entry.name + ": weight: " + std::to_string(entry.weight) + ", expected " +
             std::to_string(field.least) + " to " + std::to_string(field.most);
    }
    return "";
  }
  std::string operator()(const std::vector<std::string>&) const { return ""; }
  std::string operator()(const std::vector<DailyWindow>& list) const {
    const auto minute = [](std::int32_t at) { return at >= 0 && at < kMinutesOfDay; };
    for (const DailyWindow& window : list) {
      if (minute(window.begin_min) && minute(window.end_min) && window.begin_min != window.end_min)
        continue;
      return std::to_string(window.begin_min) + " to " + std::to_string(window.end_min) +
             ", expected two different minutes of a day, 0 to 1439";
    }
    return "";
  }
  std::string operator()(const std::vector<ExpectedPod>& list) const {
    for (const ExpectedPod& pod : list) {
      if (!(pod.share >= 0 && pod.share <= 1)) {
        return "share: " + std::to_string(pod.share) + ", expected 0 to 1";
      }
      if (pod.compute < 0 || pod.compute > kWholeGpu) {
        return "gpu_share: " + DecimalValue(pod.compute, kWholeGpu) + ", expected 0 to 1";
      }
      if (pod.devices < 0 || pod.devices > kMostDevices) {
        return "gpus: " + std::to_string(pod.devices) + ", expected 0 to " +
               std::to_string(kMostDevices);
      }
      if (pod.cpu < 0) return "cpu: " + std::to_string(pod.cpu) + ", expected at least 0";
    }
    return "";
  }
};

}  // namespace

std::string ConfigField::group() const {
  const std::string path = name;
  const std::size_t dot = path.find('.');
  return dot == std::string::npos ? "" : path.substr(0, dot);
}

std::string ConfigField::key() const {
  const std::string path = name;
  return path.substr(path.find('.') + 1);
}

std::string ConfigField::wire_key() const {
  return key() + (type == Type::kDuration ? "_ms" : type == Type::kFactor ? "_permille" : "");
}

std::string ConfigField::expected() const {
  switch (type) {
    case Type::kSwitch:
      return "true or false";
    case Type::kWhole:
      if (IsUnsigned(*this)) {
        return "a whole number from 0 to " +
               std::to_string(std::numeric_limits<std::uint64_t>::max());
      }
      if (most >= kMostInt32) return "a whole number of at least " + std::to_string(least);
      return "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
    case Type::kDuration:
      return "a duration such as 30s, 10m or 1h30m, from " + DurationValue(least) + " to " +
             DurationValue(most);
    case Type::kFactor:
      return "a number from " + DecimalValue(least, kThousand) + " to " +
             DecimalValue(most, kThousand);
    case Type::kWord:
      return ListText(words);
    case Type::kWeightedNames:
      return "a name, or a list of names and { name, weight }, weights from " +
             std::to_string(least) + " to " + std::to_string(most);
    case Type::kNames:
      return "a list of names";
    case Type::kWindows:
      return "a list of parts of the day in UTC such as \"22:00-06:00\"";
    case Type::kPods:
      return "a list of pods { cpu, gpus, gpu_share, gpu_models, share }";
  }
  return "";
}

const std::vector<ConfigField>& ConfigFields() {
  static const std::vector<ConfigField> kFields = Table();
  return kFields;
}

std::string ValueText(const ConfigField& field, const ConfigValue& value) {
  return std::visit(TextOf{field}, value);
}

absl::Status CheckValue(const ConfigField& field, const ConfigValue& value) {
  const std::string wrong = std::visit(WrongIn{field}, value);
  if (wrong.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(std::string(field.name) + ": " + wrong);
}

absl::Status CheckValues(const EngineConfig& config) {
  for (const ConfigField& field : ConfigFields()) {
    TEPHRA_RETURN_IF_ERROR(CheckValue(field, field.get(config)));
  }
  return absl::OkStatus();
}

}  // namespace tephra
