#include "simulations/workload/sections.h"

namespace tephra {
namespace {

// What the name of a derived or built-in kind should have been written as; "" for others.
std::string FieldFor(const std::string& kind) {
  if (kind == "cpu" || kind == "memory" || kind == "pods") return kind;
  if (kind == "gpu" || kind == "nvidia.com/gpu") return "gpus";
  if (kind == "gpu-memory") return "gpu_memory";
  return "";
}

}  // namespace

void Sections::Once(std::set<std::string>& names, const std::string& name, int line,
                    const std::string& path, Diagnosis& wrong) {
  if (!names.insert(name).second) wrong.Wrong(line, path, name, "a name that is not given twice");
}

void Sections::CheckModels() const {
  for (const ModelUse& use : model_uses) {
    if (models.contains(use.model)) continue;
    std::string known;
    for (const std::string& model : models) {
      if (!model.empty()) known += (known.empty() ? "" : ", ") + model;
    }
    use.wrong->Wrong(use.line, use.path, use.model,
                     known.empty() ? "no model, no node of the cluster names one"
                                   : "a GPU model of the cluster: " + known);
  }
}

void Sections::ReadAmounts(Fields& fields, Resources& out) {
  fields.Quantity("cpu", out[kCpu], 1000);
  fields.Quantity("memory", out[kMemory], 1);
  fields.Map("resources", [&](const std::string& name, const Item& item) {
    const std::string field = FieldFor(name);
    if (!field.empty()) {
      fields.wrong().Wrong(item.node->line, item.path, item.Shown(),
                           "no such kind here, it has a field of its own: " + field);
      return;
    }
    const absl::StatusOr<Kind> kind = kinds.Intern(name);
    if (!kind.ok()) {
      fields.wrong().Wrong(item.node->line, kind.status());
      return;
    }
    if (kinds.CountsModel(*kind)) {
      fields.wrong().Wrong(item.node->line, item.path, item.Shown(),
                           "no GPU model here: devices have models, jobs ask for gpu_models");
      return;
    }
    ReadQuantity(item, out[*kind], 1);
  });
}

}  // namespace tephra
