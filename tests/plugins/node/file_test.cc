// Files in folders where another user may have planted something.
#include "plugins/node/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include <catch2/catch.hpp>

#include "plugins/node/binding/pod_cgroups.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

namespace fs = std::filesystem;

void Plant(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

TEST_CASE("What is written is read, and replaced as a whole") {
  const TemporaryFolder at;
  const auto folder = Folder::Open(at.path() + "/a/b");
  REQUIRE(folder.ok());
  REQUIRE(folder->Write("f", "one", 0644).ok());
  REQUIRE(folder->Write("f", "two", 0644).ok());
  CHECK(*folder->Read("f", 10) == "two");
  CHECK(*folder->Names() == std::vector<std::string>{"f"});
  CHECK(absl::IsFailedPrecondition(folder->Read("f", 2).status()));
  CHECK(absl::IsNotFound(folder->Read("g", 2).status()));
  CHECK(folder->Remove("f").ok());
  CHECK(folder->Remove("f").ok());
}

TEST_CASE("A link is neither read, nor written through, nor opened as a folder") {
  const TemporaryFolder at, elsewhere;
  Plant(elsewhere.path() + "/secret", "secret");
  const auto folder = Folder::Open(at.path());
  fs::create_symlink(elsewhere.path() + "/secret", at.path() + "/link");
  fs::create_symlink(elsewhere.path(), at.path() + "/folder");
  CHECK(absl::IsFailedPrecondition(folder->Read("link", 100).status()));
  CHECK_FALSE(folder->Sub("folder").ok());
  CHECK_FALSE(Folder::Open(at.path() + "/folder").ok());
  fs::create_symlink(elsewhere.path() + "/secret", at.path() + "/.new-link");
  REQUIRE(folder->Write("link", "mine", 0600).ok());
  std::string text;
  std::ifstream(elsewhere.path() + "/secret") >> text;
  CHECK(text == "secret");
  CHECK(*folder->Read("link", 100) == "mine");
  CHECK(*folder->RemoveTree("folder", 10));
  CHECK(fs::exists(elsewhere.path() + "/secret"));
}

TEST_CASE("RemoveTree: any depth, kind and permission is removed, and nothing outside") {
  const TemporaryFolder at, elsewhere;
  Plant(elsewhere.path() + "/kept", "");
  const std::string own = at.path() + "/own";
  fs::create_directories(own + "/sub/sub/sub");
  Plant(own + "/sub/sub/sub/f", "");
  Plant(own + "/sub/read-only", "");
  chmod((own + "/sub/read-only").c_str(), 0);
  REQUIRE(mkfifo((own + "/sub/pipe").c_str(), 0) == 0);
  fs::create_symlink(elsewhere.path(), own + "/link");
  fs::create_symlink(elsewhere.path(), own + "/sub/sub/link");
  fs::create_symlink("/", own + "/sub/root");
  fs::create_symlink("loop", own + "/loop");
  fs::create_directories(own + "/locked/inside");
  for (const char* folder : {"/locked", "/sub/sub", ""}) chmod((own + folder).c_str(), 0);
  const auto gone = Folder::Open(at.path())->RemoveTree("own", 100);
  INFO(gone.status().ToString());
  REQUIRE(gone.ok());
  CHECK(*gone);
  CHECK_FALSE(fs::exists(at.path() + "/own"));
  CHECK(fs::exists(elsewhere.path() + "/kept"));
}

TEST_CASE("RemoveTree: a folder that is thousands of levels deep needs neither stack nor files") {
  const TemporaryFolder at;
  fs::create_directory(at.path() + "/own");
  int folder = open((at.path() + "/own").c_str(), O_RDONLY | O_DIRECTORY);
  for (int level = 0; level < 5000; ++level) {  // longer than any path may be
    REQUIRE(mkdirat(folder, "a", 0755) == 0);
    const int below = openat(folder, "a", O_RDONLY | O_DIRECTORY);
    close(folder);
    folder = below;
  }
  close(folder);
  const auto gone = Folder::Open(at.path())->RemoveTree("own", 100'000);
  INFO(gone.status().ToString());
  REQUIRE(gone.ok());
  CHECK(*gone);
  CHECK(fs::is_empty(at.path()));
}

TEST_CASE("RemoveTree: one call does a bounded amount of work, and the next goes on") {
  const TemporaryFolder at;
  for (int i = 0; i < 30; ++i) {
    const std::string folder = at.path() + "/own/" + std::to_string(i);
    fs::create_directories(folder);
    for (int k = 0; k < 30; ++k) Plant(folder + "/" + std::to_string(k), "");
  }
  const auto folder = Folder::Open(at.path());
  int calls = 0;
  bool gone = false;
  while (!gone && calls < 1000) {
    const auto step = folder->RemoveTree("own", 20);
    REQUIRE(step.ok());
    gone = *step;
    ++calls;
  }
  CHECK(gone);
  CHECK(calls >= 900 / 20);
  CHECK(*folder->RemoveTree("own", 20));
}

TEST_CASE("A pipe in the place of a file does not block the reader") {
  const TemporaryFolder at;
  REQUIRE(mkfifo((at.path() + "/pipe").c_str(), 0600) == 0);
  CHECK_FALSE(ReadFile(at.path() + "/pipe", 10).ok());
}

TEST_CASE("A pod runs while its control group is there, by either driver's name") {
  const std::string uid = "5f1c-aa";
  for (const std::string path :
       {"/kubepods/pod5f1c-aa", "/kubepods/burstable/pod5f1c-aa",
        "/pids/kubepods/besteffort/pod5f1c-aa", "/kubepods.slice/kubepods-pod5f1c_aa.slice",
        "/kubepods.slice/kubepods-burstable.slice/"
        "kubepods-burstable-pod5f1c_aa.slice"}) {
    const TemporaryFolder at;
    CHECK_FALSE(PodCgroups(at.path()).Runs(uid));
    CHECK_FALSE(PodCgroups(at.path()).Sees());
    fs::create_directories(at.path() + path);
    CHECK(PodCgroups(at.path()).Runs(uid));
    CHECK(PodCgroups(at.path()).Sees());
    CHECK_FALSE(PodCgroups(at.path()).Runs("other"));
  }
}

}  // namespace
}  // namespace tephra::node
