// Fields: reads one YAML mapping field by field. The first fault is reported with file, line,
// field, value, and what was expected.
//
//   Diagnosis wrong(path);
//   Fields fields({root.get(), "", &wrong});
//   fields.Text("name", name);
//   fields.Whole("members", members, 1);
//   fields.Done();                       // every other key is unknown
//   if (!wrong.ok()) return wrong.status();
//
// After the first fault the readers continue, and the status at the end is that fault. An absent
// field leaves its target unchanged. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/yaml_tree.h"
#include "topology/base/status.h"
#include "topology/base/time.h"

namespace tephra {

// The first fault of a file.
class Diagnosis {
 public:
  explicit Diagnosis(std::string file) : file_(std::move(file)) {}
  void Wrong(int line, const std::string& field, const std::string& value,
             const std::string& expected);
  // A fault from code that knows no line.
  void Wrong(int line, const absl::Status& status);
  // A fault in another file, with its own position.
  void Keep(const absl::Status& status) {
    if (status_.ok()) status_ = status;
  }
  bool ok() const { return status_.ok(); }
  const absl::Status& status() const { return status_; }
  const std::string& file() const { return file_; }

 private:
  std::string file_;
  absl::Status status_;
};

// One value of the tree and its path, "jobs[3].gpus".
struct Item {
  const Yaml* node = nullptr;
  std::string path;
  Diagnosis* wrong = nullptr;

  void Wrong(const std::string& expected) const;
  // The value as messages show it.
  std::string Shown() const;
};

// Readers of one value. They return false and change nothing if the value has another type.
bool ReadText(const Item& item, std::string& out);  // not empty
bool ReadWhole(const Item& item, std::int64_t& out, std::int64_t least, std::int64_t most);
bool ReadSwitch(const Item& item, bool& out);  // true or false
bool ReadDuration(const Item& item, DurationMs& out);
// A Kubernetes quantity times `per` (ParseQuantity), at least 0.
bool ReadQuantity(const Item& item, std::int64_t& out, std::int64_t per);
bool ReadTexts(const Item& item, std::vector<std::string>& out);  // a list, or a single text
// Calls `each` with "path[0]", "path[1]" ... An empty value is an empty list.
bool ReadList(const Item& item, const std::function<void(const Item&)>& each);
// Calls `each` with every key and "path.key". An empty value is an empty map.
bool ReadMap(const Item& item, const std::function<void(const std::string&, const Item&)>& each);

class Fields {
 public:
  // Reports a fault if the item is no mapping; it then has no fields.
  explicit Fields(const Item& item);

  int line() const { return item_.node->line; }
  const Item& item() const { return item_; }
  Diagnosis& wrong() { return *item_.wrong; }
  bool Has(const std::string& key) const { return Entry(key) != nullptr; }
  // A key that was not read so far.
  bool HasMore() const;
  // Marks the key as known. `node` is null if the key is absent.
  Item At(const std::string& key);
  // As At; an absent key is a fault.
  Item Need(const std::string& key);

  bool Text(const std::string& key, std::string& out);
  bool Texts(const std::string& key, std::vector<std::string>& out);
  bool Switch(const std::string& key, bool& out);
  bool Duration(const std::string& key, DurationMs& out);
  bool Quantity(const std::string& key, std::int64_t& out, std::int64_t per);
  template <class Number>
  bool Whole(const std::string& key, Number& out,
             std::int64_t least = std::numeric_limits<Number>::min(),
             std::int64_t most = std::numeric_limits<Number>::max()) {
    std::int64_t value = 0;
    const Item found = At(key);
    if (found.node == nullptr || !ReadWhole(found, value, least, most)) return false;
    out = static_cast<Number>(value);
    return true;
  }
  // One of the words; gives its index.
  bool OneOf(const std::string& key, const std::vector<std::string>& words, int& index);
  bool List(const std::string& key, const std::function<void(const Item&)>& each);
  bool Map(const std::string& key,
           const std::function<void(const std::string&, const Item&)>& each);

  // Reports a key that was not read as a fault.
  void Done();

 private:
  const Yaml::Entry* Entry(const std::string& key) const;

  Item item_;
  std::vector<std::string> known_;
};

}  // namespace tephra
