#include "base/yaml_tree.h"

#include <algorithm>
#include <sstream>
#include <unordered_map>
#include <unordered_set>

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/yaml.h>

#include "base/bad_input.h"
#include "base/text_file.h"

namespace tephra {
namespace {

// Builds the tree bottom up from the parser's events. Ignores events after the first fault.
class Builder final : public YAML::EventHandler {
 public:
  explicit Builder(const std::string& file) : file_(file) {}

  const absl::Status& fault() const { return fault_; }
  const Yaml::Ptr& root() const { return root_; }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!fault_.ok()) return;
    Finish(Make(mark, Yaml::Kind::kNull), anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    if (!fault_.ok()) return;
    auto node = Make(mark, Yaml::Kind::kText);
    node->text = value;
    Finish(std::move(node), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    if (!fault_.ok()) return;
    const auto known = anchors_.find(anchor);
    if (known == anchors_.end()) {
      Fault(mark.line + 1, "alias", "an anchor that ends before it is used");
      return;
    }
    Hang(known->second, mark.line + 1);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    Open(mark, Yaml::Kind::kList, anchor);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    Open(mark, Yaml::Kind::kMap, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Level {
    std::shared_ptr<Yaml> node;
    YAML::anchor_t anchor = 0;
    bool key_open = false;  // the key of a map was read, its value was not
    std::unordered_set<std::string> keys;
  };

  std::shared_ptr<Yaml> Make(const YAML::Mark& mark, Yaml::Kind kind) {
    auto node = std::make_shared<Yaml>();
    node->kind = kind;
    node->line = mark.line + 1;
    return node;
  }

  void Fault(int line, const std::string& value, const std::string& expected) {
    if (fault_.ok()) fault_ = BadInput(file_, line, "", value, expected);
  }

  void Open(const YAML::Mark& mark, Yaml::Kind kind, YAML::anchor_t anchor) {
    if (!fault_.ok()) return;
    if (static_cast<int>(levels_.size()) >= kMostYamlDepth) {
      Fault(mark.line + 1, "a level deeper", DepthText());
      return;
    }
    levels_.push_back({Make(mark, kind), anchor, false, {}});
  }

  void Close() {
    if (!fault_.ok()) return;
    Level level = std::move(levels_.back());
    levels_.pop_back();
    Finish(std::move(level.node), level.anchor);
  }

  void Finish(std::shared_ptr<Yaml> node, YAML::anchor_t anchor) {
    Yaml::Ptr done = std::move(node);
    if (anchor != 0) anchors_[anchor] = done;
    const int line = done->line;
    Hang(std::move(done), line);
  }

  // Adds a finished node to its parent; `line` is where the node is written or used.
  void Hang(Yaml::Ptr node, int line) {
    if (levels_.empty()) {
      root_ = std::move(node);
      return;
    }
    Level& level = levels_.back();
    Yaml& parent = *level.node;
    parent.size += node->size;
    parent.depth = std::max(parent.depth, node->depth + 1);
    if (parent.size > kMostYamlNodes) {
      Fault(line, "values, aliases expanded: more than " + std::to_string(kMostYamlNodes),
            "at most that many");
    } else if (static_cast<int>(levels_.size()) + node->depth > kMostYamlDepth) {
      Fault(line, "a level deeper", DepthText());
    } else if (parent.kind == Yaml::Kind::kList) {
      parent.items.push_back(std::move(node));
    } else if (level.key_open) {
      parent.entries.back().value = std::move(node);
      level.key_open = false;
    } else if (node->kind != Yaml::Kind::kText) {
      Fault(line, "a key that is a list, a map or nothing", "plain text as key");
    } else if (!level.keys.insert(node->text).second) {
      Fault(line, node->text, "each key once");
    } else {
      parent.entries.push_back({node->text, line, nullptr});
      level.key_open = true;
    }
  }

  static std::string DepthText() {
    return "at most " + std::to_string(kMostYamlDepth) + " levels of lists and maps";
  }

  const std::string& file_;
  absl::Status fault_;
  Yaml::Ptr root_;
  std::vector<Level> levels_;
  std::unordered_map<YAML::anchor_t, Yaml::Ptr> anchors_;
};

// The text at the mark, for the message.
std::string LineOf(const std::string& text, int line) {
  std::size_t from = 0;
  for (int skipped = 1; skipped < line && from < text.size(); ++skipped) {
    const std::size_t end = text.find('\n', from);
    if (end == std::string::npos) return "";
    from = end + 1;
  }
  from = std::min(text.find_first_not_of(' ', from), text.size());
  return text.substr(from, text.find('\n', from) - from);
}

}  // namespace

absl::StatusOr<Yaml::Ptr> ParseYaml(const std::string& file, const std::string& text) {
  Builder builder(file);
  try {
    std::istringstream stream(text);
    YAML::Parser parser(stream);
    parser.HandleNextDocument(builder);
    if (!builder.fault().ok()) return builder.fault();
    const Yaml::Ptr first = builder.root();
    if (first == nullptr) return BadInput(file, 1, "", "", "a YAML document");
    if (parser.HandleNextDocument(builder)) {
      return BadInput(file, builder.root()->line, "", "---", "one YAML document");
    }
    return first;
  } catch (const YAML::Exception& error) {
    if (!builder.fault().ok()) return builder.fault();
    const int line = error.mark.is_null() ? 0 : error.mark.line + 1;
    return BadInput(file, line, "", LineOf(text, line), "YAML (" + error.msg + ")");
  }
}

Yaml::Ptr LaidOver(const Yaml::Ptr& base, const Yaml::Ptr& over) {
  if (over->kind == Yaml::Kind::kNull) return base;
  if (over->kind != Yaml::Kind::kMap || base->kind != Yaml::Kind::kMap) return over;
  auto both = std::make_shared<Yaml>();
  both->kind = Yaml::Kind::kMap;
  both->line = over->line;
  both->entries = base->entries;
  for (const Yaml::Entry& entry : over->entries) {
    const auto found =
        std::find_if(both->entries.begin(), both->entries.end(),
                     [&](const Yaml::Entry& known) { return known.key == entry.key; });
    if (found == both->entries.end()) {
      both->entries.push_back(entry);
    } else {
      *found = {entry.key, entry.line, LaidOver(found->value, entry.value)};
    }
  }
  for (const Yaml::Entry& entry : both->entries) {
    both->size += 1 + entry.value->size;
    both->depth = std::max(both->depth, entry.value->depth + 1);
  }
  return both;
}

absl::StatusOr<Yaml::Ptr> ReadYaml(const std::string& path) {
  TEPHRA_ASSIGN_OR_RETURN(const std::string text, ReadTextFile(path, kMostYamlBytes));
  return ParseYaml(path, text);
}

}  // namespace tephra
