#include "sidecar/wire/config_codec.h"

#include <string>
#include <utility>
#include <vector>

#include "engine/config_fields.h"
#include "topology/base/check.h"

namespace tephra {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

const FieldDescriptor* Find(const Message& message, const std::string& name) {
  const FieldDescriptor* found = message.GetDescriptor()->FindFieldByName(name);
  TEPHRA_CHECK(found != nullptr);
  return found;
}

// --- a setting to a field of the message --------------------------------------------------------

struct Setter {
  Message& message;
  const FieldDescriptor* field;
  TextCopier& text;

  template <class Wire>
  Wire* Add() const {
    return static_cast<Wire*>(message.GetReflection()->AddMessage(&message, field));
  }

  void operator()(std::int64_t value) const {
    const Reflection& to = *message.GetReflection();
    switch (field->cpp_type()) {
      case FieldDescriptor::CPPTYPE_BOOL:
        return to.SetBool(&message, field, value != 0);
      case FieldDescriptor::CPPTYPE_INT32:
        return to.SetInt32(&message, field, static_cast<std::int32_t>(value));
      case FieldDescriptor::CPPTYPE_ENUM:
        return to.SetEnumValue(&message, field, static_cast<int>(value) + 1);
      default:
        return to.SetInt64(&message, field, value);
    }
  }
  void operator()(const std::vector<WeightedName>& names) const {
    for (const WeightedName& entry : names) {
      v1::WeightedName* wire = Add<v1::WeightedName>();
      text.Copy(entry.name, wire->mutable_name());
      wire->set_weight(entry.weight);
    }
  }
  void operator()(const std::vector<std::string>& names) const {
    for (const std::string& name : names) {
      std::string copy;
      text.Copy(name, &copy);
      message.GetReflection()->AddString(&message, field, std::move(copy));
    }
  }
  void operator()(const std::vector<DailyWindow>& windows) const {
    for (const DailyWindow& window : windows) {
      v1::DailyWindow* wire = Add<v1::DailyWindow>();
      wire->set_begin_min(window.begin_min);
      wire->set_end_min(window.end_min);
    }
  }
  void operator()(const std::vector<ExpectedPod>& pods) const {
    for (const ExpectedPod& pod : pods) {
      v1::ExpectedPod* wire = Add<v1::ExpectedPod>();
      wire->set_cpu(pod.cpu);
      wire->set_devices(pod.devices);
      wire->set_compute(pod.compute);
      text.CopyAll(pod.models, wire->mutable_models());
      wire->set_share(pod.share);
    }
  }
};

// --- and back -----------------------------------------------------------------------------------

std::int64_t Number(const Message& message, const FieldDescriptor* field) {
  const Reflection& from = *message.GetReflection();
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_BOOL:
      return from.GetBool(message, field) ? 1 : 0;
    case FieldDescriptor::CPPTYPE_INT32:
      return from.GetInt32(message, field);
    case FieldDescriptor::CPPTYPE_ENUM:
      return std::int64_t{from.GetEnumValue(message, field)} - 1;
    default:
      return from.GetInt64(message, field);
  }
}

template <class Wire>
ConfigValue List(const Message& message, const FieldDescriptor* field, auto decode) {
  std::vector<decltype(decode(Wire()))> list;
  const Reflection& from = *message.GetReflection();
  for (int i = 0; i < from.FieldSize(message, field); ++i) {
    list.push_back(decode(static_cast<const Wire&>(from.GetRepeatedMessage(message, field, i))));
  }
  return list;
}

ConfigValue Value(const Message& message, const FieldDescriptor* field, ConfigField::Type type) {
  switch (type) {
    case ConfigField::Type::kWeightedNames:
      return List<v1::WeightedName>(message, field, [](const v1::WeightedName& wire) {
        return WeightedName{wire.name(), wire.weight()};
      });
    case ConfigField::Type::kNames: {
      std::vector<std::string> names;
      for (int i = 0; i < message.GetReflection()->FieldSize(message, field); ++i) {
        names.push_back(message.GetReflection()->GetRepeatedString(message, field, i));
      }
      return names;
    }
    case ConfigField::Type::kWindows:
      return List<v1::DailyWindow>(message, field, [](const v1::DailyWindow& wire) {
        return DailyWindow{wire.begin_min(), wire.end_min()};
      });
    case ConfigField::Type::kPods:
      return List<v1::ExpectedPod>(message, field, [](const v1::ExpectedPod& wire) {
        return ExpectedPod{wire.cpu(),
                           wire.devices(),
                           wire.compute(),
                           {wire.models().begin(), wire.models().end()},
                           wire.share()};
      });
    default:
      return Number(message, field);
  }
}

}  // namespace

void EncodeConfig(const EngineConfig& in, TextCopier& text, v1::Config* out) {
  for (const ConfigField& setting : ConfigFields()) {
    const std::string group = setting.group();
    Message* to = out;
    if (!group.empty()) to = out->GetReflection()->MutableMessage(out, Find(*out, group));
    std::visit(Setter{*to, Find(*to, setting.wire_key()), text}, setting.get(in));
  }
}

absl::Status DecodeConfig(const v1::Config& in, const FieldPath& at, EngineConfig& out) {
  for (const ConfigField& setting : ConfigFields()) {
    const std::string group = setting.group();
    const Message& from = group.empty() ? in : in.GetReflection()->GetMessage(in, Find(in, group));
    const FieldDescriptor* field = Find(from, setting.wire_key());
    if (!field->is_repeated() && !from.GetReflection()->HasField(from, field)) continue;
    const ConfigValue value = Value(from, field, setting.type);
    // An enum has no room for other values. The engine refuses all else, and a replay repeats that.
    if (setting.type == ConfigField::Type::kWord && !CheckValue(setting, value).ok()) {
      const FieldPath parent = group.empty() ? at : at.At(group.c_str());
      return BadField(parent.At(field->name().c_str()), std::get<std::int64_t>(value) + 1,
                      "1 to " + std::to_string(setting.most + 1));
    }
    setting.set(out, value);
  }
  return absl::OkStatus();
}

}  // namespace tephra
