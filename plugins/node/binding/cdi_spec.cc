#include "plugins/node/binding/cdi_spec.h"

#include <nlohmann/json.hpp>

namespace tephra::node {
namespace {

using nlohmann::ordered_json;

ordered_json ContainerEdits(const std::string& nonce, const Edits& edits,
                            const std::string& device_root) {
  ordered_json out;
  auto& env = out["env"] = ordered_json::array({"TEPHRA_NONCE=" + nonce});
  for (const auto& [name, value] : edits.env) env.push_back(name + "=" + value);
  for (const std::string& path : edits.device_nodes) {
    ordered_json node = {{"path", path}};
    if (!device_root.empty()) node["hostPath"] = device_root + path;
    out["deviceNodes"].push_back(std::move(node));
  }
  for (const Edits::Mount& mount : edits.mounts) {
    out["mounts"].push_back(
        {{"hostPath", mount.host},
         {"containerPath", mount.container},
         {"options", {mount.read_only ? "ro" : "rw", "nosuid", "nodev", "rbind", "rprivate"}}});
  }
  return out;
}

}  // namespace

std::string CdiName(const std::string& nonce) { return std::string(kCdiKind) + "=" + nonce; }

std::string FormatCdiSpec(const std::map<std::string, Edits>& by_nonce,
                          const std::string& device_root) {
  if (by_nonce.empty()) return "";
  ordered_json out = {{"cdiVersion", "0.6.0"}, {"kind", kCdiKind}};
  for (const auto& [nonce, edits] : by_nonce) {
    out["devices"].push_back(
        {{"name", nonce}, {"containerEdits", ContainerEdits(nonce, edits, device_root)}});
  }
  return out.dump(1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace tephra::node
