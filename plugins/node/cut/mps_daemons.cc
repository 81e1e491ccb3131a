#include "plugins/node/cut/mps_daemons.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <thread>

#include "plugins/node/run_program.h"

namespace tephra::node {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};
// Others that start wait as long, and the kubelet asks again.
constexpr int kMostForKeptMs = 3000;

absl::Status MakeFolder(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(path, error);
  return error ? absl::UnavailableError(path + ": " + error.message()) : absl::OkStatus();
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
    if (!std::ofstream(Wanted(uuid))) {
      return absl::UnavailableError(Wanted(uuid) + ": cannot be written");
    }
  }
  if (Answer(uuid).ok()) return absl::OkStatus();
  return options_.kept ? WaitForKept(uuid) : Start(uuid);
}

absl::Status MpsDaemons::WaitForKept(const std::string& uuid) const {
  const int patience_ms = std::min(options_.timeout_ms, kMostForKeptMs);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(patience_ms);
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::sleep_for(kLookAgain);
    if (Answer(uuid).ok()) return absl::OkStatus();
  }
  return absl::UnavailableError("no daemon after " + std::to_string(patience_ms) +
                                " ms: is tephra-node mps-keeper running on this node?");
}

absl::StatusOr<bool> MpsDaemons::End(const std::string& uuid) const {
  std::error_code error;
  std::filesystem::remove(Wanted(uuid), error);
  if (!std::filesystem::exists(PipeFolder(uuid), error)) return false;
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

absl::Status MpsDaemons::StartWanted() const {
  TEPHRA_RETURN_IF_ERROR(MakeFolder(WantedFolder()));
  absl::Status first;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(WantedFolder(), error)) {
    const std::string uuid = file.path().filename();
    if (Answer(uuid).ok()) continue;
    absl::Status status = Start(uuid);
    // It was ended while it came: nobody else would end it now.
    if (std::error_code gone; !std::filesystem::exists(file.path(), gone)) {
      (void)End(uuid);
    } else if (!status.ok() && first.ok()) {
      first = absl::Status(status.code(), uuid + ": " + std::string(status.message()));
    }
  }
  return error ? absl::UnavailableError(WantedFolder() + ": " + error.message()) : first;
}

}  // namespace tephra::node
