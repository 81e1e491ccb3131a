#include "plugins/node/binding/record.h"

#include <nlohmann/json.hpp>

#include "plugins/node/binding/nonce.h"
#include "plugins/node/kubelet/checkpoint.h"

namespace tephra::node {
namespace {

using nlohmann::ordered_json;

constexpr int kRecordVersion = 1;

// Tells a record that a failing disk has changed: FNV-1a with 64 bits over its text.
std::string CheckOf(const ordered_json& record) {
  std::uint64_t sum = 0xcbf29ce484222325;
  for (const char c : record.dump(-1, ' ', false, ordered_json::error_handler_t::replace)) {
    sum = (sum ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return std::to_string(sum);
}

absl::Status NoRecord(const std::string& why) { return absl::DataLossError("record: " + why); }

ordered_json Written(const Edits& edits) {
  ordered_json out = {
      {"env", ordered_json::array()}, {"deviceNodes", edits.device_nodes}, {"mounts", ordered_json::array()}};
  for (const auto& [name, value] : edits.env) out["env"].push_back({name, value});
  for (const Edits::Mount& mount : edits.mounts) {
    out["mounts"].push_back({mount.host, mount.container, mount.read_only});
  }
  return out;
}

Edits ReadEdits(const ordered_json& from) {
  Edits edits;
  for (const ordered_json& env : from.at("env")) {
    edits.env.emplace_back(env.at(0).get<std::string>(), env.at(1).get<std::string>());
  }
  edits.device_nodes = from.at("deviceNodes").get<std::vector<std::string>>();
  for (const ordered_json& mount : from.at("mounts")) {
    edits.mounts.push_back(
        {mount.at(0).get<std::string>(), mount.at(1).get<std::string>(), mount.at(2).get<bool>()});
  }
  return edits;
}

// The library throws where a member is absent or of another kind.
absl::StatusOr<Holding> ReadRecord(const ordered_json& from, const Gpus& gpus) {
  if (from.at("version").get<int>() != kRecordVersion) return NoRecord("of another version");
  Holding holding;
  Holder& holder = holding.grant.holder;
  holder = {from.at("nonce").get<std::string>(), from.at("podUID").get<std::string>(),
            from.at("namespace").get<std::string>(), from.at("pod").get<std::string>(),
            from.at("container").get<std::string>()};
  if (!IsNonce(holder.nonce) || !IsPodUid(holder.pod_uid) || !IsContainerName(holder.container)) {
    return NoRecord("names that cannot be");
  }
  if (from.contains("slots")) {
    holding.slots = from["slots"].get<std::vector<std::string>>();
  }
  holding.init = from.at("init").get<bool>();
  holding.bound = from.at("bound").get<bool>();
  for (const ordered_json& slice : from.at("slices")) {
    GrantedSlice read;
    const auto uuid = slice.at("uuid").get<std::string>();
    read.gpu = slice.at("index").get<std::size_t>();
    for (std::size_t i = 0; i < gpus.devices.size() && !uuid.empty(); ++i) {
      if (gpus.devices[i].hardware.uuid == uuid) read.gpu = i;
    }
    if (read.gpu >= gpus.devices.size() || gpus.devices[read.gpu].hardware.uuid != uuid) {
      return absl::NotFoundError("record: GPU " + uuid + " is gone");
    }
    const int mode = slice.at("mode").get<int>();
    if (mode < 0 || mode >= static_cast<int>(kSliceModes)) return NoRecord("an unknown mode");
    read.mode = static_cast<SliceMode>(mode);
    read.compute = slice.at("compute").get<std::int32_t>();
    read.memory_mib = slice.at("memoryMiB").get<std::int32_t>();
    read.mig_profile = slice.at("profile").get<std::string>();
    read.mig_start = slice.at("start").get<int>();
    holding.grant.slices.push_back(std::move(read));
  }
  holding.edits = ReadEdits(from.at("edits"));
  return holding;
}

}  // namespace

std::string FormatRecord(const Holding& holding, const Gpus& gpus) {
  const Holder& holder = holding.grant.holder;
  ordered_json out = {{"version", kRecordVersion},      {"nonce", holder.nonce},
              {"podUID", holder.pod_uid},       {"namespace", holder.pod_namespace},
              {"pod", holder.pod_name},         {"container", holder.container},
              {"slots", holding.slots},     {"init", holding.init},
              {"bound", holding.bound},         {"slices", ordered_json::array()},
              {"edits", Written(holding.edits)}};
  for (const GrantedSlice& slice : holding.grant.slices) {
    out["slices"].push_back({{"uuid", gpus.devices[slice.gpu].hardware.uuid},
                             {"index", slice.gpu},
                             {"mode", static_cast<int>(slice.mode)},
                             {"compute", slice.compute},
                             {"memoryMiB", slice.memory_mib},
                             {"profile", slice.mig_profile},
                             {"start", slice.mig_start}});
  }
  out["check"] = CheckOf(out);
  return out.dump(-1, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

absl::StatusOr<Holding> ParseRecord(std::string_view text, const Gpus& gpus) {
  ordered_json all = ordered_json::parse(text, nullptr, false);
  if (!all.is_object()) return NoRecord("no JSON object that is whole");
  if (const auto check = all.find("check"); check != all.end()) {
    const ordered_json said = *check;
    all.erase("check");
    if (said != CheckOf(all)) return NoRecord("its check sum is another");
  }
  try {
    return ReadRecord(all, gpus);
  } catch (const ordered_json::exception& error) {
    return NoRecord(error.what());
  }
}

}  // namespace tephra::node
