#include "settings/read.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "base/quantity.h"
#include "topology/resources.h"

namespace tephra {
namespace {

using Type = ConfigField::Type;

constexpr std::int64_t kThousand = 1000, kMillion = 1'000'000;

// An unsigned 64-bit number, as the int64 of the same bits.
std::optional<std::int64_t> UnsignedBits(const std::string& text) {
  std::uint64_t bits = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, bits);
  if (error != std::errc() || rest != end) return std::nullopt;
  return static_cast<std::int64_t>(bits);
}

std::optional<std::int64_t> Number(const ConfigField& field, const std::string& text) {
  switch (field.type) {
    case Type::kSwitch:
      if (text != "true" && text != "false") return std::nullopt;
      return text == "true" ? 1 : 0;
    case Type::kDuration:
      return ParseDuration(text);
    case Type::kFactor:
      return ParseQuantity(text, kThousand);
    case Type::kWord: {
      const auto word = std::find(field.words.begin(), field.words.end(), text);
      if (word == field.words.end()) return std::nullopt;
      return word - field.words.begin();
    }
    case Type::kWhole:
      if (field.least == std::numeric_limits<std::int64_t>::min()) return UnsignedBits(text);
      return ParseWhole(text);
    default:
      return ParseWhole(text);
  }
}

// Reads one item, or each item of a list.
void ReadEach(const Item& item, const std::function<void(const Item&)>& read) {
  if (item.node->kind == Yaml::Kind::kList) {
    ReadList(item, read);
  } else {
    read(item);
  }
}

std::vector<WeightedName> ReadWeightedNames(const ConfigField& field, const Item& item) {
  std::vector<WeightedName> names;
  ReadEach(item, [&](const Item& one) {
    WeightedName entry;
    if (one.node->kind == Yaml::Kind::kMap) {
      Fields fields(one);
      fields.Need("name");
      fields.Text("name", entry.name);
      fields.Whole("weight", entry.weight, field.least, field.most);
      fields.Done();
    } else {
      ReadText(one, entry.name);
    }
    names.push_back(std::move(entry));
  });
  return names;
}

// "22:00" as minutes since midnight.
std::optional<std::int32_t> ParseMinute(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  const auto hours = ParseWhole(text.substr(0, 2)), minutes = ParseWhole(text.substr(3));
  if (!hours || !minutes || *hours < 0 || *hours > 23 || *minutes < 0 || *minutes > 59) {
    return std::nullopt;
  }
  return static_cast<std::int32_t>(*hours * 60 + *minutes);
}

std::vector<DailyWindow> ReadWindows(const Item& item) {
  std::vector<DailyWindow> windows;
  ReadList(item, [&](const Item& one) {
    std::string text;
    if (!ReadText(one, text)) return;
    const auto begin = ParseMinute(std::string_view(text).substr(0, 5));
    const auto end = text.size() == 11 && text[5] == '-'
                         ? ParseMinute(std::string_view(text).substr(6))
                         : std::nullopt;
    if (begin && end && *begin != *end) return windows.push_back({*begin, *end});
    one.Wrong("a part of the day in UTC such as 22:00-06:00");
  });
  return windows;
}

ExpectedPod ReadPod(const Item& item) {
  ExpectedPod pod;
  std::int64_t share_of_gpu = kWholeGpu, millionths = 0;
  Fields fields(item);
  fields.Quantity("cpu", pod.cpu, kThousand);
  fields.Whole("gpus", pod.devices, 0, 1024);
  fields.Quantity("gpu_share", share_of_gpu, kWholeGpu);
  fields.Texts("gpu_models", pod.models);
  const Item share = fields.Need("share");
  if (share.node != nullptr && ReadQuantity(share, millionths, kMillion) && millionths > kMillion) {
    share.Wrong("a share of all pods, 0 to 1");
  }
  fields.Done();
  if (share_of_gpu < 1 || share_of_gpu > kWholeGpu) item.Wrong("a gpu_share above 0 and at most 1");
  pod.compute = pod.devices == 0 ? 0 : static_cast<std::int32_t>(share_of_gpu);
  pod.share = static_cast<double>(millionths) / static_cast<double>(kMillion);
  return pod;
}

// Nothing where the value is wrong; the item says so.
std::optional<ConfigValue> Read(const ConfigField& field, const Item& item) {
  switch (field.type) {
    case Type::kWeightedNames:
      return ReadWeightedNames(field, item);
    case Type::kNames: {
      std::vector<std::string> names;
      ReadTexts(item, names);
      return names;
    }
    case Type::kWindows:
      return ReadWindows(item);
    case Type::kPods: {
      std::vector<ExpectedPod> pods;
      ReadList(item, [&](const Item& one) { pods.push_back(ReadPod(one)); });
      return pods;
    }
    default: {
      const auto number = item.node->kind == Yaml::Kind::kText ? Number(field, item.node->text)
                                                               : std::nullopt;
      if (number && CheckValue(field, *number).ok()) return *number;
      item.Wrong(field.expected());
      return std::nullopt;
    }
  }
}

}  // namespace

void ReadSettings(Fields& fields, EngineConfig& config, const ReadInstead& instead) {
  std::map<std::string, std::optional<Fields>> groups;
  for (const ConfigField& field : ConfigFields()) {
    Fields* in = &fields;
    if (const std::string group = field.group(); !group.empty()) {
      const auto [known, first] = groups.try_emplace(group);
      if (first) {
        const Item item = fields.At(group);
        if (item.node != nullptr) known->second.emplace(item);
      }
      if (!known->second.has_value()) continue;
      in = &*known->second;
    }
    const Item item = in->At(field.key());
    if (item.node == nullptr || (instead && instead(field, item))) continue;
    const auto value = Read(field, item);
    if (value.has_value() && item.wrong->ok()) field.set(config, *value);
  }
  for (auto& [name, group] : groups) {
    if (group.has_value()) group->Done();
  }
}

}  // namespace tephra
