// Yaml: one document as a plain tree of values that know their line.
//
// Aliases share their node, so a tree takes no more memory than its text; its expanded size and
// its depth are bounded, so that walking it is too. Immutable once read; any thread may read.
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

  std::int64_t size = 1;  // values and keys, each alias counted as what it stands for
  int depth = 1;          // levels
};

constexpr std::int64_t kMostYamlNodes = 1'000'000;
constexpr int kMostYamlDepth = 64;
constexpr std::size_t kMostYamlBytes = 256u << 20;

// INVALID_ARGUMENT names `file` and the line: no YAML, a key given twice, a key that is no plain
// text, an alias of something around itself, too many or too deep nodes, a second document.
absl::StatusOr<Yaml::Ptr> ParseYaml(const std::string& file, const std::string& text);

// `over` laid over `base`: maps key by key, new keys last; anything else takes the place of what
// was there, but for nothing at all, which changes nothing. A map of both has the line of `over`.
Yaml::Ptr LaidOver(const Yaml::Ptr& base, const Yaml::Ptr& over);

// Reads the file (see text_file.h for what it refuses) and parses it.
absl::StatusOr<Yaml::Ptr> ReadYaml(const std::string& path);

}  // namespace tephra
