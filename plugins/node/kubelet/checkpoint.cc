#include "plugins/node/kubelet/checkpoint.h"

#include <algorithm>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/bad_input.h"
#include "kubelet/device_plugin.pb.h"
#include "plugins/node/binding/nonce.h"
#include "plugins/node/file.h"

namespace tephra::node {
namespace {

using nlohmann::json;

absl::Status Unknown(const std::string& field, const std::string& expected) {
  return absl::DataLossError("kubelet checkpoint: " + field + ": expected " + expected);
}

// RFC 4648, as Go writes []byte: padded, without line breaks. Nothing where it is not that.
std::optional<std::string> Base64(std::string_view text) {
  if (text.size() % 4 != 0) return std::nullopt;
  std::string bytes;
  for (std::size_t i = 0; i < text.size(); i += 4) {
    std::uint32_t group = 0;
    int pads = 0;
    for (std::size_t k = 0; k < 4; ++k) {
      const char c = text[i + k];
      std::uint32_t value = 0;
      if (c >= 'A' && c <= 'Z') {
        value = static_cast<std::uint32_t>(c - 'A');
      } else if (c >= 'a' && c <= 'z') {
        value = static_cast<std::uint32_t>(c - 'a') + 26;
      } else if (c >= '0' && c <= '9') {
        value = static_cast<std::uint32_t>(c - '0') + 52;
      } else if (c == '+' || c == '/') {
        value = c == '+' ? 62 : 63;
      } else if (c == '=' && k >= 2 && i + 4 == text.size()) {
        ++pads;
      } else {
        return std::nullopt;
      }
      if (pads > 0 && c != '=') return std::nullopt;
      group = group << 6 | value;
    }
    bytes += static_cast<char>(group >> 16);
    if (pads < 2) bytes += static_cast<char>(group >> 8 & 0xff);
    if (pads < 1) bytes += static_cast<char>(group & 0xff);
  }
  return bytes;
}

// Empty where the answer is none of ours. Two that differ are none either.
std::string NonceIn(const v1beta1::ContainerAllocateResponse& answer, const NonceMarks& marks) {
  std::vector<std::string> found;
  const auto take = [&](const std::string& text, const std::string& prefix) {
    if (text.size() != prefix.size() + kNonceLength || text.rfind(prefix, 0) != 0) return;
    if (IsNonce(text.substr(prefix.size()))) found.push_back(text.substr(prefix.size()));
  };
  for (const auto& device : answer.cdi_devices()) take(device.name(), marks.cdi_kind + "=");
  for (const auto& mount : answer.mounts()) take(mount.host_path(), marks.nonce_root + "/");
  const bool one =
      !found.empty() && std::all_of(found.begin(), found.end(),
                                    [&](const std::string& nonce) { return nonce == found[0]; });
  return one ? found[0] : "";
}

const json* Member(const json& object, const char* key) {
  const auto member = object.find(key);
  return member == object.end() ? nullptr : &*member;
}

absl::Status ReadSlots(const json& by_numa, const std::string& at,
                         std::vector<std::string>& slots) {
  if (!by_numa.is_object()) return Unknown(at + ".DeviceIDs", "lists by NUMA node");
  for (const auto& [node, ids] : by_numa.items()) {
    if (!ids.is_array()) return Unknown(at + ".DeviceIDs." + Quoted(node), "a list");
    for (const json& id : ids) {
      if (!id.is_string()) return Unknown(at + ".DeviceIDs." + Quoted(node), "a list of names");
      slots.push_back(id.get<std::string>());
    }
  }
  std::sort(slots.begin(), slots.end());
  // A slot of several NUMA nodes stands under each.
  slots.erase(std::unique(slots.begin(), slots.end()), slots.end());
  return absl::OkStatus();
}

absl::StatusOr<CheckpointEntry> ReadEntry(const json& from, const std::string& at,
                                          const NonceMarks& marks) {
  const json* const uid = Member(from, "PodUID");
  const json* const container = Member(from, "ContainerName");
  const json* const slots = Member(from, "DeviceIDs");
  const json* const answer = Member(from, "AllocResp");
  CheckpointEntry entry;
  if (uid == nullptr || !uid->is_string()) return Unknown(at + ".PodUID", "a name");
  entry.pod_uid = uid->get<std::string>();
  if (!IsPodUid(entry.pod_uid)) return Unknown(at + ".PodUID", "letters, digits and dashes");
  if (container == nullptr || !container->is_string()) {
    return Unknown(at + ".ContainerName", "a name");
  }
  entry.container = container->get<std::string>();
  if (!IsContainerName(entry.container)) {
    return Unknown(at + ".ContainerName", "a container's name");
  }
  if (slots == nullptr) return Unknown(at + ".DeviceIDs", "lists by NUMA node");
  TEPHRA_RETURN_IF_ERROR(ReadSlots(*slots, at, entry.slots));
  if (answer == nullptr || !answer->is_string()) return Unknown(at + ".AllocResp", "base64");
  const auto bytes = Base64(answer->get_ref<const std::string&>());
  v1beta1::ContainerAllocateResponse message;
  if (!bytes.has_value() || !message.ParseFromString(*bytes)) {
    return Unknown(at + ".AllocResp", "a ContainerAllocateResponse in base64");
  }
  entry.nonce = NonceIn(message, marks);
  return entry;
}

}  // namespace

bool IsPodUid(std::string_view text) {
  return !text.empty() && text.size() <= 63 && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-';
  });
}

bool IsContainerName(std::string_view text) {
  return !text.empty() && text.size() <= 63 && text.front() != '-' && text.back() != '-' &&
         text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-") == std::string_view::npos;
}

absl::StatusOr<std::vector<CheckpointEntry>> ParseCheckpoint(std::string_view text,
                                                             const std::string& resource,
                                                             const NonceMarks& marks) {
  if (text.size() > kMaxCheckpointBytes) return Unknown("the file", "at most 16 MiB");
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) return Unknown("the file", "a JSON object that is whole");
  const json* const checksum = Member(all, "Checksum");
  if (checksum == nullptr || !checksum->is_number()) return Unknown("Checksum", "a number");
  const json* const data = Member(all, "Data");
  if (data == nullptr || !data->is_object()) return Unknown("Data", "an object");
  const json* const entries = Member(*data, "PodDeviceEntries");
  const json* const devices = Member(*data, "RegisteredDevices");
  if (devices == nullptr || (!devices->is_object() && !devices->is_null())) {
    return Unknown("Data.RegisteredDevices", "an object");
  }
  if (entries == nullptr || (!entries->is_array() && !entries->is_null())) {
    return Unknown("Data.PodDeviceEntries", "a list");
  }
  std::vector<CheckpointEntry> found;
  for (std::size_t i = 0; i < entries->size(); ++i) {
    const json& from = (*entries)[i];
    const std::string at = "Data.PodDeviceEntries[" + std::to_string(i) + "]";
    if (!from.is_object()) return Unknown(at, "an object");
    const json* const name = Member(from, "ResourceName");
    if (name == nullptr || !name->is_string()) return Unknown(at + ".ResourceName", "a name");
    if (name->get_ref<const std::string&>() != resource) continue;
    TEPHRA_ASSIGN_OR_RETURN(CheckpointEntry entry, ReadEntry(from, at, marks));
    if (!entry.nonce.empty()) found.push_back(std::move(entry));
  }
  return found;
}

absl::StatusOr<std::vector<CheckpointEntry>> ReadCheckpoint(const std::string& path,
                                                            const std::string& resource,
                                                            const NonceMarks& marks) {
  TEPHRA_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kMaxCheckpointBytes));
  return ParseCheckpoint(text, resource, marks);
}

}  // namespace tephra::node
