#include "plugins/node/binding/nonce_files.h"

#include <sys/stat.h>

#include <ctime>
#include <map>

#include <nlohmann/json.hpp>

#include "plugins/node/binding/cdi_spec.h"
#include "plugins/node/binding/nonce.h"

namespace tephra::node {
namespace {

// A nonce that was minted is in the kubelet's checkpoint long before.
constexpr int kMintedKeptS = 300;
constexpr std::size_t kStepsAtOnce = 100;

// What a container finds in its mounted directory: its slices, for programs, and the variables that
// CDI would have set, one a line.
std::string MountedSlices(const Holding& holding, const Gpus& gpus) {
  nlohmann::ordered_json out = {{"version", 1},
                                {"container", holding.grant.holder.container},
                                {"slices", nlohmann::ordered_json::array()}};
  for (const GrantedSlice& slice : holding.grant.slices) {
    nlohmann::ordered_json one = {{"uuid", gpus.devices[slice.gpu].hardware.uuid},
                                  {"index", slice.gpu},
                                  {"mode", ModeWord(slice.mode)},
                                  {"compute", slice.compute},
                                  {"memoryMiB", slice.memory_mib}};
    if (slice.mode == SliceMode::kMig) {
      one["mig"] = {{"profile", slice.mig_profile}, {"start", slice.mig_start}};
    }
    out["slices"].push_back(std::move(one));
  }
  return out.dump() + "\n";
}

std::string MountedEnv(const Edits& edits) {
  std::string text;
  for (const auto& [name, value] : edits.env) text += name + "=" + value + "\n";
  return text;
}

}  // namespace

NonceMarks NonceFiles::Marks() const { return {kCdiKind, directories_.path()}; }

absl::StatusOr<AllocateAnswer> NonceFiles::Name(const std::string& nonce) const {
  AllocateAnswer answer;
  answer.nonce = nonce;
  if (!settings_.cdi_folder.empty()) answer.cdi_device = CdiName(nonce);
  if (settings_.mount) {
    TEPHRA_ASSIGN_OR_RETURN(const Folder own, directories_.Sub(nonce, 0755));
    answer.mount_host = own.path();
    answer.mount_container = settings_.mount_at;
  }
  return answer;
}

absl::Status NonceFiles::Begin(const Books& books) {
  if (settings_.cdi_folder.empty()) return absl::OkStatus();
  const auto there = ReadFile(settings_.cdi_folder + "/" + kCdiFile, kMaxCheckpointBytes);
  if (there.ok()) cdi_text_ = *there;
  return Update(books);
}

absl::Status NonceFiles::Show(const Holding& holding, const Books& books, const Gpus& gpus) {
  if (settings_.mount) {
    TEPHRA_ASSIGN_OR_RETURN(const Folder own, directories_.Sub(holding.grant.holder.nonce, 0755));
    TEPHRA_RETURN_IF_ERROR(own.Write("env", MountedEnv(holding.edits), 0644));
    TEPHRA_RETURN_IF_ERROR(own.Write("slices.json", MountedSlices(holding, gpus), 0644));
  }
  return Update(books);
}

absl::Status NonceFiles::RemoveDirectory(const std::string& nonce) const {
  // Containers cannot write there, so these are the two files of Show.
  return directories_.RemoveTree(nonce, kStepsAtOnce).status();
}

void NonceFiles::RemoveUnused(const std::set<std::string>& live, const Books& books) const {
  if (!settings_.mount) return;
  const auto names = directories_.Names();
  if (!names.ok()) return;
  for (const std::string& nonce : *names) {
    if (!IsNonce(nonce) || live.count(nonce) > 0 || books.Find(nonce) != nullptr) continue;
    struct stat found {};
    if (lstat((directories_.path() + "/" + nonce).c_str(), &found) != 0) continue;
    if (time(nullptr) - found.st_mtime < kMintedKeptS) continue;
    static_cast<void>(directories_.RemoveTree(nonce, kStepsAtOnce).ok());
  }
}

Deadline NonceFiles::settled() const {
  if (settings_.cdi_folder.empty()) return {};
  return cdi_written_ + std::chrono::milliseconds(settings_.settle_ms);
}

absl::Status NonceFiles::Update(const Books& books) {
  if (settings_.cdi_folder.empty()) return absl::OkStatus();
  std::map<std::string, Edits> by_nonce;
  for (const auto& [nonce, holding] : books.all()) {
    if (holding.bound) by_nonce.emplace(nonce, holding.edits);
  }
  std::string text = FormatCdiSpec(by_nonce, settings_.device_root);
  struct stat there {};
  const std::string path = settings_.cdi_folder + "/" + kCdiFile;
  const bool exists = lstat(path.c_str(), &there) == 0;
  if (text == cdi_text_ && exists == !text.empty()) return absl::OkStatus();
  // Opened each time: the folder belongs to the runtime, which makes it again after a reboot.
  TEPHRA_ASSIGN_OR_RETURN(const Folder folder, Folder::Open(settings_.cdi_folder, 0755));
  TEPHRA_RETURN_IF_ERROR(text.empty() ? folder.Remove(kCdiFile)
                                      : folder.Write(kCdiFile, text, 0644));
  cdi_text_ = std::move(text);
  cdi_written_ = std::chrono::steady_clock::now();
  return absl::OkStatus();
}

}  // namespace tephra::node
