#include "plugins/node/slices_annotation.h"

#include <algorithm>
#include <array>
#include <optional>

#include <nlohmann/json.hpp>

#include "base/bad_input.h"
#include "plugins/node/kubelet/checkpoint.h"
#include "topology/mig.h"

namespace tephra::node {
namespace {

using nlohmann::json;

constexpr std::int64_t kMostMemoryMib = std::int64_t{1} << 30;
constexpr int kWholeCompute = 1000;  // per mille
// A list beyond any pod's needs no long look: a slice takes some 60 bytes, so 64 KiB hold 1,100.
constexpr std::size_t kMostContainers = 1000;
constexpr std::size_t kMostSlices = 1100;

// In the order of SliceMode.
constexpr std::array<const char*, kSliceModes> kModeWords = {"whole", "fraction", "mps",
                                                             "timeSlice", "mig"};

absl::Status WrongSlices(const std::string& field, std::string_view value,
                         const std::string& expected) {
  return BadInput(kSlicesKey, 0, field, value, expected);
}

// As it stands in the text, for people.
std::string Shown(const json& value) {
  return value.is_string() ? value.get<std::string>()
                           : value.dump(-1, ' ', false, json::error_handler_t::replace);
}

const json* Field(const json& object, const char* key) {
  const auto field = object.find(key);
  return field == object.end() ? nullptr : &*field;
}

absl::StatusOr<std::int64_t> ReadNumber(const json& object, const std::string& at, const char* key,
                                        std::int64_t least, std::int64_t most) {
  const std::string field = at + key;
  const std::string range =
      "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  const json* const value = Field(object, key);
  if (value == nullptr) return WrongSlices(field, "absent", range);
  if (!value->is_number_integer()) return WrongSlices(field, Shown(*value), range);
  const bool fits = value->is_number_unsigned()
                        ? value->get<std::uint64_t>() <= static_cast<std::uint64_t>(most)
                        : value->get<std::int64_t>() <= most;
  if (!fits || value->get<std::int64_t>() < least) {
    return WrongSlices(field, Shown(*value), range);
  }
  return value->get<std::int64_t>();
}

absl::StatusOr<std::string> ReadName(const json& object, const std::string& at, const char* key,
                                     bool optional, const char* expected) {
  const json* const value = Field(object, key);
  if (value == nullptr && optional) return std::string();
  if (value == nullptr) return WrongSlices(at + key, "absent", expected);
  if (!value->is_string()) return WrongSlices(at + key, Shown(*value), expected);
  return value->get<std::string>();
}

bool IsUuid(const std::string& text) {
  return text.size() <= 96 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-';
         });
}

absl::Status ReadInstance(const json& from, const std::string& at, WrittenSlice& slice) {
  const json* const mig = Field(from, "mig");
  if (mig == nullptr || !mig->is_object()) {
    return WrongSlices(at + "mig", mig == nullptr ? "absent" : Shown(*mig), "profile and start");
  }
  constexpr const char* kProfile = "a profile such as \"1g.10gb\"";
  TEPHRA_ASSIGN_OR_RETURN(slice.mig_profile,
                          ReadName(*mig, at + "mig.", "profile", false, kProfile));
  if (!LeastMigShare(slice.mig_profile).has_value()) {
    return WrongSlices(at + "mig.profile", slice.mig_profile, kProfile);
  }
  TEPHRA_ASSIGN_OR_RETURN(const std::int64_t start, ReadNumber(*mig, at + "mig.", "start", 0, 7));
  slice.mig_start = static_cast<int>(start);
  return absl::OkStatus();
}

absl::StatusOr<WrittenSlice> ReadSlice(const json& from, const std::string& at) {
  WrittenSlice slice;
  TEPHRA_ASSIGN_OR_RETURN(slice.uuid, ReadName(from, at, "uuid", true, "the UUID of a device"));
  if (!IsUuid(slice.uuid)) return WrongSlices(at + "uuid", slice.uuid, "the UUID of a device");
  TEPHRA_ASSIGN_OR_RETURN(
      const std::int64_t index,
      ReadNumber(from, at, "index", 0, static_cast<std::int64_t>(kMaxDevices) - 1));
  slice.index = static_cast<std::size_t>(index);
  constexpr const char* kModes = "\"whole\", \"fraction\", \"mps\", \"timeSlice\" or \"mig\"";
  TEPHRA_ASSIGN_OR_RETURN(const std::string mode, ReadName(from, at, "mode", false, kModes));
  const auto word = std::find(kModeWords.begin(), kModeWords.end(), mode);
  if (word == kModeWords.end()) return WrongSlices(at + "mode", mode, kModes);
  slice.mode = static_cast<SliceMode>(word - kModeWords.begin());
  const int least = slice.mode == SliceMode::kWhole ? kWholeCompute : 0;
  TEPHRA_ASSIGN_OR_RETURN(const std::int64_t compute,
                          ReadNumber(from, at, "compute", least, kWholeCompute));
  TEPHRA_ASSIGN_OR_RETURN(const std::int64_t memory,
                          ReadNumber(from, at, "memoryMiB", 0, kMostMemoryMib));
  slice.compute = static_cast<std::int32_t>(compute);
  slice.memory_mib = static_cast<std::int32_t>(memory);
  if (slice.mode == SliceMode::kMig) TEPHRA_RETURN_IF_ERROR(ReadInstance(from, at, slice));
  return slice;
}

absl::StatusOr<ContainerSlices> ReadContainer(const json& from, const std::string& at,
                                              const std::vector<ContainerSlices>& before) {
  if (!from.is_object()) return WrongSlices(at, Shown(from), "an object");
  ContainerSlices read;
  TEPHRA_ASSIGN_OR_RETURN(read.name,
                          ReadName(from, at + ".", "name", false, "the container's name"));
  if (!IsContainerName(read.name)) {
    return WrongSlices(at + ".name", read.name, "the container's name");
  }
  for (const ContainerSlices& other : before) {
    if (other.name == read.name) return WrongSlices(at + ".name", read.name, "each container once");
  }
  const json* const slices = Field(from, "slices");
  if (slices == nullptr || slices->is_null()) return read;
  if (!slices->is_array() || slices->size() > kMostSlices) {
    return WrongSlices(at + ".slices", slices->is_array() ? "too long" : Shown(*slices), "a list");
  }
  for (std::size_t s = 0; s < slices->size(); ++s) {
    const std::string field = at + ".slices[" + std::to_string(s) + "]";
    if (!(*slices)[s].is_object()) return WrongSlices(field, Shown((*slices)[s]), "an object");
    TEPHRA_ASSIGN_OR_RETURN(WrittenSlice slice, ReadSlice((*slices)[s], field + "."));
    read.slices.push_back(std::move(slice));
  }
  return read;
}

// Which of the node's devices a slice names.
absl::StatusOr<std::size_t> FindGpu(const WrittenSlice& slice, const Gpus& gpus) {
  const auto& devices = gpus.devices;
  if (slice.uuid.empty()) {
    if (slice.index < devices.size() && devices[slice.index].hardware.uuid.empty()) {
      return slice.index;
    }
    return absl::FailedPreconditionError("index " + std::to_string(slice.index) +
                                         ": this node has no GPU without UUID in that place");
  }
  for (std::size_t i = 0; i < devices.size(); ++i) {
    if (devices[i].hardware.uuid == slice.uuid) return i;
  }
  return absl::FailedPreconditionError("this node has no GPU " + slice.uuid);
}

std::optional<std::string> WhyNotGiven(const WrittenSlice& slice, const DeviceHardware& hardware) {
  if (!hardware.may(slice.mode)) {
    return std::string("may not be in the mode \"") + ModeWord(slice.mode) + "\"";
  }
  const std::int64_t most =
      std::int64_t{hardware.memory_mib} *
      (slice.mode == SliceMode::kFraction ? hardware.memory_factor : kNoFactor) / kNoFactor;
  if (slice.mode != SliceMode::kWhole && slice.memory_mib > most) {
    return "has " + std::to_string(most) + " MiB to give, not " + std::to_string(slice.memory_mib);
  }
  if (slice.mode != SliceMode::kMig || hardware.mig_model.empty()) return std::nullopt;
  const MigModel* const model = FindMigModel(hardware.mig_model);
  const int profile = model == nullptr ? -1 : FindMigProfile(*model, slice.mig_profile);
  if (profile < 0 ||
      (model->profiles[static_cast<std::size_t>(profile)].starts >> slice.mig_start & 1) == 0) {
    return "has no place for the MIG profile " + slice.mig_profile + " at " +
           std::to_string(slice.mig_start);
  }
  return std::nullopt;
}

}  // namespace

const char* ModeWord(SliceMode mode) { return kModeWords[static_cast<std::size_t>(mode)]; }

absl::StatusOr<std::vector<ContainerSlices>> ParseSlices(std::string_view text) {
  if (text.size() > kMaxSlicesBytes) {
    return WrongSlices("", std::to_string(text.size()) + " bytes", "at most 64 KiB");
  }
  const json all = json::parse(text, nullptr, false);
  if (!all.is_object()) return WrongSlices("", text, "a JSON object");
  const json* const version = Field(all, "version");
  if (version == nullptr || !version->is_number_integer() || *version != 1) {
    return WrongSlices("version", version == nullptr ? "absent" : Shown(*version), "1");
  }
  const json* const containers = Field(all, "containers");
  if (containers == nullptr || !containers->is_array() || containers->size() > kMostContainers) {
    return WrongSlices("containers", containers == nullptr ? "absent" : Shown(*containers),
                       "a list");
  }
  std::vector<ContainerSlices> read;
  for (std::size_t c = 0; c < containers->size(); ++c) {
    TEPHRA_ASSIGN_OR_RETURN(
        ContainerSlices container,
        ReadContainer((*containers)[c], "containers[" + std::to_string(c) + "]", read));
    read.push_back(std::move(container));
  }
  return read;
}

absl::StatusOr<Grant> MatchSlices(const Holder& holder,
                                  const std::vector<ContainerSlices>& containers,
                                  const Gpus& gpus) {
  const auto named =
      std::find_if(containers.begin(), containers.end(),
                   [&](const ContainerSlices& c) { return c.name == holder.container; });
  const std::string where = std::string(kSlicesKey) + ": container " + holder.container + ": ";
  if (named == containers.end() || named->slices.empty()) {
    return absl::FailedPreconditionError(where + "the container requests a slot, but has no slice");
  }
  Grant grant{holder, {}};
  for (const WrittenSlice& slice : named->slices) {
    const auto gpu = FindGpu(slice, gpus);
    if (!gpu.ok()) return absl::FailedPreconditionError(where + std::string(gpu.status().message()));
    const DeviceHardware& hardware = gpus.devices[*gpu].hardware;
    const std::string which = "GPU " + std::to_string(*gpu) + " (" + hardware.uuid + ") ";
    if (const auto why = WhyNotGiven(slice, hardware); why.has_value()) {
      return absl::FailedPreconditionError(where + which + *why);
    }
    for (const GrantedSlice& other : grant.slices) {
      if (other.gpu != *gpu) continue;
      if (other.mode == SliceMode::kMig && slice.mode == SliceMode::kMig &&
          other.mig_start != slice.mig_start) {
        continue;
      }
      return absl::FailedPreconditionError(where + which + "is given to the container twice");
    }
    grant.slices.push_back(
        {*gpu, slice.mode, slice.compute,
         slice.mode == SliceMode::kWhole ? hardware.memory_mib : slice.memory_mib,
         slice.mig_profile, slice.mig_start});
  }
  return grant;
}

}  // namespace tephra::node
