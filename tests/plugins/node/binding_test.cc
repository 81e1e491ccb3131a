// Late binding without a kubelet: its checkpoint is a file that the test writes.
#include <fstream>
#include <map>
#include <sstream>

#include <catch2/catch.hpp>
#include <grpcpp/grpcpp.h>
#include <nlohmann/json.hpp>

#include "kubelet/pod_resources.grpc.pb.h"
#include "plugins/node/binding/reserved_gpus.h"
#include "tests/plugins/node/binding_node.h"
#include "tests/plugins/node/gpus.h"

namespace tephra::node {
namespace {

using Node = BindingNode;

TEST_CASE("A container that starts sees the slices of its pod's annotation") {
  Node node;
  node.Give("a", 1);
  const std::string nonce = node.Admit("a", "main", "0-0");
  const absl::Status started = node.Start("0-0");
  INFO(started.ToString());
  REQUIRE(started.ok());
  CHECK(node.Sees(nonce, "GPU-1"));
  CHECK(
      std::filesystem::exists(node.settings().state_folder + "/nonces/" + nonce + "/slices.json"));
}

TEST_CASE("Starting again changes nothing, even where the annotation has changed since") {
  Node node;
  node.Give("a", 1);
  node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  const std::string before = node.Cdi();
  node.Give("a", 0);
  CHECK(node.Start("0-0").ok());
  node.Begin();
  CHECK(node.Start("0-0").ok());
  CHECK(node.Cdi() == before);
}

TEST_CASE("A GPU that is held stays its holder's until the holder is gone") {
  Node node;
  node.Give("a", 1);
  node.Give("b", 1);
  node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  const std::string nonce = node.Admit("b", "main", "0-1");
  const absl::Status refused = node.Start("0-1");
  CHECK(absl::IsUnavailable(refused));
  CHECK(refused.message() == "GPU 1 (GPU-1) is held by pod team/a (a), container main");
  CHECK_FALSE(node.Sees(nonce, "GPU-1"));
  // The kubelet and the API server forgot it, but its containers still run.
  const std::string cgroup = node.settings().cgroup_root + "/kubepods/poda";
  std::filesystem::create_directories(cgroup);
  node.Forget("a", "main");
  CHECK_FALSE(node.Start("0-1").ok());
  node.Begin();
  CHECK_FALSE(node.Start("0-1").ok());
  std::filesystem::remove(cgroup);
  node.binding().Sweep();
  CHECK(node.Start("0-1").ok());
  CHECK(node.Sees(nonce, "GPU-1"));
}

TEST_CASE("What a pod held is given back once it has ended, before the kubelet forgets it") {
  Node node;
  const std::string cgroup = node.settings().cgroup_root + "/kubepods/poda";
  std::filesystem::create_directories(cgroup);
  node.Give("a", 1);
  node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  CHECK_FALSE(node.binding().Sweep());
  node.pods.pods["a"].ended = true;
  CHECK(node.binding().Sweep());
  CHECK(node.binding().holdings().size() == 1);
  std::filesystem::remove(cgroup);
  CHECK_FALSE(node.binding().Sweep());
  CHECK(node.binding().holdings().empty());
  CHECK(node.Cdi().empty());
  CHECK(absl::IsNotFound(node.Start("0-0")));
}

TEST_CASE("Pods without annotation, of other schedulers, ended or gone get nothing") {
  Node node;
  node.Admit("gone", "main", "0-0");
  CHECK(absl::IsNotFound(node.Start("0-0")));
  node.pods.pods["plain"] = {"plain", "team", "plain", "tephra", false, std::nullopt, {}, {}};
  node.Admit("plain", "main", "0-1");
  CHECK(node.Start("0-1").message() == "team/plain: the pod has no annotation tephra.sh/slices");
  node.Give("foreign", 0, "default-scheduler");
  node.Admit("foreign", "main", "0-2");
  CHECK(node.Start("0-2").message() ==
        "team/foreign: scheduled by default-scheduler, and no GPU of this node is reserved for it");
  node.Give("other", 0);
  node.Admit("other", "helper", "0-3");
  CHECK(absl::IsFailedPrecondition(node.Start("0-3")));
  CHECK(node.Start("9-9").message() ==
        "the kubelet's checkpoint has no container with exactly these device IDs");
  CHECK(node.Cdi().empty());
  CHECK(node.binding().holdings().empty());
}

// A kubelet's pod resources: the holder of each slot.
class PodResources final : public v1::PodResourcesLister::Service {
 public:
  explicit PodResources(const std::string& socket) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
    builder.RegisterService(this);
    server_ = builder.BuildAndStart();
  }
  grpc::Status List(grpc::ServerContext*, const v1::ListPodResourcesRequest*,
                    v1::ListPodResourcesResponse* answer) override {
    for (const auto& [pod, slot] : holders) {
      v1::PodResources& listed = *answer->add_pod_resources();
      listed.set_name(pod);
      listed.set_namespace_("team");
      v1::ContainerResources& container = *listed.add_containers();
      container.set_name("main");
      for (const char* resource : {"t/t", "other/resource"}) {
        v1::ContainerDevices& devices = *container.add_devices();
        devices.set_resource_name(resource);
        devices.add_device_ids(slot);
      }
    }
    return grpc::Status::OK;
  }
  std::vector<std::pair<std::string, std::string>> holders;

 private:
  std::unique_ptr<grpc::Server> server_;
};

TEST_CASE(
    "Where the checkpoint is of an unknown shape, the kubelet's pod resources tell whose it is") {
  Node node;
  node.Give("a", 1);
  node.Give("b", 0);
  const std::string a = node.Admit("a", "main", "0-0");
  node.BreakCheckpoint();
  const std::string why = "kubelet checkpoint: Checksum: expected a number; ";
  CHECK(node.Start("0-0").message().find(why + "kubelet's pod resources at ") == 0);
  PodResources kubelet(node.settings().pod_resources);
  CHECK(node.Start("0-0").message() == why +
                                           "the kubelet's pod resources name 0 containers with "
                                           "these devices, expected one with just these");
  kubelet.holders = {{"a", "0-0"}};
  REQUIRE(node.Start("0-0").ok());
  CHECK(node.Sees(a, "GPU-1"));
  // A new process starts what was bound again, and says of the rest that nothing tells.
  const std::string b = node.Admit("b", "main", "0-1");
  node.BreakCheckpoint();
  kubelet.holders.emplace_back("b", "0-1");
  node.Begin();
  CHECK(node.Start("0-0").ok());
  CHECK(node.Sees(a, "GPU-1"));
  CHECK(node.Start("0-1").message().find("allocated before this process began") !=
        std::string::npos);
  // The slot is another pod's now: its nonce is, too.
  node.pods.pods.erase("a");
  node.binding().Sweep();
  node.Give("c", 1);
  const std::string c = node.Admit("c", "main", "0-0");
  node.BreakCheckpoint();
  kubelet.holders = {{"c", "0-0"}};
  std::filesystem::create_directories(node.settings().cgroup_root + "/kubepods");
  node.binding().Sweep();
  REQUIRE(node.Start("0-0").ok());
  CHECK(node.Sees(c, "GPU-1"));
  CHECK_FALSE(node.Sees(a, "GPU-1"));
  // Given twice.
  kubelet.holders.emplace_back("b", "0-0");
  CHECK(absl::IsUnavailable(node.Start("0-0")));
}

TEST_CASE("A pod of another scheduler gets the GPUs that are reserved for it, and no other pod does") {
  Node node;
  Gpus gpus = SomeGpus(2);
  gpus.devices[1].reserved = true;
  node.Begin(gpus);
  node.Give("foreign", 0, "default-scheduler");  // whatever its annotation says
  const std::string nonce = node.Admit("foreign", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  CHECK(node.Sees(nonce, "GPU-1"));
  node.Begin(gpus);
  CHECK(node.Start("0-0").ok());
  CHECK(node.Sees(nonce, "GPU-1"));
  node.Give("second", 0, "default-scheduler");
  const std::string waits = node.Admit("second", "main", "0-1");
  CHECK(node.Start("0-1").message() ==
        "0 of 1 GPUs that are reserved for pods of other schedulers are free, 1 asked for");
  node.Give("ours", 1);
  node.Admit("ours", "main", "0-2");
  CHECK(node.Start("0-2").message() ==
        "team/ours: GPU GPU-1 is reserved for pods of other schedulers");
  node.pods.pods.erase("foreign");
  node.Forget("foreign", "main");
  node.binding().Sweep();
  REQUIRE(node.Start("0-1").ok());
  CHECK(node.Sees(waits, "GPU-1"));
}

TEST_CASE(
    "Reserved: each slot is one device, and containers of a pod that run together share none") {
  Gpus gpus = SomeGpus(4);
  for (const std::size_t i : {1, 2, 3}) gpus.devices[i].reserved = true;
  gpus.devices[2].hardware.healthy = false;
  Books books;
  const auto wanted = [](const std::string& nonce, const std::string& pod, bool init) {
    Holding holding;
    holding.init = init;
    holding.grant.holder = {nonce, pod, "team", pod, "c"};
    return holding;
  };
  const auto chosen = [&](Holding holding, std::size_t count) {
    const auto slices = ChooseReservedGpus(holding, count, books, gpus);
    if (!slices.ok()) return std::string(slices.status().message());
    std::string text;
    for (const GrantedSlice& slice : *slices) text += std::to_string(slice.gpu) + " ";
    holding.grant.slices = *slices;
    books.Put(holding);
    return text;
  };
  CHECK(chosen(wanted("i", "p", true), 2) == "1 3 ");
  CHECK(chosen(wanted("a", "p", false), 1) == "1 ");
  CHECK(chosen(wanted("b", "p", false), 1) == "3 ");
  CHECK(chosen(wanted("q", "other", false), 1) ==
        "0 of 2 GPUs that are reserved for pods of other schedulers are free, 1 asked for");
  CHECK(chosen(wanted("q", "other", false), 3) ==
        "2 healthy GPUs of this node are reserved for pods of other schedulers, 3 asked for");
}

TEST_CASE("An unhealthy GPU keeps its containers and takes no new one") {
  Node node;
  node.Give("a", 0);
  node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  Gpus gpus = SomeGpus(2);
  for (Gpu& gpu : gpus.devices) {
    gpu.hardware.healthy = false;
    gpu.unhealthy = "Xid 79";
  }
  REQUIRE(node.binding().SetGpus(gpus).ok());
  CHECK(node.Start("0-0").ok());
  node.Give("b", 1);
  node.Admit("b", "main", "0-1");
  CHECK(node.Start("0-1").message() == "team/b: GPU GPU-1 is unhealthy: Xid 79");
  CHECK(node.binding().held_slots().at("0-0") == std::set<std::size_t>{0});
  CHECK_FALSE(node.binding().SetGpus(SomeGpus(1)).ok());
}

TEST_CASE("A damaged record is written again from the slices of the pod") {
  Node node;
  node.Give("a", 1);
  const std::string nonce = node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  const std::string records = node.settings().state_folder + "/records/";
  std::ofstream(records + nonce + ".json") << "{}";
  std::ofstream(records + "passwd.json") << "{}";
  std::filesystem::create_symlink("/etc/passwd", records + std::string(32, 'a') + ".json");
  node.Begin();
  REQUIRE(node.binding().holdings().size() == 1);
  CHECK_FALSE(std::filesystem::exists(records + std::string(32, 'a') + ".json"));
  node.Give("b", 1);
  node.Admit("b", "main", "0-1");
  CHECK(node.Start("0-1").message() == "GPU 1 (GPU-1) is held by pod team/a (a), container main");
  CHECK(node.Start("0-0").ok());
  CHECK(node.Sees(nonce, "GPU-1"));
  node.Begin();
  CHECK(node.binding().holdings().at(nonce).bound);
}

TEST_CASE("While the content of a damaged record is unknown, nothing new is bound") {
  Node node;
  node.Give("a", 1);
  const std::string nonce = node.Admit("a", "main", "0-0");
  REQUIRE(node.Start("0-0").ok());
  const std::string cgroup = node.settings().cgroup_root + "/kubepods/poda";
  std::filesystem::create_directories(cgroup);
  std::ofstream(node.settings().state_folder + "/records/" + nonce + ".json") << "{";
  node.pods.pods.erase("a");  // deleted by force, and its container runs on
  node.Begin();
  node.Give("b", 0);
  node.Admit("b", "main", "0-1");
  CHECK(node.Start("0-1").message() ==
        "the record of pod a, container main cannot be read, so what it holds is not known: gone");
  std::filesystem::remove(cgroup);
  CHECK(node.Start("0-1").ok());
  CHECK(node.binding().holdings().size() == 1);
}

TEST_CASE("A device node that is missing is said, and nothing is given") {
  Node node;
  std::filesystem::remove(node.settings().device_root + "/dev/nvidia1");
  node.Give("a", 1);
  node.Admit("a", "main", "0-0");
  CHECK(node.Start("0-0").message() ==
        "device node " + node.settings().device_root + "/dev/nvidia1 does not exist on this node");
  CHECK(node.binding().holdings().empty());
  CHECK(node.Cdi().empty());
}

}  // namespace
}  // namespace tephra::node
