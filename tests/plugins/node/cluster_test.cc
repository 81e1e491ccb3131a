// What the API server says of pods, and what is said to it of the node.
#include <catch2/catch.hpp>

#include "plugins/node/cluster/node_writer.h"
#include "plugins/node/cluster/pod_watch.h"

namespace tephra::node {
namespace {

const std::string kPod = R"({"metadata": {"uid": "u-1", "namespace": "team", "name": "p",
  "resourceVersion": "7", "managedFields": [{"x": 1}], "annotations": {"tephra.sh/slices": "{}"}},
  "spec": {"schedulerName": "tephra", "containers": [{"name": "main", "env": []}],
           "initContainers": [{"name": "a"}, {"name": "b", "restartPolicy": "Always"}]},
  "status": {"phase": "Running"}})";

TEST_CASE("A page of pods is read, with the page after it") {
  const auto page = ParsePodPage(
      R"({"metadata": {"resourceVersion": "9", "continue": "c=="}, "items": [)" + kPod + "]}");
  REQUIRE(page.ok());
  CHECK(page->resource_version == "9");
  CHECK(page->next == "c==");
  CHECK(page->pods.at("u-1") ==
        PodFacts{"u-1", "team", "p", "tephra", false, std::string("{}"), {"a"}});
}

TEST_CASE("A watch tells of changes, of ends, of its place and of its age") {
  const auto gone = ParsePodEvent(R"({"type": "DELETED", "object": )" + kPod + "}");
  REQUIRE(gone.ok());
  CHECK(gone->kind == PodEvent::Kind::kGone);
  CHECK(gone->resource_version == "7");
  const auto place =
      ParsePodEvent(R"({"type": "BOOKMARK", "object": {"metadata": {"resourceVersion": "12"}}})");
  CHECK(place->kind == PodEvent::Kind::kBookmark);
  CHECK(absl::IsOutOfRange(
      ParsePodEvent(R"({"type": "ERROR", "object": {"code": 410, "message": "too old"}})")
          .status()));
  for (const char* line : {"", "7", "{}", R"({"type": "ADDED", "object": {}})",
                           R"({"type": "ADDED", "object": {"metadata": {"uid": "../x",
                               "resourceVersion": "1"}}})"}) {
    CHECK(absl::IsUnavailable(ParsePodEvent(line).status()));
  }
  CHECK_FALSE(ParsePodPage("{}").ok());
}

TEST_CASE("What is said of a node is a merge patch of what there is to say") {
  NodeFacts facts;
  CHECK(MetadataPatch(facts).empty());
  CHECK(StatusPatch(facts).empty());
  facts.annotations = {{"a", "1"}, {"b", std::nullopt}};
  facts.labels = {{"l", "x"}};
  facts.capacity = {{"volcano.sh/vgpu-memory", 652472}};
  CHECK(MetadataPatch(facts) ==
        R"({"metadata":{"annotations":{"a":"1","b":null},"labels":{"l":"x"}}})");
  CHECK(StatusPatch(facts) == R"({"status":{"capacity":{"volcano.sh/vgpu-memory":"652472"}}})");
}

}  // namespace
}  // namespace tephra::node
