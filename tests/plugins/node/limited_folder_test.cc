// Folders of containers with a size. The tests mount in a namespace of their own, which only root may do.
#include "plugins/node/limited_folder.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>

#include <catch2/catch.hpp>

#include "plugins/node/partition/hook_limiter.h"
#include "plugins/node/partition/partitioners.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

constexpr int kPassed = 0, kNotAllowed = 77;

// The number of the first check that fails, in a process whose mounts are its own; `propagation` is that of the folder.
int InOwnMounts(const std::string& folder, unsigned long propagation, const std::function<int()>& checks) {
  const pid_t child = fork();
  if (child == 0) {
    if (unshare(CLONE_NEWNS) != 0 || mount("", "/", "", MS_REC | MS_PRIVATE, nullptr) != 0) _exit(kNotAllowed);
    if (mount("tmpfs", folder.c_str(), "tmpfs", 0, "size=64m") != 0) _exit(kNotAllowed);
    if (mount("", folder.c_str(), "", propagation, nullptr) != 0) _exit(kNotAllowed);
    _exit(checks());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// How many bytes the file takes.
std::size_t Fill(const std::string& path, std::size_t bytes) {
  std::ofstream out(path, std::ios::binary);
  const std::string part(64 << 10, 'x');
  for (std::size_t written = 0; written < bytes && out; written += part.size()) out << part << std::flush;
  out.close();
  std::error_code error;
  return std::filesystem::file_size(path, error);
}

std::string MakeFolder(const TemporaryFolder& at, const char* name) {
  const std::string path = at.path() + "/" + name;
  std::filesystem::create_directories(path);
  return path;
}

TEST_CASE("LimitFolder: a container cannot write more bytes or files than the limit") {
  const TemporaryFolder at;
  const int failed = InOwnMounts(MakeFolder(at, "a b"), MS_SHARED, [&] {
    const std::string folder = at.path() + "/a b/own";
    std::filesystem::create_directory(folder);
    const FolderLimit limit{1 << 20, 8, 0777};
    for (int times = 0; times < 2; ++times) {
      if (!LimitFolder(folder, limit).value_or(false)) return 1;
    }
    if (const std::size_t size = Fill(folder + "/large", 4 << 20); size == 0 || size > (1 << 20)) return 2;
    int files = 0;
    for (int i = 0; i < 20; ++i) files += std::ofstream(folder + "/f" + std::to_string(i)).is_open() ? 1 : 0;
    if (files >= 8) return 3;
    if (!UnlimitFolder(folder).ok() || !UnlimitFolder(folder).ok()) return 4;
    if (!std::filesystem::is_empty(folder)) return 5;
    return UnlimitFolder(folder + "/none").ok() ? kPassed : 6;
  });
  if (failed == kNotAllowed) WARN("this process may not mount");
  CHECK((failed == kPassed || failed == kNotAllowed));
}

TEST_CASE("LimitFolder: a folder whose mounts containers would not see stays as it is") {
  const TemporaryFolder at;
  const int failed = InOwnMounts(MakeFolder(at, "state"), MS_PRIVATE, [&] {
    const std::string folder = at.path() + "/state/own";
    std::filesystem::create_directory(folder);
    if (LimitFolder(folder, {1 << 20, 8, 0777}).value_or(true)) return 1;
    return Fill(folder + "/large", 2 << 20) >= (2 << 20) ? kPassed : 2;
  });
  if (failed == kNotAllowed) WARN("this process may not mount");
  CHECK((failed == kPassed || failed == kNotAllowed));
}

TEST_CASE("HookLimiter: the folder of a container has a size, and its slice is free when it is full") {
  const TemporaryFolder at;
  const int failed = InOwnMounts(MakeFolder(at, "state"), MS_SHARED, [&] {
    for (const char* file : {"/state/libvgpu.so", "/state/preload"}) std::ofstream(at.path() + file) << "";
    static Problems problems;
    const std::string hook = at.path() + "/state/hook";
    const Holder holder{"000102030405060708090a0b0c0d0e0f", "u", "team", "pod", "main"};
    const Grant grant{holder, {{0, SliceMode::kFraction, 255, 800, "", 0}}};
    HookLimiter limiter({at.path() + "/state/libvgpu.so", at.path() + "/state/preload", hook}, problems);
    for (int times = 0; times < 2; ++times) {
      Edits edits;
      if (!limiter.Apply(grant, SomeGpus(1), edits).ok()) return 1;
      const std::size_t size = Fill(hook + "/" + holder.nonce + "/cache", 32 << 20);
      if (size < (2 << 20) || size > (16 << 20)) return 2;
      if (const std::size_t locks = Fill(hook + "/vgpulock-team/large", 32 << 20); locks > (2 << 20)) return 3;
      if (!limiter.Undo(grant, SomeGpus(1)).ok()) return 4;
      if (std::filesystem::exists(hook + "/" + holder.nonce)) return 5;
    }
    // What an earlier process left.
    const std::string left = hook + "/0f0e0d0c0b0a09080706050403020100";
    std::filesystem::create_directory(left);
    if (!LimitFolder(left, {1 << 20, 8, 0777}).value_or(false) || !limiter.Tidy("", SomeGpus(1)).ok()) return 6;
    for (int i = 0; i < 500 && std::filesystem::exists(left); ++i) usleep(10'000);
    return std::filesystem::exists(left) ? 7 : kPassed;
  });
  if (failed == kNotAllowed) WARN("this process may not mount");
  CHECK((failed == kPassed || failed == kNotAllowed));
}

}  // namespace
}  // namespace tephra::node
