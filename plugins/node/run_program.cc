#include "plugins/node/run_program.h"

#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <thread>

extern char** environ;

namespace tephra::node {
namespace {

constexpr std::size_t kMostOutput = 64 << 10;
constexpr std::chrono::milliseconds kLook{2};
// After it was killed.
constexpr std::chrono::milliseconds kEndWithin{2000};

// A file and not a pipe: a daemon that the program starts keeps the outputs open, and a reader of a
// pipe would wait for the daemon. In memory: maybe no folder can be written to.
int TemporaryFile(const std::string& content) {
  const int file = memfd_create("tephra", MFD_CLOEXEC);
  if (file < 0) return file;
  if (write(file, content.data(), content.size()) != static_cast<ssize_t>(content.size())) {
    close(file);
    return -1;
  }
  lseek(file, 0, SEEK_SET);
  return file;
}

// The program does not inherit the signals that this process blocks or ignores.
void TakeSignals(posix_spawnattr_t& attributes) {
  sigset_t none, pipes;
  sigemptyset(&none);
  sigemptyset(&pipes);
  for (const int signal : {SIGPIPE, SIGXFSZ}) sigaddset(&pipes, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &pipes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
}

std::vector<std::string> EnvironmentOf(const Program& program) {
  std::vector<std::string> variables;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string name = std::string(*each).substr(0, std::string(*each).find('='));
    bool replaced = false;
    for (const auto& [key, value] : program.environment) replaced |= key == name;
    if (!replaced) variables.emplace_back(*each);
  }
  for (const auto& [key, value] : program.environment) variables.push_back(key + '=' + value);
  return variables;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// Programs that were not waited for to their end. They are waited for later, so that they do not
// stay as zombies.
class Abandoned {
 public:
  void Add(pid_t child) {
    const std::lock_guard lock(mutex_);
    children_.push_back(child);
  }
  void Collect() {
    const std::lock_guard lock(mutex_);
    std::erase_if(children_, [](pid_t child) { return waitpid(child, nullptr, WNOHANG) != 0; });
  }

 private:
  std::mutex mutex_;
  std::vector<pid_t> children_;
};

Abandoned abandoned;

std::string Printed(int file) {
  std::string text(kMostOutput, '\0');
  const ssize_t size = pread(file, text.data(), text.size(), 0);
  text.resize(size < 0 ? 0 : static_cast<std::size_t>(size));
  return text;
}

}  // namespace

absl::StatusOr<std::string> RunProgram(const Program& program) {
  abandoned.Collect();
  const std::string& name = program.arguments.at(0);
  const int input = TemporaryFile(program.input), output = TemporaryFile("");
  const auto close_both = [&] {
    if (input >= 0) close(input);
    if (output >= 0) close(output);
  };
  if (input < 0 || output < 0) {
    close_both();
    return absl::UnavailableError(name + ": cannot create its temporary files: " + std::strerror(errno));
  }
  std::vector<std::string> arguments = program.arguments, variables = EnvironmentOf(program);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, input, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, output, STDERR_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  TakeSignals(attributes);
  pid_t child = 0;
  const int failure = posix_spawnp(&child, name.c_str(), &actions, &attributes,
                                   Pointers(arguments).data(), Pointers(variables).data());
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (failure != 0) {
    close_both();
    const std::string text = name + ": " + std::strerror(failure);
    return failure == ENOENT ? absl::NotFoundError(text) : absl::UnavailableError(text);
  }
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(program.timeout_ms);
  int status = 0;
  bool late = false;
  pid_t ended = 0;
  while ((ended = waitpid(child, &status, WNOHANG)) == 0) {
    const auto now = std::chrono::steady_clock::now();
    if (!late && now >= end) {
      late = true;
      kill(child, SIGKILL);
    }
    // In a call of a hung driver, not even a kill ends it.
    if (now >= end + kEndWithin) break;
    std::this_thread::sleep_for(kLook);
  }
  std::string text = Printed(output);
  close_both();
  if (ended < 0) return absl::UnavailableError(name + ": waitpid: " + std::strerror(errno));
  if (ended == 0) {
    abandoned.Add(child);
    return absl::DeadlineExceededError(name + ": did not finish within " +
                                       std::to_string(program.timeout_ms) +
                                       " ms, and does not end although it was killed");
  }
  if (late) {
    return absl::DeadlineExceededError(name + ": did not finish within " +
                                       std::to_string(program.timeout_ms) + " ms");
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  constexpr std::size_t kShown = 300;
  if (text.size() > kShown) text.erase(0, text.size() - kShown);
  while (!text.empty() && text.back() == '\n') text.pop_back();
  const std::string how = WIFEXITED(status) ? "exit " + std::to_string(WEXITSTATUS(status))
                                            : "signal " + std::to_string(WTERMSIG(status));
  return absl::FailedPreconditionError(name + ": " + how + (text.empty() ? "" : ": " + text));
}

}  // namespace tephra::node
