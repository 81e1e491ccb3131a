// One table of settings: EngineConfig, YAML, the wire and the reference page agree with it.
#include <algorithm>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include <catch2/catch.hpp>

#include "settings/read.h"
#include "settings/reference.h"
#include "tephra/v1/event.pb.h"
#include "tests/support/dice.h"

namespace tephra {
namespace {

using Type = ConfigField::Type;

// Anything that a member of an aggregate can be made from.
struct Any {
  template <class T>
  operator T() const;
};

// The number of members of an aggregate.
template <class T, class... Members>
constexpr int MemberCount() {
  if constexpr (requires { T{Members()..., Any()}; }) {
    return MemberCount<T, Members..., Any>();
  } else {
    return sizeof...(Members);
  }
}

// Rows of a group; of "", the groups too, each once.
int Rows(const std::string& group) {
  std::set<std::string> names;
  for (const ConfigField& field : ConfigFields()) {
    if (field.group() == group) names.insert(field.key());
    if (group.empty() && !field.group().empty()) names.insert(field.group());
  }
  return static_cast<int>(names.size());
}

// All 64 bits are used, so no number is out of range.
bool IsUnsigned(const ConfigField& field) {
  return field.least == std::numeric_limits<std::int64_t>::min();
}

ConfigValue ValueInRange(const ConfigField& field, Dice& dice) {
  switch (field.type) {
    case Type::kWeightedNames:
      return std::vector<WeightedName>{{"binpack", dice.From(1, 1000)}, {"x-1", 1}};
    case Type::kNames:
      return std::vector<std::string>{"allocate", "reclaim"};
    case Type::kWindows:
      return std::vector<DailyWindow>{{dice.Below(700), 700 + dice.Below(700)}, {1320, 360}};
    case Type::kPods:
      return std::vector<ExpectedPod>{{dice.Below(9000), 1, dice.From(1, 1000), {"A", "B"}, 0.125},
                                      {500, 0, 0, {}, dice.Below(1000) / 1e6}};
    default:
      if (IsUnsigned(field)) return static_cast<std::int64_t>(dice.Next());
      return field.least + static_cast<std::int64_t>(dice.Next() >> 2) % (field.most - field.least) +
             dice.Below(2);
  }
}

absl::StatusOr<EngineConfig> Parse(const std::string& text) {
  const auto document = ParseYaml("file", text);
  if (!document.ok()) return document.status();
  EngineConfig config;
  Diagnosis wrong("file");
  Fields top({document->get(), "", &wrong});
  Fields fields(top.Need("engine"));
  ReadSettings(fields, config);
  fields.Done();
  if (!wrong.ok()) return wrong.status();
  return config;
}

TEST_CASE("Settings: each member of the configuration has a row") {
  CHECK(MemberCount<EngineConfig>() == Rows(""));
  CHECK(MemberCount<MoveSettings>() == Rows("consolidation"));
  CHECK(MemberCount<ReservationSettings>() == Rows("backfill"));
}

TEST_CASE("Settings: the rows and the fields of the wire message are the same") {
  std::map<std::string, std::set<std::string>> rows;
  for (const ConfigField& field : ConfigFields()) {
    rows[field.group()].insert(field.wire_key());
    if (!field.group().empty()) rows[""].insert(field.group());
  }
  const auto* config = v1::Config::descriptor();
  for (const auto& [group, names] : rows) {
    INFO("group \"" << group << "\"");
    const auto* message = config;
    if (!group.empty()) {
      REQUIRE(config->FindFieldByName(group) != nullptr);
      message = config->FindFieldByName(group)->message_type();
    }
    std::set<std::string> fields;
    for (int i = 0; i < message->field_count(); ++i) fields.insert(message->field(i)->name());
    CHECK(fields == names);
  }
  for (const ConfigField& field : ConfigFields()) {
    INFO(field.name);
    const std::string group = field.group();
    const auto* message = group.empty() ? config : config->FindFieldByName(group)->message_type();
    const auto* wire = message->FindFieldByName(field.wire_key());
    REQUIRE(wire != nullptr);
    CHECK((wire->is_repeated() || wire->has_optional_keyword()));
    const bool is_word = wire->cpp_type() == google::protobuf::FieldDescriptor::CPPTYPE_ENUM;
    REQUIRE(is_word == (field.type == Type::kWord));
    // Besides "unspecified".
    if (is_word) CHECK(wire->enum_type()->value_count() == std::ssize(field.words) + 1);
  }
}

TEST_CASE("Settings: what is printed is read back as the same") {
  CHECK(*Parse("engine:\n" + SettingsYaml(EngineConfig{}, "  ")) == EngineConfig{});
  Dice dice(20261123);
  for (int i = 0; i < 200; ++i) {
    EngineConfig config;
    for (const ConfigField& field : ConfigFields()) {
      if (dice.Percent(70)) field.set(config, ValueInRange(field, dice));
    }
    const std::string text = "engine:\n" + SettingsYaml(config, "  ");
    INFO(text);
    const auto read = Parse(text);
    REQUIRE(read.status() == absl::OkStatus());
    REQUIRE(CheckValues(*read) == absl::OkStatus());
    for (const ConfigField& field : ConfigFields()) {
      INFO(field.name);
      REQUIRE(ValueText(field, field.get(*read)) == ValueText(field, field.get(config)));
    }
    REQUIRE(*read == config);
  }
}

TEST_CASE("Settings: a number outside its range is refused with the range, by YAML and by the check") {
  for (const ConfigField& field : ConfigFields()) {
    if (!std::holds_alternative<std::int64_t>(field.get(EngineConfig{}))) continue;
    if (IsUnsigned(field)) continue;
    std::vector<std::int64_t> values = {field.least - 1};
    if (field.most < std::numeric_limits<std::int64_t>::max()) values.push_back(field.most + 1);
    for (const std::int64_t value : values) {
      INFO(field.name << " " << value);
      const absl::Status status = CheckValue(field, value);
      REQUIRE(absl::IsInvalidArgument(status));
      CHECK(status.message().find(std::string(field.name) + ": ") == 0);
      CHECK(status.message().find("expected " + field.expected()) != std::string::npos);
      const std::string group = field.group();
      std::string line = field.key() + ": " + ValueText(field, value);
      if (field.type == Type::kSwitch) line = field.key() + ": maybe";
      if (!group.empty()) line = group + ": { " + line + " }";
      const auto read = Parse("engine: { " + line + " }");
      REQUIRE_FALSE(read.ok());
      CHECK(read.status().message().find("file:1: engine." + std::string(field.name)) == 0);
      CHECK(read.status().message().find("expected " + field.expected()) != std::string::npos);
    }
  }
}

TEST_CASE("Settings: the seed is any unsigned 64-bit number, and nothing else") {
  for (const std::uint64_t seed : {std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max()}) {
    const auto read = Parse("engine: { seed: " + std::to_string(seed) + " }");
    REQUIRE(read.status() == absl::OkStatus());
    CHECK(read->seed == seed);
    CHECK(CheckValues(*read) == absl::OkStatus());
  }
  for (const char* wrong : {"-1", "18446744073709551616", "1x", "''"}) {
    INFO(wrong);
    const auto read = Parse("engine: { seed: " + std::string(wrong) + " }");
    REQUIRE_FALSE(read.ok());
    CHECK(read.status().message().find("expected a whole number from 0 to 18446744073709551615") !=
          std::string::npos);
  }
}

TEST_CASE("Settings: the reference page is current") {
  const std::string path = TEPHRA_ROOT "/docs/reference/configuration.md";
  std::stringstream page;
  page << std::ifstream(path).rdbuf();
  const std::string begin = "<!-- tephra config --markdown -->\n", end = "<!-- end -->";
  const std::size_t from = page.str().find(begin), to = page.str().find(end);
  INFO("put the output of `tephra config --markdown` between the two marks of " << path);
  REQUIRE(from != std::string::npos);
  REQUIRE(to != std::string::npos);
  CHECK(page.str().substr(from + begin.size(), to - from - begin.size()) == SettingsMarkdown());
}

}  // namespace
}  // namespace tephra
