// The kubelet's checkpoint, as it is and as it must not be.
#include "plugins/node/kubelet/checkpoint.h"

#include <catch2/catch.hpp>

namespace tephra::node {
namespace {

const NonceMarks kMarks{"tephra.sh/slice", "/var/lib/tephra-node/nonces"};
const std::string kNonce = "000102030405060708090a0b0c0d0e0f";

// A ContainerAllocateResponse with the CDI device "tephra.sh/slice=000102..." alone, in base64.
const std::string kAnswer =
    "KjIKMHRlcGhyYS5zaC9zbGljZT0wMDAxMDIwMzA0MDUwNjA3MDgwOTBhMGIwYzBkMGUwZg==";

std::string Checkpoint(const std::string& entry) {
  return R"({"Data":{"PodDeviceEntries":[)" + entry +
         R"(],"RegisteredDevices":{"t/t":["0-0"]}},"Checksum":123})";
}

std::string Entry(const std::string& changed_from = "", const std::string& to = "") {
  std::string entry = R"({"PodUID":"5f-1","ContainerName":"main","ResourceName":"t/t",)"
                      R"("DeviceIDs":{"0":["0-1","0-0"],"1":["0-0"]},"AllocResp":")" +
                      kAnswer + "\"}";
  const std::size_t at = entry.find(changed_from);
  REQUIRE(at != std::string::npos);
  return entry.replace(at, changed_from.size(), to);
}

std::string Refused(const std::string& text) {
  const auto entries = ParseCheckpoint(text, "t/t", kMarks);
  REQUIRE_FALSE(entries.ok());
  CHECK(absl::IsDataLoss(entries.status()));
  return std::string(entries.status().message());
}

TEST_CASE("An entry names the pod, the container, its slots once, and the nonce of its answer") {
  const auto entries = ParseCheckpoint(Checkpoint(Entry()), "t/t", kMarks);
  INFO(entries.status().ToString());
  REQUIRE(entries.ok());
  CHECK(*entries == std::vector<CheckpointEntry>{{"5f-1", "main", {"0-0", "0-1"}, kNonce}});
}

TEST_CASE("Entries of other resources, and answers of other plugins, are passed over") {
  CHECK(ParseCheckpoint(Checkpoint(Entry()), "t/other", kMarks)->empty());
  CHECK(ParseCheckpoint(Checkpoint(Entry()), "t/t", {"x.y/z", "/n"})->empty());
  CHECK(ParseCheckpoint(R"({"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":0})",
                        "t/t", kMarks)
            ->empty());
}

TEST_CASE("A checkpoint of another shape is refused with what was expected") {
  CHECK(Refused("") == "kubelet checkpoint: the file: expected a JSON object that is whole");
  const std::string whole = Checkpoint(Entry());
  for (std::size_t cut = 0; cut < whole.size(); ++cut) Refused(whole.substr(0, cut));
  CHECK(Refused(R"({"Data":{},"Checksum":1})") ==
        "kubelet checkpoint: Data.RegisteredDevices: expected an object");
  // The form before kubelet 1.20.
  CHECK(Refused(Checkpoint(Entry(R"({"0":["0-1","0-0"],"1":["0-0"]})", R"(["0-0"])"))) ==
        "kubelet checkpoint: Data.PodDeviceEntries[0].DeviceIDs: expected lists by NUMA node");
  Refused(Checkpoint(Entry(kAnswer, "not base64")));
  Refused(Checkpoint(Entry(kAnswer, "/////w==")));
  Refused(Checkpoint(Entry("5f-1", "../../etc")));
  Refused(Checkpoint(Entry("main", "../x")));
  Refused(Checkpoint("7"));
}

}  // namespace
}  // namespace tephra::node
