#include "plugins/node/cluster/node_writer.h"

#include <nlohmann/json.hpp>

namespace tephra::node {
namespace {

using nlohmann::json;

json OrNull(const std::map<std::string, std::optional<std::string>>& values) {
  json out = json::object();
  for (const auto& [key, value] : values) out[key] = value.has_value() ? json(*value) : json();
  return out;
}

std::string Dump(const json& patch) {
  return patch.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string MetadataPatch(const NodeFacts& facts) {
  json metadata = json::object();
  if (!facts.annotations.empty()) metadata["annotations"] = OrNull(facts.annotations);
  if (!facts.labels.empty()) metadata["labels"] = OrNull(facts.labels);
  return metadata.empty() ? "" : Dump({{"metadata", metadata}});
}

std::string StatusPatch(const NodeFacts& facts) {
  json capacity = json::object();
  for (const auto& [name, amount] : facts.capacity) capacity[name] = std::to_string(amount);
  return capacity.empty() ? "" : Dump({{"status", {{"capacity", capacity}}}});
}

absl::Status NodeWriter::Patch(const std::string& path, const std::string& what) {
  if (what.empty()) return absl::OkStatus();
  TEPHRA_ASSIGN_OR_RETURN(const ApiAnswer answer, client_.Patch(path, what));
  return answer.code == 200 ? absl::OkStatus() : ApiError("patch of node " + node_, answer);
}

absl::StatusOr<bool> NodeWriter::LabelsAreOthers() {
  TEPHRA_ASSIGN_OR_RETURN(const ApiAnswer answer, client_.Get("/api/v1/nodes/" + node_));
  if (answer.code != 200) return ApiError("get of node " + node_, answer);
  const json node = json::parse(answer.body, nullptr, false);
  const auto metadata = node.find("metadata");
  if (node.is_discarded() || metadata == node.end()) {
    return absl::UnavailableError("node " + node_ + ": the answer is no Node");
  }
  return metadata->contains("labels") && (*metadata)["labels"].contains("nvidia.com/gfd.timestamp");
}

absl::Status NodeWriter::Write(const NodeFacts& facts) {
  if (written_ == facts) return absl::OkStatus();
  written_.reset();
  NodeFacts ours = facts;
  if (!ours.labels.empty()) {
    TEPHRA_ASSIGN_OR_RETURN(const bool others, LabelsAreOthers());
    if (others) ours.labels.clear();
  }
  const std::string path = "/api/v1/nodes/" + node_;
  TEPHRA_RETURN_IF_ERROR(Patch(path, MetadataPatch(ours)));
  TEPHRA_RETURN_IF_ERROR(Patch(path + "/status", StatusPatch(facts)));
  written_ = facts;
  return absl::OkStatus();
}

}  // namespace tephra::node
