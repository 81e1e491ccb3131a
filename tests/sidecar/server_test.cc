// The engine behind its socket: the conversation of service.proto with a real client.
#include <sys/stat.h>

#include <thread>

#include <catch2/catch.hpp>

#include "sidecar/reply_split.h"
#include "tests/sidecar/running_server.h"
#include "tests/sidecar/scheduler_client.h"
#include "tests/support/build.h"

namespace tephra {
namespace {

QueueUpserted Open(const std::string& name) {
  QueueUpserted fact;
  fact.queue.name = name;
  fact.version = 1;
  return fact;
}

JobUpserted RunningGang(const std::string& name, int tasks, std::uint64_t version = 1) {
  JobUpserted fact{AJob("uid-" + name).Role("worker", tasks, APod().Gpus(1)), version};
  fact.job.name = "default/" + name;
  fact.job.queue = "research";
  fact.job.gang.min_member = tasks;
  return fact;
}

std::vector<Event> TwoNodes() {
  return {NodeUpserted{ANode("a").Gpus(8), 1}, NodeUpserted{ANode("b").Gpus(8), 1},
          Open("research")};
}

// Two states in which everything but the place in the conversation must be equal.
void RequireSame(v1::GetStateReply one, v1::GetStateReply other) {
  for (v1::GetStateReply* state : {&one, &other}) {
    state->clear_epoch();
    state->clear_sequence();
    state->clear_version();
    state->clear_now_ms();
  }
  REQUIRE(one.DebugString() == other.DebugString());
}

std::size_t Placements(const v1::ScheduleReply& reply) {
  std::size_t count = 0;
  for (const auto& decision : reply.cycle().plan().decisions()) {
    count += static_cast<std::size_t>(decision.placements_size());
  }
  return count;
}

TEST_CASE("A gang sent over the socket is placed by the next cycle") {
  RunningServer running;
  SchedulerClient client(ConnectTo(running.socket()));
  REQUIRE(client.connected());
  client.Sync(TwoNodes());
  client.Delta({RunningGang("train", 16)});
  const v1::ScheduleReply reply = client.Cycle(1000);
  REQUIRE(reply.has_cycle());
  REQUIRE(Placements(reply) == 16);
  REQUIRE(reply.cycle().notes().empty());
}

TEST_CASE("Figures of the cluster are taken away while no scheduler is connected, and counters stay") {
  RunningServer running;
  const auto has = [&](const std::string& line) {
    return running.metrics.Text().find(line + "\n") != std::string::npos;
  };
  for (int scheduler = 1; scheduler <= 2; ++scheduler) {
    {
      SchedulerClient client(ConnectTo(running.socket()));
      client.Sync(TwoNodes());
      client.Delta({RunningGang("large", 17)});
      client.Cycle(scheduler * 1000);
      REQUIRE(has("tephra_engine_synced 1"));
      // The figures of a cycle follow its plan.
      for (int tries = 0; tries < 1000 && running.metrics.Text().find("research") == std::string::npos;
           ++tries) {
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
      }
      REQUIRE(has("tephra_engine_nodes 2"));
      REQUIRE(has(R"(tephra_engine_gpus{state="free"} 16)"));
      REQUIRE(has(R"(tephra_engine_waiting_jobs{obstacle="Room"} 1)"));
      REQUIRE(has(R"(tephra_engine_queue_gpus{amount="used",queue="research"} 0)"));
    }
    // The figures of queues go last.
    for (int tries = 0; tries < 1000 && running.metrics.Text().find("research") != std::string::npos;
         ++tries) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    REQUIRE(has("tephra_engine_synced 0"));
    REQUIRE(has("tephra_engine_nodes 0"));
    REQUIRE(has(R"(tephra_engine_gpus{state="capacity"} 0)"));
    REQUIRE(has(R"(tephra_engine_gpus{state="free"} 0)"));
    REQUIRE(has(R"(tephra_engine_waiting_jobs{obstacle="Room"} 0)"));
    REQUIRE(running.metrics.Text().find("research") == std::string::npos);
    REQUIRE(has("tephra_engine_cycle_duration_seconds_count " + std::to_string(scheduler)));
  }
}

TEST_CASE("A gang that does not fit has a reason in numbers, and a time since when") {
  RunningServer running;
  SchedulerClient client(ConnectTo(running.socket()));
  client.Sync(TwoNodes());
  client.Delta({RunningGang("large", 17)});
  const v1::ScheduleReply reply = client.Cycle(5000);
  REQUIRE(reply.cycle().notes_size() == 1);
  const v1::Note& note = reply.cycle().notes(0);
  REQUIRE(note.job() == "uid-large");
  REQUIRE(note.obstacle() == "Room");
  REQUIRE(note.binding() == "nvidia.com/gpu");
  REQUIRE(note.since_ms() == 5000);
  REQUIRE(note.text().find("17") != std::string::npos);
}

TEST_CASE("Before the end of the first sync no client gets a state") {
  RunningServer running;
  const auto channel = ConnectTo(running.socket());
  grpc::ClientContext context;
  v1::ExplainReply reply;
  v1::ExplainRequest request;
  request.set_job("default/train");
  const grpc::Status status =
      v1::EngineService::NewStub(channel)->Explain(&context, request, &reply);
  REQUIRE(status.error_code() == grpc::StatusCode::FAILED_PRECONDITION);
}

TEST_CASE("The socket is for its owner alone") {
  RunningServer running;
  struct stat there {};
  REQUIRE(stat(running.socket().c_str(), &there) == 0);
  REQUIRE((there.st_mode & 0777) == 0600);
}

TEST_CASE("A gap, a repetition and a message out of order each end in a resync, not in drift") {
  RunningServer running;
  const auto channel = ConnectTo(running.socket());
  SchedulerClient client(channel);
  std::vector<Event> truth = TwoNodes();
  client.Sync(truth);
  client.Cycle(1);
  const v1::GetStateReply before = StateOf(channel);
  const std::string fault = GENERATE("gap", "repetition", "order", "epoch");
  CAPTURE(fault);
  if (fault == "gap") ++client.sequence;
  if (fault == "repetition") --client.sequence;
  if (fault == "order") client.sequence += 2;
  if (fault == "epoch") client.epoch += 7;
  client.Delta({RunningGang("lost", 4)});
  client.Delta({RunningGang("lost too", 4)});
  const auto reply = client.Read();
  REQUIRE(reply.has_value());
  REQUIRE(reply->has_resync());
  REQUIRE(reply->resync().epoch() > before.epoch());
  client.epoch = reply->resync().epoch();
  client.sequence = 0;
  // Facts of the old epoch are unknown; facts of the sync are known.
  truth.push_back(RunningGang("train", 8));
  client.Sync(truth, 3);
  REQUIRE(Placements(client.Cycle(1)) == 8);

  RunningServer fresh;
  const auto fresh_channel = ConnectTo(fresh.socket());
  SchedulerClient fresh_client(fresh_channel);
  fresh_client.Sync(truth);
  REQUIRE(Placements(fresh_client.Cycle(1)) == 8);
  RequireSame(StateOf(channel), StateOf(fresh_channel));
}

TEST_CASE("A cycle for facts that did not arrive is answered by a resync") {
  RunningServer running;
  SchedulerClient client(ConnectTo(running.socket()));
  client.Sync(TwoNodes());
  ++client.sequence;
  REQUIRE(client.Cycle(1).has_resync());
}

TEST_CASE("A second stream is refused, and looking goes on beside the first") {
  RunningServer running;
  const auto channel = ConnectTo(running.socket());
  SchedulerClient first(channel);
  first.Sync(TwoNodes());
  first.Cycle(1);
  SchedulerClient second(ConnectTo(running.socket()));
  REQUIRE_FALSE(second.connected());
  REQUIRE(second.status().error_code() == grpc::StatusCode::ALREADY_EXISTS);
  REQUIRE(StateOf(channel).nodes_size() == 2);
  first.Delta({RunningGang("train", 2)});
  REQUIRE(Placements(first.Cycle(1)) == 2);
}

TEST_CASE("A scheduler with a newer lease takes the stream over, and one with an older lease is refused") {
  RunningServer running;
  SchedulerClient first(ConnectTo(running.socket()), 1, 4);
  first.Sync(TwoNodes());
  first.Cycle(1);
  SchedulerClient second(ConnectTo(running.socket()), 1, 5);
  REQUIRE(second.connected());
  second.Sync(TwoNodes());
  second.Delta({RunningGang("train", 2)});
  REQUIRE(Placements(second.Cycle(1)) == 2);
  while (first.Read().has_value()) {
  }
  REQUIRE(first.status().error_code() == grpc::StatusCode::ABORTED);
  REQUIRE(first.status().error_message().find("newer lease, term 5") != std::string::npos);
  SchedulerClient again(ConnectTo(running.socket()), 1, 4);
  REQUIRE_FALSE(again.connected());
  REQUIRE(again.status().error_code() == grpc::StatusCode::ALREADY_EXISTS);
  REQUIRE(again.status().error_message().find("lease term 5") != std::string::npos);
  // The stream of the first scheduler, which has ended, changes nothing for the second.
  second.Delta({RunningGang("more", 2)});
  REQUIRE(Placements(second.Cycle(2)) == 2);
}

TEST_CASE("A large reply is cut into messages that say the same together") {
  v1::CycleReply whole;
  whole.set_epoch(3);
  whole.set_sequence(4);
  whole.mutable_plan()->set_version(5);
  whole.mutable_plan()->add_dropped("job");
  for (int i = 0; i < 50; ++i) {
    whole.mutable_plan()->add_decisions()->set_job(std::string(100, 'd') + std::to_string(i));
    whole.mutable_plan()->add_proposals()->set_job(std::string(100, 'p') + std::to_string(i));
    whole.add_notes()->set_text(std::string(i == 7 ? 3000 : 100, 'n') + std::to_string(i));
  }
  const auto parts = SplitReply(whole, 1000);
  REQUIRE(parts.size() > 15);
  v1::CycleReply together;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    REQUIRE(parts[i].more() == (i + 1 < parts.size()));
    REQUIRE((parts[i].ByteSizeLong() < 1100 || parts[i].notes_size() == 1));
    together.MergeFrom(parts[i]);
  }
  together.clear_more();
  REQUIRE(together.SerializeAsString() == whole.SerializeAsString());
  REQUIRE(SplitReply(whole).size() == 1);
  REQUIRE_FALSE(SplitReply(whole)[0].more());
}

TEST_CASE("After a stream has ended its state is still shown, and the next gets a new epoch") {
  RunningServer running;
  const auto channel = ConnectTo(running.socket());
  std::uint64_t epoch = 0;
  {
    SchedulerClient client(channel);
    epoch = client.epoch;
    REQUIRE(epoch != 0);
    client.Sync(TwoNodes());
    client.Cycle(1);
  }
  REQUIRE(StateOf(channel).nodes_size() == 2);
  for (int i = 0; i < 100; ++i) {
    SchedulerClient next(channel);
    if (!next.connected()) {  // the server has not heard yet that the first is gone
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
      continue;
    }
    REQUIRE(next.epoch > epoch);
    return;
  }
  FAIL("the stream was never given free");
}

TEST_CASE("Another protocol version, older or newer, is refused with both versions named") {
  RunningServer running;
  for (const std::uint32_t version : {0u, 2u}) {
    SchedulerClient client(ConnectTo(running.socket()), version);
    REQUIRE_FALSE(client.connected());
    REQUIRE(client.status().error_code() == grpc::StatusCode::FAILED_PRECONDITION);
    const std::string message = client.status().error_message();
    REQUIRE(message.find("protocol_version: " + std::to_string(version)) != std::string::npos);
    REQUIRE(message.find("speaks 1") != std::string::npos);
  }
}

TEST_CASE("A message that is too large ends its stream alone, and the next one is served") {
  RunningServer running;
  const auto channel = ConnectTo(running.socket());
  {
    SchedulerClient client(channel);
    v1::Facts facts;
    facts.add_events()->mutable_node_removed()->set_name(std::string(kMaxMessageBytes + 1, 'x'));
    client.WriteFacts(std::move(facts));
    while (client.Read().has_value()) {
    }
    REQUIRE(client.status().error_code() == grpc::StatusCode::RESOURCE_EXHAUSTED);
  }
  for (int i = 0; i < 100; ++i) {
    SchedulerClient next(channel);
    if (next.connected()) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  FAIL("the stream was never given free");
}

TEST_CASE("A fact that makes no sense is refused by name, and the others of its message count") {
  RunningServer running;
  SchedulerClient client(ConnectTo(running.socket()));
  v1::Facts facts = FactsOf(TwoNodes());
  facts.add_events();  // says nothing
  NodeSpec bad = ANode("bad");
  bad.allocatable[kCpu] = -1;
  *facts.add_events() = FactsOf({NodeUpserted{bad, 1}}).events(0);
  *facts.add_events() = FactsOf({RunningGang("train", 16)}).events(0);
  facts.set_sync(v1::SYNC_MARK_WHOLE);
  client.WriteFacts(std::move(facts));
  REQUIRE(Placements(client.Cycle(1)) == 16);
  REQUIRE(client.refused.size() == 2);
  REQUIRE(client.refused[0].index() == 3);
  REQUIRE(client.refused[1].index() == 4);
  REQUIRE(client.refused[1].message().find("bad") != std::string::npos);
}

TEST_CASE("Of several words on one object between two cycles the last one counts") {
  RunningServer running;
  const auto channel = ConnectTo(running.socket());
  SchedulerClient client(channel);
  client.Sync(TwoNodes());
  client.Cycle(1);
  const std::uint64_t version = StateOf(channel).version();
  for (std::uint64_t v = 1; v <= 5; ++v)
    client.Delta({RunningGang("train", static_cast<int>(v), v)});
  REQUIRE(Placements(client.Cycle(1)) == 5);
  // The job, and the plan that was taken as done.
  REQUIRE(StateOf(channel).version() <= version + 2);
}

TEST_CASE("Time does not go back before the next sync: an older now is taken as the newest one") {
  RunningServer running;
  SchedulerClient client(ConnectTo(running.socket()));
  client.Sync(TwoNodes());
  REQUIRE(client.Cycle(9000).cycle().plan().now_ms() == 9000);
  REQUIRE(client.Cycle(4000).cycle().plan().now_ms() == 9000);
  client.Sync(TwoNodes());
  REQUIRE(client.Cycle(4000).cycle().plan().now_ms() == 4000);
}

}  // namespace
}  // namespace tephra
