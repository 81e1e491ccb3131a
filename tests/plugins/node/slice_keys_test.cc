// SliceKeys judges signatures as the scheduler's code does: both read the same cases.
#include "plugins/node/slice_keys.h"

#include <filesystem>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "tests/support/scratch_folder.h"

namespace tephra::node {
namespace {

const std::string kVectors = std::string(TEPHRA_VECTORS) + "/slices-signature";

std::string Read(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

TEST_CASE("SliceKeys: signatures are judged as the common vectors say") {
  const auto keys = SliceKeys::Read(kVectors + "/keys");
  REQUIRE(keys.ok());
  const auto cases = nlohmann::json::parse(Read(kVectors + "/vectors.json"));
  REQUIRE(cases.size() >= 15);
  for (const auto& each : cases) {
    const std::string wrong = each["wrong"];
    const auto created = ParseApiTime(each["created"]);
    REQUIRE(created.has_value());
    const absl::Status status = keys->Check(
        {each["uid"], each["node"], each["queue"], each["slices"]}, each["signature"], *created);
    INFO(each["name"] << ": " << status.ToString());
    CHECK(status.ok() == wrong.empty());
    CHECK(status.message().find(wrong) != std::string_view::npos);
  }
}

TEST_CASE("SliceKeys: without the file since, every pod needs a signature") {
  const ScratchFolder folder;
  Write(folder.path() + "/one.pub", Read(kVectors + "/keys/current.pub"));
  const auto keys = SliceKeys::Read(folder.path());
  REQUIRE(keys.ok());
  CHECK(keys->Check({"u", "n", "", "s"}, "", 0).code() == absl::StatusCode::kPermissionDenied);
}

TEST_CASE("SliceKeys: a folder without good keys lets no slices count, and the file is named") {
  const ScratchFolder folder;
  const auto fails = [&](const std::string& file, const std::string& text, const char* expected) {
    Write(folder.path() + "/" + file, text);
    const auto keys = SliceKeys::Read(folder.path());
    INFO(keys.status().ToString());
    REQUIRE_FALSE(keys.ok());
    CHECK(keys.status().message().find(expected) != std::string_view::npos);
    std::filesystem::remove(folder.path() + "/" + file);
  };
  fails("no-key", "x", "0 files *.pub, expected 1 to 8");
  fails("a.pub", "x", "a.pub: expected a public key of Ed25519");
  fails("a.pub", std::string(5000, 'x'), "a.pub: expected at most 4096 bytes");
  fails("a.pub", Read(kVectors + "/keys/sign.pem"), "a.pub: expected a public key of Ed25519");
  for (int i = 0; i < 8; ++i) {
    Write(folder.path() + "/" + std::to_string(i) + ".pub", Read(kVectors + "/keys/current.pub"));
  }
  REQUIRE(SliceKeys::Read(folder.path()).ok());
  fails("since", "yesterday", "since: \"yesterday\", expected a time");
  fails("9.pub", Read(kVectors + "/keys/current.pub"), "9 files *.pub, expected 1 to 8");
  CHECK_FALSE(SliceKeys::Read(folder.path() + "/none").ok());
}

}  // namespace
}  // namespace tephra::node
