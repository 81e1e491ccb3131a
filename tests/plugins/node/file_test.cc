// Files in folders where somebody may have planted something.
#include "plugins/node/file.h"

#include <sys/stat.h>

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
  CHECK(folder->RemoveFolder("folder").ok());
  CHECK(fs::exists(elsewhere.path() + "/secret"));
}

TEST_CASE("A folder goes with what containers left in it, and what its links lead to stays") {
  const TemporaryFolder at, elsewhere;
  Plant(elsewhere.path() + "/kept", "");
  fs::create_directories(at.path() + "/own/sub");
  Plant(at.path() + "/own/sub/f", "");
  fs::create_symlink(elsewhere.path(), at.path() + "/own/link");
  CHECK(Folder::Open(at.path())->RemoveFolder("own").ok());
  CHECK_FALSE(fs::exists(at.path() + "/own"));
  CHECK(fs::exists(elsewhere.path() + "/kept"));
}

TEST_CASE("A pipe in the place of a file does not hold anybody up") {
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
