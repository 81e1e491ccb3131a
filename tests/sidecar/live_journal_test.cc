// The journal of a running engine: segments that replay by themselves, and disks that are full.
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>

#include <catch2/catch.hpp>

#include "plugins/registry.h"
#include "simulations/replay.h"
#include "simulations/whatif/whatif.h"
#include "tests/sidecar/running_server.h"
#include "tests/sidecar/scheduler_client.h"
#include "tests/support/build.h"
#include "tests/support/scratch_folder.h"

namespace tephra {
namespace {

namespace fs = std::filesystem;

std::vector<Event> Cluster() {
  QueueUpserted queue;
  queue.queue.name = "research";
  queue.version = 1;
  return {NodeUpserted{ANode("a").Gpus(8), 1}, NodeUpserted{ANode("b").Gpus(8), 1}, queue};
}

JobUpserted NewGang(const std::string& name, int tasks) {
  JobUpserted fact{AJob("uid-" + name).Role("worker", tasks, APod().Gpus(1)), 1};
  fact.job.name = "default/" + name;
  fact.job.queue = "research";
  fact.job.gang.min_member = tasks;
  return fact;
}

std::set<std::string> Segments(const std::string& folder) {
  std::set<std::string> paths;
  for (const auto& entry : fs::directory_iterator(folder)) paths.insert(entry.path().string());
  return paths;
}

ReplayReport Replayed(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  JournalReader journal(file, path);
  Engine engine(DefaultAssembly());
  ReplayReport report;
  const absl::Status status = Replay(journal, engine, {true}, report);
  INFO(path << ": " << status.ToString());
  REQUIRE(status.ok());
  return report;
}

// Asks for a cycle, and brings the engine up to date first where it wants that. Returns how often.
int CycleOrSync(SchedulerClient& client, const std::vector<Event>& truth, TimeMs now) {
  for (int syncs = 0;; ++syncs) {
    if (client.Cycle(now).has_cycle()) return syncs;
    client.Sync(truth, 2);
    REQUIRE(syncs < 5);
  }
}

TEST_CASE("A full segment asks for a sync, old ones go, and each that is kept replays by itself") {
  ScratchFolder folder;
  RunningServer running({}, JournalSettings{folder.path(), 4096, 3});
  SchedulerClient client(ConnectTo(running.socket()));
  std::vector<Event> truth = Cluster();
  client.Sync(truth);
  int syncs = 0;
  for (int i = 0; i < 200; ++i) {
    const std::string name = "j" + std::to_string(i);
    if (i > 3) {
      const JobRemoved gone{"uid-j" + std::to_string(i - 4)};
      client.Delta({gone});
      truth.erase(truth.begin() + 3);
    }
    truth.push_back(NewGang(name, 4 + i % 7));
    client.Delta({truth.back()});
    syncs += CycleOrSync(client, truth, i * 1000);
  }
  CHECK(syncs > 3);
  running.owner.Run([&] { running.live.CloseJournal(); });
  const auto segments = Segments(folder.path());
  CHECK(segments.size() == 3);
  for (const std::string& path : segments) {
    const ReplayReport report = Replayed(path);
    CHECK_FALSE(report.divergence.has_value());
    CHECK(report.closed);
    CHECK(report.plans > 0);
  }
}

TEST_CASE("A segment cut off by the death of its engine replays up to the cut") {
  ScratchFolder folder;
  RunningServer running({}, JournalSettings{folder.path()});
  SchedulerClient client(ConnectTo(running.socket()));
  client.Sync(Cluster());
  client.Delta({NewGang("train", 8)});
  client.Cycle(1);
  client.Cycle(2);
  // As a kill would leave it: what the writer still holds never comes.
  const std::string copy = folder.path() + "/cut";
  fs::copy_file(*Segments(folder.path()).begin(), copy);
  const ReplayReport report = Replayed(copy);
  CHECK_FALSE(report.closed);
  CHECK_FALSE(report.divergence.has_value());
}

TEST_CASE("A changed configuration is in the journal, and the replay follows it") {
  ScratchFolder folder;
  RunningServer running({}, JournalSettings{folder.path()});
  SchedulerClient client(ConnectTo(running.socket()));
  client.Sync(Cluster());
  client.Cycle(1);
  EngineConfig spread;
  spread.node_scores = {{"spread", 1}};
  running.owner.Run([&] { running.live.ChangeConfig(spread); });
  client.Delta({NewGang("one", 1), NewGang("two", 1)});
  const v1::ScheduleReply reply = client.Cycle(2);
  std::set<std::string> nodes;
  for (const auto& decision : reply.cycle().plan().decisions()) {
    nodes.insert(decision.placements(0).node());
  }
  CHECK(nodes.size() == 2);
  running.owner.Run([&] { running.live.CloseJournal(); });
  const ReplayReport report = Replayed(*Segments(folder.path()).begin());
  CHECK_FALSE(report.divergence.has_value());
  CHECK(report.plans == 2);
}

TEST_CASE("What-if: the journal of a running engine goes on where it is, and otherwise") {
  constexpr TimeMs kNoon = 1'790'000'000'000;
  ScratchFolder folder;
  RunningServer running({}, JournalSettings{folder.path()});
  SchedulerClient client(ConnectTo(running.socket()));
  client.Sync(Cluster());
  JobUpserted train = NewGang("train", 16), next = NewGang("next", 8);
  train.job.created = next.job.created = kNoon - 5000;
  train.job.estimated_runtime_ms = next.job.estimated_runtime_ms = 60'000;
  client.Delta({train});
  client.Cycle(kNoon);  // placed, and not yet bound
  client.Delta({next});
  client.Cycle(kNoon + 1000);
  running.owner.Run([&] { running.live.CloseJournal(); });
  WhatifOptions options;
  options.path = *Segments(folder.path()).begin();
  options.changes = {{kChangeArgument, "{ add_node: { like: b } }"}};
  const auto result = RunWhatif(options);
  INFO(result.status().message());
  REQUIRE(result.ok());
  CHECK_FALSE(result->decided_otherwise);
  const JobOutcome& as_is = result->as_is.jobs->jobs().at("uid-next");
  CHECK(as_is.start - result->cut == 60'000);
  CHECK(as_is.start - as_is.arrival == 66'000);
  CHECK(as_is.end - result->cut == 120'000);
  const JobOutcome& changed = result->changed.jobs->jobs().at("uid-next");
  CHECK(changed.start == result->cut);
  CHECK(changed.where == "b-copy x8");
  CHECK(result->differences.size() == 1);
}

// The system's limit on the size of files stands for a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &before_);
    rlimit limit = before_;
    limit.rlim_cur = bytes;
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &before_); }

 private:
  rlimit before_{};
};

TEST_CASE("A full disk stops the journal and not the scheduling, and is tried again later") {
  ScratchFolder folder;
  RunningServer running({}, JournalSettings{folder.path(), 1 << 20, 8});
  SchedulerClient client(ConnectTo(running.socket()));
  std::vector<Event> truth = Cluster();
  client.Sync(truth);
  {
    const FileSizeLimit full(2048);
    for (int i = 0; i < 50; ++i) {
      truth.push_back(NewGang("j" + std::to_string(i), 1));
      client.Delta({truth.back()});
      REQUIRE(client.Cycle(i * 1000).has_cycle());
    }
    CHECK(running.metrics.Text().find("tephra_engine_journal_failures_total 1") !=
          std::string::npos);
  }
  // A minute later it asks for what a new segment begins with.
  REQUIRE(client.Cycle(200'000).has_resync());
  client.Sync(truth);
  REQUIRE(client.Cycle(201'000).has_cycle());
  running.owner.Run([&] { running.live.CloseJournal(); });
  const auto segments = Segments(folder.path());
  REQUIRE(segments.size() == 2);
  CHECK_FALSE(Replayed(*segments.begin()).closed);
  const ReplayReport last = Replayed(*segments.rbegin());
  CHECK(last.closed);
  CHECK_FALSE(last.divergence.has_value());
}

TEST_CASE("A journal directory that cannot be made is reported, and scheduling goes on") {
  RunningServer running({}, JournalSettings{"/dev/null/journal", 1 << 20, 8});
  SchedulerClient client(ConnectTo(running.socket()));
  client.Sync(Cluster());
  client.Delta({NewGang("train", 8)});
  REQUIRE(client.Cycle(1).has_cycle());
  REQUIRE(client.Cycle(100'000'000).has_cycle());
  CHECK(running.metrics.Text().find("tephra_engine_journal_failures_total 1") != std::string::npos);
}

}  // namespace
}  // namespace tephra
