#include "plugins/node/run_program.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

#include <absl/strings/str_cat.h>
#include <catch2/catch.hpp>

namespace tephra::node {
namespace {

TEST_CASE("RunProgram: what it prints, how it fails, and when it takes too long") {
  Program program;
  program.arguments = {"sh", "-c", "read line; echo \"$line $WORD\""};
  program.environment = {{"WORD", "there"}};
  program.input = "hello\n";
  CHECK(*RunProgram(program) == "hello there\n");
  program.arguments = {"sh", "-c", "echo oh; exit 4"};
  CHECK(RunProgram(program).status() == absl::FailedPreconditionError("sh: exit 4: oh"));
  program.arguments = {"/nonexistent/program"};
  CHECK(absl::IsNotFound(RunProgram(program).status()));
  program.arguments = {"sleep", "10"};
  program.timeout_ms = 20;
  CHECK(absl::IsDeadlineExceeded(RunProgram(program).status()));
}

// A process that is traced by another one stays a zombie after its kill, as one in a call of a hung
// driver stays alive. The tracer writes the file once it traces, and ends when the file is gone. A busy
// machine may run out of the time limit before that: the program then gets twice the time.
TEST_CASE("RunProgram: a program that a kill does not end is given up soon after") {
  const std::filesystem::path traced =
      std::filesystem::temp_directory_path() / absl::StrCat("tephra-traced-", getpid());
  Program program;
  program.arguments = {"python3", "-c", R"(
import ctypes, os, sys, time
libc = ctypes.CDLL(None)
libc.prctl(0x59616d61, -1)  # PR_SET_PTRACER
parent = os.getpid()
if os.fork() == 0:
    if libc.ptrace(0x4206, parent, 0, 0) != 0:  # PTRACE_SEIZE
        os._exit(1)
    open(sys.argv[1], "w").close()
    while os.path.exists(sys.argv[1]):
        time.sleep(0.01)
    os._exit(0)
time.sleep(600)
)", traced.string()};
  absl::Status status;
  for (program.timeout_ms = 1000; program.timeout_ms < 100'000; program.timeout_ms *= 2) {
    status = RunProgram(program).status();
    REQUIRE(absl::IsDeadlineExceeded(status));
    if (std::filesystem::exists(traced)) break;
  }
  REQUIRE(std::filesystem::remove(traced));
  CHECK(status.message() == absl::StrCat("python3: did not finish within ", program.timeout_ms,
                                         " ms, and does not end although it was killed"));
}

TEST_CASE("RunProgram: no folder need be writable, and blocked signals are not inherited") {
  const char* const folder = getenv("TMPDIR");
  const std::string before = folder == nullptr ? "/tmp" : folder;
  setenv("TMPDIR", "/nonexistent", 1);
  sigset_t blocked, old;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGTERM);
  pthread_sigmask(SIG_BLOCK, &blocked, &old);
  Program program;
  program.arguments = {"sh", "-c", "echo begun; kill -TERM $$; echo alive"};
  const absl::Status status = RunProgram(program).status();
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  setenv("TMPDIR", before.c_str(), 1);
  CHECK(status == absl::FailedPreconditionError("sh: signal 15: begun"));
}

}  // namespace
}  // namespace tephra::node
