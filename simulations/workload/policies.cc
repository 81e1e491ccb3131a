// The section `policies`: the engine's settings.
#include "plugins/registry.h"
#include "settings/read.h"
#include "simulations/workload/sections.h"

namespace tephra {

PolicySettings ReadPolicies(const Item& item, EngineConfig before) {
  PolicySettings settings;
  settings.config = std::move(before);
  EngineConfig& config = settings.config;
  Fields fields(item);
  ReadSettings(fields, config, [&](const ConfigField& field, const Item& value) {
    const bool is = std::string_view(field.name) == "expected_pods" &&
                    value.node->kind == Yaml::Kind::kText && value.node->text == "workload";
    settings.expected_from_workload |= is;
    return is;
  });
  int dequeue = 0;
  if (fields.OneOf("dequeue_strategy", {"traverse", "fifo"}, dequeue)) {
    settings.dequeue = static_cast<Dequeue>(dequeue);
  }
  fields.Done();
  if (item.wrong->ok()) {
    EngineConfig checked = config;
    // expected_pods is computed later, so it must not be reported as missing now.
    if (settings.expected_from_workload) checked.expected_pods.push_back({});
    item.wrong->Wrong(item.node->line, DefaultAssembly().validate(checked));
  }
  return settings;
}

}  // namespace tephra
