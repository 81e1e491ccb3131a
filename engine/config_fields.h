// ConfigField describes one setting of EngineConfig. ConfigFields() is the only list of the
// settings: the YAML reader, the wire codec, the range check and the reference page
// (docs/reference/configuration.md) follow it.
//
// To add a setting, add a member to EngineConfig, a row in config_fields.cc and a field to
// tephra.v1.Config. A test fails while one of the three is missing.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "engine/config.h"
#include "topology/base/status.h"

namespace tephra {

// A switch, a number, a duration in ms, a factor in thousandths or the index of a word is a number.
using ConfigValue =
    std::variant<std::int64_t, std::vector<WeightedName>, std::vector<std::string>,
                 std::vector<DailyWindow>, std::vector<ExpectedPod>>;

struct ConfigField {
  enum class Type : std::uint8_t {
    kSwitch,
    kWhole,
    kDuration,       // in ms
    kFactor,         // a decimal number, in thousandths
    kWord,           // one of `words`; the number is the index
    kWeightedNames,  // `least` and `most` bound the weights
    kNames,
    kWindows,
    kPods,
  };

  const char* name;  // "consolidation.horizon" is the field `horizon` of the map `consolidation`
  Type type;
  const char* doc;  // one sentence
  std::int64_t least = 0, most = 0;
  std::vector<std::string> words = {};

  ConfigValue (*get)(const EngineConfig&) = nullptr;
  // REQUIRES: the value is of the field's kind, and of a word there is one.
  void (*set)(EngineConfig&, const ConfigValue&) = nullptr;

  std::string group() const;  // "consolidation"; empty: none
  std::string key() const;    // "horizon"
  // The name of the field of tephra.v1.Config, or of the message of its group: "horizon_ms".
  std::string wire_key() const;
  // What a value must be: "a whole number from 1 to 100".
  std::string expected() const;
};

const std::vector<ConfigField>& ConfigFields();

// The value in YAML, on one line.
std::string ValueText(const ConfigField& field, const ConfigValue& value);

// INVALID_ARGUMENT "backfill.reservations: 0, expected a whole number of at least 1".
absl::Status CheckValue(const ConfigField& field, const ConfigValue& value);
// The same for all fields. Names of scores, costs and actions are not checked here.
absl::Status CheckValues(const EngineConfig& config);

}  // namespace tephra
