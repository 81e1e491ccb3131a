// What `tephra explain` and `tephra top` say of an engine that runs.
#include <sstream>

#include <catch2/catch.hpp>

#include "sidecar/client/engine_client.h"
#include "sidecar/client/explain_command.h"
#include "sidecar/client/output.h"
#include "sidecar/client/top_command.h"
#include "tests/sidecar/running_server.h"
#include "tests/sidecar/scheduler_client.h"
#include "tests/support/build.h"

namespace tephra {
namespace {

using Catch::Matchers::Contains;

JobUpserted Gang(const std::string& name, int tasks) {
  JobUpserted fact{AJob("uid-" + name).Role("worker", tasks, APod().Gpus(1)), 1};
  fact.job.name = "default/" + name;
  fact.job.queue = "research";
  fact.job.created = 1'000'000;
  fact.job.gang.min_member = tasks;
  return fact;
}

// Two nodes of eight GPUs, a queue with a limit, a gang that is placed and one that is too large.
class Looking {
 public:
  Looking() : client_(ConnectTo(running_.socket())) {
    QueueUpserted queue;
    queue.queue.name = "research";
    queue.queue.limit[kGpu] = 40 * kWholeGpu;
    queue.queue.limited_kinds = KindSet{1} << kGpu;
    queue.version = 1;
    client_.Sync({NodeUpserted{ANode("a").Gpus(8), 1}, NodeUpserted{ANode("b").Gpus(8), 1}, queue,
                  Gang("train", 4), Gang("large", 17)});
    REQUIRE(client_.Cycle(1'060'000).has_cycle());
  }

  std::string Explained(const std::string& job, bool wide = false) {
    v1::ExplainReply reply;
    const absl::Status status = asking().Explain(job, &reply);
    REQUIRE(status.ok());
    std::ostringstream out;
    PrintExplanation(reply, wide, Times::kDates, 1'120'000, out);
    return out.str();
  }

  v1::GetStateReply State() {
    v1::GetStateReply reply;
    REQUIRE(asking().GetState(false, &reply).ok());
    return reply;
  }

  std::string Top(const std::string& what, bool wide = false) {
    std::ostringstream out;
    PrintTop(State(), what, wide, 1'120'000, out);
    return out.str();
  }

  EngineClient asking() { return EngineClient({running_.socket(), ""}); }

 private:
  RunningServer running_;
  SchedulerClient client_;
};

TEST_CASE("A job is named by namespace and name, by its name alone, or by its uid") {
  CHECK(JobNamed("job/a/b") == "a/b");
  CHECK(JobNamed("job/b") == "default/b");
  CHECK(JobNamed("a/b") == "a/b");
  CHECK(JobNamed("0b1c") == "0b1c");
}

TEST_CASE("Explain says why a job is pending, since when, and the state of its queue") {
  Looking looking;
  const std::string text = looking.Explained("default/large");
  CHECK_THAT(text, Contains("job default/large"));
  CHECK_THAT(text, Contains("; status unchanged for 1m00s, since 1970-01-01T00:17:40Z\n"));
  CHECK_THAT(text, Contains(", needs at least 17 tasks to start; the job was created at "
                            "1970-01-01T00:16:40Z"));
  CHECK_THAT(text, Contains("Room: "));
  CHECK_THAT(text, Contains("17"));
  CHECK_THAT(text, Contains("queue research is open: 1 job running, 1 pending"));
  CHECK_THAT(text, Contains("40 GPUs"));
}

TEST_CASE("Explain says where the tasks of a job are, with their GPUs") {
  Looking looking;
  const std::string text = looking.Explained("uid-train");
  CHECK_THAT(text, Contains("job default/train runs"));
  CHECK_THAT(text, Contains("worker/3  placed"));
  CHECK_THAT(looking.Explained("uid-train", true), Contains("uid uid-train"));
}

TEST_CASE("Explain says what would let a job start, as text and for scripts") {
  Looking looking;
  const std::string text = looking.Explained("default/large");
  CHECK_THAT(text, Contains("would let the job start now, unless another pending job"));
  CHECK_THAT(text, Contains("  - fits now with 12 of 17 members\n"));
  CHECK_THAT(text, Contains("  - fits with 1 more node like a\n"));
  CHECK_THAT(looking.Explained("uid-train"), !Contains("would let the job start"));
  v1::ExplainReply reply;
  REQUIRE(looking.asking().Explain("default/large", &reply).ok());
  REQUIRE(reply.relaxations_size() == 2);
  CHECK(reply.relaxations(1).changes(0).easing() == v1::EASING_NODES);
  CHECK(reply.relaxations(1).changes(0).amount() == 1);
  CHECK_FALSE(reply.relaxations_cut_short());
  CHECK(reply.now_ms() == 1'060'000);
  std::ostringstream json, yaml;
  PrintMessage(reply, Output::kJson, json);
  PrintMessage(reply, Output::kYaml, yaml);
  CHECK_THAT(json.str(), Contains("\"easing\": \"EASING_MEMBERS\""));
  CHECK_THAT(yaml.str(), Contains("easing: EASING_MEMBERS"));
}

TEST_CASE("An unknown job is an error that names it") {
  Looking looking;
  v1::ExplainReply reply;
  const absl::Status status = looking.asking().Explain("default/none", &reply);
  CHECK(status.code() == absl::StatusCode::kNotFound);
  CHECK_THAT(std::string(status.message()), Contains("default/none"));
}

TEST_CASE("Top shows queues with their limits, nodes with their free GPUs, and what waits") {
  Looking looking;
  const std::string text = looking.Top("");
  CHECK_THAT(text, Contains("research") && Contains("40"));
  CHECK_THAT(text, Contains("2 nodes, 16 GPUs, 12 of them free"));
  CHECK_THAT(text, Contains("default/large"));
  CHECK_THAT(text, !Contains("default/train"));
  CHECK_THAT(looking.Top("nodes", true), Contains("H100") && !Contains("default/large"));
}

TEST_CASE(
    "GPUs of a model that a queue names are shown where all kinds are, and in the wide table") {
  RunningServer running;
  SchedulerClient client(ConnectTo(running.socket()));
  QueueUpserted queue{AQueue("research").Limit(kFirstExtendedKind, 16000), 1};
  client.Sync({KindsDeclared{{"gpu.A100"}}, NodeUpserted{ANode("a").Gpus(8, "A100"), 1}, queue,
               Gang("train", 3)});
  REQUIRE(client.Cycle(1'060'000).has_cycle());
  EngineClient asking({running.socket(), ""});
  v1::GetStateReply state;
  REQUIRE(asking.GetState(false, &state).ok());
  std::ostringstream wide, narrow;
  PrintTop(state, "queues", true, 1'120'000, wide);
  PrintTop(state, "queues", false, 1'120'000, narrow);
  CHECK_THAT(wide.str(), Contains("by model") && Contains("A100 3 of 16"));
  CHECK_THAT(narrow.str(), !Contains("A100"));
  v1::ExplainReply reply;
  REQUIRE(asking.Explain("default/train", &reply).ok());
  std::ostringstream explained;
  PrintExplanation(reply, false, Times::kDates, 1'120'000, explained);
  CHECK_THAT(explained.str(),
             Contains("gpu.A100") && Contains("3 A100 GPUs") && Contains("16 A100 GPUs"));
}

TEST_CASE("Top says which domains are left out of the forest, and why") {
  RunningServer running;
  SchedulerClient client(ConnectTo(running.socket()));
  client.Sync({NodeUpserted{ANode("a").Gpus(8), 1},
               DomainUpserted{{"rack-0", 1, "rack", {"a"}, {}}, 1},
               DomainUpserted{{"rack-1", 1, "rack", {"a"}, {}}, 1}});
  REQUIRE(client.Cycle(1'060'000).has_cycle());
  v1::GetStateReply state;
  REQUIRE(EngineClient({running.socket(), ""}).GetState(false, &state).ok());
  std::ostringstream nodes, queues;
  PrintTop(state, "nodes", false, 1'120'000, nodes);
  PrintTop(state, "queues", false, 1'120'000, queues);
  CHECK_THAT(nodes.str(), Contains("node \"a\" is in domains \"rack-0\" and \"rack-1\""));
  CHECK_THAT(queues.str(), !Contains("rack-0"));
}

TEST_CASE("An answer as JSON or YAML holds all of it") {
  Looking looking;
  std::ostringstream json, yaml;
  PrintMessage(looking.State(), Output::kJson, json);
  PrintMessage(looking.State(), Output::kYaml, yaml);
  CHECK_THAT(json.str(),
             Contains("\"obstacle\": \"Room\"") && Contains("\"unschedulable\": false"));
  CHECK_THAT(yaml.str(), Contains("obstacle: Room") && Contains("unschedulable: false"));
}

}  // namespace
}  // namespace tephra
