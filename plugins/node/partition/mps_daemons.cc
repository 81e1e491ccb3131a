#include "plugins/node/partition/mps_daemons.h"

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/lock_file.h"
#include "plugins/node/run_program.h"

namespace tephra::node {
namespace {

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? absl::UnavailableError(path + ": " + error.message()) : absl::OkStatus();
}

bool Exists(const std::string& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

}  // namespace

std::string MpsDaemons::Folder(const std::string& uuid, const char* name) const {
  return options_.root + "/" + uuid + "/" + name;
}

// NotFound or FailedPrecondition: there is none that answers.
absl::StatusOr<std::string> MpsDaemons::Tell(const std::string& uuid,
                                             const std::string& command) const {
  Program program;
  program.arguments = {options_.control};
  program.environment = {{"CUDA_MPS_PIPE_DIRECTORY", PipeFolder(uuid)}};
  program.input = command + "\n";
  program.timeout_ms = options_.timeout_ms;
  return RunProgram(program);
}

absl::Status MpsDaemons::Answer(const std::string& uuid) const {
  return Tell(uuid, "get_default_active_thread_percentage").status();
}

absl::Status MpsDaemons::Start(const std::string& uuid) const {
  for (const char* name : {"pipe", "log"}) TEPHRA_RETURN_IF_ERROR(MakeFolder(Folder(uuid, name)));
  Program program;
  program.arguments = {options_.control, "-d"};
  program.environment = {{"CUDA_VISIBLE_DEVICES", uuid},
                         {"CUDA_MPS_PIPE_DIRECTORY", PipeFolder(uuid)},
                         {"CUDA_MPS_LOG_DIRECTORY", Folder(uuid, "log")}};
  program.timeout_ms = options_.timeout_ms;
  TEPHRA_RETURN_IF_ERROR(RunProgram(program).status());
  return Answer(uuid);
}

absl::Status MpsDaemons::Begin(const std::string& uuid) const {
  if (options_.kept) {
    TEPHRA_RETURN_IF_ERROR(MakeFolder(WantedFolder()));
    if (!Exists(Wanted(uuid)) && !std::ofstream(Wanted(uuid))) {
      return absl::UnavailableError(Wanted(uuid) + ": cannot be written");
    }
  }
  if (Answer(uuid).ok()) return absl::OkStatus();
  if (!options_.kept) return Start(uuid);
  return absl::UnavailableError("no daemon yet: is tephra-node mps-keeper running on this node?");
}

absl::Status MpsDaemons::Limit(const std::string& uuid, int percent, std::int64_t memory_mib) const {
  const std::string threads = std::to_string(percent);
  const std::string memory = "0 " + std::to_string(memory_mib) + "M";  // the daemon has one GPU, number 0
  TEPHRA_RETURN_IF_ERROR(Tell(uuid, "set_default_active_thread_percentage " + threads).status());
  TEPHRA_RETURN_IF_ERROR(Tell(uuid, "set_default_device_pinned_mem_limit " + memory).status());
  // Defaults concern servers that start later.
  TEPHRA_ASSIGN_OR_RETURN(const std::string servers, Tell(uuid, "get_server_list"));
  std::istringstream lines(servers);
  for (std::string server; std::getline(lines, server);) {
    if (server.empty() || server.find_first_not_of("0123456789") != std::string::npos) continue;
    TEPHRA_RETURN_IF_ERROR(
        Tell(uuid, "set_active_thread_percentage " + server + " " + threads).status());
    TEPHRA_RETURN_IF_ERROR(
        Tell(uuid, "set_device_pinned_mem_limit " + server + " " + memory).status());
  }
  return absl::OkStatus();
}

absl::StatusOr<bool> MpsDaemons::End(const std::string& uuid) const {
  if (!Exists(PipeFolder(uuid)) && !Exists(Wanted(uuid))) return false;
  const absl::StatusOr<Descriptor> lock = LockFile(Lock(uuid), LockedBefore::kRefuse);
  if (!lock.ok()) return absl::UnavailableError(lock.status().message());
  std::error_code error;
  std::filesystem::remove(Wanted(uuid), error);
  if (!Exists(PipeFolder(uuid))) return true;
  (void)Tell(uuid, "quit");
  const absl::Status answer = Answer(uuid);
  if (answer.ok() || absl::IsDeadlineExceeded(answer)) {
    return absl::UnavailableError("the MPS daemon of " + uuid + " does not end");
  }
  return true;
}

void MpsDaemons::Forget(const std::string& uuid) const {
  std::error_code error;
  std::filesystem::remove_all(options_.root + "/" + uuid, error);
}

std::vector<std::string> MpsDaemons::Known() const {
  std::set<std::string> known;
  std::error_code error;
  for (const std::string& folder : {options_.root, WantedFolder()}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename();
      const bool is_wanted = folder == WantedFolder();
      if (is_wanted || (entry.is_directory(error) && name != "wanted")) known.insert(name);
    }
  }
  return {known.begin(), known.end()};
}

absl::Status MpsDaemons::StartIfWanted(const std::string& uuid) const {
  if (Answer(uuid).ok()) return absl::OkStatus();
  const absl::StatusOr<Descriptor> lock = LockFile(Lock(uuid), LockedBefore::kWait);
  if (!lock.ok()) return lock.status();
  return Exists(Wanted(uuid)) ? Start(uuid) : absl::OkStatus();
}

absl::Status MpsDaemons::StartWanted() const {
  TEPHRA_RETURN_IF_ERROR(MakeFolder(WantedFolder()));
  absl::Status first;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(WantedFolder(), error)) {
    const std::string uuid = file.path().filename();
    const absl::Status status = StartIfWanted(uuid);
    if (status.ok() || !first.ok()) continue;
    first = absl::Status(status.code(), uuid + ": " + std::string(status.message()));
  }
  return error ? absl::UnavailableError(WantedFolder() + ": " + error.message()) : first;
}

}  // namespace tephra::node
