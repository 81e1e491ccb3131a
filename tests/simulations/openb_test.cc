#include "simulations/traces/openb.h"

#include <catch2/catch.hpp>

#include "tests/support/scratch_file.h"

namespace tephra {
namespace {

const std::string kHeader = "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec\n";
const std::set<std::string> kModels = {"T4", "V100"};

std::string PodError(const std::string& rows) {
  const ScratchFile file(kHeader + rows);
  const auto pods = ReadOpenbPods(file.path(), kModels);
  return pods.ok() ? "" : std::string(pods.status().message()).substr(file.path().size());
}

std::string OrderError(const std::string& text, std::size_t rows = 3) {
  const ScratchFile file(text);
  const auto order = ReadOpenbOrder(file.path(), rows);
  return order.ok() ? "" : std::string(order.status().message()).substr(file.path().size());
}

TEST_CASE("openb: a pod list is read with shares capped at a whole device") {
  const ScratchFile file(kHeader + "a,1000,2048,1,460,T4|V100\nb,500,1,8,2000,\nc,1,1,0,700,T4\n");
  const auto list = ReadOpenbPods(file.path(), kModels);
  REQUIRE(list.ok());
  REQUIRE(list->pods.size() == 3);
  CHECK(list->pods[0].memory == 2048LL << 20);
  CHECK(list->models[list->pods[0].models] == "T4|V100");
  CHECK(list->pods[1].compute == 1000);
  CHECK(list->pods[2].compute == 0);  // no GPUs, no share of one
  CHECK(list->pods[2].models == 0);
}

TEST_CASE("openb: faults of a pod list name line, column and value") {
  CHECK(PodError("a,-5,1,0,0,\n").starts_with(":2: cpu_milli: \"-5\", expected a whole number"));
  CHECK(PodError("a,1,1,0,0,\na,1,1,0,0,\n") == ":3: name: \"a\", expected a unique name");
  CHECK(PodError("a,1,1,1,500,A100\n") ==
        ":2: gpu_spec: \"A100\", expected GPU models of the cluster; no node has A100");
  CHECK(PodError("a,1,1,1,0,\n").starts_with(":2: gpu_milli: \"0\""));
  CHECK(PodError("a,1,1,1\n").find("6 fields") != std::string::npos);
  CHECK(PodError("a,1,1,1,50").find("truncated") != std::string::npos);
}

TEST_CASE("openb: an arrival order cut at any byte is refused") {
  const std::string text = "2\n0\n2\n2\nn-0 17\nn-1 4\n";
  CHECK(OrderError(text).empty());
  for (std::size_t cut = 0; cut < text.size(); ++cut) {
    CAPTURE(cut);
    CHECK_FALSE(OrderError(text.substr(0, cut)).empty());
  }
  CHECK(OrderError("1\n3\n0\n").starts_with(":2: \"3\", expected a row of the pod list"));
  CHECK(OrderError("0\n2\na 1\na 2\n").find("a unique name") != std::string::npos);
  CHECK(OrderError("0\n1\na\n").find("a node name and its key") != std::string::npos);
  CHECK(OrderError("0\n0\nmore\n").find("end of the file") != std::string::npos);
}

TEST_CASE("openb: node names get their key in front, four digits wide") {
  OpenbOrder order;
  order.nodes = {{"a", 7}, {"b", 12345}};
  std::vector<NodeSpec> nodes(2);
  nodes[0].name = "a";
  nodes[1].name = "b";
  REQUIRE(RenameByOrder("order.txt", order, nodes).ok());
  CHECK(nodes[0].name == "0007-a");
  CHECK(nodes[1].name == "12345-b");
  CHECK_FALSE(RenameByOrder("order.txt", order, nodes).ok());
}

TEST_CASE("openb: the usual pods are the most frequent ones that cover 95 percent") {
  PodShapes shapes;
  shapes.Add({1000, 500, 1, ""}, 60);
  shapes.Add({2000, 1000, 1, ""}, 18);
  shapes.Add({3000, 1000, 1, ""}, 18);  // as frequent, and larger: first
  shapes.Add({9000, 1000, 8, ""}, 4);   // beyond the 95
  const auto expected = shapes.Expected();
  REQUIRE(expected.size() == 3);
  CHECK(expected[0].cpu == 1000);
  CHECK(expected[1].cpu == 3000);
  CHECK(expected[2].cpu == 2000);
  CHECK(expected[0].share == 60.0 / 100.0 / (96.0 / 100.0));
}

TEST_CASE("openb: repeats of a row are clones with names of their own") {
  auto pods = std::make_shared<OpenbPods>();
  pods->pods = {{"a", 1, 1, 1, 500, 0}};
  auto order = std::make_shared<OpenbOrder>();
  order->pods = {0, 0, 0};
  const auto arrivals = OrderedOpenbArrivals(pods, order);
  std::vector<std::string> names;
  Arrival arrival;
  while (*arrivals->Next(arrival)) names.push_back(arrival.job.uid);
  CHECK(names == std::vector<std::string>{"a", "a-clone-1", "a-clone-2"});
  CHECK(arrival.at == 2);
}

}  // namespace
}  // namespace tephra
