#include "simulations/replay.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>
#include <nlohmann/json.hpp>

#include "plugins/registry.h"
#include "sidecar/wire/journaled_engine.h"
#include "simulations/replay_command.h"
#include "tephra/v1/plan.pb.h"
#include "tests/sidecar/recorded_run.h"

namespace tephra {
namespace {

ReplayReport ReplayOf(const std::string& journal) {
  std::istringstream in(journal);
  JournalReader reader(in, "j");
  Engine engine(DefaultAssembly());
  ReplayReport report;
  REQUIRE(Replay(reader, engine, {}, report) == absl::OkStatus());
  return report;
}

TEST_CASE("Replay: a journal gives identical plans") {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    INFO("seed " << seed);
    const RecordedRun run = RunAndRecord(seed);
    const ReplayReport report = ReplayOf(run.journal);
    REQUIRE_FALSE(report.divergence.has_value());
    REQUIRE(report.closed);
    REQUIRE(report.plans == run.plans.size());
    REQUIRE(report.ticks == run.plans.size());
    REQUIRE(report.events == static_cast<std::uint64_t>(run.events));
    REQUIRE(report.refused == static_cast<std::uint64_t>(run.refused));
  }
}

TEST_CASE("Replay: journaling a replay gives the same bytes again") {
  const std::string journal = RunAndRecord(4).journal;
  std::istringstream in(journal);
  std::ostringstream out;
  JournalReader reader(in, "in");
  JournalWriter writer(out, "out");
  Engine inner(DefaultAssembly());
  JournaledEngine engine(inner, &writer);
  for (;;) {
    const auto entry = reader.Next();
    REQUIRE(entry.ok());
    if (!entry->has_value()) break;
    if (const auto* event = std::get_if<Event>(&**entry)) (void)engine.Apply(*event);
    if (const auto* tick = std::get_if<JournalTick>(&**entry)) engine.Tick(tick->now);
  }
  REQUIRE(writer.Close().ok());
  CHECK(out.str() == journal);
}

TEST_CASE("Replay: of a journal that was cut at any byte, what is whole is reproduced") {
  const std::string journal = RunAndRecord(5, 2).journal;
  const std::vector<std::size_t> ends = FrameEnds(journal);
  for (std::size_t cut = ends[0]; cut < journal.size(); cut += 7) {
    INFO("cut at byte " << cut);
    const ReplayReport report = ReplayOf(journal.substr(0, cut));
    REQUIRE_FALSE(report.divergence.has_value());
    REQUIRE_FALSE(report.closed);
    REQUIRE(report.whole_bytes + report.torn_bytes == cut);
    REQUIRE(report.plans + 1 >= report.ticks);
  }
}

// The journal with one thing changed in the first plan that places something.
struct Tampered {
  std::string journal;
  std::size_t record = 0;
  std::size_t offset = 0;
  v1::Plan plan;  // as recorded before
};

template <class Change>
Tampered TamperWithPlan(const std::string& journal, Change change) {
  Tampered tampered;
  tampered.journal = Rewritten(journal, [&](std::size_t number, v1::JournalRecord& record) {
    if (tampered.record > 0 || record.content_case() != v1::JournalRecord::kPlan) return;
    v1::Plan plan;
    REQUIRE(plan.ParseFromString(record.plan()));
    for (int i = 0; i < plan.decisions_size(); ++i) {
      if (plan.decisions(i).placements_size() == 0) continue;
      tampered.record = number;
      tampered.plan = plan;
      change(plan, i);
      record.set_plan(plan.SerializeAsString());
      return;
    }
  });
  REQUIRE(tampered.record > 0);
  tampered.offset = FrameEnds(tampered.journal)[tampered.record - 1];
  return tampered;
}

TEST_CASE("Replay: a plan that was tampered with is reported at its place") {
  int decision = -1;
  const Tampered tampered = TamperWithPlan(RunThatPlaces().journal, [&](v1::Plan& plan, int i) {
    decision = i;
    plan.mutable_decisions(i)->mutable_placements(0)->set_node("elsewhere");
  });
  const ReplayReport report = ReplayOf(tampered.journal);
  REQUIRE(report.divergence.has_value());
  const Divergence& found = *report.divergence;
  CHECK(found.kind == Divergence::Kind::kPlan);
  CHECK(found.record == tampered.record);
  CHECK(found.offset == tampered.offset);
  CHECK(found.tick == tampered.plan.now_ms());
  CHECK(found.decision == decision);
  CHECK(found.job == tampered.plan.decisions(decision).job());
  CHECK(found.field == "decisions[" + std::to_string(decision) + "].placements[0].node");
  CHECK(found.recorded == "\"elsewhere\"");
  CHECK(found.made == "\"" + tampered.plan.decisions(decision).placements(0).node() + "\"");
}

TEST_CASE("Replay: an event that is accepted now and was refused then is reported, and the reverse") {
  const std::string journal = RunThatPlaces().journal;
  std::size_t refusal = 0, last_event = 0, event_of_refusal = 0;
  const std::string forgiven = Rewritten(journal, [&](std::size_t n, v1::JournalRecord& record) {
    if (record.has_event()) last_event = n;
    if (refusal > 0 || !record.has_refusal()) return;
    refusal = n;
    event_of_refusal = last_event;
    record.Clear();
  });
  REQUIRE(refusal > 0);
  const ReplayReport report = ReplayOf(forgiven);
  REQUIRE(report.divergence.has_value());
  CHECK(report.divergence->kind == Divergence::Kind::kEvent);
  CHECK(report.divergence->record == event_of_refusal);
  CHECK(report.divergence->recorded == "accepted");

  bool once = false;
  const std::string accused = Rewritten(journal, [&](std::size_t, v1::JournalRecord& record) {
    if (record.has_refusal() && !std::exchange(once, true)) {
      record.mutable_refusal()->set_code(static_cast<int>(absl::StatusCode::kInternal));
    }
  });
  const ReplayReport reverse = ReplayOf(accused);
  REQUIRE(reverse.divergence.has_value());
  CHECK(reverse.divergence->record == event_of_refusal);
}

// --- the command ---------------------------------------------------------------------------

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& bytes) {
    const int file = mkstemp(path_);
    REQUIRE(file >= 0);
    close(file);
    std::ofstream(path_, std::ios::binary) << bytes;
  }
  ~TemporaryFile() { std::remove(path_); }
  std::string path() const { return path_; }

 private:
  char path_[32] = "/tmp/tephra-journal-XXXXXX";
};

struct Outcome {
  int code = 0;
  std::string out, err;
};

Outcome Command(const std::string& journal, ReplayCommandOptions options = {}) {
  const TemporaryFile file(journal);
  options.path = file.path();
  std::ostringstream out, err;
  const int code = ReplayCommand(options, out, err);
  return {code, out.str(), err.str()};
}

ReplayCommandOptions AsJson() {
  ReplayCommandOptions options;
  options.output = ReplayOutput::kJson;
  return options;
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST_CASE("tephra replay: exits with 0 where all is reproduced, and counts it") {
  const RecordedRun run = RunThatPlaces();
  const Outcome text = Command(run.journal);
  CHECK(text.code == 0);
  CHECK(text.err.empty());
  CHECK(Has(text.out, std::to_string(run.events) + " events, "));
  CHECK_FALSE(Has(text.out, "note: "));

  const auto json = nlohmann::json::parse(Command(run.journal, AsJson()).out);
  CHECK(json["reproduced"] == true);
  CHECK(json["truncated"] == false);
  CHECK(json["plans"] == run.plans.size());
}

TEST_CASE("tephra replay: exits with 1 where a plan differs, and says where") {
  const Tampered tampered = TamperWithPlan(RunThatPlaces().journal, [](v1::Plan& plan, int i) {
    plan.mutable_decisions(i)->set_verdict(v1::VERDICT_WAIT);
  });
  const Outcome text = Command(tampered.journal);
  CHECK(text.code == 1);
  CHECK(Has(text.out, "first difference at record " + std::to_string(tampered.record) + " (byte " +
                          std::to_string(tampered.offset) + "), tick at "));
  CHECK(Has(text.out, "recorded: VERDICT_WAIT"));
  CHECK(Has(text.out, "replayed: VERDICT_START"));

  const Outcome outcome = Command(tampered.journal, AsJson());
  CHECK(outcome.code == 1);
  const auto json = nlohmann::json::parse(outcome.out);
  CHECK(json["reproduced"] == false);
  CHECK(json["difference"]["record"] == tampered.record);
  CHECK(json["difference"]["byte"] == tampered.offset);
}

TEST_CASE("tephra replay: a truncated journal is a note, and with strict an error") {
  const std::string journal = RunThatPlaces().journal;
  const std::string cut = journal.substr(0, journal.size() - 3);
  const Outcome lenient = Command(cut);
  CHECK(lenient.code == 0);
  CHECK(Has(lenient.out, "note: the journal is truncated"));
  ReplayCommandOptions options;
  options.strict = true;
  const Outcome strict = Command(cut, options);
  CHECK(strict.code == 2);
  CHECK(Has(strict.err, "the journal is truncated"));
  CHECK(Command(journal, options).code == 0);
}

TEST_CASE("tephra replay: exits with 2 for what is no whole journal, and names the file") {
  const std::string journal = RunThatPlaces().journal;
  std::string damaged = journal;
  damaged[damaged.size() / 2] ^= 1;
  for (const std::string& bad :
       {std::string(), std::string("hello\n"), journal.substr(0, 10), damaged}) {
    const Outcome outcome = Command(bad);
    CHECK(outcome.code == 2);
    CHECK(Has(outcome.err, "tephra replay: /tmp/tephra-journal-"));
    CHECK(Has(outcome.err, ": record "));
  }
  std::ostringstream out, err;
  ReplayCommandOptions options;
  options.path = "/no/such/journal";
  CHECK(ReplayCommand(options, out, err) == 2);
  CHECK(Has(err.str(), "/no/such/journal: cannot read the file: No such file or directory"));
}

}  // namespace
}  // namespace tephra
