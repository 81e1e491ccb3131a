#include "base/fields.h"

#include <algorithm>

#include "base/bad_input.h"
#include "base/quantity.h"

namespace tephra {
namespace {

std::string Child(const std::string& path, const std::string& key) {
  return path.empty() ? key : path + "." + key;
}

std::string RangeText(std::int64_t least, std::int64_t most) {
  constexpr std::int64_t kOpen = std::numeric_limits<std::int32_t>::max();
  std::string text = "a whole number";
  if (most >= kOpen) return least <= -kOpen ? text : text + " of at least " + std::to_string(least);
  return text + " from " + std::to_string(least) + " to " + std::to_string(most);
}

std::string ListText(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i) {
    text += (i == 0 ? "" : i + 1 == words.size() ? " or " : ", ") + words[i];
  }
  return text;
}

// Whether there is a control character other than a line break or a tab.
bool HasControl(const std::string& text) {
  return std::any_of(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\r' && c != '\t') ||
           c == 0x7f;
  });
}

}  // namespace

void Diagnosis::Wrong(int line, const std::string& field, const std::string& value,
                      const std::string& expected) {
  if (status_.ok()) status_ = BadInput(file_, line, field, value, expected);
}

void Diagnosis::Wrong(int line, const absl::Status& status) {
  if (!status_.ok() || status.ok()) return;
  const std::string text(status.message());
  status_ = absl::Status(status.code(), file_ + ":" + std::to_string(line) + ": " + text);
}

std::string Item::Shown() const {
  switch (node->kind) {
    case Yaml::Kind::kNull:
      return "";
    case Yaml::Kind::kText:
      return node->text;
    case Yaml::Kind::kList:
      return "a list of " + std::to_string(node->items.size());
    case Yaml::Kind::kMap:
      return "a map of " + std::to_string(node->entries.size());
  }
  return "";
}

void Item::Wrong(const std::string& expected) const {
  wrong->Wrong(node->line, path, Shown(), expected);
}

bool ReadText(const Item& item, std::string& out) {
  if (item.node->kind != Yaml::Kind::kText || item.node->text.empty()) {
    item.Wrong("text");
    return false;
  }
  // So that no name can control the terminal on which it is printed.
  if (HasControl(item.node->text)) {
    item.Wrong("text without control characters");
    return false;
  }
  out = item.node->text;
  return true;
}

bool ReadWhole(const Item& item, std::int64_t& out, std::int64_t least, std::int64_t most) {
  const auto value = item.node->kind == Yaml::Kind::kText ? ParseWhole(item.node->text)
                                                          : std::optional<std::int64_t>();
  if (!value || *value < least || *value > most) {
    item.Wrong(RangeText(least, most));
    return false;
  }
  out = *value;
  return true;
}

bool ReadSwitch(const Item& item, bool& out) {
  const bool yes = item.node->text == "true";
  if (item.node->kind != Yaml::Kind::kText || (!yes && item.node->text != "false")) {
    item.Wrong("true or false");
    return false;
  }
  out = yes;
  return true;
}

bool ReadDuration(const Item& item, DurationMs& out) {
  const auto value = item.node->kind == Yaml::Kind::kText ? ParseDuration(item.node->text)
                                                          : std::optional<DurationMs>();
  if (!value) {
    item.Wrong("a duration such as 30s, 10m or 1h30m, at most a hundred years");
    return false;
  }
  out = *value;
  return true;
}

bool ReadQuantity(const Item& item, std::int64_t& out, std::int64_t per) {
  const auto value = item.node->kind == Yaml::Kind::kText ? ParseQuantity(item.node->text, per)
                                                          : std::optional<std::int64_t>();
  if (!value) {
    item.Wrong("a quantity of at least 0 such as 2, 500m or 64Gi, at most " +
               std::to_string(kMostQuantity / per));
    return false;
  }
  out = *value;
  return true;
}

bool ReadTexts(const Item& item, std::vector<std::string>& out) {
  std::vector<std::string> texts;
  if (item.node->kind == Yaml::Kind::kText) {
    if (!ReadText(item, texts.emplace_back())) return false;
  } else if (!ReadList(item, [&](const Item& one) { ReadText(one, texts.emplace_back()); })) {
    return false;
  }
  out = std::move(texts);
  return true;
}

bool ReadList(const Item& item, const std::function<void(const Item&)>& each) {
  if (item.node->kind == Yaml::Kind::kNull) return true;
  if (item.node->kind != Yaml::Kind::kList) {
    item.Wrong("a list");
    return false;
  }
  for (std::size_t i = 0; i < item.node->items.size() && item.wrong->ok(); ++i) {
    each({item.node->items[i].get(), item.path + "[" + std::to_string(i) + "]", item.wrong});
  }
  return true;
}

bool ReadMap(const Item& item, const std::function<void(const std::string&, const Item&)>& each) {
  if (item.node->kind == Yaml::Kind::kNull) return true;
  if (item.node->kind != Yaml::Kind::kMap) {
    item.Wrong("a map");
    return false;
  }
  for (const Yaml::Entry& entry : item.node->entries) {
    if (!item.wrong->ok()) break;
    each(entry.key, {entry.value.get(), Child(item.path, entry.key), item.wrong});
  }
  return true;
}

Fields::Fields(const Item& item) : item_(item) {
  if (item.node->kind != Yaml::Kind::kMap) item.Wrong("a map of fields");
}

const Yaml::Entry* Fields::Entry(const std::string& key) const {
  const auto& entries = item_.node->entries;
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Yaml::Entry& entry) { return entry.key == key; });
  return found == entries.end() ? nullptr : &*found;
}

Item Fields::At(const std::string& key) {
  known_.push_back(key);
  const Yaml::Entry* entry = Entry(key);
  if (entry == nullptr) return {nullptr, "", item_.wrong};
  return {entry->value.get(), Child(item_.path, key), item_.wrong};
}

Item Fields::Need(const std::string& key) {
  Item found = At(key);
  if (found.node == nullptr && item_.node->kind == Yaml::Kind::kMap) {
    item_.wrong->Wrong(item_.node->line, Child(item_.path, key), "", "this field");
  }
  return found;
}

bool Fields::Text(const std::string& key, std::string& out) {
  const Item found = At(key);
  return found.node != nullptr && ReadText(found, out);
}

bool Fields::Texts(const std::string& key, std::vector<std::string>& out) {
  const Item found = At(key);
  return found.node != nullptr && ReadTexts(found, out);
}

bool Fields::Switch(const std::string& key, bool& out) {
  const Item found = At(key);
  return found.node != nullptr && ReadSwitch(found, out);
}

bool Fields::Duration(const std::string& key, DurationMs& out) {
  const Item found = At(key);
  return found.node != nullptr && ReadDuration(found, out);
}

bool Fields::Quantity(const std::string& key, std::int64_t& out, std::int64_t per) {
  const Item found = At(key);
  return found.node != nullptr && ReadQuantity(found, out, per);
}

bool Fields::OneOf(const std::string& key, const std::vector<std::string>& words, int& index) {
  const Item found = At(key);
  if (found.node == nullptr) return false;
  const auto word = std::find(words.begin(), words.end(), found.node->text);
  if (found.node->kind != Yaml::Kind::kText || word == words.end()) {
    found.Wrong(ListText(words));
    return false;
  }
  index = static_cast<int>(word - words.begin());
  return true;
}

bool Fields::List(const std::string& key, const std::function<void(const Item&)>& each) {
  const Item found = At(key);
  return found.node != nullptr && ReadList(found, each);
}

bool Fields::Map(const std::string& key,
                 const std::function<void(const std::string&, const Item&)>& each) {
  const Item found = At(key);
  return found.node != nullptr && ReadMap(found, each);
}

bool Fields::HasMore() const {
  return std::any_of(item_.node->entries.begin(), item_.node->entries.end(),
                     [&](const Yaml::Entry& entry) {
                       return std::find(known_.begin(), known_.end(), entry.key) == known_.end();
                     });
}

void Fields::Done() {
  for (const Yaml::Entry& entry : item_.node->entries) {
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    item_.wrong->Wrong(entry.line, item_.path.empty() ? "key" : item_.path, entry.key,
                       "one of " + ListText(known_) + NearestWord(entry.key, known_));
  }
}

}  // namespace tephra
