// Yaml: one document as a plain tree of values with their lines.
//
// Aliases share their node, so a tree needs no more memory than its text. Its expanded size and its
// depth are bounded, so walking it is bounded, too. Immutable once read; any thread may read.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "topology/base/status.h"

namespace tephra {

struct Yaml {
  enum class Kind : std::uint8_t { kNull, kText, kList, kMap };
  using Ptr = std::shared_ptr<const Yaml>;

  struct Entry {
    std::string key;
    int line = 0;
    Ptr value;
  };

  Kind kind = Kind::kNull;
  int line = 0;
  std::string text;            // kText
  std::vector<Ptr> items;      // kList
  std::vector<Entry> entries;  // kMap, in the order of the file; no key comes twice

  std::int64_t size = 1;  // values and keys, with aliases expanded
  int depth = 1;          // levels
};

constexpr std::int64_t kMostYamlNodes = 1'000'000;
constexpr int kMostYamlDepth = 64;
constexpr std::size_t kMostYamlBytes = 256u << 20;

// INVALID_ARGUMENT names `file` and the line: no YAML, a duplicate key, a key that is no plain
// text, an alias to an enclosing node, too many or too deep nodes, a second document.
absl::StatusOr<Yaml::Ptr> ParseYaml(const std::string& file, const std::string& text);

// Merges `over` into `base`: maps key by key, new keys last. Any other value replaces the old
// value, but an empty value changes nothing. A merged map has the line of `over`.
Yaml::Ptr LaidOver(const Yaml::Ptr& base, const Yaml::Ptr& over);

// Reads the file (see text_file.h for what it refuses) and parses it.
absl::StatusOr<Yaml::Ptr> ReadYaml(const std::string& path);

}  // namespace tephra
