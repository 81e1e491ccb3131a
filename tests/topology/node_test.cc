#include "topology/node.h"

#include <catch2/catch.hpp>

#include "tests/support/build.h"

namespace tephra {
namespace {

using Op = LabelRequirement::Operator;

PodTemplate Wants(LabelRequirement requirement) {
  return APod().Affinity({{std::move(requirement)}, {}});
}

Ineligible Check(const NodeSpec& node, const PodTemplate& pod, bool needs_device = false) {
  return CheckNode(node, pod.constraints, needs_device);
}

TEST_CASE("CheckNode: a selector holds if every label is there with that value") {
  const NodeSpec node = ANode("n").Label("zone", "a").Label("disk", "ssd");
  CHECK(Check(node, APod()) == Ineligible::kNo);
  CHECK(Check(node, APod().Select("zone", "a")) == Ineligible::kNo);
  CHECK(Check(node, APod().Select("zone", "a").Select("disk", "ssd")) == Ineligible::kNo);
  CHECK(Check(node, APod().Select("zone", "b")) == Ineligible::kSelector);
  CHECK(Check(node, APod().Select("zone", "a").Select("disk", "hdd")) == Ineligible::kSelector);
  CHECK(Check(node, APod().Select("rack", "")) == Ineligible::kSelector);
}

TEST_CASE("CheckNode: each operator of node affinity, with the label there, other and absent") {
  struct Row {
    Op op;
    std::vector<std::string> values;
    bool here, other, absent;  // label "7", label "x", no label
  };
  const std::vector<Row> rows = {
      {Op::kIn, {"7", "8"}, true, false, false},  {Op::kNotIn, {"7", "8"}, false, true, true},
      {Op::kExists, {}, true, true, false},       {Op::kDoesNotExist, {}, false, false, true},
      {Op::kGt, {"6"}, true, false, false},       {Op::kGt, {"7"}, false, false, false},
      {Op::kLt, {"8"}, true, false, false},       {Op::kLt, {"7"}, false, false, false},
      {Op::kLt, {"-1"}, false, false, false},     {Op::kGt, {"six"}, false, false, false},
      {Op::kGt, {"1", "2"}, false, false, false}, {Op::kIn, {}, false, false, false},
  };
  const NodeSpec here = ANode("h").Label("k", "7"), other = ANode("o").Label("k", "x"),
                 absent = ANode("a");
  for (const Row& row : rows) {
    const PodTemplate pod = Wants({"k", row.op, row.values});
    CAPTURE(static_cast<int>(row.op), row.values);
    CHECK((Check(here, pod) == Ineligible::kNo) == row.here);
    CHECK((Check(other, pod) == Ineligible::kNo) == row.other);
    CHECK((Check(absent, pod) == Ineligible::kNo) == row.absent);
  }
}

TEST_CASE("ValidateNode: links are between the devices, and of a sensible speed") {
  NodeSpec node = ANode("n").Gpus(2);
  CHECK(ValidateNode(node).ok());
  node.gpu_links = NodeLinks(3);
  CHECK(ValidateNode(node).message() ==
        "node \"n\": gpu_links: 3 GPUs, expected as many as devices: 2");
  node.gpu_links = NodeLinks(2);
  CHECK(ValidateNode(node).ok());
  node.gpu_links.Set(0, 1, {-1, LinkType::kNvLink, 1});
  CHECK(ValidateNode(node).message() ==
        "node \"n\": gpu_links: mb_per_s: -1, expected 0 to 10000000");
}

TEST_CASE("ValidateNode: a limit has a group and no place less than none") {
  NodeSpec node = ANode("n");
  node.limits = {{"volumes/x", 0}};
  CHECK(ValidateNode(node).ok());
  node.limits["volumes/y"] = -1;
  CHECK(ValidateNode(node).message() == "node \"n\": limits[volumes/y]: -1, expected at least 0");
  node.limits = {{"", 1}};
  CHECK(ValidateNode(node).message() == "node \"n\": limits: a limit needs a group");
  for (int i = 0; i < 300; ++i) node.limits["g" + std::to_string(i)] = 1;
  CHECK(ValidateNode(node).message() == "node \"n\": limits: 301, expected at most 256");
}

TEST_CASE("ValidateNode: how a device may be used") {
  const auto with = [](auto change) {
    NodeSpec node = ANode("n").Gpus(1);
    change(node.devices[0]);
    return std::string(ValidateNode(node).message());
  };
  const std::string where = "node \"n\": device ";
  CHECK(with([](auto& d) { d.modes = 0b11111, d.mig_model = "A100-40GB"; }) == "");
  CHECK(with([](auto& d) { d.modes = 0; }) == where + "modes: 0, expected 1 to 31");
  CHECK(with([](auto& d) { d.split_count = -1; }) ==
        where + "split_count: -1, expected 0 to 10000");
  CHECK(with([](auto& d) { d.mps_clients = 0; }) == where + "mps_clients: 0, expected 1 to 10000");
  CHECK(with([](auto& d) { d.replicas = 10001; }) ==
        where + "replicas: 10001, expected 0 to 10000");
  CHECK(with([](auto& d) { d.compute_factor = 999; }) ==
        where + "compute_factor: 999, expected 1000 to 10000");
  CHECK(with([](auto& d) { d.memory_factor = 10001; }) ==
        where + "memory_factor: 10001, expected 1000 to 10000");
  CHECK(with([](auto& d) { d.mig_model = "A100"; }) ==
        where + "mig_model: \"A100\", expected the name of one, such as \"A100-40GB\"");
  CHECK(with([](auto& d) { d.modes = Only(SliceMode::kMig); }) ==
        where + "mig_model: \"\", expected the name of one, such as \"A100-40GB\"");
}

TEST_CASE("CheckNode: devices are included and excluded by model and by UUID") {
  NodeSpec node = ANode("n").Gpus(1, "A").Gpus(1, "B");
  node.devices[0].uuid = "GPU-0";
  node.devices[1].uuid = "GPU-1";
  using Names = std::vector<std::string>;
  const auto of = [](Names models, Names uuids, Names no_models, Names no_uuids) {
    NodeConstraints constraints;
    constraints.device_models = std::move(models);
    constraints.device_uuids = std::move(uuids);
    constraints.excluded_models = std::move(no_models);
    constraints.excluded_uuids = std::move(no_uuids);
    return constraints;
  };
  const auto check = [&](const NodeConstraints& constraints) {
    return CheckNode(node, constraints, true) == Ineligible::kNo;
  };
  CHECK(check({}));
  CHECK(check(of({}, {}, {"A"}, {})));
  CHECK_FALSE(check(of({}, {}, {"A", "B"}, {})));
  CHECK(check(of({}, {"GPU-1", "GPU-9"}, {}, {})));
  CHECK_FALSE(check(of({}, {"GPU-9"}, {}, {})));
  CHECK_FALSE(check(of({"A"}, {"GPU-1"}, {}, {})));
  CHECK(check(of({}, {}, {}, {"GPU-0"})));
  CHECK_FALSE(check(of({"A"}, {}, {}, {"GPU-0"})));
  CHECK(NamesHosts(of({}, {"GPU-1"}, {}, {})));
  CHECK(NamesHosts(of({}, {}, {}, {"GPU-1"})));
  CHECK_FALSE(NamesHosts(of({}, {}, {"A"}, {})));
}

TEST_CASE("ValidateNode: a device that has a name is there once") {
  NodeSpec node = ANode("n").Gpus(3);
  node.devices[0].uuid = node.devices[2].uuid = "GPU-1";
  CHECK(ValidateNode(node).message() ==
        "node \"n\": device uuid: \"GPU-1\", expected each device once");
  node.devices[2].uuid.clear();
  CHECK(ValidateNode(node).ok());
}

TEST_CASE("CheckNode: one term of several is enough, and an empty term matches nothing") {
  const NodeSpec node = ANode("n").Label("a", "1");
  const NodeSelectorTerm yes{{{"a", Op::kExists, {}}}, {}}, no{{{"b", Op::kExists, {}}}, {}};
  CHECK(Check(node, APod().Affinity(no).Affinity(yes)) == Ineligible::kNo);
  CHECK(Check(node, APod().Affinity(no)) == Ineligible::kSelector);
  CHECK(Check(node, APod().Affinity({})) == Ineligible::kSelector);
  const NodeSelectorTerm both{{{"a", Op::kExists, {}}, {"b", Op::kExists, {}}}, {}};
  CHECK(Check(node, APod().Affinity(both)) == Ineligible::kSelector);
}

TEST_CASE("CheckNode: selector and affinity must both hold") {
  const NodeSpec node = ANode("n").Label("a", "1");
  const NodeSelectorTerm yes{{{"a", Op::kExists, {}}}, {}};
  CHECK(Check(node, APod().Select("a", "2").Affinity(yes)) == Ineligible::kSelector);
  CHECK(Check(node, APod().Select("a", "1").Affinity(yes)) == Ineligible::kNo);
}

TEST_CASE("CheckNode: a field term is about the node's name") {
  const NodeSpec node = ANode("n1");
  CHECK(Check(node, APod().Affinity({{}, {{"metadata.name", Op::kIn, {"n1", "n2"}}}})) ==
        Ineligible::kNo);
  CHECK(Check(node, APod().Affinity({{}, {{"metadata.name", Op::kNotIn, {"n1"}}}})) ==
        Ineligible::kSelector);
  CHECK(Check(node, APod().Affinity({{}, {{"metadata.uid", Op::kIn, {"n1"}}}})) ==
        Ineligible::kSelector);
}

TEST_CASE("CheckNode: a taint is tolerated by key, value and effect") {
  using Tol = Toleration::Operator;
  const NodeSpec node = ANode("n").Tainted("team", "x");
  struct Row {
    Toleration toleration;
    bool open;
  };
  const std::vector<Row> rows = {
      {{"team", "x", Tol::kEqual, true, {}}, true},
      {{"team", "y", Tol::kEqual, true, {}}, false},
      {{"team", "", Tol::kExists, true, {}}, true},
      {{"other", "", Tol::kExists, true, {}}, false},
      {{"", "", Tol::kExists, true, {}}, true},
      {{"", "", Tol::kEqual, true, {}}, false},
      {{"team", "x", Tol::kEqual, false, TaintEffect::kNoSchedule}, true},
      {{"team", "x", Tol::kEqual, false, TaintEffect::kNoExecute}, false},
      {{"", "", Tol::kExists, false, TaintEffect::kNoExecute}, false},
  };
  for (const Row& row : rows) {
    CAPTURE(row.toleration.key, row.toleration.value);
    CHECK((Check(node, APod().Tolerate(row.toleration)) == Ineligible::kNo) == row.open);
  }
  CHECK(Check(node, APod()) == Ineligible::kTaint);
}

TEST_CASE("CheckNode: every hard taint must be tolerated, a soft one never") {
  const Toleration a{"a", "", Toleration::Operator::kExists, true, {}};
  const NodeSpec two = ANode("n").Tainted("a", "").Tainted("b", "", TaintEffect::kNoExecute);
  CHECK(Check(two, APod().Tolerate(a)) == Ineligible::kTaint);
  CHECK(Check(ANode("n").Tainted("b", "", TaintEffect::kPreferNoSchedule), APod()) ==
        Ineligible::kNo);
}

TEST_CASE("CheckNode: only pods that tolerate the cordon may use a cordoned node") {
  const NodeSpec node = ANode("n").Cordoned();
  const char* kKey = "node.kubernetes.io/unschedulable";
  using Tol = Toleration::Operator;
  CHECK(Check(node, APod()) == Ineligible::kUnschedulable);
  CHECK(Check(node, APod().Tolerate({kKey, "", Tol::kExists, true, {}})) == Ineligible::kNo);
  CHECK(Check(node, APod().Tolerate({kKey, "", Tol::kExists, false, TaintEffect::kNoExecute})) ==
        Ineligible::kUnschedulable);
  CHECK(Check(node, APod().Tolerate({"", "", Tol::kExists, true, {}})) == Ineligible::kNo);
}

TEST_CASE("CheckNode: models count only for pods that need a device") {
  const NodeSpec node = ANode("n").Gpus(1, "A").Gpus(1, "B");
  CHECK(Check(node, APod().Models({"B"}), true) == Ineligible::kNo);
  CHECK(Check(node, APod().Models({"C", "A"}), true) == Ineligible::kNo);
  CHECK(Check(node, APod().Models({"C"}), true) == Ineligible::kModel);
  CHECK(Check(node, APod().Models({"C"}), false) == Ineligible::kNo);
  CHECK(Check(ANode("empty"), APod().Models({"C"}), true) == Ineligible::kModel);
}

TEST_CASE(
    "CheckNode: the first thing wrong is named, cordon before taint before selector before model") {
  ANode node = ANode("n").Gpus(1, "A");
  const PodTemplate pod = APod().Select("x", "y").Models({"B"});
  CHECK(Check(node, pod, true) == Ineligible::kSelector);
  node.Tainted("t", "");
  CHECK(Check(node, pod, true) == Ineligible::kTaint);
  node.Cordoned();
  CHECK(Check(node, pod, true) == Ineligible::kUnschedulable);
}

}  // namespace
}  // namespace tephra
