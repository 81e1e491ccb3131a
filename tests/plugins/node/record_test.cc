// What the disk keeps of a holding, and what the container runtime gets.
#include "plugins/node/binding/record.h"

#include <catch2/catch.hpp>

#include "plugins/node/binding/cdi_spec.h"
#include "plugins/node/binding/nonce.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

Holding Some() {
  Holding holding;
  holding.grant = {
      {NewNonce(), "uid-1", "team", "pod", "main"},
      {{1, SliceMode::kFraction, 200, 800, "", 0}, {0, SliceMode::kMig, 142, 4864, "1g.5gb", 3}}};
  holding.bound = true;
  holding.slots = {"0-1", "0-2"};
  holding.edits = {{{"A", "b"}}, {"/dev/nvidia1"}, {{"/h", "/c", false}}};
  return holding;
}

TEST_CASE("A record is the same when it is written and read again") {
  const Holding holding = Some();
  const auto read = ParseRecord(FormatRecord(holding, SomeGpus(2)), SomeGpus(2));
  INFO(read.status().ToString());
  REQUIRE(read.ok());
  CHECK(*read == holding);
}

TEST_CASE("A record finds its GPUs by their UUIDs, and is of no use without them") {
  Gpus turned = SomeGpus(2);
  std::swap(turned.devices[0], turned.devices[1]);
  const std::string text = FormatRecord(Some(), SomeGpus(2));
  CHECK(ParseRecord(text, turned)->grant.slices[0].gpu == 0);
  CHECK(absl::IsNotFound(ParseRecord(text, SomeGpus(1)).status()));
}

TEST_CASE("A record that is cut short or changed is refused") {
  const std::string text = FormatRecord(Some(), SomeGpus(2));
  for (std::size_t cut = 0; cut + 2 < text.size(); ++cut) {
    CHECK_FALSE(ParseRecord(text.substr(0, cut), SomeGpus(2)).ok());
  }
  for (const char* part : {"uid-1", "800", "GPU-1"}) {
    std::string flipped = text;
    flipped[flipped.find(part)] ^= 1;
    INFO(flipped);
    CHECK(absl::IsDataLoss(ParseRecord(flipped, SomeGpus(2)).status()));
  }
  // One without check sum, as an earlier version wrote it, is judged by what it says.
  std::string hostile = text.substr(0, text.find(",\"check\"")) + "}";
  CHECK(ParseRecord(hostile, SomeGpus(2)).ok());
  hostile.replace(hostile.find("uid-1"), 5, "../..");
  CHECK_FALSE(ParseRecord(hostile, SomeGpus(2)).ok());
}

TEST_CASE("A nonce is 128 random bits, and nothing else is one") {
  CHECK(IsNonce(NewNonce()));
  CHECK(NewNonce() != NewNonce());
  for (const char* text : {"", "..", "000102030405060708090a0b0c0d0e0F",
                           "000102030405060708090a0b0c0d0e0", "../102030405060708090a0b0c0d0e0f"}) {
    CHECK_FALSE(IsNonce(text));
  }
}

TEST_CASE("The CDI file has a device for each nonce, none of them without edits") {
  CHECK(FormatCdiSpec({}, "").empty());
  CHECK(FormatCdiSpec({{"n1", {}}, {"n2", Some().edits}}, "/root") == R"({
 "cdiVersion": "0.6.0",
 "kind": "tephra.sh/slice",
 "devices": [
  {
   "name": "n1",
   "containerEdits": {
    "env": [
     "TEPHRA_NONCE=n1"
    ]
   }
  },
  {
   "name": "n2",
   "containerEdits": {
    "env": [
     "TEPHRA_NONCE=n2",
     "A=b"
    ],
    "deviceNodes": [
     {
      "path": "/dev/nvidia1",
      "hostPath": "/root/dev/nvidia1"
     }
    ],
    "mounts": [
     {
      "hostPath": "/h",
      "containerPath": "/c",
      "options": [
       "rw",
       "nosuid",
       "nodev",
       "rbind",
       "rprivate"
      ]
     }
    ]
   }
  }
 ]
}
)");
}

}  // namespace
}  // namespace tephra::node
