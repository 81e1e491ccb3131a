#include "text/engine_settings.h"

#include <limits>
#include <utility>

namespace tephra {

void ReadScores(const Item& item, std::vector<WeightedName>& scores) {
  if (item.node == nullptr) return;
  scores.clear();
  const auto read = [&](const Item& one) {
    WeightedName entry;
    if (one.node->kind == Yaml::Kind::kMap) {
      Fields fields(one);
      fields.Need("name");
      fields.Text("name", entry.name);
      fields.Whole("weight", entry.weight, 1);
      fields.Done();
    } else {
      ReadText(one, entry.name);
    }
    scores.push_back(std::move(entry));
  };
  if (item.node->kind == Yaml::Kind::kList) {
    ReadList(item, read);
  } else {
    read(item);
  }
}

void ReadTies(Fields& fields, Ties& ties) {
  int word = static_cast<int>(ties);
  fields.OneOf("ties", {"name", "random"}, word);
  ties = static_cast<Ties>(word);
}

void ReadCommonSettings(Fields& fields, EngineConfig& config) {
  fields.Whole("search_budget", config.search_budget, 0);
  fields.Whole("eviction_budget", config.eviction_budget, 0);
  ReadScores(fields.At("victim_costs"), config.victim_costs);
  fields.Whole("seed", config.seed, 0, std::numeric_limits<std::int64_t>::max());
  fields.Duration("assume_timeout", config.assume_timeout_ms);
  fields.Duration("priority_boost", config.priority_boost_ms);
  fields.Whole("full_verify_every", config.full_verify_every, 0);
  fields.Texts("disabled_actions", config.disabled_actions);
}

}  // namespace tephra
