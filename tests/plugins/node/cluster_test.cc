// What the API server says of pods, and what is said to it of the node.
#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "plugins/node/cluster/events.h"
#include "plugins/node/cluster/node_writer.h"
#include "plugins/node/cluster/pod_watch.h"
#include "plugins/node/cluster/runtime.h"
#include "plugins/node/health_events.h"
#include "tests/plugins/node/gpus.h"

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
        PodFacts{"u-1", "team", "p", "tephra", false, std::string("{}"), {"a"}, {}});
}

TEST_CASE("The user of a container is its own, else its pod's, else not known") {
  const auto users = [](const std::string& of_pod, const std::string& of_main) {
    const auto event = ParsePodEvent(
        R"({"type": "ADDED", "object": {"metadata": {"uid": "u-1", "resourceVersion": "1"}, "spec": {
            "securityContext": {"runAsUser": )" +
        of_pod + R"(}, "initContainers": [{"name": "a"}], "containers": [{"name": "main",
            "securityContext": {"runAsUser": )" +
        of_main + "}}]}}}");
    REQUIRE(event.ok());
    return event->pod.users;
  };
  using Users = std::map<std::string, std::uint32_t>;
  CHECK(users("7", "1000") == Users{{"a", 7}, {"main", 1000}});
  CHECK(users("7", "null") == Users{{"a", 7}, {"main", 7}});
  CHECK(users("null", "0") == Users{{"main", 0}});
  CHECK(users("-1", "4294967296") == Users{});
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
  for (const char* line : {"", "7", "{}", R"({"type": "ADDED", "object": {}})"}) {
    CHECK(absl::IsUnavailable(ParsePodEvent(line).status()));
  }
  CHECK_FALSE(ParsePodPage("{}").ok());
}

TEST_CASE("A pod that cannot be read is a problem of that pod alone") {
  const std::string bad = R"({"metadata": {"uid": "../x", "namespace": "team", "name": "bad",
      "resourceVersion": "8"}})";
  const auto event = ParsePodEvent(R"({"type": "ADDED", "object": )" + bad + "}");
  REQUIRE(event.ok());
  CHECK(event->kind == PodEvent::Kind::kBookmark);
  CHECK(event->resource_version == "8");
  REQUIRE(event->unreadable.has_value());
  CHECK(event->unreadable->subject == "team/bad");
  const auto page =
      ParsePodPage(R"({"metadata": {"resourceVersion": "9"}, "items": [)" + bad + "," + kPod + "]}");
  REQUIRE(page.ok());
  CHECK(page->pods.size() == 1);
  REQUIRE(page->unreadable.size() == 1);
  CHECK(page->unreadable[0].text.find("metadata.uid: \"../x\"") == 0);
}

TEST_CASE("The copy of a static pod is known by the UID that its kubelet has for it") {
  const auto uid = [](const std::string& mirror) {
    const auto event = ParsePodEvent(R"({"type": "ADDED", "object": {"metadata": {"uid": "u-1",
        "resourceVersion": "1", "annotations": {"kubernetes.io/config.mirror": ")" +
                                     mirror + R"("}}}})");
    return event.ok() ? event->pod.uid : "";
  };
  const std::string hash(32, 'a');
  CHECK(uid(hash) == hash);
  // What is no such hash may be another pod's UID.
  CHECK(uid("0f6a1c2e-1111-2222-3333-444455556666") == "u-1");
}

TEST_CASE("Whether names of CDI reach containers depends on the versions in the Node") {
  const auto of = [](const std::string& runtime, const std::string& kubelet) {
    return CdiSupportOf({runtime, kubelet});
  };
  CHECK(of("containerd://2.0.5", "v1.31.4") == CdiSupport::kYes);
  CHECK(of("containerd://1.7.27", "v1.31.4") == CdiSupport::kMaybe);
  CHECK(of("containerd://1.6.20~ds1", "v1.36.3") == CdiSupport::kNo);
  CHECK(of("cri-o://1.31.0", "v1.31.4") == CdiSupport::kYes);
  CHECK(of("cri-o://1.27.4", "v1.31.4") == CdiSupport::kNo);
  CHECK(of("docker://27.1.0", "v1.31.4") == CdiSupport::kNo);
  CHECK(of("containerd://2.1.0", "v1.28.9-eks-036c24b") == CdiSupport::kNo);
  CHECK(of("containerd://2.1.0", "") == CdiSupport::kYes);
  for (const char* runtime : {"", "containerd", "containerd://", "kata://3.0.0"}) {
    CHECK(of(runtime, "v1.31.4") == CdiSupport::kMaybe);
  }
  const auto facts = ParseRuntime(
      R"({"status": {"nodeInfo": {"containerRuntimeVersion": "a://1", "kubeletVersion": "v2"}}})");
  REQUIRE(facts.ok());
  CHECK(facts->runtime == "a://1");
  CHECK(facts->kubelet == "v2");
  for (const char* node : {"", "{}", R"({"status": {"nodeInfo": {"kubeletVersion": 7}}})"}) {
    CHECK(absl::IsDataLoss(ParseRuntime(node).status()));
  }
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

TEST_CASE(
    "HealthEvents: the node and each pod on it hear of a GPU that is sick, and that is well") {
  const Gpus well = SomeGpus(2);
  Gpus sick = well;
  sick.devices[1].hardware.healthy = false;
  sick.devices[1].unhealthy = "Xid 79";
  std::map<std::string, Holding> holdings;
  const auto hold = [&](const std::string& nonce, const std::string& pod, const std::string& name,
                        std::size_t gpu) {
    holdings[nonce].grant = {{nonce, "uid-" + pod, "team", pod, name},
                             {{gpu, SliceMode::kFraction, 500, 10, "", 0}}};
  };
  hold("a", "p", "main", 1);
  hold("b", "p", "helper", 1);
  hold("c", "other", "main", 0);
  CHECK(HealthEvents("n", well, well, holdings).empty());
  CHECK(HealthEvents("n", sick, sick, holdings).empty());
  const std::vector<ClusterEvent> sent = HealthEvents("n", well, sick, holdings);
  REQUIRE(sent.size() == 2);
  CHECK(sent[0] == ClusterEvent{"Node", "", "n", "n", true, "GPUUnhealthy",
                                "GPU 1 (GPU-1) takes no new container: Xid 79; held by team/p: "
                                "main (fraction), helper (fraction)"});
  CHECK(sent[1] == ClusterEvent{"Pod", "team", "p", "uid-p", true, "GPUUnhealthy",
                                "GPU 1 (GPU-1) of node n is unhealthy: Xid 79; it has containers "
                                "main (fraction), helper (fraction) there"});
  CHECK(HealthEvents("n", {}, sick, {}).size() == 1);
  const std::vector<ClusterEvent> again = HealthEvents("n", sick, well, holdings);
  REQUIRE(again.size() == 2);
  CHECK(again[0].reason == "GPUHealthy");
  CHECK_FALSE(again[0].warning);
  CHECK(again[0].message.find("GPU 1 (GPU-1) takes containers again; held by team/p") == 0);
}

TEST_CASE("An event is one of core/v1 about its object") {
  const ClusterEvent of_pod{"Pod", "team", "p", "u", true, "GPUUnhealthy", std::string(2000, 'x')};
  CHECK(EventPath(of_pod) == "/api/v1/namespaces/team/events");
  const auto body = nlohmann::json::parse(EventBody(of_pod, "n", "17", 86'400));
  CHECK(body["metadata"]["name"] == "p.17");
  CHECK(body["involvedObject"]["uid"] == "u");
  CHECK(body["involvedObject"]["namespace"] == "team");
  CHECK(body["type"] == "Warning");
  CHECK(body["lastTimestamp"] == "1970-01-02T00:00:00Z");
  CHECK(body["source"]["component"] == "tephra-node");
  CHECK(body["message"].get<std::string>().size() <= 1024);
  CHECK(EventPath({"Node", "", "n", "n", false, "r", "m"}) == "/api/v1/namespaces/default/events");
}

TEST_CASE("EventBudget: 25 at once, then one in ten seconds") {
  EventBudget budget;
  const auto taken = [&](std::int64_t now_ms) {
    int count = 0;
    while (budget.Take(now_ms)) ++count;
    return count;
  };
  CHECK(taken(1'000'000) == 25);
  CHECK(taken(1'009'999) <= 1);
  CHECK(taken(1'040'000) <= 4);
  CHECK(taken(1'000'000'000) == 25);
}

}  // namespace
}  // namespace tephra::node
