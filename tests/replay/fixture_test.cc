// Journals that other builds wrote, replayed in this one.
#include <fstream>
#include <sstream>

#include <catch2/catch.hpp>

#include "sidecar/wire/journal_reader.h"
#include "simulations/replay_command.h"
#include "tests/sidecar/any_event.h"

namespace tephra {
namespace {

const std::string kFixtures = TEPHRA_FIXTURES;

TEST_CASE("Replay: the journal of a run, written by a release build, is reproduced in this one") {
  ReplayCommandOptions options;
  options.path = kFixtures + "/run.journal";
  options.strict = true;
  std::ostringstream out, err;
  const int code = ReplayCommand(options, out, err);
  INFO(out.str() << err.str());
  INFO(
      "Where decisions were meant to change: record_fixture run tests/replay/fixtures/run.journal");
  CHECK(code == 0);
}

TEST_CASE("Journal: one of the first format is still read, every kind of event in it") {
  std::ifstream in(kFixtures + "/events_v1.journal", std::ios::binary);
  JournalReader reader(in, "events_v1.journal");
  for (int i = 0; i < 33; ++i) {
    INFO("event " << i);
    const auto entry = reader.Next();
    REQUIRE(entry.status() == absl::OkStatus());
    REQUIRE(entry->has_value());
    CHECK(static_cast<int>(std::get<Event>(**entry).index()) == i % 11);
  }
  const auto end = reader.Next();
  REQUIRE(end.ok());
  CHECK_FALSE(end->has_value());
  CHECK(reader.closed());
}

}  // namespace
}  // namespace tephra
