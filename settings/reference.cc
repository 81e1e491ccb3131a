#include "settings/reference.h"

#include <algorithm>
#include <vector>

#include "engine/config_fields.h"
#include "plugins/registry.h"

namespace tephra {
namespace {

using Type = ConfigField::Type;

constexpr std::size_t kLineBytes = 100;

std::string Joined(const std::vector<std::string>& words, const std::string& mark) {
  std::string text;
  for (const std::string& word : words) {
    text.append(text.empty() ? "" : ", ").append(mark).append(word).append(mark);
  }
  return text;
}

// Words in lines of at most kLineBytes, `first` before the first line and `next` before the others.
std::string Wrapped(const std::string& text, const std::string& first, const std::string& next) {
  std::string lines, line, prefix = first;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string word = text.substr(at, end - at);
    if (!line.empty() && prefix.size() + line.size() + 1 + word.size() > kLineBytes) {
      lines.append(prefix).append(line).append("\n");
      line.clear();
      prefix = next;
    }
    line.append(line.empty() ? "" : " ").append(word);
    at = end + 1;
  }
  return lines.append(prefix).append(line).append("\n");
}

std::string Values(const ConfigField& field) {
  const std::vector<std::string> names = SettingNames(field.name);
  std::string text = "Values: ";
  text += field.type == Type::kWord ? Joined(field.words, "`") : field.expected();
  text += ".";
  if (!names.empty()) text += " Names: " + Joined(names, "`") + ".";
  return text;
}

std::string Default(const ConfigField& field) {
  const ConfigValue value = field.get(EngineConfig{});
  const auto* weighted = std::get_if<std::vector<WeightedName>>(&value);
  if (weighted == nullptr) return "`" + ValueText(field, value) + "`";
  std::string text;
  for (const WeightedName& entry : *weighted) {
    text += (text.empty() ? "`" : ", `") + entry.name + "` " + std::to_string(entry.weight);
  }
  return text;
}

}  // namespace

std::string SettingsYaml(const EngineConfig& config, const std::string& indent) {
  std::string text, group;
  for (const ConfigField& field : ConfigFields()) {
    if (field.group() != group) {
      group = field.group();
      if (!group.empty()) text += indent + group + ":\n";
    }
    const std::string before = indent + (group.empty() ? "" : "  ");
    text += Wrapped(field.doc, before + "# ", before + "# ");
    if (field.type == Type::kWord) text += before + "# One of " + Joined(field.words, "") + ".\n";
    text += before + field.key() + ": " + ValueText(field, field.get(config)) + "\n";
  }
  return text;
}

std::string SettingsMarkdown() {
  std::string text;
  for (const ConfigField& field : ConfigFields()) {
    text += Wrapped("`" + std::string(field.name) + "`: " + field.doc + " Default: " +
                        Default(field) + ". " + Values(field),
                    "- ", "  ");
  }
  return text;
}

}  // namespace tephra
