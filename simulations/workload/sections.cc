#include "simulations/workload/sections.h"

#include <algorithm>
#include <cstddef>

namespace tephra {
namespace {

constexpr std::size_t kMostName = 253;  // bytes, as in Kubernetes

// The bytes of all texts in the value.
std::int64_t TextBytes(const Yaml& value) {
  std::int64_t bytes = static_cast<std::int64_t>(value.text.size());
  for (const Yaml::Ptr& item : value.items) bytes += TextBytes(*item);
  for (const Yaml::Entry& entry : value.entries) {
    bytes += static_cast<std::int64_t>(entry.key.size()) + TextBytes(*entry.value);
  }
  return bytes;
}

bool IsControl(char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }

// The field that stands for a derived or built-in kind; "" for other kinds.
std::string FieldFor(const std::string& kind) {
  if (kind == "cpu" || kind == "memory" || kind == "pods") return kind;
  if (kind == "gpu" || kind == "nvidia.com/gpu") return "gpus";
  if (kind == "gpu-memory") return "gpu_memory";
  return "";
}

}  // namespace

void Sections::Once(std::set<std::string>& names, const std::string& name, int line,
                    const std::string& path, Diagnosis& wrong) {
  if (name.size() > kMostName || std::any_of(name.begin(), name.end(), IsControl)) {
    wrong.Wrong(
        line, path, name,
        "a name of at most " + std::to_string(kMostName) + " bytes without control characters");
  } else if (!names.insert(name).second) {
    wrong.Wrong(line, path, name, "a unique name");
  }
}

bool Sections::Reserve(const Item& item, std::int64_t count, std::int64_t bytes_each) {
  __extension__ const __int128 more =
      static_cast<__int128>(count) * (bytes_each + TextBytes(*item.node));
  if (more <= kMostBytes - bytes) {
    bytes += static_cast<std::int64_t>(more);
    return true;
  }
  item.Wrong("fewer or smaller objects: all nodes and jobs together may use at most " +
             std::to_string(kMostBytes >> 30) + " GiB, counts and copies included");
  return false;
}

void Sections::CheckModels() const {
  for (const ModelUse& use : model_uses) {
    if (models.contains(use.model)) continue;
    std::string known;
    for (const std::string& model : models) {
      if (!model.empty()) known += (known.empty() ? "" : ", ") + model;
    }
    use.wrong->Wrong(use.line, use.path, use.model,
                     known.empty() ? "no GPU model: no node of the cluster has one"
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
                           "another resource: this one has its own field, " + field);
      return;
    }
    const absl::StatusOr<Kind> kind = kinds.Intern(name);
    if (!kind.ok()) {
      fields.wrong().Wrong(item.node->line, kind.status());
      return;
    }
    if (kinds.CountsModel(*kind)) {
      fields.wrong().Wrong(
          item.node->line, item.path, item.Shown(),
          "another resource: set a model for the devices of nodes, and gpu_models for jobs");
      return;
    }
    ReadQuantity(item, out[*kind], 1);
  });
}

}  // namespace tephra
