// What the scheduler wrote, and what the node makes of it.
#include "plugins/node/slices_annotation.h"

#include <catch2/catch.hpp>

#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

std::string Of(const std::string& slices) {
  return R"({"version": 1, "containers": [{"name": "main", "slices": [)" + slices + "]}]}";
}

const std::string kWhole0 =
    R"({"uuid": "GPU-0", "index": 0, "mode": "whole", "compute": 1000, "memoryMiB": 10000})";
const std::string kPart1 =
    R"({"uuid": "GPU-1", "index": 1, "mode": "fraction", "compute": 200, "memoryMiB": 800})";

std::string Unread(const std::string& text) {
  const auto read = ParseSlices(text);
  REQUIRE_FALSE(read.ok());
  return std::string(read.status().message());
}

absl::StatusOr<Grant> Match(const std::string& text, const Gpus& gpus) {
  const auto read = ParseSlices(text);
  INFO(read.status().ToString());
  REQUIRE(read.ok());
  return MatchSlices({"n", "u", "team", "pod", "main"}, *read, gpus);
}

std::string Unmatched(const std::string& text, const Gpus& gpus) {
  const auto grant = Match(text, gpus);
  REQUIRE_FALSE(grant.ok());
  CHECK(absl::IsFailedPrecondition(grant.status()));
  return std::string(grant.status().message());
}

TEST_CASE("The slices of a container are matched with GPUs by their UUIDs") {
  const auto grant = Match(Of(kWhole0 + "," + kPart1), SomeGpus(2));
  REQUIRE(grant.ok());
  CHECK(grant->holder.container == "main");
  CHECK(grant->slices == std::vector<GrantedSlice>{{0, SliceMode::kWhole, 1000, 10'000, "", 0},
                                                   {1, SliceMode::kFraction, 200, 800, "", 0}});
}

TEST_CASE("A UUID counts, whatever the index beside it says") {
  Gpus gpus = SomeGpus(2);
  std::swap(gpus.devices[0], gpus.devices[1]);
  CHECK(Match(Of(kWhole0), gpus)->slices[0].gpu == 1);
}

TEST_CASE("Fields that are not known are passed over") {
  CHECK(ParseSlices(R"({"version": 1, "new": {}, "containers": [{"name": "a", "more": 1}]})")
            ->size() == 1);
}

TEST_CASE("A text that cannot be read is refused with field, value and expectation") {
  CHECK(Unread(R"({"version": 2, "containers": []})") ==
        "tephra.sh/slices: version: \"2\", expected 1");
  CHECK(Unread(R"({"version": 1.0, "containers": []})") ==
        "tephra.sh/slices: version: \"1.0\", expected 1");
  CHECK(Unread(Of(R"({"index": 0, "mode": "half"})")) ==
        "tephra.sh/slices: containers[0].slices[0].mode: \"half\", expected \"whole\", "
        "\"fraction\", \"mps\", \"timeSlice\" or \"mig\"");
  CHECK(Unread(Of(R"({"index": 70000, "mode": "whole"})")) ==
        "tephra.sh/slices: containers[0].slices[0].index: \"70000\", expected a whole number from "
        "0 to 65534");
  CHECK(Unread(Of(R"({"index": 0, "mode": "whole", "compute": 999, "memoryMiB": 1})"))
            .find("compute: \"999\", expected a whole number from 1000 to 1000") !=
        std::string::npos);
  CHECK(Unread(Of(R"({"index": 0, "mode": "mig", "compute": 1, "memoryMiB": 1})"))
            .find("mig: \"absent\", expected profile and start") != std::string::npos);
  CHECK(Unread(R"({"version": 1, "containers": [{"name": "a"}, {"name": "a"}]})") ==
        "tephra.sh/slices: containers[1].name: \"a\", expected each container once");
}

TEST_CASE("Names that could be paths, and texts beyond the limit, are refused") {
  Unread(R"({"version": 1, "containers": [{"name": "../../etc"}]})");
  Unread(R"({"version": 1, "containers": [{"name": "a/b"}]})");
  Unread(Of(R"({"uuid": "../x", "index": 0, "mode": "whole"})"));
  Unread(std::string(kMaxSlicesBytes + 1, ' '));
  Unread("[]");
  Unread(std::string(60'000, '['));
  Unread(Of(R"({"index": 18446744073709551615, "mode": "whole"})"));
  Unread(Of(R"({"index": -1, "mode": "whole"})"));
}

TEST_CASE("Slices that contradict the node are refused") {
  CHECK(Unmatched(Of(kWhole0), SomeGpus(0)) ==
        "tephra.sh/slices: container main: this node has no GPU GPU-0");
  CHECK(Unmatched(Of(kWhole0 + "," + kWhole0), SomeGpus(1)) ==
        "tephra.sh/slices: container main: GPU 0 (GPU-0) is given to the container twice");
  CHECK(Unmatched(Of(kPart1), SomeGpus(2, 500)) ==
        "tephra.sh/slices: container main: GPU 1 (GPU-1) has 500 MiB to give, not 800");
  CHECK(Unmatched(Of(""), SomeGpus(1)) ==
        "tephra.sh/slices: container main: the container requests a slot, but has no slice");
  CHECK(Unmatched(Of(R"({"index": 0, "mode": "whole", "compute": 1000, "memoryMiB": 1})"),
                  SomeGpus(1)) ==
        "tephra.sh/slices: container main: index 0: this node has no GPU without UUID in that "
        "place");
  Gpus gpus = SomeGpus(1);
  gpus.devices[0].hardware.modes = Only(SliceMode::kMps);
  CHECK(Unmatched(Of(kWhole0), gpus) ==
        "tephra.sh/slices: container main: GPU 0 (GPU-0) may not be in the mode \"whole\"");
}

TEST_CASE("A MIG slice lies where its profile may begin") {
  Gpus gpus = SomeGpus(1, 40'000);
  gpus.devices[0].hardware.modes = Only(SliceMode::kMig);
  gpus.devices[0].hardware.mig_model = "A100-40GB";
  const auto mig = [](const std::string& profile, int start) {
    return Of(
        R"({"uuid": "GPU-0", "index": 0, "mode": "mig", "compute": 1, "memoryMiB": 1, "mig": )"
        R"({"profile": ")" +
        profile + R"(", "start": )" + std::to_string(start) + "}}");
  };
  CHECK(Match(mig("3g.20gb", 4), gpus)->slices[0].mig_start == 4);
  CHECK(Unmatched(mig("3g.20gb", 1), gpus) ==
        "tephra.sh/slices: container main: GPU 0 (GPU-0) has no place for the MIG profile 3g.20gb "
        "at 1");
}

}  // namespace
}  // namespace tephra::node
