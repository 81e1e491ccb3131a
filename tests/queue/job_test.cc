#include "queue/job.h"

#include <catch2/catch.hpp>

#include "tests/support/build.h"

namespace tephra {
namespace {

// The message of what is wrong; empty if nothing is.
std::string Wrong(const JobSpec& job) { return std::string(ValidateJob(job).message()); }

JobSpec Sound() { return AJob("train").Role("worker", 4, APod().Gpus(1).Cores(2), 2); }

bool Names(const std::string& text, const std::vector<std::string>& parts) {
  INFO(text);
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) return false;
  }
  return true;
}

TEST_CASE("ValidateJob: a sound job passes") {
  CHECK(Wrong(Sound()) == "");
  CHECK(Wrong(AJob("empty")) == "");
  CHECK(Wrong(AJob("none").Role("worker", 0, APod())) == "");
}

TEST_CASE("ValidateJob: each fault names the field, the value and what was expected") {
  JobSpec job = Sound();
  job.uid.clear();
  CHECK(Names(Wrong(job), {"train", "uid"}));

  job = Sound();
  job.gang.min_member = 5;
  CHECK(Names(Wrong(job), {"train", "min_member", "5", "4"}));

  job = Sound();
  job.gang.min_member = -1;
  CHECK(Names(Wrong(job), {"min_member", "-1"}));

  job = Sound();
  job.gang.roles[0].min = 5;
  CHECK(Names(Wrong(job), {"worker", "min", "5"}));

  job = Sound();
  job.gang.roles[0].replicas = -1;
  CHECK(Names(Wrong(job), {"worker", "replicas", "-1"}));

  job = Sound();
  job.gang.roles.push_back(job.gang.roles[0]);
  CHECK(Names(Wrong(job), {"worker", "twice"}));

  job = Sound();
  job.gang.roles[0].pod.containers[0].requests[kCpu] = -3;
  CHECK(Names(Wrong(job), {"worker", "main", "-3"}));

  job = Sound();
  job.gang.roles[0].pod.overhead[kMemory] = -1;
  CHECK(Names(Wrong(job), {"overhead", "-1"}));

  job = Sound();
  job.gang.roles[0].pod.containers[0].requests[kGpu] = 1000;
  CHECK(Names(Wrong(job), {"derived"}));
}

TEST_CASE("ValidateJob: a device share lies between nothing and a whole") {
  const auto with = [](DeviceRequest devices) {
    JobSpec job = Sound();
    job.gang.roles[0].pod.containers[0].devices = devices;
    return Wrong(job);
  };
  CHECK(with({1, 1000, 0}) == "");
  CHECK(with({1, 1, 0}) == "");
  CHECK(with({1, 0, 1}) == "");
  CHECK(with({0, 0, 0}) == "");
  CHECK(Names(with({-1, 1000, 0}), {"count", "-1"}));
  CHECK(Names(with({1, 1001, 0}), {"compute", "1001"}));
  CHECK(Names(with({1, -1, 5}), {"compute", "-1"}));
  CHECK(Names(with({1, 500, -5}), {"memory_mib", "-5"}));
  CHECK(Names(with({1, 0, 0}), {"compute"}));
  CHECK(Names(with({70000, 1000, 0}), {"count", "70000"}));
}

TEST_CASE(
    "ValidateJob: a MIG instance is of a profile that some model has, and nothing beside it") {
  const auto with = [](DeviceRequest devices) {
    JobSpec job = Sound();
    job.gang.roles[0].pod.containers[0].devices = std::move(devices);
    return Wrong(job);
  };
  CHECK(with({2, 0, 0, Sharing::kMig, "3g.20gb"}) == "");
  CHECK(with({1, 500, 0, Sharing::kMps}) == "");
  CHECK(with({1, 1000, 0, Sharing::kMps}) == "");
  CHECK(Names(with({1, 0, 0, Sharing::kMig, "3g.21gb"}), {"mig_profile", "3g.21gb", "1g.10gb"}));
  CHECK(Names(with({1, 0, 0, Sharing::kMig}), {"mig_profile", "\"\""}));
  CHECK(Names(with({1, 1000, 0, Sharing::kMig, "3g.20gb"}), {"compute", "1000", "expected 0"}));
  CHECK(Names(with({1, 0, 5, Sharing::kMig, "3g.20gb"}), {"memory_mib", "5", "expected 0"}));
  CHECK(Names(with({1, 500, 0, Sharing::kMps, "3g.20gb"}), {"mig_profile", "expected none"}));
  CHECK(Names(with({1, 0, 0, Sharing::kTimeSlice}), {"compute"}));
}

TEST_CASE("ValidateJob: a limit needs a group, a key and room for one") {
  const auto with = [](DomainLimit limit) {
    JobSpec job = Sound();
    job.gang.roles[0].pod.limits = {limit};
    return Wrong(job);
  };
  CHECK(with({"g", kHostnameKey, 1}) == "");
  CHECK(with({"g", kHostnameKey, 0}) != "");
  CHECK(with({"", kHostnameKey, 1}) != "");
  CHECK(with({"g", "", 1}) != "");
}

TEST_CASE("ValidateJob: a limit of the node has few places, different names and the node as its domain") {
  const auto with = [](const std::string& key, std::int32_t own, std::vector<std::string> shared) {
    JobSpec job = Sound();
    job.gang.roles[0].pod.limits = {{"volumes/x", key, 0, true, own, std::move(shared)}};
    return Wrong(job);
  };
  CHECK(with(kHostnameKey, 2, {"a", "b"}) == "");
  CHECK(with(kHostnameKey, 1024, {}) == "");
  CHECK(Names(with(kHostnameKey, 1025, {}), {"\"volumes/x\" own", "1025", "0 to 1024"}));
  CHECK(Names(with(kHostnameKey, -1, {"a"}), {"own", "-1"}));
  CHECK(Names(with(kHostnameKey, 0, {"a", "b", "a"}), {"shared", "\"a\"", "different names"}));
  CHECK(Names(with(kHostnameKey, 0, {""}), {"shared", "\"\"", "different names"}));
  CHECK(Names(with("rack", 1, {}), {"topology_key", "\"rack\"", kHostnameKey}));
  CHECK(Names(with(kClusterKey, 1, {}), {"topology_key", kHostnameKey}));
  std::vector<std::string> many;
  for (int i = 0; i < 1025; ++i) many.push_back(std::to_string(i));
  CHECK(Names(with(kHostnameKey, 0, many), {"shared", "1025", "at most 1024"}));
}

TEST_CASE("ValidateJob: a limit given twice would be counted twice, and is refused") {
  CHECK(Wrong(AJob("j").Role("w", 1, APod().AtMost(1, "g").AtMost(1, "g", "rack"))) == "");
  CHECK(Names(Wrong(AJob("j").Role("w", 1, APod().AtMost(1, "g").AtMost(2, "g"))),
              {"\"g\"", kHostnameKey, "given twice"}));
}

TEST_CASE("ValidateJob: no amount, and no sum of amounts, is larger than its integer can add up") {
  const auto with = [](std::int32_t replicas, const PodTemplate& pod) {
    return Wrong(AJob("j").Role("w", replicas, pod));
  };
  CHECK(with(1, APod().Memory(kMaxAmount)) == "");
  CHECK(Names(with(1, APod().Memory(kMaxAmount + 1)), {"kind 1", "1125899906842625"}));
  CHECK(Names(with(1, APod().Memory(kMaxAmount).And(ContainerKind::kApp).Memory(1)),
              {"sum of containers", "kind 1", "1125899906842625"}));
  CHECK(with(1024, APod().Memory(kMaxAmount)) == "");
  CHECK(Names(with(1025, APod().Memory(kMaxAmount)), {"over all tasks of the job"}));
  CHECK(with(1, APod().Share(500, kMaxDeviceMib)) == "");
  CHECK(Names(with(1, APod().Share(500, kMaxDeviceMib + 1)), {"memory_mib", "1073741825"}));
  CHECK(Names(with(1000000, APod().Share(500, kMaxDeviceMib, 65535)), {"kind 4"}));
}

TEST_CASE("ValidateJob: tasks and containers are as many as can be numbered") {
  CHECK(Wrong(AJob("j").Role("w", kMaxTasks, APod())) == "");
  CHECK(Names(Wrong(AJob("j").Role("a", kMaxTasks, APod()).Role("b", 1, APod())),
              {"replicas of all roles", "1000001", "1000000"}));
  PodTemplate pod;
  pod.containers.resize(kMaxContainers);
  CHECK(Wrong(AJob("j").Role("w", 1, pod)) == "");
  pod.containers.emplace_back();
  CHECK(Names(Wrong(AJob("j").Role("w", 1, pod)), {"containers", "65536", "65535"}));
}

TEST_CASE("ValidateJob: groups may be inside each other, neither in a circle nor too deep") {
  JobSpec job = AJob("train").Role("worker", 4, APod().Gpus(1), 4);
  job.gang.roles[0].group = "pair";
  job.gang.groups = {{"pair", 4, false, {}, "stage"}};
  CHECK(Names(Wrong(job), {"group \"pair\"", "parent", "\"stage\"", "another group"}));
  job.gang.groups.push_back({"stage", 4, false, {}, "replica"});
  job.gang.groups.push_back({"replica", 4, false, {}, ""});
  CHECK(ValidateJob(job).ok());
  job.gang.groups[2].min_member = 5;  // more than in all groups inside it
  CHECK(Names(Wrong(job), {"group \"replica\"", "min_member", "5", "1 to", "4"}));
  job.gang.groups[2].min_member = 4;
  job.gang.groups[0].elastic = true;  // then the group around it cannot need its tasks
  CHECK(Names(Wrong(job), {"group \"stage\"", "min_member", "4", "no elastic group", "0"}));
  job.gang.groups[0].elastic = false;
  job.gang.groups[2].parent = "pair";
  CHECK(Names(Wrong(job), {"group \"pair\"", "parent", "\"stage\"", "not inside it"}));
  job.gang.groups[2].parent = "l0";
  for (int level = 0; level < kMaxGroupLevels; ++level) {
    job.gang.groups.push_back({"l" + std::to_string(level), 4, false, {}, "l" + std::to_string(level + 1)});
  }
  job.gang.groups.back().parent.clear();
  CHECK(Names(Wrong(job), {"parent", "at most 8 groups inside each other"}));
}

TEST_CASE("ValidateJob: groups have a name, and a minimum that their roles can give") {
  JobSpec job = Sound();
  job.gang.roles[0].group = "stage";
  CHECK(Names(Wrong(job), {"role \"worker\"", "group", "\"stage\""}));
  job.gang.groups = {{"stage", 4, false, {}}};
  CHECK(Wrong(job) == "");
  job.gang.groups[0].min_member = 5;
  CHECK(Names(Wrong(job), {"group \"stage\"", "min_member", "5", "1 to", "4"}));
  job.gang.groups[0].min_member = 0;
  CHECK(Names(Wrong(job), {"min_member", "0", "1 to"}));
  job.gang.groups[0] = {"stage", 1, true, {}};
  CHECK(Names(Wrong(job), {"min_member", "4", "elastic", "0"}));
  job.gang.groups[0] = {"stage", 1, true, {Locality::Mode::kRequired, -1, ""}};
  CHECK(Names(Wrong(job), {"group \"stage\"", "highest_tier", "-1"}));
  job.gang.groups = {{"stage", 1, false, {}}, {"stage", 1, false, {}}};
  CHECK(ValidateJob(job).code() == absl::StatusCode::kAlreadyExists);
  job.gang.groups = {{"stage", 1, false, {}}, {"empty", 1, false, {}}};
  CHECK(Names(Wrong(job), {"group \"empty\"", "min_member", "1", "0"}));
}

}  // namespace
}  // namespace tephra
